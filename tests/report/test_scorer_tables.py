"""The table of protocols: one set of answers, every protocol's number, and how far they lie apart."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.records.run import (
    CoverageRecord,
    ItemRecord,
    MetricRecord,
    RunRecord,
    RuntimeRecord,
    ScorerRecord,
    SuiteRecord,
)
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.scorer_comparison import (
    has_many_scorers,
    scorer_tables,
    table_lines,
    table_markdown,
    table_title,
)
from pytest_audiobench.report.terminal import summary_lines


def scorer(name: str, **coverage: int) -> ScorerRecord:
    counts = dict.fromkeys(CoverageRecord.__struct_fields__, 0) | {"n": 100, "parsed": 100}
    return ScorerRecord(name, f"{name}|v:1", CoverageRecord(**counts | coverage))


def metric(
    name: str, protocol: str | None, value: float | None, n: int = 100, unit: str = "share", group: Any = None
) -> MetricRecord:
    bounds = (None, None) if value is None else (value - 0.05, value + 0.05)
    return MetricRecord(name, value, *bounds, n, unit, "higher", "", protocol, f"{protocol}|v:1", group or {})


def item(count: int = 4, **changes: Any) -> ItemRecord:
    names = ["keep", "skip", "other", "odd", "more"][:count]
    values = dict(zip(names, [0.40, 0.60, 0.45, 0.30, 0.5], strict=False))
    record = ItemRecord(
        index=0,
        nodeid="test_e.py::test_e",
        eval="emotion",
        suite="emotion",
        model="af3",
        dataset="d",
        n=100,
        scorers=[scorer(name) for name in names],
        metrics=[metric("accuracy", name, value) for name, value in values.items()],
    )
    return structs.replace(record, **changes)


def run(*items: ItemRecord, suites: Any = ()) -> RunRecord:
    return RunRecord(
        run="r",
        started="2026-11-20T09:00:00Z",
        finished="2026-11-20T09:01:30Z",
        command=["pytest"],
        exit_status=0,
        limit=None,
        epochs=1,
        models=[],
        suites=suites,
        items=items,
        hashes=pooled_hashes(()),
        runtime=RuntimeRecord("3.11.7", "cpython", "linux", {}),
        notes=[],
    )


def test_each_metric_has_a_row_for_each_protocol_and_the_spread_in_points() -> None:
    (one,) = scorer_tables(item())
    assert [(row.scorer, row.value) for row in one.rows] == [
        ("keep", 0.40), ("skip", 0.60), ("other", 0.45), ("odd", 0.30),
    ]  # fmt: skip
    assert one.spread_text == "30.0 pp"
    assert round(one.spread, 9) == 30.0


def test_what_was_skipped_unanswered_and_never_asked_is_counted_apart() -> None:
    owner = item(1, scorers=[scorer("keep", parsed=80, unparsed=12, empty=3, errors=5, skipped=15)])
    owner = structs.replace(owner, metrics=[metric("accuracy", "keep", 0.5, n=80)])
    ((row,),) = (one.rows for one in scorer_tables(owner))
    assert (row.n, row.skipped, row.unparsed, row.failed) == (80, 15, 15, 5)
    assert row.why == "3 empty, 5 not asked, 12 unparsed"


def test_groups_shares_and_what_tests_recorded_are_no_rows() -> None:
    owner = item(2)
    further = [
        metric("accuracy", "keep", 0.1, group={"hop": "multi"}),
        metric("coverage", "keep", 1.0),
        metric("own", None, 3.0),
    ]
    owner = structs.replace(owner, metrics=[*owner.metrics, *further])
    assert [(one.metric, len(one.rows)) for one in scorer_tables(owner)] == [("accuracy", 2)]


def test_numbers_of_another_unit_keep_it_and_missing_ones_make_no_spread() -> None:
    owner = item(2, metrics=[metric("bleu", "keep", 6.7, unit="BLEU"), metric("bleu", "skip", 24.5, unit="BLEU")])
    assert scorer_tables(owner)[0].spread_text == "17.8 BLEU"
    owner = item(2, metrics=[metric("accuracy", "keep", None), metric("accuracy", "skip", 0.5)])
    assert (scorer_tables(owner)[0].spread, scorer_tables(owner)[0].rows[0].value_text) == (None, "–")


def test_the_table_stands_in_columns_with_marks_behind() -> None:
    (one,) = scorer_tables(item())
    assert table_title("emotion", one) == "emotion: accuracy by 4 scorers, spread 30.0 pp"
    lines = table_lines(one, {"skip": "closest to 60.00 %"})
    assert lines[0].split() == ["scorer", "value", "interval", "n", "skipped", "unparsed"]
    assert lines[2].endswith("  closest to 60.00 %")
    assert len({line.index("to") for line in lines[1:]}) == 1
    assert table_markdown(one, {"skip": "x|y"})[3].startswith("| skip **x\\|y** |")


def test_many_protocols_have_a_table_of_their_own_and_few_do_not() -> None:
    many, few = run(item()), run(item(3))
    assert has_many_scorers(many.items[0])
    assert not has_many_scorers(few.items[0])
    lines = [text for text, _ in summary_lines(many, 120)]
    assert sum("accuracy" in line for line in lines[:3]) == 1
    assert any(line.startswith("emotion: accuracy by 4 scorers") for line in lines)
    lines = [text for text, _ in summary_lines(few, 120)]
    assert sum("accuracy" in line for line in lines) == 3
    assert not any("by 3 scorers" in line for line in lines)
    assert "| odd | 30.0 % |" in summary(many)
    assert "by 3 scorers" not in summary(few)


def test_a_suite_of_several_evals_has_one_table_and_a_line_for_each_of_them() -> None:
    pooled = item()
    suite = SuiteRecord(
        "emotion", "af3", 100, 2, False, scorers=pooled.scorers, metrics=pooled.metrics, hashes=pooled_hashes(())
    )
    lines = [text for text, _ in summary_lines(run(item(), item(eval="other"), suites=[suite]), 120)]
    apart = "accuracy by 4 scorers: 30.0 % (odd) to 60.0 % (skip), spread 30.0 pp"
    assert [line for line in lines if "by 4 scorers" in line] == [
        "emotion (pooled): accuracy by 4 scorers, spread 30.0 pp",
        f"emotion: {apart}",
        f"other: {apart}",
    ]
