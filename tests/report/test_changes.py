"""What changed against the baseline, as texts: the worst first, each with all its numbers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pytest_audiobench.report.changes import changes

RIGHT = ("(a) cat", "parsed", True)


def read(runs: Any, *lines: Any, baseline: Any = None) -> Any:
    _, record = runs.collected(runs.item(0, "a", [RIGHT], regressions=list(lines)))
    return changes(replace(record, baseline=baseline or runs.baseline))


def test_a_run_that_was_held_against_nothing_has_no_changes(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT]))
    assert record.baseline is None
    assert changes(record) is None


def test_regressions_come_first_then_what_is_not_known_then_passes(runs: Any) -> None:
    line = runs.regression
    found = read(
        runs,
        line("pass", -0.01),
        line("not_comparable"),
        line("regressed", 0.03),
        line("inconclusive", 0.02),
        line("regressed", 0.09),
    )
    assert [(one.status, one.change) for one in found.lines] == [
        ("regressed", "−9.0 pp"),
        ("regressed", "−3.0 pp"),
        ("not comparable", "–"),
        ("inconclusive", "−2.0 pp"),
        ("pass", "+1.0 pp"),
    ]
    assert (found.verdict, found.tone) == ("regressed", "bad")
    assert found.counts == "2 of 5 comparisons regressed, 1 not comparable, 1 inconclusive, 1 pass"


def test_undecided_lines_say_how_small_a_drop_they_could_have_seen(runs: Any) -> None:
    line = runs.regression
    small, large = line("inconclusive", 0.0, detectable=0.012), line("inconclusive", 0.0, detectable=0.034)
    assert (
        read(runs, small, large, line("pass", 0.0, detectable=0.2)).detectable
        == "A drop of 3.4 pp would be detected by every undecided line four times in five "
        "(by the flips measured between the two runs)."
    )


def test_one_undecided_line_is_named(runs: Any) -> None:
    line = runs.regression
    found = read(runs, line("inconclusive", 0.0, detectable=0.012, lines=7), line("pass", 0.0)).detectable
    assert found.startswith("A drop of 1.2 pp would be detected in a four times in five (")
    assert found.endswith(", 7 comparisons).")


def test_a_drop_that_no_flips_could_show_is_left_out(runs: Any) -> None:
    found = read(
        runs, runs.regression("inconclusive", detectable=0.012), runs.regression("inconclusive", detectable=1.0)
    )
    assert (found.detectable, [one.detectable for one in found.lines]) == ("", ["1.2 pp", "–"])


def test_what_improved_is_counted_before_what_is_not_decided_and_has_its_own_p(runs: Any) -> None:
    better = runs.regression("pass", -0.2, lines=2, p_better=0.00002, q_better=0.004)
    found = read(runs, better, runs.regression("inconclusive", 0.02, lines=2))
    assert found.counts == "1 improved, 0 regressed, 1 inconclusive (a)"
    assert [(line.p_better, line.q_better) for line in found.lines] == [("", ""), ("< 0.0001", "0.004")]


def test_a_run_with_a_baseline_and_no_line_is_no_pass(runs: Any) -> None:
    found = read(runs)
    assert (found.verdict, found.tone) == ("nothing compared", "warn")
    assert found.without_line == (("a", "listener"),)


def test_a_line_has_every_number_of_its_verdict(runs: Any) -> None:
    left_out = {"left_out": {"audio": 4}, "examples": {"audio": ["s1", "s2"]}}
    (line,) = read(runs, runs.regression("regressed", 0.05, group={"hop": "multi"}, lines=4, **left_out)).lines
    assert (line.before, line.now, line.interval) == ("80.0 %", "75.0 %", "−7.0 to −3.0")
    assert (line.bound, line.margin, line.detectable) == ("6.7 pp", "1.0 pp", "–")
    assert (line.p, line.p_holm, line.level) == ("0.0004", "0.0016", "0.013")
    assert (line.worse, line.better, line.pairs, line.clusters) == (21, 9, 300, 120)
    assert (line.at, line.low, line.high, line.limit) == (-5.0, -7.0, -3.0, -1.0)
    assert line.axis == "change, pp (to the left is worse)"
    assert line.group == "hop=multi"
    assert [(one.reason, one.count, one.names) for one in line.left_out] == [
        ("have other audio than in the baseline", 4, ("s1", "s2"))
    ]


def test_drops_of_other_units_keep_them(runs: Any) -> None:
    (line,) = read(runs, runs.regression("pass", 0.4, metric="bleu", unit="BLEU", baseline=31.0, value=30.6)).lines
    assert (line.before, line.now, line.change, line.at) == ("31 BLEU", "30.6 BLEU", "−0.4 BLEU", -0.4)
    assert line.axis == "change, BLEU (to the left is worse)"


def test_an_error_rate_that_became_worse_has_a_plus(runs: Any) -> None:
    (line,) = read(runs, runs.regression("pass", 0.01, metric="wer", unit="errors per word", direction="lower")).lines
    assert (line.change, line.at, line.axis) == ("+1.0 pp", 1.0, "change, pp (to the right is worse)")


def test_the_baseline_is_named_by_where_it_comes_from(runs: Any) -> None:
    found = read(runs, runs.regression("pass", 0.0), baseline=replace(runs.baseline, limit=50))
    assert dict(found.baseline) == {
        "from": "baselines/main.json",
        "of": "listener = hf:checkpoints/step-1000",
        "run": "2026-11-01-main",
        "limited to": "50 samples of each eval",
    }
