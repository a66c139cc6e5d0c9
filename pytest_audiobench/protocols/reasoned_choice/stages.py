"""The stages of a question that is answered with reasoning: asked, asked of the clean clips, asked with it put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.protocols.multiple_choice.family import choice_template, choice_text
from pytest_audiobench.protocols.protocol import ANSWER, Earlier, Stage
from pytest_audiobench.protocols.reasoned_choice.styles import Style

MOST_REASONING = 16_000
"""Characters of reasoning that are put back into a prompt: six times the longest of the study."""

_NOTHING = Response()
_DIGITS = 8
_LOOKED_AT = 100_000
"""Characters of an answer that reasoning is looked for in: where it begins is known long before."""

ReasoningOf: TypeAlias = Callable[[Sample, Earlier], str]
"""What is put back, of the sample as a stage may see it and of what was said before."""


@dataclass(frozen=True)
class Asking:
    """How a style asks, and what is put in the place of its words: a ``template``, a system message, a limit.

    ``system`` is "" for none at all. Raises UsageError, when it is made, for a template that cannot be filled.
    """

    style: Style
    reasoning: bool = True
    template: str | None = None
    system: str | None = None
    max_new_tokens: int | None = None

    def stage(self, name: str = ANSWER, unchanged: bool = False) -> Stage:
        """The question itself."""
        style = self.style
        pieces = choice_template(self.template or (style.reasoned if self.reasoning else style.direct))
        limit = self.max_new_tokens or style.tokens[self.reasoning]

        def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
            return self._messages(sample, choice_text(pieces, sample))

        return Stage(name, render, task="choice", settings=Settings(max_new_tokens=limit), unchanged=unchanged)

    def forced(self, name: str, reasoning_of: ReasoningOf, template: str | None, fields: tuple[str, ...] = ()) -> Stage:
        """The question with the text of ``reasoning_of`` put back, whatever its length; one choice wanted."""
        pieces = choice_template(template or self.style.conditioned, "reasoning")
        if not any(placeholder == "reasoning" for _, placeholder in pieces):
            raise UsageError(f"the prompt {template!r} has no {{reasoning}}; put it where the model's own belongs")

        def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
            said = reasoning_of(sample, earlier)
            return self._messages(sample, choice_text(pieces, sample, reasoning=said))

        settings = Settings(max_new_tokens=self.style.tokens[2])
        return Stage(name, render, task="choice", settings=settings, fields=fields)

    def forced_digest(self, template: str | None) -> str:
        """The beginning of the hash of the words around the reasoning: no hash of a run's prompts covers them."""
        return digest([template or self.style.conditioned, self._system or ""])[:_DIGITS]

    def reasoning_of(self, earlier: Earlier) -> str:
        """The reasoning of the model's answer, as long as it may be put back; "" where there is none."""
        return self.whole_reasoning(earlier)[:MOST_REASONING]

    def whole_reasoning(self, earlier: Earlier) -> str:
        """The reasoning of the model's answer, whatever its length; of a runaway's first 100,000 characters."""
        return self.style.split(earlier.get(ANSWER, _NOTHING).text[:_LOOKED_AT]).reasoning

    def _messages(self, sample: Sample, text: str) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (text, *slots) if self.style.text_first else (*slots, text))
        return (Message("system", (self._system,)), user) if self._system else (user,)

    @property
    def _system(self) -> str | None:
        return self.style.system if self.system is None else self.system
