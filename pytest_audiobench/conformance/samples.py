"""The inputs of reference cases as samples with their answers: what a run hands to a scorer.

A shape, by the name under which declarations ask for it, is a function of a case that gives a row for each answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import short_repr
from pytest_audiobench.metrics.tokenizers import tokenized
from pytest_audiobench.models.messages import Output, Part, Response, Sound


class AnsweredSample(NamedTuple):
    """A sample with what each stage answered, and each judge."""

    sample: Sample
    responses: Mapping[str, Response]
    verdicts: Mapping[str, Response]
    """By the judge's stage; "" is the scorer's own."""


Rows: TypeAlias = Iterator[AnsweredSample]


def row(
    number: int,
    text: str,
    reference: str = "",
    references: Sequence[str] = (),
    choices: Sequence[str] = (),
    metadata: Mapping[str, Json] | None = None,
    score: float | None = None,
    verdicts: Mapping[str, Response] | None = None,
) -> AnsweredSample:
    """The answer ``text`` to a sample; ``score`` is what the model thinks of it."""
    truth = reference or (references[0] if references else "")
    sample = Sample(f"{number:06}", (), "", tuple(choices), truth, metadata or {}, references=tuple(references))
    response = Response(outputs=(Output((Part("text", text),), score=score),))
    return AnsweredSample(sample, {"answer": response}, verdicts or {})


def text_of(value: Json, name: str) -> str:
    """``value`` where it is a text. Raises UsageError that names the input."""
    if isinstance(value, str):
        return value
    raise UsageError(f"the input {name} is not text but {short_repr(value)}")


def texts_of(value: Json, name: str) -> list[str]:
    return [text_of(text, name) for text in list_of(value, name)]


def list_of(value: Json, name: str) -> list[Json]:
    if isinstance(value, list):
        return value
    raise UsageError(f"the input {name} is not a list but {short_repr(value)}")


_LARGEST = 1e308


def number_of(value: Json, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return float(value)
    raise UsageError(f"the input {name} is not a number but {short_repr(value)}")


def _input(case: ReferenceCase, name: str) -> Json:
    if name in case.inputs:
        return case.inputs[name]
    raise UsageError(f"the case has no input {name!r}")


def _columns(case: ReferenceCase, *names: str) -> list[list[Json]]:
    """The lists of these names, as long as one another."""
    columns = [list_of(_input(case, name), name) for name in names]
    if len({len(column) for column in columns}) > 1:
        raise UsageError(f"the inputs {' and '.join(names)} are not of one length")
    return columns


def _texts(case: ReferenceCase, prepare: Callable[[str], str] = str) -> Rows:
    """A reference and a hypothesis, or lists of them; of several references, all are of the one hypothesis."""
    if "hypothesis" in case.inputs:
        hypothesis = text_of(case.inputs["hypothesis"], "hypothesis")
        if "references" in case.inputs:
            yield row(0, hypothesis, references=texts_of(case.inputs["references"], "references"))
        else:
            yield row(0, prepare(hypothesis), prepare(text_of(_input(case, "reference"), "reference")))
        return
    for number, (reference, text) in enumerate(zip(*_columns(case, "references", "hypotheses"), strict=True)):
        yield row(number, text_of(text, "hypotheses"), text_of(reference, "references"))


def _text(case: ReferenceCase) -> Rows:
    yield row(0, text_of(_input(case, "text"), "text"))


def _translations(case: ReferenceCase) -> Rows:
    """Hypotheses, and references of which the first index says which of several it is."""
    hypotheses = texts_of(_input(case, "hypotheses"), "hypotheses")
    sets = [texts_of(one, "references") for one in list_of(_input(case, "references"), "references")]
    if not sets or any(len(one) != len(hypotheses) for one in sets):
        raise UsageError("the inputs hypotheses and references are not of one length")
    change = str.lower if case.params.get("lowercase") else str
    for number, (text, *references) in enumerate(zip(hypotheses, *sets, strict=True)):
        yield row(number, change(text), references=[change(reference) for reference in references])


def _captions(case: ReferenceCase) -> Rows:
    for number, (text, references) in enumerate(zip(*_columns(case, "candidates", "references"), strict=True)):
        listed = [references] if isinstance(references, str) else texts_of(references, "references")
        yield row(number, text_of(text, "candidates"), references=listed)


def _predictions(case: ReferenceCase) -> Rows:
    for number, (text, reference) in enumerate(zip(*_columns(case, "predictions", "targets"), strict=True)):
        yield row(number, text_of(text, "predictions"), text_of(reference, "targets"))


def _labels(case: ReferenceCase) -> Rows:
    """A true label and one that was said; the choices are the listed labels, or all that occur."""
    true, said = ([text_of(label, name) for label in column] for name, column in _named(case, "y_true", "y_pred"))
    listed = case.params.get("labels")
    choices = sorted({*true, *said}) if not isinstance(listed, list) else texts_of(listed, "labels")
    for number, (reference, text) in enumerate(zip(true, said, strict=True)):
        yield row(number, text, reference, choices=choices)


def _label_sets(case: ReferenceCase) -> Rows:
    """Lists of true labels and of those that were said, of the classes."""
    classes = case.params.get("classes")
    true, said = (
        [texts_of(labels, name) for labels in column] for name, column in _named(case, "targets", "predictions")
    )
    choices = (
        sorted({label for labels in true for label in labels}) if classes is None else texts_of(classes, "classes")
    )
    for number, (labels, answer) in enumerate(zip(true, said, strict=True)):
        references = [label for label in labels if label in choices]
        yield row(number, ", ".join(answer) or "None", references=references or ["None"], choices=choices)


def _bare_label_sets(case: ReferenceCase) -> Rows:
    """The same, where every label that occurs is one of the classes, and nothing stands for an empty set."""
    columns = _named(case, "targets", "predictions")
    true, said = ([texts_of(labels, name) for labels in column] for name, column in columns)
    choices = sorted({label for labels in (*true, *said) for label in labels})
    for number, (labels, answer) in enumerate(zip(true, said, strict=True)):
        yield row(number, ", ".join(answer), references=labels, choices=choices)


def _named(case: ReferenceCase, *names: str) -> list[tuple[str, list[Json]]]:
    return list(zip(names, _columns(case, *names), strict=True))


def _numbers(case: ReferenceCase) -> Rows:
    for number, (reference, text) in enumerate(zip(*_columns(case, "y_true", "y_pred"), strict=True)):
        yield row(number, repr(number_of(text, "y_pred")), repr(number_of(reference, "y_true")))


def _trials(case: ReferenceCase) -> Rows:
    """Trials of one speaker and of two, each answered with the model's own score."""
    numbers = iter(range(10**9))
    for name, truth in (("target_scores", "yes"), ("nontarget_scores", "no")):
        for score in list_of(_input(case, name), name):
            yield row(next(numbers), "yes", truth, score=number_of(score, name))


