"""Perturbations at a glance: which rows, columns and sheets a run's grid has, and what is in its cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import structs

from pytest_audiobench.report.perturbation_grid import grids


def asked(runs: Any, tracks: tuple[str, ...] = ("animal", "emotion"), **changes: Any) -> list[Any]:
    """Two data sets under the same perturbations: a clean one, three doses of noise, and a control."""
    found = []
    for track in tracks:
        ladder = runs.ladder((22, 14, 5), **changes)
        control = structs.replace(ladder[0].perturbation, name="silence", family="control")
        answers = [("(a) cat", "parsed", True)] * 6 + [("I cannot tell", "refused", False)] * 18
        ladder.append(replace(ladder[0], index=9, perturbation=control, answers=answers))
        for one in ladder:
            one.eval, one.dataset = f"noisy[{track}-{one.perturbation.name}]", f"{track}+{one.perturbation.name}"
            one.index += 10 * len(found)
            found.append(one)
    return found


def test_rows_are_perturbations_by_family_with_doses_from_easy_to_hard_and_columns_are_data_sets(runs: Any) -> None:
    _, record = runs.collected(*reversed(asked(runs)))
    (grid,) = grids(record)
    assert sorted(grid.columns) == ["animal", "emotion"]
    labels = {row.family: [one.label for one in grid.rows if one.family == row.family] for row in grid.rows}
    assert labels == {"control": ["silence"], "white": ["20", "10", "0"], "clean": ["clean"]}
    assert {row.unit for row in grid.rows if row.family == "white"} == {"dB SNR"}


def test_cells_hold_the_number_with_its_perturbations(runs: Any) -> None:
    _, record = runs.collected(*asked(runs))
    (grid,) = grids(record)
    sheet = grid.sheets[0]
    assert (sheet.metric, sheet.unit, sheet.low, sheet.high) == ("accuracy", "%", 0.0, 100.0)
    hardest = next(number for number, row in enumerate(grid.rows) if row.perturbation == "white-2")
    cell = sheet.cells[hardest][grid.columns.index("emotion")]
    assert cell is not None
    assert (cell.value, cell.n, cell.parse_rate, cell.against) == ("20.8 %", 24, "62.5 %", "clean")
    assert (cell.drop, cell.p) == ("+75.0 pp", "<0.001")
    assert cell.fewer == "fewer parsed: 62.5 %, clean 100.0 %"
    assert cell.interval
    assert sheet.cells[0][0] is not None
    assert sheet.cells[0][0].fewer == ""


def test_how_answers_went_has_sheets_of_its_own_with_intervals(runs: Any) -> None:
    _, record = runs.collected(*asked(runs))
    (grid,) = grids(record)
    assert [sheet.metric for sheet in grid.sheets] == ["accuracy", "coverage", "refused"]
    coverage = grid.sheets[1].cells[-1][0]
    assert coverage is not None
    assert (coverage.value, coverage.drop) == ("25.0 %", "")
    assert coverage.interval


def test_every_model_has_its_sheets_on_one_scale_the_leading_ones_first(runs: Any) -> None:
    items = [*asked(runs, model="old"), *asked(runs, model="new")]
    for number, one in enumerate(items):
        one.index = number
    _, record = runs.collected(*items)
    suites = []
    for suite in record.suites:
        value = 3.0 if suite.model == "old" else -1.0
        summaries = [
            structs.replace(
                summary, unit="mean", points=[structs.replace(summary.points[0], value=value), *summary.points[1:]]
            )
            for summary in suite.perturbations
        ]
        suites.append(structs.replace(suite, perturbations=summaries))
    (grid,) = grids(structs.replace(record, suites=suites))
    assert [(sheet.metric, sheet.model) for sheet in grid.sheets][:2] == [("accuracy", "old"), ("accuracy", "new")]
    assert {(sheet.low, sheet.high) for sheet in grid.sheets[:2]} == {(-1.0, 3.0)}


def test_what_was_not_measured_is_an_empty_cell(runs: Any) -> None:
    _, record = runs.collected(*asked(runs)[:-1])
    (grid,) = grids(record)
    row = next(number for number, one in enumerate(grid.rows) if one.perturbation == "silence")
    assert [cell is None for cell in grid.sheets[0].cells[row]] == [False, True]


def test_series_of_one_data_set_are_columns(runs: Any) -> None:
    _, record = runs.collected(*runs.prompts((22, 14, 5), (20, 12, 3)))
    (grid,) = grids(record)
    assert grid.columns == ("noisy[a]", "noisy[b]")


def test_a_run_without_perturbations_has_no_grid(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [("(a) cat", "parsed", True)]))
    assert grids(record) == []


def test_suites_that_share_perturbations_are_columns_of_one_grid_and_others_have_their_own(runs: Any) -> None:
    tracks = asked(runs)
    for one in tracks:
        one.suite = f"faithfulness_{one.dataset.partition('+')[0]}"
    other = [
        replace(one, suite="codecs", index=one.index + 90, eval=f"codecs[{one.perturbation.name}]")
        for one in runs.ladder((20, 10), family="opus")
    ]
    for number, one in enumerate([*tracks, *other]):
        one.index = number
    _, record = runs.collected(*tracks, *other)
    first, second = sorted(grids(record), key=lambda grid: -len(grid.columns))
    assert sorted(first.suites) == ["faithfulness_animal", "faithfulness_emotion"]
    assert sorted(first.columns) == ["animal", "emotion"]
    assert all(cell is not None for row in first.sheets[0].cells for cell in row)
    assert (second.suites, second.columns) == (("codecs",), ("tones",))
