"""How far a headline moves with the wording of the question, drawn from the numbers of its wordings."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence

from pytest_audiobench.evaluation.record import MetricRecord
from pytest_audiobench.evaluation.scoring import WITHOUT
from pytest_audiobench.metrics.kinds.agreement import DEVIATION, SPREAD
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS

SPREADS = (SPREAD, DEVIATION)
_WORDING = re.compile(r"\|wording:(\d+)/(\d+)")
_NO_INTERVAL = {
    SPREAD: "no interval: the range of several noisy values is too large in resamples",
    DEVIATION: "no interval: the wordings are no sample of all there could be",
}
_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    SPREAD: lambda values: max(values) - min(values),
    DEVIATION: statistics.stdev,
}


def of_wording(signature: str) -> bool:
    """Whether a scorer is of one wording of several."""
    return _WORDING.search(signature) is not None


def spreads(metrics: Sequence[MetricRecord]) -> Iterator[MetricRecord]:
    """``wording_spread`` and ``wording_sd`` of each scorer that was asked in several wordings, by each group.

    ``metrics`` are those of all its scorers, a scorer's headline metric its first. Without a value where any wording
    has none.
    """
    headline: dict[str | None, MetricRecord] = {}
    values: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[MetricRecord]] = {}
    for metric in metrics:
        first = headline.setdefault(metric.scorer, metric)
        found = _WORDING.search(metric.signature or "")
        if found and metric.name == first.name and WITHOUT not in metric.group:
            base = str(metric.scorer).partition("@")[0]
            values.setdefault((base, found[2], tuple(sorted(metric.group.items()))), []).append(metric)
    for (base, count, group), own in values.items():
        if len(own) == int(count) and base in headline:
            yield from (_spread(name, headline[base], own, dict(group)) for name in SPREADS)


def _spread(name: str, headline: MetricRecord, own: Sequence[MetricRecord], group: dict[str, str]) -> MetricRecord:
    known = [one.value for one in own if one.value is not None]
    whole = len(known) == len(own)
    what = f"{own[0].name} over {len(own)} wordings"
    return MetricRecord(
        name=name,
        value=_HOW[name](known) if whole else None,
        lower=None,
        upper=None,
        n=own[0].n,
        unit=POINTS if own[0].unit in FRACTIONS else own[0].unit,
        direction="lower",
        method=f"{_NO_INTERVAL[name]}; {what}" if whole else f"{what}, one of which has no value",
        scorer=headline.scorer,
        signature=headline.signature,
        group=group,
    )
