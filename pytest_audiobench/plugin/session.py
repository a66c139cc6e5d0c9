"""What the evals of one process share: the store, the audio's memory, the models; opened by the first eval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.comparison.baseline_sources import baseline_from
from pytest_audiobench.datasets.dataset import Places, folders
from pytest_audiobench.datasets.packs.recipes import written_from
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.batch_locks import BatchLocks
from pytest_audiobench.evaluation.evaluate import RunContext
from pytest_audiobench.evaluation.judging import check_judge
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.gate.config import Rules, find_rules
from pytest_audiobench.gate.margins import read_margin
from pytest_audiobench.gate.regression_line import NO_MARGIN
from pytest_audiobench.models.model import Hearing, Model
from pytest_audiobench.models.registry import make, with_run_wide
from pytest_audiobench.models.remote.budget import Budget
from pytest_audiobench.models.remote.endpoint import check_apart
from pytest_audiobench.models.spec import ModelSpec, parse_specs, written
from pytest_audiobench.plugin import model_server, worker
from pytest_audiobench.plugin.options import Options, base
from pytest_audiobench.plugin.progress import Progress
from pytest_audiobench.plugin.registration import Registration
from pytest_audiobench.plugin.regression_gate import Gate
from pytest_audiobench.plugin.run_folder import RunFolder, keep_out_of_git

if TYPE_CHECKING:
    from pytest_audiobench.protocols.prompt_sets import PromptSet
    from pytest_audiobench.protocols.reasoned_choice.styles import StyleName

_PLAYED_NOTHING = Hearing("unproven", "a judge is played nothing")


class EvalSession:
    """One process's part in a run. Nothing is opened, made or read before it is needed."""

    def __init__(self, config: pytest.Config, options: Options, place: RunFolder, progress: Progress) -> None:
        self.config, self.options, self.place, self.progress = config, options, place, progress
        self.checked = False
        self.collected: list[str] = []
        """The names of all evals that were collected, whatever is selected of them."""
        self._handles: dict[str, ModelHandle] = {}
        self._made: list[ModelHandle] = []

    @cached_property
    def registration(self) -> Registration:
        registration = Registration()
        self.config.hook.pytest_audiobench_register(registration=registration)
        return registration

    @cached_property
    def specs(self) -> Mapping[str, ModelSpec]:
        """The models by alias, in the order given."""
        return {spec.alias: spec for spec in parse_specs(self.options.models)}

    @cached_property
    def judge_specs(self) -> Mapping[str, ModelSpec]:
        """The judges by alias, in the order given. Raises UsageError for one that is called like a model."""
        found = {spec.alias: spec for spec in parse_specs(self.options.judges)}
        for alias in found:
            if alias in self.specs:
                raise UsageError(
                    f"a model and a judge are both called {alias!r}: give the judge a name of its own, such as "
                    f"--ab-judge judge={found[alias].kind}:{found[alias].target}"
                )
        return found

    @cached_property
    def judges(self) -> Mapping[str, ModelHandle]:
        """The judges by alias."""
        return {alias: self._handle_on(spec, judge=True) for alias, spec in self.judge_specs.items()}

    @cached_property
    def rules(self) -> Rules:
        """The declared thresholds; metrics that strangers register are known by then."""
        _ = self.registration
        return find_rules(self.config.rootpath, self.options.config)

    @cached_property
    def gate(self) -> Gate | None:
        """What every eval is held against, with ``--ab-baseline``. Raises UsageError for a bad margin or baseline."""
        options = self.options
        if options.max_drop and options.max_drop != NO_MARGIN:
            try:
                read_margin(options.max_drop)
            except UsageError as error:
                raise UsageError(f"--ab-max-drop: {error}, or none for declared lines only") from None
        if not options.baseline:
            return None
        found = worker.baseline_of(self.config) or options.baseline
        folder = base(self.config, "baseline")
        baseline = baseline_from(found, options.reports, folder, self.place.run, options.limit)
        for alias in self.specs:
            baseline.of(alias)
        return Gate(baseline, options, self.rules)

    @cached_property
    def prompts(self) -> PromptSet | None:
        """The wordings of ``--ab-prompts``. Raises UsageError for a set or a number that there is not."""
        if not self.options.prompts:
            return None
        from pytest_audiobench.protocols.prompt_sets import chosen_set

        return chosen_set(self.options.prompts, base(self.config, "prompts"))

    @cached_property
    def style(self) -> StyleName | None:
        """The style of ``--ab-style``, None without it. Raises UsageError for one that there is not."""
        if not self.options.style:
            return None
        from pytest_audiobench.protocols.reasoned_choice.styles import style_named

        try:
            return style_named(self.options.style).name
        except UsageError as error:
            raise UsageError(f"--ab-style: {error}") from None

    @cached_property
    def bench(self) -> RunContext:
        first, *extras = self.options.stores
        keep_out_of_git(first.parent)
        store = Store(first, self.place.run, self.options.refresh, extras)
        return RunContext(
            run=self.place.run,
            store=store,
            claims=BatchLocks(first.with_name(first.name + ".claims")),
            index=AudioIndex(first.parent / "audio.sqlite"),
            limit=self.options.limit,
            epochs=self.options.epochs,
            scorers=self.options.scorers,
            prompts=self.prompts,
            judges=self.judges,
        )

    def handle(self, alias: str | None) -> ModelHandle:
        """The model of that alias, or the only one. At most one is loaded at a time."""
        spec = self.specs[alias] if alias is not None else next(iter(self.specs.values()))
        for other in self._handles.values():
            if other.alias != spec.alias:
                other.close()
        if spec.alias not in self._handles:
            self._handles[spec.alias] = self._handle_on(spec)
        return self._handles[spec.alias]

    @contextmanager
    def variant(self, handle: ModelHandle, options: Mapping[str, str]) -> Iterator[ModelHandle]:
        """``handle`` itself without ``options``; else its model made anew with them, closed at the block's end."""
        if not options:
            yield handle
            return
        handle.close()
        spec = self.specs[handle.alias]
        options = {**spec.options, **options}
        text = f"{spec.alias}={written(spec.kind, spec.target, options)}"
        other = self._handle_on(replace(spec, options=options, text=text))
        try:
            yield other
        finally:
            other.close()

    def made(self, spec: ModelSpec, judge: bool = False) -> Model:
        """The model of ``spec`` with what the run gives it; not loaded.

        A ``judge`` says itself where it is asked, for the run's server is the models', and need not hear.
        """
        placed = with_run_wide(spec, self._run_wide(spec, judge))
        model = make(placed if judge else model_server.placed(self, placed), kinds=self.registration.kinds)
        if hasattr(model, "digest_of"):
            model.digest_of = lambda path: self.bench.index.digest_of(path)
        if hasattr(model, "budget"):
            model.budget = self.budget
        if not judge:
            return model_server.behind(self, spec, model)
        if isinstance(getattr(type(model), "hearing", None), property) or not hasattr(model, "hearing"):
            return model
        model.hearing = _PLAYED_NOTHING
        return model

    @cached_property
    def budget(self) -> Budget:
        """What this run may spend on servers of others, shared by all its processes and models."""
        options = self.options
        return Budget(self.place.folder, options.max_cost_usd, options.max_requests, prepare=self.place.open)

    def _handle_on(self, spec: ModelSpec, judge: bool = False) -> ModelHandle:
        """The model of ``spec``, in this process or, where the run shares models, in its device's."""
        model, address = self.made(spec, judge), worker.device_of(self.config)
        if address is not None and getattr(model, "in_process", False):
            from pytest_audiobench.models.device.client import Address, SharedModel

            self.place.shared.add(spec.alias)
            model = SharedModel(model, spec, Address(*address))
        handle = ModelHandle(spec.alias, model, make_way=self._make_way)
        self._made.append(handle)
        return handle

    def _make_way(self) -> None:
        """Close what fills a device: a judge is loaded when the model has answered, and the other way round."""
        for handle in self._made:
            if handle.in_process:
                handle.close()

    def _run_wide(self, spec: ModelSpec, judge: bool) -> Mapping[str, str]:
        options = self.options
        found = {
            "base_url": "" if judge else options.base_url,
            "url_file": "" if judge else str(options.url_file or ""),
            "trust": spec.target if spec.target in options.trusted else "",
        }
        return {name: value for name, value in found.items() if value}

    def check_models(self) -> None:
        """Make every model's handle and read its limits; no weights.

        Raises UsageError for one that cannot be, and for two that would be taken for one.
        """
        for alias in self.specs:
            _ = self.handle(alias).limits
        for handle in self.judges.values():
            check_judge(handle)
        told = [*((spec, False) for spec in self.specs.values()), *((spec, True) for spec in self.judge_specs.values())]
        check_apart({spec.alias: self.made(spec, judge) for spec, judge in told if spec.kind == "openai"})

    def places(self, here: Path) -> Places:
        """Where data may lie, for a test file in the folder ``here``, and what is to be mixed of it."""
        named, shelves = folders(self.options.data, base(self.config, "data"), "--ab-data")
        mixes = written_from(base(self.config, "mix"), self.options.mixes)
        return Places(here, named, [*shelves, self.config.rootpath / "data"], mixes, self.options.stores[0].parent)

    def close(self) -> None:
        for handle in self._made:
            handle.close()
        if "bench" in vars(self):
            self.bench.store.close()
            self.bench.claims.close()
            self.bench.index.close()
