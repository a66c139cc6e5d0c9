"""The scored rows of an eval: everything that its numbers and hashes need of its answers, and no text."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.evaluate import FirstErrors
from pytest_audiobench.evaluation.hashes import ABSENT, answer_payload, audio_payload, sample_payload
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.identity import ListDigest
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.records.run import ErrorRecord
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LONGEST_VALUE = 64
"""Characters. Longer parsed values are kept as digests: only whether two are equal matters later."""


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
    """The scored rows of one eval without their texts, by scorer; equal small mappings are kept once."""

    def __init__(self, first: RecordedRow, scorers: Sequence[Scorer]) -> None:
        self._fields = first.groups or ()
        self._cluster = first.cluster
        self.rows: dict[str, list[ScoredSample]] = {scorer.name: [] for scorer in scorers}
        self.data, self.answers, self._audio = ListDigest(), ListDigest(), ListDigest()
        self._heard = False
        self._slim: list[SampleAnswers] = []
        self._ids: list[set[str]] = []
        self._clusters: set[Hashable] = set()
        self._small: dict[Hashable, Mapping[str, Any]] = {}
        self._failed = FirstErrors()

    @property
    def epochs(self) -> int:
        return len(self._ids)

    @property
    def samples(self) -> int:
        return len(self._ids[0]) if self._ids else 0

    @property
    def clustered(self) -> bool:
        return self.epochs > 1 or len(self._clusters) < self.samples

    def check_epochs(self, eval_: str) -> None:
        """Raises UsageError where epochs hold different samples."""
        for epoch, ids in enumerate(self._ids):
            if ids != self._ids[0]:
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
        self._failed.add(answered)
        clusters = [self._cluster_of(row) for row in chunk]
        self._clusters.update(clusters)
        self._slim = [self._slim_answers(answer, cluster) for answer, cluster in zip(answered, clusters, strict=True)]
        return clusters

    def keep(self, rows: Mapping[str, Sequence[ScoredSample]]) -> None:
        """Keep the rows of the chunk that was noted last."""
        for name, scored in rows.items():
            self.rows[name].extend(
                [
                    row._replace(
                        answers=slim,
                        answer=None if row.answer is None else _bounded_answer(row.answer),
                        scores=None if row.scores is None else self._once(row.scores),
                    )
                    for row, slim in zip(scored, self._slim, strict=True)
                ]
            )

    def _count(self, row: RecordedRow) -> None:
        if row.epoch > len(self._ids):
            raise UsageError(f"{row.eval} has answers of epoch {row.epoch} before any of epoch {len(self._ids)}")
        if row.epoch == len(self._ids):
            self._ids.append(set())
        if row.sample.id in self._ids[row.epoch]:
            raise UsageError(
                f"{row.eval} by {row.model} holds {row.sample.id!r} twice in epoch {row.epoch}: "
                "rows of two runs lie in one file; take them apart"
            )
        self._ids[row.epoch].add(row.sample.id)

    def _cluster_of(self, row: RecordedRow) -> Hashable:
        if self._cluster is not None:
            return str(row.sample.metadata.get(self._cluster, row.sample.id))
        return row.recording or (row.clip_keys[0] if row.clip_keys else row.sample.id)

    def _slim_answers(self, answers: SampleAnswers, cluster: Hashable) -> SampleAnswers:
        metadata = answers.selected.sample.metadata
        groups = self._once({name: metadata[name] for name in self._fields if name in metadata})
        sample = Sample(answers.sample_id, (), "", metadata=groups)
        taken = SelectedSample(sample, 0, (str(cluster),), (), None, str(cluster))
        return SampleAnswers(taken, answers.epoch, _NOTHING, _NOTHING, _NOTHING, answers.error and "failed")

    def _once(self, small: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._small.setdefault(tuple(small.items()), small)


def _bounded_answer(answer: Answer) -> Answer:
    if answer.value is None or len(answer.value) <= _LONGEST_VALUE:
        return answer
    return Answer(answer.status, hashlib.sha256(answer.value.encode("utf-8", "surrogatepass")).hexdigest())
