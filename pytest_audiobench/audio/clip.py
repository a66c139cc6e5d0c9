"""A clip: where sound comes from and what is done to it; decoded only when it is played to a model."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import Payload, digest

Samples: TypeAlias = npt.NDArray[np.float32]
"""Mono waveform, shape (frames,), nominally within [-1, 1]."""

Parameters: TypeAlias = tuple[tuple[str, str], ...]
"""Names and texts: what edits, recipes and rules are identified by, the same on every machine."""

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class DataRoot:
    """A named folder of audio. The name travels; the folder is this machine's business."""

    name: str
    """That of the data set, by which messages and records know it."""
    folder: Path = field(compare=False, repr=False)
    """It enters no identity."""
    listing: str = field(default="", compare=False, repr=False)
    """The name of the list that names its files, for messages."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """An audio file inside a data root; ``path`` is relative, with forward slashes, and never leaves the root."""

    root: DataRoot
    """Where the path begins."""
    path: str
    line: int = field(default=0, compare=False, repr=False)
    """That of the list which names it, from 1 on; 0 where none does."""

    @property
    def location(self) -> Path:
        """The file on this machine."""
        return self.root.folder / PurePosixPath(self.path)

    def __str__(self) -> str:
        return f"{self.root.name}:{self.path}"


@dataclass(frozen=True, slots=True)
class CellSource:
    """Audio in a cell of a Parquet file: the bytes of an audio file, or a waveform.

    It is identified by its content alone, as the same bytes in a file and the same waveform in memory are.
    """

    file: FileSource
    column: str
    row_group: int
    row: int
    """Within its group, from 0 on, as the group is."""
    rate_hz: int | None = None
    """That of a waveform; None for the bytes of a file, which say it."""

    def __str__(self) -> str:
        return f"{self.file}, row group {self.row_group}, row {self.row}, {self.column}"


@dataclass(frozen=True, slots=True)
class ArraySource:
    """A waveform in memory; its digest covers the float32 little-endian bytes and the rate."""

    name: str
    rate_hz: int
    digest: str
    samples: Samples = field(compare=False, repr=False)

    @classmethod
    def of(cls, samples: npt.ArrayLike, rate_hz: int, name: str = "array") -> ArraySource:
        """``samples``: shape (frames,) or (frames, channels), averaged to mono."""
        wave = np.array(samples, dtype=np.float32)  # a copy: the digest must stay true
        if wave.ndim == 2:
            wave = wave.mean(axis=1, dtype=np.float32)
        return cls(name=name, rate_hz=rate_hz, digest=waveform_digest(wave, rate_hz), samples=wave)

    def __str__(self) -> str:
        return f"{self.name} ({len(self.samples) / self.rate_hz:.2f} s)"


@dataclass(frozen=True, slots=True)
class SynthesisSource:
    """A recipe of :mod:`pytest_audiobench.audio.synthesis`: name, version and parameters as strings."""

    recipe: str
    version: int
    parameters: Parameters

    @property
    def payload(self) -> Payload:
        return {"recipe": self.recipe, "version": self.version, "parameters": [list(p) for p in self.parameters]}

    @property
    def digest(self) -> str:
        return digest(self.payload)

    @property
    def duration_s(self) -> float:
        return number(self.parameters, "duration_s")

    def __str__(self) -> str:
        return f"{self.recipe}({', '.join(f'{k}={v}' for k, v in self.parameters)})"


@dataclass(frozen=True, slots=True)
class CombinedSource:
    """Sound made of several clips by a rule of :mod:`pytest_audiobench.audio.combining`, at its own rate.

    Every clip is played at ``rate_hz``, and the rule makes one waveform of them; parameters are strings, ``seed`` is
    that of the rule's random choices.
    """

    rule: str
    version: int
    rate_hz: int
    clips: tuple[Clip, ...]
    parameters: Parameters = ()
    seed: str | None = None

    def payload(self, clips: Sequence[Payload]) -> Payload:
        """The source as JSON values, given its clips' keys (whose digest is the source's) or recipes, in order."""
        return {
            "rule": self.rule,
            "version": self.version,
            "rate_hz": self.rate_hz,
            "clips": list(clips),
            "parameters": [list(p) for p in self.parameters],
            "seed": self.seed,
        }

    def __str__(self) -> str:
        names = [str(clip) for clip in self.clips[:_MOST_NAMES]]
        if len(self.clips) > _MOST_NAMES:
            names.append(f"{len(self.clips) - _MOST_NAMES} more")
        return f"{self.rule}({', '.join(names)})"


Source: TypeAlias = FileSource | CellSource | ArraySource | SynthesisSource | CombinedSource


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a waveform, by name, version, parameters (as strings) and seed."""

    name: str
    version: int
    parameters: Parameters = ()
    seed: str | None = None

    @property
    def payload(self) -> Payload:
        return {
            "name": self.name,
            "version": self.version,
            "parameters": [list(p) for p in self.parameters],
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Clip:
    """Immutable sound: a source and the edits made to it, in order."""

    source: Source
    """A file, a waveform in memory, a recipe or a rule over other clips."""
    edits: tuple[Edit, ...] = ()
    """As they are applied."""

    def edited(self, *edits: Edit) -> Clip:
        """The clip with ``edits`` behind those that it has."""
        return Clip(self.source, self.edits + edits)

    def key_from(self, source_digest: str) -> str:
        """The clip's identity, given the SHA-256 of the source's encoded bytes."""
        if not self.edits:
            return source_digest
        return digest({"source": source_digest, "edits": [edit.payload for edit in self.edits]})

    def __str__(self) -> str:
        return f"{self.source}{''.join(f' + {edit.name}' for edit in self.edits)}"


@dataclass(frozen=True, slots=True)
class PlayedAudio:
    """What a model was really played."""

    samples: Samples
    """Mono float32, shape (frames,), nominally within [-1, 1]."""
    rate_hz: int
    """The model's."""
    pcm_digest: str
    """SHA-256 of the float32 little-endian bytes."""
    source_rate_hz: int
    """The source's own."""
    frames: int
    """The source's, at its own rate: counted where all of it was read, else what its header promises."""
    decoder: str
    """The library that decoded it, with its version."""
    truncated_s: float = 0.0
    """How much of the clip's end was cut off for the model's window."""

    @property
    def duration_s(self) -> float:
        """Of what was played, in seconds."""
        return len(self.samples) / self.rate_hz


def waveform_digest(samples: Samples, rate_hz: int) -> str:
    """What identifies a mono waveform."""
    content = hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data)
    content.update(str(rate_hz).encode())
    return content.hexdigest()


