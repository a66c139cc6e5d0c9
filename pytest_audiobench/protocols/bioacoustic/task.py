"""What animals can be heard: one label, several, a number, a list of species, or a caption."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from pytest_audiobench.datasets.label_lists import label_file
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.answer_failures import Expects
from pytest_audiobench.protocols.bioacoustic.default_scorer import bioacoustic_scorer, classes_for, labels_for
from pytest_audiobench.protocols.bioacoustic.naming import Synonyms
from pytest_audiobench.protocols.bioacoustic.published_scorers import (
    TARGETS,
    run_scorer,
    score_from_file_scorer,
    spider_scorer,
    zero_scorer,
)
from pytest_audiobench.protocols.bioacoustic.quantities import Unit, number_scorer
from pytest_audiobench.protocols.bioacoustic.species_lists import list_scorer
from pytest_audiobench.protocols.captioning.words import word_scorers
from pytest_audiobench.protocols.free_text import family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Protocol, Scorer, with_recorded_options

Task: TypeAlias = Literal["classification", "detection", "captioning", "open_ended", "number", "list", "counts"]
_MEASURED = frozenset({"number", "list", "counts"})
"""The tasks that BEANS-Next's registry takes for classifications whose labels are the answers of all samples."""

PROMPTS: Mapping[Task, str] = {
    "classification": "{question}\nThe labels are:\n{labels}\nAnswer with one label and nothing else.",
    "detection": "{question}\nThe labels are:\n{labels}\nAnswer with all labels that apply, separated by commas, or "
    "with None where none does.",
    **dict.fromkeys(("captioning", "open_ended", "number", "list", "counts"), "{question}"),
}
QUESTIONS: Mapping[Task, str] = {
    "classification": "Which of the labels describes this recording?",
    "detection": "Which of the labels can be heard in this recording?",
    "captioning": "Describe this recording in one sentence.",
    "open_ended": "What can be heard in this recording?",
    "number": "How many calls can be heard in this recording? Answer with a number.",
    "list": "Which species can be heard in this recording? Separate their names by commas.",
    "counts": "How often does each species call in this recording? Answer as in: Corvus corax: 2, Parus major: 3.",
}
"""What is asked where a sample has no question of its own."""

_OWN_TASKS: Mapping[str, Task] = {"one": "classification", "several": "detection", "number": "number"}
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


_EXPECTS: Mapping[Task, Expects] = {
    "classification": "option",
    "detection": "option",
    "captioning": "words",
    **dict.fromkeys(("open_ended", "number", "list", "counts"), "open"),
}


@with_recorded_options
def bioacoustic(
    *scorers: str | Scorer,
    task: Task = "classification",
    labels: Sequence[str] | str | None = None,
    synonyms: Sequence[str] = (),
    unit: Unit = "",
    tolerance: str = "0",
    ordered: bool = False,
    prompt: str | None = None,
    system: str | None = None,
    max_new_tokens: int = 256,
    answers: Literal["one", "several", "number"] | None = None,
    label_source: str = "task",
) -> Protocol:
    """Ask which of a task's labels fit a recording, and read the answer by ``scorers``, the first as the headline.

    The scorers are ``bioacoustic`` (the default; ours, by the task's own labels), ``beans-run`` and
    ``beans-score-from-file`` (BEANS-Next's two pipelines) and, for classification and detection, ``beans-zero``
    (BEANS-Zero's evaluator), kept with their defects; for captions also ``beans-spider`` and ``spider``.

    ``labels`` is the task's label list, or the name of a file with one label a line or one JSON list; without it each
    sample's choices are. ``synonyms`` are further names that ours understands, each a label and what else it is called:
    ``"Junco hyemalis = Dark-eyed Junco"``. ``prompt`` is a template with ``{question}`` and ``{labels}`` (a line each;
    ``{spaced_labels}`` has an empty line between them); the labels listed are the task's, never the sample's truth.
    Whether birds can be heard, yes or no, is a classification. A "number" is in ``unit``, and right within
    ``tolerance``, a number or a percentage of the truth; a "list" is of species, in their order where they are to be
    ``ordered``; "counts" are how often each species calls. ``answers`` says whether ours reads one label, several or a
    number where the published rules take the task for another. ``label_source`` is in the signatures, and other
    than "task" says that ``labels`` are not the publisher's list; for "targets" there is none, and ``beans-run`` takes
    its own from what is scored together, as BEANS-Next does then. Raises UsageError for an unknown scorer, task or
    placeholder, and for labels and synonyms that cannot be read.
    """
    if task not in PROMPTS:
        raise UsageError(f"bioacoustic knows no task {task!r}; it knows {', '.join(PROMPTS)}")
    listed = tuple(dict.fromkeys(label_file(Path(labels)) if isinstance(labels, str) else labels or ()))
    template = PROMPTS[task] if prompt is None else prompt
    if unknown := set(_PLACEHOLDER.findall(template)) - {"question", "labels", "spaced_labels"}:
        raise UsageError(
            f"the prompt {template!r} has the unknown placeholder {{{min(unknown)}}}; "
            "known are {question}, {labels} and {spaced_labels}"
        )

    def words(sample: Sample) -> str:
        def filled(placeholder: re.Match[str]) -> str:
            if placeholder[1] == "question":
                return sample.question or QUESTIONS[task]
            offered = classes_for(sample, listed) if task == "detection" else labels_for(sample, listed)
            return ("\n" if placeholder[1] == "labels" else "\n\n").join(f"- {label}" for label in offered)

        return _PLACEHOLDER.sub(filled, template)

    own_task = _OWN_TASKS[answers] if answers else task
    # BEANS-Next takes such tasks for classifications without a label list.
    kind = "classification" if task in _MEASURED else task
    if own_task == "number":
        own = number_scorer(unit, tolerance)
    elif own_task in _MEASURED:
        own = list_scorer(own_task, ordered, tolerance)
    else:
        # Ours never takes its labels from what is true.
        own = bioacoustic_scorer(
            own_task, listed, _pairs(synonyms), "task" if label_source == TARGETS else label_source
        )
    of_targets = task in _MEASURED or label_source == TARGETS
    run = score_from_file_scorer(kind, "run") if of_targets else run_scorer(task, listed, label_source)
    family_scorers = [own, run, score_from_file_scorer(kind)]
    if task in ("classification", "detection"):
        family_scorers.append(zero_scorer(task))
    if task == "captioning":
        family_scorers.append(spider_scorer())
        family_scorers.extend(scorer for scorer in word_scorers() if scorer.name == "spider")
    stage = free_stage(words, system, max_new_tokens)
    return family_protocol("bioacoustic", (stage,), family_scorers, scorers, _EXPECTS[task])


