"""Lines that are each a row, and together no run: what is missing is named."""

import json

import pytest

from pytest_audiobench import load_run, multiple_choice
from pytest_audiobench.errors import FatalError
from pytest_audiobench.report.comparable_runs import read_comparable_evals


def edit(file, change):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines = change(lines) or lines
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def run(lab):
    return lab.run("edited", protocol=multiple_choice("letters", "mmau-string"))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("scored_predictions", lambda rows: rows[1:], r"has no row of 's\d+' of animals/all \(epoch 0\) by letters"),
        ("predictions", lambda rows: rows[3].update(role="judge"), r"no answer of the model's own to 's\d+' of"),
        ("predictions", lambda rows: rows[0]["audio"][0].update(key="\ud800"), "has half of a surrogate pair"),
    ],
)
def test_a_comparison_names_what_edited_lines_lack(run, name, change, says):
    edit(run / f"{name}.jsonl", change)
    with pytest.raises(FatalError, match=says):
        read_comparable_evals(run, load_run(run).record, "edited")


def test_half_of_a_surrogate_pair_in_a_record_is_replaced_in_frames(run):
    record = json.loads((run / "run.json").read_text())
    record["items"][0]["metrics"][0]["method"] = "half \ud800"
    (run / "run.json").write_text(json.dumps(record))
    assert load_run(run).metrics["method"][0] == "half \N{REPLACEMENT CHARACTER}"
