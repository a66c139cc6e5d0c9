"""The texts with ``{columns}`` in a declaration, and the transforms that they may name: ``{file|stem}``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple, TypeAlias

from pytest_audiobench.io.mistakes import nearest

Transform: TypeAlias = Callable[[str, Sequence[str]], str | tuple[str, ...] | None]
"""Of a column's text and the sample's choices. Raises ValueError, as a predicate, for a text that it cannot read."""

_LETTER = re.compile(r"\A\s*\([A-Za-z]\)\s*")
_OPTIONS = {"a": re.compile(r"\s*\(([a-z])\)\s*"), "A": re.compile(r"\s*\(([A-Z])\)\s*")}
_HOLE = re.compile(r"\{([^{}|?]+)(\?)?((?:\|\w+)*)\}")
_GARBAGE = re.compile(r"<(?:SIL|MUSIC|NOISE|OTHER)>")
_PUNCTUATION = re.compile(r"<(?:COMMA|EXCLAMATIONPOINT|PERIOD|QUESTIONMARK)>")
_PARAMETER = re.compile(r"\{(\w+)((?:\|\w+)*)\}")


def split_options(instruction: str) -> tuple[str, tuple[str, ...]]:
    """A question and its options, from an instruction such as ``Which animal? (a) dog (b) hen``.

    The options are those from the last "(a)" on, or from the last "(A)" where there is none. Raises ValueError when
    they are not lettered a, b, c, … or A, B, C, … in order.
    """
    first = "A" if "(a)" not in instruction else "a"
    start = instruction.rfind(f"({first})")
    if start < 0:
        raise ValueError("it has no option (a)")
    parts = _OPTIONS[first].split(instruction[start:].strip())
    letters, options = parts[1::2], tuple(parts[2::2])
    if letters != [chr(ord(first) + i) for i in range(len(letters))] or not all(options):
        raise ValueError(f"its options are lettered {', '.join(letters)}")
    return instruction[:start].strip(), options


def _option_text(answer: str, choices: Sequence[str]) -> str:
    lettered = {f"({chr(ord('a') + i)}) {choice}": choice for i, choice in enumerate(choices)}
    if answer not in lettered:
        raise ValueError("it is not one of its options")
    return lettered[answer]


def _faithfulness_letter(answer: str, choices: Sequence[str]) -> str | None:
    lettered = zip(ascii_uppercase, choices, strict=False)
    return next((letter for letter, choice in lettered if answer.lower() in choice.lower()), None)


TRANSFORMS: Mapping[str, Transform] = {
    "basename": lambda text, _: text.rpartition("/")[2],
    "before_options": lambda text, _: split_options(text)[0],
    "capitalize": lambda text, _: text.capitalize(),
    # The letter that the faithfulness study (Mousavi et al., arXiv 2509.22363) took for true: the first option that
    # contains the answer, whatever its case. It is wrong where "Affected" lies in "Not affected".
    "faithfulness_letter": _faithfulness_letter,
    # As GigaSpeech's gigaspeech_data_prep.sh for Kaldi: punctuation tags are deleted; a segment with a garbage tag
    # is left out.
    "gigaspeech_text": lambda text, _: None if _GARBAGE.search(text) else " ".join(_PUNCTUATION.sub(" ", text).split()),
    "json": lambda text, _: json.dumps(text, ensure_ascii=False),
    "option_text": _option_text,
    "options": lambda text, _: split_options(text)[1],
    "spaced": lambda text, _: text.replace("_", " "),
    "stem": lambda text, _: text.rpartition(".")[0] or text,
    "unlettered": lambda text, _: _LETTER.sub("", text),
    "upper": lambda text, _: text.upper(),
}
"""The only ways from a declaration into Python. At most twelve: what needs more is a data set in code."""


def vocabulary(words: Mapping[str, str | Sequence[str]]) -> Transform:
    """What makes of a code its word, or its words. A code that has none is a ValueError."""

    def word(code: str, _: Sequence[str]) -> str | tuple[str, ...]:
        if code not in words:
            raise ValueError(f"the vocabulary lacks it; {nearest(code, words)}")
        return value if isinstance(value := words[code], str) else tuple(value)

    return word


class Hole(NamedTuple):
    """A place in a template that a column of the row fills."""

    column: str
    optional: bool
    """Written ``{column?}``: null where the row has none."""
    transform: str
    """As it is written: ``stem``, or several, ``basename|stem``; "" for none."""
    steps: tuple[Transform, ...]

    def apply(self, text: str, choices: Sequence[str]) -> str | tuple[str, ...] | None:
        """``text`` after each step in turn; a list is that of each of its texts. Raises ValueError as they do."""
        value: str | tuple[str, ...] | None = text
        for step in self.steps:
            if isinstance(value, tuple):
                each = [step(part, choices) for part in value]
                if not all(isinstance(part, str) for part in each):
                    raise ValueError("of a text in a list no text is made")
                value = tuple(map(str, each))
            elif value is not None:
                value = step(value, choices)
        return value


class Template(NamedTuple):
    """A text with holes. One that is nothing but a hole stands for the column's value, which need not be a text."""

    literals: tuple[str, ...]
    """Those before, between and after the holes."""
    holes: tuple[Hole, ...]

    @property
    def is_hole(self) -> bool:
        return self.literals == ("", "")


def template(text: str, transforms: Mapping[str, Transform] = TRANSFORMS) -> Template:
    """The template that ``text`` is, without parameters. Raises ValueError, as a predicate, for what is none."""
    parts = _HOLE.split(text)
    literals = tuple(parts[::4])
    if any("{" in literal or "}" in literal for literal in literals):
        raise ValueError("has a brace that is no {column}, {column?} or {column|transform}")
    holes = []
    for column, mark, written in zip(parts[1::4], parts[2::4], parts[3::4], strict=True):
        names = written.split("|")[1:]
        for name in names:
            if name not in transforms:
                raise ValueError(f"names the transform {name!r}; {nearest(name, transforms)}")
        if mark and len(text) > len(f"{{{column}?{written}}}"):
            raise ValueError(f"has {{{column}?}} within a text; a column that may be absent stands alone")
        holes.append(Hole(column, bool(mark), written[1:], tuple(transforms[name] for name in names)))
    return Template(literals, tuple(holes))


def filled(text: str, parameters: Mapping[str, str], transforms: Mapping[str, Transform] = TRANSFORMS) -> str:
    """``text`` with its parameters in place, through the transforms that they name: ``data/{track|capitalize}``."""
    return _PARAMETER.sub(lambda match: str(_value(match, parameters, transforms)), text)


def filled_list(text: str, parameters: Mapping[str, str], transforms: Mapping[str, Transform]) -> Sequence[str]:
    """``text`` with its parameters in place; the texts of a list where it is a parameter whose word is one."""
    value = _value(whole, parameters, transforms) if (whole := _PARAMETER.fullmatch(text)) else None
    return value if isinstance(value, tuple) else (filled(text, parameters, transforms),)


def _value(
    match: re.Match[str], parameters: Mapping[str, str], transforms: Mapping[str, Transform]
) -> str | tuple[str, ...] | None:
    names = match[2].split("|")[1:]
    if match[1] not in parameters or not all(name in transforms for name in names):
        return match[0]
    hole = Hole(match[1], False, match[2], tuple(transforms[name] for name in names))
    return hole.apply(parameters[match[1]], ())
