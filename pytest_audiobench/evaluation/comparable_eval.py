"""One eval by one model as another run of it can be compared with: a row per sample, and what was hashed.

Whether it comes from the evals of this process, from a run's files or from a baseline, it looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_audiobench.evaluation.answer_collection import as_played
from pytest_audiobench.evaluation.comparable_samples import ComparableRows, ComparableSample, in_columns
from pytest_audiobench.evaluation.hashes import settings_hash
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import messages_payload
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import Selection, cluster_of
from pytest_audiobench.identity import digest_of_trusted
from pytest_audiobench.protocols.protocol import Protocol, encoder_of, first_wording_stages, opening_stages
from pytest_audiobench.records.fields import Status
from pytest_audiobench.records.run import ItemRecord, NoiseRecord, PerturbationRecord

DIGITS = 16
"""Hexadecimal digits of a sample's digests: 64 bits tell a changed clip from the same one."""

NEVER_COMPARED = "figures by different encoders are never compared: name one for both by --ab-encoder=static|minilm"


@dataclass(frozen=True)
class ComparableEval:
    """One eval by one model."""

    source: str
    """Where it comes from, for people."""
    eval: str
    suite: str
    model: str
    """The alias of ``spec``."""
    spec: str
    dataset: str
    protocol: str
    epochs: int
    limited: bool
    cluster: str | None
    """The metadata field that names the clusters; None: the clip."""
    scorers: Mapping[str, str]
    """Signatures by name, the headline first."""
    metrics: Mapping[str, Sequence[str]]
    """The names of what each scorer measures."""
    hashes: Mapping[str, str]
    """An item's (``evaluation/hashes.py``)."""
    rows: Sequence[ComparableSample]
    """Each sample once in each epoch."""
    noise: NoiseRecord | None = None
    """The model's noise floor where it has been measured (``evaluation/model_handle.py``)."""
    perturbation: PerturbationRecord | None = None
    """None for none, and where the source does not know it (a baseline's file)."""
    stored: int = 0
    """How many of its answers came from the store, as far as the source knows."""

    @property
    def headline(self) -> str:
        """The name of the first scorer."""
        return next(iter(self.scorers))

    @cached_property
    def columns(self) -> ComparableRows:
        """The rows, where something is done to all of them."""
        return in_columns(self.rows)


def same_answers(first: ComparableEval, other: ComparableEval) -> bool:
    """Whether one model, asked the same, said the same, and any judges too."""
    known = "run_hash" in first.hashes
    return known and all(first.hashes.get(name) == other.hashes.get(name) for name in ("run_hash", "verdicts"))


def other_encoders(first: str, other: str) -> tuple[str, str] | None:
    """The encoders of two scorers' signatures where each has one and they are not the same."""
    encoders = encoder_of(first), encoder_of(other)
    return encoders if all(encoders) and encoders[0] != encoders[1] else None


def comparable_eval(
    record: ItemRecord, rows: Sequence[ComparableSample], source: str = "this run", spec: str = ""
) -> ComparableEval:
    """The comparable form of an eval, from its record and its rows (:func:`comparable_rows` for those just scored)."""
    return ComparableEval(
        source=source,
        model=record.model,
        spec=spec,
        **eval_facts(record),
        scorers={scorer.name: scorer.signature for scorer in record.scorers},
        metrics=metrics_by_scorer([(metric.scorer, metric.name) for metric in record.metrics if not metric.group]),
        rows=rows,
    )


def eval_facts(record: object) -> dict[str, Any]:
    """What every record of an eval says of it by the same names, in the order of a baseline's file."""
    names = ("eval", "suite", "dataset", "protocol", "epochs", "limited", "cluster", "hashes")
    return {name: getattr(record, name) for name in names}


