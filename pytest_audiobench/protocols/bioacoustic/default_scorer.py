"""Our scorer of bioacoustic answers: by the task's own labels, and nothing taken from an answer or a truth."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest

from pytest_audiobench.datasets.sample import LETTERS, Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.captions import lacks_captions
from pytest_audiobench.metrics.label_statistics import label_statistics, set_scores
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.bioacoustic.answers import one_label, several_labels
from pytest_audiobench.protocols.bioacoustic.naming import Synonyms
from pytest_audiobench.protocols.bioacoustic.pipeline import Target
from pytest_audiobench.protocols.captioning.words import cider_of_words, made_with
from pytest_audiobench.protocols.free_text import answer_of, read_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer, no_missing_parts, no_sample_problem

NONE = "None"
"""What is read of an answer that no label applies."""

_NONE = re.compile(r"\s*(?:none)?\s*", re.I)
_LETTERED = re.compile(r"\s*\(?([A-Z])[).:]\s*\S")
_SHOWN = 5


def labels_for(sample: Sample, labels: tuple[str, ...]) -> tuple[str, ...]:
    """``labels``, or where there are none the sample's choices. Raises UsageError where both are missing."""
    if not (label_list := labels or sample.choices):
        raise UsageError(
            f"sample {sample.id!r} has no choices, and bioacoustic was given no labels: "
            "give the data set's label list as choices, or bioacoustic(labels=…)"
        )
    return label_list


