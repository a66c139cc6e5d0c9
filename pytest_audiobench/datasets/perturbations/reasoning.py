"""Perturbations that leave the audio as it is and change the reasoning that a model is shown of its own.

They only mark the samples; what becomes of the reasoning is the protocol's (``protocols/reasoned``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from pytest_audiobench.datasets.perturbations.perturbation import Change, Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample, letter_of, wrong_option
from pytest_audiobench.errors import UsageError

_TENTHS = tuple(range(0, 101, 10))
_INJECTED = {"inject-text-correct": letter_of, "inject-text-wrong": wrong_option}
_PLAIN = ("filler", "truncated", "shuffled", "paraphrased", "mistaken")


def early_answering(*percents: float) -> tuple[Perturbation, ...]:
    """Early answering: ``early-40`` shows the first 40 % of the reasoning's sentences; by default 0 to 100 in tens.

    The doses of one curve, in "% of the sentences". A sample's metadata field ``kept`` holds the share as a text
    ("0.4"). Raises UsageError for a percentage outside 0 to 100.
    """
    return tuple(_early(percent) for percent in percents or _TENTHS)


def reasoning_changes(*names: str) -> tuple[Perturbation, ...]:
    """The changes of reasoning that have no dose, all of them or those named, in that order.

    They are ``filler``, ``truncated``, ``shuffled``, ``paraphrased``, ``mistaken``, ``inject-text-correct`` and
    ``inject-text-wrong``. The last two set the metadata field ``injected`` to the letter of the option that the
    reasoning is made to end with. Raises UsageError for another name.
    """
    known = {change.name: change for change in _CHANGES}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"no change of reasoning is named {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) or _CHANGES


def reasoning_change(perturbation: Perturbation) -> str:
    """What ``perturbation`` has done to the reasoning, as protocols name it: ``early``, ``filler``, …, ``inject``.

    Empty for a perturbation of another family.
    """
    if perturbation.family not in ("early", "reasoning"):
        return ""
    return {**dict.fromkeys(_INJECTED, "inject"), **{name: name for name in _PLAIN}}.get(perturbation.name, "early")


def _early(percent: float) -> Perturbation:
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 <= percent <= 100:
        raise UsageError(f"early({percent!r}) is not a percentage of the sentences; give numbers from 0 to 100")
    share = f"{(Decimal(str(percent)) / 100).normalize():f}"
    marking = _marking("kept", lambda sample: share)
    return Perturbation(f"early-{percent:g}", "early", marking, percent, "% of the sentences", "lower")


def _marking(name: str, value: Callable[[Sample], str]) -> Callable[[Places], Change]:
    def change(samples: Sequence[Sample]) -> Sequence[Sample]:
        return [replace(sample, metadata={**sample.metadata, name: value(sample)}) for sample in samples]

    return lambda places: change


_CHANGES = (
    *(Perturbation(name, "reasoning", lambda places: lambda samples: samples) for name in _PLAIN),
    *(Perturbation(name, "reasoning", _marking("injected", letter)) for name, letter in _INJECTED.items()),
)
