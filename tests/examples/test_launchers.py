"""Launchers: stubs keep the contract for our checker and for BEANS-Next's, real branches answer from tiny weights."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main as audiobench

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "examples" / "servers"
LAUNCHERS = (
    *("dummy", "hf_transformers", "af3", "qwen2_5_omni", "qwen3_omni"),
    *("naturelm_1_0", "naturelm_1_1", "salmonn", "resemblyzer", "dnsmos"),
)
TINY = {
    "hf_transformers": ("TransformersModel", "qwen2_audio"),
    "af3": ("AudioFlamingo", "audioflamingo3"),
    "af_next": ("AudioFlamingo", "musicflamingo"),
    "qwen2_5_omni": ("Qwen25Omni", "qwen25_omni"),
    "qwen3_omni": ("Qwen3Omni", "qwen3_omni"),
}
QUESTION = "Which of them is a bird?"


def command_of(launcher, *options):
    return " ".join(map(str, (sys.executable, SERVERS / launcher / "serve.py", "--port {port}", *options)))


def stub_of(launcher):
    return command_of(launcher, *(["--stub"] if launcher != "dummy" else []))


def module_of(path):
    spec = importlib.util.spec_from_file_location(f"launcher_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tones(tmp_path):
    """WAV files: 0.5 s at 16 kHz, 1 s at 16 kHz, and 0.5 s in stereo at 44.1 kHz."""
    files = []
    for hz, duration_s, rate_hz, channels in ((300, 0.5, 16_000, 1), (900, 1.0, 16_000, 1), (900, 0.5, 44_100, 2)):
        wave = 0.3 * np.sin(2 * np.pi * hz * np.arange(int(duration_s * rate_hz)) / rate_hz)
        files.append(tmp_path / f"{hz}-{rate_hz}.wav")
        soundfile.write(files[-1], np.stack([wave] * channels, axis=1), rate_hz)
    return files


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_launcher_keeps_the_contract_without_weights(served, ask, launcher, capsys):
    url = served(stub_of(launcher))
    assert audiobench(["check-server", url]) == 0, capsys.readouterr().out
    assert ask(f"{url}/info")["load_status"] == ("ready" if launcher == "dummy" else "stub")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_launcher_answers_about_several_clips_and_always_the_same(served, ask, tones, launcher):
    url = served(stub_of(launcher))

    def answer(clips):
        (row,) = ask(url, QUESTION, *clips)
        return row["predictions"][0]

    assert answer(tones).endswith(": 0.50 s at 16000 Hz, 1.00 s at 16000 Hz, 0.50 s at 44100 Hz")
    assert answer(tones) == answer(tones)
    assert answer(tones[:1]) != answer(tones[:1] * 2)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_checker_of_beans_next_passes_against_every_launcher(served, launcher):
    peer = os.environ.get("BEANS_NEXT")
    if peer is None:
        pytest.skip("the environment variable BEANS_NEXT names no clone of BEANS-Next")
    checker = [sys.executable, "-m", "scripts.check_launcher", served(stub_of(launcher))]
    environment = {**os.environ, "PYTHONPATH": peer, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(checker, cwd=peer, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_eval_of_several_clips_starts_a_launcher_and_asks_it(tmp_path, tones, forks):
    rows = [
        {
            "id": str(i),
            "audio": [tone.name for tone in order],
            "question": QUESTION,
            "choices": ["a", "b"],
            "answer": "a",
        }
        for i, order in enumerate((tones, tones[::-1]))
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_pairs.py").write_text(
        "from pytest_audiobench import manifest, multiple_choice\n\n\n"
        "def test_pairs(evaluate):\n    evaluate(manifest('pairs.jsonl'), multiple_choice())\n"
    )
    spec = f"http:lab,serve={stub_of('af3')}"
    arguments = ["-q", "-p", "no:cacheprovider", f"--ab-model={spec}"]
    done = forks.pytest(arguments, tmp_path, {**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "audio not shown to be heard by lab" in done.stdout
    (predictions,) = tmp_path.glob("reports/*/predictions.jsonl")
    texts = [json.loads(line)["outputs"][0]["text"] for line in predictions.read_text().splitlines()]
    assert [text.count(" s at 16000 Hz") for text in texts] == [3, 3]
    assert texts[0] != texts[1]


def test_a_cut_at_so_many_seconds_is_made_and_stands_in_the_revision(served, ask, tones):
    url = served(command_of("af3", "--stub", "--max-audio-s 0.25"))
    (row,) = ask(url, QUESTION, *tones)
    assert row["predictions"][0].endswith(": 0.25 s at 16000 Hz, 0.25 s at 16000 Hz, 0.25 s at 44100 Hz")
    assert ask(f"{url}/info")["model_revision"] == "stub, first 0.25 s"


@pytest.mark.parametrize("launcher", [launcher for launcher in LAUNCHERS if launcher != "dummy"])
def test_a_launcher_without_a_checkpoint_says_how_to_name_one(launcher):
    command = [sys.executable, SERVERS / launcher / "serve.py", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if "CHECKPOINT" not in name}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "name the weights by --checkpoint or " in done.stderr


def test_launchers_import_nothing_of_this_package():
    files = sorted(SERVERS.rglob("*.py"))
    assert {file.parent.name for file in files} >= set(LAUNCHERS)
    evals = ("test_", "conftest")  # beside a launcher; they run where the package is
    launchers = [file for file in files if not file.name.startswith(evals)]
    assert [file for file in launchers if "pytest_audiobench" in file.read_text(encoding="utf-8")] == []


def test_a_checkpoint_named_by_a_uri_is_copied_once(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.syspath_prepend(SERVERS)
    monkeypatch.setenv("LAUNCHER_CACHE", str(tmp_path / "cache"))
    files = module_of(SERVERS / "checkpoint_files.py")
    source = tmp_path / "source"
    (source / "model").mkdir(parents=True)
    (source / "config.json").write_text("{}")
    (source / "model" / "part.safetensors").write_bytes(b"weights")
    folder = files.local_folder(f"file://{source}")
    assert (folder / "model" / "part.safetensors").read_bytes() == b"weights"
    assert files.digest_of(folder) == files.digest_of(source)
    (source / "config.json").write_text("[]")
    assert files.local_folder(f"file://{source}") == folder
    assert files.digest_of(folder) != files.digest_of(source)


@pytest.fixture(scope="module")
def tiny_checkpoint(tmp_path_factory):
    """Makes a checkpoint of random weights in the format in which a launcher's family is published."""
    pytest.importorskip("torch", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="needs the extra hf")
    models = ROOT / "tests" / "models"
    folders = {}

    def make(family):
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp(family)
            if family == "qwen2_audio":
                module_of(models / "conftest.py")._build_tiny_qwen2audio(folders[family])
            else:
                getattr(module_of(models / "tiny.py"), family)(folders[family])
        return folders[family]

    return make


