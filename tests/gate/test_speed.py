"""Lines on what requests took: their text, the level that they hold, and which requests count."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, ComparableSample
from pytest_audiobench.evaluation.timings import Timing, Timings
from pytest_audiobench.gate.regression_text import line_text
from pytest_audiobench.gate.speed import log_drop, speed_regression
from pytest_audiobench.gate.thresholds import Line, Terms, parse_threshold
from pytest_audiobench.stats.drops import Question

TURN = 16


@pytest.mark.parametrize(
    "text",
    ["latency.drop <= 5%", "latency.p95.drop <= 5 %", "token_time.p99[hop=multi].drop <= 7.5%", "cost.drop <= 0%"],
)
def test_a_line_on_speed_is_a_share_of_what_the_other_model_took(text):
    line = parse_threshold(text)
    assert line.is_speed
    assert parse_threshold(line.text) == line


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency.p95.drop <= 0.2", "'0.2' is not a percentage of what the other model took"),
        ("latency.p95 <= 2", "should have .drop, since latency.p95 is only compared with another model's"),
        ("latency.p95.upper <= 2", "should have drop"),
        ("latency.p90.drop <= 5%", "should have lower, upper or drop"),
        ("latency.drop <= 0.2", "names what is not measured"),
        ("accuracy.drop <= 5%", "'5%' is not a margin"),
    ],
)
def test_what_is_no_such_line_is_refused(text, why):
    with pytest.raises(UsageError) as refused:
        parse_threshold(text)
    assert why in str(refused.value)


def requests(rng, turns, slower=1.0):
    """What two servers took for the same requests, where each turn of each meets its own load."""
    n = turns * TURN
    lengths = np.exp(rng.normal(0.0, 0.5, n))
    sides = [lengths * np.exp(np.repeat(rng.normal(0.0, 0.2, turns), TURN) + rng.normal(0.0, 0.1, n)) for _ in range(2)]
    return sides[0], sides[1] * slower, np.repeat(np.arange(turns), TURN).tolist()


@pytest.mark.parametrize(("statistic", "turns", "repetitions", "most"), [("mean", 20, 400, 33), ("p95", 32, 40, 7)])
def test_equal_servers_alarm_no_more_often_than_is_allowed(statistic, turns, repetitions, most):
    # Of 5 % a binomial reaches `most` once in a thousand times.
    rng = np.random.default_rng(5)
    drops = [log_drop(*requests(rng, turns), Question(0.0), statistic) for _ in range(repetitions)]
    assert sum(drop.p <= 0.05 for drop in drops) <= most


def test_requests_of_one_turn_are_not_taken_for_independent():
    rng = np.random.default_rng(6)
    drawn = [requests(rng, 20) for _ in range(100)]
    apart = [log_drop(before, after, range(len(before)), Question(0.0)) for before, after, _ in drawn]
    assert sum(drop.p <= 0.05 for drop in apart) > 20


@pytest.mark.parametrize("statistic", ["mean", "total", "p50", "p95"])
def test_a_server_that_takes_half_as_long_again_is_seen(statistic):
    drop = log_drop(*requests(np.random.default_rng(7), 40, slower=1.5), Question(math.log(1.05)), statistic)
    assert drop.p < 0.001
    assert drop.lower < math.log(1.5) < drop.upper


def test_a_server_that_is_faster_in_all_turns_passes():
    drop = log_drop(*requests(np.random.default_rng(7), 40, slower=0.01), Question(math.log(1.05)), "p50")
    assert drop.p == 1.0
    assert drop.bound < math.log(0.05)
    assert drop.p_better < 0.001


def side(took_s, asked=lambda sample: True, tokens=lambda sample: 10):
    """An eval in turns of sixteen, and what its samples took."""
    n = len(took_s)
    timings = Timings(SimpleNamespace(asked=None))
    timings.sizes = [min(TURN, n - start) for start in range(0, n, TURN)]
    timings.by_sample = {
        (f"s{i}", 0): Timing(i // TURN, float(took_s[i]), None, 2.0, tokens(i), float(took_s[i]) / TURN, None)
        for i in range(n)
        if asked(i)
    }
    rows = [
        ComparableSample(f"s{i}", 0, "a", "p", None, {"hop": str(i % 2)}, {"letters": "parsed"}, {"letters": {}})
        for i in range(n)
    ]
    facts = dict.fromkeys(("source", "eval", "suite", "model", "spec", "dataset", "protocol"), "x")
    whole = ComparableEval(
        **facts, epochs=1, limited=False, cluster=None, scorers={"letters": "l"}, metrics={}, hashes={}, rows=rows
    )
    return whole, timings


def verdict(base, candidate, text):
    return speed_regression(base[0], candidate[0], (base[1], candidate[1]), parse_threshold(text), Terms())


def test_the_first_turn_is_left_out_and_so_are_turns_that_the_store_answered_in_part():
    before, after, _ = requests(np.random.default_rng(8), 20)
    after[:TURN] *= 100.0
    record = verdict(side(before), side(after, asked=lambda sample: sample != 40), "latency.drop <= 20%")
    assert (record.pairs, record.clusters, record.status) == (18 * TURN, 18, "pass")
    grouped = verdict(side(before), side(after), "latency[hop=1].drop <= 20%")
    assert (grouped.pairs, grouped.clusters) == (19 * TURN // 2, 19)
    assert line_text(grouped) == "latency[hop=1].drop <= 20%"


def test_what_is_better_when_higher_drops_by_the_share_that_is_lost():
    before, after, _ = requests(np.random.default_rng(9), 40, slower=2.0)
    record = verdict(side(before), side(after), "throughput.drop <= 20%")
    assert record.drop == pytest.approx(1.0 - record.value / record.baseline)
    assert record.status == "regressed"
    assert 0.2 < record.lower < record.drop < record.upper < 1.0


def test_of_a_stream_the_time_behind_the_first_token_is_shared_by_the_tokens_behind_it():
    before, after, _ = requests(np.random.default_rng(10), 20)
    whole, timings = side(before)
    timings.by_sample = {
        key: each._replace(first_token_s=each.latency_s / 2) for key, each in timings.by_sample.items()
    }
    record = verdict((whole, timings), (whole, timings), "token_time.drop <= 5%")
    assert record.baseline == pytest.approx(np.exp(np.log(before[TURN:] / 2 / 9).mean()))
    # One that streams and one that does not say other things of a token.
    assert verdict((whole, timings), side(after), "token_time.drop <= 5%").status == "not_comparable"


def test_counts_that_are_the_same_pass_where_there_are_enough_of_them():
    before, after, _ = requests(np.random.default_rng(11), 40)
    record = verdict(side(before), side(after), "tokens.drop <= 5%")
    assert (record.status, record.drop) == ("pass", 0.0)
    fewer = verdict(side(before[: 3 * TURN]), side(after[: 3 * TURN]), "tokens.drop <= 5%")
    assert fewer.status == "inconclusive"
    assert fewer.bound > 0.05


def test_without_turns_of_both_nothing_is_measured():
    before, _, _ = requests(np.random.default_rng(12), 4)
    base, here = side(before), side(before)
    for timings in ((None, here[1]), (base[1], None)):
        record = speed_regression(base[0], here[0], timings, Line("latency", (), "5%"), Terms())
        assert record.status == "not_comparable"
        assert record.detail.startswith("unmeasured: request times are compared between two models behind servers")
    few = verdict(base, side(before * 1.1), "latency.p50.drop <= 5%")
    assert few.detail == "unmeasured: 3 clusters, below the 10 at which it is known to hold"
    with pytest.raises(UsageError, match="throughput is of all requests together, and has no p95"):
        verdict(base, here, "throughput.p95.drop <= 5%")
