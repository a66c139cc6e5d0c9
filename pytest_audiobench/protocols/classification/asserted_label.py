"""Our strict readers of an answer that is one label, or yes or no: only what the text asserts, never one of two."""

from __future__ import annotations

import re

from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.classification.mentions import Labels, asserted_labels, by_letter, searchable_text
from pytest_audiobench.protocols.protocol import Answer

_HEAD, _TAIL = 4_000, 8_000
_SHORT = 300
_CONFLICT = ""

_ELEMENT = re.compile(r"<(?:conclu\w{0,10}|final\w{0,10}|answer)[^<>]{0,20}>(.{0,500}?)(?:</|\Z)", re.I | re.S)
TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_REASONING = re.compile(r"</(?:think|reasoning)>", re.I)
_LABEL_STATEMENT = re.compile(
    r"""\b(?:answer|label|class|category|classification|choice|conclusion|prediction|emotion|gender|accent|language
         |scene|genre|instrument|sentiment)\b["']?\s{0,3}
        (?:\b(?:is|was|(?:would|should|must|will)\sbe|seems\sto\sbe|appears\sto\sbe)\b|[:=])|答案\s?[是为:]?""",
    re.I | re.X,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|[\n。！？]")
_COURTESY = re.compile(
    r"(?:\b(?:i(?:['’]m|\sam|['’]d\sbe|\swould\sbe)|sure,?|always)\s|\A\W*|(?<=[.!\n])\s*)(?:happy|glad|pleased|delighted)"
    r"\sto\s(?:help|assist|answer|listen|analy[sz]e)\b|\bi(?:['’]m|\sam)\safraid\b",
    re.I,
)
"""What the model says about itself is not a label: "I'm happy to help"."""
_QUOTED = re.compile(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”')


def read_label(text: str, choices: tuple[str, ...], labels: Labels, finish: Finish = "stop") -> Answer:
    """The choice that ``text`` asserts, as the sample spells it.

    The status of an answer without one: "empty", "truncated" (the limit of tokens came first), "refused" (it declines,
    or the server says that it did), "out_of_range" (a letter beyond the choices) or "unparsed".
    """
    body = searchable_text(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}")
    body = behind_reasoning(body)
    if not re.search(r"\w", body) and labels.label_of(body) is None:
        return Answer("empty")
    body = in_element(body)
    if (choice := by_letter(body, choices)) is not None and labels.label_of(body) is None:
        return Answer("parsed", labels.label(choice)) if choice else Answer("out_of_range")
    # The letter in "<C> B </Conclusion>" is anyone's guess; the words between tags are not.
    body = TAG.sub("\n", body)
    if (whole := labels.label_of(body)) is not None:
        return Answer("truncated") if finish == "length" and labels.continues(body) else Answer("parsed", whole)
    label = _label_in_statements(body, labels, finish)
    if label is None and finish != "length" and len(body) <= _SHORT and not _declines(body, finish):
        label = _only_mention(body, labels)
    if label:
        return Answer("parsed", label)
    if finish == "length":
        return Answer("truncated")
    return Answer("refused" if label is None and _declines(body, finish) else "unparsed")


def behind_reasoning(body: str) -> str:
    """What stands behind a closing tag of reasoning, or all of it where nothing does."""
    behind = _REASONING.split(body)[-1]
    return behind if re.search(r"\w", behind) else body


def in_element(body: str) -> str:
    """What the last ``<answer>`` or ``<conclusion>`` element holds, or all of ``body`` where there is none."""
    elements = [element for element in _ELEMENT.findall(body) if element.strip()]
    return elements[-1] if elements else body


def _declines(body: str, finish: Finish) -> bool:
    return finish == "refusal" or refuses(body)


def _label_in_statements(body: str, labels: Labels, finish: Finish) -> str | None:
    """The label that a statement or its own sentence gives; two in contradiction are ""."""
    if finish == "length":
        # What the limit of tokens cut off could have changed the last sentence.
        body = body[: max((end.end() for end in _SENTENCE_END.finditer(body)), default=0)]
    stated = None
    for statement in _LABEL_STATEMENT.finditer(body):
        passage = body[statement.end() : statement.end() + 400]
        end = _SENTENCE_END.search(passage)
        labels_asserted = asserted_labels(labels.mentions(passage[: end.start()] if end else passage))
        stated = (labels_asserted[0] if len(labels_asserted) == 1 else _CONFLICT) if labels_asserted else stated
    sentences = [sentence for sentence in _SENTENCE_END.split(body) if sentence.strip()]
    whole = {*sentences[:1], *sentences[-1:], *body.split("\n")}
    alone = {label for sentence in whole if (label := labels.label_of(sentence))}
    if len(alone) > 1 or (alone and stated and stated not in alone):
        return _CONFLICT
    return alone.pop() if alone else stated


def _only_mention(body: str, labels: Labels) -> str | None:
    """The only label that is named outside quotation marks, or within them where none is outside."""
    body = _COURTESY.sub(lambda courtesy: " " * len(courtesy[0]), body)
    mentions = list(labels.mentions(body))
    quotes = [quote.span() for quote in _QUOTED.finditer(body)]
    outside = [mention for mention in mentions if not any(start <= mention.start < end for start, end in quotes)]
    labels_asserted = asserted_labels(outside or mentions)
    return labels_asserted[0] if len(labels_asserted) == 1 else _CONFLICT if labels_asserted else None


_OPENING = re.compile(
    r"""[\s"'“‘(\[*>-]{0,9}(?:(?:the\s)?answer\s?(?:is|:)\s?)?["'“‘(]?
    (?: (?P<yes>yes|yeah|yep) (?![\w'’-]) (?!\s*(?:,|/|and|or)?\s*no\b)
      | (?P<no>no|nope) (?![\w'’-]) (?!\s*(?:,|/|and|or)?\s*yes\b)
        (?= \s*(?:[.,;:!?)\]"'”’\n–—-]|\Z)
          | \s+(?:it|they|there|the|i|we|this|these|because|only|different|both|you|since|as)\b ) )""",
    re.I | re.X,
)
_STATEMENT = re.compile(r"\banswer\s?(?:is|:)\s?[\"'“‘(]?(yes|no)\b(?!\s*(?:,|/|and|or)?\s*(?:yes|no)\b)", re.I)
UNSURE = re.compile(
    r"""\b(?: (?:can(?:not|\snot|['’]?t)|could(?:\snot|n['’]?t)|unable\sto|(?:im|not\s)possible\sto|hard\sto
              |difficult\sto|do(?:\snot|n['’]?t)|no\sway\sto)\s(?:\w{1,12}\s){0,2}?
              (?:tell|determine|say|know|judge|decide|access|process|listen|analy[sz]e)
          | not\s(?:sure|certain) ) \b""",
    re.I | re.X,
)


def read_agreement(text: str, finish: Finish = "stop", choices: tuple[str, ...] = ()) -> Answer:
    """The answer's "yes" or "no"; else "empty", "refused", "truncated", "out_of_range" or "unparsed".

    A capital letter alone stands for one of ``choices``.
    """
    if choices and (choice := by_letter(text, choices)) is not None:
        return read_agreement(choice, finish) if choice else Answer("out_of_range")
    body = searchable_text(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}")
    body = body.removesuffix("</s>")
    if not (lines := [line for line in body.split("\n") if re.search(r"\w", line)]):
        return Answer("empty")
    openings = [_OPENING.match(line) for line in (lines[0], lines[-1])]
    answers = {"yes" if opening["yes"] else "no" for opening in openings if opening}
    answers |= {statement.lower() for statement in _STATEMENT.findall(body)[-1:]}
    if finish == "refusal" or UNSURE.search(body) or (not answers and refuses(body)):
        return Answer("refused")
    if len(answers) == 1:
        return Answer("parsed", answers.pop())
    return Answer("truncated" if finish == "length" and not answers else "unparsed")
