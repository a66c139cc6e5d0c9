"""A protocol's judgings given to the judges of a run: a stage and scorers for each, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import FatalError, UnsuitableModel, UsageError
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Message, Response
from pytest_audiobench.protocols.protocol import (
    HEARING,
    TRANSCRIBER,
    WEIGHING,
    Answer,
    Earlier,
    Judging,
    Protocol,
    Scorer,
    Stage,
)

_DIGITS = 12
"""Of a judge's digest, in the signatures of its scorers."""


class Judged(NamedTuple):
    """A protocol whose stages and scorers name the judges of the run, and what the reader must know of it."""

    protocol: Protocol
    warnings: Sequence[str] = ()


def with_judges(protocol: Protocol, judges: Mapping[str, ModelHandle]) -> Judged:
    """``protocol`` with a stage ``JUDGING@ALIAS`` for each of its judgings and each judge that can be asked it.

    A judge's scorers keep their names where the run has one judge, and are called ``READING@ALIAS`` where it has
    several. Behind them stand the agreements: of each judge with the first scorer by rule, and of each two judges.
    Without a judge, the scorers by rule are left, with a warning; another names what a judge cannot be asked. Raises
    UnsuitableModel, naming the option, when the headline is a judge's, and when no judge can be asked; UsageError for a
    protocol with a judge's stage of its own.
    """
    if own_stages := [stage.name for stage in protocol.stages if stage.role in WEIGHING]:
        raise UsageError(
            f"{protocol.name} has the stage {own_stages[0]!r} of a judge: write it as a Judging, for judged(…, own=…)"
        )
    judgings = [
        judging for judging in protocol.judgings if any(judging.name in _judgings(each) for each in protocol.scorers)
    ]
    if not judgings:
        return Judged(protocol)
    readers = {alias: handle for alias, handle in judges.items() if alias not in HEARING}
    protocol, absences = _without_absent(protocol, judgings, judges, readers)
    wanted = {name for scorer in protocol.scorers for name in _judgings(scorer)}
    judgings = [judging for judging in judgings if judging.name in wanted]
    # All that is asked of one judge is asked in a row, so that one that fills a device is loaded once.
    pairs = [
        (judging, alias)
        for alias, handle in judges.items()
        for judging in judgings
        if (judging.of == alias or (not judging.of and alias in readers)) and handle.can_judge(judging.name)
    ]
    for judging in judgings:
        if not any(judging is other for other, _ in pairs):
            raise UnsuitableModel(
                f"{judging.name} can be put to none of this run's judges ({', '.join(judges)}): name another"
            )
    answer = protocol.answering.name
    stages = tuple(judging_stage(judging, alias, answer) for judging, alias in pairs)
    aliases = {judging.name: [alias for other, alias in pairs if other is judging] for judging in judgings}
    scorers = tuple(bound for scorer in protocol.scorers for bound in _scorers_by_judge(scorer, aliases, judges))
    heard = {stage.name for stage in stages if stage.hears}
    scorers += tuple(_agreements(protocol.scorers, [scorer for scorer in scorers if scorer.judge not in heard]))
    read = [judging.name for judging in judgings if not judging.of]
    omitted = {alias: [name for name in read if alias not in aliases[name]] for alias in readers}
    warnings = absences + tuple(
        f"the judge {alias} cannot be asked {', '.join(names)}, and was not"
        for alias, names in omitted.items()
        if names
    )
    return Judged(replace(protocol, stages=(*protocol.stages, *stages), scorers=scorers), warnings)


def with_rewriters(protocol: Protocol, judges: Mapping[str, ModelHandle]) -> Protocol:
    """``protocol`` with its rewriters' stages given to the first of ``judges`` that can, or UnsuitableModel."""
    if all(stage.role != "rewriter" for stage in protocol.stages):
        return protocol
    return replace(protocol, stages=tuple(_with_judge(stage, judges) for stage in protocol.stages))


def _with_judge(stage: Stage, judges: Mapping[str, ModelHandle]) -> Stage:
    if stage.role != "rewriter":
        return stage
    alias = next((alias for alias, handle in judges.items() if handle.can_judge(stage.name)), None)
    if alias is None:
        named = f"none of this run's judges ({', '.join(judges)}) can be asked to" if judges else "none is named to"
        raise UnsuitableModel(
            f"{stage.name} needs another model, and {named}: name one with --ab-judge, such as --ab-judge=openai:MODEL"
        )
    return replace(stage, judge=alias, rewriter_digest=judges[alias].digest)


