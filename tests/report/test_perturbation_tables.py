"""Curves and other perturbations in the terminal's table and in Markdown."""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from pytest_audiobench.records.run import PointRecord, RunRecord
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.perturbation_tables import lines, markdown
from pytest_audiobench.report.terminal import summary_lines


def text(record: Any, width: int = 80) -> list[str]:
    return [line for line, _ in lines(record, width)]


def test_a_table_has_a_bar_where_there_is_room_and_only_signs_of_ascii(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))
    wide, narrow = text(record), text(record, 60)
    assert any("|##########  |" in line or "|###########" in line for line in wide)
    assert not any("#" in line for line in narrow)
    assert max(map(len, narrow)) <= 60 + len("  area (mean from 20 to 0 dB SNR): ")
    assert all(line.replace("\N{MINUS SIGN}", "-").isascii() for line in wide)


def test_a_fall_of_what_was_answered_is_marked_and_said(runs: Any) -> None:
    items = runs.ladder((22, 14, 5))
    items[1].answers = [("(a) cat", "parsed", True)] * 22 + [("(b) dog", "parsed", False)] * 2
    _, record = runs.collected(*items)
    found = text(record)
    assert "  ! fewer parsed at 10, 0" in found
    assert sum("!  79.2 %" in line or "!  62.5 %" in line for line in found) == 2
    assert "62.5 %, fewer parsed" in summary(record)


def test_a_trend_stands_beside_its_slope(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))
    slope = next(line for line in text(record) if line.startswith("  slope"))
    assert slope == "  slope: +35.4 pp per 10 dB SNR [+24.2 to +45.2], trend p (Holm) <0.001"
    (suite,) = record.suites
    curves = [structs.replace(curve, slope=structs.replace(curve.slope, p=None, p_holm=None)) for curve in suite.curves]
    untested = structs.replace(record, suites=[structs.replace(suite, curves=curves)])
    assert next(line for line in text(untested) if line.startswith("  slope")).endswith("+45.2]")


def test_the_summary_of_a_job_has_a_table_for_each_family(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))
    found = summary(record)
    assert "**noisy, tones: accuracy under white**" in found
    assert "| dB SNR | Value | Interval | n | Parse rate | drop from clean | Interval | p (Holm) |" in found
    assert "- slope: \\+35.4 pp per 10 dB SNR" in found


def test_names_from_outside_reach_neither_the_terminal_nor_markdown_as_they_are(runs: Any) -> None:
    hostile = "a|b<script>@all\x1b[31m"
    _, record = runs.collected(*runs.ladder((22, 14, 5), family=hostile, unit=hostile))
    assert not any("\x1b" in line for line, _ in summary_lines(record, 80))
    told = "\n".join(one for _, rows in markdown(record) for one in rows) + summary(record)
    assert "<script>" not in told
    assert "@all" not in told
    assert "\x1b" not in told


def test_a_reason_stands_where_there_is_no_interval(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((6, 4, 1), n=8))
    slope = next(line for line in text(record) if line.startswith("  slope"))
    assert "8 samples, below the 10 at which it is known to hold" in slope


def test_a_run_without_perturbations_says_nothing_of_them(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [("(a) cat", "parsed", True)]))
    assert text(record) == []
    assert list(markdown(record)) == []


def test_prompts_of_one_data_set_have_a_table_each_that_says_whose_it_is(runs: Any) -> None:
    _, record = runs.collected(*runs.prompts((22, 14, 5), (20, 12, 3)))
    heads = [line for line, is_head in lines(record, 80) if is_head]
    assert heads == [
        f"noisy, tones, noisy[{name}]: accuracy {about}"
        for name in "ab"
        for about in ("under white; drop from clean in pp", "over its perturbations")
    ]
    assert [name for name, _ in markdown(record)] == [head.partition(";")[0] for head in heads]


def test_a_summary_says_how_many_tables_it_leaves_out(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))
    (suite,) = record.suites
    record = structs.replace(record, suites=[structs.replace(suite, name=f"suite {number}") for number in range(12)])
    assert "4 more tables of perturbations and findings: run.json." in summary(record)


def further(record: RunRecord, points: Any, curve: Any, summary: Any) -> RunRecord:
    """``record`` with a second curve and a second summary: the first with ``points`` of its points, and these
    changes.
    """
    (suite,) = record.suites
    first_curve, first_summary = suite.curves[0], suite.perturbations[0]
    second_curve = structs.replace(first_curve, clean=None, points=points(first_curve.points), **curve)
    second_summary = structs.replace(first_summary, points=points(first_summary.points), **summary)
    suite = structs.replace(
        suite, curves=[*suite.curves, second_curve], perturbations=[*suite.perturbations, second_summary]
    )
    return structs.replace(record, suites=[suite])


