"""What one model did in one suite of a run, as a file that can be given to others.

All that is claimed lies in ``payload`` (``records/submission.py``), which holds no floats (decimals are texts), so that
its canonical bytes (``identity.py``, the bytes of RFC 8785) are the same everywhere. ``payload_sha256`` is their digest
and ``signature`` an SSH signature of them. The members are documented in docs/submission.schema.json.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import canonical
from pytest_audiobench.io.strict_json import FileKind, short_repr, strict_json
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.reading import check_schema, convert, schema_of
from pytest_audiobench.records.submission import MOST_BYTES, Payload, SubmissionFile
from pytest_audiobench.verifier.differences import first_difference, json_excerpt

if TYPE_CHECKING:
    from pytest_audiobench.sharing.sshsig import PrivateKey

_FILE = FileKind("submission", "audiobench push RUN --dry-run --output FILE", "fetch or write it again")
_OLD = ("audiobench.leaderboard.", "audiobench.matrix.")
_BEGINNING = 65_536
_SAYS_SO = re.compile(rb'"schema"\s*:\s*"audiobench\.(submission/|leaderboard\.)')


@dataclass(frozen=True)
class Submission:
    """A submission as its file has it; ``submission_checks.py`` checks digest and signature."""

    payload: Payload
    canonical: bytes
    """The payload's, which are digested and signed."""
    payload_sha256: str
    signature: str | None

    @classmethod
    def of(cls, payload: Payload, key: PrivateKey | None) -> Submission:
        """The submission of ``payload``, signed with ``key`` where there is one.

        Raises UsageError for what canonical bytes cannot hold: half of a surrogate pair.
        """
        from pytest_audiobench.sharing.sshsig import sign

        try:
            content = canonical(decimals(payload))
        except UnicodeEncodeError:
            raise UsageError("a text of the submission is not Unicode: correct --notes, --tags or --author") from None
        signature = None if key is None else sign(content, key)
        return cls(payload, content, hashlib.sha256(content).hexdigest(), signature)

    def encoded(self) -> bytes:
        """The file's bytes."""
        schema = schema_of(SubmissionFile)
        members = {"schema": schema, "payload_sha256": self.payload_sha256, "signature": self.signature}
        head = json.dumps(members, indent=1)[:-2]
        payload = json.dumps(decimals(self.payload), indent=1, ensure_ascii=False).replace("\n", "\n ")
        return f'{head},\n "payload": {payload}\n}}\n'.encode()


def decoded(content: bytes, name: str) -> Submission:
    """The submission whose file, called ``name`` in messages, holds ``content``.

    Raises UsageError for whatever no ``audiobench push`` can have written, and for files of the earlier scheme.
    """
    if len(content) > MOST_BYTES:
        raise UsageError(f"{name} holds more than {MOST_BYTES / 1e6:.0f} MB, which no submission does")
    value = strict_json(content, name, _FILE)
    _refuse_earlier_scheme(value, name)
    check_schema(value, name, _FILE, SubmissionFile)
    file = convert(value, name, _FILE, SubmissionFile)
    payload = convert(file.payload, name, _FILE, Payload, strict=False)
    # Of the many ways to write a number one is canonical, and the digest is of that one.
    if (difference := first_difference(file.payload, decimals(payload), "payload")) is not None:
        path, there, expected = difference
        raise UsageError(
            f"{name}: {path} is {json_excerpt(there, expected)} and must be {json_excerpt(expected, there)}: "
            f"{_FILE.remedy}"
        )
    try:
        return Submission(payload, canonical(file.payload), file.payload_sha256, file.signature)
    except ValueError as error:
        raise UsageError(
            f"{name}: its payload has no canonical bytes ({str(error)[:200]}), so it cannot have been signed"
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


def decimals(record: object) -> Any:
    """The JSON values of ``record`` with each float as the shortest text that reads back as the same float, and every
    name in ASCII, so that they can be hashed.
    """
    return _with_decimals(plain(record))


def _with_decimals(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping):
        return {
            name.encode("ascii", "backslashreplace").decode(): _with_decimals(member) for name, member in value.items()
        }
    return [_with_decimals(element) for element in value] if isinstance(value, (list, tuple)) else value


def _refuse_earlier_scheme(value: object, name: str) -> None:
    schema = value.get("schema") if isinstance(value, dict) else None
    # The artifacts of audiobench 0.1 have no schema, but all these members.
    old = isinstance(value, dict) and schema is None and {"suite", "revision", "run_hash"} <= value.keys()
    if old or (isinstance(schema, str) and schema.startswith(_OLD)):
        known = f" ({short_repr(schema)})" if schema else ""
        raise UsageError(
            f"{name} is of the earlier scheme{known}, whose run_hash covers no audio and which has no signature: run "
            "the suite again with this version, and push that"
        )
