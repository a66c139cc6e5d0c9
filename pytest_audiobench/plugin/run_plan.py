"""What a run is about to ask: how many answers of which model, how many of them are known, and about how long.

An eval that ran with a store before has left a note there of what it took. One that did not is counted by its rows,
where a file declares them; what only a test's code says is counted once it ran.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.errors import AudiobenchError, DataNotFound, UnsuitableModel
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.perturbation_series import without_perturbation
from pytest_audiobench.plugin.eval_items import DECLARED, ITEM, PERTURBATION, DeclaredEval
from pytest_audiobench.plugin.needed_parts import case_of
from pytest_audiobench.plugin.run_folder import Planned
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import WIDTH, counted, cut_in_the_middle, duration

if TYPE_CHECKING:
    from pytest_audiobench.gate.sight import Sight
    from pytest_audiobench.protocols.prompt_sets import PromptSet

_NOTE = "asked:"
_MOST_BYTES = 20_000_000
"""Of rows that are counted beforehand: reading more would hold up the run."""


class _Size(NamedTuple):
    """What an eval took when it ran."""

    model: str
    digest: str
    eval: str
    samples: int
    answers: int
    seconds: float
    epochs: int = 1
    prompt: str = ""
    """The published prompt that it was asked in."""
    chosen: str = ""
    """The set of ``--ab-prompts`` that it was asked in."""
    wordings: int = 1
    """In how many wordings each sample was asked."""
    family: str = ""
    dataset: str = ""
    again: int = 0
    """Answers to the same questions asked again, in addition to those."""

    def in_chosen(self, sets: Sequence[PromptSet]) -> _Size:
        """The same, asked in the one of ``sets`` that it is in this run."""
        prompts = next((prompts for prompts in sets if prompts.is_for(self.family, self.dataset)), None)
        if prompts is None or self.chosen == _text_of(prompts):
            return self
        count = len(prompts.paraphrases) if prompts.seed is None else 1
        answers, seconds = (part * count / self.wordings for part in (self.answers, self.seconds))
        return self._replace(answers=round(answers), seconds=seconds, chosen="", wordings=count)

    def within(self, limit: int | None, epochs: int) -> int:
        """Its answers, where no more than ``limit`` samples are taken, and each is asked ``epochs`` times."""
        share = 1.0 if limit is None or limit >= self.samples else limit / self.samples
        return round(self.answers * share * epochs / self.epochs)

    def again_within(self, limit: int | None) -> int:
        """Its answers to what is asked again, in one epoch each."""
        share = 1.0 if limit is None or limit >= self.samples else limit / self.samples
        return round(self.again * share)


def remember(
    store: Store,
    handle: ModelHandle,
    eval_: str,
    record: ItemRecord,
    prompt: str,
    sets: Sequence[PromptSet] = (),
    again: int = 0,
) -> None:
    """Keep what an evaluation of the item ``eval_`` took, in the published ``prompt`` or in one of ``sets``, for the
    plans of later runs; ``again`` these answers are to the same asked again.
    """
    answers = record.asking.asked + record.asking.known
    seconds = float(record.taken.get("seconds", 0.0))
    size = _Size(handle.spec, handle.digest, eval_, record.n, answers, seconds, record.epochs, prompt)
    wordings = record.options.get("wordings")
    size = size._replace(
        chosen=next((_text_of(prompts) for prompts in sets if prompts.is_for(record.protocol, record.dataset)), ""),
        wordings=len(wordings) if isinstance(wordings, list) and "wording_seed" not in record.options else 1,
        family=record.protocol,
        dataset=record.dataset,
        again=again,
    )
    way = f"@{prompt}" * bool(prompt) + f"%{size.chosen}" * bool(size.chosen)
    store.keep_note(f"{_NOTE}{handle.spec}:{record.eval}{way}", json.dumps(size))


def _text_of(prompts: PromptSet) -> str:
    return f"{prompts.digest}{'' if prompts.seed is None else f':{prompts.seed}'}"


def plan(
    shared: EvalSession, selected: Sequence[pytest.Item], local: Collection[str]
) -> tuple[list[str], dict[str, Planned]]:
    """A line for each model of the ``selected`` evals, and what is known of each by node id; ``local`` are the kinds
    whose weights tell what they are.
    """
    planned: dict[str, Planned] = {}
    first = next(iter(shared.specs))
    by_alias = sorted(selected, key=lambda item: list(shared.specs).index(item.stash[ITEM].alias or first))
    lines = []
    with suppress(AudiobenchError):
        sizes = [size for size in _sizes(shared.bench.store) if size.prompt == shared.options.prompt]
        chosen = {_text_of(prompts) for prompts in shared.prompts}
        exact = {(size.eval, size.model) for size in sizes if size.chosen in chosen}
        # Where it never ran in the run's sets, what it took in its own words says how many samples it has.
        sizes = [size for size in sizes if size.chosen in (chosen if (size.eval, size.model) in exact else {""})]
        for asked, items in groupby(by_alias, key=lambda item: item.stash[ITEM].alias or first):
            own = list(items)
            for alias in shared.options.gate or (asked,):
                lines.append(_line(shared, alias, own, sizes, shared.specs[alias].kind in local, planned))
    return lines, planned


def _sizes(store: Store) -> Iterator[_Size]:
    for _, text in store.notes(_NOTE):
        with suppress(ValueError, TypeError):
            yield _Size(*json.loads(text))


def _line(
    shared: EvalSession,
    alias: str,
    items: Sequence[pytest.Item],
    sizes: Sequence[_Size],
    is_local: bool,
    planned: dict[str, Planned],
) -> str:
    handle, limit, epochs = shared.handle(alias), shared.options.limit, shared.options.epochs
    asked = [size for size in sizes if bool(size.chosen) == bool(shared.prompts)]
    sizes = [size.in_chosen(shared.prompts) for size in sizes]
    own = [size for size in sizes if size.model == handle.spec]
    asked = [size for size in asked if size.model == handle.spec]
    asked_before = {} if shared.options.refresh or shared.reuse.fresh else _by_eval(asked, handle if is_local else None)
    sizes_by_eval = {**_by_eval(sizes), **_by_eval(own)}
    total, known, evals, uncounted, seconds = 0, 0, 0, 0, 0.0
    mean_s = _each_s(own)
    for item in items:
        name = item.stash[ITEM].eval
        # Asked under a perturbation for the first time it takes what it took as it is.
        parts = sizes_by_eval.get(name) or sizes_by_eval.get(_as_it_is(item), [])
        size = _declared_bytes(shared, item)
        if size == -1 or lacks_judge(shared, item):
            planned[item.nodeid] = Planned(0)
            continue
        answers = sum(part.within(limit, epochs) for part in parts) if parts else None
        if answers is None and size is not None and size <= _MOST_BYTES:
            answers = _counted(shared, item, limit)
        if answers is None:
            uncounted += 1
            continue
        before = asked_before.get(name, [])
        earlier = min(answers, sum(part.within(limit, min(epochs, part.epochs)) for part in before))
        again = _again(shared, item, handle, answers // epochs, parts, limit)
        answers, earlier = answers + again, earlier + min(again, sum(part.again_within(limit) for part in before))
        other = planned.get(item.nodeid, Planned(0))
        planned[item.nodeid] = Planned(other.answers + answers, other.known + earlier)
        timed = [part for part in parts if part.model == handle.spec and part.seconds]
        total, known, evals = total + answers, known + earlier, evals + 1
        seconds += (answers - earlier) * (_each_s(timed) or mean_s)
    if uncounted and not evals:
        return f"to ask of {alias}: {counted(uncounted, 'eval')}, never run here, so that no time is known"
    # What other weights of the same name were asked may be in the store as well: that none is would be a guess.
    said = [
        f"{counted(total, 'answer')} in {counted(evals, 'eval')}",
        *([f"up to {known} in the store"] if known else []),
    ]
    if total > known:
        said.append(f"about {duration(seconds)} of asking" if seconds else "how long is not known yet")
    if uncounted:
        said.append(f"{counted(uncounted, 'eval')} not counted, which never ran here")
    return f"to ask of {alias}: {', '.join(said)}"


def lacks_judge(shared: EvalSession, item: pytest.Item) -> bool:
    """Whether an eval without code is skipped, since its headline is a judge's and the run has none."""
    protocol = None if shared.options.judges or DECLARED not in item.stash else item.stash[DECLARED].protocol()
    if protocol is None or (not protocol.judgings and all(stage.role == "subject" for stage in protocol.stages)):
        return False
    from pytest_audiobench.evaluation.evaluate import with_named_scorers
    from pytest_audiobench.evaluation.judging import with_judges, with_rewriters

    try:
        with_judges(with_rewriters(with_named_scorers(protocol, shared.options.scorers), {}), {})
    except UnsuitableModel:
        return True
    return False


