"""A comparison as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_audiobench.comparison import table_cells
from pytest_audiobench.comparison.comparison import Comparison
from pytest_audiobench.comparison.comparison_lines import ComparedLine
from pytest_audiobench.comparison.contenders import labels
from pytest_audiobench.comparison.curve_comparison import curve_markdown, curve_rows, curve_table
from pytest_audiobench.comparison.finding_comparison import finding_markdown, finding_rows, finding_table
from pytest_audiobench.gate.regression_text import (
    RUNAWAYS,
    change_rule,
    change_texts,
    limits_text,
    open_drop,
    verdict_text,
)
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.records.reading import read_run
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.formatting import counted, group_text, printable, wrapped
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("", "value", "interval", "change", "interval", "flips", "pairs", "MDE")
_INTERVALS = (2, 4)
_MOST_SENTENCES = 40
_MOST_NAMES = 3
_OF_TEST = (
    "margin",
    "p",
    "p_holm",
    "p_better",
    "q_better",
    "alpha",
    "lines",
    "detectable",
    "pairs",
    "clusters",
    "worse",
    "better",
)


def text(comparison: Comparison, format_: str) -> str:
    """``comparison`` as table, markdown, csv or json."""
    if format_ == "json":
        return json_text(_as_json(comparison))
    if format_ == "csv":
        return csv_text(rows(comparison))
    return "\n".join(_markdown_lines(comparison) if format_ == "markdown" else _table(comparison)) + "\n"


def remarks(comparison: Comparison) -> list[str]:
    """What stands above and below the table, for formats that hold numbers only."""
    return [*comparison.heading, *comparison.notes]


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One flat mapping for each line and contender compared with the first; raw numbers in the metric's unit.

    ``first_…`` and ``value``, ``lower``, ``upper``, ``n`` are over each side's own samples, what follows over the
    pairs.
    """
    return [
        _row(comparison, line, at, regression)
        for line in comparison.lines
        for at, regression in enumerate(line.regressions)
        if regression is not None
    ]


def _row(comparison: Comparison, line: ComparedLine, at: int, regression: RegressionRecord) -> dict[str, Any]:
    plan, first, other = line.plan, comparison.contenders[0], comparison.contenders[at]
    estimate, first_estimate = line.estimates[at], line.estimates[0]
    assert estimate is not None
    assert first_estimate is not None
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
        **_figures("first_", first_estimate),
        "first_answered": line.parse_rates[0],
        "other": other.source,
        "other_model": other.model,
        **_figures("", estimate),
        "answered": line.parse_rates[at],
        "status": regression.status,
        "verdict": regression.verdict,
        "drop": regression.drop,
        "drop_lower": regression.lower,
        "drop_upper": regression.upper,
        "drop_bound": regression.bound,
        **{name: getattr(regression, name) for name in _OF_TEST},
        "left_out": sum(regression.left_out.values()),
        "method": regression.method,
        "detail": regression.detail,
    }


def _figures(prefix: str, estimate: Estimate) -> dict[str, Any]:
    value = None if estimate.value != estimate.value else estimate.value
    figures = {"value": value, "lower": estimate.lower, "upper": estimate.upper, "n": estimate.n}
    return {f"{prefix}{name}": figure for name, figure in figures.items()}


def _as_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "contenders": [
            {"letter": each.letter, "source": each.source, "model": each.model, "spec": each.spec}
            for each in comparison.contenders
        ],
        "alpha": comparison.rules.alpha,
        "max_drop": comparison.rules.max_drop,
        "allowed": sorted(comparison.rules.allow),
        "comparisons": comparison.comparisons,
        "heading": list(comparison.heading),
        "notes": list(comparison.notes),
        "lines": rows(comparison),
        "curves": curve_rows(comparison.contenders, comparison.curves),
        "findings": finding_rows(comparison.contenders, comparison.findings),
    }


