"""A run of our own scored again is the run: the same hashes, values and intervals."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.records.lines import PredictionRow
from pytest_audiobench.records.reading import as_read, read_lines, read_run
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.output import write_rescored_run
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore


@pytest.fixture
def copy(run_folder, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(run_folder, tmp_path / "copy")


def rescored_again(item):
    """What scoring again must give again, alike."""
    names = ("eval", "model", "dataset", "protocol", "n", "epochs", "limited", "scorers", "hashes", "agreement")
    return *(getattr(item, name) for name in names), [metric for metric in item.metrics if metric.scorer is not None]


def edited(file, change):
    rows = [change(json.loads(line)) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_run_scored_again_has_its_own_hashes_values_and_intervals(run_folder):
    run = read_run(run_folder / "run.json")
    again = rescore(source_of(run_folder), ScoringOptions())
    items = list(map(as_read, again.items))
    assert len(items) == 6
    assert list(map(rescored_again, items)) == list(map(rescored_again, run.items))
    assert any(item.scorers[0].coverage.errors for item in items)
    assert {metric.group.get("third") for item in items for metric in item.metrics} >= {"0", "1", "2"}
    suites = {suite.model: suite for suite in run.suites}
    assert {suite.model: as_read(suite) for suite in again.suites} == suites
    assert len(suites) == 2


def test_it_writes_the_runs_own_files(run_folder, tmp_path):
    out = tmp_path / "again"
    write_rescored_run(out, source_of(run_folder), ScoringOptions(), ["audiobench", "score"])
    for name in ("predictions.jsonl", "processed_predictions.jsonl", "scored_predictions.jsonl"):
        assert (out / name).read_bytes() == (run_folder / name).read_bytes()
    assert read_run(out / "run.json").hashes == read_run(run_folder / "run.json").hashes
    assert read_run(out / "run.json").suites == read_run(run_folder / "run.json").suites
    assert (out / "report.html").stat().st_size > 10_000
    assert not (out / "parts").exists()


def test_a_replay_and_scoring_again_agree(run_pytest, run_folder):
    """A replay is its own model, so it has its own model hash; all that scoring adds to the asking is the same."""
    replayed = run_pytest(
        "replayed", f"--ab-model=good=replay:{run_folder},model=good", "--ab-epochs=2", "--ab-max-errors=9"
    )
    again = {item.eval: item for item in rescore(source_of(run_folder), ScoringOptions()).items if item.model == "good"}
    built_on_the_model = {"model", "input_hash", "run_hash", "score_hash"}
    items = read_run(replayed / "run.json").items
    for item in items:
        ours = as_read(again[item.eval])
        assert item.metrics == ours.metrics
        if not item.errors:
            assert {name for name, hash_ in item.hashes.items() if ours.hashes[name] != hash_} == built_on_the_model
    of_replay = rescore(source_of(replayed), ScoringOptions()).items
    assert [item.hashes for item in of_replay] == [item.hashes for item in items]


def test_other_scorers_give_other_numbers_on_the_same_answers(run_folder):
    letters = rescore(source_of(run_folder), ScoringOptions(("letters",)))
    every = rescore(source_of(run_folder), ScoringOptions(("all",)))
    assert [len(item.scorers) for item in letters.items] == [1] * 4
    assert all("words" not in item.eval for item in letters.items)
    (left,) = letters.notes
    assert "has no scorer letters" in left
    assert every.items[0].hashes["run_hash"] == letters.items[0].hashes["run_hash"]
    assert every.items[0].hashes["score_hash"] != letters.items[0].hashes["score_hash"]


def test_the_families_options_are_remembered(run_folder):
    (scorer, *_) = rescore(source_of(run_folder), ScoringOptions()).items[0].scorers
    assert scorer.signature.endswith("options:unlisted")


def test_an_edited_answer_shows(copy):
    def change(row):
        if row["sample_id"] == "tone-0" and row["outputs"]:
            row["outputs"][0]["text"] = "never said"
        return row

    edited(copy / "predictions.jsonl", change)
    found = rescore(source_of(copy), ScoringOptions())
    first = next(item for item in found.items if (item.eval, item.model) == ("all/tones[even]", "good"))
    assert first.hashes["answers"] != read_run(copy / "run.json").items[0].hashes["answers"]
    assert any("answers are not those of run.json" in text for text in first.warnings)
    assert any(text.startswith("accuracy by letters was") for text in first.warnings)


def test_rows_of_two_runs_in_one_file_are_refused(copy):
    file = copy / "predictions.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:3], lines[0], *lines[3:]]))
    with pytest.raises(UsageError, match=r"holds 'tone-\d+' twice in epoch 0: rows of two runs"):
        rescore(source_of(copy), ScoringOptions())
    file.write_text("".join([lines[0], *lines]))
    with pytest.raises(UsageError, match=r"line 1: 'tone-\d+' has two rows of one stage"):
        rescore(source_of(copy), ScoringOptions())


def test_epochs_of_different_samples_are_refused(copy):
    file = copy / "predictions.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(UsageError, match="epoch 1 holds other samples than epoch 0"):
        rescore(source_of(copy), ScoringOptions())


def test_a_file_whose_evals_are_mixed_is_refused(copy):
    file = copy / "predictions.jsonl"
    lines = [line for line in file.read_text().splitlines(keepends=True) if json.loads(line)["epoch"] == 0]
    file.write_text("".join(lines[1:] + lines[:1]))
    with pytest.raises(UsageError, match="do not lie together"):
        rescore(source_of(copy), ScoringOptions())


def test_predictions_without_their_run_need_the_family_and_say_what_is_unknown(run_folder, tmp_path):
    bare = shutil.copy(run_folder / "predictions.jsonl", tmp_path / "bare.jsonl")
    with pytest.raises(UsageError, match="name the family of protocols with --family"):
        rescore(source_of(bare), ScoringOptions())
    found = rescore(source_of(bare), ScoringOptions(("letters",), "multiple_choice,prompt={question}"))
    assert found.items[0].scorers[0].signature.endswith("options:unlisted")
    assert any("no run.json lies beside" in text for text in found.items[0].warnings)
    whole = read_run(run_folder / "run.json").items[0]
    assert found.items[0].metrics[0].value == whole.metrics[0].value
    assert found.items[0].hashes["answers"] == whole.hashes["answers"]


def test_predictions_that_lie_alone_need_say_no_more_than_what_was_asked_and_answered(run_folder, tmp_path):
    file = shutil.copy(run_folder / "predictions.jsonl", tmp_path / "predictions.jsonl")
    whole = rescore(source_of(file), ScoringOptions(family="multiple_choice"))

    def bare(row):
        kept = {name: value for name, value in row.items() if name not in ("references", "metadata", "prompt", "usage")}
        return {**kept, "seconds": 0.5}

    edited(Path(file), bare)
    alone = rescore(source_of(file), ScoringOptions(family="multiple_choice"))
    assert [item.scorers for item in alone.items] == [item.scorers for item in whole.items]


def test_a_run_of_another_version_is_refused(copy):
    run = (copy / "run.json").read_text().replace("audiobench.run/2", "audiobench.run/1")
    (copy / "run.json").write_text(run)
    with pytest.raises(UsageError, match=r"'audiobench\.run/1', which another version of pytest-audiobench wrote"):
        rescore(source_of(copy), ScoringOptions())


def test_a_scorer_that_only_the_tests_know_is_named(copy):
    run = json.loads((copy / "run.json").read_text())
    for item in run["items"]:
        item["scorers"].append({**item["scorers"][0], "name": "mine", "signature": "mine|v:1"})
    (copy / "run.json").write_text(json.dumps(run))
    found = rescore(source_of(copy), ScoringOptions())
    assert any("also read by mine, which only its tests know" in text for text in found.items[0].warnings)


def test_a_folder_that_holds_anything_is_refused(run_folder, tmp_path):
    (tmp_path / "rows.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="not empty: name an empty folder, rows are never added to"):
        write_rescored_run(tmp_path, source_of(run_folder), ScoringOptions(), [])
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_failed_scoring_leaves_no_folder(run_folder, tmp_path):
    with pytest.raises(UsageError, match="no family of protocols is called 'song'"):
        write_rescored_run(tmp_path / "out", source_of(run_folder), ScoringOptions((), "song"), [])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("scorers", "says"),
    [(("letters", "lettres"), "has a scorer 'lettres'"), (("lettres",), "multiple_choice has no scorer lettres")],
)
def test_an_unknown_scorer_is_named(run_folder, scorers, says):
    with pytest.raises(UsageError, match=says):
        rescore(source_of(run_folder), ScoringOptions(scorers))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"question": 3}, "question must be a text, not 3"),
        ({"prompt": "What is it?"}, "prompt must be a list or null"),
        ({"prompt": [["user"]]}, "prompt 'user' must be a list of length 2"),
        ({"recipes": [None, None]}, "must be one for each clip"),
    ],
)
def test_a_line_that_is_none_is_named(copy, wrong, says):
    file = copy / "predictions.jsonl"
    first, rest = file.read_text().split("\n", 1)
    file.write_text(json.dumps({**json.loads(first), **wrong}) + "\n" + rest)
    with pytest.raises(UsageError, match=rf"predictions\.jsonl, line 1: .*{says}"):
        rescore(source_of(copy), ScoringOptions())


def test_predictions_hold_what_a_sample_is_rebuilt_from(run_folder):
    row = next(read_lines(run_folder / "predictions.jsonl", PredictionRow))
    assert set(row.metadata) == {"parity", "recording", "third", "loud", "db"}
    item = read_run(run_folder / "run.json").items[0]
    assert (item.groups, item.cluster) == (["parity", "third"], "recording")
    assert item.options == {"prompt": "{question} Say what you hear."}


def test_scoring_again_loads_neither_torch_nor_pytest(run_folder):
    code = (
        "import sys; from pytest_audiobench.cli import main\n"
        f"main(['score', {str(run_folder)!r}, '--scorers', 'all'])\n"
        "print([name for name in ('torch', 'pytest', 'scipy.stats', 'pandas', 'httpx') if name in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def changed(value, path, new):
    """``value`` with ``new`` at ``path``; without it for None of a mapping's last key."""
    for key in path[:-1]:
        value = value[key]
    if new is None:
        del value[path[-1]]
    else:
        value[path[-1]] = new


