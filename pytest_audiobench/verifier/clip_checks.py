"""The check of clips' keys: files digested again where their folders are named, recipes of synthesis without any."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from pytest_audiobench.audio.clip import ArraySource, Clip, CombinedSource, DataRoot, FileSource
from pytest_audiobench.audio.clip_record import clip_of
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.datasets.bundled import Task, bundled_folder
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.records.lines import AudioRow
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.verifier.checks import Check, fails, not_recomputed, ok
from pytest_audiobench.verifier.prediction_rows import RecordedClip

PART = "clips"
_AT_ONCE = 4_096


class Folders:
    """The folders in which audio lies on this machine, by the names that runs know them by; bundled audio is here.

    Files of other names are looked for in ``others``, and in folders within them that have the name, or a list of it.
    """

    def __init__(self, folders: Mapping[str, Path], others: Sequence[Path] = ()) -> None:
        for name, folder in folders.items():
            if not folder.is_dir():
                raise UsageError(f"--data {name}={folder}: there is no such folder; correct the path")
        folders = {**dict.fromkeys((f"bundled/{task}" for task in get_args(Task)), bundled_folder()), **folders}
        # The longest name first: of "a" and "a:b" the second is meant by "a:b:c.wav".
        names = sorted(folders, key=len, reverse=True)
        self._roots = [DataRoot(name, folders[name].resolve()) for name in names]
        self._others = others

    def folder(self, name: str) -> Path | None:
        """The folder called ``name``; None if its place is not known."""
        return next((root.folder for root in self._roots if root.name == name), None)

    def file(self, source: str) -> FileSource:
        """The source called ``NAME:path``. Raises LookupError if the place of NAME is not known."""
        for root in self._roots:
            if source.startswith(f"{root.name}:"):
                return FileSource(root, source.removeprefix(f"{root.name}:"))
        name, _, path = source.partition(":")
        with suppress(ValueError):  # what a record says is not trusted to stay within a folder
            path, inner = relative_path(path), relative_path(name)
            for other in self._others:
                lists = other.glob(f"*/{glob.escape(inner)}.*")
                for folder in (other / inner, other, *sorted(each.parent for each in lists)):
                    if (folder / path).is_file():
                        return FileSource(DataRoot(name, folder.resolve()), path)
        raise LookupError(source)


def rebuilt_clip(
    recorded: AudioRow, recipe: Any, folders: Sequence[tuple[str, Path]], others: Sequence[Path] = ()
) -> Clip:
    """The clip that was played, where it can be made again here: the bundled audio, ``folders`` or else ``others`` have
    its files.

    Raises FatalError where a folder, a file or samples are not available, and where what is there is other audio.
    """
    places = Folders(dict(folders), others)
    try:
        clip = clip_of(recorded.source if recipe is None else recipe, places.file)
    except LookupError as file:
        name = str(file.args[0]).partition(":")[0]
        raise FatalError(f"{file.args[0]} is not available: say where {name} lies by --data {name}=FOLDER") from None
    except ValueError as error:
        raise FatalError(f"the recipe of {recorded.source} cannot be read: {error}") from None
    if _has_array(clip):
        raise FatalError(f"{recorded.source} was made by a test, and its samples are in no file")
    with AudioIndex(None) as index:
        (facts,) = _facts(index, [(RecordedClip("", recorded.source, "", recipe), clip)])
    if not isinstance(facts, ClipFacts):
        raise FatalError(str(facts))
    if clip.key_from(facts.digest) != recorded.key:
        raise FatalError(f"{recorded.source} is other audio than the run's, or made otherwise")
    return clip


def _has_array(clip: Clip) -> bool:
    source = clip.source
    return isinstance(source, ArraySource) or (
        isinstance(source, CombinedSource) and any(_has_array(part) for part in source.clips)
    )


def check_clips(clips: Sequence[RecordedClip], folders: Folders) -> Check:
    """Whether the keys of ``clips`` are those of the files and recipes that they were made of."""
    if not clips:
        return not_recomputed(PART, "no clip's key is recorded")
    elsewhere: Counter[str] = Counter()
    missing: list[str] = []
    with AudioIndex(None) as index:
        for start in range(0, len(clips), _AT_ONCE):
            rebuilt: list[tuple[RecordedClip, Clip]] = []
            for recorded in clips[start : start + _AT_ONCE]:
                try:
                    rebuilt.append((recorded, clip_of(recorded.recipe, folders.file)))
                except LookupError as file:
                    elsewhere[str(file.args[0]).partition(":")[0]] += 1
                except ValueError as error:
                    return fails(PART, f"the recipe of a clip of {recorded.sample_id!r} cannot be read: {error}")
            for (recorded, clip), facts in zip(rebuilt, _facts(index, rebuilt), strict=True):
                if not isinstance(facts, ClipFacts):
                    missing.append(str(facts))
                elif clip.key_from(facts.digest) != recorded.key:
                    name = f"{recorded.source} of {recorded.sample_id!r}"
                    return fails(PART, f"{name} is other audio than the run's, or made otherwise")
    return _summary(len(clips), elsewhere, missing)


def _facts(index: AudioIndex, rebuilt: Collection[tuple[RecordedClip, Clip]]) -> list[ClipFacts | Exception]:
    try:
        return list(index.facts_of([clip for _, clip in rebuilt]))
    except (UsageError, ValueError, LookupError, TypeError, ArithmeticError):
        pass
    # A recipe that this version does not know is no reason to leave the others out.
    facts: list[ClipFacts | Exception] = []
    for _, clip in rebuilt:
        try:
            facts.extend(index.facts_of([clip]))
        except (UsageError, ValueError, LookupError, TypeError, ArithmeticError) as error:
            facts.append(error)
    return facts


def _summary(count: int, elsewhere: Counter[str], missing: Sequence[str]) -> Check:
    if missing:
        number = f"{len(missing)} of {counted(count, 'clip')}"
        return not_recomputed(PART, f"{number} cannot be rebuilt here: {missing[0]}")
    if not elsewhere:
        return ok(PART)
    data = " ".join(f"--data {name}=FOLDER" for name in sorted(elsewhere)[:3])
    number = f"{elsewhere.total()} of {counted(count, 'clip')}"
    return not_recomputed(PART, f"the files of {number} were not looked at; {data} does")
