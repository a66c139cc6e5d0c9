"""GigaSpeech: English audio books, podcasts and videos, transcribed.

Chen et al., "GigaSpeech: An Evolving, Multi-domain ASR Corpus with 10,000 Hours of Transcribed Audio", Interspeech
2021; github SpeechColab/GigaSpeech. ``GigaSpeech.json`` lists recordings (``audios``: aid, path, source, category,
segments) and their segments (sid, begin_time, end_time, text_tn, subsets); a recording is one long ``.opus`` file below
``audio/``, or the ``.wav`` beside it that its utils/opus_to_wav.py makes. Transcripts are treated as its
toolkits/kaldi/gigaspeech_data_prep.sh does: a segment with a garbage tag is left out, punctuation tags are deleted.

Nearly all speakers are "N/A": a recording is the cluster.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

GigaSpeechSubset: TypeAlias = Literal["test", "dev", "xs", "s", "m", "l", "xl"]

_FILE = "GigaSpeech.json"
_GARBAGE = re.compile(r"<(?:SIL|MUSIC|NOISE|OTHER)>")
_PUNCTUATION = re.compile(r"<(?:COMMA|EXCLAMATIONPOINT|PERIOD|QUESTIONMARK)>")
_CHUNK_BYTES = 1 << 20
_BETWEEN = re.compile(r"[\s,]*")


def gigaspeech(subset: GigaSpeechSubset) -> Dataset:
    """One subset of GigaSpeech, from its own layout; a sample's clip is its segment of a recording.

    Metadata: recording (the cluster), source, category. Raises UsageError for a subset that GigaSpeech does not have.
    """
    if subset not in get_args(GigaSpeechSubset):
        raise UsageError(f"GigaSpeech has no subset {subset!r}; it has {', '.join(get_args(GigaSpeechSubset))}")
    return Dataset(f"gigaspeech/{subset}", partial(_read, subset), cluster="recording", groups=("source", "category"))


def _read(subset: str, places: Places) -> list[Sample]:
    root = places.find("gigaspeech", _FILE)
    file = root.folder / _FILE
    recordings = (
        Entry(f"{file}, recording {number}", value) for number, value in enumerate(elements(file, "audios"), start=1)
    )
    samples = [sample for recording in recordings for sample in _samples(root, f"{{{subset.upper()}}}", recording)]
    if not samples:
        raise UsageError(f"{file} lists no segment of the subset {subset!r}; fetch the metadata of that subset too")
    return samples


def _samples(root: DataRoot, tag: str, recording: Entry) -> Iterator[Sample]:
    whole: Clip | None = None
    for segment in recording.entries("segments"):
        written = segment.text("text_tn")
        if tag not in segment.texts("subsets") or _GARBAGE.search(written):
            continue
        whole = whole or _clip(root, recording)
        begin_s, end_s = segment.number("begin_time"), segment.number("end_time")
        if not 0 <= begin_s < end_s:
            raise segment.wrong(f"lasts from {begin_s:g} s to {end_s:g} s")
        yield Sample(
            id=segment.text("sid"),
            clips=(whole.edited(edits.trim(begin_s, end_s)),),
            question="",
            reference=" ".join(_PUNCTUATION.sub(" ", written).split()),
            metadata={"recording": recording.text("aid"), **recording.optional_texts("source", "category")},
        )


def _clip(root: DataRoot, recording: Entry) -> Clip:
    """The recording as published, or as its own tools convert it where only that is there."""
    path = recording.text("path")
    published, converted = recording.clip(root, path), recording.clip(root, re.sub(r"\.opus$", ".wav", path))
    return converted if _is_there(converted) and not _is_there(published) else published


def _is_there(clip: Clip) -> bool:
    return isinstance(clip.source, FileSource) and clip.source.location.is_file()


def elements(path: Path, member: str, most_bytes: int = 256_000_000) -> Iterator[Any]:
    """The elements, all objects, of the array ``member`` of ``path``'s one object; all else is passed over.

    An element, and what stands before the array, may each take ``most_bytes``: the file's length does not matter.
    Raises UsageError when the file cannot be read, is no such JSON, or holds more than that.
    """
    try:
        with path.open("rb") as file:
            yield from _elements(path, _Window(path, file, most_bytes), member)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); correct the path") from None


class _Window:
    """The part of a file that is being looked at; ``end`` is true once the file has no more."""

    def __init__(self, path: Path, file: Any, most_bytes: int) -> None:
        self._path, self._file, self._most_bytes = path, file, most_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.end = "", False

    def grow(self) -> None:
        """Look further: as much again, so that a long element is tried a few times only."""
        if len(self.text) > self._most_bytes:
            raise UsageError(
                f"{self._path} holds {self._most_bytes / 1e6:g} MB without an end to one of its parts; fetch it again"
            )
        data = self._file.read(max(_CHUNK_BYTES, len(self.text)))
        try:
            self.text += self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            raise UsageError(f"{self._path} is not UTF-8; fetch it again") from None
        self.end = not data


def _elements(path: Path, window: _Window, member: str) -> Iterator[Any]:
    begins = re.compile(rf"{re.escape(json.dumps(member))}\s*:\s*\[")
    while (match := begins.search(window.text)) is None:
        if window.end:
            raise UsageError(f"{path} has no array {member!r}, which is not the published layout; fetch the file again")
        window.grow()
    window.text = window.text[match.end() :]
    decode, place = json.JSONDecoder().raw_decode, 0
    while True:
        start = _BETWEEN.match(window.text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
        if window.text.startswith("]", start):
            return
        try:
            element, place = decode(window.text, start)
            # Half of a surrogate pair can be written to no file and no hash: it is refused where it enters.
            if "\\u" in window.text[start:place]:
                json.dumps(element, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            if window.end or isinstance(error, RecursionError | UnicodeEncodeError):
                raise UsageError(f"{path} cannot be read as JSON ({error}); fetch it again") from None
            window.text, place = window.text[place:], 0
            window.grow()
            continue
        yield element
