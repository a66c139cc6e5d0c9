"""Who may sign: a file of allowed signers in OpenSSH's format (ssh-keygen(1), ALLOWED SIGNERS).

A line holds principals, options, the key's type and the key::

    ada@example.org,ada@lab.example namespaces="pytest-audiobench",valid-before="20270101Z" ssh-ed25519 AAAA… her laptop

The options ``namespaces``, ``valid-after`` and ``valid-before`` count. The time of a submission is its signer's word,
and the thief of a key would write one at which it was valid. So an expired key counts only for what was seen before,
and what was seen when is in a record of the reader's own: a line ``TIME SHA256`` for each payload.

A line for an authority over certificates is skipped, since certificates are not read. A signer who is no longer trusted
is taken out of the file.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.sharing.sshsig import Signed, fingerprint

_LONGEST_LINE = 64_000
_MOST_LINES = 100_000
_FORM = 'write a line as: NAME@DOMAIN namespaces="pytest-audiobench" ssh-ed25519 AAAA…'
_KEY = re.compile(r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]+")
_OPTION = re.compile(r'(?P<name>[A-Za-z-]+)(?:=(?:"(?P<quoted>[^"]*)"|(?P<bare>[^",\s]*)))?(?P<end>,|$)')
_TIMES = ((8, "%Y%m%d"), (12, "%Y%m%d%H%M"), (14, "%Y%m%d%H%M%S"))
_RECORD = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (?P<digest>[0-9a-f]{64})")
_KNOWN = ("namespaces", "valid-after", "valid-before", "cert-authority")


@dataclass(frozen=True)
class Allowed:
    """A line of the file. ``namespaces`` are patterns, None for any; times are in seconds since the epoch."""

    principals: str
    key: bytes
    namespaces: str | None
    valid_after: float | None
    valid_before: float | None

    def refuses(self, namespace: str, at: float, seen: float) -> str | None:
        """Why this line does not let its key sign for ``namespace`` at the time ``at``, of what was first seen at the
        time ``seen``; None where it does.
        """
        if self.namespaces is not None and not _matches(self.namespaces, namespace):
            return f"its key signs for {self.namespaces} only, not for {namespace}"
        if self.valid_after is not None and at < self.valid_after:
            return f"its key was not yet valid: it is from {_time_text(self.valid_after)} on"
        if self.valid_before is not None and at > self.valid_before:
            return f"its key had expired: it was valid until {_time_text(self.valid_before)}"
        if self.valid_before is not None and seen > self.valid_before:
            return (
                f"its key has expired: it was valid until {_time_text(self.valid_before)}, and no record shows that "
                "this was there before; name the record of accepted submissions with --accepted FILE"
            )
        return None


@dataclass(frozen=True)
class Signers:
    """The allowed signers of one file, and when the payloads of the reader's record were first seen, by SHA-256."""

    source: str
    lines: Sequence[Allowed]
    accepted: Mapping[str, float] = field(default_factory=dict)

    def who(self, signed: Signed, at: float, seen: float) -> tuple[str | None, str]:
        """The principals whom the key of ``signed`` belongs to, or None and why the signature does not count.

        The key must be valid at both times, in seconds since the epoch: ``at``, when it is said to have signed, and
        ``seen``, when that was first seen.
        """
        if not (lines := [line for line in self.lines if line.key == signed.key]):
            return None, f"the key {fingerprint(signed.key)} is not in {self.source}"
        refusals = [(line, line.refuses(signed.namespace, at, seen)) for line in lines]
        if (entry := next((line for line, why in refusals if why is None), None)) is not None:
            return entry.principals, ""
        line, why = refusals[0]
        return None, f"{line.principals} may not have signed this: {why}"


def read_signers(path: Path, accepted: Path | None = None) -> Signers:
    """The allowed signers in ``path``, and the record in ``accepted``.

    Raises UsageError, with the line, for what is none.
    """
    lines: list[Allowed] = []
    for number, content in bounded_lines(path, _LONGEST_LINE):
        if number > _MOST_LINES:
            raise UsageError(f"{path} has more than {_MOST_LINES} lines: name a file of allowed signers")
        try:
            text = content.decode().strip()
        except UnicodeDecodeError:
            raise UsageError(f"{path}, line {number} is not UTF-8: name a file of allowed signers") from None
        if text and not text.startswith("#"):
            try:
                lines += _line(text)
            except ValueError as error:
                raise UsageError(f"{path}, line {number}: {error}; {_FORM}") from None
    if not lines:
        raise UsageError(f"{path} lists no signer; {_FORM}")
    return Signers(str(path), lines, {} if accepted is None else _record(accepted))


