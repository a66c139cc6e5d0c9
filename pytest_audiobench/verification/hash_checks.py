"""An item's hashes recomputed: components from its lines and its record, and what is built of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pytest_audiobench.evaluation.hashes import ABSENT, INPUTS
from pytest_audiobench.identity import digest, digest_of_trusted
from pytest_audiobench.protocols.protocol import WEIGHING
from pytest_audiobench.verification.checks import Check, fails, ok, same, unknown
from pytest_audiobench.verification.prediction_rows import ItemLines

Json: TypeAlias = Mapping[str, Any]

SUBJECT = "subject"


def model_digests(record: Json) -> dict[str, str]:
    """The digests of a run's models and judges by alias, recomputed from what it says of them, where it says enough."""
    found = {}
    for model in record["models"]:
        try:
            if "heard" in model and "batches" in model:
                told = {name: model[name] for name in ("fingerprint", "heard", "batches")}
                found[model["alias"]] = digest(told)
            elif str(model["spec"]).startswith("recorded:"):
                found[model["alias"]] = digest({"fingerprint": model["fingerprint"]})
        except (TypeError, ValueError, KeyError):
            # A fingerprint that no run could have hashed is none to recompute by.
            continue
    return found


def stages_of(item: Json) -> list[Json] | None:
    """An item's stages; None for a run that does not keep them, and for what is no list of stages."""
    stages = item.get("stages")
    wanted = {"name": str, "role": str, "task": str, "settings": dict, "judge": str}
    if not stages or not all(
        isinstance(one, dict) and all(isinstance(one.get(name), kind) for name, kind in wanted.items())
        for one in stages
    ):
        return None
    return list(stages)


def record_checks(item: Json, digests: Mapping[str, str], epochs: int) -> Iterator[tuple[Check, str | None]]:
    """The components that the record alone tells, each with its recomputed hash: settings, seeds, model, protocols.

    ``epochs`` are those that the lines hold.
    """
    hashes = item["hashes"]
    yield _settings(item, digests)
    yield _of("seeds", hashes.get("seeds"), digest({"epochs": epochs}))
    found = digests.get(item["model"])
    if found is None:
        yield unknown("model", "run.json does not say what the model's digest is made of"), None
    else:
        yield _of("model", hashes.get("model"), found)
    told = [[str(one["name"]).partition("@")[0], one["signature"]] for one in item["scorers"]]
    yield _of("protocols", hashes.get("protocols"), digest_of_trusted(told))


def _settings(item: Json, digests: Mapping[str, str]) -> tuple[Check, str | None]:
    recorded, stages = item["hashes"].get("settings"), stages_of(item)
    if recorded == ABSENT:
        return unknown("settings", "they were not known when these answers were scored"), None
    if stages is None and item.get("stages"):
        return fails("settings", "the stages in run.json are none"), None
    if stages is None:
        return unknown("settings", "run.json does not keep the stages: an earlier version wrote it"), None
    answering = [one for one in stages if one["role"] not in WEIGHING]
    if not all(one["role"] == SUBJECT or one["judge"] in digests for one in answering):
        return unknown("settings", "run.json does not say who rewrote what the model was shown"), None
    asked = [
        [
            *(one["name"], one["role"], one["task"], one["settings"]),
            *([] if one["role"] == SUBJECT else [digests[one["judge"]], one.get("version")]),
        ]
        for one in answering
    ]
    return _of("settings", recorded, digest_of_trusted(asked))


def line_checks(item: Json, lines: ItemLines) -> Iterator[tuple[Check, str | None]]:
    """The components that the lines tell, each with its recomputed hash: data, audio, prompts, answers."""
    for part, found in lines.hashes.items():
        recorded = item["hashes"].get(part)
        if recorded == ABSENT and (part != "audio" or found == ABSENT):
            yield unknown(part, "no clip's identity is recorded" if part == "audio" else "nobody recorded it"), None
        elif part in lines.trouble and recorded == found:
            yield fails(part, lines.trouble[part]), found
        else:
            yield _of(part, recorded, found)


def verdict_check(item: Json, lines: ItemLines, digests: Mapping[str, str]) -> tuple[Check, str | None] | None:
    """What the judges said; None for an item that has none."""
    recorded, stages = item["hashes"].get("verdicts"), stages_of(item)
    if recorded is None and not lines.verdicts:
        return None
    if recorded is None:
        return unknown("verdicts", "the run's hashes do not cover them"), None
    judging = [one for one in stages or () if one["role"] in WEIGHING]
    if stages is None or not all(one["judge"] in digests for one in judging):
        return unknown("verdicts", "run.json does not say how the judges were asked, or who they are"), None
    told = [
        [
            one["name"].partition("@")[0],
            one["role"],
            one["settings"],
            digests[one["judge"]],
            lines.verdicts.get(one["name"], []),
        ]
        for one in judging
    ]
    return _of("verdicts", recorded, digest_of_trusted(told))


def built_checks(item: Json, recomputed: Mapping[str, str]) -> Iterator[tuple[Check, str | None]]:
    """The three hashes that are built of components.

    A hash holds where it follows from the components as recorded or as recomputed: what is wrong below it is told
    there, and only there.
    """
    recorded = item["hashes"]
    corrected = {**recorded, **recomputed}
    input_parts = ("input_hash", (*INPUTS,), {"dataset": item["dataset"]})
    scored = ("run_hash", "protocols", *(["verdicts"] if "verdicts" in recorded else []))
    for name, parts, more in (
        input_parts,
        ("run_hash", ("input_hash", "answers"), {}),
        ("score_hash", scored, {}),
    ):
        found = [
            digest_of_trusted({**more, **{part: own.get(part) for part in parts}}) for own in (corrected, recorded)
        ]
        corrected[name] = found[0]
        check = ok(name) if recorded.get(name) in found else same(name, recorded.get(name), found[0])
        yield check, recorded[name] if check.status == "ok" else found[0]


def _of(part: str, recorded: Any, found: str) -> tuple[Check, str]:
    return same(part, recorded, found), found
