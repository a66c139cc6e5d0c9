"""What a model was played, as short excerpts: each eval writes some, and the page takes of them what fits.

When an eval ends its clips are at hand, and what became of its samples is known; when the page is written neither may
be: workers have ended, and a record holds no paths. So each eval leaves the excerpts that the page might want next to
its rows.
"""

from __future__ import annotations

import base64
import heapq
import io
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.audio.clip import Clip, Samples
from pytest_audiobench.evaluation.answer_sounds import SoundFiles
from pytest_audiobench.evaluation.evaluate import Evaluation
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.records.lines import ExcerptRow
from pytest_audiobench.records.reading import read_lines
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.report.page.rows import LONGEST_NAME, is_wrong
from pytest_audiobench.report.run_writer import stem

ENDING = ".excerpts.jsonl"
LONGEST_S = 20.0
"""Seconds of a clip that an excerpt holds: its beginning."""
LONGEST_SCENE_S = 60.0
"""The same of a scene, whose events are heard from where they begin."""
RATE_HZ = 16_000
"""Excerpts are mono and at most of this rate: what most models hear."""
BUDGET_BYTES = 20_000_000
"""Of all excerpts on a page, in base64: some twelve hundred clips of four seconds."""
EXAMPLES = 3
"""Without a baseline, so many wrong answers of an eval can be heard."""
SCENES = 12
"""Of scenes and spoken answers, of which none is simply wrong, so many."""
FLIPPED = 3
"""Of the samples of an eval whose answer a perturbation turned into another option, so many can be heard with and
without it, in place of as many wrong answers."""
MOST_FLIPS = 100
"""Of one eval."""

_QUALITY = 0.75
"""Of libsndfile's scale, on which 1 is the smallest: some 25 kbit/s for speech at 16 kHz, at variable rate."""
_CACHED_BYTES = 8_000_000
"""Of excerpts that a process holds in memory. An MP3 takes some 4 ms for each second of it, and the evals of other
perturbations, questions and models want the same ones.
"""
_MP3_RATES = (8_000, 11_025, 12_000, 16_000)


class _Candidate(NamedTuple):
    rank: int
    """0 became worse, 1 better, 2 is an example, 3 is one of all."""
    sample: SelectedSample
    both: bool
    """Whether it should be heard as it was before a perturbation changed it, too."""


class _Excerpt(NamedTuple):
    seconds: float
    whole_s: float
    mp3: str
    """In base64."""


class _Version(NamedTuple):
    name: Literal["", "changed", "clean", "answer"]
    """"changed" or "clean" where a perturbation changed it, "answer" for what the model said, else empty."""
    clip: Clip
    key: str
    length_s: float | None


def write_excerpts(
    parts: Path,
    evaluation: Evaluation,
    handle: ModelHandle,
    which: str,
    changes: Mapping[str, str],
    spoken: SoundFiles | None = None,
) -> list[str]:
    """Write an eval's excerpts into the folder of parts, and return what could not be made, in sentences; ``spoken``
    has the audio of its answers.

    ``changes`` says by sample id which answers became "worse" or "better" since the baseline. Where none did, or there
    is no baseline, a few wrong ones are examples.
    MP3 is what every browser plays and libsndfile writes (1.1 and later). Never raises for a clip.
    """
    rows: list[ExcerptRow] = []
    failed: list[str] = []
    left = BUDGET_BYTES
    record = evaluation.result.record
    candidates = list(_candidates(evaluation, which, changes))
    said = _said(evaluation, [candidate.sample.sample.id for candidate in candidates], spoken)
    for candidate in candidates:
        id_ = candidate.sample.sample.id
        for number, version in (*said.get(id_, ()), *_versions(candidate)):
            try:
                excerpt = _excerpt(version, evaluation, handle)
            # Whatever a codec or a file system comes up with, a run does not fail for want of an excerpt.
            except Exception as error:
                failed.append(f"{id_}: {error}")
                continue
            left -= len(excerpt.mp3)
            about: dict[str, Any] = {"eval": record.eval, "model": record.model, "sample_id": id_, "clip": number}
            rows.append(ExcerptRow(**about, version=version.name, rank=candidate.rank, **excerpt._asdict()))
        if left <= 0:
            break
    if rows:
        write_lines(parts / f"{stem(record)}{ENDING}", rows)
    return _failures(failed)