@pytest.fixture
def real(tiny_checkpoint, monkeypatch):
    """Loads a launcher's model from a tiny checkpoint."""
    monkeypatch.syspath_prepend(SERVERS)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load(launcher, checkpoint=None, *options):
        module = module_of(SERVERS / launcher.replace("af_next", "af3") / "serve.py")
        kind = getattr(module, TINY[launcher][0])
        parser = ArgumentParser()
        kind.add_options(parser)
        model = kind()
        model.options = parser.parse_args([*options, "--device", "cpu", "--dtype", "float32"])
        model.options.checkpoint = str(checkpoint or tiny_checkpoint(TINY[launcher][1]))
        model.load()
        return model

    return load


def question_about(*tones_hz, text=QUESTION, duration_s=0.5, max_tokens=6):
    time_s = np.arange(int(duration_s * 16_000)) / 16_000
    audio = [((0.3 * np.sin(2 * np.pi * hz * time_s)).astype(np.float32), 16_000) for hz in tones_hz]
    messages = [{"role": "system", "content": "You hear well."}, {"role": "user", "content": text}]
    return {"messages": messages, "audio": audio, "generation_config": {"max_tokens": max_tokens, "temperature": 0.0}}


@pytest.mark.parametrize("launcher", TINY)
def test_the_real_branch_hears_and_answers_in_a_batch_as_alone(real, launcher):
    model = real(launcher)
    questions = [
        question_about(300),
        question_about(3000, duration_s=0.9),
        question_about(300, text="What?", max_tokens=3),
    ]
    answers = model.answer(questions)
    assert answers == [model.answer([question])[0] for question in questions]
    texts, ends, usages = zip(*answers, strict=True)
    assert texts[0] != texts[1]
    assert [usage["completion_tokens"] for usage, end in zip(usages, ends, strict=True) if end == "length"] == [
        limit for limit, end in zip((6, 6, 3), ends, strict=True) if end == "length"
    ]
    assert model.answer([question_about(300)]) == [answers[0]]
    assert usages[1]["prompt_tokens"] > usages[0]["prompt_tokens"] > usages[2]["prompt_tokens"]


@pytest.mark.parametrize("launcher", TINY)
def test_the_real_branch_is_asked_about_several_clips_or_refuses_that_question_alone(real, launcher):
    model = real(launcher)
    alone, pair = model.answer([question_about(300, max_tokens=16), question_about(300, 3000, max_tokens=16)])
    assert alone == model.answer([question_about(300, max_tokens=16)])[0]
    if launcher in ("af3", "af_next"):
        assert str(pair) == "Audio Flamingo's processor takes one clip a question"
    else:
        assert pair[2]["prompt_tokens"] > alone[2]["prompt_tokens"]
        assert pair != model.answer([question_about(3000, 300, max_tokens=16)])[0]


