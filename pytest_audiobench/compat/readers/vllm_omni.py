"""What vllm-omni's serving benchmark writes of its accuracy checks (github.com/vllm-project/vllm-omni)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from pytest_audiobench.compat.answer_fields import number, placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer

_CHOICES, _SPEECH = "daily_omni_eval_items", "seed_tts_wer_eval_items"
_OPTIONS = tuple(ascii_uppercase[:4])
_LETTERS = "the file holds the letter that was read and no answer (--save-detailed): every scorer reads that letter"
_SPOKEN = "the texts are a recogniser's transcripts of the model's speech: its mistakes count as the model's"


def fits(file: AnswerFile) -> bool:
    """Whether it is a benchmark's result with the items of a check."""
    return any(isinstance(file.first.get(items), list) for items in (_CHOICES, _SPEECH))


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The items, an eval for each check. Raises UsageError for one without its number or its reference."""
    yield from _choices(file, file.first)
    yield from _spoken(file, file.first)


def _choices(file: AnswerFile, result: Mapping[str, Any]) -> Iterator[RecordedAnswer]:
    items, texts = result.get(_CHOICES) or [], result.get("generated_texts")
    # The texts are those of all requests, in their order.
    answers = texts if isinstance(texts, list) and len(texts) == len(items) else None
    for position, (place, item) in enumerate(placed(file.path, enumerate(items))):
        if item.get("skipped"):
            continue
        identity, gold = said(place, item, "request_id", "gold")
        failed = str(item["error"] or "the request failed") if "error" in item else ""
        answer = item.get("predicted") or "" if answers is None else answers[position]
        yield RecordedAnswer(
            id=identity,
            answer=None if failed else str(answer),
            error=failed,
            reference=str(item.get("gold_normalized") or gold),
            options=_OPTIONS,
            audio=str(item.get("video_id") or ""),
            groups={"task_type": str(item.get("task_type"))},
            own={"accuracy": float(bool(item.get("correct")))},
            eval="daily_omni",
            model=str(result.get("model_id") or ""),
            family="multiple_choice",
            note=_LETTERS if answers is None else "",
            figures=_figures(result, "accuracy", "daily_omni_accuracy"),
        )


def _spoken(file: AnswerFile, result: Mapping[str, Any]) -> Iterator[RecordedAnswer]:
    for place, item in placed(file.path, enumerate(result.get(_SPEECH) or [])):
        failed = str(item.get("detail") or item["error"]) if "error" in item else ""
        identity, *words = said(place, item, "utterance_id", *([] if failed else ["reference_raw", "asr_raw"]))
        yield RecordedAnswer(
            id=identity,
            answer=words[1] if words else None,
            error=failed,
            reference=words[0] if words else None,
            own={"wer": item.get("wer")},
            eval="seed_tts",
            model=str(result.get("model_id") or ""),
            family="transcription",
            note=_SPOKEN,
            figures=_figures(result, "wer_mean", "seed_tts_content_error_mean"),
        )


def _figures(result: Mapping[str, Any], metric: str, field: str) -> dict[str, float]:
    figure = number(result.get(field))
    return {} if figure is None else {metric: figure}


READERS = (
    Reader(
        name="vllm-omni",
        about="vllm-omni's accuracy results (daily_omni_eval_items or seed_tts_wer_eval_items)",
        origin="imitation",
        fits=fits,
        rows=rows,
        endings=(".json",),
    ),
)
