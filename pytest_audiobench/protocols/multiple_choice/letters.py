"""Our strict scorer of a multiple-choice answer: only what the text asserts, never a letter beyond the options.

What counts as an assertion, in this order:

1. the content of the last ``<Conclusion>`` or ``<answer>`` element, read by the rules below;
2. the last explicit statement: "the answer is …", "Answer: …", "I choose …", "(B) is correct",
   or a text that ends in "… is (B)" with at most that option's own words after it;
3. a line that is an answer and nothing else, or a first or last line that opens with one ("B. It meows").

An answer is a letter ("B", "(b)", "B.", "[B]"), an option's own text with case, punctuation and space ignored,
or both when they agree. A bare A or I that continues as prose is an article or a pronoun. Two different options
asserted, or a letter with another option's text, are unparsed. An answer that the limit of tokens cut
(``finish == "length"``) must be complete: one that another word piece could still change is truncated.

Only the first 4,000 and the last 8,000 characters of a text are looked at, and every pattern is linear or
bounded, so an answer of megabytes, hostile or not, costs a fraction of a second.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from pytest_audiobench.datasets.sample import LETTERS, tidy
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.answer_options import Options, options_of
from pytest_audiobench.protocols.protocol import Answer

_HEAD, _TAIL = 4_000, 8_000
_CONFLICT = "two options"

_WORD_CHARACTER = re.compile(r"\w")
_CONCLUSION = re.compile(r"<(?:conclu\w{0,10}|final\w{0,10}|answer)[^<>]{0,20}>(.{0,500}?)(?:</|\Z)", re.I | re.S)
_EMPTY_ELEMENT = re.compile(r"<([A-Z])>\s{0,9}</\1>")
_TAG = re.compile(r"</?([A-Za-z][^<>]{0,60})/?>")
_TEX_BOX = re.compile(r"\\boxed\{\s*(?:\\text\{)?\(?([A-Za-z])\)?\}?\s*\}")

_LETTER = re.compile(
    r"""[\s"'“‘]* (?:
        [(\[{<] \s{0,3} (?P<boxed>[A-Za-z]) \s{0,3} [)\]}>]
      | (?P<pointed>[A-Za-z]) \s? (?: [):] | [.](?=[\s"'”’)]|\Z) )
      | (?P<bare>[A-Za-z]) (?![\w'’])
    )""",
    re.X,
)
_ENDS = re.compile(r"""[\s"'”’)\]}]*(?:[.,;:!?。\n]|\Z)""")
_GOES_ON = re.compile(r"\s*(?:[-–—]\s|(?:because|since|as|based|due|given|and|or)\b)", re.I)
_ALSO = re.compile(
    r"\s*(?:,?\s{0,3}\b(?:or|and)\b|[,/&+])\s{0,3}(?:(?:maybe|perhaps|possibly|also|option|choice)\s{1,3}){0,2}", re.I
)
_OTHER_LETTER = re.compile(r"\(?([A-Za-z])\)?(?=\s*(?:[.,;:!?)\]/]|\Z|or\b|and\b))")
_BOXED = re.compile(r"\(\s?([A-Za-z])\s?\)")
_LISTED = re.compile(r"\(?([A-Z])(?:[.)]|\b(?!\)))(?: (.+))?", re.S)
_CLAUSE = re.compile(r"[^.!?;\n]{0,200}")

_NOUN = r"(?:answer|choice|option|conclusion|letter|selection|prediction)"
_HEDGE = r"(?:(?:most\slikely|likely|probably|clearly|definitely|therefore|thus|option|choice|letter)\s{1,3}){0,3}"
_STATEMENT = re.compile(
    # Every alternative begins with one of these: looking for that first halves the time.
    rf"""(?=[acgilops答选])(?: \b{_NOUN}["']?\s{{0,3}}(?:(?:to\sthe\squestion|here)\s)?
          (?:\b(?:is|was|(?:would|should|must|will)\sbe|seems\sto\sbe|appears\sto\sbe)\b|[:=])
      | \b(?:choose|select|pick|opt\sfor|go\swith|going\swith)\b | \bi(?:'d|\swould)\ssay\b
      | 答案\s?[是为:]? | 选项?
    ) [\s:]{{0,4}} {_HEDGE}""",
    re.I | re.X,
)
_STATEMENT_OPENS = (
    *("answer", "choice", "option", "conclusion", "letter", "prediction", "choose", "select", "pick"),
    *("opt for", "go with", "going with", "i'd say", "i would say"),
)
"""Every statement in ASCII begins with one of these; finding them takes a tenth of the time of the pattern."""
_WORD_BEFORE = re.compile(r"[a-z']{1,15}(?=\s{1,3}\Z)", re.I)
_NOT_THIS = {"not", "never", "wrong", "incorrect", "other", "another", "first", "second", "third", "each", "one"}
_LEAD = re.compile(
    rf"""\s*(?:(?:so|thus|therefore|hence)\b,?\s{{1,3}})?(?:i\s(?:think|believe|guess)\s(?:that\s)?)?
    (?:it(?:'s|\sis)\s|that(?:'s|\sis)\s|(?:the|my|final|correct|best|right)\s)?(?:{_NOUN}\s{{1,3}})?{_HEDGE}""",
    re.I | re.X,
)
_CAPITAL = re.compile(r"[A-Z]\)?\s")
_IS_RIGHT = re.compile(
    r"""["'”’]?\s+(?:(?:is|seems|appears)\s(?:to\sbe\s)?(?:therefore\s|thus\s|clearly\s)?(?:the\s)?|the\s)
    (?:correct|right|best|closest|most\s(?:likely|plausible|appropriate|suitable|accurate|fitting|probable))\b""",
    re.I | re.X,
)
_RIGHT_WORDS = ("correct", "right", "best", "closest", "most")
_BEFORE_RIGHT = ("the ", "is ", "seems ", "appears ", "be ", "therefore ", "thus ", "clearly ")
_POINTS = re.compile(r"(?:\b(?:is|as|be|with|to)(?:\s(?:option|choice))?|[:=→])[\s\"'“]*\Z", re.I)
_LETTER_IS_RIGHT = re.compile(
    r"(?:\b(?:option|choice|answer)\s+|(?:^|(?<=[.!?]))\s*)\(?([A-Z])\)?(?=\s)|\(([A-Za-z])\)", re.M
)


class _Claim(NamedTuple):
    """What a passage asserts: an option's letter or ``_CONFLICT``, and whether nothing else stands there."""

    letter: str
    whole: bool


def read_choice(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The option that ``text`` asserts among ``choices`` (at most 26), as its letter.

    The status of an answer without one: "empty", "out_of_range" (a letter beyond the options), "truncated"
    (the limit of tokens came first), "refused" (it declines, or the server says that it did), or "unparsed".
    """
    if verbatim := _verbatim(text, choices):
        return verbatim
    body = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    if not _WORD_CHARACTER.search(body) and not tidy(body):
        return Answer("empty")
    options = options_of(choices)
    letter = _asserted_letter(body, options)
    if finish == "length" and letter is not None and not _complete(body, letter, options):
        return Answer("truncated")
    if letter is not None and letter in options.letters:
        return Answer("parsed", letter)
    if letter is not None:
        return Answer("unparsed" if letter == _CONFLICT else "out_of_range")
    if finish == "length":
        return Answer("truncated")
    return Answer("refused" if finish == "refusal" or refuses(body) else "unparsed")


def _verbatim(text: str, choices: tuple[str, ...]) -> Answer | None:
    """The commonest answers at a tenth of the cost: a lone letter, or an option just as the prompt lists it."""
    match = _LISTED.fullmatch(text.strip()) if len(text) < 1_000 else None
    if match is None:
        return None
    if (index := LETTERS.index(match[1])) >= len(choices):
        return None if match[2] else Answer("out_of_range")
    if match[2]:
        return Answer("parsed", match[1]) if match[2] == choices[index].strip() else None
    one_letter_choice = any(len(choice) < 4 and sum(map(str.isalnum, choice)) < 2 for choice in choices)
    return None if one_letter_choice else Answer("parsed", match[1])


def _complete(body: str, letter: str, options: Options) -> bool:
    """Whether the answer would stand had the last word gone on."""
    if _asserted_letter(f"{body}zz", options) == letter:
        return True
    line = tidy(body).strip("()[].: ")
    return len(line) == 1 or (options.letter_of(line) == letter and not options.continues(line))


def _asserted_letter(body: str, options: Options) -> str | None:
    conclusions = _CONCLUSION.findall(body) if "<" in body else ()
    if conclusions and conclusions[-1].strip():
        body = conclusions[-1]
    text = _plain_text(body, options)
    if not (lines := [line for line in (tidy(line) for line in text.split("\n")) if line]):
        return None
    last = max(_statements(" \n".join(lines), options), default=None, key=lambda statement: statement[0])
    stated = last[1] if last else None
    alone = _alone(lines, options)
    if stated is None:
        return alone
    return _CONFLICT if alone not in (None, stated, _CONFLICT) else stated


def _plain_text(body: str, options: Options) -> str:
    text = body if body.isascii() else unicodedata.normalize("NFKC", body)
    if "\\" in text:
        text = _TEX_BOX.sub(r"(\1)", text)
    if "<" not in text:
        return text
    text = _EMPTY_ELEMENT.sub(r"<\1>", text)

    def shown_as(tag: re.Match[str]) -> str:
        name = tag[1].strip()
        if len(name) == 1 and name.isupper() and f"</{name}>" not in text:
            return f"({name})"
        return name if len(name) > 1 and options.letter_of(name) else "\n" if name in ("br", "p") else " "

    return _TAG.sub(shown_as, text)


def _alone(lines: list[str], options: Options) -> str | None:
    """What lines say that are answers and nothing else, or else what the first or last line opens with."""
    edges = [_opening(line, options) for line in (lines[-1], lines[0])[: len(lines)]]
    inner = (_opening(line, options) for line in lines[1:-1] if len(line) <= options.longest + 40)
    whole = {claim.letter for claim in (*edges, *inner) if claim and claim.whole}
    if len(whole) > 1:
        return _CONFLICT
    letters = whole or {claim.letter for claim in edges if claim}
    return letters.pop() if len(letters) == 1 else _CONFLICT if letters else None


def _statements(text: str, options: Options) -> Iterator[tuple[int, str]]:
    for match in _openings(text):
        before = _WORD_BEFORE.search(text[max(0, match.start() - 18) : match.start()])
        if before is None or not (before[0].lower() in _NOT_THIS or before[0].endswith("n't")):
            passage = text[match.end() : match.end() + options.longest + 250].split("\n", 1)[0]
            if claim := _opening(passage, options, stated=True):
                yield match.start(), claim.letter
    for match in _LETTER_IS_RIGHT.finditer(text, 0, _last_called_right(text)):
        letter = (match[1] or match[2]).upper()
        named = options.at(text, match.end())
        if named and named.letter != letter and not options.same(named.letter, letter):
            continue
        if _IS_RIGHT.match(text, named.end if named else match.end()):
            yield match.start(), letter
    boxes = list(_BOXED.finditer(text)) if "(" in text else ()
    if boxes and _POINTS.search(text[max(0, boxes[-1].start() - 20) : boxes[-1].start()]):
        letter, rest = boxes[-1][1].upper(), text[boxes[-1].end() :].strip(" .!\"'”’")
        named_letter = options.letter_of(rest) if rest else letter
        if named_letter:
            yield boxes[-1].start(), letter if options.same(named_letter, letter) else _CONFLICT


def _openings(text: str) -> Iterator[re.Match[str]]:
    if not text.isascii():
        yield from _STATEMENT.finditer(text)
        return
    lowered, end = text.lower(), 0
    held = [word for word in _STATEMENT_OPENS if word in lowered]
    for start in sorted({start for word in held for start in _places(word, lowered)}):
        match = _STATEMENT.match(text, start) if start >= end else None
        if match:
            yield match
            end = match.end()


def _last_called_right(text: str) -> int:
    """The end of the part of ``text`` in which a letter might stand that is called right behind it."""
    if not text.isascii():
        return len(text)
    lowered = text.lower()
    places = [place for word in _RIGHT_WORDS if word in lowered for place in _places(word, lowered)]
    end = max((place for place in places if lowered.endswith(_BEFORE_RIGHT, 0, place)), default=0)
    return end if "(" in text[:end] or _CAPITAL.search(text, 0, end) else 0


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _opening(passage: str, options: Options, *, stated: bool = False) -> _Claim | None:
    """The answer that ``passage`` opens with; an option's words with prose after them count only when stated."""
    match = _LEAD.match(passage)
    body = passage[match.end() if match else 0 :]
    whole_text = options.letter_of(body)
    lettered = _LETTER.match(body)
    claim = _claim_by_letter(body, lettered, options) if lettered else None
    if claim and lettered and whole_text and not options.same(whole_text, claim.letter):
        # The text "A" where A is another option's text, too; "C major" is not an answer C.
        lone = not lettered["boxed"] and not body[lettered.end() :].strip(" .!")
        return _Claim(_CONFLICT if lone else whole_text, True)
    if claim:
        return claim
    if whole_text:
        return _Claim(whole_text, True)
    named = options.at(body, 0) if stated else None
    if named is None or not (_ENDS.match(body, named.end) or _GOES_ON.match(body, named.end)):
        return None
    return _Claim(_CONFLICT if _names_another(body, named.end, named.letter, options) else named.letter, False)


def _claim_by_letter(body: str, match: re.Match[str], options: Options) -> _Claim | None:
    letter, end = (match["boxed"] or match["pointed"] or match["bare"]).upper(), match.end()
    if not (rest := body[end:].strip(" \t-–—.,:!。\"'”’)}")):
        return _Claim(letter, True)
    if (named := options.letter_of(rest)) is not None:
        return _Claim(letter if options.same(named, letter) else _CONFLICT, True)
    if match["bare"] and not _stands(body, match, letter, options):
        return None
    return _Claim(_CONFLICT, False) if _names_another(body, end, letter, options) else _Claim(letter, False)


def _stands(body: str, match: re.Match[str], letter: str, options: Options) -> bool:
    """Whether a bare letter with words after it is a letter, and no article, pronoun or note's name."""
    if _ENDS.match(body, match.end()):
        return letter != "I" or "," not in body[match.end() : match.end() + 3]
    if not match["bare"].isupper() or letter == "I":
        return False
    named = options.at(body, match.end()) if letter != "A" else None
    return bool(_GOES_ON.match(body, match.end())) or bool(named and options.same(named.letter, letter))


def _names_another(body: str, end: int, letter: str, options: Options) -> bool:
    """Whether the clause continues to another option: its letter, or its words in place of this one's."""
    clause = _CLAUSE.match(body, end)
    others = {boxed.upper() for boxed in _BOXED.findall(clause[0] if clause else "")}
    if others - {letter}:
        return True
    if (named := options.at(body, end)) and not options.same(named.letter, letter):
        return True
    if not (also := _ALSO.match(body, named.end if named else end)):
        return False
    other = _OTHER_LETTER.match(body, also.end())
    if other and other[1].upper() in options.letters and other[1].upper() != letter:
        return True
    named = options.at(body, also.end())
    return named is not None and not options.same(named.letter, letter)
