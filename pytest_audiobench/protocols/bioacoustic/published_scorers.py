"""The scorers of BEANS-Next and BEANS-Zero, as published: their numbers, defects included.

``beans-run`` reads an answer when it comes; ``beans-score-from-file`` and ``beans-zero`` take their labels from the
targets of all the answers that are scored together, so that all of it happens then. Facts of BEANS-Zero from github
earthspecies/beans-zero, beans_zero/post_processor.py and evaluate.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.captions import cider_beans_next, lacks_captions, lacks_spice, spice
from pytest_audiobench.metrics.definitions.labels import ROW
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.protocols.bioacoustic.default_scorer import labels_for, target_of
from pytest_audiobench.protocols.bioacoustic.extraction import END_TOKEN
from pytest_audiobench.protocols.bioacoustic.matching import nearest
from pytest_audiobench.protocols.bioacoustic.pipeline import Steps, process, steps_of_run, steps_of_score_from_file
from pytest_audiobench.protocols.bioacoustic.scoring import first_of, sample_scores, split
from pytest_audiobench.protocols.captioning.words import made_with
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer, no_missing_parts

MAX_DISTANCE = 5
TARGETS = "targets"
"""The source of labels that are those of the targets which are scored together."""


def nearest_targets(text: str, targets: Sequence[str]) -> str:
    """Each part between commas as the nearest of the sorted ``targets``, or "None" beyond a distance of 5."""
    near = (nearest(part.strip().partition(END_TOKEN)[0], targets) for part in text.split(","))
    return ", ".join(label if distance <= MAX_DISTANCE else "None" for label, distance in near)


def zero_classification(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Accuracy, accuracy against any part of the target between commas, and each sample's labels for F1."""
    known = sorted(set(targets))
    labels = [nearest(text.partition(END_TOKEN)[0], known)[0] for text in texts]
    return [
        {
            "correct": float(label == target),
            "beans_top1_accuracy": float(label in [part.strip() for part in target.split(",")]),
            **label_statistics(known, [target], [label]),
        }
        for label, target in zip(labels, targets, strict=True)
    ]


def zero_detection(texts: Sequence[str], targets: Sequence[str]) -> list[dict[str, float]]:
    """Each sample's labels; the classes are the parts of all targets between commas, "None" alone not among them."""
    known = sorted({*targets, "None"})
    classes = frozenset(part.strip() for target in targets if target.lower() != "none" for part in target.split(","))
    rows = [
        (_target_labels(nearest_targets(text, known)), _target_labels(target))
        for text, target in zip(texts, targets, strict=True)
    ]
    return [label_statistics(classes, classes & true, classes & predicted) for predicted, true in rows]


def _target_labels(text: str) -> frozenset[str]:
    return frozenset() if text.lower() == "none" else frozenset(part.strip() for part in text.split(","))


METRICS: Mapping[str, tuple[str, ...]] = {
    "classification": ("accuracy", "beans_macro_f1"),
    "detection": (
        *("beans_map", "beans_accuracy", "beans_average_precision", "beans_precision", "beans_recall", "beans_f1"),
    ),
    "captioning": ("cider_beans_next",),
    "open_ended": ("accuracy",),
}

MOST_CHARACTERS = 100_000
"""Of an answer; the published code has no bound, and takes hours over a hostile text."""


def run_scorer(task: str, labels: tuple[str, ...], label_source: str = "task") -> Scorer:
    """``beans-run``: the post-processing of ``run`` for a task that has a label list."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        listed = labels_for(sample, labels) if task in ("classification", "detection") else labels or sample.choices
        return _process_answer(answer_of(earlier).text, _steps(task, listed))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if _without_target(sample, task) else _own_scores(sample, answer, task)

    def together(scored: Sequence[tuple[Sample, Answer]]) -> Sequence[Mapping[str, float]]:
        return _set_scores([sample for sample, _ in scored], [answer for _, answer in scored], task)

    source = "list" if label_source == "task" else label_source
    signature = f"beans-next:run|v:0.1.0|task:{task}|labels:{source}{_libraries(task)}"
    return Scorer("beans-run", signature, parse, score, METRICS[task], together=together, missing_parts=_lacking(task))


def score_from_file_scorer(task: str, verb: Literal["run", "score-from-file"] = "score-from-file") -> Scorer:
    """``beans-score-from-file``: the labels are those of the targets that are scored together.

    For "run" it is ``beans-run`` of a task without a label list, whose labels are those of its samples.
    """

    def together(scored: Sequence[tuple[Sample, Answer]]) -> Sequence[Mapping[str, float]]:
        samples = [sample for sample, _ in scored]
        # The order of labels decides between two that are contained: run has the data set's, predictions that of ids.
        ordered = samples if verb == "run" else sorted(samples, key=lambda sample: sample.id)
        targets = [target_of(sample) for sample in ordered]
        steps = steps_of_run(task, (), targets) if verb == "run" else steps_of_score_from_file(task, targets)
        answers = [_process_answer(answer.value or "", steps) for _, answer in scored]
        sample_rows = [_own_scores(sample, answer, task) for sample, answer in zip(samples, answers, strict=True)]
        return [{**row, **more} for row, more in zip(sample_rows, _set_scores(samples, answers, task), strict=True)]

    signature = f"beans-next:{verb}|v:0.1.0|task:{task}|labels:targets{_libraries(task)}"
    return Scorer(
        f"beans-{verb}",
        signature,
        _raw,
        lambda sample, _: None if _without_target(sample, task) else {},
        METRICS[task],
        together=together,
        missing_parts=_lacking(task),
    )


def spider_scorer() -> Scorer:
    """``beans-spider``: BEANS-Next's SPIDEr of captions as ``run`` leaves them, which none of its own runs computes."""

    def together(scored: Sequence[tuple[Sample, Answer]]) -> Sequence[Mapping[str, float]]:
        texts = [answer.value or "" for _, answer in scored]
        truths = [first_of(target_of(sample)) or "" for sample, _ in scored]
        pairs = zip(cider_beans_next(texts, truths), spice(texts, [[truth] for truth in truths]), strict=True)
        return [{"spider_beans_next": (cider + f) / 2.0, "cider_beans_next": cider, "spice": f} for cider, f in pairs]

    return Scorer(
        "beans-spider",
        f"beans-next:spider|v:0.1.0|task:captioning|cider:set|spice:1.0{_libraries('captioning')}",
        run_scorer("captioning", ()).parse,
        _nothing,
        ("spider_beans_next", "cider_beans_next", "spice"),
        together=together,
        missing_parts=lacks_spice,
    )


