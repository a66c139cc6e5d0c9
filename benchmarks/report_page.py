"""What the page of a large run weighs, and how soon it can be used in a browser.

Run ``python benchmarks/report_page.py [--samples N] [--rounds N]`` with Chromium and Playwright on the machine. A run's
files are made, with and without a baseline: nine tenths multiple-choice questions, one tenth transcripts, answers of
some twenty words, prompts as they are sent, metadata of four fields. Measured are

- writing: ``write_page`` in this process, from the line files to report.html;
- open: from asking headless Chromium for the file until the list and the first sample's card are drawn;
- search: from the first key of a search over all texts until the list is narrowed (0.12 s of it is waited for typing).

Limits: 15 MB of page beside the sounds, 2 s until it is open.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import Spent, keep, yardstick
from msgspec import structs
from playwright.sync_api import sync_playwright

from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.transcription.texts import basic_text
from pytest_audiobench.records.lines import (
    COMPARED_FILE,
    AudioRow,
    BaselineAnswer,
    ComparedRow,
    OutputRow,
    PredictionRow,
    ProcessedRow,
    ScoredRow,
)
from pytest_audiobench.records.run import (
    BaselineRecord,
    CoverageRecord,
    ItemRecord,
    MetricRecord,
    ModelRecord,
    RunRecord,
    RuntimeRecord,
    ScorerRecord,
)
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.run_writer import iso

LIMIT_BYTES, LIMIT_S = 15_000_000, 2.0
QUESTIONS = [
    "Which animal is heard in the recording?",
    "What emotion does the speaker convey in this utterance?",
    "Which of the following best describes the environment in which this was recorded?",
]
CHOICES = [
    ["cat", "dog", "cow", "hen"],
    ["joy", "anger", "fear", "sadness"],
    ["a street", "a kitchen", "a hall", "a car"],
]
SIGNATURES = {"letters": "mcq:letters|v:1", "wer-basic": "asr:wer-basic|v:2"}


class MadeItem:
    """An eval of ``count`` samples, with the answers that a baseline gave."""

    def __init__(self, index: int, count: int, transcripts: bool) -> None:
        self.drawn = random.Random(index)
        self.words = ["".join(self.drawn.choices("etaoinshrdlu", k=self.drawn.randint(2, 8))) for _ in range(5_000)]
        self.index, self.count, self.transcripts = index, count, transcripts
        self.eval = f"made[{index}]"
        self.scorer = "wer-basic" if transcripts else "letters"
        self.rows = [self._sample(number) for number in range(count)]

    def _sample(self, number: int) -> dict[str, Any]:
        drawn = self.drawn
        text = " ".join(drawn.choices(self.words, k=20))
        kind = drawn.randrange(3)
        if self.transcripts:
            said = [" ".join(w for w in text.split() if drawn.random() > 0.05) for _ in range(2)]
            scores = [_word_errors(text, one) for one in said]
            return {"reference": text, "said": said, "values": said, "scores": scores, "kind": kind, "number": number}
        letters = [drawn.choice("AAAABCD") for _ in range(2)]
        if drawn.random() > 0.02:
            letters[1] = letters[0]
        said = [f"{text}. So the answer is ({one.lower()})." for one in letters]
        scores = [{"correct": float(one == "A")} for one in letters]
        reference = CHOICES[kind][0]
        return {
            "reference": reference,
            "said": said,
            "values": letters,
            "scores": scores,
            "kind": kind,
            "number": number,
        }

    @property
    def record(self) -> ItemRecord:
        name = "wer" if self.transcripts else "accuracy"
        kind = metric_kind(name)
        found = kind.estimate([row["scores"][0] for row in self.rows], None)
        signature = SIGNATURES[self.scorer]
        metric = MetricRecord(
            name, found.value, found.lower, found.upper, found.n, kind.unit, kind.direction, found.method, self.scorer,
            signature,
        )  # fmt: skip
        counts = dict.fromkeys(CoverageRecord.__struct_fields__, 0) | {"n": self.count, "parsed": self.count}
        return ItemRecord(
            index=self.index,
            nodeid=f"test_made.py::test[{self.index}]",
            eval=self.eval,
            suite="made",
            model="model",
            dataset="made",
            protocol="transcription" if self.transcripts else "multiple-choice",
            n=self.count,
            epochs=1,
            limited=False,
            scorers=[ScorerRecord(self.scorer, signature, CoverageRecord(**counts))],
            metrics=[metric],
            hashes=dict.fromkeys(("input_hash", "run_hash", "score_hash"), f"{self.index:064x}"),
        )

    def base(self, row: dict[str, Any]) -> dict[str, Any]:
        id_ = f"recordings/session-{self.index:02d}/utterance-{row['number']:06d}"
        return {"eval": self.eval, "model": "model", "sample_id": id_, "epoch": 0}

    @property
    def lines(self) -> run_writer.Lines:
        return run_writer.Lines(self._predictions(), self._processed(), self._scored())

    def _predictions(self) -> Iterator[PredictionRow]:
        for row in self.rows:
            question = "" if self.transcripts else QUESTIONS[row["kind"]]
            choices = [] if self.transcripts else CHOICES[row["kind"]]
            asked = "Transcribe the speech." if self.transcripts else f"{question}\n" + "\n".join(
                f"({letter}) {choice}" for letter, choice in zip("abcd", choices, strict=True)
            ) + "\nChoose one of the options and answer with its letter."  # fmt: skip
            yield PredictionRow(
                **self.base(row),
                dataset="made",
                question=question,
                choices=choices,
                reference=row["reference"],
                references=[],
                metadata={
                    "speaker": f"speaker-{row['number'] % 97}",
                    "language": "en",
                    "session": f"session-{row['number'] % 400}",
                    "snr_db": row["number"] % 30,
                },
                stage="answer",
                key=f"{row['number']:064x}",
                prompt=[("system", ["You are a careful listener."]), ("user", [0, asked])],
                outputs=[OutputRow(row["said"][0], "stop")],
                usage={},
                error=None,
                audio=[AudioRow(f"made:audio/{row['number']:06d}.flac", f"{row['number']:064x}", 4.2, 0.0)],
            )

    def _processed(self) -> Iterator[ProcessedRow]:
        for row in self.rows:
            yield ProcessedRow(
                **self.base(row), dataset="made", scorer=self.scorer, status="parsed", value=row["values"][0]
            )

    def _scored(self) -> Iterator[ScoredRow]:
        for row in self.rows:
            yield ScoredRow(
                **self.base(row),
                dataset="made",
                scorer=self.scorer,
                status="parsed",
                scores=row["scores"][0],
                failures=[],
                groups={"language": "en", "track": ["animal", "emotion", "place"][row["kind"]]},
                cluster=f"speaker-{row['number'] % 97}",
            )

    def compared(self) -> Iterator[ComparedRow]:
        """The rows of compared_predictions.jsonl."""
        for row in self.rows:
            here, before = (_badness(scores) for scores in row["scores"])
            yield ComparedRow(
                **self.base(row),
                scorer=self.scorer,
                change="worse" if here > before else "better" if here < before else "same",
                before=BaselineAnswer("parsed", row["scores"][1], row["said"][1], []),
            )


def _word_errors(reference: str, said: str) -> dict[str, int]:
    return token_errors(basic_text(reference).split(), basic_text(said).split())


def _badness(scores: dict[str, float]) -> float:
    return -scores["correct"] if "correct" in scores else scores["S"] + scores["D"] + scores["I"]


def run_of(folder: Path, samples: int, with_baseline: bool) -> RunRecord:
    """Write a run's files into ``folder`` and return its record."""
    (folder / run_writer.PARTS).mkdir(parents=True)
    items = [MadeItem(index, samples // 10, transcripts=index == 9) for index in range(10)]
    for item in items:
        run_writer.write_part(folder / run_writer.PARTS, item.record, item.lines)
    model = ModelRecord(
        alias="model",
        spec="made",
        role="subject",
        batching="opaque",
        device="cpu",
        fingerprint={},
        heard="",
        batches="",
        hearing=None,
        noise=None,
    )
    now = iso(time.time())
    heading = RunRecord(
        run="made",
        started=now,
        finished=now,
        command=["pytest"],
        exit_status=0,
        limit=None,
        epochs=1,
        models=[model],
        hashes=pooled_hashes(()),
        runtime=RuntimeRecord("", "", "", {}),
        notes=[],
    )
    record = run_writer.collect(folder, heading)
    if with_baseline:
        write_lines(folder / COMPARED_FILE, (row for item in items for row in item.compared()))
        baseline = BaselineRecord(
            source="main.json", digest="0" * 64, model="model", spec="made", run="main", limit=None, lines=0
        )
        record = structs.replace(record, baseline=baseline)
    return record


def opened(browser: Any, path: Path) -> tuple[float, float]:
    """Seconds until the page can be used, and until a search over all texts has narrowed the list."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page = context.new_page()
    started = time.perf_counter()
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("#card article")
    open_s = time.perf_counter() - started
    page.locator("#search").focus()
    started = time.perf_counter()
    page.keyboard.insert_text("utterance-000123")
    page.locator("#place").filter(has_text=" of ").wait_for()
    search_s = time.perf_counter() - started
    context.close()
    return open_s, search_s


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--samples", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, with_baseline in (("without a baseline", False), ("with a baseline", True)):
            folder = Path(made) / name.replace(" ", "-")
            record = run_of(folder, given.samples, with_baseline)
            written = []
            for _ in range(given.rounds):
                started = time.perf_counter()
                path = write_page(folder, record)
                written.append(time.perf_counter() - started)
            found = [opened(browser, path) for _ in range(given.rounds)]
            size = path.stat().st_size
            print(f"{given.samples} samples {name}: {size / 1e6:.2f} MB ({size / LIMIT_BYTES:.2f} of the limit)")
            told = {"writing": written, "open": [one for one, _ in found], "search": [one for _, one in found]}
            for what, seconds in told.items():
                spent = [Spent(one, 0.0) for one in seconds]
                keep(
                    f"page of {given.samples:,} samples {name}: {what}",
                    spent,
                    1.0,
                    "s",
                    LIMIT_S if what == "open" else None,
                    cpu=False,
                )
                limit = f", {statistics.median(seconds) / LIMIT_S:.2f} of the limit" if what == "open" else ""
                print(
                    f"  {what:8} {statistics.median(seconds):6.2f} s ({min(seconds):.2f} to {max(seconds):.2f}) "
                    f"n={len(seconds)}{limit}"
                )
        browser.close()
    print(f"yardstick {statistics.median(yardstick().wall_s for _ in range(5)):.3f} s")


if __name__ == "__main__":
    main()
