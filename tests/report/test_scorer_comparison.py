"""Many protocols over one set of answers, as data, in the terminal and in a job's summary."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.terminal import summary_lines

RIGHT, WRONG, UNREAD = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("who knows", "unparsed", False)
ANSWERS = [RIGHT] * 6 + [WRONG] * 2 + [UNREAD] * 2


def lenient(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return "parsed", right or status == "unparsed"


def strict(text: str, status: str, right: bool) -> tuple[str, bool | None]:
    return "unparsed", False


def skipping(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return status, right if status == "parsed" else None


def same(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return status, right


MANY = {"lenient": lenient, "strict": strict, "skipping": skipping, "same": same}


def text_of(record: RunRecord, width: int = 120, verbosity: int = 0) -> str:
    return "\n".join(line for line, _ in summary_lines(record, width, verbosity))


def test_rows_are_the_best_first_with_differences_to_the_headline(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others=MANY))
    (one,) = view_model.evals(record)[0].comparisons
    assert [(row.scorer, row.value_text, one.difference(row)) for row in one.table.rows] == [
        ("lenient", "80.0 %", "+20.0 pp"),
        ("skipping", "75.0 %", "+15.0 pp"),
        ("letters", "60.0 %", ""),
        ("same", "60.0 %", "+0.0 pp"),
        ("strict", "0.0 %", "−60.0 pp"),
    ]
    assert [row.scorer for row in one.table.rows if one.is_headline(row)] == ["letters"]
    skipping_ = one.table.rows[1]
    assert (skipping_.n, skipping_.skipped, skipping_.unparsed, skipping_.why) == (8, 2, 2, "2 unparsed")
    assert one.reference.scorer == "letters"
    assert one.sentence == "accuracy by 5 scorers: 0.0 % (strict) to 80.0 % (lenient), spread 80.0 pp"


def test_a_protocol_that_leaves_answers_out_says_so_where_it_is_named(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [*ANSWERS, UNREAD, UNREAD], others={"skipping": skipping}))
    (one,) = view_model.evals(record)[0].comparisons
    assert one.sentence == "accuracy by 2 scorers: 50.0 % (letters) to 75.0 % (skipping, 4 skipped), spread 25.0 pp"


def test_protocols_that_agree_are_said_to(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others={"same": same}))
    assert view_model.evals(record)[0].comparisons[0].sentence == "accuracy by 2 scorers: 60.0 % by each"


def test_protocols_that_differ_by_less_than_is_shown_are_said_to_differ(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others={"same": same}))
    (item,) = record.items
    first, *others = item.metrics
    assert first.value is not None
    item = structs.replace(item, metrics=[structs.replace(first, value=first.value + 0.0004), *others])
    said = view_model.evals(structs.replace(record, items=[item]))[0].comparisons[0].sentence
    assert said == "accuracy by 2 scorers: 60.0 % (same) to 60.0 % (letters), spread under 0.1 pp"


def test_an_eval_that_could_not_be_asked_has_nothing_to_set_side_by_side(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [("no audio", "error", False)] * 3, others=MANY))
    assert view_model.evals(record)[0].comparisons == ()


def test_a_protocol_without_a_number_stands_last(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [UNREAD] * 3, others={"skipping": skipping}))
    (one,) = view_model.evals(record)[0].comparisons
    assert [(row.scorer, row.value_text, one.difference(row)) for row in one.table.rows] == [
        ("letters", "0.0 %", ""),
        ("skipping", "–", ""),
    ]
    assert one.sentence == "accuracy by 2 scorers: 0.0 % (letters), no value by the others"


def test_one_protocol_is_set_beside_nothing(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS))
    assert view_model.evals(record)[0].comparisons == ()


def test_of_many_protocols_the_headline_alone_is_among_the_main_figures(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others=MANY))
    blocks = view_model.evals(record)[0].blocks
    assert [block.scorer for block in view_model.unfolded(blocks)] == ["letters"]
    assert len(blocks) == 5


def test_what_a_judge_said_stays_among_the_main_figures(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others={**MANY, "judge:rubric": lenient}))
    assert [block.scorer for block in view_model.unfolded(view_model.evals(record)[0].blocks)] == [
        "letters",
        "judge:rubric",
    ]


def test_of_a_few_protocols_all_are(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others={"lenient": lenient, "strict": strict}))
    assert len(view_model.unfolded(view_model.evals(record)[0].blocks)) == 3
    assert "accuracy [strict]" in text_of(record)


def test_a_headline_that_skips_keeps_one_that_takes_all_beside_it(runs: Any) -> None:
    item = runs.item(0, "a", ANSWERS, others=MANY)
    _, record = runs.collected(item)
    order = ["skipping", "letters", "lenient", "strict", "same"]
    scorers = sorted(record.items[0].scorers, key=lambda scorer: order.index(scorer.name))
    metrics = sorted(record.items[0].metrics, key=lambda metric: order.index(metric.scorer or ""))
    record = structs.replace(record, items=[structs.replace(record.items[0], scorers=scorers, metrics=metrics)])
    blocks = view_model.unfolded(view_model.evals(record)[0].blocks)
    assert [(block.scorer, block.skipped) for block in blocks] == [("skipping", "2 skipped"), ("letters", "")]
    text = text_of(record)
    assert "80.0 %, 2 skipped" in text
    assert "80.0 %, 2 skipped" in summary(record)


def test_the_terminal_shows_many_protocols_in_one_table(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others=MANY))
    text = text_of(record)
    assert "a: accuracy by 5 scorers, spread 80.0 pp" in text
    table = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert table[-5:] == ["lenient", "skipping", "letters", "same", "strict"]
    assert text.count("accuracy [") == 0


def test_a_suite_has_the_table_and_each_of_its_evals_a_line(runs: Any) -> None:
    items = [runs.item(n, name, ANSWERS, others=MANY) for n, name in enumerate("ab")]
    _, record = runs.collected(*items)
    text = text_of(record)
    assert "sakura (pooled): accuracy by 5 scorers, spread 80.0 pp" in text
    assert "a: accuracy by 5 scorers: 0.0 % (strict) to 80.0 % (lenient), spread 80.0 pp" in text
    markdown = summary(record)
    assert "| letters **headline scorer** | 60.0 %" in markdown
    assert "- b: accuracy by 5 scorers: 0.0 % \\(strict\\)" in markdown


def test_protocols_that_read_different_evals_of_a_suite_are_not_set_side_by_side(runs: Any) -> None:
    items = [
        *(runs.item(n, name, ANSWERS, others={"lenient": lenient, "same": same}) for n, name in enumerate("ab")),
        *(
            runs.item(2 + n, name, ANSWERS, others={"strict": strict, "skipping": skipping})
            for n, name in enumerate("cd")
        ),
    ]
    _, record = runs.collected(*items)
    (suite,) = view_model.suites(record)
    tables = [comparison.table for comparison in suite.comparisons]
    assert [{row.scorer for row in table.rows} for table in tables] == [
        {"lenient", "same"},
        {"strict", "skipping"},
    ]
    assert len(view_model.unfolded(suite.blocks)) == 5


def test_a_control_is_left_out_of_what_stands_beneath_the_table(runs: Any) -> None:
    silent = runs.item(1, "silence", [("la la", "refused", False)], others=MANY, control=True)
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others=MANY), silent)
    assert "silence" not in text_of(record)
    assert "silence: accuracy by" not in summary(record)


def test_every_protocols_signature_is_said(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others=MANY))
    text = text_of(record, verbosity=1)
    for name in MANY:
        assert f"{name}: {name}|v:1" in text
    assert "lenient|v:1" not in text_of(record)


def test_what_a_protocol_leaves_out_is_said_apart_from_what_could_not_be_read(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", ANSWERS, others={"skipping": skipping}))
    block = view_model.evals(record)[0].blocks[1]
    assert (block.parse_rate, block.unparsed) == ("80.0 %", "2 unparsed; 2 skipped by the scorer")
