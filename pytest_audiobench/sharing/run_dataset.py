"""A run as a data set that the Hub shows and ``datasets`` and pandas read: metrics, and samples where asked for.

A model of a run has a folder of its own in each config, so that many runs lie in one data set and each is replaced
alone. All files of a config have one schema, whatever evals they are of: a reader takes them together.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.gate.threshold_syntax import parse
from pytest_audiobench.records.run import ItemRecord, MetricRecord
from pytest_audiobench.report.atomic_files import write_text
from pytest_audiobench.report.formatting import VERDICTS, group_text, interval_text, value_text
from pytest_audiobench.report.joined_samples import Joined, joined, sample_record
from pytest_audiobench.report.run_reader import writable
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.sharing.exported_model import ExportedModel
from pytest_audiobench.sharing.hub import Hub, check_token
from pytest_audiobench.sharing.upload import is_repo, with_retries

if TYPE_CHECKING:
    import pyarrow

METRICS, SAMPLES = "metrics", "samples"
CARD = "README.md"
SHARD_BYTES = 256 * 2**20
"""A Parquet file that has grown to this ends, and the next one begins."""
_GROUP_ROWS = 1_000
_GROUP_CHARACTERS = 16_000_000
"""A row group, which is what is held in memory, ends at the first of the two."""
_LARGEST_CARD = 10_000_000
_HEADS = ("eval", "metric", "value", "95 % interval", "n")
_INTRODUCTION = (
    "# Evaluation logs\n\nRuns of pytest-audiobench: `metrics` has a row for each number with its interval, "
    "`samples` one for each sample with its answer.\n"
)


def check(place: str, options: Mapping[str, str]) -> None:
    """Raises UsageError for a place that is none, and for one on the hub where there is no token."""
    if options.get("attach") == "report":
        raise UsageError("a data set has no page: attach=answers adds the samples, and the metrics are always written")
    if options.get("private", "yes") not in ("yes", "no"):
        raise UsageError(f"private={options['private'][:40]} is not one of yes, no")
    if _is_folder(place):
        return
    if not is_repo(place):
        raise UsageError(
            f"{place[:80]!r} names no data set: write dataset:OWNER/NAME, or dataset:./FOLDER for a folder"
        )
    check_token()


def write(model: ExportedModel, place: str, options: Mapping[str, str]) -> str:
    """Write the files to the folder or the data set ``place``; where they can be seen."""
    folder = Path(place).expanduser() if _is_folder(place) else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".audiobench-", dir=folder) as temporary:
        staged = Path(temporary)
        own = f"{_path_name(model.record.run)}/{_path_name(model.model)}"
        _write_shards(_metric_rows(model), _metric_schema(), staged / METRICS / own)
        if options.get("attach") == "answers":
            _write_shards(_sample_rows(model), _sample_schema(), staged / SAMPLES / own)
        files = {path.relative_to(staged).as_posix(): path for path in sorted(staged.rglob("*.parquet"))}
        export = _Export(model, own, files)
        if folder:
            return _to_folder(export, folder)
        return _to_hub(export, place, options.get("private"))


@dataclass(frozen=True)
class _Export:
    """The files of one model of a run, by their paths in the data set."""

    model: ExportedModel
    own: str
    files: Mapping[str, Path]

    def stale(self, there: Collection[str]) -> list[str]:
        """What an earlier export of the same left in the data set, and this one does not replace."""
        return sorted(
            path
            for path in there
            if path.startswith((f"{METRICS}/{self.own}/", f"{SAMPLES}/{self.own}/")) and path not in self.files
        )

    def card(self, before: str, there: Collection[str]) -> str:
        """The card ``before``, or a new one, with the configs of all files and the section of this run."""
        from huggingface_hub import DatasetCard, DatasetCardData

        card = DatasetCard(before or f"---\n{{}}\n---\n{_INTRODUCTION}", ignore_metadata_errors=True)
        data: dict[str, Any] = card.data.to_dict()  # type: ignore[no-untyped-call]
        listed = data.get("configs")
        others = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        others = [one for one in others if one.get("config_name") not in (METRICS, SAMPLES)]
        left = {*there, *self.files}.difference(self.stale(there))
        kinds = [METRICS, *([SAMPLES] if any(path.startswith(f"{SAMPLES}/") for path in left) else [])]
        ours: list[dict[str, Any]] = [
            {"config_name": kind, "data_files": [{"split": "test", "path": f"{kind}/*/*/*.parquet"}]} for kind in kinds
        ]
        if not any(one.get("default") for one in others):
            ours[0]["default"] = True
        card.data = DatasetCardData(
            **{"tags": ["audio", "evaluation", "pytest-audiobench"], **data, "configs": [*ours, *others]},
            ignore_metadata_errors=True,
        )
        begin, end = f"<!-- audiobench {self.own} -->", f"<!-- end of audiobench {self.own} -->"
        section = f"{begin}\n{self._section()}\n{end}"
        place = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        text, found = place.subn(lambda _: section, card.text, count=1)
        card.text = text if found else f"{card.text.rstrip()}\n\n{section}\n"
        return str(card)

    def _section(self) -> str:
        lines = [f"## {escaped(self.model.name)}", "", table_row(_HEADS), table_row(["---"] * len(_HEADS))]
        for one in self.model.headlines:
            shown = value_text(one.metric.value, one.metric.unit), interval_text(one.metric, one.metric.unit)
            lines.append(table_row(map(escaped, (one.eval, one.metric.name, *shown, str(one.metric.n)))))
        lines += ["", f"Verdict: {self.model.verdict}.", "", "<details><summary>Model, hashes and versions</summary>"]
        lines += ["", "|  |  |", "|---|---|", *(table_row(map(escaped, row)) for row in self.model.config.items())]
        return "\n".join([*lines, "", "</details>"])


def _to_folder(export: _Export, folder: Path) -> str:
    card = folder / CARD
    found = (path for kind in (METRICS, SAMPLES) for path in (folder / kind).rglob("*.parquet"))
    there = {path.relative_to(folder).as_posix() for path in found}
    text = export.card(card.read_text(encoding="utf-8") if card.exists() else "", there)
    for path, file in export.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, folder / path)
    for path in export.stale(there):
        (folder / path).unlink()
    write_text(card, text)
    return str(folder)


def _to_hub(export: _Export, repo: str, private: str | None) -> str:
    """Commit the files to the data set ``repo``, which is made private where it is new unless ``private`` is "no"."""
    hub = Hub(named_by="--to")
    with_retries(lambda: hub.create(repo, private != "no"), time.sleep)
    if private == "yes" and not with_retries(lambda: hub.head(repo), time.sleep).private:
        raise UsageError(f"{repo} already exists, and everybody can see it: make it private on the hub first")
    with_retries(lambda: _commit(export, repo, hub), time.sleep)
    return hub.page(repo)


def _commit(export: _Export, repo: str, hub: Hub) -> None:
    commit = hub.head(repo).commit
    there = {file.path for kind in (METRICS, SAMPLES) for file in hub.files(repo, kind, commit)}
    before = ""
    if (card := hub.file(repo, CARD, commit)) is not None:
        if card.size > _LARGEST_CARD:
            raise FatalError(f"{CARD} of {repo} holds {card.size} bytes, which no card does")
        with TemporaryDirectory() as temporary:
            hub.download(repo, [CARD], commit, Path(temporary))
            before = (Path(temporary) / CARD).read_text(encoding="utf-8")
    files: dict[str, bytes | Path] = {**export.files, CARD: export.card(before, there).encode()}
    hub.commit(repo, files, commit, f"Write {export.own}", export.stale(there))


def _is_folder(place: str) -> bool:
    return place.startswith((".", "~")) or Path(place).is_absolute()


def _path_name(name: str) -> str:
    """``name`` as a part of a path: its own for each, since what had to be changed gets a digest behind it."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", name)[:100]
    # ``datasets`` skips files below a folder that begins with a dot or two underscores.
    return plain if plain == name and plain[:1].isalnum() else f"x{plain}-{sha256(name.encode()).hexdigest()[:8]}"


