"""Perturbations that hypothesis draws, on a grid from the mildest to the strongest, towards which end it shrinks.

Only a test that draws imports hypothesis; nothing here does before :func:`drawn_perturbations` is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.datasets.perturbations.catalogue import ladder
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.datasets.perturbations.perturbation import Change, Perturbation, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError, install_command

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Range: TypeAlias = tuple[float, float]
"""Both ends of what is drawn from, in any order."""

FAMILY = "drawn"

_FAR = 3**70
"""Where the drawn integers lie. Hypothesis mixes integers into its draws that are in the modules of the user, so that
near 0 the same seed would draw other values with other modules; there is none here."""


class _Aspect(NamedTuple):
    """One of the things that are drawn."""

    step: float
    neutral: float
    """The value that is nothing done; the nearest to it is the mildest."""
    least: float
    most: float
    text: str
    """How a person reads a value."""


_ASPECTS = {
    "snr_db": _Aspect(1.0, math.inf, -math.inf, math.inf, "{:g} dB SNR"),
    "gain_db": _Aspect(1.0, 0.0, -math.inf, math.inf, "{:+g} dB gain"),
    "padding_s": _Aspect(0.1, 0.0, 0.0, math.inf, "{:g} s of padding"),
    "mask_percent": _Aspect(5.0, 0.0, 0.0, 100.0, "{:g} % masked"),
}


@dataclass(frozen=True, repr=False)
class DrawnPerturbation(Perturbation):
    """A perturbation with the values that were drawn for it; an aspect that is not drawn is not among them."""

    values: tuple[tuple[str, float], ...] = ()
    """``(("snr_db", 12.0), ("gain_db", -3.0))``."""

    def __repr__(self) -> str:
        return self.name

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For hypothesis, which writes out the fields of other dataclasses."""
        printer.text(self.name)

    @property
    def text(self) -> str:
        """What is done, as a person reads it: ``12 dB SNR, -3 dB gain``."""
        done = [self.value_text(aspect) for aspect, value in self.values if value != _ASPECTS[aspect].neutral]
        return ", ".join(done) or "no perturbation"

    def value_text(self, aspect: str) -> str:
        """One of its values as a person reads it."""
        return _ASPECTS[aspect].text.format(dict(self.values)[aspect])

    def milder_in(self, other: DrawnPerturbation) -> tuple[str, float] | None:
        """The aspect in which alone this differs from ``other`` and is milder, and by how much; None for all else."""
        mine, theirs = dict(self.values), dict(other.values)
        differing = [aspect for aspect in mine if mine[aspect] != theirs.get(aspect)]
        if len(differing) != 1 or mine.keys() != theirs.keys():
            return None
        (aspect,) = differing
        value, beyond = mine[aspect], theirs[aspect]
        is_milder = value > beyond if aspect == "snr_db" else abs(value) < abs(beyond)
        return (aspect, abs(value - beyond)) if is_milder else None


def drawn_perturbations(
    *,
    snr_db: Range | None = None,
    gain_db: Range | None = None,
    padding_s: Range | None = None,
    mask_percent: Range | None = None,
    noise: str = "white",
) -> SearchStrategy[DrawnPerturbation]:
    """A hypothesis strategy for ``@given``: what :func:`~pytest_audiobench.perturb` does to a data set.

    Of each range that is given a value is drawn: the ratio of the speech to ``noise`` (a family of the ladder) and the
    gain in whole dB, the silence put before and after in tenths of a second, the share that is masked in steps of 5 %.
    Hypothesis shrinks to the mildest: the highest ratio, the gain nearest to 0 dB, the least padding and mask. What is
    drawn as 0 is not done. Noise comes first, then mask, gain and padding. Raises UsageError for a range that is none,
    and where hypothesis is not installed.
    """
    try:
        from hypothesis import strategies
    except ModuleNotFoundError:
        why = "drawn_perturbations() is a strategy of hypothesis, which is not installed"
        raise UsageError(f"{why}: {install_command('hypothesis')}") from None
    ladder(noise, 0.0)
    ranges = {"snr_db": snr_db, "gain_db": gain_db, "padding_s": padding_s, "mask_percent": mask_percent}
    grids = {aspect: _grid(aspect, ends) for aspect, ends in ranges.items() if ends is not None}
    if not grids:
        raise UsageError(
            f"drawn_perturbations() has nothing to draw: give a range for one or more of {', '.join(ranges)}"
        )
    places = {aspect: strategies.integers(_FAR, _FAR + len(grid) - 1) for aspect, grid in grids.items()}

    @strategies.composite
    def perturbation(draw: strategies.DrawFn) -> DrawnPerturbation:
        return _drawn(tuple((aspect, grid[draw(places[aspect]) - _FAR]) for aspect, grid in grids.items()), noise)

    return perturbation()


def _grid(aspect: str, ends: Range) -> tuple[float, ...]:
    """The values between ``ends``, the mildest first, and further ones by whole steps from it."""
    step, neutral, least, most, _ = _ASPECTS[aspect]
    try:
        low, high = sorted(float(end) for end in ends)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and least <= low and high <= most):
        limits = "" if math.isinf(least) else f", from {least:g}" + ("" if math.isinf(most) else f" to {most:g}")
        raise UsageError(f"{aspect}={ends!r} is not a range: give its two ends{limits}, such as {aspect}=(0, 20)")
    mildest = min(max(neutral, low), high)
    below, above = int((mildest - low) / step + 1e-9), int((high - mildest) / step + 1e-9)
    return tuple(round(mildest + step * k, 6) for k in sorted(range(-below, above + 1), key=lambda k: (abs(k), k)))


def _drawn(values: tuple[tuple[str, float], ...], noise: str) -> DrawnPerturbation:
    given = {aspect: value for aspect, value in values if value != _ASPECTS[aspect].neutral}
    parts: dict[str, Callable[[float], Perturbation]] = {
        "snr_db": lambda snr_db: ladder(noise, snr_db)[0],
        "mask_percent": lambda percent: masks(percent)[0],
        "gain_db": lambda db: ladder("gain", db)[0],
        "padding_s": _padded,
    }
    done = [part(given[aspect]) for aspect, part in parts.items() if aspect in given]

    def prepare(places: Places) -> Change:
        changes = [part.prepare(places) for part in done]
        return lambda samples: reduce(lambda changed, change: change(changed), changes, samples)

    return DrawnPerturbation("-".join(part.name for part in done) or "clean", FAMILY, prepare, values=values)


def _padded(seconds: float) -> Perturbation:
    edit = edits.pad(seconds, seconds)
    change = per_clip(lambda places: lambda clip, id_: at_rate(clip).edited(edit))
    return Perturbation(f"padded-{seconds:g}s", "padding", change)
