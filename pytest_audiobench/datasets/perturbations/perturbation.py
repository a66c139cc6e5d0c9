"""A perturbation: what is done to a data set's samples, such as noise beneath; with a dose, a point of a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, get_args

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.records.fields import Harder

"""Which way a dose makes a task harder; empty where it does so in no one way."""

_LEAST, _MOST = 1e-100, 1e100
"""Between these a sum of squares of doses neither vanishes nor overflows."""


def is_dose(value: object) -> bool:
    """Whether ``value`` is an integer or a float, 0 or of a magnitude from 1e-100 to 1e100."""
    return type(value) in (int, float) and (value == 0 or _LEAST <= abs(value) <= _MOST)  # type: ignore[arg-type]


def dose_of(name: str, value: Any) -> float:
    """The dose of the perturbation ``name`` as a float, of whatever kind the number is. Raises UsageError."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value) + 0.0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not is_dose(number):
        raise UsageError(f"the dose {value!r} of {name} is not a number to draw a curve over; give a finite one")
    return number


Change: TypeAlias = Callable[[Sequence[Sample]], Sequence[Sample]]
"""A slice's samples changed, ids, questions and choices kept; by clips' own means, so that nothing is decoded."""

ClipChange: TypeAlias = Callable[[Clip, str], Clip]
"""A clip changed, given what its random choices are drawn from."""


@dataclass(frozen=True)
class Perturbation:
    """What is done to a data set's samples, of which perturbations of one family with doses are the points of a curve.

    Raises UsageError for a name, a family or a unit that is not a printable text, for a name or a family that is empty,
    and for a dose that is not a finite number.
    """

    name: str
    """Selects it in test ids (``white-m10dB``); what ``str`` gives."""
    family: str
    """Those of one family that have doses are one curve; seeds are drawn by it."""
    prepare: Callable[[Places], Change] = field(compare=False, repr=False)
    """Called once whenever samples are read, with the places where further audio (recorded noise, room responses) may
    lie; gives what is then done to the samples. :func:`per_clip` makes it. Raises DataNotFound where it is absent.
    """
    dose: float | None = None
    """None for a perturbation that stands alone."""
    unit: str = ""
    """The dose's, such as "dB SNR"."""
    harder: Harder = ""
    """Whether a "higher" or a "lower" dose makes the task harder; "" where neither does."""

    def __post_init__(self) -> None:
        for what, text in (("name", self.name), ("family", self.family), ("unit", self.unit)):
            if not isinstance(text, str) or not text.isprintable() or not (text or what == "unit"):
                raise UsageError(f"the {what} {text!r} of a perturbation is not a printable text; give it one")
        if self.harder not in get_args(Harder):
            raise UsageError(f"harder={self.harder!r} of the perturbation {self.name} is not 'higher', 'lower' or ''")
        if self.dose is not None:
            object.__setattr__(self, "dose", dose_of(self.name, self.dose))

    def __str__(self) -> str:
        return self.name


def per_clip(prepare: Callable[[Places], ClipChange]) -> Callable[[Places], Change]:
    """What a perturbation prepares where it changes clip by clip.

    A sample's first clip draws from the sample's id, each further one from its place as well.
    """

    def prepare_samples(places: Places) -> Change:
        change = prepare(places)
        return lambda samples: [replace(sample, clips=_changed_clips(change, sample)) for sample in samples]

    return prepare_samples


def _changed_clips(change: ClipChange, sample: Sample) -> tuple[Clip, ...]:
    return tuple(
        change(clip, f"{sample.id}#{place}" if place else sample.id) for place, clip in enumerate(sample.clips)
    )
