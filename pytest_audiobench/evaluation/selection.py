"""The samples that one eval takes: read, put in hash order, limited, their clips identified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation import batching
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.text_repair import message

_FEW_VALUES = 12
"""A metadata field with at most this many values (and at least two) is reported by group unasked."""


class SelectedSample(NamedTuple):
    """One sample as a run takes it. ``clip_keys`` is None when its audio is not on this machine.

    ``durations_s`` are the clips' lengths by their headers, None where unknown. ``recording`` is the key of the clip
    that its cluster is known by where nothing else names one: the first, as it was before any perturbation changed it.
    ``unchanged`` is the sample with all clips as they were before its last perturbation; None where that changed none.
    """

    sample: Sample
    window: int
    clip_keys: tuple[str, ...] | None
    durations_s: tuple[float | None, ...]
    error: str | None
    recording: str | None = None
    unchanged: SelectedSample | None = None

    @property
    def duration_s(self) -> float | None:
        """The clips' lengths added up; None when one is unknown."""
        known = [length for length in self.durations_s if length is not None]
        return sum(known) if len(known) == len(self.durations_s) else None


@dataclass(frozen=True)
class Selection:
    """The samples of one eval, in hash order; ``size`` counts those that it would take without the run's limit."""

    dataset: Dataset
    size: int
    taken: Sequence[SelectedSample]
    groups: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def limited(self) -> bool:
        return len(self.taken) < self.size


def select(
    dataset: Dataset,
    places: Places,
    index: AudioIndex,
    handle: ModelHandle,
    limit: int | None = None,
    samples_wanted: int | None = None,
) -> Selection:
    """Read ``dataset`` and choose the samples that ``handle``'s model is asked about.

    ``limit`` is the run's, ``samples_wanted`` the eval's own: both take the first so many in hash order, and whole
    windows where batches are planned, so that answers are shared with evals of the whole slice.
    A clip that cannot be found is a sample's error for a model that listens, and no error for one that
    does not (a replay); so is a sample of more clips than the model takes. Raises DataNotFound when the data
    set is absent, UsageError for an empty one or one whose ids repeat.
    """
    samples = dataset.read(places)
    if not samples:
        raise UsageError(f"{dataset.name} holds no sample: an eval over nothing would prove nothing")
    repeated = [id_ for id_, count in Counter(sample.id for sample in samples).items() if count > 1]
    if repeated:
        raise UsageError(f"{dataset.name} holds the id {repeated[0]!r} more than once: ids must be unique")
    hashes = [batching.sample_hash(sample.id) for sample in samples]
    bits = batching.window_bits(len(samples))
    whole = batching.taken(hashes, samples_wanted, whole_windows=handle.planned)
    positions = min(whole, batching.taken(hashes, limit, whole_windows=handle.planned), key=len)
    chosen = [samples[i] for i in positions]
    facts = iter(index.facts_of([clip for sample in chosen for clip in _clips(sample)]))
    taken = []
    for position, sample in zip(positions, chosen, strict=True):
        own = [next(facts) for _ in _clips(sample)]
        taken.append(_identified(sample, batching.window_of(hashes[position], bits), own, handle))
    absent = sum(one.clip_keys is None for one in taken)
    partly = absent and not handle.listens and absent < len(taken)
    notes = [dataset.note] if dataset.note else []
    notes += [f"{absent} of {len(taken)} samples have no audio on this machine"] if partly else []
    doubts = Counter(sample.doubt for sample in chosen if sample.doubt)
    notes += [f"of {count} of {len(taken)} samples: {doubt}" for doubt, count in sorted(doubts.items())]
    return Selection(
        dataset, len(whole), taken, _few_valued(chosen) if dataset.groups is None else dataset.groups, notes
    )


def _clips(sample: Sample) -> tuple[Clip, ...]:
    """What a sample plays, behind it the same before its perturbation, and the recording where that is another again."""
    return (*sample.clips, *(sample.before or ()), *_first_recording(sample))


def _first_recording(sample: Sample) -> tuple[Clip, ...]:
    """Where one perturbation is put upon another."""
    return () if sample.recordings in (None, sample.before) else (sample.recordings or ())[:1]


def _identified(
    sample: Sample, window: int, found_of: Sequence[ClipFacts | Exception], handle: ModelHandle
) -> SelectedSample:
    own = _played(sample, window, found_of[: len(sample.clips)], handle)
    if sample.before is None:
        return own
    unchanged = None
    if sample.before != sample.clips:
        as_before = replace(sample, clips=sample.before, before=None)
        end = len(sample.clips) + len(sample.before)
        unchanged = _played(as_before, window, found_of[len(sample.clips) : end], handle)
    first = [
        clip.key_from(fact.digest)
        for clip, fact in zip(_first_recording(sample), found_of[-1:], strict=False)
        if isinstance(fact, ClipFacts)
    ]
    recording = first[0] if first else (unchanged or own).recording
    return own._replace(recording=recording or own.recording, unchanged=unchanged)


def _played(sample: Sample, window: int, facts: Sequence[ClipFacts | Exception], handle: ModelHandle) -> SelectedSample:
    wrong = [message(fact) for fact in facts if isinstance(fact, Exception)]
    if wrong:
        return SelectedSample(sample, window, None, (None,) * len(facts), wrong[0] if handle.listens else None)
    error, limits = None, handle.limits
    if handle.listens and not limits.min_clips <= len(facts) <= limits.max_clips:
        least = "" if limits.min_clips in (0, limits.max_clips) else f"{limits.min_clips} to "
        error = f"{handle.spec} takes {least}{limits.max_clips} clip(s) at once, and the sample has {len(facts)}"
    found = [fact for fact in facts if isinstance(fact, ClipFacts)]
    keys = tuple(clip.key_from(fact.digest) for clip, fact in zip(sample.clips, found, strict=True))
    return SelectedSample(
        sample, window, keys, tuple(fact.duration_s for fact in found), error, keys[0] if keys else None
    )


def _few_valued(samples: Sequence[Sample]) -> tuple[str, ...]:
    values: dict[str, set[object]] = {}
    for sample in samples:
        for name, value in sample.metadata.items():
            seen = values.setdefault(name, set())
            if isinstance(value, (str, bool)) and len(seen) <= _FEW_VALUES:
                seen.add(value)
    return tuple(name for name, seen in sorted(values.items()) if 2 <= len(seen) <= _FEW_VALUES)


def clusters(slice_: Selection) -> list[str] | None:
    """Each sample's statistical cluster: the data set's own field, else the recording where one repeats; else None."""
    name = slice_.dataset.cluster
    if name is not None:
        found = [str(one.sample.metadata.get(name, one.sample.id)) for one in slice_.taken]
    else:
        found = [one.recording or one.sample.id for one in slice_.taken]
    return found if len(set(found)) < len(found) else None
