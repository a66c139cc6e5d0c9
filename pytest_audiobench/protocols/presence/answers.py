"""Our scorer of a yes/no probe: what the answer says about the sound that it was asked about, and nothing else."""

from __future__ import annotations

import re

from pytest_audiobench.datasets.sample import tidy_caseless
from pytest_audiobench.models.messages import SOMETHING_ELSE, Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.classification.asserted_label import TAG, UNSURE, behind_reasoning, in_element
from pytest_audiobench.protocols.classification.mentions import Labels, labels_of, searchable_text
from pytest_audiobench.protocols.protocol import Answer

_HEAD, _TAIL = 4_000, 8_000
_REACH = 160
"""Characters before a sound in which what fails to hear it is looked for."""
_ENDS = ".!?;。！？；"
_SENTENCE = re.compile(rf"[^{_ENDS}\n]*[{_ENDS}\n]?")

_YES = (
    r"(?:definitely\s|certainly\s|absolutely\s)?yes|yeah|yep|yup|affirmative|indeed|sí|sì|si|sim|oui|ja|да|はい|ええ|네|예"
    r"|是的?|有的?|对|對|听到了?|聽到了?|听得到|聽得到|能听到|能聽到"
)
_NO = (
    r"no|nope|nah|(?:definitely|certainly|absolutely)\snot|negative|não|nao|non|nein|нет|いいえ|いえ|아니요|아니오"
    r"|不是|没有|沒有|没|沒|否|不|听不到|聽不到|没听到|沒聽到|没有听到|沒有聽到"
)
# Small words that are also names, articles or sounds of English count where nothing but punctuation follows.
_ALONE = {"true": "yes", "present": "yes", "false": "no", "absent": "no", "none": "no"}
_NOT = re.compile(
    r"""(?:it\s(?:is|was)\s)?not\s
        (?:present|there|heard|audible|detected|in\s(?:the|this)\s(?:audio|clip|recording))\W*\Z""",
    re.I | re.X,
)
_END = r"(?=\s*(?:[.,;:!?()}\]\"'”’。，、；：！？…\n–—-]|\Z))"
_CLAUSE = r"(?=\s+(?:it|they|there|the|i|we|you|this|that|these|because|only|since|as|a|an|can)\b)"
_ANSWER = (
    r"(?:final\s)?(?:answer|conclusion|verdict|decision|response|result)(?:\sto\s(?:the|this|your)\squestion)?"
    r"[\"']?\s?(?:(?:is|would\sbe|should\sbe)\s?[:=]?|:|=)\s?[\"'“‘(]{0,2}"
)
_LEAD = (
    r"\W{0,9}(?:(?:so|well|okay|ok|h?mm+|uh+|um+|oh|ah|sure|actually|therefore|thus|hence|overall|finally|again"
    r"|in\s(?:short|summary|conclusion)|to\sconclude)\b[\s,.:!]{1,3}){0,2}"
    r"(?:(?:assistant|model|ai|a|\(?[A-E]\)|[A-E]\.|audio\s\d)\s?:?\s)?"
    rf"(?:(?:the\s|my\s)?(?:correct\s)?{_ANSWER})?[\"'“‘(\[]{{0,2}}"
)
_OPENING = re.compile(rf"{_LEAD}(?:(?P<yes>{_YES})|(?P<no>{_NO}))(?:{_END}|{_CLAUSE})", re.I)
_STATED = re.compile(rf"(?:\b{_ANSWER}|\\boxed\s?\{{(?:\\text\s?\{{)?)(yes|no)(?:{_END}|{_CLAUSE})", re.I)
_TOLD = re.compile(
    r"""["'”’]?(?:\s(?:sound|present|detected|audible|heard))?\s?[:=|–—-]\s?["'“‘]?(?:(?P<yes>yes|true|present|detected|audible|heard)
        |(?P<no>no|false|none|absent|not\s(?:present|detected|audible|heard)))(?=\s?["'”’]?\s?(?:[,;.)|}\]\n]|\Z))
      |(?:\s(?:sound\s)?(?:is|are|was|were)\s(?:missing|lacking)|\snot\s(?:present|detected|audible|heard))\b""",
    re.I | re.X,
)
"""What an answer in fields says behind the sound: "siren: yes"."""
_FAILS = re.compile(r"\b(?:fail(?:s|ed)?|unable)\sto\s\w{1,12}\b[^,;:]*\Z", re.I)

