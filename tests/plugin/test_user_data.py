"""A user's own data, from a few lines of test code or none; bad data is told in one sentence."""

import json
import struct

import numpy as np
import pytest
import soundfile

OWN = """
from pytest_audiobench import manifest, multiple_choice

def test_own(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_declarative_file_is_an_eval(suite, workers):
    suite.tones()
    (suite.path / "my_set.audiobench.toml").write_text(
        'manifest = "data/tones.jsonl"\nprotocol = "multiple_choice"\nrequire = ["accuracy >= 0.9"]\n'
    )
    result = suite.run("my_set.audiobench.toml", workers)
    result.assert_outcomes(passed=1)
    assert suite.last()[0]["items"][0]["eval"] == "my_set"
    result = suite.run("my_set.audiobench.toml", workers, "--ab-model=deaf=tone:two,deaf=yes", model=None)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*accuracy >= 0.9*"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("manifest = 3", "*manifest must be a string*"),
        ('manifest = "x.jsonl"\ncolour = "red"', "*unknown key 'colour'*"),
        ("manifest = ", "*is not valid TOML*"),
        ('manifest = "x.jsonl"\nprotocol = "guess"', "*unknown protocol 'guess'*"),
        ('manifest = "x.jsonl"\nprotocol = "translation"\ntarget = 3', "*takes a string or none as its target, not 3*"),
        (
            'manifest = "x.jsonl"\nprotocol = "translation"\nlanguage = "de"',
            "*unknown key 'language'; allowed: * and for translation target, prompt, system, max_new_tokens*",
        ),
        ('manifest = "x.jsonl"\nrequire = ["acuracy >= 1"]', "*acuracy*"),
        ('protocol = "transcription"', "*either a manifest or a dataset*"),
    ],
)
def test_a_mistake_in_a_declarative_file_is_a_usage_error(suite, text, said):
    (suite.path / "my_set.audiobench.toml").write_text(text)
    result = suite.run("my_set.audiobench.toml")
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert pytest.LineMatcher((result.stdout.str() + result.stderr.str()).splitlines()).fnmatch_lines([said]) is None


def test_a_file_names_any_family_with_its_options_and_rows_need_no_question_of_their_own(suite):
    suite.tones(4)
    tone = {"audio": "tone0.wav", "choices": ["300 Hz", "500 Hz"], "answer": "300 Hz"}
    rows = [{"id": f"r{number}", **tone} for number in range(4)]
    (suite.path / "data" / "speech.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (suite.path / "speech.audiobench.toml").write_text(
        'manifest = "data/speech.jsonl"\nprotocol = "translation"\ntarget = "de"\nscorers = ["chrf"]\n'
    )
    suite.run("speech.audiobench.toml").assert_outcomes(passed=1)
    item = suite.last()[0]["items"][0]
    assert (item["protocol"], item["options"]) == ("translation", {"target": "de"})


def test_a_protocol_that_asks_in_the_samples_words_says_which_sample_has_none(suite):
    suite.tones(4)
    rows = [{"id": "r0", "audio": "tone0.wav", "choices": ["300 Hz", "500 Hz"], "answer": "300 Hz"}]
    (suite.path / "data" / "tones.jsonl").write_text(json.dumps(rows[0]))
    suite.write(test_own=OWN)
    result = suite.run(log="log")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*sample 'r0' has no question, and the protocol asks in the sample's words: *"])
    assert not (suite.path / "log").exists()


@pytest.fixture
def labels(suite):
    """A CSV of ``filename,label`` beside the tones, as other tools write it."""
    suite.tones(21)
    rows = [json.loads(line) for line in (suite.path / "data" / "tones.jsonl").read_text().splitlines()]
    lines = ["filename,label,parity", *(f"{row['audio']},{row['answer']},{row['metadata']['parity']}" for row in rows)]
    (suite.path / "data" / "labels.csv").write_text("\n".join(lines) + "\n")
    return suite


def test_a_csv_of_filename_and_label_is_asked_by_the_call_that_its_first_failure_advises(labels):
    code = "from pytest_audiobench import manifest, multiple_choice\n\ndef test_own(evaluate):\n    evaluate({}, {})\n"
    labels.write(test_own=code.format('manifest("data/labels.csv")', "multiple_choice()"))
    result = labels.run()
    result.assert_outcomes(failed=1)
    advice = next(line for line in result.outlines if "read it with" in line)
    call = advice.split("read it with ")[1].split(", or with these keys")[0]
    assert call == (
        'manifest("data/labels.csv", audio="filename", answer="label", choices="from answers", '
        'question="Which label is it?")'
    )
    labels.write(test_own=code.format(call, "multiple_choice()"))
    labels.run().assert_outcomes(passed=1)
    item = labels.last()[0]["items"][0]
    assert (item["metrics"][0]["n"], item["metrics"][0]["value"]) == (21, 1.0)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_same_keys_ask_a_csv_of_filename_and_label_without_code(labels, workers):
    (labels.path / "own.audiobench.toml").write_text(
        'manifest = "data/labels.csv"\naudio = "filename"\nanswer = "label"\nchoices = "from answers"\n'
        'question = "Which tone is heard?"\ngroups = ["parity"]\nrequire = ["accuracy >= 0.9"]\n'
    )
    labels.run("own.audiobench.toml", workers).assert_outcomes(passed=1)


def test_choices_for_all_rows_are_a_list_without_code_too(labels):
    tones = [f"{300 + 200 * number} Hz" for number in range(7)]
    (labels.path / "own.audiobench.toml").write_text(
        'manifest = "data/labels.csv"\naudio = "filename"\nanswer = "label"\nprotocol = "classification"\n'
        f'choices = {json.dumps(tones)}\nquestion = "Which tone is heard?"\n'
    )
    labels.run("own.audiobench.toml").assert_outcomes(passed=1)


def test_a_folder_for_each_class_is_asked_without_a_list(suite):
    for hz in (300, 500):
        (suite.path / "tones" / f"{hz} Hz").mkdir(parents=True)
        for take in range(3):
            tone_wav(suite.path / "tones" / f"{hz} Hz" / f"{take}.wav", hz=hz)
    (suite.path / "own.audiobench.toml").write_text(
        'manifest = "tones"\nquestion = "Which tone is heard?"\nrequire = ["accuracy >= 0.9"]\n'
    )
    suite.run("own.audiobench.toml").assert_outcomes(passed=1)


def tone_wav(path, rate=8000, seconds=0.3, hz=300, **how):
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * hz * np.arange(int(rate * seconds)) / rate), rate, **how)


def truncated_wav(path):
    tone_wav(path)
    path.write_bytes(path.read_bytes()[:-2000])


def truncated_mp3(path):
    tone_wav(path, rate=16000, seconds=4.0, format="MP3")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def with_nan(path):
    soundfile.write(path, np.array([0.1, np.nan, 0.2] * 1000, dtype=np.float32), 8000, subtype="FLOAT")


BAD = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "zero frames": lambda path: soundfile.write(path, np.zeros(0), 8000),
    "truncated WAV": truncated_wav,
    "truncated MP3": truncated_mp3,
    "text": lambda path: path.write_text("this is a poem, not a sound\n" * 50),
    "NaN": with_nan,
    "header only": lambda path: path.write_bytes(b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt "),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_audio_is_one_samples_error_and_nothing_else_is_lost(suite, kind):
    suite.tones(12)
    suite.write(test_own=OWN)
    BAD[kind](suite.path / "data" / "tone5.wav")
    result = suite.run("--ab-max-errors=1", log="log")
    result.assert_outcomes(passed=1)
    item = suite.last()[0]["items"][0]
    assert [error["sample_id"] for error in item["errors"]] == ["tone-5"]
    assert "tone5.wav" in item["errors"][0]["message"]
    assert "\n" not in item["errors"][0]["message"]
    assert item["scorers"][0]["coverage"]["parsed"] == 11
    again = suite.run("--ab-max-errors=1", log="log")
    again.assert_outcomes(passed=1)
    assert (suite.path / "log").read_text().split().count("tone-1") == 1


GOOD = {
    "8-bit": {"subtype": "PCM_U8"},
    "24-bit": {"subtype": "PCM_24"},
    "32-bit float": {"subtype": "FLOAT"},
    "FLAC": {"format": "FLAC"},
    "OGG": {"format": "OGG"},
    "96 kHz": {"rate": 96000},
    "MP3": {"rate": 16000, "format": "MP3", "seconds": 1.0},
}


@pytest.mark.parametrize("kind", GOOD)
def test_audio_of_many_kinds_is_heard(suite, kind):
    suite.tones(4)
    suite.write(test_own=OWN + '    evaluate.require("accuracy >= 1.0")\n')
    tone_wav(suite.path / "data" / "tone0.wav", **GOOD[kind])
    suite.run().assert_outcomes(passed=1)


def test_stereo_is_heard(suite):
    suite.tones(4)
    suite.write(test_own=OWN + '    evaluate.require("accuracy >= 1.0")\n')
    wave = 0.3 * np.sin(2 * np.pi * 300 * np.arange(8000) / 8000)
    soundfile.write(suite.path / "data" / "tone0.wav", np.stack([wave, wave * 0.2], axis=1), 8000)
    suite.run().assert_outcomes(passed=1)


def test_a_clip_beyond_the_models_window_is_cut_and_the_cut_reported(suite):
    suite.tones(4)
    suite.write(test_own=OWN)
    tone_wav(suite.path / "data" / "tone0.wav", seconds=7200)
    for _ in range(2):
        result = suite.run()
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["*1 of 4 samples were cut to the model's window (up to 7198.0 s lost)*"])
        assert suite.last()[0]["items"][0]["asking"]["truncated_clips"] == 1


def line(**changes):
    whole = {"id": "a", "audio": "tone0.wav", "question": "q?", "choices": ["1", "2"], "answer": "1", **changes}
    return json.dumps({key: value for key, value in whole.items() if value is not ...})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (line() + "\n" + line(), "*tones.jsonl*'a'*"),
        (line(answer="9"), "*tones.jsonl*1*'9'*"),
        (line(audio=...), "*tones.jsonl*1*audio*"),
        (line(audio="../../etc/passwd"), "*tones.jsonl*../../etc/passwd*"),
        (line(audio="/etc/passwd"), "*tones.jsonl*/etc/passwd*"),
        ("{nonsense", "*tones.jsonl*1*"),
        ("", "*tones.jsonl*"),
    ],
)
def test_a_bad_manifest_is_told_in_one_sentence(suite, content, said):
    suite.tones(4)
    (suite.path / "data" / "tones.jsonl").write_text(content)
    suite.write(test_own=OWN)
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_all_mistakes_of_a_manifest_are_shown_and_nothing_of_it_is_asked(suite):
    suite.tones(4)
    rows = [line(id=f"r{number}", answer="9" if number else "2") for number in range(13)]
    (suite.path / "data" / "tones.jsonl").write_text("\n".join(rows))
    suite.write(test_own=OWN)
    result = suite.run(log="log")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tones.jsonl, line 2 (id 'r1') *", "*tones.jsonl, line 11 (id 'r10') * (and 2 more)"])
    assert not (suite.path / "log").exists()


def test_all_mistakes_of_a_declarative_file_are_shown(suite):
    (suite.path / "my_set.audiobench.toml").write_text('manifest = "x.jsonl"\ncolour = "red"\nscorer = "x"\n')
    result = suite.run("my_set.audiobench.toml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*unknown key 'colour'; allowed: *", "*unknown key 'scorer'; did you mean 'scorers'*"])


def test_a_manifest_in_another_encoding_is_told(suite):
    suite.tones(4)
    (suite.path / "data" / "tones.jsonl").write_bytes(line(question="Über?").encode("utf-16"))
    suite.write(test_own=OWN)
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UTF-8*"])


HOSTILE = """

class Hostile(ToneModel):
    def _answer(self, request, audio):
        n = int(request.sample_id.split("-")[1])
        return Response.of([
            "\\x00\\x1b[31mA\\x07", "<script>alert(1)</script>", "B" * 1_000_000, "\\ud800 half", "\\u202eA", "(C)",
        ][n % 6])

def pytest_audiobench_register(registration):
    registration.model("tone", Hostile)
"""


def test_hostile_answers_pass_through_every_file(suite):
    suite.tones(12)
    suite.write(test_own=OWN)
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + HOSTILE)
    result = suite.run("--junitxml=junit.xml")
    result.assert_outcomes(passed=1)
    item = suite.last()[0]["items"][0]
    assert item["asking"]["repaired"] == 2
    page = (suite.last()[1] / "report.html").read_text()
    assert "<script>alert" not in page
    rows = [json.loads(text) for text in (suite.last()[1] / "predictions.jsonl").read_text().splitlines()]
    assert max(len(row["outputs"][0]["text"]) for row in rows) == 1_000_000
