"""The scored rows of an eval: everything that its numbers and hashes need of its answers, and no text."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pytest_audiobench.datasets.spool import SeenIds
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.evaluate import FirstErrors
from pytest_audiobench.evaluation.hashes import ABSENT, answer_payload, audio_payload, sample_payload
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.score_columns import ScoreColumns
from pytest_audiobench.evaluation.scoring import ScoredSample, add_rows
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.identity import ListDigest
from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.records.run import ErrorRecord
from pytest_audiobench.rescoring.recorded_answers import RecordedRow


def sample_answers(row: RecordedRow) -> SampleAnswers:
    """A recorded row as a run holds an answer."""
    lengths = row.durations_s or (None,) * len(row.sample.clips)
    recording = row.recording or (row.clip_keys[0] if row.clip_keys else None)
    unchanged = None
    if row.unchanged is not None:
        before = replace(row.sample, clips=row.unchanged.clips)
        unchanged = SelectedSample(before, 0, row.unchanged.keys, row.unchanged.durations_s, None, recording)
    taken = SelectedSample(row.sample, 0, row.clip_keys, lengths, None, recording, unchanged)
    return SampleAnswers(
        taken, row.epoch, row.responses, row.keys, row.messages, row.error, row.verdicts, row.rewritten
    )


class ScoredRows:
    """The scored rows of one eval without their texts, by scorer; with them where a reader ``keeps`` them."""

    def __init__(self, first: RecordedRow, scorers: Sequence[Scorer], keeps: bool = False) -> None:
        self._fields = first.groups or ()
        self._cluster = first.cluster
        self._keeps = keeps
        self.rows: dict[str, list[ScoredSample]] = {scorer.name: [] for scorer in scorers}
        """Empty where they are not kept."""
        self.columns = {scorer.name: ScoreColumns() for scorer in scorers}
        self.data, self.answers, self._audio = ListDigest(), ListDigest(), ListDigest()
        self._heard = False
        self.answered = False
        """Whether any sample could be asked."""
        self._ids: list[SeenIds] = []
        self._odd: set[int] = set()
        """Epochs with a sample that the first has not."""
        self._clusters = array("q")
        self._failed = FirstErrors()

    @property
    def epochs(self) -> int:
        return len(self._ids)

    @property
    def samples(self) -> int:
        return len(self._ids[0]) if self._ids else 0

    @property
    def clustered(self) -> bool:
        return self.epochs > 1 or len(np.unique(np.array(self._clusters))) < self.samples

    def check_epochs(self, eval_: str) -> None:
        """Raises UsageError where epochs hold different samples."""
        for epoch, ids in enumerate(self._ids):
            if len(ids) != self.samples or epoch in self._odd:
                raise UsageError(f"{eval_}: epoch {epoch} holds other samples than epoch 0; the file was cut or mixed")

    @property
    def errors(self) -> list[ErrorRecord]:
        return self._failed.records

    def audio(self) -> str:
        """The audio's hash, as a run makes it: of the clips' keys, where any is known."""
        return self._audio.hexdigest() if self._heard else ABSENT

    def note(self, chunk: Sequence[RecordedRow], answered: Sequence[SampleAnswers]) -> list[Hashable]:
        """Take in what hashes and counts need; returns each row's cluster.

        Raises UsageError for a sample that is there twice.
        """
        for row in chunk:
            self._count(row)
        first_epoch = [row for row in chunk if row.epoch == 0]
        self.data.extend([sample_payload(row.sample) for row in first_epoch])
        for row in first_epoch:
            before = row.unchanged
            keys = row.clip_keys if before is None else audio_payload(row.clip_keys, before.keys)
            self._audio.extend([keys])
            self._heard = self._heard or row.clip_keys is not None
        self.answers.extend([answer_payload(answer) for answer in answered])
        self.answered = self.answered or any(answer.error is None for answer in answered)
        self._failed.add(answered)
        clusters = [self._cluster_of(row) for row in chunk]
        self._clusters.extend(map(hash, clusters))
        return clusters

    def keep(self, rows: Mapping[str, Sequence[ScoredSample]]) -> None:
        """Keep the rows of the chunk that was noted last."""
        for name, scored in rows.items():
            add_rows(self.columns[name], scored, self._fields)
            if self._keeps:
                self.rows[name].extend(scored)

    def _count(self, row: RecordedRow) -> None:
        if row.epoch > len(self._ids):
            raise UsageError(f"{row.eval} has answers of epoch {row.epoch} before any of epoch {len(self._ids)}")
        if row.epoch == len(self._ids):
            self._ids.append(SeenIds())
        if not self._ids[row.epoch].add(row.sample.id):
            raise UsageError(
                f"{row.eval} by {row.model} holds {row.sample.id!r} twice in epoch {row.epoch}: "
                "rows of two runs lie in one file; take them apart"
            )
        if row.epoch and row.sample.id not in self._ids[0]:
            self._odd.add(row.epoch)

    def _cluster_of(self, row: RecordedRow) -> Hashable:
        if self._cluster is not None:
            return str(row.sample.metadata.get(self._cluster, row.sample.id))
        return row.recording or (row.clip_keys[0] if row.clip_keys else row.sample.id)
