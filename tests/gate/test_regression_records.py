"""A run's record whose regression lines were edited by hand."""

from dataclasses import asdict

import pytest

from pytest_audiobench.gate.regression_records import check_regressions
from pytest_audiobench.io.strict_json import FieldError
from pytest_audiobench.records.run import RegressionRecord

LINE = asdict(
    RegressionRecord(
        status="regressed",
        metric="accuracy",
        scorer="letters",
        group={"hop": "multi"},
        unit="share",
        direction="higher",
        baseline=1.0,
        value=0.5,
        drop=0.5,
        lower=0.4,
        upper=0.6,
        bound=0.58,
        margin=0.01,
        p=0.001,
        alpha=0.05,
        lines=2,
        detectable=0.1,
        pairs=40,
        clusters=None,
        worse=20,
        better=0,
        left_out={"audio": 1},
        examples={"audio": ["s1"]},
        method="McNemar",
        detail="50 points worse",
    )
)


def test_lines_as_they_were_written_are_taken():
    check_regressions({"items": [{"regressions": [LINE, {**LINE, "p": None, "clusters": 4}]}, {}]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "fine"}, r"items\[0\].regressions\[0\], status must be one of pass, regressed, .*, not 'fine'"),
        ({"status": ["pass"]}, "status must be one of"),
        ({"drop": "much"}, "drop must be a number, not 'much'"),
        ({"p": float("nan")}, "p must be a finite number"),
        ({"bound": 10**400}, "bound must be a finite number"),
        ({"alpha": None}, "alpha must be a number"),
        ({"lines": 0}, "lines must be a whole number from 1"),
        ({"pairs": True}, "pairs must be a whole number"),
        ({"clusters": 1.5}, "clusters must be a whole number"),
        ({"group": [1]}, "group must be an object"),
        ({"left_out": {"audio": "two"}}, "left_out must be a whole number"),
        ({"examples": {"audio": "s1"}}, "examples must be a list"),
        ({"examples": None}, "examples must be an object, not null"),
        ({"more": 1}, "has the unknown 'more'"),
    ],
)
def test_what_was_edited_is_told_with_its_place(change, said):
    with pytest.raises(FieldError, match=said):
        check_regressions({"items": [{"regressions": [{**LINE, **change}]}]})


@pytest.mark.parametrize("regressions", [None, "no", {}, [None], [[]], [{}]])
def test_what_is_no_list_of_lines_is_told(regressions):
    with pytest.raises(FieldError, match=r"items\[0\].regressions"):
        check_regressions({"items": [{"regressions": regressions}]})
