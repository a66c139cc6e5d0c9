"""The manifests of the Open ASR leaderboard (github.com/huggingface/open_asr_leaderboard)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.compat.answer_fields import placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_NAME = re.compile(r"MODEL_(?P<model>.+?)_DATASET_(?P<set>.+)")


def fits(file: AnswerFile) -> bool:
    """Whether its rows are utterances with both texts and the time that the model took."""
    return {"audio_filepath", "duration", "time", "text", "pred_text"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The utterances; chunks of one session are joined, as the leaderboard joins them.

    Raises UsageError for a row without its texts and for a session of which a chunk is absent.
    """
    name = _NAME.fullmatch(file.path.stem)
    for place, row in _sessions(file):
        recording, reference, answer = said(place, row, "audio_filepath", "text", "pred_text")
        yield RecordedAnswer(
            id=recording,
            answer=answer,
            reference=reference,
            audio=recording,
            eval=name["set"] if name else "",
            model=name["model"] if name else "",
            family="transcription",
            scorer="open-asr",
            metadata={"set": name["set"]} if name else {},
        )


def _sessions(file: AnswerFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    chunks: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for place, row in placed(file.path, file.objects()):
        if "parent_id" not in row:
            yield place, row
        else:
            chunks[str(row["parent_id"])].append(row)
    for parent, parts in chunks.items():
        parts.sort(key=lambda part: int(part["chunk_index"]))
        if [part["chunk_index"] for part in parts] != list(range(len(parts))):
            raise UsageError(
                f"{file.path}: chunks of the session {parent!r} are absent, which would count as deletions"
            )
        texts = (str(part.get("pred_text") or "").strip() for part in parts)
        yield (
            f"{file.path}, session {parent!r}",
            {**parts[0], "audio_filepath": parent, "pred_text": " ".join(filter(None, texts))},
        )


READERS = (
    Reader(
        name="open-asr",
        about="the Open ASR leaderboard's manifests (audio_filepath, duration, time, text and pred_text)",
        origin="written by the tool",
        fits=fits,
        rows=rows,
    ),
)
