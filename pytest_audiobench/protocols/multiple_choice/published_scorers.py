"""The published rules for choice questions: MMAU's and MMAR's, AudioBench's, AIR-Bench's and MMSU's, MuChoMusic's and
its successor's, VoiceBench's and its heirs'.

The whole rules, their sources and defects are in ``protocols/scorer_pages/multiple_choice.md``. MMAU's is a test of one
choice and no parse. It gives one all the same: two choices can pass for the same text only when their token sets are
equal, so the first choice that passes represents all that do, and the answer is right exactly when its tokens are those
of the true choice.
"""

from __future__ import annotations

import re
from functools import partial

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.protocol import Answer


def unanswered(text: str, finish: Finish) -> Answer:
    """The status of ``text`` where a rule that knows no refusals found nothing in it."""
    if not text.strip():
        return Answer("empty")
    return Answer("truncated" if finish == "length" else "refused" if finish == "refusal" else "unparsed")


_TOKEN = re.compile(r"\b\w+\b")
_LETTERED = re.compile(r"\([A-Z]\) ")


def tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def mmau_matches(text: str, choice: str, choices: tuple[str, ...]) -> bool:
    """MMAU's rule: whether ``text`` says ``choice`` and none of the other ``choices``."""
    answered, wanted = tokens(text), tokens(choice)
    if not answered:
        return False
    return wanted <= answered and answered.isdisjoint(frozenset[str]().union(*map(tokens, choices)) - wanted)


