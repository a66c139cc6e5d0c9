"""The checks of an item's hashes: components from its lines and its record, and what is built of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.hashes import ABSENT, INPUTS
from pytest_audiobench.identity import digest, digest_of_trusted
from pytest_audiobench.protocols.protocol import WEIGHING
from pytest_audiobench.records.lines import PredictionRow
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.rescoring.rescore import protocol_of
from pytest_audiobench.verifier.checks import Check, fails, not_recomputed, ok, same
from pytest_audiobench.verifier.prediction_rows import ItemLines

SUBJECT = "subject"


def model_digests(record: RunRecord) -> dict[str, str]:
    """The digests of a run's models and judges by alias, recomputed from what it says of them."""
    digests = {}
    for model in record.models:
        played = {} if model.spec.startswith("recorded:") else {"heard": model.heard, "batches": model.batches}
        # A fingerprint that no run could have hashed is none to recompute by.
        with suppress(TypeError, ValueError):
            digests[model.alias] = digest({"fingerprint": model.fingerprint, **played})
    return digests


def record_checks(item: ItemRecord, digests: Mapping[str, str], epochs: int) -> Iterator[tuple[Check, str | None]]:
    """The components that the record alone gives, each with its recomputed hash: settings, seeds, model, protocols.

    ``epochs`` are those that the lines hold.
    """
    hashes = item.hashes
    yield _settings(item, digests)
    yield _component("seeds", hashes.get("seeds"), digest({"epochs": epochs}))
    if item.model not in digests:
        yield not_recomputed("model", "run.json does not say what the model's digest is made of"), None
    else:
        yield _component("model", hashes.get("model"), digests[item.model])
    signatures = [[scorer.name.partition("@")[0], scorer.signature] for scorer in item.scorers]
    yield _component("protocols", hashes.get("protocols"), digest_of_trusted(signatures))


def _settings(item: ItemRecord, digests: Mapping[str, str]) -> tuple[Check, str | None]:
    if (recorded := item.hashes.get("settings")) == ABSENT:
        return not_recomputed("settings", "they were not known when these answers were scored"), None
    answering = [stage for stage in item.stages if stage.role not in WEIGHING]
    if not all(stage.role == SUBJECT or stage.judge in digests for stage in answering):
        return not_recomputed("settings", "run.json does not say who rewrote what the model was shown"), None
    payload: list[list[object]] = []
    for stage in answering:
        rewriter = [] if stage.role == SUBJECT else [digests[stage.judge], stage.version]
        payload.append([stage.name, stage.role, stage.task, stage.settings, *rewriter])
    return _component("settings", recorded, digest_of_trusted(payload))


def line_checks(item: ItemRecord, lines: ItemLines) -> Iterator[tuple[Check, str | None]]:
    """The components that the lines give, each with its recomputed hash: data, audio, prompts, answers."""
    for part, recomputed in lines.hashes.items():
        recorded = item.hashes.get(part)
        if recorded == ABSENT and (part != "audio" or recomputed == ABSENT):
            why = "no clip's identity is recorded" if part == "audio" else "it was not recorded"
            yield not_recomputed(part, why), None
        elif part in lines.trouble and recorded == recomputed:
            yield fails(part, lines.trouble[part]), recomputed
        else:
            yield _component(part, recorded, recomputed)


def verdict_check(item: ItemRecord, lines: ItemLines, digests: Mapping[str, str]) -> tuple[Check, str | None] | None:
    """What the judges said; None for an item that has none."""
    if (recorded := item.hashes.get("verdicts")) is None and not lines.verdicts:
        return None
    if recorded is None:
        return not_recomputed("verdicts", "the run's hashes do not cover them"), None
    judging = [stage for stage in item.stages if stage.role in WEIGHING]
    if not all(stage.judge in digests for stage in judging):
        return not_recomputed("verdicts", "run.json does not say who the judges are"), None
    payload: list[list[object]] = []
    for stage in judging:
        verdicts = lines.verdicts.get(stage.name, [])
        payload.append([stage.name.partition("@")[0], stage.role, stage.settings, digests[stage.judge], verdicts])
    return _component("verdicts", recorded, digest_of_trusted(payload))


def built_checks(item: ItemRecord, recomputed: Mapping[str, str]) -> Iterator[tuple[Check, str | None]]:
    """The three hashes that are built of components.

    A hash holds where it follows from the components as recorded or as recomputed: what is wrong below it is told
    there, and only there.
    """
    recorded = item.hashes
    corrected = {**recorded, **recomputed}
    input_parts = ("input_hash", (*INPUTS,), {"dataset": item.dataset})
    scored = ("run_hash", "protocols", *(["verdicts"] if "verdicts" in recorded else []))
    for name, parts, more in (input_parts, ("run_hash", ("input_hash", "answers"), {}), ("score_hash", scored, {})):
        payloads = [{**more, **{part: hashes.get(part) for part in parts}} for hashes in (corrected, recorded)]
        candidates = [digest_of_trusted(payload) for payload in payloads]
        corrected[name] = candidates[0]
        check = ok(name) if recorded.get(name) in candidates else same(name, recorded.get(name), candidates[0])
        yield check, recorded[name] if check.status == "ok" else candidates[0]


def _component(part: str, recorded: str | None, recomputed: str) -> tuple[Check, str]:
    return same(part, recorded, recomputed), recomputed


def offered_choices(item: ItemRecord) -> Callable[[PredictionRow], Sequence[str]]:
    """A function that tells a row's choices: the sample's own, or what the stage of ``item``'s protocol offers."""
    try:
        protocol = protocol_of(item.protocol, item.options)
    except UsageError:
        # A protocol of a test's own: its stages' offers are not known, the samples' choices are.
        return lambda row: row.choices
    offers = {stage.name: stage for stage in protocol.stages if stage.offers is not None}

    def choices(row: PredictionRow) -> Sequence[str]:
        stage = offers.get(row.stage)
        if row.choices or stage is None:
            return row.choices
        return stage.choices(Sample(row.sample_id, (), row.question, metadata=row.metadata))

    return choices
