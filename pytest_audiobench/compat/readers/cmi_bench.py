"""The outputs of CMI-Bench (github.com/nicolaus625/CMI-bench): one list for each model and task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pytest_audiobench.compat.answer_fields import placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError

_TASKS = {
    "DSing": ("transcription", "cmi-bench"),
    "SDD": ("captioning", "cmi-bench"),
    "MC": ("captioning", "cmi-bench"),
    "MTG": ("tagging", ""),
    "MTT": ("tagging", ""),
}
"""Of the words in a file's name; the other tasks that scorers are known for ask for one label."""
_LABELS = ("GTZAN", "GS", "Nsynth", "VocalSet", "GuzhengTech", "EMO")


def fits(file: AnswerFile) -> bool:
    """Whether its rows are questions about a clip with the right answer."""
    return {"question", "response", "correct_answer", "audioid", "other"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers of one model to one task, MODEL_TASK. Parts of one recording are distinguished by their place.

    Raises UsageError for a row without its texts.
    """
    model, _, task = file.path.stem.partition("_")
    words = task.split("_")
    family, scorer = _TASKS.get(words[0], ("classification", "cmi-bench-label") if words[0] in _LABELS else ("", ""))
    content: Any = file.content if isinstance(file.content, list) else [row for _, row in file.objects()]
    listed = [(place, row) for place, row in placed(file.path, enumerate(content))]
    if wrong := [place for place, row in listed if not isinstance(row, dict)]:
        raise UsageError(f"{wrong[0]}: it is not an object with a question and response")
    texts = [said(place, row, "question", "response", "correct_answer", "audioid") for place, row in listed]
    times = Counter(clip for *_, clip in texts)
    labels = tuple(sorted({label for _, _, right, _ in texts for label in _labels(right, family)}))
    for place, (question, answer, reference, clip) in enumerate(texts):
        yield RecordedAnswer(
            id=clip if times[clip] == 1 else f"{clip}#{place:06d}",
            answer=answer,
            reference=tuple(_labels(reference, family)) if family == "tagging" else reference,
            options=labels if family in ("classification", "tagging") else (),
            question=question,
            audio=clip,
            eval=task,
            model=model,
            family=family,
            scorer=scorer,
        )


def _labels(right: str, family: str) -> list[str]:
    return [label.strip() for label in right.split(",")] if family == "tagging" else [right]


READERS = (
    Reader(
        name="cmi-bench",
        about="CMI-Bench's outputs (question, response, correct_answer and audioid)",
        origin="real file",
        fits=fits,
        rows=rows,
        endings=(".jsonl", ".json"),
    ),
)
