"""What one model did in one suite of a run, as a file that can be given to others: ``audiobench.submission/1``.

All that is claimed lies in ``payload``, which holds no floats (decimals are texts), so that its canonical bytes
(``identity.py``, the bytes of RFC 8785) are the same everywhere. ``payload_sha256`` is their digest and ``signature``
an SSH signature of them. The members are documented in docs/submission.schema.json.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import canonical
from pytest_audiobench.io.strict_json import FieldError, Fields, FileKind, short_repr, strict_json, text, texts

if TYPE_CHECKING:
    from pytest_audiobench.sharing.sshsig import PrivateKey

SCHEMA = "audiobench.submission/1"
MOST_BYTES = 16 * 2**20
"""A larger file is no submission: 10,000 samples read by one scorer take about one MB."""

FIGURE = ("metric", "scorer", "signature", "value", "lower", "upper", "n", "unit", "direction")
PAYLOAD = (
    *("schema", "suite", "model", "run", "hashes", "n", "epochs", "limit", "limited", "missing", "headline"),
    *("metrics", "scorers", "items", "curves", "perturbations", "findings", "top_finding", "evidence", "runtime"),
    *("submitted_at", "submitted_by", "authored_by", "notes", "tags"),
)
ITEM = ("eval", "dataset", "protocol", "n", "epochs", "limited", "perturbation", "hashes", "scorers", "metrics")

_FILE = FileKind("submission", "audiobench push RUN --dry-run --output FILE", "fetch or write it anew")
_HEAD = ("schema", "payload", "payload_sha256", "signature")
_OLD = ("audiobench.leaderboard.", "audiobench.matrix.")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,4})?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_LONGEST_SIGNATURE = 20_000
_BEGINNING = 65_536
_SAYS_SO = re.compile(rb'"schema"\s*:\s*"audiobench\.(submission/|leaderboard\.)')


@dataclass(frozen=True)
class Submission:
    """A submission as its file has it; ``submission_checks.py`` checks digest and signature."""

    payload: Mapping[str, Any]
    payload_sha256: str
    signature: str | None

    @classmethod
    def of(cls, payload: Mapping[str, Any], key: PrivateKey | None) -> Submission:
        """The submission of ``payload``, signed with ``key`` where there is one.

        Raises UsageError for what canonical bytes cannot hold: half of a surrogate pair.
        """
        from pytest_audiobench.sharing.sshsig import sign

        try:
            content = canonical(payload)
        except UnicodeEncodeError:
            raise UsageError("a text of the submission is no Unicode: correct --notes, --tags or --author") from None
        signature = None if key is None else sign(content, key)
        return cls(payload, hashlib.sha256(content).hexdigest(), signature)

    @cached_property
    def canonical(self) -> bytes:
        """What is digested and signed."""
        return canonical(self.payload)

    def encoded(self) -> bytes:
        """The file's bytes."""
        members = {"schema": SCHEMA, "payload_sha256": self.payload_sha256, "signature": self.signature}
        head = json.dumps(members, indent=1)[:-2]
        payload = json.dumps(self.payload, indent=1, ensure_ascii=False).replace("\n", "\n ")
        return f'{head},\n "payload": {payload}\n}}\n'.encode()


def decoded(content: bytes, name: str) -> Submission:
    """The submission whose file, called ``name`` in messages, holds ``content``.

    Raises UsageError for whatever no ``audiobench push`` can have written, and for files of the earlier scheme.
    """
    if len(content) > MOST_BYTES:
        raise UsageError(f"{name} holds more than {MOST_BYTES / 1e6:.0f} MB, which no submission does")
    value = strict_json(content, name, _FILE)
    _check_schema(value, name)
    try:
        head = Fields(value, "the submission", _HEAD)
        signature = None if head["signature"] is None else text(head["signature"], "signature", _LONGEST_SIGNATURE)
        _check_payload(head["payload"])
        canonical(head["payload"])
        return Submission(head["payload"], head.text("payload_sha256"), signature)
    except FieldError as error:
        raise UsageError(f"{name}: {error}") from None
    except RecursionError:
        # From Python 3.12 on JSON is read to a greater depth than functions may call each other.
        raise UsageError(f"{name} is nested too deep for a submission: {_FILE.remedy}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{name}: its payload has no canonical bytes ({str(error)[:200]}), so nobody signed it"
        ) from None


def is_submission(path: Path) -> bool:
    """Whether ``path`` is a file that says near its beginning that it is a submission, of this scheme or an earlier."""
    try:
        # A pipe would be emptied by looking, or be waited for without end.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _SAYS_SO.search(file.read(_BEGINNING)) is not None
    except (OSError, ValueError):
        return False


def decimal(value: float | None) -> str | None:
    """``value`` as the shortest text that reads back as the same float; None for None."""
    return None if value is None else repr(float(value))


def decimals(value: Any) -> Any:
    """``value`` with every float as its decimal and every name in ASCII, so that it can be hashed."""
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, Mapping):
        return {str(name).encode("ascii", "backslashreplace").decode(): decimals(item) for name, item in value.items()}
    return [decimals(item) for item in value] if isinstance(value, (list, tuple)) else value


