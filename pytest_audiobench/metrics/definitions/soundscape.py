"""Lists of events against an answer key: sums over events, and means over clips, as published where they are.

The statistics are those of ``protocols/soundscape/columns.py``. Every number has its interval by clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_audiobench.audio.events import EVENT_TYPES
from pytest_audiobench.metrics.estimates import (
    mean_kinds,
    of_form,
    quotient,
    ratio_kind,
    ratio_kinds,
    summed_kind,
    sums_of,
)
from pytest_audiobench.metrics.metric import (
    CHARACTER_ERRORS,
    POINTS,
    SHARE,
    WORD_ERRORS,
    Clusters,
    Estimate,
    MetricKind,
    Statistics,
)
from pytest_audiobench.records.fields import Direction

_REWARD = "overlap in time (IoU) times agreement of content (the cosine of captions; of speech, half of that and half "
_REWARD += "the accuracy of its words)"

_NO_WORDS, _NOBODY = "the answer keys hold no words", "nobody speaks"

_EVENTS: Mapping[tuple[str, Direction, str, tuple[str, ...], tuple[str, ...], str], str] = {
    ("reward", "higher", SHARE, ("reward",), ("truths",), "there are no true events"): (
        f"The mean over all true events of the best guess's reward: {_REWARD}. Speakers do not count, and one guess "
        "may serve several events: reward_1to1 and scene_f1 say how much of it that is."
    ),
    ("iou_cos", "higher", SHARE, ("iou_cos",), ("truths",), "there are no true events"): (
        "The mean over all true events of IoU times the captions' cosine, of the guess that reward takes."
    ),
    ("iou", "higher", SHARE, ("iou",), ("truths",), "there are no true events"): (
        "The mean over all true events of the overlap in time with the guess that reward takes: intersection over "
        "union."
    ),
    ("reward_1to1", "higher", SHARE, ("reward_1to1",), ("truths",), "there are no true events"): (
        "Reward where every guess serves one event only, in the best assignment."
    ),
    ("reward_other", "lower", SHARE, ("other_reward",), ("other_truths",), "there is no other clip"): (
        "Reward of the same answers for the next clip's events (in the order of hashes, times cut to that clip): what "
        "this encoder and these clips give to whoever does not listen."
    ),
    ("found", "higher", SHARE, ("matched",), ("truths",), "there are no true events"): (
        "The share of true events that are matched: of all types, and of kinds of events."
    ),
    ("matched_wer", "lower", SHARE, ("rate",), ("matched_speech",), "no speech was matched"): (
        "The mean word error rate of matched speech, each at most 1; of characters where the language is written "
        "without spaces. What was missed does not count: wer_all."
    ),
    ("how", "higher", SHARE, ("how",), ("matched_speech",), "no speech was matched"): (
        "The mean cosine of how matched speech is said: its emotion and style."
    ),
    ("snd", "higher", SHARE, ("snd",), ("snd_matched",), "no sound or music was matched"): (
        "The mean cosine of the descriptions of matched sounds and music."
    ),
    ("burst", "higher", SHARE, ("burst",), ("matched_vocal_burst",), "no vocal burst was matched"): (
        "The mean cosine of what matched vocal bursts are."
    ),
    ("spk_acc", "higher", SHARE, ("speaker_right",), ("matched_speech",), "no speech was matched"): (
        "The share of matched speech with the right speaker, labels mapped one to one to those that they overlap most."
    ),
    ("language_right", "higher", SHARE, ("language_right",), ("matched_speech",), "no speech was matched"): (
        "The share of matched speech in whose language it is said to be."
    ),
    ("halluc", "lower", SHARE, ("halluc",), ("guessed",), "nothing was guessed"): (
        "Events made up: the mean over clips with guesses of the share of guesses that match nothing."
    ),
    ("halluc_pooled", "lower", SHARE, ("unmatched",), ("guesses",), "nothing was guessed"): (
        "The share of all clips' guesses that match nothing: what is no event matches nothing, too."
    ),
    ("no_overlap", "lower", SHARE, ("no_overlap",), ("guesses",), "nothing was guessed"): (
        "The share of all clips' guesses during which no true event of their type is heard."
    ),
    ("repeats", "lower", SHARE, ("repeats",), ("guesses",), "nothing was guessed"): (
        "The share of all clips' guesses that say what another of their type says (cosine at least .9) of the same "
        "time (IoU at least .5)."
    ),
    ("wer_all", "lower", WORD_ERRORS, ("word_errors",), ("words",), "the answer keys hold no words"): (
        "Word errors of matched speech and all words of missed speech over all words that are spoken, in languages "
        "written with spaces."
    ),
    ("cer_all", "lower", CHARACTER_ERRORS, ("character_errors",), ("characters",), "the answer keys hold none"): (
        "Character errors of matched speech and all characters of missed speech over all that are spoken, in Chinese, "
        "Cantonese and Japanese."
    ),
    ("tcpwer", "lower", WORD_ERRORS, ("timed_errors",), ("timed_words",), _NO_WORDS): (
        "Time-constrained cpWER (von Neumann et al. 2023) by meeteval, collar 5 s: words are right only near their "
        "time."
    ),
    ("orcwer", "lower", WORD_ERRORS, ("orc_errors",), ("orc_words",), _NO_WORDS): (
        "Optimal reference combination WER (Sklyar et al. 2022) by meeteval: every true utterance, in their order, is "
        "aligned with the stream that has it best; who says it does not count."
    ),
    ("mimower", "lower", WORD_ERRORS, ("mimo_errors",), ("mimo_words",), _NO_WORDS): (
        "Multi-input multi-output WER (von Neumann et al. 2023) by meeteval: as orcwer, where the order is kept "
        "within each true speaker's utterances alone."
    ),
    ("der", "lower", "seconds per second", ("diarisation_errors",), ("spoken_seconds",), _NOBODY): (
        "Diarisation error rate by pyannote.metrics, no collar, overlapped speech counted: seconds of speech missed, "
        "made up and given to the wrong speaker over seconds spoken."
    ),
    ("jer", "lower", SHARE, ("jaccard_errors",), ("jaccard_speakers",), _NOBODY): (
        "Jaccard error rate by pyannote.metrics: the mean over speakers of the share of their time that is wrong."
    ),
}

_TYPED: Mapping[tuple[str, Direction, str, tuple[str, ...], tuple[str, ...], str], str] = {
    ("found", "higher", SHARE, ("matched",), ("truths",), "there are none"): (
        "The share of true events of the type {} that are matched."
    ),
    ("claimed", "lower", "seconds per second", ("claimed",), ("seconds",), "there are none"): (
        "Seconds during which the type {} is said to be heard over those during which it is: 1 is right, and far more "
        "is one event over everything."
    ),
    ("activity_f1", "higher", SHARE, ("active_both",) * 2, ("active", "active_claimed"), "there are none"): (
        "F1 of whether the type {} is heard in each 100 ms, all clips pooled; captions do not count."
    ),
    ("event_f1", "higher", SHARE, ("on_time",) * 2, ("truths", "guesses"), "there are none"): (
        "F1 of events of the type {}, one to one, that begin within .5 s and end within .5 s or a fifth of the true "
        "length; captions do not count."
    ),
    ("intersection_f1", "higher", SHARE, ("covered",) * 2, ("covered", "uncovered", "truths"), "there are none"): (
        "F1 of events of the type {} by the criterion of PSDS (Bilen et al. 2020), at one operating point: a guess "
        "counts where true events cover .7 of it, a true event is heard where such guesses cover .7 of it."
    ),
}

_CLIPS: Mapping[tuple[str, Direction, str, str], str] = {
    ("scene_f1", "higher", SHARE, "f1"): (
        "The mean over clips of 2 s / (true events + guesses), s the sum over matched pairs of their reward, 0 with "
        "the wrong speaker. 1 where nothing is heard and nothing guessed."
    ),
    ("scene_precision", "higher", SHARE, "precision"): (
        "The mean over clips of the same sum over the number of guesses; 0 for no guess, 1 where nothing is heard "
        "either."
    ),
    ("scene_recall", "higher", SHARE, "recall"): (
        "The mean over clips of the same sum over the number of true events; where there is none, 1 for no guess and "
        "0 for any."
    ),
    ("events_guessed", "lower", "events", "guesses"): "The mean number of guesses for a clip, those that are no event "
    "included; events_true is how many there are.",
    ("events_true", "higher", "events", "truths"): "The mean number of true events in a clip.",
    ("speakers_error", "lower", "speakers", "speakers_error"): "The mean absolute error of the number of speakers.",
}


def _kinds_of_types() -> Iterator[MetricKind]:
    for (name, direction, unit, tops, bottoms, empty), about in _TYPED.items():
        for type_ in EVENT_TYPES:
            above, below = ([f"{statistic}_{type_}" for statistic in side] for side in (tops, bottoms))
            yield ratio_kind(f"{name}_{type_}", direction, unit, above, below, empty, about.format(type_))


_BOTH = sums_of(
    "adds_over_other",
    ("reward", "truths", "other_reward", "other_truths"),
    lambda sums: quotient(sums[:, 0], sums[:, 1]) - quotient(sums[:, 2], sums[:, 3]),
)

_estimate_added = of_form(_BOTH)


_RATED = {
    "emotion_accuracy": "emotions",
    "age_gender_accuracy": "age and gender of the speakers",
    "transcription_accuracy": "the words spoken",
    "timestamp_accuracy": "when events begin and end",
    "vocal_burst_accuracy": "laughs, sighs and the like",
    "speaker_diarization": "who speaks",
    "sound_event_accuracy": "sounds and music",
    "segment_completeness": "whether all that can be heard is there",
    "overall_quality": "the description as a whole",
}
"""What a model that hears the scene rates, from 0 to 5."""

NOT_SHOWN = "not shown to listen"


def _added(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    estimate = _estimate_added(statistics, clusters)
    if estimate.lower is not None and estimate.lower > 0.0:
        return estimate
    return estimate._replace(method=f"{NOT_SHOWN}; {estimate.method}")


KINDS = (
    *ratio_kinds(_EVENTS),
    *_kinds_of_types(),
    *mean_kinds(_CLIPS),
    *mean_kinds(
        {
            (name, "higher", "of 5", name): f"A judge's mean rating of {what}, from 0 to 5."
            for name, what in _RATED.items()
        }
    ),
    replace(
        summed_kind(
            "adds_over_other",
            "higher",
            POINTS,
            _BOTH,
            "reward less reward_other, paired by clip: what listening adds. Not shown to listen, as its method then "
            "says, is who has no interval above 0.",
            lambda sample: sample["reward"] - sample["other_reward"],
        ),
        estimate=_added,
    ),
)
