"""Plans of scenes: which piece sounds when and how loud, drawn from SHA-256 of identities, and data alone.

After the generator's plan of LAION's SoundScape-Bench (github LAION-AI/univeral-audio-annotation-pipeline). What it
leaves open is decided so that a reference is true and can be heard: see :class:`Profile`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pytest_audiobench.audio.events import LOUDNESS
from pytest_audiobench.audio.scene import RATE_HZ, Placement
from pytest_audiobench.datasets.soundscape.pieces import Piece, Pools, extent_of
from pytest_audiobench.errors import AudioError, UsageError
from pytest_audiobench.identity import Payload

T = TypeVar("T")

LADDER: Mapping[str, str] = dict(zip(LOUDNESS, ("0.02", "0.04", "0.075", "0.12", "0.18"), strict=True))
"""The level of each word for loudness."""

_TENTH = RATE_HZ // 10
_TRIES = 8
_SPEECH = _BURST = "0.11"


@dataclass(frozen=True)
class Profile:
    """What scenes are like. ``published`` follows SoundScape-Bench's plan, ``large`` its plan for training data.

    With ``checks`` (all but ``published-raw``): a piece is where it is active; a piece in which something of another
    type is heard is left out; sounds of one label do not overlap; no source comes again before all others of its pool;
    no voice has two labels, and a voice without a name is alone; and every sound is at most 20 dB below all else that
    sounds meanwhile, or it is drawn again, and left out the eighth time.
    """

    name: str
    longest_s: tuple[float, float] = (10.0, 60.0)
    music: float = 0.6
    ambience: float = 0.2
    turns: tuple[int, ...] = (1, 2, 3)
    overlap: float = 0.25
    sounds: tuple[int, ...] = (1, 2, 3)
    levels: tuple[str, ...] = ("0.075",)
    bed_levels: tuple[str, ...] = ("0.045",)
    is_ducked: bool = False
    checks: bool = True


PUBLISHED = Profile("published")
PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        PUBLISHED,
        replace(PUBLISHED, name="published-raw", checks=False),
        replace(
            PUBLISHED,
            name="large",
            longest_s=(5.0, 60.0),
            music=0.55,
            overlap=0.225,
            sounds=(0, 1, 1, 2, 3),
            levels=tuple(LADDER.values()),
            bed_levels=tuple(LADDER.values())[:3],
            is_ducked=True,
        ),
        replace(PUBLISHED, name="spoken"),
        replace(PUBLISHED, name="overlap", turns=(2, 3), overlap=1.0),
        *(
            replace(PUBLISHED, name=f"bed-{name}", music=float(name == "music"), ambience=float(name == "ambience"))
            for name in ("music", "ambience", "none")
        ),
    )
}


def profile_of(name: str) -> Profile:
    """Raises UsageError, naming those there are."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r} of soundscapes; there are {', '.join(PROFILES)}")
    return PROFILES[name]


@dataclass(frozen=True, slots=True)
class Item:
    """A piece in a scene."""

    layer: str
    piece: Piece
    place: Placement
    speaker: str = ""

    @property
    def end(self) -> int:
        return self.place.start + self.place.frames

    @property
    def is_bed(self) -> bool:
        return self.place.is_bed

    def overlap(self, start: int, end: int) -> int:
        """For how many of these frames it sounds."""
        return max(0, min(self.end, end) - max(self.place.start, start))


@dataclass(frozen=True, slots=True)
class Plan:
    """A scene, as data."""

    number: int
    frames: int
    items: tuple[Item, ...]
    ducked: tuple[tuple[int, int], ...] = ()

    def document(self) -> Payload:
        """The plan as JSON values without floats: of each item its layer, source, placement and speaker."""
        items: list[Payload] = [
            [i.layer, i.piece.source, p.start, p.frames, p.offset, p.extent, p.level, i.speaker]
            for i in self.items
            for p in [i.place]
        ]
        return {"number": self.number, "frames": self.frames, "items": items, "ducked": [list(s) for s in self.ducked]}


def draw(*identity: str | int) -> float:
    """A number from 0 to below 1 that depends on ``identity`` alone: the first 48 bits of its SHA-256."""
    content = "\x1f".join(map(str, identity)).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:6], "big") / 2**48


def pick(options: Sequence[T], *identity: str | int) -> T:
    return options[int(draw(*identity) * len(options))]


def between(low: float, high: float, *identity: str | int) -> float:
    return low + (high - low) * draw(*identity)


