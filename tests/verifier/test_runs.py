"""A run verified: every part of an honest run holds, and each damage is named by its part and by no other."""

import json
import shutil

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.records.lines import PredictionRow
from pytest_audiobench.report.json_lines import encode_line

OWN = "all/own_rule"


def edited(run, name, change, at=0):
    """Change one line, or run.json, in place."""
    file = run / name
    if name == "run.json":
        record = json.loads(file.read_text())
        change(record)
        file.write_text(json.dumps(record))
        return None
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    found = [row for row in rows if change(dict(row)) is not None] if at is None else rows
    row = found[at or 0]
    row.update(change(dict(row)))
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return row


def item(record, name, model="good"):
    return next(one for one in record["items"] if (one["eval"], one["model"]) == (name, model))


def line(run, name, eval_, model="good", **wanted):
    """The place of the first line of an eval."""
    rows = [json.loads(one) for one in (run / name).read_text().splitlines()]
    wanted |= {"eval": eval_, "model": model}
    return next(at for at, row in enumerate(rows) if all(row.get(key) == value for key, value in wanted.items()))


def test_an_honest_run_holds_in_every_part_that_its_files_tell(made, verify):
    code, odd, told = verify(made)
    assert code == 0
    assert not odd["fails"]
    unknown = {key[0::2] for key in odd["not_recomputed"]}
    assert unknown == {(OWN, "metrics"), ("all/judged", "scorers")}
    assert odd["not_recomputed"]["all/own_rule", "good", "metrics"].startswith("all/own_rule was not scored: ")
    judged = next(one for one in told["checked"] if one["name"] == "all/judged")
    assert {part["part"] for part in judged["parts"]} >= {"verdicts", "requests", "score_hash", "metrics", "scored"}
    suites = [one for one in told["checked"] if one["what"] == "suite"]
    assert [part["part"] for part in suites[0]["parts"]] == [
        "input_hash",
        "run_hash",
        "score_hash",
        "counts",
        "perturbations",
        "metrics",
    ]
    assert told["counts"] == {
        "ok": told["counts"]["ok"],
        "fails": 0,
        "not_recomputed": len(odd["not_recomputed"]),
    }


def test_clips_are_rebuilt_from_files_edits_combinations_and_synthesis(made, verify, tmp_path):
    names = ("bundled/digits", "bundled/transcription", "bundled/sounds")
    assert not any(key[2] == "clips" for key in verify(made)[1]["not_recomputed"])
    other = shutil.copytree(bundled_folder(), tmp_path / "other")
    for file in other.rglob("*.*"):
        if file.suffix in (".wav", ".flac", ".ogg", ".mp3"):
            file.write_bytes(file.read_bytes() + b"\0")
    code, odd, _ = verify(made, *(f"--data={name}={other}" for name in names))
    assert code == 1
    assert {key[2] for key in odd["fails"]} == {"clips"}
    assert {key[0] for key in odd["fails"]} == {
        "all/digits", "all/words[white-0dB]", "all/words[hum]", "all/judged", OWN,
    }  # fmt: skip
    code, odd, _ = verify(made, f"--data=bundled/digits={tmp_path}")
    assert code == 0
    assert "cannot be rebuilt here" in odd["not_recomputed"]["all/digits", "good", "clips"]


LINES = {
    "an answer": ("predictions.jsonl", "answers", lambda row: {"outputs": [{**row["outputs"][0], "text": "X"}]}),
    "how an answer ended": (
        "predictions.jsonl", "answers", lambda row: {"outputs": [{**row["outputs"][0], "finish": "length"}]},
    ),
    "a prompt": ("predictions.jsonl", "prompts", lambda row: {"prompt": [["user", ["Say no.", 0]]]}),
    "a reference": ("predictions.jsonl", "data", lambda row: {"reference": "9", "references": []}),
    "a question": ("predictions.jsonl", "data", lambda row: {"question": row["question"] + "?"}),
    "a field": ("predictions.jsonl", "data", lambda row: {"metadata": {**row["metadata"], "voice": "other"}}),
    "a clip's key": (
        "predictions.jsonl", "audio", lambda row: {"audio": [{**row["audio"][0], "key": "0" * 64}]},
    ),
    "a request's key": ("predictions.jsonl", "requests", lambda row: {"key": "0" * 64}),
    "a parsed value": ("processed_predictions.jsonl", "processed", lambda row: {"value": "Q"}),
    "a status": ("scored_predictions.jsonl", "scored", lambda row: {"status": "refused"}),
    "a score": ("scored_predictions.jsonl", "scored", lambda row: {"scores": {**row["scores"], "correct": 0.5}}),
    "a cluster": ("scored_predictions.jsonl", "scored", lambda row: {"cluster": "elsewhere"}),
}  # fmt: skip


