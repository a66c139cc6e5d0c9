"""Was it listening? What the audio adds over silence, over another sample's clip, and over the text alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.interventions import with_silence, with_swapped_clips, without_audio
from pytest_audiobench.metrics.metric import POINTS
from pytest_audiobench.metrics.value import Metric, difference_text
from pytest_audiobench.models.model import Hearing
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.studies.evaluate import Evaluate, evaluator_of

LIFT = "lift"
"""What the audio adds over the text alone."""

_FEWEST = 10
"""Samples without which nothing is proven, whatever their interval says."""

CONTROLS: Mapping[str, Callable[[Dataset], Dataset]] = {
    "silence": with_silence,
    "swapped": with_swapped_clips,
    "text": without_audio,
}


def listening(evaluate: Evaluate, dataset: Dataset, protocol: Protocol, samples: int | None = 100) -> dict[str, Metric]:
    """Ask about ``dataset`` as it is and under each control, and record what the real audio adds over each, in pp.

    ``samples`` of it are asked, None for all. ``adds_over_silence``, ``adds_over_swapped`` and ``lift``, which is over
    the text alone, are paired differences of the headline metric. The test fails where an interval's lower bound is not
    above 0. There is no lift of a model that cannot be asked without audio. When all hold on at least ten samples, the
    model's hearing is on record as proven. Skips the test for a model that is played no audio.
    """
    if not evaluate.model.listens:
        pytest.skip(f"{evaluate.model.spec} is played no audio, so there is nothing to listen for")
    heard = evaluate(dataset, protocol, name="heard", samples=samples)
    adds: dict[str, Metric] = {}
    for control, changed in CONTROLS.items():
        if control == "text" and evaluate.model.limits.min_clips:
            continue
        result = evaluate(changed(dataset), protocol, name=control, samples=samples, control=True)
        name = LIFT if control == "text" else f"adds_over_{control}"
        adds[control] = evaluate.record(name, heard.gain_over(result))
        evaluate.require(f"{name}.lower > 0")
    evaluator_of(evaluate).note_hearing(
        dataset, _hearing(dataset.name, adds, sum(result.errors for result in evaluate.results))
    )
    return adds


def _hearing(name: str, adds: Mapping[str, Metric], errors: int) -> Hearing:
    bounds = {control: -1.0 if metric.lower is None else metric.lower for control, metric in adds.items()}
    least = min(bounds, key=bounds.__getitem__)
    gain = adds[least]
    if bounds[least] > 0.0 and gain.n >= _FEWEST and not errors:
        return Hearing("proven", f"{name}: {difference_text(gain, POINTS)} over {least} (n={gain.n})")
    why = f"{errors} askings failed" if errors else f"{difference_text(gain, POINTS)} over {least}, n={gain.n}"
    return Hearing("unproven", f"not shown on {name} ({why})")
