"""Which sounds, clips and distractors a mixture has: drawn evenly, from SHA-256 of identities alone.

Of all labels those used least so far are taken, and among them those whose digest with the mixture's identity is the
smallest. So labels are present equally often, up to one, and nearly so absent; a clip comes again only when all of its
label's were used; and further mixtures change no earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.identity import seed as seed_of

_TRIES = 20
"""Draws for each requested mixture, before a pack counts as having no further one."""


class DrawnMixture(NamedTuple):
    """A mixture: the labels that are in it, the number of each one's clip, and labels to ask for that are not."""

    name: str
    labels: tuple[str, ...]
    clips: tuple[int, ...]
    absent: tuple[str, ...]


class Draws:
    """Draws from the labels of one pack; ``sizes`` counts each label's clips. Equal arguments give equal draws."""

    def __init__(self, pack: str, sizes: Mapping[str, int], seed: int) -> None:
        self._pack, self._sizes, self._seed = pack, sizes, str(seed)
        self._present: Counter[str] = Counter()
        self._absent: Counter[str] = Counter()
        self._clips: dict[str, Counter[int]] = {label: Counter() for label in sizes}

    def mixtures(self, names: Sequence[str], sources: int, distractors: int) -> list[DrawnMixture]:
        """Mixtures of ``sources`` different labels each, which the pack must have; no two are of the same clips.

        Fewer than ``names`` where the pack has no clips for more.
        """
        mixtures: list[DrawnMixture] = []
        contents: set[frozenset[tuple[str, int]]] = set()
        for attempt in range(len(names) * _TRIES):
            if len(mixtures) == len(names):
                break
            name = names[len(mixtures)]
            labels = self._least(
                list(self._sizes), self._present, sources, name, "present", str(attempt - len(mixtures))
            )
            clips = [self._clip(name, label) for label in labels]
            content = frozenset(zip(labels, clips, strict=True))
            if content not in contents:
                contents.add(content)
                mixtures.append(
                    DrawnMixture(name, tuple(labels), tuple(clips), self._others(name, labels, distractors))
                )
        return mixtures

    def of(self, name: str, labels: Sequence[str], pinned: Mapping[str, int], distractors: int) -> DrawnMixture:
        """A mixture of these ``labels``; ``pinned`` are clips that were chosen. As many distractors as there can be."""
        clips = [pinned[label] if label in pinned else self._clip(name, label) for label in labels]
        return DrawnMixture(name, tuple(labels), tuple(clips), self._others(name, labels, distractors))

    def _others(self, name: str, labels: Sequence[str], count: int) -> tuple[str, ...]:
        rest = [label for label in self._sizes if label not in labels]
        return tuple(self._least(rest, self._absent, count, name, "absent"))

    def _clip(self, name: str, label: str) -> int:
        """Of the clips used least, the first from a place that is drawn: a label may have thousands."""
        size, used = self._sizes[label], self._clips[label]
        fewest = used.total() // size
        start = seed_of("sound id", 1, self._seed, self._pack, name, "clip", label) % size
        chosen = next(number % size for number in range(start, start + size) if used[number % size] <= fewest)
        used[chosen] += 1
        return chosen

    def _least(self, labels: Sequence[str], used: Counter[str], count: int, *identity: str) -> list[str]:
        def order(label: str) -> tuple[int, int]:
            return used[label], seed_of("sound id", 1, self._seed, self._pack, *identity, label)

        chosen = sorted(labels, key=order)[:count]
        used.update(chosen)
        return chosen
