"""Replaying what a run of this project left behind."""

import json
import re
from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request
from pytest_audiobench.models.replay.model import Replay
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import OutputRow, PredictionRow
from pytest_audiobench.records.run import ItemRecord, PooledHashes, RunRecord, RuntimeRecord
from pytest_audiobench.report.json_lines import encode_line


def row(**changes):
    usual = {
        "eval": "test_digits",
        "model": "qwen",
        "dataset": "bundled/digits",
        "sample_id": "d1",
        "epoch": 0,
        "question": "Which digit?",
        "choices": (),
        "reference": "one",
        "references": (),
        "metadata": {},
        "stage": "answer",
        "key": None,
        "prompt": None,
        "outputs": [OutputRow("(A) one", "stop")],
        "usage": {"output_tokens": 3},
        "error": None,
        "audio": (),
    }
    return PredictionRow(**{**usual, **changes})


def line(**changes):
    return encode_line(row(**changes)).decode()


def edited(**changes):
    """A line as someone may have changed it."""
    return json.dumps({**plain(row()), **changes}) + "\n"


def run_folder(tmp_path, *lines):
    folder = tmp_path / "main"
    folder.mkdir(exist_ok=True)
    (folder / "predictions.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def request(**changes):
    usual = {"dataset": "bundled/digits", "sample_id": "d1", "stage": "answer", "epoch": 0}
    clip = Clip(FileSource(DataRoot("bundled/digits", Path()), "audio/d1.flac"))
    message = Message("user", (AudioSlot(0), "Which digit?"))
    return Request(key="k", task="choice", messages=(message,), clips=(clip,), **{**usual, **changes})


def ask(model, **changes):
    (response,) = model.ask([Ask(request(**changes), ())])
    return response


def test_an_answer_about_the_unchanged_clips_is_one_answer_under_every_condition(tmp_path):
    clean = {"stage": "clean", "unchanged": True, "outputs": [OutputRow("clean", "stop")]}
    model = Replay(
        str(
            run_folder(
                tmp_path,
                line(dataset="bundled/digits+mask-p20", **clean),
                line(dataset="bundled/digits+mask-p20"),
                line(dataset="bundled/digits+inject-wrong-before", **clean),
            )
        ),
        {},
    )
    model.load()
    assert ask(model, stage="clean").text == "clean"
    assert ask(model, dataset="bundled/digits+mask-p20").text == "(A) one"
    assert ask(model, dataset="bundled/digits+mask-p20", stage="clean").error


def test_an_answer_is_found_by_data_set_sample_stage_and_epoch(tmp_path):
    folder = run_folder(
        tmp_path,
        line(),
        line(dataset="bundled/sounds", outputs=[OutputRow("sound", "stop")]),
        line(sample_id="d2", outputs=[OutputRow("two", "stop")]),
        line(stage="check", outputs=[OutputRow("checked", "stop")]),
        line(epoch=1, outputs=[OutputRow("again", "length")]),
    )
    model = Replay(str(folder), {})
    model.load()
    assert ask(model).text == "(A) one"
    assert ask(model).usage == {"output_tokens": 3}
    assert ask(model, dataset="bundled/sounds").text == "sound"
    assert ask(model, sample_id="d2").text == "two"
    assert ask(model, stage="check").text == "checked"
    assert (ask(model, epoch=1).text, ask(model, epoch=1).finish) == ("again", "length")


@pytest.mark.parametrize("changes", [{"dataset": "x"}, {"sample_id": "x"}, {"stage": "x"}, {"epoch": 1}])
def test_what_was_not_recorded_is_an_error_of_its_sample(tmp_path, changes):
    response = ask(Replay(str(run_folder(tmp_path, line())), {}), **changes)
    assert response.outputs == ()
    assert response.error is not None
    assert response.error.startswith("no recorded answer for ")
    assert response.error.endswith("in main")


def test_a_recorded_error_stays_one(tmp_path):
    model = Replay(
        str(run_folder(tmp_path, line(outputs=[], error="no such file"), line(sample_id="d2", outputs=[]))), {}
    )
    assert ask(model).error == "the recorded run met an error: no such file"
    assert ask(model, sample_id="d2").error == "the recorded run holds no output"


def test_the_file_itself_may_be_named(tmp_path):
    folder = run_folder(tmp_path, line())
    assert ask(Replay(str(folder / "predictions.jsonl"), {})).text == "(A) one"
    (tmp_path / "mine.jsonl").write_text(line())
    assert ask(Replay(str(tmp_path / "mine.jsonl"), {})).text == "(A) one"


def test_of_several_models_one_is_chosen(tmp_path):
    folder = str(run_folder(tmp_path, line(), line(model="af3", outputs=[OutputRow("B", "stop")])))
    with pytest.raises(UsageError, match=r"af3 \(1 answers\), qwen \(1 answers\); choose one with model=ALIAS"):
        Replay(folder, {}).fingerprint()
    with pytest.raises(UsageError, match=r"no answers of model 'gpt'; it holds af3"):
        Replay(folder, {"model": "gpt"}).fingerprint()
    assert ask(Replay(folder, {"model": "af3"})).text == "B"
    assert Replay(folder, {"model": "af3"}).fingerprint() != Replay(folder, {"model": "qwen"}).fingerprint()


def test_evals_that_asked_differently_are_told_apart(tmp_path):
    other = line(eval="test_terse", outputs=[OutputRow("A", "stop")])
    folder = str(run_folder(tmp_path, line(), other))
    with pytest.raises(UsageError, match="test_digits on line 1 and of test_terse on line 2; choose with eval="):
        Replay(folder, {}).fingerprint()
    assert ask(Replay(folder, {"eval": "terse"})).text == "A"
    with pytest.raises(UsageError, match="of an eval named like 'chess'"):
        Replay(folder, {"eval": "chess"}).fingerprint()


def test_evals_that_share_answers_agree(tmp_path):
    assert ask(Replay(str(run_folder(tmp_path, line(), line(eval="test_strict"))), {})).text == "(A) one"


def test_hostile_texts_pass_through(tmp_path):
    text = "\x00\x1b[31m<script>\ud800" + "x" * 1_000_000
    model = Replay(str(run_folder(tmp_path, line(outputs=[OutputRow(text, "unknown")]))), {})
    assert ask(model).text == text
    assert ask(model).finish == "unknown"


def test_a_raw_control_character_and_a_wrong_byte_pass_through(tmp_path):
    folder = run_folder(tmp_path)
    (folder / "predictions.jsonl").write_bytes(line().encode().replace(b"one", b"o\x01\xff"))
    assert ask(Replay(str(folder), {})).text == "(A) o\x01\udcff"


def test_a_line_over_64_megabytes_is_refused(tmp_path):
    folder = run_folder(tmp_path)
    with (folder / "predictions.jsonl").open("w") as file:
        file.write(line() + '"' + "x" * 64_000_000 + '"\n')
    with pytest.raises(UsageError, match="line 2 is longer than 64 MB"):
        Replay(str(folder), {}).fingerprint()


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{\n", "line 2: it is not one JSON object"),
        ("[]\n", "line 2: it must be an object, not a list"),
        ('{"outputs": []}\n', "line 2: it has no 'eval'"),
        (edited(epoch="0"), "line 2: epoch must be a whole number, not '0'"),
        (edited(outputs=[{"text": 3, "finish": "stop"}]), "line 2: outputs 1, text must be a text, not 3"),
        (edited(outputs=[3]), "line 2: outputs 1 must be an object, not 3"),
    ],
)
def test_a_broken_line_is_refused(tmp_path, written, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        Replay(str(run_folder(tmp_path, line(), written)), {}).fingerprint()


def test_there_must_be_something_to_replay(tmp_path):
    with pytest.raises(UsageError, match="nothing at"):
        Replay(str(tmp_path / "gone"), {}).fingerprint()
    with pytest.raises(UsageError, match="no answers to replay"):
        Replay(str(tmp_path), {}).fingerprint()
    with pytest.raises(UsageError, match="holds no answers"):
        Replay(str(run_folder(tmp_path)), {}).fingerprint()
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError, match="is empty"):
        Replay(str(tmp_path / "empty.jsonl"), {}).fingerprint()
    (tmp_path / "other.jsonl").write_text('{"a": 1}')
    with pytest.raises(UsageError, match="neither"):
        Replay(str(tmp_path / "other.jsonl"), {}).fingerprint()


