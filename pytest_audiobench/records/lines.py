"""The line files of a run: one JSON object a line, all files in one order of evals, epochs and samples.

predictions.jsonl holds the texts, a row for each stage; processed_predictions.jsonl what each scorer parsed;
scored_predictions.jsonl its statistics; compared_predictions.jsonl, only with a baseline, what that says of a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from pytest_audiobench.records.fields import Count, Number, Record, Status

LINE_FILES = {
    "predictions": "predictions.jsonl",
    "processed": "processed_predictions.jsonl",
    "scored": "scored_predictions.jsonl",
}
COMPARED_FILE = "compared_predictions.jsonl"

Prompt: TypeAlias = Sequence[tuple[Literal["system", "user", "assistant"], Sequence[str | int]]]
"""Messages as (role, parts): a part is a text, or the number of a clip."""
Field: TypeAlias = str | int | float | bool | None
"""A value of a sample's metadata."""


class OutputRow(Record, frozen=True, omit_defaults=True):
    """One answer."""

    text: str
    finish: Literal["stop", "length", "refusal", "unknown"]
    """"length" when the limit of tokens cut it."""
    parts: Sequence[tuple[Literal["text", "audio"], str]] | None = None
    """What it was made of, where that is more than one text: texts, and audio by digest."""
    score: Number | None = None


class AudioRow(Record, frozen=True):
    """A clip as it was played."""

    source: str
    """A file's name under a data folder, or what the clip is."""
    key: str | None
    """Its identity; None where its file is not available."""
    duration_s: Annotated[float, Meta(ge=0.0, lt=1e9)] | None
    truncated_s: Number
    """What the model's window cut off its end."""


class SoundRow(Record, frozen=True):
    """The audio of an answer."""

    digest: str
    """SHA-256 of its file, which is next to the store."""
    seconds: Number
    rate_hz: Count
    silence: Number
    """The share of it in which nothing is heard."""
    clipping: Number
    """The share of its samples at full scale or beyond."""


class SampleRow(Record, frozen=True, kw_only=True):
    """One sample of an eval by a model in one epoch."""

    eval: str
    model: str
    """The model's alias."""
    dataset: str
    sample_id: str
    epoch: Count


class QuestionRow(SampleRow, frozen=True, kw_only=True):
    """A sample with its question and truth."""

    question: str
    choices: Sequence[str]
    reference: str
    references: Sequence[str]
    """All references where there are several."""


class PredictionRow(QuestionRow, frozen=True, kw_only=True, omit_defaults=True):
    """One stage of one sample in one epoch: what was asked and what came back."""

    metadata: Mapping[str, Field]
    recording: str | None = None
    """The recording that the first clip was made of, where a perturbation changed it."""
    stage: str
    role: Literal["subject", "judge", "extractor", "rewriter"] = "subject"
    key: str | None
    """The request's; None where the sample was not asked."""
    prompt: Prompt | None
    """None where it was not asked."""
    outputs: Sequence[OutputRow]
    usage: Mapping[str, int]
    """Tokens, as far as the model reports it."""
    error: str | None
    unchanged: bool = False
    """Whether the clips were played as they were before the perturbation."""
    audio: Sequence[AudioRow]
    sounds: Sequence[SoundRow] = ()
    """The audio of the outputs' parts."""
    recipes: Sequence[Any] | None = None
    """How the clips are made that are more than a file, in the first row of a sample's first epoch."""


class BarePredictionRow(PredictionRow, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=False):
    """A prediction's row as scoring takes it: also of a file that lies alone, and says no more than it must."""

    references: Sequence[str] = ()
    metadata: Mapping[str, Field] = {}
    prompt: Prompt | None = None
    usage: Mapping[str, int] = {}


class AnswerOutput(Record, frozen=True, forbid_unknown_fields=False):
    """One answer, as a replay takes it."""

    text: str
    finish: str = "unknown"
    parts: Sequence[tuple[str, str]] | None = None
    score: Number | None = None


class AnswerRow(Record, frozen=True, forbid_unknown_fields=False, kw_only=True):
    """What a replay takes of a prediction's row. A file of answers from elsewhere needs no more of one than this."""

    eval: str
    model: str
    dataset: str
    sample_id: str
    stage: str
    epoch: Count
    outputs: Sequence[AnswerOutput]
    usage: Mapping[str, Any] | None = None
    error: str | None = None
    unchanged: bool = False
    sounds: Sequence[SoundRow] = ()


class EarlierAnswer(Record, frozen=True):
    """The answer that a scorer compares this one with."""

    status: Status
    value: str | None


class ScorerRow(SampleRow, frozen=True, kw_only=True):
    """A sample as one scorer saw it."""

    scorer: str
    status: Status


class ProcessedRow(ScorerRow, frozen=True, kw_only=True, omit_defaults=True):
    """What one scorer parsed from one sample's answer in one epoch."""

    value: str | None
    """What was parsed; None where nothing was."""
    before: EarlierAnswer | None = None
    details: str | None = None
    """What the page shows of the sample beyond numbers, in JSON, where the scorer has more to show."""


class ScoredRow(ScorerRow, frozen=True, kw_only=True):
    """One scorer's statistics of one sample in one epoch. Nothing here differs between two runs of the same answers."""

    scores: Mapping[str, Number] | None
    """None where the asking failed or the scorer leaves the answer out."""
    failures: Sequence[str]
    """The classes of failures that the answer shows."""
    groups: Mapping[str, str]
    """The metadata that numbers are reported by."""
    cluster: str | None


class BaselineAnswer(Record, frozen=True):
    """A sample in the baseline, as the headline scorer read it."""

    status: Status
    scores: Mapping[str, Number] | None
    text: str | None
    """None where the baseline keeps no texts."""
    failures: Sequence[str]


class ComparedRow(Record, frozen=True, kw_only=True):
    """What the baseline holds of a sample in a pair."""

    eval: str
    model: str
    sample_id: str
    epoch: Count
    scorer: str
    change: Literal["worse", "better", "same"]
    """What became of the sample's own score."""
    before: BaselineAnswer


class ExcerptRow(Record, frozen=True, kw_only=True):
    """The beginning of a clip as the model was played it, next to an eval's rows, for the page."""

    eval: str
    model: str
    sample_id: str
    clip: Count
    """The clip's number within its sample."""
    version: Literal["", "changed", "clean", "answer"]
    """"clean" for the clip before a perturbation changed it, "changed" for that after, empty where none did; "answer"
    for what the model said.
    """
    rank: Count
    """Why it is wanted, the most wanted first."""
    seconds: Number
    whole_s: Number
    """How long the whole was played for."""
    mp3: str
    """In base64."""


class ScoredAnswer(Record, frozen=True):
    """What one scorer made of a sample."""

    status: Status
    value: str | None
    scores: Mapping[str, Number]
    """Its statistics; empty where it has none."""


class SampleRecord(QuestionRow, frozen=True, kw_only=True):
    """One sample in one epoch, with all line files joined: what was asked, what was answered, how it was scored."""

    text: str | None
    """The answer; None where there is none."""
    finish: str | None
    error: str | None
    """Why asking failed."""
    stages: Mapping[str, Sequence[str]]
    """The texts of each stage's outputs."""
    audio: Sequence[AudioRow]
    scorers: Mapping[str, ScoredAnswer]
    """The headline first."""
    groups: Mapping[str, str]
    cluster: str | None