@pytest.mark.parametrize(
    ("path", "new", "says"),
    [
        (("items",), 5, "items must be a list, not 5"),
        (("models",), None, "it has no 'models'"),
        (("limit",), None, "it has no 'limit'"),
        (("models", 0, "hearing"), {}, "models 'deaf', hearing has no 'status'"),
        (("items", 0), [], "items 1 must be an object, not a list"),
        (("items", 0, "groups"), [{}], r"items 'all/tones\[even\]', groups 1 must be a text, not an object"),
        (("items", 0, "metrics", 0, "group"), "", "metrics 'accuracy', group must be an object, not ''"),
        (("items", 0, "scorers", 0, "signature"), None, "scorers 'letters' has no 'signature'"),
    ],
)
def test_an_edited_record_is_named(copy, path, new, says):
    run = json.loads((copy / "run.json").read_text())
    changed(run, path, new)
    (copy / "run.json").write_text(json.dumps(run))
    with pytest.raises(UsageError, match=says):
        rescore(source_of(copy), ScoringOptions())


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("audio", 0, "duration_s"), float("nan")),
        (("audio", 0, "duration_s"), "long"),
        (("audio", 0, "key"), []),
        (("audio", 0, "source"), 5),
        (("dataset",), 1.5),
        (("error",), 5),
        (("key",), float("nan")),
        (("stage",), "\ud800"),
        (("role",), 3),
    ],
)
def test_an_edited_line_is_named(copy, path, new):
    file = copy / "predictions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    changed(rows[0], path, new)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=r"predictions\.jsonl, line 1"):
        rescore(source_of(copy), ScoringOptions())