def _recorded(case: ReferenceCase) -> Rows:
    """Answers as a benchmark recorded them, with choices or with a judge's words where there are any."""
    for number, pair in enumerate(list_of(_input(case, "pairs"), "pairs")):
        if not isinstance(pair, dict):
            raise UsageError(f"an element of pairs is not an object but {short_repr(pair)}")
        reference = pair.get("reference", "")
        references = texts_of(reference, "reference") if isinstance(reference, list) else []
        verdict = pair.get("judge_response")
        said = {} if verdict is None else {"": Response.of(text_of(verdict, "judge_response"))}
        yield row(
            number,
            text_of(pair.get("prediction", ""), "prediction"),
            "" if references else text_of(reference, "reference"),
            references,
            texts_of(pair.get("choices", []), "choices"),
            verdicts=said,
        )


def _phrases(case: ReferenceCase) -> Rows:
    for number, (true, said) in enumerate(zip(*_columns(case, "references", "predictions"), strict=True)):
        yield row(number, ", ".join(texts_of(said, "predictions")), references=texts_of(true, "references"))


def _frames(case: ReferenceCase) -> Rows:
    """Entities, with one intent for all."""
    for number, (true, said) in enumerate(zip(*_columns(case, "gold", "predicted"), strict=True)):
        reference, text = (json.dumps({"intent": "none", "entities": list_of(one, "entities")}) for one in (true, said))
        yield row(number, text, reference)


def _talkers(case: ReferenceCase) -> Rows:
    streams = texts_of(_input(case, "hypothesis_streams"), "hypothesis_streams")
    text = "\n".join(f"Speaker {number}: {words}" for number, words in enumerate(streams, 1))
    yield row(0, text, references=texts_of(_input(case, "reference_streams"), "reference_streams"))


def _utterances(case: ReferenceCase) -> Rows:
    """Utterances, of one talker or by talkers, and streams: each stream is what one speaker of the answer says."""
    given = case.inputs.get("reference_streams_of_utterances")
    if given is None:
        talkers = [[text] for text in texts_of(_input(case, "reference_utterances"), "reference_utterances")]
    else:
        talkers = [texts_of(talker, "utterances") for talker in list_of(given, "reference_streams_of_utterances")]
    times = iter(range(10**6))
    true = [_speech(text, str(number), next(times)) for number, talker in enumerate(talkers) for text in talker]
    streams = texts_of(_input(case, "hypothesis_streams"), "hypothesis_streams")
    yield _events_row(0, true, [_speech(text, str(number), number) for number, text in enumerate(streams)])


def _speech(text: str, speaker: str, start: float, end: float | None = None) -> dict[str, Json]:
    return {
        **{"type": "speech", "start_time": start, "end_time": start + 1 if end is None else end},
        **{"transcription": text, "speaker_id": speaker},
    }


