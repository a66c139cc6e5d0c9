"""Right answers, how the others came about, answers in free words, and what runs record of the asking itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from pytest_audiobench.metrics import estimates
from pytest_audiobench.metrics.metric import POINTS, SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.records.fields import Direction
from pytest_audiobench.stats.bootstrap import Ends
from pytest_audiobench.stats.intervals import Floats, proportion


def share_of(status: str) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The estimate of the share of samples whose statistics say ``status`` is 1; absent is 0."""

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not (values := [sample.get(status, 0.0) for sample in statistics]):
            return estimates.nothing()
        interval = proportion(values, clusters)
        return Estimate(estimates.average(values), interval.lower, interval.upper, len(values), interval.method)

    return estimate


def _part(status: str) -> Callable[[Statistics], tuple[float, float]]:
    return lambda sample: (sample.get(status, 0.0), 1.0)


def _f1(sums: Floats) -> Floats:
    """2 right / (answered + answerable), from sums of shape (r, 3)."""
    right, answered, answerable = sums.T
    return estimates.quotient(2.0 * right, answered + answerable)


_FOLLOWING = (
    *(f"{way}_{what}" for what in ("prompt", "instructions") for way in ("strict", "loose")),
    "requests",
    "instructions",
)


def _following(sums: Floats) -> Floats:
    """The mean of four shares, from sums of shape (r, 6)."""
    prompts, instructions = sums[:, 0] + sums[:, 1], sums[:, 2] + sums[:, 3]
    return (estimates.quotient(prompts, sums[:, 4]) + estimates.quotient(instructions, sums[:, 5])) / 4.0


_ENDS = Ends(np.array([[0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 1.0]]))


def moving_average_ratio(words: Sequence[str], window: int) -> float:
    """The mean share of different words over all stretches of ``window`` words: between 1 / window and 1.

    The moving-average type-token ratio (MATTR; Covington and McFall 2010, Journal of Quantitative Linguistics 17(2)):
    unlike the number of different words, or its share of all words, it does not move with the text's length. 0 for a
    text shorter than the window, which has no such stretch.
    """
    if len(words) < window:
        return 0.0
    counts = Counter(words[:window])
    different = total = len(counts)
    for gone, come in zip(words, words[window:], strict=False):
        counts[gone] -= 1
        different -= counts[gone] == 0
        different += counts[come] == 0
        counts[come] += 1
        total += different
    return total / ((len(words) - window + 1) * window)


