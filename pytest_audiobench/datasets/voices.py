"""Voices for what is injected, and for texts asked aloud: espeak-ng, files of speech, or the bundled digits."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from pytest_audiobench.audio import synthesis, utterances
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource, SynthesisSource
from pytest_audiobench.audio.espeak import FASTEST_WPM, UnknownVoice, Voice, validated_text
from pytest_audiobench.audio.espeak import voice as voice_of
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.declaration import Speech as SpokenText
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.datasets.recordings import ENDINGS, draw, recordings
from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.datasets.table_rows import jsonl_rows
from pytest_audiobench.errors import DataNotFound, UsageError
from pytest_audiobench.io.mistakes import Mistakes

MANIFEST = "speech.jsonl"
"""The manifest of a folder of ready speech."""

READY = "speech"
"""The folder of a data set's own that has ready audio of its texts, a folder for each voice."""

_MOST_EXAMPLES = 5
_NO_LETTERS = re.compile(r"[\W_]+")


class Line(NamedTuple):
    """What is to be said to a sample: one of its options, and the words that are made of it."""

    sample: Sample
    """The sample that it is said to."""
    option: str
    """The option's text."""
    words: str
    """What is said, with the option in it."""


class Speech(NamedTuple):
    """A line as it is heard, who says it, and why it may not be understood, where that is known."""

    clip: Clip
    """How it sounds."""
    by: str
    """Who says it, for the record."""
    doubt: str = ""
    """"" where nothing speaks against its being understood."""


Voices: TypeAlias = Callable[[Places, Sequence[Line]], Sequence[Speech]]
"""The speech of each line, in their order. Raises DataNotFound where such voices are not here or lack a line."""


def espeak(voice: str = "en-us", rate_wpm: int = 165) -> Voices:
    """A voice of espeak-ng says the words (``pip install 'pytest-audiobench[tts]'``); each text once on a machine.

    Raises UsageError, when samples are read, for a voice or a rate that espeak-ng lacks and, with its sample, for a
    text that cannot be spoken. An option in which nothing is heard, or which the voice says as it says another of the
    sample, is told as a doubt.
    """

    def speak(places: Places, lines: Sequence[Line]) -> Sequence[Speech]:
        if places.cache is not None:
            utterances.store_in(places.cache / "speech")
        texts = [_validated_text(line) for line in lines]
        different = list(dict.fromkeys(texts))
        sources = dict(zip(different, synthesis.speech(different, voice, rate_wpm), strict=True))
        unclear = _unclear(lines, voice_of(voice, rate_wpm))
        doubt = f"espeak-ng {voice} says the injected option as nothing, or as it says another; let others speak"
        return [
            Speech(Clip(sources[text]), f"espeak-ng {voice}", doubt if doubted else "")
            for text, doubted in zip(texts, unclear, strict=True)
        ]

    return speak


def _validated_text(line: Line) -> str:
    try:
        return validated_text(line.words)
    except UsageError as error:
        raise UsageError(f"sample {line.sample.id!r}: {error}") from None


def _unclear(lines: Sequence[Line], voice: Voice) -> list[bool]:
    """Whether the spoken option is ambiguous: voices leave out signs, and call unknown letters by one name."""
    doubtful = [_doubtful_options(line) for line in lines]
    with suppress(UsageError):  # those that can be said, many at a time
        utterances.frames_of(voice, list(dict.fromkeys(option for each in doubtful for option in each)))
    return [
        bool(options)
        and _speech_bytes(line.option, voice)
        in (b"", *(_speech_bytes(option, voice) for option in options if option != line.option))
        for line, options in zip(lines, doubtful, strict=True)
    ]


def _doubtful_options(line: Line) -> list[str]:
    """The sample's options, where the one that is said has no letters and digits of its own that every voice knows."""
    different = {tidy_caseless(choice): choice for choice in (*line.sample.choices, line.option)}
    names = {choice: _name(choice) for choice in different.values()}
    target = names[line.option]
    if target and target.isascii() and list(names.values()).count(target) == 1:
        return []
    return [choice for choice, name in names.items() if name == target or not (name and name.isascii())]