_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]", re.I)
_REASONING = re.compile(r"<(?:think|reasoning)>(?!.*</(?:think|reasoning)>)", re.I | re.S)
_ASKED = re.compile(
    r"(?:\A|(?<=[.?!:\n])\s?)(?:please\s)?(?:answer|respond|reply)\s(?:only\s|just\s|with\s){0,2}"
    r"[\"']?yes[\"']?(?:\sor\s|\s?/\s?)[\"']?no[\"']?(?:\sonly)?(?:[.:\n]|\Z)",
    re.I,
)
"""What a repeated question ends with, which is not an answer of both."""
_SPEECH = re.compile(
    r"""\b(?:say(?:s|ing)?|said|shout(?:s|ed|ing)?|ask(?:s|ed|ing)?|announc(?:es|ed|ing)|repeat(?:s|ed|ing)?|sing(?:s|ing)?)
        [\s,:]{1,3}(?:"[^"\n]{0,300}"|“[^”\n]{0,300}”)""",
    re.I | re.X,
)
_CONTRACTED = re.compile(r"\b((?:do|does|did|is|was|are|were|could|would|have|has|had)n|can|won)t\b|\b(there)s\b", re.I)
_AGAIN = re.compile(r"\b(yes|no)(?:\s\1\b)+", re.I)
_BOTH = re.compile(r"\b(?:yes\s?(?:,|/|and|or|but)?\s?(?:and\s)?no|no\s?(?:,|/|and|or)?\s?(?:and\s)?yes)\b", re.I)

_DOUBT = re.compile(
    r"""\b(?:maybe|(?:perhaps|possibly)(?!\s(?:from|coming|belonging|due)\b)|possible|might|could(?!\s(?:clearly\s|also\s)?hear)|may|unsure|uncertain|unclear
          |not\s(?:\w{1,12}\s)?(?:sure|certain|clear)|hard\sto|difficult\sto|guess|either|depends|whether)\b
      |不确定|不確定|不知道|不清楚|可能|也许|也許|或许|或許|たぶん|かもしれ|わから|分から|아마|모르""",
    re.I | re.X,
)
_LEANING = re.compile(
    r"""\b(?:if|would|should|probably|likely|seems?|suppose|assum\w{1,4}|imagine|such\sas|e\.g|asked?|question|wouldn['’]t
      |thought|expect(?:ed|ing)?|hoped|or\snot|similar\sto|resembl\w{1,4}|other\s(?:\w{1,12}\s)?than|except|besides
      |apart\sfrom|no\s(?:lack|more|longer|mistak\w{1,4})|can(?:not|\snot|['’]t)\s(?:miss|deny|mistake|confirm|verify|rule\sout)
      |(?<!something\s)(?<!sound\s)(?<!noise\s)that\ssounds?\slike|but\s(?:it|this|that)(?:['’]s|\sis|\swas)\s(?:actually|an?)
      |not\s(?:only|just|merely|true|that|the\sonly)|(?:is|was)\snot\sno|n['’]t\sno)\b|[❌✗✘✖]""",
    re.I | re.X,
)
"""In what says such, a sound that is named is said neither to be there nor not."""
_THERE_IS = re.compile(
    r"""\b(?:there(?:['’]s|\s(?:is|are|was|were))|hear|heard|detect(?:ed)?|perceive|notice|contains?|includes?|has|have
          |features?|it['’]?s|it\s(?:is|was)|this\s(?:is|was)|that(?:['’]s|\s(?:is|was))|sounds\slike)\b""",
    re.I | re.X,
)
_IS_THERE = re.compile(
    r"\b(?:present|audible|heard|detected|noticeable|in\s(?:the|this)\s(?:\w{1,12}\s)?"
    r"(?:audio|background|clip|recording|distance))\b",
    re.I,
)
"""What is said before and behind a sound that is named, where the sentence says that it is there."""


