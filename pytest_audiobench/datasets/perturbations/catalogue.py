"""A catalogue of perturbations: what goes wrong with speech between a mouth and a model, in steps that are known.

All but ``clean`` and ``speed`` are defined at 16 kHz, which a clip of another rate is brought to first: noise of the
same ratio would otherwise be weaker in a recording of 48 kHz, of which a model then hears a third, and what was clipped
at full scale would pass it again when it is resampled.

Random choices (which noise, where it begins, which room) are drawn by SHA-256 from the *family* and the sample's id.
The rungs of one ladder thus differ in the dose and in nothing else: the same noise, only louder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias, get_args

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip, Edit
from pytest_audiobench.audio.combining import at_rate, babble, in_room, with_noise
from pytest_audiobench.audio.edits import codecs
from pytest_audiobench.audio.edits.masks import Fill, Rule
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.perturbations.interventions import (
    ORDERS,
    WINDOWS_S,
    Scenery,
    controls,
    fragments,
    masked_parts,
    orders,
    windows,
    without_options,
)
from pytest_audiobench.datasets.perturbations.perturbation import ClipChange, Perturbation, dose_of, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.recordings import draw, recordings
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.records.fields import Harder

Prepare: TypeAlias = Callable[[Places], ClipChange]

VOICES = 8
"""How many talk at once in babble."""

SNRS_DB = (20.0, 10.0, 5.0, 0.0, -5.0, -10.0, -20.0)


class _Ladder(NamedTuple):
    """A family with doses, from the mildest to the strongest; ``at`` prepares what is done at a dose."""

    at: Callable[[float], Prepare]
    doses: tuple[float, ...]
    unit: str
    harder: Harder


def ladder(family: str, *doses: float) -> tuple[Perturbation, ...]:
    """The perturbations of ``family``, the mildest first: one for each of ``doses``, or for the usual ones.

    ``white``, ``pink``, ``cafe``, ``babble``, ``voices`` and ``recorded`` are noises (dB SNR), ``clipping`` is in dB
    below the clip's peak, ``speed`` a factor, ``gain`` in dB. ``codec`` has no doses: it is one perturbation a codec.
    Raises UsageError for any other family, for doses where there are none, and for one that is not finite or is given
    twice.
    """
    if family == "codec":
        if doses:
            raise UsageError("codecs have no dose; choose among ladder('codec') by name")
        return tuple(perturbation for perturbation in _ALONE if perturbation.family == "codec")
    if family not in _LADDERS:
        families = (*_LADDERS, "codec")
        there = f"there are {', '.join(families)}"
        raise UsageError(f"no perturbations are named {family!r}; {nearest(family, families, there)}")
    rungs = {
        dose: _rung(family, dose) for dose in (dose_of(family, value) for value in doses or _LADDERS[family].doses)
    }
    if len({rung.name for rung in rungs.values()}) < len(doses):
        raise UsageError(f"ladder({family!r}, …) has a dose twice, to the six digits of a name; give each once")
    return tuple(rungs.values())


def noises(*snrs_db: float) -> tuple[Perturbation, ...]:
    """``noise-20dB``, ``noise-m10dB`` and so on: white noise over the whole clip, as ``ladder("white", …)`` makes it.

    The sounds are those of the ladder; only the name is another. Raises UsageError as it does.
    """
    rungs = ladder("white", *snrs_db)
    return tuple(replace(rung, name=rung.name.replace("white", "noise", 1), family="noise") for rung in rungs)


def named_perturbations(*names: str) -> tuple[Perturbation, ...]:
    """The perturbations of the catalogue of these names, of which a group's (:data:`GROUPS`) stands for all in it.

    Raises UsageError for one that is not.
    """
    members = [member for name in names for member in GROUPS.get(str(name), (name,))]
    for name in members:
        if name not in PERTURBATION_CATALOGUE:
            every = "audiobench list perturbations lists them all"
            likely = nearest(str(name), [*GROUPS, *PERTURBATION_CATALOGUE], every)
            advice = likely if likely == every else f"{likely} {every}"
            raise UsageError(f"no perturbation is named {name!r}; {advice}")
    return tuple(PERTURBATION_CATALOGUE[name] for name in members)


def _rung(family: str, dose: float) -> Perturbation:
    family_ladder = _LADDERS[family]
    return Perturbation(
        _name(family, dose), family, per_clip(family_ladder.at(dose)), dose, family_ladder.unit, family_ladder.harder
    )


def _name(family: str, dose: float) -> str:
    """Words that ``-k`` can select: a minus would be read as a hyphen."""
    if family == "speed":
        return f"speed-{dose:g}"
    prefix = "clipped" if family == "clipping" else family
    return f"{prefix}-{'m' if dose < 0 else ''}{abs(dose):g}dB"


def _per_clip_edit(family: str, edit: Callable[[int], Edit]) -> Prepare:
    """By an edit of its own seed, at 16 kHz."""
    return lambda places: lambda clip, id_: at_rate(clip).edited(edit(_seed(family, id_)))


def _noise(family: str, edit: Callable[[float, int], Edit]) -> Callable[[float], Prepare]:
    return lambda snr_db: _per_clip_edit(family, partial(edit, snr_db))


def _beneath(family: str, load: Callable[[Places], tuple[Clip, ...]], voices: int) -> Callable[[float], Prepare]:
    """Recordings beneath, never the clip itself, a new draw for each sample: one, or as many ``voices`` at once."""

    def prepare(snr_db: float, places: Places) -> ClipChange:
        clips = load(places)
        sources = {other.source for other in clips}

        def change(clip: Clip, id_: str) -> Clip:
            seed = _seed(family, id_)
            others = [other for other in clips if other.source != clip.source] if clip.source in sources else clips
            if len(others) < voices:
                raise UsageError(
                    f"{family} beneath {id_!r} needs {voices} recordings beside its own, and there are {len(others)}; "
                    "add more"
                )
            chosen = draw(others, voices, "recording", family, id_)
            return with_noise(clip, chosen[0] if voices == 1 else babble(chosen, seed), snr_db, seed)

        return change

    return lambda snr_db: partial(prepare, snr_db)


def _bundled_voices(places: Places) -> tuple[Clip, ...]:
    """German, French, Spanish and Italian: no utterance of the bundled transcription, nor a word of its language."""
    samples = bundled("language").read(places)
    return tuple(clip for sample in samples if sample.metadata["language"] != "en" for clip in sample.clips)


def _roomy(places: Places) -> ClipChange:
    responses = recordings(places, "rirs")
    return lambda clip, id_: in_room(clip, draw(responses, 1, "recording", "room", id_)[0])


def _at_speed(factor: float) -> Prepare:
    return lambda places: lambda clip, id_: clip.edited(edits.speed(factor))


def _at_gain(db: float) -> Prepare:
    return lambda places: lambda clip, id_: at_rate(clip).edited(edits.gain(db), edits.sixteen_bits())


def _clipping(db: float) -> Prepare:
    return _per_clip_edit("clipping", lambda seed: edits.clipping(db))


def _codec(name: str) -> Perturbation:
    return Perturbation(
        f"codec-{name.replace('_', '-')}", "codec", per_clip(_per_clip_edit("codec", lambda seed: edits.codec(name)))
    )


def _seed(family: str, id_: str) -> int:
    return seed_of("condition", family, id_)


_LADDERS: Mapping[str, _Ladder] = {
    "white": _Ladder(_noise("white", edits.white_noise), SNRS_DB, "dB SNR", "lower"),
    "pink": _Ladder(_noise("pink", edits.pink_noise), SNRS_DB, "dB SNR", "lower"),
    "cafe": _Ladder(_noise("cafe", edits.cafe_noise), SNRS_DB, "dB SNR", "lower"),
    "babble": _Ladder(_beneath("babble", _bundled_voices, VOICES), SNRS_DB, "dB SNR", "lower"),
    "voices": _Ladder(_beneath("voices", partial(recordings, name="voices"), VOICES), SNRS_DB, "dB SNR", "lower"),
    "recorded": _Ladder(_beneath("recorded", partial(recordings, name="noise"), 1), SNRS_DB, "dB SNR", "lower"),
    "clipping": _Ladder(_clipping, (3.0, 6.0, 10.0, 20.0, 30.0), "dB below the peak", "higher"),
    "speed": _Ladder(_at_speed, (0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.5), "times as fast", ""),
    "gain": _Ladder(_at_gain, (-40.0, -30.0, -20.0, -10.0, 10.0, 20.0), "dB", ""),
}

_ALONE = (
    Perturbation("clean", "clean", lambda places: lambda samples: samples),
    Perturbation("band-8k", "band", per_clip(_per_clip_edit("band", lambda seed: edits.band_limit(3400)))),
    Perturbation("reverb", "reverb", per_clip(_per_clip_edit("reverb", edits.reverb))),
    Perturbation("room", "room", per_clip(_roomy)),
    *(_codec(name) for name in codecs.NAMES),
)

_PARTS_OF_SCENES = tuple(
    perturbation for part in get_args(Scenery) for rule in get_args(Rule) for perturbation in masked_parts(part, rule)
)

_OF_QUESTIONS = (
    *controls(),
    *orders(ORDERS),
    without_options(),
    *fragments(),
    *_PARTS_OF_SCENES,
    *(perturbation for length_s in WINDOWS_S for fill in get_args(Fill) for perturbation in windows(length_s, fill)),
)

PERTURBATION_CATALOGUE: Mapping[str, Perturbation] = {
    perturbation.name: perturbation
    for perturbation in (*_ALONE, *(rung for family in _LADDERS for rung in ladder(family)), *_OF_QUESTIONS)
}
"""Every perturbation of the catalogue by its name. ``recorded`` noise lies in the folder ``noise``, responses of a
``room`` in ``rirs``, speech for ``voices`` in ``voices`` (``--ab-data=noise=FOLDER``); all else needs no files."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "order": tuple(str(each) for each in orders()),
    "fragments": tuple(str(each) for each in fragments()),
    "windows": tuple(str(each) for each in _OF_QUESTIONS if each.family == "window"),
    **{
        family: tuple(str(each) for each in _PARTS_OF_SCENES if each.family == family)
        for family in sorted({each.family for each in _PARTS_OF_SCENES})
    },
    "controls": tuple(str(each) for each in controls()),
}
"""Names for several perturbations that are asked together."""


