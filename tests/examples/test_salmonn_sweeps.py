"""The sweeps of examples/runs as one run: every model asks the same server in its own way."""

import importlib.util
import json
import tomllib
from pathlib import Path

import pytest

from pytest_audiobench.datasets.declared import read_declarations
from pytest_audiobench.plugin.run_file import read_run_file

ROOT = Path(__file__).parents[2]
RUN_FILE = ROOT / "examples" / "runs" / "salmonn_sweeps.toml"
RUN_TASKS = tomllib.loads(RUN_FILE.read_text())["tasks"]


def module_of(path):
    spec = importlib.util.spec_from_file_location("sweeps_server", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server():
    """Answers with what it was asked to change."""
    server = module_of(ROOT / "tests" / "models" / "stranger.py").Stranger()
    response = server.answer

    def answer(item):
        changes = {key: item["generation_config"].get(key) for key in ("lora_scale", "encoder_off")}
        return {**response(item), "predictions": [json.dumps(changes)]}

    server.answer = answer
    server.start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_run_file_of_the_sweeps_asks_one_server_in_eight_ways(server, run_evals, pytester):
    specs = dict(read_run_file(RUN_FILE, {}).options)["model"]
    models = [f"--ab-model={spec.replace('http://127.0.0.1:8000', server.url)}" for spec in specs]
    result = run_evals(*models, "--ab-run=r")
    result.assert_outcomes(passed=8)
    changes = {}
    for line in (pytester.path / "reports" / "r" / "predictions.jsonl").read_text().splitlines():
        row = json.loads(line)
        changes.setdefault(row["model"], set()).add(row["outputs"][0]["text"])
    by_alias = {alias: json.loads(text) for alias, (text,) in changes.items()}
    assert {alias: config["lora_scale"] for alias, config in by_alias.items() if alias.startswith("lora_")} == {
        f"lora_{scale}": scale for scale in range(5)
    }
    assert {alias: config["encoder_off"] for alias, config in by_alias.items() if not alias.startswith("lora_")} == {
        "whisper_alone": "beats",
        "beats_alone": "whisper",
        "no_ears": "whisper+beats",
    }
    run = json.loads((pytester.path / "reports" / "r" / "run.json").read_text())
    assert len({json.dumps(model["fingerprint"], sort_keys=True) for model in run["models"]}) == 8


def test_the_published_sweep_of_the_lora_stands_beside_what_the_run_file_asks():
    task, *_ = RUN_TASKS
    file, _, name = task.removesuffix("]").partition("[")
    declared = read_declarations(ROOT / "evals" / f"{file}.audiobench.toml")[name]
    rates = {row.model: row.value for row in declared.published if row.scorer == "salmonn-skip"}
    assert rates == {
        "SALMONN-13B": 0.0224,
        **{f"SALMONN-13B (LoRA scale {scale})": rate for scale, rate in enumerate((0.4473, 0.358, 0.0969, 0.0352))},
    }