def read_mmau(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """MMAU's and MMAR's answer, the first choice that passes; else why there is none, "empty" without any token."""
    for letter, choice in zip(LETTERS, choices, strict=False):
        if mmau_matches(text, choice, choices):
            return Answer("parsed", letter)
    return unanswered(text, finish)


def without_letters(choices: tuple[str, ...]) -> tuple[str, ...]:
    """The choices less "(A) " and its like, where all begin with one: AudioBench cuts these four characters off."""
    return tuple(choice[4:] for choice in choices) if all(map(_LETTERED.match, choices)) else choices


def read_audiobench_mmau(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """AudioBench's scorer: as :func:`read_mmau`, among the choices without their letters; the text keeps its own."""
    return read_mmau(text, without_letters(choices), finish)


def has_same_tokens_lettered(letter: str, reference: str, choices: tuple[str, ...]) -> bool:
    """As :func:`has_same_tokens`, with choices and reference without their letters."""
    bare = without_letters(choices)
    return has_same_tokens(letter, reference if bare is choices else reference[4:], bare)


def has_same_tokens(letter: str, reference: str, choices: tuple[str, ...]) -> bool:
    """Whether the choice that was read is the reference, as the rule sees them: by their tokens."""
    return tokens(choices[LETTERS.index(letter)]) == tokens(reference)


_AIR_BENCH_LETTERS = "ABCD"


def read_air_bench(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """AIR-Bench's answer, by the first or the last but one character; "out_of_range" for a letter not offered."""
    line = text.strip().replace("\n", "")
    places = () if line == "None" else (line[:1], line[-2:-1])
    for character in places:
        if character and character in _AIR_BENCH_LETTERS:
            return Answer("parsed", character) if character in LETTERS[: len(choices)] else Answer("out_of_range")
    return unanswered(text, finish)


def read_mmsu(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """MMSU's answer: AIR-Bench's, but that "None" is an empty text, which MMSU counts."""
    answer = read_air_bench(text, choices, finish)
    return Answer("empty") if answer.status != "parsed" and text.strip().replace("\n", "") == "None" else answer


_MUCHOMUSIC_PROMPT_ENDS = "The correct answer is:"


def read_muchomusic(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """MuChoMusic's answer: the only capital A to D anywhere in the text, else the first choice whose words it holds."""
    body = text.split(_MUCHOMUSIC_PROMPT_ENDS)[-1].strip()
    if len(letters := set(_AIR_BENCH_LETTERS).intersection(body)) == 1:
        letter = letters.pop()
        return Answer("parsed", letter) if letter in LETTERS[: len(choices)] else Answer("out_of_range")
    return _first_choice_within(body.lower(), tuple(choice.lower().strip() for choice in choices), text, finish)


_DOUBLE_BRACKETS = re.compile(r"\[\[([A-E])\]\]")
_GUESS = re.compile(r"(?:answer is|chose|choose|select|guess is|I choose|I select|I guess) ([A-E])\b", re.I)
_FIVE_LETTERS = "ABCDE"


def read_rul_muchomusic(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """RUL-MuChoMusic's answer: the last [[B]], else the last "I choose B", else the first letter of any "(B)"."""
    stated = _DOUBLE_BRACKETS.findall(text) or [letter.upper() for letter in _GUESS.findall(text)]
    mentions = (letter for letter in _FIVE_LETTERS if any(form.format(letter) in text for form in _MENTIONS))
    if letter := stated[-1] if stated else next(mentions, ""):
        return Answer("parsed", letter) if letter in LETTERS[: len(choices)] else Answer("out_of_range")
    return _first_choice_within(text.lower(), tuple(choice.lower() for choice in choices), text, finish)


_MENTIONS = ("option {}", "Option {}", "({})")


def _first_choice_within(body: str, choices: tuple[str, ...], text: str, finish: Finish) -> Answer:
    letters = (letter for letter, choice in zip(LETTERS, choices, strict=False) if choice and choice in body)
    letter = next(letters, "")
    return Answer("parsed", letter) if letter else unanswered(text, finish)


# In order, between bars: @ is the letter, ⏎ a line break, and + marks what only VoiceBench has. Phrases that hold an
# earlier one can never be the first, and are left out, as are VoiceBench's last three cases ("would be a." and two
# more), whose letters phrases before them give.
_PHRASES = r"""
答案是@|答案是 @|答案是选项@|答案应该是@|答案应该是 @|答案就是选项@|答案是‘@|是@：|答案选@|@是正确|选项@是最合适的
+final answer: @|answer is: **@|answer is **@|the answer to the question is: **@
the answer to the multiple-choice question is **@|the answer is '@'|@ is the best answer|the answer is @
the correct answer is @|would select @|would choose @|would select option @|would choose option @|is "@"|is "@.
is: **@)|is **@,|is **@:|is **@)|is: **@.|is: **@:|is **@.|be **@,|is: **@**|is therefore option **@:|is: ⏎⏎**@)
as **@:|be **@)|be **@:|is: ⏎⏎**@**|suggests **@)|be option **@:|with **@)|is typically "@)|be to **@)|is: ⏎⏎@)
is likely to be: **@.|is **@ (|is option **@**|is likely **@**|is:⏎**@.|is:⏎⏎**@.|would be @|would be option @
would be (@)|would be option (@)|is @,|is typically @,|is typically @.|i'd say @.|option @.|option @:|option @,
the answer is:⏎**@|is @:|is @.|is: @.|is (@)|is:⏎**@)|is likely **@:|is the **@)|:⏎@.|:⏎@)|:⏎@,|: ⏎@.|:  ⏎@.|:⏎⏎@.
:⏎⏎@)|is most likely **@:|:⏎⏎@,|: ⏎⏎@.|(@) would be|is @)|is: @)|is:⏎⏎@:|is: **@,|(option @)|+answer: @
+answer is:⏎⏎@|+answer is:⏎@|select option "@"|is: @|is typically **@,|is **@**|is likely '@'|is option '@'|is:⏎**@:
is \( \boxed{@ |would be '@'|is the **@** |question is @ (|is:⏎⏎**@)|closest to option **@**|is most likely **@)
the answer to the question is '@'|known as '@'|is '@)|is typically **@:|is \( \boxed{\text{@}} \)|is \( \text{@) }
is \( \text{@} \)|is \( \text{@:|is \( \text{@)|is \(\text{@.|is:⏎⏎**@|is \( \text{@.}|is \( \text{@.|is \( \boxed{@}
is:⏎\[ \boxed{\text{@}}|is:⏎\[ \text{@)|is:⏎⏎\[ \text{@)|is \( \textbf{@)|is \( \text{@}|is: \( \text{@.
corresponds to:⏎- **@:|would be: **@**.|is \( @ \)|is:⏎**@ |corresponds to option **@**|be **@**|be: ⏎⏎@)
is:⏎\[ \boxed{@}|is:  ⏎**@:|is: \( \text{@)|is likely: **@,|is } \mathbf{@.|is \( \boxed{@)|is \( \textbf{@}
is \(@\)|is:⏎  ⏎**@:|is option **@ |is:⏎\( \textbf{@.|is \( \mathbf{@}|was option **@**|is likely "@)|option **@:
is "@)|is most likely **@,|is often **@:|is:  ⏎@)|+is:⏎@|+is:⏎**@| @.| @,| @:| @)|**@.|**@)|+**@:|"@.|"@,|"@:|(@)
"@"|+{@}|+⏎⏎**@|+would be:⏎⏎@
"""

_LETTERS = "abcd"
_POINTS = (".", ",", ":", ")")


def _phrase_pairs(of_voicebench: bool, quotation: str) -> tuple[tuple[str, str], ...]:
    """What stands before the letter and behind it, in order."""
    listed = _PHRASES.strip("\n").replace("\n", "|").replace("⏎", "\n").replace("‘", quotation).split("|")
    phrases = [phrase.removeprefix("+") for phrase in listed if of_voicebench or not phrase.startswith("+")]
    return tuple((before, behind) for before, _, behind in (phrase.partition("@") for phrase in phrases))


def _phrase_answer(
    phrases: tuple[tuple[str, str], ...], text: str, choices: tuple[str, ...], finish: Finish = "stop"
) -> Answer:
    if (letter := _phrase_letter(text.lower(), phrases)) is None:
        return unanswered(text, finish)
    return Answer("parsed", letter) if letter in LETTERS[: len(choices)] else Answer("out_of_range")


read_voicebench = partial(_phrase_answer, _phrase_pairs(of_voicebench=True, quotation="‘"))
read_kimi = partial(_phrase_answer, _phrase_pairs(of_voicebench=False, quotation="‘"))
read_ultraeval = partial(_phrase_answer, _phrase_pairs(of_voicebench=False, quotation="'"))


def _phrase_letter(text: str, phrases: tuple[tuple[str, str], ...]) -> str | None:
    body = text[3:].strip() if text.startswith(("<1>", "<2>", "<3>")) else text
    there: dict[str, bool] = {}
    for before, behind in phrases:
        # Many phrases begin alike: whether a text has such a beginning is looked up once.
        if before not in there:
            there[before] = before in body
        if not there[before]:
            continue
        for letter in _LETTERS:
            if f"{before}{letter}{behind}" in body:
                return letter.upper()
    alone = bool(body) and body[0] in _LETTERS and (len(body) == 1 or body[1] in _POINTS)
    return body[0].upper() if alone else None
