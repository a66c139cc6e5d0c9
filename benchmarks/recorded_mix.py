"""Recorded answers of real models, repeated to any number: what the benchmark of scoring again reads.

The answers are those of the faithfulness study (github.com/lovenya/Measuring-Faithfulness-of-CoT-Reasoning-LALMs): 39 %
of them direct, 61 % with reasoning of 13 to 860 words, 51 on average. Each repetition has ids of its own, and in
every text of more than a dozen words another word is changed, so that no memory of texts could help.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from pytest_audiobench.records.lines import AudioRow, OutputRow, PredictionRow
from pytest_audiobench.report.json_lines import encode_line
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "data" / "recorded"
MODELS = ("af3", "qwen2.5-omni")
_FEWEST_WORDS = 13


def recorded(folder: Path = RECORDED) -> list[RecordedRow]:
    """All answers of ``MODELS`` in one fixed, mixed order; none where ``folder`` is not there."""
    if not folder.is_dir():
        return []
    rows = [row for model in MODELS for row in source_of(folder / model, folder / "manifests").rows()]
    kept = [row for row in rows if row.error is None]
    random.Random(7).shuffle(kept)
    return kept


def repeated(rows: Sequence[RecordedRow], answers: int) -> Iterator[PredictionRow]:
    """``answers`` lines in the layout of a run's predictions, of one eval."""
    draw = random.Random(7)
    numbers = count()
    while True:
        for row in rows:
            number = next(numbers)
            if number == answers:
                return
            yield _line(row, number, draw if number >= len(rows) else None)


def _line(row: RecordedRow, number: int, draw: random.Random | None) -> PredictionRow:
    sample, response = row.sample, row.responses["answer"]
    return PredictionRow(
        eval="recorded",
        model="recorded",
        dataset="recorded",
        sample_id=f"{sample.id}-{number:06d}",
        epoch=0,
        stage="answer",
        key=None,
        prompt=None,
        question=sample.question,
        choices=sample.choices,
        reference=sample.reference,
        references=(),
        metadata=sample.metadata,
        outputs=[OutputRow(_changed(response.text, draw), response.finish)],
        usage={},
        error=None,
        audio=[AudioRow(str(clip), None, 1.0, 0.0) for clip in sample.clips],
    )


def _changed(text: str, draw: random.Random | None) -> str:
    """``text`` with a word of its first half made another one."""
    words = text.split(" ")
    if draw is None or len(words) < _FEWEST_WORDS:
        return text
    at = draw.randrange(1, len(words) // 2)
    words[at] = f"{words[at]}{draw.choice('bcdfghklmnprst')}{draw.choice('aeiou')}{draw.choice('lmnrst')}"
    return " ".join(words)


def write(file: Path, rows: Sequence[RecordedRow], answers: int) -> int:
    """Write ``answers`` lines into ``file``; returns its size in bytes."""
    with file.open("wb") as lines:
        lines.writelines(map(encode_line, repeated(rows, answers)))
    return file.stat().st_size
