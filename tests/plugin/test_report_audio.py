"""What can be heard on a run's page: excerpts of what the model was played, by real pytest runs."""

import base64
import io
import json
import re

import pytest
import soundfile

DEAF = {"deaf": "yes"}
TWO = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_again(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


def page(suite):
    return (suite.last()[1] / "report.html").read_text()


def sounds(suite):
    return re.findall(r'class="sound" data-type="audio/mpeg">([^<]*)<', page(suite))


def heard(suite):
    """By sample id, each of the page's clips: its seconds, and those of the whole."""
    data = json.loads(page(suite).partition('id="data" type="application/json">')[2].partition("</script>")[0])
    rows = data["samples"]["rows"]
    return {rows[row][1]: (seconds, whole) for row, _, _, seconds, whole, _ in data["samples"]["sounds"]}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_what_changed_since_the_baseline_can_be_heard(tones, workers):
    assert tones.run("--ab-run=main").ret == 0
    assert sounds(tones) == []
    tones.run("--ab-baseline=main", workers, **DEAF)
    changed = [json.loads(line) for line in (tones.last()[1] / "compared_predictions.jsonl").open()]
    assert set(heard(tones)) == {row["sample_id"] for row in changed if row["change"] == "worse"}
    samples, rate_hz = soundfile.read(io.BytesIO(base64.b64decode(sounds(tones)[0])))
    assert rate_hz <= 16_000
    assert samples.ndim == 1
    assert abs(samples).max() > 0.01


def test_without_a_baseline_a_few_wrong_answers_can_be_heard_and_one_clip_is_held_once(suite):
    suite.tones()
    suite.write(test_tones=TWO)
    suite.run(**DEAF)
    assert len(heard(suite)) == 3
    assert len(sounds(suite)) == 3


def test_all_samples_can_be_heard_or_none(tones):
    tones.run("--ab-report-audio=all")
    assert len(heard(tones)) == 40
    tones.run("--ab-report-audio=none", **DEAF)
    assert sounds(tones) == []
    assert "This page holds no sound" in page(tones)


def test_an_excerpt_that_cannot_be_made_fails_nothing_and_is_noted(tones):
    with (tones.path / "conftest.py").open("a") as conftest:
        conftest.write("\nimport soundfile\n\ndef broken(*_, **__):\n    raise OSError('no codec')\n\n")
        conftest.write("soundfile.write = broken\n")
    assert tones.run("--ab-report-audio=all").ret == 0
    run, _ = tones.last()
    assert any("40 clips could not be put on the page (tone-" in one for one in run["items"][0]["warnings"])
    assert "no codec" in page(tones)


def test_a_choice_that_does_not_exist_is_a_usage_error(tones):
    result = tones.run("--ab-report-audio=some")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ab-report-audio takes none, flips or all, not 'some'"])
