"""A suite's evals as one side: samples pooled, not means, as a run's own suites are (``evaluation/suites.py``)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audiobench.evaluation.comparable import ComparableEval, ComparableSample
from pytest_audiobench.evaluation.curve_records import unperturbed
from pytest_audiobench.identity import digest_of_trusted
from pytest_audiobench.metrics.registry import is_known, metric_kind


def pooled(sides: Sequence[ComparableEval], scorer: str) -> ComparableEval:
    """The evals ``sides`` of one suite, all read by ``scorer``, as one side with the metrics that can be pooled.

    A cluster that the data name holds across the suite; a sample's id is unique in its own data set only.
    """
    first = sides[0]
    names = dict.fromkeys(name for side in sides for name in side.metrics.get(scorer, ()))
    return ComparableEval(
        source=first.source,
        eval=f"{first.suite} (pooled)",
        suite=first.suite,
        model=first.model,
        spec=first.spec,
        dataset=" + ".join(side.dataset for side in sides),
        protocol=first.protocol,
        epochs=max(side.epochs for side in sides),
        limited=any(side.limited for side in sides),
        cluster=None,
        scorers={scorer: first.scorers[scorer]},
        metrics={scorer: [name for name in names if is_known(name) and metric_kind(name).poolable]},
        hashes=_hashes(sides),
        rows=[_row(side, row) for side in sides for row in side.rows],
    )


def _hashes(sides: Sequence[ComparableEval]) -> dict[str, str]:
    """What tells whether one model gave the same answers in all of them; empty where one of them does not know."""
    if not all("run_hash" in side.hashes for side in sides):
        return {}
    return {
        name: digest_of_trusted([[side.eval, side.hashes.get(name)] for side in sides])
        for name in ("run_hash", "verdicts")
    }


def _row(side: ComparableEval, row: ComparableSample) -> ComparableSample:
    own = row.cluster in (None, row.sample_id)
    return row._replace(
        sample_id=f"{side.eval} {row.sample_id}",
        cluster=f"{unperturbed(side.dataset, side.perturbation)} {row.sample_id}" if own else row.cluster,
    )
