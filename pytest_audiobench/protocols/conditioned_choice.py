"""One option wanted twice: with the model's own reasoning, and with that reasoning put back, as it was or changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.choice.rules import STRICT
from pytest_audiobench.protocols.multiple_choice import option_lines
from pytest_audiobench.protocols.options import LETTERS
from pytest_audiobench.protocols.protocol import Earlier, Protocol, Stage, remembered
from pytest_audiobench.protocols.reasoned.changes import changed
from pytest_audiobench.protocols.reasoned.comparing import INJECTED, Kind, readings_of
from pytest_audiobench.protocols.reasoned.stages import ANSWER, CHANGED, CONDITIONED, MOST_REASONING, Asking
from pytest_audiobench.protocols.reasoned.styles import StyleName, style_named

KEPT = "kept"
"""The metadata field that holds the share of the sentences that early answering keeps, as text."""

Change: TypeAlias = Literal["", "early", "filler", "truncated", "shuffled", "paraphrased", "mistaken", "inject"]

_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType({"early": (KEPT,), "inject": (INJECTED,)})
"""What the changed prompt may know of a sample's metadata: an injected option can be the right one, on purpose."""


@remembered
def conditioned_choice(
    *readings: str,
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
    Only the forced answer is read for it, never the reasoning. Reasoning that is missing is put back as nothing and
    counted (``missed_reasoning``); of reasoning longer than 16,000 characters these are put back, and it is counted
    (``cut_reasoning``).

    ``early`` keeps the share of the sentences that the sample's metadata "kept" names (a text, "0.5"), ``inject`` adds
    the option whose letter the metadata "injected" names. ``template`` and ``forced_template`` are other words for the
    two prompts, the latter with ``{reasoning}``; the rest is as in ``reasoned_choice``.
    """
    asking = Asking(style_named(style), True, template, system, max_new_tokens)
    stages = [asking.stage(), asking.forced(CONDITIONED, asking.reasoning_of, forced_template)]
    if change:
        stages += _changing(asking, change, forced_template)
    kind = Kind(
        after=CHANGED if change else CONDITIONED,
        before=CONDITIONED if change else ANSWER,
        missed=lambda earlier: not asking.whole_reasoning(earlier).strip(),
        cut=lambda earlier: len(asking.whole_reasoning(earlier)) > MOST_REASONING,
        is_injected=change == "inject",
    )
    available = MappingProxyType(readings_of(kind, style, "put back"))
    asked = Protocol("conditioned_choice", tuple(stages), (available[STRICT],), available, expects="option")
    return asked.reading_as(*readings) if readings else asked


def _changing(asking: Asking, change: str, template: str | None) -> list[Stage]:
    def reasoning_of(sample: Sample, earlier: Earlier) -> str:
        said = asking.reasoning_of(sample, earlier)
        if change == "early":
            return changed(said, change, seed=sample.id, kept=_kept(sample))
        if change == "inject":
            return changed(said, change, seed=sample.id, injected=_injected(sample))
        return changed(said, change, seed=sample.id)

    return [asking.forced(CHANGED, reasoning_of, template, _FIELDS.get(change, ()))]


def _kept(sample: Sample) -> float:
    try:
        return float(str(sample.metadata[KEPT]))
    except (KeyError, ValueError):
        raise UsageError(
            f"sample {sample.id!r} does not say how much of its reasoning early answering keeps: give it metadata "
            f"{KEPT!r} with a share from 0 to 1 as text"
        ) from None


def _injected(sample: Sample) -> str:
    place = LETTERS.find(str(sample.metadata.get(INJECTED, "?")))
    if not 0 <= place < len(sample.choices):
        raise UsageError(f"sample {sample.id!r} does not say which option is injected: give it metadata {INJECTED!r}")
    return option_lines(sample.choices)[place]
