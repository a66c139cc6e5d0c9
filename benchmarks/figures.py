"""Figures that were measured, in ``docs/performance.json``, and the tables of ``docs/performance.md`` that they make.

``python benchmarks/figures.py`` writes those tables again; ``benchmarks/all.py`` measures. A table stands between
``<!-- figures NAME -->`` and ``<!-- end of figures -->``, with NAME a script's, or ``limits`` for all that has one.
Everything else on the page is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"
_TABLE = re.compile(r"(<!-- figures ([\w.-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_TIMES = ("CPU time", "wall time")


def read() -> list[dict[str, Any]]:
    """What each script measured last, by the scripts' names."""
    entries: list[dict[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return entries


def write(entries: Sequence[Mapping[str, Any]]) -> None:
    ordered = sorted(entries, key=lambda entry: entry["script"])
    FIGURES.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def with_tables(page: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """``page`` with its tables made of ``entries``."""
    by_script = {entry["script"]: entry for entry in entries}

    def table(found: re.Match[str]) -> str:
        name = found[2]
        if name == "limits":
            lines = _limits(entries)
        else:
            lines = _of_script(by_script[name]) if name in by_script else iter(["Not measured."])
        return f"{found[1]}" + "".join(f"{line}\n" for line in lines) + found[3]

    return _TABLE.sub(table, page)


def tables_of(page: str) -> list[str]:
    """The names of the tables on ``page``."""
    return [found[2] for found in _TABLE.finditer(page)]


def _limits(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    # CPU time where that was measured, which other work on the machine distorts least.
    yield "| promise | limit | median | min to max | n | share of the limit | measured |"
    yield "|---|---|---|---|---|---|---|"
    for entry in entries:
        for figure in entry["figures"]:
            if figure.get("limit") is None:
                continue
            median, low, high = figure[_first(figure)]
            unit, limit = figure["unit"], figure["limit"]
            share = f"{median / limit:.2f}"
            yield (
                f"| {figure['name']} | {_number(limit)} {unit} | {_number(median)} {unit} | {_number(low)} to "
                f"{_number(high)} | {figure['n']} | {share if median <= limit else f'**{share}**'} | "
                f"{entry['date']}, `{entry['script']}.py`, load {max(entry['load']):.0f} |"
            )


def _of_script(entry: Mapping[str, Any]) -> Iterator[str]:
    low, high = entry["load"]
    sticks = " to ".join(f"{stick:.3f}" for stick in entry["yardstick_s"])
    arguments = f" {' '.join(entry['arguments'])}" if entry["arguments"] else ""
    yield (
        f"`{entry['script']}.py{arguments}` on {entry['date']} at {entry['commit'] or 'no commit'}: "
        f"{entry['machine']}; load {low:.1f} before and {high:.1f} after, yardstick {sticks} s of CPU time."
    )
    yield ""
    times = [time for time in _TIMES if any(figure[time] for figure in entry["figures"])]
    yield f"| | {' | '.join(f'{time}, median (min to max)' for time in times)} | n |"
    yield f"|---|{'---|' * len(times)}---|"
    for figure in entry["figures"]:
        cells = [_spread(figure[time], figure["unit"]) for time in times]
        yield f"| {figure['name']} | {' | '.join(cells)} | {figure['n']} |"
    if entry["left_out"]:
        yield ""
        yield f"Left out: {'; '.join(entry['left_out'])}."


def _first(figure: Mapping[str, Any]) -> str:
    return next(time for time in _TIMES if figure[time])


def _spread(values: Sequence[float] | None, unit: str) -> str:
    if values is None:
        return "–"
    median, low, high = values
    return f"{_number(median)} {unit} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    """Three digits that count."""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")


if __name__ == "__main__":
    main()
