"""The many metrics of scenes: which stand among the main figures, and all of them with what each tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.audio.events import EVENT_TYPES
from pytest_audiobench.metrics.registry import is_known, metric_kind

MAIN = ("reward", "scene_f1", "halluc", "adds_over_other", "matched_wer", "spk_acc")
"""What stands among the main figures of the headline scorer."""
OF_OTHERS = MAIN[:2]
"""The same of further scorers, and by group."""

PUBLISHED = {
    "reward": "Reward",
    "scene_f1": "F1",
    "scene_recall": "recall",
    "scene_precision": "precision",
    "iou": "IoU",
    "iou_cos": "IoU × cos",
    "matched_wer": "WER",
    "how": "how",
    "snd": "snd",
    "burst": "burst",
    "spk_acc": "speaker",
    "halluc": "halluc",
    "events_guessed": "predicted",
    "events_true": "true",
}
"""The metrics of the published table, by the heads of its columns."""

_NARROW = {"precision": "prec", "IoU × cos": "IoU×cos", "recall": "rec", "speaker": "spk", "predicted": "pred"}
"""Heads of columns where all of them are to are in 80 columns of a terminal."""

_SENTENCE_END = re.compile(r"\. (?=[A-Z])")


class Column(NamedTuple):
    """A metric of scenes."""

    metric: str
    published: str
    """What the published table calls it; empty where it has no such column."""
    about: str
    """The first sentence of what it is."""


def is_of_scenes(metrics: Collection[str]) -> bool:
    """Whether figures of these metrics are those of scenes."""
    return not {*OF_OTHERS}.difference(metrics)


def main_metrics(metrics: Iterable[str]) -> Collection[str]:
    """Those that stand among the main figures: all, where they are not of scenes."""
    names = {*metrics}
    return names.intersection(MAIN) if is_of_scenes(names) else names


def columns(metrics: Sequence[str]) -> list[Column]:
    """The metrics that have a number for a scene as a whole: the published first, then the others."""
    own = [name for name in metrics if name not in PUBLISHED and not type_of(name)]
    return [Column(name, PUBLISHED.get(name, ""), _about(name)) for name in (*PUBLISHED, *own) if name in metrics]


def published_lines(values: Mapping[str, Mapping[str, str]]) -> list[str]:
    """A head, and beneath the name of each eval its values by metric, in the columns of the published table."""
    heads = {name: _NARROW.get(head, head) for name, head in PUBLISHED.items()}
    rows = [
        {name: by_metric.get(name, "–").partition(" ")[0].replace("100.0", "100") for name in heads}
        for by_metric in values.values()
    ]
    widths = {name: max(len(row[name]) for row in (heads, *rows)) for name in heads}
    for row in rows:
        row["reward"] = row["reward"].ljust(widths["reward"])
    lines = [" ".join(row[name].rjust(width) for name, width in widths.items()) for row in (heads, *rows)]
    return [lines[0], *(text for pair in zip(values, lines[1:], strict=True) for text in pair)]


def type_of(metric: str) -> str:
    """The type of events that alone a metric is of; empty where it is of all."""
    return next((type_ for type_ in EVENT_TYPES if metric.endswith(f"_{type_}")), "")


def _about(metric: str) -> str:
    about = metric_kind(metric).about if is_known(metric) else ""
    return f"{_SENTENCE_END.split(about)[0].rstrip('.')}." if about else ""


def typed(metrics: Sequence[str]) -> dict[str, str]:
    """The metrics that have a number for each type of events, without its name, and what each tells."""
    names = {metric.removesuffix(f"_{type_}"): metric for metric in metrics if (type_ := type_of(metric))}
    return {name: _about(metric).replace(f" type {type_of(metric)}", " type") for name, metric in names.items()}
