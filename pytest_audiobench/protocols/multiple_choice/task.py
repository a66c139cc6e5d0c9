"""Multiple choice: one question with listed options, answered by a letter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import LETTERS, TRUE_LETTER, UNLISTED, Sample, letter_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols import free_text, text_encoders
from pytest_audiobench.protocols.answer_options import same_text
from pytest_audiobench.protocols.multiple_choice import faithfulness_scorers, letters, published_scorers
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, Status, with_recorded_options
from pytest_audiobench.protocols.voicebench import bbh_scorer

Parser: TypeAlias = Callable[[str, tuple[str, ...], Finish], Answer]
IsCorrect: TypeAlias = Callable[[Sample, str], bool]

STRICT = "letters"
"""The name of our own rule, by which choice questions are read by default."""

DRAWN_FROM = LETTERS[:4]
"""The letters that VoiceBench draws from, whatever the question offers."""


class Rule(NamedTuple):
    """How a text is read as a letter, which letters are right, and what an answer without one is worth.

    ``unread`` is "wrong", "skipped" (left out of the score), or "drawn": what a letter drawn from A to D is worth on
    average; an answer of one of the statuses ``counted`` is wrong all the same. ``companions`` names the rule that
    keeps what this one skips.
    """

    read: Parser
    is_correct: IsCorrect
    note: str = ""
    unread: Literal["wrong", "skipped", "drawn"] = "wrong"
    companions: tuple[str, ...] = ()
    counted: tuple[Status, ...] = ("out_of_range",)
    version: int = 1

    def points(self, sample: Sample, answer: Answer) -> float | None:
        """1 for a right answer, 0 for a wrong one; None for one that is left out."""
        if sample.doubt == UNLISTED and (answer.value is not None or self.unread != "skipped"):
            return 0.0
        if answer.value is not None:
            return float(self.is_correct(sample, answer.value))
        if answer.status in self.counted or self.unread == "wrong":
            return 0.0
        return None if self.unread == "skipped" else float(letter_of(sample) in DRAWN_FROM) / len(DRAWN_FROM)


def _same_letter(sample: Sample, letter: str) -> bool:
    """Only the first of equal options is right, as where the published code compares letters."""
    return letter == letter_of(sample)


def _same_words(sample: Sample, letter: str) -> bool:
    """Each of equal options is right, as where the published code compares their texts."""
    return sample.choices[LETTERS.index(letter)] == sample.reference


def _same_tokens(sample: Sample, letter: str) -> bool:
    return published_scorers.has_same_tokens(letter, sample.reference, sample.choices)


def _same_tokens_lettered(sample: Sample, letter: str) -> bool:
    return published_scorers.has_same_tokens_lettered(letter, sample.reference, sample.choices)


def _study_letter(sample: Sample, letter: str) -> bool:
    """The study knew one true letter: its own where the data set records it, else the first where choices repeat."""
    return letter == (sample.metadata.get(TRUE_LETTER) or letter_of(sample))


def _study(read: Parser, version: int = 1) -> Rule:
    return Rule(read, _study_letter, "study defects kept", version=version)


RULES: Mapping[str, Rule] = {
    STRICT: Rule(letters.read_choice, lambda sample, letter: same_text(sample.choices, letter, letter_of(sample))),
    "mmau-string": Rule(published_scorers.read_mmau, _same_tokens),
    "mmar": Rule(published_scorers.read_mmau, _same_tokens),
    "audiobench-mmau": Rule(published_scorers.read_audiobench_mmau, _same_tokens_lettered),
    "air-bench": Rule(published_scorers.read_air_bench, _same_letter, unread="skipped", companions=("air-bench-keep",)),
    "air-bench-keep": Rule(published_scorers.read_air_bench, _same_letter),
    "mmsu": Rule(
        published_scorers.read_mmsu,
        _same_words,
        unread="skipped",
        companions=("air-bench-keep",),
        counted=("out_of_range", "empty"),
    ),
    "muchomusic": Rule(published_scorers.read_muchomusic, _same_letter),
    "rul-muchomusic": Rule(published_scorers.read_rul_muchomusic, _same_words),
    "voicebench-like": Rule(published_scorers.read_voicebench, _same_letter, unread="drawn"),
    "voicebench": Rule(published_scorers.read_kimi, _same_letter, unread="drawn"),
    "kimi-vb": Rule(published_scorers.read_kimi, _same_letter, unread="drawn"),
    "ultraeval": Rule(published_scorers.read_ultraeval, _same_letter),
    "faithfulness-runtime-af3": _study(faithfulness_scorers.runtime_af3, 2),
    "faithfulness-runtime-af3-direct": _study(faithfulness_scorers.runtime_af3_direct, 2),
    "faithfulness-runtime-af3-direct-mmau": _study(faithfulness_scorers.runtime_af3_direct_mmau),
    "faithfulness-runtime-qwen": _study(faithfulness_scorers.runtime_qwen, 2),
    "faithfulness-runtime-qwen-mmau": _study(faithfulness_scorers.runtime_qwen_mmau),
    "faithfulness-runtime-qwen2-audio": _study(faithfulness_scorers.runtime_qwen2_audio),
    "faithfulness-runtime-salmonn": _study(faithfulness_scorers.runtime_salmonn),
    "faithfulness-recovered": _study(faithfulness_scorers.recovered),
    "faithfulness-recovered-mm": _study(faithfulness_scorers.recovered_mm),
    "faithfulness-recovered-mmau": _study(faithfulness_scorers.recovered_mmau),
}


DEFAULT = "{question}\n{options}\nAnswer with the letter of the correct option."
FAITHFULNESS_AF3 = "{question} Select one option from the provided choices.\n{options_in_line}. "
FAITHFULNESS_AF3_REASONING = f"{FAITHFULNESS_AF3}Please think and reason about the input audio before you respond."
PROMPTS: Mapping[str, str] = {
    "default": DEFAULT,
    "faithfulness-af3": FAITHFULNESS_AF3,
    "faithfulness-af3-reasoning": FAITHFULNESS_AF3_REASONING,
}

_PLACEHOLDERS = ("question", "options", "options_in_line", "options_dotted", "options_dotted_four", "options_small")


@with_recorded_options
def multiple_choice(
    *scorers: str, prompt: str = DEFAULT, system: str | None = None, encoder: str = "", max_new_tokens: int = 256
) -> Protocol:
    """Ask for one option by its letter, and read the answer by ``scorers``, the first as the headline.

    The scorers are ``letters`` (the default; ours, strict); the published rules ``mmau-string``, ``mmar``,
    ``audiobench-mmau``, ``air-bench`` and ``mmsu`` (leave out what they cannot read; ``air-bench-keep`` does not),
    ``muchomusic``, ``rul-muchomusic``, ``voicebench``, ``voicebench-like``, ``kimi-vb``, ``ultraeval``,
    ``voicebench-bbh`` (of yes or no, A or B) and ``mmau-pro`` (the option nearest in meaning by ``encoder``:
    ``static``, ``minilm`` or ``folder:PATH``); and the parsers of the faithfulness study, kept with their defects to
    repeat its numbers: ``faithfulness-runtime-af3`` (with reasoning), ``faithfulness-runtime-af3-direct`` (without),
    ``faithfulness-runtime-qwen``, ``faithfulness-runtime-qwen2-audio``, ``faithfulness-runtime-salmonn``,
    ``faithfulness-recovered`` (its rule for SAKURA), ``faithfulness-recovered-mm`` (for MMAR), and
    ``faithfulness-recovered-mmau`` (the same as it was run on MMAU, without the list of choices, as
    ``faithfulness-runtime-af3-direct-mmau`` and ``faithfulness-runtime-qwen-mmau``).

    ``prompt`` is a template, or the name of one in ``PROMPTS``: ``{question}``, ``{options}`` (a line each, "(A) cat"),
    ``{options_in_line}``, ``{options_dotted}`` (a line each, "A. cat"), ``{options_dotted_four}`` (the same to D, "D.
    None" for one that is absent) or ``{options_small}`` (in line, "(a) cat") are filled in, ``{{`` and ``}}`` are
    braces; with "" the clips alone are sent, which ask themselves. ``system`` is a system message.
    Raises UsageError for an unknown scorer or placeholder.
    """
    template = choice_template(PROMPTS.get(prompt, prompt))
    options = "listed" if any(name.startswith("options") for _, name in template) else "unlisted"
    family_scorers = [*(_scorer(name, rule, options) for name, rule in RULES.items()), bbh_scorer("mcq")]
    family_scorers.append(_nearest_option(encoder, options))
    stage = free_text.free_stage(lambda sample: choice_text(template, sample), system, max_new_tokens, task="choice")
    return free_text.family_protocol("multiple_choice", (stage,), family_scorers, scorers, "option", default="letters")


def option_lines(choices: tuple[str, ...]) -> list[str]:
    """The options as a prompt lists them."""
    return [f"({letter}) {choice}" for letter, choice in _lettered(choices)]


def _lettered(choices: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return zip(LETTERS, choices, strict=False)


def choice_template(template: str, *more: str) -> list[tuple[str, str]]:
    """The pieces of a choice question's template; ``more`` names further placeholders.

    Raises UsageError for a template without a question, unless it is empty, and for an unknown placeholder.
    """
    pieces = free_text.template_pieces(template, (*_PLACEHOLDERS, *more))
    if template and not any(name == "question" for _, name in pieces):
        raise UsageError(f"the prompt {template!r} has no {{question}}; put it where the sample's question belongs")
    return pieces


def choice_text(template: Sequence[tuple[str, str]], sample: Sample, **more: str) -> str:
    """The text that asks ``sample`` by a template's pieces. Raises UsageError unless it has 2 to 26 choices."""
    if not 2 <= len(sample.choices) <= len(LETTERS):
        raise UsageError(
            f"sample {sample.id!r} has {len(sample.choices)} choices; a choice question asks for one of 2 to "
            f"{len(LETTERS)}: give it choices (a file that declares it: 'choices' in its [sample], or 'labels' in its "
            "[data]; a manifest: choices=… for all rows), or ask another way"
        )
    if not template:
        return ""
    lines = option_lines(sample.choices)
    dotted = [f"{letter}. {choice}" for letter, choice in _lettered(sample.choices)]
    values = {
        "question": free_text.question_of(sample),
        "options": "\n".join(lines),
        "options_in_line": " ".join(lines),
        "options_dotted": "\n".join(dotted),
        "options_dotted_four": "\n".join([*dotted, *(f"{letter}. None" for letter in DRAWN_FROM[len(dotted) :])]),
        "options_small": " ".join(f"({letter.lower()}) {choice}" for letter, choice in _lettered(sample.choices)),
    }
    return free_text.filled_template(template, {**values, **more})


def _scorer(name: str, rule: Rule, options: str) -> Scorer:
    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response = free_text.answer_of(earlier)
        return rule.read(response.text, sample.choices, response.finish)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        points = rule.points(sample, answer)
        return None if points is None else {"correct": points}

    unread = "1/4" if rule.unread == "drawn" else rule.unread
    note = "|note:" * bool(rule.note) + rule.note
    signature = f"mcq:{name}|v:{rule.version}|unanswered:{unread}|options:{options}{note}"
    return Scorer(name, signature, parse, score, ("accuracy",), companions=rule.companions)


_NO_ENCODER = "mmau-pro takes the option nearest in meaning by a text encoder: name it, as --ab-encoder=folder:PATH"


def _nearest_option(spec: str, options: str) -> Scorer:
    """MMAU-Pro's: the option nearest to the answer in meaning, whatever the answer says, and even where it is empty."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        if not spec:
            raise UsageError(_NO_ENCODER)
        text = free_text.answer_of(earlier).text
        return Answer("parsed", LETTERS[text_encoders.encoder(spec).nearest(text, sample.choices)])

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return {"correct": float(answer.value is not None and _same_words(sample, answer.value))}

    # Without a spec none is looked at: to know an encoder is to read all of its files.
    identity = text_encoders.encoder(spec).identity if spec else "none"
    signature = f"mcq:mmau-pro|v:1|encoder:{identity}|unanswered:nearest|options:{options}"
    missing = (lambda: text_encoders.encoder(spec).missing) if spec else (lambda: _NO_ENCODER)
    return Scorer("mmau-pro", signature, parse, score, ("accuracy",), missing_parts=missing)