def _table(comparison: Comparison) -> Iterator[str]:
    yield from _heading(comparison)
    blocks = [(line_name(line), list(_rows_of(comparison, line))) for line in comparison.lines]
    yield from table_cells.table_lines(_HEAD, _INTERVALS, blocks)
    yield ""
    yield from curve_table(comparison.contenders, comparison.curves)
    yield from finding_table(comparison.contenders, comparison.findings)
    said = list(sentences(comparison))
    for mark, sentence in said[:_MOST_SENTENCES]:
        yield from wrapped(f"{mark} {sentence}", "  ")
    if len(said) > _MOST_SENTENCES:
        yield f"… and {len(said) - _MOST_SENTENCES} more; --format csv has all"
    for line in sample_remarks(comparison):
        yield from wrapped(line)
    for note in comparison.notes:
        yield from wrapped(f"note: {note}", "  ")
    # Not wrapped: it is to be copied.
    if command := flips_command(comparison):
        yield f"see the samples that changed, with sound: {command} asks nothing again"


def _heading(comparison: Comparison) -> Iterator[str]:
    letters = max(len(each.letter) for each in comparison.contenders)
    for each in comparison.contenders:
        about = [each.model, each.spec, *([] if each.source == each.model else [f"in {each.source}"])]
        yield from wrapped(f"{each.letter.ljust(letters)}  {', '.join(filter(None, about))}", "   ")
    # Before any number the reader knows what was not the same.
    for line in comparison.heading:
        yield from wrapped(line)
    yield ""
    for answer in answers(comparison):
        yield from wrapped(answer)
    yield ""
    yield from wrapped(rules_text(comparison))
    yield ""


def rules_text(comparison: Comparison) -> str:
    """What the columns hold, and how strict the tests are."""
    rules = comparison.rules
    limits = limits_text(rules.alpha, max(1, comparison.comparisons), _kinds(comparison))
    among = f", {counted(comparison.comparisons, 'comparison')}" * (comparison.comparisons > 1)
    first, *others = (each.letter for each in comparison.contenders)
    what = f"{others[0]} \N{MINUS SIGN} {first}" if len(others) == 1 else f"each minus {first}"
    return (
        f"{change_rule(what, {line.plan.kind.unit for line in comparison.lines})}; margin {rules.max_drop}; "
        f"{limits}; flips: samples that became worse / better; MDE: the minimum detectable effect, the drop that is "
        f"called regressed four times in five, by the flips measured between the runs{among} (\N{EN DASH} on lines "
        "that improved or regressed)"
    )


def _kinds(comparison: Comparison) -> str:
    """What is compared: ``7 of evals, 1 pooled``."""
    kinds = Counter[str]()
    for line in comparison.lines:
        kind = "of groups" if line.plan.group else "pooled" if line.plan.is_pooled else "of evals"
        kinds[kind] += line.plan.comparisons
    return ", ".join(f"{kinds[kind]:,} {kind}" for kind in ("of evals", "of groups", "pooled") if kinds[kind])


