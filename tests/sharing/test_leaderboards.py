"""``audiobench leaderboard``: who is in it, in which rank, and what is refused."""

import csv
import io
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.sharing import submission_collection
from pytest_audiobench.sharing.signers import read_signers
from pytest_audiobench.sharing.submission_collection import collect

pytest.importorskip("cryptography")


@pytest.fixture
def board(lab, audiobench, keys):
    """A folder of submissions, and what the leaderboard says of it."""
    return Board(lab, audiobench, keys)


class Board:
    def __init__(self, lab, audiobench, keys):
        self.lab, self.audiobench, self.keys = lab, audiobench, keys
        Path("subs").mkdir()

    def submit(self, name, says=lambda sample_id: True, evals=None, key="ada", file=None, **run):
        """The submission of a run made for it, signed by ``key``."""
        self.lab.run(name, evals, says, **run)
        path = Path("subs") / f"{file or name}.json"
        signing = ["--sign", self.keys / key] if key else []
        assert self.audiobench("push", name, "--dry-run", "--output", path, *signing)[0] == 0
        return path

    def say(self, *arguments, source="subs"):
        return self.audiobench("leaderboard", source, "--signers", self.keys / "signers", *arguments)

    def rows(self, *arguments):
        code, out, err = self.say("--format", "csv", *arguments)
        assert code == 0, err
        return list(csv.DictReader(io.StringIO(out)))


def right(count):
    """A model that knows the first ``count`` samples."""
    return lambda sample_id: int(sample_id[1:]) < count


def test_models_are_ranked_by_what_their_samples_give(board):
    for name, count in (("poor", 10), ("good", 38), ("fair", 24)):
        board.submit(name, right(count))
    rows = board.rows()
    assert [(row["model"], row["rank"], float(row["value"])) for row in rows] == [
        ("good", "1", 0.95),
        ("fair", "2", 0.6),
        ("poor", "3", 0.25),
    ]
    assert [row["behind"] for row in rows] == ["", "0.35", "0.7"]
    assert all(row["pairs"] == "40" for row in rows[1:])
    assert {row["signed_by"] for row in rows} == {"ada@example.org"}


def test_models_whose_difference_is_not_shown_share_a_rank(board):
    for name, count in (("a", 38), ("b", 37), ("c", 10), ("d", 9)):
        board.submit(name, right(count))
    assert [(row["model"], row["rank"], row["shown"]) for row in board.rows()] == [
        ("a", "1", ""),
        ("b", "1", "False"),
        ("c", "3", "True"),
        ("d", "3", "True"),
    ]
    assert "who is not shown to be worse is in it too" in board.say()[1].replace("\n  ", " ")


def test_other_data_are_another_table(board):
    board.submit("whole", right(30))
    board.submit("other", right(30), {"animals/all": board.lab.samples(40, question="Who barks?")})
    board.submit("short", right(30), limit=20)
    code, out, _ = board.say()
    assert code == 0
    assert out.count("animals: accuracy by letters") == 3
    assert "LIMITED to 20 samples of each" in " ".join(out.split())
    assert {row["rank"] for row in board.rows()} == {"1"}


def test_figures_by_different_encoders_are_in_different_tables_that_name_them(board, by_encoder):
    for name, encoder in (("a", "static(weights:1)"), ("b", "minilm(weights:2)"), ("c", "static(weights:1)")):
        board.submit(name, right(30), protocol=by_encoder(encoder))
    assert [(row["model"], row["rank"]) for row in board.rows()] in (
        [("a", "1"), ("c", "1"), ("b", "1")],
        [("b", "1"), ("a", "1"), ("c", "1")],
    )
    code, out, _ = board.say()
    assert (code, out.count("animals: accuracy by letters")) == (0, 2)
    assert "encoder:static(weights:1)" in out
    assert "encoder:minilm(weights:2)" in out


PIANO = {"type": "music", "start_time": 0.0, "end_time": 40.0, "description": "a slow piano"}


def scene_events(sample_id):
    """What is heard in a clip, when nothing is in any other."""
    start = float(sample_id[1:])
    what = f"{sample_id} barks"
    return [{"type": "sound_event", "start_time": start, "end_time": start + 1.0, "description": what}]


