"""For a fixed seed every recipe, edit and rule gives the same 16-bit samples, wherever it runs.

``golden.json`` holds the SHA-256 of the samples: under ``everywhere`` those that depend on nothing but arithmetic, and
under a library's name, release and machine those that come out of it. A definition that changed gets a new version and
its own case; the digests of the old one stay. ``python tests/audio/test_golden.py`` adds the cases and the
libraries that the file lacks, and changes no digest that it has.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from pytest_audiobench.audio import combining, edits, espeak, synthesis
from pytest_audiobench.audio.clip import ArraySource, Clip, Edit
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits import codecs
from pytest_audiobench.audio.scene import Placement
from pytest_audiobench.audio.synthesis.scenarios import SCENARIO_MAKERS, scenario
from pytest_audiobench.audio.synthesis.sounds import MAKERS
from pytest_audiobench.audio.wav import wav_bytes

TABLE = Path(__file__).with_name("golden.json")
RATE_HZ = 16_000
MACHINE = platform.machine().lower()
SOXR = f"soxr {soxr.__version__} {MACHINE}"
LIBSNDFILE = f"libsndfile {soundfile.__libsndfile_version__} {MACHINE}"
UNROUNDED = ("vorbis", "opus", "mp3")
"""They reckon in floats, by whichever instructions the processor has: another processor may round otherwise."""


def wave(frames: int, step: int, rate_hz: int = RATE_HZ) -> Clip:
    """Made of whole numbers, so that it is the same anywhere: two triangles and a hiss, swelling, then a pause."""
    place = np.arange(frames)
    triangles = np.abs(place * step % 400 - 200) + np.abs(place * 3 * step % 1000 - 500) - 350
    hiss = (place * place * 7919 + place * 104_729) % 257 - 128
    swell = np.minimum(place, 4000) * (place < frames * 3 // 4)
    return Clip(ArraySource.of((triangles * 16 + hiss * 8) * swell / 4000 / 32768, rate_hz))


SPEECH, OTHER, THIRD = wave(12_345, 7), wave(9_000, 11), wave(15_001, 13)
SLOW = wave(6_001, 5, 8_000)
WHITE_NOISE_1 = Edit("white_noise", 1, (("snr_db", "5"),), "a")

RECIPES = {
    "tone": synthesis.tone(440, 0.7),
    "chirp": synthesis.chirp(100, 3000, 0.7),
    "silence": synthesis.silence(0.7),
    "white_noise": synthesis.white_noise(0.7, "a"),
    "pink_noise": synthesis.pink_noise(0.7, "a"),
    "silence_floor": synthesis.silence_floor(0.7, "a"),
    "room_tone": synthesis.room_tone(0.7, "a"),
    "hum": synthesis.hum(0.7, "a"),
    "cafe": synthesis.cafe(0.7, "a"),
    "music_bed": synthesis.music_bed(0.7, "a"),
    "events": synthesis.events(2.7, "a"),
    "arpeggio": synthesis.arpeggio(0.7, "a"),
    "arpeggio minor": synthesis.arpeggio(2.7, "a", 110, 120, "minor"),
    **{f"everyday {sound}": synthesis.everyday(sound, 0.7, "a") for sound in MAKERS},
    **{f"scenario {sound}": scenario(sound, 0.7, "a") for sound in SCENARIO_MAKERS},
}
EDITS = {
    "gain": edits.gain(-3.3),
    "trim": edits.trim(0.1, 0.35),
    "pad": edits.pad(0.01, 0.02),
    "sixteen_bits": edits.sixteen_bits(),
    "silence": edits.silence(),
    "white_noise 1": WHITE_NOISE_1,
    "white_noise 2": edits.white_noise(5, "a"),
    "white_noise 2 loud": edits.white_noise(-20, "a"),
    "pink_noise": edits.pink_noise(5, "a"),
    "cafe_noise": edits.cafe_noise(10, "a"),
    "band_limit": edits.band_limit(3400),
    "reverb": edits.reverb("a"),
    "clipping": edits.clipping(9),
    "mask": edits.mask(37.5, seed="a"),
    "fragment": edits.fragment("middle", 0.3),
    "window": edits.window("middle", 2.5),
    "window of noise": edits.window("last", 2.5, "noise", "a"),
    "mask scattered": edits.mask(37.5, "scattered", "noise", "a"),
}
EVERYWHERE = {
    **{f"recipe {name} at {hz} Hz": (Clip(made), hz) for name, made in RECIPES.items() for hz in (16_000, 44_100)},
    **{f"edit {name}": (SPEECH.edited(edit), RATE_HZ) for name, edit in EDITS.items()},
    "rule mixture": (combining.mixture([SPEECH, OTHER, THIRD, OTHER], [0, -3, 6, 2.5]), RATE_HZ),
    "rule mixture shortest": (combining.mixture([SPEECH, OTHER], [0, -3], length="shortest"), RATE_HZ),
    "rule noise": (combining.with_noise(SPEECH, OTHER, 5, "a"), RATE_HZ),
    "rule noise from its beginning": (combining.with_noise(SPEECH, OTHER, 5, None), RATE_HZ),
    "rule room": (combining.in_room(SPEECH, OTHER), RATE_HZ),
    "rule babble": (combining.babble([SPEECH, OTHER, THIRD], "a"), RATE_HZ),
    "rule preceded": (combining.preceded(SPEECH, OTHER, 0.1, -3), RATE_HZ),
    "rule overlaid": (combining.overlaid(SPEECH, OTHER), RATE_HZ),
    "rule overlaid loud": (combining.overlaid(SPEECH.edited(edits.gain(12)), THIRD, 6), RATE_HZ),
    "rule summed": (combining.summed([SPEECH, OTHER], [0.75, 1.25]), RATE_HZ),
    "rule summed shortest": (combining.summed([SPEECH, OTHER], [0.75, 9], length="shortest"), RATE_HZ),
    "rule scene": (
        combining.in_scene(
            [THIRD, SPEECH, OTHER],
            [
                Placement(0, 40_000, 100, 14_000, "0.045", is_bed=True),
                Placement(9_000, 9_000, 200, 9_000, "0.11"),
                Placement(15_000, 9_000, 0, 9_000, "0.4"),
            ],
            40_000,
            [(9_000, 18_000)],
        ),
        RATE_HZ,
    ),
    "rule noise of a babble": (
        combining.with_noise(SPEECH.edited(edits.gain(-6)), combining.babble([OTHER, THIRD], 1), 0, 2),
        RATE_HZ,
    ),
}
BY_SOXR = {
    "edit speed": (SPEECH.edited(edits.speed(1.1)), RATE_HZ),
    "from 16000 to 44100 Hz": (SPEECH, 44_100),
    "from 16000 to 8000 Hz": (SPEECH, 8_000),
    "rule alone of another rate": (combining.at_rate(SLOW), RATE_HZ),
    "rule mixture of two rates": (combining.mixture([SPEECH, SLOW], [0, 0]), RATE_HZ),
}
BY_LIBSNDFILE = {
    f"edit codec {name}": (SLOW.edited(edits.codec(name)), 8_000) for name in codecs.NAMES if name not in UNROUNDED
}
TABLES = {"everywhere": EVERYWHERE, SOXR: BY_SOXR, LIBSNDFILE: BY_LIBSNDFILE}
if find_spec("espeakng_loader"):
    ESPEAK = f"espeak-ng {espeak.release()} {SOXR}"
    TABLES[ESPEAK] = {
        f"speech of {voice}": (Clip(synthesis.speech(["The answer is four."], voice)[0]), RATE_HZ)
        for voice in ("en-us", "en-gb-scotland+f4", "de")
    }


def digest(clip: Clip, rate_hz: int) -> str:
    """Of the 16-bit samples that a server would be sent."""
    return hashlib.sha256(wav_bytes(decode(clip, rate_hz, None).samples, rate_hz)).hexdigest()


def digests(threads: int = 1) -> dict[str, dict[str, str]]:
    with ThreadPoolExecutor(threads) as pool:
        return {
            table: dict(zip(cases, pool.map(digest, *zip(*cases.values(), strict=True)), strict=True))
            for table, cases in TABLES.items()
        }


GOLDEN: dict[str, dict[str, str]] = json.loads(TABLE.read_text()) if TABLE.exists() else {}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_what_only_reckons_is_the_same_everywhere(name: str) -> None:
    assert digest(*EVERYWHERE[name]) == GOLDEN["everywhere"][name]


@pytest.mark.parametrize(
    ("library", "name"), [(library, name) for library in TABLES if library != "everywhere" for name in TABLES[library]]
)
def test_what_a_library_made_is_the_same_under_its_release(library: str, name: str) -> None:
    if library not in GOLDEN:
        pytest.skip(f"golden.json has no digests for {library}; add them with python {Path(__file__).name}")
    assert digest(*TABLES[library][name]) == GOLDEN[library][name]


def test_threads_and_hash_seeds_change_nothing() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, __file__, "--print"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == digests()


@pytest.mark.parametrize("name", UNROUNDED)
def test_a_codec_that_reckons_in_floats_is_the_same_again_on_one_machine(name: str) -> None:
    clip = SPEECH.edited(edits.codec(name))
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(digest, [clip] * 4, [RATE_HZ] * 4))) == 1


def add_what_is_missing() -> None:
    found = {table: {**cases, **GOLDEN.get(table, {})} for table, cases in digests().items()}
    TABLE.write_text(json.dumps({**GOLDEN, **found}, indent=1) + "\n")


if __name__ == "__main__":
    print(json.dumps(digests(threads=4))) if "--print" in sys.argv else add_what_is_missing()
