"""One question with listed options, one letter wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Settings
from pytest_audiobench.protocols.free_text import answer_of, question_of
from pytest_audiobench.protocols.multiple_choice.rules import RULES, Rule
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, Stage, remembered
from pytest_audiobench.protocols.reasoned_choice.styles import STYLES
from pytest_audiobench.protocols.templates import filled, parsed

DEFAULT = STYLES["plain"].direct
FAITHFULNESS_AF3 = STYLES["af3"].direct
FAITHFULNESS_AF3_REASONING = STYLES["af3"].reasoned
PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "default": DEFAULT,
        "faithfulness-af3": FAITHFULNESS_AF3,
        "faithfulness-af3-reasoning": FAITHFULNESS_AF3_REASONING,
    }
)

_PLACEHOLDERS = ("question", "options", "options_in_line")


@remembered
def multiple_choice(
    *scorers: str,
    prompt: str = DEFAULT,
    system: str | None = None,
    max_new_tokens: int = 256,
) -> Protocol:
    """Ask for one option by its letter, and read the answer by ``scorers``, the first as the headline.

    The scorers are ``letters`` (the default; ours, strict); the published rules ``mmau-string``, ``mmar``,
    ``audiobench-mmau``, ``air-bench`` (leaves out what it cannot read; ``air-bench-keep`` does not),
    ``voicebench-like``, ``kimi-vb`` and ``ultraeval``; and the parsers of the faithfulness study, kept with their
    defects to repeat its numbers: ``faithfulness-runtime-af3`` (with reasoning), ``faithfulness-runtime-af3-direct``
    (without), ``faithfulness-runtime-qwen``, ``faithfulness-recovered`` (its rule for SAKURA),
    ``faithfulness-recovered-mm`` (for MMAR), and ``faithfulness-recovered-mmau`` (the same as it was run on MMAU,
    without the list of choices).

    ``prompt`` is a template, or the name of one in ``PROMPTS``: ``{question}``, ``{options}`` (a line each, "(A) cat")
    or ``{options_in_line}`` are filled in, ``{{`` and ``}}`` are braces. ``system`` is a system message.
    Raises UsageError for an unknown scorer or placeholder.
    """
    template = choice_template(PROMPTS.get(prompt, prompt))
    available = _scorers("listed" if any(name.startswith("options") for _, name in template) else "unlisted")

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (*slots, choice_text(template, sample)))
        return (user,) if system is None else (Message("system", (system,)), user)

    stage = Stage("answer", render, task="choice", settings=Settings(max_new_tokens=max_new_tokens))
    asked = Protocol("multiple_choice", (stage,), (available["letters"],), available, expects="option")
    return asked.with_scorers(*scorers) if scorers else asked


def option_lines(choices: tuple[str, ...]) -> list[str]:
    """The options as a prompt lists them."""
    return [f"({letter}) {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]


def choice_template(template: str, *more: str) -> list[tuple[str, str]]:
    """The pieces of a choice question's template; ``more`` names placeholders beside the question's and the options'.

    Raises UsageError for a template without a question, and for an unknown placeholder.
    """
    pieces = parsed(template, (*_PLACEHOLDERS, *more))
    if not any(name == "question" for _, name in pieces):
        raise UsageError(f"the prompt {template!r} has no {{question}}; put it where the sample's question belongs")
    return pieces


def choice_text(template: Sequence[tuple[str, str]], sample: Sample, **more: str) -> str:
    """The text that asks ``sample`` by a template's pieces. Raises UsageError unless it has 2 to 26 choices."""
    if not 2 <= len(sample.choices) <= len(LETTERS):
        raise UsageError(
            f"sample {sample.id!r} has {len(sample.choices)} choices; "
            f"a choice question asks for one of 2 to {len(LETTERS)}: give it choices, or ask another way"
        )
    lines = option_lines(sample.choices)
    values = {"question": question_of(sample), "options": "\n".join(lines), "options_in_line": " ".join(lines)}
    return filled(template, {**values, **more})


def _scorers(options: str) -> Mapping[str, Scorer]:
    return MappingProxyType({name: _reading(name, rule, options) for name, rule in RULES.items()})


def _reading(name: str, rule: Rule, options: str) -> Scorer:
    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return rule.read(response.text, sample.choices, response.finish)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        points = rule.points(sample, answer)
        return None if points is None else {"correct": points}

    unread = "1/4" if rule.unread == "drawn" else rule.unread
    signature = f"mcq:{name}|v:1|unanswered:{unread}|options:{options}{'|note:' * bool(rule.note)}{rule.note}"
    return Scorer(name, signature, parse, score, ("accuracy",), rule.about, beside=rule.beside)
