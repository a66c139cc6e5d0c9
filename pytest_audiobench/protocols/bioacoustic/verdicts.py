"""How BEANS-Next reads the verdict of its YES or NO judge, as published.

Facts from github earthspecies/beans-next, beans_next/judges/predict_v1_judge.py (0.1.0).
"""

from __future__ import annotations


def parse_yes_no(text: str) -> tuple[float | None, str | None]:
    """1.0 for what begins with YES, 0.0 for what begins with NO, "nothing" and "Not sure" too; else None and why."""
    start = text.strip().upper()
    for word, verdict in (("YES", 1.0), ("NO", 0.0)):
        if start.startswith(word):
            return verdict, None
    return None, f"Unexpected judge response: {text!r}"