def sentences(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What regressed, improved or could not be compared, each with its mark; why others have no test, the same once."""
    untested: dict[str, list[str]] = {}
    for line in comparison.lines:
        for at, regression in enumerate(line.regressions):
            if regression is not None and (regression.verdict in table_cells.SAID or RUNAWAYS in regression.detail):
                yield (
                    table_cells.MARKS[regression.verdict],
                    f"{comparison.contenders[at].letter} {line_name(line)}: {verdict_text(regression)}",
                )
            elif regression is not None and regression.p is None and regression.status == "inconclusive":
                more = "; clips of others are needed, or runs without cluster, whose verdict is of these alone"
                reason = f"{regression.method}{more * bool(regression.clusters)}"
                untested.setdefault(reason, []).append(f"{comparison.contenders[at].letter} {line_name(line)}")
    for reason, names in untested.items():
        yield table_cells.MARKS["inconclusive"], f"{names[0] if len(names) == 1 else f'{len(names)} lines'}: {reason}"


def sample_remarks(comparison: Comparison) -> list[str]:
    """Parse rates, samples in no pair, and the scorers' signatures."""
    letters = [each.letter for each in comparison.contenders]
    lines: dict[str, None] = {}
    for line in comparison.lines:
        group = f" [{group_text(line.plan.group)}]" if line.plan.group else ""
        owner = f"{line.plan.name} by {line.plan.scorer}{group}"
        lines[table_cells.parse_rates_text(owner, dict(zip(letters, line.parse_rates, strict=True)))] = None
        for letter, regression in zip(letters, line.regressions, strict=True):
            for reason, count in regression.left_out.items() if regression is not None else ():
                ids = ", ".join(regression.examples.get(reason, ())) if regression is not None else ""
                lines[f"unmatched with {letter} in {owner}: {count} {reason.replace('_', ' ')} ({ids})"] = None
    signatures = {f"{line.plan.scorer}: {line.plan.signature}": None for line in comparison.lines}
    return [text for text in (*table_cells.falls_first(lines), *signatures) if text]


_ASKED_OTHERWISE = (
    "--ab-gate",
    "--ab-update-baseline",
    "--ab-shard",
    "--ab-refresh",
    "--ab-early-stop",
    "--ab-noise-floor",
)


def flips_command(comparison: Comparison) -> str:
    """The command of the second of two runs with the first as its baseline, which shows the samples that changed.

    Empty where none did, for other than two runs, and where the command would ask again or is not as it was typed.
    """
    first, *others = comparison.contenders
    tests = [test for line in comparison.lines for test in line.regressions if test is not None]
    if len(others) != 1 or not any(test.worse + test.better for test in tests):
        return ""
    base, folder = first.folder, others[0].folder
    if base is None or folder is None or base.resolve() == folder.resolve():
        return ""
    program, *given = read_run(folder / RECORD).command or [""]
    if program != "pytest" or any(each.partition("=")[0] in _ASKED_OTHERWISE for each in given):
        return ""
    kept, dropped = [program], ("--ab-run", "--ab-baseline")
    for before, each in zip(("", *given), given, strict=False):
        if each.partition("=")[0] not in dropped and before not in dropped:
            kept.append(each)
    several = len({item.model for item in read_run(base / RECORD).items}) > 1
    place = base.name if base.resolve().parent == folder.resolve().parent else str(base)
    baseline = place + f"#{first.model}" * several
    command = shlex.join([*kept, f"--ab-run={folder.name}-against-{base.name}", f"--ab-baseline={baseline}"])
    return command if command == printable(command) else ""


def answers(comparison: Comparison) -> list[str]:
    """Of each but the first whether it is better, in a sentence that counts the evals and names the pooled lines apart.

    Where an eval has several lines these are counted.
    """
    sources = [each.source for each in comparison.contenders]
    names = labels(comparison.contenders) if len(set(sources)) < len(sources) else sources
    return [_answer(comparison, at, name, names[0]) for at, name in enumerate(names) if at]


def _answer(comparison: Comparison, at: int, name: str, first: str) -> str:
    tests = [(line, test) for line in comparison.lines if (test := line.regressions[at]) is not None]
    single = [line.plan.name for line, _ in tests if not line.plan.is_pooled]
    is_of_evals = len(set(single)) == len(single)
    lines_by_verdict: dict[str, list[str]] = {verdict: [] for verdict in _WORDS}
    for line, test in tests:
        if not line.plan.is_pooled:
            lines_by_verdict[test.verdict].append(line.plan.name if is_of_evals else line_name(line))
    pooled = [
        f"{line.plan.suite} {line.plan.kind.name} {change_texts(test)[0]} ({table_cells.MARKS[test.verdict]})"
        for line, test in tests
        if line.plan.is_pooled
    ]
    total = counted(len(single), "eval" if is_of_evals else "line")
    clauses = [f"{name} {_comparative(lines_by_verdict, first, total)}"]
    for verdict in ("inconclusive", "pass", "not_comparable"):
        if lines := lines_by_verdict[verdict]:
            which = f": {listed(lines, _MOST_NAMES)}" * (verdict != "pass")
            clauses.append(f"{_word(verdict)} on {len(lines)}{which}")
    clauses += [f"pooled: {listed(pooled, _MOST_NAMES)}"] if pooled else []
    rates = [(line.plan, line.parse_rates[0] or 0.0, line.parse_rates[at]) for line, _ in tests]
    if less := {
        plan.name: None for plan, before, now in rates if now is not None and before > now and not plan.is_pooled
    }:
        clauses.append(f"fewer answers parsed ({table_cells.FALL}) on {len(less)}: {listed([*less], _MOST_NAMES)}")
    return f"{'; '.join(clauses)}."


def _comparative(lines_by_verdict: Mapping[str, Sequence[str]], first: str, total: str) -> str:
    more, less = sorted(("improved", "regressed"), key=lambda verdict: -len(lines_by_verdict[verdict]))
    if not (count := len(lines_by_verdict[more])):
        any_of = "" if total.startswith("1 ") else "any of "
        return f"is not shown to be better or worse than {first} on {any_of}{total}"
    others = len(lines_by_verdict[less]) or "none"
    return f"is shown to be {_word(more)} than {first} on {count} of {total}, and {_word(less)} on {others}"


def _word(verdict: str) -> str:
    return f"{_WORDS[verdict]} ({table_cells.MARKS[verdict]})"


_WORDS = {
    "improved": "better",
    "regressed": "worse",
    "inconclusive": "undecided",
    "pass": "not worse",
    "not_comparable": "not comparable",
}
"""What each verdict is called where the question is which of two is better."""


def line_name(line: ComparedLine) -> str:
    """The eval or suite of a line, with metric, scorer and group."""
    plan = line.plan
    group = f" [{group_text(plan.group)}]" if plan.group else ""
    return f"{plan.name} {table_cells.metric_label(plan.kind.name, plan.kind.unit)} by {plan.scorer}{group}"


def _rows_of(comparison: Comparison, line: ComparedLine) -> Iterator[tuple[str, ...]]:
    unit = line.plan.kind.unit
    for contender, estimate, regression in zip(comparison.contenders, line.estimates, line.regressions, strict=True):
        if estimate is not None:
            figures = (table_cells.value_cell(estimate, unit), table_cells.interval_cell(estimate, unit))
            if regression is None:
                yield f"    {contender.letter}", *figures, *("",) * 5
            else:
                tests = (
                    *table_cells.change_cells(regression),
                    str(regression.pairs),
                    table_cells.amount(open_drop(regression), regression.unit),
                )
                yield f"  {table_cells.MARKS[regression.verdict]} {contender.letter}", *figures, *tests


def _markdown_lines(comparison: Comparison) -> Iterator[str]:
    for each in comparison.contenders:
        about = [each.model, each.spec, each.source]
        yield f"- **{each.letter}** {escaped(', '.join(filter(None, about)))}"
    yield from (f"- **{escaped(line, table_cells.LONGEST)}**" for line in (*comparison.heading, *answers(comparison)))
    yield f"- {escaped(rules_text(comparison), table_cells.LONGEST)}"
    yield ""
    yield table_row(("eval", "metric", *_HEAD))
    yield table_row((":--", ":--", ":--", *("--:",) * 7))
    for line in comparison.lines:
        plan = line.plan
        group = f" [{group_text(plan.group)}]" if plan.group else ""
        names = (plan.name, f"{plan.kind.name} by {plan.scorer}{group}")
        for cells in _rows_of(comparison, line):
            yield table_row((*map(escaped, names), *(escaped(cell.strip()) for cell in cells)))
            names = ("", "")
    yield ""
    yield from curve_markdown(comparison.contenders, comparison.curves)
    yield from finding_markdown(comparison.contenders, comparison.findings)
    yield from (f"- {mark} {escaped(sentence, table_cells.LONGEST)}" for mark, sentence in sentences(comparison))
    yield from (f"- {escaped(line, table_cells.LONGEST)}" for line in (*sample_remarks(comparison), *comparison.notes))
    if command := flips_command(comparison):
        yield f"- see the samples that changed, with sound: {escaped(command, table_cells.LONGEST)} asks nothing again"
