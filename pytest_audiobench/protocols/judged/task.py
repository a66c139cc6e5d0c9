"""Answers weighed by another model: by a judge that knows the reference, or by an extractor that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import free_stage, question_of
from pytest_audiobench.protocols.judged import air_bench, default_judgings, published_judgings
from pytest_audiobench.protocols.judged.jasco import jasco_judging
from pytest_audiobench.protocols.protocol import Judging, Protocol, with_recorded_options


@with_recorded_options
def judged(
    protocol: Protocol | None = None,
    *scorers: str,
    rubric: str = "facts",
    own: Sequence[Judging] = (),
    max_new_tokens: int | None = None,
    prompt: str | None = None,
) -> Protocol:
    """``protocol`` with its answers also weighed by each judge of the run (``--ab-judge``), and read by ``scorers``.

    The scorers are ``yes-no`` (the default; ours, strict), ``beans-yes-no``, ``rubric`` (points from 0 to 1),
    ``extract`` (which of the sample's choices an answer names), ``sakura-judge``, ``sqqa-judge``, ``slot-judge``,
    ``sac-judge``, ``audiobench-judge`` (0 to 5), ``audiobench-binary-judge`` (0 or 1), both with ``-published``,
    ``mmau-pro-judge`` (1 to 5), ``voicebench-open`` (1 to 5, without a reference), ``voicebench-qa``,
    ``big-bench-audio``, ``speech-ifeval-cot``, ``jasco-judge`` (0 to 2), ``jasco-best-mean`` (the best of each clip),
    ``air-bench-chat`` (1 to 10, asked twice with places swapped; with ``-published``, ``-first`` and ``-second``), and
    ``align`` and ``air-bench-align`` (the option that a free answer decides for). One that leaves out answers whose
    verdict it cannot read comes with a variant that keeps them.
    What ``protocol`` reads by rule stays first, and how far the judges agree with it, and with one another, is recorded
    in addition. Without ``protocol`` the sample's question is asked, or ``prompt`` in its place, "" for the
    clips alone. ``rubric`` is the name of one in ``RUBRICS``, or one's own text; ``own`` are judgings of one's
    own. ``max_new_tokens`` replaces each judging's own limit, for judges that think aloud before they answer.

    Raises UsageError for an unknown scorer, for one whose name ``protocol`` has, for a ``prompt`` together with a
    ``protocol``, which has its own, for a rubric of one word that is not one of ``RUBRICS``, and for judgings of one's
    own that could be mistaken for others or are never read.
    """
    if protocol is not None and prompt is not None:
        raise UsageError(f"{protocol.name} asks in its own words: give the prompt to it, not to judged")
    words = question_of if prompt is None else lambda sample: prompt
    asked = protocol or Protocol("judged", (free_stage(words, None, 2048 if prompt == "" else 512),), (), {})
    judgings = tuple(_within(judging, max_new_tokens) for judging in (*shipped(rubric), *own))
    known = dict(asked.available)
    _check_names([stage.name for stage in asked.stages], judgings)
    for judging in judgings:
        for scorer in judging.scorers:
            if scorer.name in known:
                raise UsageError(f"{asked.name} has two scorers called {scorer.name!r}: rename that of {judging.name}")
            known[scorer.name] = scorer
    every = replace(asked, available=known, judgings=(*asked.judgings, *judgings))
    first = judgings[-1].scorers[0].name if own else "yes-no"
    return every.with_scorers(*(scorer.name for scorer in asked.scorers), *(scorers or (first,)))


def shipped(rubric: str = "facts") -> tuple[Judging, ...]:
    """Every judging of this project."""
    return (
        default_judgings.yes_no_judging(),
        default_judgings.rubric_judging(rubric),
        default_judgings.extract_judging(),
        *published_judgings.judgings(),
        jasco_judging(),
        *air_bench.chat_judgings(),
        *air_bench.align_judgings(),
    )


def _check_names(stages: Sequence[str], judgings: Sequence[Judging]) -> None:
    """Verdicts are found again by their judging's name: two of one name would be read for each other."""
    taken = set(stages)
    for judging in judgings:
        if judging.name in taken:
            raise UsageError(f"two stages or judgings are called {judging.name!r}: give your own another name")
        taken.add(judging.name)
        if not judging.name or "@" in judging.name:
            raise UsageError(
                f"the judging {judging.name!r} needs a name without '@', which stands before a judge's alias"
            )
        if not judging.scorers:
            raise UsageError(f"the judging {judging.name!r} has no scorer: nothing would be made of its verdicts")
        for scorer in judging.scorers:
            if scorer.judge != judging.name:
                raise UsageError(
                    f"{scorer.name!r} is a scorer of the judging {judging.name!r} and reads the verdicts of "
                    f"{scorer.judge!r}: make it with judge={judging.name!r}"
                )


def _within(judging: Judging, max_new_tokens: int | None) -> Judging:
    if max_new_tokens is None:
        return judging
    if max_new_tokens < 1:
        raise UsageError(f"a judge cannot answer in max_new_tokens={max_new_tokens}: give 1 or more")
    scorers = tuple(replace(each, signature=f"{each.signature}|tokens:{max_new_tokens}") for each in judging.scorers)
    return replace(judging, scorers=scorers, settings=replace(judging.settings, max_new_tokens=max_new_tokens))
