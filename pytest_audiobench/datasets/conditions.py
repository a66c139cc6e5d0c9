"""The same samples under another condition: noise beneath, a band cut off, a part masked; one point of a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.dataset import Dataset, Places
from pytest_audiobench.datasets.sample import Sample


@dataclass(frozen=True)
class Condition:
    """What is done to every clip. ``name`` selects it in test ids (``white-m10dB``).

    Conditions of one ``family`` that have a ``dose`` (in ``unit``, such as "dB SNR") are the points of a curve; one
    without a dose stands alone. ``harder`` says which way the dose makes the task harder. ``change`` makes the clip
    that is played of a sample's clip and id, from which it draws its seed, in no other way than by clips' own means,
    so that nothing is decoded; ``places`` is where further audio (recorded noise, room responses) may lie.
    """

    name: str
    family: str
    change: Callable[[Clip, str, Places], Clip] = field(compare=False, repr=False)
    dose: float | None = None
    unit: str = ""
    harder: Literal["", "higher", "lower"] = ""


def under(dataset: Dataset, condition: Condition) -> Dataset:
    """``dataset`` with every clip changed by ``condition``; samples keep their ids, so that conditions are paired."""

    def read(places: Places) -> Sequence[Sample]:
        return [
            replace(
                one,
                clips=tuple(condition.change(clip, one.id, places) for clip in one.clips),
                recording=one.recording or next(iter(one.clips), None),
            )
            for one in dataset.read(places)
        ]

    return replace(dataset, name=f"{dataset.name}+{condition.name}", read=read, condition=condition)
