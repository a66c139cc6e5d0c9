"""What a command of pytest would lack on this machine: a plugin for a run that only collects, and asks no model.

``audiobench doctor`` loads it (``-p``) into a process of its own, and reads the file that it writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.spec import ModelSpec
from pytest_audiobench.plugin.eval_items import DECLARED, ITEM
from pytest_audiobench.plugin.needed_parts import case_of, lacking_audio, lacking_data, lacking_manifest, protocol_of
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.progress import silent
from pytest_audiobench.plugin.run_folder import RunFolder
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.stash import SESSION

WRITTEN_TO = "AUDIOBENCH_DOCTOR_WRITES"
"""The variable that names the file."""
_STAND_IN = "baseline:chance"
_NO_JUDGE = "the score is a judge's, and none is named: --ab-judge=judge=openai:NAME"


@dataclass
class Findings:
    """What was found, as the file holds it."""

    models: list[str] = field(default_factory=list)
    has_judge: bool = False
    evals: int = 0
    lacks: list[dict[str, object]] = field(default_factory=list)
    """What ``kind`` of part, a ``text`` with its remedy, and the names of the ``evals`` that need it; none for all."""
    notes: list[str] = field(default_factory=list)


_FINDINGS: pytest.StashKey[Findings] = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Look at the models, and have others that need nothing stand in for them: the selection knows their aliases."""
    from pytest_audiobench.fetching.models import lacking_of_model
    from pytest_audiobench.plugin.error_mapping import user_errors

    with user_errors():
        given = read_options(config)
        session = EvalSession(config, given, RunFolder(given.reports, "doctor"), silent())
        models = [("model", spec) for spec in session.specs.values()]
        models += [("judge", spec) for spec in session.judge_specs.values()]
        config.stash[_FINDINGS] = found = Findings([_shown(spec) for _, spec in models], bool(given.judges))
        for role, spec in models:
            found.lacks += [_entry(role, text) for text in lacking_of_model(spec, session.model_of)]
            found.notes += [f"{_shown(spec)} is asked over the network"] if _is_away(spec) else []
    config.option.ab_model = [f"{alias}={_STAND_IN}" for alias in session.specs]
    config.option.ab_judge = []
    config.option.ab_human_labels = None


def _entry(kind: str, text: str, evals: Sequence[str] = ()) -> dict[str, object]:
    return {"kind": kind, "text": text, "evals": list(dict.fromkeys(evals))}


def _shown(spec: ModelSpec) -> str:
    """The spec, without an address that may hold a password."""
    return f"{spec.kind}:…" if "@" in spec.text else spec.text


def _is_away(spec: ModelSpec) -> bool:
    if spec.kind not in ("openai", "http", "judge-scores") or "serve" in spec.options:
        return False
    address = spec.options.get("base_url", spec.target)
    return not any(name in address for name in ("localhost", "127.0.0.1", "[::1]"))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Look at what the selected evals need."""
    if (shared := session.config.stash.get(SESSION, None)) is None:
        return
    selected, found = [item for item in session.items if ITEM in item.stash], session.config.stash[_FINDINGS]
    found.evals = len(selected)
    if in_code := sum(DECLARED not in item.stash for item in selected):
        found.notes.append(f"{in_code} of the evals are tests in Python: what their code asks for shows when it runs")
    evals: dict[tuple[str, str], list[str]] = {}
    audio = _audio(shared, selected, found.notes)
    for item, kind, text in (*_data(shared, selected), *audio, *_parts(shared, selected, found.has_judge)):
        evals.setdefault((kind, text), []).append(item.stash[ITEM].eval)
    found.lacks += [_entry(kind, text, names) for (kind, text), names in evals.items()]
    fetched = dict.fromkeys(text.split()[2].rstrip(",") for _, text in evals if text.startswith("audiobench fetch "))
    if len(fetched) > 1:
        found.notes.append(f"all that can be fetched: audiobench fetch {' '.join(fetched)}")
    if any(kind.startswith("data ") and len(names) > 1 for (kind, _), names in evals.items()):
        found.notes.append("of a file without its data pytest shows one eval, as skipped, and deselects the others")
    if any(kind.startswith("data ") for kind, _ in evals):
        found.notes.append("data that lies elsewhere on this machine is pointed to by --ab-data=NAME=FOLDER")


_Lacking: TypeAlias = "Iterator[tuple[pytest.Item, str, str]]"


def _data(shared: EvalSession, selected: Sequence[pytest.Item]) -> _Lacking:
    from pytest_audiobench.datasets.fetch_records import fetch_name

    for item, data, _ in lacking_data(shared, selected):
        gated = ", with an account that its publisher admits" * data.source.gated
        fetched = f"audiobench fetch {fetch_name(data.set_name)}{gated}" if data.fetch else ""
        yield item, f"data {data.root}", fetched or data.source.obtain or f"--ab-data={data.root}=FOLDER"


def _audio(shared: EvalSession, selected: Sequence[pytest.Item], notes: list[str]) -> _Lacking:
    looked_at: dict[tuple[object, ...], str] = {}
    for item in filter(lambda item: DECLARED in item.stash, selected):
        # Several models, and perturbations in addition, are of one list.
        key = item.path, getattr(item, "originalname", item.name), *case_of(item).items()
        if key not in looked_at:
            looked_at[key], note = lacking_audio(shared, item)
            notes += [note] if note else []
        if looked_at[key]:
            yield item, "audio", looked_at[key]


def _parts(shared: EvalSession, selected: Sequence[pytest.Item], has_judge: bool) -> _Lacking:
    from pytest_audiobench.plugin.run_plan import lacks_judge

    for item in selected:
        if text := lacking_manifest(item):
            yield item, "data", text
        if not has_judge and lacks_judge(shared, item):
            yield item, "judge", _NO_JUDGE
        try:
            protocol = protocol_of(shared, item)
        except UsageError as error:
            yield item, "scorer", str(error)
            continue
        for scorer in protocol.scorers if protocol else ():
            if lacking := scorer.missing_parts():
                yield item, "scorer", f"{scorer.name}: {lacking}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write what was found."""
    if _FINDINGS in config.stash and (file := os.environ.get(WRITTEN_TO)):
        Path(file).write_text(json.dumps(asdict(config.stash[_FINDINGS])), encoding="utf-8")
