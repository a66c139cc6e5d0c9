"""Data sets and perturbations by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.errors import UsageError
from pytest_audiobench.extensions import call_named, imported, lookup

Loader: TypeAlias = Callable[..., Dataset]

SUFFIX = ".audiobench.toml"
"""Of the files that declare a benchmark each."""

_PACKAGE = Path(__file__).resolve().parents[1]

LOADERS: dict[str, str | Loader | Dataset | Path] = {
    "bundled": "datasets.bundled:bundled",
    "faithfulness_study": "compat.faithfulness_study.manifest:faithfulness_study",
    "non_speech": "datasets.non_speech:non_speech",
    "non_speech_recordings": "datasets.non_speech:non_speech_recordings",
    "soundscape": "datasets.soundscape.published:soundscape",
    "soundscape_scenes": "datasets.soundscape.scenes:soundscape_scenes",
    "sound_id": "datasets.packs.sound_id:sound_id",
}
"""What reads each data set: a function of this package by its place, a declaration, or what was registered."""

# A wheel has the evals inside the package, a checkout next to it.
for _folder in (_PACKAGE / "evals", _PACKAGE.parent / "evals"):
    LOADERS.update((file.name.removesuffix(SUFFIX), file) for file in sorted(_folder.glob(f"*{SUFFIX}")))

OWN = frozenset(LOADERS)
"""The names of this package."""

PERTURBATIONS = {
    "audiobench": "datasets.perturbations.catalogue:audiobench_perturbations",
    "controls": "datasets.perturbations.interventions:controls",
    "early_answering": "datasets.perturbations.reasoning:early_answering",
    "injections": "datasets.perturbations.injections:injections",
    "ladder": "datasets.perturbations.catalogue:ladder",
    "masked_parts": "datasets.perturbations.interventions:masked_parts",
    "masks": "datasets.perturbations.interventions:masks",
    "named": "datasets.perturbations.catalogue:named_perturbations",
    "noises": "datasets.perturbations.catalogue:noises",
    "reasoning_changes": "datasets.perturbations.reasoning:reasoning_changes",
    "renderings": "compat.faithfulness_study.renderings:renderings",
}
"""What makes each kind of perturbations."""


def folder_names() -> set[str]:
    """The names under which this package and what is registered look for folders, but for names that callers give."""
    defaults = {"faithfulness", "faithfulness-audio", "injection", "non-speech", "packs", "soundscape"}
    return defaults | {name for name, loader in LOADERS.items() if isinstance(loader, Path) or name not in OWN}


def dataset(name: str | Path, *arguments: Any, **options: Any) -> Dataset:
    """The data set ``name``, with what its loader takes: ``dataset("sakura", "animal", hop="single")``.

    A declared benchmark takes its parameters, of which one that is left out takes all its values; a path names the
    file that declares it.

    Of this package are ``bundled`` (always there), ``air_bench``, ``common_voice``, ``esc50``, ``fleurs``,
    ``gigaspeech``, ``librispeech``, ``mmar``, ``mmau``, ``nsynth``, ``sakura``, ``speech_commands``, ``non_speech``,
    ``non_speech_recordings``, ``sound_id``, ``soundscape``, ``soundscape_scenes`` and ``faithfulness_study``;
    extensions add others, and a conftest.py those that tests ask for while they run. Nothing is read before an eval
    runs. Raises UsageError for a name that is not there, and for arguments that its loader does not take.
    """
    loader = lookup(LOADERS, name, "data set") if isinstance(name, str) else name
    if isinstance(loader, Dataset):
        if arguments or options:
            raise UsageError(f"the data set {name!r} takes no arguments: ask for dataset({name!r})")
        return loader
    if isinstance(loader, Path):
        from pytest_audiobench.datasets.declared import declared_loader

        return call_named(str(name), declared_loader(loader), arguments, options)
    function: Loader = imported(loader) if isinstance(loader, str) else loader
    return call_named(str(name), function, arguments, options)


def register_dataset(name: str, loader: Loader | Dataset) -> None:
    """Make ``name`` mean ``loader``. Raises UsageError for a name of this package."""
    if name in OWN:
        raise UsageError(f"the data set {name!r} already exists: register yours under another name")
    LOADERS[name] = loader


def perturbations(kind: str, *arguments: Any, **options: Any) -> tuple[Perturbation, ...]:
    """Perturbations of a kind, one for each condition: ``perturbations("ladder", "white", 20, 10, 0)``.

    - ``masks``: silence or noise over shares of the clip, in percent; ``mode``, ``fill``
    - ``noises``: white noise, in dB SNR
    - ``controls``: silence, another sample's clip, the text alone
    - ``ladder``: a family of the catalogue, then its doses: ``"white", 20, 10``
    - ``named``: those of the catalogue by name, or a group of them: ``"clean", "reverb", "order"``
    - ``audiobench``: the five in which THENIROCK's audiobench publishes robust speech recognition
    - ``injections``: a spoken option before the clip or over it; ``spoken``, ``voices``, ``gap_s``, ``level_db``
    - ``early_answering``: the reasoning cut, in percent of its sentences
    - ``reasoning_changes``: the reasoning changed, by name
    - ``renderings``: clips masked or in noise as the faithfulness study distributes them

    Raises UsageError for a kind that is not there, and for arguments that it does not take.
    """
    function: Callable[..., tuple[Perturbation, ...]] = imported(lookup(PERTURBATIONS, kind, "kind of perturbations"))
    return call_named(kind, function, arguments, options)
