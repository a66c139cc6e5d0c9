"""Texts said aloud in real runs: a voice that is not here is measured nowhere, and voices are compared in pairs."""

import json

import numpy as np
import pytest
import soundfile

from tests.benchmarks.miniatures import EVALS, Miniature, miniatures

NUMBERS = """
protocol = "multiple_choice"

[data]
rows = "numbers.csv"
labels = "{digit}"

[parameters]
voice = ["en-us", "en-gb-scotland"]

[sample]
id = "{key}"
question = "Which digit do you hear?"
answer = "{digit}"

[sample.speech]
text = "{words}"
voice = "{voice}"
"""
EFFECT = """
from pathlib import Path
from pytest_audiobench import dataset, multiple_choice

NUMBERS = Path(__file__).with_name("numbers.audiobench.toml")

def test_voices(evaluate):
    american = evaluate(dataset(NUMBERS, voice="en-us"), multiple_choice(), name="en-us")
    scottish = evaluate(dataset(NUMBERS, voice="en-gb-scotland"), multiple_choice(), name="en-gb-scotland")
    evaluate.record("voice_effect", scottish.gain_over(american))
"""
WITHOUT_ESPEAK = "import sys\nsys.modules['espeakng_loader'] = None\n"


@pytest.fixture
def numbers(suite):
    """A suite of a declaration of twenty texts."""
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    rows = [f"{text},{word}" for word in words for text in (word, f"It is {word}.")]
    (suite.path / "data/numbers").mkdir(parents=True)
    (suite.path / "data/numbers/numbers.csv").write_text("\n".join(["words,digit", *rows]) + "\n")
    (suite.path / "numbers.audiobench.toml").write_text(NUMBERS)
    (suite.path / "conftest.py").write_text("")
    return suite


def run(suite, *arguments, model="baseline:chance"):
    return suite.run("-rs", "numbers.audiobench.toml", *arguments, model=model)


def test_a_voice_that_is_not_here_is_skipped_in_a_sentence_and_measured_nowhere(numbers):
    (numbers.path / "conftest.py").write_text(WITHOUT_ESPEAK)
    folder = numbers.path / "data/numbers/speech/en-us"
    folder.mkdir(parents=True)
    for line in range(2, 22):
        soundfile.write(folder / f"{line}.wav", 0.1 * np.sin(np.arange(1_600 + line)), 16_000)
    done = run(numbers)
    done.assert_outcomes(passed=1, skipped=1)
    done.stdout.fnmatch_lines(["*the voice 'en-gb-scotland' of numbers is not here (espeak-ng is not installed: *"])
    record, _ = numbers.last()
    measured = {item["eval"]: [metric["name"] for metric in item["metrics"]] for item in record["items"]}
    assert "accuracy" in measured["numbers[en-us]"]
    assert not measured.get("numbers[en-gb-scotland]")


def test_ready_audio_that_lacks_a_text_is_that_sample_s_error_and_no_wrong_answer(numbers):
    (numbers.path / "conftest.py").write_text(WITHOUT_ESPEAK)
    folder = numbers.path / "data/numbers/speech/en-us"
    folder.mkdir(parents=True)
    for line in range(2, 21):
        soundfile.write(folder / f"{line}.flac", 0.1 * np.sin(np.arange(1_600 + line)), 16_000)
    done = run(numbers, "-k", "en-us", "--ab-max-errors=1", model="baseline:listener")
    done.assert_outcomes(passed=1)
    record, runs = numbers.last()
    (item,) = record["items"]
    assert next(metric["n"] for metric in item["metrics"] if metric["name"] == "accuracy") == 19
    rows = [json.loads(line) for line in (runs / "predictions.jsonl").read_text().splitlines()]
    (failed,) = [row for row in rows if row.get("error")]
    assert "speech/en-us/21.wav" in json.dumps(failed["error"])


def test_what_a_number_owes_to_its_voice_is_a_difference_of_pairs(numbers):
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    numbers.write(test_voices=EFFECT)
    numbers.run("test_voices.py", "numbers.audiobench.toml", model="baseline:listener").assert_outcomes(passed=3)
    record, _ = numbers.last()
    hashes = {item["eval"]: item["hashes"]["audio"] for item in record["items"] if item["eval"].startswith("numbers")}
    assert len(set(hashes.values())) == 2
    values = {item["eval"]: item["metrics"][0]["value"] for item in record["items"]}
    (effect,) = [metric for item in record["items"] for metric in item["metrics"] if metric["name"] == "voice_effect"]
    assert effect["n"] == 20
    assert effect["value"] == pytest.approx(values["numbers[en-gb-scotland]"] - values["numbers[en-us]"])


@pytest.mark.parametrize(("name", "task", "texts"), [("inspec", "", 22), ("wikiqa-relevant", "relevant", 20)])
def test_a_text_that_two_voices_say_counts_once_in_the_interval_of_its_suite(name, task, texts, suite):
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    Miniature(miniatures()[name]).put(suite.path / f"data/{name.partition('-')[0]}")
    file = f"{name.partition('-')[0]}.audiobench.toml"
    (suite.path / file).write_text((EVALS / file).read_text())
    suite.run(file, "-k", task or name, "--ab-scorer=following" if task else "--ab-scorer=salmonn-keywords-keep")
    record, runs = suite.last()
    (pooled,) = record["suites"]
    assert pooled["n"] == 2 * texts
    lines = [json.loads(line) for line in (runs / "scored_predictions.jsonl").read_text().splitlines()]
    assert len({line["cluster"] for line in lines}) == texts