def _speech_bytes(option: str, voice: Voice) -> bytes:
    try:
        return utterances.pcm_of(voice, validated_text(option)).tobytes()
    except UsageError:
        return b""


def speech_files(name: str = "injection") -> Voices:
    """Speech that lies in a folder (``--ab-data=injection=FOLDER``), of the words or else of the option alone.

    The folder's ``speech.jsonl`` says which file says what: an object a line, ``text`` and ``audio``, a path in the
    folder. Without one a file is called as what it says, case and punctuation aside: ``the_answer_is_a_dog.wav``,
    ``Dog.flac``. Raises UsageError where some of the options are not there, or a file's name does not tell which one it
    is; DataNotFound where none is, for then the folder is of another data set.
    """

    def speak(places: Places, lines: Sequence[Line]) -> Sequence[Speech]:
        root = places.find(name, ".")
        listed = (root.folder / MANIFEST).exists()
        spelled = _caseless if listed else _name
        speech = _manifest_clips(root) if listed else _clips_by_name(root, recordings(places, name))
        clips = [speech.get(spelled(line.words)) or speech.get(spelled(line.option)) for line in lines]
        _refuse_gaps(root, lines, clips)
        if not listed:
            options_by_name: dict[str, str] = {}
            for _, option, _ in lines:
                other = options_by_name.setdefault(_name(option), option)
                if _caseless(other) != _caseless(option):
                    raise UsageError(
                        f"a file's name does not distinguish the options {other[:80]!r} and {option[:80]!r}; say in "
                        f"{root.folder / MANIFEST} which file says which"
                    )
        return [Speech(clip, name) for clip in clips if clip is not None]

    return speak


def bundled_digits() -> Voices:
    """The bundled recordings of spoken digits say the option alone, never by the recording that it is injected into.

    Which of them is drawn from the sample's id. Raises DataNotFound for an option that is not a digit's name.
    """

    def speak(places: Places, lines: Sequence[Line]) -> Sequence[Speech]:
        by_digit: dict[str, list[Clip]] = {}
        for sample in bundled("digits").read(places):
            by_digit.setdefault(sample.reference, []).append(sample.clips[0])
        return [Speech(_draw_digit(line, by_digit), "bundled digits") for line in lines]

    return speak


def _draw_digit(line: Line, by_digit: Mapping[str, list[Clip]]) -> Clip:
    sources = {clip.source for clip in (line.sample.recordings or line.sample.clips)}
    others = [clip for clip in by_digit.get(_caseless(line.option), ()) if clip.source not in sources]
    if not others:
        raise DataNotFound(f"the bundled digits do not say {line.option[:80]!r}")
    return draw(others, 1, "injected", "digit", line.sample.id, line.option)[0]


def spoken(
    lines: Sequence[tuple[Sample, str]], voice: str, root: DataRoot, places: Places, speech: SpokenText
) -> Iterator[Sample]:
    """Each sample with its words as ``voice`` says them for its clip, and as its metadata "transcript".

    A folder ``speech/VOICE`` of the data's is ready audio, a file for each sample, called as its id; else the voice is
    espeak-ng's. Raises DataNotFound where there is neither, UsageError, with the sample, for words that cannot be said.
    """
    folder = f"{READY}/{voice}"
    lines = [(replace(each, metadata={"transcript": words, **each.metadata}), words) for each, words in lines]
    if (root.folder / folder).is_dir():
        for sample, _ in lines:
            paths = [relative_path(f"{folder}/{sample.id}{ending}") for ending in ENDINGS]
            path = next((path for path in paths if (root.folder / path).is_file()), paths[0])
            yield replace(sample, clips=(Clip(FileSource(root, path)),))
        return
    if places.cache is not None:
        utterances.store_in(places.cache / "speech")
    mistakes = Mistakes()
    texts = []
    for sample, words in lines:
        with mistakes.catching(f"sample {sample.id!r}: "):
            texts.append(validated_text(words))
    mistakes.check()
    try:
        sources = _said(list(dict.fromkeys(texts)), voice, speech)
    except (DataNotFound, UnknownVoice) as error:
        raise DataNotFound(
            f"the voice {voice!r} of {root.name} is not here ({error}); or put ready audio into "
            f"{root.folder / folder}, a file for each sample, called as its id"
        ) from None
    for (sample, _), text in zip(lines, texts, strict=True):
        yield replace(sample, clips=(Clip(sources[text]),))


