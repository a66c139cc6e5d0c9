r"""The words of a caption, as COCO's evaluation counts them: Penn Treebank tokens in lower case, punctuation dropped.

COCO's own tokenizer (Chen et al. 2015) is Stanford's PTBTokenizer 3.4.1, a Java program, behind which a list of marks
is taken out. This is a rule without Java to the same effect (16,034 distinct English sentences of models' answers: 99.7
% equal word for word; the rest are times and numbers joined by a hyphen, chord symbols, a lone letter at the end):

- negations, possessives and short verbs are words of their own (``do n't``, ``dog 's``, ``we 'll``), and so are the
  halves of ``can not``, ``gon na``, ``wan na``, ``got ta``, ``gim me``, ``lem me``, ``'t is``, ``'t was``;
- hyphens, slashes, "&" and inner dots hold a word together (``drum-like``, ``and/or``), as ``.``, ``,`` and ``:`` do a
  number (``1,000``, ``10:30``); abbreviations and initials keep their dot (``mr.``, ``u.s.``); what looks like a tag
  is one word (``<unk>``);
- brackets are named (``-lrb-`` for "("), the euro is ``$`` and the pound ``#``;
- quotation marks, dashes, ``. ? ! , : ;`` and ``...`` are dropped, emoji too, and so is what is not seen (joiners,
  marks of direction, variation selectors), which ends a word; other symbols are words, and so is a run
  such as ``?!``, which COCO's list of marks does not hold.

What is written without spaces, such as Chinese and Japanese, is one word to both: captions in them want another
measure.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ABBREVIATIONS = (
    "mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|inc|ltd|co|corp|gen|gov|sen|rep|lt|col|capt|sgt|rev|dept|messrs|ft|"
    "jan|feb|mar|apr|aug|sept|sep|oct|nov|dec|ave|blvd|bros"
)
_HALVED = ("can not", "gon na", "got ta", "wan na", "gim me", "lem me", "'t is", "'t was")
_HALVES = {half.replace(" ", ""): half.split() for half in _HALVED}
_NAMES = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-", "€": "$", "£": "#"}
_PLAIN = str.maketrans(
    dict.fromkeys("’‘ʼ‛", "'")
    | dict.fromkeys("“”„‟«»", '"')
    | {"…": "...", "½": "1/2", "¼": "1/4", "¾": "3/4", "\N{SOFT HYPHEN}": ""}
)
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&nbsp;", " "), ("&amp;", "&"))

# Signs that sit on letters are not letters to \w; most scripts of South Asia and the combining accents need them.
_SIGNS = "\u0300-\u036f\u0900-\u0963\u0966-\u0e4e"
# Of what is not seen, that of which the Java program makes no word: format characters, and marks that enclose.
_UNSEEN = (
    "\x81-\x84\x86-\x9f\u0488\u0489\u0604\u0605\u061c\u0890\u0891\u08e2\u180e\u1abe\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\u20dd-\u20e0\u20e2-\u20e4\ua670-\ua672\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
)
_CHAR = rf"(?:[^\W_]|[{_SIGNS}])"
_WORD = rf"{_CHAR}+(?:(?:[-\u2010\u2011_/.&]|(?<=[^\W\d_])'(?=[^\W\d_])){_CHAR}+)*"
_TOKEN = re.compile(
    rf"""
      (?P<whole>https?://[^\s"<>()]+ | www\.[^\s"<>()]+ | [\w.+-]{1, 64}@[\w-]+(?:\.[\w-]+)+   # links, addresses
        | </?[a-z!][^\s<>]{{0,40}}>                                                      # what looks like a tag
        | (?:(?<![\w'])[^\W\d_]\.){{1,9}}(?:[^\W\d_]\.)+                                 # u.s.
        | (?<!\w)(?:{_ABBREVIATIONS})\.(?!\w)
        | (?<!\w)(?:e\.g|i\.e|no(?=\.\s?\d)|[^\W\d_](?=\.\s+[^\W\d_]))\.                  # no. 5, john f. kennedy
        | (?<!\w)[cf]\#(?!\w)                                                           # as the Java program has it
        | (?<!\S)[-+]\d+(?:[.,:/]\d+)* | (?<!\w)\.\d+ | \d+(?:[.,:]\d+)+                  # numbers
        | -[lr][rsc]b-                                                                   # a bracket's name
        | '(?:em|n'|\d\ds)(?!\w) | \*+ | [?!]{{2,}})
    | (?P<halves>(?<!\w)(?:{"|".join(_HALVES)})(?!\w))
    | (?P<word>{_WORD})
    | (?P<clitic>'(?:s|m|d|re|ve|ll)(?!\w))
    | (?P<dropped>["'`.?!,:;\u2012-\u2015-]|[\U00010000-\U0010ffff\ufffd\ud800-\udfff\0-\x1f{_UNSEEN}])
    | (?P<symbol>\S)
    """,
    re.VERBOSE,
)
_MOST_ENDINGS = 3
_ENDING = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll|em))\Z")


@lru_cache(maxsize=2**16)
def caption_words(text: str) -> tuple[str, ...]:
    """The words of ``text``; none in what holds only punctuation."""
    plain = text.translate(_PLAIN).lower()
    if "&" in plain:
        for entity, character in _ENTITIES:
            plain = plain.replace(entity, character)
    words: list[str] = []
    for match in _TOKEN.finditer(plain):
        kind, token = match.lastgroup, match.group()
        if kind == "word":
            words += _word_and_endings(token)
        elif kind == "halves":
            words += _HALVES[token]
        elif kind == "symbol":
            words.append(_NAMES.get(token, token))
        elif kind != "dropped":
            words.append(token)
    return tuple(words)


def _word_and_endings(word: str) -> list[str]:
    """A word and its endings: "isn't" is is, n't; "who'd've" is who, 'd, 've."""
    endings: list[str] = []
    while len(endings) < _MOST_ENDINGS and (ending := _ENDING.search(word)):
        endings.insert(0, ending.group())
        word = word[: ending.start()]
    return [word, *endings]
