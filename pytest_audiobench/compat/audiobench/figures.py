"""The numbers of a run file, recomputed from its answers by the audiobench tool's own definitions.

Definitions: its metrics.py (jiwer over lower case without punctuation, in per cent; the mean over conditions is a plain
one), sound_id_metrics.py (a ratio without a denominator is 0) and suites/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.compat.audiobench.artifact import HALLUCINATION, ROBUST, Artifact, Json
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.presence.family import says_yes
from pytest_audiobench.protocols.transcription.published import lower_nopunct
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


def recorded(run: Artifact, place: Place) -> Any:
    """What the file holds at a place; None for nothing."""
    found: Any = run.content
    for step in place:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def answered_yes(probe: Json) -> bool:
    """What its parser makes of a probe's raw answers: that of one, the majority of several, where a tie is no."""
    said = [says_yes(text) for text in raw_answers(probe)]
    return sum(said) > len(said) - sum(said)


def raw_answers(probe: Json) -> list[str]:
    """The texts that were said to the wordings of a probe."""
    return [one["raw_answer"] for one in probe.get("paraphrase_answers", [])] or [probe["raw_answer"]]


def _robust(run: Artifact) -> dict[Place, float | None]:
    rates: dict[Place, float] = {}
    for condition in map(str, run.content["conditions"]):
        pairs = [(one["reference"], one["hypotheses"][condition]) for one in run.answers]
        rates["per_condition_wer", condition] = _wer(pairs)
    return {**rates, ("weighted_mean_wer",): sum(rates.values()) / len(rates)} if rates else {}


def _wer(pairs: Iterable[tuple[str, str]]) -> float:
    errors = words = 0.0
    for reference, hypothesis in pairs:
        found = token_errors(jiwer_words(lower_nopunct(reference)), jiwer_words(lower_nopunct(hypothesis)))
        errors += found["S"] + found["D"] + found["I"]
        words += found["N"]
    return errors / words * 100.0 if words else 0.0


def _sound(run: Artifact) -> dict[Place, float | None]:
    packs = [str(one) for one in run.content["packs"]]
    by_pack: dict[str, dict[str, list[Probe]]] = {pack: {} for pack in packs}
    for mixture, probe in run.probes():
        # Mixtures of a user's own are counted with the first pack, whichever they are of.
        pack = packs[0] if mixture["condition"] == CUSTOM else mixture["pack"]
        one = Probe(probe["label"], probe["expected"], answered_yes(probe))
        by_pack[pack].setdefault(mixture["condition"], []).append(one)
    found: dict[Place, float | None] = {}
    for pack, conditions in by_pack.items():
        place = ("pack_summaries", pack)
        every = [one for own in conditions.values() for one in own]
        for condition, own in conditions.items():
            found |= _counted((*place, "per_condition", condition), own)
        for label in sorted({one.label for one in every}):
            found |= _counted((*place, "per_class", label), [one for one in every if one.label == label])
        found |= _counted((*place, "totals"), every)
    total = _counts([one for conditions in by_pack.values() for own in conditions.values() for one in own])
    heading = {name: total[name] for name in ("components_present", "components_understood")}
    heading |= {"weighted_recall": total["recall"], "weighted_fpr": total["fpr"]}
    cliff = _cliff(by_pack.values())
    found |= {("headline", name): value for name, value in heading.items()}
    return {**found, ("headline", "solo_quad_cliff"): cliff}


def _cliff(packs: Iterable[Mapping[str, Sequence[Probe]]]) -> float | None:
    each = list(packs)
    solo, quad = ([_counts(own[name])["recall"] for own in each if name in own] for name in ("solo", "quad"))
    return sum(quad) / len(quad) - sum(solo) / len(solo) if solo and quad else None


def _counted(place: Place, probes: Sequence[Probe]) -> dict[Place, float]:
    return {(*place, name): value for name, value in _counts(probes).items()}


def _counts(probes: Sequence[Probe]) -> dict[str, float]:
    tp, fp, fn, tn = (
        float(sum((one.present, one.yes) == kind for one in probes))
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
    found: dict[Place, float | None] = {}
    whole = _signals(run.answers)
    for condition in map(str, run.content["conditions"]):
        own = [one for one in run.answers if one["metadata"]["domain"] == condition]
        found |= {("per_condition_metrics", condition, name): value for name, value in _signals(own).items()}
    found |= {("headline", name): value for name, value in whole.items()}
    rate = whole["non_speech_hallucination_rate"]
    # Its weights are the domains' own counts, and its rates' weighted mean sums them in the domains' order.
    weighted = sum(
        float(found["per_condition_metrics", name, "non_speech_hallucination_rate"] or 0.0)
        * float(found["per_condition_metrics", name, "non_speech_count"] or 0.0)
        for name in map(str, run.content["conditions"])
    )
    found["weighted_hallucination_rate",] = weighted / whole["non_speech_count"] if whole["non_speech_count"] else 0.0
    return {**found, ("hallucination_rate",): rate}


def _signals(results: Sequence[Json]) -> dict[str, float]:
    deltas = list(_deltas(results))
    n = len(deltas)
    inserted, cut = ([max(sign * one, 0) for one, _ in deltas] for sign in (1, -1))
    words = [own for _, own in deltas]
    return {
        "sample_count": n,
        "non_speech_count": n,
        "speech_count": 0,
        "non_speech_hallucination_rate": _ratio(sum(own > 0 for own in words), n),
        "non_speech_empty_rate": _ratio(sum(own == 0 for own in words), n),
        "non_speech_mean_inserted_tokens": _ratio(sum(inserted), n),
        "insertion_rate": _ratio(sum(one > 0 for one in inserted), n),
        "truncation_rate": 0.0,
        "mean_token_delta": _ratio(sum(one for one, _ in deltas), n),
        "mean_inserted_tokens": _ratio(sum(inserted), n),
        "mean_truncated_tokens": _ratio(sum(cut), n),
    }


def _deltas(results: Sequence[Json]) -> Iterator[tuple[int, int]]:
    """By how many words each transcript is longer than its reference, and how many it has."""
    for one in results:
        said = len(jiwer_words(lower_nopunct(one["result"]["transcript"])))
        yield said - len(jiwer_words(lower_nopunct(one["reference"]))), said
