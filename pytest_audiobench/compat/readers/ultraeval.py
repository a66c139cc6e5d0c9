"""The records of UltraEval-Audio (github.com/OpenBMB/UltraEval-Audio): a line for each step of each sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.compat.answer_fields import dictionary, listed_options, number, option_of
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_STEPS = ("prompt", "inference", "post_process", "eval", "error")
_METRICS = {"acc": "accuracy", "match": "accuracy"}
_PERCENTAGE = re.compile(r"\(?%d?\)?\Z|\(%d\)\Z")
_FAMILIES = {"wer": "transcription", "cer": "transcription", "bleu": "translation"}
_SCORERS = {"transcription": "ultraeval", "translation": "ultraeval", "multiple_choice": "ultraeval"}


def fits(file: AnswerFile) -> bool:
    """Whether its lines are steps of samples."""
    first = file.first
    return first.keys() == {"type", "id", "data"} and first["type"] in _STEPS and isinstance(first["data"], dict)


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers as they were when they were scored: post-processed. A sample of which a step failed is an error.

    Raises UsageError for a line of another layout, and for a record without any score, which has no references.
    """
    samples: dict[Any, dict[str, Mapping[str, Any]]] = {}
    for line, row in file.objects():
        if row.get("type") not in _STEPS or "id" not in row or not isinstance(row.get("data"), dict):
            raise UsageError(f"{file.path}, line {line}: it is not a step of a sample (type, id and data)")
        samples.setdefault(row["id"], {})[row["type"]] = row["data"]
    if not any("eval" in steps for steps in samples.values()):
        raise UsageError(f"{file.path} holds no step 'eval', in which the references are: score it there first")
    figures = _figures(file)
    for identity, steps in samples.items():
        yield _answer(file, str(identity), steps, figures)


def _answer(
    file: AnswerFile, identity: str, steps: Mapping[str, Mapping[str, Any]], figures: Mapping[str, float]
) -> RecordedAnswer:
    question, audio = _asked(dictionary(steps.get("prompt")).get("content"))
    scored = dictionary(steps.get("eval"))
    said = dictionary(steps.get("post_process", steps.get("inference"))).get("content")
    own = _own(scored)
    family = next((_FAMILIES[name] for name in own if name in _FAMILIES), "")
    options = () if family else listed_options(question)
    family = family or ("multiple_choice" if options else "spoken_questions")
    given = scored.get("ref")
    references = tuple(option_of(str(each), options) for each in (given if isinstance(given, list) else [given]))
    failed = str(dictionary(steps.get("error")).get("info", "")).strip().rpartition("\n")[2]
    return RecordedAnswer(
        id=identity,
        answer=None if failed or said is None else str(said),
        error=failed or ("" if said is not None else "the record holds no answer"),
        reference=None if given is None else references[0] if len(references) == 1 else references,
        options=options,
        question=question,
        audio=audio,
        own=own,
        eval=file.path.resolve().parent.name,
        model=file.path.resolve().parents[1].name,
        family=family,
        figures=figures,
        scorer=_SCORERS.get(family, ""),
    )


def _own(scored: Mapping[str, Any]) -> dict[str, float]:
    return dict(_named(scored))


def _named(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if name in ("pred", "ref") or isinstance(value, str) or (figure := number(value)) is None:
            continue
        plain = _PERCENTAGE.sub("", name)
        yield _METRICS.get(plain, plain), figure / 100 if plain != name else figure


def _asked(content: Any) -> tuple[str, str]:
    """The words of the prompt and its clip."""
    parts = (
        [part for message in content if isinstance(message, dict) for part in _contents(message)]
        if isinstance(content, list)
        else [{"type": "text", "value": str(content or "")}]
    )
    words = "\n".join(str(part.get("value", part.get("content", ""))) for part in parts if part.get("type") == "text")
    return words, next((str(part.get("value")) for part in parts if part.get("type") == "audio"), "")


def _contents(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    contents = message.get("contents", message.get("content", ()))
    return [{"type": "text", "value": contents}] if isinstance(contents, str) else list(contents)


def _figures(file: AnswerFile) -> dict[str, float]:
    """The figures next to the record, which the tool writes as Python's text of a dictionary."""
    place = file.beside(f"{file.path.stem}-overall.json")
    try:
        written = ast.literal_eval(place.read_text(encoding="utf-8")) if place else {}
    except (ValueError, SyntaxError):
        return {}
    return dict(_named(dictionary(written)))


READERS = (
    Reader(
        name="ultraeval",
        about="UltraEval-Audio's records (type, id and data)",
        origin="written by the tool",
        fits=fits,
        rows=rows,
        beside=("*-overall.json",),
    ),
)
