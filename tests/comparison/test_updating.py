"""``audiobench baseline``: what it writes, what it says of the change, and what it refuses."""

import json
import os
import re
from pathlib import Path

import pytest

from pytest_audiobench.cli import main

OUT = Path("baselines/main.json")


@pytest.fixture
def said(reports, capsys):
    """Runs the command, and gives its exit code and what it printed (errors where it failed)."""

    def run(*arguments):
        code = main(["baseline", *arguments])
        output = capsys.readouterr()
        return code, output.err if code else output.out

    return run


def test_a_first_baseline_is_written_and_shown(said):
    code, text = said("update", "good")
    assert code == 0
    assert re.search(r"calls/digits +accuracy +100.0 % +\[95.5 to 100.0\] +80 +100.0 %", text)
    assert re.search(r"calls/words +wer +7.2 % +\[3.5 to 14.3\] +70 +100.0 %", text)
    assert re.search(r"written to baselines/main.json: 150 samples, \d+ bytes each", text)
    assert text.splitlines()[:-1] == said("show", str(OUT))[1].splitlines() == said("show")[1].splitlines()


def test_the_same_run_gives_the_same_bytes(said, reports):
    said("update", "good")
    before = OUT.read_bytes()
    reports.edit("good", lambda record: record["items"].reverse())
    code, text = said("update", "good")
    assert code == 0
    assert "unchanged: 2 evals" in text
    assert OUT.read_bytes() == before


def test_a_sample_takes_less_than_a_hundred_and_twenty_bytes_and_no_text(said):
    said("update", "good")
    lines = [line for line in OUT.read_text().splitlines() if line.startswith('["')]
    digits, words = ([line for line in lines if name in line[:15]] for name in ("digits", "transcription"))
    assert (len(digits), len(words)) == (80, 70)
    assert sum(map(len, digits)) / 80 < 110
    assert sum(map(len, words)) / 70 < 120
    assert "Which digit" not in OUT.read_text()


def test_the_change_is_told_eval_by_eval(said):
    said("update", "good")
    code, text = said("update", "poor")
    assert code == 4
    assert "most answers of chance in calls/words (0 of 70 parsed, 70 of 70 in listener) could not be parsed" in text
    code, text = said("update", "poor", "--allow-unreadable")
    assert code == 0
    # About as few as in the present baseline are no reason any more.
    assert said("update", "poor")[0] == 0
    assert text.startswith("model chance (baseline:chance, digest ")
    assert "\nthe model was listener (baseline:listener, digest " in text
    assert re.search(r"calls/digits +accuracy +100.0 % +21.2 % +−78.8 pp +63 worse\n", text)
    assert re.search(r"calls/words +wer +7.2 % +100.0 % +\+92.8 pp +68 worse\n", text)


def test_without_a_file_the_only_baseline_is_shown(said):
    assert said("show") == (
        4,
        "audiobench: there is no baselines/*.json: name a file, or a run (audiobench baseline "
        "update RUN writes baselines/main.json)\n",
    )
    for name in ("main", "other"):
        said("update", "good", "--out", f"baselines/{name}.json")
    assert "baselines/ has main.json, other.json: name a file" in said("show")[1]


def test_samples_that_come_go_or_change_are_counted(said):
    said("update", "good")
    value = json.loads(OUT.read_text())
    digits = value["evals"][0]["samples"]
    digits[0][0], digits[1][3], digits[2][4] = "digits-9999", "0" * 16, "0" * 16
    OUT.write_text(json.dumps(value))
    text = said("update", "good")[1]
    assert "1 new, 1 gone, 1 with other audio, 1 with another prompt" in text
    assert "unchanged: 1 eval\n" in text


def test_other_settings_are_told_where_every_score_is_the_same(said):
    said("update", "good")
    value = json.loads(OUT.read_text())
    value["evals"][0]["hashes"]["settings"] = "0" * 64
    OUT.write_text(json.dumps(value))
    text = said("update", "good")[1]
    assert re.search(r"calls/digits .* other settings\n", text)
    assert "unchanged: 1 eval\n" in text


