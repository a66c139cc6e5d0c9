"""The verification of a run: each item's hashes and scores, and the suites; and of whatever a user names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from pytest_audiobench.compat.thenirock_audiobench.artifact import artifact_at
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.order_figures import OrderedAnswer, order_figures, ordered_answers
from pytest_audiobench.evaluation.perturbation_series import ORDER, unperturbed
from pytest_audiobench.evaluation.suites import HASHES, Pool, is_pooled, pooled_hashes
from pytest_audiobench.records.lines import LINE_FILES, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.reading import as_read, read_lines
from pytest_audiobench.records.run import ItemRecord, OrdersRecord, PooledHashes, RunRecord
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.verifier import hash_checks, score_checks
from pytest_audiobench.verifier.artifact_verification import verify_artifact
from pytest_audiobench.verifier.checks import Check, CheckedItem, Verification, fails, not_recomputed, ok
from pytest_audiobench.verifier.clip_checks import PART as CLIPS
from pytest_audiobench.verifier.clip_checks import Folders, check_clips
from pytest_audiobench.verifier.prediction_rows import ItemLines, Requests

_Row = TypeVar("_Row", PredictionRow, ProcessedRow, ScoredRow)
_RESTS = ("lines", "data", "audio", "answers")
"""What scores are drawn from."""
_NOT_COVERED = (
    "no part covers times, speed, runtime, warnings, verdicts of thresholds and baselines, report.html; a "
    "run whose every hash was made again holds too: a signature says who made it"
)


def verify_run(run: str | Path, reports: Path, folders: Folders) -> Verification:
    """Recompute what the files of a run say; ``run`` is its folder, or a name under ``reports``.

    Raises UsageError where there is no run, and where its run.json is not one of this version's.
    """
    loaded = load_run(run, reports)
    try:
        return _Run(loaded.folder, loaded.record, folders).verified()
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the run {loaded.folder} cannot be verified ({type(error).__name__}: {error}): its record was edited"
        ) from error


class _Run:
    def __init__(self, folder: Path, record: RunRecord, folders: Folders) -> None:
        self._folder, self._record, self._folders = folder, record, folders
        self._digests = hash_checks.model_digests(record)
        measured = [item for item in record.items if item.scorers]
        names = Counter(map(_key, measured))
        # The lines of two evals of one name cannot be distinguished.
        self._twice = {name for name, count in names.items() if count > 1}
        self._items: dict[score_checks.Key, ItemRecord] = {
            key: item for item in measured if (key := _key(item)) not in self._twice
        }
        self._checks: dict[score_checks.Key, list[Check]] = {key: [] for key in self._items}
        self._corrected: dict[score_checks.Key, dict[str, str]] = {}
        self._files: list[Check] = []

    def verified(self) -> Verification:
        lines = self._item_lines()
        for key, item in self._items.items():
            self._checks[key] = list(self._of_item(key, item, lines[key])) if lines else []
        self._score()
        checked = [CheckedItem("eval", key[0], key[1], checks) for key, checks in self._checks.items()]
        numbers = score_checks.Numbers.of(self._record)
        notes = [f"made by other versions than are here: {numbers.changed}"] if numbers.changed else []
        checked += [*self._suites(numbers), self._whole()]
        return Verification(str(self._folder), checked, [*notes, _NOT_COVERED])

    def _item_lines(self) -> dict[score_checks.Key, ItemLines]:
        items = {
            key: ItemLines(item.dataset, self._requests(item), item.epochs > 1) for key, item in self._items.items()
        }
        path = self._folder / LINE_FILES["predictions"]
        at = 0
        try:
            for _, rows in groupby(read_lines(path, PredictionRow), lambda row: (_key(row), row.epoch, row.sample_id)):
                sample_rows = list(rows)
                at += len(sample_rows)
                if (key := _key(sample_rows[0])) in self._twice:
                    continue
                if key not in items:
                    raise ValueError(f"{key[0]!r} by {key[1]!r} is not a measured eval of run.json")
                items[key].add(sample_rows)
        except FatalError as error:
            self._files.append(fails(path.name, str(error)))
            return {}
        except OSError as error:
            self._files.append(fails(path.name, f"it cannot be read ({error.strerror})"))
            return {}
        except ValueError as error:
            self._files.append(fails(path.name, f"the lines up to {max(at, 1)} are not among this run: {error}"))
            return {}
        self._files.append(ok(path.name))
        return items

    def _requests(self, item: ItemRecord) -> Requests:
        stages = {stage.name: stage for stage in item.stages}
        # Keys rest on the model and the settings: where these fail they would only fail along.
        sound = all(
            check.status == "ok"
            for check, _ in hash_checks.record_checks(item, self._digests, 0)
            if check.part in _KEYED
        )
        named = {stage.judge for stage in stages.values()}
        judges = {alias: digest for alias, digest in self._digests.items() if alias in named}
        digest = self._digests.get(item.model, "")
        plain = unperturbed(item.dataset, item.perturbation)
        return Requests(
            stages if sound and digest else {}, {**judges, "": digest}, hash_checks.offered_choices(item), plain
        )

    def _of_item(self, key: score_checks.Key, item: ItemRecord, lines: ItemLines) -> Iterator[Check]:
        lines.check(item.n, item.epochs)
        if "lines" in lines.trouble:
            yield fails("lines", lines.trouble["lines"])
            yield not_recomputed("data, audio, prompts, answers", "the lines are not whole")
            checked = list(hash_checks.record_checks(item, self._digests, item.epochs))
        else:
            yield ok("lines")
            checked = [
                *hash_checks.line_checks(item, lines),
                *hash_checks.record_checks(item, self._digests, lines.epochs),
            ]
            if (verdicts := hash_checks.verdict_check(item, lines, self._digests)) is not None:
                checked.append(verdicts)
        checked += hash_checks.built_checks(
            item, {check.part: digest for check, digest in checked if digest is not None}
        )
        self._corrected[key] = {check.part: digest for check, digest in checked if digest is not None}
        yield from _with_requests([check for check, _ in checked], lines)
        failing = {check.part for check, _ in checked if check.status == "fails"}
        if failing.isdisjoint(("audio", "lines")) and "lines" not in lines.trouble:
            yield check_clips(lines.clips, self._folders)
        else:
            yield not_recomputed(CLIPS, "their recorded keys fail")

    def _score(self) -> None:
        rests = {
            key: next((check.part for check in checks if check.status == "fails" and check.part in _RESTS), None)
            for key, checks in self._checks.items()
        }
        readable = self._files[0].status == "ok"
        wanted = {key: self._items[key] for key, part in rests.items() if part != "lines" and readable}
        for key, part in rests.items():
            if part is not None or not readable:
                self._checks[key].append(not_recomputed("scores", f"they rest on the {part or 'lines'}, which fail"))
        numbers = score_checks.Numbers.of(self._record)
        try:
            for key, checks in score_checks.check_scores(self._folder, self._record, wanted).items():
                part = rests[key]
                before = self._checks[key]
                self._checks[key] = before + checks if part is None else _hinted(before, part, checks)
        except FatalError as error:
            self._files.append(fails("line files", str(error)))
        except OSError as error:
            self._files.append(fails("line files", f"{error.filename} cannot be read ({error.strerror})"))
        for key, item in wanted.items():
            if rests[key] is None:
                finding_check = score_checks.check_findings(
                    self._folder / LINE_FILES["predictions"], key, item, numbers
                )
                self._checks[key] += [] if finding_check is None else [finding_check]

    def _suites(self, numbers: score_checks.Numbers) -> Iterator[CheckedItem]:
        pools: dict[score_checks.Key, Pool] = {}
        items = {key: item for key, item in self._items.items() if is_pooled(item)}
        for item in items.values():
            if not item.control:
                pools.setdefault((item.suite, item.model), Pool(item.suite, item.model))
        items = {key: item for key, item in items.items() if (item.suite, item.model) in pools}
        sound = self._pooled(pools, items)
        recorded = {(suite.name, suite.model): suite for suite in self._record.suites}
        for key in dict.fromkeys([*pools, *recorded]):
            if any(item.suite == key[0] and _key(item) in self._twice for item in self._record.items):
                yield CheckedItem("suite", *key, [not_recomputed("all parts", "two of its evals have one name")])
                continue
            if key not in pools or key not in recorded:
                where = "run.json lacks it" if key in pools else "run.json holds no item of it"
                yield CheckedItem("suite", *key, [fails("suite", where)])
                continue
            keys = [each for each, item in items.items() if (item.suite, item.model) == key and not item.control]
            checks = list(self._pooled_hashes(recorded[key].hashes, keys))
            if sound is None:
                members = [item for item in items.values() if (item.suite, item.model) == key]
                recomputed = as_read(replace(pools[key].record(), orders=self._orders(members)))
                checks.append(
                    score_checks.count_checks(recorded[key], recomputed, self._holding(keys, "lines", "scorers"))
                )
                sound_metrics = self._holding(keys, "lines", "metrics")
                checks += score_checks.perturbation_checks(recorded[key], recomputed, sound_metrics, numbers)
                if sound_metrics:
                    checks += score_checks.figure_check(members, recomputed, numbers)
                checks += score_checks.pooled_metric_checks(recorded[key], recomputed, numbers)
            else:
                checks.append(not_recomputed("metrics", sound))
            yield CheckedItem("suite", key[0], key[1], checks)

    def _orders(self, items: Sequence[ItemRecord]) -> list[OrdersRecord]:
        if not any(item.perturbation and item.perturbation.family == ORDER for item in items):
            return []
        wanted = {_key(item) for item in items if item.perturbation is not None}
        predictions = self._rows("predictions", PredictionRow, wanted)
        processed, scored = self._rows("processed", ProcessedRow, wanted), self._rows("scored", ScoredRow, wanted)

        def answers(item: ItemRecord) -> Iterator[OrderedAnswer]:
            key = _key(item)
            return ordered_answers(item, predictions[key], processed[key], scored[key])

        return order_figures(items, answers)

    def _rows(
        self, kind: str, row: type[_Row], keys: Collection[score_checks.Key]
    ) -> Mapping[score_checks.Key, list[_Row]]:
        lines = read_lines(self._folder / LINE_FILES[kind], row)
        return {key: list(rows) for key, rows in groupby(lines, _key) if key in keys}

    def _holding(self, keys: list[score_checks.Key], *parts: str) -> bool:
        failing = {check.part for key in keys for check in self._checks[key] if check.status == "fails"}
        return failing.isdisjoint(parts)

    def _pooled(
        self, pools: Mapping[score_checks.Key, Pool], items: Mapping[score_checks.Key, ItemRecord]
    ) -> str | None:
        if not self._holding(list(self._checks), "scored"):
            return "they rest on the scored lines, which fail"
        path = self._folder / LINE_FILES["scored"]
        try:
            for key, rows in groupby(read_lines(path, ScoredRow), _key):
                if key in items:
                    pools[items[key].suite, key[1]].add(items[key], rows)
        except (FatalError, OSError, LookupError, ValueError):
            return f"{path.name} cannot be read as a run's"
        return None

    def _pooled_hashes(self, recorded: PooledHashes, keys: list[score_checks.Key] | None = None) -> Iterator[Check]:
        if keys is None:
            items = [item for item in self._record.items if item.outcome != "skipped"]
        else:
            items = [self._items[key] for key in keys]
        as_recorded = pooled_hashes(items)
        corrected = pooled_hashes([_Corrected(self._corrected.get(_key(item), item.hashes)) for item in items])
        for name in HASHES:
            good = getattr(recorded, name) in (getattr(as_recorded, name), getattr(corrected, name))
            yield ok(name) if good else fails(name, f"it is not that of the {len(items)} items' hashes")

    def _whole(self) -> CheckedItem:
        checks = [*self._files, *self._pooled_hashes(self._record.hashes)]
        for eval_, model in sorted(self._twice):
            checks.append(not_recomputed("items", f"{eval_} by {model} is there twice, and neither was checked"))
        return CheckedItem("run", self._record.run, "", checks)


_KEYED = ("settings", "model")
_ASKED = ("data", "audio", "prompts", "verdicts")
"""What shows in the key of a request: where it fails, the key tells the sample."""


class _Corrected(NamedTuple):
    hashes: Mapping[str, str]


def _key(record: ItemRecord | PredictionRow | ProcessedRow | ScoredRow) -> score_checks.Key:
    return record.eval, record.model


def _with_requests(checks: list[Check], lines: ItemLines) -> Iterator[Check]:
    """The checks with that of the requests' keys, which names the sample where what was asked fails."""
    trouble = lines.trouble.get("requests")
    first = next((failing for failing in checks if failing.status == "fails" and failing.part in _ASKED), None)
    for check in checks:
        yield check._replace(detail=f"{check.detail}; {trouble}") if trouble and check is first else check
    if trouble and first is None:
        yield fails("requests", trouble)
    elif trouble or not lines.requests:
        yield not_recomputed("requests", "what they are made of fails, or was not recorded")
    else:
        yield ok("requests")


def _hinted(checks: list[Check], part: str, scores: list[Check]) -> list[Check]:
    """The checks of an eval whose ``part`` fails, with the first line scored otherwise: a hash says not where."""
    hints = [check.detail for check in scores if check.status == "fails" and check.part in ("processed", "scored")]
    if not hints:
        return checks
    return [check._replace(detail=f"{check.detail}; {hints[0]}") if check.part == part else check for check in checks]


def verify(named: str, reports: Path, folders: Folders) -> Verification:
    """Verify the run or artifact that ``named`` is: a folder, a run.json, a name under ``reports``, a file.

    Raises UsageError where there is nothing of that name that can be verified.
    """
    path = Path(named)
    if path.name == RECORD and path.is_file():
        return verify_run(path.parent, reports, folders)
    if path.is_file():
        if (artifact := artifact_at(path)) is None:
            raise UsageError(f"{path} is neither a run's {RECORD} nor a run file of audiobench: name one of these")
        return verify_artifact(artifact, folders)
    return verify_run(named, reports, folders)
