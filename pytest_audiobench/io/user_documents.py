"""Small documents that a user wrote, in YAML or JSON: bounded, without tricks, each mistake one sentence."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

SUFFIXES = (".yaml", ".yml", ".json")
_DEEPEST = 50
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*\.[ \t]*){{{_DEEPEST}}}""")


def toml_tables(content: bytes) -> dict[str, Any]:
    """The tables of a TOML file. Raises ValueError for other content, also for a name of more than 50 parts."""
    text = content.decode("utf-8-sig")
    # Python's parser takes time by the square of the parts: minutes for 200 kB.
    if match := _LONG_KEY.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise ValueError(f"line {line} has a name of more than {_DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_document(path: Path, most_bytes: int = 1_000_000) -> Any:
    """What the YAML or JSON file ``path`` holds: objects, lists, texts, numbers, booleans, null; dates are texts.

    Raises UsageError, naming the file and the place, for another suffix, a file that cannot be read, one of more than
    ``most_bytes``, text that is not UTF-8, all keys given twice, nesting deeper than 50, and in YAML for an anchor that
    is referred to: a few lines of those can stand for gigabytes.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path} is neither YAML nor JSON by its name; let it end with {', '.join(SUFFIXES)}")
    text = _text(path, most_bytes)
    mistakes = Mistakes()

    def refuse(what: str) -> None:
        mistakes.add(f"{path} cannot be read as {suffix[1:].upper()}: {what}")

    def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                refuse(f"the key {key[:80]!r} is given {'twice' if count == 2 else f'{count} times'}; keep one")
        return dict(pairs)

    def constant(name: str) -> None:
        refuse(f"{name} is not a number; write one")

    content = None
    try:
        if suffix == ".json":
            content = json.loads(text, object_pairs_hook=unique_keys, parse_constant=constant)
        else:
            content = _yaml(text, unique_keys, refuse)
        json.dumps(content, ensure_ascii=False).encode()  # half of a surrogate pair can go into no hash
    except UnicodeEncodeError:
        raise UsageError(f"{path} holds half of a surrogate pair, not a character; write it as UTF-8") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply; write it flat") from None
    except (ValueError, TypeError) as error:
        refuse(str(error))
    mistakes.check()
    return content


def _text(path: Path, most_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; correct the path") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); name a file that can be") from None
    if len(data) > most_bytes:
        raise UsageError(f"{path} holds more than {most_bytes / 1e6:g} MB; split it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _yaml(text: str, unique_keys: Callable[[Sequence[tuple[str, Any]]], object], refuse: Callable[[str], None]) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """The safe loader, without aliases, dates, keys given twice, and keys that are not texts."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.get_event()
                raise ValueError(f"line {event.start_mark.line + 1} refers to an anchor; write the value out")
            self.depth += 1
            if self.depth > _DEEPEST:
                raise ValueError("it is nested too deeply; write it flat")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            pairs = [(self.construct_object(key, deep=True), key) for key, _ in node.value]
            for key, key_node in pairs:
                if not isinstance(key, str):
                    line = key_node.start_mark.line + 1
                    refuse(f"line {line} has the key {key!r}, which is not text; put it in quotes")
            unique_keys([(key, None) for key, _ in pairs if isinstance(key, str)])
            return super().construct_mapping(node, deep)

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(text, Loader=Loader)  # a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{where}{error.problem or error.context or 'it is not well formed'}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