@pytest.fixture
def scenes(board):
    """Submits what a model lists of forty clips."""
    from pytest_audiobench.protocols.soundscape.task import soundscape
    from tests import lexical_encoder

    lexical_encoder.register()
    clips = [
        replace(sample, choices=(), reference=json.dumps(scene_events(sample.id)), metadata={"duration": 41.0})
        for sample in board.lab.samples(40)
    ]
    protocol = soundscape(encoder="lexical")

    def submit(name, events, count=40):
        says = {clip.id: json.dumps(events(clip.id)) for clip in clips}
        board.submit(name, says.get, {"scenes/all": clips[:count]}, protocol=protocol)

    return submit


def nearly(sample_id):
    """The clip's events, of which the end is not heard exactly."""
    return [{**event, "end_time": event["end_time"] - int(sample_id[1:]) % 5 / 20} for event in scene_events(sample_id)]


def invented(sample_id):
    return [*nearly(sample_id), *({**PIANO, "description": f"a horn {number}"} for number in range(3))]


def test_lists_of_events_are_ranked_by_reward_and_by_f1_side_by_side(board, scenes):
    scenes("good", nearly)
    scenes("inventing", invented)
    scenes("half", lambda sample_id: nearly(sample_id) if int(sample_id[1:]) < 20 else [])
    rows = {row["model"]: row for row in board.rows("--suite", "scenes")}
    assert [(name, row["rank"], row["rank_scene_f1"]) for name, row in rows.items()] == [
        ("good", "1", "1"),
        ("inventing", "1", "2"),
        ("half", "3", "2"),
    ]
    assert rows["inventing"]["behind"] == "0.0"
    # One event of two lists is 2/2 and 2/5 of it; each ends .1 s early in the mean.
    assert float(rows["inventing"]["behind_scene_f1"]) == pytest.approx(0.9 * 0.6)
    assert float(rows["inventing"]["behind_lower_scene_f1"]) > 0.4
    assert [(row["events_guessed"], row["events_true"], row["halluc"]) for row in rows.values()] == [
        ("1.0", "1.0", "0.0"),
        ("4.0", "1.0", "0.75"),
        ("0.5", "1.0", "0.0"),
    ]
    assert {(row["encoder"], row["data"], row["n"]) for row in rows.values()} == {
        ("lexical(crc32,width:1024)", "scenes/all-set", "40")
    }
    (table,) = json.loads(board.say("--format", "json")[1])["tables"]
    assert (table["comparisons"], table["second"]) == (2 * 3 * 2, "scene_f1")
    by_f1 = [(row["model"], row["rank"], row["rank_reward"]) for row in board.rows("--metric", "scene_f1")]
    assert by_f1 == [("good", "1", "1"), ("half", "2", "3"), ("inventing", "2", "1")]


def test_who_is_not_shown_to_listen_has_no_rank_and_says_so_in_every_format(board, scenes):
    scenes("good", nearly)
    scenes("blind", lambda sample_id: [{**PIANO, "type": "sound_event", "description": "something barks"}])
    good, blind = board.rows()
    assert (good["rank"], good["rank_scene_f1"], good["unranked"]) == ("1", "1", "")
    assert (blind["rank"], blind["rank_scene_f1"], blind["shown"]) == ("", "", "")
    assert blind["unranked"] == "it is not shown to listen: it has no interval of adds_over_other above 0"
    assert float(blind["adds_over_other_lower"]) <= 0.0 < float(blind["behind_lower"])
    text, markdown = board.say()[1], board.say("--format", "markdown")[1]
    assert all(len(line) <= 80 for line in text.splitlines())
    for shown, head in (
        (text, "model by reward by scene_f1 listens"),
        (markdown, "model by reward by scene_f1 listens"),
    ):
        words = " ".join(shown.replace("|", " ").split())
        assert head in words
        assert "blind – – not shown" in words
        assert "has no rank: it is not shown to listen" in words


def test_of_few_clips_nobody_is_shown_to_listen_and_the_number_needed_is_named(board, scenes):
    scenes("good", nearly, count=12)
    (row,) = board.rows()
    assert row["rank"] == ""
    assert row["unranked"].endswith("above 0 (no interval: 12 samples, 20 needed)")


def test_of_one_clip_nothing_is_added_to_another(board, scenes):
    scenes("good", nearly, count=1)
    (row,) = board.rows()
    assert (row["rank"], row["adds_over_other"]) == ("", "")
    text = board.say()[1]
    assert "nan" not in text
    assert "adds_over_other above 0" in " ".join(text.split())


