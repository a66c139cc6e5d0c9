"""The benchmark's own evals: what is collected, from a checkout and from a wheel, and what the default model scores."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "fixtures" / "bundled"


QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
NARROW = {"COLUMNS": "140"}


def listed(done):
    """The evals that a command selects, by their test ids."""
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture(scope="module")
def collected(forks, tmp_path_factory):
    """The evals that arguments of pytest select, by their test ids; pytest's cache remembers the declared ones."""
    quiet = ("-p", "no:hypothesispytest", "-o", f"cache_dir={tmp_path_factory.mktemp('cache')}")

    def ask(*args):
        done = forks.pytest([*quiet, "--collect-only", "-q", *args], ROOT, os.environ | NARROW)
        assert done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout + done.stderr
        return tuple(line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line)

    return cache(ask)


@pytest.fixture
def run_wheel(installed, tmp_path):
    """Runs pytest on the package as its wheel installs it, in an interpreter that has not imported any other."""

    def run(*args):
        environment = {**os.environ, **NARROW, "PYTHONPATH": str(installed)}
        command = [sys.executable, "-m", "pytest", *QUIET, *args]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


# What is collected


def test_every_file_of_the_benchmark_has_evals(collected):
    evals = [*collected("evals"), *collected("evals", "-m", "study")]
    assert len(evals) == len(set(evals))
    counts = Counter(name.partition("::")[0] for name in evals)
    assert set(counts) == {file.name for file in (ROOT / "evals").glob("[!_]*.*")}
    for file, count in {
        "air_bench.audiobench.toml": 19,
        "air_bench_chat.audiobench.toml": 5,
        "esc50.audiobench.toml": 1,
        "librispeech.audiobench.toml": 2,
        "sakura.audiobench.toml": 8,
        "test_asr_hallucination.py": 3,
        "test_asr_robust.py": 47,
        "birdset.audiobench.toml": 8,
        "test_beans_smoke.py": 3,
        "test_bundled.py": 7,
        "test_faithfulness.py": 629,
        "test_listening.py": 6,
        "test_soundscape.py": 14,
        "test_spoken.py": 2,
    }.items():
        assert counts[file] == count, file


def test_k_emotion_selects_the_emotion_evals_of_every_data_set(collected):
    chosen = collected("evals", "-k", "emotion")
    assert {
        "air_bench.audiobench.toml::test_air_bench[Speaker_Emotion_Recontion]",
        "crema_d.audiobench.toml::test_crema_d",
        "emobox.audiobench.toml::test_emodb",
        "iemocap.audiobench.toml::test_iemocap[session5]",
        "meld.audiobench.toml::test_meld",
        "ravdess.audiobench.toml::test_ravdess",
        "sakura.audiobench.toml::test_sakura[emotion-single]",
        "sakura.audiobench.toml::test_sakura[emotion-multi]",
        "test_bundled.py::test_emotion",
        "test_listening.py::test_sakura[emotion]",
    } <= set(chosen)
    assert not [name for name in chosen if "[animal" in name or "librispeech" in name]
    chosen = collected("evals", "-k", "faithfulness and emotion")
    assert "test_faithfulness.py::test_baseline[emotion]" in chosen
    assert all("test_faithfulness.py" in name and "emotion" in name for name in chosen)


def test_the_words_of_a_perturbation_and_a_track_select_it(collected):
    masks = collected("evals", "-k", "mask and animal")
    assert len(masks) > 20
    assert all("[animal-mask-p" in one for one in masks)
    noise = collected("evals/test_faithfulness.py", "-k", "noise-m10dB")
    assert noise
    assert all("noise-m10dB" in one for one in noise)


def test_k_sakura_and_multi_selects_one_eval_for_each_track(collected):
    assert sorted(collected("evals", "-k", "sakura and multi")) == [
        f"sakura.audiobench.toml::test_sakura[{track}-multi]" for track in ("animal", "emotion", "gender", "language")
    ]


def declaring(key, word):
    """The files whose source, that of one of their tasks or of a data set that a task names, declares a word."""
    tables = {
        file.name.partition(".")[0]: tomllib.loads(file.read_text(encoding="utf-8"))
        for file in (ROOT / "evals").glob("*.audiobench.toml")
    }

    def source(table, task):
        named = re.match(r"\w+", task.get("dataset", ""))
        return (tables[named[0]]["source"] if named else {}) | table["source"] | task.get("source", {})

    values = {
        name: [source(table, task).get(key, ()) for task in table.get("task", [{}])] for name, table in tables.items()
    }
    return {name for name in values if any(word == value or word in tuple(value) for value in values[name])}


def declared(chosen):
    return {name.partition(".audiobench")[0] for name in chosen if ".audiobench.toml::" in name}


def test_the_name_of_a_benchmark_selects_what_is_called_so_and_nothing_else(collected):
    benchmarks = {
        "air_bench": {"air_bench", "air_bench_chat"},
        "esc50": {"esc50", "beans_zero"},
        "librispeech and dev": set(),
        "mmau": {"mmau", "mmau_pro", "audiollms_choices"},
        "nsynth": {"nsynth", "nsynth_pitch"},
        "sakura": {"sakura"},
    }
    assert {expression: declared(collected("evals", "-k", expression)) for expression in benchmarks} == benchmarks


