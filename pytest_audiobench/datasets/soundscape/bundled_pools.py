"""The pools that are always there: the bundled speech and sounds, further sounds and music that are computed.

They have no vocal bursts: what a formant synthesiser makes of a laugh or a sigh sounds like its speech.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import cast

from pytest_audiobench.audio import edits, synthesis
from pytest_audiobench.audio.clip import Clip, SynthesisSource
from pytest_audiobench.audio.synthesis.sounds import MAKERS
from pytest_audiobench.datasets.bundled import Task, bundled
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.soundscape.pieces import Piece, Pools

NOTE = (
    "of bundled pools: synthetic voices and computed sounds; no vocal bursts; delivery is a setting of a synthesiser, "
    "nobody felt it"
)
_LICENCE = "CC0-1.0"
_LEVEL_DB = -34.0
"""At which no computed sound passes full scale."""

_HOWS = {
    "calm": ("calm", "even voice at a moderate pace"),
    "excited": ("excited", "high and lively voice, fast"),
    "subdued": ("subdued", "low and soft voice, drawn out"),
    "": ("neutral", "plain reading voice at a moderate pace"),
}
CAPTIONS: Mapping[str, str] = {
    "siren": "a siren wailing up and down",
    "alarm": "an electronic alarm beeping",
    "bell": "a bell ringing",
    "engine": "an engine running",
    "rain": "rain falling",
    "knocking": "knocking on a wooden door",
    "clock": "a clock ticking",
    "bird": "a bird chirping",
    "telephone": "a telephone ringing",
    "thunder": "thunder cracking and rumbling",
    "whistling": "a person whistling a tune",
    "dripping": "water dripping from a tap",
    "footsteps": "footsteps on gravel",
    "sawing": "a hand saw cutting wood",
    "typing": "typing on a computer keyboard",
    "hammering": "a hammer hitting metal",
    "applause": "an audience applauding",
    "car horn": "a car horn honking",
    "wind": "gusts of wind howling",
    "crickets": "crickets chirping at night",
    "frog": "a frog croaking",
    "owl": "an owl hooting",
    "dog": "a dog barking",
    "glass": "glass shattering",
    "sonar": "sonar pings that echo",
    "bouncing ball": "a ball bouncing until it comes to rest",
    "vacuum cleaner": "a vacuum cleaner running",
    "pouring water": "water being poured into a glass",
    "train horn": "a train sounding its horn",
    "steam": "jets of steam hissing",
    "fire": "a fire crackling",
    "helicopter": "a helicopter flying overhead",
    "foghorn": "a deep foghorn on a ship",
}
"""What is heard, by label."""

_TEMPOS = {58.0: "unhurried", 96.0: "moderate", 144.0: "fast"}
_MOODS = {"major": "bright and cheerful", "minor": "dark and melancholic"}
_ROOTS_HZ = {165.0: "low", 220.0: "middle", 294.0: "high"}
_CHORDS = {0.8: "low and unhurried", 1.0: "calm", 1.25: "brisk", 1.5: "high and fast"}
_AMBIENCES = {
    "cafe": "murmur of many voices in a café",
    "room tone": "quiet hiss and hum of an empty room",
    "hum": "steady electrical mains hum",
}


@cache
def bundled_pools() -> Pools:
    """All pieces that come with the package; 33 labels of sounds, eight voices, five languages."""
    layers = {"speech": _speech(), "burst": (), "sfx": _sounds(), "music": _music(), "ambience": _ambience()}
    return Pools("bundled", {layer: tuple(pieces) for layer, pieces in layers.items()}, NOTE)


def _speech() -> Iterator[Piece]:
    seen: set[str] = set()
    for sample in _samples("emotion", "transcription", "language"):
        facts = cast(Mapping[str, str], sample.metadata)
        if facts["recording"] not in seen:
            seen.add(facts["recording"])
            how, style = _HOWS[facts.get("delivery", "")]
            # A variant of the synthesiser is one voice, whatever accent or language it speaks.
            speaker = facts["voice"].rpartition("+")[2]
            words, language = facts["text"], facts["language"]
            yield Piece(
                facts["recording"],
                sample.clips[0],
                words,
                speaker,
                language=language,
                how=how,
                style=style,
                licence=_LICENCE,
            )


def _sounds() -> Iterator[Piece]:
    for sample in _samples("sounds"):
        yield _sound(str(sample.metadata["recording"]), sample.clips[0], str(sample.metadata["sound"]))
    for label, number in product(MAKERS, range(4)):
        duration_s = (1.4, 2.2, 3.0, 3.8)[number]
        yield _made(f"{label}-{number}", synthesis.everyday(label, duration_s, number, _LEVEL_DB), label)


def _music() -> Iterator[Piece]:
    for (factor, manner), number in product(_CHORDS.items(), range(2)):
        clip = Clip(synthesis.music_bed(12.0, f"scene-{number}")).edited(edits.speed(factor))
        caption = f"a wavering synthesiser chord with a steady pulse, {manner}"
        yield Piece(f"chord-{factor:g}-{number}", clip, caption=caption, label="synthesiser", licence=_LICENCE)
    for (root_hz, register), (bpm, tempo), (mode, mood) in product(_ROOTS_HZ.items(), _TEMPOS.items(), _MOODS.items()):
        clip = Clip(synthesis.arpeggio(12.0, "scene", root_hz, bpm, mode))
        caption = f"a plucked arpeggio over a soft bass in a {mode} key, {register} register, {tempo} tempo, {mood}"
        yield Piece(f"arpeggio-{root_hz:g}-{bpm:g}-{mode}", clip, caption=caption, label="arpeggio", licence=_LICENCE)


def _ambience() -> Iterator[Piece]:
    for number in range(3):
        seed = f"scene-{number}"
        yield _made(f"cafe-{number}", synthesis.cafe(10.0, seed), "cafe")
        yield _made(f"room-tone-{number}", synthesis.room_tone(10.0, seed), "room tone")
        yield _made(f"hum-{number}", synthesis.hum(10.0, seed, mains_hz=(50.0, 60.0)[number % 2]), "hum")


def _made(source: str, recipe: SynthesisSource, label: str) -> Piece:
    return _sound(source, Clip(recipe), label)


def _sound(source: str, clip: Clip, label: str) -> Piece:
    return Piece(source, clip, caption={**CAPTIONS, **_AMBIENCES}[label], label=label, licence=_LICENCE)


def _samples(*tasks: Task) -> Iterator[Sample]:
    for task in tasks:
        yield from bundled(task).read(Places(Path()))
