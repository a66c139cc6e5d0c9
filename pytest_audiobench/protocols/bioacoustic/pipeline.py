"""BEANS-Next's post-processing, as published: an answer becomes segments, which named steps split and then clean.

``run`` and ``score-from-file`` choose their steps differently. Facts from github earthspecies/beans-next,
beans_next/post_process/pipeline.py, beans_next/runner/runner.py and rescorer.py (0.1.0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.protocols.bioacoustic import extraction, matching
from pytest_audiobench.protocols.bioacoustic.matching import PipelineError, Segments

StepFunction: TypeAlias = Callable[..., Segments]


class Step(NamedTuple):
    """A step by name, with the parameters that it is given."""

    name: str
    params: Mapping[str, Any] = MappingProxyType({})


class Steps(NamedTuple):
    """All that happens to an answer: first every parser, then every cleaner, each in order."""

    parsers: tuple[Step, ...] = ()
    cleaners: tuple[Step, ...] = ()


PARSERS: Mapping[str, StepFunction] = {"parse_labels_comma": extraction.parse_labels_comma}
CLEANERS: Mapping[str, StepFunction] = {
    "normalize_whitespace": extraction.normalize_whitespace,
    "strip_eos": extraction.strip_eos,
    "fuzzy_match_to_labels": matching.fuzzy_match_to_labels,
    "conservative_match_to_labels": matching.conservative_match_to_labels,
    "extract_label_from_text": matching.extract_label_from_text,
    "extract_scientific_name_from_text": extraction.extract_scientific_name_from_text,
    "extract_mcq_choice_from_text": extraction.extract_mcq_choice_from_text,
    "extract_hz_bucket_from_text": extraction.extract_hz_bucket_from_text,
}


def process(raw: str, steps: Steps) -> Segments:
    """``raw`` as one segment, through all parsers and then all cleaners.

    Raises PipelineError for an unknown step, and where a step cannot work with its parameters.
    """
    segments: tuple[str, ...] = (raw,)
    warnings: tuple[str, ...] = ()
    for kind, known, named in (("parser", PARSERS, steps.parsers), ("cleaner", CLEANERS, steps.cleaners)):
        for step in named:
            if step.name not in known:
                raise PipelineError(f"no {kind} is called {step.name!r}; there are {', '.join(sorted(known))}")
            done = known[step.name](segments, **step.params)
            segments, warnings = done.segments, warnings + done.warnings
    return Segments(segments, warnings)


Target: TypeAlias = str | Sequence[str] | None
"""The true answer of a sample: a text (of several labels with commas between them), or a list of labels."""

FREE_TEXT = frozenset({"captioning", "qa", "open_ended", "counting"})

_TIDY = (Step("normalize_whitespace"), Step("strip_eos"))
_COMMAS = (Step("parse_labels_comma"),)


def vocabulary_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """All labels of the targets in the order they come, texts split at commas (even where a label holds one)."""
    vocabulary: dict[str, None] = {}
    for target in targets:
        parts = [part.strip() for part in target.split(",")] if isinstance(target, str) else list(target or ())
        vocabulary.update(dict.fromkeys(part for part in parts if part.strip()))
    return tuple(vocabulary)


def steps_of_run(task: str | None, labels: Sequence[str] = (), targets: Iterable[Target] = ()) -> Steps:
    """What ``run`` chooses for a task whose label list is ``labels``, or else that of its samples' ``targets``."""
    if task in FREE_TEXT:
        return Steps((), _TIDY + (_names_then_any(labels) if _all_binomial(labels) else ()))
    vocabulary = tuple(labels) or vocabulary_of(targets)
    if by_shape := step_by_shape(vocabulary):
        return Steps((), (*_TIDY, by_shape))
    if task == "classification":
        if not vocabulary:
            return Steps((), _TIDY)
        if _all_binomial(vocabulary):
            return Steps((), _TIDY + _names_then_any(vocabulary))
        return Steps((), (*_TIDY, Step("extract_label_from_text", {"labels": vocabulary})))
    rule = {"labels": vocabulary, "max_distance": 2, "allow_fuzzy": True, "drop_unmatched": True}
    return Steps(_COMMAS, (*_TIDY, *((Step("conservative_match_to_labels", rule),) if vocabulary else ())))


def steps_of_score_from_file(task: str | None, targets: Iterable[Target]) -> Steps:
    """What ``score-from-file`` chooses: the labels are those of the file's targets, for captions too."""
    vocabulary, task = vocabulary_of(targets), (task or "").lower()
    if by_shape := step_by_shape(vocabulary):
        return Steps((), (*_TIDY, by_shape))
    if "classification" in task and "detection" not in task:
        return Steps((), _TIDY + ((Step("extract_label_from_text", {"labels": vocabulary}),) if vocabulary else ()))
    return Steps(_COMMAS, _TIDY + ((Step("fuzzy_match_to_labels", {"labels": vocabulary}),) if vocabulary else ()))


def step_by_shape(vocabulary: tuple[str, ...]) -> Step | None:
    """The step for a vocabulary of yes and no, of two to ten single letters, or of buckets ("400 Hz")."""
    labels = {"labels": vocabulary}
    lower = {label.strip().lower() for label in vocabulary}
    if {label.lower() for label in vocabulary} == {"yes", "no"}:
        return Step("extract_label_from_text", labels)
    if 2 <= len(lower) <= 10 and all(len(label) == 1 and label.isalpha() for label in lower):
        return Step("extract_mcq_choice_from_text", labels)
    if lower and all(label.endswith("hz") and label.split()[0].isdigit() for label in lower):
        return Step("extract_hz_bucket_from_text", labels)
    return None


def _all_binomial(labels: Sequence[str]) -> bool:
    return bool(labels) and all(" " in label.strip() for label in labels)


def _names_then_any(labels: Sequence[str]) -> tuple[Step, ...]:
    names = Step("extract_scientific_name_from_text", {"labels": tuple(labels), "min_score": 1.0})
    return names, Step("extract_label_from_text", {"labels": tuple(labels), "apply_threshold": False})
