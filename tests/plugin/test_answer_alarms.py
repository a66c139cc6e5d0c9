"""A model whose answers cannot be parsed, or are all the same: the alarm in every report, and no baseline."""

import json

import pytest

from pytest_audiobench.cli import main

MODEL = """
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

WORDS = "zero one two three four five six seven eight nine".split()


class Speller:
    spec, batching, listens, device, in_process, limits = "spell:it", "planned", True, "cpu", False, Limits()

    def __init__(self, target, options):
        self._figures = int(options.get("figures", 0))
        self._same = options.get("same", "")

    def fingerprint(self):
        return {"spell": f"{self._figures}{self._same}"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [Response.of(self._said(int(request.sample_id[1:]))) for request, _ in batch]

    def _said(self, number):
        if self._same:
            return self._same
        return str(number % 10) if number < self._figures else WORDS[number % 10] + " \\x1b[31m<b>" + "or so " * 30


def pytest_audiobench_register(registration):
    registration.model("spell", Speller)
"""
EVAL = """
from pytest_audiobench import manifest, perturb, perturbations, protocol

def test_digits(evaluate):
    evaluate(manifest("data/tones.jsonl"), protocol("classification"))

def test_silenced(evaluate):
    silence = next(each for each in perturbations("controls") if each.name == "silence")
    evaluate(perturb(manifest("data/tones.jsonl"), silence), protocol("classification"))
"""


@pytest.fixture
def digits(suite):
    """A suite of twenty clips with the labels 0 to 9."""
    file = suite.tones(20)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for number, row in enumerate(rows):
        row |= {"id": f"s{number:02d}", "choices": list("0123456789"), "answer": str(number % 10)}
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (suite.path / "conftest.py").write_text(MODEL)
    suite.write(test_digits=EVAL)
    return suite


def alarms(suite):
    return {item["eval"]: [text for text in item["warnings"] if "alarm:" in text] for item in suite.last()[0]["items"]}


def test_answers_that_cannot_be_read_raise_an_alarm_with_three_of_them_and_the_labels(digits, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(digits.path / "summary.md"))
    result = digits.run("-k", "not silenced", model="spell:it")
    assert result.ret == 0
    text = " ".join(line.strip() for line in result.outlines)
    assert "Alarm: 20 of 20 answers could not be parsed (20 unparsed); accuracy may measure the form of the" in text
    assert text.count("<b>or so or so") == 3
    assert (
        "expected was one of the labels 0, 1, 2, 3, 4, 5, 6, 7, 8, 9; a model trained on the bare question wants"
        in text
    )
    assert not any("\x1b" in line for line in result.outlines)
    start = next(number for number, line in enumerate(result.outlines) if line.startswith("Alarm:"))
    assert all(len(line) <= 80 for line in result.outlines[start : start + 6])
    assert "measured. See the alarm before the numbers." in text
    monkeypatch.chdir(digits.path)
    assert main(["comment", str(digits.last()[1]), "--out", "comment.md"]) == 0
    for name in ("summary.md", "comment.md"):
        markdown = (digits.path / name).read_text()
        assert "Alarm: 20 of 20 answers" in markdown
        assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9; a model trained" in markdown
        assert markdown.startswith("## ! ")
        assert "<b>" not in markdown


def give_three_choices_each(digits):
    file = digits.path / "data" / "tones.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        row["choices"] = [str((int(row["answer"]) + k) % 10) for k in range(3)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_an_answer_is_quoted_beside_the_options_of_its_own_question(digits):
    give_three_choices_each(digits)
    digits.run("-k", "not silenced", model="spell:it")
    (alarm,) = alarms(digits)["digits"]
    assert alarm.count("“") == 1
    quoted = alarm.partition("“")[2].partition(" ")[0]
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    first = words.index(quoted)
    assert f"expected was one of the labels {', '.join(str((first + k) % 10) for k in range(3))}; a model" in alarm


def test_unparsed_answers_that_are_labels_of_other_questions_are_said_to_be_wrong_and_not_of_another_form(digits):
    give_three_choices_each(digits)
    digits.run("-k", "not silenced", model="spell:it,same=7")
    (alarm,) = alarms(digits)["digits"]
    assert "14 of 20 answers could not be parsed (14 unparsed); all of them name a label that was not among" in alarm


def test_one_answer_to_nearly_everything_raises_an_alarm_unless_it_is_mostly_right(digits):
    digits.run(model="spell:it,same=7")
    said = "alarm: 20 of 20 answers are the same, “7”, which is right for 2 of them: they hardly depend on the audio"
    assert alarms(digits) == {"digits": [said], "digits/silenced": []}
    file = digits.path / "data" / "tones.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows[:11]:
        row["answer"] = "7"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    digits.run("-k", "not silenced", model="spell:it,same=7")
    assert alarms(digits) == {"digits": []}


def test_always_the_same_option_raises_an_alarm_though_its_text_differs(digits):
    file = digits.path / "data" / "tones.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        row["choices"] = [str((int(row["answer"]) + k) % 10) for k in (3, 0, 5)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    digits.write(test_digits=EVAL.replace('"classification"', '"multiple_choice"'))
    digits.run("-k", "not silenced", model="spell:it,same=A")
    (alarm,) = alarms(digits)["digits"]
    assert "20 of 20 answers are the same, the option (A), which is right for 0 of them" in alarm


def test_a_baseline_that_always_says_the_same_raises_none(digits):
    digits.run("-k", "not silenced", model="baseline:majority")
    assert alarms(digits) == {"digits": []}


@pytest.mark.parametrize(("figures", "count"), [(9, 1), (10, 0)])
def test_the_alarm_is_raised_below_one_half_of_readable_answers(digits, figures, count):
    digits.run("-k", "not silenced", model=f"spell:it,figures={figures}")
    assert len(alarms(digits)["digits"]) == count


def test_a_control_without_audio_raises_no_alarm(digits):
    digits.run(model="spell:it")
    assert {name: len(texts) for name, texts in alarms(digits).items()} == {"digits": 1, "digits/silenced": 0}


def test_a_baseline_of_answer_alarms_is_refused_and_the_evals_are_named(digits, monkeypatch, capsys):
    digits.run(model="spell:it")
    monkeypatch.chdir(digits.path)
    assert main(["baseline", "update", "last"]) == 4
    error = capsys.readouterr().err
    assert "most answers of it in digits (0 of 20 parsed) could not be parsed" in error
    assert "--allow-unreadable" in error
    assert not (digits.path / "baselines").exists()
    assert main(["baseline", "update", "last", "--allow-unreadable"]) == 0
    assert (digits.path / "baselines" / "main.json").exists()
