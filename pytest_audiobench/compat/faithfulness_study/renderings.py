"""The study's trees of audio that was masked or laid under noise beforehand, as perturbations of any data set.

The study keeps a folder for each data set and dose:
``animal/mask/p20``, ``animal/noise_snr/snr-10``. They were drawn by that study's own generator, so they are curves of
their own (``mask-rendered``, ``noise-rendered``) in addition to our masks and noise of the same doses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.compat.faithfulness_study.manifest import AUDIO, HOME, audio_roots
from pytest_audiobench.datasets.perturbations.perturbation import Change, Perturbation
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import DataNotFound, UsageError

Kind: TypeAlias = Literal["mask", "noise"]

RENDERED = "-rendered"
"""How the families of these perturbations end."""
MASKED_PERCENT = (20, 40, 60, 80, 90, 100)
SNRS_DB = (20, 10, 0, -10, -20)


def rendering(kind: Kind, dose: int) -> Perturbation:
    """The clips of a tree: ``rendering("mask", 20)`` those with 20 % masked, ``rendering("noise", -10)`` at -10 dB SNR.

    The tree ``TRACK/mask/p20`` or ``TRACK/noise_snr/snr-10`` is looked for in ``--ab-data=faithfulness-audio=FOLDER``
    and ``--ab-data=faithfulness=FOLDER``; TRACK is the sample's metadata of that name, else the data set of its clip
    (mmau, mmar). In the tree a clip lies where the study's manifest has it below its data root, or by its file's name
    alone; which of the two was found is in the clip's source. One that is in neither place is its sample's error.
    Eval is skipped where a track has no such tree. Raises UsageError for another kind.
    """
    if kind == "mask":
        prepare = partial(_prepare, f"mask/p{dose}")
        return Perturbation(f"mask-p{dose}{RENDERED}", f"mask{RENDERED}", prepare, dose, "% masked", "higher")
    if kind == "noise":
        name = f"noise-{'m' if dose < 0 else ''}{abs(dose)}dB{RENDERED}"
        return Perturbation(
            name, f"noise{RENDERED}", partial(_prepare, f"noise_snr/snr{dose}"), dose, "dB SNR", "lower"
        )
    raise UsageError(f"rendering({kind!r}, …): the study rendered 'mask' and 'noise'")


def renderings() -> tuple[Perturbation, ...]:
    """Every tree that the study has; evals of those that are not on this machine are skipped."""
    return (*(rendering("mask", dose) for dose in MASKED_PERCENT), *(rendering("noise", dose) for dose in SNRS_DB))


def _prepare(tree: str, places: Places) -> Change:
    roots = audio_roots(places)

    def change(samples: Sequence[Sample]) -> list[Sample]:
        trees: dict[str, FileSource] = {}
        changed = []
        for sample in samples:
            if (track := _track(sample)) not in trees:
                trees[track] = _tree(f"{track}/{tree}", roots)
            changed.append(replace(sample, clips=tuple(_clip_in_tree(clip, trees[track]) for clip in sample.clips)))
        return changed

    return change


def _clip_in_tree(clip: Clip, tree: FileSource) -> Clip:
    if not isinstance(clip.source, FileSource) or clip.edits:
        raise UsageError(f"{clip} is not a plain file, so that no rendering of it can be looked for in {tree}")
    # As the manifests have it, as its data set has it, by its name alone.
    path = clip.source.path
    places = (f"{clip.source.root.name}/{path}", path, path.rpartition("/")[2])
    paths = [relative_path(f"{tree.path}/{place}") for place in places]
    here = next((path for path in paths if (tree.root.folder / path).exists()), paths[-1])
    return Clip(FileSource(tree.root, here))


def _tree(written: str, roots: Sequence[DataRoot]) -> FileSource:
    """The folder of a tree, in the first root that has it."""
    try:
        path = relative_path(written)
    except ValueError as error:
        raise UsageError(f"the rendering of a track cannot be looked for: {error}") from None
    for root in roots:
        if (root.folder / path).is_dir():
            return FileSource(root, path)
    # Where a track has no tree at all, one sentence serves all doses, so that a run says it once.
    track = path.partition("/")[0]
    some = any((root.folder / track / kind).is_dir() for root in roots for kind in ("mask", "noise_snr"))
    missing = f"{path} is not" if some else f"no tree of {track}, such as {track}/mask/p20, is"
    looked = ", ".join(str(root.folder) for root in roots) or "nowhere: no folder of the study is set"
    raise DataNotFound(
        f"{missing} on this machine (looked in {looked}); point to the folder that holds it with "
        f"--ab-data={AUDIO}=FOLDER or --ab-data={HOME}=FOLDER"
    )


def _track(sample: Sample) -> str:
    written = sample.metadata.get("track")
    if isinstance(written, str):
        return written
    first = next(iter(sample.clips), None)
    return first.source.root.name if first is not None and isinstance(first.source, FileSource) else sample.id