def read(text: str, label: str, finish: Finish = "stop") -> Answer:
    """What it says about ``label``: "yes" or "no"; else why not: "empty", "refused", "truncated" or "unparsed"."""
    if tidy_caseless(text) == SOMETHING_ELSE:
        return Answer("parsed", "no")
    body = _answer_text(text)
    if not re.search(r"\w", body):
        unspoken = re.search(r"\w", TAG.sub("", text)) is not None
        return Answer("empty" if not unspoken else "truncated" if finish == "length" else "unparsed")
    if finish == "refusal" or UNSURE.search(body):
        return Answer("refused")
    plural = f"{label}es" if label.endswith(("s", "x", "ch", "sh")) else f"{label}s"
    answers = _stated_answers(body, labels_of((label,), ((plural, label),)), cut=finish == "length")
    if len(answers) == 1:
        return Answer("parsed", answers.pop())
    if answers:
        return Answer("unparsed")
    return Answer("truncated") if finish == "length" else Answer("refused" if refuses(body) else "unparsed")


def _answer_text(text: str) -> str:
    """``text`` without reasoning, tags, tokens of a template, and the repeated question's "answer yes or no"."""
    head = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    body = in_element(behind_reasoning(_SPECIAL.sub("\n", searchable_text(head))))
    body = _REASONING.split(body)[0]  # what is not closed never came to an answer
    written = _CONTRACTED.sub(lambda match: f"{match[1]}'t" if match[1] else f"{match[2]}'s", TAG.sub("\n", body))
    body = _SPEECH.sub(" ", written)
    return _AGAIN.sub(r"\1", _ASKED.sub("\n", body)).strip()


def _stated_answers(body: str, labels: Labels, cut: bool) -> set[str]:
    """Yes, no, both where the text contradicts itself or is in doubt, or nothing."""
    sentences = [sentence[0].strip() for sentence in _SENTENCE.finditer(body) if re.search(r"\w", sentence[0])]
    if _BOTH.search(body):
        return {"yes", "no"}
    last = sentences[-1]
    if cut and last[-1] not in _ENDS:
        sentences[-1] = last.rpartition(",")[0]  # what is behind could have denied it
    openings = [opening for sentence in (sentences[0] or last, sentences[-1]) if (opening := _opening(sentence))]
    answers = set(openings) | {sentence.lower() for sentence in _STATED.findall(body)}
    if any(_DOUBT.search(sentence) for sentence in sentences if not sentence.endswith(("?", "？"))):
        return {"yes", "no"}
    for sentence in sentences:
        if not sentence.endswith(("?", "？")) and not _LEANING.search(sentence):
            answers |= _of_label(sentence, labels)
    return answers


def _opening(sentence: str) -> str | None:
    if (alone := tidy_caseless(sentence)) in _ALONE:
        return _ALONE[alone]
    if _NOT.match(sentence):
        return "no"
    match = _OPENING.match(sentence)
    return None if match is None or sentence.endswith(("?", "？")) else "yes" if match["yes"] else "no"


def _of_label(sentence: str, labels: Labels) -> set[str]:
    answers = set()
    for mention in labels.mentions(sentence):
        if statement := _TOLD.match(sentence, mention.end):
            answers.add("yes" if statement["yes"] else "no")
        elif mention.denied or _FAILS.search(sentence[max(0, mention.start - _REACH) : mention.start]):
            answers.add("no")
        elif (
            _THERE_IS.search(sentence[: mention.start])
            or _IS_THERE.search(sentence[mention.end :])
            or labels.label_of(sentence)
        ):
            answers.add("yes")
    return answers
