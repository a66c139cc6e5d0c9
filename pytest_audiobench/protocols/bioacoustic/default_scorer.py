"""Our scorer of bioacoustic answers: by the task's own labels, and nothing taken from an answer or a truth."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.metrics.kinds.captions import lacks_captions
from pytest_audiobench.metrics.labels import label_statistics, set_scores
from pytest_audiobench.protocols.bioacoustic.answers import one_label, several_labels
from pytest_audiobench.protocols.bioacoustic.documentation import BIOACOUSTIC
from pytest_audiobench.protocols.bioacoustic.label_scorer import classes_for, labels_for, true_label, true_labels
from pytest_audiobench.protocols.captioning.words import cider_of_words, made_with
from pytest_audiobench.protocols.free_text import answer_of, read_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer, nothing_lacks
from pytest_audiobench.protocols.refusals import refuses

METRICS: Mapping[str, tuple[str, ...]] = {
    "classification": ("accuracy", "macro_f1"),
    "detection": ("macro_f1", "micro_f1", "micro_precision", "micro_recall", "set_f1", "accuracy", "decision_map"),
    "captioning": ("cider_d",),
    "open_ended": ("accuracy",),
}


def bioacoustic_scorer(task: str, labels: tuple[str, ...]) -> Scorer:
    """The scorer ``bioacoustic`` of ``task``; ``labels`` are the task's, else each sample's choices."""

    def classified(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return one_label(response.text, labels_for(sample, labels), response.finish)

    def detected(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return several_labels(response.text, classes_for(sample, labels), response.finish)

    def opened(sample: Sample, earlier: Earlier) -> Answer:
        if labels or sample.choices:
            return classified(sample, earlier)
        answer = read_text(sample, earlier)
        refused = answer.status == "refused" or refuses(answer.value[:_LOOKED_AT] if answer.value else "")
        return Answer("refused") if refused else answer

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        if task == "detection":
            return _detection(sample, answer, classes_for(sample, labels))
        if task == "classification":
            return _classification(sample, answer, labels_for(sample, labels))
        return {} if task == "captioning" else _open(sample, answer)

    parse = {"classification": classified, "detection": detected, "captioning": read_text, "open_ended": opened}[task]
    captions = task == "captioning"
    return Scorer(
        "bioacoustic",
        _signature(task),
        parse,
        score,
        METRICS[task],
        BIOACOUSTIC[task],
        together=cider_of_words if captions else None,
        lacking=(lambda: lacks_captions("pycocoevalcap")) if captions else nothing_lacks,
    )


_LOOKED_AT = 20_000


def _signature(task: str) -> str:
    rules = {
        "classification": "labels:task|answer:one|unanswered:wrong|denied:dropped",
        "detection": "labels:task|answer:set|none:empty|unanswered:wrong|denied:dropped",
        "captioning": f"captions:asis|words:ptb|refs:all|empty:0|{made_with('pycocoevalcap')}",
        "open_ended": "labels:task-or-text|answer:one|unanswered:wrong|denied:dropped",
    }
    return f"bioacoustic:{task}|v:1|{rules[task]}"


def _classification(sample: Sample, answer: Answer, labels: tuple[str, ...]) -> dict[str, float]:
    said = answer.value if answer.status == "parsed" else None
    true = true_label(sample, labels, said)
    told = label_statistics(labels, [true] if true else [], [said] if said else [])
    return {"correct": float(said is not None and said == true), **told}


def _detection(sample: Sample, answer: Answer, classes: tuple[str, ...]) -> dict[str, float]:
    """Sets. An empty text says that there is nothing; an unread one is a wrong label where there is nothing to miss."""
    true, said = true_labels(sample, classes), frozenset(json.loads(answer.value or "[]"))
    unread = answer.value is None and answer.status != "empty"
    scores = set_scores(len(true & said), len(said), len(true))
    right = said == true and not unread
    return {
        "correct": float(right),
        "set_f1": 1.0 if right else scores.f1,
        **label_statistics(classes, true, said, int(unread and not true)),
    }


def _open(sample: Sample, answer: Answer) -> dict[str, float]:
    said = tidy_caseless(answer.value) if answer.value else None
    return {
        "correct": float(said is not None and any(said == tidy_caseless(truth) for truth in sample.truths if truth))
    }