def write_clips(parts: Path, record: ItemRecord, clips: Iterable[tuple[str, int, int, Clip]]) -> list[str]:
    """The same of clips that nothing changed, known by sample id, number in the sample and rank (as ``ExcerptRow``)."""
    rows: list[ExcerptRow] = []
    failed: list[str] = []
    for id_, number, rank, clip in clips:
        try:
            excerpt = _encoded_excerpt(_Version("", clip, "", None), RATE_HZ, None, LONGEST_S)
        # As above: what a codec comes up with is no reason to lose the scores.
        except Exception as error:
            failed.append(f"{id_}: {error}")
            continue
        about: dict[str, Any] = {"eval": record.eval, "model": record.model, "sample_id": id_, "clip": number}
        rows.append(ExcerptRow(**about, version="", rank=rank, **excerpt._asdict()))
    if rows:
        write_lines(parts / f"{stem(record)}{ENDING}", rows)
    return _failures(failed)


def _failures(failed: Sequence[str]) -> list[str]:
    return [f"{len(failed)} clips could not be put on the page ({failed[0]})"] if failed else []


def _candidates(evaluation: Evaluation, which: str, changes: Mapping[str, str]) -> Iterator[_Candidate]:
    if which == "none":
        return
    answers, columns = evaluation.answers, next(iter(evaluation.columns.values())).rows
    scores, statuses = columns.scores(), columns.of_each_kind(lambda kind: kind.status)
    is_flip = (bool(own and own.get("flipped")) for own in scores)
    both = _first(FLIPPED, answers, is_flip, lambda sample: bool(sample.unchanged and sample.unchanged.clip_keys))
    ranks = {"worse": 0, "better": 1}
    changed = {id_: ranks[change] for id_, change in changes.items() if change in ranks}
    samples = dict(both)
    if changed or which == "all":
        taken = (each.selected for each in answers if which == "all" or each.sample_id in changed)
        samples = {selected.sample.id: selected for selected in taken if selected.clip_keys} | samples
    flips = sorted((rank, id_) for id_, rank in changed.items() if id_ in samples)
    chosen = {id_: rank for rank, id_ in flips[:MOST_FLIPS]}
    if not chosen or which == "all":
        if _has_scenes(evaluation) or _is_spoken(evaluation):
            examples = _first(SCENES, answers, repeat(True))
        else:
            wrong = (each != "errors" and is_wrong(each, own) for each, own in zip(statuses, scores, strict=True))
            examples = dict(islice((both | _first(EXAMPLES + len(both), answers, wrong)).items(), EXAMPLES))
        samples |= examples
        chosen = dict.fromkeys(examples, 2) | chosen
    chosen = dict.fromkeys(both, 2) | chosen
    if which == "all":
        chosen = dict.fromkeys(samples, 3) | chosen
    for id_, rank in sorted(chosen.items(), key=lambda item: item[1]):
        yield _Candidate(rank, samples[id_], id_ in both)


def _first(
    most: int,
    answers: Sequence[SampleAnswers],
    wanted: Iterable[bool],
    fits: Callable[[SelectedSample], bool] = lambda sample: True,
) -> dict[str, SelectedSample]:
    """The first samples by id, of those ``wanted``, whose clips are known and that fit."""
    found: dict[str, SelectedSample] = {}
    for place in (place for place, is_wanted in zip(range(len(answers)), wanted, strict=False) if is_wanted):
        if len(found) == most:
            break
        selected = answers[place].selected
        if selected.clip_keys and fits(selected):
            found.setdefault(selected.sample.id, selected)
    return found


