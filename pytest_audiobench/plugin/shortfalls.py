"""What a run has no result for: what was required or asked for by name, and failures that pytest did not see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pytest

from pytest_audiobench.evaluation.answer_store import message
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.metrics.definitions.human_labels import KAPPA
from pytest_audiobench.models.spec import parse_specs
from pytest_audiobench.plugin.controller import Controller
from pytest_audiobench.plugin.options import perturbations_of, read_options
from pytest_audiobench.plugin.stash import RUN_FILE
from pytest_audiobench.protocols.protocol import ALL
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.report.verdict import ungated_beside

_MOST_NAMES = 5


def notes(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> list[str]:
    """What the exit code does not show: thresholds of evals that were not selected, xfail, tries before the last, names
    of the environment or the ini file that nothing has.
    """
    expected = controller.expected
    nothing = {nodeid: " (measured nothing)" for nodeid in controller.xfailed if nodeid not in controller.measured}
    names = [f"{expected[nodeid].eval}{nothing.get(nodeid, '')}" for nodeid in controller.xfailed]
    excused = [f"failed as expected (xfail), which the exit code does not show: {', '.join(names)}"] * bool(names)
    repeated = [
        f"{expected[nodeid].eval} was run again after {len(reasons)} failed {'try' if len(reasons) == 1 else 'tries'}: "
        f"{message(reasons[0])}"
        for nodeid, reasons in controller.repeated.items()
    ]
    return [
        *(f"not checked: {line}" for line in controller.collected.left_out),
        *excused,
        *repeated,
        *controller.collected.cautions,
        *_ungated_beside(records, config),
        *_grids(records, config),
        *config.stash.get(RUN_FILE, [])[1:],
        *_other_scorers(records, config),
        *([] if _typed("scorer", config) else _idle_scorers(controller, records, config)),
        *([] if _typed("judge", config) else _idle_judges(controller, records, config)),
        *([] if _typed("data", config) else _idle_folders(controller, config)),
    ]


def shortfalls(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> list[str]:
    """A sentence for each; ``records`` are those that the tests left. A run with any does not end in 0."""
    if read_options(config).is_part:
        # What scorers, judges and labels are for is seen over all shards.
        return [
            *controller.collected.missing,
            *_hidden_failures(controller, records),
            *_required(controller, records, config),
        ]
    return [
        *controller.collected.missing,
        *_unchecked(controller, records),
        *_hidden_failures(controller, records),
        *_unmeasured_selections(controller),
        *(_idle_scorers(controller, records, config) if _typed("scorer", config) else ()),
        *(_idle_judges(controller, records, config) if _typed("judge", config) else ()),
        *(_idle_folders(controller, config) if _typed("data", config) else ()),
        *_required(controller, records, config),
        *_idle_labels(records, config),
    ]


def _unchecked(controller: Controller, records: Sequence[ItemRecord]) -> Iterator[str]:
    """Lines of the baseline and thresholds of tests that passed or were skipped without measuring them."""
    measured = {(record.eval, record.model) for record in records if record.scorers}
    for nodeid, expected in controller.expected.items():
        if nodeid in controller.xfailed or controller.outcomes.get(nodeid) not in ("passed", "skipped"):
            continue
        reason = message(controller.messages.get(nodeid, "its test did not evaluate it"))
        for eval_ in expected.in_baseline:
            if (eval_, expected.alias) not in measured:
                yield f"{eval_} ({expected.alias}), which the baseline holds, was not measured: {reason}"
        thresholds = max(expected.thresholds, controller.required.get(nodeid, 0))
        if thresholds and controller.skipped(nodeid):
            what = counted(thresholds, "threshold")
            yield f"{what} of {expected.eval} ({expected.alias}) not checked, since it was skipped: {reason}"


def _hidden_failures(controller: Controller, records: Sequence[ItemRecord]) -> Iterator[str]:
    """Tests whose record says failed, or that left none, and whose report does not: a hook or a wrapper changed it."""
    recorded = {record.nodeid for record in records}
    for nodeid, expected in controller.expected.items():
        if controller.outcomes.get(nodeid) == "passed" and nodeid not in recorded and nodeid not in controller.xfailed:
            yield f"{expected.eval} left no record, and something else in the run reported it as passed"
    for nodeid in dict.fromkeys(record.nodeid for record in records if record.outcome == "failed"):
        outcome = controller.outcomes.get(nodeid, "not run")
        if nodeid in controller.expected and nodeid not in controller.xfailed and outcome != "failed":
            yield f"{controller.expected[nodeid].eval} failed, and something else in the run reported it as {outcome}"


def _unmeasured_selections(controller: Controller) -> Iterator[str]:
    """What the command line names and of which nothing was measured."""
    for name, nodeids in controller.collected.named.items():
        if all(map(controller.skipped, nodeids)) and not set(nodeids) & set(controller.xfailed):
            reasons = list(dict.fromkeys(message(controller.messages.get(nodeid, "")) for nodeid in nodeids))
            more = f" (and {counted(len(reasons) - 1, 'more reason')}: pytest -rs)" if len(reasons) > 1 else ""
            yield f"nothing of {name} was measured: {reasons[0]}{more}"


def _typed(option: str, config: pytest.Config) -> bool:
    """Whether the command line has the option, not the environment or the ini file, which may list more than is run."""
    return config.getoption(f"--ab-{option}") is not None


def _idle_scorers(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    used = {scorer.name for record in records for scorer in record.scorers}
    for name in read_options(config).scorers:
        if name != ALL and name not in used and not _unanswered(controller, records):
            yield f"--ab-scorer={name} scored nothing: no eval that was measured has that scorer"


def _unanswered(controller: Controller, records: Sequence[ItemRecord]) -> bool:
    """Whether an eval failed before it was scored: which scorers and judges it has is not known, and it is red."""
    scored = {record.nodeid for record in records if record.scorers}
    return any(outcome == "failed" and nodeid not in scored for nodeid, outcome in controller.outcomes.items())


def _idle_judges(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    used = {alias for record in records for alias in record.judges}
    for spec in parse_specs(read_options(config).judges):
        if (
            spec.alias not in used
            and any(record.scorers for record in records)
            and not _unanswered(controller, records)
        ):
            yield (
                f"the judge {spec.alias} (--ab-judge) was asked nothing: no eval that was measured has a scorer of its "
                "verdicts; name one, such as --ab-scorer=yes-no"
            )


def _idle_labels(records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    """Human labels that nothing was compared with: a run that asks for agreement and has none is not green."""
    options = read_options(config)
    labels, is_typed = options.human_labels, _typed("human-labels", config)
    # The ini file's are for the runs that judge.
    if not labels or not (is_typed or (options.judges and any(record.scorers for record in records))):
        return
    if not any(metric.name == KAPPA and metric.n for record in records for metric in record.metrics):
        yield (
            f"--ab-human-labels={labels} labelled nothing: no answer that a judge judged has an id, eval and model of "
            "its labels"
        )


def _idle_folders(controller: Controller, config: pytest.Config) -> Iterator[str]:
    for name in controller.collected.unknown_data:
        if name not in controller.lookups:
            yield f"--ab-data={name}=FOLDER was used by nothing: no eval of this run looked up {name!r}"


def _other_scorers(records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    """The evals that none of the named scorers fits."""
    names = set(read_options(config).scorers)
    others = [record.eval for record in records if record.scorers and not names & {s.name for s in record.scorers}]
    if others and names and ALL not in names:
        evals = listed(list(dict.fromkeys(others)), _MOST_NAMES)
        own = "left to its own" if len(others) == 1 else "left to their own"
        yield f"--ab-scorer names none of the scorers of {counted(len(others), 'eval')}, {own}: {evals}"


def _grids(records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    """The evals of files with perturbations of their own, to which the option's do not apply."""
    grid = [
        item.eval
        for item in records
        if item.perturbation and not item.control and ".toml::" in item.nodeid
        if item.perturbation.name in item.nodeid.rpartition("[")[2]
    ]
    if grid and perturbations_of(config):
        names = ", ".join(grid[:_MOST_NAMES]) + ", …" * (len(grid) > _MOST_NAMES)
        yield f"--ab-perturbations does not apply to files with perturbations of their own: {names}"


