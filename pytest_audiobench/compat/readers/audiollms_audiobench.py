"""The score files of AudioLLMs' AudioBench (github.com/AudioLLMs/AudioBench): a figure, and the rows behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.compat.answer_fields import number, said, unlettered
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_END = re.compile(r"_(?:wer|acc|string_match)_score\Z")
_JUDGE = re.compile(r"(.+?)_((?:gpt4o|llama3|prometheus)\w*?)_judge(?:_binary)?_score\Z")
"""Two judges' logs of one set hold different answers: each is its own eval."""
_NORMALISED = (
    "AudioBench wrote these texts after its own normalisation (case, punctuation, numbers and fillers are removed from "
    "answers and references): protocols differ here only in what they do to normalised texts"
)
_BARE = {"bleu", "meteor"}
_STORED = 20
_POINTS = 5
_CUT = "AudioBench keeps the first {n} answers alone: its own figure, {figure}, is of all"


def fits(file: AnswerFile) -> bool:
    """Whether it is a score file: word errors, details behind a figure, or nothing but a figure."""
    return (isinstance(_rows(file), list) and _figure(file) is not None) or _is_bare(file)


def _is_bare(file: AnswerFile) -> bool:
    return bool(file.first) and file.first.keys() <= _BARE and file.path.stem.endswith("_score")


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers of a score file, called by their place in it.

    Raises UsageError for a row of another layout, and for a file that holds a figure alone.
    """
    if _is_bare(file):
        figures = ", ".join(f"{name} {value}" for name, value in file.first.items())
        raise UsageError(f"{file.path} holds {figures} and no answers: AudioBench keeps none of such metrics")
    listed, figure = _rows(file), _figure(file)
    transcribed = "sample_wer" in file.first
    cut = _CUT.format(n=len(listed), figure=figure) if len(listed) == _STORED else ""
    for position, row in enumerate(listed):
        place = f"{file.path}, row {position}"
        if not isinstance(row, dict):
            raise UsageError(f"{place}: it is not an object with a reference and prediction")
        read = _transcript if transcribed else _numbers if "acc" in file.first else _judged
        yield RecordedAnswer(
            id=f"{position:06d}",
            eval=_JUDGE.sub(r"\1[\2]", _END.sub("", file.path.stem)),
            figures={"wer": figure} if transcribed else {},
            note=_NORMALISED if transcribed else cut,
            **read(place, row),
        )


def _rows(file: AnswerFile) -> Any:
    return file.first.get("sample_wer", file.first.get("details"))


def _figure(file: AnswerFile) -> float | None:
    """A word error rate, a share that is right, or a judge's points, whatever the judge is called."""
    values = [file.first.get(name) for name in ("wer", "acc")]
    values += [
        value["judge_score"] for value in file.first.values() if isinstance(value, dict) and "judge_score" in value
    ]
    return next((value for value in map(number, values) if value is not None), None)


def _transcript(place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    reference, answer = said(place, row, "reference", "prediction")
    own = {"wer": row.get("wer")}
    return {"answer": answer, "reference": reference, "own": own, "family": "transcription", "scorer": "raw"}


def _numbers(place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A spoken sum: any of its references is right."""
    references = row.get("reference")
    if not isinstance(references, list) or not references:
        raise UsageError(f"{place}: it has no list 'reference'")
    answer = said(place, row, "prediction")[0]
    return {"answer": answer, "reference": tuple(map(str, references)), "family": "spoken_questions"}


def _judged(place: str, row: Mapping[str, Any]) -> dict[str, Any]:
    question, reference, answer = said(place, row, "question", "reference", "model_prediction")
    asked = {"answer": answer, "question": question}
    points = number(row.get("rate_score"))
    if isinstance(options := row.get("choices"), list):
        return {
            **asked,
            "options": tuple(unlettered(str(option)) for option in options),
            "reference": unlettered(reference),
            "groups": {"task": str(row["task"])} if "task" in row else {},
            "own": {"accuracy": points},
            "family": "multiple_choice",
            "scorer": "audiobench-mmau",
        }
    return {
        **asked,
        "reference": reference,
        "own": {} if points is None else {"judge_score": points / _POINTS},
        "family": "judged",
        "verdicts": {"audiobench": verdict} if isinstance(verdict := row.get("judge_response"), str) else {},
        "scorer": "audiobench-judge-published",
    }


READERS = (
    Reader(
        name="audiobench",
        about="AudioBench's score files (wer and sample_wer; acc, string_match or a judge's score with details)",
        origin="real file",
        fits=fits,
        rows=rows,
        endings=(".json",),
    ),
)
