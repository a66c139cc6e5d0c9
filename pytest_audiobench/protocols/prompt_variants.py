"""One question in several wordings: an axis along which any family whose prompt is an argument can be asked.

Each wording is asked in stages of its own, so that asking five of a set after three asks the two that are new. The
scorers of the family read each wording (``letters@2``). Of closed answers (an option, yes or no) the scorer under its
plain name is the vote of all wordings; of answers in free words it is the first wording's. What the wordings make of
the headline is ``wording_spread`` and ``wording_sd`` (``evaluation/scoring.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.models.messages import Message
from pytest_audiobench.protocols.catalogue import ENCODER, FAMILIES, family, options_of, takes_encoder
from pytest_audiobench.protocols.prompt_sets import PromptSet, prompt_set
from pytest_audiobench.protocols.protocol import Answer, Earlier, Option, Protocol, Scorer, Stage, Status, at_wording

WORDINGS, WORDING_SET, WORDING_SEED = "wordings", "wording_set", "wording_seed"
"""The options under which a record keeps the wordings, the version of their set, and what one of them is drawn by."""
ON_RECORD = (WORDINGS, WORDING_SET, WORDING_SEED)
"""These options, none of which a family takes."""
_Render: TypeAlias = Callable[[Sample, Earlier], tuple[Message, ...]]
_INSTRUCTED = frozenset({"transcription", "hallucination", "captioning", "translation"})
"""Families in which a sample's own question says no more than what to do, so that another wording can stand for it."""
_SLOT = re.compile(r"\{(?:question|options|labels?)\}")
TIES: Mapping[str, str] = {"ab-yesno": "no"}
"""Scorers whose published rule decides a tie; by every other a tie is not an answer."""


class Voted(Answer):
    """What the wordings' answers come to; ``agreeing`` is the share of wordings in the largest camp, ``same`` whether
    all of them were read as one answer.
    """

    agreeing: float
    same: bool

    def __new__(cls, status: Status, value: str | None, agreeing: float, same: bool) -> Voted:
        self = super().__new__(cls, status, value)
        self.agreeing, self.same = agreeing, same
        return self


def with_prompt_variants(protocol: Protocol, prompts: str | PromptSet, count: int | None = None) -> Protocol:
    """``protocol``, asked in each of the first ``count`` wordings of ``prompts``, all of them for None.

    ``prompts`` is a set, the name of one that comes with the package, or a file of one. Where a sample's own question
    only says what to do (transcribe, caption, translate), the wordings take its place. Raises UsageError for a family
    without its own prompt, wordings that the family cannot ask (it names each), and for more wordings than there
    are.
    """
    chosen = replace(prompt_set(prompts), data=())
    chosen = chosen if count is None else chosen.first(count)
    if not chosen.is_for(protocol.name):
        raise UsageError(f"{chosen.name} is for {' and '.join(chosen.families)}, and not for {protocol.name}")
    if protocol.name not in FAMILIES or "prompt" not in options_of(protocol.name):
        raise UsageError(f"{protocol.name} has no prompt=…, so it cannot be asked in other words")
    if WORDINGS in protocol.options:
        raise UsageError(f"{protocol.name} is asked in the wordings of a set already: name one set, with all of them")
    mistakes = Mistakes()
    variants = [
        mistakes.attempt(protocol, _with_prompt, protocol, text, number, chosen)
        for number, text in enumerate(chosen.paraphrases, 1)
    ]
    mistakes.check()
    options: dict[str, Option] = {**protocol.options, WORDINGS: list(chosen.paraphrases), WORDING_SET: chosen.version}
    options.pop("prompt", None)
    if len(variants) == 1:
        return replace(variants[0], options=options)
    if chosen.seed is not None:
        options[WORDING_SEED] = chosen.seed
        return replace(variants[0], stages=tuple(_drawn_stages(variants, chosen)), options=options)
    available = {scorer.name: scorer for name in protocol.available for scorer in _scorers(protocol, variants, name)}
    stages = [stage for number, variant in enumerate(variants, 1) for stage in _stages(variant, variants[0], number)]
    named = [scorer.name for scorer in protocol.scorers]
    return replace(
        protocol, stages=tuple(stages), available=MappingProxyType(available), options=options, scorers=()
    ).with_scorers(*named)


