"""Several labels of a clip, or none: the sounds that are heard, the species that call, the tags of a piece of music."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.kinds import ranking
from pytest_audiobench.metrics.labels import SAID, label_statistics, set_scores
from pytest_audiobench.protocols.classification import label_lists
from pytest_audiobench.protocols.classification.mentions import Labels, labels_of
from pytest_audiobench.protocols.classification.prompts import words_of
from pytest_audiobench.protocols.classification.published import without_marks
from pytest_audiobench.protocols.classification.truth import choices_of, statistics_of
from pytest_audiobench.protocols.free_text import answer_of, choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered

DEFAULT = "{question}\nName every label that applies, with commas between them, or None: {labels}."
PROMPTS: Mapping[str, str] = MappingProxyType({"default": DEFAULT, "question": "{question}"})


@remembered
def tagging(*scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 128) -> Protocol:
    """Ask for all labels of the sample's choices that apply; its references are those that do.

    The scorers are ``tags`` (the default; ours), ``exact-set`` (ours; nothing but the very set counts) and
    ``mtg-substring`` (CMI-Bench's; needs scikit-learn). A sample to which no label applies has the reference "None",
    or an empty one. ``prompt`` is a template, or the name of one in ``PROMPTS``: ``{question}`` and ``{labels}`` are
    filled in. Raises UsageError for an unknown scorer or placeholder.
    """
    stage = free_stage(words_of(PROMPTS.get(prompt, prompt)), system, max_new_tokens)
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    return choose(Protocol("tagging", (stage,), (available["tags"],), available, expects="option"), scorers)


def true_labels(sample: Sample, labels: Labels) -> list[str]:
    """The labels that apply to the sample: each reference is one, several with commas between them, or none.

    Raises UsageError for one that is not among the choices.
    """
    found: dict[str, None] = {}
    for truth in sample.truths:
        whole = labels.label(truth)
        for part in (truth,) if whole is not None else truth.split(","):
            label = labels.label(part)
            if label is not None:
                found[label] = None
            elif part.strip() and not label_lists.means_nothing(part):
                raise UsageError(
                    f"sample {sample.id!r}: its label {part.strip()!r} is none of its choices {list(sample.choices)}; "
                    "correct the data set"
                )
    return list(found)


def _labels(sample: Sample) -> Labels:
    return labels_of(label_lists.without_none(choices_of(sample)))


def _parse_tags(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    return label_lists.read(response.text, _labels(sample), response.finish, sample.choices)


def _parse_exact(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    text, labels = response.text, _labels(sample)
    if not text.strip():
        return Answer("empty")
    if response.finish == "length":
        return Answer("truncated")
    whole = labels.label(text)
    parts = [text] if whole is not None else text.split(",")
    items = [part for part in parts if part.strip() and not label_lists.means_nothing(part)]
    named = [(item, labels.label(item)) for item in items]
    known = dict.fromkeys(label for _, label in named if label is not None)
    return Answer(
        "parsed",
        label_lists.told(label_lists.Said(tuple(known), tuple(item for item, label in named if label is None))),
    )


def _score_sets(sample: Sample, answer: Answer) -> Mapping[str, float]:
    labels = _labels(sample)
    true, said = true_labels(sample, labels), label_lists.message_text(answer)
    hits, named = len(set(true).intersection(said.labels)), len(said.labels) + len(said.others)
    found = statistics_of(labels, true, said.labels, len(said.others))
    if answer.status != "parsed":
        # A set that was cut may have gone on, and silence is not the empty set.
        found["correct"] = 0.0
    if not true:
        precision = recall = f1 = found["correct"]
    else:
        precision, recall, f1 = set_scores(hits, named, len(true))
    return {**found, "set_precision": precision, "set_recall": recall, "set_f1": f1}


def _score_exact(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return {"correct": _score_sets(sample, answer)["correct"]}


def _parse_substrings(sample: Sample, earlier: Earlier) -> Answer:
    text = answer_of(earlier).text.lower().strip()
    if not text:
        return Answer("empty")
    within = tuple(label for label in _lowered(sample) if label in text)
    return Answer("parsed", label_lists.told(label_lists.Said(within, ())))


def _score_substrings(sample: Sample, answer: Answer) -> Mapping[str, float]:
    labels = _lowered(sample)
    wanted = {without_marks(part) for truth in sample.truths for part in truth.split(",")}
    said = label_lists.message_text(answer).labels
    found = label_statistics(labels, [label for label in labels if label in wanted], said)
    places = [name[len(SAID) :] for name in found if name.startswith(SAID)]
    return {**found, **{f"{ranking.SCORE}{place}": 1.0 for place in places}}


def _lowered(sample: Sample) -> tuple[str, ...]:
    return tuple(dict.fromkeys(choice.lower().strip() for choice in choices_of(sample)))


_SOUNDS = ("dog", "rain", "siren", "car horn")

_NONE_RULE = (
    'A sample to which nothing applies (reference "None" or empty) is right, with precision, recall and F1 of 1, where '
    'the answer says "None" or "no sounds", and 0 for any label, for a refusal and for silence; the sums over all '
    "samples gain nothing from it."
)

_READINGS = (
    Scorer(
        "tags",
        "tags:tags|v:1|unanswered:misses-all|others:false-alarms|none:explicit|labels:choices",
        _parse_tags,
        _score_sets,
        ("micro_f1", "macro_f1", "set_f1", "micro_precision", "micro_recall", "accuracy"),
        About(
            "Every choice that the answer names by whole words and does not deny, case ignored, of several that begin "
            "at one word the longest (a label may hold a comma). An item of at most four words between commas, line "
            'breaks or "and" that names no choice is a false alarm. '
            f"{_NONE_RULE} accuracy is the share of answers that are exactly the set. An answer that was cut is not, "
            "and keeps the labels before its last comma or line break; a refusal misses all labels. One capital letter "
            "stands for the choice at that place, so that listeners that are no language models can answer.",
            "ours",
            (
                Example("I hear a dog barking and rain.", choices=_SOUNDS, references=("dog", "rain")),
                Example("Dog, siren, unicorn", choices=_SOUNDS, references=("dog", "rain")),
                Example("There is rain, but no dog.", choices=_SOUNDS, references=("rain",)),
                Example("None", "None", choices=_SOUNDS),
                Example("I'm sorry, I cannot hear the audio.", "None", choices=_SOUNDS),
            ),
        ),
    ),
    Scorer(
        "exact-set",
        "tags:exact-set|v:1|unanswered:wrong|order:ignored|none:explicit",
        _parse_exact,
        _score_exact,
        ("accuracy",),
        About(
            "Right when the answer, parted at commas, holds exactly the true labels in any order, each once or more; "
            'case, outer space and punctuation are ignored. "None" is the empty set. A cut answer is wrong.',
            "ours",
            (
                Example("rain, dog", choices=_SOUNDS, references=("dog", "rain")),
                Example("A dog and rain", choices=_SOUNDS, references=("dog", "rain")),
            ),
        ),
    ),
    Scorer(
        "mtg-substring",
        "tags:mtg-substring|v:1|unanswered:scores-0|match:substring|undefined-labels:left-out(roc),0(pr)",
        _parse_substrings,
        _score_substrings,
        ("roc_auc", "average_precision_all_labels"),
        About(
            "A choice scores 1 where its letters stand anywhere in the answer, else 0, all in small letters; the truth "
            "is parted at commas, and space, _, -, ' and full stops are taken out of it, but not out of answer or "
            "choices. ROC-AUC and PR-AUC (average precision) are means over labels by scikit-learn.",
            "github nicolaus625/CMI-bench, evaluate.py, multi_label_classification (MTG-Jamendo, MagnaTagATune)",
            (
                Example("This is hardrock with drums", choices=("rock", "hardrock", "drums"), references=("hardrock",)),
                Example("An acoustic guitar", choices=("acousticguitar", "guitar"), references=("acousticguitar",)),
            ),
            'Letters inside other words count (hardrock is rock too), a denial counts ("no drums"), a label in two '
            "words never meets the list's acousticguitar, and a choice that holds a space is never true. Answers of 0 "
            "or 1 are no scores: the areas are functions of hits and false alarms. A label that no sample has counts 0 "
            "in PR-AUC; ROC-AUC leaves it out here, where older scikit-learn fails. Ours reads whole words and "
            "gives F1.",
        ),
        lacking=ranking.lacks_scikit_learn,
    ),
)
