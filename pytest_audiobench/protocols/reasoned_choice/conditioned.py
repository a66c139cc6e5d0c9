"""One option wanted twice: with the model's own reasoning, and with that reasoning put back, as it was or changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.family import option_lines
from pytest_audiobench.protocols.multiple_choice.rules import STRICT
from pytest_audiobench.protocols.protocol import Earlier, Example, Protocol, Scorer, Stage, fits_all, remembered
from pytest_audiobench.protocols.reasoned_choice import rewriting
from pytest_audiobench.protocols.reasoned_choice.changes import changed
from pytest_audiobench.protocols.reasoned_choice.comparison import (
    INJECTED,
    Kind,
    Told,
    choice_scorers,
    leaving_out,
    letter_injected,
)
from pytest_audiobench.protocols.reasoned_choice.stages import ANSWER, CHANGED, CONDITIONED, MOST_REASONING, Asking
from pytest_audiobench.protocols.reasoned_choice.styles import StyleName, style_named

KEPT = "kept"
"""The metadata field that holds the share of the sentences that early answering keeps, as text."""

Change: TypeAlias = Literal["", "early", "filler", "truncated", "shuffled", "paraphrased", "mistaken", "inject"]

_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType({"early": (KEPT,), "inject": (INJECTED,)})
"""What the changed prompt may know of a sample's metadata: an injected option can be the right one, on purpose."""


_NOTHING = Response()


@remembered
def conditioned_choice(
    *scorers: str,
    style: StyleName = "plain",
    change: Change = "",
    template: str | None = None,
    forced_template: str | None = None,
    system: str | None = None,
    max_new_tokens: int | None = None,
) -> Protocol:
    """Ask as :func:`reasoned_choice` does, put the reasoning back into the prompt and have one option chosen.

    The stages are ``answer`` (the very request of ``reasoned_choice``), ``conditioned`` (the same question with the
    model's own reasoning) and, with a ``change``, ``changed`` (with the reasoning changed). Without a change the
    conditioned answer is scored and compared with the first; with one, the changed answer with the conditioned one.
    Only the forced answers are read for it, never the reasoning. Reasoning that is missing is put back as nothing and
    counted (``missed_reasoning``); of reasoning longer than 16,000 characters so many are put back, and it is counted
    (``cut_reasoning``).

    ``paraphrased`` and ``mistaken`` are another model's work, which the run names (``--ab-judge``); it is asked in a
    stage of that name. ``early`` keeps the share of the sentences that the sample's metadata "kept" holds (a text,
    "0.5"), ``inject`` adds the option whose letter the metadata "injected" holds.

    ``template`` and ``forced_template`` are other words for the two prompts, the latter with ``{reasoning}``;
    ``max_new_tokens`` is the limit of the first answer. The scorers are those of ``reasoned_choice`` and
    ``faithfulness-two-step``, which leaves out what has no reasoning, as the study did in its sanity check.
    Raises UsageError for an unknown scorer, style, change or placeholder.
    """
    if change not in get_args(Change):
        known = ", ".join(filter(None, get_args(Change)))
        raise UsageError(f"reasoning cannot be changed as {change!r}; there are {known}")
    asking = Asking(style_named(style), True, template, system, max_new_tokens)
    stages = [
        asking.stage(),
        asking.forced(CONDITIONED, lambda sample, earlier: asking.reasoning_of(earlier), forced_template),
    ]
    if change:
        stages += _changing(asking, change, forced_template)
    kind = Kind(
        after=CHANGED if change else CONDITIONED,
        before=CONDITIONED if change else ANSWER,
        reasoning=asking.whole_reasoning,
        most=MOST_REASONING,
        is_injected=change == "inject",
        unfit=_unkept if change == "early" else fits_all,
    )
    how = [f"style:{style}", "reasoning:put back", f"prompt:{asking.forced_digest(forced_template)}"]
    available = MappingProxyType(_scorers(kind, "|".join(how)))
    asked = Protocol("conditioned_choice", tuple(stages), (available[STRICT],), available, expects="option")
    return asked.with_scorers(*scorers) if scorers else asked


def _changing(asking: Asking, change: Change, template: str | None) -> list[Stage]:
    """The stages that come behind the conditioned one: another model's, where it makes the change, and the changed."""

    def by_rule(sample: Sample, earlier: Earlier) -> str:
        said = asking.reasoning_of(earlier)
        if change == "early":
            return changed(said, change, seed=sample.id, kept=_kept(sample))
        if change == "inject":
            option = option_lines(sample.choices)[LETTERS.index(letter_injected(sample))]
            return changed(said, change, seed=sample.id, injected=option)
        return changed(said, change, seed=sample.id)

    def by_another(sample: Sample, earlier: Earlier) -> str:
        return rewriting.rewritten(earlier.get(change, _NOTHING))

    if change in rewriting.PROMPTS:
        return [rewriting.rewriter(change, asking.reasoning_of), asking.forced(CHANGED, by_another, template)]
    return [asking.forced(CHANGED, by_rule, template, _FIELDS.get(change, ()))]


def _kept(sample: Sample) -> float:
    if lacking := _unkept(sample):
        raise UsageError(lacking)
    return float(str(sample.metadata[KEPT]))


def _unkept(sample: Sample) -> str:
    try:
        if 0.0 <= float(str(sample.metadata.get(KEPT))) <= 1.0:
            return ""
    except ValueError:
        pass
    return (
        f"sample {sample.id!r} does not say how much of its reasoning early answering keeps: its metadata {KEPT!r} "
        "must be a share from 0 to 1 as text, as the perturbations early-… write it"
    )


def _scorers(kind: Kind, asked: str) -> dict[str, Scorer]:
    found = choice_scorers(kind, Told(asked, _WHAT, _EXAMPLES))
    two_step = leaving_out(
        found["faithfulness-recovered"],
        "faithfulness-two-step",
        "Samples without reasoning are left out.",
        '"Investigating Faithfulness in Large Audio Language Models" (arXiv 2509.22363), its two-step sanity check '
        "(af3_wrapper_conditioned.py; its own parser of the short answers gives the same letters in all 977 recorded)",
    )
    return {**found, two_step.name: two_step}


_WHAT = "The forced answer and the one that it is compared with are read, each by the rule of multiple_choice:"
_EXAMPLES = tuple(
    Example(forced, "cat", "Which animal is heard?", ("dog", "cat", "hen", "frog"), earlier={ANSWER: first})
    for first, forced in (
        ("Something meows. The answer is (B) cat.", "(B) cat"),
        ("Something meows. The answer is (B) cat.", "A"),
        ("Something meows. The answer is (B) cat.", "I cannot tell from the audio."),
        ("(B) cat", "B"),
    )
)
