"""A run in other tools, each read back by its own client. Nothing leaves this machine: clients write into folders."""

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.sharing import exporters

EVAL = """
from pytest_audiobench import dataset, multiple_choice

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())
"""
MODEL = "candidate=baseline:listener"
SECRET = "hunter2"


@pytest.fixture(scope="module")
def exported(forks, tmp_path_factory):
    """A run that was exported to a folder of TensorBoard, and to a card that cannot be written."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "test_own.py").write_text(EVAL)
    (folder / "file").write_text("")
    places = ["--ab-export=tensorboard:events", "--ab-export=model-card:file/README.md"]
    quiet = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    done = forks.pytest([*quiet, f"--ab-model={MODEL}", "--ab-run=step-2000", *places], folder)
    return folder, done


@pytest.fixture
def here(exported, monkeypatch):
    """The folder of that run, as the current one."""
    monkeypatch.chdir(exported[0])
    return exported[0]


def numbers(folder):
    [item] = load_run(folder / "reports" / "step-2000").record.items
    [metric] = [metric for metric in item.metrics if metric.name == "accuracy" and not metric.group]
    return {f"own/digits/accuracy/{name}": getattr(metric, name) for name in ("value", "lower", "upper", "n")}, item


def test_a_place_that_cannot_be_written_is_said_and_the_process_ends_in_6(exported):
    folder, done = exported
    assert done.returncode == 6, done.stdout
    record = json.loads((folder / "reports" / "step-2000" / "run.json").read_text())
    assert record["exit_status"] == 0  # The run says of the model what it would say without.
    lines = done.stdout.splitlines()
    assert "exported step-2000 candidate to tensorboard:events: events/candidate" in lines
    failed = next(line for line in lines if "was not exported" in line)
    assert failed.startswith("step-2000 candidate was not exported to model-card:file/README.md: FileExistsError")
    assert failed.endswith("audiobench export reports/step-2000 --to 'model-card:file/README.md' tries again")


def test_tensorboard_reads_the_numbers_back_at_the_checkpoints_step(here):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulators.EventAccumulator(str(here / "events" / "candidate"))
    events.Reload()
    expected, item = numbers(here)
    for name, value in expected.items():
        [event] = events.Scalars(name)
        assert event.step == 2000
        assert event.value == pytest.approx(value)
    [text] = events.Tensors("audiobench/config")
    table = text.tensor_proto.string_val[0].decode()
    assert "| verdict | measured |" in table
    assert item.hashes["score_hash"] in table


def test_mlflow_reads_back_what_was_measured_of_what(here, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (here / "mlruns").as_uri()
    assert main(["export", "step-2000", "--to", f"mlflow:{uri},experiment=speech,attach=report"]) == 0
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("speech")
    [run] = client.search_runs([experiment.experiment_id])
    expected, item = numbers(here)
    assert {name: run.data.metrics[name] for name in expected} == pytest.approx(expected)
    assert {client.get_metric_history(run.info.run_id, name)[0].step for name in expected} == {2000}
    assert run.data.params["own/digits/score_hash"] == item.hashes["score_hash"]
    assert run.data.params["own/digits/signature/letters"] == item.scorers[0].signature
    assert run.data.tags["audiobench.verdict"] == "measured"
    [attached] = client.list_artifacts(run.info.run_id, "audiobench/step-2000")
    assert attached.path.endswith("report.html")
    assert main(["export", "step-2000", "--to", f"mlflow:{uri},id={run.info.run_id}"]) == 0
    assert len(client.search_runs([experiment.experiment_id])) == 1


def test_weights_and_biases_reads_the_numbers_back(here, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(here))
    monkeypatch.setenv("WANDB_API_KEY", SECRET * 6)
    assert main(["export", "step-2000", "--to", "wandb:lab/speech"]) == 0
    [file] = here.glob("wandb/offline-run-*/*.wandb")
    run, summary = recorded_by_wandb(file)
    expected, item = numbers(here)
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert summary["checkpoint"] == 2000
    assert (run.entity, run.project, list(run.tags)) == ("lab", "speech", ["measured"])
    config = {update.key: json.loads(update.value_json) for update in run.config.update}
    assert config["own/digits/score_hash"] == item.hashes["score_hash"]
    written = b"".join(path.read_bytes() for path in file.parent.rglob("*") if path.is_file())
    assert SECRET.encode() not in written
    assert b"processed_predictions" not in written


def recorded_by_wandb(file):
    """The run, and the last value of each number, in a file that the client wrote offline: LevelDB's log format."""
    from wandb.proto import wandb_internal_pb2

    data, place, begun, run, values = file.read_bytes(), 7, b"", None, {}
    while place + 7 <= len(data):
        if (left := 32_768 - place % 32_768) < 7:
            place += left
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        begun += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or its last part
            record = wandb_internal_pb2.Record.FromString(begun)
            begun = b""
            run = record.run if record.WhichOneof("record_type") == "run" else run
            for one in record.history.item:
                values["/".join(one.nested_key) or one.key] = json.loads(one.value_json)
    return run, values


