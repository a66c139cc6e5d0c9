"""Runs made by hand: items of a two-hop suite with known answers, written as a real run writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.failures import FAILURES
from pytest_audiobench.report import run_files
from pytest_audiobench.report.parts import FOLDER, Lines, write_part
from pytest_audiobench.report.run_files import Heading
from pytest_audiobench.runs.record import ItemRecord, MetricRecord, ReadingRecord, VerdictRecord

SIGNATURE = "letters|v:1|skip:no"
CHOICES = ["cat", "dog", "cow", "hen"]


@dataclass
class Made:
    """One item to write: ``answers`` are (text, status, right) per sample; status "error" is a failed asking."""

    index: int
    eval: str
    answers: list[tuple[str, str, bool]]
    model: str = "listener"
    suite: str = "sakura"
    dataset: str = ""
    clusters: list[str] | None = None
    groups: dict[str, str] = field(default_factory=dict)
    epochs: int = 1
    outcome: Any = "passed"
    verdicts: list[VerdictRecord] = field(default_factory=list)
    limited: bool = False
    question: str = "Which animal is heard?"

    @property
    def record(self) -> ItemRecord:
        counts = {"n": len(self.answers), "parsed": 0, "unparsed": 0, "refused": 0, "empty": 0, "out_of_range": 0}
        counts |= {"truncated": 0, "errors": 0, "skipped": 0}
        for _, status, _ in self.answers:
            counts["errors" if status == "error" else status] += 1
        correct = [{"correct": float(right)} for _, status, right in self.answers if status != "error"]
        metrics = [self._metric("accuracy", correct)]
        metrics.append(self._metric("coverage", [{status: 1.0} for _, status, _ in self.answers]))
        return ItemRecord(
            index=self.index,
            nodeid=f"evals/test_{self.suite}.py::test_{self.suite}[{self.eval}]",
            eval=self.eval,
            suite=self.suite,
            model=self.model,
            dataset=self.dataset or f"{self.suite}-{self.eval}",
            protocol="multiple-choice",
            n=len(self.answers) // self.epochs,
            epochs=self.epochs,
            limited=self.limited,
            readings=[ReadingRecord("letters", SIGNATURE, counts)],
            metrics=metrics,
            hashes={name: digest([name, self.eval, self.model]) for name in ("input_hash", "run_hash", "score_hash")},
            asking={
                "asked": len(self.answers),
                "known": 0,
                "noise": 0,
                "repaired": 0,
                "truncated_clips": 0,
                "oom_splits": 0,
            },
            verdicts=self.verdicts,
            outcome=self.outcome,
        )

    def _metric(self, name: str, statistics: list[dict[str, float]]) -> MetricRecord:
        kind = metric_kind(name)
        found = kind.estimate(statistics, None)
        numbers = (found.value if statistics else None, found.lower, found.upper, found.n)
        return MetricRecord(name, *numbers, kind.unit, kind.direction, found.method, "letters", SIGNATURE)

    @property
    def lines(self) -> Lines:
        return Lines(self._rows(self._prediction), self._rows(self._processed), self._rows(self._scored))

    def _rows(self, row: Callable[[int, str, str, bool], dict[str, Any]]) -> Iterator[dict[str, Any]]:
        n = len(self.answers) // self.epochs
        for number, (text, status, right) in enumerate(self.answers):
            base = {
                "eval": self.eval,
                "model": self.model,
                "dataset": self.record_dataset,
                "sample_id": f"s{number % n:05d}",
                "epoch": number // n,
            }
            yield base | row(number % n, text, status, right)

    @property
    def record_dataset(self) -> str:
        return self.dataset or f"{self.suite}-{self.eval}"

    def _prediction(self, number: int, text: str, status: str, right: bool) -> dict[str, Any]:
        failed = status == "error"
        return {
            "stage": "answer",
            "key": f"{number:064x}",
            "question": self.question,
            "choices": CHOICES,
            "reference": "cat",
            "outputs": [] if failed else [{"text": text, "finish": "stop"}],
            "usage": {},
            "error": text if failed else None,
            "audio": [{"source": f"sakura:data/{number}.wav", "key": "0" * 64, "duration_s": 1.25, "truncated_s": 0.0}],
        }

    def _processed(self, number: int, text: str, status: str, right: bool) -> dict[str, Any]:
        value = ("A" if right else "B") if status == "parsed" else None
        return {"reading": "letters", "status": status, "value": value}

    def _scored(self, number: int, text: str, status: str, right: bool) -> dict[str, Any]:
        scores = {} if status == "error" else {"correct": float(right)}
        cluster = self.clusters[number] if self.clusters else None
        return {
            "reading": "letters",
            "status": status,
            "scores": scores,
            "failures": [status] if status in FAILURES else [],
            "groups": self.groups,
            "cluster": cluster,
        }


def heading(**changes: Any) -> Heading:
    values: dict[str, Any] = {
        "run": "2026-11-20-nightly",
        "started": "2026-11-20T09:00:00Z",
        "finished": "2026-11-20T09:01:30Z",
        "command": ["pytest", "evals"],
        "exit_status": 0,
        "limit": None,
        "epochs": 1,
        "models": [
            {
                "alias": "listener",
                "spec": "baseline:listener",
                "batching": "opaque",
                "device": "cpu",
                "fingerprint": {"weights": "ab12"},
            }
        ],
        "runtime": {"python": "3.11.7", "platform": "linux", "packages": {"numpy": "2.4.6"}},
    }
    return Heading(**values | changes)


@dataclass(frozen=True)
class Runs:
    """Makes runs under a folder of reports."""

    reports: Path

    def begun(self, *items: Made, name: str = "run") -> Path:
        """A run's folder with the parts of ``items``, not yet collected."""
        folder = self.reports / name
        (folder / FOLDER).mkdir(parents=True)
        for item in items:
            write_part(folder / "parts", item.record, item.lines)
        return folder

    def collected(self, *items: Made, name: str = "run", **changes: Any) -> tuple[Path, dict[str, Any]]:
        """A run's folder and record, collected and finished."""
        folder = self.begun(*items, name=name)
        record = run_files.collect(folder, heading(**changes))
        run_files.finish(folder, record)
        return folder, record

    @staticmethod
    def item(index: int, eval_name: str, answers: list[tuple[str, str, bool]], **changes: Any) -> Made:
        return Made(index, eval_name, answers, **changes)

    heading = staticmethod(heading)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "reports")
