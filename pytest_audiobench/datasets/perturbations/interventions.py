"""Changes that show what an answer hangs on: parts masked, a part alone, the clip elsewhere, no sound, another order.

A mask draws its places by SHA-256 from the sample's id, the same for all shares, fills and families. Masks are made at
16 kHz, which a clip of another rate is brought to first: the share is then exact in what a model at 16 kHz hears.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.audio.edits.level_and_length import Place
from pytest_audiobench.audio.edits.masks import Fill, Mode, Part, Rule
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.perturbation import Change, ClipChange, Perturbation, dose_of, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import LETTERS, TRUE_LETTER, Sample, listed_letter, tidy_caseless
from pytest_audiobench.errors import UnsuitableData, UsageError
from pytest_audiobench.identity import seed as seed_of

PERCENTS = (20.0, 40.0, 60.0, 80.0, 90.0, 100.0)

ORDERS = 9
"""Rotations of up to ten options."""

FRAGMENT_S = 3.0
WINDOWS_S = (15.0, 30.0)
"""Of the study whose windows these are (SALMONN on SAKURA: 15 and 30 s, the clip early, in the middle or late)."""

Scenery: TypeAlias = Literal["speech", "sounds"]
"""The parts of a scene in which somebody speaks."""

FRAGMENT, WINDOW = "fragment", "window"
"""Families."""
NO_OPTIONS = "no-options"
"""The perturbation without the listed options, whose free answers a judge weighs."""

_OWN_LETTER = re.compile(r"\(?[A-Z][).:] ")
_REFERRING = re.compile(
    r"\bof the (?:above|below|others?|preceding|previous)\b"
    r"|^(?:both |only |neither |either )?\(?[A-Z]\)?,? (?:and|or|nor|&) \(?[A-Z]\)?$|^only \(?[A-Z]\)?$",
    re.IGNORECASE,
)
"""Options that say which others are right, by their places."""
_PLACES: tuple[Place, ...] = ("first", "middle", "last")


def masks(*percents: float, mode: Mode = "random", fill: Fill = "silence") -> tuple[Perturbation, ...]:
    """``mask-p20`` and so on: a share of each clip replaced, for each of ``percents`` or the usual ones.

    Mode and fill are in the names (``mask-p20-start``, ``mask-p20-noise``, ``mask-p20-end-noise``) and in the
    families, but for a random place and silence; :func:`~pytest_audiobench.audio.edits.mask` says what they do.
    Raises UsageError for a share outside 0 to 100 or given twice, and for an unknown mode or fill.
    """
    family = "-".join(["mask", *([str(mode)] if mode != "random" else []), *([str(fill)] if fill != "silence" else [])])
    doses = [dose_of(family, percent) for percent in percents or PERCENTS]
    names = [_name(percent, family) for percent in doses]
    if len(set(names)) < len(names):
        raise UsageError(f"masks{percents} has a share twice, to the six digits of a name; give each once")
    return tuple(
        Perturbation(name, family, per_clip(_masking(percent, mode, fill)), percent, "% masked", "higher")
        for name, percent in zip(names, doses, strict=True)
    )


def _name(percent: float, family: str) -> str:
    """Words that ``-k`` can select: the dose behind the word that all masks share, then the mode and the fill."""
    return f"mask-p{percent:g}{family.removeprefix('mask')}"


def _masking(percent: float, mode: Mode, fill: Fill) -> Callable[[Places], ClipChange]:
    edits.mask(percent, mode, fill)  # a mistake is reported where it is made, not where samples are read

    def change(clip: Clip, id_: str) -> Clip:
        return at_rate(clip).edited(edits.mask(percent, mode, fill, seed_of("condition", "mask", id_)))

    return lambda places: change


def masked_parts(part: Scenery, rule: Rule = "exact") -> tuple[Perturbation, ...]:
    """``without-speech-p10`` to ``-p100``, or ``without-sounds-…``: that share of one part of a scene is silence.

    The part is the speech, or all else; where the speech lies is a sample's metadata "speech_start_s" and
    "speech_end_s". ``rule`` is that of :func:`~pytest_audiobench.audio.edits.mask_part`: the ``published`` one of the
    faithfulness study is in the names (``without-speech-p10-published``), and masks at the clip's own rate.
    """
    family = f"without-{part}{'-published' if rule == 'published' else ''}"
    return tuple(
        Perturbation(
            f"without-{part}-p{percent}{family.removeprefix(f'without-{part}')}",
            family,
            _masking_part(percent, part, rule),
            percent,
            "% masked",
            "higher",
        )
        for percent in range(10, 101, 10)
    )


_SPEECH_TIMES = {"speech_start_s", "speech_end_s"}


def _masking_part(percent: int, part: str, rule: Rule) -> Callable[[Places], Change]:
    def masked(sample: Sample) -> Sample:
        try:
            start_s, end_s = (float(str(sample.metadata.get(name))) for name in ("speech_start_s", "speech_end_s"))
        except ValueError:
            raise UsageError(
                f"sample {sample.id!r} does not say where its speech is: its metadata speech_start_s and speech_end_s "
                "must be seconds"
            ) from None
        inside: Part = "inside" if part == "speech" else "outside"
        if rule == "published":
            seed: int | str = f"42_{sample.id}_{'speech' if part == 'speech' else 'audio'}_{percent}"
            clips = sample.clips
        else:
            seed, clips = seed_of("condition", f"without-{part}", sample.id), tuple(map(at_rate, sample.clips))
        edit = edits.mask_part(percent, inside, start_s, end_s, rule, seed)
        return replace(sample, clips=tuple(clip.edited(edit) for clip in clips))

    def change(samples: Sequence[Sample]) -> list[Sample]:
        if samples and not any(sample.metadata.keys() >= _SPEECH_TIMES for sample in samples):
            raise UnsuitableData(
                f"no sample says where its speech is (metadata speech_start_s and speech_end_s, in seconds), so that "
                f"without-{part} has nothing to silence"
            )
        return [masked(sample) for sample in samples]

    return lambda places: change


def orders(rotations: int = 3) -> tuple[Perturbation, ...]:
    """``order-1`` to ``order-3``: the options rotated, the first so many of them moved behind the last.

    With the unchanged order they are all cyclic orders of four options, in which each option stands once in each place.
    Of two options ``order-2`` is the unchanged order again, which is not asked twice. Which text is right stays; so do
    samples without choices.
    """
    return tuple(Perturbation(f"order-{by}", "order", _rotating(by)) for by in range(1, rotations + 1))


def fragments(length_s: float = FRAGMENT_S) -> tuple[Perturbation, ...]:
    """``first-3s``, ``middle-3s`` and ``last-3s``: that part of every clip alone."""
    return tuple(
        Perturbation(f"{place}-{length_s:g}s", FRAGMENT, per_clip(_fragment(place, length_s))) for place in _PLACES
    )


def windows(length_s: float, fill: Fill = "silence") -> tuple[Perturbation, ...]:
    """``early-15s-silence``, ``mid-…`` and ``late-…``: every clip somewhere in a window of silence or noise."""
    return tuple(
        Perturbation(f"{word}-{length_s:g}s-{fill}", WINDOW, per_clip(_window(place, length_s, fill)))
        for word, place in zip(("early", "mid", "late"), _PLACES, strict=True)
    )


def without_options() -> Perturbation:
    """``no-options``: the question without its options, to be answered in words of one's own."""
    return Perturbation(NO_OPTIONS, "options", lambda places: _without_options)


