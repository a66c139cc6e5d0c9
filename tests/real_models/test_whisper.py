"""Whisper tiny.en and base as they were published: what is measured of them, in this process and behind servers."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

ROOT = Path(__file__).parents[2]
READ = """
from pytest_audiobench import dataset, transcription

def test_read(evaluate):
    evaluate(dataset("librispeech", "test-clean"), transcription("whisper-en"))
"""
OWN = """
from pytest_audiobench import manifest, transcription

def test_own(evaluate):
    evaluate(manifest("own.jsonl", answer="text"), transcription("whisper-en"))
"""


@pytest.mark.parametrize(("name", "options", "rate"), [("tiny.en", "", 0.0308), ("base", ",language=en", 0.0385)])
def test_fifteen_read_sentences(weights, sentences, measured, value, name, options, rate):
    spec = f"--ab-model=hf:{weights(f'whisper-{name}')}{options}"
    done, run = measured(READ, spec, f"--ab-data=librispeech={sentences}")
    assert done.returncode == 0, done.stdout
    assert run.items[0].n == 15
    # Another release of torch may turn a word.
    assert value(run, "wer") == pytest.approx(rate, abs=0.01)
    assert run.models[0].hearing.status == "proven"


def clips_of(sentences, speaker):
    """Pairs of samples at 16 kHz and words."""
    (table,) = (sentences / "LibriSpeech").glob(f"*/{speaker}/1/*.trans.txt")
    for line in table.read_text().splitlines():
        name, _, words = line.partition(" ")
        sound, rate_hz = soundfile.read(table.with_name(f"{name}.flac"))
        yield soxr.resample(sound, rate_hz, 16_000), words


def write_manifest(folder, clips):
    rows = []
    for number, (sound, words) in enumerate(clips):
        soundfile.write(folder / f"{number}.flac", sound, 16_000)
        rows.append(json.dumps({"id": str(number), "audio": f"{number}.flac", "text": words}))
    (folder / "own.jsonl").write_text("\n".join(rows), "utf-8")


def test_its_answers_are_the_same_behind_every_kind_of_server(weights, sentences, measured, tmp_path):
    write_manifest(tmp_path, list(clips_of(sentences, 11))[:4])
    checkpoint = f"hf:{weights('whisper-tiny.en')}"
    serve = f"serve={sys.executable} -m pytest_audiobench.cli serve tiny={checkpoint} --port {{port}}"
    kinds = ("openai:tiny,api=transcriptions", "openai:tiny", "http:lab")
    models = [f"here={checkpoint}", *(f"m{number}={kind},{serve}" for number, kind in enumerate(kinds))]
    done, run = measured(OWN, *(f"--ab-model={model}" for model in models))
    assert done.returncode == 0, done.stdout
    texts = {}
    with open(tmp_path / "reports" / "own" / "predictions.jsonl", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            (output,) = row["outputs"]
            texts.setdefault(row["model"], {})[row["sample_id"]] = output["text"]
    assert len(texts) == 4
    assert all(answers == texts["here"] for answers in texts.values())
    hearing = {model.alias: model.hearing.status for model in run.models}
    assert (hearing["here"], hearing["m2"]) == ("proven", "proven")


def test_beyond_its_window_it_is_asked_in_pieces_and_reads_as_well(weights, sentences, measured, value, tmp_path):
    clips = list(clips_of(sentences, 11))
    pause = np.zeros(4_800)
    sound = np.concatenate([part for clip, _ in clips for part in (clip, pause)])
    assert len(sound) > 30 * 16_000
    write_manifest(tmp_path, [(sound, " ".join(words for _, words in clips))])
    done, run = measured(OWN, f"--ab-model=hf:{weights('whisper-tiny.en')}")
    assert done.returncode == 0, done.stdout
    assert value(run, "wer") < 0.06
    assert "cut to the model's window" not in done.stdout


def test_it_says_you_where_nobody_speaks_and_the_run_says_so(weights, measured, value):
    suite = ROOT / "evals" / "test_asr_hallucination.py"
    done, run = measured(suite, f"--ab-model=hf:{weights('whisper-tiny.en')}", "-k", "non_speech", "--ab-limit=4")
    assert value(run, "hallucination_rate") > 0.9
    assert "Alarm: words were made up on most clips in which nobody speaks" in done.stdout
    (item,) = (item for item in run.items if item.scorers)
    assert item.findings.phrases[0].phrase == "you"


@pytest.mark.parametrize(
    ("name", "language", "why"),
    [
        ("tiny.en", "en", "it is not a multilingual checkpoint; leave the language out"),
        ("base", "xx", "Unsupported language"),
    ],
)
def test_a_language_that_it_cannot_be_told_is_refused_when_it_is_loaded(weights, name, language, why):
    pytest.importorskip("torch")
    model = make(parse_spec(f"hf:{weights(f'whisper-{name}')},language={language}"))
    with pytest.raises(FatalError, match=why):
        model.load()
