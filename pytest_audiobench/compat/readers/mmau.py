"""Submissions to MMAU (github.com/Sakshi113/MMAU) and MMAU-Pro (github.com/sonalkum/MMAUPro)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.compat.answer_fields import number, placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_ANSWERS = ("model_output", "model_prediction", "model_response", "predictions")
"""What MMAU's evaluation.py reads now, what it read before May 2025, and columns that MMAU-Pro's readers name."""
_OF_MMAU = frozenset(("id", "audio_id", "question", "choices", "task", "difficulty"))
_OF_PRO = frozenset(("id", "audio_path", "question", "answer", "choices", "category"))


def is_mmau(file: AnswerFile) -> bool:
    """Whether its rows are MMAU's with an answer."""
    return file.first.keys() >= _OF_MMAU and _answer_field(file.first) != ""


def mmau_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers; those to the withheld test have no reference."""
    column = _answer_field(file.first)
    for place, row in placed(file.path, file.objects()):
        identity, question = said(place, row, "id", "question")
        groups = {name: str(row[name]) for name in ("task", "difficulty", "sub-category") if name in row}
        yield RecordedAnswer(
            id=identity,
            answer=row.get(column),
            error="" if column in row else f"it has no {column}",
            reference=row.get("answer") or None,
            options=_choices(place, row),
            question=question,
            audio=str(row["audio_id"]),
            groups=groups,
            own={"accuracy": number(row["match"])} if "match" in row else {},
            family="multiple_choice",
            scorer="mmau-string",
        )


def is_pro(file: AnswerFile) -> bool:
    """Whether it is the test's table with a column of answers: JSON, or Parquet as the published script reads."""
    names = _columns(file)
    return names.issuperset(_OF_PRO) and _answer_field(dict.fromkeys(names)) != ""


def pro_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers, an eval for each kind of question: chosen, open, and of a certain form."""
    column = _answer_field(dict.fromkeys(_columns(file)))
    table = enumerate(_table(file)) if file.path.suffix == ".parquet" else file.objects()
    for place, row in placed(file.path, table):
        identity, question, category = said(place, row, "id", "question", "category")
        answer = row.get(column)
        yield RecordedAnswer(
            id=identity,
            answer=None if answer is None else str(answer),
            error="" if answer is not None else f"it has no {column}",
            question=question,
            audio=json.dumps(row["audio_path"]) if isinstance(row["audio_path"], list) else str(row["audio_path"]),
            **_kind(place, row, category),
        )


def _kind(place: str, row: Mapping[str, Any], category: str) -> dict[str, Any]:
    if category == "open":
        scored = {"family": "judged", "scorer": "mmau-pro-judge"}
        return {"eval": "mmau_pro[open]", "reference": said(place, row, "answer")[0], **scored}
    if category == "instruction following":
        arguments = row.get("kwargs") if isinstance(row.get("kwargs"), str) else json.dumps(row.get("kwargs") or {})
        return {
            "eval": "mmau_pro[instructions]",
            "reference": "",
            "family": "spoken_questions",
            "scorer": "mmau-pro-instructions",
            "metadata": {"constraint": str(row.get("task_identifier")), "arguments": str(arguments)},
        }
    return {
        "eval": "mmau_pro[choice]",
        "reference": said(place, row, "answer")[0],
        "options": _choices(place, row),
        "groups": {"category": category},
        "family": "multiple_choice",
        "scorer": "mmau-pro",
    }


def _choices(place: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    choices = row["choices"]
    if isinstance(choices, str):
        choices = json.loads(choices)
    if not isinstance(choices, (list, tuple)) or not choices:
        raise UsageError(f"{place}: it has no list 'choices', so its options are lost")
    return tuple(map(str, choices))


def _answer_field(row: Mapping[str, Any]) -> str:
    return next((name for name in _ANSWERS if name in row), "")


def _columns(file: AnswerFile) -> frozenset[str]:
    if file.path.suffix != ".parquet":
        return frozenset(file.first)
    try:
        from pyarrow import parquet

        return frozenset(parquet.read_schema(file.path).names)
    except (ImportError, OSError, ValueError):
        return frozenset()


def _table(file: AnswerFile) -> list[dict[str, Any]]:
    from pyarrow import parquet

    names = _columns(file)
    wanted = [*_OF_PRO, "task_identifier", "kwargs", _answer_field(dict.fromkeys(names))]
    rows: list[dict[str, Any]] = parquet.read_table(
        file.path, columns=[name for name in wanted if name in names]
    ).to_pylist()
    return rows


READERS = (
    Reader(
        name="mmau",
        about="submissions to MMAU (id, audio_id, choices and model_output)",
        origin="real file",
        fits=is_mmau,
        rows=mmau_rows,
        endings=(".json", ".jsonl"),
    ),
    Reader(
        name="mmau-pro",
        about="MMAU-Pro's table with answers (audio_path, category and model_output; JSON or Parquet)",
        origin="imitation",
        fits=is_pro,
        rows=pro_rows,
        endings=(".json", ".jsonl", ".parquet"),
    ),
)