def _without_options(samples: Sequence[Sample]) -> list[Sample]:
    _check_options(samples, "to leave out", NO_OPTIONS)
    return [replace(sample, choices=()) for sample in samples]


def _rotating(by: int) -> Callable[[Places], Change]:
    def change(samples: Sequence[Sample]) -> Sequence[Sample]:
        _check_options(samples, "to put in another order", "the order")
        return [_rotated(sample, by) for sample in samples]

    return lambda places: change


def _check_options(samples: Sequence[Sample], what: str, name: str) -> None:
    """Raises UsageError where the options that a question lists are not its ``choices``, so that nothing would change
    but how an answer is read.
    """
    leave = f"leave the eval out by -k, or {name}"
    asked = [sample.choices for sample in samples if len(sample.choices) > 1]
    if not asked:
        raise UsageError(f"no sample has options {what}; {leave}")
    if all(choices == tuple(LETTERS[: len(choices)]) for choices in asked):
        raise UsageError(f"the options are letters of what the question itself lists, nothing {what}; {leave}")
    lettered = (choices for choices in asked if all(map(_OWN_LETTER.match, choices)))
    if (choices := next(lettered, None)) is not None:
        raise UsageError(
            f"options such as {choices[0][:40]!r} begin with letters of their own, which would belie their places; "
            f"take these off (a declaration: 'unlettered'), or {leave}"
        )


