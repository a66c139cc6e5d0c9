"""``audiobench inspect``: a sample of a real run, and the sound that its model was played."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import combining
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.cli import main
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.verifier.clip_checks import Folders

EVALS = """
import pytest
from pytest_audiobench import dataset, manifest, multiple_choice, perturb, perturbations, protocol, with_prompt_variants


def test_pair(evaluate):
    evaluate(dataset("sound_id", "demo", "pair", mixtures=2), with_prompt_variants(protocol("presence"), "yesno", 2))


def test_own(evaluate):
    evaluate(manifest("own.jsonl"), multiple_choice())


def test_noisy(evaluate):
    evaluate(perturb(manifest("own.jsonl"), perturbations("ladder", "white", 5)[0]), multiple_choice())


@pytest.mark.audiobench(perturbations=["white-10dB"])
def test_beside(evaluate):
    evaluate(manifest("beside.jsonl"), multiple_choice())
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory, forks):
    folder = tmp_path_factory.mktemp("inspected")
    (folder / "test_calls.py").write_text(EVALS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    soundfile.write(folder / "own.wav", 0.3 * np.sin(np.arange(20_000) / 7), 22_050, subtype="PCM_24")
    row = '{"id": "one", "audio": "own.wav", "question": "Which?", "choices": ["siren", "rain"], "answer": "rain"}'
    (folder / "own.jsonl").write_text(row + "\n")
    shutil.copy(folder / "own.wav", folder / "tone.wav")
    row = '{"id": "ID", "audio": "tone.wav", "question": "Which?", "choices": ["siren", "rain"], "answer": "ID"}\n'
    (folder / "beside.jsonl").write_text("".join(row.replace("ID", id) for id in ("siren", "rain")))
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]
    done = forks.pytest([*quiet, "--ab-model=baseline:listener", "--ab-run=base"], folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def inspect(made, tmp_path, monkeypatch, capsys):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main(["inspect", "base", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_a_mixture_is_shown_with_its_parts_and_all_that_was_asked_of_it(inspect):
    code, out, err = inspect("--mixture", "demo-pair-001")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "demo-pair-001 of calls/pair by listener: 4 probes"
    assert max(map(len, lines)) <= 80
    assert sum("+0 dB: bundled/sounds:audio/sound-00" in line for line in lines) == 2
    probes = [re.split(r"  +", line.strip()) for line in lines[-4:]]
    assert all(" · " in answers for _, _, answers, _ in probes)
    assert sorted(there for _, there, _, _ in probes) == ["no", "no", "yes", "yes"]


def test_a_sample_is_shown_with_every_wording_and_reading(inspect):
    code, out, _ = inspect("--mixture", "demo-pair-001")
    label = out.splitlines()[-1].split()[0]
    code, out, _ = inspect("--clip", f"demo-pair-001/{label}")
    assert code == 0
    assert f"<audio 1> Do you hear a {label}?" in out or f"Do you hear an {label}?" in out
    assert "  answer@2\n" in out
    assert "(by heard)" in out
    assert "(by heard@2)" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_sound_that_was_played_is_written_bit_for_bit(inspect):
    code, out, err = inspect("--mixture", "demo-pair-001", "--wav", "played.wav")
    assert code == 0
    parts = [line.partition("bundled/sounds:")[2] for line in out.splitlines() if "bundled/sounds:" in line]
    root = DataRoot("bundled/sounds", bundled_folder())
    expected = decode(combining.mixture([Clip(FileSource(root, part)) for part in parts], (0.0, 0.0)), 16_000, None)
    samples, rate_hz = soundfile.read("played.wav", dtype="float32")
    assert rate_hz == 16_000
    assert samples.tobytes() == expected.samples.tobytes()
    assert expected.pcm_digest in err


def test_a_perturbed_clip_is_shown_and_written_as_it_was_perturbed(inspect, tmp_path):
    code, out, _ = inspect("--clip", "one", "--eval", "*noisy", "--wav", "noisy.wav")
    assert code == 0
    assert "SNR 5 dB" in out
    assert "changed by" in out
    noisy, _ = soundfile.read("noisy.wav")
    assert inspect("--clip", "one", "--eval", "*own", "--data", f"own={tmp_path}", "--wav", "clean.wav")[0] == 0
    clean, _ = soundfile.read("clean.wav")
    ratio_db = 10 * np.log10((clean**2).mean() / ((noisy - clean) ** 2).mean())
    assert ratio_db == pytest.approx(5, abs=0.1)


def test_a_file_that_is_not_at_hand_or_is_another_is_not_played_for_it(inspect, tmp_path):
    (tmp_path / "own.wav").unlink()
    code, out, err = inspect("--clip", "one", "--eval", "*own", "--wav", "own-again.wav")
    assert code == 1
    assert "Which?" in out
    assert "say where own lies by --data own=FOLDER" in err
    soundfile.write(tmp_path / "own.wav", 0.3 * np.sin(np.arange(20_000) / 8), 22_050, subtype="PCM_24")
    code, _, err = inspect("--clip", "one", "--eval", "*own", "--data", f"own={tmp_path}", "--wav", "own-again.wav")
    assert code == 1
    assert "is other audio than the run's" in err
    assert not Path("own-again.wav").exists()


def test_a_sample_can_be_named_by_its_file(inspect):
    code, out, _ = inspect("--clip", "own:own.wav")
    assert code == 0
    assert out.startswith("one of calls/own by listener, epoch 0\n")


@pytest.mark.parametrize("name", ["on", "own"], ids=["the beginning of its id", "the name of its file"])
def test_a_part_of_a_samples_name_is_enough_where_no_other_has_it(inspect, name):
    code, out, _ = inspect("--clip", name)
    assert code == 0
    assert out.startswith("one of calls/own by listener, epoch 0\n")


def test_a_part_that_several_names_have_is_answered_with_them(inspect):
    code, out, err = inspect("--mixture", "demo-pair")
    assert (code, out) == (4, "")
    assert "has 2 mixtures that begin with 'demo-pair': write one of demo-pair-001, demo-pair-002\n" in err


def test_without_a_sample_the_wrong_answers_are_listed_with_the_command_that_shows_one(inspect, made):
    code, out, err = inspect()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    scored = map(json.loads, (made / "reports/base/scored_predictions.jsonl").read_text().splitlines())
    rows = [row for row in scored if row["scorer"] in ("heard", "letters")]
    wrong = [[row["eval"], row["sample_id"]] for row in rows if not row["scores"]["correct"]]
    assert [re.split(r"  +", line.strip())[:2] for line in lines[1 : lines.index("")]] == wrong
    assert f"{len(wrong)} wrong of {len(rows)} answers" in lines
    command = lines[-1].removeprefix("see one: audiobench inspect base ")
    assert inspect(*shlex.split(command))[1].startswith(f"{wrong[0][1]} of ")
    assert "--clip or --mixture" in inspect("--play")[2]


def test_wrong_answers_under_a_perturbation_are_listed_as_option_and_text(inspect):
    code, out, _ = inspect("--eval", "*white-10dB*")
    assert code == 0
    lines = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    assert lines[1] in (
        ["siren", "A siren", "B rain"],
        ["rain", "B rain", "A siren"],
    )
    assert ["1 wrong of 2 answers of calls/beside[white-10dB]"] in lines


def test_a_file_is_found_in_the_folder_that_has_the_list_of_its_name(tmp_path):
    for folder, name in (("another", "rows.csv"), ("calls", "labels.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch()
        (tmp_path / folder / "a.wav").touch()
    found = Folders({}, [tmp_path]).file("labels:a.wav")
    assert found.root.folder == tmp_path / "calls"
    with pytest.raises(LookupError):
        Folders({}, [tmp_path]).file("[a-z]*:a.wav")


def test_a_path_that_leads_out_of_the_folders_is_no_file_of_a_run(tmp_path):
    (tmp_path / "within").mkdir()
    (tmp_path / "secret.wav").write_bytes(b"")
    folders = Folders({}, [tmp_path / "within"])
    for source in ("own:../secret.wav", "..:secret.wav", f"{tmp_path}:secret.wav", f"own:{tmp_path}/secret.wav"):
        with pytest.raises(LookupError):
            folders.file(source)


def test_an_id_that_is_none_is_answered_with_those_that_are_near(inspect):
    code, out, err = inspect("--mixture", "demo-pair-01")
    assert (code, out) == (4, "")
    assert "has no mixture 'demo-pair-01' (did you mean 'demo-pair-001'" in err


@pytest.mark.skipif(os.name != "posix", reason="the player is a shell script")
def test_a_player_of_the_machine_is_given_the_sound(inspect, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    code, _, err = inspect("--mixture", "demo-pair-001", "--play")
    assert code == 4
    assert "there is no ffplay, aplay, paplay, afplay to play it by: --wav FILE writes it" in err
    (tmp_path / "bin").mkdir()
    player = tmp_path / "bin" / "paplay"
    player.write_text(f'#!/bin/sh\nexec /bin/cp "$1" "{tmp_path}/heard.wav"\n')
    player.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert inspect("--mixture", "demo-pair-001", "--play", "--wav", "played.wav")[0] == 0
    assert (tmp_path / "heard.wav").read_bytes() == Path("played.wav").read_bytes()


def test_the_baselines_answer_stands_beside_and_the_last_line_is_a_command(made, forks, capsys, monkeypatch):
    monkeypatch.chdir(made)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio", "-k", "beside"]
    against = ["--ab-model=baseline:chance", "--ab-run=next", "--ab-baseline=base#listener"]
    done = forks.pytest([*quiet, *against], made)
    assert (made / "reports" / "next" / "run.json").exists(), done.stdout
    capsys.readouterr()
    assert main(["inspect", "next"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"eval +id +reference +baseline +answer", out)
    assert max(map(len, out.splitlines())) <= 80
    command = shlex.split(out.splitlines()[-1].removeprefix("see one: "))
    assert main(command[1:]) == 0
    shown = capsys.readouterr().out.splitlines()
    labels = [line[2:13].strip() for line in shown[1:]]
    # The stage is called answer, too.
    order = ["question", "options", "reference", "answer", "asked", "answer", "read", "baseline", "played", "file"]
    assert [label for label in labels if label in order] == order
    assert f"  file       {Path('tone.wav')}" in shown
