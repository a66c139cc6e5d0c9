"""A baseline in words: the table of its evals, and what a new one changes against the one that was there."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from pytest_audiobench.comparison.mismatches import differ
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.pairing import AUDIO, ERRORS, ONLY_HERE, ONLY_IN_BASELINE, PROMPT, TRUTH, pair_samples
from pytest_audiobench.metrics.metric_drops import moved
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.metrics.value import difference_text
from pytest_audiobench.records.baseline import BaselineFigure
from pytest_audiobench.report.formatting import interval_text, printable, value_text

_HEAD = ("eval", "metric", "value", "interval", "n", "parse rate")
_RIGHT = ("value", "interval", "n", "parse rate", "was", "now", "difference")
_LEFT_OUT = {
    ONLY_HERE: "new",
    ONLY_IN_BASELINE: "gone",
    AUDIO: "with other audio",
    PROMPT: "with another prompt",
    TRUTH: "with other choices or references",
    ERRORS: "not asked in one of them",
}

_OTHER = {"data": "other data", "settings": "other settings"}
"""What no sample's digests show."""


def about(contents: Contents) -> list[str]:
    """Which model and which run it is of, what it lacks, and how far the model repeats itself, where that is known."""
    head = contents.head
    limit = f", at most {head.limit} samples of each eval" if head.limit else ""
    epochs = f", {head.epochs} epochs" if head.epochs > 1 else ""
    lines = [
        f"model {_model(contents)}",
        f"run {head.run}, finished {head.finished}{limit}{epochs}; written by {head.version}",
    ]
    if (noise := head.model.noise) is not None:
        scored = "" if noise.same_outcomes is None else f"{100.0 * noise.same_outcomes:.1f} % scored the same, "
        lines.append(
            f"noise floor: {100.0 * noise.same_answers:.1f} % same answers when asked again, {scored}"
            f"scores move by {100.0 * noise.score_shift:.1f} pp"
        )
    lines += [f"missing: {part}" for part in head.missing]
    return [printable(line) for line in lines]


def table(contents: Contents) -> list[str]:
    """A line for each eval with its headline value, below a head."""
    rows = [_HEAD, *(_row(side, contents.headline(name)) for name, side in sorted(contents.sides.items()))]
    return _columns(rows)


def changes(before: Contents, after: Contents) -> list[str]:
    """What ``after`` changes against ``before``: evals that come and go, values, and samples whose score moved."""
    lines = [
        f"the {what} was {was}"
        for what, was, now in (
            ("model", _model(before), _model(after)),
            ("limit", before.head.limit or "none", after.head.limit or "none"),
            ("number of epochs", before.head.epochs, after.head.epochs),
        )
        if was != now
    ]
    lines += [f"added: {name}" for name in sorted(set(after.sides) - set(before.sides))]
    lines += [f"removed: {name}" for name in sorted(set(before.sides) - set(after.sides))]
    both = sorted(set(before.sides) & set(after.sides))
    moves = [move for name in both if (move := _move(name, before, after)) is not None]
    head = ("eval", "metric", "was", "now", "difference", "samples")
    lines += _columns([head, *moves]) if moves else []
    if same := len(both) - len(moves):
        lines.append(f"unchanged: {same} eval{'' if same == 1 else 's'}")
    return [printable(line) for line in lines]


def _model(contents: Contents) -> str:
    model = contents.head.model
    return f"{model.alias} ({model.spec}, digest {model.digest[:16]})"


def _row(side: ComparableEval, figure: BaselineFigure | None) -> tuple[str, ...]:
    answered = [row.statuses[side.headline] == "parsed" for row in side.rows]
    share = f"{100.0 * sum(answered) / len(answered):.1f} %" if answered else "–"
    if figure is None:
        return side.eval, "–", "–", "", str(len(side.rows)), share
    interval = interval_text(figure, figure.unit)
    value = value_text(figure.value, figure.unit)
    return side.eval, figure.name, value, f"[{interval}]" if interval else "", str(figure.n), share


def _move(name: str, before: Contents, after: Contents) -> tuple[str, ...] | None:
    was, now = before.headline(name), after.headline(name)
    left, right = before.sides[name], after.sides[name]
    if was is None or now is None or was.name != now.name or left.headline != right.headline:
        return name, now.name if now else "–", *_value_cells(was, now), "another headline: not compared"
    if left.scorers[left.headline] != right.scorers[right.headline]:
        return name, now.name, *_value_cells(was, now), f"another version of {right.headline}: not compared"
    pairs = pair_samples(left, right, right.headline)
    counted = [
        f"{number} {what}"
        for number, what in (
            *_counts_of_changes(now.name, right.headline, pairs.rows),
            *((pairs.left_out.get(reason, 0), what) for reason, what in _LEFT_OUT.items()),
            (pairs.not_run, "not in this run"),
        )
        if number
    ]
    if not (left.limited or right.limited or pairs.left_out):
        counted += [what for of, what in _OTHER.items() if differ(left.hashes.get(of), right.hashes.get(of))]
    if not counted and astuple(was)[:5] == astuple(now)[:5]:
        return None
    return name, now.name, *_value_cells(was, now), ", ".join(counted) or "none"


def _counts_of_changes(
    metric: str, scorer: str, pairs: Sequence[tuple[ComparableSample, ComparableSample]]
) -> list[tuple[int, str]]:
    """How many samples' own scores became worse and better, or changed in a metric that says not which way."""
    scores = [(before.scores[scorer], after.scores[scorer]) for before, after in pairs]
    changed = [(was, now) for was, now in scores if was is not None and now is not None and was != now]
    kind = metric_kind(metric) if is_known(metric) and metric not in SHARES else None
    if kind is None or (kind.parts is None and kind.sample_score is None):
        return [(len(changed), "moved")]
    ways = [moved(kind, was, now) for was, now in changed]
    return [(ways.count(1), "worse"), (ways.count(-1), "better")]


def _value_cells(was: BaselineFigure | None, now: BaselineFigure | None) -> tuple[str, str, str]:
    texts = [value_text(figure.value, figure.unit) if figure else "–" for figure in (was, now)]
    both = was and now and was.name == now.name and was.value is not None and now.value is not None
    difference = difference_text(now.value - was.value, now.unit) if both else ""  # type: ignore[operator,union-attr]
    return texts[0], texts[1], difference


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    printed = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(row[at]) for row in printed) for at in range(len(printed[0]))]
    sides = [str.rjust if name in _RIGHT else str.ljust for name in printed[0]]
    return [
        "  ".join(side(text, width) for side, text, width in zip(sides, row, widths, strict=True)).rstrip()
        for row in printed
    ]
