"""The samples files of lmms-eval (github.com/EvolvingLMMs-Lab/lmms-eval), as ``--log_samples`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.compat.answer_fields import (
    breakdowns,
    dictionary,
    listed_options,
    number,
    option_of,
    placed,
    ratio,
)
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_NAME = re.compile(r"(?P<date>\d{8}_\d{6})_samples_(?P<task>.+)")
_FIELDS = frozenset(
    ("doc_id", "target", "filtered_resps", "resps", "token_counts", "doc_hash", "input", "arguments", "doc")
)
_FAMILIES = {"wer": "transcription", "cer": "transcription", "bleu": "translation"}
_VALUES = ("overall", "score", "correct")
"""Where a task's dictionary holds the score of a row; what else is text breaks the figures down."""


def fits(file: AnswerFile) -> bool:
    """Whether its rows have a document, its target and the filtered answer."""
    return {"doc_id", "target", "filtered_resps"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers of one task. Raises UsageError for a row without its document's number or without one answer."""
    name = _NAME.fullmatch(file.path.stem)
    task = name["task"] if name else file.path.stem
    results = _results(file, name["date"] if name else "")
    figures = _figures(dictionary(dictionary(results.get("results")).get(task)))
    listed = list(placed(file.path, file.objects()))
    groups = breakdowns(_details(row) for _, row in listed)
    for place, row in listed:
        if not isinstance(row.get("doc_id"), (int, str)):
            raise UsageError(f"{place}: it has no 'doc_id', so the question is unknown")
        own = {metric: _own(metric, value) for metric, value in row.items() if metric not in _FIELDS}
        question = str(row.get("input") or "")
        options = listed_options(question)
        target = str(row["target"])
        details = _details(row)
        family = next((_FAMILIES[metric] for metric in own if metric in _FAMILIES), "")
        yield RecordedAnswer(
            id=str(row["doc_id"]),
            answer=_answer(place, row.get("filtered_resps")),
            reference=(option_of(target, options) or None) if target else details.get("gt"),
            options=() if family else options,
            question=question,
            groups={group: str(details[group]) for group in groups},
            own={metric: value for metric, value in own.items() if value is not None},
            eval=task,
            model=str(results.get("model_name") or results.get("model_source") or ""),
            family=family or ("multiple_choice" if options else "spoken_questions"),
            figures=figures,
        )


def _answer(place: str, said: Any) -> str:
    while isinstance(said, list) and len(said) == 1:
        said = said[0]
    if not isinstance(said, str):
        raise UsageError(f"{place}: 'filtered_resps' holds no single answer in words, but {type(said).__name__}")
    return said


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the task's own scores say in addition to the score."""
    return {
        name: value
        for score in row.values()
        if isinstance(score, dict)
        for name, value in score.items()
        if name not in ("pred", *_VALUES) and isinstance(value, str)
    }


def _own(metric: str, value: Any) -> float | None:
    if isinstance(value, dict):
        value = next((value[name] for name in _VALUES if name in value), None)
    return None if isinstance(value, str) else _in_our_unit(metric, number(value))


def _in_our_unit(metric: str, value: float | None) -> float | None:
    """Error rates are percentages there, and accuracies of some tasks."""
    if metric in ("wer", "cer"):
        return None if value is None else value / 100
    return ratio(value) if metric == "accuracy" else value


def _results(file: AnswerFile, date: str) -> Mapping[str, Any]:
    place = file.beside(f"{date}_results.json")
    return dictionary(AnswerFile(place).content) if place else {}


def _figures(results: Mapping[str, Any]) -> dict[str, float]:
    named = {name.partition(",")[0]: value for name, value in results.items() if "stderr" not in name}
    figures = {name: _in_our_unit(name, number(value)) for name, value in named.items() if name != "alias"}
    return {name: value for name, value in figures.items() if value is not None}


READERS = (
    Reader(
        name="lmms-eval",
        about="lmms-eval's samples (doc_id, target and filtered_resps)",
        origin="written by the tool",
        fits=fits,
        rows=rows,
        beside=("*_results.json",),
    ),
)
