"""A leaderboard as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.comparison import table_cells
from pytest_audiobench.report.formatting import counted, printable, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row
from pytest_audiobench.sharing.leaderboard import Leaderboard, Measured, Row, Table

_HEAD = ("model", "rank", "value", "interval", "n", "parsed", "behind", "interval", "pairs")
_INTERVALS = (3, 7)
_LONGEST_NAME = 32
_MOST_REFUSED = 200
_DIGITS = 12


def text(board: Leaderboard, format_: str) -> str:
    """``board`` as text, markdown, csv or json."""
    if format_ == "json":
        return json_text(_plain(board))
    if format_ == "csv":
        return csv_text([row for table in board.tables for row in _flat(table)])
    return "\n".join(_markdown(board) if format_ == "markdown" else _text(board)) + "\n"


def remarks(board: Leaderboard) -> list[str]:
    """What stands below the tables, for formats that hold numbers only."""
    return [rule(board), *_refused(board)]


def rule(board: Leaderboard) -> str:
    """The rule of ranks, in words."""
    return (
        "rank: the best value opens a group, and who is not shown to be worse is in it too; the best of the rest opens "
        f"the next; shown: p <= {board.alpha:g} / (k (k - 1)) of a paired test on the samples, k models with a rank; "
        "behind: by how much worse than the best, of shares in points, with its 95 % interval"
    )


def _text(board: Leaderboard) -> Iterator[str]:
    yield from wrapped(f"{board.source}: {_counts(board)}")
    for table in board.tables:
        yield ""
        yield from wrapped(_title(table))
        yield from table_cells.table_lines(_HEAD, _INTERVALS, [("", [_cells(row) for row in table.rows])])
        for line in _about(table):
            yield from wrapped(line)
    yield ""
    yield from wrapped(rule(board))
    for line in _refused(board):
        yield from wrapped(line)


def _markdown(board: Leaderboard) -> Iterator[str]:
    yield f"{escaped(board.source)}: {escaped(_counts(board))}"
    for table in board.tables:
        yield ""
        yield f"**{escaped(_title(table), table_cells.LONGEST)}**"
        yield ""
        yield table_row(_HEAD)
        yield table_row((":--", *("--:",) * 8))
        yield from (table_row(map(escaped, _cells(row))) for row in table.rows)
        yield ""
        yield from (f"- {escaped(line, table_cells.LONGEST)}" for line in _about(table))
    yield ""
    yield from (f"- {escaped(line, table_cells.LONGEST)}" for line in (rule(board), *_refused(board)))


def _counts(board: Leaderboard) -> str:
    return f"{counted(board.submissions, 'verified submission')}, {len(board.refused)} refused"


def _title(table: Table) -> str:
    evals = table.evals[0] if len(table.evals) == 1 else f"{len(table.evals)} evals"
    limited = f", LIMITED to {table.limit} samples of each" if table.limit else ""
    metric = table_cells.metric_label(table.kind.name, table.kind.unit)
    better = f"{table.kind.direction} is better"
    return f"{table.suite}: {metric} by {table.scorer} ({better}), {evals}{limited}, task {table.task[:_DIGITS]}"


def _cells(row: Row) -> tuple[str, ...]:
    measured, unit = row.measured, row.measured.kind.unit
    share = "" if measured.parse_rate is None else f"{100.0 * measured.parse_rate:.1f} %"
    cells = (
        _name(measured),
        "–" if row.rank is None else str(row.rank),
        table_cells.value_cell(measured.estimate, unit),
        table_cells.interval_cell(measured.estimate, unit),
    )
    if row.behind is None:
        return (*cells, str(measured.estimate.n), share, "", "", "")
    behind, between, _ = table_cells.drop_cells(row.behind)
    return (*cells, str(measured.estimate.n), share, behind, between, str(row.behind.pairs))


def _name(measured: Measured) -> str:
    name = printable(measured.report.submission.payload.model.alias)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _about(table: Table) -> Iterator[str]:
    yield f"{table.scorer}: {table.signature}"
    for row in table.rows:
        payload, report = row.measured.report.submission.payload, row.measured.report
        also = f", the same answers by {', '.join(row.also)}" if row.also else ""
        yield (
            f"{_name(row.measured)}: {payload.model.spec}, signed by {report.signer}, {payload.submitted_at}, "
            f"run_hash {payload.hashes.run_hash[:_DIGITS]}{also}"
        )
        yield from (f"{_name(row.measured)} lacks: {other}" for other in payload.missing)
        if row.unranked:
            yield f"{_name(row.measured)} has no rank: {row.unranked}"
        if row.behind is not None and row.behind.status == "not_comparable":
            yield f"{_name(row.measured)} is not compared with the best: {row.behind.detail}"
        for other in row.superseded:
            earlier = other.report.submission.payload
            value = table_cells.value_cell(other.estimate, other.kind.unit)
            line = f"{value}, {earlier.submitted_at}, by {other.report.signer}"
            hash_, own_hash = earlier.hashes.run_hash, payload.hashes.run_hash
            what = "other answers of the same model" if hash_ != own_hash else "the same run with other statistics"
            yield f"{_name(row.measured)}: superseded {what} ({line}, {other.report.name})"


def _refused(board: Leaderboard) -> Iterator[str]:
    yield from (f"refused {name}: {why}" for name, why in board.refused[:_MOST_REFUSED])
    if len(board.refused) > _MOST_REFUSED:
        yield f"and {len(board.refused) - _MOST_REFUSED} more were refused"


def _plain(board: Leaderboard) -> dict[str, Any]:
    return {
        "source": board.source,
        "alpha": board.alpha,
        "rule": rule(board),
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
            for table in board.tables
        ],
        "refused": [refused._asdict() for refused in board.refused],
    }


def _flat(table: Table) -> Iterator[dict[str, Any]]:
    """One flat mapping for each row; raw numbers in the metric's unit, None where there is none."""
    for row in table.rows:
        measured, payload, regression = row.measured, row.measured.report.submission.payload, row.behind
        number = measured.estimate.value
        yield {
            "suite": table.suite,
            "task": table.task,
            "metric": table.kind.name,
            "protocol": table.scorer,
            "rank": row.rank,
            "unranked": row.unranked,
            "model": payload.model.alias,
            "spec": payload.model.spec,
            "model_digest": payload.model.digest,
            "value": None if number != number else number,
            **{name: getattr(measured.estimate, name) for name in ("lower", "upper", "n")},
            "unit": table.kind.unit,
            "answered": measured.parse_rate,
            "behind": regression and regression.drop,
            "behind_lower": regression and regression.lower,
            "behind_upper": regression and regression.upper,
            "p": regression and regression.p,
            "pairs": regression and regression.pairs,
            "shown": None
            if regression is None or regression.status == "not_comparable"
            else regression.status == "regressed",
            "method": regression and regression.method,
            "limit": table.limit,
            "missing": "; ".join(payload.missing),
            "signed_by": measured.report.signer,
            "also_signed_by": ", ".join(row.also),
            **{name: getattr(payload, name) for name in ("submitted_by", "authored_by", "submitted_at")},
            "tags": ", ".join(payload.tags),
            "run_hash": payload.hashes.run_hash,
            "payload_sha256": measured.report.submission.payload_sha256,
            "file": measured.report.name,
        }
