"""Which domains a model fails in more often than in all others, whether that holds up, and what it said there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.protocols.unspoken import unspoken
from pytest_audiobench.runs.found import METRIC, STATISTIC, Seen, found_of
from pytest_audiobench.runs.record import FindingsRecord
from pytest_audiobench.runs.scoring import Scored
from pytest_audiobench.stats.findings import STATUSES

if TYPE_CHECKING:
    from pytest_audiobench.plugin.evaluator import Evaluator


def findings(
    evaluate: Evaluator, dataset: Dataset, protocol: Protocol | None = None, *, by: str = "domain", seed: int = 0
) -> FindingsRecord:
    """Ask about ``dataset`` and put on record in which of its domains the model makes words up more often.

    ``by`` is the metadata field that names a sample's domain. ``seed`` is that of the split into discovery and holdout,
    which depends on it and on the clusters' names only; another seed is another split of the same answers. The
    protocol is ``unspoken()`` unless given. Nothing is required: thresholds may be. Where the
    readings that the run was asked for count no made-up words, the record has no findings and says why. Raises
    UsageError for a sample without the field, and for a cluster that lies in two domains.
    """
    result = evaluate(dataset, unspoken() if protocol is None else protocol)
    reading = result.reading_of(METRIC)
    rows = [] if reading is None else [_seen(row, by) for row in result.rows_by(reading) if row.scores is not None]
    if reading is None or not rows:
        result.record.warnings.append(f"no findings: no answer was read by a protocol that has {METRIC}")
        return FindingsRecord((), None, dict.fromkeys(STATUSES, 0), {})
    result.record.findings = found_of(rows, by, str(seed), reading.signature)
    return result.record.findings


def _seen(row: Scored, by: str) -> Seen:
    sample = row.answered.taken.sample
    if sample.metadata.get(by) is None:
        raise UsageError(f"sample {sample.id!r} has no {by!r} in its metadata: add it, or give findings another by=")
    assert row.scores is not None
    said = row.answer.value if row.answer is not None else None
    return Seen(sample.id, str(row.cluster), str(sample.metadata[by]), bool(row.scores[STATISTIC]), said or "")