KINDS = (
    *estimates.mean_kinds(
        {
            ("accuracy", "higher", SHARE, "correct"): (
                'The mean of "correct": right answers, or points within [0, 1], over all samples that were asked.'
            ),
            ("exact_match", "higher", SHARE, "em"): "The share of answers that have the words of an accepted text and "
            "no others (SQuAD; Rajpurkar et al. 2016). An empty answer matches only an empty text.",
            ("token_f1", "higher", SHARE, "f1"): "The mean over samples of 2 × words in common / (words said + words "
            "accepted), repeats counted, the best accepted text of each (SQuAD). An empty answer has 0 against a text "
            "with words.",
            (
                "within_tolerance",
                "higher",
                SHARE,
                "within",
            ): "The share of numbers that are as near to the truth as the "
            "scorer's tolerance says. An answer without a number is not.",
            ("following", "higher", SHARE, "followed"): "The share of answers that did the task they were asked to "
            "do, by the protocol's own rule for it.",
            ("refusal_rate", "higher", SHARE, "declined"): "The share of requests that the model declines, of requests "
            "that it should decline, by the protocol's own rule for it.",
            ("prompt_accuracy_loose", "higher", SHARE, "loose_prompt"): "The share of requests whose instructions are "
            "all followed, by the answer or by one of its seven loosened forms (IFEval; Zhou et al. 2023).",
            ("diversity", "higher", "words", "types"): "The mean number of different words in an answer (SALMONN's "
            "diversity of stories). An empty answer has 0. It grows with the answer's length.",
            ("mattr", "higher", SHARE, "mattr"): "The mean over answers of their moving-average type-token ratio: the "
            "share of different words in a stretch of 50, averaged over all such stretches (Covington and McFall "
            "2010). An answer of fewer words has 0.",
        }
    ),
    MetricKind(
        "coverage", "higher", SHARE, share_of("parsed"), _part("parsed"), "The share of samples whose answer was read."
    ),
    *(
        MetricKind(status, "lower", SHARE, share_of(status), _part(status), about)
        for status, about in {
            "unparsed": "The share of samples whose answer could not be read.",
            "refused": "The share of samples that the model declined to answer.",
            "empty": "The share of samples with no answer in words.",
            "out_of_range": "The share of samples answered with an option that was not offered.",
            "truncated": "The share of samples whose answer the limit of tokens cut before it could be read.",
            "errors": "The share of samples whose asking failed; all other metrics leave them out.",
            "skipped": "The share of samples that the protocol leaves out of its score.",
            "wrong_task": "The share of answers in phones where words were wanted: 70 % or more of three or more "
            "tokens are ARPAbet symbols, and the reference's are not.",
            "wrong_script": "The share of answers most of whose letters are in no script of the reference, nor, where "
            "options were offered, of these and the question. Han and kana are one, but Han without kana is wrong "
            "where the reference has kana. Another language in the same script is not seen.",
            "loop": "The share of answers that repeat up to 20 words (characters, where no spaces are written) four "
            "times or more in a row, where no reference does.",
            "runaway": "The share of answers longer than three times the longest reference and five words more.",
            "example_copied": "The share of answers with three or more texts of the prompt's example, which no clip "
            "has.",
        }.items()
    ),
    *estimates.ratio_kinds(
        {
            **{
                (name, "lower", unit, ("off",), ("read",), "no answer has a number"): (
                    "How far numbers are from the truth, on average, of the answers that have one: the others are "
                    "wrong in within_tolerance, and coverage counts them. Of counts by species over all species said "
                    "or true, of which an unnamed one counts as 0. NaN where no answer has a number."
                )
                for name, unit in (("absolute_error", ""), ("absolute_error_hz", "Hz"), ("absolute_error_db", "dB"))
            },
            ("question_precision", "higher", SHARE, ("right",), ("answered",), "no question was answered"): (
                "Questions answered rightly over questions answered (answer triggering; Yang et al. 2015, WikiQA). "
                "NaN where none was answered."
            ),
            ("question_recall", "higher", SHARE, ("right",), ("answerable",), "no question has an answer"): (
                "Questions answered rightly over questions that have an accepted answer. NaN where none has."
            ),
            **{
                (name, "higher", SHARE, (f"{way}_instructions",), ("instructions",), "there is no instruction"): about
                for name, way, about in (
                    (
                        "instruction_accuracy",
                        "strict",
                        "Instructions followed over instructions given (IFEval; Zhou et al. 2023).",
                    ),
                    (
                        "instruction_accuracy_loose",
                        "loose",
                        "Instructions followed by the answer, or by one of its seven loosened forms, over instructions "
                        "given (IFEval).",
                    ),
                )
            },
        }
    ),
    estimates.summed_kind(
        "question_f1",
        "higher",
        SHARE,
        estimates.sums_of("question_f1", ("right", "answered", "answerable"), _f1, lambda mean_sample: _ENDS),
        "The harmonic mean of question_precision and question_recall: 2 right / (answered + answerable). NaN "
        "where no question was answered and none has an answer.",
    ),
    estimates.summed_kind(
        "instruction_following",
        "higher",
        SHARE,
        estimates.sums_of("instruction_following", _FOLLOWING, _following),
        "VoiceBench's mean of four shares of IFEval: of requests and of instructions, strictly and loosely followed.",
    ),
    *tuple(
        MetricKind(name, cast(Direction, direction), unit, estimates.not_of_samples, about=about)
        for name, direction, unit, about in (
            *(
                (f"adds_over_{control}", "higher", POINTS, f"What the real audio adds over the {control} control.")
                for control in ("silence", "swapped")
            ),
            ("lift", "higher", POINTS, "What the real audio adds over the text alone."),
            ("order_mean", "higher", SHARE, "The share of answers that are right, over all orders of the options."),
            ("order_worst", "higher", SHARE, "The share that is right in the order in which the fewest are."),
            ("order_every", "higher", SHARE, "The share of samples answered rightly in every order."),
            ("order_same", "higher", SHARE, "The share of samples of which the same option is said in every order."),
            ("order_bias", "lower", SHARE, "Half the sum over the options' places of |share said - share right|."),
            ("whole_clip", "higher", SHARE, "The share that is right on the whole clip and on none of its parts."),
            ("some_part", "higher", SHARE, "The share that is right on one part of the clip at least."),
            ("late_less_early", "higher", POINTS, "How much higher the score is with the clip late in a window."),
            ("mid_less_early", "higher", POINTS, "How much higher it is in the middle of a window than early in it."),
            ("noise_less_silence", "higher", POINTS, "How much higher it is in windows of noise than of silence."),
            ("same_answers", "higher", SHARE, "The share of answers that come out the same when asked again."),
            ("same_outcomes", "higher", SHARE, "The share of answers that are scored the same when asked again."),
            ("score_shift", "lower", POINTS, "How far the score moves when the same is asked again."),
            ("samples_per_s", "higher", "samples/s", "Samples answered in a second of asking."),
            ("rtfx", "higher", "× real time", "Seconds of audio answered in a second of asking."),
            ("tokens_per_s", "higher", "tokens/s", "Tokens generated in a second of asking."),
            ("first_token_s", "lower", "s", "The median time to an answer's first token."),
            ("first_audio_s", "lower", "s", "The median time to the first audio of a spoken answer."),
            ("padding_waste", "lower", SHARE, "The share of what the front end is played that is padding."),
            ("batch_fill", "higher", SHARE, "The share of the seconds that batches may hold which they took up."),
            ("model_share", "higher", SHARE, "The share of the asking's wall time within the model."),
            ("peak_memory_mb", "lower", "MB", "The most memory that the loaded model held."),
        )
    ),
)
