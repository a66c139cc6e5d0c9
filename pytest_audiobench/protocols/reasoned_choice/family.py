"""One option wanted, with or without reasoning; alone, or held against the answer to the clean clip."""

from __future__ import annotations

from types import MappingProxyType

from pytest_audiobench.protocols.multiple_choice.family import STRICT
from pytest_audiobench.protocols.protocol import ANSWER, CLEAN, Protocol, remembered
from pytest_audiobench.protocols.reasoned_choice.comparison import Kind, choice_scorers
from pytest_audiobench.protocols.reasoned_choice.stages import Asking
from pytest_audiobench.protocols.reasoned_choice.styles import StyleName, style_named


@remembered
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

    With ``against_clean`` the same is asked first of the clips as they were before a perturbation changed them (stage
    ``clean``), and the two answers are compared: ``consistency``, ``flip_rate``, ``newly_unanswered`` and
    ``accuracy_drop``; where the perturbation took the audio away (``control``) also ``audio_reliance``. Where an option
    was spoken into the clip (``injected``), the sample's metadata "injected" holds its letter, and ``follow_rate`` and
    ``swayed`` say how often it is given. Scorers are signed alike with and without comparison, so that clean and
    changed items lie on one curve.

    The scorers are ``letters`` (the default; ours, strict) and those of the faithfulness study
    (:func:`multiple_choice`); ``style_scorers`` names those that belong to a style and a data set. ``template`` asks in
    other words (``{question}``, ``{options}``, ``{options_in_line}``), ``system`` in place of the style's system
    message ("" for none), ``max_new_tokens`` in place of its limit. Raises UsageError for an unknown scorer, style or
    placeholder.
    """
    asking = Asking(style_named(style), reasoning, template, system, max_new_tokens)
    kind = Kind(
        after=ANSWER,
        before=CLEAN if against_clean else "",
        reasoning=asking.whole_reasoning if reasoning else None,
        is_control=control,
        is_injected=injected,
    )
    request = f"style:{style}|reasoning:{'yes' if reasoning else 'no'}"
    available = MappingProxyType(choice_scorers(kind, request))
    stages = (*([asking.stage(CLEAN, unchanged=True)] if against_clean else []), asking.stage())
    asked = Protocol("reasoned_choice", stages, (available[STRICT],), available, expects="option")
    return asked.with_scorers(*scorers) if scorers else asked
