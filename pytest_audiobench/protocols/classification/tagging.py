"""Several labels of a clip, or none: the sounds that are heard, the species that call, the tags of a piece of music.

Our scorer of such an answer takes every label that the text asserts, and what else it lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions import ranking
from pytest_audiobench.metrics.label_statistics import SAID, label_statistics, set_scores
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.classification.mentions import (
    Labels,
    asserted_labels,
    by_letter,
    labels_of,
    searchable_text,
)
from pytest_audiobench.protocols.classification.task_labels import choices_of, statistics_of, without_marks, words_of
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

_MOST = 12_000
_NOTHING = re.compile(
    r"(?:(?:the\s)?(?:answer|labels?|sounds?|tags?)\s?(?::|is|are)\s?)?(?:there\s(?:is|are)\s)?(?:none(?:\sof\s(?:these|them|the\s(?:above|labels|sounds|events)))?|nothing|no"
    r"(?:\s\w{1,15}){0,2}\s(?:sounds?|events?|labels?|species|calls?|vocali[sz]ations?))"
    r"(?:\s(?:is|are|was|were))?(?:\s(?:present|heard|detected|audible|found|apply|applies))?",
    re.I,
)
_SEPARATOR = re.compile(r"[,;\n]|(?<=\w)\s+and\s+|\s[&|/]\s")
_MARK = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_LEAD = re.compile(r"[^\n:]{0,200}:")
_WORD = re.compile(r"\w+")
_NEW_LABEL_WORDS = 4


class LabelList(NamedTuple):
    """The labels of the list that an answer names, and items of it that name none."""

    labels: tuple[str, ...]
    others: tuple[str, ...]


def means_nothing(text: str) -> bool:
    """Whether ``text`` says that there is nothing, as a whole: "None", "no sounds", "nothing is present"."""
    return _NOTHING.fullmatch(tidy_caseless(text)) is not None


def read_label_list(text: str, labels: Labels, finish: Finish = "stop", choices: tuple[str, ...] = ()) -> Answer:
    """The labels that ``text`` asserts, as JSON: {"labels": […], "others": […]}.

    A capital letter alone stands for one of ``choices``. "empty" without a letter or digit, "refused" where it
    declines, "unparsed" where it lists nothing. An answer that the limit of tokens cut is "truncated" and keeps the
    labels before its last separator.
    """
    if choice := by_letter(text, choices):
        return read_label_list(choice, labels, finish)
    body = searchable_text(text[:_MOST])
    if not re.search(r"\w", body):
        return Answer("empty")
    if means_nothing(body):
        return Answer("parsed", list_text(LabelList((), ())))
    if finish == "refusal" or refuses(body):
        return Answer("refused")
    if finish == "length":
        # What stands behind the last separator could have gone on to be another label.
        body = body[: max((end.start() for end in _SEPARATOR.finditer(body)), default=0)]
    label_list = LabelList(tuple(asserted_labels(labels.mentions(body))), tuple(_others(body, labels)))
    if finish == "length":
        return Answer("truncated", list_text(label_list))
    return Answer("parsed", list_text(label_list)) if label_list.labels or label_list.others else Answer("unparsed")


def list_text(label_list: LabelList) -> str:
    """The text that an answer holds."""
    return json.dumps({"labels": label_list.labels, "others": label_list.others}, ensure_ascii=False)


def listed_labels(answer: Answer) -> LabelList:
    """What :func:`list_text` put into an answer; nothing where it was not read."""
    if answer.value is None:
        return LabelList((), ())
    fields = json.loads(answer.value)
    return LabelList(tuple(fields["labels"]), tuple(fields["others"]))


def _others(body: str, labels: Labels) -> list[str]:
    """Items of a list that name no label: a few words between separators."""
    mentions = list(labels.mentions(body))
    # Labels may hold separators, so that a separator within one parts nothing.
    spans = [(mention.start, mention.end) for mention in mentions]
    places = [match.span() for match in _SEPARATOR.finditer(body) if not any(a <= match.start() < b for a, b in spans)]
    starts, ends = [0, *(end for _, end in places)], [*(start for start, _ in places), len(body)]
    fields: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=True):
        if any(start <= a < end for a, _ in spans):
            continue
        item = _MARK.sub("", body[start:end], count=1)
        lead = _LEAD.match(item)
        item = item[lead.end() :] if lead else item
        item = re.sub(r"\A\s*(?:and|or)\s+", "", item, flags=re.I).strip(" .!?\"'“”")
        if item and not means_nothing(item) and 1 <= len(_WORD.findall(item)) <= _NEW_LABEL_WORDS:
            fields.setdefault(tidy_caseless(item), item[:80])
    return list(fields.values())


DEFAULT = "{question}\nName every label that applies, with commas between them, or None: {labels}."
PROMPTS: Mapping[str, str] = {"default": DEFAULT, "question": "{question}"}


@with_recorded_options
def tagging(*scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 128) -> Protocol:
    """Ask for all labels of the sample's choices that apply; its references are those that do.

    The scorers are ``tags`` (the default; ours), ``exact-set`` (ours; nothing but the very set counts),
    ``mtg-substring`` (CMI-Bench's) and ``midashenglm-map`` (MiDashengLM's for FSD50K); these two need scikit-learn.
    A sample to which no label applies has the reference "None", or an empty one. ``prompt`` is a template, or the name
    of one in ``PROMPTS``: ``{question}`` and ``{labels}`` are filled in. Raises UsageError for an unknown scorer or
    placeholder.
    """
    stage = free_stage(words_of(PROMPTS.get(prompt, prompt)), system, max_new_tokens)
    return family_protocol("tagging", (stage,), _READINGS, scorers, "option")


def true_labels(sample: Sample, labels: Labels) -> list[str]:
    """The labels that apply to the sample: each reference is one, several with commas between them, or none.

    Raises UsageError for one that is not among the choices.
    """
    truths: dict[str, None] = {}
    for truth in sample.truths:
        for part in (truth,) if labels.label(truth) is not None else truth.split(","):
            if (label := labels.label(part)) is not None:
                truths[label] = None
            elif part.strip() and not means_nothing(part):
                raise UsageError(
                    f"sample {sample.id!r}: its label {part.strip()!r} is not one of its choices "
                    f"{list(sample.choices)}; "
                    "correct the data set"
                )
    return list(truths)


def _labels(sample: Sample) -> Labels:
    return labels_of(tuple(choice for choice in choices_of(sample) if not means_nothing(choice)))


def _parse_tags(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    return read_label_list(response.text, _labels(sample), response.finish, sample.choices)


def _parse_exact(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    text, labels = response.text, _labels(sample)
    if not text.strip():
        return Answer("empty")
    if response.finish == "length":
        return Answer("truncated")
    parts = [text] if labels.label(text) is not None else text.split(",")
    items = [part for part in parts if part.strip() and not means_nothing(part)]
    named = [(item, labels.label(item)) for item in items]
    known = dict.fromkeys(label for _, label in named if label is not None)
    return Answer("parsed", list_text(LabelList(tuple(known), tuple(item for item, label in named if label is None))))


def _score_sets(sample: Sample, answer: Answer) -> Mapping[str, float]:
    labels = _labels(sample)
    true, answered = true_labels(sample, labels), listed_labels(answer)
    hits, named = len(set(true).intersection(answered.labels)), len(answered.labels) + len(answered.others)
    statistics = statistics_of(labels, true, answered.labels, len(answered.others))
    if answer.status != "parsed":
        # A set that was cut may have gone on, and silence is not the empty set.
        statistics["correct"] = 0.0
    if not true:
        precision = recall = f1 = statistics["correct"]
    else:
        precision, recall, f1 = set_scores(hits, named, len(true))
    return {**statistics, "set_precision": precision, "set_recall": recall, "set_f1": f1}


def _parse_substrings(sample: Sample, earlier: Earlier) -> Answer:
    if not (text := answer_of(earlier).text.lower().strip()):
        return Answer("empty")
    within = tuple(label for label in _lowercase_choices(sample) if label in text)
    return Answer("parsed", list_text(LabelList(within, ())))


def _score_substrings(sample: Sample, answer: Answer) -> Mapping[str, float]:
    wanted = {without_marks(part) for truth in sample.truths for part in truth.split(",")}
    return _said_or_not(_lowercase_choices(sample), wanted, answer)


def _said_or_not(labels: tuple[str, ...], wanted: set[str], answer: Answer) -> Mapping[str, float]:
    """Statistics in which a label's score is 1 where the answer has it, else 0."""
    statistics = label_statistics(labels, [label for label in labels if label in wanted], listed_labels(answer).labels)
    places = [name[len(SAID) :] for name in statistics if name.startswith(SAID)]
    return {**statistics, **{f"{ranking.SCORE}{place}": 1.0 for place in places}}


