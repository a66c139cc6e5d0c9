"""Lists of recordings as speech toolkits write them: folders of Kaldi and ESPnet, lines of NeMo and of Lhotse.

Every reader gives rows of plain values under the toolkit's own names, and the sound as a clip, cut where a row says
when it begins and ends. A line that cannot be read is skipped after ``refuse``. Commands are refused, never run.

Sources of the layouts: kaldi-asr.org/doc/data_prep.html; espnet, espnet/utils/io_utils.py; NVIDIA/NeMo,
nemo/collections/common/parts/preprocessing/manifest.py; lhotse-speech/lhotse, lhotse/{serialization,audio/source}.py.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.datasets.published_layouts import read_json
from pytest_audiobench.datasets.table_rows import Row, jsonl_rows, texts
from pytest_audiobench.errors import UsageError

Refuse = Callable[[str], None]
Rows = Iterator[tuple[int, Row]]
T = TypeVar("T")

_ARCHIVE = re.compile(r".+\.(ark|h5|hdf5|tar)(:.+)?")
_CUTS = ("MonoCut", "MultiCut", "Cut")
"""Of Lhotse's: those that are one stretch of one recording."""
_SAME_S = 1e-3
_ADVICE = "give root= a folder that has it"
_PLAIN = (str, int, float, bool, type(None))


class Recordings:
    """The clips of the paths in a ``manifest``: relative ones begin next to it, else in ``root``, which none leaves.

    Where those of a tool may begin ``anywhere``, the first must be there.
    """

    def __init__(self, manifest: Path, root: DataRoot, anywhere: bool = True) -> None:
        self._root, self._is_checked = root, not anywhere
        here = manifest.parent
        self._begin = here.relative_to(root.folder).as_posix() if here.is_relative_to(root.folder) else ""

    def clip(self, written: object, start_s: float = 0.0, duration_s: float | None = None) -> Clip:
        """The clip at a path, of it the stretch from ``start_s`` on where it has a duration.

        Raises ValueError, a predicate, for what is no such path or stretch; UsageError where the first is not there.
        """
        if not isinstance(written, str):
            raise ValueError("has no path of its audio; write it as text")
        clip = Clip(FileSource(self._root, self._path(written)))
        if duration_s is None:
            return clip
        if not (math.isfinite(start_s) and math.isfinite(duration_s) and start_s >= 0 and duration_s > 0):
            raise ValueError(f"begins at {start_s:g} s and lasts {duration_s:g} s, not a part of a recording")
        from pytest_audiobench.audio.edits import trim

        return clip.edited(trim(start_s, start_s + duration_s))

    def _path(self, written: str) -> str:
        folder = self._root.folder
        if PurePosixPath(written).is_absolute():
            path = Path(posixpath.normpath(written))
            if not path.is_relative_to(folder):
                path = path.parent.resolve() / path.name
            if not path.is_relative_to(folder):
                raise ValueError(f"names {written[:200]!r}, which is not in {folder}; {_ADVICE}")
            return relative_path(path.relative_to(folder).as_posix())
        places = dict.fromkeys(posixpath.normpath(f"{begin}/{written}".lstrip("/")) for begin in (self._begin, ""))
        inside = [place for place in places if not place.startswith("../")]
        if not inside:
            raise ValueError(f"names {written[:200]!r}, which leaves {folder}; {_ADVICE}")
        there = inside[0]
        if len(inside) > 1 or not self._is_checked:
            there = next((place for place in inside if (folder / place).exists()), "")
            if not (there or self._is_checked):
                raise UsageError(
                    f"there is no {folder / inside[0]}, the first audio that is listed; where paths begin elsewhere, "
                    "such as in the folder from which a recipe is run, give root= that folder"
                )
            self._is_checked = True
        return relative_path(there or inside[0])


class _Lookup(Generic[T]):
    """Keys and values that are asked for in about their own order: what was not asked for yet waits in memory."""

    def __init__(self, pairs: Iterable[tuple[str, T]], is_repeated: bool = False) -> None:
        self._pairs, self._waiting, self._is_repeated = iter(pairs), dict[str, T](), is_repeated

    def get(self, key: str) -> T | None:
        """The value of ``key``, which is asked for once unless keys are repeated."""
        if key not in self._waiting:
            for other, value in self._pairs:
                self._waiting.setdefault(other, value)
                if other == key:
                    break
        return self._waiting.get(key) if self._is_repeated else self._waiting.pop(key, None)

    def rest(self) -> list[str]:
        """Keys that were not requested."""
        return [*self._waiting, *(key for key, _ in self._pairs)]


