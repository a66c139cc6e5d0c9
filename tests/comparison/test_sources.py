"""What a run can be held against: files, runs, the last run, files in git; and what is no such thing."""

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from pytest_audiobench.cli import main
from pytest_audiobench.comparison.baseline_sources import baseline_from
from pytest_audiobench.comparison.baseline_update import BaselineOptions, write_baseline
from pytest_audiobench.errors import UsageError
from pytest_audiobench.records.run import BaselineRecord

NOBODY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def found(text, **more):
    return baseline_from(text, Path("reports"), Path.cwd(), **more)


def says(text, **more):
    with pytest.raises(UsageError) as error:
        found(text, **more)
    assert "\n" not in str(error.value)
    return str(error.value)


def git(*arguments, folder=None):
    command = ["git", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env={**NOBODY, "PATH": PATH})


PATH = "/usr/local/bin:/usr/bin:/bin"


def write(run="good", out="base.json", **wanted):
    # The listener and chance are asked to write words here, which they answer with none.
    return write_baseline(found(run), Path(out), BaselineOptions(unreadable=True, **wanted))


# --- runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["reports/good", "good", "reports/good/run.json", "reports/good/"])
def test_a_run_is_named_by_its_folder_its_record_or_its_name(reports, text):
    baseline = found(text)
    content = (reports.folder / "good" / "run.json").read_bytes()
    assert baseline.record(lines=3) == BaselineRecord(
        source="the run good",
        digest=hashlib.sha256(content).hexdigest(),
        model="listener",
        spec="baseline:listener",
        run="good",
        limit=None,
        lines=3,
    )
    side = baseline.side("calls/digits", "whatever it is called here")
    assert (side.model, side.headline, len(side.rows)) == ("listener", "letters", 80)
    assert baseline.side("calls/unheard", "x") is None


def test_a_folder_that_merely_has_a_runs_name_does_not_stand_before_it(reports):
    Path("good").mkdir()
    assert found("good").source == "the run good"


def test_a_file_holds_what_the_run_held(reports):
    write(texts=True)
    run, file = found("good"), found("base.json")
    for name, side in run.only.sides.items():
        rows = sorted(side.rows, key=lambda row: row.identity)
        assert replace(file.side(name, "x"), source=side.source) == replace(side, rows=rows)
    assert file.only.figures == run.only.figures
    digest = hashlib.sha256(Path("base.json").read_bytes()).hexdigest()
    assert file.record(lines=3) == structs.replace(run.record(lines=3), source="base.json", digest=digest)


def test_of_several_models_each_is_held_against_its_namesake(reports):
    baseline = found("both")
    assert baseline.side("calls/digits", "listener").model == "listener"
    assert baseline.side("calls/digits", "chance").model == "chance"
    assert (baseline.record(1).model, baseline.record(1).spec) == (None, None)
    with pytest.raises(UsageError, match=r"no model 'step-9', it has chance, listener: choose one for all by .*#ALIAS"):
        baseline.side("calls/digits", "step-9")


def test_one_of_several_models_is_chosen_behind_the_run(reports):
    baseline = found("both#chance")
    assert baseline.side("calls/digits", "step-9").model == "chance"
    assert baseline.source == "the run both (chance)"
    assert found(baseline.place).record(1) == baseline.record(1)
    assert "has no model 'parrot': it has chance, listener" in says("both#parrot")


def test_an_unfinished_run_says_so(reports):
    (reports.folder / "good" / "run.json").unlink()
    assert "the run crashed or is still going" in says("good")


def test_a_run_whose_files_were_edited_is_one_sentence(reports):
    reports.edit("good", lambda record: record["items"][0].update(metrics=3))
    assert "run.json: items 'calls/digits', metrics must be a list, not 3: it was edited, cut" in says("good")
    lines = reports.folder / "poor" / "scored_predictions.jsonl"
    lines.write_bytes(lines.read_bytes()[:-20])
    assert "scored_predictions.jsonl, line 150: it is not one JSON object" in says("poor")


def test_samples_that_are_there_twice_are_told(reports):
    for path in (reports.folder / "good").glob("*.jsonl"):
        path.write_bytes(path.read_bytes() * 2)
    assert "has samples of calls/digits by listener twice: two evals of one name" in says("good")


def test_a_run_that_measured_nothing_is_no_baseline(reports):
    reports.edit("good", lambda record: record.update(items=[]))
    assert "measured nothing" in says("good")


# --- last ----------------------------------------------------------------------------------------------------------


def at(time):
    return lambda record: record.update(finished=f"2026-01-01T{time}:00Z", started="2026-01-01T00:00:00Z")


@pytest.fixture
def four(reports):
    for name, time in (("good", "10:00"), ("poor", "11:00"), ("both", "12:00"), ("short", "13:00")):
        reports.edit(name, at(time))
    return reports


def test_last_is_the_run_that_finished_last_but_for_the_own(four):
    assert found("last", own_run="both").source == "the run poor"
    assert found("last").source == "the run both"
    assert found("last#chance").source == "the run both (chance)"
    assert found(found("last").place).record(1) == found("last").record(1)


def test_last_takes_a_limited_run_only_for_one_of_the_same_limit(four):
    assert found("last", limit=20).source == "the run short"
    assert found("last", limit=30).source == "the run both"


def stopped(record):
    record["notes"].append("stopped early: 1 evals were not run")


def lost(record):
    record["items"][0]["outcome"] = "lost"


def incomplete(record):
    verdict = {"status": "incomplete", "threshold": "every sample asked", "value": None, "detail": "2 of 80 failed"}
    record["items"][0]["verdicts"].append(verdict)


