"""The samples that one eval takes: read, put in hash order, limited, their clips identified."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.datasets.dataset import Dataset, SamplesOnDemand, samples_at
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample, spelling_note
from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, spooled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation import batch_plan
from pytest_audiobench.evaluation.answer_store import message
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.records.run import ShardRecord

_FEW_VALUES = 12
"""A metadata field with at most this many values (and at least two) is reported by group unasked."""
_PORTION = 4096
"""Samples whose clips are identified at once."""


class SelectedSample(NamedTuple):
    """One sample as a run takes it."""

    sample: Sample
    window: int
    clip_keys: tuple[str, ...] | None
    """None when its audio is not on this machine."""
    durations_s: tuple[float | None, ...]
    """The clips' lengths by their headers, None where unknown."""
    error: str | None
    recording: str | None = None
    """The key of the clip that names its cluster where nothing else does: the first, before any perturbation."""
    unchanged: SelectedSample | None = None
    """The sample with all clips as they were before its last perturbation; None where that changed none."""

    @property
    def duration_s(self) -> float | None:
        """The clips' lengths added up; None when one is unknown."""
        known = [length for length in self.durations_s if length is not None]
        return sum(known) if len(known) == len(self.durations_s) else None


def cluster_of(selected: SelectedSample, field: str | None) -> str | None:
    """A sample's cluster: what its metadata say in ``field``, else its recording; None where that is not known."""
    # Named even where nothing repeats within this eval: another of its suite may ask about the same recording.
    if field is not None:
        return str(selected.sample.metadata[field]) if field in selected.sample.metadata else None
    return selected.recording


@dataclass(frozen=True)
class Selection:
    """The samples of one eval, in hash order."""

    dataset: Dataset
    size: int
    """How many it would take without the run's limit."""
    samples: Sequence[SelectedSample]
    groups: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    clustered: bool = False
    """Whether several samples are in one cluster."""
    shard: ShardRecord | None = None
    """Whose windows alone it holds."""
    first_id: bytes = b""
    """The hash of the whole slice's first id, by which windows are parted among shards."""

    def shard_of(self, window: int, count: int) -> int:
        """The one of ``count`` shards that asks about a window."""
        return ShardRecord.of_window(window, self.first_id, count)

    @property
    def limited(self) -> bool:
        return len(self.samples) < self.size

    def without(self, ids: frozenset[str]) -> Selection:
        """The selection without these samples."""
        samples = [selected for selected in self.samples if selected.sample.id not in ids]
        names = {cluster_name(self.dataset, selected) for selected in samples}
        size = self.size - len(self.samples) + len(samples)
        return replace(self, size=size, samples=samples, clustered=len(names) < len(samples))


def select(
    dataset: Dataset,
    places: Places,
    index: AudioIndex,
    handle: ModelHandle,
    limit: int | None = None,
    samples_wanted: int | None = None,
    shard: ShardRecord | None = None,
) -> Selection:
    """Read ``dataset`` and choose the samples that ``handle``'s model is asked about.

    ``limit`` is the run's, ``samples_wanted`` the eval's own: both take the first so many in hash order, and whole
    windows where batches are planned, so that answers are shared with evals of the whole slice. Of these a ``shard``
    takes its windows, which may be none.
    A clip that cannot be found is a sample's error for a model that listens, and no error for one that
    does not (a replay); so is a sample of more clips than the model takes. Raises DataNotFound when the data
    set is absent, UsageError for an empty one or one whose ids repeat.
    """
    samples = dataset.read(places)
    hashes = batch_plan.packed_hashes(sample.id for sample in samples)
    if not len(hashes):
        raise UsageError(f"{dataset.name} holds no sample: an eval over nothing would prove nothing")
    order = batch_plan.hash_order(hashes)
    if (repeated := batch_plan.first_repeated(hashes, order)) is not None:
        (repeating,) = samples_at(samples, [repeated])
        numbered = enumerate(samples, start=1)
        same = islice((f"sample {n} ({_clip_names(each)})" for n, each in numbered if each.id == repeating.id), 2)
        raise UsageError(
            f"{dataset.name} holds the id {repeating.id!r} more than once, as {' and '.join(same)}: give each row "
            "an id of its own"
        )
    whole = batch_plan.limited_positions(hashes, samples_wanted, handle.planned, order)
    positions = min(whole, batch_plan.limited_positions(hashes, limit, handle.planned, order), key=len)
    first = bytes(hashes[order[0]]).ljust(32, b"\0")  # NumPy leaves out the zeros at a text's end
    if shard is not None:
        bits = batch_plan.window_bits(len(hashes))
        windows = ((position, batch_plan.window_of(hashes[position], bits)) for position in positions)
        positions = [p for p, window in windows if shard.of_window(window, first, shard.count) == shard.index]
    if len(positions) > MOST_IN_MEMORY and isinstance(samples, SamplesOnDemand):
        samples = spooled(samples)  # read once in their own order, since they are taken in another
    tally = _Tally(dataset)
    selection = spooled(tally.counted(_selected(samples, positions, hashes, index, handle)))
    partly = tally.absent and not handle.listens and tally.absent < len(selection)
    notes = [dataset.note] if dataset.note else []
    notes += [f"{tally.absent} of {len(selection)} samples have no audio on this machine"] if partly else []
    notes += [tally.spelling] if tally.spelling else []
    notes += [f"of {count} of {len(selection)} samples: {doubt}" for doubt, count in sorted(tally.doubts.items())]
    groups = tally.few_valued if dataset.groups is None else dataset.groups
    return Selection(dataset, len(whole), selection, groups, notes, tally.clustered, shard, first)


