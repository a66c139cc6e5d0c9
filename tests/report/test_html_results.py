"""The first screen: the terminal's rows with chance and baseline, what comes first, and what folds on a narrow page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.cli import main
from pytest_audiobench.records.run import HearingRecord
from pytest_audiobench.report.joined_samples import joined
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.page.result_rows import ResultRows
from pytest_audiobench.report.suite_rows import suite_rows
from pytest_audiobench.report.terminal import summary_lines
from pytest_audiobench.viewer.run_list import RunList
from tests.browser import wait_until

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
UNREAD = ("who knows", "unparsed", False)
ALARM = "alarm: 3 of 4 answers could not be read (3 unparsed), so accuracy says nothing: it said “dog”"


def rows_of(folder: Path, record: Any) -> list[dict[str, Any]]:
    results = ResultRows(record, ())
    assert list(results.watch(joined(folder)))
    return results.rows()


def test_the_page_has_the_numbers_of_the_terminal(runs: Any) -> None:
    items = [*runs.ladder((20, 6)), *(runs.item(9 + n, f"e{n}", [RIGHT, WRONG] * (n + 1)) for n in range(9))]
    folder, record = runs.collected(*items)
    of_page = [row for row in rows_of(folder, record) if "member" not in row]
    of_terminal = suite_rows(record)
    assert [(row["metric"], row["of"]) for row in of_page] == [
        ("accuracy", "clean"),
        ("accuracy", "mean"),
        ("accuracy", ""),
    ]
    for row, same in zip(of_page, of_terminal, strict=True):
        assert (row["figure"].value, row["figure"].interval) == (same.cells[4], same.cells[5].strip("[]"))
    assert [cells[3] for cells in (row.cells for row in of_terminal)][:2] == ["accuracy (clean)", "accuracy (mean)"]


def test_the_mean_over_perturbations_has_its_parse_rate_and_is_the_run_lists_number(runs: Any) -> None:
    folder, record = runs.collected(*runs.ladder((20, 6)))
    _, mean = (row for row in rows_of(folder, record) if "member" not in row)
    assert (mean["of"], mean["parseRate"]) == ("mean", "84.7 %")
    (score,) = RunList(folder.parent).rows(budget_s=60.0)["runs"][0]["scores"]
    assert (score["value"], score["interval"]) == (mean["figure"].value, mean["figure"].interval)


def test_what_is_not_on_this_machine_is_counted_as_on_the_terminal(runs: Any, opened: Any) -> None:
    why = "the pack core is not on this machine (there is demo)"
    absent = runs.item(1, "solo", [])
    beside = runs.item(2, "silence", [WRONG], control=True)
    folder, record = runs.collected(runs.item(0, "calls", [RIGHT, WRONG]), absent, beside)
    skipped = replace(record.items[1], outcome="skipped", message=why, scorers=[], metrics=[])
    record = replace(record, items=[record.items[0], skipped, record.items[2]])
    shown = opened(write_page(folder, record), folded=True)
    assert (
        "1 eval was skipped: 1 data set is not on this machine" in shown.page.locator("#skipped summary").inner_text()
    )
    assert "1 eval measured, 1 data set unavailable: the pack core" in shown.page.locator(".overall").inner_text()
    assert (
        "2 samples in 1 eval of 1 suite, and 1 more in 1 eval beside"
        in shown.page.locator("#facts summary").inner_text()
    )


def test_guessing_one_of_the_options_is_known_and_of_several_true_ones_is_not(runs: Any) -> None:
    plain = runs.item(0, "plain", [RIGHT, WRONG])
    other = runs.item(1, "other", [RIGHT, WRONG], truths=["cat", "none of them"], suite="other")
    folder, record = runs.collected(plain, other)
    assert [row["chance"] for row in rows_of(folder, record)] == [25.0, None]


@pytest.mark.parametrize(
    ("right", "names"),
    [
        ((20, 6), ["white-0", "white-1"]),
        ((20, 9, 8, 7, 6, 5, 4, 3, 2), ["mean of 9 perturbations and clean"]),
    ],
)
def test_what_is_asked_beside_under_perturbations_stands_below_its_eval(runs: Any, right: Any, names: Any) -> None:
    folder, record = runs.collected(*runs.ladder(right))
    record = replace(record, items=[record.items[0], *(replace(item, control=True) for item in record.items[1:])])
    first, *beside = rows_of(folder, record)
    assert (first["name"], [row["name"] for row in beside]) == ("noisy[clean]", names)
    assert {(row["under"], row["sign"].words) for row in beside} == {("noisy[clean]", "not gated")}
    terminal = [text for text, _ in summary_lines(record, 100)]
    for number, row in enumerate(beside, start=2):
        assert terminal[number].startswith(f"  {row['name']}")
        assert row["figure"].value in terminal[number]
        assert terminal[number].endswith("not gated")


def test_answers_of_a_control_are_neither_wrong_nor_unparsed(runs: Any, opened: Any, capsys: Any) -> None:
    odd = ("no idea", "unparsed", False)
    path = runs.page(runs.item(0, "calls", [RIGHT, WRONG]), runs.item(1, "silence", [WRONG, odd, odd], control=True))
    shown = opened(path, folded=True)
    chips = shown.page.locator("#facets fieldset", has_text="Answer").first.locator("button").all_inner_texts()
    assert chips == ["wrong 1", "right 1", "control 3"]
    assert main(["inspect", str(path.parent)]) == 0
    assert "1 wrong of 2 answers" in capsys.readouterr().out
    shown.page.get_by_role("button", name="control 3").click()
    assert "should come out badly" in shown.page.locator("#card").inner_text()
    assert shown.complaints == []


@pytest.fixture
def compared(runs: Any) -> Path:
    """Two evals of a suite, compared with a baseline whose answers were right; the second has an alarm."""
    lines = [runs.regression("regressed", 0.05, baseline=1.0, pairs=4), runs.regression("pass", 0.0)]
    items = [
        runs.item(n, f"eval-{n}", [RIGHT] * 3 + [WRONG], truths=["cat"] * 3 + ["hen"], regressions=[line])
        for n, line in enumerate(lines)
    ]
    changes = ["worse", "same", "same", "worse"]
    rows = [
        runs.compared_row(*pair, text="(a) cat")
        for item in items
        for pair in zip(item.lines.scored, changes, strict=True)
    ]
    path: Path = runs.page(*items, baseline=runs.baseline, compared=rows, exit_status=1)
    return path


def test_what_is_pooled_has_its_baseline_and_drop_and_the_title_the_run(compared: Path, opened: Any) -> None:
    shown = opened(compared, folded=True)
    page = shown.page
    head = page.locator("#results thead th").all_inner_texts()
    row = dict(zip(head[1:], page.locator("#results tbody tr").first.locator("td").all_inner_texts(), strict=True))
    assert (row["Score"], row["Chance"], row["Baseline"], row["Change"]) == ("75.0 %", "25 %", "100.0 %", "−25.0 pp")
    assert page.locator("#results tbody td[title='on 8 pairs of 2 evals; no test']").count() == 2
    page.locator("#results svg[role=img]").wait_for()
    assert page.locator("#results svg title", has_text="chance 25 %").count() == 3
    title = "listener: sakura, compared with baselines/main.json · 2026-11-20-nightly"
    assert (page.locator("h1").inner_text(), page.title()) == (title, f"{title} · pytest-audiobench")
    # What was right and is wrong comes before what became worse otherwise.
    assert [text.split()[-2] for text in page.locator("#rows .row .first").all_inner_texts()[:2]] == ["s00003"] * 2
    assert page.locator("#rows .second").first.inner_text() == "(a) cat → (b) dog · reference: hen"
    # A pressed filter can be read under the pointer, too.
    chip = page.locator("button.chip").first
    chip.click()
    chip.hover()
    color, ground = chip.evaluate("(one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]")
    assert color != ground
    assert shown.complaints == []


def test_a_model_of_the_run_that_others_are_compared_with_is_named_once(runs: Any, opened: Any) -> None:
    items = [runs.item(n, "calls", [RIGHT], model=name, suite=f"s{n}") for n, name in enumerate(("new", "old"))]
    models = [runs.model(name, spec=f"hf:{name}") for name in ("new", "old")]
    beside = replace(runs.baseline, model="old", run="2026-11-20-nightly")
    page = opened(runs.page(*items, models=models, baseline=beside)).page
    assert page.title().startswith("new: s0, s1, compared with old · ")


def test_the_commit_is_that_of_the_repository_where_the_command_was_given(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "calls", [RIGHT]), commit="809e8c00f177e491")).page
    assert "pytest evals in a repository at commit 809e8c00f177" in page.locator("#facts").inner_text().splitlines()


@pytest.mark.parametrize(
    ("now", "changes", "tone", "rate", "led"),
    [
        (UNREAD, ["same", "worse"], "regressed", "100.0 → 50.0 %", "1 worse"),
        (RIGHT, ["better", "better"], "pass", "100.0 %", "2 better"),
    ],
)
def test_the_parse_rate_of_the_baseline_and_the_samples_that_changed_are_at_hand(
    runs: Any, opened: Any, now: Any, changes: list[str], tone: str, rate: str, led: str
) -> None:
    item = runs.item(0, "calls", [RIGHT, now], regressions=[runs.regression(tone, 0.0), runs.regression("pass", 0.0)])
    compared = [runs.compared_row(*pair) for pair in zip(item.lines.scored, changes, strict=True)]
    page = opened(runs.page(item, baseline=runs.baseline, compared=compared, exit_status=int(now is UNREAD))).page
    assert rate in page.locator("#results tbody td").all_inner_texts()
    told = page.locator("#changes tbody tr.details").all_inner_texts()
    assert ["Changed counts: parsed 2 → 1, unparsed 0 → 1" in text for text in told] == [now is UNREAD, False]
    number, change = led.split()
    assert page.locator(".next").get_by_role("link", name=f"{number} answers that became {change}").count() == 1
    page.locator(".overall").get_by_role("link").click()
    page.wait_for_url(f"**#change={change}")
    # The keys of the list work at once.
    wait_until(page, "document.activeElement.id === 'list'")


def test_evals_that_did_not_fail_are_counted_and_open(runs: Any, opened: Any) -> None:
    answers = [RIGHT, WRONG]
    lines = [runs.regression("regressed" if n == 5 else "pass", 0.05, pairs=2) for n in range(17)]
    long = "transcription_of_digits[white-10dB]"
    items = [runs.item(n, long if n == 5 else f"e{n}", answers, regressions=[line]) for n, line in enumerate(lines)]
    shown = opened(runs.page(*items, baseline=runs.baseline, exit_status=1), folded=True)
    table = shown.page.locator("#results tbody")
    assert [text.split()[0] for text in table.locator("tr").all_inner_texts()] == ["sakura", long, "16"]
    # Its label in the plot is whole, in several lines.
    shown.page.locator("#results svg[role=img] text:has(title)", has_text=long).wait_for()
    assert shown.page.locator("#results svg[role=img]").text_content().count("[white-10dB] ↑") == 2
    button = table.get_by_role("button", name="16 more: pass", exact=True)
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    opened_rows = table.locator("tr").all_inner_texts()[3:]
    assert [text.split()[0] for text in opened_rows] == [f"e{n}" for n in range(17) if n != 5]
    assert all("25 %" in text for text in opened_rows)
    button.press("Enter")
    assert table.locator("tr").count() == 3
    assert shown.complaints == []


def test_samples_that_models_answered_with_another_outcome_can_be_chosen(runs: Any, opened: Any) -> None:
    only_letter = ("B", "parsed", False)
    items = [
        runs.item(number, "animals", answers, model=model, head="mcq:strict|v:1")
        for number, (model, answers) in enumerate(
            [("old", [RIGHT, only_letter, WRONG]), ("new", [RIGHT, RIGHT, WRONG])]
        )
    ]
    page = opened(runs.page(*items)).page
    page.get_by_role("group", name="Models").get_by_role("button", name="differ").click()
    page.get_by_text("2 of 6 samples").wait_for()
    assert page.locator("#rows .second").all_inner_texts() == ["B dog · reference: cat", "(a) cat"]


@pytest.mark.parametrize(
    ("signature", "answer", "second", "choices"),
    [
        ("mcq:strict|v:1", "B", "B dog · reference: cat", ["A cat ✓ reference", "B dog ✗ chosen"]),
        ("label:contained|v:1", "dog", "dog · reference: cat", ["cat ✓ reference", "dog ✗ chosen"]),
        ("label:contained|v:1", "B", "B · reference: cat", ["cat ✓ reference", "dog"]),
    ],
)
def test_choices_have_letters_where_the_scorer_reads_letters(
    runs: Any, opened: Any, signature: str, answer: str, second: str, choices: list[str]
) -> None:
    page = opened(runs.page(runs.item(0, "animals", [(answer, "parsed", False)], said=[answer], head=signature))).page
    assert page.locator("#rows .second").all_inner_texts() == [second]
    page.locator("#rows .row").click()
    shown = page.locator("#card .choices li")
    shown.first.wait_for()
    assert shown.all_inner_texts()[:2] == choices


def test_samples_are_filtered_by_their_reference_also_by_an_address(compared: Path, opened: Any) -> None:
    page = opened(compared, folded=True).page
    pick = page.get_by_label("Reference", exact=True)
    pick.focus()
    pick.select_option(label="hen (2)")
    page.get_by_text("2 of 8 samples").wait_for()
    page.wait_for_url("**#reference=hen")
    page.reload()
    page.get_by_text("2 of 8 samples").wait_for()


def test_on_a_narrow_page_the_verdict_comes_first_and_facts_and_filters_fold(compared: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.goto(compared.as_uri())
    places = [page.locator(name).first.bounding_box()["y"] for name in ("#heading .overall", "#facts", "#results")]
    assert places == sorted(places)
    assert not page.get_by_text("Command", exact=True).is_visible()
    assert not page.get_by_role("group", name="Answer").is_visible()
    page.get_by_role("button", name="More filters").click()
    assert page.get_by_role("group", name="Answer").is_visible()
    page.close()


def test_open_all_opens_every_level_and_closes_them(compared: Path, opened: Any) -> None:
    page = opened(compared, folded=True).page
    closed = page.locator("main > section:not(#samples) details:not(.menu):not([open])")
    page.get_by_role("button", name="Open all").click()
    assert closed.count() == 0
    page.get_by_role("button", name="Close all").click()
    assert closed.count() > 3


def test_an_alarm_is_a_line_that_opens_and_offers_the_answers(runs: Any, opened: Any) -> None:
    folder, record = runs.collected(*(runs.item(n, f"eval-{n}", [RIGHT, WRONG]) for n in range(2)))
    record = replace(record, items=[record.items[0], replace(record.items[1], warnings=[ALARM])])
    page = opened(write_page(folder, record), folded=True).page
    banner = page.locator("#heading .banner.bad")
    assert banner.inner_text() == "✗ Alarm in eval-1: 3 of 4 answers could not be read"
    # At the suite, and at the eval that raised it.
    rows = page.locator("#results tbody tr")
    assert ["! alarm" in text for text in rows.all_inner_texts()] == [True, False, True]
    titles = [row.get_by_text("! alarm").get_attribute("title") for row in (rows.nth(0), rows.nth(2))]
    assert titles == ["in 1 of 2 evals", ALARM.removeprefix("alarm: ")]
    banner.locator("summary").click()
    banner.get_by_text("it said “dog”").wait_for()


@pytest.mark.parametrize(
    ("status", "evidence", "said"),
    [
        (
            "unproven",
            "it reports nothing about its audio",
            "audio not shown to be heard by the model: it reports nothing about its audio\n",
        ),
        (
            "proven",
            "one second of audio adds 24 tokens to the prompt, and input_features; no lift",
            "audio reaches the model: 24 tokens a second; no lift\n",
        ),
    ],
)
def test_the_facts_say_whether_the_audio_is_heard(
    runs: Any, opened: Any, status: Any, evidence: str, said: str
) -> None:
    folder, record = runs.collected(runs.item(0, "emotion", [RIGHT]))
    heard = replace(record, models=[replace(record.models[0], hearing=HearingRecord(status, evidence))])
    page = opened(write_page(folder, heard)).page
    assert said in page.locator("#facts").inner_text()
    assert evidence in page.locator("#details").inner_text()
