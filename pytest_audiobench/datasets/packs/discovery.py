"""Where packs lie: those that come with the package, and those in folders that the user names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.packs.archives import ARCHIVES
from pytest_audiobench.datasets.packs.bundled_packs import BUNDLED, SCENARIOS, procedural_pack
from pytest_audiobench.datasets.packs.clips import checked_inside, clips_by_label, clips_in
from pytest_audiobench.datasets.packs.pack import NAME, Pack, PackManifest, pack_of, read_manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, FatalError, UsageError
from pytest_audiobench.io.mistakes import nearest

MANIFEST = "pack.json"
CACHE = "AUDIOBENCH_CACHE"
"""The published tool's variable: where it keeps clips, in ``sound_id/<cache_subdir>/clips.json``."""


@dataclass(frozen=True)
class LabelledPack:
    """A pack made of a data set; ``name`` is its id."""

    name: str
    read: Callable[[Places], Pack]


class PackEntry(NamedTuple):
    """A pack of this machine, or why it is none."""

    name: str
    where: str
    pack: Pack | FatalError


def pack_from_labels(dataset: Dataset, by: str, name: str | None = None) -> LabelledPack:
    """Any data set of one clip a sample as a pack: the metadata field ``by`` says what is heard in each clip.

    ``pack_from_labels(sakura("animal", "single"), by="label")``. Raises UsageError, when read, for a sample without it.
    """
    pack_name = name or dataset.name.replace("/", "-")

    def read(places: Places) -> Pack:
        manifest = PackManifest(pack_name, title=dataset.name, source=dataset.name)
        return pack_of(manifest, clips_by_label(dataset, by, places), f"data set {dataset.name}")

    return LabelledPack(pack_name, read)


def find_pack(name: str, places: Places) -> Pack:
    """The pack named ``name``. Raises DataNotFound where it is not here, UsageError for what is wrong with it."""
    _check_name(name)
    if name in BUNDLED:
        return BUNDLED[name](places)
    if name in places.named:
        return read_pack(name, places.named[name], places)
    candidates = _candidates(places)
    at = candidates.get(name) or next((shelf / name for shelf in places.shelves if (shelf / name).is_dir()), None)
    if at is not None:
        return read_pack(name, at, places)
    if name in SCENARIOS:
        return procedural_pack(SCENARIOS[name], places, "bundled")
    for folder in _folders(places):
        if archive := next((folder / f"{name}{end}" for end in ARCHIVES if (folder / f"{name}{end}").is_file()), None):
            raise DataNotFound(
                f"the pack {name} is packed in {archive}; unpack it with "
                f"audiobench packs --unpack {archive} --to {folder}"
            )
    known = nearest(name, [*BUNDLED, *SCENARIOS, *candidates])
    raise DataNotFound(
        f"the pack {name} is not on this machine ({known}); point to its folder with "
        f"--ab-data={name}=FOLDER, or to a folder of packs with --ab-data=packs=FOLDER"
    )


def check_own_name(name: str, where: Path) -> None:
    """Raise UsageError where no pack of a user can be named ``name``, as the one at ``where`` is."""
    _check_name(name)
    if name in BUNDLED:
        raise UsageError(f"{where}: a pack named {name} comes with the package; give this one another name")


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is not a name of a pack; use letters, digits, -, _ and ., with a letter or digit first"
        )


def all_packs(places: Places) -> Iterator[PackEntry]:
    """All packs of this machine, each once, and what is wrong with those that cannot be used."""
    for name, make in BUNDLED.items():
        yield PackEntry(name, "bundled", make(places))
    candidates = _candidates(places)
    for name, path in SCENARIOS.items():
        if name not in candidates:
            yield PackEntry(name, "bundled", procedural_pack(path, places, "bundled"))
    for name, path in sorted(candidates.items()):
        try:
            yield PackEntry(name, str(path), read_pack(name, path, places))
        except FatalError as error:
            yield PackEntry(name, str(path), error)


def read_pack(name: str, path: Path, places: Places) -> Pack:
    """The pack at ``path``: a folder, or a manifest whose clips lie elsewhere. Raises UsageError and DataNotFound."""
    check_own_name(name, path)
    manifest_path = checked_inside(path / MANIFEST, path) if path.is_dir() else path
    manifest = read_manifest(manifest_path) if manifest_path.is_file() else PackManifest(name)
    if manifest.id != name:
        raise UsageError(f"{manifest_path}: its 'id' is {manifest.id!r} and it is named {name!r}; make them the same")
    if manifest.clip_resolver == "procedural":
        return procedural_pack(manifest_path, places, str(path))
    folder = path if path.is_dir() else path.parent
    # In the folder of the pack "dog" a sub-folder "dog" is a label's.
    beside = manifest.cache_subdir or (name if path.is_file() else None)
    clip_folder = (_clips_folder(beside, folder) if beside else None) or (folder if path.is_dir() else None)
    if clip_folder is None:
        layout = f" ({manifest.expected_layout})" if manifest.expected_layout else ""
        where = f"{folder}/{beside}{layout}"
        raise DataNotFound(
            f"the clips of the pack {name} are not on this machine: there is no folder {where}; put them there, or "
            f"name the folder that holds sound_id/{beside} by the variable {CACHE}"
        )
    return pack_of(manifest, clips_in(DataRoot(name, clip_folder.resolve())), str(clip_folder))


def _clips_folder(subdir: str, folder: Path) -> Path | None:
    """The folder of a published manifest's clips: the user's cache where it is named, else next to the manifest."""
    cache = os.environ.get(CACHE)
    if cache and (cached := Path(cache).expanduser() / "sound_id" / subdir).is_dir():
        return cached
    return checked_inside(folder / subdir, folder) if (folder / subdir).is_dir() else None


def _folders(places: Places) -> list[Path]:
    if "packs" in places.named:
        return [places.named["packs"]]
    return [folder for shelf in places.shelves if (folder := shelf / "packs").is_dir()]


def _candidates(places: Places) -> dict[str, Path]:
    """Everything that may be a pack, by name; a folder that was named for it comes before those in folders of packs."""
    candidates = {name: folder for name, folder in places.named.items() if name != "packs" and _is_pack(folder)}
    for folder in _folders(places):
        try:
            entries = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
        except OSError as error:
            remedy = "name a folder of packs that can be"
            raise UsageError(f"{folder} cannot be read ({error.strerror}); {remedy}") from None
        manifests = {path.stem: path for path in entries if path.suffix == ".json" and path.is_file()}
        candidates = {path.name: path for path in entries if path.is_dir()} | manifests | candidates
    return candidates


def _is_pack(folder: Path) -> bool:
    if (folder / MANIFEST).is_file():
        return True
    try:
        return bool(clips_in(DataRoot(folder.name, folder)))
    except UsageError:
        return True