ABOUT: Mapping[str, str] = {
    "clean": "nothing: the clips as they are",
    "white": "white noise over the whole clip",
    "pink": "pink noise, whose power falls by 3 dB an octave",
    "cafe": "synthetic noise of a cafe, which comes and goes",
    "babble": f"{VOICES} of the bundled voices at once, none of them in English",
    "voices": f"{VOICES} recordings of speech at once: --ab-data=voices=FOLDER",
    "recorded": "recorded noise: --ab-data=noise=FOLDER",
    "clipping": "clipped hard, as an overdriven input does",
    "speed": "played faster or slower, pitch and all",
    "gain": "louder or softer, in 16 bits",
    "band": "the band below 3.4 kHz alone, as on a telephone",
    "reverb": "a room that is drawn for each sample",
    "room": "recorded room responses: --ab-data=rirs=FOLDER",
    "codec": "through a lossy codec and back",
    "control": "no sound to hear: silence, another sample's clips, no clips",
    "order": "options rotated: the first so many behind the last",
    "options": "no options listed: a judge scores the free answer",
    "fragment": "a part of the clip alone",
    "window": "the clip somewhere in a longer window of silence or noise",
    "without-speech": "a share of the speech of a scene silenced",
    "without-speech-published": "the same by the rule of the faithfulness study",
    "without-sounds": "a share of all but the speech of a scene silenced",
    "without-sounds-published": "the same by the rule of the faithfulness study",
}
"""What is done in each family of the catalogue."""


def with_clean(names: Sequence[str]) -> tuple[str, ...]:
    """``clean``, with which others are compared, and the perturbations of ``names``, groups as what is in them.

    Raises UsageError for a name that is neither of the catalogue nor of a group.
    """
    return tuple(dict.fromkeys(("clean", *map(str, named_perturbations(*names)))))


def is_of_questions(names: Sequence[str]) -> bool:
    """Whether ``names`` ask of a question what its answer hangs on, without saying where ``clean`` stands among them:
    such perturbations are asked in addition to the eval itself, and are not evals of their own.
    """
    return "clean" not in names and any(name in GROUPS or name in map(str, _OF_QUESTIONS) for name in names)


AUDIOBENCH_PERTURBATIONS = named_perturbations("clean", "cafe-10dB", "pink-5dB", "band-8k", "reverb")
"""The five of audiobench's robust speech recognition (github THENIROCK/audiobench, perturbations.py), in its order."""


def audiobench_perturbations() -> tuple[Perturbation, ...]:
    return AUDIOBENCH_PERTURBATIONS
