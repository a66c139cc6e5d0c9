"""The results of VoiceBench (github.com/MatthewCYM/VoiceBench): the set's columns with a response, and verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.compat.answer_fields import number, placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_NAME = re.compile(
    r"(?:result-)?(?P<model>.+)-(?P<set>alpacaeval_full|alpacaeval|commoneval|wildvoice|sd-qa|mmsu|openbookqa|bbh|ifeval"
    r"|advbench|mtbench)-(?P<split>\w+)-(?P<modality>audio|text|ttft)"
)
"""MODEL-SET-SPLIT-MODALITY, with "result-" before it where a judge was asked."""


_POINTS = 5


class _Kind(NamedTuple):
    family: str
    scorer: str
    options: tuple[str, ...] = ()


_OPEN = _Kind("judged", "voicebench-open")
_KINDS: Mapping[str, _Kind] = {
    "sd-qa": _Kind("judged", "voicebench-qa"),
    "mmsu": _Kind("multiple_choice", "voicebench", ("A", "B", "C", "D")),
    "openbookqa": _Kind("multiple_choice", "voicebench", ("A", "B", "C", "D")),
    "bbh": _Kind("multiple_choice", "voicebench-bbh", ("(A)", "(B)", "No", "Yes")),
    "ifeval": _Kind("spoken_questions", "voicebench-ifeval"),
    "advbench": _Kind("spoken_questions", "voicebench-harm"),
}
"""The options of its choices are spoken; only their letters are known."""


def fits(file: AnswerFile) -> bool:
    """Whether its rows are spoken requests with their responses, of one of its sets."""
    return {"prompt", "response"} <= file.first.keys() and _NAME.fullmatch(file.path.stem) is not None


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The responses to one set. Raises UsageError for a row that has lost its text, or the reference of its set."""
    name = _NAME.fullmatch(file.path.stem)
    if name is None:
        raise UsageError(f"{file.path} is not named MODEL-SET-SPLIT-MODALITY.jsonl, so its set is unknown")
    kind = _KINDS.get(name["set"], _OPEN)
    needed = ["reference"] if kind.options or name["set"] == "sd-qa" else []
    for position, (place, row) in enumerate(placed(file.path, file.objects()), 1):
        prompt, response, *references = said(place, row, "prompt", "response", *needed)
        reference = references[0] if references else ""
        if kind.options:
            reference = next((option for option in kind.options if option.lower() == reference.lower()), reference)
        yield RecordedAnswer(
            id=str(row.get("id", row.get("key", position))),
            answer=response,
            reference=reference,
            options=kind.options,
            question="" if kind.options else prompt,
            own=_weighed(row.get("score"), kind),
            eval=name["set"] if name["split"] == "test" else f"{name['set']}[{name['split']}]",
            model=name["model"],
            family=kind.family,
            scorer=kind.scorer,
            metadata=dict(_metadata(row, prompt)),
        )


def _weighed(verdicts: Any, kind: _Kind) -> dict[str, float]:
    """What its evaluation makes of the three verdicts on one answer: the mean of points, or the majority."""
    said = [str(verdict).strip().lower() for verdict in verdicts] if isinstance(verdicts, list) else []
    if kind.scorer == "voicebench-qa" and said:
        return {"accuracy": float(max(set(said), key=said.count) == "yes")}
    points = [points for verdict in said if (points := number(verdict)) is not None]
    return {"judge_score": sum(points) / len(points) / _POINTS} if kind is _OPEN and points else {}


def _metadata(row: Mapping[str, Any], prompt: str) -> Iterator[tuple[str, str]]:
    yield "transcript", prompt
    if "id" in row:
        yield "row", str(row["id"])
    for name in ("instruction_id_list", "kwargs"):
        if name in row:
            yield name, json.dumps(row[name])


READERS = (
    Reader(
        name="voicebench",
        about="VoiceBench's results (prompt and response, named MODEL-SET-SPLIT-MODALITY.jsonl)",
        origin="written by the tool",
        fits=fits,
        rows=rows,
    ),
)