def test_other_suites_have_no_columns_of_scenes(board, scenes):
    board.submit("letters", right(30))
    plain = board.rows()[0].keys()
    scenes("good", nearly)
    assert board.rows("--suite", "animals")[0].keys() == plain
    rows = {row["model"]: row for row in board.rows()}
    assert (rows["letters"]["rank_scene_f1"], rows["good"]["rank_scene_f1"]) == ("", "1")


def test_only_allowed_signers_count(board):
    board.submit("mine")
    board.submit("strangers", right(20), key="bob")
    board.submit("nobodys", right(30), key=None)
    lying = board.submit("lying", right(35))
    lying.write_text(lying.read_text().replace('"notes": ""', '"notes": "trust me"'))
    shutil.copy("reports/mine/run.json", "subs/run.json")
    Path("subs/old.json").write_text('{"suite": "ab/asr-robust", "revision": "0.1.0", "run_hash": "abc"}')
    Path("subs/deep.json").write_text("[" * 100_000)
    assert [row["model"] for row in board.rows()] == ["mine"]
    told = json.loads(board.say("--format", "json")[1])
    refused = {one["name"]: one["why"] for one in told["refused"]}
    assert refused.keys() == {"strangers.json", "nobodys.json", "lying.json", "run.json", "old.json", "deep.json"}
    assert "is not in" in refused["strangers.json"]
    assert "it is not signed" in refused["nobodys.json"]
    assert "it was changed after it was written" in refused["lying.json"]
    assert refused["old.json"].startswith("it is of the earlier scheme, whose run_hash covers no audio")
    assert "refused deep.json" in board.say()[1]


def test_the_newest_of_a_model_counts_and_the_others_are_named(board, monkeypatch):
    from pytest_audiobench.report import run_writer

    for second, (name, count) in enumerate((("first", 20), ("second", 30), ("same", 30))):
        monkeypatch.setattr(run_writer.time, "time", lambda second=second: 1_790_000_000.0 + second)
        board.submit(name, right(count), model="m")
    (row,) = board.rows()
    assert (float(row["value"]), row["file"]) == (0.75, "same.json")
    said = " ".join(board.say()[1].split())
    assert "superseded other answers of the same model (50.0 %" in said
    assert "first.json" in said
    assert "3 verified submissions" in said


def test_nobody_supersedes_what_another_signed_of_the_same_model(board, keys, tmp_path, monkeypatch):
    from pytest_audiobench.report import run_writer

    for second, (name, count, key) in enumerate((("mine", 30, "ada"), ("yours", 10, "bob"), ("again", 12, "bob"))):
        monkeypatch.setattr(run_writer.time, "time", lambda second=second: 1_790_000_000.0 + second)
        board.submit(name, right(count), model="m", key=key)
    both = tmp_path / "both"
    both.write_text((keys / "signers").read_text() + f"bob@example.org {(keys / 'bob.pub').read_text()}")
    code, out, _ = board.audiobench("leaderboard", "subs", "--signers", both, "--format", "csv")
    assert code == 0
    rows = [(row["signed_by"], row["file"], row["rank"]) for row in csv.DictReader(io.StringIO(out))]
    assert rows == [("ada@example.org", "mine.json", "1"), ("bob@example.org", "again.json", "2")]


def test_a_leaderboard_records_what_it_accepted_and_when(board, tmp_path):
    board.submit("mine", right(30))
    board.submit("strangers", right(20), key="bob")
    record = tmp_path / "accepted"
    for _ in range(2):
        assert board.say("--accepted", record)[0] == 0
        (line,) = record.read_text().splitlines()
        assert line.partition(" ")[2] == json.loads(Path("subs/mine.json").read_bytes())["payload_sha256"]
    board.submit("later", right(10))
    assert board.say("--accepted", record)[0] == 0
    assert [entry == line for entry in record.read_text().splitlines()] == [True, False]
    assert board.say("--accepted", tmp_path / "nowhere" / "accepted")[0] == 4


def test_another_signer_with_the_same_answers_is_named(board, keys, tmp_path):
    board.submit("mine", right(30), model="m")
    board.submit("yours", right(30), model="m", key="bob")
    both = tmp_path / "both"
    both.write_text((keys / "signers").read_text() + f"bob@example.org {(keys / 'bob.pub').read_text()}")
    code, out, _ = board.audiobench("leaderboard", "subs", "--signers", both, "--format", "csv")
    assert code == 0
    (row,) = csv.DictReader(io.StringIO(out))
    assert {row["signed_by"], row["also_signed_by"]} == {"ada@example.org", "bob@example.org"}


