"""A verification as 80 columns for people and as JSON for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_audiobench.report.formatting import counted, wrapped
from pytest_audiobench.report.safe_text import json_text
from pytest_audiobench.verifier.checks import CheckedItem, Verification

_WORDS = {"ok": "ok", "fails": "FAILS", "not_recomputed": "not recomputed"}
_WIDTH = max(map(len, _WORDS.values())) + 4


def text(verification: Verification, every: bool = False) -> str:
    """What fails or could not be recomputed, with its reason; with ``every``, each part. The verdict last."""
    lines = _every(verification.checked) if every else _summary(verification.checked)
    return "\n".join([*lines, *_closing(verification)]) + "\n"


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


def _summary(checked: Sequence[CheckedItem]) -> Iterator[str]:
    kinds = Counter(item.what for item in checked)
    sound = sum(check.status == "ok" for item in checked for check in item.checks)
    yield from _row(_WORDS["ok"], f"{counted(sound, 'part')} of {', '.join(counted(n, k) for k, n in kinds.items())}")
    alike: dict[tuple[str, str, str], list[str]] = {}
    for item in checked:
        for check in item.checks:
            if check.status != "ok":
                # Alike are those whose reasons differ in numbers only.
                reason = re.sub(r"\d+", "0", check.detail) if check.status == "not_recomputed" else check.detail
                alike.setdefault((check.status, check.part, reason), []).append(f"{item.called}: {check.detail}")
    for (status, part, _), said in sorted(alike.items(), key=lambda each: each[0][0] != "fails"):
        others = f" (and {len(said) - 1} more alike: -v)" if len(said) > 1 else ""
        yield from _row(_WORDS[status], f"{part} of {said[0]}{others}")


def _every(checked: Sequence[CheckedItem]) -> Iterator[str]:
    for item in checked:
        yield from wrapped(item.called)
        if good := ", ".join(check.part for check in item.checks if check.status == "ok"):
            yield from _row("ok", good)
        for check in item.checks:
            if check.status != "ok":
                yield from _row(_WORDS[check.status], f"{check.part}: {check.detail}")


def _closing(verification: Verification) -> Iterator[str]:
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