def _said(texts: Sequence[str], voice: str, speech: SpokenText) -> dict[str, SynthesisSource]:
    """By text, how it is said: faster in steps of 25 words a minute where it takes too long otherwise."""
    sources: dict[str, SynthesisSource] = {}
    most_s = speech.most_seconds or math.inf
    rates = dict.fromkeys(texts, speech.words_per_minute)
    while rates:
        for rate in sorted(set(rates.values())):
            group = [text for text in texts if rates.get(text) == rate]
            sources |= zip(group, synthesis.speech(group, voice, rate), strict=True)
        slow = {text: rate for text, rate in rates.items() if sources[text].duration_s > most_s and rate < FASTEST_WPM}
        # Who speaks faster takes shorter, by and large in proportion.
        fitting = {text: 25 * math.ceil(rate * sources[text].duration_s / most_s / 25) for text, rate in slow.items()}
        rates = {text: min(FASTEST_WPM, max(rate + 25, fitting[text])) for text, rate in slow.items()}
    return sources


def first_available_voices(*voices: Voices) -> Voices:
    """The first of ``voices`` that can say all lines. Raises DataNotFound, with what each of them lacks."""

    def speak(places: Places, lines: Sequence[Line]) -> Sequence[Speech]:
        lacking = []
        for speaker in voices:
            try:
                return speaker(places, lines)
            except DataNotFound as error:
                lacking.append(str(error))
        raise DataNotFound(f"there is no speech to inject: {'; and '.join(lacking)}")

    return speak


def _manifest_clips(root: DataRoot) -> dict[str, Clip]:
    path = root.folder / MANIFEST
    clips_by_text: dict[str, Clip] = {}
    mistakes = Mistakes()
    with mistakes.catching():
        for number, row in jsonl_rows(path, mistakes.add):
            text, audio = row.get("text"), row.get("audio")
            if not isinstance(text, str) or not isinstance(audio, str):
                mistakes.add(f"{path}, line {number} has no text and audio; give both as texts")
                continue
            if _caseless(text) in clips_by_text:
                mistakes.add(f"{path}, line {number} has the text {text[:80]!r} again; keep one of them")
            try:
                clips_by_text[_caseless(text)] = Clip(FileSource(root, relative_path(audio)))
            except ValueError as error:
                mistakes.add(f"{path}, line {number}: {error}")
    mistakes.check()
    return clips_by_text


def _clips_by_name(root: DataRoot, clips: Iterable[Clip]) -> dict[str, Clip]:
    clips_by_text: dict[str, Clip] = {}
    for clip in clips:
        assert isinstance(clip.source, FileSource)
        spelled = _name(PurePosixPath(clip.source.path).stem)
        if spelled in clips_by_text:
            raise UsageError(
                f"{root.folder} holds {clips_by_text[spelled]} and {clip}, whose names say the same; keep one of them"
            )
        clips_by_text[spelled] = clip
    clips_by_text.pop("", None)
    return clips_by_text


def _refuse_gaps(root: DataRoot, lines: Sequence[Line], clips: Sequence[Clip | None]) -> None:
    missing = dict.fromkeys(line.option for line, clip in zip(lines, clips, strict=True) if clip is None)
    if not missing:
        return
    examples = ", ".join(repr(option[:80]) for option in list(missing)[:_MOST_EXAMPLES])
    if not any(clips):
        raise DataNotFound(f"{root.folder} has speech for none of the options ({examples})")
    raise UsageError(
        f"{root.folder} has no speech for {len(missing)} of the options ({examples}); add files that are called so, or "
        f"say in {MANIFEST} which file says which"
    )


def _caseless(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _name(text: str) -> str:
    """What is left of a text in a file's name: its letters and digits, in words."""
    return " ".join(_NO_LETTERS.sub(" ", _caseless(text)).split())
