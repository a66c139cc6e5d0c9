"""Generated soundscapes: what their plans promise, and that a reference is true of what is played."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench import dataset
from pytest_audiobench.audio.clip_record import recipe_of
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.scene import RATE_HZ, pcm16, rendered
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.pieces import LAYERS, Pools
from pytest_audiobench.datasets.soundscape.plans import LADDER, PROFILES, Item, Plan, loudness_of, plans
from pytest_audiobench.datasets.soundscape.scenes import clip_of, sample_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest

HERE = Places(Path())
CHECKED = ("published", "large", "overlap", "bed-music")
GOLDEN = {
    "published": "32c09289481363f3f88e02620d32a187f7e79ad389466d5f3a4c697320a05668",
    "published-raw": "a8410755a82b0d3294fbc3afe3a8f4d3187095b8792b90a41f5eb85089bcd14c",
    "large": "98f1657b93aed07e4618b4d639191ef35927439212817c3318067c3c25a3ede5",
}


def bundled_plans(
    profile: str = "published", scenes: int = 60, seed: str = "1", pools: Pools | None = None
) -> list[Plan]:
    return plans(pools or bundled_pools(), PROFILES[profile], scenes, seed, 10, 30)


def samples(*arguments: str, **options: object) -> list[Sample]:
    return list(dataset("soundscape_scenes", *arguments, **options).read(HERE))


def played(sample: Sample) -> str:
    return decode(sample.clips[0], RATE_HZ, None).pcm_digest


def of_layer(plan: Plan, *layers: str) -> list[Item]:
    return [item for item in plan.items if item.layer in layers]


def pieces_of(item: Item) -> np.ndarray:
    return pcm16(decode(item.piece.clip, RATE_HZ, None).samples)


def without(plan: Plan, item: Item | None = None) -> np.ndarray:
    items = [other for other in plan.items if other is not item]
    return rendered([pieces_of(i) for i in items], [i.place for i in items], plan.frames).astype(int)


def test_bundled_pools_have_sounds_voices_and_languages_enough() -> None:
    pools = bundled_pools()
    assert set(pools.layers) == set(LAYERS)
    assert len({piece.label for piece in pools.layers["sfx"]}) >= 25
    assert len({piece.speaker for piece in pools.layers["speech"]}) >= 6
    assert {piece.language for piece in pools.layers["speech"]} == {"en", "de", "fr", "es", "it"}
    assert all(piece.text and piece.how and piece.style for piece in pools.layers["speech"])
    assert all(
        piece.caption and piece.licence for layer in ("sfx", "music", "ambience") for piece in pools.layers[layer]
    )
    for pieces in pools.layers.values():
        assert len({piece.source for piece in pieces}) == len(pieces)


def test_every_piece_sounds_as_no_other_does() -> None:
    pieces = [piece for pieces in bundled_pools().layers.values() for piece in pieces]
    digests = Counter(decode(piece.clip, RATE_HZ, None).pcm_digest for piece in pieces)
    assert len(digests) == len(pieces)
    assert all(np.abs(decode(p.clip, RATE_HZ, None).samples).max() < 1 for p in pieces)


@pytest.mark.parametrize("profile", GOLDEN)
def test_plans_are_what_they_always_were(profile: str) -> None:
    assert digest([plan.document() for plan in bundled_plans(profile, 40)]) == GOLDEN[profile]


def test_further_scenes_change_none_of_the_earlier() -> None:
    assert bundled_plans(scenes=12) == bundled_plans(scenes=40)[:12]


def test_another_seed_makes_other_scenes_under_another_name() -> None:
    assert {sample.reference for sample in samples(scenes=5)}.isdisjoint(
        s.reference for s in samples(scenes=5, seed="2")
    )
    assert dataset("soundscape_scenes").name != dataset("soundscape_scenes", seed="2").name


def test_processes_and_hash_seeds_change_no_sample() -> None:
    script = (
        "import sys; from pathlib import Path; from pytest_audiobench import dataset\n"
        "from pytest_audiobench.audio.decode import decode; from pytest_audiobench.datasets.places import Places\n"
        "for s in dataset('soundscape_scenes', 'large', scenes=6).read(Places(Path())):\n"
        "    print(s.reference, decode(s.clips[0], 16000, None).pcm_digest)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    here = "".join(f"{sample.reference} {played(sample)}\n" for sample in samples("large", scenes=6))
    assert printed == [here, here]


@pytest.mark.parametrize("number", [0, 1, 5, 8])
def test_an_event_is_heard_where_its_reference_says_and_as_loud(number: int) -> None:
    plan = bundled_plans("large", 9)[number]
    # Softer by half, so that no sum passes the peak limit: without it and ducking a level is exact.
    halved = replace(
        plan, items=tuple(replace(i, place=replace(i.place, level=str(float(i.place.level) / 8))) for i in plan.items)
    )
    whole = without(halved)
    for item in halved.items:
        alone = (whole - without(halved, item)) / 32767
        start, end = item.place.start, item.end
        energy = np.square(alone)
        # What is left outside is the rounding of two sums to 16 bits.
        outside = np.delete(alone, np.s_[start:end])
        assert np.abs(outside).max(initial=0) == 0
        assert energy[start:end].sum() >= 0.999 * energy.sum() > 0
        level = np.sqrt(energy[start:end].mean())
        assert 20 * np.log10(level / float(item.place.level)) == pytest.approx(0, abs=0.1)


def test_the_reference_is_the_plan() -> None:
    for plan in bundled_plans(scenes=20):
        events = json.loads(sample_of(plan).reference)
        assert len(events) == len(plan.items)
        spans = sorted((round(i.place.start / RATE_HZ, 3), round(i.end / RATE_HZ, 3)) for i in plan.items)
        assert sorted((event["start_time"], event["end_time"]) for event in events) == spans
        for event in events:
            assert 0 <= event["start_time"] < event["end_time"] <= plan.frames / RATE_HZ
        speech = {event["transcription"] for event in events if event["type"] == "speech"}
        assert speech == {item.piece.text for item in of_layer(plan, "speech")}


def test_what_is_true_of_a_piece_and_no_answer_says_is_in_the_metadata() -> None:
    sample = samples(scenes=1)[0]
    pieces = json.loads(str(sample.metadata["pieces"]))
    assert len(pieces) == sample.metadata["events"] == len(json.loads(sample.reference))
    assert {"loudness", "level", "bed", "pool", "source", "licence"} <= set(pieces[0])
    assert "provenance" not in sample.reference
    assert sample.metadata["duration"] == decode(sample.clips[0], RATE_HZ, None).duration_s


@pytest.mark.parametrize("profile", CHECKED)
def test_voices_keep_their_labels(profile: str) -> None:
    for plan in bundled_plans(profile):
        turns = of_layer(plan, "speech")
        assert len({(i.piece.speaker, i.speaker) for i in turns}) == len({i.speaker for i in turns})
        assert len({i.piece.speaker for i in turns}) == len({i.speaker for i in turns})
        assert [i.speaker for i in turns][:1] in ([], ["speaker_1"])


@pytest.mark.parametrize("profile", CHECKED)
def test_only_different_voices_overlap_and_only_by_less_than_their_length(profile: str) -> None:
    overlapping = 0
    for plan in bundled_plans(profile):
        for first, second in combinations(of_layer(plan, "speech"), 2):
            if overlap := first.overlap(second.place.start, second.end):
                overlapping += 1
                assert first.speaker != second.speaker
                assert 0.3 <= overlap / min(first.place.frames, second.place.frames) <= 0.6001
    assert overlapping >= (50 if profile == "overlap" else 3)


@pytest.mark.parametrize("profile", CHECKED)
def test_sounds_of_one_label_do_not_overlap(profile: str) -> None:
    for plan in bundled_plans(profile, 200):
        for first, second in combinations(of_layer(plan, "sfx"), 2):
            assert first.piece.label != second.piece.label or not first.overlap(second.place.start, second.end)


def test_every_sound_is_heard_beside_all_that_sounds_meanwhile() -> None:
    for plan in bundled_plans("large", 200):
        for item in of_layer(plan, "sfx"):
            frames = item.place.frames
            others = [o for o in plan.items if o is not item]
            power = sum(float(o.place.level) ** 2 * o.overlap(item.place.start, item.end) / frames for o in others)
            assert not power or 10 * np.log10(float(item.place.level) ** 2 / power) >= -20


@pytest.mark.parametrize("layer", ["sfx", "speech"])
def test_no_source_comes_again_before_all_were_used(layer: str) -> None:
    sources = [item.piece.source for plan in bundled_plans(scenes=200) for item in of_layer(plan, layer)]
    size = len(bundled_pools().layers[layer])
    assert len(sources) > size
    assert len(set(sources[:size])) == size


def test_a_song_with_words_is_in_no_scene() -> None:
    pools = bundled_pools()
    sung = tuple(replace(piece, also=("speech",)) for piece in pools.layers["music"][:-1])
    changed = replace(pools, layers={**pools.layers, "music": (*sung, pools.layers["music"][-1])})
    music = {i.piece.source for plan in bundled_plans(pools=changed) for i in of_layer(plan, "music")}
    assert music == {pools.layers["music"][-1].source}
    raw = {i.piece.source for plan in bundled_plans("published-raw", pools=changed) for i in of_layer(plan, "music")}
    assert len(raw) > 5


def test_a_voice_without_a_name_is_alone() -> None:
    pools = bundled_pools()
    unnamed = tuple(replace(piece, speaker="") for piece in pools.layers["speech"])
    changed = replace(pools, layers={**pools.layers, "speech": unnamed})
    assert {len(of_layer(plan, "speech")) for plan in bundled_plans(pools=changed)} == {1}


def test_bursts_are_of_the_voice_that_spoke_before() -> None:
    pools = bundled_pools()
    bursts = tuple(
        replace(piece, caption="a laugh", speaker=speaker)
        for piece, speaker in zip(
            pools.layers["sfx"][:24], sorted({p.speaker for p in pools.layers["speech"]}) * 3, strict=True
        )
    )
    changed = replace(pools, layers={**pools.layers, "burst": bursts})
    count = turns = 0
    for plan in bundled_plans(scenes=100, pools=changed):
        spoken = of_layer(plan, "speech", "burst")
        turns += len(of_layer(plan, "speech"))
        for before, burst in pairwise(spoken):
            if burst.layer == "burst":
                count += 1
                assert (burst.speaker, burst.piece.speaker) == (before.speaker, before.piece.speaker)
                assert burst.place.start > before.end
    # Where eight draws among the bursts meet none of that voice there is none.
    assert 0.15 < count / turns < 0.45


def test_a_published_scene_is_as_soundscape_bench_is_made() -> None:
    made = bundled_plans(scenes=400)
    beds = Counter(next((i.layer for i in plan.items if i.is_bed), "none") for plan in made)
    assert beds["music"] / 400 == pytest.approx(0.6, abs=0.08)
    assert beds["ambience"] / 400 == pytest.approx(0.2, abs=0.08)
    turns = Counter(len(of_layer(plan, "speech")) for plan in made)
    assert all(turns[n] / 400 == pytest.approx(1 / 3, abs=0.09) for n in (1, 2, 3))
    assert {i.place.level for plan in made for i in plan.items} == {"0.045", "0.11", "0.075"}
    assert {plan.frames % 1600 for plan in made} == {0}
    assert all(10 <= plan.frames / RATE_HZ <= 30 for plan in made)
    assert not any(plan.ducked for plan in made)


def test_large_scenes_have_all_levels_and_ducked_beds() -> None:
    made = bundled_plans("large", 100)
    assert {i.place.level for plan in made for i in of_layer(plan, "sfx")} == set(LADDER.values())
    for plan in made:
        spans = tuple((i.place.start, i.end) for i in of_layer(plan, "speech"))
        assert plan.ducked == (spans if any(i.is_bed for i in plan.items) else ())


@pytest.mark.parametrize(
    ("level", "word"), [("0.045", "quiet"), ("0.11", "loud"), ("0.5", "very_loud"), ("0.001", "very_quiet")]
)
def test_loudness_is_the_nearest_rung_by_ratio(level: str, word: str) -> None:
    assert loudness_of(level) == word


def test_the_same_foreground_lies_over_every_bed() -> None:
    over = {bed: bundled_plans(f"bed-{bed}") for bed in ("music", "ambience", "none")}
    foregrounds = {
        bed: [[(i.piece.source, i.place) for i in of_layer(plan, "speech", "sfx")] for plan in made]
        for bed, made in over.items()
    }
    assert foregrounds["music"] == foregrounds["ambience"] == foregrounds["none"]
    assert {len(of_layer(plan, "music")) for plan in over["music"]} == {1}
    assert not any(i.is_bed for plan in over["none"] for i in plan.items)


def test_a_level_of_the_beds_is_a_point_of_a_curve() -> None:
    sets = [dataset("soundscape_scenes", "bed-music", scenes=2, bed_db=level) for level in (-33, -21)]
    assert [made.unperturbed for made in sets] == [dataset("soundscape_scenes", "bed-music").name] * 2
    assert [made.perturbation.dose for made in sets if made.perturbation] == [-33, -21]
    loudness = [json.loads(made.read(HERE)[0].reference)[0]["loudness"] for made in sets]
    assert loudness == ["very_quiet", "moderate"]


@pytest.mark.slow
def test_sentences_are_spoken_in_the_six_languages_of_soundscape_bench() -> None:
    pytest.importorskip("espeakng_loader", reason="voices come with pip install 'pytest-audiobench[tts]'")
    scenes = samples("spoken", scenes=40)
    speech = [e for s in scenes for e in json.loads(s.reference) if e["type"] == "speech"]
    assert {event["language"] for event in speech} == {"en", "de", "fr", "es", "nl", "zh"}
    assert sum(event["end_time"] - event["start_time"] for event in speech) / len(speech) > 2
    assert "espeak_ng" in json.dumps(recipe_of(scenes[0].clips[0]))
    assert len({played(sample) for sample in scenes[:5]}) == 5


def test_nothing_is_heard_in_silence() -> None:
    for sample in samples("silence", scenes=3):
        assert sample.reference == "[]"
        assert sample.metadata["bed"] == "none"
        assert 0 < np.abs(decode(sample.clips[0], RATE_HZ, None).samples).max() < 0.01


def test_groups_say_what_is_in_a_clip() -> None:
    for sample in samples(scenes=30):
        events = json.loads(sample.reference)
        speech = [event for event in events if event["type"] == "speech"]
        assert sample.metadata["languages"] == "+".join(sorted({event["language"] for event in speech}))
        assert sample.metadata["speakers"] == len({event["speaker_id"] for event in speech})
        overlaps = any(
            a["start_time"] < b["end_time"] and b["start_time"] < a["end_time"] for a, b in combinations(speech, 2)
        )
        assert sample.metadata["overlap"] == ("yes" if overlaps else "no")
        assert sample.metadata["length"] == ("short" if float(str(sample.metadata["duration"])) < 20 else "middle")


def test_the_run_says_how_many_and_of_what(tmp_path: Path) -> None:
    assert len(dataset("soundscape_scenes").read(Places(Path(), scenes=3))) == 3
    with pytest.raises(UsageError, match="holds no pool"):
        dataset("soundscape_scenes").read(Places(Path(), pools=tmp_path))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"profile": "publshed"}, "there is no profile 'publshed' of soundscapes; there are published"),
        ({"scenes": 0}, "scenes=0"),
        ({"shortest_s": 20, "longest_s": 10}, "are none: give 1 to"),
    ],
)
def test_what_makes_no_scenes_is_refused(how: dict, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        dataset("soundscape_scenes", **how)


def test_the_example_of_the_prompt_is_in_no_bundled_scene() -> None:
    from pytest_audiobench.protocols.soundscape.prompts import scene_prompt

    example = json.loads(scene_prompt(10.0).partition("Example for another clip:")[2])
    texts = {str(v) for event in example for k, v in event.items() if k not in ("type", "loudness", "language")}
    texts -= {"speaker_1", "speaker_2"}
    captions = [str(event["description"]) for event in example if "description" in event]
    nouns = {word for caption in captions for word in caption.replace(",", "").split()} - {
        "a",
        "on",
        "an",
        "is",
        "and",
        "up",
    }
    pieces = [piece for pieces in bundled_pools().layers.values() for piece in pieces]
    ours = {text for p in pieces for text in (p.text, p.caption, p.label, p.how, p.style)}
    assert not texts & ours
    assert not nouns & {word for p in pieces for word in f"{p.caption} {p.label}".replace(",", "").split()}


def test_scenes_of_the_same_plan_sound_the_same() -> None:
    plan = bundled_plans(scenes=3)[2]
    pcm = pcm16(decode(clip_of(plan), RATE_HZ, None).samples)
    direct = rendered([pieces_of(i) for i in plan.items], [i.place for i in plan.items], plan.frames)
    assert hashlib.sha256(pcm.tobytes()).digest() == hashlib.sha256(direct.tobytes()).digest()
