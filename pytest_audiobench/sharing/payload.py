"""The payload of a submission, made of a finished run: one model, one suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import convert, structs

from pytest_audiobench.comparison.baseline_sources import contents_of, missing_parts
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.encoding import encode_baseline
from pytest_audiobench.records.run import ItemRecord, RunRecord, SuiteRecord
from pytest_audiobench.records.submission import (
    MOST_BYTES,
    Payload,
    SubmittedFigure,
    SubmittedItem,
    SubmittedModel,
    SubmittedRun,
    SuiteHashes,
)
from pytest_audiobench.report.run_reader import Run
from pytest_audiobench.sharing.finding_evidence import findings_of, top_of
from pytest_audiobench.sharing.submission import Submission, decoded
from pytest_audiobench.sharing.submission_checks import content_failures
from pytest_audiobench.verifier.clip_checks import Folders
from pytest_audiobench.verifier.run_verification import verify_run

ALL = ("all",)
"""Every scorer's statistics are evidence."""
_LONGEST = {"notes": 4_000, "tags": 50, "author": 200}
_MOST_TAGS = 20


class SubmissionInfo(NamedTuple):
    """What a run does not say of its submission. ``submitted_at`` is ISO 8601 in UTC."""

    submitted_at: str
    submitted_by: str | None = None
    authored_by: str | None = None
    notes: str = ""
    tags: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises UsageError for texts that are too long to be read by anyone."""
        texts = [("notes", self.notes), ("author", self.authored_by or ""), *(("tags", tag) for tag in self.tags)]
        for name, value in texts:
            if len(value) > _LONGEST[name]:
                raise UsageError(f"--{name} has {len(value)} characters, {_LONGEST[name]} at most are kept: shorten it")
        if len(self.tags) > _MOST_TAGS:
            raise UsageError(f"--tags names {len(self.tags)} tags, {_MOST_TAGS} at most are kept: leave some out")


def choose(run: Run, suite: str, model: str) -> tuple[str, str]:
    """The suite and the model's alias that are meant, of those that the run measured; empty means the only one.

    Raises UsageError, which lists them, where there is none or several.
    """
    pairs = [(entry.name, entry.model) for entry in run.record.suites]
    matches = [(name, alias) for name, alias in pairs if suite in ("", name) and model in ("", alias)]
    if len(matches) == 1:
        return matches[0]
    listed = ", ".join(f"{name} by {alias}" for name, alias in pairs) or "nothing"
    wanted = " by ".join(filter(None, (suite, model)))
    several = f"{run.folder} holds {len(matches)} that may be meant"
    problem = several if matches else f"no suite of {run.folder} is {wanted}"
    raise UsageError(f"{problem}: it measured {listed}; choose by --suite and --model")


def payload_of(run: Run, suite: str, model: str, about: SubmissionInfo, evident: Sequence[str] = ALL) -> Payload:
    """The payload of what ``model`` did in ``suite``, as :func:`choose` named them.

    ``evident`` names the scorers whose statistics are evidence, with each eval's first. Raises UsageError for a run
    whose files were edited or cut, and for one whose evals lack hashes.
    """
    about.check()
    record, contents = run.record, contents_of(run, f"the run {run.folder.name}", texts=False)[model]
    suite_record = next(entry for entry in record.suites if (entry.name, entry.model) == (suite, model))
    hashes = suite_record.hashes
    if hashes.input_hash is None or hashes.run_hash is None or hashes.score_hash is None:
        raise UsageError(f"{suite} of {run.folder} has no hashes, so it could not be verified: run it again")
    evidence = _evidence(contents, record, suite_record, evident)
    # Those that the suite pools (``report/run_writer.py``).
    items = [
        item
        for item in record.items
        if (item.suite, item.model) == (suite, model)
        and (item.scorers and item.pooled and not item.control and item.outcome != "skipped")
    ]
    metrics, findings = list(_figures(suite_record)), findings_of(items)
    return Payload(
        suite=suite,
        model=convert(evidence.head.model, SubmittedModel, from_attributes=True),
        run=SubmittedRun(record.run, record.finished, evidence.head.version),
        hashes=SuiteHashes(hashes.input_hash, hashes.run_hash, hashes.score_hash),
        n=suite_record.n,
        epochs=record.epochs,
        limit=record.limit,
        limited=suite_record.limited,
        missing=evidence.head.missing,
        headline=metrics[0] if metrics else None,
        metrics=metrics,
        scorers=suite_record.scorers,
        items=[_item(item) for item in items],
        # What a run's perturbations do, and what was found of it, as the run records them.
        curves=suite_record.curves,
        perturbations=suite_record.perturbations,
        findings=findings,
        top_finding=top_of(findings, evidence),
        evidence=encode_baseline(evidence).decode(),
        runtime=record.runtime,
        **about._asdict(),
    )


def _evidence(contents: Contents, record: RunRecord, suite: SuiteRecord, scorers: Sequence[str]) -> Contents:
    beside = {item.eval for item in record.items if not item.pooled}
    names = [name for name, side in contents.sides.items() if side.suite == suite.name and name not in beside]
    items = [item for item in record.items if item.suite == suite.name and item.pooled]
    missing = missing_parts(structs.replace(record, items=items), contents.head.model.alias)
    part = Contents(
        structs.replace(contents.head, hashes=suite.hashes, missing=missing),
        sides={name: contents.sides[name] for name in names},
        figures={name: contents.figures[name] for name in names},
    )
    return part.reduced(scorers, texts=False)


def _item(item: ItemRecord) -> SubmittedItem:
    shared = {name: getattr(item, name) for name in SubmittedItem.__struct_fields__}
    return SubmittedItem(**{**shared, "metrics": list(_figures(item))})


def _figures(owner: ItemRecord | SuiteRecord) -> Iterator[SubmittedFigure]:
    for metric in owner.metrics:
        if metric.scorer is not None and metric.signature is not None and not metric.group:
            shared = {name: getattr(metric, name) for name in SubmittedFigure.__struct_fields__[1:]}
            yield SubmittedFigure(metric=metric.name, **shared)


if TYPE_CHECKING:
    from pytest_audiobench.sharing.sshsig import PrivateKey


LARGE = 5_000_000
"""Bytes of a file from which on only each eval's first scorer has its statistics in it."""


