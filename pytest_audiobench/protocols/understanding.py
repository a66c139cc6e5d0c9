"""What a spoken request wants: its intent and its entities, answered as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.kinds.understanding import TYPED, Entity, Measure, added, entity_counts
from pytest_audiobench.protocols.free_text import answer_of, choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.refusals import refuses

INSTRUCTION = (
    'Answer with JSON and nothing else: {"intent": "<scenario>_<action>", '
    '"entities": [{"type": "<type>", "filler": "<words>"}]}. What does the speaker want?'
)
_MOST = 20_000
_STARTS = 50
_ENTITIES = 100
_FILLER = 500
_MEASURES: tuple[Measure, ...] = ("span", "word", "char", "slu")


class Frame(NamedTuple):
    """What a request wants."""

    intent: str
    entities: tuple[Entity, ...]


@remembered
def understanding(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for a request's intent and entities as JSON, in the sample's own question's words or else in ``prompt``'s.

    The scorers are ``frame`` (the default; ours), ``slurp`` (which leaves out samples without a readable answer) and
    ``slurp-keep``. A sample's reference is JSON of the same form: {"intent": …, "entities": [{"type": …, "filler":
    …}]}; SLURP's "scenario" and "action" may stand in place of "intent". Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    return choose(Protocol("understanding", (stage,), (available["frame"],), available), scorers)


def frame_in(text: str) -> Frame | None:
    """The first frame that ``text`` holds as JSON: an object with an intent or entities, or a list of entities."""
    decoder, text = json.JSONDecoder(), text[:_MOST]
    starts = [place for place, letter in enumerate(text) if letter in "{["][:_STARTS]
    for start in starts:
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if (frame := _frame(found)) is not None:
            return frame
    return None


def true_frame(sample: Sample) -> Frame:
    """The frame that the sample's reference is. Raises UsageError where it is none, or has no intent."""
    frame = frame_in(sample.reference)
    if frame is None or not frame.intent:
        raise UsageError(
            f"sample {sample.id!r}: its reference is no JSON of the form "
            '{"intent": …, "entities": [{"type": …, "filler": …}]}; correct the data set'
        )
    return frame


def _frame(found: Any) -> Frame | None:
    if isinstance(found, list):
        found = {"entities": found}
    if not isinstance(found, dict):
        return None
    entities = found.get("entities", [])
    if not isinstance(entities, list) or not all(_is_entity(one) for one in entities):
        return None
    intent = found.get("intent")
    if intent is None and isinstance(found.get("scenario"), str) and isinstance(found.get("action"), str):
        intent = f"{found['scenario']}_{found['action']}"
    if not isinstance(intent, str) and not entities:
        return None
    return Frame(
        str(intent or "")[:_FILLER],
        tuple(Entity(one["type"][:_FILLER], one["filler"][:_FILLER]) for one in entities[:_ENTITIES]),
    )


def _is_entity(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("type"), str) and isinstance(one.get("filler"), str)


def _tidied(frame: Frame) -> Frame:
    entities = (Entity(tidy_caseless(one.type), tidy_caseless(one.filler)) for one in frame.entities)
    return Frame(tidy_caseless(frame.intent), tuple(entities))


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    if not response.text.strip():
        return Answer("empty")
    frame = frame_in(response.text)
    if frame is not None:
        return Answer("parsed", json.dumps({"intent": frame.intent, "entities": [e._asdict() for e in frame.entities]}))
    if response.finish == "length":
        return Answer("truncated")
    return Answer("refused" if response.finish == "refusal" or refuses(response.text[:_MOST]) else "unparsed")


