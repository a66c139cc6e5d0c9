"""``audiobench soundscape``: clips written with their answer keys, and looked at."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import soundfile

from pytest_audiobench.cli import main


def make(folder: Path, *arguments: str) -> int:
    scenes = ("--scenes", "3", "--shortest", "10", "--longest", "12")
    return main(["soundscape", "make", *scenes, "--out", str(folder), *arguments])


def test_make_writes_clips_beside_their_answer_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(tmp_path / "made") == 0
    assert "3 clips and their answer keys written" in capsys.readouterr().out
    for number in range(3):
        key = json.loads((tmp_path / "made" / f"clip_{number:03d}.json").read_text(encoding="utf-8"))
        pcm, rate_hz = soundfile.read(tmp_path / "made" / f"clip_{number:03d}.flac", dtype="int16")
        assert rate_hz == 16_000
        assert hashlib.sha256(pcm.tobytes()).hexdigest() == key["audio_sha256"]
        assert len(pcm) == key["duration"] * rate_hz == key["recipe"]["frames"]
        assert {"pool", "source", "source_sha256", "licence", "gain"} <= set(key["events"][0]["provenance"])


def test_make_writes_the_same_again_and_others_with_another_seed(tmp_path: Path) -> None:
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        make(tmp_path / folder, "--seed", seed, "--profile", "large", "--clean-licences")
    keys = [[(tmp_path / f / f"clip_{n:03d}.json").read_bytes() for n in range(3)] for f in "abc"]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_make_writes_no_folder_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(tmp_path / "made", "--mp3") == 0
    assert soundfile.info(tmp_path / "made" / "clip_000.mp3").samplerate == 16_000
    assert make(tmp_path / "made") == 4
    assert "exists and is not empty" in capsys.readouterr().err


def test_look_counts_what_is_in_clips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "made")
    capsys.readouterr()
    assert main(["soundscape", "look", str(tmp_path / "made")]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    events = [
        event
        for path in (tmp_path / "made").glob("*.json")
        for event in json.loads(path.read_text(encoding="utf-8"))["events"]
    ]
    assert set(lines) == {"clips", "events", "languages", "overlap", "loudness", "speakers"}
    assert lines["clips"] == "short: 3"
    for kind in ("speech", "sound_event"):
        assert f"{kind}: {sum(event['type'] == kind for event in events)}" in lines["events"]


def test_look_names_what_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "made")
    (tmp_path / "made" / "clip_001.json").write_text("{}", encoding="utf-8")
    assert main(["soundscape", "look", str(tmp_path / "made")]) == 1
    out = capsys.readouterr().out
    assert "clip_001.json: clip_id is not text" in out
    assert "clips     short: 2" in out


def test_look_names_every_document_that_it_refuses_and_counts_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "made")
    assert main(["soundscape", "look", str(tmp_path / "made")]) == 0
    whole = capsys.readouterr().out.splitlines()[-6:]
    for number in range(15):
        (tmp_path / "made" / f"a_{number:02d}.json").write_text("{}", encoding="utf-8")
    assert main(["soundscape", "look", str(tmp_path / "made")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == whole
    assert [line for line in lines if "a_14.json: " in line and line.startswith("refused: ")]
    assert len(lines) == 6 + 15 * 3


def test_look_counts_what_is_in_pools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sfx.jsonl").write_text(
        '{"audio": "a.wav", "label": "dog"}\n'
        '{"audio": "b.wav", "caption": "rain", "also": ["music"]}\n'
        '{"audio": "c.wav"}\n',
        encoding="utf-8",
    )
    assert main(["soundscape", "look", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "sfx       2 pieces: 1 labels, 1 with something else in them, 1 captions made of labels" in lines
    assert "left out: c.wav: nothing is known of its caption" in lines


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["look", "nowhere"], "nowhere is not a folder"),
        (["look", "."], "holds neither answer keys of clips nor pools"),
        (["make", "--out", "a", "--pools", "."], "the other layers are burst, sfx, music, ambience"),
        (["make", "--out", "a", "--profile", "larg"], "there is no profile 'larg'"),
        (["make", "--out", "a", "--shortest", "0.1"], "give 1 to 600 s"),
    ],
)
def test_what_cannot_be_made_or_looked_at_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["soundscape", *arguments]) == 4
    assert why in capsys.readouterr().err