def decimal(name: str, value: float, *, least: float = -math.inf) -> str:
    """The shortest text that reads back as ``value``: "6" for 6 and 6.0, so that equal values have equal keys.

    Raises UsageError for what is no number, NaN, infinity and values below ``least``.
    """
    try:
        number = float(value) + 0.0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name}={str(value)[:80]} is not a finite number; give one")
    if number < least:
        raise UsageError(f"{name}={value} is below {least:g}, the least that makes sense; give a larger one")
    return repr(number).removesuffix(".0")


def number(parameters: Parameters, name: str) -> float:
    """The parameter ``name`` as a number. Raises UsageError when it is missing or no finite number."""
    text = dict(parameters).get(name)
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(
            f"the parameter {name}={text!r} is not a finite number; make edits and recipes by their functions"
        )
    return value


Kind = TypeVar("Kind")


def registered(what: str, kinds: Mapping[tuple[str, int], Kind], name: str, version: int) -> Kind:
    """The kind of that name and version; ``what`` says what it is one of. Raises UsageError, naming those there are."""
    kind = kinds.get((name, version))
    if kind is None:
        known = ", ".join(f"{kind_name} version {number}" for kind_name, number in sorted(kinds))
        raise UsageError(f"no {what} is named {name!r} in version {version}; there are {known}")
    return kind
