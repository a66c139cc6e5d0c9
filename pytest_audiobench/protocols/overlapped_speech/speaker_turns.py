"""An answer cut into what each talker said."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LABEL = re.compile(
    r"""(?:^|(?<=[\s.!?。！？]))[*_\#>•-]{0,3}\s{0,3}
    ( (?:the\s)?(?:(?:first|second|third|fourth|fifth|other)\s(?:speaker|person|talker|voice|man|woman)
      | (?:speaker|person|talker|voice|spk)[\s_]{0,2}(?:\d{1,3}|[a-z](?![a-z]))
      | (?:man|woman|male|female)(?:\s?\d{1,3}|\s(?:speaker|voice))?) )
    [*_]{0,3} (?:\s(?:says?|said)\s{0,2}[:：,] | \s{0,2}[:：]) [*_]{0,3}""",
    re.I | re.X,
)
_LISTED = re.compile(r"\A\s{0,9}(?:[-*•]|\(?\d{1,3}[.)])\s{1,9}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？．])")
_MARKS = " \t\r\n\"'“”‘’*_"


def talkers_of(text: str) -> list[str]:
    """What each talker says in ``text``, by the first of these that it offers:

    1. labels ("Speaker 1: …", "Person A says, …", "Woman: …"): a talker for each, its texts joined in order; what
       stands before the first is one talker more, since nothing that was said is left out;
    2. lines: a talker for each line that holds a letter or digit, list marks ("1.", "-") left out;
    3. sentences: a talker for each, at ``.``, ``!``, ``?`` and their wide forms.
    """
    labels = list(_LABEL.finditer(text))
    if labels:
        said = {"": [text[: labels[0].start()]]}
        ends = [*(label.start() for label in labels[1:]), len(text)]
        for label, end in zip(labels, ends, strict=True):
            said.setdefault(" ".join(label[1].lower().split()), []).append(text[label.end() : end].strip(_MARKS))
        return _spoken(" ".join(pieces) for pieces in said.values())
    lines = _spoken(_LISTED.sub("", line, count=1) for line in text.splitlines())
    return lines if len(lines) > 1 else _spoken(_SENTENCE_END.split(lines[0])) if lines else []


def _spoken(pieces: Iterable[str]) -> list[str]:
    return [piece for piece in map(str.strip, pieces) if re.search(r"\w", piece)]
