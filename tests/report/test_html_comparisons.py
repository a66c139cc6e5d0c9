"""Scorers side by side and failures, as a browser shows them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
LOOP, REFUSED = ("b b b b b", "parsed", False), ("I cannot", "refused", False)
WORDING = {"b b b b b": ("loop",)}
HOSTILE = "</script><img src=x onerror=alert(1)> \u202emoo " + "moo " * 9000


def lenient(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return "parsed", right or status == "refused"


def skipping(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return status, right if status == "parsed" else None


MANY = {"lenient": lenient, "skipping": skipping, "third": lenient, "fourth": lenient}
ANSWERS = [RIGHT] * 6 + [WRONG] + [LOOP] * 2 + [REFUSED]


def test_many_protocols_are_a_table_with_every_perturbation_and_a_drawing(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", ANSWERS, others=MANY)))
    table = page.page.locator("#scorers table")
    rows = table.locator("tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["lenient", "third", "fourth", "skipping", "letters"]
    assert re.search(r"lenient\s+70\.0 %\s+[\d.]+ to [\d.]+\s+10\s+0\s+0\s+\+10\.0 pp", rows[0])
    assert re.search(r"skipping\s+66\.7 %\s+[\d.]+ to [\d.]+\s+9\s+1\s+1\s+\+6\.7 pp", rows[3])
    assert "headline" in rows[4]
    drawing = page.page.locator("#scorers svg[role=img]")
    drawing.wait_for()
    assert drawing.locator("path[transform]:has(title)").count() == 5
    assert "letters: 60.0 %" in (drawing.text_content() or "")
    assert (
        "60.0 % (letters) to 70.0 % (lenient), spread 10.0 pp"
        in page.page.locator("#scorers .body summary").first.inner_text()
    )
    assert page.complaints == []


def test_dots_stand_in_the_order_of_their_values_within_the_drawing(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", ANSWERS, others=MANY)))
    page.page.locator("#scorers svg[role=img]").wait_for()
    places = page.page.evaluate(
        "[...document.querySelectorAll('#scorers svg[role=img] path[transform]')].map((dot) => {"
        " const own = dot.getBoundingClientRect(), all = dot.ownerSVGElement.getBoundingClientRect();"
        " return [(own.left + own.right) / 2 - all.left, all.width]; })"
    )
    at = [place for place, _ in places]
    assert at[0] == pytest.approx(at[1]) == pytest.approx(at[2])
    assert at[2] > at[3] > at[4]
    assert all(0 < place < width for place, width in places)


def test_a_protocol_opens_to_its_signature_and_where_its_rule_stands(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", ANSWERS, others=MANY)))
    summary = page.page.locator("#scorers th summary").last
    assert summary.get_attribute("title") == "letters|v:1|skip:no"
    summary.click()
    told = page.page.locator("#scorers th details[open]").inner_text()
    for text in ("letters|v:1|skip:no", "audiobench describe letters", "docs/scorers", "1 refused"):
        assert text in told


def test_the_main_table_keeps_the_headline_and_leads_to_the_others(runs: Any, opened: Any) -> None:
    items = [runs.item(n, name, ANSWERS, others=MANY) for n, name in enumerate("ab")]
    page = opened(runs.page(*items))
    main = page.page.locator("#verdicts tbody")
    assert main.locator("tr").count() == 4
    assert "letters" in main.locator("tr").first.inner_text()
    own = page.page.locator("#scorers .body > div > details", has_text="b")
    assert page.page.locator("#scorers .body > div > details[open]").count() == 1
    main.get_by_role("link").last.click()
    own.last.locator("tbody tr").first.wait_for()
    assert page.page.locator("#scorers .body > div > details[open]").count() == 2


def test_a_few_protocols_stand_in_the_main_table_and_side_by_side(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", ANSWERS, others={"lenient": lenient})))
    assert page.page.locator("#verdicts tbody tr").count() == 2
    assert page.page.locator("#scorers tbody tr").count() == 2


def test_one_protocol_and_no_failure_leave_both_sections_out(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, WRONG])))
    assert page.page.locator("#scorers:visible, #failures:visible").count() == 0
    assert not page.page.locator("#failure").is_visible()


def test_what_went_wrong_is_a_table_with_examples_of_each_class(runs: Any, opened: Any) -> None:
    answers = [*ANSWERS, LOOP, LOOP]
    page = opened(runs.page(runs.item(0, "a", answers, wording=WORDING)))
    section = page.page.locator("#failures")
    rows = section.locator("tbody tr").all_inner_texts()
    assert re.search(r"loop\s+4\s+33\.3 %\s+accuracy\s+50\.0 %\s+75\.0 %\s+[\d.]+ to [\d.]+\s+8\s+\+25\.0 pp", rows[0])
    assert re.search(r"refused\s+1\s+8\.3 %", rows[1])
    assert (
        "accuracy 50.0 %; 75.0 % without 4 in a loop; also 1 refused" in section.locator(".body summary").inner_text()
    )
    assert section.locator(".failure").first.locator(".example .answer").all_inner_texts() == ["b b b b b"] * 3
    assert "reference: cat" in section.locator(".example").first.inner_text()


def test_samples_are_filtered_by_how_they_went_wrong(runs: Any, opened: Any) -> None:
    items = [runs.item(n, name, ANSWERS, wording=WORDING, others={"lenient": lenient}) for n, name in enumerate("ab")]
    page = opened(runs.page(*items))
    assert page.counts("Failures") == {"loop": 4, "refused": 2}
    page.choose("Failures", "loop")
    assert page.answers() == ["b b b b b"] * 4
    assert all("loop" in text for text in page.samples())
    page.page.get_by_label("Scorer", exact=True).select_option("lenient")
    assert page.counts("Failures") == {"loop": 4, "refused": 0}
    page.choose("Failures", "loop")
    page.page.get_by_label("Scorer", exact=True).select_option("headline scorer")
    assert len(page.answers()) == 20


def test_a_button_shows_a_class_among_the_samples(runs: Any, opened: Any) -> None:
    items = [runs.item(n, name, ANSWERS, wording=WORDING) for n, name in enumerate("ab")]
    page = opened(runs.page(*items))
    page.choose("Answer", "unparsed")
    page.page.locator("#failures details").last.locator("summary").first.click()
    page.page.get_by_role("link", name="Show the 2 among the samples").click()
    page.page.locator(".chip[aria-pressed=true]", has_text="loop 2").wait_for()
    assert page.answers() == ["b b b b b"] * 2
    assert page.page.get_by_label("Eval", exact=True).evaluate("one => one.selectedOptions[0].textContent") == "b (2)"
    assert page.page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["loop 2"]
    assert page.complaints == []


def test_an_answer_that_the_protocol_leaves_out_says_so(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", ANSWERS, others={"skipping": skipping})))
    page.page.get_by_label("Scorer", exact=True).select_option("skipping")
    page.choose("Answer", "unparsed")
    (sample,) = page.samples()
    assert "refused, skipped by the scorer" in sample
    assert "1 skipped by the scorer" in page.page.locator("#verdicts").inner_text()


def test_protocols_that_say_the_same_of_an_answer_are_one_line(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT], others=MANY)))
    assert "letters and 4 more parsed: A" in re.sub(r"\s+", " ", page.samples()[0])


def test_hostile_failures_and_protocols_are_shown_literally(runs: Any, opened: Any) -> None:
    bad = "<img src=x onerror=alert(1)>"
    item = runs.item(
        0,
        "a",
        [RIGHT, (HOSTILE, "parsed", False)],
        others={bad: lenient, "x": skipping, "y": lenient},
        wording={HOSTILE: ("loop",)},
    )
    page = opened(runs.page(item))
    assert page.complaints == []
    assert bad in page.page.locator("#scorers").inner_text()
    answer = page.page.locator("#failures .example .answer").inner_text()
    assert answer.startswith("</script><img src=x onerror=alert(1)> ⟨U+202E⟩moo")
    assert len(answer) < 500
    assert page.page.locator("img").count() == 0


def test_examples_are_on_the_page_even_where_wrong_answers_fill_it(runs: Any, opened: Any) -> None:
    answers = [WRONG] * 3000 + [LOOP] * 5 + [REFUSED]
    path = runs.page(runs.item(0, "a", answers, wording=WORDING), budget_bytes=100_000)
    page = opened(path)
    assert page.page.locator("#failures .example .answer").all_inner_texts() == ["b b b b b"] * 3 + ["I cannot"]
    cut = page.page.locator("#cut").inner_text()
    assert re.search(r"has \d+ of 3,006 samples, to stay small: all 4 that are examples of failures", cut)
    assert re.search(r"\d+ of the 3,002 that failed", cut)


def test_huge_failures_do_not_break_the_budget(runs: Any) -> None:
    answers = [(f"{n} {'<>&' * 6000}", "parsed", False) for n in range(400)]
    wording = {text: ("loop", "runaway") for text, _, _ in answers}
    path = runs.page(runs.item(0, "a", answers, wording=wording), budget_bytes=1_000_000)
    assert path.stat().st_size < 1_001_000


def test_what_many_protocols_say_alike_costs_little_on_the_page(runs: Any) -> None:
    many = {f"protocol-{number}": lenient for number in range(40)}
    item = runs.item(0, "a", ANSWERS * 10, others=many, wording=WORDING)
    text = runs.page(item, budget_bytes=150_000).read_text()
    data = json.loads(text.partition('type="application/json">')[2].partition("</script>")[0])
    assert data["samples"]["items"] == [[0, 100, 100]]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_neither_section_makes_the_page_scroll_sideways(runs: Any, browser: Any, scheme: Any, width: int) -> None:
    answers = [*ANSWERS, ("x" * 4000, "parsed", False)]
    item = runs.item(0, "long-name-" * 8, answers, others=MANY, wording={**WORDING, "x" * 4000: ("loop",)})
    path = runs.page(item)
    page = browser.new_page(viewport={"width": width, "height": 720}, color_scheme=scheme)
    page.goto(path.as_uri())
    page.get_by_role("button", name="Open all").click()
    page.locator("#scorers tbody tr").nth(4).wait_for()
    assert page.locator("#scorers tbody tr").count() == 5
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_what_a_judge_said_is_shown_and_is_no_answer(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, LOOP], wording=WORDING, verdict="Grade: 0.5")))
    assert page.page.locator("#failures .example .answer").all_inner_texts() == ["b b b b b"]
    assert re.search(r"\(a\) cat\s+letters parsed: A\s+judge, grade\s+Grade: 0.5", page.samples()[1])
