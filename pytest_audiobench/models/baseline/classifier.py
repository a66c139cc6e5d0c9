"""A network of one hidden layer, in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pytest_audiobench.models.baseline.features import Array

_LARGEST = 5.0
"""Standardised inputs are held within this many standard deviations."""


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
    def named(cls, tensors: Mapping[str, Array], name: str) -> Network:
        """The network whose tensors are called ``name.mean`` and so on."""
        return cls(*(tensors[f"{name}.{part}"].astype(np.float64) for part in cls._fields))

    def standardised(self, inputs: Array) -> Array:
        return np.clip((inputs - self.mean) / self.scale, -_LARGEST, _LARGEST)

    def scores(self, inputs: Array) -> Array:
        """One score (a log-odds or a logit) per label; ``inputs``: shape (…, inputs).

        Rounded to six decimals, so that machines whose sums differ in the last bits choose alike.
        """
        activity = np.maximum(self.standardised(inputs) @ self.hidden + self.hidden_bias, 0)
        return np.round(activity @ self.output + self.output_bias, 6)
