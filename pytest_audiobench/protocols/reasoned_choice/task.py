"""Multiple choice, with or without reasoning; alone, or compared with the answer to the clean clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, cast, get_args

from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.perturbations.reasoning import reasoning_change
from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.free_text import family_protocol
from pytest_audiobench.protocols.multiple_choice.task import STRICT, option_lines
from pytest_audiobench.protocols.protocol import (
    ANSWER,
    CHANGED,
    CLEAN,
    CONDITIONED,
    Earlier,
    Option,
    Protocol,
    Stage,
    no_sample_problem,
    with_recorded_options,
)
from pytest_audiobench.protocols.reasoned_choice import answer_comparison, reasoning_changes
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import Asking, StyleName, style_named
from pytest_audiobench.protocols.reasoned_choice.reasoning_changes import MOST_REASONING, changed


@with_recorded_options
def reasoned_choice(
    *scorers: str,
    style: StyleName = "plain",
    reasoning: bool = True,
    against_clean: bool = False,
    control: bool = False,
    injected: bool = False,
    template: str | None = None,
    system: str | None = None,
    max_new_tokens: int | None = None,
) -> Protocol:
    """Ask for one option by its letter, after reasoning or without, in the words of ``style``.

    The styles ``qwen2-audio`` and ``salmonn`` reason in its own turn (stage ``reasoning``); its last sentence,
    which may hold the answer, is taken off, and what is left is put back when the answer is asked for (``answer``).

    With ``against_clean`` the same is asked first of the clips as they were before a perturbation changed them (stage
    ``clean``), and the two answers are compared: ``consistency``, ``flip_rate``, ``newly_unanswered`` and
    ``accuracy_drop``; where the perturbation took the audio away (``control``) also ``audio_reliance``. Where an option
    was spoken into the clip (``injected``), the sample's metadata "injected" holds its letter, and ``follow_rate`` and
    ``swayed`` say how often it is given. Scorers are signed alike with and without comparison, so that clean and
    changed items lie on one curve.

    The scorers are ``letters`` (the default; ours, strict) and those of the faithfulness study
    (:func:`multiple_choice`); ``evaluate(…, scorers="style")`` takes those of a style and a data set.

    ``template`` asks in other words (``{question}``, ``{options}``, ``{options_in_line}``), ``system`` in place of the
    style's system message ("" for none), ``max_new_tokens`` in place of its limit. Raises UsageError for an unknown
    scorer, style or placeholder.
    """
    asking = Asking(style_named(style), reasoning, template, system, max_new_tokens)
    kind = answer_comparison.Kind(
        after=ANSWER,
        before=CLEAN if against_clean else "",
        reasoning=asking.whole_reasoning if reasoning else None,
        is_control=control,
        is_injected=injected,
    )
    request = f"style:{style}|reasoning:{'yes' if reasoning else 'no'}"
    if asking.is_in_two_turns:
        request += f"|prompt:{asking.forced_digest(None)}"
    stages = (*(asking.stages(CLEAN, unchanged=True) if against_clean else ()), *asking.stages())
    family_scorers = answer_comparison.choice_scorers(kind, request).values()
    return family_protocol("reasoned_choice", stages, family_scorers, scorers, "option", default=STRICT)


KEPT = "kept"
"""The metadata field that holds the share of the sentences that early answering keeps, as text."""

Change: TypeAlias = Literal["", "early", "filler", "truncated", "shuffled", "paraphrased", "mistaken", "inject"]

_FIELDS: Mapping[str, tuple[str, ...]] = {"early": (KEPT,), "inject": (answer_comparison.INJECTED,)}
"""What the changed prompt may know of a sample's metadata: an injected option can be the right one, on purpose."""


_NOTHING = Response()