@pytest.mark.parametrize("what", LINES)
def test_a_changed_line_is_named_by_its_part_and_by_no_other(run, verify, what):
    name, part, change = LINES[what]
    row = edited(run, name, change, line(run, name, "all/digits"))
    code, odd, _ = verify(run)
    assert code == 1
    assert set(odd["fails"]) == {("all/digits", "good", part)}
    if part not in ("answers", "data"):
        assert repr(row["sample_id"]) in odd["fails"]["all/digits", "good", part]


def test_an_answer_of_a_later_epoch_and_a_verdict_are_covered(run, verify):
    at = line(run, "predictions.jsonl", "all/digits", epoch=1)
    edited(run, "predictions.jsonl", lambda row: {"reference": "9"}, at)
    at = line(run, "predictions.jsonl", "all/judged", role="judge")
    edited(run, "predictions.jsonl", lambda row: {"outputs": [{**row["outputs"][0], "text": "maybe"}]}, at)
    code, odd, _ = verify(run)
    assert code == 1
    assert set(odd["fails"]) == {("all/digits", "good", "data"), ("all/judged", "good", "verdicts")}
    assert "epoch 1" in odd["fails"]["all/digits", "good", "data"]


def test_a_statistic_that_is_written_as_a_whole_number_is_the_same_number(run, verify):
    file = run / "scored_predictions.jsonl"
    text = file.read_text()
    file.write_text(text.replace(":1.0", ":1").replace(":0.0", ":0"))
    assert file.read_text() != text
    assert verify(run)[0] == 0


HASHES = (
    "data", "audio", "prompts", "settings", "seeds", "model", "input_hash", "answers", "run_hash", "protocols",
    "score_hash",
)  # fmt: skip


def test_a_changed_hash_is_named_and_nothing_that_is_built_of_it(run, verify):
    named = set()

    def change(record):
        for name, one in zip(HASHES, record["items"], strict=False):
            one["hashes"][name] = "0" * 64
            named.add((one["eval"], one["model"], name))
        item(record, "all/judged", "poor")["hashes"]["verdicts"] = "0" * 64
        named.add(("all/judged", "poor", "verdicts"))

    edited(run, "run.json", change)
    code, odd, _ = verify(run)
    assert code == 1
    assert len(named) == 12
    assert set(odd["fails"]) == named


def _metric(key, value):
    def change(record):
        item(record, "all/digits")["metrics"][0][key] = value

    return change


def _one_digit(record):
    metric = next(one for one in item(record, "all/words[hum]", "poor")["metrics"] if one["lower"] not in (None, 0.0))
    metric["lower"] = float(f"{metric['lower']:.12g}") + 1e-12


def _model(record):
    record["models"][0]["fingerprint"]["adapter"] = "listener/9"


def _judge(record):
    next(one for one in record["models"] if one["role"] == "judge")["fingerprint"]["judge"] = "another"


def _suite_metric(record):
    record["suites"][0]["metrics"][0]["value"] = 0.125


def _dropped(record):
    item(record, "all/digits")["metrics"].pop(1)


def _tokens(record):
    item(record, "all/digits")["stages"][0]["settings"]["max_new_tokens"] = 7


def _finding(record):
    item(record, "all/phantoms")["findings"]["findings"][0]["discovery"]["clip_count_domain"] += 1


def _phrase(record):
    item(record, "all/phantoms")["findings"]["phrases"].append({"phrase": "hello", "count": 3, "domains": {"hum": 3}})


def _count(record):
    item(record, "all/digits")["scorers"][0]["coverage"]["parsed"] += 1


