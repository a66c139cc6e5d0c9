"""What a spoken request wants: its intent and its entities, answered as JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.understanding import TYPED, Entity, Measure, added, entity_counts
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

INSTRUCTION = (
    'Answer with JSON and nothing else: {"intent": "<scenario>_<action>", '
    '"entities": [{"type": "<type>", "filler": "<words>"}]}. What does the speaker want?'
)
_MOST = 20_000
_STARTS = 50
_ENTITIES = 100
_FILLER = 500
_ANNOTATED = re.compile(r"(\w+): (.*)", re.DOTALL)
_ENTITY = re.compile(r"\[([^\]:]+):([^\]]*)\]")
_CLITIC = re.compile(r"(?<=\S)('s|n't|'m|'re|'ve|'ll|'d)\b")
"""What SLURP's tokens part from the word before it: "jessica 's"."""
_MEASURES: tuple[Measure, ...] = ("span", "word", "char", "slu")


class Frame(NamedTuple):
    """What a request wants."""

    intent: str
    entities: tuple[Entity, ...]

    @property
    def scenario(self) -> str:
        """The intent before its first underscore: no scenario of SLURP's has one, while actions do."""
        return self.intent.partition("_")[0]

    @property
    def action(self) -> str:
        """The intent behind its first underscore."""
        return self.intent.partition("_")[2]


@with_recorded_options
def understanding(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for a request's intent and entities as JSON, in the sample's own question's words or else in ``prompt``'s.

    The scorers are ``frame`` (the default; ours), ``slurp`` (which leaves out samples without a readable answer) and
    ``slurp-keep``. A sample's reference is JSON of the same form: {"intent": …, "entities": [{"type": …, "filler":
    …}]}; SLURP's "scenario" and "action" may are in place of "intent". Or it is an intent, a colon and SLURP's
    annotated sentence: ``alarm_set: wake me at [time : seven am]``. Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    return family_protocol("understanding", (stage,), _READINGS, scorers)


def frame_in(text: str) -> Frame | None:
    """The first frame that ``text`` holds as JSON: an object with an intent or entities, or a list of entities."""
    decoder, text = json.JSONDecoder(), text[:_MOST]
    for start in [place for place, letter in enumerate(text) if letter in "{["][:_STARTS]:
        try:
            content, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if (frame := _frame(content)) is not None:
            return frame
    return None


def true_frame(sample: Sample) -> Frame:
    """The frame that the sample's reference is. Raises UsageError where it is none, or has no intent."""
    if (frame := _annotated_frame(sample.reference) or frame_in(sample.reference)) is None or not frame.intent:
        raise UsageError(
            f"sample {sample.id!r}: its reference is not JSON of the form "
            '{"intent": …, "entities": [{"type": …, "filler": …}]}; correct the data set'
        )
    return frame


def _annotated_frame(text: str) -> Frame | None:
    """The frame of an intent and an annotated sentence; its fillers are in small letters and in SLURP's tokens."""
    if (sentence := _ANNOTATED.fullmatch(text)) is None:
        return None
    fillers = ((kind, _CLITIC.sub(r" \1", filler.lower())) for kind, filler in _ENTITY.findall(sentence[2]))
    return Frame(sentence[1], tuple(Entity(kind.strip(), " ".join(filler.split())) for kind, filler in fillers))


def _frame(content: Any) -> Frame | None:
    if isinstance(content, list):
        content = {"entities": content}
    if not isinstance(content, dict):
        return None
    entities = content.get("entities", [])
    if not isinstance(entities, list) or not all(_is_entity(entity) for entity in entities):
        return None
    intent = content.get("intent")
    if intent is None and isinstance(content.get("scenario"), str) and isinstance(content.get("action"), str):
        intent = f"{content['scenario']}_{content['action']}"
    if not isinstance(intent, str) and not entities:
        return None
    return Frame(
        str(intent or "")[:_FILLER],
        tuple(Entity(entity["type"][:_FILLER], entity["filler"][:_FILLER]) for entity in entities[:_ENTITIES]),
    )


def _is_entity(entity: Any) -> bool:
    return isinstance(entity, dict) and isinstance(entity.get("type"), str) and isinstance(entity.get("filler"), str)


def _tidy_frame(frame: Frame) -> Frame:
    entities = (Entity(tidy_caseless(entity.type), tidy_caseless(entity.filler)) for entity in frame.entities)
    return Frame(tidy_caseless(frame.intent), tuple(entities))


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    if not response.text.strip():
        return Answer("empty")
    if (frame := frame_in(response.text)) is not None:
        return Answer("parsed", json.dumps({"intent": frame.intent, "entities": [e._asdict() for e in frame.entities]}))
    if response.finish == "length":
        return Answer("truncated")
    return Answer("refused" if response.finish == "refusal" or refuses(response.text[:_MOST]) else "unparsed")


def _score(change: Callable[[Frame], Frame], keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        predicted = frame_in(answer.value) if answer.value is not None else None
        if predicted is None and not keep:
            return None
        return frame_statistics(change(true_frame(sample)), change(predicted or Frame("", ())))

    return score


def frame_statistics(true: Frame, predicted: Frame) -> dict[str, float]:
    """Whether the intent, its scenario, its action and all is right; entities' hits, false alarms and misses.

    The latter by each measure.
    SLU-F1's counts are given for each type of entity as well, under a number that stands for the type.
    """
    parts = {part: getattr(true, part) == getattr(predicted, part) for part in ("intent", "scenario", "action")}
    statistics = {part: float(is_right) for part, is_right in parts.items()}
    for measure in _MEASURES:
        counts = entity_counts(true.entities, predicted.entities, measure)
        statistics |= {f"{measure}_{name}": value for name, value in added(counts.values())._asdict().items()}
        if measure == "slu":
            for type_, its in counts.items():
                number = hashlib.sha256(type_.encode("utf-8", "surrogatepass")).hexdigest()[:8]
                statistics |= {f"{TYPED}{number}_{name}": value for name, value in its._asdict().items()}
    right = statistics["intent"] and not statistics["span_alarms"] and not statistics["span_misses"]
    return {"correct": float(right), **statistics}


_METRICS = (
    *("slu_f1", "intent_accuracy", "slu_f1_macro", "entity_f1", "slu_word_f1", "slu_char_f1", "accuracy"),
    *("scenario_accuracy", "action_accuracy"),
)

_READINGS = tuple(
    Scorer(name, f"understanding:{name}|v:1|{rule}|distance:slurp", _parse, score, _METRICS, companions=companions)
    for name, rule, score, companions in (
        ("frame", "unanswered:misses-all|case:ignored", _score(_tidy_frame, keep=True), ()),
        ("slurp", "unanswered:skipped|case:kept", _score(lambda frame: frame, keep=False), ("slurp-keep",)),
        ("slurp-keep", "unanswered:misses-all|case:kept", _score(lambda frame: frame, keep=True), ()),
    )
)
