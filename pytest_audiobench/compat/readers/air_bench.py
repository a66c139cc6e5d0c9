"""AIR-Bench's results (github.com/OFA-Sys/AIR-Bench): its two inference scripts' and its judge's."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_audiobench.compat.answer_fields import placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_OF_BOTH = frozenset(("path", "question", "answer_gt", "task_name", "dataset_name"))
_ABSENT = ("", "None")
_MOST_POINTS = 10
_SWAPPED = "cir"
"""What cal_score.py knows a file by in which the model's answer stood first."""


def is_foundation(file: AnswerFile) -> bool:
    """Whether its rows are questions with up to four choices."""
    return {*_OF_BOTH, "choice_a", "response"} <= file.first.keys()


def foundation_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers, an eval for each task and data set, as the published script counts them.

    Raises UsageError for a row without its number or answer key.
    """
    for place, row in placed(file.path, file.objects()):
        question, reference, task, dataset = said(place, row, "question", "answer_gt", "task_name", "dataset_name")
        if "uniq_id" not in row:
            raise UsageError(f"{place}: it has no 'uniq_id', so the question is unknown")
        choices = [row.get(f"choice_{letter}") for letter in "abcd"]
        answer = row.get("response")
        yield RecordedAnswer(
            id=str(row["uniq_id"]),
            answer=None if answer is None else str(answer),
            error="the model gave no response" if answer is None else "",
            reference=reference,
            options=tuple(str(choice) for choice in choices if choice is not None and str(choice) not in _ABSENT),
            question=question,
            audio=str(row["path"]),
            eval=f"{task}_{dataset}",
            family="multiple_choice",
            scorer="air-bench",
        )


def is_chat(file: AnswerFile) -> bool:
    """Whether its rows are open answers: of the inference script, or of the judge's with its verdict."""
    first = file.first.keys()
    return {*_OF_BOTH, "meta_info"} <= first and bool({"response", "Audio-LLM-response"} & first)


def chat_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers, with the judge's points where it was asked.

    Raises UsageError for a row without the description that the judge reads.
    """
    swapped = _SWAPPED in file.path.stem.split("_")
    for place, row in placed(file.path, file.objects()):
        question, reference, meta_info = said(place, row, "question", "answer_gt", "meta_info")
        if (identity := row.get("uniq_id", row.get("uuid"))) is None:
            raise UsageError(f"{place}: it has no 'uniq_id' or 'uuid', so the question is unknown")
        answer = row.get("response", row.get("Audio-LLM-response"))
        verdict = row.get("gen", row.get("gpt-score"))
        yield RecordedAnswer(
            id=str(identity),
            answer=None if answer is None else str(answer),
            error="the model gave no response" if answer is None else "",
            reference=reference,
            question=question,
            audio=str(row["path"]),
            groups={"task": str(row["task_name"])},
            own=_points(verdict, 0 if swapped else 1),
            family="judged",
            scorer=f"air-bench-chat-{'first' if swapped else 'second'}",
            metadata={"meta_info": meta_info},
        )


def _points(verdict: object, place: int) -> dict[str, float]:
    """The model's points of ten, of two whole numbers, as cal_score.py reads them."""
    said = str(verdict).strip().split(" ")
    whole = len(said) == 2 and all(points.isdecimal() for points in said)
    return {"judge_score": int(said[place]) / _MOST_POINTS} if whole else {}


READERS = (
    Reader(
        name="air-bench",
        about="AIR-Bench's foundation results (choice_a, answer_gt, response and uniq_id)",
        origin="written by the tool",
        fits=is_foundation,
        rows=foundation_rows,
    ),
    Reader(
        name="air-bench-chat",
        about="AIR-Bench's chat results (meta_info, question, answer_gt and response)",
        origin="written by the tool",
        fits=is_chat,
        rows=chat_rows,
        endings=(".jsonl", ".json"),
    ),
)
