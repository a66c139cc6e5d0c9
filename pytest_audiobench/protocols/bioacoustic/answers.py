"""What an answer to a bioacoustic question says: one label, several, or none. Ours, strict.

The labels are the task's. Text behind ``<|end_of_text|>`` and stretches of time before a label ("#0.00s - 10.00s#:")
do not count. A refusal that states nothing else names no label. Only the first and last 12,000 characters of a text
are looked at, with patterns that are linear or bounded.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pytest_audiobench.datasets.sample import LETTERS, tidy
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.bioacoustic import naming
from pytest_audiobench.protocols.bioacoustic.extraction import END_TOKEN, TIMES
from pytest_audiobench.protocols.bioacoustic.naming import Names, Synonyms, names_of
from pytest_audiobench.protocols.classification.asserted_label import behind_reasoning, in_element
from pytest_audiobench.protocols.classification.mentions import denied
from pytest_audiobench.protocols.multiple_choice import letters
from pytest_audiobench.protocols.protocol import Answer

_EACH_END = 12_000
_STATEMENT = re.compile(
    r"\b(?:answer|label|species|prediction|classification|conclusion|class|category)\s{1,3}(?:is|would\sbe)\b[:\s]{0,3}"
    r"|\b(?:answer|label|species|prediction|classification|conclusion|class|category)\s{0,3}[:=]\s{0,3}",
    re.I,
)
_LETTER_IS_RIGHT = re.compile(r"\b(?:option\s|choice\s)?\(?([A-Z])\)?\sis\s(?:the\s)?(?:right|correct|best)\b")
_LETTER_FITS = re.compile(
    r"(?<!not\s)(?<!n['’]t\s)\b(?:match(?:es|ing)?|aligns?|corresponds?|fits)\b[^.\n]{0,40}?"
    r"\b(?:description|option|choice)\s(?:in\s(?:option|choice)\s|is\s)?\(?([A-Z])\b",
    re.I,
)
_YES_OR_NO = re.compile(r"\W*(yes|no)\s?[,.;:!]", re.I)
_SOUND_LETTER = re.compile(r"(?<![\w'’-])([A-Z])(?![\w'’-])(?!(?<=A)\s[a-z](?!nd\b|re\b|s\b|r\b))")
"""A capital letter that stands alone; an A is an article where a small word follows."""
_SEPARATOR = re.compile(r"[,;|•\n]|\band\b", re.I)
_AROUND = " \"'“”‘’().<>*"
_NOTHING = re.compile(
    r"""(?:(?:the\s)?(?:answer|labels?|output)\s?(?:[:=]|is|are)\s?)?
    (?:(?:i|we)\s(?:can\s)?(?:hear|heard|detect|detected|find|found)\s|there\s(?:is|are|was|were)\s)?
    (?:none|nothing|no(?!\W+(?:idea|clue|answer|response|comment|way)\b)|not\s(?:any|applicable))\b
    | \[\]\W*\Z | (?:n/a|empty|null)\W*\Z""",
    re.I | re.X,
)

_HEARS_NONE = re.compile(
    r"""(?:i|we)\s(?:do\snot|don['’]t|did\snot|didn['’]t)\s(?:hear|detect)\s
    (?:anything|any(?!\s(?:\w{1,12}\s)?(?:audio|recording|clip|file|sound)\b))\b""",
    re.I | re.X,
)


def hears_none(body: str) -> bool:
    """Whether ``body`` begins with saying that nothing of what was asked for can be heard, which is not a refusal."""
    return _HEARS_NONE.match(body.lstrip(_AROUND)) is not None


def spoken(text: str) -> str:
    """The lines of ``text`` that count, tidied: those behind what was thought aloud, and of an ``<answer>``."""
    cut = text.partition(END_TOKEN)[0]
    if len(cut) > 2 * _EACH_END:
        cut = f"{cut[:_EACH_END]}\n{cut[-_EACH_END:]}"
    answer = in_element(behind_reasoning(cut))
    lines = (tidy(TIMES.sub("", line)) for line in unicodedata.normalize("NFKC", answer).splitlines())
    return "\n".join(line for line in lines if line)


def one_label(text: str, labels: tuple[str, ...], finish: Finish = "stop", synonyms: Synonyms = ()) -> Answer:
    """The one label that ``text`` gives: a letter or a bucket of Hz where all labels are, else a label's name.

    A name counts, in this order, as the whole text, in the last statement ("the species is …"), of yes and no as what
    the text begins with ("No, I hear no frog"), as the whole of the first or last line, or as the only one that is
    mentioned and not denied. Two labels are unparsed. Of an answer
    that the limit of tokens cut only a statement counts that something follows, or a whole label that no other begins
    with. Statuses: parsed, empty, refused, truncated, out_of_range (a letter beyond the labels), unparsed.
    """
    body = spoken(text)
    if not re.search(r"\w", body):
        return Answer("empty")
    if all(len(label) == 1 and label.upper() in LETTERS for label in labels):
        return _letter(body, labels, finish)
    if buckets := naming.buckets_of(labels):
        label = naming.bucket_in(body, buckets)
        return Answer("truncated") if finish == "length" else _label_answer(label, body, finish)
    return _mentioned_label(body, names_of(labels, synonyms), finish)


def several_labels(text: str, labels: tuple[str, ...], finish: Finish = "stop", synonyms: Synonyms = ()) -> Answer:
    """All labels that ``text`` gives, as a JSON list in the order of ``labels``; an empty one where it says that
    there is none.

    A label counts where it is mentioned and not denied, and where it is, with a slip of spelling, all between two
    commas. Text with no label and no word for none is unparsed, a list that the limit of tokens cut is "truncated"
    with the labels before its last word.
    """
    body = spoken(text)
    if not re.search(r"\w", body):
        return Answer("parsed", "[]") if body.strip() == "[]" else Answer("empty")
    body = body.replace("}", ",")  # the last label of an object may be denied too: {"crow": false}
    cuts = [(0, 0), *(separator.span() for separator in _SEPARATOR.finditer(body)), (len(body), len(body))]
    names, fragments = names_of(labels, synonyms), [(end, start) for (_, end), (start, _) in pairwise(cuts)]
    mentions = [mention for mention in names.mentions(body) if finish != "length" or mention.end < len(body)]
    asserted_set = {mention.label for mention in mentions if not mention.denied}
    if all(len(label) == 1 and label in LETTERS for label in labels):
        asserted_set |= {match[1] for match in _SOUND_LETTER.finditer(body) if not denied(body, *match.span())}
        asserted_set &= set(labels)
    spans = iter([*((mention.start, mention.end) for mention in mentions), (len(body) + 1, len(body) + 1)])
    start, end = next(spans)
    for begins, ends in fragments:
        while end <= begins:
            start, end = next(spans)
        if start >= ends and (finish != "length" or ends < len(body)) and (label := names.whole(body[begins:ends])):
            asserted_set.add(label)
    if finish == "refusal" or (refuses(body) and (asserted_set or not hears_none(body))):
        return Answer("refused")
    if finish == "length":
        return Answer("truncated", json_list(label for label in labels if label in asserted_set))
    if (
        asserted_set
        or hears_none(body)
        or any(_NOTHING.match(body[begins:ends].strip(_AROUND)) for begins, ends in fragments)
    ):
        return Answer("parsed", json_list(label for label in labels if label in asserted_set))
    return Answer("unparsed")


def json_list(labels: Iterable[str]) -> str:
    return json.dumps(list(labels), ensure_ascii=False)


def _letter(body: str, labels: Sequence[str], finish: Finish) -> Answer:
    """The letter of the last statement, else what the strict scorer of choices finds."""
    offered = {label.upper(): label for label in labels}
    # A letter as an option's text would make an answer A of "(B) a cat".
    choices = tuple(f"choice {letter} of the task" for letter in LETTERS[: LETTERS.index(max(offered)) + 1])
    stated = [(match.end(), "") for match in _STATEMENT.finditer(body)]
    stated += [
        (match.end(), match[1].upper()) for rule in (_LETTER_IS_RIGHT, _LETTER_FITS) for match in rule.finditer(body)
    ]
    end, letter = max(stated, default=(0, ""))
    answer = letters.read_choice(letter or body[end:], choices, finish)
    if answer.value is None and end:
        answer = letters.read_choice(body, choices, finish)
    if answer.value is None:
        return answer
    return Answer("parsed", offered[answer.value]) if answer.value in offered else Answer("out_of_range")


def _mentioned_label(body: str, names: Names, finish: Finish) -> Answer:
    lines = body.split("\n")
    if label := names.whole(body):
        return Answer("truncated") if finish == "length" and names.continues(body) else Answer("parsed", label)
    if label := _stated_label(body, names, finish):
        return Answer("parsed", label)
    if finish != "refusal" and (label := _yes_or_no(body, names)):
        return Answer("parsed", label)
    if finish == "length":
        return Answer("truncated")
    alone = {label for line in {lines[0], lines[-1]} - {body} if (label := names.whole(line))}
    if not alone and finish != "refusal" and not refuses(body):
        alone = {mention.label for mention in names.mentions(body) if not mention.denied}
    return _label_answer(alone.pop() if len(alone) == 1 else None, body, finish)


def _yes_or_no(body: str, names: Names) -> str | None:
    """The label that the text begins with, of yes and no, unless the other stands between two signs behind it."""
    said = _YES_OR_NO.match(body)
    if said is None or not names.are({"yes", "no"}):
        return None
    other = "no" if said[1].lower() == "yes" else "yes"
    undone = re.search(rf"(?:\A|[,.;:!?\n])\s?{other}\s?(?:[,.;:!?\n]|\Z)", body[said.end() - 1 :], re.I)
    return None if undone else names.whole(said[1])


def _stated_label(body: str, names: Names, finish: Finish) -> str | None:
    for statement in reversed(list(_STATEMENT.finditer(body))[-20:]):
        mentions = names.mentions(body[statement.end() :].split("\n", 1)[0][:1_000])
        labels = {mention.label for mention in mentions if not mention.denied}
        if len(labels) == 1 and (finish != "length" or statement.end() + mentions[-1].end < len(body)):
            return labels.pop()
        if labels:
            return None
    return None


def _label_answer(label: str | None, body: str, finish: Finish) -> Answer:
    if label is not None:
        return Answer("parsed", label)
    return Answer("refused" if finish == "refusal" or refuses(body) else "unparsed")
