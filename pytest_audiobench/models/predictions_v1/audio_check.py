"""Whether a predictions_v1 server hears: its prompt must grow with audio, as far as it tells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_audiobench.audio.clip import PlayedAudio
from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Response, Settings
from pytest_audiobench.models.model import Hearing

_QUESTION = "What is heard?"
_LONGER_QUESTION = " ".join([_QUESTION] * 20)
_SOUND_S = 4
"""Long enough for a server of 25 tokens a second to grow by more than a placeholder's text could."""


def find_hearing(
    name: str, ask: Callable[[Ask], Response], rate_hz: int, placeholder: str, counts: bool = False
) -> Hearing:
    """Ask about four seconds of sound, then with the same text and no sound, and compare the prompts' tokens.

    The clip's placeholder stays in the text: a server that does not hear reads it as text, and a prompt that is
    longer by those words alone proves nothing. A strict server refuses a placeholder without audio; it is asked
    without, and must grow by more than the placeholder has characters.

    Raises FatalError when the prompt shrinks, or when it grows with a longer text and not with sound. One whose length
    is the same whatever is sent, as stubs of launchers tell, proves nothing, unless servers of its kind are known to
    count (``counts``): these are not asked about the longer text.
    """
    answer = ask(_probe(rate_hz, sound=True, placeholder=placeholder))
    if (with_sound := _tokens(answer)) is None:
        why = f": {answer.error}" if answer.error else ""
        return Hearing("unproven", f"the server reports no prompt_tokens for {_SOUND_S} s of sound{why}")
    slack, without_sound = 0, _tokens(ask(_probe(rate_hz, sound=False, placeholder=placeholder)))
    if without_sound is None and placeholder:
        slack, without_sound = len(placeholder), _tokens(ask(_probe(rate_hz, sound=False, placeholder="")))
    if without_sound is None:
        return Hearing("unproven", "the server reports no prompt_tokens without audio, so they cannot be compared")
    if with_sound == without_sound and not counts:
        shorter = placeholder if not slack else ""
        longer_text = _tokens(ask(_probe(rate_hz, sound=False, placeholder=shorter, question=_LONGER_QUESTION)))
        if longer_text in (None, without_sound):
            constant = f"prompt_tokens is {with_sound} with {_SOUND_S} s of sound, without, and with a longer text"
            return Hearing("unproven", f"{constant}: the server does not count, so nothing shows whether it hears")
    if with_sound == without_sound or (slack and with_sound < without_sound):
        raise FatalError(
            f"{name} does not hear: it says that its prompt has {with_sound} tokens with {_SOUND_S} s of sound, "
            f"and {without_sound} without; fix the server, since its answers would be guesses"
        )
    evidence = f"prompt_tokens {with_sound} with {_SOUND_S} s of sound, {without_sound} without"
    return Hearing("proven" if with_sound > without_sound + slack else "unproven", evidence)


def _probe(rate_hz: int, sound: bool, placeholder: str, question: str = _QUESTION) -> Ask:
    wave = 0.1 * np.sin(2 * np.pi * 440 * np.arange(_SOUND_S * rate_hz) / rate_hz)
    parts: tuple[str | AudioSlot, ...] = (AudioSlot(0), question) if sound else (placeholder, question)
    message = Message("user", parts)
    name = "probe" if sound else "probe-without-audio" if question == _QUESTION else "probe-longer-text"
    request = Request(name, "", name, "", "open", (message,), (), settings=Settings(max_new_tokens=1))
    clip = PlayedAudio(wave.astype(np.float32), rate_hz, name, rate_hz, len(wave), "none")
    return Ask(request, (clip,) if sound else ())


def _tokens(response: Response) -> int | None:
    """The prompt's length as the server reports it; zero is what servers write that do not count."""
    return response.usage.get("prompt_tokens") or None
