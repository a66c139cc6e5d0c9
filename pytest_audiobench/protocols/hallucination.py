"""One clip in which nobody speaks, its words wanted all the same: what a recogniser makes up."""

from __future__ import annotations

from types import MappingProxyType

from pytest_audiobench.protocols.protocol import Protocol, remembered
from pytest_audiobench.protocols.transcription import non_speech
from pytest_audiobench.protocols.transcription.family import INSTRUCTION, WITHOUT_SPACES, transcription


@remembered
def hallucination(
    *scorers: str,
    prompt: str = INSTRUCTION,
    system: str | None = None,
    max_new_tokens: int = 256,
    language: str = "en",
) -> Protocol:
    """Ask for the words of clips in which nobody speaks, just as ``transcription`` asks for those of speech.

    ``scorers`` names how answers are scored, the first as the headline: ``non-speech`` is ours and the default,
    ``non-speech-thenirock`` the published rule. ``language`` is the ISO 639 code of the language that is asked for.
    Raises UsageError for an unknown scorer or no such code.
    """
    (stage,) = transcription(prompt=prompt, system=system, max_new_tokens=max_new_tokens, language=language).stages
    own = non_speech.non_speech_scorers(language in WITHOUT_SPACES)
    available = MappingProxyType({scorer.name: scorer for scorer in own})
    asked = Protocol("hallucination", (stage,), own[:1], available, expects="words")
    return asked.with_scorers(*scorers) if scorers else asked
