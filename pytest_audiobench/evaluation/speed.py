"""How fast a model answers: sums that can be added up over evals, and the figures drawn from them.

Each answer keeps its share of the time that its batch took, so a figure per second is of the asking itself,
whenever and in whichever run that was. What only a run that asks can tell (the share of its wall time that the
model was at work, the peak of memory) is there when this run asked something.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.batches_in_flight import Time
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import MetricRecord

Sums = Mapping[str, float]

_LARGEST = ("first_token_s", "first_audio_s", "peak_memory_bytes")
"""What is not a sum: of several evals the largest is taken."""


class Taken:
    """What an eval's answers took, added up as they come."""

    def __init__(self) -> None:
        self._count, self._seconds, self._audio_s, self._tokens, self._tokens_seconds = 0, 0.0, 0.0, 0, 0.0
        self._first_tokens_s, self._first_audio_s = array("d"), array("d")

    def add(self, answers: Iterable[SampleAnswers]) -> None:
        for sample in answers:
            for response in sample.responses.values():
                share_s = response.share_s
                if share_s is None:
                    continue
                self._count += 1
                self._seconds += share_s
                self._audio_s += max(0.0, (sample.selected.duration_s or 0.0) - sum(response.truncated_s))
                generated = response.usage.get("completion_tokens", 0)
                if generated:
                    self._tokens += generated
                    self._tokens_seconds += share_s
                if response.first_token_s is not None:
                    self._first_tokens_s.append(response.first_token_s)
                if response.first_audio_s is not None:
                    self._first_audio_s.append(response.first_audio_s)

    def sums(self, time: Time, peak_memory_bytes: int | None) -> dict[str, float]:
        """Seconds of asking, of audio, tokens; only what is known and not 0."""
        sums_ = {
            "answers": float(self._count),
            "seconds": self._seconds,
            "audio_s": self._audio_s,
            "tokens": float(self._tokens),
            "tokens_seconds": self._tokens_seconds,
            "first_token_s": statistics.median(self._first_tokens_s) if self._first_tokens_s else 0.0,
            "first_audio_s": statistics.median(self._first_audio_s) if self._first_audio_s else 0.0,
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


def time_text(taken: Sums) -> str:
    """Where the seconds of the asking went, and what would shorten them; "" where they were few. Where several batches
    are asked at once the shares may be more than the whole: the waiting and the writing overlap with the model then.
    """
    asking_s = taken.get("asking_s", 0.0)
    if asking_s < _FEW_S:
        return ""
    shares = {name: taken.get(name, 0.0) / asking_s for name in ("model_s", "decode_wait_s", "commit_s")}
    model, decoding, writing = (f"{100 * share:.0f} %" for share in shares.values())
    loading = f", after {taken['loading_s']:.0f} s of loading" if taken.get("loading_s", 0.0) >= 1 else ""
    helps = next((text for name, least, text in _HELPS if shares[name] >= least), "")
    return (
        f"{asking_s:.0f} s of asking{loading}: in the model {model}, waiting for clips to be decoded {decoding}, "
        f"writing answers {writing}{helps}"
    )


_FEW_S = 30.0
_HELPS = (
    ("decode_wait_s", 0.2, "; more cores would help, or clips at the rate that the model is played"),
    ("commit_s", 0.2, "; a faster disk for --ab-store would help"),
    ("model_s", 0.8, "; only the model would help: batch= or concurrency=, more devices, a faster server"),
)


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
    _Figure("first_audio_s", ("first_audio_s",), lambda s: s, "median time to the first audio (of evals: the largest)"),
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
