"""What is compared with what: which evals stand together, and what their columns say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import structs

from pytest_audiobench.records.run import (
    ItemRecord,
    MetricRecord,
    PerturbationRecord,
    RunRecord,
    ScorerRecord,
    StageRecord,
)
from pytest_audiobench.report import answer_comparison
from pytest_audiobench.report.answer_comparison import answer_comparisons
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.terminal import summary_lines

STAGES = {
    "direct": ["answer"],
    "baseline": ["answer"],
    "silence": ["clean", "answer"],
    "inject-wrong-before": ["clean", "answer"],
    "conditioned": ["answer", "conditioned"],
    "filler": ["answer", "conditioned", "changed"],
}
FAMILY = {"silence": "control", "inject-wrong-before": "inject", "filler": "reasoning", "baseline": "clean"}
DIFFERENCES = ("accuracy_drop", "audio_reliance")


def paper(runs: Any, *, others: Any = None, prefix: str = "faith/") -> RunRecord:
    """A run with each way of asking once, of 24 samples: 18 answered, 4 refused, 2 beyond the options."""
    answers = [("(a) cat", "parsed", True)] * 18 + [("I can't", "refused", False)] * 4
    answers += [("(i)", "out_of_range", False)] * 2
    made = runs.ladder((22,))[0]
    items = []
    for index, asked in enumerate(STAGES):
        told = "clean" if asked == "baseline" else asked
        perturbation = PerturbationRecord(told, FAMILY[asked], None, "", "") if asked in FAMILY else None
        items.append(
            replace(
                made,
                index=index,
                suite="faith",
                eval=f"{prefix}{asked}[cats]",
                dataset=f"cats+{told}" if perturbation else "cats",
                perturbation=perturbation,
                answers=answers,
                others=others or {},
            )
        )
    _, record = runs.collected(*items)
    return structs.replace(record, items=list(map(_compared, record.items, STAGES)))


def _compared(item: ItemRecord, asked: str) -> ItemRecord:
    """``item`` with the stages of this way of asking and the metrics that its answers' comparison yields."""
    values: dict[str, float | None] = {} if asked == "direct" else {"missed_reasoning": 0.5}
    if len(STAGES[asked]) > 1:
        values |= {"consistency": 0.25, "flip_rate": 1 / 3}
        values |= {"audio_reliance" if asked == "silence" else "accuracy_drop": 0.125}
    if asked.startswith("inject"):
        values |= {"follow_rate": 0.5, "swayed": None}
    metrics = [_metric(name, value, scorer) for scorer in item.scorers for name, value in values.items()]
    stages = [StageRecord(name, "subject", "answer", {}) for name in STAGES[asked]]
    return structs.replace(item, stages=stages, metrics=[*item.metrics, *metrics])


def _metric(name: str, value: float | None, scorer: ScorerRecord) -> MetricRecord:
    unit = "points" if name in DIFFERENCES else "share"
    bounds = (None, None) if value is None else (value - 0.1, value + 0.1)
    return MetricRecord(name, value, *bounds, 24, unit, "lower", "made", scorer.name, scorer.signature)


def test_evals_that_are_held_against_the_same_stand_together_and_say_against_what(runs: Any) -> None:
    (one,) = answer_comparisons(paper(runs))
    assert (one.of, one.metric) == ("faith, cats", "accuracy")
    assert {block.about: [row.label for row in block.rows] for block in one.blocks} == {
        "asked, and compared with nothing": ["direct", "baseline (clean)"],
        "control, compared with the answer to the clean clip": ["silence"],
        "inject, compared with the answer to the clean clip": ["inject-wrong-before"],
        "as it is, compared with the answer that the reasoning led to": ["conditioned"],
        "reasoning, compared with the choice with its own reasoning put back": ["filler"],
    }