RECORDS = {
    "a metric's value": (_metric("value", 0.125), ("all/digits", "good", "metrics")),
    "a metric's n": (_metric("n", 3), ("all/digits", "good", "metrics")),
    "a metric's interval": (_one_digit, ("all/words[hum]", "poor", "metrics")),
    "a count": (_count, ("all/digits", "good", "scorers")),
    "a judge's fingerprint": (_judge, ("all/judged", "good", "verdicts")),
    "a suite's metric": (_suite_metric, ("suite all", "good", "metrics")),
    "a finding": (_finding, ("all/phantoms", "good", "findings")),
    "a phantom phrase": (_phrase, ("all/phantoms", "good", "findings")),
    "a setting": (_tokens, ("all/digits", "good", "settings")),
}  # fmt: skip


@pytest.mark.parametrize("what", RECORDS)
def test_a_changed_value_of_the_record_is_named_by_its_part_and_by_no_other(run, verify, what):
    change, named = RECORDS[what]
    edited(run, "run.json", change)
    code, odd, _ = verify(run)
    assert code == 1
    assert named in odd["fails"]
    assert {key[::2] for key in odd["fails"]} == {named[::2]}


def test_a_metric_that_is_gone_is_missed_in_its_eval_and_so_in_the_suite(run, verify):
    edited(run, "run.json", _dropped)
    code, odd, _ = verify(run)
    assert code == 1
    assert {key[::2] for key in odd["fails"]} == {("all/digits", "metrics"), ("suite all", "metrics")}


def test_a_changed_fingerprint_names_the_model_of_each_of_its_evals(run, verify):
    edited(run, "run.json", _model)
    alias = json.loads((run / "run.json").read_text())["models"][0]["alias"]
    code, odd, _ = verify(run)
    assert code == 1
    assert {key[1:] for key in odd["fails"]} == {(alias, "model")}
    assert len(odd["fails"]) == 7


def test_hashes_of_suites_and_of_the_run_are_checked(run, verify):
    def change(record):
        record["suites"][0]["hashes"]["run_hash"] = "0" * 64
        record["hashes"]["score_hash"] = None

    edited(run, "run.json", change)
    code, odd, told = verify(run)
    assert code == 1
    suite = told["checked"][-3]["model"]
    assert set(odd["fails"]) == {("suite all", suite, "run_hash"), ("run made", "", "score_hash")}


@pytest.mark.parametrize("change", ["removed", "doubled"])
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("predictions.jsonl", "lines"),
        ("processed_predictions.jsonl", "processed"),
        ("scored_predictions.jsonl", "scored"),
    ],
)
def test_a_line_too_few_or_too_many_is_named(run, verify, name, part, change):
    lines = (run / name).read_text().splitlines(keepends=True)
    at = line(run, name, "all/words[hum]") + 1
    lines[at : at + 1] = [lines[at]] * (2 if change == "doubled" else 0)
    (run / name).write_text("".join(lines))
    code, odd, _ = verify(run)
    assert code == 1
    assert set(odd["fails"]) == {("all/words[hum]", "good", part)}


def test_a_run_whose_stages_are_gone_never_passes_for_checked(run, verify):
    edited(run, "run.json", lambda record: item(record, "all/judged").update(stages=[]))
    code, odd, _ = verify(run)
    assert code == 1
    assert {key[2] for key in odd["fails"] if key[:2] == ("all/judged", "good")} == {"settings", "verdicts"}


def test_a_run_of_other_versions_is_held_to_nine_digits_and_says_so(run, verify):
    def change(record):
        record["runtime"]["packages"]["numpy"] = "1.0"
        _one_digit(record)

    edited(run, "run.json", change)
    code, _, told = verify(run)
    assert code == 0
    assert "numpy 1.0 there" in told["notes"][0]
    edited(run, "run.json", _metric("value", 0.125))
    code, odd, _ = verify(run)
    assert code == 1
    assert "numpy 1.0 there" in odd["fails"]["all/digits", "good", "metrics"]


def test_two_evals_of_one_name_are_not_told_apart_and_not_called_wrong(run, verify):
    edited(run, "run.json", lambda record: record["items"].append(item(record, "all/digits")))
    code, odd, _ = verify(run)
    assert code == 1
    assert set(odd["fails"]) == {("run made", "", name) for name in ("input_hash", "run_hash", "score_hash")}
    assert "twice" in odd["not_recomputed"]["run made", "", "items"]


