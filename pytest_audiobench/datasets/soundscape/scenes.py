"""Scenes as samples: a plan's clip, what is true of it, and what it was made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_audiobench.audio import combining, synthesis
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.events import AudioEvent, events_text
from pytest_audiobench.audio.scene import RATE_HZ
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.datasets.soundscape.bundled_pools import NOTE, bundled_pools
from pytest_audiobench.datasets.soundscape.pieces import Pools
from pytest_audiobench.datasets.soundscape.plans import Item, Plan, Profile, between, loudness_of, plans, profile_of
from pytest_audiobench.datasets.soundscape.spoken_pools import NOTE as SPOKEN_NOTE
from pytest_audiobench.datasets.soundscape.spoken_pools import spoken_pools
from pytest_audiobench.errors import UsageError

GROUPS = ("languages", "overlap", "bed", "length")
SPOKEN = "spoken"
SILENCE = "silence"
"""The profile of clips in which nothing is heard."""

_MOST_SCENES = 100_000
_MOST_S = 600.0


def soundscape_scenes(
    profile: str = "published",
    scenes: int | None = None,
    seed: str = "1",
    pools: str | Path | None = None,
    shortest_s: float = 10.0,
    longest_s: float = 30.0,
    bed_db: float | None = None,
) -> Dataset:
    """Clips in which several things happen at once, and what is heard in each, and when.

    Pieces are drawn from ``pools``, a folder (:mod:`pytest_audiobench.datasets.soundscape.folder_pools`; a relative
    path is read from the test file's folder), else that of ``--ab-pools``, else the bundled ones, which have no vocal
    bursts. ``scenes`` are as many as ``--ab-scenes`` says unless given, 40 by default; more change none of the others.
    Profiles are ``published`` (as SoundScape-Bench was put together), ``published-raw`` (without our checks),
    ``large``, ``spoken`` (whole sentences in six languages by espeak-ng, which is the extra ``tts``), ``overlap`` (the
    second voice always begins inside the first), ``bed-music``, ``bed-ambience`` and ``bed-none`` (the same foregrounds
    over each), and ``silence`` (nothing is heard but faint hiss). ``bed_db`` is the beds' level in dB of full scale;
    data sets that differ in it alone are the points of a curve.

    A sample's reference is a JSON array of events (:class:`pytest_audiobench.audio.events.AudioEvent`). Metadata:
    duration, languages, speakers, events, overlap, bed, length; ``pieces``, JSON of what is known of each event's
    piece. Raises UsageError for a profile that there is not, and for numbers that make no scenes.
    """
    chosen = None if profile == SILENCE else profile_of(profile)
    if chosen and bed_db is not None:
        chosen = replace(chosen, bed_levels=(f"{10 ** (bed_db / 20):.6f}",))
    if not 1.0 <= shortest_s <= longest_s <= _MOST_S or not (scenes is None or 1 <= scenes <= _MOST_SCENES):
        raise UsageError(
            f"scenes={scenes} of shortest_s={shortest_s:g} to longest_s={longest_s:g} are none: give 1 to "
            f"{_MOST_SCENES:,}, of 1 to {_MOST_S:g} s"
        )
    parts = [profile, f"{shortest_s:g}-{longest_s:g}s", *([] if seed == "1" else [f"seed{seed}"])]
    note = SPOKEN_NOTE if profile == SPOKEN else NOTE if pools is None else ""
    read = partial(_samples, chosen, scenes, seed, pools, shortest_s, longest_s)
    dataset = Dataset(f"soundscape_scenes/{'/'.join(parts)}", read, groups=GROUPS, note=note, is_timed=True)
    if bed_db is None:
        return dataset
    level = Perturbation(f"bed{bed_db:g}dB", "bed", lambda places: list, bed_db, "dB of full scale", "higher")
    return replace(dataset, name=f"{dataset.name}+{level}", perturbation=level)


def _samples(
    profile: Profile | None,
    scenes: int | None,
    seed: str,
    folder: str | Path | None,
    shortest_s: float,
    longest_s: float,
    places: Places,
) -> Sequence[Sample]:
    count = scenes or places.scenes or 40
    if profile is None:
        return [_silent_sample(seed, number, shortest_s, longest_s) for number in range(count)]
    pools = pools_of(profile, places.pools if folder is None else places.here / Path(folder).expanduser())
    return [sample_of(plan) for plan in plans(pools, profile, count, seed, shortest_s, longest_s)]


def pools_of(profile: Profile, folder: Path | None) -> Pools:
    """What scenes of the profile are put together from; what lies in ``folder`` where there is one."""
    if profile.name == SPOKEN:
        return spoken_pools()
    if folder is None:
        return bundled_pools()
    from pytest_audiobench.datasets.soundscape.folder_pools import folder_pools

    return folder_pools(folder.resolve())


def clip_of(plan: Plan) -> Clip:
    """What is heard; a scene of no pieces is silent."""
    if not plan.items:
        return Clip(synthesis.silence(plan.frames / RATE_HZ))
    clips = [item.piece.clip for item in plan.items]
    return combining.in_scene(clips, [item.place for item in plan.items], plan.frames, plan.ducked)


def events_of(plan: Plan) -> list[tuple[AudioEvent, Item]]:
    """What is true of the scene, in order, each with what it is true of."""
    pairs = [
        (item.piece.event(item.layer, item.place.start, item.end, item.speaker, loudness_of(item.place.level)), item)
        for item in plan.items
    ]
    return sorted(pairs, key=lambda pair: pair[0].place)


def piece_document(item: Item) -> dict[str, str | bool]:
    """What is known of an event next to its reference: what is in no request."""
    piece = item.piece
    texts = {
        "label": piece.label,
        "pool": item.layer,
        "source": piece.source,
        "licence": piece.licence,
        "attribution": piece.attribution,
        "raw_caption": piece.raw_caption,
    }
    known = {name: text for name, text in texts.items() if text}
    return {"loudness": loudness_of(item.place.level), "level": item.place.level, "bed": item.is_bed, **known}


def sample_of(plan: Plan) -> Sample:
    """The scene as a sample."""
    pairs = events_of(plan)
    pieces = [piece_document(item) for _, item in pairs]
    bed = next((item.layer for item in plan.items if item.is_bed), "none")
    return _sample(plan.number, clip_of(plan), plan.frames, [event for event, _ in pairs], bed, pieces)


def _sample(
    number: int,
    clip: Clip,
    frames: int,
    events: Sequence[AudioEvent],
    bed: str,
    pieces: Sequence[dict[str, str | bool]] = (),
) -> Sample:
    facts = {**event_facts(events, frames / RATE_HZ), "bed": bed}
    provenance = {"pieces": json.dumps(pieces, ensure_ascii=False)} if pieces else {}
    return Sample(f"clip_{number:03d}", (clip,), "", reference=events_text(events), metadata={**facts, **provenance})


def event_facts(events: Sequence[AudioEvent], duration_s: float) -> dict[str, Field]:
    """What samples are grouped by and prompts may say, of what is true of a clip."""
    speech = [event for event in events if event.type == "speech"]
    overlaps = any(
        a.end_time > b.start_time and b.end_time > a.start_time for a in speech for b in speech if a is not b
    )
    return {
        "duration": duration_s,
        "languages": "+".join(sorted({event.language for event in speech} - {""})) or "none",
        "speakers": len({event.speaker_id for event in events} - {""}),
        "events": len(events),
        "overlap": "yes" if overlaps else "no",
        "length": "short" if duration_s < 20 else "middle" if duration_s < 40 else "long",
    }


def _silent_sample(seed: str, number: int, shortest_s: float, longest_s: float) -> Sample:
    key = ("soundscape", seed, number, SILENCE)
    frames = int(between(shortest_s, longest_s, *key) * 10) * RATE_HZ // 10
    hiss = Clip(synthesis.silence_floor(frames / RATE_HZ, "/".join(map(str, key))))
    return _sample(number, hiss, frames, [], "none")