def _versions(candidate: _Candidate) -> Iterator[tuple[int, _Version]]:
    """A sample's clips with their numbers: as they were played and, where requested, as they were before."""
    before = candidate.sample.unchanged
    versions: list[tuple[Literal["", "changed", "clean"], SelectedSample]]
    versions = [("changed" if before else "", candidate.sample)]
    versions += [("clean", before)] if candidate.both and before else []
    for name, selected in versions:
        clips = zip(selected.sample.clips, selected.clip_keys or (), selected.durations_s, strict=True)
        for number, (clip, key, length_s) in enumerate(clips):
            yield number, _Version(name, clip, key, length_s)


def _said(
    evaluation: Evaluation, ids: Collection[str], spoken: SoundFiles | None
) -> dict[str, list[tuple[int, _Version]]]:
    """The audio of the first answer to each of these samples, as a version of none of its clips."""
    if spoken is None or not _is_spoken(evaluation):
        return {}
    wanted, stage = frozenset(ids), evaluation.protocol.answering.name
    versions: dict[str, list[tuple[int, _Version]]] = {}
    for answers in evaluation.answers:
        sound = answers.responses[stage].sound if stage in answers.responses else None
        if answers.epoch == 0 and answers.sample_id in wanted and sound and (clip := spoken.clip(sound.digest)):
            versions[answers.sample_id] = [(0, _Version("answer", clip, sound.digest, sound.seconds))]
    return versions


def _is_spoken(evaluation: Evaluation) -> bool:
    return evaluation.protocol.answering.settings.speech


def _has_scenes(evaluation: Evaluation) -> bool:
    return any(stage.task == "events" for stage in evaluation.protocol.stages)


class _Cache:
    """The excerpts with the lowest rank."""

    def __init__(self) -> None:
        self._excerpts: OrderedDict[tuple[object, ...], _Excerpt] = OrderedDict()
        self._left = _CACHED_BYTES

    def get(self, key: tuple[object, ...], make: Callable[[], _Excerpt]) -> _Excerpt:
        """That of ``key``, made where it is not available."""
        if key not in self._excerpts:
            self._excerpts[key] = excerpt = make()
            self._left -= len(excerpt.mp3)
            while self._left < 0:
                self._left += len(self._excerpts.popitem(last=False)[1].mp3)
            return excerpt
        self._excerpts.move_to_end(key)
        return self._excerpts[key]


_cache = _Cache()


def _excerpt(version: _Version, evaluation: Evaluation, handle: ModelHandle) -> _Excerpt:
    """The beginning of what the model was played, as MP3, and how long it was played for in all."""
    if handle.listens and version.name != "answer":
        task = next(stage.task for stage in evaluation.protocol.stages if stage.role == "subject")
        rate_hz, window_s = handle.limits.rate_hz, handle.limits.window_s(task)
    else:
        rate_hz, window_s = RATE_HZ, None
    longest_s = LONGEST_SCENE_S if _has_scenes(evaluation) else LONGEST_S
    key = (version.key, version.length_s, rate_hz, window_s, longest_s)
    return _cache.get(key, lambda: _encoded_excerpt(version, rate_hz, window_s, longest_s))


def _encoded_excerpt(version: _Version, rate_hz: int, window_s: float | None, longest_s: float) -> _Excerpt:
    from pytest_audiobench.audio.decode import decode

    played = decode(version.clip, rate_hz, longest_s if window_s is None else min(window_s, longest_s))
    length_s = version.length_s
    whole_s = length_s if length_s is None or window_s is None else min(length_s, window_s)
    seconds = len(played.samples) / played.rate_hz
    mp3 = base64.b64encode(_mp3(played.samples, played.rate_hz)).decode()
    return _Excerpt(seconds, whole_s or seconds, mp3)


def clip_excerpt(clip: Clip, length_s: float | None) -> tuple[float, float, str]:
    """The beginning of a clip as no model's window cuts it: its seconds, those of the whole, and MP3 in base64."""
    version = _Version("", clip, "", length_s)
    return _encoded_excerpt(version, RATE_HZ, None, LONGEST_S)