def test_a_model_card_gets_the_results_beside_those_of_others(here):
    hub = pytest.importorskip("huggingface_hub")
    card = here / "README.md"
    other = {"task": {"type": "text-generation"}, "dataset": {"name": "Other", "type": "other"}}
    metric = {"type": "accuracy", "value": 0.5, "name": "accuracy"}
    index = [{"name": "speechy", "results": [{**other, "metrics": [metric]}]}]
    front = json.dumps({"license": "mit", "model-index": index})
    card.write_text(f"---\n{front}\n---\n# Speechy\n\nOur own words.\n")
    for _ in range(2):
        assert main(["export", "step-2000", "--to", f"model-card:{card}"]) == 0
    read = hub.ModelCard.load(card)
    assert "Our own words." in read.text
    assert (read.data.license, read.data.model_name) == ("mit", "speechy")
    theirs, ours = read.data.eval_results
    expected, item = numbers(here)
    assert (theirs.dataset_name, theirs.metric_value) == ("Other", 0.5)
    assert (ours.dataset_name, ours.metric_type) == ("own/digits", "accuracy")
    assert ours.metric_value == expected["own/digits/accuracy/value"]
    assert ours.metric_args["lower"] == expected["own/digits/accuracy/lower"]
    assert ours.metric_args["score_hash"] == item.hashes["score_hash"]


def test_two_evals_of_one_data_set_are_two_results_of_the_card(here, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    run = load_run("step-2000")
    [item] = run.record.items
    twice = replace(run.record, items=[item, replace(item, eval="own/again")])
    card = tmp_path / "README.md"
    for _ in range(2):
        exporters.destination(f"model-card:{card}").export(twice, run.folder)
    results = hub.ModelCard.load(card).data.eval_results
    assert [one.dataset_name for one in results] == ["own/digits", "own/again"]


def test_what_fails_is_told_without_what_logs_in(here, capsys):
    pytest.importorskip("mlflow")
    assert main(["export", "step-2000", "--to", "model-card:file/README.md"]) == 1
    assert "was not exported to model-card:file/README.md: FileExistsError" in capsys.readouterr().err
    assert main(["export", "step-2000", "--to", f"mlflow:http://me:{SECRET}@localhost:1"]) == 4
    said = capsys.readouterr().err
    assert SECRET not in said
    assert "MLFLOW_TRACKING_URI" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("wandbb:lab", "did you mean 'wandb'?"),
        ("tensorboard:", "write tensorboard:FOLDER"),
        ("tensorboard:events,colour=red", "tensorboard has no option 'colour'"),
        ("model-card:README.md,model=other", "nothing of other was measured in the run step-2000"),
        ("mlflow:http://localhost:1,attach=all", "attach=all is not one of none, report, answers"),
    ],
)
def test_a_place_that_is_none_is_refused_in_a_sentence(here, capsys, text, why):
    assert main(["export", "step-2000", "--to", text]) == 4
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_client_that_is_not_installed_is_missed_before_the_run(here):
    blocked = "import sys; sys.modules['tensorboard'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        blocked,
        "-p",
        "no:cacheprovider",
        "--ab-run=none",
        "--ab-export=tensorboard:other",
    ]
    done = subprocess.run(command, cwd=here, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "tensorboard is not installed: pip install 'pytest-audiobench[tensorboard]'" in done.stderr
    assert not (here / "reports" / "none" / "run.json").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"exit_status": 2}, "step-2000 did not end"),
        ({"shard": {"index": 1, "count": 2}}, "step-2000 is shard 1 of 2: it is exported once it is merged"),
    ],
)
def test_what_is_no_whole_measurement_is_not_exported(here, tmp_path, change, why):
    folder = tmp_path / "step-2000"
    folder.mkdir()
    record = json.loads((here / "reports" / "step-2000" / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | change))
    run = load_run(folder)
    with pytest.raises(UsageError, match=why):
        exporters.destination("model-card:README.md").export(run.record, run.folder)
