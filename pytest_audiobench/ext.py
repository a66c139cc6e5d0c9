"""What a model, a protocol, a scorer, a metric, a data set or one's own perturbation is made of.

An extension is a package that registers such things under an entry point (:class:`Extension`); a conftest.py registers
them for the tests next to it (``pytest_audiobench_register``).
"""

from __future__ import annotations

from pytest_audiobench import _public_names

__getattr__, __dir__ = _public_names(__name__, __file__)
