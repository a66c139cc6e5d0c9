"""A verification as 80 columns for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.report.formatting import wrapped
from pytest_audiobench.report.safe_text import json_text
from pytest_audiobench.verifier.checks import Verification

_WORDS = {"ok": "ok", "fails": "FAILS", "not_recomputed": "not recomputed"}
_WIDTH = max(map(len, _WORDS.values())) + 4


def text(verification: Verification) -> str:
    """Each thing with its parts: those that hold on one line, every other with its reason; the verdict last."""
    return "\n".join(_lines(verification)) + "\n"


def as_dict(verification: Verification) -> dict[str, Any]:
    """All of it as JSON values; each part with its status and why."""
    return {
        "source": verification.source,
        "status": "fails" if verification.exit_status() else "ok",
        "counts": verification.counts(),
        "checked": [
            {
                **{name: getattr(item, name) for name in ("what", "name", "model")},
                "parts": [check._asdict() for check in item.checks],
            }
            for item in verification.checked
        ],
        "notes": list(verification.notes),
    }


def as_json(verification: Verification) -> str:
    return json_text(as_dict(verification))


def _lines(verification: Verification) -> Iterator[str]:
    for item in verification.checked:
        yield from wrapped(item.called)
        if good := ", ".join(check.part for check in item.checks if check.status == "ok"):
            yield from _row("ok", good)
        for check in item.checks:
            if check.status != "ok":
                yield from _row(_WORDS[check.status], f"{check.part}: {check.detail}")
    yield ""
    for note in verification.notes:
        yield from wrapped(f"note: {note}", "  ")
    yield from wrapped(verification.closing())


def _row(word: str, content: str) -> Iterator[str]:
    head = f"  {word}".ljust(_WIDTH)
    # The word's own columns are kept free of the wrapping, which would eat the spaces.
    first, *rest = wrapped(f"{'·' * _WIDTH}{content}", " " * _WIDTH)
    yield f"{head}{first[_WIDTH:]}".rstrip()
    yield from rest
