"""The numbers of a run file, recomputed from its answers by the audiobench tool's own definitions.

Definitions: its metrics.py (jiwer over lower case without punctuation, in per cent; the mean over conditions is a plain
one), sound_id_metrics.py (a ratio without a denominator is 0) and suites/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.compat.thenirock_audiobench.artifact import HALLUCINATION, ROBUST, Artifact, Json
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.presence.task import says_yes
from pytest_audiobench.protocols.transcription.published_scorers import lower_nopunct
from pytest_audiobench.protocols.transcription.texts import jiwer_words

CUSTOM = "custom"

Place: TypeAlias = tuple[str, ...]


class Probe(NamedTuple):
    label: str
    present: bool
    yes: bool


def figures(run: Artifact) -> dict[Place, float | None]:
    """Every number that the file should hold, by its place in it."""
    if run.suite == ROBUST:
        return _robust(run)
    return _hallucination(run) if run.suite == HALLUCINATION else _sound(run)


def recorded_figure(run: Artifact, place: Place) -> Any:
    """What the file holds at a place; None for nothing."""
    value: Any = run.content
    for step in place:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def answered_yes(probe: Json) -> bool:
    """What its parser makes of a probe's raw answers: that of one, the majority of several, where a tie is no."""
    said = [says_yes(text) for text in raw_answers(probe)]
    return sum(said) > len(said) - sum(said)


def raw_answers(probe: Json) -> list[str]:
    """The texts that were said to the wordings of a probe."""
    return [paraphrase["raw_answer"] for paraphrase in probe.get("paraphrase_answers", [])] or [probe["raw_answer"]]


def _robust(run: Artifact) -> dict[Place, float | None]:
    rates: dict[Place, float] = {}
    for condition in map(str, run.content["conditions"]):
        pairs = [(answer["reference"], answer["hypotheses"][condition]) for answer in run.answers]
        rates["per_condition_wer", condition] = _wer(pairs)
    return {**rates, ("weighted_mean_wer",): sum(rates.values()) / len(rates)} if rates else {}


def _wer(pairs: Iterable[tuple[str, str]]) -> float:
    errors = words = 0.0
    for reference, hypothesis in pairs:
        counts = token_errors(jiwer_words(lower_nopunct(reference)), jiwer_words(lower_nopunct(hypothesis)))
        errors += counts["S"] + counts["D"] + counts["I"]
        words += counts["N"]
    return errors / words * 100.0 if words else 0.0


def _sound(run: Artifact) -> dict[Place, float | None]:
    packs = [str(pack) for pack in run.content["packs"]]
    by_pack: dict[str, dict[str, list[Probe]]] = {pack: {} for pack in packs}
    for mixture, answer in run.probes():
        # Mixtures of a user's own are counted with the first pack, whichever they are of.
        pack = packs[0] if mixture["condition"] == CUSTOM else mixture["pack"]
        probe = Probe(answer["label"], answer["expected"], answered_yes(answer))
        by_pack[pack].setdefault(mixture["condition"], []).append(probe)
    values: dict[Place, float | None] = {}
    for pack, conditions in by_pack.items():
        place = ("pack_summaries", pack)
        every = list(chain.from_iterable(conditions.values()))
        for condition, probes in conditions.items():
            values |= _class_counts((*place, "per_condition", condition), probes)
        for label in sorted({probe.label for probe in every}):
            values |= _class_counts((*place, "per_class", label), [probe for probe in every if probe.label == label])
        values |= _class_counts((*place, "totals"), every)
    total = _counts([probe for conditions in by_pack.values() for probe in chain.from_iterable(conditions.values())])
    heading = {name: total[name] for name in ("components_present", "components_understood")}
    heading |= {"weighted_recall": total["recall"], "weighted_fpr": total["fpr"]}
    values |= {("headline", name): value for name, value in heading.items()}
    return {**values, ("headline", "solo_quad_cliff"): _cliff(by_pack.values())}


def _cliff(packs: Iterable[Mapping[str, Sequence[Probe]]]) -> float | None:
    each = list(packs)
    solo, quad = (
        [_counts(by_condition[name])["recall"] for by_condition in each if name in by_condition]
        for name in ("solo", "quad")
    )
    return sum(quad) / len(quad) - sum(solo) / len(solo) if solo and quad else None


def _class_counts(place: Place, probes: Sequence[Probe]) -> dict[Place, float]:
    return {(*place, name): value for name, value in _counts(probes).items()}


def _counts(probes: Sequence[Probe]) -> dict[str, float]:
    tp, fp, fn, tn = (
        float(sum((probe.present, probe.yes) == kind for probe in probes))
        for kind in ((True, True), (False, True), (True, False), (False, False))
    )
    recall, precision = _ratio(tp, tp + fn), _ratio(tp, tp + fp)
    return {
        "tp": tp, "fp": fp, "fn": fn, "tn": tn,
        "recall": recall, "precision": precision,
        "f1": _ratio(2 * precision * recall, precision + recall), "fpr": _ratio(fp, fp + tn),
        "components_present": tp + fn, "components_understood": tp,
    }  # fmt: skip


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0


