"""What a reader should see of a run, drawn once from its record: tables of texts for page, terminal and summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_audiobench.report.figures import answered_text, group_text, interval_text, unanswered_text, value_text
from pytest_audiobench.report.sweep import MANY, of_judge
from pytest_audiobench.runs.scoring import SHARES

Json = Mapping[str, Any]
Tone = Literal["good", "bad", "warn", "plain"]

_EXITS = {
    0: "passed",
    1: "failed",
    2: "interrupted",
    3: "stopped by an internal error",
    4: "stopped by a usage error",
    5: "nothing was selected",
}
_SPEED_WORDS = {
    "first_token_s": "first token after ",
    "padding_waste": "padding ",
    "model_share": "in the model ",
    "peak_memory_mb": "peak memory ",
}
_MARKS = {"pass": "✓", "fail": "✗", "not_comparable": "≠"}
_CHECK_TONES: Mapping[str, Tone] = {"pass": "good", "fail": "bad", "not_comparable": "warn"}


@dataclass(frozen=True)
class Figure:
    """A number with its conditions, as texts."""

    metric: str
    value: str
    interval: str
    n: int
    group: str
    reading: str
    signature: str
    method: str


@dataclass(frozen=True)
class Block:
    """The figures of one eval or suite by one reading; ``reading`` is empty for what a test recorded itself."""

    reading: str
    signature: str
    answered: str
    unanswered: str
    figures: tuple[Figure, ...]
    groups: tuple[Figure, ...]


@dataclass(frozen=True)
class Check:
    """A threshold and its verdict; ``mark`` repeats in a sign what ``tone`` says in colour."""

    mark: str
    tone: Tone
    status: str
    threshold: str
    detail: str


@dataclass(frozen=True)
class Eval:
    """One item: its verdict in a word, its checks, its blocks (the headline reading first)."""

    name: str
    model: str
    verdict: str
    tone: Tone
    checks: tuple[Check, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class ModelFacts:
    """What a run found of a model beside its answers; empty texts where it found nothing."""

    alias: str
    speed: str
    hearing: str
    device: str
    judging: str = ""


@dataclass(frozen=True)
class Banner:
    """What must be known before any number is read."""

    tone: Tone
    text: str


def evals(record: Json) -> list[Eval]:
    """The run's items, in their order."""
    return [_eval(item) for item in record["items"]]


def blocks(owner: Json) -> tuple[Block, ...]:
    """The figures of an item or a suite by reading, then those that a test recorded itself."""
    metrics = owner["metrics"]
    found = [_block(reading, [m for m in metrics if m["reading"] == reading["name"]]) for reading in owner["readings"]]
    own = [m for m in metrics if m["reading"] is None]
    if own:
        found.append(_block({"name": "", "signature": "", "coverage": {}}, own))
    return tuple(found)


def banners(record: Json) -> list[Banner]:
    """Failed, limited, incomplete, empty: all that bears on whether the numbers may be believed."""
    return list(_banners(record))


def models(record: Json) -> list[ModelFacts]:
    """The models that were asked: how fast they answered, and whether they are known to hear."""
    return [
        ModelFacts(
            alias=model["alias"],
            speed=", ".join(
                f"{_SPEED_WORDS.get(figure['name'], '')}{value_text(figure['value'], figure['unit'])}"
                for figure in model.get("speed", ())
            ),
            hearing="{status}: {evidence}".format(**model["hearing"]) if model.get("hearing") else "",
            device=f"{model['device']}, shared by the workers" if model.get("shared") else "",
            judging=_judging(model, record["items"]) if model.get("role") == "judge" else "",
        )
        for model in record["models"]
    ]


def _judging(model: Json, items: Sequence[Json]) -> str:
    counts = [item.get("judges", {}).get(model["alias"], {}) for item in items]
    asked, known, errors = (sum(one.get(name, 0) for one in counts) for name in ("asked", "known", "errors"))
    return f"{model['spec']}, {asked} verdicts asked, {known} known" + (f", {errors} could not be had" * bool(errors))


def told(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks that a table of all evals has room for: of many rules the headline's, what tests recorded, judges'."""
    by_rule = [block for block in blocks if block.reading and not of_judge(block.signature)]
    return blocks if len(by_rule) <= MANY else [block for block in blocks if block not in by_rule[1:]]


def exit_text(record: Json) -> str:
    return _EXITS.get(record["exit_status"], f"ended with exit code {record['exit_status']}")


def aliases(record: Json) -> list[str]:
    """The models that appear in the run, in order."""
    return list(dict.fromkeys(item["model"] for item in record["items"]))


def _banners(record: Json) -> Iterator[Banner]:
    items = record["items"]
    skipped = sum(item["outcome"] == "skipped" for item in items)
    lost = sum(item["outcome"] == "lost" for item in items)
    errors = sum(reading["coverage"].get("errors", 0) for item in items for reading in item["readings"][:1])
    if record["exit_status"] != 0:
        yield Banner("bad", f"This run did not pass: {exit_text(record)}.")
    if not items or skipped == len(items):
        yield Banner("bad", "Nothing was measured: every eval was skipped or none was selected.")
    if lost:
        yield Banner("bad", f"Incomplete: {_count(lost, 'eval')} began and never reported.")
    if record["limit"] is not None or any(item["limited"] for item in items):
        yield Banner("bad", "Limited: only part of the samples was asked. Never comparable with a full run.")
    if errors:
        yield Banner("bad", f"Incomplete: asking failed for {_count(errors, 'sample')}, left out of every score.")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _eval(item: Json) -> Eval:
    verdict, tone = _verdict(item)
    checks = tuple(
        Check(
            _MARKS[v["status"]], _CHECK_TONES[v["status"]], v["status"].replace("_", " "), v["threshold"], v["detail"]
        )
        for v in item["verdicts"]
    )
    return Eval(item["eval"], item["model"], verdict, tone, checks, blocks(item))


def _verdict(item: Json) -> tuple[str, Tone]:
    statuses = {verdict["status"] for verdict in item["verdicts"]}
    if item["outcome"] in ("lost", "skipped"):
        return item["outcome"], "bad" if item["outcome"] == "lost" else "warn"
    if "fail" in statuses or item["outcome"] == "failed":
        return "FAIL", "bad"
    if "not_comparable" in statuses:
        return "not comparable", "warn"
    if item["control"]:
        return "control", "plain"
    return ("pass", "good") if statuses else ("no check", "plain")


def _block(reading: Json, metrics: Sequence[Json]) -> Block:
    shown = [metric for metric in metrics if metric["name"] not in SHARES]
    return Block(
        reading=reading["name"],
        signature=reading["signature"],
        answered=answered_text(reading["coverage"]) if reading["coverage"] else "",
        unanswered=unanswered_text(reading["coverage"]),
        figures=tuple(_figure(metric) for metric in shown if not metric["group"]),
        groups=tuple(_figure(metric) for metric in shown if metric["group"]),
    )


def _figure(metric: Json) -> Figure:
    return Figure(
        metric=metric["name"],
        value=value_text(metric["value"], metric["unit"]),
        interval=interval_text(metric),
        n=metric["n"],
        group=group_text(metric["group"]),
        reading=metric["reading"] or "",
        signature=metric["signature"] or "",
        method=metric["method"],
    )