def _pairs(file: Path) -> Iterator[tuple[int, str, str]]:
    """The lines of one of Kaldi's files: number, key, and all behind it."""
    for number, line in texts(file):
        if parts := line.split(maxsplit=1):
            yield number, parts[0], parts[1].strip() if parts[1:] else ""


def kaldi_rows(folder: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    """The utterances of a folder with ``wav.scp``: of ``segments`` where it is there, else one for each recording."""
    wav, segments, text = folder / "wav.scp", folder / "segments", folder / "text"
    columns = {"text": text, "speaker": folder / "utt2spk", "language": folder / "utt2lang"}
    there = {name: file for name, file in columns.items() if file.is_file()}
    values = {name: _Lookup((key, value) for _, key, value in _pairs(file)) for name, file in there.items()}
    paths = _Lookup(((key, value) for _, key, value in _pairs(wav)), is_repeated=True) if segments.is_file() else None
    file = wav if paths is None else segments
    for number, id_, value in _pairs(file):
        row: dict[str, Any] = {"id": id_, **{name: lookup.get(id_) for name, lookup in values.items()}}
        try:
            row["audio"] = _recording(recordings, value) if paths is None else _segment(recordings, paths, value)
        except ValueError as error:
            refuse(f"{file}, line {number} (id {id_[:80]!r}) {error}")
        else:
            yield number, row
    if "text" in values and (rest := values["text"].rest()):
        refuse(f"{text} has {len(rest):,} utterances that {file.name} lacks, such as {rest[0][:80]!r}; leave them out")


def _segment(recordings: Recordings, paths: _Lookup[str], written: str) -> Clip:
    recording, *times = written.split()
    path = paths.get(recording)
    if path is None:
        raise ValueError(f"is of the recording {recording[:80]!r}, which wav.scp does not have")
    try:
        start_s, end_s = map(float, times[:2])
    except ValueError:
        raise ValueError("has no two numbers of seconds behind its recording; write when it begins and ends") from None
    return _recording(recordings, path, start_s, end_s - start_s)


def _recording(recordings: Recordings, path: str, start_s: float = 0.0, duration_s: float | None = None) -> Clip:
    if path.endswith("|"):
        raise ValueError("is a command, which is never run; write what it prints into audio files, and list those")
    if _ARCHIVE.fullmatch(path):
        raise ValueError(f"is in the archive {path[:200]!r}, which is not read; write its audio into files")
    if not path:
        raise ValueError("has no path behind its id; add it")
    return recordings.clip(path, start_s, duration_s)


def espnet_rows(file: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    """The utterances of a ``data.json``, of those whose input is a file of sound."""
    content = read_json(file)
    utterances = content.get("utts") if isinstance(content, dict) else None
    if not isinstance(utterances, dict):
        raise UsageError(f"{file} has no object 'utts', so it is not data.json of ESPnet; correct the path")
    for number, (id_, utterance) in enumerate(utterances.items(), start=1):
        try:
            (audio, *_), (target, *_) = utterance["input"], utterance["output"]
            if audio.get("filetype") != "sound":
                raise ValueError(f"has {str(audio.get('filetype', 'mat'))!r} as its input, and only 'sound' is audio")
            others = {name: value for name, value in utterance.items() if isinstance(value, _PLAIN)}
            row = {"id": id_, **others, "text": target["text"], "audio": recordings.clip(audio["feat"])}
        except (LookupError, TypeError, AttributeError):
            refuse(f"{file}, utterance {id_[:80]!r} has no input with a 'feat' and no output with a 'text'; add them")
        except ValueError as error:
            refuse(f"{file}, utterance {id_[:80]!r} {error}")
        else:
            yield number, row


def nemo_rows(file: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    """The lines of a file of objects with ``audio_filepath``. One with an offset is its ``duration`` from there on."""
    for number, row in jsonl_rows(file, refuse):
        try:
            if (offset := row.get("offset")) is None:
                clip, end = recordings.clip(row.get("audio_filepath")), ""
            else:
                clip = recordings.clip(row.get("audio_filepath"), *_seconds(offset, row.get("duration")))
                end = f"@{offset:g}"
        except ValueError as error:
            refuse(f"{file}, line {number} {error}")
        else:
            path = clip.source.path if isinstance(clip.source, FileSource) else ""
            yield number, {"id": path + end, **row, "audio_filepath": clip}


def _seconds(*values: object) -> Iterator[float]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"has {value!r} where a number of seconds should be")
        yield float(value)


def lhotse_rows(file: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    """The cuts of a file, or its supervisions, whose recordings are in the file next to it."""
    first = next(iter(jsonl_rows(file, refuse)), (0, {}))[1]
    if "type" in first:
        return _cut_rows(file, recordings, refuse)
    pair = [file.with_name(file.name.replace(*names)) for names in (_PAIR, _PAIR[::-1])]
    supervisions, listed = (file, pair[0]) if "recording_id" in first else (pair[1], file)
    if supervisions == listed or not (supervisions.is_file() and listed.is_file()):
        lacking = "recordings" if supervisions == file else "supervisions"
        raise UsageError(f"{file} has no file of {lacking} beside it, called as it is; add it, or save cuts in one")
    return _supervision_rows(supervisions, listed, recordings, refuse)


_PAIR = ("supervisions", "recordings")


def _supervision_rows(file: Path, listed: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    by_id = _Lookup(((str(row.get("id")), row) for _, row in jsonl_rows(listed, refuse)), is_repeated=True)
    for number, row in jsonl_rows(file, refuse):
        recording = by_id.get(str(row.get("recording_id")))
        try:
            if recording is None:
                raise ValueError(f"is of the recording {row.get('recording_id')!r}, which {listed.name} does not have")
            clip = _stretch(recordings, recording, row)
        except ValueError as error:
            refuse(f"{file}, line {number} {error}")
        else:
            yield number, {"id": row.get("id"), "audio": clip, **_words(row)}


def _cut_rows(file: Path, recordings: Recordings, refuse: Refuse) -> Rows:
    for number, cut in jsonl_rows(file, refuse):
        supervisions = cut.get("supervisions")
        supervisions = supervisions if isinstance(supervisions, list) else []
        try:
            if cut.get("type") not in _CUTS:
                raise ValueError(f"is a {cut.get('type')}, and only {', '.join(_CUTS)} are read; save its audio first")
            if not isinstance(cut.get("recording"), dict):
                raise ValueError("has no recording, only features or nothing; save it with its audio")
            if len(supervisions) != 1 or not isinstance(supervisions[0], dict):
                raise ValueError(f"has {len(supervisions)} supervisions, not one; save trim_to_supervisions() of it")
            clip = _stretch(recordings, cut["recording"], cut)
        except ValueError as error:
            refuse(f"{file}, line {number} {error}")
        else:
            yield number, {"id": cut.get("id"), "audio": clip, **_words(supervisions[0]), "duration": cut["duration"]}


def _words(supervision: Row) -> dict[str, Any]:
    """What a supervision says in addition to its times."""
    kept = {name: value for name, value in supervision.items() if isinstance(value, _PLAIN)}
    return {"text": None, **{name: value for name, value in kept.items() if name not in _PLACES}}


_PLACES = {"id", "recording_id", "start", "channel"}


def _channels(written: object) -> set[int]:
    return {channel for channel in written if isinstance(channel, int)} if isinstance(written, list) else set()


def _stretch(recordings: Recordings, recording: Row, part: Row) -> Clip:
    """What a cut or a supervision is of a recording. Raises ValueError, a predicate."""
    if recording.get("transforms"):
        raise ValueError("is of a recording with transforms, which are not done again; save its audio with them")
    start_s, duration_s, whole_s = _seconds(part.get("start"), part.get("duration"), recording.get("duration"))
    sources = recording.get("sources")
    if not isinstance(sources, list) or not all(isinstance(source, Mapping) for source in sources):
        raise ValueError("is of a recording without sources; add them")
    channel = part.get("channel")
    wanted = _channels(channel if isinstance(channel, list) else [0 if channel is None else channel])
    fitting = [source for source in sources if wanted & _channels(source.get("channels"))]
    if len(fitting) != 1 or _channels(fitting[0]["channels"]) != wanted:
        raise ValueError(f"is channel {channel} of several in a file, and files are read whole; save it as a file")
    (source,) = fitting
    if source.get("type") != "file":
        never = ", and commands are never run" if source.get("type") == "command" else ""
        raise ValueError(f"has sound of the type {source.get('type')!r}, not 'file'{never}; save its audio as files")
    is_whole = abs(start_s) < _SAME_S and abs(duration_s - whole_s) < _SAME_S
    return recordings.clip(source.get("source"), start_s, None if is_whole else duration_s)