def _selected(
    samples: Sequence[Sample],
    positions: batch_plan.Positions,
    hashes: batch_plan.Hashes,
    index: AudioIndex,
    handle: ModelHandle,
) -> Iterator[SelectedSample]:
    bits = batch_plan.window_bits(len(hashes))
    for start in range(0, len(positions), _PORTION):
        portion = [int(position) for position in positions[start : start + _PORTION]]
        chosen = samples_at(samples, portion)
        facts = iter(index.facts_of([clip for sample in chosen for clip in _clips(sample)]))
        for position, sample in zip(portion, chosen, strict=True):
            clip_facts = [next(facts) for _ in _clips(sample)]
            window = batch_plan.window_of(hashes[position], bits)
            yield _selected_with_before(sample, window, clip_facts, handle)


class _Tally:
    """What is counted of samples while they are taken."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self._clusters = dataset, array("q")
        self.absent = 0
        """Samples whose audio is not on this machine."""
        self.doubts: Counter[str] = Counter()
        self.spelling = ""
        """That two choices of a sample are one but for case and white space; "" where none are."""
        self._choices: tuple[str, ...] = ()
        self._values: dict[str, set[object]] = {}

    def counted(self, selection: Iterable[SelectedSample]) -> Iterator[SelectedSample]:
        for selected in selection:
            self.absent += selected.clip_keys is None
            self._clusters.append(hash(cluster_name(self._dataset, selected)))
            if selected.sample.doubt:
                self.doubts[selected.sample.doubt] += 1
            # Most data sets have one list of labels, which all of its samples share.
            if not self.spelling and selected.sample.choices is not self._choices:
                self._choices = selected.sample.choices
                self.spelling = spelling_note(self._choices)
            for name, value in selected.sample.metadata.items():
                seen = self._values.setdefault(name, set())
                if isinstance(value, (str, bool)) and len(seen) <= _FEW_VALUES:
                    seen.add(value)
            yield selected

    @property
    def clustered(self) -> bool:
        """Whether several samples are in one cluster."""
        return len(np.unique(np.array(self._clusters))) < len(self._clusters)

    @property
    def few_valued(self) -> tuple[str, ...]:
        return tuple(name for name, seen in sorted(self._values.items()) if 2 <= len(seen) <= _FEW_VALUES)


def _clip_names(sample: Sample) -> str:
    return ", ".join(map(str, sample.clips)) or "without audio"


def _clips(sample: Sample) -> tuple[Clip, ...]:
    """What a sample plays, then the same before its perturbation, then the recording where that is another again."""
    return (*sample.clips, *(sample.before or ()), *_first_recording(sample))


def _first_recording(sample: Sample) -> tuple[Clip, ...]:
    """Where one perturbation is applied after another."""
    return () if sample.recordings in (None, sample.before) else (sample.recordings or ())[:1]


def _selected_with_before(
    sample: Sample, window: int, facts: Sequence[ClipFacts | Exception], handle: ModelHandle
) -> SelectedSample:
    selected = _selected_sample(sample, window, facts[: len(sample.clips)], handle)
    if sample.before is None:
        return selected
    unchanged = None
    if sample.before != sample.clips:
        as_before = replace(sample, clips=sample.before, before=None)
        end = len(sample.clips) + len(sample.before)
        unchanged = _selected_sample(as_before, window, facts[len(sample.clips) : end], handle)
    keys = [
        clip.key_from(fact.digest)
        for clip, fact in zip(_first_recording(sample), facts[-1:], strict=False)
        if isinstance(fact, ClipFacts)
    ]
    recording = keys[0] if keys else (unchanged or selected).recording
    return selected._replace(recording=recording or selected.recording, unchanged=unchanged)


def _selected_sample(
    sample: Sample, window: int, facts: Sequence[ClipFacts | Exception], handle: ModelHandle
) -> SelectedSample:
    errors = [message(fact) for fact in facts if isinstance(fact, Exception)]
    if errors:
        return SelectedSample(sample, window, None, (None,) * len(facts), errors[0] if handle.listens else None)
    error, limits = None, handle.limits
    if handle.listens and not limits.min_clips <= len(facts) <= limits.max_clips:
        least = "" if limits.min_clips in (0, limits.max_clips) else f"{limits.min_clips} to "
        error = f"{handle.spec} takes {least}{limits.max_clips} clip(s) at once, and the sample has {len(facts)}"
    readable = [fact for fact in facts if isinstance(fact, ClipFacts)]
    keys = tuple(clip.key_from(fact.digest) for clip, fact in zip(sample.clips, readable, strict=True))
    return SelectedSample(
        sample, window, keys, tuple(fact.duration_s for fact in readable), error, keys[0] if keys else None
    )


def clusters(selection: Selection) -> list[str] | None:
    """Each sample's statistical cluster; None where no two samples are in one."""
    if not selection.clustered:
        return None
    return [cluster_name(selection.dataset, selected) for selected in selection.samples]


def cluster_name(dataset: Dataset, selected: SelectedSample) -> str:
    """A sample's statistical cluster: what the data set's own field says, else its recording, else itself."""
    if dataset.cluster is not None:
        return str(selected.sample.metadata.get(dataset.cluster, selected.sample.id))
    return selected.recording or selected.sample.id
