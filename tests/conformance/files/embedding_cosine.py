"""Cosines of scikit-learn, SciPy and sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.metrics.definitions.captions import cosines

Json = Any


def _cosine(params: Mapping[str, Json], inputs: Json) -> float:
    return float(cosines([inputs["a"]], [inputs["b"]])[0])


SCORERS = {"cosine_scipy": _cosine, "cosine_sklearn": _cosine, "cosine_st": _cosine}
OUT: dict[str, str] = {}
DIFFERS = {
    "embedding_cosine/cosine_scipy-003": "a vector of zeros has cosine 0 here, as in scikit-learn; SciPy says NaN",
    **{
        f"embedding_cosine/cosine_{library}-006": "components of 1e200 overflow when they are squared; here they are "
        "scaled first, and the cosine is the true one"
        for library in ("scipy", "sklearn", "st")
    },
}
