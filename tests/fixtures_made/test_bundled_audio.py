"""The bundled audio keeps its promises: what is there, how large it is, and that it can be made again."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.scene import pcm16
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BUNDLED = FIXTURES / "bundled"
MULTIPLE_CHOICE = {"digits": 4, "emotion": 3, "language": 4, "mixtures": 4, "sounds": 4, "speech_presence": 2}
TASKS = [*MULTIPLE_CHOICE, "transcription"]

needs_espeak = pytest.mark.skipif(
    importlib.util.find_spec("espeakng_loader") is None or not hasattr(os, "fork"),
    reason="speech is made with the wheel espeakng-loader on a POSIX system, and one of the two is missing",
)


def items_of(task: str, folder: Path = BUNDLED) -> list[dict]:
    return [json.loads(line) for line in (folder / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()]


def all_clips() -> list[Path]:
    return sorted((BUNDLED / "audio").glob("*.flac"))


def make_audio(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(FIXTURES / "make_audio.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def train_split(tmp_path_factory):
    """An eighth of what the listener learns from."""
    folder = tmp_path_factory.mktemp("train")
    done = make_audio("train", "--out", str(folder), "--scale", "1")
    assert done.returncode == 0, done.stderr
    return folder


def test_there_are_enough_items_and_few_enough_bytes():
    assert sum(len(items_of(task)) for task in TASKS) >= 400
    assert sum(path.stat().st_size for path in all_clips()) < 7_500_000


@pytest.mark.parametrize("task", TASKS)
def test_ids_are_unique_and_name_their_task(task):
    ids = [item["id"] for item in items_of(task)]
    assert len(set(ids)) == len(ids)
    assert all(name.startswith(f"{task}-") for name in ids)


@pytest.mark.parametrize("task", TASKS)
def test_lines_are_written_with_sorted_keys_in_utf_8(task):
    for line in (BUNDLED / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False)


@pytest.mark.parametrize("task", TASKS)
def test_each_item_names_its_recording_and_split(task):
    for item in items_of(task):
        assert item["audio"] == f"audio/{item['metadata']['recording']}.flac"
        assert item["metadata"]["split"] == "test"


@pytest.mark.parametrize(("task", "options"), MULTIPLE_CHOICE.items())
def test_the_answer_is_among_different_options(task, options):
    for item in items_of(task):
        assert len(item["choices"]) == len(set(item["choices"])) == options
        assert item["answer"] in item["choices"]


@pytest.mark.parametrize(("task", "options"), MULTIPLE_CHOICE.items())
def test_the_right_option_takes_every_position_equally_often(task, options):
    positions = Counter(item["choices"].index(item["answer"]) for item in items_of(task))
    assert len(positions) == options
    assert max(positions.values()) - min(positions.values()) <= 1


def test_transcripts_stay_within_the_stated_vocabulary():
    vocabulary = json.loads((BUNDLED / "vocabulary.json").read_text(encoding="utf-8"))
    slots = [vocabulary["slots"].get(word, [word]) for word in vocabulary["sentence"]]
    for item in items_of("transcription"):
        assert "choices" not in item
        words = item["answer"].split()
        in_sentence = len(words) == len(slots) and all(w in slot for w, slot in zip(words, slots, strict=True))
        in_digits = len(words) in vocabulary["digit_string_lengths"] and set(words) <= set(vocabulary["digits"])
        assert in_sentence or in_digits, item["answer"]


def test_a_mixture_asks_for_sounds_at_stated_levels():
    for item in items_of("mixtures"):
        heard = item["metadata"]["sounds"].split(", ")
        assert len(set(heard)) == len(heard)
        if item["question"].startswith("How many"):
            assert item["answer"] == ["one", "two", "three", "four"][len(heard) - 1]
        else:
            assert set(item["choices"]) & set(heard) == {item["answer"]}


def test_each_task_has_one_wording():
    for task in TASKS:
        assert len({item["question"] for item in items_of(task)}) == (2 if task == "mixtures" else 1)


def test_every_clip_is_asked_about_and_no_other_exists():
    asked = {BUNDLED / item["audio"] for task in TASKS for item in items_of(task)}
    assert asked == set(all_clips())


def test_clips_are_short_and_16_khz_mono_pcm16():
    for path in all_clips():
        info = soundfile.info(path)
        assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_16", 16_000, 1)
        assert 0.3 <= info.duration <= 3.0, path.name


def test_checksums_hold_for_every_made_file():
    listed = {}
    for line in (BUNDLED / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        listed[name] = digest
    made = [*all_clips(), *BUNDLED.glob("*.jsonl"), BUNDLED / "vocabulary.json"]
    assert listed == {p.relative_to(BUNDLED).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in made}


def test_no_two_clips_are_the_same():
    clips = [path for path in all_clips() if "background" not in path.name]
    assert len({path.read_bytes() for path in clips}) == len(clips)


@needs_espeak
@pytest.mark.slow
def test_the_scripts_make_the_same_bytes_again():
    done = make_audio("check")
    assert done.returncode == 0, done.stderr


@needs_espeak
@pytest.mark.slow
def test_train_and_test_share_no_recording_voice_or_rate(train_split):
    def spoken(folder):
        return [item["metadata"] for item in items_of("digits", folder)]

    ours = {hashlib.sha256(path.read_bytes()).hexdigest() for path in all_clips() if "background" not in path.name}
    theirs = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (train_split / "audio").glob("*.flac")}
    assert not ours & theirs
    for fact in (lambda facts: facts["voice"].split("+")[1], lambda facts: facts["rate_wpm"]):
        assert not {fact(facts) for facts in spoken(BUNDLED)} & {fact(facts) for facts in spoken(train_split)}


@needs_espeak
def test_check_names_the_first_file_that_differs(tmp_path):
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from making.writing import first_difference\n"
        "print(first_difference(Path(sys.argv[2]), Path(sys.argv[3])))"
    )
    for name, text in (("ours", "{}\n"), ("theirs", "{ }\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vocabulary.json").write_text(text)
        (tmp_path / name / "SHA256SUMS").write_text("")
    command = [sys.executable, "-c", program, str(FIXTURES), str(tmp_path / "ours"), str(tmp_path / "theirs")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "vocabulary.json differs from what the scripts make now.\n"


@needs_espeak
def test_nothing_that_a_listener_learns_from_is_in_a_soundscape(train_split):
    learnt = {soundfile.read(path, dtype="int16")[0].tobytes() for path in (train_split / "audio").glob("*.flac")}
    pieces = [piece for pieces in bundled_pools().layers.values() for piece in pieces]
    assert len(learnt) > 400
    assert not learnt & {pcm16(decode(piece.clip, 16_000, None).samples).tobytes() for piece in pieces}