def test_k_of_a_suite_selects_all_of_it_and_nothing_but_what_is_called_so(collected):
    suites = ["asr_robust", "fleurs", "sakura", "soundscape", "bundled"]
    unasked = set(collected("evals"))
    everything = unasked | set(collected("evals", "-m", "study"))
    for suite in suites:
        is_called_so = {name for name in everything if suite in name.replace(".audiobench.toml", "").lower()}
        own = {name for name in everything if name.partition(".")[0].removeprefix("test_") == suite}
        assert own
        assert own | (is_called_so & unasked) <= set(collected("evals", "-k", suite)) <= is_called_so


def test_what_every_file_s_name_and_many_an_eval_s_marker_hold_selects_nothing(collected):
    assert [collected("evals", "-k", word) for word in ("audiobench", "toml")] == [(), ()]
    marked = collected("evals", "-m", "audiobench")
    assert marked == collected("evals", "-k", "not toml", "-m", "audiobench")
    assert "test_asr_robust.py" in {name.partition("::")[0] for name in marked}


def test_a_domain_a_task_and_a_benchmark_are_markers(collected):
    def marked(word):
        return declared(collected("evals", "-m", word))

    assert marked("music") == declaring("domain", "music")
    assert "crema_d" in marked("emotion") == declaring("task", "emotion")
    assert marked("sakura") == {"sakura"}


def test_the_listing_says_that_bundled_emotion_is_synthetic_delivery(forks):
    done = forks.pytest(
        [*QUIET, "evals/test_bundled.py", "--collect-only", "-v", "-k", "emotion"], ROOT, os.environ | NARROW
    )
    assert "Synthetic delivery, not felt emotion." in done.stdout
    assert "recognised prosody, not emotion" in (BUNDLED / "README.md").read_text()


# What the default model scores


@pytest.fixture(scope="module")
def scores(tmp_path_factory, forks):
    """The bundled evals' overall metrics by eval, of a run that names no model."""
    if importlib.util.find_spec("pocketsphinx") is None:
        pytest.skip("the default model transcribes with pocketsphinx (pip install 'pytest-audiobench[baseline]')")
    folder = tmp_path_factory.mktemp("default")
    (folder / "evals").mkdir()
    shutil.copy(ROOT / "evals" / "test_bundled.py", folder / "evals")
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = forks.pytest([*QUIET, "evals", "--ab-run=default"], folder, os.environ | NARROW)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((folder / "reports" / "default" / "run.json").read_text())
    assert [model["spec"] for model in record["models"]] == ["baseline:listener"]
    return {item["dataset"]: {m["name"]: m for m in item["metrics"] if not m["group"]} for item in record["items"]}


@pytest.mark.parametrize("task", ["digits", "emotion", "language", "sounds", "mixtures", "speech_presence"])
def test_the_default_model_is_visibly_better_than_chance(scores, task):
    rows = [json.loads(line) for line in (BUNDLED / f"{task}.jsonl").read_text().splitlines()]
    chance = sum(1 / len(row["choices"]) for row in rows) / len(rows)
    metric = scores[f"bundled/{task}"]["accuracy"]
    assert metric["n"] == len(rows)
    assert metric["lower"] > chance + 0.1


def test_the_default_model_transcribes_most_words(scores):
    metric = scores["bundled/transcription"]["wer"]
    assert metric["n"] == 70
    assert 0 <= metric["value"] < 0.3


# From a wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as its wheel installs it, in its own folder."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("needs pip to build the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [*pip, "wheel", "--no-deps", *isolation, "--wheel-dir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if not isolation and built.returncode and "hatchling" in built.stderr:
        pytest.skip("hatchling is not installed and pip cannot fetch it here, so no wheel can be built")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    command = [*pip, "install", "--no-deps", "--no-compile", "--quiet", "--target", str(site), str(wheel)]
    subprocess.run(command, check=True)
    return site


def test_an_installed_wheel_brings_the_evals_along(run_wheel, collected):
    evals = listed(run_wheel("--collect-only", "-q", "--pyargs", "pytest_audiobench.evals"))
    assert sorted(evals) == sorted(collected("evals"))
    study = ("--pyargs", "pytest_audiobench.evals.test_faithfulness", "-k", "mask-p20")
    assert listed(run_wheel("--collect-only", "-q", *study))


def test_an_installed_wheel_brings_the_audio_and_the_default_model_along(run_wheel, tmp_path):
    args = ["--pyargs", "pytest_audiobench.evals", "-k", "test_digits", "--ab-run=wheel"]
    done = run_wheel(*args)
    assert done.returncode == 0, done.stdout + done.stderr
    (item,) = json.loads((tmp_path / "reports" / "wheel" / "run.json").read_text())["items"]
    assert item["n"] == 80


def test_an_installed_wheel_keeps_to_its_own_folder(installed):
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} - {"bin"} == {
        "pytest_audiobench"
    }
    for file in ("examples/ci/audiobench.yml", "cli/completion_scripts/audiobench.fish"):
        assert (installed / "pytest_audiobench" / file).is_file()
