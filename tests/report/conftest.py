"""Runs made by hand: items of a two-hop suite with known answers, written as a real run writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import pytest
from msgspec.structs import replace

from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.fields import Record
from pytest_audiobench.records.lines import (
    COMPARED_FILE,
    AudioRow,
    BaselineAnswer,
    ComparedRow,
    EarlierAnswer,
    OutputRow,
    PredictionRow,
    ProcessedRow,
    ScoredRow,
)
from pytest_audiobench.records.run import (
    AskingRecord,
    BaselineRecord,
    CoverageRecord,
    ItemRecord,
    MetricRecord,
    ModelRecord,
    PerturbationRecord,
    RegressionRecord,
    RunRecord,
    RuntimeRecord,
    ScorerRecord,
    VerdictRecord,
)
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.report.page import html
from pytest_audiobench.report.page.sounds import ENDING
from pytest_audiobench.report.run_writer import PARTS, Lines, write_part
from tests.browser import new_context

SIGNATURE = "letters|v:1|skip:no"
CHOICES = ["cat", "dog", "cow", "hen"]


Reads: TypeAlias = Callable[[str, str, bool], tuple[str, bool | None]]
"""What a scorer makes of an answer's text, status and rightness; None for right where it leaves the answer out."""


@dataclass
class Made:
    """One item to write: ``answers`` are (text, status, right) per sample; status "error" is a failed asking.

    ``others`` are further scorers by name, ``wording`` the classes of failures that a text shows,
    ``verdict`` what a judge said of each; ``amend`` gives a sample's row of predictions as it is written.
    ``group_of`` gives a sample's groups by its number, ``truths`` and ``said`` the label that is true of it and the one
    that was read (their letters, by ``CHOICES``). ``head`` is the signature of the first scorer.
    """

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
    regressions: list[RegressionRecord] = field(default_factory=list)
    limited: bool = False
    question: str = "Which animal is heard?"
    others: dict[str, Reads] = field(default_factory=dict)
    wording: dict[str, tuple[str, ...]] = field(default_factory=dict)
    control: bool = False
    verdict: str = ""
    amend: Callable[[int, PredictionRow], PredictionRow] = lambda number, row: row
    message: str = ""
    group_of: Callable[[int], dict[str, str]] | None = None
    truths: Sequence[str] = ()
    said: Sequence[str | None] = ()
    perturbation: PerturbationRecord | None = None
    flipped: Collection[int] | None = None
    averages: Mapping[str, int] = field(default_factory=dict)
    head: str = SIGNATURE

    @property
    def scorers(self) -> dict[str, Reads]:
        return {"letters": lambda _, status, right: (status, right), **self.others}

    def signature(self, scorer: str) -> str:
        return self.head if scorer == "letters" else f"{scorer}|v:1"

    def read(self, scorer: str) -> list[tuple[str, dict[str, float] | None, tuple[str, ...]]]:
        """Each answer's status, scores (None where it was not asked or is skipped) and failures."""
        rows = []
        for text, status, right in self.answers:
            if status == "error":
                rows.append(("error", None, ()))
                continue
            status, right = self.scorers[scorer](text, status, right)
            failures = {status, *self.wording.get(text, ())}
            scores = None if right is None else {"correct": float(right)}
            rows.append((status, scores, tuple(name for name in FAILURES if name in failures)))
        return rows

    def groups_of(self, number: int) -> dict[str, str]:
        return self.group_of(number % (len(self.answers) // self.epochs)) if self.group_of else self.groups

    def _coverage(self, scorer: str) -> CoverageRecord:
        counts = {"n": len(self.answers), "parsed": 0, "unparsed": 0, "refused": 0, "empty": 0, "out_of_range": 0}
        counts |= {"truncated": 0, "errors": 0, "skipped": 0}
        for status, scores, _ in self.read(scorer):
            counts["errors" if status == "error" else status] += 1
            counts["skipped"] += status != "error" and scores is None
        return CoverageRecord(**counts)

    def _metrics(self, scorer: str) -> list[MetricRecord]:
        rows = self.read(scorer)
        metrics = [
            self._metric("accuracy", scorer, [scores for _, scores, _ in rows if scores is not None]),
            self._metric("coverage", scorer, [{status: 1.0} for status, _, _ in rows]),
        ]
        for failure in FAILURES:
            others = [scores for _, scores, failures in rows if failure not in failures]
            if len(others) < len(rows):
                metrics.append(self._metric(failure, scorer, [dict.fromkeys(row[2], 1.0) for row in rows]))
                kept = [scores for scores in others if scores is not None]
                metrics.append(self._metric("accuracy", scorer, kept, {"without": failure}))
        for group in (
            {tuple(self.groups_of(number).items()): None for number in range(len(rows))} if self.group_of else ()
        ):
            own = [row[1] for number, row in enumerate(rows) if tuple(self.groups_of(number).items()) == group]
            metrics.append(self._metric("accuracy", scorer, [one for one in own if one is not None], dict(group)))
        return metrics

    @property
    def record(self) -> ItemRecord:
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
            scorers=[ScorerRecord(name, self.signature(name), self._coverage(name)) for name in self.scorers],
            metrics=[metric for name in self.scorers for metric in self._metrics(name)],
            hashes={name: digest([name, self.eval, self.model]) for name in ("input_hash", "run_hash", "score_hash")},
            asking=AskingRecord(asked=len(self.answers)),
            control=self.control,
            verdicts=self.verdicts,
            regressions=self.regressions,
            outcome=self.outcome,
            message=self.message,
            perturbation=self.perturbation,
            averages=self.averages,
        )

    def _metric(
        self, name: str, scorer: str, statistics: list[dict[str, float]], group: dict[str, str] | None = None
    ) -> MetricRecord:
        kind = metric_kind(name)
        found = kind.estimate(statistics, None)
        numbers = (found.value if statistics else None, found.lower, found.upper, found.n)
        return MetricRecord(
            name, *numbers, kind.unit, kind.direction, found.method, scorer, self.signature(scorer), group or {}
        )

    @property
    def lines(self) -> Lines:
        return Lines(self._predictions(), self._processed(), self._scored())

    def _sample(self, number: int) -> dict[str, Any]:
        n = len(self.answers) // self.epochs
        return {
            "eval": self.eval,
            "model": self.model,
            "dataset": self.dataset or f"{self.suite}-{self.eval}",
            "sample_id": f"s{number % n:05d}",
            "epoch": number // n,
        }

    def _predictions(self) -> Iterator[PredictionRow]:
        n = len(self.answers) // self.epochs
        for number, (text, status, _) in enumerate(self.answers):
            row = self._prediction(number, number % n, text, status)
            yield self.amend(number, row)
            if self.verdict:
                outputs = [OutputRow(self.verdict, "stop")] if row.error is None else []
                error = None if row.error is None else self.verdict
                yield replace(row, stage="grade", role="judge", outputs=outputs, error=error)

    def _prediction(self, number: int, sample: int, text: str, status: str) -> PredictionRow:
        failed = status == "error"
        return PredictionRow(
            **self._sample(number),
            question=self.question,
            choices=CHOICES,
            reference=self.truths[sample] if self.truths else "cat",
            references=[],
            metadata={},
            stage="answer",
            key=f"{sample:064x}",
            prompt=None,
            outputs=[] if failed else [OutputRow(text, "stop")],
            usage={},
            error=text if failed else None,
            audio=[AudioRow(f"sakura:data/{sample}.wav", "0" * 64, 1.25, 0.0)],
        )

    def _processed(self) -> Iterator[ProcessedRow]:
        before = None if self.flipped is None else EarlierAnswer("parsed", "C")
        for number, scorer, status, scores, _ in self._readings():
            value = ("A" if scores and scores["correct"] else "B") if status == "parsed" else None
            value = self.said[number] if self.said else value
            yield ProcessedRow(**self._sample(number), scorer=scorer, status=status, value=value, before=before)

    def _scored(self) -> Iterator[ScoredRow]:
        for number, scorer, status, scores, failures in self._readings():
            if self.flipped is not None and scores is not None:
                scores = {**scores, "flipped": float(number in self.flipped)}
            yield ScoredRow(
                **self._sample(number),
                scorer=scorer,
                status=status,
                scores=scores,
                failures=failures,
                groups=self.groups_of(number),
                cluster=self.clusters[number % (len(self.answers) // self.epochs)] if self.clusters else None,
            )

    def _readings(self) -> Iterator[tuple[int, str, Any, dict[str, float] | None, tuple[str, ...]]]:
        """What each scorer made of each answer, by the answer's number, in the order of the line files."""
        read = [self.read(name) for name in self.scorers]
        for number in range(len(self.answers)):
            for name, rows in zip(self.scorers, read, strict=True):
                yield number, name, *rows[number]


BASELINE = BaselineRecord(
    source="baselines/main.json",
    digest="b7" * 32,
    model="listener",
    spec="hf:checkpoints/step-1000",
    run="2026-11-01-main",
    limit=None,
    lines=1,
)


def regression(status: Any, drop: float | None = None, half: float = 0.02, **changes: Any) -> RegressionRecord:
    """A regression line with a drop and an interval of so much on either side."""
    known = drop is not None
    values: dict[str, Any] = {
        "status": status,
        "metric": "accuracy",
        "scorer": "letters",
        "group": {},
        "unit": "share",
        "direction": "higher",
        "baseline": 0.8,
        "value": None if drop is None else 0.8 - drop,
        "drop": drop,
        "lower": None if drop is None else drop - half,
        "upper": None if drop is None else drop + half,
        "bound": None if drop is None else drop + 0.84 * half,
        "margin": 0.01,
        "p": 0.0004 if status == "regressed" else 0.31 if known else None,
        "alpha": 0.05,
        "lines": 1,
        "detectable": 2.5 * half if known else None,
        "pairs": 300 if known else 0,
        "clusters": 120 if known else None,
        "worse": 21 if known else 0,
        "better": 9 if known else 0,
        "left_out": {},
        "examples": {},
        "method": "paired t, 120 clusters" if known else "no test: the data set is another",
        "detail": f"{status} because of its numbers" if known else "the data set is another",
        "p_holm": 0.0016 if status == "regressed" else None,
    }
    return RegressionRecord(**values | changes)


def dropped(status: Any = "regressed", **changes: Any) -> RegressionRecord:
    """A regression line of a model that fell from 98.8 % to 12.5 % on 80 samples, whatever the verdict on it."""
    told = {"detail": f"the sentence of a line that is {status}"}
    if status == "not_comparable":
        return regression(status, **told | changes)
    numbers = {"baseline": 0.9875, "value": 0.125, "lower": 0.78, "upper": 0.93, "bound": 0.92, "p": 1e-9}
    counts = {"detectable": 0.05, "pairs": 80, "worse": 69, "better": 2}
    return regression(status, 0.8625, **numbers | counts | told | changes)


def model_record(alias: str = "listener", **changes: Any) -> ModelRecord:
    values: dict[str, Any] = {
        "spec": "baseline:listener",
        "role": "subject",
        "batching": "opaque",
        "device": "cpu",
        "fingerprint": {"weights": "ab12"},
        "heard": "",
        "batches": "",
        "hearing": None,
        "noise": None,
    }
    return ModelRecord(alias=alias, **values | changes)


def heading(**changes: Any) -> RunRecord:
    """A run's record as it is before its items are collected."""
    values: dict[str, Any] = {
        "run": "2026-11-20-nightly",
        "started": "2026-11-20T09:00:00Z",
        "finished": "2026-11-20T09:01:30Z",
        "command": ["pytest", "evals"],
        "exit_status": 0,
        "limit": None,
        "epochs": 1,
        "models": [model_record()],
        "runtime": RuntimeRecord("3.11.7", "cpython", "linux", {"numpy": "2.4.6"}),
        "hashes": pooled_hashes(()),
        "notes": [],
    }
    return RunRecord(**values | changes)


@dataclass(frozen=True)
class Runs:
    """Makes runs under a folder of reports."""

    reports: Path

    def begun(self, *items: Made, name: str = "run") -> Path:
        """A run's folder with the parts of ``items``, not yet collected."""
        folder = self.reports / name
        (folder / PARTS).mkdir(parents=True)
        for item in items:
            write_part(folder / "parts", item.record, item.lines)
        return folder

    def collected(self, *items: Made, name: str = "run", **changes: Any) -> tuple[Path, RunRecord]:
        """A run's folder and record, collected and finished."""
        folder = self.begun(*items, name=name)
        record = run_writer.collect(folder, heading(**changes))
        run_writer.finish(folder, record)
        return folder, record

    def gated(self, *items: Made, name: str = "run", before: str = "(a) cat", **changes: Any) -> tuple[Path, RunRecord]:
        """A finished run that was held against a baseline, whose answers were all right and read ``before``."""
        folder = self.begun(*items, name=name)
        record = replace(run_writer.collect(folder, heading(**changes)), baseline=BASELINE)
        rows = [
            self.compared_row(row, "same" if row.scores == {"correct": 1.0} else "worse", before)
            for item in items
            for row in item.lines.scored
            if row.scorer == "letters" and row.status != "error"
        ]
        write_lines(folder / COMPARED_FILE, rows)
        run_writer.finish(folder, record)
        return folder, record

    @staticmethod
    def compared_row(row: ScoredRow, change: Any, text: str | None = "(a) cat") -> ComparedRow:
        """What the baseline holds of a sample: the right answer, which read ``text``."""
        before = BaselineAnswer("parsed", {"correct": 1.0}, text, [])
        return ComparedRow(
            eval=row.eval,
            model=row.model,
            sample_id=row.sample_id,
            epoch=row.epoch,
            scorer=row.scorer,
            change=change,
            before=before,
        )

    @staticmethod
    def with_items(record: RunRecord, **changes: Any) -> RunRecord:
        """The ``record`` with all of its items changed alike."""
        return replace(record, items=[replace(item, **changes) for item in record.items])

    def page(
        self,
        *items: Made,
        budget_bytes: int = html.BUDGET_BYTES,
        baseline: BaselineRecord | None = None,
        compared: Sequence[ComparedRow] = (),
        sounds: Sequence[Record] = (),
        **changes: Any,
    ) -> Path:
        """The page of a finished run, held against ``baseline``, of whose samples ``compared`` tells.

        ``sounds`` are the excerpts that its evals left.
        """
        folder = self.begun(*items)
        write_lines(folder / PARTS / f"sounds{ENDING}", sounds)
        record = replace(run_writer.collect(folder, heading(**changes)), baseline=baseline)
        if compared:
            write_lines(folder / COMPARED_FILE, compared)
        path = html.write_page(folder, record, budget_bytes)
        run_writer.finish(folder, record)
        return path

    @staticmethod
    def item(index: int, eval_name: str, answers: list[tuple[str, str, bool]], **changes: Any) -> Made:
        return Made(index, eval_name, answers, **changes)

    @staticmethod
    def ladder(
        right: Sequence[int], n: int = 24, family: str = "white", unit: str = "dB SNR", **changes: Any
    ) -> list[Made]:
        """The clean perturbation, of which all but one are right, and doses of 20, 10, … of which so many are right.

        Every second answer that is not right is a refusal.
        """
        perturbations = [PerturbationRecord("clean", "clean", None, "", "")]
        perturbations += [
            PerturbationRecord(f"{family}-{k}", family, 20.0 - 10 * k, unit, "lower") for k in range(len(right))
        ]
        items = []
        for number, (one, count) in enumerate(zip(perturbations, (n - 1, *right), strict=True)):
            wrong = [("(b) dog", "parsed", False), ("I cannot tell", "refused", False)]
            answers = [("(a) cat", "parsed", True)] * count + [wrong[k % 2] for k in range(n - count)]
            own = {"eval": f"noisy[{one.name}]", "suite": "noisy", "dataset": f"tones+{one.name}", **changes}
            items.append(Made(index=number, answers=answers, perturbation=one, **own))
        return items

    def prompts(self, *right: Sequence[int]) -> list[Made]:
        """Ladders of one data set, each asked about in words of its own: ``noisy[clean-a]``, ``noisy[clean-b]``, …"""
        ladders = [self.ladder(own) for own in right]
        return [
            with_changes(
                one, index=len(own) * number + one.index, eval=f"{one.eval.removesuffix(']')}-{'abc'[number]}]"
            )
            for number, own in enumerate(ladders)
            for one in own
        ]

    heading = staticmethod(heading)
    model = staticmethod(model_record)
    regression = staticmethod(regression)
    dropped = staticmethod(dropped)
    baseline: ClassVar[BaselineRecord] = BASELINE


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "reports")


@dataclass
class Opened:
    """A page in the browser, and everything that should not have happened in it."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def choose(self, facet: str, value: str) -> None:
        """Press a filter's chip."""
        self.page.get_by_role("group", name=facet).get_by_role(
            "button", name=re.compile(rf"^(✓ )?{value} [\d,]+$")
        ).click()

    def counts(self, facet: str) -> dict[str, int]:
        """How many each chip of a filter would leave."""
        texts = self.page.get_by_role("group", name=facet).get_by_role("button").all_inner_texts()
        return {name: int(number.replace(",", "")) for name, _, number in (text.rpartition(" ") for text in texts)}

    def samples(self) -> list[str]:
        """The texts of the cards of all samples that match, opened one after the other."""
        return self._walk("card => card.innerText")

    def answers(self) -> list[str]:
        """The texts of the answers on these cards."""
        found = self._walk("card => [...card.querySelectorAll('.answer')].map((one) => one.innerText)")
        return [text for texts in found for text in texts]

    def _walk(self, what: str) -> list[Any]:
        return self.page.evaluate(
            f"""() => {{
              const what = {what};
              const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
              const first = document.querySelector("#rows .row");
              const count = first === null ? 0 : Number(first.getAttribute("aria-setsize"));
              document.getElementById("list").focus();
              press("Home");
              return Array.from({{ length: count }}, () => {{
                const found = what(document.querySelector("#card article"));
                press("j");
                return found;
              }});
            }}"""
        )


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    context = new_context(browser, offline=True)

    def open_(path: Path, folded: bool = False) -> Opened:
        """The page at ``path``, with all of its parts open unless it is to be as a reader finds it."""
        one = Opened(context.new_page())
        one.page.on("console", lambda message: one.complaints.append(message.text))
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.on("dialog", lambda dialog: (one.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        one.page.on(
            "request", lambda r: None if r.url.startswith(("file:", "blob:null/")) else one.complaints.append(r.url)
        )
        one.page.goto(path.as_uri())
        if not folded:
            one.page.evaluate(
                "for (const fold of document.querySelectorAll('details.fold')) "
                "{ fold.open = true; fold.dispatchEvent(new Event('toggle')); }"
            )
        return one

    yield open_
    context.close()