def _again(
    shared: EvalSession, item: pytest.Item, handle: ModelHandle, each: int, parts: Sequence[_Size], limit: int | None
) -> int:
    """How many answers are asked for to ``each`` question again: of any eval without code for the noise floor, of
    another what it asked for when it ran.
    """
    if DECLARED not in item.stash:
        return sum(part.again_within(limit) for part in parts)
    data = item.stash[DECLARED].dataset(case_of(item)) if shared.options.noise_floor else None
    if not isinstance(data, Dataset) or data.withheld:
        return 0
    from pytest_audiobench.studies.determinism import repetitions

    return each * repetitions(handle)


def _as_it_is(item: pytest.Item) -> str:
    """The name of the eval without the perturbation that it is asked under in addition."""
    callspec, name = getattr(item, "callspec", None), item.stash[ITEM].eval
    return without_perturbation(name, callspec.params.get(PERTURBATION, "")) if callspec else name


def _each_s(sizes: Sequence[_Size]) -> float:
    return sum(size.seconds for size in sizes) / max(1, sum(size.answers for size in sizes))


def _by_eval(sizes: Sequence[_Size], handle: ModelHandle | None = None) -> Mapping[str, list[_Size]]:
    """The evaluations of each eval; with ``handle`` those alone that were of the very same weights."""
    by_eval: dict[str, dict[str, list[_Size]]] = {}
    for size in sizes:
        if handle is None or size.digest == handle.digest:
            by_eval.setdefault(size.eval, {}).setdefault(size.model, []).append(size)
    return {eval_: next(reversed(of_model.values())) for eval_, of_model in by_eval.items()}


