"""Everything that is heard in a clip, and when."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pytest_audiobench.audio.events import EVENT_TYPES, AudioEvent
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.soundscape.columns import (
    NO_OTHER,
    clip_statistics,
    clipped,
    needed_captions,
    other_statistics,
)
from pytest_audiobench.protocols.soundscape.event_fields import InvalidEvent, strict_event
from pytest_audiobench.protocols.soundscape.judgings import scene_judgings
from pytest_audiobench.protocols.soundscape.matching import Cosine, caption_pairs, match, ordered
from pytest_audiobench.protocols.soundscape.meeting import (
    lacks_meeteval,
    meeting_statistics,
    missing_packages,
    stream_statistics,
)
from pytest_audiobench.protocols.soundscape.prompts import VERSION, scene_prompt
from pytest_audiobench.protocols.soundscape.reading import Reading, read_lenient, read_strict
from pytest_audiobench.protocols.text_encoders import DEFAULT_ENCODER, TextEncoder
from pytest_audiobench.protocols.text_encoders import encoder as encoder_of

DURATION = "duration"
"""The metadata field with the clip's seconds: the only one that a prompt may see."""

_OF_TYPES = ("found", "claimed", "activity_f1", "event_f1", "intersection_f1")
_METRICS = (
    *("reward", "scene_f1", "scene_precision", "scene_recall", "iou", "iou_cos", "matched_wer", "how"),
    *("snd", "burst", "spk_acc", "halluc", "events_guessed", "events_true"),
    *(
        "reward_1to1",
        "reward_other",
        "adds_over_other",
        "found",
        "halluc_pooled",
        "no_overlap",
        "repeats",
        "wer_all",
        "cer_all",
    ),
    *("cpwer", "speakers_error", "language_right"),
    *(f"{name}_{type_}" for name in _OF_TYPES for type_ in EVENT_TYPES),
)


@with_recorded_options
def soundscape(
    *scorers: str, encoder: str = DEFAULT_ENCODER, system: str | None = None, max_new_tokens: int = 4096
) -> Protocol:
    """Ask for a list of all that is heard in a clip, as JSON, and compare it with the answer key's events.

    A sample's reference is the answer key (``events_text``), its metadata ``duration`` the clip's seconds. The scorers
    are ``lenient`` (the default: a list is taken wherever and however it is written, every repair counted) and
    ``strict`` (what was asked for and nothing else); both are reported. ``meeting`` has the
    rates of meetings, of the same list (extra ``meeting``), ``meeting-streams`` those of streams, where it does not
    matter who is who. ``rated-with-key`` and ``rated-by-ear`` are of
    a judge that hears the clip (``--ab-judge``): nine ratings from 0 to 5. ``encoder`` compares captions: ``static``,
    ``minilm`` or ``folder:PATH``. Raises UsageError for an unknown scorer or encoder.
    """
    stage = free_stage(lambda sample: scene_prompt(duration_of(sample)), system, max_new_tokens, task="events")
    stage = replace(stage, fields=(DURATION,), version=VERSION)
    judgings, own = scene_judgings(), tuple(_scorers(encoder_of(encoder)))
    judged = (scorer for judging in judgings for scorer in judging.scorers)
    protocol = family_protocol("soundscape", (stage,), (*own, *judged), scorers, "events")
    # Whether the parts of a default are installed is asked when it is to score: it can be described without.
    read_by = protocol.scorers if scorers else tuple(protocol.available[name] for name in _READERS)
    return replace(protocol, judgings=judgings, scorers=read_by)


def duration_of(sample: Sample) -> float:
    """The clip's seconds. Raises UsageError where the sample does not say them."""
    duration = sample.metadata.get(DURATION)
    if isinstance(duration, bool) or not isinstance(duration, (int, float)) or not 0 < duration < math.inf:
        raise UsageError(
            f"sample {sample.id!r}: its metadata has its {DURATION!r} in seconds, above 0, and not {duration!r}; "
            "correct the data set"
        )
    return float(duration)


def truths_of(sample: Sample) -> list[AudioEvent]:
    """The answer key's events. Raises UsageError for a reference that lists none."""
    try:
        values = json.loads(sample.reference)
        if isinstance(values, list) and all(isinstance(value, dict) for value in values):
            return [strict_event(value) for value in values]
        reason = ""
    except ValueError:
        reason = ""
    except InvalidEvent as error:
        reason = f" (an event's {error})"
    raise UsageError(f"sample {sample.id!r}: its reference is not a list of events{reason}; correct the data set")


def _problem(sample: Sample) -> str:
    try:
        duration_of(sample)
        truths_of(sample)
    except UsageError as error:
        return str(error)
    return ""


_READERS: Mapping[str, Callable[[str, float], Reading]] = {
    "lenient": read_lenient,
    "strict": lambda text, duration: read_strict(text),
}


