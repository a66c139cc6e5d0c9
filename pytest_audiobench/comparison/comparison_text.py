"""A comparison as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.comparison.comparison import Comparison
from pytest_audiobench.comparison.curve_text import curve_markdown, curve_rows, curve_table
from pytest_audiobench.comparison.rows import Compared
from pytest_audiobench.comparison.table_cells import (
    LONGEST,
    MARKS,
    amount,
    answers,
    drop,
    interval,
    layout,
    named,
    value,
    wrapped,
)
from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.report.formatting import group_text
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("", "value", "interval", "drop", "interval", "flips", "pairs", "sees")
_INTERVALS = (2, 4)
_MOST_SENTENCES = 40


def text(one: Comparison, format_: str) -> str:
    """``one`` as table, markdown, csv or json."""
    if format_ == "json":
        return json_text(_plain(one))
    if format_ == "csv":
        return csv_text(rows(one))
    return "\n".join(_markdown(one) if format_ == "markdown" else _table(one)) + "\n"


def remarks(one: Comparison) -> list[str]:
    """What stands above and below the table, for formats that hold numbers only."""
    return [*one.heading, *one.notes]


def rows(one: Comparison) -> list[dict[str, Any]]:
    """One flat mapping for each line and contender that was held against the first; raw numbers in the metric's unit.

    ``first_…`` and ``value``, ``lower``, ``upper``, ``n`` are over each side's own samples, what follows over the
    pairs.
    """
    return [_row(one, line, at, held) for line in one.lines for at, held in enumerate(line.held) if held is not None]


def _row(one: Comparison, line: Compared, at: int, held: RegressionRecord) -> dict[str, Any]:
    plan, first, other = line.plan, one.contenders[0], one.contenders[at]
    own, before = line.estimates[at], line.estimates[0]
    assert own is not None
    assert before is not None
    return {
        "suite": plan.suite,
        "eval": None if plan.is_pooled else plan.name,
        "metric": plan.kind.name,
        "scorer": plan.scorer,
        "signature": plan.signature,
        "group": group_text(plan.group),
        "unit": plan.kind.unit,
        "direction": plan.kind.direction,
        "first": first.source,
        "first_model": first.model,
        **_figures("first_", before),
        "first_answered": line.answered[0],
        "other": other.source,
        "other_model": other.model,
        **_figures("", own),
        "answered": line.answered[at],
        "status": held.status,
        "drop": held.drop,
        "drop_lower": held.lower,
        "drop_upper": held.upper,
        "drop_bound": held.bound,
        "margin": held.margin,
        "p": held.p,
        "p_holm": held.p_holm,
        "alpha": held.alpha,
        "lines": held.lines,
        "detectable": held.detectable,
        "pairs": held.pairs,
        "clusters": held.clusters,
        "worse": held.worse,
        "better": held.better,
        "left_out": sum(held.left_out.values()),
        "method": held.method,
        "detail": held.detail,
    }


def _figures(prefix: str, own: Estimate) -> dict[str, Any]:
    value = None if own.value != own.value else own.value
    return {f"{prefix}value": value, f"{prefix}lower": own.lower, f"{prefix}upper": own.upper, f"{prefix}n": own.n}


def _plain(one: Comparison) -> dict[str, Any]:
    return {
        "contenders": [
            {"letter": each.letter, "source": each.source, "model": each.model, "spec": each.spec}
            for each in one.contenders
        ],
        "alpha": one.rules.alpha,
        "max_drop": one.rules.max_drop,
        "allowed": sorted(one.rules.allow),
        "comparisons": one.comparisons,
        "heading": list(one.heading),
        "notes": list(one.notes),
        "lines": rows(one),
        "curves": curve_rows(one.contenders, one.curves),
    }


def _table(one: Comparison) -> Iterator[str]:
    yield from _heading(one)
    blocks = [(_name(line), list(_rows_of(one, line))) for line in one.lines]
    lay = layout(_HEAD, _INTERVALS, [cells for _, found in blocks for cells in found])
    yield from lay(_HEAD)
    for name, found in blocks:
        yield from wrapped(name)
        for cells in found:
            yield from lay(cells)
    yield ""
    yield from curve_table(one.contenders, one.curves)
    yield from _footing(one)


def _heading(one: Comparison) -> Iterator[str]:
    letters = max(len(each.letter) for each in one.contenders)
    for each in one.contenders:
        about = [each.model, each.spec, *([] if each.source == each.model else [f"in {each.source}"])]
        yield from wrapped(f"{each.letter.ljust(letters)}  {', '.join(filter(None, about))}", "   ")
    for line in one.heading:
        yield from wrapped(line)
    yield from wrapped(_rules(one))
    yield ""


def _rules(one: Comparison) -> str:
    level = f"{one.rules.alpha:g}" + (f" / {one.comparisons}" if one.comparisons > 1 else "")
    return (
        f"drop: how much worse than {one.contenders[0].letter}, on pairs, of shares in points; margin "
        f"{one.rules.max_drop}, p to be below {level}; flips: samples that became worse / better; sees: the drop that "
        "would be called regressed four times in five"
    )


def _footing(one: Comparison) -> Iterator[str]:
    told = list(_sentences(one))
    for mark, sentence in told[:_MOST_SENTENCES]:
        yield from wrapped(f"{mark} {sentence}", "  ")
    if len(told) > _MOST_SENTENCES:
        yield f"… and {len(told) - _MOST_SENTENCES} more; --format csv has all"
    yield from wrapped(_counts(one))
    for line in _perturbations(one):
        yield from wrapped(line)
    for note in one.notes:
        yield from wrapped(f"note: {note}", "  ")


def _sentences(one: Comparison) -> Iterator[tuple[str, str]]:
    """Why lines regressed or could not be compared; the table says why others are inconclusive."""
    for line in one.lines:
        for at, held in enumerate(line.held):
            if held is not None and held.status in ("regressed", "not_comparable"):
                yield MARKS[held.status], f"{one.contenders[at].letter} {_name(line)}: {held.detail}"


def _perturbations(one: Comparison) -> list[str]:
    """What was not answered, which samples are in no pair, and what each protocol's name stands for; each once."""
    letters = [each.letter for each in one.contenders]
    told: dict[str, None] = {}
    for line in one.lines:
        group = f" [{group_text(line.plan.group)}]" if line.plan.group else ""
        owner = f"{line.plan.name} by {line.plan.scorer}{group}"
        told[answers(owner, dict(zip(letters, line.answered, strict=True)))] = None
        for letter, held in zip(letters, line.held, strict=True):
            for reason, count in held.left_out.items() if held is not None else ():
                ids = ", ".join(held.examples.get(reason, ())) if held is not None else ""
                told[f"in no pair of {letter} in {owner}: {count} {reason.replace('_', ' ')} ({ids})"] = None
    signatures = {f"{line.plan.scorer}: {line.plan.signature}": None for line in one.lines}
    return [text for text in (*told, *signatures) if text]


