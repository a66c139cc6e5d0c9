"""The payload of a submission, made of a finished run: one model, one suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_audiobench.comparison.baseline_of_run import contents_of, lacks
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.suites import HASHES
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.encoding import encode_baseline
from pytest_audiobench.report.run_reader import Run
from pytest_audiobench.sharing.findings import findings_of, top_of
from pytest_audiobench.sharing.submission import SCHEMA, decimal, decimals

Json = Mapping[str, Any]

ALL = ("all",)
"""Every scorer's statistics are evidence."""
_LONGEST = {"notes": 4_000, "tags": 50, "author": 200}
_MOST_TAGS = 20


class About(NamedTuple):
    """What a run does not say of its submission. ``submitted_at`` is ISO 8601 in UTC."""

    submitted_at: str
    submitted_by: str | None = None
    authored_by: str | None = None
    notes: str = ""
    tags: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises UsageError for texts that are too long to be read by anyone."""
        for name, value in (
            ("notes", self.notes),
            ("author", self.authored_by or ""),
            *(("tags", t) for t in self.tags),
        ):
            if len(value) > _LONGEST[name]:
                raise UsageError(f"--{name} has {len(value)} characters, {_LONGEST[name]} at most are kept: shorten it")
        if len(self.tags) > _MOST_TAGS:
            raise UsageError(f"--tags names {len(self.tags)} tags, {_MOST_TAGS} at most are kept: leave some out")


def choose(run: Run, suite: str, model: str) -> tuple[str, str]:
    """The suite and the model's alias that are meant, of those that the run measured; empty means the only one.

    Raises UsageError, which lists them, where there is none or several.
    """
    pairs = [(str(one["name"]), str(one["model"])) for one in run.record["suites"]]
    found = [(name, alias) for name, alias in pairs if suite in ("", name) and model in ("", alias)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{name} by {alias}" for name, alias in pairs) or "nothing"
    wanted = " by ".join(filter(None, (suite, model)))
    told = (
        f"no suite of {run.folder} is {wanted}" if not found else f"{run.folder} holds {len(found)} that may be meant"
    )
    raise UsageError(f"{told}: it measured {listed}; choose by --suite and --model")


def payload_of(run: Run, suite: str, model: str, about: About, evident: Sequence[str] = ALL) -> dict[str, Any]:
    """The payload of what ``model`` did in ``suite``, as :func:`choose` named them.

    ``evident`` names the scorers whose statistics are evidence, beside each eval's first. Raises UsageError for a run
    whose files were edited or cut, and for one whose evals lack hashes.
    """
    about.check()
    contents = contents_of(run, f"the run {run.folder.name}", texts=False)[model]
    try:
        return _payload(run, _evidence(contents, run.record, suite, evident), suite, about)
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise UsageError(
            f"the run {run.folder} cannot be read ({type(error).__name__}: {error}): its files were edited, or another "
            "version wrote it; run again, which asks no model"
        ) from error


def _payload(run: Run, evidence: Contents, suite: str, about: About) -> dict[str, Any]:
    record, model = run.record, evidence.alias
    own = next(one for one in record["suites"] if (one["name"], one["model"]) == (suite, model))
    if not all(own["hashes"].get(name) for name in HASHES):
        raise UsageError(f"{suite} of {run.folder} has no hashes, so nobody could verify it: run it again")
    items = [item for item in record["items"] if _is_of(item, suite, model)]
    metrics, findings = list(_figures(own)), findings_of(items)
    return {
        "schema": SCHEMA,
        "suite": suite,
        "model": {
            "alias": evidence.alias,
            "spec": evidence.spec,
            "digest": evidence.digest,
            "fingerprint": dict(evidence.fingerprint),
        },
        "run": {"name": record["run"], "finished": record["finished"], "version": evidence.version},
        "hashes": {name: own["hashes"][name] for name in HASHES},
        "n": own["n"],
        "epochs": record["epochs"],
        "limit": record["limit"],
        "limited": own["limited"],
        "missing": list(evidence.missing),
        "headline": metrics[0] if metrics else None,
        "metrics": metrics,
        "scorers": _scorers(own),
        "items": [_item(one) for one in items],
        # What a run's perturbations do, and what was found of it, as the run records them.
        "curves": decimals(own.get("curves", [])),
        "perturbations": decimals(own.get("perturbations", [])),
        "findings": findings,
        "top_finding": top_of(findings, evidence),
        "evidence": encode_baseline(evidence).decode(),
        "runtime": decimals(record["runtime"]),
        **about._replace(tags=tuple(about.tags))._asdict(),
        "tags": list(about.tags),
    }


def _is_of(item: Json, suite: str, model: str) -> bool:
    """Whether the suite pools the item (``report/run_files.py``)."""
    measured = item["scorers"] and not item["control"] and item["outcome"] != "skipped"
    return bool(measured) and (item["suite"], item["model"]) == (suite, model)


def _evidence(contents: Contents, record: Json, suite: str, scorers: Sequence[str]) -> Contents:
    """The suite's part of a baseline, without texts."""
    own = next(one for one in record["suites"] if (one["name"], one["model"]) == (suite, contents.alias))
    names = [name for name, side in contents.sides.items() if side.suite == suite]
    items = [one for one in record["items"] if one["suite"] == suite]
    part = replace(
        contents,
        hashes=own["hashes"],
        sides={name: contents.sides[name] for name in names},
        figures={name: contents.figures[name] for name in names},
        missing=lacks({**record, "items": items}, contents.alias),
    )
    return part.reduced(scorers, texts=False)


def _item(item: Json) -> dict[str, Any]:
    return {
        **{name: item[name] for name in ("eval", "dataset", "protocol", "n", "epochs", "limited")},
        "perturbation": decimals(item.get("perturbation")),
        "hashes": dict(item["hashes"]),
        "scorers": _scorers(item),
        "metrics": list(_figures(item)),
    }


def _scorers(owner: Json) -> list[dict[str, Any]]:
    return [{name: one[name] for name in ("name", "signature", "coverage")} for one in owner["scorers"]]


def _figures(owner: Json) -> Iterator[dict[str, Any]]:
    """The owner's metrics over all its samples, by each scorer."""
    for one in owner["metrics"]:
        if one["scorer"] is not None and not one["group"]:
            yield {
                "metric": one["name"],
                **{name: one[name] for name in ("scorer", "signature", "n", "unit", "direction")},
                **{name: decimal(one[name]) for name in ("value", "lower", "upper")},
            }
