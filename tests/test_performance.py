"""The figures of docs/performance.md are those of docs/performance.json, which a command measured."""

from __future__ import annotations

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ENTRY = {
    "script": "made",
    "arguments": ["--rounds=3"],
    "date": "2026-11-23",
    "commit": "0a8c7fd8",
    "machine": "2 cores",
    "load": [0.5, 1.25],
    "yardstick_s": [0.039, 0.042],
    "left_out": ["a peer: name it"],
    "figures": [
        {"name": "fast", "unit": "ms", "n": 3, "limit": 4, "CPU time": [2, 1, 3], "wall time": [5, 4, 6]},
        {"name": "slow", "unit": "s", "n": 3, "limit": 1, "CPU time": None, "wall time": [2.5, 2, 3000]},
        {"name": "free", "unit": "s", "n": 3, "limit": None, "CPU time": [-0.01, -1, 1], "wall time": None},
    ],
}


@pytest.fixture(scope="module")
def figures() -> Any:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_s_tables_are_those_of_the_figures(figures: Any) -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    assert page == figures.with_tables(page, figures.read()), "run python benchmarks/figures.py"


def test_every_script_s_figures_have_a_table_or_a_limit(figures: Any) -> None:
    shown = figures.tables_of(figures.PAGE.read_text(encoding="utf-8"))
    for entry in figures.read():
        assert entry["script"] in shown or all(figure["limit"] is not None for figure in entry["figures"])


def test_every_entry_says_when_and_under_what_load_it_was_measured(figures: Any) -> None:
    for entry in figures.read():
        assert datetime.date.fromisoformat(entry["date"])
        assert (ROOT / "benchmarks" / f"{entry['script']}.py").is_file()
        assert entry["machine"]
        assert len(entry["load"]) == len(entry["yardstick_s"]) == 2
        assert entry["figures"]


def test_a_table_has_medians_with_their_range_and_says_what_was_left_out(figures: Any) -> None:
    page = figures.with_tables("<!-- figures made -->\nold\n<!-- end of figures -->\n", [ENTRY])
    assert "old" not in page
    assert "`made.py --rounds=3` on 2026-11-23 at 0a8c7fd8: 2 cores; load 0.5 before and 1.2 after" in page
    assert "| fast | 2 ms (1 to 3) | 5 ms (4 to 6) | 3 |" in page
    assert "| slow | – | 2.5 s (2 to 3,000) | 3 |" in page
    assert "| free | −0.01 s (−1 to 1) | – | 3 |" in page
    assert "Left out: a peer: name it." in page


def test_a_limit_that_is_not_kept_is_marked(figures: Any) -> None:
    page = figures.with_tables("<!-- figures limits -->\n<!-- end of figures -->\n", [ENTRY])
    assert "| fast | 4 ms | 2 ms | 1 to 3 | 3 | 0.50 | 2026-11-23, `made.py`, load 1 |" in page
    assert "| slow | 1 s | 2.5 s | 2 to 3,000 | 3 | **2.50** |" in page
    assert "free" not in page


def test_a_table_of_what_was_never_measured_says_so(figures: Any) -> None:
    page = figures.with_tables("<!-- figures harness -->\nold\n<!-- end of figures -->\n", [ENTRY])
    assert page == "<!-- figures harness -->\nNot measured.\n<!-- end of figures -->\n"
