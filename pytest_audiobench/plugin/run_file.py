"""A run file of ``--ab-config``: the options of a run, in TOML, YAML or JSON, ours or a run config of BEANS-Next.

Nothing else than options comes of it: what the command line has too is the command line's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, near
from pytest_audiobench.io.user_documents import SUFFIXES, read_document, toml_tables
from pytest_audiobench.models.spec import NOTE, parse_specs, quoted

_MODELS, _FOLDERS, _RUNS = ("model", "models"), ("output_dir", "out_dir"), ("run_id", "run")
_SELECTION = ("suite", "tasks")
_OWN = (*_MODELS, *_SELECTION, "limit", *_FOLDERS, *_RUNS, "judge", "prompt", "data_source", "thresholds")
_SOURCES = {"hf": "", "huggingface": "", "esp_data": "its store is not public"}
"""Where BEANS-Next reads data from; here --ab-data and the data root say that."""
_INLINE = ("name", "description", "predict_url", "info_url", "health_url", "response_schema", "audio_payload", "auth")
_PATHS = {"predict_url": "/predict", "info_url": "/info", "health_url": "/health"}
_PAYLOADS = ("base64_wav", "file_path", "file_url")
_RETRY = {"max_attempts": 12, "backoff_initial": 0.5, "backoff_max": 30.0}
"""The keys that the time for trying again follows from, and what they are where they are not given."""
_AS_HERE = {
    "jitter_fraction": 0.25,
    "retry_on_5xx": True,
    "retry_http_statuses": [408, 429],
    "retry_on_network_errors": True,
    "retryable_os_errnos": [32, 101, 104, 111, 113],
}
"""Those of its other keys that our client can follow: it always does this."""


class RunFile(NamedTuple):
    """What a run file comes to: values by the names of options, and sentences on what is read otherwise."""

    options: Mapping[str, str | list[str]]
    notes: Sequence[str]


def is_run_file(path: Path) -> bool:
    """Whether ``path`` is one, and no file of thresholds: not TOML, or TOML with keys that no such file has."""
    if path.suffix.lower() in SUFFIXES:
        return True
    if path.name == "pyproject.toml" or not path.is_file():
        return False
    try:
        table = toml_tables(path.read_bytes())
    except (OSError, ValueError):
        return False  # the reader of thresholds says what is wrong
    return "threshold" not in table and any(near(key, (*_MODELS, *_SELECTION)) for key in table)


def read_run_file(path: Path, others: Mapping[str, str]) -> RunFile:
    """The options in ``path``; ``others`` are the further ones that it may hold, by key: "texts", "text" or "flag".

    Raises UsageError for a file that cannot be read, and for all that is wrong in it at once.
    """
    table, mistakes = _table(path), Mistakes()
    others = {key: kind for key, kind in others.items() if key not in _OWN}
    where = path.name
    likely = mistakes.check_keys(where, table, (*_OWN, *others))
    options: dict[str, str | list[str]] = {}
    if _one_of(where, table, _MODELS, likely, mistakes, required=True):
        options["model"] = list(_models(where, table.get("models", [table.get("model")]), mistakes))
        with mistakes.catching(f"{where}: "):
            parse_specs(options["model"])
    if key := _one_of(where, table, _SELECTION, likely, mistakes, required=True):
        kind = "text" if key == "suite" else "texts"
        options["select"] = _texts(where, key, table[key], kind, mistakes)
        if not options["select"]:
            mistakes.add(f"{where}: {key} names none; leave no list empty")
    if "limit" in table:
        options["limit"] = _whole(where, "limit", table["limit"], mistakes)
    folder, run = (_one_of(where, table, keys, likely, mistakes) for keys in (_FOLDERS, _RUNS))
    options.update(_place(*(_text(where, key, table[key], mistakes) if key else "" for key in (folder, run))))
    for key, name in {"judge": "judge", "prompt": "prompt", "thresholds": "config"}.items():
        if key in table:
            texts = _texts(where, key, table[key], "texts" if key == "judge" else "text", mistakes)
            options[name] = texts if key == "judge" else "".join(texts)
    notes = []
    if (source := table.get("data_source")) is not None and not (isinstance(source, str) and source in _SOURCES):
        mistakes.add(f"{where}: data_source is {source!r:.80}; it may be {', '.join(_SOURCES)}")
    elif source:
        why = f" ({_SOURCES[source]})" if _SOURCES[source] else ""
        notes.append(f"{where}: data_source = {source}{why} names no data here: --ab-data and the data root do")
    for key in filter(others.__contains__, table):
        name, texts = key.replace("_", "-"), _texts(where, key, table[key], others[key], mistakes)
        options[name] = texts if others[key] == "texts" else "".join(texts)
    mistakes.check()
    return RunFile(options, notes)


def _table(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() in SUFFIXES:
        table = read_document(path)
    else:
        try:
            table = toml_tables(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read as TOML: {error}") from None
    if not isinstance(table, dict):
        raise UsageError(f"{path} holds no table; a run file has models and a suite or tasks")
    return table


def _one_of(
    where: str,
    table: Mapping[str, Any],
    keys: Sequence[str],
    likely: set[str],
    mistakes: Mistakes,
    required: bool = False,
) -> str | None:
    """The key that is given. Adds a mistake where several are, or none that has to be."""
    given = [key for key in keys if table.get(key) is not None]
    if len(given) > 1:
        mistakes.add(f"{where} has both {' and '.join(given)}; keep one")
    elif required and not given and not likely.intersection(keys):
        mistakes.add(f"{where} has neither {' nor '.join(keys)}; write one")
    return given[0] if given else None


def _models(where: str, entries: Any, mistakes: Mistakes) -> Iterator[str]:
    """Their specs, as --ab-model takes them."""
    if not isinstance(entries, list) or not entries:
        mistakes.add(f"{where}: models must be a list of models, not {_shown(entries)}")
        return
    for number, entry in enumerate(entries):
        place = f"{where}, models[{number}]"
        if isinstance(entry, str):
            yield entry
        elif not isinstance(entry, dict) or len(entry.keys() & {"id", "inline"}) != 1:
            mistakes.add(f"{place} must be a spec, a preset's name, or a table of either id or inline")
        else:
            mistakes.check_keys(place, entry, ("id", "inline"))
            if "id" in entry:
                yield _text(place, "id", entry["id"], mistakes)
            elif spec := _inline(f"{place}.inline", entry["inline"], mistakes):
                yield spec


def _inline(place: str, table: Any, mistakes: Mistakes) -> str:
    """The spec of a server that is described; "" where it is not."""
    if not isinstance(table, dict):
        mistakes.add(f"{place} must be a table, not {_shown(table)}")
        return ""
    likely = mistakes.check_keys(place, table, (*_INLINE, "retry_policy"))
    urls = {}
    for key, path in _PATHS.items():
        if key not in table:
            continue
        url = _text(place, key, table[key], mistakes)
        if not url.endswith(path):
            mistakes.add(f"{place}: {key} is {url!r:.200}; one of predictions_v1 ends with {path}")
        urls[key] = url.removesuffix(path)
    if "predict_url" not in table:
        if "predict_url" not in likely:
            mistakes.add(f"{place} has no predict_url: write where the server is")
        return ""
    if len({*urls.values()}) > 1:
        mistakes.add(f"{place}: {', '.join(urls)} name different servers; predictions_v1 has all of them on one")
    if table.get("response_schema", "predictions_v1") != "predictions_v1":
        mistakes.add(f"{place}: response_schema is {_shown(table['response_schema'])}; it may be predictions_v1")
    if table.get("auth"):
        mistakes.add(f"{place}: auth is not used; write a spec, with token_env= the variable that holds a token")
    options = {}
    if (payload := table.get("audio_payload")) is not None:
        if payload not in _PAYLOADS:
            mistakes.add(f"{place}: audio_payload is {_shown(payload)}; it may be {', '.join(_PAYLOADS)}")
        options["payload"] = str(payload)
    if (policy := table.get("retry_policy")) is not None:
        options["retry_s"] = _retry_s(f"{place}.retry_policy", policy, mistakes)
    if description := table.get("description"):
        options[NOTE] = " ".join(_text(place, "description", description, mistakes).split())
    alias = f"{_text(place, 'name', table['name'], mistakes)}=" if table.get("name") is not None else ""
    pairs = [f"{key}={quoted(value)}" for key, value in options.items()]
    return ",".join([f"{alias}http:{urls['predict_url']}", *pairs])


def _retry_s(place: str, policy: Any, mistakes: Mistakes) -> str:
    """The seconds for which a policy of tries with growing pauses tries again."""
    if not isinstance(policy, dict):
        mistakes.add(f"{place} must be a table, not {_shown(policy)}")
        return "1"
    mistakes.check_keys(place, policy, (*_RETRY, *_AS_HERE))
    numbers = {}
    for key, default in _RETRY.items():
        number = policy.get(key, default)
        if not isinstance(number, (int, float)) or isinstance(number, bool) or not 0 <= number <= 1000:
            mistakes.add(f"{place}: {key} is {_shown(number)}, not a number from 0 to 1000")
            number = default
        numbers[key] = number
    for key, value in _AS_HERE.items():
        given = policy.get(key, value)
        if (sorted(map(str, given)) if isinstance(given, list) else given) != (
            sorted(map(str, value)) if isinstance(value, list) else value
        ):
            mistakes.add(f"{place}: {key} is {_shown(given)}, and a client here always has {value}; leave it out")
    pauses = (numbers["backoff_initial"] * 2**i for i in range(int(numbers["max_attempts"]) - 1))
    return f"{max(0.1, sum(min(pause, numbers['backoff_max']) for pause in pauses)):g}"


def _place(folder: str, run: str) -> dict[str, str | list[str]]:
    """Where the run is written: an output folder is the run's own, unless the run has another name."""
    path = PurePath(folder)
    if not folder or (run and run != path.name):
        return {key: value for key, value in (("reports", folder), ("run", run)) if value}
    return {"reports": str(path.parent), "run": path.name}


def _texts(where: str, key: str, value: Any, kind: str, mistakes: Mistakes) -> list[str]:
    """The values of an option as the command line would have them."""
    if kind == "flag":
        if not isinstance(value, bool):
            mistakes.add(f"{where}: {key} must be true or false, not {_shown(value)}")
        return ["yes"] if value is True else []
    if kind == "texts" and isinstance(value, list):
        return [_text(where, key, element, mistakes) for element in value]
    numeric = kind == "text" and isinstance(value, (int, float)) and not isinstance(value, bool) and key != "suite"
    return [str(value) if numeric else _text(where, key, value, mistakes)]


def _text(where: str, key: str, value: Any, mistakes: Mistakes) -> str:
    if not isinstance(value, str) or not value.strip():
        mistakes.add(f"{where}: {key} must be a text, not {_shown(value)}")
        return "?"
    return value


def _whole(where: str, key: str, value: Any, mistakes: Mistakes) -> str:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        mistakes.add(f"{where}: {key} must be a whole number from 1 up, not {_shown(value)}")
    return str(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
