"""How an answer went wrong, whatever a protocol makes of it: the classes that decide many a published number.

One runaway answer can be a fifth of an error rate, and fifty phone strings the difference between 2.7 and 10.3 % WER.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Literal, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.token_errors import PHONES
from pytest_audiobench.models.messages import Response

# Words in quotation marks are what was heard, not what the model says.
_QUOTED = re.compile(r'"[^"\n]{0,300}"|“[^”\n]{0,300}”')
_REFUSAL = re.compile(
    # Every alternative but the last begins with one of these: looking for that first halves the time.
    r"""(?=[iwacnup])(?: \b(?:i|we)(?:['’]m|['’]re|\sam|\sare)\s(?:\w{1,12}\s){0,2}
          (?:sorry|unable|not\sable|not\ssure|afraid|an?\s(?:ai|text|language|large))\b
      | \b(?:i|we)\s(?:can(?:not|\snot|['’]?t)|could(?:\snot|n['’]?t)|do(?:\snot|n['’]?t)|will\snot|won['’]?t)\s
          (?:\w{1,12}\s){0,2}?(?:hear|listen|access|analy[sz]e|determine|provide|process|tell|identify|have|know|answer|
             assist|help|make|see|give|play|detect|choose|select|classify|recogni[sz]e|comply
             |transcribe|translate|describe)\b
      | \bas\san?\s(?:ai|artificial\sintelligence|large\s\w{1,10}\smodel|language\smodel
          |text(?:\smodel|[\s-](?:based|only)))\b
      | \bi\sapologi[sz]e\b
      | \b(?:impossible|not\spossible|unable)\sto\s(?:\w{1,12}\s){0,2}?
          (?:hear|listen|determine|tell|identify|analy[sz]e|make|answer|accurately|classify|compare|provide|
             transcribe|translate|describe)\b
      | \bno\saudio(?:\s(?:file|clip|recording))?\s(?:was|is|has\sbeen)\s(?:provided|attached|uploaded|given)\b
      | \bcannot\sbe\s(?:\w{1,12}\s)?(?:determined|identified)\b
      | \bplease\s(?:\w{1,12}\s)?(?:provide|upload|share)\b )
      | \A\W{0,5}(?:sorry|apologies|my\sapologies|unfortunately)\b
    """,
    re.I | re.X,
)
_SIGNS = (
    *("sorry", "apolog", "unfortunately", "unable", "not able", "not sure", "afraid", "possible", "please", "no audio"),
    *("i c", "we c", "i do", "we do", "i w", "we w", "cannot be", " ai", "artificial"),
    *(f" {article} {kind}" for article in ("a", "an") for kind in ("text", "language", "large")),
)
"""One of these is in every refusal; most answers hold none, which is much cheaper to see."""


def refuses(text: str) -> bool:
    """Whether ``text`` says, in English and outside quotation marks, that it cannot or will not answer."""
    lowered = " ".join(text.lower().split())
    if not lowered.isascii():
        lowered = lowered.replace("ı", "i").replace("i̇", "i")  # re.I takes either for an i
    for sign in _SIGNS:  # any() with a generator takes twice the time
        if sign in lowered:
            return _REFUSAL.search(_QUOTED.sub(" ", " ".join(text.split()))) is not None
    return False


Expects: TypeAlias = Literal["words", "all_words", "option", "events", "open"]
"""What an answer should be: the words of a reference, those of all references, an option or label, a list of events, or
anything.
"""

WORDINGS = ("wrong_task", "wrong_script", "loop", "runaway", "example_copied")
"""The classes that only the text shows."""

FAILURES = (*WORDINGS, "refused", "empty", "truncated", "out_of_range")
"""All classes. An answer may fall into several."""

_PHONES = PHONES | {"spn"}
_STRESS = re.compile(r"(?<=[a-z])[0-2]$")
_UNSPACED = frozenset({"HAN", "THAI", "LAO", "KHMER", "MYANMAR"})
_LONGEST_CYCLE, _FEWEST_CYCLES = 20, 4
_RUN = bytes([True] * _FEWEST_CYCLES)
_COPIES = 3
_LOOKED_AT = 20_000
"""Characters of an answer that are looked at."""


def failures(sample: Sample, response: Response, expects: Expects) -> tuple[str, ...]:
    """The classes of ``FAILURES`` that the answer's text alone shows, in that order.

    Out of range is for a protocol's scorer to say. What the reference holds itself ("no no no no") is no failure;
    where words are required and it has none, an empty answer is none.
    """
    text = response.text[:_LOOKED_AT]
    in_words = expects in ("words", "all_words")
    if not text.strip():
        return () if in_words and not any(map(str.strip, sample.truths)) else ("empty",)
    classes = []
    if in_words and _is_phones(text) and not any(map(_is_phones, sample.truths)):
        classes.append("wrong_task")
    if expects not in ("events", "open") and _is_foreign(text, "\n".join(_expected_texts(sample, expects))):
        classes.append("wrong_script")
    tokens = _tokens(text)
    if _loops(tokens) and not any(_loops(_tokens(truth)) for truth in sample.truths):
        classes.append("loop")
    wanted = [len(_tokens(truth)) for truth in sample.truths]
    if in_words and len(tokens) > 3 * (sum(wanted) if expects == "all_words" else max(wanted)) + 5:
        classes.append("runaway")
    if expects == "events" and _copies_example(text):
        classes.append("example_copied")
    if response.finish == "refusal" or (refuses(text) and not any(map(refuses, (*sample.truths, *sample.choices)))):
        classes.append("refused")
    if response.finish == "length":
        classes.append("truncated")
    return tuple(classes)


def _copies_example(text: str) -> bool:
    from pytest_audiobench.protocols.soundscape.prompts import EXAMPLE_TEXTS

    return sum(example in text for example in EXAMPLE_TEXTS) >= _COPIES


def _expected_texts(sample: Sample, expects: Expects) -> tuple[str, ...]:
    # A model may reason in the language that it was asked in, whatever the options are written in.
    return sample.truths if expects == "words" else (*sample.truths, *sample.choices, sample.question)


def _is_phones(text: str) -> bool:
    tokens = text.lower().split()
    # Phones are three characters long at most, so longer words need no look.
    if len(text) > 5 * len(tokens):
        return False
    phones = sum(_STRESS.sub("", token.strip(".,;:|/[]")) in _PHONES for token in tokens)
    return len(tokens) >= 3 and phones >= 0.7 * len(tokens)


def _tokens(text: str) -> list[str]:
    """Words; the characters of scripts that are written without spaces."""
    if text.isascii():
        return text.lower().split()
    tokens: list[str] = []
    for word in text.lower().split():
        if word.isascii() or not any(_script(character) in _UNSPACED for character in word):
            tokens.append(word)
        else:
            tokens += word
    return tokens


def _loops(tokens: list[str]) -> bool:
    # A cycle that comes four times is a run of tokens each of which comes four times: in honest texts that is rare.
    if len(tokens) - len(set(tokens)) < _FEWEST_CYCLES - 1:
        return False
    counts = Counter(tokens)
    if _RUN not in bytes(map(_FEWEST_CYCLES.__le__, map(counts.__getitem__, tokens))):
        return False
    for cycle in range(1, min(_LONGEST_CYCLE, len(tokens) // _FEWEST_CYCLES) + 1):
        run = 0
        for token, later in zip(tokens, tokens[cycle:], strict=False):
            run = run + 1 if token == later else 0
            if run >= (_FEWEST_CYCLES - 1) * cycle:
                return True
    return False


def _is_foreign(text: str, truths: str) -> bool:
    if text.isascii() and truths.isascii():
        return False
    wanted, said = (_scripts(unicodedata.normalize("NFKC", passage)) for passage in (truths, text))
    letters = sum(said.values())
    if not wanted or letters < 2:
        return False
    if "あ" in wanted and said["HAN"] >= 4 and not said["あ"]:
        return True
    own = {*wanted, *(("HAN", "あ") if "あ" in wanted or "HAN" in wanted else ())}
    return sum(count for script, count in said.items() if script not in own) > 0.5 * letters


def _scripts(text: str) -> Counter[str]:
    """Letters by script; kana apart from Han, under あ."""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script(character):
            is_kana = script == "HAN" and not unicodedata.name(character, "").startswith("CJK")
            counts["あ" if is_kana else script] += count
    return counts


@lru_cache(maxsize=20_000)
def _script(character: str) -> str:
    """The first word of a letter's Unicode name, Han and kana as HAN; empty for what is no letter."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").partition(" ")[0]
    return "HAN" if name in ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH") else name
