"""The published figures, read from ``tables/*.json``: one file for each source.

A file has "benchmark", "source" and "tables", and in "drawn_prompts" the data sets of which each sample's prompt was
drawn at random, by no seed; a table says what its values share (metric, unit, protocol, checkpoint,
same_data, code_public, encoder, conditions, decimals as printed, "samples" by data set) and holds "values" as model →
data set → value. A value is a number, or an object with "value" and what is its own (conditions, disputed, n,
same_data, protocol, delta_of), or a list of such where one cell was published under several conditions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError

_WORDS = re.compile(r"[A-Za-z]+|[\d.]+")
_BETWEEN = re.compile(r"[/\s]+")
_PLAIN = re.compile(r"[^0-9a-z]+")
_NUMBER = re.compile(r"(\d*\.\d+)%?")
_OF_FILE = ("benchmark", "source")
_OF_TABLE = (
    "metric",
    "unit",
    "protocol",
    "checkpoint",
    "same_data",
    "code_public",
    "encoder",
    "conditions",
    "decimals",
)


class Published(NamedTuple):
    """One published figure; None and empty texts stand for what is not known."""

    benchmark: str
    source: str
    model: str
    dataset: str
    metric: str
    value: float
    unit: str
    """One of "percent" (76.7), "fraction" (0.767), "BLEU" (of 100) and "number"."""
    protocol: str = ""
    """The rule that it was scored by, as this project calls it where it has it."""
    checkpoint: str = ""
    same_data: bool | None = None
    """Whether it was measured on the whole published data."""
    code_public: bool | None = None
    """Whether its scorer can be read."""
    encoder: str = ""
    """The text encoder that it is by; empty for figures without one."""
    conditions: str = ""
    decimals: int | None = None
    """How many the source printed."""
    n: int | None = None
    """How many samples it is over."""
    skipped: int | None = None
    """How many more its rule leaves out."""
    disputed: str = ""
    """What speaks against the figure."""
    delta_of: tuple[str, str] | None = None
    """The conditions of the two figures that a difference is between, the first minus the second."""
    is_drawn: bool = False
    """Whether each sample's prompt was drawn at random, by no seed."""

    @property
    def name(self) -> str:
        """``faithfulness/Audio-Flamingo-3/emotion/accuracy``, and the conditions where there are any."""
        name = f"{self.benchmark}/{self.model}/{self.dataset}/{self.metric}"
        return f"{name} ({self.conditions})" if self.conditions else name

    @property
    def text(self) -> str:
        """The figure as its source prints it, with its unit."""
        digits = self.decimals if self.decimals is not None else len(repr(self.value).partition(".")[2])
        number = f"{self.value:.{digits}f}"
        return f"{number} %" if self.unit == "percent" else number


@cache
def everything() -> tuple[Published, ...]:
    """All figures of the registry, by file and in the order of each."""
    folder = files("pytest_audiobench.published_figures") / "tables"
    figures: list[Published] = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".json"):
            figures.extend(_of_file(json.loads(file.read_text(encoding="utf-8"))))
    return tuple(figures)


def values(
    *, benchmark: str | None = None, model: str | None = None, dataset: str | None = None, metric: str | None = None
) -> list[Published]:
    """The figures whose fields equal those that are given."""
    wanted = {"benchmark": benchmark, "model": model, "dataset": dataset, "metric": metric}
    given = {name: value for name, value in wanted.items() if value is not None}
    return [figure for figure in everything() if all(getattr(figure, name) == value for name, value in given.items())]


