"""Versioned sets of wordings for one question, so that a number can be repeated, and repeated in other words.

A file holds a mapping, in YAML, JSON or TOML::

    version: yesno-v1
    parser_version: v1          # which parser the wordings were written for; v1 where it is left out
    paraphrases:
      - Do you hear a {label}?
      - Is there a {label} in this audio?

Which placeholders a wording needs, the family of protocols that asks it says (:mod:`.prompt_variants`). The sets that
are bundled are in ``prompt_sets.toml``, each with the families that it is for and where its texts were read.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of
from pytest_audiobench.io.mistakes import Mistakes, nearest

MOST, LONGEST = 100, 4_000
"""Wordings of a set, and characters of a wording."""
_MOST_BYTES = 1_000_000
_KEYS = ("version", "parser_version", "paraphrases")


@dataclass(frozen=True)
class PromptSet:
    """Wordings in their order, the first of them the one that is asked where one is asked.

    ``source`` says for people where they come from. It is not part of the set's identity: a copy is the same set.
    """

    version: str
    """What records call the set; a changed wording needs another."""
    paraphrases: tuple[str, ...]
    """The wordings, with placeholders in braces."""
    parser_version: str = "v1"
    """The parser that the wordings were written for."""
    source: str = field(default="", compare=False)
    families: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The families of protocols that the set is for; none where their placeholders alone decide."""
    data: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The data sets that it is for alone, by their last names; none for any."""
    seed: int | None = field(default=None, repr=False)
    """Where one wording is drawn for each sample, what it is drawn by; None where all are asked."""

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

    def drawn(self, seed: int = 0) -> PromptSet:
        """The same set, of which each sample is asked in one wording: that of a digest of the seed and its id."""
        return replace(self, seed=seed)

    def place_of(self, sample_id: str) -> int:
        """Which wording a sample is asked in where one is drawn, from 0."""
        return seed_of("audiobench-draw", self.seed or 0, sample_id) % len(self.paraphrases)

    def is_for(self, family: str, data: str = "") -> bool:
        """Whether it is for a family and a data set, as far as it says."""
        return (not self.families or family in self.families) and (
            not self.data or data.rpartition("/")[2] in self.data
        )

    @property
    def name(self) -> str:
        """What messages call the set."""
        return self.source or f"the prompt set {self.version!r}"


_TABLES = tomllib.loads(files(__package__).joinpath("prompt_sets.toml").read_text(encoding="utf-8"))["set"]

PROMPT_SETS: Mapping[str, PromptSet] = {
    table["name"]: PromptSet(
        f"{table['name']}-v1",
        tuple(table["paraphrases"]),
        families=tuple(table["families"]),
        data=tuple(table.get("data", ())),
    )
    for table in _TABLES
}
"""The sets that come with the package."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(table["name"] for table in _TABLES if group in table.get("groups", ()))
    for group in ("tasks", "audiobench")
}
"""Names for several sets, of which each eval is asked in the one that fits it."""

DRAWN = {"audiobench-draw": "audiobench:draw"}
"""Other names: AudioBench's way of asking, made repeatable."""

YESNO = PROMPT_SETS["yesno"]
"""The wordings of the audiobench tool's sound identification, under the version that it gives them."""


def prompt_set(named: str | Path | PromptSet) -> PromptSet:
    """A set by its name in ``PROMPT_SETS`` or by its file. Raises UsageError for neither, and for a file that is none.

    A path is read from the folder that pytest runs in.
    """
    if isinstance(named, PromptSet):
        return named
    if isinstance(named, str) and named in PROMPT_SETS:
        named_set = PROMPT_SETS[named]
        return replace(named_set, data=()) if named_set.data else named_set
    path = Path(named)
    if not path.suffix:
        names = ", ".join([*PROMPT_SETS, *GROUPS, *DRAWN])
        there = f"there are {names}, or name a file that ends with .yaml, .json or .toml"
        raise UsageError(f"no prompt set is called {str(named)!r}; {nearest(str(named), PROMPT_SETS, there)}")
    from pytest_audiobench.io.user_documents import read_document, toml_tables

    if path.suffix.lower() != ".toml":
        return _of(read_document(path), str(path))
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES:,} bytes; a prompt set has fewer")
        return _of(toml_tables(content), str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); correct the path") from None
    except ValueError as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}") from None


def chosen_sets(written: str, folder: Path) -> tuple[PromptSet, ...]:
    """The sets of ``--ab-prompts``, divided by commas: ``yesno``, ``mine.yaml`` or, for the first three wordings,
    ``mine.yaml:3``; ``audiobench:draw`` or ``audiobench:draw=7`` for one wording a sample. Paths begin in ``folder``.

    Raises UsageError as :func:`prompt_set` and :meth:`PromptSet.first` do.
    """
    return tuple(prompts for part in written.split(",") for prompts in _chosen(part.strip(), folder))


def _chosen(written: str, folder: Path) -> Iterator[PromptSet]:
    written = DRAWN.get(written, written)
    name, _, way = written.rpartition(":")
    if not name or (parts := re.fullmatch(r"([0-9]+)|draw(?:=([0-9]{1,18}))?", way)) is None:
        name, parts = written, None
    is_file = bool(Path(name).suffix) and name not in PROMPT_SETS
    every = [PROMPT_SETS[each] for each in GROUPS[name]] if name in GROUPS else []
    for prompts in every or [prompt_set(folder / Path(name).expanduser() if is_file else name)]:
        if parts is None:
            yield prompts
        else:
            yield prompts.first(int(parts[1][:9])) if parts[1] else prompts.drawn(int(parts[2] or 0))


def _of(content: Any, source: str) -> PromptSet:
    if not isinstance(content, dict):
        raise UsageError(f"{source} is not a prompt set: write version: and paraphrases: at its top")
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
