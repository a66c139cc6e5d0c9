"""The checks of a submission: who signed it, and whether its hashes and numbers follow from what else it holds.

What no file can show is that a model really gave these answers. That is the signer's word; anyone with the model runs
the suite again and compares the run_hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.evaluation.hashes import INPUTS
from pytest_audiobench.evaluation.suites import HASHES, pooled_hashes
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.decoding import decode_baseline as baseline
from pytest_audiobench.identity import digest
from pytest_audiobench.records.submission import MOST_BYTES, Payload, SubmittedItem
from pytest_audiobench.report.formatting import interval_text, value_text, wrapped
from pytest_audiobench.report.safe_text import json_text
from pytest_audiobench.sharing.evidence import same_evals, same_numbers
from pytest_audiobench.sharing.finding_evidence import finding_lines, same_findings
from pytest_audiobench.sharing.signers import Signers
from pytest_audiobench.sharing.sshsig import NAMESPACE, Signed, UnreadableSignature, holds, parsed_signature
from pytest_audiobench.sharing.submission import Submission, decimals, decoded

_DIGITS = 12
_AHEAD_S = 86_400.0
"""How far in the future the time of a submission may lie: clocks differ, and a date to come would outlive its key."""


class Check(NamedTuple):
    """The outcome for one part: whether it holds, and what it is in words."""

    part: str
    holds: bool
    says: str


@dataclass(frozen=True)
class Report:
    """The checks of one submission."""

    name: str
    submission: Submission
    evidence: Contents | None
    """Its baseline; None where that cannot be read."""
    signer: str | None
    checks: Sequence[Check]

    @property
    def holds(self) -> bool:
        """Whether an allowed signer signed it and all in it fits together."""
        return all(check.holds for check in self.checks)

    @property
    def failing(self) -> str:
        """What fails, in one line; empty where nothing does."""
        return "; ".join(f"{check.part}: {check.says}" for check in self.checks if not check.holds)


def verify_submission(path: Path, signers: Signers | None) -> Report:
    """The submission in ``path``, verified; without ``signers`` no key is trusted, and that is what fails.

    Raises UsageError for a file that is not a submission.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name a submission's file") from None
    return verified(decoded(content, str(path)), str(path), signers)


def verified(submission: Submission, name: str, signers: Signers | None) -> Report:
    """The report on a submission that was read from ``name``."""
    checks = [_payload(submission)]
    signature, signer = _signature(submission, signers)
    checks.append(signature)
    checks += (_hashes(submission.payload), _path(submission.payload, name))
    try:
        evidence = baseline(submission.payload.evidence.encode(), f"the evidence of {name}")
    except UsageError as error:
        return Report(name, submission, None, signer, [*checks, Check("evidence", False, str(error))])
    checks.append(Check("evidence", *same_evals(submission.payload, evidence)))
    checks.append(Check("numbers", *same_numbers(submission.payload, evidence)))
    if checks[-2].holds and (outcome := same_findings(submission.payload, evidence)) is not None:
        checks.append(Check("findings", *outcome))
    return Report(name, submission, evidence, signer, checks)


def content_failures(submission: Submission, name: str) -> str:
    """What of a submission fails in addition to its signature, in one line; empty where all holds."""
    report = verified(submission, name, None)
    return replace(report, checks=[check for check in report.checks if check.part != "signature"]).failing


def _payload(submission: Submission) -> Check:
    digest = hashlib.sha256(submission.canonical).hexdigest()
    if digest != submission.payload_sha256:
        sums = f"its SHA-256 is {digest[:_DIGITS]}… and the file says {submission.payload_sha256[:_DIGITS]}…"
        return Check("payload", False, f"{sums}: it was changed after it was written")
    return Check("payload", True, f"its SHA-256 is {digest}, as the file says")


def _signature(submission: Submission, signers: Signers | None) -> tuple[Check, str | None]:
    def fails(says: str) -> tuple[Check, None]:
        return Check("signature", False, says), None

    if submission.signature is None:
        return fails("it is not signed: audiobench push --sign KEY signs")
    try:
        signed = parsed_signature(submission.signature)
        fits = holds(signed, submission.canonical)
    except UnreadableSignature as error:
        return fails(f"it has no signature that can be read: {error}")
    except ImportError:
        raise UsageError(f"signatures need cryptography: {install_command('push')}") from None
    if not fits:
        return fails(f"it is not one of this payload by the key {signed.fingerprint}: one of them was changed")
    if signed.namespace != NAMESPACE:
        return fails(f"it was made for the namespace {signed.namespace[:60]!r}, and {NAMESPACE!r} counts")
    if signers is None:
        return fails(f"it is by the key {signed.fingerprint}, and no key is trusted: name a list with --signers FILE")
    return _by_whom(signed, submission, signers)