def matching(text: str, figures: Sequence[Published] | None = None) -> list[Published]:
    """The figures that every part of ``text`` names, such as ``faithfulness/af3/emotion``; of ``figures`` if given.

    A part names a figure by being within its benchmark, model, data set, metric or conditions, whatever case and
    punctuation, or by being the model's initials (af3 for Audio-Flamingo-3), or by being the number that is printed,
    as a percentage or a fraction; whole names count before parts of names. Raises UsageError when none is named.
    """
    parts = parts_of(text)
    wholes: dict[Published, int] = {}
    for figure in everything() if figures is None else figures:
        initials = "".join(word[0] if word[0].isalpha() else word for word in _WORDS.findall(figure.model))
        # A task of a file is of that file's benchmark, which is a whole name too.
        file, _, _ = figure.benchmark.partition("/")
        texts = (figure.benchmark, file, figure.model, figure.dataset, figure.metric, figure.conditions, initials)
        count = _named(parts, texts, figure)
        if count is not None:
            wholes[figure] = count
    if not wholes:
        benchmarks = ", ".join(dict.fromkeys(figure.benchmark for figure in everything()))
        numbers = [part for part in parts if _NUMBER.fullmatch(part)]
        if numbers and len(numbers) < len(parts) and _are_printed(numbers, figures):
            number = " ".join(numbers)
            raise UsageError(
                f"no published value is named by {text!r}, but there are some of that number: audiobench published "
                f"{number}"
            )
        raise UsageError(
            f"no published value is named by {text!r}; write BENCHMARK/MODEL/DATASET or parts of them, "
            f"such as faithfulness/af3/emotion, or a number as printed, such as 57.8; the benchmarks are {benchmarks}"
        )
    most = max(wholes.values())
    return [figure for figure, count in wholes.items() if count == most]


def _are_printed(numbers: Sequence[str], figures: Sequence[Published] | None) -> bool:
    """Whether a figure of any name is all of ``numbers``."""
    return any(_named(numbers, (), figure) is not None for figure in (everything() if figures is None else figures))


def parts_of(text: str) -> list[str]:
    """The parts of a filter."""
    return [piece for piece in _BETWEEN.split(text) if plain(piece)]


def plain(text: str) -> str:
    """``text`` without case and punctuation."""
    return _PLAIN.sub("", text.lower())


def _named(parts: Sequence[str], texts: Sequence[str], figure: Published) -> int | None:
    """How many of ``parts`` are whole names of a figure, or its value; None where one is nothing of it."""
    names = list(map(plain, texts))
    count = 0
    for part in parts:
        if number := _NUMBER.fullmatch(part):
            if _is_printed(figure, float(number[1])):
                count += 1
            elif not any(part.lower() in text.lower() for text in texts):
                return None
        elif not any(plain(part) in name for name in names):
            return None
        else:
            count += plain(part) in names
    return count if parts else None


def _is_printed(figure: Published, number: float) -> bool:
    other = {"percent": 0.01, "fraction": 100.0}.get(figure.unit, 1.0)
    # Shares of ten are printed as they were rated.
    factors = (1.0, other, 10.0) if figure.metric == "judge_score" and figure.unit == "fraction" else (1.0, other)
    return any(math.isclose(figure.value * factor, number, abs_tol=1e-9) for factor in factors)


def _of_file(content: Mapping[str, Any]) -> Iterator[Published]:
    head = {name: content[name] for name in _OF_FILE}
    for table in content["tables"]:
        shared = head | {name: table[name] for name in _OF_TABLE if name in table}
        for model, cells in table["values"].items():
            for dataset, cell in cells.items():
                for entry in cell if isinstance(cell, list) else [cell]:
                    fields = dict(entry) if isinstance(entry, dict) else {"value": entry}
                    conditions = [shared.get("conditions", ""), fields.get("conditions", "")]
                    fields["conditions"] = "; ".join(filter(None, conditions))
                    if "delta_of" in fields:
                        fields["delta_of"] = tuple(fields["delta_of"])
                    known = {"n": table.get("samples", {}).get(dataset)}
                    known["is_drawn"] = dataset in content.get("drawn_prompts", ())
                    yield Published(**(shared | known | fields | {"model": model, "dataset": dataset}))