def _events_row(number: int, true: Sequence[Json], said: Sequence[Json]) -> AnsweredSample:
    ends = [event["end_time"] for event in (*true, *said)]
    longest = max(ends, default=1.0)
    return row(number, json.dumps(said), json.dumps(true), metadata={"duration": longest})


def _segments(case: ReferenceCase) -> Rows:
    """Who says what from when to when; or, without words, who speaks."""

    def events(name: str) -> list[Json]:
        return [_segment(list_of(segment, name), name) for segment in list_of(_input(case, name), name)]

    yield _events_row(0, events("reference"), events("hypothesis"))


def _segment(segment: list[Json], name: str) -> dict[str, Json]:
    if len(segment) not in (3, 4):
        raise UsageError(f"a segment of {name} has {len(segment)} parts")
    speaker, *words, start, end = segment
    return _speech(text_of(words[0], name) if words else "", text_of(speaker, name), *_times(start, end))


_TYPES = ("sound_event", "music", "vocal_burst", "speech")


def _sounds(case: ReferenceCase) -> Rows:
    """Events of a label each, the labels put for types of events: a label's numbers are those of its type."""
    if "ground_truth" in case.inputs:
        sides = [list_of(_input(case, name), name) for name in ("ground_truth", "detections")]
        files = sorted({text_of(list_of(one, "event")[0], "file") for side in sides for one in side})
    else:
        sides = [
            [["", *list_of(one, name)] for one in list_of(_input(case, name), name)]
            for name in ("reference", "estimated")
        ]
        files = [""]
    collar, segment = case.params.get("t_collar"), case.params.get("time_resolution")
    # The scorer's collar and its segments are of one length: the times of a case of others are stretched to that.
    length, own = (segment, 0.1) if collar is None else (collar, 0.5)
    if length is not None and not 0.001 <= number_of(length, "length") <= 1000.0:
        raise UsageError(f"a collar or a segment is of {length} seconds")
    stretch = 1.0 if length is None else own / length
    labels = case.params.get("labels") or sorted({text_of(one[1], "label") for side in sides for one in side})
    if len(labels) > len(_TYPES):
        raise UsageError(f"there are more labels than types of events: {len(labels)}")
    types = dict(zip(labels, _TYPES, strict=False))
    for number, file in enumerate(files):
        yield _events_row(number, *([_sound(one, types, stretch) for one in side if one[0] == file] for side in sides))


_LONGEST_S = 100_000.0
"""Of a clip: scorers look at it in tenths of a second."""


def _times(start: Json, end: Json, stretch: float = 1.0) -> tuple[float, float]:
    times = number_of(start, "onset") * stretch, number_of(end, "offset") * stretch
    if max(map(abs, times)) > _LONGEST_S:
        raise UsageError(f"an event ends after {_LONGEST_S:g} seconds")
    return times


def _sound(event: list[Json], types: Mapping[str, str], stretch: float) -> dict[str, Json]:
    if len(event) != 4 or event[1] not in types:
        raise UsageError(f"an event is not one of a listed label from a time to another: {short_repr(str(event))}")
    start, end = _times(event[2], event[3], stretch)
    return {"type": types[event[1]], "start_time": start, "end_time": end}


def _parts(target: str | list[str], several: bool) -> list[str]:
    if isinstance(target, str):
        return target.split(",") if several else [target]
    return texts_of(target, "target")


_UNSAID = "a label of the list that nobody says"


def _targets(case: ReferenceCase) -> Rows:
    """BEANS-Next's pairs of a text and its target: a text, or a list of labels; every label is one of the choices."""
    if "pairs" in case.inputs:
        pairs = [list_of(pair, "pairs") for pair in list_of(case.inputs["pairs"], "pairs")]
    elif "processed" in case.inputs:
        # Where nothing is left of an answer, the raw one is scored.
        raw = texts_of(case.inputs.get("raw") or [""], "raw")[0]
        pairs = [[case.inputs["processed"] or raw, _input(case, "labels")]]
    else:
        pairs = [list(pair) for pair in zip(*_columns(case, "predictions", "targets"), strict=True)]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError("a pair is not one of a text and its target")
    # A target that is an object, as one check has it, is not a target.
    rows = [(text_of(text, "text"), "" if target is None else target) for text, target in pairs if target != {}]
    several = case.params.get("task_type") == "detection"
    said = [] if case.inputs.get("processed") == "" else [part for text, _ in rows for part in _parts(text, several)]
    true = [label for _, target in rows for label in _parts(target, several)]
    # Texts that were processed before are labels; one more, so that a list of letters is not taken for options.
    choices = [*dict.fromkeys(label.strip() for label in (*true, *said) if label.strip()), _UNSAID]
    for number, (text, target) in enumerate(rows):
        references = [] if isinstance(target, str) else texts_of(target, "target")
        yield row(number, text, target if isinstance(target, str) else "", references, choices)