def test_evals_that_come_and_go_are_named(said, reports):
    said("update", "good")
    reports.copy("good", "renamed")
    for name in ("run.json", *(path.name for path in (reports.folder / "renamed").glob("*.jsonl"))):
        path = reports.folder / "renamed" / name
        path.write_text(path.read_text().replace("calls/words", "calls/speech"))
    text = said("update", "renamed")[1]
    assert "added: calls/speech\nremoved: calls/words\n" in text


def test_another_version_of_a_protocol_is_not_compared(said):
    said("update", "good")
    OUT.write_text(OUT.read_text().replace("mcq:letters|v:1", "mcq:letters|v:0"))
    assert "another version of letters: not compared" in said("update", "good")[1]


def test_of_several_models_one_is_chosen(said):
    code, text = said("update", "both")
    assert code == 4
    assert "the run both has the models chance, listener, and a baseline holds one: give --model PATTERN" in text
    assert said("update", "both", "--model", "chance", "--allow-unreadable")[0] == 0
    assert json.loads(OUT.read_text())["model"]["alias"] == "chance"
    assert "has no model 'parrot'" in said("update", "both", "--model", "parrot")[1]


def test_text_is_kept_when_asked_for(said):
    assert said("update", "good", "--text")[0] == 0
    samples = json.loads(OUT.read_text())["evals"][1]["samples"]
    assert all(isinstance(line[8]["text"], str) for line in samples)


def test_a_limited_run_says_so(said):
    text = said("update", "short")[1]
    assert "at most 20 samples of each eval" in text
    assert json.loads(OUT.read_text())["limit"] == 20
    assert "the limit was 20\n" in said("update", "good")[1]


def stop(record):
    record["notes"].append("stopped early: 3 evals were not run")
    record["items"][0]["outcome"] = "lost"
    record["items"][1]["verdicts"].append(
        {
            "status": "incomplete",
            "threshold": "every sample asked",
            "value": None,
            "detail": "9 of 70 samples failed",
        }
    )


def test_a_run_that_is_not_whole_is_refused_with_what_it_lacks(said, reports):
    reports.edit("good", stop)
    code, text = said("update", "good")
    assert code == 4
    assert "the run good is incomplete" in text
    assert text.endswith(
        "it lacks:\n"
        "  stopped early: 3 evals were not run\n"
        "  calls/digits was lost with its worker\n"
        "  calls/words is incomplete: 9 of 70 samples failed\n"
    )
    assert not OUT.exists()


def test_a_partial_baseline_says_what_it_lacks(said, reports):
    reports.edit("good", stop)
    code, text = said("update", "good", "--allow-partial")
    assert code == 0
    assert "missing: stopped early: 3 evals were not run" in text
    assert "missing: calls/digits was lost with its worker" in said("show", str(OUT))[1]


def test_a_run_that_failed_its_thresholds_is_whole(said, reports):
    def fail(record):
        record["exit_status"] = 1
        record["items"][0]["outcome"] = "failed"

    reports.edit("good", fail)
    assert said("update", "good")[0] == 0


def test_what_is_no_baseline_is_not_overwritten(said):
    Path("README.md").write_text("# mine\n")
    code, text = said("update", "good", "--out", "README.md")
    assert code == 4
    assert text.startswith("audiobench: README.md is not a baseline: write one with")
    assert Path("README.md").read_text() == "# mine\n"


def test_nothing_is_left_of_a_write_that_failed(said, monkeypatch):
    said("update", "good")
    before = OUT.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, text = said("update", "poor", "--allow-unreadable")
    assert (code, text) == (1, "audiobench: No space left on device\n")
    assert OUT.read_bytes() == before
    assert [path.name for path in OUT.parent.iterdir()] == ["main.json"]


def test_a_baseline_can_be_shown_from_a_run(said):
    text = said("show", "both")[1]
    assert text.count("calls/digits") == 2


def test_nothing_in_a_baseline_is_obeyed_by_a_terminal(said):
    said("update", "good")
    OUT.write_text(OUT.read_text().replace("calls/digits", "calls/\\u001b[31mdigits"))
    text = said("show", str(OUT))[1]
    assert "\x1b" not in text
    assert "digits" in text