def _without_absent(
    protocol: Protocol,
    judgings: Sequence[Judging],
    judges: Mapping[str, ModelHandle],
    readers: Mapping[str, ModelHandle],
) -> tuple[Protocol, tuple[str, ...]]:
    """``protocol`` without the scorers of those whom the run has not, and what that leaves out."""
    of = {judging.name: judging.of for judging in judgings}
    absent: dict[str, list[str]] = {}
    for scorer in protocol.scorers:
        for name in filter(None, _judgings(scorer)):
            if of[name] not in judges if of[name] else not readers:
                absent.setdefault(of[name], []).append(scorer.name)
                break
    if not absent:
        return protocol, ()
    omitted = {name for names in absent.values() for name in names}
    left = tuple(scorer for scorer in protocol.scorers if scorer.name not in omitted)
    # Another scorer in the headline's place would be taken for it.
    for alias, names in absent.items():
        if protocol.scorers[0].name in names:
            need = "needs" if len(names) == 1 else "need"
            rest = f"; --ab-scorer={left[0].name} measures what needs none" if left else ""
            how = f"--ab-judge, such as --ab-judge={f'{alias}={HEARING[alias]}' if alias else 'openai:MODEL'}"
            raise UnsuitableModel(f"{', '.join(names)} {need} a {alias or 'judge'}: name one with {how}{rest}")
    warnings = (
        f"no judge is {f'called {alias} (' if alias else 'named with '}--ab-judge{f'={alias}=…)' if alias else ''}: "
        f"{', '.join(names)} left out"
        for alias, names in absent.items()
    )
    return replace(protocol, scorers=left), tuple(warnings)


def check_judge(handle: ModelHandle) -> None:
    """Raises UsageError for a model that cannot be asked about text alone, or is not available here at all; of one that
    is called as who hears spoken answers, for one that cannot be played them.
    """
    try:
        limits = handle.limits
    except UsageError:
        raise
    except FatalError as error:
        raise UsageError(
            f"--ab-judge={handle.alias}: {error}; a model of text alone can judge behind a server, as "
            "openai:NAME,base_url=http://127.0.0.1:8000/v1"
        ) from None
    if handle.alias in HEARING:
        task = "transcription" if handle.alias == TRANSCRIBER else "open"
        if task not in limits.tasks:
            raise UsageError(f"{handle.spec} cannot be the {handle.alias} of spoken answers: it does no {task} task")
        return
    if "open" not in limits.tasks or limits.min_clips:
        raise UsageError(
            f"{handle.spec} (--ab-judge={handle.alias}) cannot be a judge: it answers no question in words alone"
        )


def judging_stage(judging: Judging, alias: str, answer: str) -> Stage:
    """The stage that asks the judge ``alias`` about what the stage ``answer`` was answered."""

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        return judging.prompt(sample, earlier[answer].text)

    hears, task, beside = answer if judging.of else "", judging.task, judging.beside_clip
    name = f"{judging.name}@{alias}"
    return Stage(name, render, task, judging.settings, judging.role, judge=alias, hears=hears, beside_clip=beside)


def _scorers_by_judge(
    scorer: Scorer, aliases: Mapping[str, Sequence[str]], judges: Mapping[str, ModelHandle]
) -> Iterator[Scorer]:
    """The scorer for each judge that is asked for it; itself where it reads no judge."""
    if not scorer.judge:
        yield scorer
        return
    for alias in aliases[scorer.judge]:
        if not all(alias in aliases[name] for name in scorer.further_judges):
            continue
        several = alias not in HEARING and sum(other not in HEARING for other in judges) > 1
        tail, stages = f"@{alias}" if several else "", [f"{name}@{alias}" for name in _judgings(scorer)]
        yield replace(
            scorer,
            name=scorer.name + tail,
            signature=f"{scorer.signature}|judge:{judges[alias].digest[:_DIGITS]}",
            parse=partial(_parse, scorer, stages),
            companions=tuple(name + tail for name in scorer.companions),
            judge=stages[0],
            further_judges=tuple(stages[1:]),
        )


def _judgings(scorer: Scorer) -> tuple[str, ...]:
    return (scorer.judge, *scorer.further_judges)


def _parse(scorer: Scorer, stages: Sequence[str], sample: Sample, earlier: Earlier) -> Answer:
    verdicts = {name: earlier.get(stage, Response()) for name, stage in zip(_judgings(scorer), stages, strict=True)}
    return scorer.parse(sample, {**earlier, **verdicts})


def _agreements(chosen: Sequence[Scorer], bound: Sequence[Scorer]) -> Iterator[Scorer]:
    """Each judge's first scorer against the rule's, and against every other judge's of the same judging."""
    from pytest_audiobench.protocols.judged.verdicts import agreement

    by_rule = next((scorer for scorer in chosen if not scorer.judge and "accuracy" in scorer.metrics), None)
    first: dict[str, Scorer] = {}
    for scorer in bound:
        if scorer.judge:
            first.setdefault(scorer.judge, scorer)
    if by_rule is not None:
        yield from (agreement(scorer, by_rule) for scorer in first.values())
    for scorer, other in combinations(first.values(), 2):
        if scorer.judge.partition("@")[0] == other.judge.partition("@")[0]:
            yield agreement(scorer, other)