def _declared_bytes(shared: EvalSession, item: pytest.Item) -> int | None:
    """What the rows of an eval without code take on disk, -1 where they are not there; None where no file says."""
    declared = item.stash.get(DECLARED, DeclaredEval())
    data = declared.data()
    if data is None:
        manifest = declared.manifest()
        return None if manifest is None else _bytes(item.path.parent / Path(manifest).expanduser())
    from pytest_audiobench.datasets.declared import rows_bytes

    try:
        return rows_bytes(data, case_of(item), shared.places(item.path.parent))
    except DataNotFound:
        return -1


def _bytes(manifest: Path) -> int | None:
    """What is read of a manifest to know its rows: of a folder its lists, and of sound nothing but the names."""
    if not manifest.is_dir():
        return manifest.stat().st_size if manifest.is_file() else None
    return sum(
        file.stat().st_size for file in manifest.iterdir() if file.is_file() and file.suffix.lower() not in ENDINGS
    )


def _counted(shared: EvalSession, item: pytest.Item, limit: int | None) -> int | None:
    """The answers that the declared rows of an eval ask for; None where they cannot be counted."""
    dataset, protocol = item.stash[DECLARED].dataset(case_of(item)), item.stash[DECLARED].protocol()
    if dataset is None or isinstance(dataset, str) or protocol is None:
        return None
    try:
        if shared.prompts:
            from pytest_audiobench.protocols.prompt_variants import with_chosen_prompts

            protocol = with_chosen_prompts(protocol, shared.prompts, dataset.name)
        samples = len(dataset.read(shared.places(item.path.parent)))
    except AudiobenchError:
        return None  # its eval says why
    stages = sum(stage.role == "subject" for stage in protocol.stages)
    return stages * shared.options.epochs * (samples if limit is None else min(samples, limit))


def sight_lines(sights: Sequence[Sight]) -> list[str]:
    """The least and the largest drop that a gate will see, in two lines; of what is not in points one metric's."""
    seeing = [sight for sight in sights if not math.isinf(sight.loss)]
    chosen = [sight for sight in seeing if sight.in_points]
    chosen = chosen or [sight for sight in seeing if sight.metric == seeing[0].metric]
    blind = len(sights) - len(seeing)
    few = f"too few samples to call any drop regressed: {counted(blind, 'eval')}" if blind else ""
    if not chosen:
        return [few] if few else []
    ends = sorted(chosen, key=lambda sight: sight.loss)
    ends = [ends[0], ends[-1]] if len(ends) > 1 else ends
    basis = "with flips assumed" if any(sight.is_assumed for sight in ends) else "by the model's noise floor"
    drops = [f"{sight.loss_text} in " for sight in ends]
    rest = f"; too few samples in {counted(blind, 'eval')}" if blind else ""
    room = max(9, (WIDTH - len(f"  {' to '.join(drops)}{rest}")) // len(ends))
    named = [f"{drop}{cut_in_the_middle(sight.eval, room)}" for drop, sight in zip(drops, ends, strict=True)]
    return [f"smallest drop called regressed four times in five, {basis}:", f"  {' to '.join(named)}{rest}"]
