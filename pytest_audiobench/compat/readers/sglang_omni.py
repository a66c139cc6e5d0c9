"""What sglang-omni's accuracy checks write (github.com/sgl-project/sglang-omni)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from pytest_audiobench.compat.answer_fields import dictionary, number, placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_SPOKEN = "the texts are a recogniser's transcripts of the model's speech: its mistakes count as the model's"
_NO_OPTIONS = "the file holds the texts of the right and of the read option; the others are known by their letters"
_MOST_OPTIONS = 4


def fits(file: AnswerFile) -> bool:
    """Whether it has a summary with its samples: of speech heard again, or of choices."""
    samples = file.first.get("per_sample")
    first = dictionary(samples[0]) if isinstance(samples, list) and samples else {}
    return "summary" in file.first and bool({"target_text", "raw_response"} & first.keys())


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The samples of one check. Raises UsageError for a row without its number or its text."""
    config, summary = dictionary(file.first.get("config")), dictionary(file.first["summary"])
    model = str(config.get("model") or config.get("model_path") or config.get("model_name") or "")
    for place, row in placed(file.path, enumerate(file.first["per_sample"])):
        if not isinstance(row, dict):
            raise UsageError(f"{place}: it is not an object with an id and a text")
        failed = row.get("is_success") is False
        error = str(row.get("error") or "the request failed") if failed else ""
        if "target_text" in row:
            reference, *heard = said(place, row, "target_text", *([] if failed else ["whisper_text"]))
            yield RecordedAnswer(
                id=_identity(place, row, "id", "sample_id"),
                answer=heard[0] if heard else None,
                error=error,
                reference=reference,
                own={"wer": row.get("wer")},
                model=model,
                family="transcription",
                note=_SPOKEN,
                figures=_spoken_figures(summary),
            )
        else:
            yield RecordedAnswer(
                id=_identity(place, row, "sample_id", "id"),
                answer=None if failed else said(place, row, "raw_response")[0],
                error=error,
                reference=said(place, row, "correct_answer")[0],
                options=_options(row),
                groups={name: str(row[name]) for name in ("task_name", "category", "sub_category") if row.get(name)},
                own={"accuracy": float(bool(row.get("is_correct")))},
                model=model,
                family="multiple_choice",
                note=_NO_OPTIONS,
                figures=_choice_figures(summary),
            )


def _identity(place: str, row: Mapping[str, Any], *names: str) -> str:
    value = next((row[name] for name in names if row.get(name) not in (None, "")), None)
    if value is None:
        raise UsageError(f"{place}: it has no {' or '.join(map(repr, names))}, so the question is unknown")
    return str(value)


def _options(row: Mapping[str, Any]) -> tuple[str, ...]:
    known = {row.get("predicted_choice"): row.get("predicted_answer"), row.get("correct_choice"): row["correct_answer"]}
    letters = [letter for letter in known if letter]
    count = max([_MOST_OPTIONS, *(ascii_uppercase.index(letter) + 1 for letter in letters)])
    return tuple(str(known.get(letter) or letter) for letter in ascii_uppercase[:count])


def _choice_figures(summary: Mapping[str, Any]) -> dict[str, float]:
    """Its accuracy, unless requests failed: it counts these as wrong."""
    accuracy = number(summary.get("overall_accuracy"))
    return {} if accuracy is None or summary.get("failed_samples") else {"accuracy": accuracy}


def _spoken_figures(summary: Mapping[str, Any]) -> dict[str, float]:
    """The mean over samples and the rate over all words, of which one release has the one and another both."""
    named = {"wer_mean": summary.get("wer_mean", summary.get("wer_per_sample_mean")), "wer": summary.get("wer_corpus")}
    return {name: value for name, figure in named.items() if (value := number(figure)) is not None}


READERS = (
    Reader(
        name="sglang-omni",
        about="sglang-omni's accuracy results (summary and per_sample)",
        origin="real file",
        fits=fits,
        rows=rows,
        endings=(".json",),
    ),
)
