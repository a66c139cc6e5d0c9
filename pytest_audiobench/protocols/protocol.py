"""What an answer means: how a sample is put to a model, and how the answer is read and scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Message, Response, Settings

Status: TypeAlias = Literal["parsed", "unparsed", "refused", "empty", "out_of_range", "truncated"]
Earlier: TypeAlias = Mapping[str, Response]
"""The responses of a sample's earlier stages, by stage name."""


class Answer(NamedTuple):
    """An answer as read: its value (an option's letter, a transcript) when parsed, else why there is none."""

    status: Status
    value: str | None = None


@dataclass(frozen=True)
class Stage:
    """One request per sample. ``render`` sees the sample and earlier responses; it must not use the reference."""

    name: str
    render: Callable[[Sample, Earlier], tuple[Message, ...]]
    task: Literal["choice", "transcription", "open"] = "open"
    settings: Settings = field(default_factory=Settings)
    role: Literal["subject", "judge"] = "subject"


@dataclass(frozen=True)
class Reading:
    """A named, versioned way to read and score answers; its signature stands beside every number it yields.

    ``score`` returns a sample's sufficient statistics ({"correct": 1}, {"S": 1, "D": 0, "I": 0, "N": 7}).
    It is called for every answer that was asked for, whatever its status; ``metrics`` are names of the registry.
    """

    name: str
    signature: str
    parse: Callable[[Sample, Earlier], Answer]
    score: Callable[[Sample, Answer], Mapping[str, float]]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Protocol:
    """Prompt, and one or several readings of the same answers; the first is the headline."""

    name: str
    stages: tuple[Stage, ...]
    readings: tuple[Reading, ...]
    available: Mapping[str, Reading]

    def reading_as(self, *names: str) -> Protocol:
        """The same questions, read by the named readings, the first as the headline.

        Raises UsageError when a name is not among ``available``.
        """
        unknown = [name for name in names if name not in self.available]
        if unknown:
            raise UsageError(f"{self.name} has no protocol {unknown[0]!r}; it has {', '.join(sorted(self.available))}")
        return replace(self, readings=tuple(self.available[name] for name in names))
