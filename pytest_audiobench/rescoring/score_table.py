"""The table of what was scored again: each eval's scorers side by side, as a table, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from pytest_audiobench.published_figures.compare import Comparison
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import ItemRecord, SuiteRecord
from pytest_audiobench.report import perturbation_tables, scorer_comparison
from pytest_audiobench.report.formatting import printable, value_text
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text
from pytest_audiobench.rescoring import study_table
from pytest_audiobench.rescoring.majority import Majority

Owner: TypeAlias = ItemRecord | SuiteRecord
Majorities: TypeAlias = Mapping[tuple[str, str], Majority]
Compared: TypeAlias = Mapping[int, Sequence[Comparison]]
"""Published figures of an item, by the item's place among the owners."""

_WIDTH = 80
_OF_OWNER = ("eval", "model", "dataset", "metric", "unit")
_OF_ROW = ("scorer", "value", "lower", "upper", "n", "skipped", "unparsed", "failed", "signature")


def text(
    owners: Sequence[Owner], notes: Sequence[str], compared: Compared, majorities: Majorities, format_: str
) -> str:
    """The tables of ``owners`` as table, markdown, csv or json; behind several models' on one eval, their study."""
    if format_ == "json":
        tables = [_as_json(owner, compared.get(at, ()), majorities) for at, owner in enumerate(owners)]
        return json_text(tables)
    if format_ == "csv":
        return csv_text(_rows(owners, compared, majorities), [*_OF_OWNER, *_OF_ROW, "majority", "published"])
    lines = _markdown_lines if format_ == "markdown" else _lines
    study = study_table.markdown if format_ == "markdown" else study_table.lines
    items = [owner for owner in owners if isinstance(owner, ItemRecord)]
    return "\n".join([*lines(owners, notes, compared, majorities), *study(items, majorities)]) + "\n"


def _lines(owners: Sequence[Owner], notes: Sequence[str], compared: Compared, majorities: Majorities) -> Iterator[str]:
    for at, owner in enumerate(owners):
        beside = compared.get(at, ())
        for sweep in scorer_comparison.scorer_tables(owner):
            yield scorer_comparison.table_title(_name(owner), sweep)
            constant = _constant(owner, sweep, majorities)
            yield from scorer_comparison.table_lines(sweep, _closest(beside, sweep), constant)
        yield from (line for line, _ in perturbation_tables.suite_lines(_suites(owner), False, _WIDTH))
        yield from (f"  published {printable(comparison.says)}" for comparison in beside)
        yield from (f"  note: {printable(note)}" for note in _warnings(owner))
        yield f"  score hash {_score_hash(owner)}"
        yield ""
    yield from (f"{name}: {signature}" for name, signature in _signatures(owners))
    yield from (f"note: {printable(note)}" for note in notes)


def _markdown_lines(
    owners: Sequence[Owner], notes: Sequence[str], compared: Compared, majorities: Majorities
) -> Iterator[str]:
    for at, owner in enumerate(owners):
        beside = compared.get(at, ())
        for sweep in scorer_comparison.scorer_tables(owner):
            title = f"**{escaped(scorer_comparison.table_title(_name(owner), sweep))}**"
            constant = _constant(owner, sweep, majorities)
            yield from (title, "", *scorer_comparison.table_markdown(sweep, _closest(beside, sweep), constant), "")
        for name, rows in perturbation_tables.suite_markdown(_suites(owner), False):
            yield from (f"**{escaped(name)}**", "", *rows, "")
        remarks = [f"published {comparison.says}" for comparison in beside]
        remarks += [f"note: {note}" for note in _warnings(owner)]
        yield from (f"- {escaped(line)}" for line in remarks)
        yield from (f"- score hash {_score_hash(owner)}", "")
    yield from (f"- scorer {escaped(name)}: {escaped(signature)}" for name, signature in _signatures(owners))
    yield from (f"- note: {escaped(note)}" for note in notes)


def _rows(owners: Sequence[Owner], compared: Compared, majorities: Majorities) -> Iterator[dict[str, Any]]:
    for at, owner in enumerate(owners):
        for sweep in scorer_comparison.scorer_tables(owner):
            marks = _closest(compared.get(at, ()), sweep)
            for row in sweep.rows:
                cells = {name: value for name, value in asdict(row).items() if name in _OF_ROW}
                cells |= {"eval": _eval(owner), "model": owner.model, "dataset": _dataset(owner)}
                cells |= {"metric": sweep.metric, "unit": sweep.unit, "published": marks.get(row.scorer, "")}
                majority = majorities.get((_eval(owner), owner.model))
                cells["majority"] = None if majority is None else majority.values.get((sweep.metric, row.scorer))
                yield cells


def _as_json(owner: Owner, beside: Sequence[Comparison], majorities: Majorities) -> dict[str, Any]:
    majority = majorities.get((_eval(owner), owner.model))
    figures = {"curves": owner.curves, "perturbations": owner.perturbations} if isinstance(owner, SuiteRecord) else {}
    return {
        "eval": _eval(owner),
        "model": owner.model,
        "dataset": _dataset(owner),
        "n": owner.n,
        "hashes": plain(owner.hashes),
        "metrics": [asdict(sweep) for sweep in scorer_comparison.scorer_tables(owner)],
        "published": [
            {
                **{name: value for name, value in asdict(comparison).items() if name != "published"},
                "published": comparison.published._asdict(),
            }
            for comparison in beside
        ],
        "warnings": list(_warnings(owner)),
        **({} if majority is None else {"majority": majority.as_json()}),
        **{name: plain(records) for name, records in figures.items() if records},
    }


def _closest(beside: Sequence[Comparison], sweep: scorer_comparison.ScorerTable) -> dict[str, str]:
    marks: dict[str, list[str]] = {}
    for comparison in beside:
        if comparison.metric == sweep.metric and not comparison.beyond:
            marks.setdefault(comparison.protocol, []).append(comparison.published.text)
    return {protocol: f"closest to {', '.join(figures)}" for protocol, figures in marks.items()}


def _constant(owner: Owner, sweep: scorer_comparison.ScorerTable, majorities: Majorities) -> dict[str, str]:
    """What always answering the majority label scores, by scorer."""
    if (majority := majorities.get((_eval(owner), owner.model))) is None:
        return {}
    values = {row.scorer: majority.values.get((sweep.metric, row.scorer)) for row in sweep.rows}
    return {scorer: value_text(value, sweep.unit) for scorer, value in values.items()}


def _signatures(owners: Sequence[Owner]) -> list[tuple[str, str]]:
    pairs = {(scorer.name, scorer.signature): None for owner in owners for scorer in owner.scorers}
    return [(printable(name), printable(signature)) for name, signature in pairs]


def _suites(owner: Owner) -> list[SuiteRecord]:
    return [owner] if isinstance(owner, SuiteRecord) else []


def _warnings(owner: Owner) -> Sequence[str]:
    return owner.warnings if isinstance(owner, ItemRecord) else ()


def _dataset(owner: Owner) -> str:
    return owner.dataset if isinstance(owner, ItemRecord) else ""


def _score_hash(owner: Owner) -> str:
    return str(owner.hashes["score_hash"] if isinstance(owner, ItemRecord) else owner.hashes.score_hash)[:16]


def _eval(owner: Owner) -> str:
    return owner.eval if isinstance(owner, ItemRecord) else f"{owner.name} (pooled)"


def _name(owner: Owner) -> str:
    return f"{_eval(owner)} · {owner.model}"
