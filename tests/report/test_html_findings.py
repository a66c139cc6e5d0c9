"""Findings on the page of a run, as a browser shows them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_audiobench.report.findings_tables import findings_view
from pytest_audiobench.report.page.html import write_page

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
HOSTILE = "<img src=x onerror=alert(1)>"


def half(effect: float | None, p: float | None) -> dict[str, Any]:
    known = effect is not None
    return {
        "clip_count_domain": 9,
        "clip_count_other": 63,
        "domain_rate": 0.75,
        "other_rate": 0.25,
        "effect_size": effect,
        "ci_lower": effect - 0.2 if known else None,
        "ci_upper": effect + 0.2 if known else None,
        "p_value": p,
    }


def finding(domain: str, status: str, effect: float | None, p: float | None = 0.001) -> dict[str, Any]:
    side = half(effect, p)
    return {
        "id": f"hallucination-rate:{domain}",
        "metric": "hallucination_rate",
        "slice": {"domain": domain},
        "status": status,
        "validation_notes": f"why {domain} is {status}",
        "adjusted_p_value": p,
        **{name: side[name] for name in ("effect_size", "ci_lower", "ci_upper", "p_value")},
        "discovery": side,
        "holdout": half(effect, p),
    }


FINDINGS = {
    "findings": [
        finding("hum", "validated", 0.5),
        finding("cafe", "candidate", 0.2),
        finding(HOSTILE, "rejected", -0.3, 0.9),
        finding("rain", "untested", None, None),
    ],
    "top_finding": "hallucination-rate:hum",
    "validation_summary": {"candidate": 1, "rejected": 1, "untested": 1, "validated": 1},
    "findings_methods": {
        "by": "domain",
        "alpha": 0.05,
        "fewest_clusters": 5,
        "discovery_alpha": 0.1,
        "holdout_alpha": 0.0625,
        "holdout_fraction": 0.4,
        "tested": 3,
        "split": {"seed": "0"},
    },
    "phrases": [{"phrase": f"thank you {HOSTILE}", "count": 12, "domains": {"cafe": 3, "hum": 9}}],
}


@pytest.fixture
def page(runs: Any, opened: Any) -> Any:
    folder, record = runs.collected(runs.item(0, "non_speech", [RIGHT, WRONG]))
    record["items"][0]["findings"] = FINDINGS
    return opened(write_page(folder, record))


def test_each_domain_is_a_row_and_two_marks_with_their_intervals(page: Any) -> None:
    section = page.page.locator("#findings")
    section.locator("svg[role=img]").first.wait_for()
    assert section.locator("svg[role=img]").first.get_attribute("aria-label") == (
        "Uplift of hallucination_rate by domain; the table holds the numbers"
    )
    rows = section.locator("table").first.locator("tbody tr")
    assert rows.count() == 4
    text = rows.nth(0).inner_text()
    for told in ("hum", "● validated", "+50.0", "+30.0 to +70.0", "75.0 % and 25.0 %", "9 and 63 clips", "0.0010"):
        assert told in text
    assert "why rain is untested" in rows.nth(3).inner_text()
    # Three domains of two halves each have a place; the untested one has none.
    assert section.locator("svg[role=img]").first.locator("path[transform]:has(title)").count() == 6
    assert page.complaints == []


def test_what_was_made_up_is_text_and_never_markup(page: Any) -> None:
    section = page.page.locator("#findings")
    section.get_by_text("Most frequent phrases").wait_for()
    assert section.locator("img").count() == 0
    assert f"thank you {HOSTILE}" in section.inner_text()
    assert "hum 9, cafe 3" in section.inner_text()
    assert page.complaints == []


def test_the_section_says_what_a_status_means_and_is_in_the_contents(page: Any) -> None:
    text = page.page.locator("#findings").inner_text()
    assert "1 validated, 1 candidate, 1 rejected, 1 untested" in text
    assert "any false one among 3 tested is at most 0.05" in text
    assert page.page.locator("#contents a", has_text="Findings").count() == 1


def test_a_run_without_findings_has_no_such_section(runs: Any, opened: Any) -> None:
    shown = opened(runs.page(runs.item(0, "a", [RIGHT, WRONG])))
    assert not shown.page.locator("#findings").is_visible()


def test_findings_of_an_older_record_are_none() -> None:
    assert findings_view({"items": [{"eval": "a", "model": "m"}, {"eval": "b", "model": "m", "findings": None}]}) == []