def _hallucination(run: Artifact) -> dict[Place, float | None]:
    values: dict[Place, float | None] = {}
    whole = _signals(run.answers)
    for condition in map(str, run.content["conditions"]):
        results = [answer for answer in run.answers if answer["metadata"]["domain"] == condition]
        values |= {("per_condition_metrics", condition, name): value for name, value in _signals(results).items()}
    values |= {("headline", name): value for name, value in whole.items()}
    rate = whole["non_speech_hallucination_rate"]
    # Its weights are the domains' own counts, and its rates' weighted mean sums them in the domains' order.
    weighted = sum(
        float(values["per_condition_metrics", name, "non_speech_hallucination_rate"] or 0.0)
        * float(values["per_condition_metrics", name, "non_speech_count"] or 0.0)
        for name in map(str, run.content["conditions"])
    )
    values["weighted_hallucination_rate",] = weighted / whole["non_speech_count"] if whole["non_speech_count"] else 0.0
    return {**values, ("hallucination_rate",): rate}


def _signals(results: Sequence[Json]) -> dict[str, float]:
    deltas = list(_deltas(results))
    n = len(deltas)
    inserted, cut = ([max(sign * delta, 0) for delta, _ in deltas] for sign in (1, -1))
    words = [word_delta for _, word_delta in deltas]
    return {
        "sample_count": n,
        "non_speech_count": n,
        "speech_count": 0,
        "non_speech_hallucination_rate": _ratio(sum(word_delta > 0 for word_delta in words), n),
        "non_speech_empty_rate": _ratio(sum(word_delta == 0 for word_delta in words), n),
        "non_speech_mean_inserted_tokens": _ratio(sum(inserted), n),
        "insertion_rate": _ratio(sum(delta > 0 for delta in inserted), n),
        "truncation_rate": 0.0,
        "mean_token_delta": _ratio(sum(delta for delta, _ in deltas), n),
        "mean_inserted_tokens": _ratio(sum(inserted), n),
        "mean_truncated_tokens": _ratio(sum(cut), n),
    }


def _deltas(results: Sequence[Json]) -> Iterator[tuple[int, int]]:
    """By how many words each transcript is longer than its reference, and how many it has."""
    for result in results:
        said = len(jiwer_words(lower_nopunct(result["result"]["transcript"])))
        yield said - len(jiwer_words(lower_nopunct(result["reference"]))), said


_TOP = 3


class FigurePair(NamedTuple):
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
    text = "; ".join(pair.says(letters) for pair in _compared_figures(first.suite, before, after))
    yield f"by audiobench's own figures, {letters[0]} to {letters[1]}, without intervals: {text or 'none in common'}"
    if first.suite == HALLUCINATION:
        for letter, run in zip(letters, (first, other), strict=True):
            yield f"top finding of {letter}, as its file says: {_finding(run.content)}"
    elif first.suite != ROBUST:
        gains = sorted(_classes(before, after), key=lambda pair: -pair[1])
        yield f"recall by class, {letters[0]} to {letters[1]}: largest gains {_change_list(gains[:_TOP])}"
        if losses := [pair for pair in reversed(gains) if pair[1] < 0]:
            yield f"recall by class, {letters[0]} to {letters[1]}: losses {_change_list(losses)}"


def _compared_figures(
    suite: str, before: Mapping[Place, float | None], after: Mapping[Place, float | None]
) -> Iterator[FigurePair]:
    for place in before:
        label = _name(suite, place)
        value, others = before[place], after.get(place)
        if label is not None and value is not None and others is not None:
            yield FigurePair(label[0], value, others, label[1])


def _name(suite: str, place: Place) -> tuple[str, bool] | None:
    """What a figure is called, and whether more is better; None for one that its comparison does not show."""
    if suite == ROBUST:
        return (f"{place[1]} WER", False) if len(place) == 2 else ("mean WER over conditions", False)
    if suite == HALLUCINATION:
        if place == ("weighted_hallucination_rate",):
            return "weighted hallucination rate", False
        is_compared = place[0] == "per_condition_metrics" and place[-1] == "non_speech_hallucination_rate"
        return (f"{place[1]} hallucination rate", False) if is_compared else None
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
    for place, recall in before.items():
        if len(place) == 5 and place[2] == "per_class" and place[-1] == "recall":
            present = (*place[:-1], "components_present")
            other = after.get(place)
            if recall is not None and other is not None and before[present] and after.get(present):
                yield f"{place[1]}/{place[3]}", other - recall


def _change_list(classes: list[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {change:+.2f}" for name, change in classes) or "none"


def _finding(content: Mapping[str, Any]) -> str:
    findings = content.get("findings")
    top = content.get("top_finding") or (findings[0] if isinstance(findings, list) and findings else None)
    if not isinstance(top, dict):
        return "none"
    parts = [f"{name} {top[name]}" for name in ("effect_size", "adjusted_p_value", "status") if name in top]
    return f"{top.get('title', top.get('id', 'unnamed'))}: {', '.join(parts)}"
