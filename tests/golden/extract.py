"""What a run says, as flat facts in words of our own: the only place that knows the keys of a run's files.

A fact has a place, a name and a value: a text, a number, or a list of them. Places and names use the field's words,
whatever the files call them: scorer, perturbation, metric, sample, stage. So a change of the files' keys changes this
module and no golden.

Left out, since they may differ between two equal runs or are worded for people: times, speed and memory, paths, the
command line, versions of libraries, which of two equal requests was asked and which was known, and all sentences
(warnings, notes, details, messages), of which warnings are counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]

# The keys whose names are a matter of taste.
SCORER, SCORERS = "scorer", "scorers"
SCORER_SELECTOR = "scorer"
FAMILY = "protocol"
PERTURBATION, PERTURBATIONS = "perturbation", "perturbations"
RECORD, ANSWERS, PARSES, SCORES, CHANGES = (
    "run.json",
    "predictions.jsonl",
    "processed_predictions.jsonl",
    "scored_predictions.jsonl",
    "compared_predictions.jsonl",
)
NEUTRAL = {"protocols": "scorers", "scorer": "scorer", "scorers": "scorers", "protocol": "family"}
"""Our words for those among keys that are passed on as they come (the parts of a hash, options)."""

FIGURE = ("value", "lower", "upper", "n", "unit", "direction", "method")
DROP = (
    *("status", "baseline", "value", "drop", "lower", "upper", "bound", "margin", "p", "p_holm", "alpha", "lines"),
    *("detectable", "pairs", "clusters", "worse", "better", "unit", "direction", "left_out", "examples", "method"),
)
POINT = ("dose", "value", "lower", "upper", "n", "answered", "method")
SLOPE = ("value", "lower", "upper", "per", "p", "p_holm", "method")
DIFFERENCE = ("drop", "lower", "upper", "p", "p_holm", "pairs", "worse", "better", "method")
FINDING_WORDS = ("id", "status", "slice")
TIMELESS_SPEED = ("padding_waste",)
"""Of the figures of speed the only one that follows from the plan of batches alone."""


class Facts(dict[str, dict[str, Any]]):
    """Facts by place (the run, a model, an eval, a suite) and name, in the order of the run's files."""

    def add(self, place: str, *path: str, value: Any) -> None:
        facts, name = self.setdefault(place, {}), " / ".join(path)
        if name in facts:
            raise ValueError(f"two facts of {place} are called {name!r}")
        facts[name] = plain(value)


def facts_of(folder: Path, exit_code: int) -> Facts:
    """The facts of the run in ``folder``, which ended with ``exit_code``."""
    run = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    facts = Facts()
    facts.add("run", "exit code", value=[exit_code, run["exit_status"]])
    facts.add("run", "limit and epochs", value=_values(run, "limit", "epochs"))
    for name, value in run["hashes"].items():
        facts.add("run", f"hash {name}", value=value)
    for model in run["models"]:
        _add_model(facts, f"model {model['alias']}", model)
    for item in run["items"]:
        _add_eval(facts, _place(item), item)
    for suite in run["suites"]:
        _add_suite(facts, f"suite {suite['name']} by {suite['model']}", suite)
    for place, rows in _rows_by(folder / ANSWERS, "stage").items():
        _add_answers(facts, *place, rows=rows)
    for place, rows in _rows_by(folder / SCORES, SCORER).items():
        _add_scores(facts, *place, rows=rows)
    for place, rows in _rows_by(folder / PARSES, SCORER).items():
        _add_parses(facts, *place, rows=rows)
    for place, rows in _rows_by(folder / CHANGES, SCORER).items():
        facts.add(*_by_scorer(place), "change since the baseline", value=[row["change"] for row in rows])
        facts.add(*_by_scorer(place), "status in the baseline", value=[row["before"]["status"] for row in rows])
    return facts


def _add_model(facts: Facts, place: str, model: Json) -> None:
    facts.add(place, "role, batching, what is played, batches",
              value=_values(model, "role", "batching", "heard", "batches"))  # fmt: skip
    facts.add(place, "fingerprint", value=_sorted(model["fingerprint"]))
    facts.add(place, "hearing", value=(model["hearing"] or {}).get("status"))
    for name, value in _numbers(model["noise"] or {}):
        facts.add(place, f"noise {name}", value=value)


