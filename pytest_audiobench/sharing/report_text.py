"""What was found of a submission, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.comparison.table_cells import wrapped
from pytest_audiobench.report.formatting import interval_text, value_text
from pytest_audiobench.report.safe_text import json_text
from pytest_audiobench.sharing.findings import told
from pytest_audiobench.sharing.submission import number
from pytest_audiobench.sharing.submission_checks import Report


def text(report: Report) -> str:
    """The report: what is claimed, what holds, and where the top finding's evidence is."""
    return "\n".join(line for one in _lines(report) for line in wrapped(one)) + "\n"


def as_json(report: Report) -> str:
    """The same for programs: every part, and what is claimed beside the evidence."""
    claimed = {name: value for name, value in report.submission.payload.items() if name != "evidence"}
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
    model = payload["model"]
    limited = ", LIMITED" if payload["limited"] else ""
    yield f"{payload['suite']} by {model['alias']} ({model['spec']}): {payload['n']} samples{limited}{_value(payload)}"
    yield from (f"missing: {one}" for one in payload["missing"])
    yield from (f"{'✓' if check.holds else '✗'} {check.part}: {check.says}" for check in report.checks)
    if all(check.holds for check in report.checks if check.part not in ("payload", "signature")):
        yield from told(payload)
    if payload["notes"]:
        yield f"notes: {payload['notes']}"
    yield "verified" if report.holds else "NOT VERIFIED"


def _value(payload: Mapping[str, Any]) -> str:
    figure = payload["headline"]
    if figure is None:
        return ""
    numbers = {name: number(figure[name]) for name in ("value", "lower", "upper")}
    interval = interval_text({**numbers, "unit": figure["unit"]})
    between = f" [{interval}]" if interval else ""
    return f", {figure['metric']} by {figure['scorer']} {value_text(numbers['value'], figure['unit'])}{between}"