def loudness_of(level: str) -> str:
    """The word whose level is nearest by ratio."""
    value = float(level)
    return min(LADDER, key=lambda word: max(value / float(LADDER[word]), float(LADDER[word]) / value))


def plans(pools: Pools, profile: Profile, scenes: int, seed: str, shortest_s: float, longest_s: float) -> list[Plan]:
    """The first ``scenes``. Each depends on those before it, which used up sources; more change none of them."""
    planner = Planner(pools, profile, seed, shortest_s, longest_s)
    return [planner.plan() for _ in range(scenes)]


@dataclass
class _Draft:
    """A scene that is being planned."""

    frames: int
    items: list[Item] = field(default_factory=list)

    def add(self, layer: str, piece: Piece, span: tuple[int, int], start: int, level: str, speaker: str = "") -> Item:
        first, last = span
        self.items.append(Item(layer, piece, Placement(start, last - first, first, last - first, level), speaker))
        return self.items[-1]

    @property
    def voices(self) -> list[str]:
        """In the order in which they are first heard."""
        return list(dict.fromkeys(_voice(item.piece) for item in self.items if item.layer == "speech"))


def _voice(piece: Piece) -> str:
    return piece.speaker or f"\0{piece.source}"


Fits = Callable[[Piece, int], bool]
"""Whether a piece may be taken, given its frames."""