def with_chosen_prompts(protocol: Protocol, sets: Sequence[PromptSet], data: str = "") -> Protocol:
    """``protocol`` in the first of ``sets`` that fits it and the data set ``data``, in place of its own words.

    Raises UsageError for none.
    """
    fitting = [prompts for prompts in sets if prompts.is_for(protocol.name, data)]
    if not fitting:
        families = dict.fromkeys(
            f"{name} of certain data" if prompts.data else name for prompts in sets for name in prompts.families
        )
        raise UsageError(
            f"no set of --ab-prompts is for {protocol.name} of {data}, but for {', '.join(families)}: name one that is "
            "beside it, or leave this eval out"
        )
    plain = protocol
    if WORDINGS in protocol.options:
        options = {option: value for option, value in protocol.options.items() if option not in ON_RECORD}
        names = dict.fromkeys(scorer.name.partition("@")[0] for scorer in protocol.scorers)
        plain = family(protocol.name, **options).with_scorers(*names)
    problems: dict[str, None] = {}
    for prompts in fitting:
        try:
            asked = with_prompt_variants(plain, prompts)
            if len(asked.openings) > 1 and all(scorer.judge for scorer in asked.scorers):
                raise UsageError(
                    f"{protocol.name} is read here by judges only, which score the answer to one wording: ask it in "
                    f"the first of {prompts.name} (:1), or in one drawn for each sample (:draw)"
                )
            return asked
        except UsageError as error:
            problems[str(error)] = None
    raise UsageError("\n".join(problems))


def _unquestioned(stage: Stage) -> Stage:
    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        return stage.render(Sample(sample.id, sample.clips, "", sample.choices, "", sample.metadata), earlier)

    return replace(stage, render=render) if stage.role == "subject" else stage


def with_other_encoder(protocol: Protocol, spec: str) -> Protocol:
    """A protocol whose family takes a text encoder, made again with the one that ``spec`` names; any other as it is."""
    if not takes_encoder(protocol.name):
        return protocol
    other = recorded_protocol(protocol.name, {**protocol.options, ENCODER: spec})
    available = MappingProxyType({**protocol.available, **other.available})
    names = [scorer.name for scorer in protocol.scorers]
    chosen = replace(protocol, stages=other.stages, available=available, options=other.options).with_scorers(*names)
    return replace(chosen, notes=protocol.notes, swept=protocol.swept)


def recorded_protocol(name: str, options: Mapping[str, Option]) -> Protocol:
    """The family ``name`` as it was called, with its wordings, from the options of a record."""
    others = {option: value for option, value in options.items() if option not in ON_RECORD}
    if (texts := options.get(WORDINGS)) is None:
        return family(name, **others)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{name}: the wordings on record must be a list of texts")
    seed = options.get(WORDING_SEED)
    prompts = PromptSet(str(options.get(WORDING_SET, "")), tuple(texts), seed=seed if isinstance(seed, int) else None)
    return with_prompt_variants(family(name, **others), prompts)


def _with_prompt(protocol: Protocol, text: str, number: int, chosen: PromptSet) -> Protocol:
    """The protocol with ``text`` for its prompt; scorers that its family does not have are kept."""
    try:
        variant = family(protocol.name, **{**protocol.options, "prompt": text})
        _check_slots(protocol, text)
        if protocol.name in _INSTRUCTED:
            variant = replace(variant, stages=tuple(map(_unquestioned, variant.stages)))
    except UsageError as error:
        raise UsageError(f"{chosen.name}, paraphrases[{number - 1}]: {error}") from None
    available = MappingProxyType({**protocol.available, **variant.available})
    names = [scorer.name for scorer in protocol.scorers]
    return replace(protocol, stages=variant.stages, available=available).with_scorers(*names)


def _check_slots(protocol: Protocol, text: str) -> None:
    """Raises UsageError for a slot in the words of a family that fills in none, and would ask it as it is written."""
    if (slot := _SLOT.search(text)) is None:
        return
    try:
        family(protocol.name, **{**protocol.options, "prompt": f"{text} {{no_slot}}"})
    except UsageError:
        return  # which placeholders there are is the family's to say
    raise UsageError(f"{text!r} has {slot[0]}, and {protocol.name} puts nothing in its place; write it without")


def _stages(variant: Protocol, first: Protocol, number: int) -> Iterator[Stage]:
    for stage, other in zip(variant.stages, first.stages, strict=True):
        render = _rendering(variant, stage, other, number)
        changed = replace(stage, name=at_wording(stage.name, number), render=render, wording=number)
        yield stage if number == 1 else changed


def _drawn_stages(variants: Sequence[Protocol], prompts: PromptSet) -> Iterator[Stage]:
    for stages in zip(*(variant.stages for variant in variants), strict=True):
        second = _rendering(variants[1], stages[1], stages[0], 2)

        def render(
            sample: Sample, earlier: Earlier, stages: Sequence[Stage] = stages, check: _Render = second
        ) -> tuple[Message, ...]:
            if not earlier:
                check(sample, {})
            return stages[prompts.place_of(sample.id)].render(sample, earlier)

        yield replace(stages[0], render=render)


