"""The rows that every layout of recorded answers is read into, and their texts made valid as the store does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import Clip, DataRoot
from pytest_audiobench.audio.clip_record import Recipe, RecordedSource
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer, answers_of
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_store import LONGEST_TEXT, repaired
from pytest_audiobench.models.messages import Message, Output, Part, Response
from pytest_audiobench.protocols.protocol import Role

RECORDED_JUDGE = "recorded"
_NAMED = 5


class Played(NamedTuple):
    """Clips with their keys, where these are known, and lengths."""

    clips: tuple[Clip, ...]
    keys: tuple[str, ...] | None
    durations_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One sample in one epoch, as it was recorded. A layout's reader yields an eval's rows one after the other."""

    sample: Sample
    responses: Mapping[str, Response]
    """By stage, "answer" where a layout knows no stages."""
    eval: str
    dataset: str
    model: str
    epoch: int = 0
    error: str | None = None
    """Why the sample could not be asked."""
    stored: Mapping[str, Any] = field(default_factory=dict)
    """What the file itself says of the row, and of how the answer was parsed and scored."""
    family: str = ""
    """The question's family of protocols as ``--family`` names it; empty where the layout does not say."""
    groups: tuple[str, ...] | None = None
    """Metadata fields, as of a :class:`Dataset`."""
    cluster: str | None = None
    clip_keys: tuple[str, ...] | None = None
    durations_s: tuple[float | None, ...] = ()
    note: str = ""
    """What a reader of the numbers must know of the layout, the same for all its rows."""
    verdicts: Mapping[str, Response] = field(default_factory=dict)
    """The judges' of the answer, by stage."""
    messages: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    """By stage, where the layout keeps them."""
    recording: str | None = None
    """The key of the recording that a perturbation changed, where the layout knows of one."""
    unchanged: Played | None = None
    """What a stage was played that is about the clips before their perturbation."""
    options: Mapping[str, Any] = field(default_factory=dict)
    rewritten: Mapping[str, Response] = field(default_factory=dict)
    """The rewriters' texts, by stage."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Who is asked, by stage; empty for a file that does not say."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The requests' keys, by stage, where the layout keeps them."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the tool that wrote the file says of the whole eval, by metric; the same for all its rows."""
    scorer: str = ""
    """The scorer that follows that tool's own rule; "" where none is known to."""
    scorers: tuple[str, ...] = ()
    """Those that fit, where none is named."""


def clip_named(source: str, recipe: Recipe = None) -> Clip:
    """A clip that is known by its recorded name, and its recipe where it has one, and never decoded."""
    return Clip(RecordedSource(_NOWHERE, source, recipe))


_NOWHERE = DataRoot("recorded", Path())


def valid_row(row: RecordedRow) -> tuple[RecordedRow, int]:
    """``row`` with valid texts of bounded length only, and how many had to be changed (halves of a surrogate pair)."""
    whole = "".join(_texts_of(row))
    # One look at all of them: nearly every row is sound.
    if len(whole) <= LONGEST_TEXT and not repaired(whole)[1]:
        return row, 0
    if not (changed := sum(repaired(text)[1] for text in _texts_of(row))):
        return row, 0
    sample = row.sample
    repaired_row = replace(
        row,
        sample=replace(
            sample,
            id=_valid_text(sample.id),
            question=_valid_text(sample.question),
            choices=tuple(map(_valid_text, sample.choices)),
            reference=_valid_text(sample.reference),
            metadata={
                _valid_text(name): _valid_text(value) if isinstance(value, str) else value
                for name, value in sample.metadata.items()
            },
            references=tuple(map(_valid_text, sample.references)),
        ),
        responses=_valid_responses(row.responses),
        verdicts=_valid_responses(row.verdicts),
        rewritten=_valid_responses(row.rewritten),
        error=None if row.error is None else _valid_text(row.error),
        eval=_valid_text(row.eval),
        dataset=_valid_text(row.dataset),
        model=_valid_text(row.model),
        clip_keys=None if row.clip_keys is None else tuple(map(_valid_text, row.clip_keys)),
        recording=None if row.recording is None else _valid_text(row.recording),
    )
    return repaired_row, changed


def _texts_of(row: RecordedRow) -> Iterator[str]:
    sample = row.sample
    yield from (sample.id, sample.question, sample.reference, *sample.choices, *sample.references)
    yield from (row.eval, row.dataset, row.model, row.error or "", row.recording or "", *(row.clip_keys or ()))
    for name, value in sample.metadata.items():
        yield name
        if isinstance(value, str):
            yield value
    for response in (*row.responses.values(), *row.verdicts.values(), *row.rewritten.values()):
        yield response.error or ""
        for output in response.outputs:
            yield from (part.value for part in output.parts)


def _valid_text(text: str) -> str:
    return repaired(text)[0]


def _valid_responses(responses: Mapping[str, Response]) -> dict[str, Response]:
    valid = {}
    for stage, response in responses.items():
        outputs = tuple(
            Output(tuple(Part(kind, _valid_text(value)) for kind, value in output.parts), output.finish, output.score)
            for output in response.outputs
        )
        error = None if response.error is None else _valid_text(response.error)
        valid[stage] = replace(response, outputs=outputs, error=error)
    return valid


def rows_of(reader: Reader, file: AnswerFile, needs_references: bool = True) -> Iterator[RecordedRow]:
    """The rows that ``reader`` gives of ``file``, by eval and model.

    Raises UsageError for rows without a reference where there must be one.
    """
    rows = answers_of(reader, file)
    lost = [row.id for row in rows if row.reference is None and not row.error]
    if lost and needs_references:
        raise UsageError(
            f"{file.path} holds no reference of {', '.join(map(repr, lost[:_NAMED]))}"
            f"{f' and {len(lost) - _NAMED:,} more' if len(lost) > _NAMED else ''}: give --references FILE, "
            "or their column by --columns reference=…"
        )
    # What a user names is the same data, whichever tool wrote it down.
    tool = "recorded" if reader.general or file.terms.eval else reader.name
    # Rows of several tasks may be mixed.
    fields: dict[str, dict[str, None]] = {}
    for row in rows:
        fields.setdefault(row.eval, {}).update(dict.fromkeys(row.groups))
    for row in sorted(rows, key=lambda row: (row.eval, row.model, row.epoch)):
        yield _recorded_row(tool, row, tuple(fields[row.eval]))


def verdict_stage(judging: str) -> str:
    """The stage of what a judge said whom another tool had asked that judging."""
    return f"{judging}@{RECORDED_JUDGE}"


def _recorded_row(tool: str, row: RecordedAnswer, groups: tuple[str, ...]) -> RecordedRow:
    references = (row.reference,) if isinstance(row.reference, str) else row.reference or ("",)
    sample = Sample(
        id=row.id,
        clips=(clip_named(row.audio),) if row.audio else (),
        question=row.question,
        choices=row.options,
        reference=references[0],
        references=references if len(references) > 1 else (),
        metadata={**row.metadata, **row.groups},
    )
    return RecordedRow(
        sample=sample,
        responses={} if row.answer is None else {"answer": Response.of(row.answer, row.finish)},
        error=row.error or ("no answer is recorded" if row.answer is None else None),
        eval=row.eval,
        dataset=f"{tool}/{row.eval}",
        model=row.model,
        epoch=row.epoch,
        stored=row.own,
        family=row.family,
        groups=groups,
        scorers=row.scorers,
        figures=row.figures,
        scorer=row.scorer,
        verdicts={verdict_stage(judging): Response.of(text, "unknown") for judging, text in row.verdicts.items()},
        recording=row.audio or None,
        note=row.note,
    )
