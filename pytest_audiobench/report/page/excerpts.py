"""What a model was played, as short excerpts for the page, written by the process that holds the clips.

When an eval ends its clips are at hand, and what became of its samples is known; when the page is written neither may
be: workers have ended, and a record holds no paths. So each eval leaves the excerpts that the page might want beside
its rows, and the page takes of them what fits.
"""

from __future__ import annotations

import base64
import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.audio.clip import Clip, Samples
from pytest_audiobench.evaluation.evaluate import Evaluation
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.report.json_lines import Row, write_lines
from pytest_audiobench.report.page.page_rows import right
from pytest_audiobench.report.run_parts import stem

ENDING = ".excerpts.jsonl"
LONGEST_S = 20.0
"""Seconds of a clip that an excerpt holds: its beginning."""
RATE_HZ = 16_000
"""Excerpts are mono and at most of this rate: what most models hear."""
BUDGET_BYTES = 20_000_000
"""Of all excerpts on a page, in base64: some twelve hundred clips of four seconds."""
EXAMPLES = 3
"""Without a baseline, so many wrong answers of an eval can be heard."""
FLIPPED = 3
"""Of the samples of an eval whose answer a perturbation turned into another option, so many can be heard with and without
it, in place of as many wrong answers."""
MOST_FLIPS = 100
"""Of one eval."""

_QUALITY = 0.75
"""Of libsndfile's scale, on which 1 is the smallest: some 25 kbit/s for speech at 16 kHz, at variable rate."""
_KEPT = 24
"""Excerpts of unchanged clips that a process keeps: the evals of other perturbations want the same ones."""
_MP3_RATES = (8_000, 11_025, 12_000, 16_000)


class Wanted(NamedTuple):
    """A sample that should be heard; ``rank`` 0 became worse, 1 better, 2 is an example, 3 is one of all.

    ``both`` where it should be heard as it was before a perturbation changed it, too.
    """

    rank: int
    taken: SelectedSample
    both: bool


class _Version(NamedTuple):
    """A clip as it was played: ``name`` is "changed" or "clean" where a perturbation changed it, else empty."""

    name: str
    clip: Clip
    key: str
    length_s: float | None


def write_excerpts(
    parts: Path, evaluation: Evaluation, handle: ModelHandle, which: str, changes: Mapping[str, str]
) -> list[str]:
    """Write an eval's excerpts into the folder of parts, and return what could not be made, in sentences.

    ``changes`` says by sample id which answers became "worse" or "better" since the baseline. Where none did, or there
    is no baseline, a few wrong ones are examples.
    MP3 is what every browser plays and libsndfile writes (1.1 and later). Never raises for a clip.
    """
    found: list[Row] = []
    failed: list[str] = []
    left = BUDGET_BYTES
    record = evaluation.result.record
    own = {"eval": record.eval, "model": record.model}
    for wanted in _wanted(evaluation, which, changes):
        id_ = wanted.taken.sample.id
        for number, one in _versions(wanted):
            try:
                excerpt = _excerpt(one, evaluation, handle)
            # Whatever a codec or a file system comes up with, a run does not fail for want of an excerpt.
            except Exception as error:
                failed.append(f"{id_}: {error}")
                continue
            left -= len(excerpt["mp3"])
            found.append({**own, "sample_id": id_, "clip": number, "version": one.name, "rank": wanted.rank, **excerpt})
        if left <= 0:
            break
    if found:
        write_lines(parts / f"{stem(record)}{ENDING}", found)
    return [f"{len(failed)} clips could not be put on the page ({failed[0]})"] if failed else []


