"""Where packs lie and what they are: folders, indexes, tables, published manifests; each mistake in one sentence."""

import json
import os
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.packs.discovery import all_packs, find_pack, pack_from_labels
from pytest_audiobench.datasets.packs.inspection import inspect_pack, probe_counts
from pytest_audiobench.datasets.packs.pack import Pack, PackManifest, read_manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError


def test_the_bundled_pack_is_always_there(tmp_path):
    pack = find_pack("demo", Places(tmp_path))
    assert {label: len(clips) for label, clips in pack.clips.items()} == dict.fromkeys(
        ["alarm", "bell", "bird", "clock", "engine", "knocking", "rain", "siren", "telephone", "thunder"], 8
    )
    assert inspect_pack(pack).problems == ()


@pytest.mark.parametrize("name", ["cabin", "security", "health"])
def test_a_scenario_is_a_pack_whose_clips_all_sound_and_none_twice(tmp_path, name):
    pack = find_pack(name, Places(tmp_path))
    assert inspect_pack(pack).problems == ()
    assert set(map(len, pack.clips.values())) == {8}
    heard = [decode(clip, 16_000, None).samples for clips in pack.clips.values() for clip in clips]
    assert all(1e-4 < abs(samples).max() <= 1 for samples in heard)
    assert len({samples.tobytes() for samples in heard}) == len(heard)


def test_a_folder_of_folders_is_a_pack(places):
    pack = find_pack("home", places)
    assert list(pack.clips) == ["cat", "dog_bark", "rain", "tap"]
    assert [str(clip) for clip in pack.clips["dog_bark"]] == ["home:dog bark/0.wav", "home:dog bark/1.wav"]


def test_a_manifest_says_which_labels_and_how_many_clips(places, manifest):
    manifest(labels=["Rain", "cat"], clips_per_label=1, mixture_counts={"pair": 1}, distractor_count=5)
    pack = find_pack("home", places)
    assert [(label, len(clips)) for label, clips in pack.clips.items()] == [("rain", 1), ("cat", 1)]
    assert probe_counts(pack) == {"pair": (1, 2, 0)}


def test_an_index_names_clips_by_label(places, shelf, tone):
    tone(shelf / "field" / "deep" / "a.wav")
    (shelf / "field" / "clips.json").write_text(json.dumps({"Dog bark": ["deep/a.wav"]}))
    assert [str(clip) for clip in find_pack("field", places).clips["dog_bark"]] == ["field:deep/a.wav"]


PUBLISHED = {
    "id": "health",
    "title": "Health (ESC-50 medical subset)",
    "source": "ESC-50",
    "license": "Various CC (per-clip)",
    "license_tag": "non-clinical",
    "scope_note": "Non-clinical respiratory and body sounds.",
    "labels": ["coughing", "sneezing"],
    "clip_resolver": "user-cache",
    "cache_subdir": "esc50",
    "expected_layout": "audio/<filename>.wav with ESC-50 meta/esc50.csv",
    "mixture_counts": {"solo": 10, "pair": 10, "triple": 10, "quad": 10},
    "demo_fast_mixture_counts": {"solo": 5},
    "distractor_count": 2,
}
"""The fields and values of a manifest of github THENIROCK/audiobench, with fewer labels."""


def test_a_published_manifest_finds_its_clips_in_the_published_cache(places, shelf, tmp_path, monkeypatch, tone):
    (shelf / "health.json").write_text(json.dumps(PUBLISHED))
    with pytest.raises(
        DataNotFound, match=r"there is no folder .*esc50 .audio/<filename>.* by the variable AUDIOBENCH_CACHE"
    ):
        find_pack("health", places)
    tone(tmp_path / "cache" / "sound_id" / "esc50" / "audio" / "1.wav")
    tone(tmp_path / "cache" / "sound_id" / "esc50" / "audio" / "2.wav")
    table = tmp_path / "cache" / "sound_id" / "esc50" / "meta" / "esc50.csv"
    table.parent.mkdir()
    table.write_text("filename,fold,category\n1.wav,1,coughing\n2.wav,1,sneezing\n")
    monkeypatch.setenv("AUDIOBENCH_CACHE", str(tmp_path / "cache"))
    pack = find_pack("health", places)
    assert [str(clip) for clip in pack.clips["sneezing"]] == ["health:audio/2.wav"]
    assert (pack.manifest.license_tag, pack.manifest.distractor_count) == ("non-clinical", 2)


def test_a_manifest_beside_its_folder_is_that_folders(places, shelf):
    (shelf / "home.json").write_text('{"id": "home", "labels": ["cat", "tap"]}')
    assert list(find_pack("home", places).clips) == ["cat", "tap"]


