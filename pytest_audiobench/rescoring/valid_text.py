"""The door of scoring again: recorded texts are made valid as the store makes a model's, so that both score alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.store import LONGEST_TEXT, repaired
from pytest_audiobench.models.messages import Output, Part, Response
from pytest_audiobench.rescoring.recorded_answers import RecordedRow


def valid(row: RecordedRow) -> tuple[RecordedRow, int]:
    """``row`` with valid texts of bounded length only, and how many had to be changed (halves of a surrogate pair)."""
    whole = "".join(_texts(row))
    # One look at all of them: nearly every row is sound.
    if len(whole) <= LONGEST_TEXT and not repaired(whole)[1]:
        return row, 0
    changed = sum(repaired(text)[1] for text in _texts(row))
    if not changed:
        return row, 0
    made = replace(
        row,
        sample=_sample(row.sample),
        responses=_responses(row.responses),
        verdicts=_responses(row.verdicts),
        rewritten=_responses(row.rewritten),
        error=None if row.error is None else _text(row.error),
        eval=_text(row.eval),
        dataset=_text(row.dataset),
        model=_text(row.model),
        clip_keys=None if row.clip_keys is None else tuple(map(_text, row.clip_keys)),
        recording=None if row.recording is None else _text(row.recording),
    )
    return made, changed


def _texts(row: RecordedRow) -> Iterator[str]:
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
            for part in output.parts:
                yield part.value


def _text(text: str) -> str:
    return repaired(text)[0]


def _sample(sample: Sample) -> Sample:
    return replace(
        sample,
        id=_text(sample.id),
        question=_text(sample.question),
        choices=tuple(map(_text, sample.choices)),
        reference=_text(sample.reference),
        metadata={_text(n): _text(value) if isinstance(value, str) else value for n, value in sample.metadata.items()},
        references=tuple(map(_text, sample.references)),
    )


def _responses(responses: Mapping[str, Response]) -> dict[str, Response]:
    return {stage: _response(response) for stage, response in responses.items()}


def _response(response: Response) -> Response:
    outputs = tuple(
        Output(tuple(Part(kind, _text(value)) for kind, value in output.parts), output.finish, output.score)
        for output in response.outputs
    )
    return replace(response, outputs=outputs, error=None if response.error is None else _text(response.error))
