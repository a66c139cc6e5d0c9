"""A run of ours verified: each item's components, what is built of them, its scores, and the suites."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.curve_records import unperturbed
from pytest_audiobench.evaluation.suites import HASHES, Pool, pooled_hashes
from pytest_audiobench.report.json_lines import read_lines
from pytest_audiobench.report.run_files import LINE_FILES
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.rescoring.rescored_record import run_of
from pytest_audiobench.verification.checks import Check, Checked, Verification, fails, ok, unknown
from pytest_audiobench.verification.clip_checks import PART as CLIPS
from pytest_audiobench.verification.clip_checks import Folders, check_clips
from pytest_audiobench.verification.finding_checks import check_findings
from pytest_audiobench.verification.hash_checks import (
    built_checks,
    line_checks,
    model_digests,
    record_checks,
    stages_of,
    verdict_check,
)
from pytest_audiobench.verification.offered_choices import offered
from pytest_audiobench.verification.prediction_rows import ItemLines, Requests
from pytest_audiobench.verification.score_checks import Key, Numbers, check_scores
from pytest_audiobench.verification.suite_checks import counts, perturbations, pooled_metrics

Json: TypeAlias = Mapping[str, Any]

_RESTS = ("lines", "data", "audio", "answers")
"""What scores are drawn from."""
_NOT_COVERED = (
    "no part covers times, speed, runtime, warnings, verdicts of thresholds and baselines, report.html; a "
    "run whose every hash was made anew holds too: a signature says who made it"
)


def verify_run(run: str | Path, reports: Path, folders: Folders) -> Verification:
    """Recompute what the files of a run tell; ``run`` is its folder, or a name under ``reports``.

    Raises UsageError where there is no run, and where its run.json is none of this version's.
    """
    loaded = load_run(run, reports)
    record = run_of(loaded.folder / LINE_FILES["predictions"])
    assert record is not None
    try:
        return _Run(loaded.folder, record, folders).verified()
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the run {loaded.folder} cannot be verified ({type(error).__name__}: {error}): its record was edited, or "
            "another version wrote it"
        ) from error


class _Run:
    def __init__(self, folder: Path, record: Json, folders: Folders) -> None:
        self._folder, self._record, self._folders = folder, record, folders
        self._digests = model_digests(record)
        for item in record["items"]:
            _check_item(item)
        measured = [item for item in record["items"] if item["scorers"]]
        names = Counter((item["eval"], item["model"]) for item in measured)
        # The lines of two evals of one name cannot be told apart.
        self._twice = {name for name, count in names.items() if count > 1}
        self._items: dict[Key, Json] = {key: item for item in measured if (key := _key(item)) not in self._twice}
        self._checks: dict[Key, list[Check]] = {key: [] for key in self._items}
        self._corrected: dict[Key, dict[str, str]] = {}
        self._files: list[Check] = []

    def verified(self) -> Verification:
        lines = self._read()
        for key, item in self._items.items():
            self._checks[key] = list(self._of_item(key, item, lines[key])) if lines else []
        self._score()
        checked = [Checked("eval", key[0], key[1], own) for key, own in self._checks.items()]
        numbers = Numbers.of(self._record)
        notes = [f"made by other versions than are here: {numbers.changed}"] if numbers.changed else []
        return Verification(
            str(self._folder), [*checked, *self._suites(numbers), self._whole()], [*notes, _NOT_COVERED]
        )

    def _read(self) -> dict[Key, ItemLines]:
        """The lines of predictions.jsonl by item; nothing where the file cannot be read, which is noted."""
        found = {key: ItemLines(item["dataset"], self._requests(item)) for key, item in self._items.items()}
        path = self._folder / LINE_FILES["predictions"]
        names = ("eval", "model", "epoch", "sample_id")
        at = 0
        try:
            for of_sample, rows in groupby(read_lines(path), lambda row: tuple(row[name] for name in names)):
                own = list(rows)
                at += len(own)
                if of_sample[:2] in self._twice:
                    continue
                if of_sample[:2] not in found:
                    raise ValueError(f"{of_sample[0]!r} by {of_sample[1]!r} is no measured eval of run.json")
                found[of_sample[0], of_sample[1]].add(own)
        except FatalError as error:
            self._files.append(fails(path.name, str(error)))
            return {}
        except OSError as error:
            self._files.append(fails(path.name, f"it cannot be read ({error.strerror})"))
            return {}
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            told = f"has no {error}" if isinstance(error, KeyError) else str(error)
            self._files.append(fails(path.name, f"the lines up to {max(at, 1)} are none of this run: {told}"))
            return {}
        self._files.append(ok(path.name))
        return found

    def _requests(self, item: Json) -> Requests:
        stages = {one["name"]: one for one in stages_of(item) or ()}
        # Keys rest on the model and the settings: where these fail they would only fail along.
        sound = all(check.status == "ok" for check, _ in record_checks(item, self._digests, 0) if check.part in _KEYED)
        judges = {one["judge"]: self._digests[one["judge"]] for one in stages.values() if one["judge"] in self._digests}
        own = self._digests.get(item["model"], "")
        plain = unperturbed(item["dataset"], item.get("perturbation"))
        return Requests(stages if sound and own else {}, {**judges, "": own}, offered(item), plain)

    def _of_item(self, key: Key, item: Json, lines: ItemLines) -> Iterator[Check]:
        lines.check(item.get("n"), item.get("epochs"))
        if "lines" in lines.trouble:
            yield fails("lines", lines.trouble["lines"])
            yield unknown("data, audio, prompts, answers", "the lines are not whole")
            checked = list(record_checks(item, self._digests, item.get("epochs", 0)))
        else:
            yield ok("lines")
            checked = [*line_checks(item, lines), *record_checks(item, self._digests, lines.epochs)]
            if (verdicts := verdict_check(item, lines, self._digests)) is not None:
                checked.append(verdicts)
        recomputed = {check.part: found for check, found in checked if found is not None}
        checked += built_checks(item, recomputed)
        self._corrected[key] = {check.part: found for check, found in checked if found is not None}
        yield from _with_requests([check for check, _ in checked], lines)
        failing = {check.part for check, _ in checked if check.status == "fails"}
        if failing.isdisjoint(("audio", "lines")) and "lines" not in lines.trouble:
            yield check_clips(list(lines.clips.values()), self._folders)
        else:
            yield unknown(CLIPS, "their recorded keys fail")

    def _score(self) -> None:
        rests = {
            key: next((one.part for one in own if one.status == "fails" and one.part in _RESTS), None)
            for key, own in self._checks.items()
        }
        readable = self._files[0].status == "ok"
        wanted = {key: self._items[key] for key, part in rests.items() if part != "lines" and readable}
        for key, part in rests.items():
            if part is not None or not readable:
                self._checks[key].append(unknown("scores", f"they rest on the {part or 'lines'}, which fail"))
        numbers = Numbers.of(self._record)
        try:
            for key, checks in check_scores(self._folder, self._record, wanted).items():
                part = rests[key]
                self._checks[key] = (
                    self._checks[key] + checks if part is None else _hinted(self._checks[key], part, checks)
                )
        except FatalError as error:
            self._files.append(fails("line files", str(error)))
        except OSError as error:
            self._files.append(fails("line files", f"{error.filename} cannot be read ({error.strerror})"))
        for key, item in wanted.items():
            if rests[key] is None:
                found = check_findings(self._folder / LINE_FILES["predictions"], key, item, numbers)
                self._checks[key] += [] if found is None else [found]

    def _suites(self, numbers: Numbers) -> Iterator[Checked]:
        """Each suite's hashes and pooled numbers, from its items' hashes and scored lines."""
        pools: dict[Key, Pool] = {}
        items = {key: item for key, item in self._items.items() if item["outcome"] != "skipped" and not item["control"]}
        for item in items.values():
            pools.setdefault((item["suite"], item["model"]), Pool(item["suite"], item["model"]))
        sound = self._pooled(pools, items)
        recorded = {(suite["name"], suite["model"]): suite for suite in self._record["suites"]}
        for key in dict.fromkeys([*pools, *recorded]):
            if any(item["suite"] == key[0] and _key(item) in self._twice for item in self._record["items"]):
                yield Checked("suite", key[0], key[1], [unknown("all parts", "two of its evals have one name")])
                continue
            if key not in pools or key not in recorded:
                where = "run.json lacks it" if key in pools else "run.json holds no item of it"
                yield Checked("suite", key[0], key[1], [fails("suite", where)])
                continue
            own = [each for each, item in items.items() if (item["suite"], item["model"]) == key]
            checks = list(self._pooled_hashes(recorded[key]["hashes"], own))
            if sound is None:
                found = json.loads(json.dumps(pools[key].record().to_json()))
                checks += counts(recorded[key], found, self._holding(own, "lines", "scorers"), numbers)
                checks += perturbations(recorded[key], found, self._holding(own, "lines", "metrics"), numbers)
                checks += pooled_metrics(recorded[key], found, numbers)
            else:
                checks.append(unknown("metrics", sound))
            yield Checked("suite", key[0], key[1], checks)

    def _holding(self, own: list[Key], *parts: str) -> bool:
        """Whether these parts of a suite's evals hold, which some of its figures are drawn from."""
        failing = {check.part for key in own for check in self._checks[key] if check.status == "fails"}
        return failing.isdisjoint(parts)

    def _pooled(self, pools: Mapping[Key, Pool], items: Mapping[Key, Json]) -> str | None:
        """Add the scored lines to ``pools``; returns why not, where they fail."""
        if any(check.part == "scored" and check.status == "fails" for own in self._checks.values() for check in own):
            return "they rest on the scored lines, which fail"
        path = self._folder / LINE_FILES["scored"]
        try:
            for key, rows in groupby(read_lines(path), lambda row: (row["eval"], row["model"])):
                if key in items:
                    pools[items[key]["suite"], key[1]].add(items[key], rows)
        except (FatalError, OSError, KeyError, TypeError, AttributeError, ValueError):
            return f"{path.name} cannot be read as a run's"
        return None

    def _pooled_hashes(self, recorded: Any, own: list[Key] | None = None) -> Iterator[Check]:
        if own is None:
            items = [item for item in self._record["items"] if item["outcome"] != "skipped"]
        else:
            items = [self._items[key] for key in own]
        as_recorded = pooled_hashes(items)
        corrected = pooled_hashes(
            [{"hashes": self._corrected.get((item["eval"], item["model"]), item["hashes"])} for item in items]
        )
        for name in HASHES:
            told = recorded.get(name) if isinstance(recorded, dict) else None
            good = told in (as_recorded[name], corrected[name])
            yield ok(name) if good else fails(name, f"it is not that of the {len(items)} items' hashes")

    def _whole(self) -> Checked:
        checks = [*self._files, *self._pooled_hashes(self._record.get("hashes"))]
        for eval_, model in sorted(self._twice):
            checks.append(unknown("items", f"{eval_} by {model} is there twice, and neither was checked"))
        return Checked("run", str(self._record.get("run")), "", checks)


