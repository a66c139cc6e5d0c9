"""Audio beyond a model's window, asked piece by piece where a task allows it: a transcript is its pieces' texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_audiobench.models.messages import Ask, Finish, Output, Part, Response


def cut(batch: Sequence[Ask], window_s: float | None) -> tuple[list[Ask], list[int]]:
    """Requests of one clip beyond the window become one for each window's length of it; others stay as they are.

    All of them in order, and how many stand for each of ``batch``.
    """
    pieces_of_each = [_pieces(ask, window_s) for ask in batch]
    return [piece for pieces in pieces_of_each for piece in pieces], [len(pieces) for pieces in pieces_of_each]


def joined(replies: Sequence[Response], counts: Sequence[int]) -> list[Response]:
    """One response for each of ``counts``: texts joined by a space, tokens added up, the number of pieces told."""
    left = iter(replies)
    return [_joined([next(left) for _ in range(count)]) for count in counts]


def _pieces(ask: Ask, window_s: float | None) -> list[Ask]:
    if window_s is None or len(ask.audio) != 1 or ask.audio[0].duration_s <= window_s:
        return [ask]
    clip = ask.audio[0]
    width = round(window_s * clip.rate_hz)
    starts = range(0, len(clip.samples), width)
    return [
        Ask(
            replace(ask.request, key=f"{ask.request.key}/{number}"),
            (replace(clip, samples=clip.samples[start : start + width], pcm_digest=""),),
        )
        for number, start in enumerate(starts)
    ]


def _joined(pieces: Sequence[Response]) -> Response:
    if len(pieces) == 1:
        return pieces[0]
    for number, piece in enumerate(pieces, 1):
        if piece.error is not None:
            return Response(error=f"{piece.error} (piece {number} of {len(pieces)})")
    usage: dict[str, int] = {"pieces": len(pieces)}
    for piece in pieces:
        for name, count in piece.usage.items():
            usage[name] = usage.get(name, 0) + count
    finishes = {piece.finish for piece in pieces}
    worst: tuple[Finish, ...] = ("length", "refusal", "unknown", "stop")
    text = " ".join(filter(None, (piece.text.strip() for piece in pieces)))
    finish = next(finish for finish in worst if finish in finishes)
    return Response(outputs=(Output((Part("text", text),), finish),), usage=usage)