def test_options_are_checked(tmp_path):
    folder = str(run_folder(tmp_path, line()))
    with pytest.raises(UsageError, match="no option 'speed'"):
        Replay(folder, {"speed": "9"})
    with pytest.raises(UsageError, match="answers=… does not apply"):
        Replay(folder, {"answers": "reas"}).fingerprint()
    with pytest.raises(UsageError, match="crashes=often"):
        Replay(folder, {"crashes": "often"})


def test_a_replay_reads_nothing_until_it_must_and_hears_nothing(tmp_path):
    model = Replay(str(tmp_path / "later"), {"model": "qwen"})
    assert (model.spec, model.batching, model.listens, model.device) == (
        f"replay:{tmp_path / 'later'},model=qwen",
        "opaque",
        False,
        "recorded",
    )


def test_the_fingerprint_follows_the_content_and_not_the_place(tmp_path):
    first = Replay(str(run_folder(tmp_path, line())), {}).fingerprint()
    (tmp_path / "elsewhere").mkdir()
    moved = Replay(str(run_folder(tmp_path / "elsewhere", line())), {}).fingerprint()
    changed = Replay(str(run_folder(tmp_path, line(sample_id="d9"))), {}).fingerprint()
    assert first == moved
    assert first != changed


def run_record(*items):
    """A run of items, each of a model, a protocol and its options."""
    hashes = PooledHashes(None, None, None)
    records = [
        ItemRecord(index=at, nodeid="", eval="e", suite="s", model=model, protocol=protocol, options=options)
        for at, (model, protocol, options) in enumerate(items)
    ]
    time = "2026-11-21T19:06:00Z"
    return RunRecord(
        run="main",
        started=time,
        finished=time,
        command=(),
        exit_status=0,
        limit=None,
        epochs=1,
        models=(),
        items=records,
        hashes=hashes,
        runtime=RuntimeRecord("", "", "", {}),
        notes=(),
    )


