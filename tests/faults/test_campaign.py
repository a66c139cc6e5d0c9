"""A slice of the campaign: whole runs and kills of fixed seeds. ``python -m tests.faults`` tries many more."""

import pytest

from . import call_sites, checkpoint_damage, file_damage, hostile_pages, kills, whole_runs
from .__main__ import classes, table
from .drawn_plan import plan
from .oracle import is_sure_of_green, reasons
from .tally import Tally


def test_drawn_runs_end_in_0_only_where_nothing_required_is_missing():
    tally = whole_runs.run(range(1004, 1010))
    assert tally.mistakes == []
    assert "exit 0" in tally.notes
    assert len(set(tally.notes)) > 2


def test_a_killed_run_goes_on_and_leaves_the_files_of_an_undisturbed_one():
    tally = kills.run([82, 466])  # which draw numbers of answers, well before the last
    assert tally.mistakes == []
    assert tally.tried >= 2


def test_a_run_survives_a_call_of_the_system_that_fails():
    if why := call_sites.unavailable():
        pytest.skip(why)
    tally = call_sites.run([3000, 3001])
    assert tally.mistakes == []
    assert tally.tried == 2


def test_a_damaged_file_is_read_as_it_stands_or_refused_in_a_sentence():
    tally = file_damage.run(range(20_000, 20_080))
    assert tally.mistakes == []
    assert tally.tried == 80
    assert {note.rpartition(" ")[2] for note in tally.notes} == {"read", "refused"}


def test_a_hostile_checkpoint_is_loaded_or_refused_and_runs_nothing():
    pytest.importorskip("torch", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="needs the extra hf")
    tally = checkpoint_damage.run(range(6))
    assert tally.mistakes == []
    assert set(tally.notes) == {"loaded", "refused"}


def test_a_page_of_hostile_answers_runs_nothing_and_shows_every_sample():
    tally = hostile_pages.run([100])
    if not tally.tried:
        pytest.skip(tally.notes[0])
    assert tally.mistakes == []


def test_the_oracle_forbids_and_demands_0_and_a_seed_draws_the_same_plan():
    plans = [plan(seed) for seed in range(300)]
    assert plans == [plan(seed) for seed in range(300)]
    assert 50 < sum(bool(reasons(drawn)) for drawn in plans) < 250
    assert any(is_sure_of_green(drawn) and not reasons(drawn) for drawn in plans)


def test_the_campaign_finds_its_classes_and_prints_a_row_and_a_promise_for_each():
    found = classes()
    assert {"browser", "checkpoints", "files", "kills", "runs", "sites", "stores"} <= set(found)
    text = table({"runs": Tally(tried=7, false_greens=2)}, {"runs": found["runs"].PROMISE})
    assert "| runs | 7 | 0 | 0 | 2 |" in text
    assert f"- **runs**: {found['runs'].PROMISE}" in text
