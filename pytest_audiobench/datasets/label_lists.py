"""The label lists of tasks: those that declarations hold (``[vocabulary.labels]``), and those of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.user_documents import toml_tables

_MOST_BYTES = 10_000_000
_NO_WORD = re.compile(r"[^a-z0-9]+")


def task_id(name: str) -> str:
    """``name`` as registries write it: lower case, other signs than letters and digits ``_``, without ``test_``."""
    return _NO_WORD.sub("_", name.lower()).strip("_").removeprefix("test_")


class DeclaredTask(NamedTuple):
    """What the catalogue's declarations say of how a task is answered."""

    labels: tuple[str, ...] = ()
    number: Mapping[str, str] = MappingProxyType({})
    """Unit and tolerance of a task whose answer is a number."""
    is_published: bool = True
    """Whether its labels are a list of the publisher's, rather than what its questions ask for."""


def declared_task(*names: str) -> DeclaredTask:
    """The first of ``names`` that the catalogue knows; of an unknown one nothing is said.

    A task has its own name or that of its subset ("call-type"), alone or behind its benchmark's
    ("beans_zero_call_type"). A name for which two benchmarks say different things counts in its long form only.
    """
    tasks = _declared_tasks()
    return next((tasks[id_] for id_ in map(task_id, names) if tasks.get(id_, _UNKNOWN) != _UNKNOWN), _UNKNOWN)


_UNKNOWN = DeclaredTask()
_NUMBER = "bioacoustic_number"
_TELLING = re.compile(rf'^\[vocabulary\.labels\]|^sample\.choices = \["|^protocol = "{_NUMBER}"'.encode(), re.M)


@lru_cache(maxsize=1)
def _declared_tasks() -> Mapping[str, DeclaredTask]:
    tasks: dict[str, DeclaredTask] = {}
    for file in [loader for loader in LOADERS.values() if isinstance(loader, Path)]:
        content = file.read_bytes()
        if not _TELLING.search(content):
            continue
        benchmark = file.name.removesuffix(SUFFIX)
        for name, task in _tasks_of(toml_tables(content)):
            tasks[task_id(f"{benchmark}_{name}")] = task
            short = task_id(name)
            tasks[short] = task if tasks.get(short, task) == task else _UNKNOWN
    return tasks


def _tasks_of(document: Mapping[str, Any]) -> Iterator[tuple[str, DeclaredTask]]:
    for subset, labels in document.get("vocabulary", {}).get("labels", {}).items():
        if _is_label_list(labels):
            yield subset, DeclaredTask(tuple(labels))
    for task in document.get("task", ()):
        choices = task.get("sample", {}).get("choices")
        if task.get("protocol") == _NUMBER:
            options = {name: task[name] for name in ("unit", "tolerance") if isinstance(task.get(name), str)}
            yield task["name"], DeclaredTask(number=options)
        elif _is_label_list(choices):
            yield task["name"], DeclaredTask(tuple(choices), is_published=False)


def label_file(file: Path) -> tuple[str, ...]:
    """The labels of a file: one a line, or one JSON list. Raises UsageError for one that holds none."""
    content = _content(file)
    labels = _json_list(file, content) if content.lstrip().startswith("[") else content.splitlines()
    if not any(label.strip() for label in labels):
        raise UsageError(f"{file} holds no labels; write one a line, or a JSON list of them")
    return tuple(label.strip() for label in labels if label.strip())


def label_files(written: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The lists that ``SUBSET=FILE`` name, by task id; a FILE alone is a JSON object of lists by subset.

    Raises UsageError for what is neither.
    """
    lists: dict[str, tuple[str, ...]] = {}
    for text in written:
        subset, equals, name = text.partition("=")
        if equals:
            lists[task_id(subset)] = label_file(Path(name))
            continue
        try:
            document = json.loads(_content(Path(text)))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not all(map(_is_label_list, document.values())):
            raise UsageError(f"--labels {text} is not a JSON object of label lists by subset; else write SUBSET=FILE")
        lists.update((task_id(subset), tuple(labels)) for subset, labels in document.items())
    return lists


def _content(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"there is no file {file} of labels; correct the path") from None
    except OSError as error:
        raise UsageError(f"the labels {file} cannot be read ({error.strerror}); name a file that can be") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{file} holds more than {_MOST_BYTES // 1_000_000} MB, which is not a list of labels")
    return content.decode("utf-8-sig", "replace")


def _json_list(file: Path, content: str) -> Sequence[str]:
    try:
        labels = json.loads(content)
    except (ValueError, RecursionError):
        # A label may begin with a bracket.
        return content.splitlines()
    if not _is_label_list(labels):
        raise UsageError(f"{file} is a JSON list of something else than labels; write texts into it")
    return list(labels)


def _is_label_list(labels: Any) -> bool:
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels)
