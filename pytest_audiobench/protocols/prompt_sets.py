"""Versioned sets of wordings for one question, so that a number can be repeated, and repeated in other words.

A file holds a mapping, in YAML or JSON::

    version: yesno-v1
    parser_version: v1          # which parser the wordings were written for; v1 where it is left out
    paraphrases:
      - Do you hear a {label}?
      - Is there a {label} in this audio?

Which placeholders a wording needs, the family of protocols that asks it says (:mod:`.wordings`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest

MOST, LONGEST = 100, 4_000
"""Wordings of a set, and characters of a wording."""
_KEYS = ("version", "parser_version", "paraphrases")


@dataclass(frozen=True)
class PromptSet:
    """Wordings in their order, the first of them the one that is asked where one is asked.

    ``source`` says for people where they come from. It is no part of what the set is: a copy of a file is the same set.
    """

    version: str
    """What records call the set; a changed wording needs another."""
    paraphrases: tuple[str, ...]
    """The wordings, with placeholders in braces."""
    parser_version: str = "v1"
    """The parser that the wordings were written for."""
    source: str = field(default="", compare=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the wordings as ASCII JSON, 64 hex digits: the audiobench tool's ``prompt_paraphrases_hash``.

        (github.com/THENIROCK/audiobench, src/audiobench/prompts.py)
        """
        text = json.dumps(list(self.paraphrases), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def first(self, count: int) -> PromptSet:
        """The first ``count`` wordings. Raises UsageError where the set has fewer, and for a count below 1."""
        if not 1 <= count <= len(self.paraphrases):
            raise UsageError(
                f"{self.name} has {len(self.paraphrases)} wordings, and {count} are wanted: ask for 1 to "
                f"{len(self.paraphrases)}, or add wordings"
            )
        return replace(self, paraphrases=self.paraphrases[:count])

    @property
    def name(self) -> str:
        """What messages call the set."""
        return self.source or f"the prompt set {self.version!r}"


YESNO = PromptSet(
    "yesno-v1",
    (
        "Do you hear a {label}?",
        "Is there a {label} in this audio?",
        "Can you hear a {label}?",
        "Does this audio contain a {label}?",
        "Listen to the audio. Is a {label} present? Answer yes or no.",
    ),
)
"""The wordings of the audiobench tool's sound identification, under the version that it gives them."""

PROMPT_SETS: Mapping[str, PromptSet] = {"yesno": YESNO}
"""The sets that come with the package."""


def prompt_set(named: str | Path | PromptSet) -> PromptSet:
    """A set by its name in ``PROMPT_SETS`` or by its file. Raises UsageError for neither, and for a file that is none.

    A path is read from the folder that pytest runs in.
    """
    if isinstance(named, PromptSet):
        return named
    if isinstance(named, str) and named in PROMPT_SETS:
        return PROMPT_SETS[named]
    path = Path(named)
    if not path.suffix:
        there = f"there are {', '.join(PROMPT_SETS)}, or name a file that ends with .yaml or .json"
        raise UsageError(f"no prompt set is called {str(named)!r}; {nearest(str(named), PROMPT_SETS, there)}")
    from pytest_audiobench.io.user_documents import read_document

    return _of(read_document(path), str(path))


def chosen_set(written: str, folder: Path) -> PromptSet:
    """``yesno``, ``mine.yaml`` or, for the first three wordings, ``mine.yaml:3``; paths begin in ``folder``.

    Raises UsageError as :func:`prompt_set` and :meth:`PromptSet.first` do.
    """
    name, colon, count = written.rpartition(":")
    if not (colon and count.isascii() and count.isdigit()):
        name, count = written, ""
    prompts = prompt_set(name if name in PROMPT_SETS or not Path(name).suffix else folder / Path(name).expanduser())
    return prompts.first(int(count[:9])) if count else prompts


def _of(content: Any, source: str) -> PromptSet:
    if not isinstance(content, dict):
        raise UsageError(f"{source} is no prompt set: write version: and paraphrases: at its top")
    mistakes = Mistakes()
    likely_keys = mistakes.check_keys(source, content, _KEYS)

    def text(value: object, place: str) -> str:
        if isinstance(value, str) and value.strip() and len(value) <= LONGEST:
            return value
        mistakes.add(f"{source}: {place} must be a text of 1 to {LONGEST:,} characters")
        return ""

    version = "" if "version" in likely_keys else text(content.get("version"), "version")
    parser = text(content.get("parser_version", "v1"), "parser_version")
    given, paraphrases = content.get("paraphrases"), []
    if isinstance(given, list) and 1 <= len(given) <= MOST:
        paraphrases = [text(wording, f"paraphrases[{place}]") for place, wording in enumerate(given)]
    elif "paraphrases" not in likely_keys:
        mistakes.add(f"{source}: paraphrases must be a list of 1 to {MOST} wordings")
    for place, wording in enumerate(paraphrases):
        if wording and (other := paraphrases.index(wording)) < place:
            mistakes.add(f"{source}: paraphrases[{place}] repeats paraphrases[{other}]; keep one of them")
    mistakes.check()
    return PromptSet(version.strip(), tuple(paraphrases), parser.strip(), source)
