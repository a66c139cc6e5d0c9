"""Published weights behind the launchers: a speaker encoder, a predictor of speech quality, and BirdNET."""

import itertools
import json
import sys

import numpy as np
import pytest
import soundfile

TRIALS = """
from pytest_audiobench import manifest, protocol

def test_trials(evaluate):
    trials = manifest("trials.jsonl", cluster="speaker")
    evaluate(trials, protocol("verification", "similarity", "voxceleb-trainer", prompt="similarity"), name="scored")
    evaluate(trials, protocol("verification"), name="asked")
"""


def write_trials(folder, shared, takes):
    """All pairs of utterances of eight digits by six speakers."""
    names = []
    for speaker in ("george", "jackson", "lucas", "nicolas", "theo", "yweweler"):
        for take in range(takes):
            digits = [shared / "fsdd" / "recordings" / f"{digit}_{speaker}_{take}.wav" for digit in range(8)]
            sounds = [soundfile.read(digit) for digit in digits]
            names.append(f"{speaker}-{take}.wav")
            soundfile.write(folder / names[-1], np.concatenate([sound for sound, _ in sounds]), sounds[0][1])
    rows = []
    for pair in itertools.combinations(names, 2):
        first, second = (name.partition("-")[0] for name in pair)
        answer = "same" if first == second else "different"
        rows.append({"id": " ".join(pair), "audio": pair, "answer": answer, "metadata": {"speaker": first}})
    (folder / "trials.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")


@pytest.mark.slow
def test_resemblyzer_tells_the_speakers_of_digits_apart(weights, shared, measured, value, serve_file, tmp_path):
    write_trials(tmp_path, shared, takes=4)
    serve = f"{sys.executable} {serve_file('resemblyzer')} --checkpoint {weights('resemblyzer')} --port {{port}}"
    done, run = measured(TRIALS, f"--ab-model=voices=http:lab,serve={serve}")
    assert done.returncode == 0, done.stdout
    assert run.items[0].n == 276
    assert value(run, "eer_interpolated", "scored") < 0.05
    assert value(run, "balanced_accuracy", "asked") > 0.9


def test_dnsmos_hears_the_noise_grow(weights, sentences, measured, value, serve_file, python_with):
    python = python_with("onnxruntime", "soundfile", "soxr")
    serve = f"{python} {serve_file('dnsmos')} --checkpoint {weights('dnsmos')} --port {{port}}"
    evals = serve_file("dnsmos").parent / "quality" / "test_quality.py"
    options = (f"--ab-model=dnsmos=http:lab,serve={serve}", f"--ab-data=librispeech={sentences}", "--ab-limit=5")
    done, run = measured(evals, *options)
    assert done.returncode == 0, done.stdout
    scores = [value(run, "mos", f"[{step}]") for step in ("clean", "white-20dB", "white-10dB", "white-0dB")]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(3.2, abs=0.4)
    assert scores[-1] < 2.0


def test_birdnet_chooses_the_crow(weights, shared, measured, value, serve_file, python_with):
    python = python_with("ai_edge_litert", "soundfile", "soxr")
    serve = f"{python} {serve_file('birdnet')} --folder {weights('birdnet')} --port {{port}}"
    evals = """
from pytest_audiobench import dataset, multiple_choice

def test_animals(evaluate):
    evaluate(dataset("sakura", "animal", hop="single"), multiple_choice())
"""
    options = (f"--ab-model=birdnet=http:lab,serve={serve}", f"--ab-data=sakura={shared / 'sakura'}")
    done, run = measured(evals, *options)
    assert done.returncode == 0, done.stdout
    assert value(run, "accuracy") == pytest.approx(0.49, abs=0.02)
