"""What the libraries that the package is built on compute is what a run prints: shift theirs, and the figure moves."""

import json
import subprocess
import sys

import pytest
import soundfile

EVALS = """
from pytest_audiobench import manifest, multiple_choice, transcription

def test_choices(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_words(evaluate):
    evaluate(manifest("data/words.jsonl"), transcription())
"""
WRITER = """
def answered(self, request, audio, listened=ToneModel._answer):
    return listened(self, request, audio) if request.choices else Response.of("b or d")

ToneModel._answer = answered
"""
JIWER = """
import jiwer

def one_more_error(*texts, align=jiwer.process_words):
    aligned = align(*texts)
    aligned.substitutions += 1
    return aligned

jiwer.process_words = one_more_error
"""
SCIPY = """
from scipy import special

def nearer_to_zero(*arguments, quantile=special.betaincinv):
    return 0.9 * quantile(*arguments)

special.betaincinv = nearer_to_zero
"""
SOUNDFILE = """
import soundfile

def silent(sound, *arguments, read=soundfile.SoundFile.read, **options):
    return 0.0 * read(sound, *arguments, **options)

soundfile.SoundFile.read = silent
"""
PANDAS = """
import pandas

class Halved(pandas.DataFrame):
    def __init__(self, rows):
        super().__init__([{**row, "value": row["value"] / 2} for row in rows])

pandas.DataFrame = Halved
"""


@pytest.fixture
def measured(suite):
    """What a run prints: accuracy, its interval and a word error rate; ``change`` is made to a library before."""
    suite.tones()
    tones = [json.loads(line) for line in (suite.path / "data" / "tones.jsonl").read_text().splitlines()]
    words = [{"id": tone["id"], "audio": tone["audio"], "answer": "b or c"} for tone in tones]
    (suite.path / "data" / "words.jsonl").write_text("\n".join(map(json.dumps, words)))
    suite.write(test_tones=EVALS)
    conftest = (suite.path / "conftest.py").read_text() + WRITER

    def printed(change=""):
        (suite.path / "conftest.py").write_text(conftest + change)
        # Its own store, so that what was heard before is heard again.
        result = suite.run(f"--ab-store=answers{len(suite.runs())}.sqlite")
        result.assert_outcomes(passed=2)
        headlines = dict(line.split()[1:3] for line in result.outlines if line.startswith("tones/"))
        intervals = {line.split()[1]: line.split("[")[1] for line in result.outlines if line.startswith("tones/")}
        return float(headlines["accuracy"]), intervals["accuracy"], float(headlines["wer"])

    return printed


def test_a_word_error_rate_is_of_the_errors_that_jiwer_counts(measured):
    assert measured()[2] == 33.3
    assert measured(JIWER)[2] == 66.7


def test_an_interval_is_between_quantiles_that_scipy_computes(measured):
    (accuracy, interval, _), (same, shifted, _) = measured(), measured(SCIPY)
    assert accuracy == same == 100.0
    assert shifted != interval


def test_an_accuracy_is_of_the_sound_that_soundfile_reads(measured, suite):
    # Plain WAV files are read as their bytes are.
    for wav in (suite.path / "data").glob("*.wav"):
        soundfile.write(wav.with_suffix(".flac"), *soundfile.read(wav, dtype="int16"))
    for manifest in (suite.path / "data").glob("*.jsonl"):
        manifest.write_text(manifest.read_text().replace(".wav", ".flac"))
    assert measured()[0] == 100.0
    assert measured(SOUNDFILE)[0] < 50.0


def test_a_frames_figure_is_what_pandas_holds(tones):
    pytest.importorskip("pandas", reason="frames need pandas")
    tones.run()
    code = (
        "from pytest_audiobench import load_run\n"
        f"metrics = load_run({str(tones.last()[1])!r}).metrics\n"
        "print(*metrics[(metrics['name'] == 'accuracy') & metrics['eval'].notna()]['value'])"
    )
    printed = [
        subprocess.run([sys.executable, "-c", change + code], capture_output=True, text=True, check=True).stdout.split()
        for change in ("", PANDAS)
    ]
    assert printed[0][0] == "1.0"
    assert printed[1][0] == "0.5"