def add_to_record(path: Path, accepted: Mapping[str, float], digests: Iterable[str]) -> None:
    """Record that the payloads of ``digests`` which are not ``accepted`` yet were seen now.

    Raises UsageError where that cannot be written.
    """
    now = _time_text(time.time())
    lines = [f"{now} {digest}\n" for digest in dict.fromkeys(digests) if digest not in accepted]
    try:
        with path.open("a", encoding="ascii") as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): name a file for the record") from None


def _record(path: Path) -> Mapping[str, float]:
    accepted: dict[str, float] = {}
    for number, content in bounded_lines(path, _LONGEST_LINE):
        if (match := _RECORD.fullmatch(content.decode("ascii", "replace").strip())) is None:
            raise UsageError(f"{path}, line {number}: write a line of the record as: 2026-06-30T12:00:00Z SHA256")
        try:
            seen = _time(re.sub("[-T:]", "", match["time"]))
        except ValueError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
        accepted[match["digest"]] = min(seen, accepted.get(match["digest"], seen))
    return accepted


def _line(text: str) -> Iterator[Allowed]:
    principals, rest = _first_word(text)
    options, key = _first_word(rest)
    if _KEY.fullmatch(options):
        options, kind, key = "", options, key
    else:
        kind, key = _first_word(key)
    if not _KEY.fullmatch(kind) or not key:
        raise ValueError("it has no key behind its principals")
    parsed = _options(options)
    try:
        blob = base64.b64decode(key.split()[0], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its key is not base64") from None
    if blob[4 : 4 + len(kind)].decode("ascii", "replace") != kind:
        raise ValueError(f"its key is not of the type {kind}, or was cut")
    if "cert-authority" not in parsed:
        yield Allowed(
            principals,
            blob,
            parsed.get("namespaces"),
            _time(parsed["valid-after"]) if "valid-after" in parsed else None,
            _time(parsed["valid-before"]) if "valid-before" in parsed else None,
        )


def _first_word(text: str) -> tuple[str, str]:
    """The first word and the rest; spaces in double quotes belong to the word, and one wholly in quotes loses them."""
    if (match := re.match(r'\s*((?:"[^"]*"|[^\s"])+)\s*', text)) is None:
        return "", ""
    word = match[1]
    whole = len(word) > 1 and word[0] == word[-1] == '"' and word.count('"') == 2
    return word[1:-1] if whole else word, text[match.end() :]


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _OPTION.match(text, at)
        name = match["name"].lower() if match else ""
        if match is None or name not in _KNOWN:
            raise ValueError(f"the option {text[at : at + 40]!r} is not one of {', '.join(_KNOWN)}")
        if name in options:
            raise ValueError(f"the option {name} is there twice")
        value = match["quoted"] if match["quoted"] is not None else match["bare"] or ""
        if name != "cert-authority" and not value:
            raise ValueError(f"the option {name} has no value")
        options[name] = value
        at = match.end()
    return options


def _time(text: str) -> float:
    """A time as OpenSSH writes it: YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in this machine's zone, with Z in UTC."""
    digits = text.removesuffix("Z")
    form = next((form for length, form in _TIMES if length == len(digits)), None)
    if form is None or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text[:40]!r} is no time: write YYYYMMDD or YYYYMMDDHHMMSS, with a Z for UTC")
    try:
        parsed = datetime.strptime(digits, form)
    except ValueError:
        raise ValueError(f"there is no such time as {text}") from None
    return (parsed.replace(tzinfo=UTC) if text.endswith("Z") else parsed.astimezone()).timestamp()


def _matches(patterns: str, text: str) -> bool:
    """Whether ``text`` matches a list of patterns with * and ?, of which one behind ! speaks against it."""
    matched = False
    for pattern in patterns.split(","):
        if fnmatchcase(text, pattern.strip().removeprefix("!").replace("[", "[[]")):
            if pattern.strip().startswith("!"):
                return False
            matched = True
    return matched


def _time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
