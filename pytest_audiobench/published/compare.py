"""What one's own answers give by every protocol, held beside figures that others published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_audiobench.published.registry import Published
from pytest_audiobench.report.formatting import PERCENT_UNITS
from pytest_audiobench.report.scorer_comparison import ScorerRow, ScorerTable, scale, scorer_tables

_OURS: Mapping[str, tuple[str, ...]] = {
    "accuracy_llm_judge": ("accuracy",),
    "accuracy_gptoss_or_qwen3_judge": ("accuracy",),
    "string_match": ("accuracy",),
    "keyword_accuracy": ("keyword_hits",),
    "following_rate": ("following",),
    "bleu4": ("bleu",),
    "rouge_l": ("rouge_l", "rouge_l_google"),
    "wer": ("wer", "osr_wer"),
}
"""Published metrics that have other names here; the first that was measured is taken."""
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Comparison:
    """A published figure beside the protocol that comes closest to it.

    ``shown`` is the figure as our metric is read (shares as percentages); ``distance`` is the closest protocol's value
    less the figure. ``is_inside`` tells whether the figure lies in that value's interval (None where there is none);
    ``beyond`` by how much it lies above (or, negative, below) all that any protocol gives, 0 within.
    """

    published: Published
    metric: str
    protocol: str
    shown: float
    distance: float
    is_inside: bool | None
    beyond: float
    unit: str

    @property
    def says(self) -> str:
        """The comparison in a sentence."""
        name, what = self.published.name, "points" if self.unit in PERCENT_UNITS else self.unit or "in its own unit"
        known = f"; disputed: {self.published.disputed}" if self.published.disputed else ""
        nearest = f"{self.protocol} comes closest ({self.distance:+.2f} {what})"
        if self.beyond:
            side = "above" if self.beyond > 0 else "below"
            inside = ", though it lies within that value's interval" if self.is_inside else ""
            return (
                f"{name} = {self.published.text}: no protocol gives it; it lies {abs(self.beyond):.2f} {what} {side} "
                f"them all, {nearest}{inside}{known}"
            )
        inside = {True: ", inside its interval", False: ", outside its interval", None: ""}[self.is_inside]
        return f"{name} = {self.published.text}: {nearest}{inside}{known}"


def comparisons(item: Mapping[str, Any], values: Sequence[Published]) -> list[Comparison]:
    """Each of ``values`` that an item's record (or a suite's) has a metric for, beside the closest protocol."""
    by_metric = {sweep.metric: sweep for sweep in scorer_tables(item)}
    return [found for one in values for found in _comparison(by_metric, one)]


def fitting(item: Mapping[str, Any], values: Sequence[Published]) -> list[Published]:
    """Those of ``values`` whose data set's words all stand in the item's name or data set."""
    own = set(_WORD.findall(f"{item['eval']} {item['dataset']}".lower()))
    return [one for one in values if own.issuperset(_WORD.findall(one.dataset.lower().replace("_", " ")))]


def _comparison(by_metric: Mapping[str, ScorerTable], one: Published) -> Iterator[Comparison]:
    names = _OURS.get(one.metric, (one.metric,))
    sweep = next((by_metric[name] for name in names if name in by_metric), None)
    rows = [row for row in sweep.rows if row.value is not None] if sweep else []
    if not sweep or not rows:
        return
    factor = scale(sweep.unit)
    as_read = factor / 100.0 if one.unit == "percent" else factor
    shown = one.value * as_read
    given = [factor * (row.value or 0.0) for row in rows]
    place = min(range(len(rows)), key=lambda at: abs(given[at] - shown))
    # A figure is rounded: what rounds to it, it does not miss.
    half = 0.5 * 10.0 ** -(2 if one.decimals is None else one.decimals) * as_read + 1e-9
    over, under = shown - max(given), shown - min(given)
    yield Comparison(
        published=one,
        metric=sweep.metric,
        protocol=rows[place].scorer,
        shown=shown,
        distance=round(given[place] - shown, 9) + 0.0,  # never a negative zero
        is_inside=_inside(rows[place], shown / factor),
        beyond=over if over > half else under if under < -half else 0.0,
        unit=sweep.unit,
    )


def _inside(row: ScorerRow, value: float) -> bool | None:
    if row.lower is None or row.upper is None:
        return None
    return row.lower <= value <= row.upper