def held_against_clean(runs: Any, *, family: str = "white") -> RunRecord:
    """A run whose samples say whether their answer stayed the same, under every perturbation but the clean one."""
    _, record = runs.collected(*runs.ladder((22, 14, 5), family=family))

    def halved(points: Any) -> list[PointRecord]:
        return [structs.replace(point, value=point.value / 2) for point in points if point.perturbation != "clean"]

    return further(record, halved, {"metric": "consistency"}, {"metric": "consistency"})


def test_of_many_perturbations_the_ones_that_differ_most_are_shown(runs: Any) -> None:
    found = [line for line, _ in lines(held_against_clean(runs), 80, 3)]
    assert [line.split()[0] for line in found[2:6]] == ["perturbation", "clean", "white-1", "white-2"]
    assert found[6] == "  and 1 that differ no more: pytest -v, or report.html"


def test_where_answers_are_held_against_clean_ones_all_perturbations_stand_in_one_table(runs: Any) -> None:
    record = held_against_clean(runs)
    found = text(record)
    assert max(map(len, found)) <= 86
    assert found[1] == "noisy, tones: accuracy under 4 perturbations; drop from clean in pp"
    assert [line.split()[0] for line in found[2:7]] == ["perturbation", "clean", "white-0", "white-1", "white-2"]
    assert found[2].split() == ["perturbation", "accuracy", "parse", "rate", "consistency", "drop", "p"]
    assert found[6].split() == ["white-2", "20.8", "%", "!", "62.5", "%", "10.4", "%", "+75.0", "<0.001"]
    assert found[7] == "  ! fewer parsed at white-0, white-1, white-2"
    assert found[8].startswith("  white, slope: +35.4 pp per 10 dB SNR [")
    assert sum(line.startswith("  white, area") for line in found) == 1
    ((name, rows),) = markdown(record)
    assert name == "noisy, tones: accuracy under 4 perturbations"
    assert rows[0].startswith("| Perturbation | Value | Interval | n | Parse rate | Same answer | drop from clean |")
    assert "62.5 %, fewer parsed | 10.4 %" in rows[5]


def test_means_of_two_protocols_and_what_drops_are_from_are_told_apart(runs: Any) -> None:
    record = held_against_clean(runs)
    (suite,) = record.suites
    first = suite.perturbations[0]
    other = structs.replace(
        first,
        signature="put back",
        points=[
            structs.replace(point, family="early", perturbation=f"early-{number}")
            for number, point in enumerate(first.points[1:3])
        ],
        differences=[structs.replace(first.differences[0], perturbation="early-1", reference="early-0")],
        weights={"early-0": 0.5, "early-1": 0.5},
    )
    suite = structs.replace(suite, perturbations=[*suite.perturbations, other])
    found = text(structs.replace(record, suites=[suite]), 200)
    assert "drop from clean or early-0 in pp" in found[1]
    assert any(
        line.startswith("  mean of the 4 perturbations measured (clean, white), each weighing 1/4") for line in found
    )
    assert any(line.startswith("  mean of the 2 perturbations measured (early), each weighing 1/2") for line in found)


def test_the_wide_table_fits_eighty_columns_with_the_longest_names(runs: Any) -> None:
    record = held_against_clean(runs, family="inject-correct-overla")
    table = [line for line in text(record) if line.startswith("  inject-correct-overla-")]
    assert len(table) == 3
    assert max(map(len, table)) <= 80


def test_a_protocol_with_perturbations_of_its_own_leads_beside_another(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((22, 14, 5)))

    def early(points: Any) -> list[PointRecord]:
        return [
            structs.replace(point, perturbation=f"early-{number}", family="early")
            for number, point in enumerate(points)
        ]

    signature = {"signature": "letters|v:2"}
    weights = {f"early-{number}": 1 / 4 for number in range(4)}
    record = further(
        record, early, {**signature, "family": "early"}, {**signature, "differences": [], "weights": weights}
    )
    heads = [line for line, is_head in lines(record, 80) if is_head]
    assert [head.partition(";")[0] for head in heads if "under" in head] == [
        "noisy, tones: accuracy under white",
        "noisy, tones: accuracy under early",
    ]


def test_a_run_of_many_perturbed_evals_has_their_mean_and_their_table(runs: Any) -> None:
    _, record = runs.collected(*runs.ladder((20,) * 60, n=24))
    found = [line for line, _ in summary_lines(record, 100)]
    assert re.match(r"noisy +accuracy \(clean\) +95\.8 % ", found[1])
    assert re.match(r" +accuracy \(mean\) +83\.5 % ", found[2])
    assert sum("83.3 %" in line and "white" not in line for line in found) >= 60
