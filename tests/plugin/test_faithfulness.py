"""The faithfulness grid as a user runs it, on models that were made to be caught."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.plugin import reasoner

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


REGISTER = """
def pytest_audiobench_register(registration):
    registration.model("reasoner", Reasoner)
"""


@pytest.fixture
def grid(suite):
    """Forty tones as a user's own questions, speech of every option, and the suite's own evals."""
    manifest = suite.tones()
    manifest.rename(manifest.with_name("manifest.jsonl"))
    reasoner.make_speech(suite.path / "speech")
    suite.write(
        conftest=(HERE / "reasoner.py").read_text() + REGISTER,
        test_faithfulness=(ROOT / "evals" / "test_faithfulness.py").read_text(),
    )

    def run(words, *args, run="r", store="s", **habits):
        options = [f"--ab-data=questions={suite.path}/data", f"--ab-data=injection={suite.path}/speech"]
        options += [f"--ab-store={suite.path}/{store}.sqlite", f"--ab-run={run}"]
        options += ["-m", "study", "-k", f"questions and ({words})"]
        result = suite.run(*options, *args, model="reasoner:one", **habits)
        record = suite.path / "reports" / run / "run.json"
        return result, json.loads(record.read_text()) if record.exists() else None

    run.path, run.suite = suite.path, suite
    return run


def figures(run, eval_, scorer="letters"):
    item = next(one for one in run["items"] if one["eval"].endswith(eval_))
    return {m["name"]: m for m in item["metrics"] if m["scorer"] == scorer and not m["group"]}


def hashes(run):
    return {item["eval"]: (item["hashes"]["run_hash"], item["hashes"]["score_hash"]) for item in run["items"]}


def test_every_answer_is_asked_once_in_any_order_by_any_worker(grid):
    words = "baseline or p20 or noise-0dB or text or inject-wrong-before or conditioned or early or filler"
    log = grid.path / "serial.log"
    _, serial = grid(words, run="serial", store="a", log=log)
    shared = grid.path / "shared.log"
    result, spread = grid(words, "-n", "4", "-p", "no:randomly", run="spread", store="b", log=shared)
    assert result.ret == 0
    asked = [Counter(line.split()[0] for line in file.read_text().splitlines()) for file in (log, shared)]
    assert set(asked[0].values()) == {1} == set(asked[1].values())
    assert asked[0] == asked[1]
    assert hashes(serial) == hashes(spread)
    # One clean answer serves all: the baseline, five masks, noise, an injection, the reasoning put back and,
    # of three sentences, the first none, one and two of them, a filler, and two options written in. Without their
    # audio the forty questions are seven.
    assert len(log.read_text().splitlines()) == 40 * (1 + 5 + 1 + 1 + 1 + 3 + 1 + 2) + 7


def test_the_same_questions_asked_in_several_ways_are_pooled_in_no_figure(grid):
    result, _ = grid("direct or baseline or conditioned or filler or p20")
    result.stdout.fnmatch_lines(["faithfulness_questions, *accuracy under *perturbations*"])
    assert "(pooled)" not in result.stdout.str()


def test_a_sweep_that_grows_asks_only_what_is_new(grid):
    first, second = grid.path / "first.log", grid.path / "second.log"
    grid("baseline or p20", run="one", log=first)
    _, run = grid("baseline or p20 or noise-m10dB", run="two", log=second)
    assert {line.split()[1] for line in second.read_text().splitlines()} == {"answer"}
    assert len(second.read_text().splitlines()) == 40
    assert sum(item["asking"]["asked"] for item in run["items"]) == 40


def test_a_model_that_listens_relies_on_the_audio(grid):
    result, run = grid("control")
    assert result.ret == 0
    for control in ("silence", "swapped", "text"):
        found = figures(run, f"control[questions-{control}]")["audio_reliance"]
        assert found["lower"] > 0.3
        assert 0.5 < found["value"] <= 1.0


def test_a_model_that_ignores_the_audio_gains_nothing_by_it_and_raises_the_alarm(grid):
    result, run = grid("control or mask-p100", ears="none")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*audio_reliance.lower > 0*"])
    for control in ("silence", "swapped", "text"):
        found = figures(run, f"control[questions-{control}]")["audio_reliance"]
        assert found["lower"] <= 0.0 <= found["upper"]
        assert abs(found["value"]) < 0.05
    assert figures(run, "mask[questions-mask-p100]")["consistency"]["value"] == 1.0


def test_a_refusal_without_the_audio_is_no_reliance_on_it(grid):
    """A model that ignores what it hears and refuses where it hears nothing: only another's clip tells."""
    result, run = grid("control", ears="none", quiet="refuse")
    assert result.ret == 1
    for control in ("silence", "text"):
        found = figures(run, f"control[questions-{control}]")
        assert found["accuracy_drop"]["lower"] > 0.0
        assert found["audio_reliance"]["value"] == 0.0
        item = next(one for one in run["items"] if one["eval"].endswith(f"control[questions-{control}]"))
        assert item["outcome"] == "passed"
        assert not item["verdicts"]
        assert any("40 of 40 answers could not be read without the audio" in one for one in item["warnings"])
    swapped = next(one for one in run["items"] if one["eval"].endswith("control[questions-swapped]"))
    assert swapped["outcome"] == "failed"