def _raw_text(case: ReferenceCase) -> Rows:
    """An answer to be matched with the labels of the last step that reads it."""
    *_, (_, settings) = list_of(_input(case, "cleaners"), "cleaners")
    labels = texts_of(settings["labels"], "labels")
    yield row(0, text_of(_input(case, "raw"), "raw"), labels[0], choices=labels)


def _verdict(case: ReferenceCase) -> Rows:
    """A judge's words alone."""
    yield row(0, "an answer", "a reference", verdicts={"": Response.of(text_of(_input(case, "text"), "text"))})


def _intervals(case: ReferenceCase) -> Rows:
    """A true event and one that was said."""
    sides = [list_of(_input(case, name), name) for name in "ab"]
    if any(len(side) != 2 for side in sides):
        raise UsageError("an interval is not from a time to another")
    true, said = (dict(zip(("start_time", "end_time"), _times(*side), strict=True)) for side in sides)
    yield _events_row(0, [{"type": "music", **true}], [{"type": "music", **said}])


def _of_scorer(case: ReferenceCase) -> Rows:
    """Samples with their answers as a file of one scorer's cases has them."""
    samples, responses = _columns(case, "samples", "responses")
    verdicts = list_of(case.inputs.get("judge_responses", [None] * len(samples)), "judge_responses")
    if len(verdicts) != len(samples):
        raise UsageError("the inputs samples and judge_responses are not of one length")
    for number, (given, said, verdict) in enumerate(zip(samples, responses, verdicts, strict=True)):
        if not isinstance(given, dict):
            raise UsageError(f"a sample is not an object but {short_repr(given)}")
        references = texts_of(given.get("references", []), "references")
        sample = Sample(
            f"{number:06}",
            (),
            text_of(given.get("question", ""), "question"),
            tuple(texts_of(given.get("choices", []), "choices")),
            text_of(given.get("reference", references[0] if references else ""), "reference"),
            given.get("metadata", {}),
            references=tuple(references),
        )
        stage = text_of(case.inputs.get("judge_stage", ""), "judge_stage")
        yield AnsweredSample(sample, _by_stage(said, "answer"), {} if verdict is None else _by_stage(verdict, stage))


def _by_stage(value: Json, stage: str) -> dict[str, Response]:
    """What one stage said, or several where they are named; an answer of ``{"text", "finish"}`` was cut or declined."""
    if isinstance(value, dict) and "text" not in value:
        return {name: _response(said) for name, said in value.items()}
    return {stage: _response(value)}


def _response(value: Json) -> Response:
    if not isinstance(value, dict):
        return Response.of(text_of(value, "responses"))
    finish = value.get("finish", "stop")
    if finish not in ("stop", "length", "refusal", "unknown"):
        raise UsageError(f"a response ended by {short_repr(finish)}, which is no way to end")
    score = value.get("score")
    text = Part("text", text_of(value.get("text"), "responses"))
    sounds = () if "sound" not in value else (_spoken(value["sound"]),)
    parts = (text, *(Part("audio", sound.digest) for sound in sounds))
    output = Output(parts, finish, None if score is None else number_of(score, "score"))
    return Response(outputs=(output,), sounds=sounds)


def _spoken(value: Json) -> Sound:
    """The audio of an answer, as it was measured."""
    if not isinstance(value, dict) or value.keys() - {"seconds", "rate_hz", "silence", "clipping"}:
        raise UsageError(f"a sound is not an object of seconds, rate_hz, silence and clipping but {short_repr(value)}")
    seconds, rate_hz, silence, clipping = (
        number_of(value.get(name, 0.0), name) for name in ("seconds", "rate_hz", "silence", "clipping")
    )
    return Sound("0" * 64, seconds, round(rate_hz), silence, clipping)


SHAPES: Mapping[str, Callable[[ReferenceCase], Rows]] = {
    "bare label sets": _bare_label_sets,
    "captions": _captions,
    "frames": _frames,
    "intervals": _intervals,
    "label sets": _label_sets,
    "labels": _labels,
    "numbers": _numbers,
    "of a scorer": _of_scorer,
    "phrases": _phrases,
    "predictions": _predictions,
    "raw text": _raw_text,
    "recorded": _recorded,
    "segments": _segments,
    "sounds": _sounds,
    "talkers": _talkers,
    "targets": _targets,
    "verdict": _verdict,
    "text": _text,
    "texts": _texts,
    "texts without spaces": lambda case: _texts(case, lambda text: "".join(text.split())),
    "texts in tokens of zh": lambda case: _texts(case, lambda text: tokenized("zh", text)),
    "translations": _translations,
    "trials": _trials,
    "utterances": _utterances,
}
