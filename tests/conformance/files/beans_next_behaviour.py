"""``beans_next_behaviour.json``: what BEANS-Next 0.1.0 returns, held to its rules in ``protocols/bioacoustic``.

A case of that file is a group of checks of one operation; a check is one case here, "BC13.2" for the third of BC13.
Where ours answers the same inputs otherwise is a test of its own (tests/conformance/test_beans_next_corrected.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.metrics.definitions.captions import cider_beans_next
from pytest_audiobench.metrics.estimates import average
from pytest_audiobench.protocols.bioacoustic import data_set_scores, scoring
from pytest_audiobench.protocols.bioacoustic.pipeline import (
    Steps,
    process,
    steps_of_run,
    steps_of_score_from_file,
)
from pytest_audiobench.protocols.judged import default_judgings

from .. import beans_next
from ..table import Case, same

Json: TypeAlias = Any
Operation: TypeAlias = Callable[[Mapping[str, Json]], Json]

_METRICS: Mapping[str, Callable[..., float]] = {
    "accuracy": beans_next.accuracy,
    "precision": beans_next.precision,
    "recall": beans_next.recall,
    "f1": beans_next.f1,
    "top1_accuracy": scoring.top1_accuracy,
    "average_precision": scoring.average_precision,
}


def _metric(given: Mapping[str, Json]) -> float:
    return _METRICS[given["name"]](given["predictions"], given["targets"], **given.get("kwargs", {}))


def _over_set(value: Callable[..., float]) -> Operation:
    return lambda given: value(given["predictions"], given["targets"], **given.get("kwargs", {}))


def _postprocess(given: Mapping[str, Json]) -> Json:
    done = process(given["raw"], beans_next.steps_named(given.get("parsers", ()), given.get("cleaners", ())))
    return {"segments": list(done.segments), "text": done.text, "n_warnings": len(done.warnings)}


def _sample(given: Mapping[str, Json]) -> dict[str, float]:
    # The task's type is taken from the sample's metadata where it is given nowhere else.
    task = given["task_type"] or given.get("metadata", {}).get("task")
    return scoring.sample_scores(
        given["labels"], given["processed"], (given.get("raw") or [given["processed"]])[0], task
    )


def _data_set(given: Mapping[str, Json]) -> dict[str, float]:
    # A target that is an object, as one check has it, is no target.
    pairs = [(text, None if isinstance(target, dict) else target) for text, target in given["pairs"]]
    return data_set_scores.dataset_scores(pairs, given["task_type"])


def _cider(given: Mapping[str, Json]) -> Json:
    each = cider_beans_next(given["candidates"], given["references"])
    whole = average(each)
    return {"corpus_x10": 10 * whole, "per_sample_x10": [10 * one for one in each], "reported_0_1": whole}


def _run_steps(given: Mapping[str, Json]) -> Json:
    labels, targets = given.get("labels_override") or (), given.get("example_labels") or ()
    return _told(steps_of_run(given["task_type"], labels, targets))


def _file_steps(given: Mapping[str, Json]) -> Json:
    return _told(steps_of_score_from_file(given["task_type"], given["targets"]))


def _told(steps: Steps) -> Json:
    def plain(value: Json) -> Json:
        return list(value) if isinstance(value, tuple) else value

    return {
        kind: [[step.name, {name: plain(value) for name, value in step.params.items()}] for step in named]
        for kind, named in (("parsers", steps.parsers), ("cleaners", steps.cleaners))
    }


def _rescored(given: Mapping[str, Json]) -> Json:
    """``score-from-file`` over pairs of text and target; which files it writes is no question here."""
    task, pairs = given["task_type"], given["pairs"]
    steps = steps_of_score_from_file(task, [target for _, target in pairs])
    processed = [process(text, steps).text for text, _ in pairs]
    rows = [
        scoring.sample_scores(target, text, raw, task) for text, (raw, target) in zip(processed, pairs, strict=True)
    ]
    whole = data_set_scores.dataset_scores(
        [(text, target) for text, (_, target) in zip(processed, pairs, strict=True)], task
    )
    return {"mean": {**data_set_scores.means(rows), **whole}, "processed": processed}


SCORERS: Mapping[str, Operation] = {
    "metric": _metric,
    "macro_f1": _over_set(data_set_scores.macro_f1),
    "dataset_map": _over_set(data_set_scores.dataset_map),
    "score_sample": _sample,
    "dataset_metrics": _data_set,
    "cider": _cider,
    "postprocess": _postprocess,
    "select_steps": _run_steps,
    "select_steps_rescorer": _file_steps,
    "aggregate_means": lambda given: data_set_scores.means(given["rows"]),
    "judge": lambda given: list(default_judgings.beans_verdict(given["text"])),
    "rescorer": _rescored,
}

OUT: Mapping[str, str] = {
    "batch": "how BEANS-Next sizes its batches: ours are planned by the model's limits (models/predictions)",
    "http_server": "a server's behaviour: audiobench serve and check-server have their own rules and tests",
    "http_client": "a client's behaviour: models/predictions has its own tests",
    "render": "prompts in its own templates: ours are written in Python, and list the task's labels, never the truth",
    "runner": "artifacts, resumption and workers of its runner: ours are the store's and the run's",
    "cache": "its two caches: ours is the store, whose keys hold the model's fingerprint",
    "run_config": "its configuration files: evals here are tests",
    "canonical_json": "its way of writing JSON: ours refuses NaN (identity.canonical)",
    "wire": "its requests to a server: models/predictions has its own tests",
    "PredictV1Judge": "a judge's requests: judges are stages of their own here",
    "PredictV1Extractor": "an extractor's prompt, which holds the sample's own truth: not repeated here",
}


def cases_of(document: Mapping[str, Json]) -> Iterator[Case]:
    """Every check of every group."""
    for group in document["cases"]:
        for check in group["checks"]:
            yield _case(group, check)


def checks_of(document: Mapping[str, Json]) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    """Every check with its id and operation."""
    for group in document["cases"]:
        for check in group["checks"]:
            yield f"{group['id']}.{check['n']}", _operation(group, check), check


def _operation(group: Mapping[str, Json], check: Mapping[str, Json]) -> str:
    named = check["input"].get("op", "parse_yes_no") if group["op"] == "judge" else ""
    return next((known for known in ("PredictV1Judge", "PredictV1Extractor") if known in named), str(group["op"]))


def _case(group: Mapping[str, Json], check: Mapping[str, Json]) -> Case:
    id_, operation, expected = f"{group['id']}.{check['n']}", _operation(group, check), check["expected"]
    if operation in OUT:
        return Case(id_, operation, "out", OUT[operation])
    try:
        found = SCORERS[operation](check["input"])
    except (AudiobenchError, ValueError) as error:
        found = error
    if "error" in expected:
        # Where BEANS-Next raises, ours refuses too, in words of its own.
        agrees, wanted = isinstance(found, Exception), expected["error"]
    else:
        wanted = _comparable(expected["value"])
        agrees = not isinstance(found, Exception) and same(wanted, found, float(group["tolerance"]))
    return Case(id_, operation, "agrees" if agrees else "differs", f"expected {wanted!r}, got {found!r}" * (not agrees))


def _comparable(value: Json) -> Json:
    """What is expected, without the names of the files that were written."""
    return {name: one for name, one in value.items() if name != "files"} if isinstance(value, dict) else value