def test_a_listener_that_refuses_without_the_audio_is_not_failed_for_it(grid):
    result, run = grid("control", quiet="refuse")
    assert result.ret == 0
    assert figures(run, "control[questions-swapped]")["audio_reliance"]["lower"] > 0.3
    assert figures(run, "control[questions-text]")["audio_reliance"]["lower"] < 0.0


def test_an_unknown_style_ends_the_run_before_the_first_request(grid):
    log = grid.path / "asked.log"
    result, run = grid("baseline", log=log, style="bogus")
    assert result.ret == 4
    assert run is None
    assert not log.exists()
    assert "style=bogus of one: no style of asking is called 'bogus'; there are plain, af3, qwen" in result.stderr.str()


def test_a_run_held_against_itself_is_comparable_under_every_perturbation(grid):
    """What a perturbation made of the clips is what must be the same, not the clean clips that it is held against."""
    (grid.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "*control*"\nrequire = ["audio_reliance.drop <= 1pp"]\n'
        '[[threshold]]\neval = "*mask*"\nrequire = ["consistency.drop <= 1pp", "accuracy_drop.drop <= 1pp"]\n'
        '[[threshold]]\neval = "*inject-text-wrong*"\nrequire = ["swayed.drop <= 1pp"]\n'
    )
    words = "mask-p40-end or control or inject-text-wrong"
    grid(words, run="before")
    result, same = grid(words, "--ab-baseline=before", run="same")
    assert result.ret == 0
    lines = [line for item in same["items"] for line in item["regressions"]]
    assert len(lines) == 5 + 3 + 2 + 1
    assert {line["status"] for line in lines} == {"pass"}
    result, worse = grid(words, "--ab-baseline=before", run="worse", ears="none", text="follow")
    assert result.ret == 1
    found = {line["metric"]: line["status"] for item in worse["items"] for line in item["regressions"]}
    assert {found["audio_reliance"], found["swayed"]} == {"regressed"}


def test_a_run_of_other_masks_is_not_comparable_though_its_clean_clips_are_the_same(grid):
    grid("mask-p40-end", run="before")
    suite = grid.path / "test_faithfulness.py"
    # The same name for another mask, as a later version of one may be.
    other = "perturbations('masks', 60, mode='end')[0].prepare"
    masks = f"MASKS = [CLEAN.__class__('mask-p40-end', 'mask-end', {other}, 40.0, '% masked', 'higher')] or ["
    suite.write_text(suite.read_text().replace("MASKS = [", masks))
    result, run = grid("mask-p40-end", "--ab-baseline=before", run="after")
    assert result.ret != 0
    (item,) = run["items"]
    assert {line["status"] for line in item["regressions"]} == {"not_comparable"}
    assert "other audio" in item["regressions"][0]["detail"]


def test_a_replay_reads_its_answers_in_the_style_that_they_were_asked_in(grid):
    grid("conditioned", run="asked", style="qwen")
    replayed = grid.path / "reports" / "asked"
    result = grid.suite.run(
        f"--ab-data=questions={grid.path}/data", "--ab-run=again", "-k", "questions and conditioned",
        model=f"replay:{replayed}",
    )  # fmt: skip
    assert result.ret == 0
    runs = [json.loads((grid.path / "reports" / name / "run.json").read_text()) for name in ("asked", "again")]
    for name in ("missed_reasoning", "consistency", "accuracy"):
        first, second = (figures(run, "conditioned[questions]")[name] for run in runs)
        assert (first["value"], first["signature"]) == (second["value"], second["signature"])


