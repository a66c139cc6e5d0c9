"""The outputs and reports of Speech-IFEval (github.com/kehanlu/Speech-IFEval)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pytest_audiobench.compat.answer_fields import placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer

_PARTS = ("reports", "tmp")


def fits(file: AnswerFile) -> bool:
    """Whether its rows are instructions about a clip with a response: alone, or with what its evaluation made of it."""
    return {"audio_filepath", "seed_transcript", "instruction", "metric", "response"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The responses: read by their constraint where they have one, else by a judge.

    Requests to reason have no number: they are called by their clip and place. Raises UsageError for a row without
    its texts.
    """
    folder = next(parent for parent in file.path.resolve().parents if parent.name not in _PARTS)
    for position, (place, row) in enumerate(placed(file.path, file.objects()), 1):
        clip, instruction, answer, dataset = said(place, row, "audio_filepath", "instruction", "response", "dataset")
        constrained = "instruction_id_list" in row
        reasons = row["metric"] == "cot"
        own: dict[str, float] = {}
        if "follow_all_instructions" in row:
            own = {"accuracy": float(row["follow_all_instructions"])}
        elif reasons and "correct" in row:
            own = {"accuracy": float(row["correct"])}
        yield RecordedAnswer(
            id=str(row["id"]) if "id" in row else f"{clip}#{position}",
            answer=answer,
            reference=str(row.get("label") or ""),
            question=instruction,
            audio=clip,
            groups={"dataset": dataset},
            own=own,
            verdicts={"speech-ifeval": str(row["eval_response"])} if reasons and "eval_response" in row else {},
            eval=_task(file.path),
            model=folder.name.replace("--", "/"),
            family="judged" if reasons else "spoken_questions" if constrained else "",
            scorer="speech-ifeval-cot" if reasons else "speech-ifeval" if constrained else "",
            metadata={name: json.dumps(row[name]) for name in ("instruction_id_list", "kwargs") if name in row},
        )


def _task(path: Path) -> str:
    return path.name.partition("@")[2].partition(".jsonl")[0] or path.stem


READERS = (
    Reader(
        name="speech-ifeval",
        about="Speech-IFEval's outputs and reports (audio_filepath, seed_transcript, instruction and response)",
        origin="real file",
        fits=fits,
        rows=rows,
    ),
)
