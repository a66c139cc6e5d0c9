"""The packs that come with the package: the bundled sounds, and scenarios of bundled and of computed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pytest_audiobench.audio import synthesis
from pytest_audiobench.audio.clip import Clip, SynthesisSource
from pytest_audiobench.audio.synthesis.scenarios import SCENARIO_MAKERS, scenario
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.packs.clips import ClipsByLabel, clips_by_label
from pytest_audiobench.datasets.packs.pack import Pack, PackManifest, pack_of, read_manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError

_DEMO = PackManifest(
    "demo",
    title="The bundled sounds",
    source="procedural (bundled)",
    license="CC0-1.0",
    license_tag="open",
    scope_note="Ten computed sounds, eight clips of each; no recordings.",
    clip_resolver="procedural",
)
_CLIPS = 8
"""Of each label, as of each bundled sound."""
_DURATION_S, _LEVEL_DB = 2.0, -34.0
_COMPUTED: Mapping[str, Callable[[int], SynthesisSource]] = {
    "car_horn": lambda seed: synthesis.everyday("car horn", _DURATION_S, seed, _LEVEL_DB),
    "crying_baby": lambda seed: scenario("baby_cry", _DURATION_S, seed, _LEVEL_DB),
    "dog_bark": lambda seed: synthesis.everyday("dog", _DURATION_S, seed, _LEVEL_DB),
    "music": lambda seed: synthesis.arpeggio(_DURATION_S, seed, 196.0 + 12 * seed, mode=("major", "minor")[seed % 2]),
    **{
        label: partial(lambda label, seed: scenario(label, _DURATION_S, seed, _LEVEL_DB), label)
        for label in SCENARIO_MAKERS
    },
}


def procedural_pack(path: Path, places: Places, where: str) -> Pack:
    """The pack of a manifest whose labels come with the package."""
    manifest = read_manifest(path)
    clips = clips_by_label(bundled("sounds"), "sound", places)
    if manifest.labels:
        clips = {**_further_clips(places), **clips}
    if unknown := [label for label in manifest.labels if label not in clips]:
        raise UsageError(
            f"{path}: its labels {', '.join(unknown)} are not among the sounds that come with this "
            f"package ({', '.join(clips)}); give the pack clips of its own, with the clip_resolver user-cache"
        )
    return pack_of(manifest, clips, where)


def _further_clips(places: Places) -> ClipsByLabel:
    """The clips of every label that is bundled in addition to those of ``bundled("sounds")``, by label."""
    speech = bundled("transcription").read(places)
    spoken = [sample.clips[0] for sample in speech if sample.metadata.get("language") == "en"]
    computed = {label: tuple(Clip(make(seed)) for seed in range(_CLIPS)) for label, make in _COMPUTED.items()}
    return {**computed, "speech": tuple(spoken[:_CLIPS])}


BUNDLED: dict[str, Callable[[Places], Pack]] = {
    "demo": lambda places: pack_of(_DEMO, clips_by_label(bundled("sounds"), "sound", places), "bundled")
}
"""The packs that come with the package; no other may take their names."""
SCENARIOS = {path.stem: path for path in sorted(Path(__file__).with_name("scenarios").glob("*.json"))}
"""The manifests of packs that come with the package, of computed sounds; a user's of the same name takes precedence."""
