"""What was verified, as 80 columns for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.comparison.table_cells import wrapped
from pytest_audiobench.report.safe_text import json_text
from pytest_audiobench.verification.checks import Checked, Verification

_WORDS = {"ok": "ok", "fails": "FAILS", "not_recomputed": "not recomputed"}
_WIDTH = max(map(len, _WORDS.values())) + 4


def text(found: Verification) -> str:
    """Each thing with its parts: those that hold on one line, every other with its reason; the verdict last."""
    return "\n".join(_lines(found)) + "\n"


def plain(found: Verification) -> dict[str, Any]:
    """All of it as JSON values; each part with its status and why."""
    return {
        "source": found.source,
        "status": "fails" if found.exit_status() else "ok",
        "counts": found.counts(),
        "checked": [
            {
                "what": own.what,
                "name": own.name,
                "model": own.model,
                "parts": [check._asdict() for check in own.checks],
            }
            for own in found.checked
        ],
        "notes": list(found.notes),
    }


def as_json(found: Verification) -> str:
    return json_text(plain(found))


def _lines(found: Verification) -> Iterator[str]:
    for own in found.checked:
        yield from wrapped(own.called)
        yield from _of(own)
    yield ""
    for note in found.notes:
        yield from wrapped(f"note: {note}", "  ")
    yield from wrapped(found.closing())


def _of(own: Checked) -> Iterator[str]:
    indent = " " * _WIDTH
    good = ", ".join(check.part for check in own.checks if check.status == "ok")
    if good:
        yield from _row("ok", good, indent)
    for check in own.checks:
        if check.status != "ok":
            yield from _row(_WORDS[check.status], f"{check.part}: {check.detail}", indent)


def _row(word: str, told: str, indent: str) -> Iterator[str]:
    head = f"  {word}".ljust(_WIDTH)
    # The word's own columns are kept free of the wrapping, which would eat the spaces.
    first, *rest = wrapped(f"{'·' * _WIDTH}{told}", indent)
    yield f"{head}{first[_WIDTH:]}".rstrip()
    yield from rest