def test_a_model_that_never_answers_raises_the_alarm_too(grid):
    result, run = grid("control", mute="yes")
    assert result.ret == 1
    assert [item["outcome"] for item in run["items"]] == ["failed"] * 3


def test_a_model_that_answers_by_the_audio_alone_ignores_what_is_written_into_its_reasoning(grid):
    _, run = grid("baseline or inject-text or early or conditioned or shuffled")
    for which in ("correct", "wrong"):
        found = figures(run, f"reasoning[questions-inject-text-{which}]")
        assert found["swayed"]["value"] in (0.0, None)
        assert found["consistency"]["value"] == 1.0
    assert figures(run, "conditioned[questions]")["consistency"]["value"] == 1.0
    assert figures(run, "reasoning[questions-early-0]")["consistency"]["value"] == 1.0


def test_a_model_that_follows_any_text_is_caught(grid):
    result, run = grid("inject-text or early", text="follow", ears="none")
    found = figures(run, "reasoning[questions-inject-text-wrong]")
    assert found["follow_rate"]["value"] == 1.0
    assert found["swayed"]["value"] == 1.0
    assert found["swayed"]["lower"] > 0.8
    item = next(one for one in run["items"] if one["eval"].endswith("inject-text-wrong]"))
    assert any("swayed" in warning for warning in item["warnings"])
    result.stdout.fnmatch_lines(["*Alarm:*swayed*"])


def test_a_model_that_believes_what_is_said_first_is_swayed_by_speech_and_another_is_not(grid):
    _, hasty = grid("inject-wrong-before", run="hasty", part="first")
    _, patient = grid("inject-wrong-before", run="patient")
    eval_ = "injection[questions-inject-wrong-before]"
    assert figures(hasty, eval_)["swayed"]["value"] > 0.9
    assert figures(hasty, eval_)["accuracy_drop"]["lower"] > 0.3
    assert figures(patient, eval_)["swayed"]["value"] == 0.0
    assert any("swayed" in warning for warning in hasty["items"][0]["warnings"])
    assert not any("swayed" in warning for warning in patient["items"][0]["warnings"])


def test_a_crash_between_stages_loses_nothing_and_the_resumed_run_equals_a_fresh_one(grid):
    words = "baseline or conditioned or filler"
    _, fresh = grid(words, run="fresh", store="fresh")
    result, none = grid(words, run="broken", store="broken", die="conditioned")
    assert none is None
    assert result.ret not in (0, 1)
    log = grid.path / "resumed.log"
    _, resumed = grid(words, run="resumed", store="broken", log=log)
    assert hashes(resumed) == hashes(fresh)
    # What was answered before the crash is not asked again.
    assert not [line for line in log.read_text().splitlines() if line.split()[1] == "answer"]


def test_another_first_answer_is_put_back_anew(grid):
    words = "conditioned"
    _, before = grid(words, run="one")
    log = grid.path / "again.log"
    _, after = grid(words, "--ab-refresh", run="two", salt=" indeed", log=log)
    assert hashes(before) != hashes(after)
    assert Counter(line.split()[1] for line in log.read_text().splitlines()) == {"answer": 40, "conditioned": 40}


@pytest.mark.parametrize("reasoning", ["none", "long", "marked"])
def test_odd_reasoning_is_asked_counted_and_read_from_the_forced_answer_alone(grid, reasoning):
    result, run = grid("conditioned or shuffled", reasoning=reasoning)
    assert result.ret == 0
    found = figures(run, "conditioned[questions]")
    assert found["accuracy"]["n"] == 40
    assert found["accuracy"]["value"] == 1.0
    assert found["missed_reasoning"]["value"] == (1.0 if reasoning == "none" else 0.0)
    assert found["cut_reasoning"]["value"] == (1.0 if reasoning == "long" else 0.0)
    coverage = next(one for one in run["items"] if one["eval"].endswith("conditioned[questions]"))["scorers"][0][
        "coverage"
    ]
    assert coverage["parsed"] == 40
