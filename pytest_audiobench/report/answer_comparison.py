"""What is held against what, as a paper tells of it: a small table for each way of asking, a row for each eval.

Curves have their own tables; here stand the evals without a dose of those suites whose answers are held against others:
with and without reasoning, controls, injections, the reasoning put back, and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.evaluation.curve_records import unperturbed
from pytest_audiobench.metrics.metric import SHARE
from pytest_audiobench.protocols.reasoned_choice.stages import ANSWER, CLEAN, CONDITIONED
from pytest_audiobench.report.formatting import interval_text, value_text
from pytest_audiobench.report.perturbation_comparison import SAME
from pytest_audiobench.report.perturbations import owned

Json: TypeAlias = Mapping[str, Any]

_AGAINST = {
    CLEAN: "the answer to the clean clip",
    ANSWER: "the answer that the reasoning led to",
    CONDITIONED: "the choice with its own reasoning put back",
}
"""By the stage before the one that is scored; of other protocols the stage's name stands there."""


class Cell(NamedTuple):
    """A figure and its interval as texts; both are empty where the eval has none."""

    value: str = ""
    interval: str = ""


class Asked(NamedTuple):
    """An eval by one scorer: its perturbation, else its test's name; ``cells`` are by the names of :data:`COLUMNS`."""

    eval: str
    label: str
    scorer: str
    cells: Mapping[str, Cell]


class Block(NamedTuple):
    """Evals of one family that are held against the same, as ``about`` says; ``columns`` are those that any fills."""

    about: str
    columns: tuple[str, ...]
    rows: tuple[Asked, ...]


class AnswerComparison(NamedTuple):
    """The blocks of one model on one data set; ``of`` names suite and data set, ``metric`` is the first column's."""

    of: str
    model: str
    metric: str
    blocks: tuple[Block, ...]


COLUMNS: Mapping[str, str] = {
    "score": "the leading metric",
    "n": "samples asked and scored",
    "nulls": "answers in which no option was found, refusals among them",
    "beyond": "answers whose letter no option has",
    "missed": "answers without reasoning",
    "same": "the same answer as before (consistency)",
    "flips": "another option, of those read on both sides (flip_rate)",
    "changed": "predictions that are not equal, as the study counts them (prediction_changed)",
    "drop": "the score before less that after, in points (accuracy_drop)",
    "reliance": "what the audio adds, in points (audio_reliance)",
    "followed": "answers that are the injected option (follow_rate)",
    "swayed": "of those that answered another option before, the injected one now",
}
"""What each column holds."""

_RATES = {
    "same": SAME,
    "flips": "flip_rate",
    "drop": "accuracy_drop",
    "reliance": "audio_reliance",
    "followed": "follow_rate",
    "swayed": "swayed",
}
_COUNTS = {"missed": "missed_reasoning", "changed": "prediction_changed"}


def answer_comparisons(record: Json) -> list[AnswerComparison]:
    """One for each suite, model and data set in which any answer is held against another, in the items' order.

    Where only doses were asked about there is none: they have their curves.
    """
    found: dict[tuple[str, str, str], list[Json]] = {}
    for item in record["items"]:
        if item["metrics"]:
            dataset = unperturbed(item["dataset"], item.get("perturbation"))
            found.setdefault((item["suite"], item["model"], dataset), []).append(item)
    made = (_held(own, items) for own, items in found.items() if any(_is_held(item) for item in items))
    return [one for one in made if one.blocks]


def in_tables(record: Json) -> set[tuple[str, str]]:
    """The evals, with their models, of which these tables or that of all perturbations say how much was answered."""
    summaries = [(suite["model"], one) for suite in record["suites"] for one in suite.get("perturbations", ())]
    compared = {(point["eval"], model) for model, one in summaries if one["metric"] == SAME for point in one["points"]}
    return compared | {
        (asked.eval, one.model) for one in answer_comparisons(record) for block in one.blocks for asked in block.rows
    }


def _held(own: tuple[str, str, str], items: Sequence[Json]) -> AnswerComparison:
    suite, model, dataset = own
    label = _labels(items)
    blocks: dict[tuple[str, str], list[Asked]] = {}
    for item in items:
        perturbation = item.get("perturbation")
        if perturbation is not None and perturbation["dose"] is not None:
            continue
        against = _against(item)
        key = (perturbation["family"] if perturbation and against else "", against)
        rows = blocks.setdefault(key, [])
        rows += [
            Asked(item["eval"], label(item), scorer["name"], dict(_cells(item, scorer))) for scorer in item["scorers"]
        ]
    return AnswerComparison(
        of=owned(suite, dataset, ""),
        model=model,
        metric=items[0]["metrics"][0]["name"],
        blocks=tuple(Block(_about(*key), _filled(rows), tuple(rows)) for key, rows in blocks.items()),
    )


def _about(family: str, against: str) -> str:
    if not against:
        return "asked, and held against nothing"
    return f"{family or 'as it is'}, held against {against}"


def _is_held(item: Json) -> bool:
    return any(metric["name"] == SAME for metric in item["metrics"])


def _against(item: Json) -> str:
    if not _is_held(item):
        return ""
    stages = [stage["name"] for stage in item.get("stages", ()) if stage["role"] == "subject"]
    before = stages[-2] if len(stages) > 1 else ""
    return _AGAINST.get(before, before)


def _labels(items: Sequence[Json]) -> Callable[[Json], str]:
    """The perturbation's name, else the test's, of the clean one both; the eval's whole name where two would be alike."""

    def short(item: Json) -> str:
        perturbation: Json | None = item.get("perturbation")
        test: str = item["eval"].removeprefix(f"{item['suite']}/").partition("[")[0]
        if perturbation is None:
            return test
        return f"{test} ({CLEAN})" if perturbation["name"] == CLEAN else str(perturbation["name"])

    names = [short(item) for item in items]
    return lambda item: item["eval"] if names.count(short(item)) > 1 else short(item)


def _cells(item: Json, scorer: Json) -> Iterator[tuple[str, Cell]]:
    named = {
        metric["name"]: metric
        for metric in reversed(item["metrics"])
        if (metric["scorer"], metric["signature"]) == (scorer["name"], scorer["signature"]) and not metric["group"]
    }
    first = next((metric for metric in item["metrics"] if metric["name"] in named), None)
    coverage = scorer["coverage"]
    if first is None:
        return
    leading = named[first["name"]]
    yield "score", _cell(leading)
    yield "n", Cell(str(leading["n"]))
    nulls = ("unparsed", "refused", "empty", "truncated")
    yield "nulls", Cell(str(sum(coverage.get(name, 0) for name in nulls)))
    if coverage.get("out_of_range"):
        yield "beyond", Cell(str(coverage["out_of_range"]))
    for column, name in _COUNTS.items():
        if name in named and named[name]["value"] is not None:
            yield column, Cell(str(round(named[name]["value"] * named[name]["n"])))
    yield from ((column, _cell(named[name])) for column, name in _RATES.items() if name in named)


def _cell(metric: Json) -> Cell:
    text = value_text(metric["value"], metric["unit"]).removesuffix(" points")
    return Cell(text.removesuffix(" %") if metric["unit"] == SHARE else text, interval_text(metric))


def _filled(rows: Sequence[Asked]) -> tuple[str, ...]:
    return tuple(name for name in COLUMNS if any(name in row.cells for row in rows))