def test_refusals_are_nulls_and_letters_beyond_the_options_are_counted_apart(runs: Any) -> None:
    (one,) = answer_comparisons(paper(runs))
    cells = {row.label: {name: cell.value for name, cell in row.cells.items()} for b in one.blocks for row in b.rows}
    assert cells["direct"] == {"score": "75.0", "n": "24", "nulls": "4", "beyond": "2"}
    assert cells["baseline (clean)"]["missed"] == "12"
    assert (cells["silence"]["reliance"], cells["silence"]["same"]) == ("+12.5", "25.0")
    assert "drop" not in cells["silence"]
    assert (cells["inject-wrong-before"]["followed"], cells["inject-wrong-before"]["swayed"]) == ("50.0", "–")


def test_every_figure_is_the_records_with_its_interval(runs: Any) -> None:
    record = paper(runs)
    item = next(item for item in record.items if item.perturbation and item.perturbation.name == "filler")
    drop = next(metric for metric in item.metrics if metric.name == "accuracy_drop")
    filler = next(row for block in answer_comparisons(record)[0].blocks for row in block.rows if row.label == "filler")
    assert filler.cells["drop"] == ("+12.5", f"{100 * (drop.lower or 0.0):+.1f} to {100 * (drop.upper or 0.0):+.1f}")


def test_another_scorer_has_rows_of_its_own_below_the_first(runs: Any) -> None:
    record = paper(runs, others={"loose": lambda text, status, right: ("parsed", True)})
    found = [line for line, _ in answer_comparison.lines(record, 80)]
    place = next(number for number, line in enumerate(found) if line.split()[:1] == ["conditioned"])
    assert found[place].split()[1:3] == ["75.0", "24"]
    assert found[place + 1].split()[:3] == ["loose", "100.0", "24"]
    assert "conditioned by loose" in "\n".join(
        rows for _, table in answer_comparison.markdown(record) for rows in table
    )


def test_eighty_columns_hold_the_table_and_markdown_has_every_column_and_interval(runs: Any) -> None:
    record = paper(runs, others={"faithfulness-runtime-qwen": lambda text, status, right: (status, right)})
    assert max(len(line) for line, _ in answer_comparison.lines(record, 80)) <= 80
    text = summary(record)
    head = "| Eval | accuracy | n | nulls | beyond | missed | same | flips | drop | reliance | followed | swayed |"
    assert head in text
    assert "\\+12.5 \\(\\+2.5 to \\+22.5\\)" in text
    assert any("compared with the answer to the clean clip" in line for line, _ in summary_lines(record, 80))


def test_a_run_in_which_nothing_is_held_against_anything_has_no_such_table(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))
    assert answer_comparisons(record) == []
    assert list(answer_comparison.lines(record, 80)) == []


def test_where_only_doses_were_asked_there_is_no_head_without_a_table(runs: Any) -> None:
    record = paper(runs)
    (item,) = (item for item in record.items if item.eval == "faith/silence[cats]")
    mask = PerturbationRecord("silence", "mask", 20.0, "% masked", "higher")
    record = structs.replace(record, items=[structs.replace(item, perturbation=mask)])
    assert answer_comparisons(record) == []
    assert list(answer_comparison.lines(record, 80)) == []


def test_names_from_outside_do_no_harm(runs: Any) -> None:
    hostile = "a|b<script>@all\x1b[31m"
    record = paper(runs, prefix=hostile)
    assert not any("\x1b" in line for line, _ in summary_lines(record, 80))
    told = summary(record)
    assert not any(one in told for one in ("<script>", "@all", "\x1b"))


def test_the_page_shows_each_block_as_a_table(runs: Any, opened: Any) -> None:
    record = paper(runs)
    page = opened(write_page(runs.reports / "run", record))
    section = page.page.locator("#comparison")
    assert section.locator("h3").all_inner_texts()[1] == "control, compared with the answer to the clean clip"
    assert section.locator("table").nth(1).locator("th[scope=col]").all_inner_texts()[-1] == "audio reliance"
    section.locator("summary", has_text="What the columns hold").click()
    section.get_by_text("what the audio adds").first.wait_for()
    assert page.complaints == []
