"""A submission verified: who signed it, and whether its hashes and numbers follow from what else it holds.

What no file can show is that a model really gave these answers. That is the signer's word; whoever has the model runs
the suite again and compares the run_hash.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.reading import decoded as baseline
from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.kinds.asking import not_of_samples
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.runs.hashes import ASKED
from pytest_audiobench.runs.sides import Side, statistics_of
from pytest_audiobench.runs.suites import HASHES, pooled_hashes
from pytest_audiobench.sharing.signers import Signers
from pytest_audiobench.sharing.sshsig import NAMESPACE, NoSignature, Signed, holds, taken_apart
from pytest_audiobench.sharing.submission import MOST_BYTES, Submission, decoded, number
from pytest_audiobench.sharing.top_finding import wrong_of

Json = Mapping[str, Any]

_DIGITS = 12
_AHEAD_S = 86_400.0
"""How far in the future the time of a submission may lie: clocks differ, and a date to come would outlive its key."""


class Check(NamedTuple):
    """One thing that was looked at: whether it holds, and what was found."""

    part: str
    holds: bool
    says: str


@dataclass(frozen=True)
class Report:
    """What became of one submission. ``evidence`` is its baseline, None where that cannot be read."""

    name: str
    submission: Submission
    evidence: Contents | None
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
    """The submission in ``path``, verified; without ``signers`` nobody is trusted, and that is what fails.

    Raises UsageError for a file that is no submission.
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
        evidence = baseline(submission.payload["evidence"].encode(), f"the evidence of {name}")
    except UsageError as error:
        return Report(name, submission, None, signer, [*checks, Check("evidence", False, str(error))])
    checks += (_same_evals(submission.payload, evidence), _numbers(submission.payload, evidence))
    if checks[-2].holds:
        checks += _finding(submission.payload, evidence)
    return Report(name, submission, evidence, signer, checks)


def unsound(submission: Submission, name: str) -> str:
    """What of a submission fails beside its signature, in one line; empty where all holds."""
    found = verified(submission, name, None)
    return "; ".join(f"{one.part}: {one.says}" for one in found.checks if not one.holds and one.part != "signature")


def _payload(submission: Submission) -> Check:
    found = hashlib.sha256(submission.canonical).hexdigest()
    if found != submission.payload_sha256:
        told = f"its SHA-256 is {found[:_DIGITS]}… and the file says {submission.payload_sha256[:_DIGITS]}…"
        return Check("payload", False, f"{told}: it was changed after it was written")
    return Check("payload", True, f"its SHA-256 is {found}, as the file says")


def _signature(submission: Submission, signers: Signers | None) -> tuple[Check, str | None]:
    def fails(says: str) -> tuple[Check, None]:
        return Check("signature", False, says), None

    if submission.signature is None:
        return fails("it is not signed: audiobench push --sign KEY signs")
    try:
        signed = taken_apart(submission.signature)
        fits = holds(signed, submission.canonical)
    except NoSignature as error:
        return fails(f"it has no signature that can be read: {error}")
    except ImportError:
        raise UsageError("signatures need cryptography: pip install 'pytest-audiobench[push]'") from None
    if not fits:
        return fails(f"it is none of this payload by the key {signed.fingerprint}: one of them was changed")
    if signed.namespace != NAMESPACE:
        return fails(f"it was made for the namespace {signed.namespace[:60]!r}, and {NAMESPACE!r} counts")
    if signers is None:
        return fails(f"it is by the key {signed.fingerprint}, and nobody is trusted: name a list with --signers FILE")
    return _by_whom(signed, submission.payload["submitted_at"], signers)


