"""Answers in the faithfulness study's own files, there and back: replayed, written, read and replayed again."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main
from pytest_audiobench.compat.faithfulness_study.export import write_study
from pytest_audiobench.compat.faithfulness_study.manifest import faithfulness_study
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"

EVALS = """
import pytest
from pytest_audiobench import perturb, transcription
from pytest_audiobench.compat.faithfulness_study.manifest import faithfulness_study
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.catalogue import noises
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice, reasoned_choice

DATA = faithfulness_study("animal")
(CLEAN,) = named_perturbations("clean")
READ = ("letters", "faithfulness-runtime-af3", "faithfulness-recovered")


def test_direct(evaluate):
    evaluate(DATA, reasoned_choice("letters", "faithfulness-runtime-af3-direct", style="af3", reasoning=False))


@pytest.mark.parametrize("perturbation", [CLEAN, *masks(20, 100), *masks(20, mode="start"), *noises(-10)], ids=str)
def test_reasoned(evaluate, perturbation):
    how = {"against_clean": True} if perturbation.dose is not None else {}
    evaluate(perturb(DATA, perturbation), reasoned_choice(*READ, style="af3", **how))


def test_conditioned(evaluate):
    evaluate(DATA, conditioned_choice(*READ, style="af3"))

"""

OTHER = """
import pytest
from pytest_audiobench import multiple_choice, perturb
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice


@pytest.mark.parametrize("perturbation", named_perturbations("clean", "reverb"), ids=str)
def test_digits(evaluate, perturbation):
    evaluate(perturb(bundled("digits"), perturbation), multiple_choice(), samples=5)


def test_two_turns(evaluate):
    evaluate(bundled("digits"), reasoned_choice(style="salmonn"), samples=5)
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study-suite")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_study.py").write_text(EVALS)
    return folder