def _by_whom(signed: Signed, submission: Submission, signers: Signers) -> tuple[Check, str | None]:
    submitted_at, now = submission.payload.submitted_at, datetime.now(UTC).timestamp()
    try:
        at = datetime.strptime(submitted_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return Check("signature", False, f"there is no such time as its submitted_at, {submitted_at}"), None
    if at > now + _AHEAD_S:
        return Check("signature", False, f"it is of a time to come, {submitted_at}"), None
    who, why = signers.who(signed, at, seen=signers.accepted.get(hashlib.sha256(submission.canonical).hexdigest(), now))
    if who is None:
        return Check("signature", False, why), None
    return Check("signature", True, f"by {who}, {signed.kind} {signed.fingerprint}, {submitted_at}"), who


def _hashes(payload: Payload) -> Check:
    wrong = [f"{name} of {item.eval}" for item in payload.items for name in _wrong_hashes(item)]
    pooled = pooled_hashes(payload.items)
    wrong += [f"{name} of the suite" for name in HASHES if getattr(payload.hashes, name) != getattr(pooled, name)]
    if wrong:
        return Check("hashes", False, f"not what their parts give: {', '.join(wrong[:5])}")
    count = len(payload.items)
    return Check("hashes", True, f"{', '.join(HASHES)} of {count} evals and of the suite are what their parts give")


def _wrong_hashes(item: SubmittedItem) -> Iterator[str]:
    """The hashes of an item that do not follow from their components (``evaluation/hashes.py``)."""
    hashes = item.hashes
    scored = ("run_hash", "protocols", *(["verdicts"] if "verdicts" in hashes else []))
    parts: dict[str, Any] = {
        "seeds": {"epochs": item.epochs},
        "input_hash": {"dataset": item.dataset, **{name: hashes.get(name) for name in INPUTS}},
        "run_hash": {name: hashes.get(name) for name in ("input_hash", "answers")},
        "protocols": [[scorer.name.partition("@")[0], scorer.signature] for scorer in item.scorers],
        "score_hash": {name: hashes.get(name) for name in scored},
    }
    yield from (name for name, parts_of_hash in parts.items() if hashes.get(name) != digest(parts_of_hash))


def _path(payload: Payload, name: str) -> Check:
    """A file that is named by a hash, as a hub's are, holds the run of that hash."""
    stem = Path(name).name.removesuffix(".json")
    named_by_hash = len(stem) == 64 and set(stem) <= set("0123456789abcdef")
    if named_by_hash and stem != payload.hashes.run_hash:
        return Check("name", False, "the file is named by another run_hash than it holds")
    return Check("name", True, f"run_hash {payload.hashes.run_hash}")


def text(report: Report) -> str:
    """The report: what is claimed, what holds, and where the top finding's evidence is."""
    return "\n".join(line for paragraph in _lines(report) for line in wrapped(paragraph)) + "\n"


def as_json(report: Report) -> str:
    """The same for programs: every part, and what is claimed in addition to the evidence."""
    claimed = {name: value for name, value in decimals(report.submission.payload).items() if name != "evidence"}
    return json_text(
        {
            "source": report.name,
            "status": "ok" if report.holds else "fails",
            "signer": report.signer,
            "payload_sha256": report.submission.payload_sha256,
            "parts": [check._asdict() for check in report.checks],
            "claimed": claimed,
        }
    )


def _lines(report: Report) -> Iterator[str]:
    payload = report.submission.payload
    model = payload.model
    limited = ", LIMITED" if payload.limited else ""
    yield f"{payload.suite} by {model.alias} ({model.spec}): {payload.n} samples{limited}{_value(payload)}"
    yield from (f"missing: {part}" for part in payload.missing)
    yield from (f"{'✓' if check.holds else '✗'} {check.part}: {check.says}" for check in report.checks)
    if all(check.holds for check in report.checks if check.part not in ("payload", "signature")):
        yield from finding_lines(payload)
    if payload.notes:
        yield f"notes: {payload.notes}"
    yield "verified" if report.holds else "NOT VERIFIED"


def _value(payload: Payload) -> str:
    if (figure := payload.headline) is None:
        return ""
    interval = interval_text(figure, figure.unit)
    between = f" [{interval}]" if interval else ""
    return f", {figure.metric} by {figure.scorer} {value_text(figure.value, figure.unit)}{between}"
