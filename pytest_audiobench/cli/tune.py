"""``audiobench tune MODEL``."""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audiobench.cli._options import count
from pytest_audiobench.cli._questions import questions
from pytest_audiobench.cli._text import labelled, say, table
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.options import NO_ROOM

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.batch_plan import PlannedRequest
    from pytest_audiobench.models.hf.model import HfModel
    from pytest_audiobench.models.messages import Ask
    from pytest_audiobench.models.model import Limits

HELP = "try batch sizes of an hf: model on this device, and compiled steps: clips a second, memory, its spec"

_NEARLY = 0.95
"""The smallest batch within so much of the quickest is chosen: what more a larger one gains is not worth its memory."""
_WORSE = 0.9
_BAR = 24


class Trial(NamedTuple):
    """One batch size: what a batch took up, and how it went."""

    batch: int
    seconds: int
    """The most that one of its batches took up, as ``batch_s`` counts them."""
    rates: list[float]
    """Clips a second, of each round."""
    peak_bytes: int
    fits: bool
    """Whether no batch was halved because memory ran out."""

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model as --ab-model names it, such as hf:checkpoints/step-2000")
    add(
        "--data", metavar="MANIFEST", type=Path, help="clips like those to be asked about (default: bundled recordings)"
    )
    add(
        "--clips",
        metavar="N",
        type=count,
        default=256,
        help="how many of them, over and over if need be (default 256)",
    )
    add("--tokens", metavar="N", type=count, help="the most of an answer (default: the protocol's own number)")
    add("--compile", action="store_true", help="try compile=yes too, as is done on a card without being asked")
    add("--rounds", metavar="N", type=count, default=1, help="how often each size is measured (default 1)")


def run(args: argparse.Namespace) -> int:
    """0 where constants were found, 1 where not even one clip fits.

    Raises UsageError for a spec that is none, a model that is not asked in this process, and data that cannot be read;
    FatalError for a model that cannot be loaded or does not answer.
    """
    from pytest_audiobench.datasets.manifest import manifest
    from pytest_audiobench.models.hf.model import HfModel
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec
    from pytest_audiobench.report.formatting import printable

    spec = parse_spec(args.model)
    model = make(spec)
    if not isinstance(model, HfModel) or model.kind != "hf":
        raise UsageError(f"{args.model} is not asked in this process: only batches of an hf: model are tuned here")
    data = manifest(args.data.resolve()) if args.data else None
    asks = _repeated(list(questions(model, "tune", data, args.tokens)), args.clips)
    try:
        model.load()
        trials = _shown(_trials(model, asks, args.rounds))
    finally:
        model.close()
    fitting = [trial for trial in trials if trial.fits]
    if not fitting:
        say("audiobench: the device has no room for a single one of these clips")
        return 1
    quickest = max(trial.rate for trial in fitting)
    chosen = next(trial for trial in fitting if trial.rate >= _NEARLY * quickest)
    kept = {name: value for name, value in spec.options.items() if name not in ("batch", "batch_s")}
    kept |= {"batch": f"{chosen.batch}", "batch_s": f"{chosen.seconds}"}
    rows = [("device", model.device)]
    if "compile" not in kept and (args.compile or model.device.startswith("cuda")):
        compiling = replace(spec, options={**kept, "compile": "yes"})
        try:
            first_s, trial = _compiled(make(compiling), asks, chosen.batch, args.rounds)
        except (FatalError, UsageError) as error:
            rows.append(("compiled", f"not to be had: {error}"))
        else:
            gain = trial.rate / chosen.rate
            rows.append(
                ("compiled", f"{trial.rate:.1f} clips/s, {gain:.2f} times; the first batch took {first_s:.0f} s")
            )
            if trial.fits and gain * _NEARLY >= 1:
                kept["compile"] = "yes"
    options = ",".join(f"{name}={value}" for name, value in kept.items())
    rows.append(("model", f"hf:{spec.target},{options}"))
    print("\n".join(["", *map(printable, labelled(rows, indent=0))]))
    return 0


