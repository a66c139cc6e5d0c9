"""A run file of THENIROCK's audiobench: known by what it holds, checked before it is used, and its hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.errors import UsageError

ROBUST, HALLUCINATION, SOUND = "ab/asr-robust", "ab/asr-hallucination", "ab/sound-id"
SUITES: Mapping[str, str] = {ROBUST: "asr_robust", HALLUCINATION: "asr_hallucination", SOUND: "sound_id"}
"""Its suites, and what ours are called."""

MOST_BYTES = 64_000_000
"""Its largest of 40 mixtures has 112,800."""

Json: TypeAlias = Mapping[str, Any]

_COMMON = {"suite": str, "revision": str, "model": str, "seed": int, "run_hash": str}
_OF_SUITE: Mapping[str, Mapping[str, type]] = {
    ROBUST: {"manifest_hash": str, "clip_count": int, "conditions": list, "per_condition_wer": dict,
             "per_clip_hypotheses": list},
    HALLUCINATION: {"manifest_hash": str, "clip_count": int, "conditions": list, "per_condition_metrics": dict,
                    "per_clip_results": list},
    SOUND: {"config": dict, "packs": list, "headline": dict, "pack_summaries": dict, "per_mixture": list},
}  # fmt: skip


@dataclass(frozen=True)
class Artifact:
    """A run file."""

    file: Path
    suite: str
    content: Json
    """What :func:`artifact` checked, and much that it did not."""

    @property
    def model(self) -> str:
        return str(self.content["model"])

    @property
    def answers(self) -> Sequence[Json]:
        """What its hash calls hypotheses: clips with transcripts, or mixtures with probes."""
        names = {ROBUST: "per_clip_hypotheses", HALLUCINATION: "per_clip_results", SOUND: "per_mixture"}
        return list(self.content[names[self.suite]])

    def probes(self) -> Iterator[tuple[Json, Json]]:
        """Each probe of a sound run, behind its mixture."""
        for mixture in self.answers:
            yield from ((mixture, probe) for probe in mixture["probes"])


def fits(content: Any) -> bool:
    """Whether ``content`` is a run of one of its three suites."""
    return isinstance(content, dict) and content.get("suite") in tuple(SUITES) and "run_hash" in content


def artifact_at(path: Path) -> Artifact | None:
    """The artifact in the file ``path``; None where it holds anything else. Raises UsageError for a broken one."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return artifact(path, content) if fits(content) else None


def artifact(file: Path, content: Json) -> Artifact:
    """The artifact that ``content`` is. Raises UsageError, naming the place, for what its suite does not write."""
    suite = str(content["suite"])
    try:
        _check("the run", content, {**_COMMON, **_OF_SUITE[suite]})
        run = Artifact(file, suite, content)
        for number, answer in enumerate(run.answers):
            _CHECKS[suite](f"{number}", answer)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise UsageError(f"{file} is not a run of {suite}: {error}; it was edited, or is of another version") from None
    return run


def _check(place: str, value: Any, wanted: Mapping[str, type | tuple[type, ...]]) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"{place} is not an object")
    for name, kind in wanted.items():
        if not isinstance(value.get(name), kind) or (kind is int and isinstance(value.get(name), bool)):
            raise TypeError(f"{place} has no proper {name!r}")


def _texts(place: str, value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise TypeError(f"{place} holds something other than texts")


def _clip(number: str, answer: Any) -> None:
    place = f"per_clip_hypotheses[{number}]"
    _check(place, answer, {"clip_id": (str, int), "file": str, "reference": str, "hypotheses": dict})
    _texts(f"{place}.hypotheses", answer["hypotheses"])


def _result(number: str, answer: Any) -> None:
    place = f"per_clip_results[{number}]"
    _check(place, answer, {"clip_id": (str, int), "reference": str, "metadata": dict, "result": dict})
    _check(f"{place}.metadata", answer["metadata"], {"domain": str})
    _check(f"{place}.result", answer["result"], {"transcript": str})


def _mixture(number: str, answer: Any) -> None:
    place = f"per_mixture[{number}]"
    texts = dict.fromkeys(("pack", "condition", "mixture_name"), str)
    _check(place, answer, {**texts, "components_present": list, "sources": list, "probes": list})
    for at, probe in enumerate(answer["probes"]):
        where = f"{place}.probes[{at}]"
        _check(where, probe, {"label": str, "prompt": str, "raw_answer": str, "expected": bool, "answered_yes": bool})
        for which, paraphrase in enumerate(probe.get("paraphrase_answers", [])):
            kinds = {"prompt": str, "raw_answer": str, "answered_yes": bool}
            _check(f"{where}.paraphrase_answers[{which}]", paraphrase, kinds)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {ROBUST: _clip, HALLUCINATION: _result, SOUND: _mixture}


BUNDLED = "4b8bf9d8e6e073a96cbb4290b58ebe097beec0de681b6a917735f4a75935a541"
"""The manifest_hash of the ten clips that come with ab/asr-robust 0.1.0."""
PACKS: Mapping[tuple[str, ...], str] = {
    ("demo",): "56b94861e6ff94718d417838e697fd1ddaafcc6256450bd6c34796c3f9269375",
    ("core",): "01cdcdab71d7de010fe6d4f2c01c5f917664cb24b9bb7bb3fbd6936f56040656",
    ("home",): "eabb06639a414bb72a75d02cdf61c1fda1751ccf1bf70e399695864825cc01c3",
    ("cabin",): "0f41b111fed7ed2706ad11aa4251e85e99f4006b645db1df27f2ce11f7124dc3",
}
"""Digests of the lists of pack manifests in 0.1.1, by the packs' ids: computed from its data/sound_id/packs."""


def stable_digest(value: Any) -> str:
    """SHA-256 of ``value`` as that tool writes JSON. Raises ValueError or RecursionError for what it could not."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def manifest_digest(run: Artifact) -> str | None:
    """What stands for the manifest in the run's hash; None where the packs are none that are known here."""
    if run.suite in (ROBUST, HALLUCINATION):
        return str(run.content["manifest_hash"])
    return PACKS.get(tuple(map(str, run.content["packs"])))


def config(run: Artifact) -> Mapping[str, Any]:
    """The hashed config: a sound run keeps it, of the others it is put together from the run's own members."""
    if run.suite not in (ROBUST, HALLUCINATION):
        return dict(run.content["config"])
    members = {name: run.content[name] for name in ["model", "seed", "clip_count", "conditions"]}
    if run.suite == HALLUCINATION:
        # Its file does not keep the rate; every manifest of the tool has this one.
        members |= {"condition_key": "domain", "sample_rate": 16000}
    return members


def run_hash(run: Artifact) -> str | None:
    """The run_hash recomputed; None where a manifest is not known here."""
    if (manifest := manifest_digest(run)) is None:
        return None
    return stable_digest(
        {
            "suite": run.suite,
            "revision": run.content["revision"],
            "manifest_hash": manifest,
            "config": config(run),
            "hypotheses": run.answers,
        }
    )