class PreparedSubmission(NamedTuple):
    """The submission, its file's bytes, and what is marked in it, a sentence each."""

    submission: Submission
    content: bytes
    marks: list[str]


def prepare_submission(
    run: Run, suite: str, model: str, about: SubmissionInfo, key: PrivateKey | None
) -> PreparedSubmission:
    """The submission of what ``model`` did in ``suite``, signed where there is a ``key``.

    A limited run, one that is not whole, and failed askings are marked in it. Raises UsageError for a run whose hashes
    or numbers do not follow from its files, and for one that is too large to be read by others.
    """
    if fails := verify_run(run.folder, Path(), Folders({})).failing():
        raise UsageError(
            f"{run.folder} does not hold, so it is not shared: {', '.join(fails[:5])}; audiobench verify {run.folder} "
            "says why, and running again asks no model"
        )
    submission = Submission.of(payload_of(run, suite, model, about), key)
    if len(submission.encoded()) > LARGE:
        submission = Submission.of(payload_of(run, suite, model, about, evident=()), key)
    content = submission.encoded()
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"the submission would hold {len(content) / 1e6:.0f} MB, and {MOST_BYTES / 1e6:.0f} MB can be read: split "
            "the suite"
        )
    # Read back as others read it: what they would refuse is refused here.
    if failing := content_failures(decoded(content, "the submission"), "the submission"):
        raise UsageError(
            f"{run.folder} does not hold together, so it is not shared: {failing}; its files were edited, or another "
            "version wrote it: run again, which asks no model"
        )
    return PreparedSubmission(submission, content, list(_marks(submission)))


def _marks(submission: Submission) -> list[str]:
    payload = submission.payload
    failed = sum(item.scorers[0].coverage.errors for item in payload.items if item.scorers)
    unsigned = "not signed: a leaderboard takes signed submissions only (--sign KEY)"
    return [
        *([f"limited to {payload.limit} samples of each eval"] if payload.limited else []),
        *payload.missing,
        *([f"{failed} samples could not be asked"] if failed else []),
        *([] if submission.signature else [unsigned]),
    ]