# Rows


def _metric_rows(model: ExportedModel) -> Iterator[dict[str, Any]]:
    run = {"run": model.record.run, "finished": model.record.finished, "model": model.model, "checkpoint": model.step}
    hashes = ("input_hash", "run_hash", "score_hash")
    for item in model.items:
        of: dict[str, Any] = {"suite": item.suite, "eval": item.eval, "dataset": item.dataset}
        of |= {name: item.hashes.get(name) for name in hashes}
        for metric in item.metrics:
            yield run | of | _numbers(metric) | {"verdict": _verdict(item, metric)}
    for suite in model.record.suites:
        if suite.model == model.model:
            pooled: dict[str, Any] = {"suite": suite.name, **{name: getattr(suite.hashes, name) for name in hashes}}
            yield from (run | pooled | _numbers(metric) for metric in suite.metrics)


def _numbers(metric: MetricRecord) -> dict[str, Any]:
    names = ("scorer", "value", "lower", "upper", "n", "unit", "direction", "method", "signature")
    own = {name: getattr(metric, name) for name in names}
    return {"metric": metric.name, "group": group_text(metric.group), **own}


def _verdict(item: ItemRecord, metric: MetricRecord) -> str | None:
    """The worst that became of what was required of the metric; None where nothing was."""
    headline = item.scorers[0].name
    own = (metric.name, metric.scorer, dict(metric.group))
    lines = (line for line in item.regressions if (line.metric, line.scorer, dict(line.group)) == own)
    found: set[str] = {line.verdict for line in lines}
    for check_ in item.verdicts:
        required = parse(check_.threshold)
        group = dict(required.group)
        scorer = group.pop("scorer", headline)
        if (required.metric, group) == (metric.name, own[2]) and metric.scorer in (None, scorer):
            found.add(check_.status)
    return next((status for status in VERDICTS if status in found), None)