def _pairs(synonyms: Sequence[str]) -> Synonyms:
    written = [[name.strip() for name in synonym.split(" = ")] for synonym in synonyms]
    if wrong := next((each for each, names in zip(synonyms, written, strict=True) if len(names) < 2), None):
        raise UsageError(f"the synonym {wrong!r} names no label; write 'label = name', as 'Rock Dove = Rock Pigeon'")
    return tuple((name, label) for label, *names in written for name in names)


def _of_task(task: Task) -> Callable[..., Protocol]:
    """:func:`bioacoustic` with that task, as its own family."""

    def family(
        *scorers: str | Scorer,
        labels: Sequence[str] | str | None = None,
        prompt: str | None = None,
        system: str | None = None,
        max_new_tokens: int = 256,
    ) -> Protocol:
        protocol = bioacoustic(
            *scorers, task=task, labels=labels, prompt=prompt, system=system, max_new_tokens=max_new_tokens
        )
        return replace(protocol, name=f"bioacoustic_{task}")

    family.__name__ = family.__qualname__ = f"bioacoustic_{task}"
    return with_recorded_options(family)


bioacoustic_captioning, bioacoustic_detection = _of_task("captioning"), _of_task("detection")


@with_recorded_options
def bioacoustic_open_ended(
    *scorers: str | Scorer,
    labels: Sequence[str] | str | None = None,
    synonyms: Sequence[str] = (),
    prompt: str | None = None,
    system: str | None = None,
    max_new_tokens: int = 256,
) -> Protocol:
    """:func:`bioacoustic` with the task "open_ended": in the answer's own words, any of the truths is right."""
    options = {"labels": labels, "synonyms": synonyms, "prompt": prompt, "system": system}
    asked = bioacoustic(*scorers, task="open_ended", max_new_tokens=max_new_tokens, **options)  # type: ignore[arg-type]
    return replace(asked, name="bioacoustic_open_ended")


def _of_measure(task: Literal["number", "list", "counts"]) -> Callable[..., Protocol]:
    """:func:`bioacoustic` of what is counted or measured, as its own family."""

    def family(
        *scorers: str | Scorer,
        unit: Unit = "",
        tolerance: str = "0",
        ordered: bool = False,
        prompt: str | None = None,
        system: str | None = None,
        max_new_tokens: int = 256,
    ) -> Protocol:
        measure = {"unit": unit, "tolerance": tolerance, "ordered": ordered}
        asking = {"prompt": prompt, "system": system, "max_new_tokens": max_new_tokens}
        protocol = bioacoustic(*scorers, task=task, **measure, **asking)  # type: ignore[arg-type]
        return replace(protocol, name=f"bioacoustic_{task}")

    family.__name__ = family.__qualname__ = f"bioacoustic_{task}"
    return with_recorded_options(family)


bioacoustic_number, bioacoustic_list = _of_measure("number"), _of_measure("list")
bioacoustic_counts = _of_measure("counts")
