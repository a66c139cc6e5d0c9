"""Yes or no, as an answer in words says it, with a third value for all that says neither."""

from __future__ import annotations

import re

from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.classification.mentions import by_letter, shown
from pytest_audiobench.protocols.failures import refuses
from pytest_audiobench.protocols.protocol import Answer

_HEAD, _TAIL = 4_000, 8_000

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


def read(text: str, finish: Finish = "stop", choices: tuple[str, ...] = ()) -> Answer:
    """The answer's "yes" or "no"; else "empty", "refused", "truncated", "out_of_range" or "unparsed".

    A capital letter alone stands for one of ``choices``.
    """
    if choices and (choice := by_letter(text, choices)) is not None:
        return read(choice, finish) if choice else Answer("out_of_range")
    body = shown(text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}").removesuffix("</s>")
    lines = [line for line in body.split("\n") if re.search(r"\w", line)]
    if not lines:
        return Answer("empty")
    openings = [_OPENING.match(line) for line in (lines[0], lines[-1])]
    said = {"yes" if opening["yes"] else "no" for opening in openings if opening}
    said |= {statement.lower() for statement in _STATEMENT.findall(body)[-1:]}
    if finish == "refusal" or UNSURE.search(body) or (not said and refuses(body)):
        return Answer("refused")
    if len(said) == 1:
        return Answer("parsed", said.pop())
    return Answer("truncated" if finish == "length" and not said else "unparsed")