def comparable_ahead(
    eval_: str, handle: ModelHandle, selection: Selection, protocol: Protocol, epochs: int
) -> ComparableEval:
    """The comparable form of an eval before anything is asked: no scores, and each row that can be asked counts as
    answered, so that what a baseline lacks, or knows with other audio or another prompt, shows before hours of asking.
    """
    return ComparableEval(
        source="this run",
        eval=eval_,
        suite="",
        model=handle.alias,
        spec=handle.spec,
        dataset=selection.dataset.name,
        protocol=protocol.name,
        epochs=epochs,
        limited=selection.limited,
        cluster=selection.dataset.cluster,
        scorers={scorer.name: scorer.signature for scorer in protocol.scorers},
        metrics={scorer.name: scorer.metrics for scorer in protocol.scorers},
        hashes={"settings": settings_hash(protocol)},
        rows=in_columns(row for epoch in range(epochs) for row in _rows_ahead(selection, protocol, epoch)),
    )


def _rows_ahead(selection: Selection, protocol: Protocol, epoch: int) -> Iterator[ComparableSample]:
    for selected in selection.samples:
        openings = () if selected.error else protocol.openings
        played = {stage.name: stage.messages(as_played(selected, stage).sample, {}) for stage in openings}
        status: Status = "error" if selected.error else "parsed"
        yield ComparableSample(
            sample_id=selected.sample.id,
            epoch=epoch,
            audio=audio_digest(selected.clip_keys),
            prompt=prompt_digest({stage: messages_payload(messages) for stage, messages in played.items()}),
            cluster=None,
            groups={},
            statuses=dict.fromkeys([scorer.name for scorer in protocol.scorers], status),
            scores={scorer.name: None if selected.error else {} for scorer in protocol.scorers},
            truth=truth_digest(selected.sample.choices, selected.sample.reference, selected.sample.references),
        )


def metrics_by_scorer(pairs: Sequence[tuple[str | None, str]]) -> dict[str, list[str]]:
    """The names of metrics by scorer, in order, from (scorer, name) pairs; numbers of a test's own are left out."""
    names: dict[str, list[str]] = {}
    for scorer, name in pairs:
        if scorer is not None and name not in names.setdefault(scorer, []):
            names[scorer].append(name)
    return names


def audio_digest(clip_keys: Sequence[str | None] | None) -> str | None:
    """The digest of a sample's clips, in order; None where a clip's identity is not known."""
    if clip_keys is None or None in clip_keys:
        return None
    return digest_of_trusted(list(clip_keys))[:DIGITS]


def prompt_digest(messages: Mapping[str, object]) -> str | None:
    """The digest of the messages of the stages that ask of the sample alone, one for each wording; None where they are
    not known. ``messages`` are the subject's as plain lists (``evaluation/requests.py``), by stage, in order.
    """
    openings = [messages[stage] for stage in opening_stages(messages)]
    if not openings or None in openings:
        return None
    return digest_of_trusted(openings if len(openings) > 1 else openings[0])[:DIGITS]


def truth_digest(choices: Sequence[str], reference: str, references: Sequence[str]) -> str:
    """The digest of what an answer is compared with."""
    return digest_of_trusted([list(choices), reference, list(references)])[:DIGITS]


def comparable_rows(record: ItemRecord, rows: Mapping[str, Sequence[ScoredSample]]) -> Iterator[ComparableSample]:
    """The rows of an eval that was just evaluated, from those of each scorer."""
    for scorers in zip(*rows.values(), strict=True):
        first = scorers[0]
        answers = first.answers
        sample = answers.selected.sample
        metadata = sample.metadata
        responses = answers.responses
        messages = {stage: messages_payload(messages) for stage, messages in answers.messages.items()}
        # A sample that failed in one wording was not asked in those behind it.
        partly = answers.error is not None and len(opening_stages(messages)) > 1
        answering = first_wording_stages(responses)
        yield ComparableSample(
            sample_id=answers.sample_id,
            epoch=answers.epoch,
            audio=audio_digest(answers.selected.clip_keys),
            prompt=None if partly else prompt_digest(messages),
            cluster=cluster_of(answers.selected, record.cluster),
            groups={name: str(metadata[name]) for name in record.groups if name in metadata},
            statuses={
                name: "error" if row.answer is None else row.answer.status
                for name, row in zip(rows, scorers, strict=True)
            },
            scores={name: row.scores for name, row in zip(rows, scorers, strict=True)},
            failures=first.failures,
            text=responses[answering[-1]].text if answering else None,
            truth=truth_digest(sample.choices, sample.reference, sample.references),
        )