def test_a_label_may_be_called_as_its_pack_is(places, shelf, tone):
    tone(shelf / "siren" / "siren" / "1.wav")
    tone(shelf / "siren" / "bell" / "1.wav")
    assert list(find_pack("siren", places).clips) == ["bell", "siren"]


def test_a_folder_of_clips_that_is_a_link_out_of_the_pack_is_refused(places, shelf, manifest, tmp_path, tone):
    tone(tmp_path / "elsewhere" / "cat" / "1.wav")
    manifest(cache_subdir="clips")
    (shelf / "home" / "clips").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="home/clips is a link that leads out of"):
        find_pack("home", places)


def test_urbansound_folds_are_found(places, shelf, tone):
    tone(shelf / "urban" / "audio" / "fold3" / "7-1.wav")
    (shelf / "urban" / "metadata").mkdir()
    (shelf / "urban" / "metadata" / "UrbanSound8K.csv").write_text(
        "slice_file_name,fsID,fold,classID,class\n7-1.wav,7,3,3,dog_bark\n"
    )
    assert [str(clip) for clip in find_pack("urban", places).clips["dog_bark"]] == ["urban:audio/fold3/7-1.wav"]


def test_esc50_and_sakuras_animals_are_packs(shared):
    places = Places(shared, {"esc50": shared / "esc50", "animals": shared / "sakura/data/Animal"})
    esc50, animals = find_pack("esc50", places), find_pack("animals", places)
    assert {label: len(clips) for label, clips in esc50.clips.items()} == {"car_horn": 1, "dog": 1, "thunderstorm": 3}
    assert sum(map(len, animals.clips.values())) == 100
    assert inspect_pack(esc50).problems == inspect_pack(animals).problems == ()


def test_any_labelled_data_set_is_a_pack(shared, tmp_path):
    animals = pack_from_labels(dataset("sakura", "animal", "single"), by="label").read(
        Places(shared, {"sakura": shared / "sakura"})
    )
    assert animals.id == "sakura-animal-single"
    assert sum(map(len, animals.clips.values())) == 100
    with pytest.raises(UsageError, match="has 1 clips and the colour ''; for a pack every sample needs"):
        pack_from_labels(bundled("sounds"), by="colour").read(Places(tmp_path))


def test_a_pack_that_is_not_here_says_how_to_point_to_it(places):
    with pytest.raises(
        DataNotFound, match=r"the pack hom is not on this machine .did you mean 'home'\?.; .*--ab-data=hom=FOLDER"
    ):
        find_pack("hom", places)


@pytest.mark.parametrize("name", ["pack.json", "clips.json", "labels.csv"])
def test_what_describes_a_pack_lies_in_it(places, shelf, tmp_path, name):
    (tmp_path / "secret").write_text("filename,category\na.wav,cat\n")
    (shelf / "home" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"is a link that leads out of .*; put the file itself there"):
        find_pack("home", places)


@pytest.mark.parametrize("name", ["../home", "/etc", "", ".hidden"])
def test_a_name_that_could_lead_elsewhere_is_refused(places, name):
    with pytest.raises(UsageError, match="is not a name of a pack"):
        find_pack(name, places)


