"""The files of a declaration's rows, by patterns of which ``{names}`` are columns: ``{speaker}/{chapter}/*.txt``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

_CAPTURE = re.compile(r"\{(\w+)\}")
_VARIABLE = re.compile(r"\{\w+\}|\*")


class RowFile(NamedTuple):
    """A file of rows, or a folder on the way to it."""

    name: str
    """Its path below the root."""
    columns: Mapping[str, str]
    """What is in its path where the pattern has names."""


def captures_in(pattern: str) -> set[str]:
    return set(_CAPTURE.findall(pattern))


def landmark(pattern: str) -> str:
    """What a folder must hold to be that of the data: of a pattern with names its fixed folders, where it has some.

    So a folder that lacks the files within is a broken one, and not one that is skipped.
    """
    if not captures_in(pattern):
        return pattern
    fixed = takewhile(lambda part: not _VARIABLE.search(part), pattern.split("/"))
    return "/".join(fixed) or _CAPTURE.sub("*", pattern)


def row_files(root: Path, pattern: str) -> list[RowFile]:
    """The files below ``root`` that match, in the order of their paths' parts; hidden ones are skipped.

    Raises UsageError with every folder that matches all but the last part and holds no file of it.
    """
    *above, last = pattern.split("/")
    folders = [RowFile("", {})]
    for part in above:
        folders = [inner for outer in folders for inner in _inside(root, outer, part) if (root / inner.name).is_dir()]
    if not folders:
        raise UsageError(f"{root} holds no {pattern}, which is not the published layout; unpack the archive again")
    files: list[RowFile] = []
    mistakes = Mistakes()
    for folder in folders:
        matches = [file for file in _inside(root, folder, last) if (root / file.name).is_file()]
        if not matches:
            lacking = root / folder.name / _with_values(last, folder.columns)
            mistakes.add(f"there is no {lacking}, and its folder must not be left out; unpack the archive again")
        for file in matches:
            try:
                relative_path(file.name)
            except ValueError as error:
                mistakes.add(f"{root}: {error}")
        files += matches
    mistakes.check()
    return files


def _with_values(part: str, columns: Mapping[str, str]) -> str:
    return _CAPTURE.sub(lambda name: columns.get(name[1], "*"), part)


def _inside(root: Path, folder: RowFile, part: str) -> Iterator[RowFile]:
    """What in ``folder`` is called as ``part`` says; what is no pattern need not be there."""
    begin = f"{folder.name}/" if folder.name else ""
    if not _VARIABLE.search(part):
        yield RowFile(begin + part, folder.columns)
        return
    shape = _shape(part, folder.columns)
    for name in sorted(os.listdir(root / folder.name)):
        if not name.startswith(".") and (match := shape.fullmatch(name)):
            yield RowFile(begin + name, {**folder.columns, **match.groupdict()})


def _shape(part: str, columns: Mapping[str, str]) -> re.Pattern[str]:
    """A name of which the folders above have said the value has that value; so has one that stands twice."""
    shape, place, names = "", 0, set[str]()
    for variable in _VARIABLE.finditer(part):
        name = variable[0].strip("{}*")
        shape += re.escape(part[place : variable.start()])
        if name in columns:
            shape += re.escape(columns[name])
        elif name and name in names:
            shape += f"(?P={name})"
        else:
            shape += f"(?P<{name}>.+)" if name else ".*"
        names.add(name)
        place = variable.end()
    return re.compile(shape + re.escape(part[place:]), re.DOTALL)
