"""Published figures compared with what one's own answers give by every scorer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_audiobench.metrics.value import PERCENT_UNITS, with_minus
from pytest_audiobench.protocols.protocol import encoder_of
from pytest_audiobench.published_figures.registry import Published
from pytest_audiobench.records.run import ItemRecord, SuiteRecord
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.report.scorer_comparison import ScorerTable, scale, scorer_tables

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "accuracy_llm_judge": ("accuracy",),
    "accuracy_gptoss_or_qwen3_judge": ("accuracy",),
    "string_match": ("accuracy",),
    "keyword_accuracy": ("keyword_hits",),
    "following_rate": ("following",),
    "bleu4": ("bleu",),
    "rouge_l": ("rouge_l", "rouge_l_google"),
    "wer": ("wer", "osr_wer", "matched_wer"),
    "f1": ("scene_f1",),
    "recall": ("scene_recall",),
    "predicted": ("events_guessed",),
}
"""Published metrics that have other names here; the first that was measured is taken."""
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Comparison:
    """A published figure with the scorer that comes closest to it."""

    published: Published
    metric: str
    protocol: str
    """The closest scorer."""
    shown: float
    """The figure as our metric is read: shares as percentages."""
    distance: float
    """The closest scorer's value minus the figure."""
    is_inside: bool | None
    """Whether the figure lies in that value's interval; None where there is none."""
    beyond: float
    """By how much it lies above (or, negative, below) all that any scorer gives; 0 within."""
    unit: str

    @property
    def says(self) -> str:
        """The comparison in a sentence."""
        name, what = self.published.name, "pp" if self.unit in PERCENT_UNITS else self.unit or "in its own unit"
        known = f"; disputed: {self.published.disputed}" if self.published.disputed else ""
        nearest = f"{self.protocol} comes closest ({with_minus(f'{self.distance:+.2f}')} {what})"
        if self.beyond:
            side = "above" if self.beyond > 0 else "below"
            inside = ", though it lies within that value's interval" if self.is_inside else ""
            return (
                f"{name} = {self.published.text}: no scorer gives it; it lies {abs(self.beyond):.2f} {what} {side} "
                f"them all, {nearest}{inside}{known}"
            )
        inside = {True: ", inside its interval", False: ", outside its interval", None: ""}[self.is_inside]
        return f"{name} = {self.published.text}: {nearest}{inside}{known}"


def comparisons(owner: ItemRecord | SuiteRecord, values: Sequence[Published]) -> list[Comparison]:
    """Each of ``values`` that ``owner`` has a metric for, with the closest scorer."""
    by_metric = {sweep.metric: sweep for sweep in scorer_tables(owner)}
    return [comparison for value in values for comparison in _comparison(by_metric, value)]


def fitting(item: ItemRecord, values: Sequence[Published]) -> list[Published]:
    """Those of ``values`` whose data set's words all are in the item's name or data set."""
    words = set(_WORD.findall(f"{item.eval} {item.dataset}".lower()))
    return [value for value in values if words.issuperset(_WORD.findall(value.dataset.lower().replace("_", " ")))]


def by_other_encoders(owner: ItemRecord | SuiteRecord, values: Sequence[Published]) -> str:
    """What is to be said of those of ``values`` that are by an encoder that no scorer of ``owner`` has; else empty."""
    here = {encoder_of(scorer.signature) for scorer in owner.scorers} - {""}
    other = [value for value in values if here and not any(_is_by(value, scorer.signature) for scorer in owner.scorers)]
    if not other:
        return ""
    there = ", ".join(sorted({value.encoder for value in other}))
    return (
        f"{counted(len(other), 'published figure')} by the encoder {there}, here {', '.join(sorted(here))}: figures "
        "by different encoders are never compared"
    )


def _is_by(published: Published, signature: str) -> bool:
    """Whether a scorer of this signature has the encoder that the figure is by, if it is by one."""
    name = encoder_of(signature).partition("(")[0].partition("|")[0]
    return not published.encoder or name.lower() == published.encoder.rpartition("/")[2].lower()


def _comparison(by_metric: Mapping[str, ScorerTable], published: Published) -> Iterator[Comparison]:
    names = OTHER_NAMES.get(published.metric, (published.metric,))
    sweep = next((by_metric[name] for name in names if name in by_metric), None)
    rows = [row for row in sweep.rows if row.value is not None and _is_by(published, row.signature)] if sweep else []
    if not sweep or not rows:
        return
    factor = scale(sweep.unit)
    as_read = factor / 100.0 if published.unit == "percent" else factor
    figure = published.value * as_read
    given = [factor * (row.value or 0.0) for row in rows]
    place = min(range(len(rows)), key=lambda at: abs(given[at] - figure))
    # A figure is rounded: what rounds to it, it does not miss.
    half = 0.5 * 10.0 ** -(2 if published.decimals is None else published.decimals) * as_read + 1e-9
    over, under = figure - max(given), figure - min(given)
    lower, upper = rows[place].lower, rows[place].upper
    yield Comparison(
        published=published,
        metric=sweep.metric,
        protocol=rows[place].scorer,
        shown=figure,
        distance=round(given[place] - figure, 9) + 0.0,  # never a negative zero
        is_inside=None if lower is None or upper is None else lower <= figure / factor <= upper,
        beyond=over if over > half else under if under < -half else 0.0,
        unit=sweep.unit,
    )
