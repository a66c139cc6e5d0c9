"""``slu_keyphrase.json``: SLU-F1 held to SLURP's own script, keyphrases to scikit-learn over nltk's stems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_audiobench.metrics.definitions.understanding import (
    Counts,
    Entity,
    Measure,
    added,
    entity_counts,
    keyphrase_statistics,
)
from pytest_audiobench.metrics.label_statistics import SetScores, set_scores
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.understanding import Frame, frame_statistics

_Inputs = Mapping[str, Any]


def micro(counts: Mapping[str, Counts]) -> SetScores:
    """Precision, recall and F1 of all types together; 0 where there is nothing to divide by."""
    return _scores(added(counts.values()))


def macro(counts: Mapping[str, Counts]) -> SetScores:
    """The mean of each over the types that were true or said, an invented type among them.

    Raises ValueError where there is none.
    """
    if not counts:
        raise ValueError("there are no entities to average over")
    scores = [_scores(counts_of_type) for counts_of_type in counts.values()]
    return SetScores(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))


def _scores(counts: Counts) -> SetScores:
    hits, alarms, misses = counts
    precision = hits / (hits + alarms) if hits + alarms else 0.0
    recall = hits / (hits + misses) if hits + misses else 0.0
    f1 = 2.0 * precision * recall / (precision + recall) if precision + recall else 0.0
    return SetScores(precision, recall, f1)


_MICRO = {"span_f1": "entity_f1", "word_f1": "slu_word_f1", "char_f1": "slu_char_f1", "slu_f1": "slu_f1"}
_MEASURES: Mapping[str, Measure] = {"span_f1": "span", "word_f1": "word", "char_f1": "char", "slu_f1": "slu"}


def _slu(
    average: Callable[[Mapping[str, Counts]], SetScores], registered: Mapping[str, str]
) -> Callable[[_Inputs, _Inputs], Any]:
    def scores(params: _Inputs, inputs: _Inputs) -> dict[str, dict[str, float]]:
        pairs = [
            (_entities(true), _entities(said)) for true, said in zip(inputs["gold"], inputs["predicted"], strict=True)
        ]
        found = {
            name: average(_together([entity_counts(true, said, measure) for true, said in pairs]))._asdict()
            for name, measure in _MEASURES.items()
        }
        # The F1 that a run reports comes from the registered metric.
        samples = [frame_statistics(Frame("", tuple(true)), Frame("", tuple(said))) for true, said in pairs]
        for name, metric in registered.items():
            found[name]["f1"] = metric_kind(metric).estimate(samples, None).value
        return found

    return scores


def _entities(told: Sequence[Mapping[str, str]]) -> list[Entity]:
    return [Entity(one["type"], one["filler"]) for one in told]


def _together(samples: Sequence[Mapping[str, Counts]]) -> dict[str, Counts]:
    types = sorted({type_ for sample in samples for type_ in sample})
    return {type_: added(sample[type_] for sample in samples if type_ in sample) for type_ in types}


def _keyphrases(params: _Inputs, inputs: _Inputs) -> dict[str, dict[str, float]]:
    cut = str(params["k"] or "m")
    samples = [
        keyphrase_statistics(true, said) for true, said in zip(inputs["references"], inputs["predictions"], strict=True)
    ]
    names = SetScores._fields
    totals = [sum(one[name] for one in samples) for name in (f"hits_{cut}", f"kept_{cut}", "keyphrases")]
    return {
        "macro": {name: metric_kind(f"keyphrase_{name}_at_{cut}").estimate(samples, None).value for name in names},
        "micro": set_scores(*totals)._asdict(),
    }


SCORERS = {
    "keyphrase_at_1": _keyphrases,
    "keyphrase_at_3": _keyphrases,
    "keyphrase_at_5": _keyphrases,
    "keyphrase_at_M": _keyphrases,
    "slu_f1_macro": _slu(macro, {"slu_f1": "slu_f1_macro"}),
    "slu_f1_micro": _slu(micro, _MICRO),
}

OUT: dict[str, str] = {}

DIFFERS: dict[str, str] = {}
