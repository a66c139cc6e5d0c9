"""A run's numbers in what a team looks at: Weights & Biases, MLflow, TensorBoard, a model card or data set of the Hub.

One export is of one model of a run. What leaves this machine by default are numbers, names and digests. Answers, and
the page, which shows answers and plays sounds, do only where ``attach`` asks for them. The clients keep their own
credentials: none is read here, and none may stand in an address.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audiobench.errors import AudiobenchError, InfrastructureError, UsageError
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.models.model import missing_library
from pytest_audiobench.models.spec import split_options
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.sharing import run_dataset
from pytest_audiobench.sharing.exported_model import ATTACH, SCORE_HASH, ExportedModel, Headline, exported_models

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

FORM = "KIND:PLACE[,KEY=VALUE…], for example mlflow:http://localhost:5000"
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_LONGEST_PARAMETER = 500
"""Characters of a value of MLflow, in all its releases."""
_LONGEST_REASON = 300
_UNFINISHED = (2, 3, 4)
"""pytest's exit codes of a run that was interrupted, broke, or was asked for what there is not."""


@dataclass(frozen=True)
class Destination:
    """An exporter with its place and options, as a user names them."""

    exporter: Exporter
    place: str
    options: Mapping[str, str]
    text: str

    def export(self, record: RunRecord, folder: Path) -> list[str]:
        """Write the run there; a sentence of each model. Raises UsageError for a run that is no measurement, and
        InfrastructureError for whatever keeps the client from writing it.
        """
        if record.shard is not None:
            raise UsageError(f"{record.run} is {record.shard}: it is exported once it is merged")
        if record.exit_status in _UNFINISHED:
            raise UsageError(f"{record.run} did not end (exit code {record.exit_status}): it is not exported")
        if stop := next((f"{item.eval} {item.stop_text}" for item in record.items if item.stopped), ""):
            raise UsageError(f"{record.run} is not exported, since it is compared with no other: {stop}")
        models = exported_models(record, folder, self.options.get("model", ""))
        if len(models) > 1 and self.exporter.of_one_model:
            names = ", ".join(model.model for model in models)
            raise UsageError(f"{self.text} is of one model, and the run has {names}: add model=NAME")
        return [f"exported {model.name} to {self.text}: {self._written(model)}" for model in models]

    def _written(self, model: ExportedModel) -> str:
        try:
            return self.exporter.export(model, self.place, self.options)
        except Exception as error:
            kind = "" if isinstance(error, AudiobenchError) else f"{type(error).__name__}: "
            reason = _CREDENTIALS.sub("", " ".join(f"{kind}{error}".split()))[:_LONGEST_REASON]
            raise InfrastructureError(f"{model.name} was not exported to {self.text}: {reason}") from error


def destination(text: str) -> Destination:
    """Read ``KIND:PLACE,KEY=VALUE``. Raises UsageError for what is none, and for a library that is not installed."""
    kind, colon, rest = text.strip().partition(":")
    if not colon or kind not in EXPORTERS:
        there = nearest(kind, EXPORTERS, f"there are {', '.join(EXPORTERS)}")
        raise UsageError(f"{text[:80]!r} names no exporter; {there}; write {FORM}")
    exporter = EXPORTERS[kind]
    if _CREDENTIALS.search(text):
        raise UsageError(f"{kind}: a password in an address would be written into the run: {exporter.keys}")
    place, options = split_options(rest, text)
    if not place and not exporter.place_may_be_empty:
        raise UsageError(f"{text!r} names no place: write {kind}:{exporter.place}")
    known = {*exporter.options, "model"}
    if strange := next((key for key in options if key not in known), ""):
        raise UsageError(f"{kind} has no option {strange!r}; {nearest(strange, known)}")
    if (attach := options.get("attach", ATTACH[0])) not in ATTACH:
        raise UsageError(f"attach={attach[:40]} is not one of {', '.join(ATTACH)}")
    if missing := missing_library(dict.fromkeys(exporter.libraries, exporter.extra)):
        raise UsageError(f"{kind}: {missing}")
    if exporter.check:
        exporter.check(place, options)
    return Destination(exporter, place, options, text.strip())