class Planner:
    """Plans scenes one after the other, from number 0 on."""

    def __init__(self, pools: Pools, profile: Profile, seed: str, shortest_s: float, longest_s: float) -> None:
        self._profile, self._seed, self._number = profile, seed, 0
        self._shortest_s, self._longest_s = shortest_s, longest_s
        self._layers = {
            layer: [piece for piece in pieces if not (profile.checks and piece.mixes_types(layer))]
            for layer, pieces in pools.layers.items()
        }
        self.refused: dict[str, str] = {}
        """Pieces that were drawn and cannot be used, by their sources, with the reason."""
        self._left = {layer: list(range(len(pieces))) for layer, pieces in self._layers.items()}

    def plan(self) -> Plan:
        """The next one."""
        number, self._number = self._number, self._number + 1
        key = ("soundscape", self._seed, number)
        draft = _Draft(int(between(self._shortest_s, self._longest_s, *key, "duration") * 10) * _TENTH)
        self._add_bed(draft, key)
        self._add_speech(draft, key)
        self._add_sounds(draft, key)
        spans = [(i.place.start, i.end) for i in draft.items if i.layer == "speech"]
        has_bed = any(item.is_bed for item in draft.items)
        ducked = tuple(spans) if self._profile.is_ducked and has_bed else ()
        return Plan(number, draft.frames, tuple(draft.items), ducked)

    def _add_bed(self, draft: _Draft, key: tuple[str | int, ...]) -> None:
        drawn, music, ambience = draw(*key, "bed"), self._profile.music, self._profile.ambience
        layer = "music" if drawn < music else "ambience" if drawn < music + ambience else ""
        taken = layer and self._take(draft, layer, lambda piece, frames: True, *key, layer)
        if taken:
            piece, (first, last) = taken
            level = pick(self._profile.bed_levels, *key, "bed level")
            place = Placement(0, draft.frames, first, min(last - first, draft.frames), level, is_bed=True)
            draft.items.append(Item(layer, piece, place))

    def _add_speech(self, draft: _Draft, key: tuple[str | int, ...]) -> None:
        turns = pick(self._profile.turns, *key, "turns")
        overlaps = turns > 1 and draw(*key, "overlap") < self._profile.overlap
        cursor = int(between(0.3, 2.0, *key, "lead") * RATE_HZ)
        before: Item | None = None
        for turn in range(turns):
            share = between(0.3, 0.6, *key, "overlap share") if overlaps and turn == 1 else 0.0
            before = self._add_turn(draft, before, share, cursor, *key, "speech", turn)
            if before is None:
                break
            cursor = max(cursor, before.end + int(between(0.3, 2.0, *key, "gap", turn) * RATE_HZ))
            if draw(*key, "burst?", turn) < 0.4:
                cursor = self._add_burst(draft, before, cursor, *key, "burst", turn)

    def _add_turn(
        self, draft: _Draft, before: Item | None, share: float, cursor: int, *identity: str | int
    ) -> Item | None:
        """At ``cursor``, or inside ``before`` by a ``share`` of the shorter of both, and then by another voice."""
        inside = before if share else None

        def start_of(frames: int) -> int:
            return inside.end - int(share * min(frames, inside.place.frames)) if inside else cursor

        def fits(piece: Piece, frames: int) -> bool:
            is_other = inside is None or _voice(piece) != _voice(inside.piece)
            return is_other and self._may_speak(draft, piece) and start_of(frames) + frames <= draft.frames

        taken = self._take(draft, "speech", fits, *identity)
        if taken is None:
            return None
        piece, (first, last) = taken
        voices = list(dict.fromkeys([*draft.voices, _voice(piece)]))
        label = f"speaker_{voices.index(_voice(piece)) + 1}"
        return draft.add("speech", piece, (first, last), start_of(last - first), _SPEECH, label)

    def _may_speak(self, draft: _Draft, piece: Piece) -> bool:
        """A voice without a name may be any other's."""
        return not self._profile.checks or not draft.voices or bool(piece.speaker and draft.items[-1].piece.speaker)

    def _add_burst(self, draft: _Draft, turn: Item, cursor: int, *identity: str | int) -> int:
        """A burst of the voice that spoke, or of one that may pass for it; returns where the next turn may begin."""
        voice = turn.piece

        def fits(piece: Piece, frames: int) -> bool:
            is_same = piece.speaker == voice.speaker if piece.speaker else piece.gender == voice.gender
            return is_same and bool(piece.speaker or piece.gender) and cursor + frames <= draft.frames

        taken = self._take(draft, "burst", fits, *identity)
        if taken is None:
            return cursor
        return draft.add("burst", *taken, cursor, _BURST, turn.speaker).end + 2 * _TENTH

    def _add_sounds(self, draft: _Draft, key: tuple[str | int, ...]) -> None:
        for number in range(pick(self._profile.sounds, *key, "sfx")):
            taken = self._take(draft, "sfx", lambda piece, frames: frames <= draft.frames, *key, "sfx", number)
            if taken is None:
                continue
            piece, (first, last) = taken
            for attempt in range(_TRIES):
                where = (*key, "sfx at", number, attempt)
                start = int(draw(*where) * (draft.frames - (last - first) + 1))
                level = pick(self._profile.levels, *where, "level")
                if not self._profile.checks or _is_heard(draft, piece, start, start + last - first, level):
                    draft.add("sfx", piece, (first, last), start, level)
                    break

    def _extent(self, piece: Piece) -> tuple[int, int] | None:
        try:
            span = extent_of(piece.clip, not self._profile.checks)
            reason = "nothing is heard in it"
        except AudioError as error:
            span, reason = None, str(error)
        if span is None:
            self.refused[piece.source] = reason
        return span

    def _take(
        self, draft: _Draft, layer: str, fits: Fits, *identity: str | int
    ) -> tuple[Piece, tuple[int, int]] | None:
        """A piece of the layer that fits, and where it is active: one of those used least, where there is one."""
        pieces = self._layers.get(layer, [])
        left = self._left[layer] if self._profile.checks else list(range(len(pieces)))
        for round_ in range(2):
            tried: set[int] = set()
            for attempt in range(_TRIES if left else 0):
                number = pick(left, *identity, round_, attempt)
                if number in tried:
                    continue
                tried.add(number)
                piece = pieces[number]
                span = self._extent(piece)
                is_new = all(item.piece is not piece for item in draft.items)
                if span and is_new and fits(piece, span[1] - span[0]):
                    left.remove(number)
                    return piece, span
            if len(tried) < len(left) or not pieces:
                return None
            left[:] = range(len(pieces))  # none is left that fits
        return None


def _is_heard(draft: _Draft, piece: Piece, start: int, end: int, level: str) -> bool:
    """Whether a sound there is heard among all else, each of the sounds that are there still is, and no other of its
    label sounds meanwhile.
    """
    new = Item("sfx", piece, Placement(start, end - start, 0, end - start, level))
    others = [item for item in draft.items if item.layer == "sfx"]
    if any(item.piece.label == piece.label and item.overlap(start, end) for item in others if piece.label):
        return False
    return all(_stands_out(item, [*draft.items, new]) for item in (new, *others))


def _stands_out(item: Item, among: Sequence[Item]) -> bool:
    """Whether its power is a hundredth of all other power at least while it sounds."""
    start, end = item.place.start, item.end
    others = sum(float(o.place.level) ** 2 * o.overlap(start, end) for o in among if o is not item)
    return 100 * float(item.place.level) ** 2 * (end - start) >= others
