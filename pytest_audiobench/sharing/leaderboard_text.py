"""A leaderboard as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_audiobench.comparison.table_cells import LONGEST, drop, interval, layout, named, value, wrapped
from pytest_audiobench.report.formatting import counted, printable
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row
from pytest_audiobench.sharing.leaderboard import Leaderboard, Measured, Row, Table

FORMATS = ("text", "markdown", "csv", "json")
_HEAD = ("model", "rank", "value", "interval", "n", "answered", "behind", "interval", "pairs")
_INTERVALS = (3, 7)
_LONGEST_NAME = 32
_MOST_REFUSED = 200
_DIGITS = 12


def text(one: Leaderboard, format_: str) -> str:
    """``one`` as text, markdown, csv or json."""
    if format_ == "json":
        return json_text(_plain(one))
    if format_ == "csv":
        return csv_text([row for table in one.tables for row in _flat(table)])
    return "\n".join(_markdown(one) if format_ == "markdown" else _text(one)) + "\n"


def remarks(one: Leaderboard) -> list[str]:
    """What stands below the tables, for formats that hold numbers only."""
    return [rule(one), *_refused(one)]


def rule(one: Leaderboard) -> str:
    """The rule of ranks, in words."""
    return (
        "rank: the best value opens a group, and who is not shown to be worse is in it too; the best of the rest opens "
        f"the next; shown: p <= {one.alpha:g} / (k (k - 1)) of a paired test on the samples, k models with a rank; "
        "behind: by how much worse than the best, of shares in points, with its 95 % interval"
    )


def _text(one: Leaderboard) -> Iterator[str]:
    yield from wrapped(f"{one.source}: {_counts(one)}")
    for table in one.tables:
        yield ""
        yield from wrapped(_title(table))
        body = [_cells(row) for row in table.rows]
        lay = layout(_HEAD, _INTERVALS, body)
        for cells in (_HEAD, *body):
            yield from lay(cells)
        for line in _about(table):
            yield from wrapped(line)
    yield ""
    yield from wrapped(rule(one))
    for line in _refused(one):
        yield from wrapped(line)


def _markdown(one: Leaderboard) -> Iterator[str]:
    yield f"{escaped(one.source)}: {escaped(_counts(one))}"
    for table in one.tables:
        yield ""
        yield f"**{escaped(_title(table), LONGEST)}**"
        yield ""
        yield table_row(_HEAD)
        yield table_row((":--", *("--:",) * 8))
        yield from (table_row(map(escaped, _cells(row))) for row in table.rows)
        yield ""
        yield from (f"- {escaped(line, LONGEST)}" for line in _about(table))
    yield ""
    yield from (f"- {escaped(line, LONGEST)}" for line in (rule(one), *_refused(one)))


def _counts(one: Leaderboard) -> str:
    return f"{counted(one.submissions, 'verified submission')}, {len(one.refused)} refused"


def _title(table: Table) -> str:
    evals = table.evals[0] if len(table.evals) == 1 else f"{len(table.evals)} evals"
    limited = f", LIMITED to {table.limit} samples of each" if table.limit else ""
    metric = named(table.kind.name, table.kind.unit)
    better = f"{table.kind.direction} is better"
    return f"{table.suite}: {metric} by {table.scorer} ({better}), {evals}{limited}, task {table.task[:_DIGITS]}"


def _cells(row: Row) -> tuple[str, ...]:
    own, unit = row.own, row.own.kind.unit
    share = "" if own.answered is None else f"{100.0 * own.answered:.1f} %"
    cells = (
        _name(own),
        "–" if row.rank is None else str(row.rank),
        value(own.estimate, unit),
        interval(own.estimate, unit),
    )
    if row.behind is None:
        return (*cells, str(own.estimate.n), share, "", "", "")
    behind, between, _ = drop(row.behind)
    return (*cells, str(own.estimate.n), share, behind, between, str(row.behind.pairs))


def _name(own: Measured) -> str:
    name = printable(own.report.submission.payload["model"]["alias"])
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _about(table: Table) -> Iterator[str]:
    yield f"{table.scorer}: {table.signature}"
    for row in table.rows:
        payload, report = row.own.report.submission.payload, row.own.report
        also = f", the same answers by {', '.join(row.also)}" if row.also else ""
        yield (
            f"{_name(row.own)}: {payload['model']['spec']}, signed by {report.signer}, {payload['submitted_at']}, "
            f"run_hash {payload['hashes']['run_hash'][:_DIGITS]}{also}"
        )
        yield from (f"{_name(row.own)} lacks: {one}" for one in payload["missing"])
        if row.unranked:
            yield f"{_name(row.own)} has no rank: {row.unranked}"
        if row.behind is not None and row.behind.status == "not_comparable":
            yield f"{_name(row.own)} is not held against the best: {row.behind.detail}"
        for one in row.superseded:
            earlier = one.report.submission.payload
            told = f"{value(one.estimate, one.kind.unit)}, {earlier['submitted_at']}, by {one.report.signer}"
            hash_, own = earlier["hashes"]["run_hash"], payload["hashes"]["run_hash"]
            what = "other answers of the same model" if hash_ != own else "the same run with other statistics"
            yield f"{_name(row.own)}: superseded {what} ({told}, {one.report.name})"


def _refused(one: Leaderboard) -> Iterator[str]:
    yield from (f"refused {name}: {why}" for name, why in one.refused[:_MOST_REFUSED])
    if len(one.refused) > _MOST_REFUSED:
        yield f"and {len(one.refused) - _MOST_REFUSED} more were refused"


def _plain(one: Leaderboard) -> dict[str, Any]:
    return {
        "source": one.source,
        "alpha": one.alpha,
        "rule": rule(one),
        "tables": [
            {
                "suite": table.suite,
                "task": table.task,
                "metric": table.kind.name,
                "unit": table.kind.unit,
                "direction": table.kind.direction,
                "protocol": table.scorer,
                "signature": table.signature,
                "evals": list(table.evals),
                "limit": table.limit,
                "comparisons": table.comparisons,
                "rows": list(_flat(table)),
            }
            for table in one.tables
        ],
        "refused": [refused._asdict() for refused in one.refused],
    }


def _flat(table: Table) -> Iterator[dict[str, Any]]:
    """One flat mapping for each row; raw numbers in the metric's unit, None where there is none."""
    for row in table.rows:
        own, payload, held = row.own, row.own.report.submission.payload, row.behind
        number = own.estimate.value
        yield {
            "suite": table.suite,
            "task": table.task,
            "metric": table.kind.name,
            "protocol": table.scorer,
            "rank": row.rank,
            "unranked": row.unranked,
            "model": payload["model"]["alias"],
            "spec": payload["model"]["spec"],
            "model_digest": payload["model"]["digest"],
            "value": None if number != number else number,
            "lower": own.estimate.lower,
            "upper": own.estimate.upper,
            "n": own.estimate.n,
            "unit": table.kind.unit,
            "answered": own.answered,
            "behind": held and held.drop,
            "behind_lower": held and held.lower,
            "behind_upper": held and held.upper,
            "p": held and held.p,
            "pairs": held and held.pairs,
            "shown": None if held is None or held.status == "not_comparable" else held.status == "regressed",
            "method": held and held.method,
            "limit": table.limit,
            "missing": "; ".join(payload["missing"]),
            "signed_by": own.report.signer,
            "also_signed_by": _joined(row.also),
            "submitted_by": payload["submitted_by"],
            "authored_by": payload["authored_by"],
            "submitted_at": payload["submitted_at"],
            "tags": _joined(payload["tags"]),
            "run_hash": payload["hashes"]["run_hash"],
            "payload_sha256": own.report.submission.payload_sha256,
            "file": own.report.name,
        }


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names)