def _sample_rows(model: ExportedModel) -> Iterator[dict[str, Any]]:
    evals = {item.eval for item in model.items}
    for sample in joined(model.folder):
        first = sample.predictions[0]
        if first.model == model.model and first.eval in evals:
            yield _sample_row(model.record.run, sample)


def _sample_row(run: str, sample: Joined) -> dict[str, Any]:
    record = sample_record(sample)
    headline = next(iter(record.scorers.values()), None)
    names = ("eval", "dataset", "model", "sample_id", "epoch", "question", "choices", "reference", "references")
    row = {
        "run": run,
        **{name: getattr(record, name) for name in names},
        "answer": record.text,
        "finish": record.finish,
        "error": record.error,
        "status": headline and headline.status,
        "parsed": headline and headline.value,
        "scores": [
            {
                "scorer": name,
                "status": answer.status,
                "parsed": answer.value,
                "statistics": [{"name": key, "value": value} for key, value in answer.scores.items()],
            }
            for name, answer in record.scorers.items()
        ],
        "metadata": json.dumps(sample.predictions[0].metadata, ensure_ascii=False),
    }
    return {name: writable(value) for name, value in row.items()}


def _sample_schema() -> pyarrow.Schema:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    statistics = pa.list_(pa.struct({"name": text, "value": number}.items()))
    scores = pa.list_(pa.struct({"scorer": text, "status": text, "parsed": text, "statistics": statistics}.items()))
    special = {"epoch": pa.int64(), "choices": pa.list_(text), "references": pa.list_(text), "scores": scores}
    names = "run eval dataset model sample_id epoch question choices reference references answer finish error status"
    return pa.schema([(name, special.get(name, text)) for name in f"{names} parsed scores metadata".split()])


def _metric_schema() -> pyarrow.Schema:
    import pyarrow as pa

    special = {**dict.fromkeys(("checkpoint", "value", "lower", "upper"), pa.float64()), "n": pa.int64()}
    names = "run model checkpoint suite eval dataset metric scorer group value lower upper n unit direction verdict"
    more = "method signature input_hash run_hash score_hash finished"
    return pa.schema([(name, special.get(name, pa.string())) for name in f"{names} {more}".split()])


def _write_shards(rows: Iterable[dict[str, Any]], schema: pyarrow.Schema, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    groups = _row_groups(rows)
    group = next(groups, None)
    for number in count():
        if group is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number:05}.parquet"
        with path.open("wb") as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while group is not None:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group = next(groups, None)
                if file.tell() >= SHARD_BYTES:
                    break


def _row_groups(rows: Iterable[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(group) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group
