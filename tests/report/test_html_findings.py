"""Findings on the page of a run, as a browser shows them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pytest_audiobench.records.run import (
    FindingMethodsRecord,
    FindingRecord,
    FindingSideRecord,
    FindingsRecord,
    HoldoutRecord,
    MetricRecord,
    PhraseRecord,
    SplitRecord,
)
from pytest_audiobench.report.findings_tables import findings_view
from pytest_audiobench.report.page.html import write_page

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
HOSTILE = "<img src=x onerror=alert(1)>"


def finding(domain: str, status: Any, effect: float | None, p: float | None = 0.001) -> FindingRecord:
    lower, upper = (None, None) if effect is None else (effect - 0.2, effect + 0.2)
    side = FindingSideRecord(9, 63, 9, 63, 0.75, 0.25, p, effect is not None, None, "", "")
    return FindingRecord(
        rank=1,
        id=f"hallucination-rate:{domain}",
        title=domain,
        detector="rate",
        metric="hallucination_rate",
        slice={"domain": domain},
        status=status,
        validation_notes=f"why {domain} is {status}",
        effect_size=effect,
        ci_lower=lower,
        ci_upper=upper,
        p_value=p,
        adjusted_p_value=p,
        discovery=side,
        holdout=HoldoutRecord(**structs.asdict(side), effect_size=effect, ci_lower=lower, ci_upper=upper),
    )


FINDINGS = FindingsRecord(
    findings=[
        finding("hum", "validated", 0.5),
        finding("cafe", "candidate", 0.2),
        finding(HOSTILE, "rejected", -0.3, 0.9),
        finding("rain", "untested", None, None),
    ],
    top_finding="hallucination-rate:hum",
    validation_summary={"candidate": 1, "rejected": 1, "untested": 1, "validated": 1},
    findings_methods=FindingMethodsRecord(
        by="domain",
        uplift="",
        test="",
        interval="",
        bootstrap_resamples=0,
        permutations=0,
        confidence=0.95,
        multiple_testing="",
        tested=3,
        alpha=0.05,
        discovery_alpha=0.1,
        holdout_alpha=0.0625,
        holdout_fraction=0.4,
        fewest_clusters=5,
        split=SplitRecord("0", "", "", 72, 29, None, ""),
        clusters_are="sample_id",
    ),
    phrases=[PhraseRecord(f"thank you {HOSTILE}", 12, {"cafe": 3, "hum": 9})],
)

RATES = [
    MetricRecord("hallucination_rate", 0.6, 0.4, 0.7, 72, "share", "lower", "", group={}),
    MetricRecord("hallucination_rate", 0.9, 0.7, 0.99, 9, "share", "lower", "", group={"domain": "hum"}),
]


@pytest.fixture
def page(runs: Any, opened: Any) -> Any:
    folder, record = runs.collected(runs.item(0, "non_speech", [RIGHT, WRONG]))
    items = [structs.replace(item, findings=FINDINGS, metrics=[*item.metrics, *RATES]) for item in record.items]
    return opened(write_page(folder, structs.replace(record, items=items)))


def test_the_rate_of_all_and_of_each_domain_stands_beside_how_it_differs(page: Any) -> None:
    section = page.page.locator("#findings")
    assert (
        "hallucination_rate 60.0 % (40.0 to 70.0) of 72; 1 validated"
        in section.locator(".body summary").first.inner_text()
    )
    cells = [
        row.locator("td").nth(1).inner_text() for row in section.locator("table:has(th:text('Status')) tbody tr").all()
    ]
    assert cells[0].split("\n") == ["90.0 %", "70.0 to 99.0", "of 9"]
    assert cells[1].strip() == "–"


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


def test_the_section_says_what_a_status_means_and_has_a_heading(page: Any) -> None:
    text = page.page.locator("#findings").inner_text()
    assert "1 validated, 1 candidate, 1 rejected, 1 untested" in text
    assert "any false one among 3 tested is at most 0.05" in text
    assert page.page.get_by_role("heading", name="Findings").count() == 1


def test_a_run_without_findings_has_no_such_section(runs: Any, opened: Any) -> None:
    shown = opened(runs.page(runs.item(0, "a", [RIGHT, WRONG])))
    assert not shown.page.locator("#findings").is_visible()


def test_an_eval_in_which_nothing_was_tested_has_no_findings_to_show(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT, WRONG]), runs.item(1, "b", [RIGHT, WRONG]))
    nothing = FindingsRecord([], None, {}, None)
    items = [record.items[0], structs.replace(record.items[1], findings=nothing)]
    assert findings_view(structs.replace(record, items=items)) == []