def _compiled(model: Any, asks: Sequence[Ask], batch: int, rounds: int) -> tuple[float, Trial]:
    """The seconds of a first batch, in which its steps are compiled, and how all go once they are."""
    try:
        model.load()
        planned, limits = _planned(model, asks)
        started = time.perf_counter()
        _fits(model, asks[:batch])
        return time.perf_counter() - started, _trial(model, asks, planned, replace(limits, max_batch=batch), rounds)
    finally:
        model.close()


def _repeated(asks: Sequence[Ask], count: int) -> list[Ask]:
    """``count`` of them, over and over; no features of a clip are remembered, which would be quicker the next time."""
    if not asks:
        raise UsageError("there is no clip to ask about")
    return [
        ask._replace(audio=tuple(replace(clip, pcm_digest="") for clip in ask.audio))
        for ask in (asks[i % len(asks)] for i in range(count))
    ]


def _trials(model: HfModel, asks: Sequence[Ask], rounds: int) -> Iterator[Trial]:
    """Doubling batches, until one does not fit, or is slower than the quickest, or holds all clips."""
    planned, limits = _planned(model, asks)
    _fits(model, asks[:1])  # warm
    best, size = 0.0, 1
    while True:
        trial = _trial(model, asks, planned, replace(limits, max_batch=size), rounds)
        yield trial
        best = max(best, trial.rate)
        if not trial.fits or trial.rate < _WORSE * best or size >= len(asks):
            return
        size *= 2


def _planned(model: HfModel, asks: Sequence[Ask]) -> tuple[list[PlannedRequest], Limits]:
    from pytest_audiobench.evaluation.batch_plan import planned_request

    limits = replace(model.limits, max_batch_s=math.inf)
    return [
        planned_request(ask.request, [clip.duration_s for clip in ask.audio], 0, limits)._replace(
            id_hash=number.to_bytes(16, "big")
        )
        for number, ask in enumerate(asks)
    ], limits


def _trial(
    model: HfModel, asks: Sequence[Ask], planned: Sequence[PlannedRequest], limits: Limits, rounds: int
) -> Trial:
    from pytest_audiobench.evaluation.batch_plan import planned_batches

    batches = planned_batches(planned, limits)
    model.forget_peak_memory()
    rates, fits = [], True
    for _ in range(rounds):
        started = time.perf_counter()
        for batch in batches:
            fits = _fits(model, [asks[i] for i in batch]) and fits
        rates.append(len(asks) / (time.perf_counter() - started))
    return Trial(limits.max_batch, _seconds(planned, batches), rates, model.peak_memory_bytes or 0, fits)


def _seconds(planned: Sequence[PlannedRequest], batches: Sequence[Sequence[int]]) -> int:
    return max(math.ceil(len(batch) * (max(planned[i].size_s for i in batch) + 0.1)) for batch in batches)


def _fits(model: HfModel, asks: Sequence[Ask]) -> bool:
    """Whether a batch is asked without being halved. Raises FatalError where it has no answers for another reason."""
    splits = model.oom_splits
    errors = [response.error for response in model.ask(asks) if response.error]
    if others := [error for error in errors if not error.endswith(NO_ROOM)]:
        raise FatalError(f"{len(others)} of {len(asks)} questions had no answer: {others[0]}")
    return not errors and model.oom_splits == splits


def _shown(trials: Iterator[Trial]) -> list[Trial]:
    """The trials, each with a line as soon as it is there; then all as a curve."""
    done = []
    for trial in trials:
        say(f"batch={trial.batch}: {trial.rate:.1f} clips/s")
        done.append(trial)
    most = max(trial.rate for trial in done)
    rows = [("batch", "batch_s", "clips/s", "range", "peak memory", "")]
    for trial in done:
        spread = f"{min(trial.rates):.1f} to {max(trial.rates):.1f}" if len(trial.rates) > 1 else ""
        bar = "#" * max(1, round(_BAR * trial.rate / most)) if trial.fits else "does not fit"
        peak = f"{trial.peak_bytes / 1e6:,.0f} MB"
        rows.append((f"{trial.batch}", f"{trial.seconds}", f"{trial.rate:.1f}", spread, peak, bar))
    print("\n".join(table(rows, right=(0, 1, 2, 3, 4))))
    return done
