"""How fast a model answers: sums that can be added up over evals, and the figures drawn from them.

Each answer keeps its share of the time that its batch took, so a figure per second is of the asking itself,
whenever and in whichever run that was. What only a run that asks can tell (the share of its wall time that the
model was at work, the peak of memory) is there when this run asked something.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.batch_executor import Time
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import MetricRecord

Sums = Mapping[str, float]

_LARGEST = ("first_token_s", "peak_memory_bytes")
"""What is no sum: of several evals the largest is taken."""


def sums(answers: Sequence[SampleAnswers], time: Time, peak_memory_bytes: int | None) -> dict[str, float]:
    """What an eval's answers took: seconds of asking, of audio, tokens; only what is known and not 0."""
    count, seconds, audio_s, tokens, tokens_seconds = 0, 0.0, 0.0, 0, 0.0
    first_tokens_s: list[float] = []
    for sample in answers:
        for response in sample.responses.values():
            share_s = response.share_s
            if share_s is None:
                continue
            count += 1
            seconds += share_s
            audio_s += max(0.0, (sample.selected.duration_s or 0.0) - sum(response.truncated_s))
            generated = response.usage.get("completion_tokens", 0)
            if generated:
                tokens += generated
                tokens_seconds += share_s
            if response.first_token_s is not None:
                first_tokens_s.append(response.first_token_s)
    sums_ = {
        "answers": float(count),
        "seconds": seconds,
        "audio_s": audio_s,
        "tokens": float(tokens),
        "tokens_seconds": tokens_seconds,
        "first_token_s": statistics.median(first_tokens_s) if first_tokens_s else 0.0,
        "peak_memory_bytes": float(peak_memory_bytes or 0) if time.asking_s else 0.0,
        **vars(time),
    }
    return {name: value for name, value in sums_.items() if value}


def together(several: Sequence[Sums]) -> dict[str, float]:
    """The sums of several evals."""
    totals: dict[str, float] = {}
    for sums_ in several:
        for name, value in sums_.items():
            totals[name] = max(totals.get(name, 0.0), value) if name in _LARGEST else totals.get(name, 0.0) + value
    return totals


def figures(taken: Sums) -> list[MetricRecord]:
    """The figures that ``taken`` suffices for. None has an interval: each is one measurement of one machine."""
    records = []
    for figure in _FIGURES:
        if all(name in taken for name in figure.needs):
            kind, n = metric_kind(figure.name), int(taken.get("answers", 0))
            value = figure.of(*(taken[name] for name in figure.needs))
            records.append(MetricRecord(figure.name, value, None, None, n, kind.unit, kind.direction, figure.method))
    return records


class _Figure(NamedTuple):
    name: str
    needs: tuple[str, ...]
    of: Callable[..., float]
    method: str


_STORED = "as the answers were asked, each with its share of its batch's time"
_THIS_RUN = "of what this run asked"
_FIGURES = (
    _Figure("samples_per_s", ("answers", "seconds"), lambda n, s: n / s, _STORED),
    _Figure("rtfx", ("audio_s", "seconds"), lambda audio, s: audio / s, f"seconds of audio per second {_STORED}"),
    _Figure("tokens_per_s", ("tokens", "tokens_seconds"), lambda n, s: n / s, f"generated tokens {_STORED}"),
    _Figure("first_token_s", ("first_token_s",), lambda s: s, "median time to the first token (of evals: the largest)"),
    _Figure(
        "padding_waste",
        ("planned_s", "filled_s"),
        lambda played, filled: 1.0 - played / filled,
        "share of what the front end computes that is no audio, by the plan of batches",
    ),
    _Figure(
        "batch_fill",
        ("full_batches", "planned_batches"),
        lambda full, planned: full / planned,
        "share of the seconds that each batch may hold, by the plan of batches",
    ),
    _Figure("model_share", ("model_s", "asking_s"), lambda m, s: m / s, f"share of the wall time {_THIS_RUN}"),
    _Figure(
        "peak_memory_mb", ("peak_memory_bytes",), lambda b: b / 1e6, f"of the model's device or process {_THIS_RUN}"
    ),
)
