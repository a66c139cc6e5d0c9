"""Values that were edited by hand, and the sentence that names the place of the first mistake."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import FileKind
from pytest_audiobench.records.fields import Record
from pytest_audiobench.records.reading import convert
from pytest_audiobench.records.run import RegressionRecord

KIND = FileKind("record", "pytest", "run again")

LINE: dict[str, Any] = asdict(
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


class Lines(Record, frozen=True):
    """Regression lines as an item has them."""

    regressions: list[RegressionRecord]


def test_lines_as_they_were_written_are_taken() -> None:
    lines = {"regressions": [LINE, {**LINE, "p": None, "clusters": 4}]}
    first, second = convert(lines, "run.json", KIND, Lines).regressions
    assert asdict(first) == LINE
    assert (second.p, second.clusters, second.p_holm) == (None, 4, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "fine"}, "status must be one of 'pass', 'regressed', 'inconclusive', 'not_comparable', not 'fine'"),
        ({"status": ["pass"]}, "status must be a text, not a list"),
        ({"drop": "much"}, "drop must be a number or null, not 'much'"),
        ({"drop": True}, "drop must be a number or null, not true"),
        ({"p": float("nan")}, "p must be a finite number, not nan"),
        ({"p": float("inf")}, "p must be a finite number, not inf"),
        ({"bound": 10**400}, "bound must be a finite number, not 1000000"),
        ({"alpha": None}, "alpha must be a number, not null"),
        ({"lines": 0}, "lines must be a whole number of at least 1, not 0"),
        ({"pairs": True}, "pairs must be a whole number, not true"),
        ({"pairs": 2**53}, "pairs must be a whole number of at most 9007199254740991, not 9007199254740992"),
        ({"clusters": 1.5}, "clusters must be a whole number or null, not 1.5"),
        ({"group": [1]}, "group must be an object, not a list"),
        ({"left_out": {"audio": "two"}}, "left_out, 'audio' must be a whole number"),
        ({"examples": {"audio": "s1"}}, "examples, 'audio' must be a list"),
        ({"examples": None}, "examples must be an object, not null"),
        ({"method": "x" * 100_001}, "method must be a text of length at most 100000, not of 100001"),
        ({"methods": ""}, "has the unknown 'methods' (is it 'method'?)"),
    ],
)
def test_what_was_edited_is_named_with_its_place(change: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as error:
        convert({"regressions": [{**LINE, **change}]}, "run.json", KIND, Lines)
    assert str(error.value).startswith(f"run.json: regressions 'accuracy'{' ' if 'methods' in change else ', '}{says}")
    assert str(error.value).endswith(": run again")


@pytest.mark.parametrize("change", [{"status": "\ud800"}, {"\udc80": 1}], ids=["in a word", "in a key"])
def test_half_of_a_surrogate_pair_where_none_can_be_is_one_sentence(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"run.json: '\\ud[8c][08]0' has half of a surrogate pair: run again"):
        convert({"regressions": [{**LINE, **change}]}, "run.json", KIND, Lines)


def test_half_of_a_surrogate_pair_in_a_text_is_kept() -> None:
    (line,) = convert({"regressions": [{**LINE, "detail": "\ud800"}]}, "run.json", KIND, Lines).regressions
    assert line.detail == "\ud800"


@pytest.mark.parametrize(
    ("regressions", "says"),
    [
        (None, "regressions must be a list, not null"),
        ("no", "regressions must be a list, not 'no'"),
        ({}, "regressions must be a list, not an object"),
        ([None], "regressions 1 must be an object, not null"),
        ([[]], "regressions 1 must be an object, not a list"),
        ([{}], "regressions 1 has no 'status'"),
    ],
)
def test_what_is_no_list_of_lines_is_named(regressions: object, says: str) -> None:
    with pytest.raises(UsageError) as error:
        convert({"regressions": regressions}, "run.json", KIND, Lines)
    assert str(error.value) == f"run.json: {says}: run again"
