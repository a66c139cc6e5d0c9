"""What a notebook shows of a result and of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from msgspec.structs import replace

from pytest_audiobench import load_run
from pytest_audiobench.report.run_reader import Run

EVALS = """
from pathlib import Path

from pytest_audiobench import multiple_choice
from pytest_audiobench.datasets.bundled import bundled

def test_digits(evaluate):
    result = evaluate(bundled("digits"), multiple_choice())
    Path("result.html").write_text(result._repr_html_())
"""
SETTINGS = """
[[threshold]]
eval = "shown/digits"
require = ["accuracy >= 0.5", "accuracy <= 1"]
"""


def cells(html: str) -> list[list[str]]:
    """The rows of the one table; ElementTree reads what is well-formed alone."""
    found = ElementTree.fromstring(html)
    assert {one.tag for one in found.iter()} <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    return [["".join(cell.itertext()) for cell in row] for row in found.iter("tr")]


def test_a_result_and_a_run_are_tables_of_scores_with_intervals_and_verdicts(tmp_path: Path, forks: Any) -> None:
    (tmp_path / "test_shown.py").write_text(EVALS)
    (tmp_path / "audiobench.toml").write_text(SETTINGS)
    run = forks.pytest(["-q", "-p", "no:cacheprovider", "--ab-run=one", "--ab-limit=12"], tmp_path)
    assert run.returncode == 0, run.stdout
    head, first, *others = cells((tmp_path / "result.html").read_text())
    assert head == ["eval", "model", "metric", "scorer", "value", "95 % interval", "n", "parse rate", "verdict"]
    assert first[:8] == ["shown/digits", "listener", "accuracy", "letters", "1.000", "[0.735, 1.000]", "12", "100.0 %"]
    assert others
    opened = load_run(tmp_path / "reports" / "one")
    assert cells(opened._repr_html_()) == [head, [*first[:8], "2 pass"]]


def test_names_from_outside_are_escaped_and_of_thousands_of_evals_the_first_are_shown(runs: Any) -> None:
    hostile = "<script>alert(1)</script> & \"'\ud800"
    folder, record = runs.collected(runs.item(0, "e", [("(a) cat", "parsed", True)]))
    items = [replace(record.items[0], eval=f"{hostile}{number}") for number in range(300)]
    html = Run(folder, replace(record, items=items))._repr_html_()
    assert "<script" not in html
    assert len(cells(html)) == 201
    assert cells(html)[1][0] == "<script>alert(1)</script> & \"'?0"
    assert "and 100 more" in html
    html.encode()