def classes_for(sample: Sample, labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels that can be heard: "None" is not a class."""
    return _classes(labels_for(sample, labels))


@lru_cache(maxsize=256)
def _classes(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label for label in labels if not _NONE.fullmatch(label))


def target_of(sample: Sample) -> Target:
    """The sample's truth as BEANS-Next holds it: a list where the data set gives references, else one text."""
    return sample.references or sample.reference


def true_label(sample: Sample, labels: tuple[str, ...], label: str | None) -> str | None:
    """The true label of ``labels`` that was ``label``, else the first true one; None where the truth is empty.

    Raises UsageError when the truths are not labels of the task.
    """
    true = [truth for truth in sample.truths if truth in labels]
    if not true and set(labels) <= set(LETTERS):
        # "(A) Parus major", as BEANS-Next has some, is the letter.
        true = [match[1] for truth in sample.truths if (match := _LETTERED.match(truth)) and match[1] in labels]
    if not true and any(truth.strip() for truth in sample.truths):
        raise _no_label(sample, sample.truths[0], labels)
    return label if label in true else next(iter(true), None)


def true_labels(sample: Sample, classes: tuple[str, ...]) -> frozenset[str]:
    """The classes that are true of the sample: its references, or the parts of its one reference between commas.

    A class that holds commas itself is found as a whole. "None" and an empty reference are not a class. Raises
    UsageError for a truth that is not a class of the task.
    """
    if not sample.references:
        return frozenset(_parts(sample, classes))
    for truth in sample.references:
        if truth not in classes and not _NONE.fullmatch(truth):
            raise _no_label(sample, truth, classes)
    return frozenset(classes).intersection(sample.references)


def _parts(sample: Sample, classes: tuple[str, ...]) -> list[str]:
    spelled = _spellings(classes)
    pieces, parts, place = sample.reference.split(","), [], 0
    while place < len(pieces):
        ends = range(len(pieces), place, -1)
        whole = next((end for end in ends if _tidy(",".join(pieces[place:end])) in spelled), None)
        if whole is not None:
            parts.append(spelled[_tidy(",".join(pieces[place:whole]))])
        elif not _NONE.fullmatch(pieces[place]):
            raise _no_label(sample, pieces[place].strip(), classes)
        place = whole or place + 1
    return parts


@lru_cache(maxsize=256)
def _spellings(classes: tuple[str, ...]) -> dict[str, str]:
    return {_tidy(label): label for label in classes}


def _tidy(text: str) -> str:
    return ", ".join(" ".join(part.split()) for part in text.split(","))


def _no_label(sample: Sample, truth: str, labels: tuple[str, ...]) -> UsageError:
    more = ", …" if len(labels) > _SHOWN else ""
    return UsageError(
        f"sample {sample.id!r}: its truth {truth!r} is not one of its labels ({', '.join(labels[:_SHOWN])}{more}); "
        "correct the data set or the labels"
    )


_OPTION = re.compile(r"(?<![^\s(,;])\(?([A-Za-z])[).:]\s+")
_OPTION_END = re.compile(r"\n|[.?!]\s+(?=[A-Z])")


def lettered_options(question: str) -> dict[str, str]:
    """The texts of the options that a question lists by letters from A on, each by its letter; nothing without any."""
    marks = list(_OPTION.finditer(question))
    first = next((place for place, mark in enumerate(marks) if mark[1] in "Aa"), len(marks))
    options: dict[str, str] = {}
    for letter, mark, behind in zip_longest(LETTERS, marks[first:], marks[first + 1 :]):
        if mark is None or mark[1].upper() != letter:
            break
        text = question[mark.end() : behind.start() if behind else None]
        options[letter] = _OPTION_END.split(text, maxsplit=1)[0].strip(" ,;.\n")
    return options if len(set(options.values()) - {""}) == len(options) > 1 else {}


METRICS: Mapping[str, tuple[str, ...]] = {
    "classification": ("accuracy", "macro_f1"),
    "detection": ("macro_f1", "micro_f1", "micro_precision", "micro_recall", "set_f1", "accuracy", "decision_map"),
    "captioning": ("cider_d",),
    "open_ended": ("accuracy",),
}


def bioacoustic_scorer(
    task: str, labels: tuple[str, ...], synonyms: Synonyms = (), label_source: str = "task"
) -> Scorer:
    """The scorer ``bioacoustic`` of ``task``; ``labels`` are the task's, else each sample's choices.

    ``label_source`` says in its signature whose they are.
    """

    def classified(sample: Sample, earlier: Earlier) -> Answer:
        response, known = answer_of(earlier), labels_for(sample, labels)
        answer = one_label(response.text, known, response.finish, synonyms)
        options = (
            lettered_options(sample.question) if answer.status == "unparsed" and set(known) <= set(LETTERS) else {}
        )
        if options.keys() <= set(known) and (letters := {text: letter for letter, text in options.items()}):
            # In words, an option is what any label is.
            worded = one_label(response.text, tuple(letters), response.finish)
            return Answer("parsed", letters[worded.value]) if worded.value in letters else answer
        return answer

    def detected(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return several_labels(response.text, classes_for(sample, labels), response.finish, synonyms)

    def opened(sample: Sample, earlier: Earlier) -> Answer:
        if labels or sample.choices:
            answer = classified(sample, earlier)
            says_none = answer.status == "unparsed" and detected(sample, earlier).value == "[]"
            return Answer("parsed", NONE) if says_none else answer
        answer = read_text(sample, earlier)
        refused = answer.status == "refused" or refuses(answer.value[:_LOOKED_AT] if answer.value else "")
        return Answer("refused") if refused else answer

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        if task == "detection":
            return _detection(sample, answer, classes_for(sample, labels))
        if task == "classification":
            known, label = labels_for(sample, labels), answer.value if answer.status == "parsed" else None
            true = true_label(sample, known, label)
            statistics = label_statistics(known, [true] if true else [], [label] if label else [])
            return {"correct": float(label is not None and label == true), **statistics}
        return {} if task == "captioning" else _open(sample, answer, bool(labels or sample.choices))

    def problem(sample: Sample) -> str:
        """That its truth is not a label, which is better said before a whole set is asked."""
        try:
            if task == "detection":
                true_labels(sample, classes_for(sample, labels))
            elif task == "classification" or labels or sample.choices:
                true_label(sample, labels_for(sample, labels), None)
        except UsageError as error:
            return str(error)
        return ""

    parse = {"classification": classified, "detection": detected, "captioning": read_text, "open_ended": opened}[task]
    captions = task == "captioning"
    rules = {
        "classification": f"labels:{label_source}|answer:one|unanswered:wrong|denied:dropped",
        "detection": f"labels:{label_source}|answer:set|none:empty|unanswered:wrong|denied:dropped",
        "captioning": f"captions:asis|words:ptb|refs:all|empty:0|{made_with('pycocoevalcap')}",
        "open_ended": "labels:task-or-text|answer:one|none:empty|unanswered:wrong|denied:dropped",
    }
    named = "|names:synonyms" if synonyms else ""
    return Scorer(
        "bioacoustic",
        f"bioacoustic:{task}|v:2|{rules[task]}{named}",
        parse,
        score,
        METRICS[task],
        together=cider_of_words if captions else None,
        missing_parts=(lambda: lacks_captions("pycocoevalcap")) if captions else no_missing_parts,
        sample_problem=no_sample_problem if captions else problem,
    )


_LOOKED_AT = 20_000


def _detection(sample: Sample, answer: Answer, classes: tuple[str, ...]) -> dict[str, float]:
    """Sets. An empty text says that there is nothing; an unread one is a wrong label where there is nothing to miss."""
    true, predicted = true_labels(sample, classes), frozenset(json.loads(answer.value or "[]"))
    unread = answer.value is None and answer.status != "empty"
    scores = set_scores(len(true & predicted), len(predicted), len(true))
    right = predicted == true and not unread
    return {
        "correct": float(right),
        "set_f1": 1.0 if right else scores.f1,
        **label_statistics(classes, true, predicted, int(unread and not true)),
    }


def _open(sample: Sample, answer: Answer, has_labels: bool) -> dict[str, float]:
    """Any of the truths is right; of a task with labels, where nothing is true, that there is none."""
    text = tidy_caseless(answer.value) if answer.value else None
    truths = {tidy_caseless(true) for true in sample.truths if true} or ({tidy_caseless(NONE)} if has_labels else set())
    return {"correct": float(text is not None and text in truths)}
