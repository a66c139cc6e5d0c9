"""A leaderboard as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_audiobench.comparison import table_cells
from pytest_audiobench.metrics.metric import SHARE
from pytest_audiobench.protocols.protocol import encoder_of
from pytest_audiobench.report.formatting import WIDTH, counted, printable, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row
from pytest_audiobench.sharing.leaderboard import Leaderboard, Measured, Place, Row, Table

_HEAD = ("model", "rank", "value", "interval", "n", "parsed", "behind", "interval", "pairs")
_INTERVAL = "interval"
_LONGEST_NAME = 32
_MOST_REFUSED = 200
_DIGITS = 12


def text(board: Leaderboard, format_: str) -> str:
    """``board`` as text, markdown, csv or json."""
    if format_ == "json":
        return json_text(_plain(board))
    if format_ == "csv":
        rows = [row for table in board.tables for row in _flat(table)]
        return csv_text(rows, list(dict.fromkeys(name for row in rows for name in row)))
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
        yield from _blocks(table)
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
        head, rows = _cells(table)
        yield table_row(head)
        yield table_row((":--", *("--:",) * (len(head) - 1)))
        yield from (table_row(map(escaped, row)) for row in rows)
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
    also = f", ranked by {table.companions.second} too" if table.companions else ""
    return f"{table.suite}: {metric} by {table.scorer} ({better}){also}, {evals}{limited}, task {table.task[:_DIGITS]}"


def _blocks(table: Table) -> Iterator[str]:
    """The table; where it has companions, in parts as wide as a terminal, each with the models again."""
    head, rows = _cells(table)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    parts: list[list[int]] = [[0]]
    width = widths[0]
    for columns in _columns(head):
        wide = 2 + max(widths[at] for at in columns)
        if table.companions and width + wide > WIDTH:
            parts.append([0])
            width = widths[0]
        parts[-1] += columns
        width += wide
    for part in parts:
        intervals = [place for place, at in enumerate(part) if head[at] == _INTERVAL]
        cells = [[row[at] for at in part] for row in rows]
        yield from table_cells.table_lines([head[at] for at in part], intervals, [("", cells)])


def _columns(head: Sequence[str]) -> list[list[int]]:
    """The places of columns behind the first, those of an interval with the value that it can stand below."""
    columns: list[list[int]] = []
    for at, name in enumerate(head[1:], 1):
        if name == _INTERVAL:
            columns[-1].append(at)
        else:
            columns.append([at])
    return columns


def _cells(table: Table) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The head of a table, and the cells of each row."""
    if table.companions is None:
        return _HEAD, [_plain_cells(row) for row in table.rows]
    names = (table.kind.name, table.companions.second)
    columns = dict.fromkeys(name for row in table.rows for name in row.columns)
    head = ["model", *(f"by {name}" for name in names), "listens", "n"]
    for name in names:
        head += [name, _INTERVAL, "behind", _INTERVAL]
    listening = table.companions.listening
    head += [listening, _INTERVAL, "parsed", *(name for name in columns if name != listening)]
    rows: list[Sequence[str]] = []
    for row in table.rows:
        places = [place for place in (row.place, row.second) if place is not None]
        listens = "shown" if row.is_listening else "not shown"
        cells = [_name(row.measured), *map(_rank, places), listens, str(row.measured.estimate.n)]
        for place in places:
            cells += [*_value_cells(place.measured), *_behind_cells(place)]
        values = {name: _value_cells(measured) for name, measured in row.columns.items()}
        added = row.columns[listening].estimate
        points = table_cells.value_cell(added, SHARE).removesuffix(" %")
        cells += [points, table_cells.interval_cell(added, SHARE), _parsed(row)]
        rows.append([*cells, *(values.get(name, ("–",))[0] for name in columns if name != listening)])
    return head, rows


def _plain_cells(row: Row) -> tuple[str, ...]:
    pairs = "" if row.place.behind is None else str(row.place.behind.pairs)
    n = str(row.measured.estimate.n)
    value = _value_cells(row.measured)
    return (_name(row.measured), _rank(row.place), *value, n, _parsed(row), *_behind_cells(row.place), pairs)


def _rank(place: Place) -> str:
    return "–" if place.rank is None else str(place.rank)