def _parse_semicolons(sample: Sample, earlier: Earlier) -> Answer:
    text = answer_of(earlier).text.lower()
    if not text.strip():
        return Answer("empty")
    items = [item.strip().replace(", and ", " and ").replace(", ", " and ") for item in text.split(";")]
    labels = _lowercase_choices(sample)
    return Answer("parsed", list_text(LabelList(tuple(dict.fromkeys(item for item in items if item in labels)), ())))


def _score_semicolons(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return _said_or_not(_lowercase_choices(sample), {truth.lower().strip() for truth in sample.truths}, answer)


def _lowercase_choices(sample: Sample) -> tuple[str, ...]:
    return tuple(dict.fromkeys(choice.lower().strip() for choice in choices_of(sample)))


_READINGS = (
    Scorer(
        "tags",
        "tags:tags|v:1|unanswered:misses-all|others:false-alarms|none:explicit|labels:choices",
        _parse_tags,
        _score_sets,
        ("micro_f1", "macro_f1", "set_f1", "micro_precision", "micro_recall", "accuracy"),
    ),
    Scorer(
        "exact-set",
        "tags:exact-set|v:1|unanswered:wrong|order:ignored|none:explicit",
        _parse_exact,
        lambda sample, answer: {"correct": _score_sets(sample, answer)["correct"]},
        ("accuracy",),
    ),
    Scorer(
        "mtg-substring",
        "tags:mtg-substring|v:1|unanswered:scores-0|match:substring|undefined-labels:left-out(roc),0(pr)",
        _parse_substrings,
        _score_substrings,
        ("roc_auc", "average_precision_all_labels", "roc_auc_all_labels"),
        missing_parts=ranking.lacks_scikit_learn,
    ),
    Scorer(
        "midashenglm-map",
        "tags:midashenglm-map|v:1|unanswered:scores-0|split:semicolon|comma:and|undefined-labels:left-out",
        _parse_semicolons,
        _score_semicolons,
        ("mean_average_precision",),
        missing_parts=ranking.lacks_scikit_learn,
    ),
)