def _responses_to(protocol: Protocol, earlier: Earlier, number: int) -> Earlier:
    """What was said to wording ``number``, under the names that the family knows; verdicts of judges as they are."""
    if number == 1:
        return earlier
    known = [stage.name for stage in protocol.stages]
    others = {name: response for name, response in earlier.items() if name not in known}
    renamed = {name: earlier[at_wording(name, number)] for name in known if at_wording(name, number) in earlier}
    return {**others, **renamed}


def _rendering(protocol: Protocol, stage: Stage, first: Stage, number: int) -> _Render:
    opening = stage.name == protocol.stages[0].name

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        messages = stage.render(sample, _responses_to(protocol, earlier, number))
        if opening and messages == first.render(sample, {}):
            raise UsageError(
                f"sample {sample.id!r} is asked in the same words by wording 1 and by wording {number}: make them "
                "differ in more than a or an; where the sample's own question takes the wordings' place, leave that "
                f"out, or ask {protocol.name} in one wording"
            )
        return messages

    return render


def _scorers(protocol: Protocol, each: Sequence[Protocol], name: str) -> Iterator[Scorer]:
    """A scorer of the protocol: of the vote or of the first wording under its own name, then of every wording."""
    base = protocol.available[name]
    if base.judge:
        yield base
        return
    closed = protocol.expects == "option" and "accuracy" in base.metrics
    singles = [_variant_scorer(variant, name, number, len(each)) for number, variant in enumerate(each, 1)]
    reported = singles if closed else singles[1:]
    companions = tuple(dict.fromkeys([*(single.name for single in reported), *base.companions]))
    first = _vote_scorer(name, each) if closed else _first_scorer(name, singles)
    yield replace(first, companions=companions)
    yield from reported


def _first_scorer(name: str, singles: Sequence[Scorer]) -> Scorer:
    """The first wording's, which also says whether all wordings have the same words."""
    base = singles[0]

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        answers = [single.parse(sample, earlier) for single in singles]
        return Voted(*answers[0], 0.0, _are_same(base, sample, answers))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        statistics = base.score(sample, answer)
        if statistics is None or not isinstance(answer, Voted):
            return statistics
        return {**statistics, "wordings_same": float(answer.same)}

    return replace(base, name=name, parse=parse, score=score, metrics=(*base.metrics, "wording_consistency"))


def _are_same(scorer: Scorer, sample: Sample, answers: Sequence[Answer]) -> bool:
    if any(answer.value is None for answer in answers):
        return False
    values = {answer.value or "" for answer in answers}
    if len(values) == 1 or scorer.words is None:
        return len(values) == 1
    return len({tuple(scorer.words(sample.reference, value)[1]) for value in values}) == 1


def _variant_scorer(variant: Protocol, name: str, number: int, count: int) -> Scorer:
    scorer = variant.available[name]
    return replace(
        scorer,
        name=f"{name}@{number}",
        signature=f"{scorer.signature}|wording:{number}/{count}",
        parse=lambda sample, earlier: scorer.parse(sample, _responses_to(variant, earlier, number)),
        companions=(),
        stage=at_wording(variant.answering.name, number),
    )


def _vote_scorer(name: str, each: Sequence[Protocol]) -> Scorer:
    parts = [variant.available[name] for variant in each]
    base, tied = parts[0], TIES.get(name)
    pairs = list(enumerate(zip(each, parts, strict=True), 1))

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        answers = (part.parse(sample, _responses_to(variant, earlier, n)) for n, (variant, part) in pairs)
        return vote(list(answers), tied)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if (statistics := base.score(sample, answer)) is None or not isinstance(answer, Voted):
            return statistics
        return {**statistics, "wordings_agreeing": answer.agreeing, "wordings_same": float(answer.same)}

    return replace(
        base,
        signature=f"{base.signature}|vote:{len(each)}|tie:{tied or 'unanswered'}",
        parse=parse,
        score=score,
        metrics=(*base.metrics, "wording_agreement", "wording_consistency"),
        stage=None,
    )


def vote(answers: Sequence[Answer], tied: str | None = None) -> Voted:
    """The value that most of ``answers`` have; those without one are their own camp.

    Where the largest camps are level there is no answer ("unparsed"), or ``tied`` is it. Where most have no value, the
    answer has their most common status, the first of them among equals.
    """
    camps = Counter(answer.value if answer.status == "parsed" else None for answer in answers)
    most = max(camps.values())
    largest = [camp for camp, size in camps.items() if size == most]
    share = most / len(answers)
    if len(largest) > 1:
        return Voted("unparsed", None, share, False) if tied is None else Voted("parsed", tied, share, False)
    if largest[0] is not None:
        return Voted("parsed", largest[0], share, len(camps) == 1)
    statuses = Counter(answer.status for answer in answers if answer.status != "parsed")
    return Voted(statuses.most_common(1)[0][0], None, share, False)
