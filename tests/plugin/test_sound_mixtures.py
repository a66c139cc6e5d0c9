"""Packs, recipes and --ab-mix through real pytest runs: what is asked, what is skipped, what fails with a sentence."""

import json
import struct

import numpy as np
import soundfile

EVAL = """
import pytest
from pytest_audiobench import transcription
from pytest_audiobench.datasets.packs.sound_id import sound_id

@pytest.mark.parametrize("condition", ["solo", "pair", "custom"])
def test_home(evaluate, condition):
    evaluate(sound_id("home", condition), transcription(prompt="What?"))
"""
SPOILT = """
import pytest
from pytest_audiobench import transcription
from pytest_audiobench.datasets.packs.sound_id import sound_id

@pytest.mark.parametrize("pack", ["silent", "empty", "frameless", "bomb", "hours", "linked", "unlabelled", "rates"])
def test_pack(evaluate, pack):
    evaluate(sound_id(pack, "solo"), transcription(prompt="What?"))

def test_recipe(evaluate):
    evaluate(sound_id("rates", recipes="mine.yaml"), transcription(prompt="What?"))

def test_away(evaluate):
    evaluate(sound_id("away", "solo"), transcription(prompt="What?"))

def test_custom(evaluate):
    evaluate(sound_id("rates", "custom"), transcription(prompt="What?"))
"""
LABELS = {"cat": 300, "dog": 400, "rain": 500, "tap": 600}


def make_pack(folder):
    """Four labels, one clip each; returns the first one's."""
    times = np.arange(3200) / 16_000
    for label, hz in LABELS.items():
        (folder / label).mkdir(parents=True)
        soundfile.write(folder / label / "1.wav", 0.3 * np.sin(2 * np.pi * hz * times), 16_000)
    return folder / "cat" / "1.wav"


def run(suite, *args):
    return suite.run("--ab-data=packs=packs", "-rs", "--tb=short", *args, deaf="yes")


def test_mixtures_by_option_and_by_ini_have_the_same_hashes_under_any_hash_seed_and_workers(suite, monkeypatch):
    make_pack(suite.path / "packs" / "home")
    suite.write(test_home=EVAL)
    (suite.path / "mine.yaml").write_text("mixtures: [{name: wet, labels: [rain, tap], snr_db: -3}]")
    found = []
    for hash_seed, args in (("1", ["--ab-mix=cat+dog@-6", "--ab-mix=mine.yaml"]), ("2", ["-n2", "--ab-refresh"])):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        if hash_seed == "2":
            (suite.path / "pytest.ini").write_text("[pytest]\nab_mix =\n    cat+dog@-6\n    mine.yaml\n")
        run(suite, *args).assert_outcomes(passed=3)
        record, folder = suite.last()
        found.append(sorted((item["eval"], item["hashes"]["run_hash"]) for item in record["items"]))
    assert found[0] == found[1]
    asked = {
        line["sample_id"]
        for line in map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())
        if line["metadata"]["condition"] == "custom"
    }
    assert asked == {f"{mixture}/{label}" for mixture in ("cat+dog@-6", "wet") for label in LABELS}


def promise(path, held, promised, sparse=False):
    size = struct.pack("<I", promised)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 16_000, 16_000, 1, 8)
    with path.open("wb") as file:
        file.write(b"RIFF" + struct.pack("<I", promised + 36) + b"WAVE" + form + b"data" + size + bytes(held))
        if sparse:
            file.truncate(44 + promised)


def test_every_spoilt_pack_fails_its_eval_with_one_sentence_and_an_absent_one_is_skipped(suite):
    packs = suite.path / "packs"
    clips = {
        name: make_pack(packs / name)
        for name in ("silent", "empty", "frameless", "bomb", "hours", "linked", "unlabelled", "rates")
    }
    soundfile.write(clips["silent"], np.zeros(3200), 16_000)
    clips["empty"].write_bytes(b"")
    soundfile.write(clips["frameless"], np.zeros(0), 16_000)
    promise(clips["bomb"], held=1000, promised=1 << 26)
    promise(clips["hours"], held=1000, promised=95_000_000, sparse=True)
    soundfile.write(suite.path / "secret.wav", np.ones(1000) / 2, 16_000)
    clips["linked"].unlink()
    clips["linked"].symlink_to(suite.path / "secret.wav")
    (packs / "unlabelled" / "pack.json").write_text('{"id": "unlabelled", "labels": ["cat", "blender"]}')
    soundfile.write(clips["rates"], 0.3 * np.sin(np.arange(1600)), 8000)
    (suite.path / "mine.yaml").write_text("mixtures: [{labels: [cat, dig]}]")
    suite.write(test_spoilt=SPOILT)
    result = run(suite)
    result.assert_outcomes(passed=1, failed=8, skipped=2)
    assert result.ret == 1
    said = "\n".join(" ".join(line.split()) for line in result.stdout.lines)
    for sentence in (
        "silent:cat/1.wav): it is mixed at a ratio of levels, and its one clip is silent; leave it out",
        "empty:cat/1.wav: the file is empty (0 bytes); fetch it again",
        "frameless:cat/1.wav: no sound in it (zero frames); leave it out, or fetch or edit it again",
        "bomb:cat/1.wav: the file is cut off: its header promises 67108864 bytes of sound and it holds 1000; fetch",
        "hours:cat/1.wav: 95000000 frames of 1 channels at 16000 Hz are more than may be read here; take",
        "packs/linked/cat/1.wav is a link that leads out of",
        "has no clip of its label 'blender': add one, or take the label out of its labels",
        "the pack away is not on this machine (there are demo, cabin, health, security, bomb, empty, frameless, hours, "
        "linked, rates and 2 more)",
        "no --ab-mix given: name a mixture (siren+rain@-6) or a file of recipes",
        "mine.yaml, mixture 'recipe-1': the pack rates has no label 'dig'; did you mean 'dog'?",
    ):
        assert sentence in said
    result.stdout.no_fnmatch_line("*Traceback*")