def zero_scorer(task: str) -> Scorer:
    """``beans-zero``: the evaluator of BEANS-Zero, for classification and detection."""

    def together(scored: Sequence[tuple[Sample, Answer]]) -> Sequence[Mapping[str, float]]:
        targets = [", ".join(sample.references) or sample.reference for sample, _ in scored]
        texts = [answer.value or "" for _, answer in scored]
        return zero_detection(texts, targets) if task == "detection" else zero_classification(texts, targets)

    metrics = ("macro_f1",) if task == "detection" else ("accuracy", "beans_top1_accuracy", "weighted_f1")
    signature = f"beans-zero:{task}|v:1.0|labels:targets|ties:sorted"
    return Scorer("beans-zero", signature, _raw, _nothing, metrics, together=together)


_steps = lru_cache(maxsize=256)(steps_of_run)


def _libraries(task: str) -> str:
    return f"|{made_with('pycocoevalcap')}" if task == "captioning" else ""


def _lacking(task: str) -> Callable[[], str]:
    return (lambda: lacks_captions("pycocoevalcap")) if task == "captioning" else no_missing_parts


def _process_answer(text: str, steps: Steps) -> Answer:
    """The processed text. Where nothing is left of the text, the raw one, unparsed: it is what BEANS-Next scores."""
    raw = text[:MOST_CHARACTERS]
    if processed := process(raw, steps).text:
        return Answer("parsed", processed)
    return Answer("unparsed", raw) if raw.strip() else Answer("empty", raw)


def _without_target(sample: Sample, task: str) -> bool:
    """Whether it has no target there, and no score: so have BirdSet's windows in which no bird was annotated."""
    return task == "open_ended" and not any(sample.truths)


def _own_scores(sample: Sample, answer: Answer, task: str) -> dict[str, float]:
    if task == "captioning":
        return {}
    scores = sample_scores(target_of(sample), answer.value or "", "", task)
    if task == "detection":
        return {f"beans_{name}": value for name, value in scores.items()}
    # One label is right or wrong: all other scores of it are the same number.
    return {"correct": scores["accuracy"]} if scores else {}


def _set_scores(samples: Sequence[Sample], answers: Sequence[Answer], task: str) -> list[dict[str, float]]:
    """What each sample adds to the numbers over the data set: its text is empty where nothing was left of it."""
    targets = [target_of(sample) for sample in samples]
    texts = [(answer.value or "") if answer.status == "parsed" else "" for answer in answers]
    if task == "captioning":
        return [{"cider_beans_next": row} for row in cider_beans_next(texts, [first_of(row) or "" for row in targets])]
    if task == "classification":
        return _label_statistics([[text] for text in texts], [[first_of(target) or ""] for target in targets])
    if task == "detection":
        statistics = _label_statistics([split(text) for text in texts], [split(target) for target in targets])
        rows = {sample_id: row for row, sample_id in enumerate(sorted(sample.id for sample in samples))}
        return [{**row, ROW: float(rows[sample.id])} for row, sample in zip(statistics, samples, strict=True)]
    return [{} for _ in samples]


def _label_statistics(predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> list[dict[str, float]]:
    labels = frozenset(label for row in (*predicted, *true) for label in row)
    return [
        label_statistics(labels, set(true_labels), set(predicted_labels))
        for predicted_labels, true_labels in zip(predicted, true, strict=True)
    ]


def _raw(sample: Sample, earlier: Earlier) -> Answer:
    text = answer_of(earlier).text[:MOST_CHARACTERS]
    return Answer("parsed" if text.strip() else "empty", text)


def _nothing(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return {}
