"""Pools of a user's own: by lists, by labels, and as corpora are distributed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench import dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.folder_pools import cleanly_licensed, folder_pools
from pytest_audiobench.datasets.soundscape.plans import PROFILES, Planner
from pytest_audiobench.errors import UsageError


def audio(path: Path, seed: int = 0, seconds: float = 1.0, level: float = 0.1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = {"format": "OGG", "subtype": "OPUS"} if path.suffix == ".opus" else {}
    wave = np.random.RandomState(seed).uniform(-level, level, round(seconds * 16_000))
    soundfile.write(path, wave, 16_000, **kind)


def text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def listed(folder: Path, layer: str, *rows: dict) -> None:
    for number, row in enumerate(rows):
        if isinstance(row.get("audio"), str):
            audio(folder / row["audio"], number)
    text(folder / f"{layer}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


SPOKEN = {"audio": "a.wav", "text": "hello there", "speaker": "ann", "language": "en", "how": "glad", "style": "loud"}


def test_a_list_says_what_is_known_of_its_pieces(tmp_path: Path) -> None:
    listed(tmp_path, "speech", SPOKEN)
    listed(tmp_path, "music", {"audio": "m.wav", "caption": "a song", "also": ["speech"], "licence": "CC0"})
    pools = folder_pools(tmp_path)
    (spoken,), (song,) = pools.layers["speech"], pools.layers["music"]
    known = (spoken.text, spoken.speaker, spoken.language, spoken.how, spoken.style)
    assert known == ("hello there", "ann", "en", "glad", "loud")
    assert song.mixes_types("music")
    assert (song.caption, song.licence) == ("a song", "CC0")
    assert pools.layers["sfx"] == ()


def test_a_caption_is_made_of_a_label_and_counted(tmp_path: Path) -> None:
    listed(tmp_path, "sfx", {"audio": "a.wav", "label": "dog bark"}, {"audio": "b.wav", "caption": "rain on a roof"})
    pools = folder_pools(tmp_path)
    assert [piece.caption for piece in pools.layers["sfx"]] == ["the sound of dog bark", "rain on a roof"]
    assert pools.needs_caption == {"sfx": 1}


def test_a_piece_of_which_too_little_is_known_is_left_out_and_named(tmp_path: Path) -> None:
    listed(tmp_path, "speech", SPOKEN, {"audio": "b.wav", "text": "no language"})
    listed(tmp_path, "sfx", {"audio": "c.wav"})
    pools = folder_pools(tmp_path)
    assert len(pools.layers["speech"]) == 1
    assert pools.refused == ("b.wav: nothing is known of its language", "c.wav: nothing is known of its caption")


def test_all_mistakes_of_a_list_are_told(tmp_path: Path) -> None:
    rows = (
        {**SPOKEN, "txet": "a"},
        {**SPOKEN, "speaker": 3},
        {**SPOKEN, "also": ["noise"]},
        {**SPOKEN, "audio": "../a.wav"},
        {**SPOKEN, "audio": 3},
    )
    text(tmp_path / "speech.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError) as error:
        folder_pools(tmp_path)
    told = str(error.value).splitlines()
    assert len(told) == 5
    assert "line 1 has the unknown key 'txet'; did you mean 'text'?" in told[0]
    assert "line 2: its 'speaker' is not text" in told[1]
    assert "line 3: its 'also' is not a list of speech" in told[2]
    assert "line 4: its 'audio' cannot be used" in told[3]
    assert "line 5: its 'audio' is not text" in told[4]


def test_folders_by_label_are_sounds(tmp_path: Path) -> None:
    for label in ("Dog bark", "rain"):
        audio(tmp_path / "sfx" / label / "1.wav", len(label))
    assert [piece.label for piece in folder_pools(tmp_path).layers["sfx"]] == ["dog bark", "rain"]


def test_a_table_as_esc_50_has_it_is_sounds(tmp_path: Path) -> None:
    audio(tmp_path / "sfx" / "audio" / "1-100-A-0.wav")
    text(tmp_path / "sfx" / "meta" / "esc50.csv", "filename,fold,target,category\n1-100-A-0.wav,1,0,vacuum_cleaner\n")
    (piece,) = folder_pools(tmp_path).layers["sfx"]
    assert piece.caption == "the sound of vacuum cleaner"


def test_fsd50k_is_read_as_it_is_distributed(tmp_path: Path) -> None:
    root = tmp_path / "sfx"
    audio(root / "FSD50K.eval_audio" / "37199.wav")
    audio(root / "FSD50K.eval_audio" / "175151.wav")
    labels = '37199,"Electric_guitar,Guitar,Music","/m/1,/m/2"\n175151,"Yell,Shout,Human_voice","/m/3,/m/4"\n'
    text(root / "FSD50K.ground_truth" / "eval.csv", "fname,labels,mids\n" + labels)
    first, second = folder_pools(tmp_path).layers["sfx"]
    assert (first.label, first.also) == ("electric guitar", ("music",))
    assert (second.label, second.also) == ("yell", ("speech",))
    assert second.mixes_types("sfx")


def test_common_voice_is_read_as_it_is_distributed(tmp_path: Path) -> None:
    root = tmp_path / "speech"
    for language, words in (("de", "guten Tag"), ("nl", "goedendag")):
        audio(root / language / "clips" / f"{language}_1.mp3")
        header = "client_id\tpath\tsentence\tage\tgender"
        text(root / language / "validated.tsv", f"{header}\nc{language}\t{language}_1.mp3\t{words}\t\tfemale\n")
    pieces = folder_pools(tmp_path).layers["speech"]
    assert [(p.text, p.speaker, p.language, p.gender) for p in pieces] == [
        ("guten Tag", "cde", "de", "female"),
        ("goedendag", "cnl", "nl", "female"),
    ]


def test_emilia_is_read_as_it_is_distributed(tmp_path: Path) -> None:
    root = tmp_path / "speech" / "ZH"
    wav = "ZH_B00000/ZH_B00000_S00000/mp3/ZH_B00000_S00000_W000000.mp3"
    audio(root / wav)
    row = {
        "id": "ZH_B00000_S00000_W000000",
        "wav": wav,
        "text": "你好",
        "speaker": "S1",
        "language": "zh",
        "dnsmos": 3.3,
    }
    text(root / "ZH_B00000.jsonl", json.dumps(row) + "\n")
    (piece,) = folder_pools(tmp_path).layers["speech"]
    assert (piece.text, piece.speaker, piece.language, piece.licence) == ("你好", "S1", "zh", "CC BY-NC 4.0")


@pytest.mark.parametrize("ending", ["flac", "opus"])
def test_multilingual_librispeech_is_read_as_it_is_distributed(tmp_path: Path, ending: str) -> None:
    root = tmp_path / "speech" / f"mls_dutch{'_opus' if ending == 'opus' else ''}" / "test"
    audio(root / "audio" / "880" / "2450" / f"880_2450_000000.{ending}")
    text(root / "transcripts.txt", "880_2450_000000\tdat is wel zeer schoon\n")
    (piece,) = folder_pools(tmp_path).layers["speech"]
    assert (piece.text, piece.speaker, piece.language) == ("dat is wel zeer schoon", "mls-880", "nl")


def test_a_declaration_says_how_any_files_are_read(tmp_path: Path) -> None:
    audio(tmp_path / "burst" / "x" / "1.wav")
    text(tmp_path / "burst" / "all.csv", "file,what,who\nx/1.wav,a laugh,ann\n")
    declared = '[source]\nlicence = "CC0"\n[data]\nrows = "all.csv"\n[sample]\nid = "{file}"\naudio = "{file}"\n'
    rest = 'question = "What is heard?"\nanswer = "{what}"\nmetadata = { speaker = "{who}", caption = "{what}" }\n'
    text(tmp_path / "burst.audiobench.toml", f'protocol = "captioning"\n{declared}{rest}')
    (piece,) = folder_pools(tmp_path).layers["burst"]
    assert (piece.speaker, piece.caption, piece.licence) == ("ann", "a laugh", "CC0")


def test_speech_without_a_list_is_refused(tmp_path: Path) -> None:
    audio(tmp_path / "speech" / "a.wav")
    with pytest.raises(UsageError, match=r"holds no speech that is read; list it in speech.jsonl"):
        folder_pools(tmp_path)


@pytest.mark.parametrize(
    ("licence", "is_clean"),
    [
        ("CC0", True),
        ("CC BY 4.0", True),
        ("https://creativecommons.org/licenses/by/3.0/", False),
        ("CC BY-NC 4.0", False),
        ("cc-by-nc-nd", False),
        ("CC BY 4.0; each clip has its own, CC BY-NC among them", False),
        ("", False),
    ],
)
def test_only_licences_that_are_known_to_allow_any_use_are_clean(tmp_path: Path, licence: str, is_clean: bool) -> None:
    listed(tmp_path, "sfx", {"audio": "a.wav", "caption": "a dog", "licence": licence})
    pools = cleanly_licensed(folder_pools(tmp_path))
    assert len(pools.layers["sfx"]) == is_clean
    assert len(pools.refused) == (not is_clean)


def test_bundled_pools_are_clean() -> None:
    assert cleanly_licensed(bundled_pools()).layers == bundled_pools().layers


def test_scenes_are_made_of_the_pools_that_the_run_names(tmp_path: Path) -> None:
    listed(tmp_path, "speech", *({**SPOKEN, "audio": f"s{n}.wav", "speaker": f"v{n}"} for n in range(4)))
    listed(tmp_path, "sfx", {"audio": "x.wav", "label": "dog"})
    by_run = dataset("soundscape_scenes", scenes=5).read(Places(Path(), pools=tmp_path))
    by_test = dataset("soundscape_scenes", scenes=5, pools=tmp_path.name).read(Places(tmp_path.parent))
    assert [s.reference for s in by_run] == [s.reference for s in by_test]
    assert {e["transcription"] for s in by_run for e in json.loads(s.reference) if e["type"] == "speech"} == {
        "hello there"
    }


def test_silent_and_broken_pieces_are_left_out_and_named(tmp_path: Path) -> None:
    listed(
        tmp_path,
        "speech",
        {**SPOKEN, "audio": "good.wav"},
        {**SPOKEN, "audio": "silent.wav"},
        {**SPOKEN, "audio": "broken.wav"},
    )
    audio(tmp_path / "silent.wav", level=0.0)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    planner = Planner(folder_pools(tmp_path), PROFILES["published"], "1", 10, 30)
    made = [planner.plan() for _ in range(10)]
    assert {item.piece.source for plan in made for item in plan.items} == {"good.wav"}
    assert planner.refused["silent.wav"] == "nothing is heard in it"
    assert "broken.wav" in planner.refused["broken.wav"]