def test_texts_that_are_none_are_repaired_as_a_replays_are(copy):
    def change(row):
        row["question"] += "\ud83d"
        row["metadata"]["said"] = "\udc80"
        for output in row["outputs"]:
            output["text"] += "\ud83d"
        return row

    edited(copy / "predictions.jsonl", change)
    found = write_rescored_run(copy / "again", source_of(copy), ScoringOptions(), [])
    assert any(" texts had invalid characters or were cut" in note for note in found.notes)
    first = next(read_lines(copy / "again" / "predictions.jsonl", PredictionRow))
    assert first.question.endswith("\ufffd")
    assert first.metadata["said"] == "\ufffd"


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_what_was_not_scored_is_said_beside_numbers_for_programs(run_folder, capsys, format_):
    assert main(["score", str(run_folder), "--scorers", "letters", "--format", format_]) == 0
    told = capsys.readouterr()
    assert "note: all/words was not scored: transcription has no scorer letters" in told.err
    assert "was not scored" not in told.out


def test_an_eval_without_answers_is_named(copy):
    run = json.loads((copy / "run.json").read_text())
    run["items"] += [run["items"][0] | {"eval": f"all/absent{number}", "model": "good"} for number in range(7)]
    (copy / "run.json").write_text(json.dumps(run))
    found = rescore(source_of(copy), ScoringOptions())
    named = ", ".join(f"all/absent{number} by good" for number in range(5))
    assert found.notes == [f"the run holds no answers of {named} and 2 more"]