def test_who_signed_other_statistics_of_a_run_is_not_said_to_agree(board, keys, tmp_path, signed_file):
    honest = json.loads(board.submit("mine", right(30), model="m").read_bytes())["payload"]
    forged = json.loads(board.submit("forged", model="m").read_bytes())["payload"]
    evidence = json.loads(forged["evidence"])
    own = json.loads(honest["evidence"])
    evidence["hashes"], evidence["evals"][0]["hashes"] = own["hashes"], own["evals"][0]["hashes"]
    payload = {**forged, "hashes": honest["hashes"], "evidence": json.dumps(evidence)}
    payload["items"] = [{**payload["items"][0], "hashes": honest["items"][0]["hashes"]}]
    Path("subs/forged.json").write_bytes(signed_file(payload, "bob"))
    both = tmp_path / "both"
    both.write_text((keys / "signers").read_text() + f"bob@example.org {(keys / 'bob.pub').read_text()}")
    code, out, err = board.audiobench("leaderboard", "subs", "--signers", both)
    assert code == 0, err
    said = " ".join(out.split())
    assert "0 refused" in said
    assert "same answers by" not in said
    assert "superseded" not in said
    assert said.count("signed by") == 2


def test_who_was_spared_samples_has_no_rank_and_takes_none(board):
    board.submit("good", right(38))
    board.submit("poor", right(10))
    board.submit("spared", lambda sample_id: True if int(sample_id[1:]) < 20 else None)
    board.submit("dead", lambda sample_id: None)
    board.submit("almost", lambda sample_id: None if sample_id == "s000" else int(sample_id[1:]) < 37)
    assert [(row["model"], row["rank"]) for row in board.rows()] == [
        ("good", "1"),
        ("almost", "1"),
        ("poor", "3"),
        ("spared", ""),
        ("dead", ""),
    ]
    said = " ".join(board.say()[1].split())
    assert "spared has no rank: 20 of 40 samples could not be asked, more than 2.5 %" in said


def test_the_order_of_a_runs_evals_is_none_of_the_task(board):
    evals = {"animals/easy": board.lab.samples(20), "animals/hard": board.lab.samples(20, "h")}
    board.submit("one", lambda sample_id: True, evals)
    board.submit("other", lambda sample_id: sample_id[0] == "s", dict(reversed(evals.items())))
    assert [(row["model"], row["rank"], row["pairs"]) for row in board.rows()] == [
        ("one", "1", ""),
        ("other", "2", "40"),
    ]


def test_what_is_no_file_in_a_folder_is_passed_over(board):
    board.submit("mine")
    os.mkfifo("subs/pipe.json")
    Path("subs/folder.json").mkdir()
    Path("subs/nowhere.json").symlink_to("nothing")
    told = json.loads(board.say("--format", "json")[1])
    assert [one["name"] for one in told["refused"]] == ["folder.json", "nowhere.json", "pipe.json"]
    assert {one["why"] for one in told["refused"]} == {"it is not a file"}


def test_a_folder_on_a_hub_that_nobody_could_write_does_not_stop_the_others(board, hub, keys):
    pytest.importorskip("huggingface_hub")
    board.lab.run("good", says=right(38))
    board.audiobench("push", "good", "--repo", "lab/results", "--sign", keys / "ada")
    hub.put("lab/results", f"submissions/{'x' * 300}/{'0' * 64}.json", b"{}")
    code, out, err = board.say(source="lab/results")
    assert code == 0, err
    assert "it does not lie at submissions/SUITE/RUN_HASH.json" in " ".join(out.split())


def test_several_evals_are_pooled_and_any_metric_ranks(board):
    evals = {"animals/easy": board.lab.samples(20), "animals/hard": board.lab.samples(20, "h")}
    board.submit("m", lambda name: name[0] == "s" and "maybe", evals)
    board.submit("n", lambda name: name[0] == "s", evals)
    rows = board.rows("--metric", "unparsed")
    assert [(row["model"], row["rank"], row["value"]) for row in rows] == [("n", "1", "0.0"), ("m", "2", "0.5")]
    assert {row["n"] for row in rows} == {"40"}