def _parsed(row: Row) -> str:
    rate = row.measured.parse_rate
    return "" if rate is None else f"{100.0 * rate:.1f} %"


def _value_cells(measured: Measured) -> tuple[str, str]:
    unit = measured.kind.unit
    return table_cells.value_cell(measured.estimate, unit), table_cells.interval_cell(measured.estimate, unit)


def _behind_cells(place: Place) -> tuple[str, str]:
    if (behind := place.behind) is None:
        return "", ""
    return (
        table_cells.amount(behind.drop, behind.unit),
        table_cells.between(behind.lower, behind.upper, behind.unit),
    )


def _name(measured: Measured) -> str:
    name = printable(measured.report.submission.payload.model.alias)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _about(table: Table) -> Iterator[str]:
    yield f"{table.scorer}: {table.signature}"
    if table.companions:
        second, listening, _ = table.companions
        yield f"data: {', '.join(_data(table))}; figures of other data or by another encoder are in another table"
        yield (
            f"by {table.kind.name}, by {second}: the rank by each; as two rankings share alpha, shown is p <= alpha / "
            "(2 k (k - 1)) in this table"
        )
        yield f"listens: shown where the interval of {listening} (in points) is above 0; who is not has no rank"
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
        behind = row.place.behind
        if behind is not None and behind.status == "not_comparable":
            yield f"{_name(row.measured)} is not compared with the best: {behind.detail}"
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
                **(table.companions._asdict() if table.companions else {}),
            }
            for table in board.tables
        ],
        "refused": [refused._asdict() for refused in board.refused],
    }


def _flat(table: Table) -> Iterator[dict[str, Any]]:
    """One flat mapping for each row; raw numbers in the metric's unit, None where there is none."""
    for row in table.rows:
        measured, payload = row.measured, row.measured.report.submission.payload
        yield {
            "suite": table.suite,
            "task": table.task,
            "metric": table.kind.name,
            "protocol": table.scorer,
            "rank": row.place.rank,
            "unranked": row.unranked,
            "model": payload.model.alias,
            "spec": payload.model.spec,
            "model_digest": payload.model.digest,
            "value": _number(measured),
            **{name: getattr(measured.estimate, name) for name in ("lower", "upper", "n")},
            "unit": table.kind.unit,
            "answered": measured.parse_rate,
            **_flat_difference(row.place),
            "limit": table.limit,
            "missing": "; ".join(payload.missing),
            "signed_by": measured.report.signer,
            "also_signed_by": ", ".join(row.also),
            **{name: getattr(payload, name) for name in ("submitted_by", "authored_by", "submitted_at")},
            "tags": ", ".join(payload.tags),
            "run_hash": payload.hashes.run_hash,
            "payload_sha256": measured.report.submission.payload_sha256,
            "file": measured.report.name,
            **_flat_companions(table, row),
        }


def _flat_difference(place: Place) -> dict[str, Any]:
    regression = place.behind
    return {
        "behind": regression and regression.drop,
        "behind_lower": regression and regression.lower,
        "behind_upper": regression and regression.upper,
        "p": regression and regression.p,
        "pairs": regression and regression.pairs,
        "shown": None
        if regression is None or place.rank is None or regression.status == "not_comparable"
        else regression.status == "regressed",
        "method": regression and regression.method,
    }


def _flat_companions(table: Table, row: Row) -> dict[str, Any]:
    if table.companions is None or row.second is None:
        return {}
    name, columns = table.companions.second, {table.companions.second: row.second.measured, **row.columns}
    return {
        f"rank_{name}": row.second.rank,
        **{f"{key}_{name}": value for key, value in _flat_difference(row.second).items()},
        **{
            f"{metric}{end}": value
            for metric, measured in columns.items()
            for end, value in (
                ("", _number(measured)),
                ("_lower", measured.estimate.lower),
                ("_upper", measured.estimate.upper),
            )
        },
        "encoder": encoder_of(table.signature),
        "data": ", ".join(_data(table)),
    }


def _data(table: Table) -> list[str]:
    items = table.rows[0].measured.report.submission.payload.items
    return list(dict.fromkeys(item.dataset for item in items))


def _number(measured: Measured) -> float | None:
    number = measured.estimate.value
    return None if number != number else number