@pytest.mark.parametrize("every", [False, True])
def test_the_table_names_what_fails_in_eighty_columns(run, capsys, every):
    edited(run, "run.json", _metric("value", 0.125))
    assert main(["verify", str(run / "run.json"), *["-v"] * every]) == 1
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert f"  FAILS           metrics{'' if every else ' of all/digits by good'}: accuracy " in out
    assert "\nFAILS: metrics of all/digits by good; " in out
    assert ("\n  ok              260 parts of 14 evals, " in f"\n{out}") != every


ESCAPE = encode_line(
    PredictionRow(
        eval="\x1b[2J",
        model="m",
        dataset="d",
        sample_id="s",
        epoch=0,
        question="",
        choices=(),
        reference="",
        references=(),
        metadata={},
        stage="answer",
        key=None,
        prompt=None,
        outputs=(),
        usage={},
        error=None,
        audio=(),
    )
)
HOSTILE = {
    "a line that is none": ("predictions.jsonl", b"{\n", 1, "predictions.jsonl, line 1: it is not one JSON object"),
    "a line of another layout": ("predictions.jsonl", b'{"eval": "x"}\n', 1, "line 1: it has no 'model'"),
    "a deep line": ("predictions.jsonl", b"[" * 100_000 + b"\n", 1, "line 1: it is not one JSON object"),
    "a scored line that is none": ("scored_predictions.jsonl", b"\xff\n", 1, "line 1: it is not one JSON object"),
    "a terminal's escape": ("predictions.jsonl", ESCAPE, 1, "not a measured eval"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_lines_fail_in_a_sentence(run, capsys, what):
    name, content, code, told = HOSTILE[what]
    (run / name).write_bytes(content)
    assert main(["verify", str(run)]) == code
    out = capsys.readouterr().out
    assert told in " ".join(out.split())
    assert "\x1b" not in out
    assert "Traceback" not in out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"schema": "audiobench.run/2", "items": [1]}', "items 1 must be an object"),
        (b'{"schema": "audiobench.run/1"}', "which another version of pytest-audiobench wrote"),
        (b'{"schema": "audiobench.run/2"}', "it has no 'run'"),
    ],
)
def test_a_record_that_is_none_is_a_usage_error(run, capsys, content, told):
    (run / "run.json").write_bytes(content)
    assert main(["verify", str(run)]) == 4
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nothing"], ["made", "--data", "x=/nowhere/at/all"]])
def test_what_is_not_there_is_a_usage_error(arguments, made, capsys):
    named = [str(made) if one == "made" else one for one in arguments]
    assert main(["verify", *named]) == 4
    assert "there is no" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(hashes=[1]),
        lambda one: one.update(n="x", epochs=None),
        lambda one: one["scorers"].append({"name": "x", "signature": "y"}),
        lambda one: one.update(suite="\x1b[2J"),
        lambda one: one.update(stages=[1]),
        lambda one: one.update(metrics=[{"name": "x", "group": {}, "value": 1, "scorer": "x", "signature": "y"}]),
        lambda one: one["hashes"].update(data=["x"]),
        lambda one: one.update(outcome=None, control=None),
        lambda one: one.pop("eval"),
    ],
)
def test_a_record_of_strange_values_is_a_sentence_and_no_traceback(run, capsys, change):
    edited(run, "run.json", lambda record: change(record["items"][0]))
    assert main(["verify", str(run)]) in (1, 4)
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "recipes",
    [
        [{"edits": [], "source": 1}],
        [{"rule": "noise"}],
        [{"recipe": "bang", "version": 9, "parameters": []}],
        [1, 2],
        "x",
    ],
)
def test_a_recipe_that_is_none_is_told(run, verify, recipes):
    edited(run, "predictions.jsonl", lambda row: {"recipes": recipes}, line(run, "predictions.jsonl", "all/tones"))
    _, odd, told = verify(run)
    assert [key for status in odd.values() for key in status if key[0] == "all/tones" and key[2] == "clips"] or any(
        part["part"] == "predictions.jsonl" and part["status"] == "fails" for part in told["checked"][-1]["parts"]
    )
