"""Scenes: pieces at places and levels over a bed, exact to the sample."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench import dataset, perturb
from pytest_audiobench.audio import combining, edits, scene
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.audio.scene import Pcm16, Placement
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.interventions import controls
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.soundscape.plans import draw
from pytest_audiobench.errors import AudioError, UsageError

CASES = Path(__file__).resolve().parents[3] / "shared" / "soundscape" / "cases.json"
HERE = Places(Path())


def noise(frames: int, seed: int, level: int = 3000) -> Pcm16:
    return (np.random.RandomState(seed).uniform(-level, level, frames)).astype(np.int16)


def clip(pcm: Pcm16) -> Clip:
    return Clip(ArraySource.of(pcm / 32768, scene.RATE_HZ))


def rms(pcm: Pcm16) -> float:
    return float(np.sqrt(np.mean((pcm / 32767.0) ** 2)))


@pytest.fixture(scope="module")
def cases() -> dict[str, dict]:
    if not CASES.is_file():
        pytest.skip(f"no reference cases of soundscapes lie beside this checkout (looked for {CASES})")
    return {case["id"]: case for case in json.loads(CASES.read_text(encoding="utf-8"))["cases"]}


def test_the_gain_is_that_of_the_reference_case(cases: dict[str, dict]) -> None:
    case = cases["mix-gain"]
    pcm = np.array(case["input"]["pcm16"], dtype=np.int16)
    assert scene.gain(pcm, case["input"]["target_rms"]) == pytest.approx(case["expected"]["gain"], abs=1e-6)


def test_ducking_is_that_of_the_reference_case(cases: dict[str, dict]) -> None:
    given = cases["mix-duck"]["input"]
    factors = scene.envelope(given["frames"], given["spans"], given["floor"], given["fade_frames"])
    assert factors == pytest.approx(cases["mix-duck"]["expected"]["envelope"], abs=1e-6)


def test_draws_are_those_of_the_reference_case(cases: dict[str, dict]) -> None:
    case = cases["mix-draw"]
    assert draw(*case["input"]["identity"]) == pytest.approx(case["expected"]["draw"], abs=1e-6)


def test_a_piece_sounds_where_it_is_placed_and_as_loud() -> None:
    quiet, loud = noise(8_000, 1, 200), noise(4_000, 2)
    pcm = scene.rendered(
        [quiet, loud], [Placement(1_000, 8_000, 0, 8_000, "0.11"), Placement(12_000, 3_000, 500, 3_000, "0.02")], 16_000
    )
    assert not pcm[:1_000].any()
    assert not pcm[9_000:12_000].any()
    assert not pcm[15_000:].any()
    assert rms(pcm[1_000:9_000]) == pytest.approx(0.11, rel=1e-3)
    assert rms(pcm[12_000:15_000]) == pytest.approx(0.02, rel=1e-3)


def test_a_bed_is_repeated_without_a_click() -> None:
    time = np.arange(5_000)
    ramp = (time * 4 - 10_000).astype(np.int16)
    loop = scene.looped(ramp, 20_000)
    assert len(loop) == 20_000
    assert (loop[:4_840] == ramp[:4_840]).all()
    # At the joint the end goes over to the beginning in steps of a 161st of their distance.
    assert np.abs(np.diff(loop.astype(int))).max() < 20_000 / 100


def test_a_bed_is_as_loud_as_it_should_be_however_often_it_is_repeated() -> None:
    bed = np.concatenate([noise(3_000, 1, 8_000), noise(2_000, 2, 100)])
    pcm = scene.rendered([bed], [Placement(0, 13_333, 0, 5_000, "0.045", is_bed=True)], 13_333)
    assert rms(pcm) == pytest.approx(0.045, rel=1e-3)


def test_a_sum_that_would_clip_is_made_softer_as_a_whole() -> None:
    pcm = scene.rendered([noise(8_000, 1)] * 2, [Placement(0, 8_000, 0, 8_000, "0.5")] * 2, 8_000)
    assert np.abs(pcm.astype(int)).max() == round(0.97 * 32767)


def test_only_beds_are_ducked() -> None:
    places = [Placement(0, 40_000, 0, 40_000, "0.04", is_bed=True), Placement(20_000, 4_000, 0, 4_000, "0.04")]
    pieces = [noise(40_000, 1), noise(4_000, 2)]
    alone = scene.rendered(pieces[1:], places[1:], 40_000)
    ducked = scene.rendered(pieces, places, 40_000, [(20_000, 24_000)], 0.25) - alone
    assert rms(ducked[20_000:24_000]) == pytest.approx(0.01, rel=0.05)
    assert rms(ducked[:16_000]) == pytest.approx(0.04, rel=0.05)


def test_the_active_part_leaves_out_silence_and_what_is_40_db_below_the_loudest() -> None:
    pcm = np.concatenate([np.zeros(3_200, np.int16), noise(6_400, 1, 9_000), noise(3_200, 2, 60)]).astype(np.int16)
    assert scene.active(pcm) == (3_200, 9_600)
    assert scene.active(noise(6_400, 1, 100)) is None


def test_a_scene_is_known_by_its_pieces_and_places() -> None:
    one, two = clip(noise(4_000, 1)), clip(noise(4_000, 2))
    place = Placement(0, 4_000, 0, 4_000, "0.1")
    scenes = [
        combining.in_scene([one, two], [place, place], 8_000),
        combining.in_scene([two, one], [place, place], 8_000),
        combining.in_scene([one, two], [place, Placement(1, 4_000, 0, 4_000, "0.1")], 8_000),
        combining.in_scene([one, two], [place, Placement(0, 4_000, 0, 4_000, "0.10001")], 8_000),
        combining.in_scene([one, two], [place, place], 8_001),
        combining.in_scene([one, two], [place, place], 8_000, [(0, 4_000)]),
    ]
    with AudioIndex(None) as index:
        facts = index.facts_of(scenes)
    assert len({fact.digest for fact in facts if isinstance(fact, ClipFacts)}) == len(scenes)
    assert next(fact.duration_s for fact in facts if isinstance(fact, ClipFacts)) == 0.5


def test_a_piece_that_leaves_the_scene_is_refused() -> None:
    with pytest.raises(UsageError, match="not within a scene of 4000 frames"):
        combining.in_scene([clip(noise(4_000, 1))], [Placement(1, 4_000, 0, 4_000, "0.1")], 4_000)


@pytest.mark.parametrize(("pcm", "why"), [(np.zeros(400, np.int16), "silent"), (noise(300, 1), "no 400 from 0 on")])
def test_a_piece_that_cannot_sound_is_an_error_of_its_scene(pcm: Pcm16, why: str) -> None:
    with pytest.raises(AudioError, match=why):
        decode(combining.in_scene([clip(pcm)], [Placement(0, 400, 0, 400, "0.1")], 400), scene.RATE_HZ, None)


def test_edits_of_time_are_refused_on_soundscapes_and_others_are_not() -> None:
    scenes = dataset("soundscape_scenes", scenes=2)
    for name in ("speed-1.1", "speed-0.9"):
        with pytest.raises(UsageError, match=r"moves what sounds in 'clip_\d+' to other times"):
            perturb(scenes, *named_perturbations(name)).read(HERE)
    for kept in (*named_perturbations("reverb", "white-10dB", "band-8k"), *controls()):
        assert len(perturb(scenes, kept).read(HERE)) == 2


def test_a_clip_that_moves_within_another_is_seen() -> None:
    one, two = clip(noise(4_000, 1)), clip(noise(4_000, 2))
    moved = [
        one.edited(edits.pad(0.1, 0)),
        combining.preceded(one, two),
        combining.with_noise(one.edited(edits.speed(1.1)), two, 10),
        combining.at_rate(one).edited(edits.trim(0.1, 0.2)),
    ]
    unmoved = [
        one,
        two,
        combining.preceded(two, two),
        combining.with_noise(one, two, 10),
        combining.at_rate(one).edited(edits.mask(10)),
    ]
    assert [combining.moves_time(one, after) for after in (*moved, *unmoved)] == [True] * 4 + [False] * 5