def _parse(read: Callable[[str, float], Reading], sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    reading = read(response.text, duration_of(sample))
    if reading.status in ("parsed", "truncated"):
        return Answer(reading.status, reading.text())
    if reading.status == "empty":
        return Answer("empty")
    if response.finish == "refusal" or refuses(response.text):
        return Answer("refused")
    return Answer("truncated" if response.finish == "length" else "unparsed")


def _scorers(text_encoder: TextEncoder) -> Iterator[Scorer]:
    for name, read in _READERS.items():
        comparison = _Comparison(text_encoder)
        yield Scorer(
            name,
            f"scene:{name}|v:1|encoder:{text_encoder.identity}|unread:empty list",
            partial(_parse, read),
            lambda sample, answer: {},
            _METRICS,
            together=comparison.statistics,
            companions=tuple(other for other in _READERS if other != name),
            missing_parts=lambda: text_encoder.missing,
            sample_problem=_problem,
            details=comparison.details,
        )
    yield Scorer(
        "meeting",
        "scene:meeting|v:1|read:lenient|collar:5 s of words, none of speakers|packages:meeteval,pyannote.metrics",
        partial(_parse, read_lenient),
        _meeting_scores,
        ("tcpwer", "der", "jer"),
        missing_parts=missing_packages,
        sample_problem=_problem,
    )
    yield Scorer(
        "meeting-streams",
        "scene:meeting-streams|v:1|read:lenient|streams:speakers of the answer|packages:meeteval",
        partial(_parse, read_lenient),
        _stream_scores,
        ("orcwer", "mimower"),
        missing_parts=lacks_meeteval,
        sample_problem=_problem,
    )


def _stream_scores(sample: Sample, answer: Answer) -> dict[str, float]:
    clip = _Clip(sample, answer)
    return stream_statistics(ordered(clip.truths), ordered(clip.guesses))


def _meeting_scores(sample: Sample, answer: Answer) -> dict[str, float]:
    clip = _Clip(sample, answer)
    guesses = list(clipped(ordered(clip.guesses), clip.duration))
    return meeting_statistics(ordered(clip.truths), guesses, clip.duration)


class _Clip:
    """A sample with its answer, as they are compared."""

    def __init__(self, sample: Sample, answer: Answer) -> None:
        self.id, self.duration, self.truths = sample.id, duration_of(sample), truths_of(sample)
        self.reading = Reading.of_text(answer.value)
        self.guesses = self.reading.events

    def statistics(self, cosine: Cosine) -> dict[str, float]:
        return clip_statistics(self.truths, self.guesses, self.reading.invalid.total(), self.duration, cosine)


class _Comparison:
    """Answers compared with answer keys by one encoder, which is asked once for all captions of a set of answers."""

    def __init__(self, text_encoder: TextEncoder) -> None:
        self._encoder = text_encoder
        self._cosines: dict[tuple[str, str], float] = {}

    def statistics(self, scored: Sequence[tuple[Sample, Answer]]) -> list[dict[str, float]]:
        """The statistics of each answer, those against the next clip's answer key among them."""
        clips = [_Clip(sample, answer) for sample, answer in scored]
        others = [*clips[1:], *clips[:1]]
        self._cosines = {}
        self._encode(
            captions
            for clip, other in zip(clips, others, strict=True)
            for captions in (*needed_captions(clip.truths, clip.guesses), *caption_pairs(other.truths, clip.guesses))
        )
        return [
            {**clip.statistics(self._cosine), **self._beside(other, clip)}
            for clip, other in zip(clips, others, strict=True)
        ]

    def _beside(self, other: _Clip, clip: _Clip) -> dict[str, float]:
        if other.id == clip.id:
            return NO_OTHER
        return other_statistics(other.truths, clip.guesses, other.duration, self._cosine)

    def details(self, sample: Sample, answer: Answer) -> str:
        """Both lists of events, and what was matched, as JSON."""
        clip = _Clip(sample, answer)
        self._encode(caption_pairs(clip.truths, clip.guesses))
        matching = match(clip.truths, clip.guesses, self._cosine)
        document = {
            "duration": clip.duration,
            "truths": [event.document() for event in matching.truths],
            "guesses": [event.document() for event in matching.guesses],
            "pairs": [
                {
                    "truth": pair.truth,
                    "guess": pair.guess,
                    "iou": pair.iou,
                    "accuracy": pair.accuracy,
                    "cosine": pair.cosine,
                    "speaker_right": pair.speaker_right,
                    "score": pair.score,
                }
                for pair in matching.pairs
            ],
            "invalid": clip.reading.invalid,
            "repairs": clip.reading.repairs,
        }
        return json.dumps(document, ensure_ascii=False)

    def _encode(self, captions: Iterable[tuple[str, str]]) -> None:
        missing = sorted({pair for pair in captions if pair not in self._cosines})
        self._cosines.update(zip(missing, self._encoder.cosines(missing), strict=True))

    def _cosine(self, first: str, second: str) -> float:
        return self._cosines[first, second]