def _counts(one: Comparison) -> str:
    statuses: list[str] = [held.status for line in one.lines for held in line.held if held is not None]
    told = [f"{MARKS[name]} {statuses.count(name)} {name.replace('_', ' ')}" for name in MARKS]
    return ", ".join(told)


def _name(line: Compared) -> str:
    plan = line.plan
    group = f" [{group_text(plan.group)}]" if plan.group else ""
    return f"{plan.name} {named(plan.kind.name, plan.kind.unit)} by {plan.scorer}{group}"


def _rows_of(one: Comparison, line: Compared) -> Iterator[tuple[str, ...]]:
    """The cells of each contender that has the line, under :data:`_HEAD`."""
    unit = line.plan.kind.unit
    for contender, own, held in zip(one.contenders, line.estimates, line.held, strict=True):
        if own is not None:
            mark = MARKS[held.status] if held is not None else " "
            yield (f"  {mark} {contender.letter}", value(own, unit), interval(own, unit), *_held(held))


def _held(held: RegressionRecord | None) -> tuple[str, ...]:
    if held is None:
        return ("",) * 5
    return (*drop(held), str(held.pairs), amount(held.detectable, held.unit))


def _markdown(one: Comparison) -> Iterator[str]:
    for each in one.contenders:
        about = [each.model, each.spec, each.source]
        yield f"- **{each.letter}** {escaped(', '.join(filter(None, about)))}"
    yield from (f"- **{escaped(line, LONGEST)}**" for line in one.heading)
    yield f"- {escaped(_rules(one))}"
    yield ""
    yield table_row(("eval", "metric", *_HEAD))
    yield table_row((":--", ":--", ":--", *("--:",) * 7))
    for line in one.lines:
        yield from _markdown_rows(one, line)
    yield ""
    yield from curve_markdown(one.contenders, one.curves)
    yield from (f"- {mark} {escaped(sentence, LONGEST)}" for mark, sentence in _sentences(one))
    yield f"- {escaped(_counts(one))}"
    yield from (f"- {escaped(line, LONGEST)}" for line in (*_perturbations(one), *one.notes))


def _markdown_rows(one: Comparison, line: Compared) -> Iterator[str]:
    plan = line.plan
    group = f" [{group_text(plan.group)}]" if plan.group else ""
    names = (plan.name, f"{plan.kind.name} by {plan.scorer}{group}")
    for cells in _rows_of(one, line):
        yield table_row((*map(escaped, names), *(escaped(cell.strip()) for cell in cells)))
        names = ("", "")
