"""The trained listener of ``fixtures/listener``: heads with labels and networks of one hidden layer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.bundled.features import VERSION, Array, columns

_LARGEST = 5.0
"""Standardised inputs are clipped to this many standard deviations."""

SCHEMA = "audiobench.listener/1"
_SPEECH = "speech"


class Network(NamedTuple):
    """Inputs are standardised by ``mean`` and ``scale``; the hidden layer is rectified.

    Shapes: mean, scale (inputs,), hidden (inputs, units), hidden_bias (units,), output (units, labels),
    output_bias (labels,).
    """

    mean: Array
    scale: Array
    hidden: Array
    hidden_bias: Array
    output: Array
    output_bias: Array

    @classmethod
    def read(cls, tensors: Mapping[str, Array], name: str) -> Network:
        """The network whose tensors are named ``name.mean`` and so on."""
        return cls(*(tensors[f"{name}.{part}"].astype(np.float64) for part in cls._fields))

    def standardised(self, inputs: Array) -> Array:
        return np.clip((inputs - self.mean) / self.scale, -_LARGEST, _LARGEST)

    def scores(self, inputs: Array) -> Array:
        """One score (a log-odds or a logit) per label; ``inputs``: shape (…, inputs).

        Rounded to six decimals, so that machines whose sums differ in the last bits choose alike.
        """
        activity = np.maximum(self.standardised(inputs) @ self.hidden + self.hidden_bias, 0)
        return np.round(activity @ self.output + self.output_bias, 6)


@dataclass(frozen=True)
class Head:
    """One thing the listener can tell. ``cue`` is a pattern for questions that are about it.

    ``counts`` names another head: then the answer is how many of that head's labels are heard, and there is
    no network. A head with ``only_with_cue`` has labels so common ("yes") that its cue must be in the question.
    """

    name: str
    labels: tuple[str, ...]
    cue: str
    only_with_cue: bool
    groups: tuple[str, ...]
    counts: str | None = None


def normalised(option: str) -> str:
    """An option's text as the labels are written."""
    return option.strip().strip(".").casefold()


def listener_folder() -> Path:
    """Where the trained listener lies. Raises FatalError when the bundled files are missing."""
    from pytest_audiobench.datasets.bundled import fixtures_folder

    return fixtures_folder() / "listener"


def read_description() -> dict[str, Any]:
    """``listener.json``. Raises FatalError when it is missing or belongs to other features."""
    path = listener_folder() / "listener.json"
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FatalError(f"{path} cannot be read ({error}); install the package again") from None
    if description.get("schema") != SCHEMA or description.get("features") != VERSION:
        raise FatalError(
            f"{path} belongs to {description.get('schema')} and features {description.get('features')}, "
            f"this package to {SCHEMA} and features {VERSION}; train it again with fixtures/train_listener.py"
        )
    return dict(description)


def inputs_of(head: Head, vector: Array) -> Array:
    """The features that a head looks at; ``vector``: shape (…, features)."""
    return vector[..., columns(head.groups)]


@dataclass(frozen=True)
class Trained:
    """Heads in the order in which they are considered, and the networks by their heads' names."""

    heads: tuple[Head, ...]
    networks: Mapping[str, Network]

    @classmethod
    def read(cls) -> Trained:
        """The bundled one. Raises FatalError when its files are missing or of another version."""
        from safetensors.numpy import load_file

        heads = tuple(
            Head(**{**described, "labels": tuple(described["labels"]), "groups": tuple(described["groups"])})
            for described in read_description()["heads"]
        )
        tensors = load_file(listener_folder() / "listener.safetensors")
        return cls(heads, {head.name: Network.read(tensors, head.name) for head in heads if not head.counts})

    def head_for(self, choices: Sequence[str], question: str) -> Head | None:
        """The head whose labels hold every option: the first whose cue is in the question, else the first at all."""
        options = {normalised(option) for option in choices}
        able = [head for head in self.heads if options and options <= set(head.labels)]
        meant = [head for head in able if re.search(head.cue, question, re.IGNORECASE)]
        return next(iter(meant + [head for head in able if not head.only_with_cue]), None)

    def scores(self, head: Head, vector: Array) -> Array:
        """One score per label of a head for one clip's features."""
        if head.counts is None:
            return self.networks[head.name].scores(inputs_of(head, vector))
        counted = next(other for other in self.heads if other.name == head.counts)
        count = int((self.scores(counted, vector) > 0).sum())
        closeness: Array = -np.abs(np.arange(1.0, 1 + len(head.labels)) - count)
        return closeness

    def knows(self, sound: str) -> bool:
        """Whether it was trained to hear ``sound``: one of its ten, or speech."""
        return normalised(sound) == _SPEECH or normalised(sound) in self.head("sounds").labels

    def hears(self, sound: str, vector: Array) -> bool:
        """Whether a sound that it ``knows`` is in a clip with these features, whatever else is."""
        if normalised(sound) == _SPEECH:
            return self.choose(self.head(_SPEECH), ("yes", "no"), vector) == 0
        head = self.head("sounds")
        return bool(self.scores(head, vector)[head.labels.index(normalised(sound))] > 0.0)

    def head(self, name: str) -> Head:
        return next(head for head in self.heads if head.name == name)

    def choose(self, head: Head, choices: Sequence[str], vector: Array) -> int:
        """The place of the option with the highest score, the first among equals."""
        scores = self.scores(head, vector)
        return int(np.argmax([scores[head.labels.index(normalised(option))] for option in choices]))