def test_a_suite_can_be_chosen(board):
    board.submit("cats")
    board.submit("crows", evals={"birds/all": board.lab.samples(10)})
    assert [row["model"] for row in board.rows("--suite", "birds")] == ["crows"]
    code, _, err = board.say("--suite", "fish")
    assert code == 4
    assert "has no verified submission of what was asked for; it has submissions of animals, birds" in err


def test_a_metric_that_none_measures_is_told(board):
    board.submit("m")
    code, _, err = board.say("--metric", "wer")
    assert code == 4
    assert "it does not measure wer" in err


def test_a_folder_of_nothing_and_a_missing_one_are_told(board):
    code, _, err = board.say()
    assert code == 4
    assert "subs has no verified submission of what was asked for" in err
    code, _, err = board.say(source="nowhere")
    assert code == 4
    assert "there is no folder nowhere: name a folder of submissions, or a data set as USER/NAME" in err


def test_names_from_outside_are_harmless(board):
    board.submit("bad\x1b[31m<b>|x", right(30), file="bad")
    text, markdown, table = (board.say("--format", form)[1] for form in ("text", "markdown", "csv"))
    assert "\x1b" not in text + markdown + table
    assert "<b>" not in markdown


def test_all_formats_hold_the_same_rows(board):
    board.submit("a", right(38))
    board.submit("b", right(10))
    text, markdown = board.say()[1], board.say("--format", "markdown")[1]
    told = json.loads(board.say("--format", "json")[1])
    (table,) = told["tables"]
    assert [row["model"] for row in table["rows"]] == ["a", "b"]
    assert table["comparisons"] == 2
    for shown in (text, markdown):
        assert "95.0 %" in shown
        assert "70.0" in shown
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_data_set_on_a_hub_is_read(board, hub, keys):
    pytest.importorskip("huggingface_hub")
    for name, count in (("good", 38), ("poor", 10)):
        board.lab.run(name, says=right(count))
        assert board.audiobench("push", name, "--repo", "lab/results", "--sign", keys / "ada")[0] == 0
    hub.put("lab/results", "submissions/animals/notes.json", b"{}")
    hub.put("lab/results", f"submissions/animals/{'0' * 64}.json", next(iter(hub.files("lab/results").values())))
    code, out, err = board.say("--format", "json", source="lab/results")
    assert code == 0, err
    told = json.loads(out)
    assert [row["model"] for row in told["tables"][0]["rows"]] == ["good", "poor"]
    refused = {one["name"]: one["why"] for one in told["refused"]}
    assert "it does not lie at submissions/SUITE/RUN_HASH.json" in refused["submissions/animals/notes.json"]
    assert "named by another run_hash" in refused[f"submissions/animals/{'0' * 64}.json"]


def test_a_data_set_that_is_empty_or_not_there_is_told(board, hub):
    pytest.importorskip("huggingface_hub")
    hub.put("lab/empty", "README.md", b"nothing yet")
    assert "has no verified submission of what was asked for" in board.say(source="lab/empty")[2]
    code, _, err = board.say(source="lab/nothing")
    assert code == 1
    assert "there is no such data set, or the token may not see it" in err


def test_a_download_that_is_cut_is_begun_again(board, hub, keys, monkeypatch):
    pytest.importorskip("huggingface_hub")
    board.lab.run("good", says=right(38))
    board.audiobench("push", "good", "--repo", "lab/results", "--sign", keys / "ada")
    hub.fault("GET .*resolve", "half")
    hub.fault("HEAD .*resolve", 503)
    code, _, err = board.say(source="lab/results")
    assert code == 0, err


def test_a_data_set_too_large_is_not_fetched(keys, hub, monkeypatch):
    pytest.importorskip("huggingface_hub")
    hub.put("lab/huge", f"submissions/a/{'0' * 64}.json", b"{}" * 100)
    hub.put("lab/huge", f"submissions/a/{'1' * 64}.json", b"{}")
    monkeypatch.setattr(submission_collection, "MOST_BYTES_IN_ALL", 50)
    with pytest.raises(UsageError, match="lab/huge holds more than 5000 files or"):
        collect("lab/huge", read_signers(keys / "signers"), lambda seconds: None)
    monkeypatch.setattr(submission_collection, "MOST_BYTES_IN_ALL", 10**6)
    monkeypatch.setattr(submission_collection, "MOST_BYTES", 100)
    found = collect("lab/huge", read_signers(keys / "signers"), lambda seconds: None)
    assert any("more than a submission does" in one.why for one in found.refused)
