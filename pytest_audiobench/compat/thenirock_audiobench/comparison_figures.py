"""Two run files of the audiobench tool as that tool compares them: its own figures, which have no intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.compat.thenirock_audiobench.artifact import HALLUCINATION, ROBUST, Artifact
from pytest_audiobench.compat.thenirock_audiobench.figures import Place, figures

_TOP = 3


class Told(NamedTuple):
    """A figure of both; ``higher`` says whether more of it is better."""

    name: str
    first: float
    other: float
    higher: bool

    def says(self, letters: tuple[str, str]) -> str:
        """``clean WER 1.82 to 6.36 (+4.55, A better)``."""
        change = self.other - self.first
        better = "level" if not change else f"{letters[(change > 0) == self.higher]} better"
        return f"{self.name} {self.first:.2f} to {self.other:.2f} ({change:+.2f}, {better})"


def figure_notes(first: Artifact, other: Artifact, letters: tuple[str, str]) -> Iterator[str]:
    """What that tool's comparison shows, recomputed from the answers: figures, then classes or findings."""
    before, after = figures(first), figures(other)
    told = "; ".join(one.says(letters) for one in _shown(first.suite, before, after))
    yield f"by audiobench's own figures, {letters[0]} to {letters[1]}, without intervals: {told or 'none in common'}"
    if first.suite == HALLUCINATION:
        for letter, run in zip(letters, (first, other), strict=True):
            yield f"top finding of {letter}, as its file says: {_finding(run.content)}"
    elif first.suite != ROBUST:
        gains = sorted(_classes(before, after), key=lambda pair: -pair[1])
        yield f"recall by class, {letters[0]} to {letters[1]}: largest gains {_listed(gains[:_TOP])}"
        if losses := [pair for pair in reversed(gains) if pair[1] < 0]:
            yield f"recall by class, {letters[0]} to {letters[1]}: losses {_listed(losses)}"


def _shown(suite: str, before: Mapping[Place, float | None], after: Mapping[Place, float | None]) -> Iterator[Told]:
    for place in before:
        found = _name(suite, place)
        own, others = before[place], after.get(place)
        if found is not None and own is not None and others is not None:
            yield Told(found[0], own, others, found[1])


def _name(suite: str, place: Place) -> tuple[str, bool] | None:
    """What a figure is called, and whether more is better; None for one that its comparison does not show."""
    if suite == ROBUST:
        return (f"{place[1]} WER", False) if len(place) == 2 else ("mean WER over conditions", False)
    if suite == HALLUCINATION:
        if place == ("weighted_hallucination_rate",):
            return "weighted hallucination rate", False
        shown = place[0] == "per_condition_metrics" and place[-1] == "non_speech_hallucination_rate"
        return (f"{place[1]} hallucination rate", False) if shown else None
    if place[0] == "headline":
        return _HEADLINE.get(place[1])
    if place[2] == "per_condition" and place[-1] == "recall":
        return f"{place[1]}/{place[3]} recall", True
    return (f"{place[1]} F1", True) if place[2:] == ("totals", "f1") else None


_HEADLINE = {
    "components_understood": ("components understood", True),
    "weighted_recall": ("pooled recall", True),
    "weighted_fpr": ("pooled FPR", False),
    "solo_quad_cliff": ("solo to quad cliff", True),
}


def _classes(before: Mapping[Place, float | None], after: Mapping[Place, float | None]) -> Iterator[tuple[str, float]]:
    """The change in recall of each class that both asked about where it is present, by pack and class."""
    for place, own in before.items():
        if len(place) == 5 and place[2] == "per_class" and place[-1] == "recall":
            present = (*place[:-1], "components_present")
            other = after.get(place)
            if own is not None and other is not None and before[present] and after.get(present):
                yield f"{place[1]}/{place[3]}", other - own


def _listed(classes: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {change:+.2f}" for name, change in classes) or "none"


def _finding(content: Mapping[str, Any]) -> str:
    findings = content.get("findings")
    top = content.get("top_finding") or (findings[0] if isinstance(findings, list) and findings else None)
    if not isinstance(top, dict):
        return "none"
    told = [f"{name} {top[name]}" for name in ("effect_size", "adjusted_p_value", "status") if name in top]
    return f"{top.get('title', top.get('id', 'unnamed'))}: {', '.join(told)}"
