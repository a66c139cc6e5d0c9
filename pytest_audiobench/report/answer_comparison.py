"""Comparison with the clean answers: a small table for each way of asking, a row for each eval.

Curves have their own tables; here stand the evals without a dose of suites whose answers are compared with others: with
and without reasoning, controls, injections, the reasoning put back, and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.perturbation_series import unperturbed
from pytest_audiobench.metrics.metric import SHARE
from pytest_audiobench.protocols.protocol import ANSWER, CLEAN, CONDITIONED
from pytest_audiobench.records.run import ItemRecord, MetricRecord, RunRecord, ScorerRecord
from pytest_audiobench.report.formatting import aligned, eval_name, interval_text, printable, value_text
from pytest_audiobench.report.perturbation_view import subject_name
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.report.view_model import SAME, aliases

_REFERENCES = {
    CLEAN: "the answer to the clean clip",
    ANSWER: "the answer that the reasoning led to",
    CONDITIONED: "the choice with its own reasoning put back",
}
"""By the stage before the one that is scored; of other protocols the stage's name stands there."""

_DISPENSABLE = ("beyond", "same", "missed", "flips", "nulls")
"""Columns that a narrow terminal goes without, the first of them first; the page and Markdown have them."""


class Cell(NamedTuple):
    """A figure and its interval as texts; both are empty where the eval has none."""

    value: str = ""
    interval: str = ""


class Row(NamedTuple):
    """An eval by one scorer."""

    eval: str
    label: str
    """Its perturbation, else its test's name."""
    scorer: str
    cells: Mapping[str, Cell]


class Block(NamedTuple):
    """Evals of one family whose answers are compared with the same ones."""

    about: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class AnswerComparison(NamedTuple):
    """The blocks of one model on one data set."""

    of: str
    """Suite and data set."""
    model: str
    metric: str
    """That of the first column."""
    blocks: tuple[Block, ...]


COLUMNS: Mapping[str, str] = {
    "score": "the leading metric",
    "n": "samples asked and scored",
    "nulls": "answers in which no option was found, refusals among them",
    "beyond": "answers whose letter no option has",
    "missed": "answers without reasoning",
    "same": "the same answer as before (consistency)",
    "flips": "another option, of those parsed in both runs (flip_rate)",
    "changed": "predictions that are not equal, as the study counts them (prediction_changed)",
    "drop": "the score before less that after, in pp (accuracy_drop)",
    "reliance": "what the audio adds, in pp (audio_reliance)",
    "followed": "answers that are the injected option (follow_rate)",
    "swayed": "of those that answered another option before, the injected one now",
}

_RATES = {
    "same": SAME,
    "flips": "flip_rate",
    "drop": "accuracy_drop",
    "reliance": "audio_reliance",
    "followed": "follow_rate",
    "swayed": "swayed",
}
_COUNTS = {"missed": "missed_reasoning", "changed": "prediction_changed"}


def answer_comparisons(record: RunRecord) -> list[AnswerComparison]:
    """One for each suite, model and data set in which any answer is compared with another, doses (of curves) aside."""
    by_owner: dict[tuple[str, str, str], list[ItemRecord]] = {}
    for item in record.items:
        if item.metrics:
            dataset = unperturbed(item.dataset, item.perturbation)
            by_owner.setdefault((item.suite, item.model, dataset), []).append(item)
    comparisons = (_comparison(*owner, items) for owner, items in by_owner.items() if any(map(_is_compared, items)))
    return [comparison for comparison in comparisons if comparison.blocks]


def lines(record: RunRecord, width: int) -> Iterator[tuple[str, bool]]:
    """A title for each model and data set, and its blocks; with each line whether it is a head."""
    for comparison in answer_comparisons(record):
        yield "", False
        yield printable(_title(comparison, record)), True
        for block in comparison.blocks:
            yield f"  {printable(block.about)}", False
            yield from ((f"  {line}", False) for line in _table(comparison, block, width - 2))