_KEYED = ("settings", "model")
_ASKED = ("data", "audio", "prompts", "verdicts")
"""What shows in the key of a request: where it fails, the key tells the sample."""
_OUTCOMES = ("passed", "failed", "skipped", "lost")


def _key(item: Json) -> Key:
    return item["eval"], item["model"]


def _check_item(item: Json) -> None:
    """Raises ValueError for values of a record that no run writes, where scoring again does not look at them."""
    for name, kind in (("n", int), ("epochs", int), ("limited", bool), ("control", bool)):
        if type(item.get(name)) is not kind:
            raise ValueError(f"{name} of {item['eval']!r} is {item.get(name)!r}")
    if item.get("outcome") not in _OUTCOMES:
        raise ValueError(f"the outcome of {item['eval']!r} is {item.get('outcome')!r}")
    if not all(isinstance(value, str) for value in item["hashes"].values()):
        raise ValueError(f"a hash of {item['eval']!r} is no text")


def _with_requests(checks: list[Check], lines: ItemLines) -> Iterator[Check]:
    """The checks with that of the requests' keys, which names the sample where what was asked fails."""
    told = lines.trouble.get("requests")
    first = next((one for one in checks if one.status == "fails" and one.part in _ASKED), None)
    for check in checks:
        yield check._replace(detail=f"{check.detail}; {told}") if told and check is first else check
    if told and first is None:
        yield fails("requests", told)
    elif told or not lines.requests:
        yield unknown("requests", "what they are made of fails, or an earlier version did not keep it")
    else:
        yield ok("requests")


def _hinted(own: list[Check], part: str, scores: list[Check]) -> list[Check]:
    """The checks of an eval whose ``part`` fails, with the first line that is scored otherwise for it: a hash says that
    something was changed, and not where.
    """
    told = next((one.detail for one in scores if one.status == "fails" and one.part in ("processed", "scored")), None)
    if told is None:
        return own
    return [one._replace(detail=f"{one.detail}; {told}") if one.part == part else one for one in own]
