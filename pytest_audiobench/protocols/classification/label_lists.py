"""Our scorer of an answer that is a set of labels: every label that the text asserts, and what else it lists."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pytest_audiobench.datasets.sample import tidy_caseless
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.classification.mentions import Labels, asserted_labels, by_letter, searchable_text
from pytest_audiobench.protocols.protocol import Answer

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


def without_none(choices: tuple[str, ...]) -> tuple[str, ...]:
    """The choices without one that stands for the empty set."""
    return tuple(choice for choice in choices if not means_nothing(choice))


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
    mention_spans = [(mention.start, mention.end) for mention in mentions]
    places = [
        match.span() for match in _SEPARATOR.finditer(body) if not any(a <= match.start() < b for a, b in mention_spans)
    ]
    starts, ends = [0, *(end for _, end in places)], [*(start for start, _ in places), len(body)]
    fields: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=True):
        if any(start <= a < end for a, _ in mention_spans):
            continue
        item = _MARK.sub("", body[start:end], count=1)
        lead = _LEAD.match(item)
        item = item[lead.end() :] if lead else item
        item = re.sub(r"\A\s*(?:and|or)\s+", "", item, flags=re.I).strip(" .!?\"'“”")
        if item and not means_nothing(item) and 1 <= len(_WORD.findall(item)) <= _NEW_LABEL_WORDS:
            fields.setdefault(tidy_caseless(item), item[:80])
    return list(fields.values())