HARM = [stopped, lost, incomplete, lambda record: record.update(exit_status=2), lambda record: record.pop("limit")]


@pytest.mark.parametrize("harm", HARM)
def test_last_passes_over_runs_that_are_not_whole(four, harm):
    four.edit("both", harm)
    assert found("last").source == "the run poor"


def test_last_passes_over_what_cannot_be_read(four):
    (four.folder / "both" / "run.json").write_text("{")
    (four.folder / "poor" / "run.json").unlink()
    assert found("last").source == "the run good"


def test_no_last_run_is_said_with_what_was_passed_over(four):
    for name in ("good", "poor", "both"):
        four.edit(name, stopped)
    assert "last finds no whole run in reports" in says("last")
    assert "both is not whole: stopped early: 1 evals were not run" in says("last")
    assert "short was limited to 20" in says("last")


# --- git -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(reports):
    write("good", "baselines/main.json")
    git("init", "-q")
    git("add", "baselines")
    git("commit", "-qm", "one")
    write("poor", "baselines/main.json")
    git("commit", "-qam", "two")
    Path("baselines/main.json").unlink()
    return reports


NAMED = {"main:baselines/main.json": "poor", "HEAD~1:baselines/main.json": "good", "main:./baselines/main.json": "poor"}


@pytest.mark.parametrize(("text", "run"), NAMED.items())
def test_a_file_in_git_is_read_as_of_a_commit(repository, text, run):
    baseline = found(text)
    assert baseline.only.head.run == run
    assert baseline.source.startswith(f"{text} (")
    assert found(baseline.place).digest == baseline.digest
    assert baseline.place.partition(":")[0].startswith(baseline.source[-13:-1])


def test_paths_in_git_begin_at_the_top_or_where_one_is(repository, monkeypatch):
    monkeypatch.chdir("baselines")
    assert found("HEAD:baselines/main.json").only.head.run == "poor"
    assert found("HEAD:./main.json").only.head.run == "poor"
    assert "git has no file 'main.json' at HEAD: name it from the repository's top" in says("HEAD:main.json")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("v9:baselines/main.json", "knows no 'v9'"),
        ("HEAD:nowhere.json", "git has no file 'nowhere.json' at HEAD"),
        ("HEAD:baselines", "git has no file 'baselines' at HEAD"),
        ("HEAD^{tree}:baselines/main.json", "knows no 'HEAD^{tree}'"),
        ("--output=x:baselines/main.json", "a ref of git does not begin with a dash"),
        ("$(touch x):baselines/main.json", "knows no '$(touch x)'"),
    ],
)
def test_what_git_has_not_is_told_apart(repository, text, part):
    assert part in says(text)
    assert not Path("x").exists()


def test_a_broken_baseline_in_git_is_named_by_its_ref(repository):
    Path("baselines/main.json").write_text("{")
    git("commit", "-qam", "three")
    assert says("HEAD:baselines/main.json").startswith(
        "HEAD:baselines/main.json, line 1 is not JSON (it ends too early"
    )


def test_a_huge_file_in_git_is_not_read(repository, monkeypatch):
    monkeypatch.setattr("pytest_audiobench.comparison.baseline_sources.MOST_BYTES", 100)
    assert "HEAD:baselines/main.json holds more than" in says("HEAD:baselines/main.json")


def test_without_a_repository_or_git_it_says_so(reports, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "is in no git repository" in says("main:baselines/main.json")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed here" in says("main:baselines/main.json")


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["main:base.json", "C:base.json", "base#1.json", "last.json", "a b.json"])
def test_an_existing_file_goes_first_whatever_its_name(reports, name):
    write(out=name)
    assert found(name).only.head.run == "good"


def test_last_is_the_word_and_a_file_of_that_name_has_a_folder_before_it(four):
    write(out="last")
    assert found("last").source == "the run both"
    assert found("./last").only.head.run == "good"


@pytest.mark.parametrize(
    "text", ["", " ", "a\0b", "nowhere", "nowhere#x", "C:\\base.json", "C:/base.json", "x" * 5000, ":x", "x:"]
)
def test_what_is_no_baseline_is_told_with_what_would_be(reports, text):
    assert "a baseline's FILE, a RUN's folder or name, last, REF:PATH in git, or a file of recorded answers" in says(
        text
    )


def test_a_folder_that_is_no_run_and_a_record_alone_are_told(reports):
    Path("empty").mkdir()
    assert "is not the folder of a run" in says("empty")
    Path("alone.json").write_bytes((reports.folder / "good" / "run.json").read_bytes())
    assert "alone.json is a run's record, not a baseline: give the run's whole folder" in says("alone.json")


# --- recorded answers ----------------------------------------------------------------------------------------------

RECORDED = Path(__file__).parents[2].parent / "shared" / "data" / "recorded" / "af3" / "baseline_emotion_REAS.jsonl"


@pytest.mark.skipif(not RECORDED.exists(), reason="the study's recorded answers are not on this machine")
def test_answers_that_were_scored_again_make_a_baseline_by_all_their_protocols(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["score", str(RECORDED), "--out", "reports/again"]) == 0
    write("again", scorers=["all"], texts=True)
    run, file = found("again").only, found("base.json").only
    (name, side), *_ = run.sides.items()
    kept = file.sides[name]
    assert len(kept.scorers) > 10
    assert [row.scores for row in kept.rows] == [row.scores for row in sorted(side.rows, key=lambda row: row.identity)]
    assert kept.rows[0].audio is None