def _add_eval(facts: Facts, place: str, item: Json) -> None:
    facts.add(place, "index, test, suite, data set, family",
              value=_values(item, "index", "nodeid", "suite", "dataset", FAMILY))  # fmt: skip
    facts.add(place, "outcome, n, epochs, limited, control, part",
              value=_values(item, "outcome", "n", "epochs", "limited", "control", "part"))  # fmt: skip
    facts.add(place, "group fields and cluster", value=[item["groups"], item["cluster"]])
    facts.add(place, "options", value=_sorted(item["options"]))
    facts.add(place, "perturbation", value=_sorted(item[PERTURBATION] or {}))
    facts.add(place, "samples that failed, and number of warnings",
              value=[[error.get("sample_id") for error in item["errors"]], len(item["warnings"])])  # fmt: skip
    # Which of two workers asks, and which finds the answer known, is chance; how many answers there are is not.
    asking = item["asking"]
    facts.add(place, "answers, noise, repaired, cut clips", value=[asking.get("asked", 0) + asking.get("known", 0),
              *(asking.get(name) for name in ("noise", "repaired", "truncated_clips"))])  # fmt: skip
    for alias, counts in item["judges"].items():
        facts.add(place, f"judge {alias}",
                  value=[counts["asked"] + counts["known"], counts["errors"]])  # fmt: skip
    for stage in item["stages"]:
        facts.add(place, f"stage {stage['name']}",
                  value=[*_values(stage, "role", "task", "judge", "version"), _sorted(stage["settings"])])  # fmt: skip
    for name, value in item["hashes"].items():
        facts.add(place, f"hash {NEUTRAL.get(name, name)}", value=value)
    _add_scorers(facts, place, item)
    for figure in item["speed"]:
        if figure["name"] in TIMELESS_SPEED:
            facts.add(place, f"metric {figure['name']}", value=_values(figure, *FIGURE))
    for name, value in _numbers(item["agreement"] or {}):
        facts.add(place, f"agreement {name}", value=value)
    for number, verdict in enumerate(item["verdicts"]):
        rule = verdict["threshold"].replace(f"[{SCORER_SELECTOR}=", "[scorer=")
        facts.add(place, f"threshold {number}: {rule}", value=_values(verdict, "status", "value"))
    for number, drop in enumerate(item["regressions"]):
        name = f"regression {number}: {_metric(drop, drop['metric'], {})}"
        for field in DROP:
            facts.add(place, name, field, value=drop[field])
    for name, value in _numbers(item["findings"] or {}):
        facts.add(place, f"findings {name}", value=value)


def _add_scorers(facts: Facts, place: str, record: Json) -> None:
    labels = _labels(record)
    for scorer in record[SCORERS]:
        name = labels[scorer["name"], scorer["signature"]]
        facts.add(place, f"scorer {name}", "signature", value=scorer["signature"])
        counts = {status: count for status, count in scorer["coverage"].items() if count}
        facts.add(place, f"scorer {name}", "counts", value=_sorted(counts))
    for metric in record["metrics"]:
        value = _values(metric, *FIGURE)
        if (metric[SCORER], metric["signature"]) not in labels:
            value.append(metric["signature"])
        facts.add(place, f"metric {_metric(metric, metric['name'], labels)}", value=value)


def _labels(record: Json) -> dict[tuple[str, str], str]:
    """What each scorer is called: its name, with a number where a suite's evals have several signatures under it."""
    labels: dict[tuple[str, str], str] = {}
    for scorer in record[SCORERS]:
        same = sum(name == scorer["name"] for name, _ in labels)
        labels[scorer["name"], scorer["signature"]] = scorer["name"] + (f" ({same + 1})" if same else "")
    return labels


def _add_suite(facts: Facts, place: str, suite: Json) -> None:
    facts.add(place, "n, evals, limited", value=_values(suite, "n", "evals", "limited"))
    for name, value in suite["hashes"].items():
        facts.add(place, f"hash {name}", value=value)
    _add_scorers(facts, place, suite)
    labels = _labels(suite)
    for curve in suite["curves"]:
        scorer = labels[curve[SCORER], curve["signature"]]
        name = f"curve of {curve['metric']} by {scorer} over {curve['family']} of {_series(curve)}"
        facts.add(place, name, "signature, units, directions",
                  value=_values(curve, "signature", "unit", "direction", "dose_unit", "harder"))  # fmt: skip
        for point in filter(None, [*curve["points"], curve["clean"]]):
            facts.add(place, name, f"point {point[PERTURBATION]} of {point['eval']}", value=_values(point, *POINT))
        facts.add(place, name, "slope", value=_values(curve["slope"], *SLOPE))
        facts.add(place, name, "area", value=_values(curve["area"], "value", "lower", "upper", "method"))
    for over in suite[PERTURBATIONS]:
        scorer = labels[over[SCORER], over["signature"]]
        name = f"all perturbations, {over['metric']} by {scorer} of {_series(over)}"
        facts.add(place, name, "signature, unit, direction", value=_values(over, "signature", "unit", "direction"))
        for point in over["points"]:
            facts.add(place, name, f"point {point[PERTURBATION]} of {point['eval']}",
                      value=[point["family"], *_values(point, *POINT)])  # fmt: skip
        facts.add(place, name, "weights", value=_sorted(over["weights"]))
        facts.add(place, name, "mean", value=_values(over["mean"], "value", "lower", "upper", "method"))
        for drop in over["differences"]:
            facts.add(place, name, f"{drop[PERTURBATION]} from {drop['reference']}", value=_values(drop, *DIFFERENCE))


