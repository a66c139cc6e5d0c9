"""Findings: what a split, a permutation test and a holdout promise, exactly and by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.stats import finding_tests
from pytest_audiobench.stats.finding_tests import Unit, holdout_of, sides_of, uplift_interval, uplift_p, weigh

SIZES = {10: (3, 3, 4), 60: (20, 20, 20), 180: (60, 60, 60)}
RUNS = 300
"""A budget for tests: ``benchmarks/findings.py`` simulates 2,000 runs of each kind."""


def singles(part, hits, clips):
    """So many clips of a part, each its own cluster."""
    return [Unit(f"{part}/{number}", part, int(number < hits), 1) for number in range(clips)]


def simulated(generator, rates, sizes, clips=1, alike=0.0):
    """Clusters of ``clips`` clips; with ``alike`` their rates vary as a beta distribution of that correlation."""
    units = []
    for number, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        spread = (1.0 - alike) / alike if alike else 0.0
        for cluster in range(size // clips):
            own = generator.beta(rate * spread, (1.0 - rate) * spread) if alike else rate
            units.append(Unit(f"{number}/{cluster}", f"d{number}", int(generator.binomial(clips, own)), clips))
    return units


def statuses(seed, runs, rates, sizes, **shape):
    """The set of (status, part) found in each of so many runs."""
    generator = np.random.default_rng(seed)
    for run in range(runs):
        found = weigh(simulated(generator, rates, sizes, **shape), str(run))
        yield {(one.status, one.part) for one in found}


def share(runs, *wanted):
    runs = list(runs)
    return sum(any(status in wanted for status, _ in found) for found in runs) / len(runs)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("clips", SIZES)
def test_no_domain_is_validated_more_often_than_is_stated_where_none_differs(clips, rate):
    runs = list(statuses(clips, RUNS, [rate] * 3, SIZES[clips]))
    assert share(runs, "validated") <= finding_tests.ALPHA
    assert share(runs, "validated", "candidate") <= finding_tests.DISCOVERY


def test_ten_clips_say_nothing_at_all():
    found = weigh(singles("a", 3, 3) + singles("b", 0, 3) + singles("c", 0, 4), "0")
    assert {one.status for one in found} == {"untested"}
    assert "5 needed: the discovery has 2 of it" in found[0].why


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_that_holds_where_the_clips_of_a_recording_are_alike(rate):
    runs = list(statuses(7, 60, [rate] * 3, SIZES[180], clips=4, alike=0.5))
    assert share(runs, "validated") <= finding_tests.ALPHA


def test_that_holds_for_a_domain_in_the_middle_of_others_that_differ():
    runs = list(statuses(8, RUNS, [0.5, 0.9, 0.1], SIZES[180]))
    assert share(runs, "validated") == 1.0
    assert sum(("validated", "d0") in found for found in runs) / RUNS <= finding_tests.ALPHA


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_an_uplift_of_thirty_points_is_validated_four_times_in_five_on_180_clips(rate):
    runs = list(statuses(9, RUNS, [rate + 0.3, rate, rate], SIZES[180]))
    # Three standard errors of so few runs below the 0.81 and more that 2,000 runs show.
    assert sum(("validated", "d0") in found for found in runs) / RUNS >= 0.75


def test_the_exact_p_is_that_of_all_ways_to_deal_the_clips():
    own, others = singles("a", 3, 4), singles("b", 1, 5)
    flags = [one.hits for one in own + others]
    dealt = [sum(ways) for ways in itertools.combinations(flags, 4)]
    plain = (sum(sum_ > 3 for sum_ in dealt) + 0.5 * sum(sum_ == 3 for sum_ in dealt)) / math.comb(9, 4)
    assert uplift_p(own, others) == pytest.approx(plain)


def test_permutations_of_clusters_come_near_to_all_ways_to_deal_them():
    own = [Unit("a1", "a", 3, 4), Unit("a2", "a", 4, 4), Unit("a3", "a", 1, 2)]
    others = [
        Unit(f"b{n}", "b", hits, clips) for n, (hits, clips) in enumerate([(0, 4), (2, 4), (1, 1), (0, 2), (3, 5)])
    ]
    units = own + others

    def ratio(chosen):
        groups = [[units[n] for n in range(8) if (n in chosen) is own_ones] for own_ones in (True, False)]
        rates, errors = [], []
        for group in groups:
            rate = sum(one.hits for one in group) / sum(one.clips for one in group)
            squares = sum((one.hits - rate * one.clips) ** 2 for one in group)
            rates.append(rate)
            errors.append(squares / sum(one.clips for one in group) ** 2 * len(group) / (len(group) - 1))
        return round((rates[0] - rates[1]) / math.sqrt(sum(errors)), 9)

    seen = ratio({0, 1, 2})
    dealt = [ratio(set(ways)) for ways in itertools.combinations(range(8), 3)]
    exact = (sum(one > seen for one in dealt) + 0.5 * sum(one == seen for one in dealt)) / len(dealt)
    # No p is below the share of the interval's resamples without an uplift.
    assert finding_tests._dealt_p(own, others) == pytest.approx(exact, abs=0.015)
    assert uplift_p(own, others) > exact
    assert uplift_p(own, others) == uplift_p(list(reversed(own)), list(reversed(others)))


def test_the_rates_of_false_discoveries_are_those_of_benjamini_and_hochberg():
    units = [unit for part, hits in (("a", 9), ("b", 40), ("c", 12), ("d", 30)) for unit in singles(part, hits, 60)]
    tested = sorted((finding.p, finding.q) for finding in weigh(units, "seed"))
    adjusted = [p * len(tested) / rank for rank, (p, _) in enumerate(tested, start=1)]
    assert [q for _, q in tested] == pytest.approx([min(1.0, *adjusted[place:]) for place in range(len(tested))])


def test_nothing_that_varies_is_no_evidence():
    for hits in (0, 6):
        assert uplift_p(singles("a", hits, 6), singles("b", hits, 6)) == 0.5


def test_the_interval_of_groups_without_any_variance_is_no_certainty():
    interval = uplift_interval(singles("a", 6, 6), singles("b", 0, 9), "x")
    assert 0.2 < interval.lower < 0.9
    assert interval.upper == pytest.approx(1.0)
    one = uplift_interval(singles("a", 1, 1), singles("b", 0, 1), "x")
    assert one.lower < 0.0
    none_at_all = uplift_interval(singles("a", 0, 6), singles("b", 0, 9), "x")
    assert none_at_all.lower < -0.2
    assert none_at_all.upper > 0.3
    assert uplift_interval([], singles("b", 0, 9), "x").lower is None


@pytest.mark.parametrize(("rate", "other"), [(0.5, 0.2), (0.95, 0.05), (0.1, 0.1)])
def test_the_interval_holds_the_uplift_as_often_as_it_says(rate, other):
    generator = np.random.default_rng(11)
    held = 0
    for run in range(200):
        units = simulated(generator, [rate, other], (12, 36))
        found = uplift_interval([u for u in units if u.part == "d0"], [u for u in units if u.part == "d1"], str(run))
        held += found.lower <= rate - other <= found.upper
    assert held / 200 >= 0.94


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.text("ab0", max_size=4))
def test_a_split_takes_two_fifths_of_every_domain_and_depends_on_names_and_seed_only(sizes, seed):
    units = [Unit(f"{part}/{n}", f"p{part}", 0, 1) for part, size in enumerate(sizes) for n in range(size)]
    aside = holdout_of(units, seed)
    for part, size in enumerate(sizes):
        own = sum(name.startswith(f"{part}/") for name in aside)
        assert own == math.floor(0.4 * size + 0.5)
    others = [unit._replace(hits=1, clips=2) for unit in reversed(units)]
    assert holdout_of(others, seed) == aside


def test_another_seed_is_another_split():
    units = singles("a", 0, 20) + singles("b", 0, 20)
    assert len({holdout_of(units, str(seed)) for seed in range(5)}) == 5


def test_neither_half_holds_a_cluster_of_the_other():
    units = singles("a", 5, 20) + singles("b", 2, 20)
    discovery, holdout = sides_of(units, "0")["a"]
    names = [{one.cluster for one in (*side.members, *side.others)} for side in (discovery, holdout)]
    assert not names[0] & names[1]
    assert len(names[0] | names[1]) == 40


def test_a_domain_that_does_worse_is_validated_and_the_one_that_does_better_is_not():
    found = weigh(singles("bad", 27, 30) + singles("good", 1, 30), "0")
    assert [(one.part, one.status) for one in found] == [("bad", "validated"), ("good", "rejected")]
    assert "replicated at 0.2" in found[0].why
    assert "no higher rate" in found[1].why


def test_a_domain_whose_holdout_points_the_other_way_is_rejected():
    aside = holdout_of(singles("a", 0, 20) + singles("b", 0, 20), "0")
    units = [
        Unit(name, part, int((part == "a") != (name in aside)), 1)
        for part in "ab"
        for name in (f"{part}/{number}" for number in range(20))
    ]
    found = {one.part: one for one in weigh(units, "0")}
    assert found["a"].status == "rejected"
    assert "the holdout shows no higher rate" in found["a"].why


def test_the_holdouts_level_keeps_the_family_at_alpha():
    for parts in range(1, 40):
        level = finding_tests.holdout_level(parts)
        assert parts * finding_tests.DISCOVERY * level <= finding_tests.ALPHA + 1e-12
        assert level <= finding_tests.LAXEST


def recordings(generator, part, number, clips, rate, alike):
    """Recordings of ``clips`` clips; where they are ``alike`` all of a recording fail, or none."""
    hits = clips * generator.binomial(1, rate, number) if alike else generator.binomial(clips, rate, number)
    return [Unit(f"{part}/{one}", part, int(count), clips) for one, count in enumerate(hits)]


@pytest.mark.parametrize(("alike", "rate"), [("a", 0.5), ("b", 0.5), ("a", 0.9)])
def test_that_holds_where_the_recordings_of_one_domain_are_all_or_nothing_and_those_of_another_are_not(alike, rate):
    generator = np.random.default_rng(5)
    runs = 60
    false = 0
    for run in range(runs):
        units = [
            unit
            for part, number in (("a", 12), ("b", 60))
            for unit in recordings(generator, part, number if part == alike else 60, 10, rate, part == alike)
        ]
        false += any(one.status == "validated" for one in weigh(units, str(run)))
    assert false / runs <= finding_tests.ALPHA


def test_a_failed_asking_moves_no_other_cluster_and_a_domain_without_answers_is_told():
    units = singles("a", 10, 20) + singles("b", 5, 20)
    failed = [unit._replace(hits=0, clips=0) if unit.part == "a" and unit.cluster < "a/2" else unit for unit in units]
    assert holdout_of(units, "0") == holdout_of(failed, "0")
    none = [unit._replace(hits=0, clips=0) if unit.part == "a" else unit for unit in units] + singles("c", 5, 20)
    found = {one.part: one for one in weigh(none, "0")}
    assert found["a"].status == "untested"
    assert "the discovery has 0 of it" in found["a"].why
