"""The reviews of evalscope (github.com/modelscope/evalscope): answers with their targets and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.compat.answer_fields import breakdowns, dictionary, listed_options, number, option_of, placed
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_FAMILIES = {"wer": "transcription", "cer": "transcription", "bleu": "translation"}
_ACCURACY = {"acc": "accuracy"}
"""What releases before 1.14 called it."""


def fits(file: AnswerFile) -> bool:
    """Whether its rows are reviews, or predictions, which are next to them."""
    first = file.first
    return "index" in first and ("sample_score" in first or {"model", "model_output", "messages"} <= first.keys())


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The reviewed answers of one subset. Predictions have no targets: their reviews are read in their place.

    Raises UsageError for predictions without reviews, and for a row that is not a review.
    """
    path = file.path
    if "sample_score" not in file.first:
        path = path.parents[2] / "reviews" / path.parent.name / path.name
        if not path.is_file():
            raise UsageError(f"{file.path} holds predictions without targets, and there are no reviews at {path}")
        file = AnswerFile(path, file.terms)
    listed = list(placed(path, file.objects()))
    groups = breakdowns(_metadata(row) for _, row in listed)
    report = _report(path)
    for place, row in listed:
        review = dictionary(row.get("sample_score"))
        score = dictionary(review.get("score"))
        failed = "" if score.get("status") in (None, "success") else str(score.get("explanation") or score["status"])
        if "index" not in row or "target" not in row or not (failed or isinstance(score.get("prediction"), str)):
            raise UsageError(f"{place}: it has no 'index', 'target' and 'prediction'")
        question = _question(row)
        own = {_ACCURACY.get(name, name): number(value) for name, value in dictionary(score.get("value")).items()}
        family = next((_FAMILIES[name] for name in own if name in _FAMILIES), "")
        targets = row["target"] if isinstance(row["target"], list) else [row["target"]]
        options = () if family else listed_options(question)
        reference = tuple(option_of(str(target), options) for target in targets)
        yield RecordedAnswer(
            id=str(row["index"]),
            answer=None if failed else score["prediction"],
            error=failed,
            reference=reference if len(reference) > 1 else next(iter(reference), None),
            options=options,
            question=question,
            groups={name: _metadata(row)[name] for name in groups},
            own=own,
            epoch=int(review.get("generation_index") or 0),
            model=path.resolve().parent.name,
            family=family or ("multiple_choice" if options else "spoken_questions"),
            figures=report,
        )


def _metadata(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return dictionary(dictionary(row.get("sample_score")).get("sample_metadata"))


def _question(row: Mapping[str, Any]) -> str:
    """What the user's last message says in words."""
    asked = [message for message in row.get("messages") or [] if message.get("role") == "user"]
    content = asked[-1].get("content") if asked else ""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return str(content)


def _report(reviews: Path) -> dict[str, float]:
    """The figures of the subset in the report of its data set, which the reviews are named after as well."""
    folder = reviews.resolve().parents[2] / "reports" / reviews.resolve().parent.name
    for place in sorted(folder.glob("*.json")):
        if reviews.stem.startswith(f"{place.stem}_"):
            return dict(_figures(dictionary(AnswerFile(place).content), reviews.stem.removeprefix(f"{place.stem}_")))
    return {}


def _figures(report: Mapping[str, Any], subset: str) -> Iterator[tuple[str, float]]:
    for metric in report.get("metrics", ()):
        name = dictionary(metric.get("identity")).get("name") or metric.get("name")
        for category in metric.get("categories", ()):
            for part in category.get("subsets", ()):
                if part.get("name") == subset and isinstance(part.get("score"), (int, float)):
                    yield str(name), float(part["score"])


READERS = (
    Reader(
        name="evalscope",
        about="evalscope's reviews (index, target and sample_score) and the predictions next to them",
        origin="written by the tool",
        fits=fits,
        rows=rows,
    ),
)
