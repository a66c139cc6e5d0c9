"""One process's part in a run: the store, the memory of audio, the models that its evals share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_audiobench.datasets.places import NamedFolders, Places, data_root, folders
from pytest_audiobench.errors import UsageError, disk_errors
from pytest_audiobench.evaluation.batch_executor import Reuse
from pytest_audiobench.evaluation.model_handle import ModelHandle, stored_hearing, stored_noise
from pytest_audiobench.gate.config import Rules, find_rules
from pytest_audiobench.models.model import Hearing, Model
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.remote.budget import Budget
from pytest_audiobench.models.spec import NOTE, STYLE, ModelSpec, parse_specs, written
from pytest_audiobench.plugin.hookspecs import Registration, registration_of
from pytest_audiobench.plugin.options import Options, base, check_early_stop
from pytest_audiobench.plugin.progress import Progress, Report
from pytest_audiobench.plugin.run_folder import RunFolder, keep_out_of_git
from pytest_audiobench.plugin.workers import BASELINE, DEVICES, process_name, worker_input
from pytest_audiobench.records.run import HearingRecord, ModelRecord, ShardRecord
from pytest_audiobench.report.live_run import AtWork

if TYPE_CHECKING:
    from pytest_audiobench.datasets.corrections import Corrections
    from pytest_audiobench.evaluation.evaluate import RunContext
    from pytest_audiobench.evaluation.human_labels import HumanLabels
    from pytest_audiobench.models.device.ray_cluster import RayCluster
    from pytest_audiobench.plugin.model_server import RunServers
    from pytest_audiobench.plugin.regression_gate import Gate
    from pytest_audiobench.protocols.prompt_sets import PromptSet
    from pytest_audiobench.protocols.reasoned_choice.prompt_styles import StyleName
    from pytest_audiobench.sharing.exporters import Destination

_PLAYED_NOTHING = Hearing("unproven", "a judge is played nothing")


def shard_of(options: Options) -> ShardRecord | None:
    """The part of every eval that is asked; None for all."""
    return ShardRecord(*options.shard) if options.shard and options.is_part else None


class EvalSession:
    """One process's part in a run. Nothing is opened, made or read before it is needed."""

    def __init__(self, config: pytest.Config, options: Options, place: RunFolder, progress: Progress) -> None:
        self.config, self.options, self.place = config, options, place
        self._progress, self._at = progress, AtWork(place.folder / f"at-{process_name(config)}.json")
        self.checked = False
        self.collected: list[pytest.Item] = []
        """All evals that were collected, whatever is selected of them."""
        self.unknown_data: list[str] = []
        """Names of ``--ab-data=NAME=FOLDER`` that nothing is known to look up."""
        self.reuse = Reuse()
        self.devices_here: Callable[[], Sequence[Sequence[str]]] = tuple
        """The addresses of devices' processes that this one asks without being a worker, and what starts them."""
        self.start_devices: Callable[[], None] = lambda: None
        self._handles: dict[str, ModelHandle] = {}
        self._all_handles: list[ModelHandle] = []

    def progress_of(self, eval_: str) -> Report:
        """Says how far an eval has come, on the screen and in the run's folder."""
        return self._at.of(eval_, self._progress.of(eval_))

    @property
    def registration(self) -> Registration:
        return registration_of(self.config)

    @cached_property
    def specs(self) -> Mapping[str, ModelSpec]:
        """The models by alias, in the order given; of two that are compared the candidate first. Raises UsageError for
        others than the two.
        """
        specs = {spec.alias: spec for spec in parse_specs(self.options.models)}
        if (pair := self.options.gate) is None:
            return specs
        if specs.keys() != set(pair):
            raise UsageError(
                f"--ab-gate={':'.join(pair)} compares two models, and --ab-model gives {', '.join(specs)}: name both "
                "as ALIAS=SPEC, and no other"
            )
        return {alias: specs[alias] for alias in pair}

    @cached_property
    def judge_specs(self) -> Mapping[str, ModelSpec]:
        """The judges by alias, in the order given. Raises UsageError for one that is called like a model."""
        specs = {spec.alias: spec for spec in parse_specs(self.options.judges)}
        for alias, spec in specs.items():
            if alias in self.specs:
                raise UsageError(
                    f"a model and a judge are both called {alias!r}: give the judge its own name, such as "
                    f"--ab-judge=judge={spec.kind}:{spec.target}"
                )
        return specs

    @cached_property
    def judges(self) -> Mapping[str, ModelHandle]:
        """The judges by alias."""
        from pytest_audiobench.protocols.protocol import HEARING

        return {alias: self._handle_on(spec, judge=alias not in HEARING) for alias, spec in self.judge_specs.items()}

    @cached_property
    def human_labels(self) -> HumanLabels | None:
        """What people said about answers. Raises UsageError for a file with mistakes, and where nothing is judged."""
        options = self.options
        if not options.human_labels:
            if options.human_kappa is not None:
                raise UsageError("--ab-human-kappa bounds the agreement with --ab-human-labels: name their file")
            return None
        from pytest_audiobench.evaluation.human_labels import read_human_labels

        if options.epochs > 1:
            raise UsageError("--ab-human-labels are of one answer to each sample: leave out --ab-epochs")
        if not options.judges:
            if self.config.getoption("--ab-human-labels") is None:
                return None
            raise UsageError("--ab-human-labels are compared with a judge's verdicts: name one with --ab-judge SPEC")
        return read_human_labels(options.human_labels, base(self.config, "human-labels"))

    @cached_property
    def rules(self) -> Rules:
        """The declared thresholds; metrics that strangers register are known by then."""
        _ = self.registration
        return find_rules(self.config.rootpath, self.options.config)

    @cached_property
    def gate(self) -> Gate | None:
        """The comparison of every eval with ``--ab-baseline``. Raises UsageError for a bad margin or baseline."""
        options = self.options
        if options.max_drop:
            from pytest_audiobench.gate.threshold_syntax import read_margin
            from pytest_audiobench.gate.thresholds import NO_MARGIN

            try:
                _ = options.max_drop == NO_MARGIN or read_margin(options.max_drop)
            except UsageError as error:
                raise UsageError(f"--ab-max-drop: {error}, or none for declared lines only") from None
        if options.early_stop and not worker_input(self.config):
            check_early_stop(self.config, options)
        if options.gate is not None:
            from pytest_audiobench.comparison.baseline_sources import baseline_of_model
            from pytest_audiobench.plugin.regression_gate import Gate

            alias = options.gate[1]
            baseline = baseline_of_model(self.handle(alias), self.place.run, options.limit, options.epochs)
            return Gate(baseline, options, self.rules, self.encoder)
        if not options.baseline or options.is_part:
            return None
        from pytest_audiobench.comparison.baseline_sources import baseline_from
        from pytest_audiobench.plugin.regression_gate import Gate

        source = worker_input(self.config).get(BASELINE) or options.baseline
        folder = base(self.config, "baseline")
        # Each eval reads recorded answers by its own samples and scorers.
        baseline = baseline_from(source, options.reports, folder, self.place.run, options.limit, terms=None)
        for alias in self.specs:
            baseline.of(alias)
        return Gate(baseline, options, self.rules, self.encoder)

    @cached_property
    def prompts(self) -> tuple[PromptSet, ...]:
        """The sets of ``--ab-prompts``. Raises UsageError for a set or a number that there is not."""
        if not self.options.prompts:
            return ()
        from pytest_audiobench.protocols.prompt_sets import chosen_sets

        return chosen_sets(self.options.prompts, base(self.config, "prompts"))

    @cached_property
    def exports(self) -> list[Destination]:
        """Where the run is written to when it is over. Raises UsageError for what names no such place."""
        if not self.options.exports:
            return []
        from pytest_audiobench.sharing.exporters import destination

        return [destination(text) for text in self.options.exports]

    @cached_property
    def encoder(self) -> str:
        """The spec of ``--ab-encoder``, a folder as a whole path; "" without one.

        Raises UsageError for an encoder that there is not, and for one whose parts are not installed.
        """
        if not (spec := self.options.encoder):
            return ""
        from pytest_audiobench.protocols.text_encoders import encoder

        name, _, path = spec.partition(":")
        if path:
            spec = f"{name}:{base(self.config, 'encoder') / Path(path).expanduser()}"
        if missing := encoder(spec).missing:
            raise UsageError(f"--ab-encoder={spec}: {missing}")
        return spec

    def style(self, alias: str) -> StyleName | None:
        """The style that a model's spec names, None without one. Raises UsageError for one that there is not."""
        spec = self.specs.get(alias) or self.judge_specs[alias]
        if STYLE not in spec.options:
            return None
        from pytest_audiobench.protocols.reasoned_choice.prompt_styles import style_named

        try:
            return style_named(spec.options[STYLE]).name
        except UsageError as error:
            raise UsageError(f"{STYLE}={spec.options[STYLE][:80]} of {alias}: {error}") from None

    @cached_property
    def bench(self) -> RunContext:
        # A run that only collects needs no statistics.
        from pytest_audiobench.audio.index import AudioIndex
        from pytest_audiobench.evaluation.answer_store import Store
        from pytest_audiobench.evaluation.batch_executor import BatchLocks
        from pytest_audiobench.evaluation.evaluate import RunContext

        first, *extras = self.options.stores
        with disk_errors(first.parent):
            keep_out_of_git(first.parent)
            place, merged = self.place, self.options.is_merged
            store = Store(first, place.run, self.options.refresh, extras, place.started, self._commit, merged)
            locks = BatchLocks(first.with_name(first.name + ".claims"))
        return RunContext(
            run=self.place.run,
            store=store,
            locks=locks,
            index=AudioIndex(first.parent / "audio.sqlite"),
            limit=self.options.limit,
            epochs=self.options.epochs,
            scorers=self.options.scorers,
            prompts=self.prompts,
            encoder=self.encoder,
            judges=self.judges,
            human_labels=self.human_labels,
            reuse=self.reuse,
        )

    @property
    def shard(self) -> ShardRecord | None:
        """The part of every eval that this run asks about; None for all."""
        return shard_of(self.options)

    @cached_property
    def code(self) -> str:
        """What asks: the package's version, and the commit that is checked out."""
        from pytest_audiobench.report.run_writer import runtime

        release = runtime().packages.get("pytest-audiobench", "")
        return f"pytest-audiobench {release} {self._commit()}"

    def _commit(self) -> str:
        from pytest_audiobench.plugin.earlier_answers import commit_of

        return commit_of(self.config.rootpath)

    def handle(self, alias: str | None) -> ModelHandle:
        """The model of that alias, or the only one. At most one is loaded at a time, but for two behind servers that
        are compared.
        """
        spec = self.specs[alias] if alias is not None else next(iter(self.specs.values()))
        for other in self._handles.values():
            if other.alias != spec.alias and (other.in_process or self.options.gate is None):
                other.close()
        if spec.alias not in self._handles:
            self._handles[spec.alias] = self._handle_on(spec)
        return self._handles[spec.alias]

    @contextmanager
    def variant(self, handle: ModelHandle, options: Mapping[str, str]) -> Iterator[ModelHandle]:
        """``handle`` itself without ``options``; else its model made again with them, closed at the block's end."""
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

    def model_of(self, spec: ModelSpec, judge: bool = False) -> Model:
        """The model of ``spec`` with what the run gives it, not loaded; a ``judge`` is played nothing."""
        servers = self._servers
        model = make(servers.placed(spec) if servers else spec, kinds=self.registration.kinds)
        if hasattr(model, "digest_of"):
            model.digest_of = lambda path: self.bench.index.digest_of(path)
        if hasattr(model, "budget"):
            model.budget = self.budget
        if hasattr(model, "part_store"):
            model.part_store = lambda: self.bench.store
        if hasattr(model, "asked_anew"):
            model.asked_anew = lambda: self.reuse.fresh
        if judge and hasattr(model, "hearing") and not isinstance(getattr(type(model), "hearing", None), property):
            model.hearing = _PLAYED_NOTHING
        return servers.behind(spec, model) if servers else model

    @cached_property
    def _servers(self) -> RunServers | None:
        if not self.options.starts_servers:
            return None
        from pytest_audiobench.plugin.model_server import RunServers

        return RunServers(self.config, self.place.folder)

    @cached_property
    def budget(self) -> Budget:
        """What this run may spend on servers of others, shared by all its processes and models."""
        options = self.options
        return Budget(self.place.folder, options.max_cost_usd, options.max_requests, prepare=self.place.open)

    def _handle_on(self, spec: ModelSpec, judge: bool = False) -> ModelHandle:
        """The model of ``spec``, in this process or, where the run shares models, in its device's."""
        model = self.model_of(spec, judge)
        in_process = getattr(model, "in_process", False)
        if in_process and self.options.ray:
            from pytest_audiobench.models.device.ray_cluster import RayModel

            model = RayModel(model, spec, self._ray)
        elif in_process and (addresses := self._devices()):
            from pytest_audiobench.models.device.client import Address, SharedModel

            if worker_input(self.config):
                self.place.shared.add(spec.alias)
            model = SharedModel(model, spec, [Address(*address) for address in addresses], self.start_devices)
        handle = ModelHandle(spec.alias, model, make_way=self._make_way)
        self._all_handles.append(handle)
        return handle

    def _devices(self) -> Sequence[Sequence[str]]:
        """The addresses of the devices' processes, where the run has any."""
        values = worker_input(self.config)
        return values.get(DEVICES, ()) if values else self.devices_here()

    @cached_property
    def _ray(self) -> RayCluster:
        from pytest_audiobench.models.device.ray_cluster import RayCluster

        return RayCluster(self.options.ray, self.registration.kinds)

    def _make_way(self) -> None:
        """Close what fills a device: a judge is loaded when the model has answered, and the other way round."""
        for handle in self._all_handles:
            if handle.in_process:
                handle.close()

    def check_models(self) -> None:
        """Read every model's limits; no weights. UsageError for one that cannot be, and for two that are one."""
        for alias in (*self.specs, *self.judge_specs):
            self.style(alias)
        for alias in self.specs:
            _ = self.handle(alias).limits
        if self.judges:
            from pytest_audiobench.evaluation.judging import check_judge

            for handle in self.judges.values():
                check_judge(handle)
        _ = self.human_labels
        specs = [(spec, False) for spec in self.specs.values()] + [(spec, True) for spec in self.judge_specs.values()]
        models = {spec.alias: self.model_of(spec, judge) for spec, judge in specs if spec.kind == "openai"}
        if models:
            from pytest_audiobench.models.remote.endpoint import check_apart

            check_apart(models)

    def check_libraries(self, aliases: Collection[str]) -> None:
        """Raises UsageError for a library that is not installed and that asking these models, or the judges, needs."""
        for spec in [*(self.specs[alias] for alias in sorted(aliases)), *self.judge_specs.values()]:
            if lacking := getattr(self.model_of(spec), "missing_parts", str)():
                raise UsageError(f"the model {spec.text} cannot be asked here: {lacking}")

    def announce(self, handle: ModelHandle, role: Literal["subject", "judge"] = "subject") -> None:
        """Write for the run's record what a model is, and what is known by now of its hearing and noise: of a judge,
        which is played nothing, nothing is.
        """
        store, evaluated = self.bench.store, role == "subject"
        self.place.open()
        self.place.announce_model(
            ModelRecord(
                alias=handle.alias,
                spec=handle.spec,
                role=role,
                batching="planned" if handle.planned else "opaque",
                device=handle.device,
                **handle.identity,
                hearing=HearingRecord(*stored_hearing(store, handle)) if evaluated and handle.listens else None,
                noise=stored_noise(store, handle) if evaluated else None,
                shared=handle.alias in self.place.shared,
                is_mere_name=handle.is_mere_name,
                note=(self.specs.get(handle.alias) or self.judge_specs[handle.alias]).options.get(NOTE, ""),
            )
        )

    @cached_property
    def corrections(self) -> Mapping[str, Corrections]:
        """The corrections of data by the name of the eval. Raises UsageError for a file that cannot be read as such."""
        if not self.options.corrections:
            return {}
        from pytest_audiobench.datasets.corrections import read_corrections

        files: dict[str, Corrections] = {}
        for entry in self.options.corrections:
            # The last sign: the name of an eval may hold one among its parameters.
            eval_, equals, file = entry.rpartition("=")
            if not (equals and eval_ and file):
                raise UsageError(f"--ab-corrections={entry}: write EVAL=FILE, such as bundled/digits=corrections.csv")
            if eval_ in files:
                raise UsageError(f"--ab-corrections: {eval_} has two files; write their rows into one")
            files[eval_] = read_corrections(base(self.config, "corrections") / Path(file).expanduser(), eval_)
        return files

    @cached_property
    def data_folders(self) -> tuple[NamedFolders, list[Path]]:
        """Those of one data set by its name, and shelves of many. Raises UsageError for what is no folder."""
        return folders(self.options.data, base(self.config, "data"), "--ab-data")

    @property
    def data_root(self) -> Path:
        """Where fetched data lies."""
        return data_root(self.options.data_root)

    def places(self, here: Path) -> Places:
        """Where data may lie, for a test file in the folder ``here``, and what is to be mixed of it."""
        by_name, shelves = self.data_folders
        mixes: tuple[str, ...] = ()
        if self.options.mixes:
            from pytest_audiobench.datasets.packs.recipes import absolute_mixes

            mixes = absolute_mixes(base(self.config, "mix"), self.options.mixes)
        return Places(
            here,
            by_name,
            [*shelves, self.config.rootpath / "data", self.data_root],
            mixes,
            scenes=self.options.scenes,
            pools=self.options.pools,
            cache=self.options.stores[0].parent,
        )

    def close(self) -> None:
        for handle in self._all_handles:
            try:
                handle.close()
            except (Exception, SystemExit) as error:
                # The run is judged by now: a model that cannot end must not change its exit code.
                print(f"the model {handle.alias} cannot be closed: {error!r}", file=sys.stderr)
        if "_ray" in vars(self):
            self._ray.close()
        if "bench" in vars(self):
            self.bench.store.close()
            self.bench.locks.close()
            self.bench.index.close()