def _mp3(samples: Samples, rate_hz: int) -> bytes:
    import soundfile

    if rate_hz not in _MP3_RATES:
        import soxr

        samples, rate_hz = soxr.resample(samples, rate_hz, RATE_HZ, quality="HQ"), RATE_HZ
    file = io.BytesIO()
    options = {"format": "MP3", "subtype": "MPEG_LAYER_III", "bitrate_mode": "VARIABLE"}
    soundfile.write(file, samples, rate_hz, **options, compression_level=_QUALITY)
    return file.getvalue()


Key: TypeAlias = tuple[str, str, str]
"""Eval, model and sample id, as far as the page holds it."""


class Sound(NamedTuple):
    """A clip's excerpt."""

    clip: int
    """The clip's number within its sample."""
    number: int
    """Which of the page's sounds it is."""
    seconds: float
    whole_s: float
    """How long the whole was played for."""
    version: str = ""
    """"clean" for the clip before a perturbation changed it, "changed" for that after, empty where none did; "answer"
    for what the model said.
    """


@dataclass
class PageSounds:
    """The excerpts of a page."""

    data: dict[str, int] = field(default_factory=dict)
    """MP3 files in base64, each once, by their numbers."""
    of: dict[Key, list[Sound]] = field(default_factory=dict)
    left_out: int = 0
    recorded: bool = False
    """Whether the answers were recorded elsewhere, so that what a model was played is not known but by its name."""

    @property
    def note(self) -> str:
        """What of the run can be heard on the page, and how to hear more."""
        if not self.of:
            if self.recorded:
                return "This page holds no sound: audiobench score … --out=FOLDER --audio=FOLDER says where it lies."
            return (
                "This page holds no sound: --ab-report-audio=flips, or all, puts excerpts on it where the audio is on "
                "the machine that asks."
            )
        beyond = f" {self.left_out} more did not fit." if self.left_out else ""
        longest = f"{LONGEST_S:g} s of a clip and {LONGEST_SCENE_S:g} s of a scene"
        if self.recorded:
            how, more = "as it lies where --audio says", "Wrong answers come first."
        else:
            how = "as the model was played it"
            more = "--ab-report-audio=all adds all samples, flips those whose outcome changed."
        samples = f"{len(self.of)} {'sample' if len(self.of) == 1 else 'samples'}"
        return f"Of {samples} the sound is on this page, {how}, in mono and MP3, {longest} at most.{beyond} {more}"

    def elements(self) -> Iterator[tuple[str, str]]:
        """Script elements: the attributes and the text of each, in the order of their numbers."""
        for text in self.data:
            yield 'type="text/plain" class="sound" data-type="audio/mpeg"', text


def page_sounds(parts: Path, budget_bytes: int = BUDGET_BYTES, first: Collection[Key] = ()) -> PageSounds:
    """Choose of the excerpts in the folder of parts: those of the samples that the page lists (``first``), then of
    every eval the most wanted, then of every eval the next.
    """
    sounds, left = PageSounds(), budget_bytes
    listed, paths = frozenset(first), sorted(parts.glob(f"*{ENDING}"))
    # An eval left its excerpts in this order: why each is wanted, and how many were wanted more.
    evals = [(((row.rank, nth), row) for nth, row in enumerate(read_lines(path, ExcerptRow))) for path in paths]
    listed_rows = [row for path in paths if listed for row in read_lines(path, ExcerptRow) if _key(row) in listed]
    others = (row for _, row in heapq.merge(*evals, key=lambda ranked: ranked[0]) if _key(row) not in listed)
    for row in chain(listed_rows, others):
        text = row.mp3
        if text not in sounds.data:
            if len(text) > left:
                sounds.left_out += 1
                continue
            left -= len(text)
            sounds.data[text] = len(sounds.data)
        sound = Sound(row.clip, sounds.data[text], row.seconds, row.whole_s, row.version)
        sounds.of.setdefault(_key(row), []).append(sound)
    return sounds


def _key(row: ExcerptRow) -> Key:
    return row.eval, row.model, row.sample_id[:LONGEST_NAME]
