"""VoiceBench's phrases around a letter, and the projects that took them over.

The first phrase of a list that the text holds with a, b, c or d in its place, in small letters, gives the option; the
earliest letter of the alphabet where one phrase is there with several. Without any the text is an option when it is a
lone letter, or begins with one before ``.``, ``,``, ``:`` or ``)``. A text that begins with <1>, <2> or <3> loses it.

- VoiceBench (MatthewCYM/VoiceBench, src/evaluator/mcq.py, as in the fork wtalioy/VoiceBench at 074f5ca);
- Kimi-Audio-Evalkit (MoonshotAI/Kimi-Audio-Evalkit, almeval/datasets/ds_mqa.py at f9c4777), without ten of them;
- UltraEval-Audio (OpenBMB/UltraEval-Audio, audio_evals/evaluator/mcq.py at dd55fce), as Kimi's but for a quotation
  mark.

Phrases that hold an earlier one can never be the first, and are left out here, as are VoiceBench's last three cases
("would be a." and two more), whose letters phrases before them give.
"""

from __future__ import annotations

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.multiple_choice.unanswered import unanswered
from pytest_audiobench.protocols.protocol import Answer

# In order, between bars: @ is the letter, ⏎ a line break, and + marks what only VoiceBench has.
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


def _pairs(own: bool, quotation: str) -> tuple[tuple[str, str], ...]:
    """What stands before the letter and behind it, in order."""
    listed = _PHRASES.strip("\n").replace("\n", "|").replace("⏎", "\n").replace("‘", quotation).split("|")
    kept = [phrase.removeprefix("+") for phrase in listed if own or not phrase.startswith("+")]
    return tuple((before, behind) for before, _, behind in (phrase.partition("@") for phrase in kept))


_VOICEBENCH = _pairs(own=True, quotation="‘")
_KIMI = _pairs(own=False, quotation="‘")
_ULTRAEVAL = _pairs(own=False, quotation="'")


def voicebench(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    return _answer(text, choices, finish, _VOICEBENCH)


def kimi(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    return _answer(text, choices, finish, _KIMI)


def ultraeval(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    return _answer(text, choices, finish, _ULTRAEVAL)


def _answer(text: str, choices: tuple[str, ...], finish: Finish, phrases: tuple[tuple[str, str], ...]) -> Answer:
    letter = _letter(text.lower(), phrases)
    if letter is None:
        return unanswered(text, finish)
    return Answer("parsed", letter) if letter in LETTERS[: len(choices)] else Answer("out_of_range")


def _letter(text: str, phrases: tuple[tuple[str, str], ...]) -> str | None:
    shown = text[3:].strip() if text.startswith(("<1>", "<2>", "<3>")) else text
    there: dict[str, bool] = {}
    for before, behind in phrases:
        # Many phrases begin alike: whether a text has such a beginning is looked up once.
        if before not in there:
            there[before] = before in shown
        if not there[before]:
            continue
        for letter in _LETTERS:
            if f"{before}{letter}{behind}" in shown:
                return letter.upper()
    alone = bool(shown) and shown[0] in _LETTERS and (len(shown) == 1 or shown[1] in _POINTS)
    return shown[0].upper() if alone else None