def _wanted(evaluation: Evaluation, which: str, changes: Mapping[str, str]) -> Iterator[Wanted]:
    """The samples to be heard, the most wanted first, each once."""
    if which == "none":
        return
    here = {one.selected.sample.id: one.selected for one in evaluation.answers if one.selected.clip_keys}
    ranks = {"worse": 0, "better": 1}
    flips = sorted((ranks[change], id_) for id_, change in changes.items() if change in ranks and id_ in here)
    chosen = {id_: rank for rank, id_ in flips[:MOST_FLIPS]}
    rows = next(iter(evaluation.rows.values()))
    flipped = list(dict.fromkeys(row.answers.sample_id for row in rows if _has_flipped(row)))
    both = [id_ for id_ in flipped if id_ in here and _was_changed(here[id_])][:FLIPPED]
    if not chosen or which == "all":
        wrong = [row.answers.sample_id for row in rows if _is_wrong(row) and row.answers.sample_id in here]
        chosen = dict.fromkeys([*dict.fromkeys([*both, *wrong])][:EXAMPLES], 2) | chosen
    chosen = dict.fromkeys(both, 2) | chosen
    if which == "all":
        chosen = dict.fromkeys(here, 3) | chosen
    for id_, rank in sorted(chosen.items(), key=lambda item: item[1]):
        yield Wanted(rank, here[id_], id_ in both)


def _has_flipped(row: ScoredSample) -> bool:
    return row.scores is not None and bool(row.scores.get("flipped"))


def _was_changed(taken: SelectedSample) -> bool:
    return taken.unchanged is not None and bool(taken.unchanged.clip_keys)


def _versions(wanted: Wanted) -> Iterator[tuple[int, _Version]]:
    """A sample's clips with their numbers: as they were played and, where wanted, as they were before."""
    before = wanted.taken.unchanged
    sides = [("changed" if before else "", wanted.taken), *([("clean", before)] if wanted.both and before else [])]
    for name, taken in sides:
        clips = zip(taken.sample.clips, taken.clip_keys or (), taken.durations_s, strict=True)
        for number, (clip, key, length_s) in enumerate(clips):
            yield number, _Version(name, clip, key, length_s)


def _is_wrong(row: ScoredSample) -> bool:
    if row.answer is None:
        return False
    return row.answer.status != "parsed" or (row.scores is not None and right(row.scores) is False)


_kept: OrderedDict[tuple[str, int, float | None], Row] = OrderedDict()


def _excerpt(one: _Version, evaluation: Evaluation, handle: ModelHandle) -> Row:
    """The beginning of what the model was played, as MP3, and how long it was played for in all."""
    if handle.listens:
        task = next(stage.task for stage in evaluation.protocol.stages if stage.role == "subject")
        rate_hz, window_s = handle.limits.rate_hz, handle.limits.window_s(task)
    else:
        rate_hz, window_s = RATE_HZ, None
    wanted = (one.key, rate_hz, window_s)
    if wanted in _kept:
        _kept.move_to_end(wanted)
        return _kept[wanted]
    found = _made(one, rate_hz, window_s)
    if one.name == "clean":
        _kept[wanted] = found
        if len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return found


def _made(one: _Version, rate_hz: int, window_s: float | None) -> Row:
    from pytest_audiobench.audio.decode import decode

    heard = decode(one.clip, rate_hz, LONGEST_S if window_s is None else min(window_s, LONGEST_S))
    whole_s = one.length_s if one.length_s is None or window_s is None else min(one.length_s, window_s)
    seconds = len(heard.samples) / heard.rate_hz
    mp3 = base64.b64encode(_mp3(heard.samples, heard.rate_hz)).decode()
    return {"seconds": seconds, "whole_s": whole_s or seconds, "mp3": mp3}


def _mp3(samples: Samples, rate_hz: int) -> bytes:
    import soundfile

    if rate_hz not in _MP3_RATES:
        import soxr

        samples, rate_hz = soxr.resample(samples, rate_hz, RATE_HZ, quality="HQ"), RATE_HZ
    file = io.BytesIO()
    soundfile.write(
        file,
        samples,
        rate_hz,
        format="MP3",
        subtype="MPEG_LAYER_III",
        bitrate_mode="VARIABLE",
        compression_level=_QUALITY,
    )
    return file.getvalue()