def _wandb(model: ExportedModel, place: str, options: Mapping[str, str]) -> str:
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    entity, _, project = place.rpartition("/")
    run = wandb.init(
        project=project,
        entity=entity or None,
        name=model.name,
        id=options.get("id"),
        resume="allow" if "id" in options else None,
        tags=[model.verdict],
        config=dict(model.config),
        job_type="eval",
        settings=wandb.Settings(
            silent=True,
            console="off",
            save_code=False,
            disable_git=True,
            # The command line, the user and the machine are not sent.
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        ),
    )
    step = {} if model.step is None else {"checkpoint": model.step}
    if step:
        run.define_metric("checkpoint")
        for name in model.scalars:
            run.define_metric(name, step_metric="checkpoint")
    run.log({**model.scalars, **step})
    if files := model.attached(options.get("attach", ATTACH[0])):
        artifact = wandb.Artifact(re.sub(r"[^\w.-]", "_", model.name), type="audiobench")
        for file in files:
            artifact.add_file(str(file), name=file.name)
        run.log_artifact(artifact)
    seen = run.dir if run.offline else run.url
    run.finish()
    if run.offline:
        # The client's own process may still be writing its file.
        wandb.teardown()
    return str(seen)


def _mlflow(model: ExportedModel, place: str, options: Mapping[str, str]) -> str:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=place or None)
    name = options.get("experiment", "audiobench")
    if given := options.get("id"):
        run_id = client.get_run(given).info.run_id
    else:
        found = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if found is None else found.experiment_id
        run_id = client.create_run(experiment, run_name=model.name).info.run_id
    now, step = _milliseconds(model.finished), round(model.step or 0)
    metrics = [Metric(key, value, now, step) for key, value in _mlflow_names(model.scalars).items()]
    # What a run is of stands once; a training's own run, to which evals are added, keeps its parameters.
    params = [] if given else [Param(k, v[:_LONGEST_PARAMETER]) for k, v in _mlflow_names(model.config).items()]
    for batch in _batches(metrics, 1000):
        client.log_batch(run_id, metrics=batch)
    for batch in _batches(params, 100):
        client.log_batch(run_id, params=batch)
    client.log_batch(run_id, tags=[RunTag("audiobench.verdict", model.verdict), RunTag("audiobench.run", model.run)])
    for file in model.attached(options.get("attach", ATTACH[0])):
        client.log_artifact(run_id, str(file), artifact_path=f"audiobench/{model.run}")
    if not given:
        client.set_terminated(run_id)
    return f"run {run_id} of the experiment {name}"