def _ungated_beside(records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    """How to require something of evals under perturbations where others have requirements."""
    if not (items := ungated_beside(records)):
        return
    asked = list(dict.fromkeys(item.perturbation.name for item in items if item.perturbation))
    names = listed(asked, _MOST_NAMES)
    file = read_options(config).config
    rule = f'[[threshold]] with eval = "{items[0].eval}" in {file.name if file else "audiobench.toml"}'
    grid = ", ".join(f'"{name}"' for name in ("clean", *asked[:1]))
    place = items[0].nodeid.partition("::")[0]
    same = (
        f"perturbations = [{grid}] in {place.rpartition('/')[2]}"
        if place.endswith(".toml")
        else f'a test parametrized by perturbations("named", {grid})'
    )
    yield f"{names}: measured, and no threshold applies; one of its own: {rule}; the same as of clean audio: {same}"


def _required(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> Iterator[str]:
    """What ``--ab-require`` names and whose data is not on this machine, or of which nothing was measured."""
    names = read_options(config).required
    lacking: dict[str, str] = {}
    has_no_baseline = not any(expected.in_baseline for expected in controller.expected.values())
    seen = {name for record in records if record.scorers for name in _names(record.suite, [record.dataset])}
    for nodeid, sets in controller.unavailable.items():
        own = _names(controller.expected[nodeid].suite, sets)
        seen |= own
        # With a baseline all are those that it holds.
        is_one = has_no_baseline or bool(controller.expected[nodeid].in_baseline)
        for name in sorted({*own, *([ALL] if is_one else [])} & set(names)):
            reason = message(controller.messages.get(nodeid, "its data is not on this machine"))
            lacking.setdefault(", ".join(sorted(sets)), f"which --ab-require={name} asks for, is unavailable: {reason}")
    yield from (f"{sets}, {reason}" for sets, reason in lacking.items())
    yield from (f"nothing was measured that --ab-require={name} asks for" for name in names if name not in {ALL, *seen})


def _names(suite: str, sets: Collection[str]) -> set[str]:
    """What an eval may be required by: its suite, its data set, and the benchmark that this is a part of."""
    return {suite, *sets, *(name.partition("/")[0] for name in sets)}
