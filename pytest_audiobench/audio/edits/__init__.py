"""Edits by name and version: pure functions of a waveform, its rate, parameters and a seed.

An edit is made by the functions of this package (``gain(-6)``), never by hand; its parameters are strings,
so that a clip's key is the same on every machine. Edits are applied in order, to mono samples at the
source's own rate, before resampling: what an edit does then does not depend on which model listens.
A changed definition gets a new version, never the old number.

What is made of several clips is not an edit, but a rule of :mod:`pytest_audiobench.audio.combining`.
"""

from __future__ import annotations

import math

from pytest_audiobench.audio.clip import Edit, Samples, number, registered
from pytest_audiobench.audio.edits import channels, level_and_length, masks
from pytest_audiobench.audio.edits.channels import band_limit as band_limit
from pytest_audiobench.audio.edits.channels import cafe_noise as cafe_noise
from pytest_audiobench.audio.edits.channels import clipping as clipping
from pytest_audiobench.audio.edits.channels import codec as codec
from pytest_audiobench.audio.edits.channels import pink_noise as pink_noise
from pytest_audiobench.audio.edits.channels import reverb as reverb
from pytest_audiobench.audio.edits.channels import white_noise as white_noise
from pytest_audiobench.audio.edits.kind import EditKind, same_length
from pytest_audiobench.audio.edits.level_and_length import fragment as fragment
from pytest_audiobench.audio.edits.level_and_length import gain as gain
from pytest_audiobench.audio.edits.level_and_length import pad as pad
from pytest_audiobench.audio.edits.level_and_length import silence as silence
from pytest_audiobench.audio.edits.level_and_length import sixteen_bits as sixteen_bits
from pytest_audiobench.audio.edits.level_and_length import speed as speed
from pytest_audiobench.audio.edits.level_and_length import trim as trim
from pytest_audiobench.audio.edits.level_and_length import window as window
from pytest_audiobench.audio.edits.masks import mask as mask
from pytest_audiobench.audio.edits.masks import mask_part as mask_part

_KINDS = {(kind.name, kind.version): kind for kind in (*level_and_length.KINDS, *channels.KINDS, *masks.KINDS)}


def kind_of(edit: Edit) -> EditKind:
    """The registered kind of ``edit``. Raises UsageError, which names what is known."""
    return registered("edit", _KINDS, edit.name, edit.version)


def apply(edit: Edit, samples: Samples, rate_hz: int) -> Samples:
    """``samples``, shape (frames,), edited. Raises ValueError where the edit is not defined for them."""
    return kind_of(edit).apply(samples, rate_hz, edit.parameters, edit.seed)


def length_s(edits: tuple[Edit, ...], duration_s: float) -> float:
    """How long a source of ``duration_s`` lasts after ``edits``."""
    for edit in edits:
        duration_s = kind_of(edit).length_s(duration_s, edit.parameters)
    return duration_s


def move_time(edits: tuple[Edit, ...]) -> bool:
    """Whether what sounds at a time sounds at another one after ``edits``: those of another length move it."""
    return any(kind_of(edit).length_s is not same_length for edit in edits)


def reach_s(edits: tuple[Edit, ...], window_s: float) -> float | None:
    """How much of the source the first ``window_s`` after ``edits`` depend on; None for all of it."""
    reach = window_s
    for edit in reversed(edits):
        reach = kind_of(edit).reach_s(reach, edit.parameters)
    return None if math.isinf(reach) else reach


def excerpt_s(edits: tuple[Edit, ...]) -> tuple[float, float] | None:
    """Where the part of the source begins and ends that the first edit keeps, where that is a trim."""
    if not edits or kind_of(edits[0]).name != "trim":
        return None
    return number(edits[0].parameters, "start_s"), number(edits[0].parameters, "end_s")