def _by_whom(signed: Signed, submitted_at: str, signers: Signers) -> tuple[Check, str | None]:
    try:
        at = datetime.strptime(submitted_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return Check("signature", False, f"there is no such time as its submitted_at, {submitted_at}"), None
    if at > datetime.now(UTC).timestamp() + _AHEAD_S:
        return Check("signature", False, f"it is of a time to come, {submitted_at}"), None
    who, why = signers.who(signed, at)
    if who is None:
        return Check("signature", False, why), None
    return Check("signature", True, f"by {who}, {signed.kind} {signed.fingerprint}, {submitted_at}"), who


def _hashes(payload: Json) -> Check:
    wrong = [f"{name} of {item['eval']}" for item in payload["items"] for name in _wrong_hashes(item)]
    pooled = pooled_hashes(payload["items"])
    wrong += [f"{name} of the suite" for name in HASHES if payload["hashes"].get(name) != pooled[name]]
    if wrong:
        return Check("hashes", False, f"not what their parts give: {', '.join(wrong[:5])}")
    count = len(payload["items"])
    return Check("hashes", True, f"{', '.join(HASHES)} of {count} evals and of the suite are what their parts give")


def _wrong_hashes(item: Json) -> Iterator[str]:
    """The hashes of an item that do not follow from their components (``runs/hashes.py``)."""
    hashes = item["hashes"]
    scored = ("run_hash", "protocols", *(["verdicts"] if "verdicts" in hashes else []))
    parts: dict[str, Any] = {
        "input_hash": {"dataset": item["dataset"], **{name: hashes.get(name) for name in ASKED}},
        "run_hash": {name: hashes.get(name) for name in ("input_hash", "answers")},
        "protocols": [[one["name"].partition("@")[0], one["signature"]] for one in item["readings"]],
        "score_hash": {name: hashes.get(name) for name in scored},
    }
    yield from (name for name, own in parts.items() if hashes.get(name) != digest(own))


def _path(payload: Json, name: str) -> Check:
    """A file that is named by a hash, as a hub's are, holds the run of that hash."""
    stem = Path(name).name.removesuffix(".json")
    named_by_hash = len(stem) == 64 and set(stem) <= set("0123456789abcdef")
    if named_by_hash and stem != payload["hashes"].get("run_hash"):
        return Check("name", False, "the file is named by another run_hash than it holds")
    return Check("name", True, "run_hash " + str(payload["hashes"].get("run_hash")))


def _same_evals(payload: Json, evidence: Contents) -> Check:
    """Whether the evidence is of the same model, evals, hashes, and counts of answers as the payload says."""
    items = {item["eval"]: item for item in payload["items"]}
    model = {name: getattr(evidence, name) for name in ("alias", "spec", "digest", "fingerprint")}
    wrong = [] if model == payload["model"] and evidence.hashes == payload["hashes"] else ["the model or the hashes"]
    if items.keys() != evidence.sides.keys() or len(items) != len(payload["items"]):
        wrong.append("the evals")
    else:
        for name, item in items.items():
            side = evidence.sides[name]
            same = (side.dataset, side.hashes, side.limited) == (item["dataset"], item["hashes"], item["limited"])
            same = same and side.suite == payload["suite"] and side.hashes.get("model") == payload["model"]["digest"]
            same = same and side.headline == (item["readings"] or [{"name": ""}])[0]["name"]
            wrong += [] if same else [f"{name}: its data set, hashes, model, suite or first reading"]
            wrong += [f"{name}: the counts of {one['name']}" for one in item["readings"] if not _counted(one, side)]
    if wrong:
        return Check("evidence", False, f"it is of something else than the payload: {', '.join(wrong[:5])}")
    rows = sum(len(side.rows) for side in evidence.sides.values())
    return Check(
        "evidence", True, f"{rows} rows of {payload['n']} samples, of the model and evals that the payload names"
    )


def _counted(reading: Json, side: Side) -> bool:
    name, signature, told = reading["name"], reading["signature"], reading["coverage"]
    if name not in side.readings:
        # Of a large suite only the first reading is evidence.
        return True
    if side.readings[name] != signature:
        return False
    found = Counter(row.statuses[name] for row in side.rows)
    found["n"], found["errors"] = len(side.rows), found.pop("error", 0)
    found["skipped"] = sum(row.scores[name] is None and row.statuses[name] != "error" for row in side.rows)
    return all(found[what] == told.get(what, 0) for what in {*found, *told})


def _numbers(payload: Json, evidence: Contents) -> Check:
    """Whether each value is what the samples' statistics give; intervals are made anew wherever they are needed."""
    wrong, right, unknown = [], 0, set()
    owners = [(payload["suite"], payload["metrics"], payload["items"])]
    owners += [(item["eval"], item["metrics"], [item]) for item in payload["items"]]
    for owner, metrics, items in owners:
        for one in metrics:
            read = sides_read(items, evidence, one["reading"], one["signature"])
            if read is None or not is_known(one["metric"]) or _is_of_no_samples(one["metric"]):
                unknown.add(f"{one['metric']} by {one['reading']}")
            elif (found := _value(one, read)) is None or not _equal(number(one["value"]), found):
                told = "no number" if found is None or math.isnan(found) else f"{found:.6g}"
                wrong.append(f"{one['metric']} of {owner} is said to be {one['value']}, and its samples give {told}")
            else:
                right += 1
    if payload["headline"] is not None and payload["headline"] not in payload["metrics"]:
        wrong.append("the headline is none of the metrics")
    if wrong:
        return Check("numbers", False, "; ".join(wrong[:3]))
    rest = f"; {len(unknown)} others are not recomputed: {', '.join(sorted(unknown)[:5])}" if unknown else ""
    return Check("numbers", True, f"{right} values are what the samples' statistics give{rest}")


def sides_read(items: Sequence[Json], evidence: Contents, reading: str, signature: str) -> list[Side] | None:
    """The evals of a payload's ``items`` that were read so; None where the evidence lacks the statistics of one.

    Of a large suite only each eval's first reading is evidence.
    """
    told = [
        item["eval"]
        for item in items
        if any((one["name"], one["signature"]) == (reading, signature) for one in item["readings"])
    ]
    sides = [evidence.sides[name] for name in told if name in evidence.sides]
    if len(sides) < len(told) or not all(side.readings.get(reading) == signature for side in sides):
        return None
    return sides


def _is_of_no_samples(metric: str) -> bool:
    return metric_kind(metric).estimate is not_of_samples


def _finding(payload: Json, evidence: Contents) -> list[Check]:
    wrong = wrong_of(payload, evidence)
    if wrong:
        return [Check("top finding", False, "; ".join(wrong))]
    top = payload["top_finding"]
    return [] if top is None else [Check("top finding", True, f"{top['id']}: its rates are what its samples give")]


def _value(figure: Json, sides: Sequence[Side]) -> float | None:
    """The metric over the samples of the sides; None where their statistics are none of it."""
    reading, kind = figure["reading"], metric_kind(figure["metric"])
    found = [statistics_of(row, reading, kind.name) for side in sides for row in side.rows]
    try:
        return value_of(kind, [one for one in found if one is not None])
    except (UsageError, ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _equal(told: float | None, found: float) -> bool:
    if told is None:
        return math.isnan(found)
    return math.isclose(told, found, rel_tol=1e-9, abs_tol=1e-12)
