"""Clips without speech: generated ones by domain and length, and any folder of recordings.

The true transcript of each is the empty text: whatever words a recogniser writes for them, it made up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from pytest_audiobench.audio import edits, synthesis
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource, SynthesisSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

DOMAINS: Mapping[str, Callable[[float, int], SynthesisSource]] = {
    "silence_floor": synthesis.silence_floor,
    "room_tone": synthesis.room_tone,
    "hum": synthesis.hum,
    "white": synthesis.white_noise,
    "pink": synthesis.pink_noise,
    "cafe": synthesis.cafe,
    "music_bed": synthesis.music_bed,
    "events": synthesis.events,
}
"""The generated domains, by the recipe that makes a clip of a duration and a seed."""

GROUPS = ("domain", "duration_s")

_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".mp3"})
_MOST_FILES = 100_000


def non_speech(
    *domains: str, lengths_s: Sequence[float] = (1.0, 2.0, 5.0, 10.0), clips: int = 4, seed: int = 0
) -> Dataset:
    """Generated sounds without speech: ``clips`` of each length of each of ``domains``, which are all unless given.

    Findings need 12 clips of a domain at least (``stats.findings``): the defaults make 16, 128 in all. Each clip's own
    seed is SHA-256's of domain, length, number and ``seed``: the same on every machine, and a clip stays what it is
    when others are added. Metadata: domain, duration_s. Raises UsageError for an unknown domain, and for lengths or
    numbers that make no clips.
    """
    chosen = tuple(dict.fromkeys(domains)) or tuple(DOMAINS)
    for domain in chosen:
        if domain not in DOMAINS:
            raise UsageError(f"there is no non-speech domain {domain!r}; there are {', '.join(DOMAINS)}")
    lengths = tuple(dict.fromkeys(map(float, lengths_s)))
    if not lengths or clips < 1 or not all(0.1 <= length <= 600.0 for length in lengths):
        raise UsageError(
            f"lengths_s={lengths_s} and clips={clips} make no clips: give lengths of 0.1 to 600 s, and one or more"
        )
    # What is in it is in its name, so that two choices are two data sets.
    parts = (
        *([] if chosen == tuple(DOMAINS) else chosen),
        "+".join(f"{length:g}s" for length in lengths),
        f"{clips}",
        f"{seed}",
    )
    return Dataset(
        f"non-speech/{'/'.join(parts)}", partial(_generated_samples, chosen, lengths, clips, seed), groups=GROUPS
    )


def non_speech_recordings(name: str = "non-speech", lengths_s: Sequence[float] = ()) -> Dataset:
    """A folder of recordings without speech: a sub-folder for each domain (``--ab-data=non-speech=FOLDER``).

    WAV, FLAC, Ogg and MP3 files are taken. What lies in one folder within a domain's (``street/tape-3/part-1.wav``) is
    of one recording, which is the cluster; a file right in a domain's folder is its own. With ``lengths_s`` each
    file is played from its start to each of these lengths instead of whole; a shorter one ends where it ends. Metadata:
    domain, recording, and duration_s where it is cut. Where the folder is absent an eval is skipped with the reason; an
    empty one, and a recording in no domain's folder, is a UsageError.
    """
    lengths = tuple(sorted(set(map(float, lengths_s))))
    if not all(0.1 <= length <= 600.0 for length in lengths):
        raise UsageError(f"lengths_s={lengths_s}: give lengths of 0.1 to 600 s, or none to play files whole")
    return Dataset(name, partial(_recorded_samples, name, lengths), cluster="recording", groups=GROUPS)


def _generated_samples(
    domains: Sequence[str], lengths: Sequence[float], clips: int, seed: int, places: Places
) -> Sequence[Sample]:
    return [
        Sample(
            id=f"{domain}/{length:g}s/{number}",
            clips=(Clip(DOMAINS[domain](length, seed_of("non-speech", 1, domain, f"{length:g}", number, seed))),),
            question="",
            metadata={"domain": domain, "duration_s": f"{length:g}"},
        )
        for domain in domains
        for length in lengths
        for number in range(clips)
    ]


def _recorded_samples(name: str, lengths: Sequence[float], places: Places) -> Sequence[Sample]:
    root = places.find(name, ".")
    samples = [sample for path in _files(root) for sample in _samples(root, path, lengths)]
    if not samples:
        raise UsageError(
            f"{root.folder} has no recordings in sub-folders: put {', '.join(sorted(_SUFFIXES))} files into a folder "
            "for each domain, such as street/ and machines/"
        )
    return samples


def _files(root: DataRoot) -> Iterator[PurePosixPath]:
    """The recordings in domains' folders, by name. The reader of audio judges links; linked folders are left out."""
    paths: list[str] = []
    for folder, below, files in os.walk(root.folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        inside = Path(folder).relative_to(root.folder)
        visible = [inside / file for file in files if not file.startswith(".")]
        paths += [path.as_posix() for path in visible if path.suffix.lower() in _SUFFIXES]
        if len(paths) > _MOST_FILES:
            raise UsageError(f"{root.folder} has more than {_MOST_FILES:,} recordings: name a smaller folder")
    loose = sorted(path for path in paths if "/" not in path)
    if loose:
        raise UsageError(
            f"{root.folder} holds {loose[0]!r} itself, which is of no domain then: put recordings into a folder for "
            "each domain, such as street/ and machines/"
        )
    for path in sorted(paths):
        try:
            yield PurePosixPath(relative_path(path))
        except ValueError as error:
            raise UsageError(f"{root.folder} has a recording that cannot be used: {error}; rename it") from None


def _samples(root: DataRoot, path: PurePosixPath, lengths: Sequence[float]) -> Iterator[Sample]:
    source, domain = FileSource(root, str(path)), path.parts[0]
    recording = str(path if len(path.parts) == 2 else PurePosixPath(*path.parts[:-1]))
    for length in lengths or (None,):
        cut = () if length is None else (edits.trim(0.0, length),)
        played = "" if length is None else f"@{length:g}s"
        metadata = {"domain": domain, "recording": recording}
        yield Sample(
            id=f"{path}{played}",
            clips=(Clip(source, cut),),
            question="",
            metadata=metadata if length is None else {**metadata, "duration_s": f"{length:g}"},
        )
