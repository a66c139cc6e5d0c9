"""Predictions for SLURP (github.com/pswietojanski/slurp), as its evaluation script takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.compat.answer_fields import placed
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer, unanswered_note
from pytest_audiobench.errors import UsageError

_TRUE = "test.jsonl"


def fits(file: AnswerFile) -> bool:
    """Whether its rows are frames of requests, by their number or recording, and not SLURP's own."""
    first = file.first.keys()
    named = bool({"slurp_id", "file"} & first)
    return named and {"scenario", "action", "entities"} <= first and "sentence_annotation" not in first


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The predicted frames with the true ones, of ``--references`` or of ``test.jsonl`` next to the file.

    Raises UsageError where neither is there, and for a prediction of a request that it does not hold.
    """
    if (place := file.terms.references or file.beside(_TRUE)) is None:
        raise UsageError(
            f"{file.path} holds no true frames: name SLURP's {_TRUE} with --references FILE, or put it beside"
        )
    true = _true_frames(place)
    predictions: list[tuple[str, Mapping[str, Any]]] = []
    for where, row in placed(file.path, file.objects()):
        name = str(row.get("file", row.get("slurp_id")))
        if name not in true:
            raise UsageError(f"{where}: {place} has no request {name!r}, so its true frame is unknown")
        predictions.append((name, row))
    requests = {str(request["slurp_id"]) for request in true.values()}
    answered = {str(true[name]["slurp_id"]) for name, _ in predictions}
    note = unanswered_note(place, len(requests - answered), len(requests))
    for name, row in predictions:
        request = true[name]
        frame = {"scenario": row.get("scenario"), "action": row.get("action"), "entities": row.get("entities")}
        yield RecordedAnswer(
            id=name,
            answer=json.dumps(frame, ensure_ascii=False),
            reference=json.dumps(_frame(request), ensure_ascii=False),
            audio=name if "file" in row else "",
            groups={"scenario": str(request["scenario"])},
            family="understanding",
            scorer="slurp",
            metadata={"transcript": str(request["sentence"])},
            note=note,
        )


def _true_frames(place: Path) -> dict[str, Mapping[str, Any]]:
    """The requests by number and by recording. Raises UsageError for a file of another layout."""
    requests: dict[str, Mapping[str, Any]] = {}
    for line, row in AnswerFile(place).objects():
        if not {"slurp_id", "scenario", "action", "tokens", "entities"} <= row.keys():
            raise UsageError(f"{place}, line {line}: it is not a SLURP request (slurp_id, scenario, action, entities)")
        requests[str(row["slurp_id"])] = row
        requests |= {str(recording["file"]): row for recording in row.get("recordings", ())}
    return requests


def _frame(request: Mapping[str, Any]) -> dict[str, Any]:
    """The true frame; a filler is the tokens that its span names, in small letters, as the evaluation script has it."""
    tokens = [str(token["surface"]).lower() for token in request["tokens"]]
    entities = [
        {"type": entity["type"], "filler": " ".join(tokens[at] for at in entity["span"])}
        for entity in request["entities"]
    ]
    return {"scenario": request["scenario"], "action": request["action"], "entities": entities}


READERS = (
    Reader(
        name="slurp",
        about="predictions for SLURP (slurp_id or file, scenario, action and entities)",
        origin="real file",
        fits=fits,
        rows=rows,
        beside=(_TRUE,),
    ),
)