def _score(change: Callable[[Frame], Frame], keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        said = frame_in(answer.value) if answer.value is not None else None
        if said is None and not keep:
            return None
        return frame_statistics(change(true_frame(sample)), change(said or Frame("", ())))

    return score


def frame_statistics(true: Frame, said: Frame) -> dict[str, float]:
    """Whether the intent is right and whether all is; hits, false alarms and misses of entities by each measure.

    SLU-F1's counts are given for each type of entity as well, under a number that stands for the type.
    """
    found = {"intent": float(true.intent == said.intent)}
    for measure in _MEASURES:
        counts = entity_counts(true.entities, said.entities, measure)
        found |= {f"{measure}_{name}": value for name, value in added(counts.values())._asdict().items()}
        if measure == "slu":
            for type_, its in counts.items():
                number = hashlib.sha256(type_.encode("utf-8", "surrogatepass")).hexdigest()[:8]
                found |= {f"{TYPED}{number}_{name}": value for name, value in its._asdict().items()}
    right = found["intent"] and not found["span_alarms"] and not found["span_misses"]
    return {"correct": float(right), **found}


_METRICS = ("slu_f1", "intent_accuracy", "slu_f1_macro", "entity_f1", "slu_word_f1", "slu_char_f1", "accuracy")
_SLURP = "Bastianelli et al. 2020, github pswietojanski/slurp, scripts/evaluation/metrics"
_SLURP_RULE = (
    "The first JSON of the answer that has an intent (or a scenario and an action) or entities. Entities of one type "
    "meet by their fillers, the nearest true one first, in the order in which they are said; the fillers' word error "
    "rate and character distance are added to false alarms and misses, and SLU-F1 is the F1 of both counts together. "
    "Types, fillers and intents are compared as they are, case included."
)
_SLURP_DEFECTS = (
    "The word distance can exceed 1, so that a runaway filler costs more than a wrong entity. Who meets whom depends "
    "on the order of the answer. An invented type is one more class of the macro mean."
)
_TRUE = '{"intent": "alarm_set", "entities": [{"type": "time", "filler": "seven am"}]}'

_READINGS = (
    Scorer(
        "frame",
        "understanding:frame|v:1|unanswered:misses-all|case:ignored|distance:slurp",
        _parse,
        _score(_tidied, keep=True),
        _METRICS,
        About(
            "The first JSON of the answer that has an intent or entities. SLU-F1 by SLURP's rule, with case, outer "
            "punctuation and spaces of types, fillers and intents ignored. An answer without readable JSON has no "
            "intent and misses every entity. accuracy is the share of answers that are right in everything.",
            f"ours; the measure is SLURP's ({_SLURP})",
            (
                Example('{"intent": "alarm_set", "entities": [{"type": "time", "filler": "Seven AM"}]}', _TRUE),
                Example('{"intent": "alarm_set", "entities": [{"type": "time", "filler": "seven pm"}]}', _TRUE),
                Example("Set an alarm.", _TRUE),
            ),
        ),
    ),
    Scorer(
        "slurp",
        "understanding:slurp|v:1|unanswered:skipped|case:kept|distance:slurp",
        _parse,
        _score(lambda frame: frame, keep=False),
        _METRICS,
        About(
            f"{_SLURP_RULE} A sample without a readable answer is left out.",
            _SLURP,
            (
                Example('{"intent": "alarm_set", "entities": [{"type": "time", "filler": "seven pm"}]}', _TRUE),
                Example("Set an alarm.", _TRUE),
            ),
            f"{_SLURP_DEFECTS} Samples without a prediction are left out and only named in a warning, so that silence "
            "costs nothing. Ours counts all that they miss, and ignores case.",
        ),
        beside=("slurp-keep",),
    ),
    Scorer(
        "slurp-keep",
        "understanding:slurp-keep|v:1|unanswered:misses-all|case:kept|distance:slurp",
        _parse,
        _score(lambda frame: frame, keep=True),
        _METRICS,
        About(
            f"{_SLURP_RULE} A sample without a readable answer has no intent and misses every entity.",
            _SLURP,
            (Example("Set an alarm.", _TRUE),),
            _SLURP_DEFECTS,
        ),
    ),
)