def _add_answers(facts: Facts, place: str, stage: str, rows: Sequence[Json]) -> None:
    """What was put to the model or a judge, and what came back: a digest each, and the first answers in plain."""
    name = f"stage {stage}"
    answers = [[[output["text"], output["finish"]] for output in row["outputs"]] for row in rows]
    clips = [[clip["key"] for clip in row["audio"]] for row in rows]
    facts.add(place, name, "samples and epochs", value=[f"{row['sample_id']} {row['epoch']}" for row in rows])
    questions = [_values(row, "question", "choices", "reference", "references", "metadata") for row in rows]
    facts.add(place, name, "questions, choices, references, metadata", value=digest(questions))
    facts.add(place, name, "request keys", value=digest([row["key"] for row in rows]))
    facts.add(place, name, "clip keys", value=digest(clips))
    facts.add(place, name, "prompts", value=digest([row["prompt"] for row in rows]))
    roles = {f"{row.get('role')} {row.get('unchanged')}" for row in rows}
    facts.add(place, name, "roles, and whether of unchanged clips", value=sorted(roles))
    first = [text[:40] for answer in answers[:4] for text, _ in answer]
    facts.add(place, name, "answers, and the first", value=[digest(answers), *first])


def _add_scores(facts: Facts, *place: str, rows: Sequence[Json]) -> None:
    place = _by_scorer(place)
    samples = [[row["sample_id"], row["epoch"], row["groups"], row["cluster"]] for row in rows]
    facts.add(*place, "samples, epochs, groups, clusters", value=digest(samples))
    facts.add(*place, "statuses", value=[row["status"] for row in rows])
    if any(row["failures"] for row in rows):
        facts.add(*place, "failures", value=[" ".join(row["failures"]) for row in rows])
    names = sorted({name for row in rows for name in row["scores"] or ()})
    for name in names:
        column = [None if row["scores"] is None else row["scores"].get(name) for row in rows]
        facts.add(*place, f"statistic {name}", value=column)


def _add_parses(facts: Facts, *place: str, rows: Sequence[Json]) -> None:
    place = _by_scorer(place)
    facts.add(*place, "parsed values", value=[_short(row["value"]) for row in rows])
    before = [row.get("before") for row in rows]
    if any(before):
        values = [earlier and [earlier["status"], _short(earlier["value"])] for earlier in before]
        facts.add(*place, "parsed values of the answers that these are compared with", value=values)


def plain(value: Any) -> Any:
    """``value`` with twelve digits of each number, more than are compared, and whole numbers without a point."""
    if isinstance(value, float):
        short = float(f"{value:.12g}")
        return int(short) if short.is_integer() else short
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list | tuple) else value


def digest(value: Any) -> str:
    """A short digest of JSON in which nothing is computed, so that it must come out byte for byte."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256 " + hashlib.sha256(text.encode("ascii")).hexdigest()[:24]


def _place(row: Json) -> str:
    return f"eval {row['eval']} by {row['model']}"


def _by_scorer(place: Sequence[str]) -> tuple[str, str]:
    return place[0], f"scorer {place[1]}"


def _metric(metric: Json, name: str, labels: Mapping[tuple[str, str], str]) -> str:
    scorer = labels.get((metric[SCORER], metric.get("signature", "")), metric[SCORER])
    group = ", ".join(f"{field}={value}" for field, value in sorted(metric["group"].items()))
    return f"{name} by {scorer}" + (f" where {group}" if group else "")


def _series(record: Json) -> str:
    return record["dataset"] + (f" in {record['series']}" if record["series"] else "")


def _rows_by(path: Path, field: str) -> dict[tuple[str, str], list[Json]]:
    """The rows of a file of lines by eval and ``field``, in the file's order; none where there is no such file."""
    groups: dict[tuple[str, str], list[Json]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            groups.setdefault((_place(row), row[field]), []).append(row)
    return groups


def _values(record: Json, *names: str) -> list[Any]:
    return [record[name] for name in names]


def _sorted(record: Json) -> dict[str, Any]:
    return {NEUTRAL.get(name, name): record[name] for name in sorted(record)}


def _short(value: Any) -> Any:
    return value[:40] if isinstance(value, str) else value


def _numbers(record: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Every number and every naming word of a nested record, by its path; sentences are left out."""
    if isinstance(record, Mapping):
        for name in sorted(record):
            word = NEUTRAL.get(name, name)
            yield from _numbers(record[name], f"{path}.{word}" if path else word)
    elif isinstance(record, list):
        for place, member in enumerate(record):
            yield from _numbers(member, f"{path}[{place}]")
    elif not isinstance(record, str) or any(f".{word}" in f".{path}" for word in FINDING_WORDS):
        yield path, record