def test_a_packed_pack_says_how_to_unpack_it(places, shelf):
    (shelf / "field.tar.gz").write_bytes(b"x")
    with pytest.raises(DataNotFound, match=r"is packed in .*; unpack it with audiobench packs --unpack"):
        find_pack("field", places)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"labels": ["cat", "blender"]}, "the pack home .* has no clip of its label 'blender': add one, or take"),
        ({"labels": "cat"}, "pack.json: its 'labels' is not a list of texts; list what is heard"),
        ({"labels": ["cat", "Cat"]}, "its 'labels' holds 'cat' twice; keep one"),
        ({"labels": ["?"]}, "its 'labels' holds '.', which has no letter or digit; name the sound"),
        ({"lables": ["cat"]}, "has the unknown key 'lables'; did you mean 'labels'"),
        ({"id": "hut"}, "its 'id' is 'hut' and it is named 'home'; make them the same"),
        ({"id": "../x"}, "its 'id' is '../x'; name the pack with letters"),
        ({"title": 3}, "its 'title' is not a text of at most 2000 characters; write it as text"),
        ({"clip_resolver": "web"}, "its 'clip_resolver' is 'web'; write user-cache or procedural"),
        ({"cache_subdir": "../up"}, "its 'cache_subdir' cannot be used: the path '../up' leaves its folder"),
        ({"mixture_counts": {"solos": 3}}, "its 'mixture_counts' counts 'solos'; did you mean 'solo'"),
        ({"mixture_counts": {"solo": -1}}, "its 'mixture_counts' gives -1 for solo; write 0 to 10000"),
        ({"mixture_counts": [3]}, "its 'mixture_counts' is not an object; write"),
        ({"distractor_count": 1.5}, "its 'distractor_count' is 1.5; write a whole number from 0 to 10000"),
        ({"clips_per_label": 0}, "its 'clips_per_label' is 0; write a whole number from 1"),
        ({"clip_resolver": "procedural", "labels": ["vacuum"]}, "its labels vacuum are not among the sounds that come"),
    ],
)
def test_a_mistake_in_a_manifest_is_one_sentence(places, manifest, fields, said):
    manifest(**fields)
    with pytest.raises(UsageError, match=said) as refused:
        find_pack("home", places)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"cat": ["../../secret.wav"]}, "its 'cat' cannot be used: the path .* leaves its folder"),
        ({"cat": ["/etc/passwd"]}, "its 'cat' cannot be used: the path '/etc/passwd' leaves its folder"),
        ({"cat": "a.wav"}, "its 'cat' is not a list of paths"),
        ({"dog bark": ["a.wav"], "Dog-Bark": ["b.wav"]}, "its key 'Dog-Bark' means the label 'dog_bark' as 'dog bark'"),
        (
            {"dog": ["a.wav"], "cat": ["a.wav"]},
            "has the clip home:a.wav under cat and under dog; a clip of a pack has one label",
        ),
        (["a.wav"], "is not a JSON object; write it as"),
        ({}, "holds no sound: put clips into sub-folders"),
    ],
)
def test_a_mistake_in_an_index_is_one_sentence(places, shelf, index, said):
    (shelf / "home" / "clips.json").write_text(json.dumps(index))
    with pytest.raises(UsageError, match=said):
        find_pack("home", places)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("filename,category\na.wav,\n", "line 2 has no category; say what is heard"),
        ("filename,category\n../a.wav,dog\n", "line 2: the path '../a.wav' leaves its folder"),
        ("filename,category\na.wav\n", "line 2 has 1 cells under a header of 2"),
        ('filename,category\n"a.wav,dog\n', "is not CSV"),
    ],
)
def test_a_mistake_in_a_table_is_one_sentence(places, shelf, table, said):
    (shelf / "home" / "labels.csv").write_text(table)
    with pytest.raises(UsageError, match=said):
        find_pack("home", places)


def mistakes(places):
    with pytest.raises(UsageError) as refused:
        find_pack("home", places)
    return str(refused.value).splitlines()


def test_all_mistakes_of_a_manifest_are_named_at_once(places, shelf, manifest):
    manifest(titel="Home", labels=["cat", "?", "Cat"], mixture_counts={"solos": 3, "pair": -1}, cache_subdir="../up")
    assert [sentence.removeprefix(str(shelf / "home" / "pack.json")) for sentence in mistakes(places)] == [
        " has the unknown key 'titel'; did you mean 'title'?",
        ": its 'labels' holds '?', which has no letter or digit; name the sound",
        ": its 'labels' holds 'cat' twice; keep one",
        ": its 'cache_subdir' cannot be used: the path '../up' leaves its folder; "
        "write it relative to the folder, without ..; name a folder inside the pack's",
        ": its 'mixture_counts' counts 'solos'; did you mean 'solo'?",
        ": its 'mixture_counts' gives -1 for pair; write 0 to 10000",
    ]


def test_all_labels_without_a_clip_are_named_at_once(places, manifest):
    manifest(labels=["cat", "rian", "taps"])
    first, second = mistakes(places)
    assert (
        "has no clip of its label 'rian': add one, or take the label out of its labels; did you mean 'rain'?" in first
    )
    assert (
        "has no clip of its label 'taps': add one, or take the label out of its labels; did you mean 'tap'?" in second
    )


def test_all_mistakes_of_an_index_are_named_at_once(places, shelf):
    index = {"?": ["a.wav"], "dog bark": "a.wav", "Dog-Bark": ["../b.wav"], "cat": ["c.wav", "/d.wav", "e\u200b.wav"]}
    (shelf / "home" / "clips.json").write_text(json.dumps(index))
    expected = [
        "its key '?' has no letter or digit",
        "its 'dog bark' is not a list of paths",
        "its key 'Dog-Bark' means the label 'dog_bark' as 'dog bark' does",
        "its 'Dog-Bark' cannot be used: the path '../b.wav'",
        "its 'cat' cannot be used: the path '/d.wav'",
        "the name 'e\\u200b.wav' is not plain text",
    ]
    assert [said in sentence for said, sentence in zip(expected, mistakes(places), strict=True)] == [True] * 6