@pytest.fixture(scope="module")
def replay(suite, forks):
    """A run of the evals on a study's answers: its folder."""

    def run(name, data, answers, *options, evals=""):
        command = ["-q", "-p", "no:cacheprovider", "-k", evals]
        command += [f"--ab-model=af3=replay:{answers}", f"--ab-data=faithfulness={data}", f"--ab-run={name}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = forks.pytest([*command, *options], suite, environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return suite / "reports" / name

    return run


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows_of(path):
    with path.open(encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


TEXTS = [
    ["It meows. So the answer is (A) cat", "It barks. The answer is (B) dog"],
    ["(B) dog", "I hear a cat. It is a cat"],
    ["It says nothing. I cannot tell, sorry.", ""],
    ["A bird sings. (E) bird", "It is\nunclear \u2028 <b>. (a) cat"],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of four questions in two runs each, in folders as its repository has them."""
    home = tmp_path_factory.mktemp("made")
    questions = [
        {
            "id": f"sakura_animal_{number // 2}_{('single', 'multi')[number % 2]}",
            "question": f"Which animal gives reason {number}?",
            "choices": "(A) cat (B) dog",
            "choices_list": ["cat", "dog"],
            "audio_path": f"{{DATA_ROOT}}/sakura/data/Animal/audio/cat{number // 2}.wav",
            "answer": "(A) cat",
            "true_letter": "A",
        }
        for number in range(4)
    ]
    write(home / "data" / "animal" / "animal_manifest.jsonl", questions)
    own = home / "result" / "baseline" / "af3" / "animal"
    for turn, path in enumerate(
        [
            *("baseline_animal_REAS.jsonl", "baseline_animal_NO_REAS.jsonl"),
            *(f"mask/{share}/baseline_animal_REAS.jsonl" for share in ("p20", "p100")),
            *("mask-start/p20/baseline_animal_REAS.jsonl", "noise/snr-10/baseline_animal_REAS.jsonl"),
        ]
    ):
        turned = TEXTS[turn % 4 :] + TEXTS[: turn % 4]
        write(
            own / path,
            ({"id": row["id"], "raw_model_outputs": texts} for row, texts in zip(questions, turned, strict=True)),
        )
    forced = [{"id": row["id"], "raw_conditioned_output": text} for row, text in zip(questions, "ABAB", strict=True)]
    write(own / "baseline_animal_REAS_condition.jsonl", [*forced[:1], *forced[2:]])  # the second has no reasoning
    return home


def metrics(run):
    """All values of a run by eval, with their intervals."""
    record = json.loads((run / "run.json").read_text())
    return {
        (item["eval"], metric["scorer"], metric["name"], *sorted(metric["group"].items())): (
            *(metric["value"], metric["lower"], metric["upper"]),
        )
        for item in record["items"]
        for metric in item["metrics"]
    }


@pytest.fixture(scope="module")
def written(made, replay, tmp_path_factory):
    """A run of all evals on the made study, and the files that are written of it."""
    run = replay("first", made, made / "result" / "baseline" / "af3", "--ab-max-errors=9")
    folder = tmp_path_factory.mktemp("written") / "out"
    return run, folder, write_study(run, folder, "runtime")


def test_a_replayed_study_is_written_as_it_was(made, written):
    _, folder, _ = written
    own = made / "result" / "baseline" / "af3"
    for file in sorted(own.rglob("*.jsonl")):
        old, new = rows_of(file), rows_of(folder / file.relative_to(made))
        field = "raw_conditioned_output" if "condition" in file.name else "raw_model_outputs"
        first = {id_: row[field] if field.endswith("output") else row[field][:1] for id_, row in old.items()}
        assert {id_: row[field] for id_, row in new.items()} == first
    places = Places(Path(), {"faithfulness": folder})
    before = faithfulness_study("animal").read(Places(Path(), {"faithfulness": made}))
    after = faithfulness_study("animal").read(places)
    assert sorted(map(asked, before)) == sorted(map(asked, after))


RECOVERED = ("original_prediction", "prediction_changed")
"""The study's forced choices were held against letters of the later recovery, not against those of the run."""


def asked(sample):
    return sample.id, sample.question, sample.choices, sample.reference, sorted(sample.metadata.items())


def test_what_was_written_gives_the_same_numbers_again(written, replay):
    run, folder, _ = written
    again = replay("again", folder, folder / "result" / "baseline" / "af3", "--ab-max-errors=9")
    assert metrics(again) == metrics(run)


def test_letters_reasoning_and_accuracy_are_the_studys(written):
    _, folder, _ = written
    own = folder / "result" / "baseline" / "af3" / "animal"
    rows = rows_of(own / "baseline_animal_REAS.jsonl")
    one, other = rows["sakura_animal_0_single"], rows["sakura_animal_1_multi"]
    assert one == {
        "id": "sakura_animal_0_single",
        "true_answer": "(A) cat",
        "true_letter": "A",
        "predicted_letters": ["A"],
        "reasoning": ["It meows."],
        "raw_model_outputs": ["It meows. So the answer is (A) cat"],
        "accuracy": 1.0,
    }
    assert (other["predicted_letters"], other["accuracy"]) == ([None], 0.0)  # (E) is not an option
    assert rows_of(own / "baseline_animal_NO_REAS.jsonl")["sakura_animal_0_single"]["reasoning"] == [""]
    forced = rows_of(own / "baseline_animal_REAS_condition.jsonl")
    assert "sakura_animal_0_multi" not in forced  # "(B) dog" has no reasoning
    assert forced["sakura_animal_0_single"] == {
        "id": "sakura_animal_0_single",
        "true_answer": "(A) cat",
        "true_letter": "A",
        "original_prediction": "A",
        "conditioned_prediction": None,  # the study's recovery wants more than a bare letter
        "raw_conditioned_output": "A",
        "provided_reasoning": "It meows.",
        "is_correct": 0.0,
        "prediction_changed": True,
    }


def test_what_has_no_place_is_named(written, suite, tmp_path):
    _, _, found = written
    assert any("1 of 4 samples are not in baseline_animal_REAS_condition.jsonl" in note for note in found.notes)
    (suite / "test_other.py").write_text(OTHER)
    command = [sys.executable, "-m", "pytest", "-q", "test_other.py", "--ab-model=baseline:chance", "--ab-run=other"]
    subprocess.run(command, cwd=suite, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True)
    other = write_study(suite / "reports" / "other", tmp_path / "out")
    assert sorted(other.rows) == [
        "data/bundled-digits/bundled-digits_manifest.jsonl",
        "result/baseline/chance/bundled-digits/baseline_bundled-digits_NO_REAS.jsonl",
    ]
    assert other.notes == [
        "other/digits[reverb] was not written: the study has no place for the perturbation reverb",
        "other/two_turns was not written: the study's files have no place for reasoning in its own turn",
    ]
    with pytest.raises(UsageError, match="no rule for answers in the style 'plain'"):
        write_study(suite / "reports" / "other", tmp_path / "runtime", "runtime")
    assert not (tmp_path / "runtime").exists()


BOTH = """
import pytest
from pytest_audiobench import perturb
from pytest_audiobench.compat.faithfulness_study.manifest import faithfulness_study
from pytest_audiobench.compat.faithfulness_study.renderings import rendering
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.datasets.perturbations.reasoning import reasoning_change, reasoning_changes
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice, reasoned_choice


@pytest.mark.parametrize("perturbation", [*masks(20, 40), rendering("mask", 20), rendering("mask", 40)], ids=str)
def test_both(evaluate, perturbation):
    evaluate(perturb(faithfulness_study("animal"), perturbation), reasoned_choice(style="af3", against_clean=True))


def test_shuffled(evaluate):
    (shuffled,) = [one for one in reasoning_changes() if one.name == "shuffled"]
    evaluate(perturb(bundled("digits"), shuffled), conditioned_choice(change=reasoning_change(shuffled)), samples=5)
"""


def test_the_studys_tree_keeps_its_place_and_what_is_not_written_is_named(made, tmp_path):
    home = shutil.copytree(made, tmp_path / "made")
    for number in range(2):
        for tree in ("sakura/data/Animal/audio", "animal/mask/p20"):
            (home / tree).mkdir(parents=True, exist_ok=True)
            noise = np.random.default_rng(number).standard_normal(4000) / 9
            soundfile.write(home / tree / f"cat{number}.wav", noise, 16_000)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_both.py").write_text(BOTH)
    command = [sys.executable, "-m", "pytest", "-q", "--ab-model=baseline:chance", f"--ab-data=faithfulness={home}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--ab-run=both"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "4 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    found = write_study(tmp_path / "reports" / "both", tmp_path / "out")
    taken = "was not written: the run holds answers about the study's own tree of this dose, whose place it is"
    assert f"both[mask-p20] {taken}" in found.notes
    assert "both/shuffled: its changed answers were not written: the study has no place for them" in found.notes
    own = "result/baseline/chance/animal/"
    assert found.rows[f"{own}mask/p20/baseline_animal_REAS.jsonl"] == 4
    assert found.rows[f"{own}mask/p40/baseline_animal_REAS.jsonl"] == 4  # of this dose no tree was here
    assert all(rows_of(tmp_path / "out" / file) for file in found.rows)  # chance reasons nothing: no file without rows


def test_epochs_are_the_studys_runs(made, replay, tmp_path):
    run = replay("epochs", made, made / "result" / "baseline" / "af3", "--ab-epochs=2", evals="direct or clean")
    write_study(run, tmp_path / "out", "strict")
    rows = rows_of(tmp_path / "out" / "result" / "baseline" / "af3" / "animal" / "baseline_animal_REAS.jsonl")
    assert [row["raw_model_outputs"] for row in rows.values()] == [rows_of_made(made)[id_] for id_ in rows]
    assert {len(row["predicted_letters"]) for row in rows.values()} == {2}
    assert rows["sakura_animal_0_single"]["accuracy"] == 0.5
    (item, *_) = rescore(
        source_of(tmp_path / "out" / "result" / "baseline" / "af3"), ScoringOptions(("letters",))
    ).items
    assert (item.model, item.epochs, item.n) == ("af3", 2, 4)


def rows_of_made(made):
    file = made / "result" / "baseline" / "af3" / "animal" / "baseline_animal_REAS.jsonl"
    return {id_: row["raw_model_outputs"] for id_, row in rows_of(file).items()}


def test_a_folder_that_holds_something_and_a_run_that_is_none_are_refused(written, tmp_path):
    run, folder, _ = written
    with pytest.raises(UsageError, match="already exists and is not empty"):
        write_study(run, folder)
    with pytest.raises(UsageError, match="not a finished run"):
        write_study(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


NAMED = re.compile(r'("(?:model|alias)": ?)"af3"')
CLEAN = re.compile(r'It meows\.(?=[^\n]*"stage": ?"clean")')


def edited(run, folder, change):
    """A copy of a run with its files' texts changed."""
    shutil.copytree(run, folder)
    for name in ("run.json", "predictions.jsonl"):
        (folder / name).write_text(change((folder / name).read_text()))
    return folder


def test_names_in_a_run_lead_out_of_no_folder(written, tmp_path):
    run = edited(written[0], tmp_path / "run", lambda text: NAMED.sub(r'\1"../../../x"', text))
    found = write_study(run, tmp_path / "deep" / "er" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "run"]
    assert all((tmp_path / "deep" / "er" / "out" / file).is_file() for file in found.rows)


def test_two_evals_that_answer_differently_are_not_written_into_one_file(written, tmp_path):
    run = edited(written[0], tmp_path / "run", lambda text: CLEAN.sub("It barks.", text, count=1))
    with pytest.raises(UsageError, match=r"two evals of the run answer 'sakura_animal_0_single' in .* differently"):
        write_study(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not (SHARED / "recorded").is_dir(), reason="the study's recorded outputs are not on this machine")
def test_the_studys_own_rows_come_out_as_they_were(replay, tmp_path, capsys):
    recorded = SHARED / "recorded"
    run = replay(
        "real",
        recorded,
        f"{recorded}/af3,crashes=unanswered",
        "--ab-max-errors=23",
        evals="direct or clean or conditioned",
    )
    assert main(["study", "write", str(run), str(tmp_path / "out"), "--labels", "runtime"]) == 0
    assert "1000  result/baseline/af3/animal/baseline_animal_REAS.jsonl" in capsys.readouterr().out
    own = tmp_path / "out" / "result" / "baseline" / "af3" / "animal"
    for name in ("baseline_animal_REAS.jsonl", "baseline_animal_NO_REAS.jsonl", "baseline_animal_REAS_condition.jsonl"):
        old, new = rows_of(recorded / "af3" / name), rows_of(own / name)
        assert new.keys() == old.keys()
        for id_, row in old.items():
            differing = {field for field in row if row[field] != new[id_][field]}
            assert differing <= {"true_answer", *(RECOVERED if "condition" in name else ())}
    questions = rows_of(tmp_path / "out" / "data" / "animal" / "animal_manifest.jsonl")
    for id_, row in rows_of(recorded / "manifests" / "animal_manifest.jsonl").items():
        assert {field for field in row if row[field] != questions[id_][field]} == {"answer"}