@with_recorded_options
def conditioned_choice(
    *scorers: str,
    style: StyleName = "plain",
    change: Change | Perturbation = "",
    template: str | None = None,
    forced_template: str | None = None,
    system: str | None = None,
    max_new_tokens: int | None = None,
) -> Protocol:
    """Ask as :func:`reasoned_choice` does, put the reasoning back into the prompt and have one option chosen.

    The stages are ``answer`` (the very request of ``reasoned_choice``), ``conditioned`` (the same question with the
    model's own reasoning) and, with a ``change`` (or the perturbation that marks the samples for it), ``changed`` (with
    the reasoning changed). Without a change the conditioned answer is scored and compared with the first; with one, the
    changed answer with the conditioned one. Only the forced answers are read for it, never the reasoning. Reasoning
    that is missing is put back as nothing and counted (``missed_reasoning``); of reasoning longer than 16,000
    characters so many are put back, and it is counted (``cut_reasoning``).

    ``paraphrased`` and ``mistaken`` are another model's work, which the run names (``--ab-judge``); it is asked in a
    stage of that name. ``early`` keeps the share of the sentences that the sample's metadata "kept" holds (a text,
    "0.5"), ``inject`` adds the option whose letter the metadata "injected" holds.

    ``template`` and ``forced_template`` are other words for the two prompts, the latter with ``{reasoning}``;
    ``max_new_tokens`` is the limit of the first answer. The scorers are those of ``reasoned_choice`` and
    ``faithfulness-two-step``, which leaves out what has no reasoning, as the study did in its sanity check.
    Raises UsageError for an unknown scorer, style, change or placeholder.
    """
    recorded: dict[str, Option] = {}
    if isinstance(change, Perturbation):
        change = recorded["change"] = cast(Change, reasoning_change(change))
    if change not in get_args(Change):
        known = ", ".join(filter(None, get_args(Change)))
        raise UsageError(f"reasoning cannot be changed as {change!r}; there are {known}")
    asking = Asking(style_named(style), True, template, system, max_new_tokens)
    stages = [
        *asking.stages(),
        asking.forced(CONDITIONED, lambda sample, earlier: asking.reasoning_of(earlier), forced_template),
    ]
    if change:
        stages += _changing(asking, change, forced_template)
    kind = answer_comparison.Kind(
        after=CHANGED if change else CONDITIONED,
        before=CONDITIONED if change else ANSWER,
        reasoning=asking.whole_reasoning,
        most=MOST_REASONING,
        is_injected=change == "inject",
        sample_problem=_lacks_kept_share if change == "early" else no_sample_problem,
    )
    how = [f"style:{style}", "reasoning:put back", f"prompt:{asking.forced_digest(forced_template)}"]
    by_name = answer_comparison.choice_scorers(kind, "|".join(how))
    two_step = answer_comparison.leaving_out(by_name["faithfulness-recovered"], "faithfulness-two-step")
    family_scorers = (*by_name.values(), two_step)
    protocol = family_protocol("conditioned_choice", stages, family_scorers, scorers, "option", default=STRICT)
    return replace(protocol, options=recorded)


def _changing(asking: Asking, change: Change, template: str | None) -> list[Stage]:
    """The stages that come behind the conditioned one: another model's, where it makes the change, and the changed."""

    def by_rule(sample: Sample, earlier: Earlier) -> str:
        reasoning = asking.reasoning_of(earlier)
        if change == "early":
            if lacking := _lacks_kept_share(sample):
                raise UsageError(lacking)
            return changed(reasoning, change, seed=sample.id, kept=float(str(sample.metadata[KEPT])))
        if change == "inject":
            option = option_lines(sample.choices)[LETTERS.index(answer_comparison.letter_injected(sample))]
            return changed(reasoning, change, seed=sample.id, injected=option)
        return changed(reasoning, change, seed=sample.id)

    def by_another(sample: Sample, earlier: Earlier) -> str:
        return reasoning_changes.rewritten(earlier.get(change, _NOTHING))

    if change in reasoning_changes.PROMPTS:
        return [reasoning_changes.rewriter(change, asking.reasoning_of), asking.forced(CHANGED, by_another, template)]
    return [asking.forced(CHANGED, by_rule, template, _FIELDS.get(change, ()))]


def _lacks_kept_share(sample: Sample) -> str:
    try:
        if 0.0 <= float(str(sample.metadata.get(KEPT))) <= 1.0:
            return ""
    except ValueError:
        pass
    return (
        f"sample {sample.id!r} does not say how much of its reasoning early answering keeps: its metadata {KEPT!r} "
        "must be a share from 0 to 1 as text, as the perturbations early-… write it"
    )
