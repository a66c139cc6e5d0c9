"""What tests of readers share: a file's rows, and its figures by one scorer."""

from pathlib import Path

import pytest

from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

FILES = Path(__file__).parent / "files"
OUTPUTS = Path(__file__).parents[4] / "shared" / "data" / "outputs"

needs_outputs = pytest.mark.skipif(not OUTPUTS.is_dir(), reason="other tools' recorded outputs are not on this machine")


def rows_of(file):
    return list(source_of(file).rows())


def figure(file, metric, scorer=""):
    """The metric of the only eval of ``file`` by ``scorer``, or by the one that the file's tool follows."""
    scorer = scorer or rows_of(file)[0].scorer
    (item,) = rescore(source_of(file), ScoringOptions(scorers=(scorer,))).items
    return next(
        score.value for score in item.metrics if (score.name, score.scorer) == (metric, scorer) and not score.group
    )


def mean_of_own(file, metric):
    """The mean of what the tool itself made of each answer that was had."""
    own = [row.stored[metric] for row in rows_of(file) if row.error is None]
    return sum(own) / len(own)
