"""The hashes of the audiobench tool, as it makes them (its hashing.py): SHA-256 of JSON with sorted keys, in ASCII.

``run_hash`` covers suite, revision, manifest_hash, config and answers, and no audio: what was heard is there by name
only. The manifests of a sound run are not in its file; those of its packs are known here by their digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pytest_audiobench.compat.thenirock_audiobench.artifact import HALLUCINATION, ROBUST, Artifact

BUNDLED = "4b8bf9d8e6e073a96cbb4290b58ebe097beec0de681b6a917735f4a75935a541"
"""The manifest_hash of the ten clips that come with ab/asr-robust 0.1.0."""
PACKS: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("demo",): "56b94861e6ff94718d417838e697fd1ddaafcc6256450bd6c34796c3f9269375",
        ("core",): "01cdcdab71d7de010fe6d4f2c01c5f917664cb24b9bb7bb3fbd6936f56040656",
        ("home",): "eabb06639a414bb72a75d02cdf61c1fda1751ccf1bf70e399695864825cc01c3",
        ("cabin",): "0f41b111fed7ed2706ad11aa4251e85e99f4006b645db1df27f2ce11f7124dc3",
    }
)
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
    names = ["model", "seed", "clip_count", "conditions"]
    own = {name: run.content[name] for name in names}
    if run.suite == HALLUCINATION:
        # Its file does not keep the rate; every manifest of the tool has this one.
        own |= {"condition_key": "domain", "sample_rate": 16000}
    return own


def run_hash(run: Artifact) -> str | None:
    """The run_hash recomputed; None where a manifest is not known here."""
    manifest = manifest_digest(run)
    if manifest is None:
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