def test_a_clip_is_played_where_its_placeholder_stands(real):
    model = real("hf_transformers")
    place = "<Audio><AudioHere></Audio>"
    before = model.answer([question_about(300, text=f"{place} {QUESTION}")])[0]
    behind = model.answer([question_about(300, text=f"{QUESTION} {place}")])[0]
    assert before == model.answer([question_about(300)])[0]
    assert before[2]["prompt_tokens"] == behind[2]["prompt_tokens"]
    assert before[0] != behind[0]


def test_a_checkpoint_that_lacks_weights_is_refused(real, tiny_checkpoint, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "torn"
    shutil.copytree(tiny_checkpoint("qwen2_audio"), folder)
    weights = load_file(folder / "model.safetensors")
    weights.pop(next(name for name in weights if "q_proj" in name))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match="weights are missing and would be random"):
        real("hf_transformers", folder)


def test_the_real_branch_keeps_the_contract_as_a_process(served, tiny_checkpoint, ask, tones, capsys):
    folder = tiny_checkpoint("qwen2_audio")
    url = served(command_of("hf_transformers", "--device cpu", "--checkpoint", folder))
    assert audiobench(["check-server", url]) == 0, capsys.readouterr().out
    assert ask(f"{url}/info")["model"] == folder.name
    short, resampled = (ask(url, QUESTION, tone)[0]["usage"] for tone in (tones[0], tones[2]))
    assert short["prompt_tokens"] == resampled["prompt_tokens"]


AUTHORS = {
    "naturelm_1_0": "--checkpoint checkpoint --device cpu",
    "salmonn": "--checkpoint salmonn.pth --llama llama --whisper whisper --beats beats.pt --accept-pth --device cpu",
}


@pytest.mark.parametrize("launcher", AUTHORS)
def test_the_authors_own_code_answers_from_a_tiny_checkpoint(
    launcher, served, ask, tones, tmp_path, monkeypatch, capsys
):
    python = os.environ.get(f"{launcher.upper()}_PYTHON")
    if python is None:
        pytest.skip(f"{launcher.upper()}_PYTHON names no Python with the launcher's requirements and its authors' code")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = SERVERS / launcher
    subprocess.run([python, folder / "tiny_checkpoint.py", tmp_path / "tiny"], check=True)
    monkeypatch.chdir(tmp_path / "tiny")
    url = served(f"{python} {folder / 'serve.py'} --port {{port}} {AUTHORS[launcher]}")
    assert audiobench(["check-server", url]) == 0, capsys.readouterr().out
    answers = [ask(url, QUESTION, tone)[0]["predictions"] for tone in (tones[0], tones[1], tones[0])]
    assert answers[0] == answers[2] != answers[1]
    (pair,) = ask(url, QUESTION, *tones[:2])
    assert bool(pair["error"]) == (launcher == "salmonn")


def test_salmonn_answers_otherwise_with_its_lora_scaled_or_its_encoders_off(
    served, ask, tones, tmp_path, monkeypatch, tmp_path_factory
):
    python = os.environ.get("SALMONN_PYTHON")
    if python is None:
        pytest.skip("SALMONN_PYTHON names no Python with the launcher's requirements and its authors' code")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = SERVERS / "salmonn"
    subprocess.run([python, folder / "tiny_checkpoint.py", tmp_path / "tiny"], check=True)
    monkeypatch.chdir(tmp_path / "tiny")
    command = f"{python} {folder / 'serve.py'} --port {{port}} {AUTHORS['salmonn']}"
    url = served(command)

    def answer(tone=tones[0], url=url, **config):
        (row,) = ask(url, QUESTION, tone, **config)
        return row["predictions"][0] if row["predictions"] else row["error"]

    trained = answer()
    assert answer(lora_scale=4) == trained
    scaled = [answer(lora_scale=scale) for scale in (0, 1, 2, 3)]
    assert len({trained, *scaled}) == 5
    off = {names: answer(encoder_off=names) for names in ("whisper", "beats", "whisper+beats")}
    assert len({trained, *off.values()}) == 4
    assert answer(tones[1]) != trained
    assert answer(tones[1], encoder_off="whisper+beats") == off["whisper+beats"]
    assert answer() == trained
    assert answer(encoder_off="eyes") == "SALMONN has no encoder 'eyes' to switch off; there are whisper and beats"
    assert answer(lora_scale="much") == "lora_scale='much' is not a number"
    ablated = served(f"{command} --lora-scale 0 --encoder-off beats")
    assert answer(url=ablated) == answer(lora_scale=0, encoder_off="beats")
    assert answer(url=ablated, lora_scale=4, encoder_off="none") == trained
    assert ask(f"{ablated}/info")["model_revision"].endswith(", LoRA scale 0, without beats")