def _mlflow_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Under names of the characters that MLflow takes; what would have one name is counted."""
    named: dict[str, Any] = {}
    for key, value in values.items():
        name = first = re.sub(r"[^\w\-. :/]", "_", key.replace("[", ".").replace("]", ""))[:240]
        number = 1
        while name in named:
            name = f"{first}_{(number := number + 1)}"
        named[name] = value
    return named


def _tensorboard(model: ExportedModel, place: str, options: Mapping[str, str]) -> str:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folder = Path(place).expanduser() / re.sub(r"[^\w.-]", "_", model.model)
    values = [Summary.Value(tag=name, simple_value=value) for name, value in model.scalars.items()]
    rows = {"verdict": model.verdict, **model.config}
    table = "\n".join(["|  |  |", "|--|--|", *(f"| {_cell(name)} | {_cell(value)} |" for name, value in rows.items())])
    text = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    tensor = TensorProto(dtype=DT_STRING, string_val=[table.encode()])
    values.append(Summary.Value(tag="audiobench/config", metadata=text, tensor=tensor))
    writer = EventFileWriter(str(folder))
    event = Event(wall_time=_milliseconds(model.finished) / 1000, step=round(model.step or 0))
    event.summary.CopyFrom(Summary(value=values))
    writer.add_event(event)
    writer.close()
    return str(folder)


def _model_card(model: ExportedModel, place: str, options: Mapping[str, str]) -> str:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData
    from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results

    file = Path(place).expanduser()
    card = ModelCard.load(file) if file.exists() else ModelCard("---\n{}\n---\n")
    data = card.data.to_dict()
    name, before = options.get("name") or file.resolve().parent.name, list[EvalResult]()
    if "model-index" in data:
        listed, before = model_index_to_eval_results(data["model-index"])
        name = options.get("name") or listed
    source = f"pytest-audiobench {metadata.version('pytest-audiobench')}", options.get("url")
    ours = {
        (one.eval, one.metric.name): EvalResult(
            task_type=options.get("task", "audio-text-to-text"),
            dataset_type=one.dataset or one.eval,
            dataset_name=one.eval,
            # The Hub puts results of one type, configuration and split together, whatever they are called.
            dataset_config=one.eval if one.dataset else None,
            metric_type=one.metric.name,
            metric_value=one.metric.value,
            metric_name=one.metric.name,
            metric_args=_metric_arguments(one),
            source_name=source[0] if source[1] else None,
            source_url=source[1],
        )
        for one in model.headlines
        if one.metric.value is not None
    }
    others = [one for one in before if not (_is_ours(one) and (one.dataset_name, one.metric_type) in ours)]
    data["model-index"] = eval_results_to_model_index(name, [*others, *ours.values()])
    card.data = ModelCardData(**data, ignore_metadata_errors=True)
    card.save(file)
    return str(file)


def _metric_arguments(one: Headline) -> dict[str, Any]:
    metric = one.metric
    interval = {"lower": metric.lower, "upper": metric.upper, "n": metric.n}
    return {**interval, "signature": metric.signature or "", SCORE_HASH: one.hashes.get(SCORE_HASH, "")}


def _is_ours(result: EvalResult) -> bool:
    """Whether an earlier export wrote it; what others say of the same data set stays."""
    return SCORE_HASH in (result.metric_args or {})


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _batches(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[at : at + size] for at in range(0, len(values), size))


def _milliseconds(time: str) -> int:
    from datetime import datetime

    return math.floor(datetime.fromisoformat(time).timestamp() * 1000)


class Exporter(NamedTuple):
    """One kind of place, and the client that writes there."""

    export: Callable[[ExportedModel, str, Mapping[str, str]], str]
    libraries: Sequence[str]
    extra: str
    place: str
    options: Sequence[str]
    keys: str
    """Where its client finds what it logs in with."""
    place_may_be_empty: bool = False
    of_one_model: bool = False
    check: Callable[[str, Mapping[str, str]], None] | None = None
    """Raises UsageError for a place or an option that is none, before anything is measured."""


EXPORTERS: Mapping[str, Exporter] = {
    "wandb": Exporter(
        _wandb, ["wandb"], "wandb", "[ENTITY/]PROJECT", ("attach", "id"), "the client reads WANDB_API_KEY"
    ),
    "mlflow": Exporter(
        _mlflow,
        ["mlflow"],
        "mlflow",
        "[URI]",
        ("attach", "experiment", "id"),
        "write mlflow: alone, and the address into MLFLOW_TRACKING_URI",
        place_may_be_empty=True,
    ),
    "tensorboard": Exporter(_tensorboard, ["tensorboard"], "tensorboard", "FOLDER", (), "it writes into a folder"),
    "model-card": Exporter(
        _model_card,
        ["huggingface_hub"],
        "push",
        "README.md",
        ("name", "task", "url"),
        "it writes into a file",
        of_one_model=True,
    ),
    "dataset": Exporter(
        run_dataset.write,
        ["huggingface_hub", "pyarrow"],
        "fetch",
        "OWNER/NAME",
        ("attach", "private"),
        "the client reads HF_TOKEN",
        check=run_dataset.check,
    ),
}
"""By the names that ``--to`` and ``--ab-export`` take."""