def markdown(record: RunRecord) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and one table for each model and data set; what came from outside is escaped."""
    for comparison in answer_comparisons(record):
        columns = [name for name in COLUMNS if any(name in block.columns for block in comparison.blocks)]
        rows = [table_row(map(escaped, ("Eval", *(_head(name, comparison) for name in columns))))]
        rows.append(table_row((":--", *("--:",) * len(columns))))
        for block in comparison.blocks:
            rows.append(table_row((f"**{escaped(block.about)}**", *("",) * len(columns))))
            several = len({row.scorer for row in block.rows}) > 1
            for row in block.rows:
                name = f"{row.label} by {row.scorer}" if several else row.label
                cells = (row.cells.get(column, Cell()) for column in columns)
                texts = (f"{cell.value} ({cell.interval})" if cell.interval else cell.value for cell in cells)
                rows.append(table_row(map(escaped, (name, *texts))))
        yield _title(comparison, record), rows


def _comparison(suite: str, model: str, dataset: str, items: Sequence[ItemRecord]) -> AnswerComparison:
    label = _labels(items)
    blocks: dict[str, list[Row]] = {}
    for item in items:
        perturbation = item.perturbation
        if perturbation is not None and perturbation.dose is not None:
            continue
        reference = _reference(item)
        family = perturbation.family if perturbation else ""
        compared = f"{family or 'as it is'}, compared with {reference}"
        rows = blocks.setdefault(compared if reference else "asked, and compared with nothing", [])
        rows += [Row(item.eval, label(item), scorer.name, dict(_cells(item, scorer))) for scorer in item.scorers]
    return AnswerComparison(
        of=subject_name(suite, dataset, ""),
        model=model,
        metric=items[0].metrics[0].name,
        blocks=tuple(
            Block(about, tuple(name for name in COLUMNS if any(name in row.cells for row in rows)), tuple(rows))
            for about, rows in blocks.items()
        ),
    )


def _is_compared(item: ItemRecord) -> bool:
    return any(metric.name == SAME for metric in item.metrics)


def _reference(item: ItemRecord) -> str:
    if not _is_compared(item):
        return ""
    stages = [stage.name for stage in item.stages if stage.role == "subject"]
    before = stages[-2] if len(stages) > 1 else ""
    return _REFERENCES.get(before, before)


def _labels(items: Sequence[ItemRecord]) -> Callable[[ItemRecord], str]:
    """The perturbation's name, else the test's, of the clean one both; the eval's name where two are the same."""

    def short(item: ItemRecord) -> str:
        test = item.eval.removeprefix(f"{item.suite}/").partition("[")[0]
        if item.perturbation is None:
            return test
        return f"{test} ({CLEAN})" if item.perturbation.name == CLEAN else item.perturbation.name

    names = [short(item) for item in items]
    return lambda item: item.eval if names.count(short(item)) > 1 else short(item)


def _cells(item: ItemRecord, scorer: ScorerRecord) -> Iterator[tuple[str, Cell]]:
    by_name = {
        metric.name: metric
        for metric in reversed(item.metrics)
        if (metric.scorer, metric.signature) == (scorer.name, scorer.signature) and not metric.group
    }
    leading = next((by_name[metric.name] for metric in item.metrics if metric.name in by_name), None)
    coverage = scorer.coverage
    if leading is None:
        return
    yield "score", _cell(leading)
    yield "n", Cell(str(leading.n))
    yield "nulls", Cell(str(coverage.unparsed + coverage.refused + coverage.empty + coverage.truncated))
    if coverage.out_of_range:
        yield "beyond", Cell(str(coverage.out_of_range))
    for column, name in _COUNTS.items():
        if (share := by_name.get(name)) is not None and share.value is not None:
            yield column, Cell(str(round(share.value * share.n)))
    yield from ((column, _cell(by_name[name])) for column, name in _RATES.items() if name in by_name)


def _cell(metric: MetricRecord) -> Cell:
    text = value_text(metric.value, metric.unit).removesuffix(" pp")
    return Cell(text.removesuffix(" %") if metric.unit == SHARE else text, interval_text(metric, metric.unit))


def _title(comparison: AnswerComparison, record: RunRecord) -> str:
    name = eval_name(comparison.of, comparison.model, len(aliases(record)) > 1)
    return f"{name}; shares in %, differences in pp"


def _head(name: str, comparison: AnswerComparison) -> str:
    return comparison.metric if name == "score" else name


def _table(comparison: AnswerComparison, block: Block, width: int) -> list[str]:
    columns = list(block.columns)
    table = _table_lines(comparison, block, columns)
    for name in _DISPENSABLE:
        if len(table[0]) <= width:
            break
        columns = [column for column in columns if column != name]
        table = _table_lines(comparison, block, columns)
    return table


def _table_lines(comparison: AnswerComparison, block: Block, columns: Sequence[str]) -> list[str]:
    """A scorer after the first is below it, indented, so that its name does not take the room of the numbers."""
    cells = [["", *(_head(name, comparison) for name in columns)]]
    for row in block.rows:
        is_first = next(other.scorer for other in block.rows if other.label == row.label) == row.scorer
        name = row.label if is_first else f"  {row.scorer}"
        cells.append([name, *(row.cells.get(column, Cell()).value for column in columns)])
    return aligned(cells)
