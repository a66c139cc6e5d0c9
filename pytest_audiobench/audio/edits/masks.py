"""The edit that takes parts of a clip away: an exact share of its frames, in places that a seed draws.

Where the mask lies depends on the number of frames, the rate, the share, the mode and the seed alone. Shares are
*nested*: what a smaller one masks, a larger one of the same mode and seed masks too, so that the points of a
dose-response curve differ in the dose and in nothing else.

The masks follow a study of reasoning in audio models (arXiv 2509.22363; github
lovenya/Measuring-Faithfulness-of-CoT-Reasoning-LALMs, data_processing/mask_audio_dataset.py) but for this:

- It seeds a generator by ``"{seed}_{id}_{percent}"``, so that each share is masked in its own place, and two
  points of its curve differ in the place as well. Here all shares have one draw.
- Its scattered pieces are drawn one after another until they sum to the share, and the frames between them are dealt
  out by stars and bars. Here the whole clip is cut into pieces, and the pieces are masked in a drawn order.
- It masks ``int(n·percent/100)`` frames; ours are rounded.
- Its noise is unseeded, drawn for each channel, and as strong as the *unmasked* rest for one contiguous piece (0.1
  where nothing is left) and as the whole clip for scattered ones. Here it is seeded, and as strong as the whole clip.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

import numpy as np

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import Edit, Parameters, Samples, decimal, number
from pytest_audiobench.audio.edits.kind import EditKind, whole_clip
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

Mode: TypeAlias = Literal["random", "start", "end", "scattered"]
Fill: TypeAlias = Literal["silence", "noise"]
Segment: TypeAlias = tuple[int, int]
"""The first frame that is masked, and the first one after it that is not."""

SHORTEST_MS, LONGEST_MS = 50, 500
"""How long scattered pieces are."""

_MOST_DRAWS = 1000


def mask(percent: float, mode: Mode = "random", fill: Fill = "silence", seed: int | str = 0) -> Edit:
    """``percent`` of the clip's frames, at the places of :func:`segments`, replaced by ``fill``; all others are kept.

    ``silence`` is digital silence. ``noise`` is white Gaussian noise of the whole clip's RMS, limited to what 16 bits
    hold; a larger share plays the same noise and more of it, and in a silent clip it is silence. Give each sample its
    own seed (``identity.seed("mask", sample.id)``); it is left out where nothing is drawn. Raises UsageError for a
    share outside 0 to 100, an unknown mode and an unknown fill.
    """
    parameters = (
        ("percent", _percent(percent)),
        ("mode", _checked_word("mode", mode, Mode)),
        ("fill", _checked_word("fill", fill, Fill)),
    )
    drawn = mode in ("random", "scattered") or fill == "noise"
    return Edit("mask", 1, parameters, seed=str(seed) if drawn else None)


def segments(n_frames: int, rate_hz: int, percent: float, mode: str, seed: int | str = "") -> list[Segment]:
    """The frames of a clip that are masked, in the order of time: they never overlap, and lie inside the clip.

    They are m = floor(n·percent/100 + 1/2) together, computed exactly from the decimals of ``percent``.

    - ``start`` and ``end``: the first or the last m.
    - ``random``: one piece from floor(u·(n - m + 1)) on, with u in [0, 1) drawn once for all shares, so that every
      place is as likely as any other. A frame in the middle of the clip is then masked more often than one at its ends.
    - ``scattered``: the clip is cut into pieces of 50 to 500 ms, whose lengths are drawn uniformly, and which are
      masked in a drawn order until the m-th frame; the last of them in part, at the place that u is in it. Pieces may
      touch. Where there are many, no part of the clip is preferred.

    What is left at the clip's end belongs to its last piece; where that is then longer than a piece may be, it is
    halved. A clip shorter than 50 ms is one piece. Raises UsageError for a share outside 0 to 100 and an unknown mode.
    """
    n_masked = int(Fraction(_percent(percent)) * n_frames / 100 + Fraction(1, 2))
    kind = _checked_word("mode", mode, Mode)
    if not n_masked:
        return []
    if kind == "scattered":
        return _random_pieces(n_frames, rate_hz, n_masked, seed)
    begin = {"start": 0, "end": n_frames - n_masked, "random": _place(n_frames, n_masked, seed)}[kind]
    return [(begin, begin + n_masked)]


def _place(room: int, frames: int, seed: int | str) -> int:
    """floor(u·(room - frames + 1)), by whole numbers: rounding could tear a smaller mask out of a larger one."""
    return seed_of("mask place", 1, str(seed)) * (room - frames + 1) >> 63


def _random_pieces(n_frames: int, rate_hz: int, n_masked: int, seed: int | str) -> list[Segment]:
    draw = signals.stream("mask pieces", 1, str(seed))
    ends = _cuts(n_frames, rate_hz, draw)
    lengths = np.diff(ends, prepend=0)
    order = draw.permutation(len(ends))
    done = np.cumsum(lengths[order])
    uncut, cut = np.split(order, [int(np.searchsorted(done, n_masked, side="right"))])
    pieces = list(zip((ends - lengths)[uncut].tolist(), ends[uncut].tolist(), strict=True))
    if left := n_masked - int(np.sum(lengths[uncut])):
        room = int(lengths[cut[0]])
        begin = int(ends[cut[0]]) - room + _place(room, left, seed)
        pieces.append((begin, begin + left))
    return sorted(pieces)


def _cuts(n_frames: int, rate_hz: int, draw: np.random.RandomState) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    shortest = -(-SHORTEST_MS * rate_hz // 1000)
    longest = max(shortest, LONGEST_MS * rate_hz // 1000)
    lengths = shortest + np.floor(draw.random_sample(n_frames // shortest + 1) * (longest - shortest + 1))
    ends = np.cumsum(lengths.astype(np.int64))
    ends = ends[ends <= n_frames - shortest]
    begin = int(ends[-1]) if len(ends) else 0
    if n_frames - begin > longest:
        ends = np.append(ends, begin + (n_frames - begin) // 2)
    return np.append(ends, n_frames)


def _mask(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    texts = dict(parameters)
    mode, fill = _checked_word("mode", texts.get("mode"), Mode), _checked_word("fill", texts.get("fill"), Fill)
    pieces = segments(len(samples), rate_hz, number(parameters, "percent"), mode, seed or "")
    masked = samples.copy()
    filling = _noise(samples, seed or "") if fill == "noise" and pieces else np.zeros_like(samples)
    for begin, end in pieces:
        masked[begin:end] = filling[begin:end]
    return masked


def _noise(samples: Samples, seed: str) -> Samples:
    """The length of the clip, whatever is masked of it, so that every share plays the same noise in the same place."""
    hiss = signals.scaled_to_rms(signals.gaussian(len(samples), "mask noise", 1, seed), signals.rms(samples))
    return np.clip(hiss, -signals.FULL_SCALE, signals.FULL_SCALE).astype(np.float32)


def _percent(percent: float) -> str:
    text = decimal("percent", percent)
    if not 0 <= float(text) <= 100:
        raise UsageError(f"percent={text} is not a share of a clip; give a number from 0 to 100")
    return text


def _checked_word(what: str, given: object, kinds: object) -> str:
    known = get_args(kinds)
    if given not in known:
        raise UsageError(f"no {what} of a mask is named {given!r}; there are {', '.join(known)}")
    return str(given)


Part: TypeAlias = Literal["inside", "outside"]
Rule: TypeAlias = Literal["exact", "published"]


def mask_part(percent: float, part: Part, start_s: float, end_s: float, rule: Rule, seed: int | str) -> Edit:
    """Silence for ``percent`` of what lies ``inside`` or ``outside`` of [start_s, end_s), in pieces of 50 to 500 ms.

    By the rule ``exact`` they are those of :func:`segments` for what is left when the rest is cut out, so that 100 %
    is all of it. ``published`` is the rule of the study above for JASCO (data_processing/mask_jasco.py), whose pieces
    are drawn one by one and given up where they meet another: of 100 % a fifth stays on the mean. Raises UsageError for
    a share outside 0 to 100, an unknown word and an end before the start.
    """
    if not 0 <= start_s <= end_s:
        raise UsageError(
            f"from {start_s} s to {end_s} s is not part of a clip; let it begin at 0 s or later, and then end"
        )
    parameters = (
        ("percent", _percent(percent)),
        ("part", _checked_word("part", part, Part)),
        ("start_s", decimal("start_s", start_s)),
        ("end_s", decimal("end_s", end_s)),
        ("rule", _checked_word("rule", rule, Rule)),
    )
    return Edit("mask_part", 1, parameters, seed=str(seed))


def _mask_part(samples: Samples, rate_hz: int, parameters: Parameters, seed: str | None) -> Samples:
    texts = dict(parameters)
    begin, end = (min(int(number(parameters, name) * rate_hz), len(samples)) for name in ("start_s", "end_s"))
    is_inside = np.zeros(len(samples), bool)
    is_inside[begin:end] = True
    (frames,) = np.nonzero(is_inside == (_checked_word("part", texts.get("part"), Part) == "inside"))
    if _checked_word("rule", texts.get("rule"), Rule) == "exact":
        pieces = segments(len(frames), rate_hz, number(parameters, "percent"), "scattered", seed or "")
    else:
        pieces = _published_pieces(len(frames), rate_hz, number(parameters, "percent"), seed or "")
    masked = samples.copy()
    for first, last in pieces:
        masked[frames[first:last]] = 0
    return masked


def _published_pieces(n_frames: int, rate_hz: int, percent: float, seed: str) -> list[Segment]:
    left = int(n_frames * percent / 100)
    longest = min(int(LONGEST_MS * rate_hz / 1000), left)
    shortest = min(int(SHORTEST_MS * rate_hz / 1000), longest)
    draw, pieces = random.Random(seed), list[Segment]()
    for _ in range(_MOST_DRAWS):
        if not longest or left < shortest:
            break
        length = min(draw.randint(shortest, longest), left)
        if length >= n_frames:
            break
        begin = draw.randint(0, n_frames - length)
        if all(begin + length <= first or begin >= last for first, last in pieces):
            pieces.append((begin, begin + length))
            left -= length
    return pieces


KINDS = (EditKind("mask", 1, _mask, reach_s=whole_clip), EditKind("mask_part", 1, _mask_part, reach_s=whole_clip))
