"""What a gate will be able to see, as it is said before anything is asked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.gate.power import PowerQuery, power_of
from pytest_audiobench.gate.sight import sight_of
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.plugin.run_plan import sight_lines
from pytest_audiobench.records.run import NoiseRecord
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.power import flips_power

TERMS = Terms(lines=20)


def baseline(scores, metric, eval_="tones", clusters=None, **more):
    rows = [
        ComparableSample(
            f"s{number}", 0, "audio", "prompt", clusters and clusters[number], {}, {"plain": "parsed"}, {"plain": each}
        )
        for number, each in enumerate(scores)
    ]
    given = {
        **{"source": "main", "eval": eval_, "suite": eval_, "model": "one", "spec": "tone:one", "dataset": "tones"},
        **{"protocol": "x", "epochs": 1, "limited": False, "cluster": None, "hashes": {}, "rows": rows},
        **{"scorers": {"plain": "plain|v:1"}, "metrics": {"plain": [metric]}},
    }
    return ComparableEval(**{**given, **more})


def answers(count, **more):
    return baseline([{"correct": float(number % 4 > 0)} for number in range(count)], "accuracy", **more)


def transcripts(count, seed=0, **more):
    rng = np.random.default_rng(seed)
    words = rng.integers(5, 41, count)
    errors = rng.binomial(words, np.minimum(0.6, 0.1 * rng.gamma(1.5, 1.0 / 1.5, count)))
    counts = zip(errors.tolist(), words.tolist(), strict=True)
    return baseline([{"S": float(s), "D": 0.0, "I": 0.0, "N": float(n)} for s, n in counts], "wer", **more)


def test_the_loss_of_right_answers_is_the_one_that_the_test_sees_four_times_in_five():
    found = sight_of(answers(200), Line("accuracy"), TERMS)
    question = Question(0.01, 0.05, 0.05 / 20)
    assert flips_power(200, found.loss, 0.02, question) == pytest.approx(0.8, abs=0.02)
    assert sight_lines([found]) == [
        "smallest drop called regressed four times in five, with flips assumed:",
        f"  {100 * found.loss:.1f} pp in tones",
    ]


def test_the_loss_of_word_errors_is_seen_in_most_runs_and_half_of_it_seldom():
    found = sight_of(transcripts(200), Line("wer"), TERMS)
    assert 0.02 < found.loss < 0.05
    seen = {}
    for share in (1.0, 0.5):
        rng = np.random.default_rng(1)
        alarms = 0
        for _ in range(200):
            words = rng.integers(5, 41, 200)
            hard = rng.gamma(1.5, 1.0 / 1.5, 200)
            before = rng.binomial(words, np.minimum(0.6, 0.1 * hard))
            # Half of the errors are the same, so that the runs' scores are correlated by one half or more.
            after = rng.binomial(before, 0.5) + rng.binomial(
                words - before, np.minimum(1.0, (0.055 + share * found.loss) * hard)
            )
            sides = [np.stack([errors, words], axis=1).astype(float) for errors in (before, after)]
            drop = ratio_drop(*sides, None, Question(0.01, 0.05, 0.05 / 20), higher_is_better=False)
            alarms += drop.p <= 0.05 / 20
        seen[share] = alarms / 200
    assert seen[1.0] > 0.6
    assert seen[0.5] < 0.5


@pytest.mark.parametrize("margin", ["0pp", "1pp"])
@pytest.mark.parametrize(
    "side", [answers(200), transcripts(200), transcripts(200, clusters=[n // 4 for n in range(200)])]
)
def test_the_loss_is_the_drop_that_audiobench_power_says_and_needs_as_many_samples(side, margin):
    name = side.metrics["plain"][0]
    loss = sight_of(side, Line(name, margin=margin), TERMS).loss
    power = power_of(side, None, PowerQuery(f"{100 * loss + 0.01:.2f}pp", margin, lines=TERMS.lines))
    assert power.detectable == loss
    assert power.needed == pytest.approx(200, abs=8)


def test_too_few_word_errors_for_a_test_see_no_loss():
    assert math.isinf(sight_of(transcripts(9), Line("wer"), TERMS).loss)


def test_more_samples_see_smaller_losses_and_more_lines_and_clusters_larger_ones():
    line = Line("wer")
    plain = sight_of(transcripts(200), line, TERMS).loss
    assert sight_of(transcripts(800), line, TERMS).loss < plain
    assert sight_of(transcripts(200), line, Terms(lines=1)).loss < plain
    assert sight_of(transcripts(200, clusters=[f"c{n // 20}" for n in range(200)]), line, TERMS).loss > plain
    assert sight_of(transcripts(200), line, TERMS, limit=50).n == 50


def test_a_noise_floor_that_is_known_stands_for_the_assumed_flips():
    noisy = answers(300, noise=NoiseRecord(0.8, 0.1, 0.85, measured=[]))
    found = sight_of(noisy, Line("accuracy"), TERMS)
    assert found.loss > sight_of(answers(300), Line("accuracy"), TERMS).loss
    assert sight_lines([found])[0].endswith(", by the model's noise floor:")


def test_too_few_answers_see_no_loss_and_say_so():
    found = sight_of(answers(5), Line("accuracy"), TERMS)
    assert math.isinf(found.loss)
    assert sight_lines([found]) == ["too few samples to call any drop regressed: 1 eval"]


def test_nothing_is_said_of_what_is_not_known_ahead():
    assert sight_of(answers(50), Line("accuracy", (("hop", "multi"),)), TERMS) is None
    assert sight_of(baseline([], "accuracy"), Line("accuracy"), TERMS) is None
    assert sight_of(answers(50), Line("bleu", (), "1pp"), TERMS) is None


@pytest.mark.parametrize("prefix", ["set", "a suite with a name that fills a line by itself/" * 2])
def test_however_many_evals_there_are_two_lines_have_the_least_and_the_largest_drop(prefix):
    counts = (5, *range(100, 1600, 250))
    sights = [sight_of(answers(count, eval_=f"{prefix}{count}"), Line("accuracy"), TERMS) for count in counts]
    _, line = lines = sight_lines(sights)
    assert max(map(len, lines)) <= 80
    least, _, largest = line.partition(" to ")
    assert (least.split()[1:3], least[-4:]) == (["pp", "in"], "1350")
    assert largest.endswith("100; too few samples in 1 eval")
    assert sight_lines([]) == []