@pytest.mark.parametrize(
    ("items", "style"),
    [
        ([("reasoned_choice", {"style": "af3"})], "af3"),
        ([("reasoned_choice", {}), ("multiple_choice", {"prompt": "?"})], "plain"),
        ([("reasoned_choice", {"style": "af3"}), ("conditioned_choice", {"style": "qwen"})], ""),
        ([("multiple_choice", {})], ""),
    ],
)
def test_a_run_tells_the_style_that_its_choices_were_asked_in(tmp_path, items, style) -> None:
    folder = run_folder(tmp_path, line())
    record = run_record(*(("qwen", *item) for item in items), ("another", "reasoned_choice", {"style": "qwen"}))
    (folder / "run.json").write_text(json.dumps(plain(record)))
    assert Replay(str(folder), {}).style == Replay(str(folder / "predictions.jsonl"), {}).style == style


@pytest.mark.parametrize("record", ["", "[]", "{", '{"schema": "audiobench.run/1"}', '{"schema": "audiobench.run/2"}'])
def test_a_run_whose_record_is_none_tells_no_style(tmp_path, record) -> None:
    folder = run_folder(tmp_path, line())
    (folder / "run.json").write_text(record)
    assert Replay(str(folder), {}).style == ""


def test_answers_that_another_program_wrote_need_no_more_than_their_request_and_text(tmp_path):
    names = {"eval": "digits", "model": "qwen", "dataset": "bundled/digits", "stage": "answer", "epoch": 0}
    rows = [
        {**names, "sample_id": "d1", "outputs": [{"text": "(A) one"}]},
        {
            **names,
            "sample_id": "d2",
            "outputs": [{"text": "two", "finish": "end_turn"}],
            "usage": {"s": 1.5},
            "by": "me",
        },
    ]
    replay = Replay(str(run_folder(tmp_path, *(json.dumps(each) + "\n" for each in rows))), {})
    assert ask(replay).text == "(A) one"
    second = ask(replay, sample_id="d2")
    assert (second.text, second.finish, second.usage) == ("two", "unknown", {})