def test_all_mistakes_of_a_table_are_named_at_once(places, shelf):
    rows = ["filename,category", "a.wav,", "../b.wav,dog", "c.wav", ",", '"d.wav,dog']
    (shelf / "home" / "labels.csv").write_text("\n".join(rows))
    expected = [
        "line 2 has no category",
        "line 3: the path '../b.wav' leaves its folder",
        "line 4 has 1 cells under a header of 2",
        "line 5 has no category",
        "line 5: the path is empty",
        "line 6 is not CSV",
    ]
    assert [said in sentence for said, sentence in zip(expected, mistakes(places), strict=True)] == [True] * 6


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
NAMES = st.sampled_from([*(field.name for field in fields(PackManifest)), "lables"]) | st.text(max_size=3)


@given(
    st.dictionaries(
        NAMES,
        VALUES | st.lists(st.sampled_from(["cat", "Cat", "?"]) | VALUES, max_size=4) | st.dictionaries(NAMES, VALUES),
    )
)
def test_any_manifest_is_read_or_refused_in_at_most_ten_lines_that_name_the_file(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "pack.json"
    path.write_text(json.dumps({"id": "home", **content}))
    try:
        manifest = read_manifest(path)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(sentence.startswith(str(path)) for sentence in sentences)
    else:
        assert manifest.id == content.get("id", "home").strip()


def test_a_link_out_of_the_pack_is_refused(places, shelf, tmp_path, tone):
    tone(tmp_path / "secret" / "a.wav")
    (shelf / "home" / "secret").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"secret is a link that leads out of .*; put the file itself there"):
        find_pack("home", places)


def test_a_name_that_is_no_text_is_refused(places, shelf, tone):
    tone(shelf / "home" / "cat" / "a\nb.wav")
    with pytest.raises(UsageError, match="control character"):
        find_pack("home", places)
    cat = os.fsencode(shelf / "home" / "cat")
    os.rename(cat + b"/a\nb.wav", cat + b"/a\xff.wav")
    with pytest.raises(UsageError, match=r"the path 'cat/a.*udcff.wav' is not UTF-8; rename the file"):
        find_pack("home", places)
    os.rename(cat + b"/a\xff.wav", shelf / "home" / "cat" / "a\u202e.wav")
    with pytest.raises(UsageError, match=r"the name 'cat/a.u202e.wav' is not plain text; rename the file"):
        find_pack("home", places)


def test_looking_tells_of_every_clip_that_is_wrong(places, shelf, tmp_path, tone):
    tone(tmp_path / "secret.wav")
    (shelf / "home" / "clips.json").write_text(
        json.dumps({"cat": ["away.wav", "empty.wav", "out.wav", "text.wav"], "dog": ["slow.wav"]})
    )
    (shelf / "home" / "empty.wav").touch()
    (shelf / "home" / "text.wav").write_text("not a sound")
    (shelf / "home" / "out.wav").symlink_to(tmp_path / "secret.wav")
    tone(shelf / "home" / "slow.wav", rate_hz=8000)
    seen = inspect_pack(find_pack("home", places))
    assert [sentence.partition(": ")[2].split(";")[0] for sentence in seen.problems] == [
        f"no such file; looked for {shelf}/home/away.wav".split(";")[0],
        "the file is empty (0 bytes)",
        f"a symbolic link leads out of its data root {shelf}/home",
        "not audio that libsndfile can read (format not recognised)",
    ]
    assert seen.rates_hz == {8000: 1}


def test_all_packs_are_listed_with_what_is_wrong(places, shelf, manifest):
    manifest("broken", labels=["cat"])
    (shelf / "demo").mkdir()
    found = {(one.name, one.where): one.pack for one in all_packs(places)}
    assert isinstance(found["demo", "bundled"], Pack)
    assert isinstance(found["home", str(shelf / "home")], Pack)
    assert "has no clip of its label 'cat'" in str(found["broken", str(shelf / "broken")])
    assert "a pack named demo comes with the package" in str(found["demo", str(shelf / "demo")])


def test_a_data_folder_that_holds_the_pack_by_name_finds_it(shelf, tmp_path):
    assert find_pack("home", Places(tmp_path, shelves=[shelf])).id == "home"
    assert find_pack("home", Places(tmp_path, shelves=[tmp_path])).id == "home"
    assert find_pack("home", Places(tmp_path, {"home": shelf / "home"})).id == "home"


def test_the_published_manifests_of_the_replaced_system_are_read(tmp_path):
    (tmp_path / "health.json").write_text(json.dumps(PUBLISHED))
    manifest = read_manifest(tmp_path / "health.json")
    assert manifest.labels == ("coughing", "sneezing")
    assert manifest.demo_fast_mixture_counts == {"solo": 5}