def _rotated(sample: Sample, by: int) -> Sample:
    count = len(sample.choices)
    if not count or not (start := by % count):
        return sample
    letters = set(LETTERS[:count])
    if any(tidy_caseless(each).upper() in letters or _REFERRING.search(each.strip()) for each in sample.choices):
        # In another order these would mean something else, or be another one's letter: they have one order only.
        return sample
    choices = (*sample.choices[start:], *sample.choices[:start])
    reference, metadata = sample.reference, sample.metadata
    if reference not in choices and (right := listed_letter(sample.choices, reference)) is not None:
        # Where another option is spelled nearly like it, only its own spelling says which of them is right.
        reference = sample.choices[LETTERS.index(right)]
    recorded = metadata.get(TRUE_LETTER)
    if isinstance(recorded, str) and recorded in LETTERS[:count] and count <= len(LETTERS):
        metadata = {**metadata, TRUE_LETTER: LETTERS[(LETTERS.index(recorded) - start) % count]}
    return replace(sample, choices=choices, reference=reference, metadata=metadata)


def _fragment(place: Place, length_s: float) -> Callable[[Places], ClipChange]:
    edit = edits.fragment(place, length_s)
    return lambda places: lambda clip, id_: clip.edited(edit)


def _window(place: Place, length_s: float, fill: Fill) -> Callable[[Places], ClipChange]:
    edits.window(place, length_s, fill)  # a mistake is reported where it is made, not where samples are read

    def change(clip: Clip, id_: str) -> Clip:
        return clip.edited(edits.window(place, length_s, fill, seed_of("condition", "window", id_)))

    return lambda places: change


def controls() -> tuple[Perturbation, ...]:
    """``silence``, ``swapped`` and ``text``, perturbations of the family ``control``.

    Every clip as silence of its length; every question with the clips of another sample that has as many; no clips.
    """
    swap = partial(_with_clips_swapped, "the data set")
    return (
        Perturbation("silence", "control", lambda places: _silent),
        Perturbation("swapped", "control", lambda places: swap),
        Perturbation("text", "control", lambda places: _without_clips),
    )


def with_silence(dataset: Dataset) -> Dataset:
    """Every clip as digital silence of its own length."""
    return _with_change(dataset, "silence", _silent)


def without_audio(dataset: Dataset) -> Dataset:
    """The text alone."""
    return _with_change(dataset, "text", _without_clips)


def with_swapped_clips(dataset: Dataset) -> Dataset:
    """Every question with other clips, those of a sample that has as many, by a seeded cycle through all of them.

    They are drawn whatever the answer is, so that what is right by chance stays right by chance. Samples that are asked
    about the same clips are lent the same. Raises UsageError, when it is read, for a sample that no other can lend its
    clips to.
    """
    return _with_change(dataset, "swapped", lambda samples: _with_clips_swapped(dataset.name, samples))


def _with_change(dataset: Dataset, how: str, change: Callable[[Sequence[Sample]], Sequence[Sample]]) -> Dataset:
    return replace(dataset, name=f"{dataset.name}+{how}", read=lambda places: change(dataset.read(places)), note="")


def _silent(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, clips=tuple(clip.edited(edits.silence()) for clip in sample.clips)) for sample in samples]


def _without_clips(samples: Sequence[Sample]) -> list[Sample]:
    return [replace(sample, clips=()) for sample in samples]


def _with_clips_swapped(name: str, samples: Sequence[Sample]) -> list[Sample]:
    """As :func:`with_swapped_clips` does it: the cycle depends on ``name`` and the samples' ids."""
    places: dict[tuple[Clip, ...], tuple[int, str]] = {}
    for sample in samples:
        place = seed_of("swap", name, sample.id), sample.id
        places[sample.clips] = min(place, places.get(sample.clips, place))
    by_number: dict[int, list[tuple[Clip, ...]]] = {}
    for clips in sorted(places, key=lambda clips: places[clips]):
        by_number.setdefault(len(clips), []).append(clips)
    lenders: dict[tuple[Clip, ...], tuple[Clip, ...]] = {}
    for group in by_number.values():
        if len(group) < 2 and group[0]:
            raise UsageError(
                f"no sample of {name} has other clips than {places[group[0]][1]!r} and as many ({len(group[0])}), so "
                "no other sample's can be played instead: leave it out of the slice"
            )
        lenders |= dict(zip(group, [*group[1:], group[0]], strict=True))
    return [replace(sample, clips=lenders[sample.clips]) for sample in samples]
