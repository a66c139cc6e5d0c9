"""What the evals of a run raise the alarm about: warnings that no reader may miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_audiobench.evaluation.record import ALARM
from pytest_audiobench.report.formatting import called

_MOST_NAMED = 5
_MOST = 20


def is_alarm(warning: str) -> bool:
    """Whether an eval's warning is an alarm."""
    return warning.startswith(ALARM)


def alarms(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each alarm once, as a sentence that names the evals which raise it."""
    several = len({item["model"] for item in items}) > 1
    said: dict[str, list[str]] = {}
    for item in items:
        for text in filter(is_alarm, item["warnings"]):
            said.setdefault(text.removeprefix(ALARM).strip(), []).append(called(item["eval"], item["model"], several))
    told = [f"Alarm: {text} ({_named(evals)})" for text, evals in said.items()]
    more = [f"Alarm: {len(told) - _MOST} more; run.json has them."] if len(told) > _MOST else []
    return [*told[:_MOST], *more]


def _named(evals: Sequence[str]) -> str:
    more = f" and {len(evals) - _MOST_NAMED} more" if len(evals) > _MOST_NAMED else ""
    return f"{', '.join(evals[:_MOST_NAMED])}{more}"
