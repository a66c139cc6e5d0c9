"""What a run leaves in its folder while it goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_audiobench.report import live_run
from pytest_audiobench.report.live_run import AT, STATE, AtRecord, AtWork, RunningRecord

RUNNING = RunningRecord("2026-11-23T22:08:25Z", ["pytest", "evals"], ["listener: 80 samples"], [("t::a", "s/a", "m")])


def test_a_run_is_alive_while_its_file_is_locked_and_not_after_it(tmp_path: Path) -> None:
    assert not live_run.is_alive(tmp_path)
    descriptor = live_run.hold(tmp_path, RUNNING)
    assert live_run.is_alive(tmp_path)
    assert live_run.is_alive(tmp_path)  # who asks takes no lock with it
    assert live_run.running_record(tmp_path) == RUNNING
    os.close(descriptor)
    assert not live_run.is_alive(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [STATE]


def test_each_process_writes_the_eval_that_it_is_at_and_reports_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_run.time, "monotonic", lambda: 1e6)  # no second passes
    said: list[tuple[object, ...]] = []
    at = AtWork(tmp_path / AT.replace("*", "gw0"))
    report = at.of("s/a", lambda *figures: said.append(figures))
    report(1, 80)
    report(2, 80, ", 50 %")
    assert list(live_run.evals_at_work(tmp_path)) == [AtRecord("s/a", 1, 80)]
    report(80, 80)
    assert list(live_run.evals_at_work(tmp_path)) == [AtRecord("s/a", 80, 80)]
    assert said == [(1, 80, ""), (2, 80, ", 50 %"), (80, 80, "")]


def test_a_folder_that_cannot_be_written_costs_no_report(tmp_path: Path) -> None:
    said: list[tuple[object, ...]] = []
    AtWork(tmp_path / "missing" / "at-main.json").of("s/a", lambda *figures: said.append(figures))(80, 80)
    assert said == [(80, 80, "")]


def test_what_is_no_such_file_is_not_shown(tmp_path: Path) -> None:
    for number, content in enumerate(
        (b"", b"{", b"\xff\xfe", b'{"eval": "a", "done": -1, "total": 2}', b"[" * 100_000)
    ):
        (tmp_path / f"at-gw{number}.json").write_bytes(content)
        (tmp_path / STATE).write_bytes(content)
        assert live_run.running_record(tmp_path) is None
    (tmp_path / "at-piped.json").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "at-piped.json")
    assert list(live_run.evals_at_work(tmp_path)) == []
