"""The page, read as a browser shows it. Skipped where Playwright or Chromium is absent."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest

from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report.page.frame import escaped_json

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
UNREAD, FAILED = ("who knows", "unparsed", False), ("no samples in the file", "error", False)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>alert(2)",
    "]]><svg onload=alert(3)>",
    '"><img src=x onerror=alert(4)>',
    "&lt;b&gt; &amp; {{data}} {{script}}",
    "javascript:alert(5)",
    "\\u003cscript\\u003e \\",
    "a line\u2028separator\u2029",
]


def test_hostile_answers_are_shown_literally_and_run_nothing(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "odd", [(text, "unparsed", False) for text in HOSTILE])))
    assert [re.sub(r"\s", " ", text) for text in page.answers()] == [re.sub(r"\s", " ", text) for text in HOSTILE]
    assert page.complaints == []
    assert page.page.locator("script:not([type])").count() == 1
    assert page.page.locator("img, svg, iframe, a[href^=javascript]").count() == 0


def test_hostile_names_notes_and_errors_are_shown_literally(runs: Any, opened: Any) -> None:
    bad = "<img src=x onerror=alert(1)></title></style><script>alert(2)</script>"
    verdict = VerdictRecord("fail", bad, 0.0, bad)
    item = runs.item(0, bad, [(bad, "error", False)], model=bad, suite=bad, groups={"track": bad}, verdicts=[verdict])
    model = runs.model(bad, spec=bad, device=bad, fingerprint={"weights": bad})
    page = opened(runs.page(item, run=bad, command=[bad], models=[model], notes=[bad]))
    assert page.complaints == []
    assert page.page.title() == f"{bad}: {bad} · {bad} · pytest-audiobench"
    assert page.page.locator("h1").inner_text().startswith(bad)
    assert bad in page.page.locator("#troubles").inner_text()
    assert bad in page.page.locator("#verdicts").inner_text()


def test_the_command_can_be_copied_into_a_shell(runs: Any, opened: Any) -> None:
    command = ["pytest", "evals", "-k", "soundscape and brief", "--ab-model=it's=hf:/a b"]
    page = opened(runs.page(runs.item(0, "one", [RIGHT]), command=command))
    shown = page.page.locator("#heading code").first.inner_text()
    assert shlex.split(shown) == command


def test_signs_that_show_nothing_or_turn_text_around_are_made_visible(runs: Any, opened: Any) -> None:
    answers = ["nul\x00 bell\x07 \x1b[31m", "\u202ecat\u202c", "مرحبا \u200fcat", "half \ud800 pair"]
    page = opened(runs.page(runs.item(0, "odd", [(text, "unparsed", False) for text in answers])))
    shown = page.answers()
    assert shown[0] == "nul⟨U+0000⟩ bell⟨U+0007⟩ ⟨U+001B⟩[31m"
    assert shown[1] == "⟨U+202E⟩cat⟨U+202C⟩"
    assert "مرحبا" in shown[2]
    assert shown[3] == "half \ufffd pair"
    assert page.complaints == []


def test_a_megabyte_of_text_is_cut_and_can_be_expanded(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "long", [("y" * 10**6, "unparsed", False), RIGHT]))
    assert path.stat().st_size < 260_000
    page = opened(path)
    answer = page.page.locator("article.sample .answer").first
    assert len(answer.inner_text()) < 1000
    answer.get_by_role("button", name="Show all 1,000,000 characters").click()
    assert "984,000 more characters are in predictions.jsonl" in answer.inner_text()
    answer.get_by_role("button", name="Show less").click()
    assert len(answer.inner_text()) < 1000


def test_the_results_come_first_and_the_evals_hold_every_score(runs: Any, opened: Any) -> None:
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.75, "75.0 % is below 90.0 %")
    items = [
        runs.item(0, "single", [RIGHT] * 3 + [UNREAD], verdicts=[fail], outcome="failed"),
        runs.item(1, "multi", [RIGHT] * 4),
    ]
    page = opened(runs.page(*items, exit_status=1))
    row = page.page.locator("#verdicts tbody tr").first.inner_text()
    for text in (
        "single",
        "✗ FAIL",
        "accuracy",
        "75.0 %",
        "4",
        "1 unparsed",
        "✗ fail",
        "accuracy >= 0.9",
        "letters|v:1",
    ):
        assert text in row
    assert re.search(r"\d+\.\d to \d+\.\d", row)
    assert "87.5 %" in page.page.locator("#suites tbody tr").first.inner_text()
    assert page.page.locator("main > section:visible").first.get_attribute("id") == "results"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exit_status": 1}, "Failed. See what failed"),
        ({"exit_status": 2}, "Interrupted. No verdict. Answers are kept: run it again, and only the rest is asked."),
        ({"limit": 2}, "Never comparable with a full run"),
    ],
)
def test_what_forbids_trust_is_a_banner_above_all_numbers(runs: Any, opened: Any, changes: Any, said: str) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, RIGHT]), **changes))
    assert said in page.page.locator("#heading .banner.bad, #heading .overall.bad").inner_text()


def test_failed_askings_and_lost_evals_are_banners(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, FAILED]), runs.item(1, "b", [], outcome="lost")))
    said = " ".join(page.page.locator("#heading .banner.bad").all_inner_texts())
    assert "asking failed for 1 sample" in said
    assert "1 eval began and never reported" in said


def test_a_run_without_trouble_has_no_banner(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT])))
    assert page.page.locator(".banner:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_laptop_without_sideways_scrolling(runs: Any, browser: Any, scheme: Any) -> None:
    items = [runs.item(n, f"{'long-name-' * 6}{n}", [RIGHT, UNREAD], model=f"model-{n}") for n in range(3)]
    path = runs.page(*items)
    page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme=scheme)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_a_script_that_got_into_the_page_would_not_run(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "a", [RIGHT]))
    text = path.read_text()
    path.write_text(
        text.replace("</body>", "<script>document.title = 'owned'</script><img src=x onerror=alert(1)></body>")
    )
    page = opened(path)
    assert page.page.title() != "owned"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_escaped_json_has_nothing_that_could_end_its_element() -> None:
    values = [*HOSTILE, "\u2028\u2029<>&"]
    text = escaped_json(json.dumps(values, ensure_ascii=False))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == values