def number(value: str | None) -> float | None:
    """The float that :func:`decimal` wrote."""
    return None if value is None else float(value)


def _check_schema(value: object, name: str) -> None:
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema == SCHEMA:
        return
    # The artifacts of audiobench 0.1 have no schema, but all these members.
    old = isinstance(value, dict) and {"suite", "revision", "run_hash"} <= value.keys()
    if old or (isinstance(schema, str) and schema.startswith(_OLD)):
        known = f" ({short_repr(schema)})" if schema else ""
        raise UsageError(
            f"{name} is of the earlier scheme{known}, whose run_hash covers no audio and which has no signature: run "
            "the suite again with this version, and push that"
        )
    if isinstance(schema, str) and schema.startswith(SCHEMA.rpartition("/")[0] + "/"):
        raise UsageError(
            f"{name} has the schema {short_repr(schema)}, this version reads {SCHEMA!r}: update pytest-audiobench"
        )
    version = "no schema" if schema is None else f"the schema {short_repr(schema)}"
    raise UsageError(f"{name} is no submission: it has {version}; write one with {_FILE.made_by}")


def _check_payload(value: object) -> None:
    head = Fields(value, "payload", PAYLOAD)
    if head["schema"] != SCHEMA:
        raise FieldError(head.at("schema"), f"must be {SCHEMA!r}, not {short_repr(head['schema'])}")
    for name in ("suite", "submitted_at"):
        head.text(name)
    if not _TIME.fullmatch(head["submitted_at"]):
        raise FieldError(head.at("submitted_at"), "must be a time such as 2026-11-21T19:06:00Z")
    for name in ("submitted_by", "authored_by"):
        head.text_or_null(name)
    text(head["evidence"], "payload, evidence", MOST_BYTES)
    head.text("notes")
    for entry in (*head.items("tags"), *head.items("missing")):
        text(entry, "payload, tags or missing")
    head.count("n"), head.count("epochs", 1), head.flag("limited")
    if head["limit"] is not None:
        head.count("limit", 1)
    texts(head["hashes"], "payload, hashes")
    model = Fields(head["model"], "payload, model", ("alias", "spec", "digest", "fingerprint"))
    model.text("alias"), model.text("spec"), model.text("digest"), model.texts("fingerprint")
    run = Fields(head["run"], "payload, run", ("name", "finished", "version"))
    run.text("name"), run.text("finished"), run.text("version")
    if head["headline"] is not None:
        _check_figure(head["headline"], "payload, headline")
    _check_read(head, "payload")
    if not head.items("items"):
        raise FieldError("payload, items", "must name at least one eval")
    for entry in head["items"]:
        _check_item(entry)
    for name in ("curves", "perturbations"):
        head.items(name)
    for entry in head.items("findings"):
        names = ("eval", "findings", "top_finding", "validation_summary", "findings_methods")
        finding = Fields(entry, "payload, a finding of an eval", names)
        finding.text("eval"), finding.text_or_null("top_finding"), finding.items("findings")
    _check_top(head["top_finding"])
    if not isinstance(head["runtime"], dict):
        raise FieldError(head.at("runtime"), "must be an object")


def _check_item(value: object) -> None:
    item = Fields(value, "payload, an item", ITEM)
    item.place = f"payload, item {short_repr(item.text('eval'))}"
    item.text("dataset"), item.text("protocol"), item.texts("hashes")
    item.count("n"), item.count("epochs", 1), item.flag("limited")
    if item["perturbation"] is not None and not isinstance(item["perturbation"], dict):
        raise FieldError(item.at("perturbation"), "must be an object or null")
    _check_read(item, item.place)


def _check_read(head: Fields, place: str) -> None:
    for entry in head.items("scorers"):
        scorer = Fields(entry, f"{place}, a scorer", ("name", "signature", "coverage"))
        scorer.text("name"), scorer.text("signature")
        coverage = Fields(scorer["coverage"], f"{place}, coverage", list(scorer["coverage"]))
        for name in scorer["coverage"]:
            coverage.count(name)
    for entry in head.items("metrics"):
        _check_figure(entry, f"{place}, a metric")


def _check_figure(value: object, place: str) -> None:
    figure = Fields(value, place, FIGURE)
    for name in ("metric", "scorer", "signature", "unit"):
        figure.text(name)
    if figure["direction"] not in ("higher", "lower"):
        raise FieldError(figure.at("direction"), f'must be "higher" or "lower", not {short_repr(figure["direction"])}')
    figure.count("n")
    for name in ("value", "lower", "upper"):
        number = figure.text_or_null(name)
        if number is not None and not _DECIMAL.fullmatch(number):
            raise FieldError(figure.at(name), f"must be a decimal as a text, not {short_repr(number)}")


def _check_top(value: object) -> None:
    if value is None:
        return
    top = Fields(value, "payload, top_finding", ("eval", "id", "finding", "samples"))
    top.text("eval"), top.text("id")
    if not isinstance(top["finding"], dict):
        raise FieldError(top.at("finding"), "must be an object")
    for sample in top.items("samples"):
        text(sample, top.at("samples"))
