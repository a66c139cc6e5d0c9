"""The faithfulness study's own data: its manifests wherever it keeps them, and its trees of changed audio."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_audiobench.audio import edits
from pytest_audiobench.compat.faithfulness_study.manifest import faithfulness_study
from pytest_audiobench.compat.faithfulness_study.renderings import rendering, renderings
from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.dataset import perturb
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the study's manifests are not at {SHARED}")

ROW = {
    "id": "sakura_animal_0_single",
    "question": "Which animal is it?",
    "choices": "(A) sheep (B) cat",
    "choices_list": ["sheep", "cat"],
    "audio_path": "{DATA_ROOT}/sakura/data/Animal/audio/cat0.wav",
    "answer": "(b) cat",
    "true_letter": "B",
}
MULTI = {**ROW, "id": "sakura_animal_0_multi", "question": "What does it say?", "choices": "(A) Meow (B) Moo"}
MULTI |= {"choices_list": ["Meow", "Moo"], "answer": " (a) Meow", "true_letter": "A"}


def home(tmp_path, *rows, place="data/sakura/animal", name="animal"):
    folder = tmp_path / "study" / place
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) + "\n" for row in rows or (ROW, MULTI)]
    (folder / f"{name}_manifest.jsonl").write_text("".join(lines))
    return tmp_path / "study"


def sound(folder, path):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(b"RIFF")


def places(**named):
    return Places(Path(), {name.replace("_", "-"): folder for name, folder in named.items()})


def sources(samples):
    return [str(clip.source.path) for one in samples for clip in one.clips]


@pytest.mark.parametrize(
    "place",
    ["", "manifests", "data/sakura/animal", "processed_input/sakura/animal", "pooneh_version/data/sakura/animal"],
)
def test_a_manifest_is_found_where_the_study_keeps_it(tmp_path, place):
    single, multi = faithfulness_study("animal").read(places(faithfulness=home(tmp_path, place=place)))
    assert (single.id, single.question, single.choices) == (ROW["id"], ROW["question"], ("sheep", "cat"))
    assert (single.reference, multi.reference) == ("cat", "Meow")
    assert dict(single.metadata) == {
        "track": "animal",
        "recording": "cat0.wav",
        "faithfulness_letter": "B",
        "hop": "single",
    }


def test_options_need_no_list(tmp_path):
    row = {name: value for name, value in ROW.items() if name != "choices_list"}
    row |= {"id": "3fe6", "choices": "(A) a hen (or two) (B) cat"}
    (one,) = faithfulness_study("mmau").read(places(faithfulness=home(tmp_path, row, place="data/mmau", name="mmau")))
    assert one.choices == ("a hen (or two)", "cat")
    assert "hop" not in one.metadata


def test_the_studys_first_manifests_are_read_too(tmp_path):
    row = {name: ROW[name] for name in ("id", "audio_path", "answer")}
    row["instruction"] = "Which animal is it? (a) sheep (b) cat"
    (one,) = faithfulness_study("animal").read(places(faithfulness=home(tmp_path, row)))
    assert (one.question, one.choices, one.reference) == (ROW["question"], ("sheep", "cat"), "cat")
    assert one.metadata["faithfulness_letter"] is None


def test_the_audio_lies_below_the_data_root_wherever_that_is(tmp_path):
    folder = home(tmp_path)
    elsewhere = tmp_path / "audio"
    elsewhere.mkdir()
    read = faithfulness_study("animal").read
    assert read(places(faithfulness=folder))[0].clips[0].source.root.folder == folder
    sound(folder / "data", "sakura/data/Animal/audio/cat0.wav")
    assert read(places(faithfulness=folder))[0].clips[0].source.root.folder == folder / "data"
    sound(elsewhere, "sakura/data/Animal/audio/cat0.wav")
    found = read(places(faithfulness=folder, faithfulness_audio=elsewhere))
    assert found[0].clips[0].source.location == elsewhere / "sakura/data/Animal/audio/cat0.wav"
    assert found[0].clips == found[1].clips


def test_a_folder_of_data_sets_is_a_data_root_as_well(tmp_path):
    sound(tmp_path / "shelf", "sakura/data/Animal/audio/cat0.wav")
    found = faithfulness_study("animal").read(
        Places(Path(), {"faithfulness": home(tmp_path)}, shelves=[tmp_path / "shelf"])
    )
    assert found[0].clips[0].source.location.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"audio_path": "{DATA_ROOT}/../../etc/passwd"}, "leaves its folder"),
        ({"audio_path": None}, "not a row of the study's manifests"),
        ({"choices": "sheep or cat", "choices_list": None}, "not lettered from"),
        ({"answer": "a cow", "true_letter": "Z"}, "not one of the options"),
        ({"question": 3}, "must be texts"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path, changes, said):
    folder = home(tmp_path, ROW, {**MULTI, **changes})
    with pytest.raises(UsageError, match=rf"animal_manifest\.jsonl, line 2 .*{said}"):
        faithfulness_study("animal").read(places(faithfulness=folder))


def test_a_data_set_without_a_manifest_is_not_here(tmp_path):
    with pytest.raises(DataNotFound, match=r"emotion_manifest\.jsonl.*--ab-data=faithfulness=FOLDER"):
        faithfulness_study("emotion").read(places(faithfulness=home(tmp_path)))
    with pytest.raises(UsageError, match="not a data set of the study"):
        faithfulness_study("../animal")


@needs_data
@pytest.mark.parametrize(("name", "n"), [("animal", 1000), ("emotion", 1000), ("mmau", 1000), ("mmar", 997)])
def test_the_studys_manifests_are_read_whole(name, n):
    samples = faithfulness_study(name).read(places(faithfulness=SHARED / "recorded", faithfulness_audio=SHARED))
    assert len({one.id for one in samples}) == n
    if n == 1000 and name != "mmau":
        here = sum(one.clips[0].source.location.exists() for one in samples)
        assert here == 200  # 100 of 500 clips, each in two questions


def test_perturbations_of_the_trees_are_named_like_ours_and_lie_on_curves_of_their_own():
    assert [str(one) for one in renderings()] == [
        *(f"mask-p{percent}-rendered" for percent in (20, 40, 60, 80, 90, 100)),
        *("noise-20dB-rendered", "noise-10dB-rendered", "noise-0dB-rendered"),
        *("noise-m10dB-rendered", "noise-m20dB-rendered"),
    ]
    (mask, noise) = rendering("mask", 20), rendering("noise", -10)
    assert (mask.family, mask.dose, mask.unit, mask.harder) == ("mask-rendered", 20.0, "% masked", "higher")
    assert (noise.family, noise.dose, noise.unit, noise.harder) == ("noise-rendered", -10.0, "dB SNR", "lower")
    with pytest.raises(UsageError, match="rendered 'mask' and 'noise'"):
        rendering("fog", 3)


@pytest.mark.parametrize("path", ["sakura/data/Animal/audio/cat0.wav", "cat0.wav"])
def test_a_rendered_clip_is_found_by_its_path_or_by_its_name(tmp_path, path):
    folder = home(tmp_path)
    sound(folder, f"animal/mask/p20/{path}")
    samples = perturb(faithfulness_study("animal"), rendering("mask", 20)).read(places(faithfulness=folder))
    assert sources(samples) == [f"animal/mask/p20/{path}"] * 2
    assert [one.recordings[0].source.path for one in samples] == ["sakura/data/Animal/audio/cat0.wav"] * 2


def test_a_tree_serves_the_published_data_set_as_well(tmp_path):
    metadata = tmp_path / "SAKURA" / "data" / "Animal"
    metadata.mkdir(parents=True)
    entry = {"attribute_label": "Cat", "single_instruction": "Which? (a) sheep (b) cat", "single_answer": "(b) cat"}
    (metadata / "metadata.json").write_text(json.dumps({"data/Animal/audio/cat0.wav": entry}))
    trees = tmp_path / "trees"
    sound(trees, "animal/noise_snr/snr-10/sakura/data/Animal/audio/cat0.wav")
    here = places(sakura=tmp_path / "SAKURA", faithfulness_audio=trees)
    (one,) = perturb(dataset("sakura", "animal", "single"), rendering("noise", -10)).read(here)
    assert one.clips[0].source.location == trees / "animal/noise_snr/snr-10/sakura/data/Animal/audio/cat0.wav"
    with pytest.raises(DataNotFound, match=r"animal/noise_snr/snr20 is not on this machine"):
        perturb(dataset("sakura", "animal", "single"), rendering("noise", 20)).read(here)


def test_of_a_track_without_trees_every_dose_says_the_same(tmp_path):
    here = places(faithfulness=home(tmp_path))
    said = set()
    for one in renderings():
        with pytest.raises(DataNotFound) as raised:
            perturb(faithfulness_study("animal"), one).read(here)
        said.add(str(raised.value))
    (sentence,) = said
    assert sentence.startswith("no tree of animal, such as animal/mask/p20, is on this machine (looked in ")


def test_two_questions_under_one_id_are_refused(tmp_path):
    again = {**ROW, "question": "Which one is not heard?"}
    with pytest.raises(UsageError, match=r"line 2 asks something else under the id 'sakura_animal_0_single'"):
        faithfulness_study("animal").read(places(faithfulness=home(tmp_path, ROW, again)))


def test_a_missing_rendered_clip_is_left_to_its_sample(tmp_path):
    folder = home(tmp_path, ROW, {**MULTI, "audio_path": "{DATA_ROOT}/sakura/data/Animal/audio/dog1.wav"})
    sound(folder, "animal/mask/p20/cat0.wav")
    samples = perturb(faithfulness_study("animal"), rendering("mask", 20)).read(places(faithfulness=folder))
    assert [one.clips[0].source.location.exists() for one in samples] == [True, False]


def test_a_track_that_leads_out_of_the_folder_is_refused(tmp_path):
    folder = home(tmp_path)
    sound(folder, "animal/mask/p20/cat0.wav")
    (one, _) = faithfulness_study("animal").read(places(faithfulness=folder))
    change = rendering("mask", 20).prepare(places(faithfulness=folder))
    with pytest.raises(UsageError, match="leaves its folder"):
        change([replace(one, metadata={"track": "../.."})])
    with pytest.raises(UsageError, match="not a plain file"):
        change([replace(one, clips=(one.clips[0].edited(edits.silence()),))])
