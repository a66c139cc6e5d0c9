"""The rows of the study's files: questions, answers, and forced choices after the reasoning was put back.

The study's own differ in one thing: it wrote letters beyond the options, where these hold null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pytest_audiobench.compat.faithfulness_study.manifest import HOPS, lettered
from pytest_audiobench.compat.faithfulness_study.replay import CRASH
from pytest_audiobench.datasets.sample import Sample, letter_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import RULES, STRICT
from pytest_audiobench.protocols.protocol import ANSWER, CONDITIONED
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import MOST_REASONING, Style, style_scorers
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

Labels: TypeAlias = Literal["strict", "runtime", "recovered"]
Row: TypeAlias = dict[str, Any]


def rule_named(labels: Labels, style: Style, dataset: str, reasoning: bool) -> str:
    """The name of the rule that letters are read by: ours, the study's while it ran, or its later recovery.

    Where nothing is recovered (without reasoning, and of Qwen2.5-Omni's answers) the run-time letters stand. Raises
    UsageError for a style that the study has no rule for.
    """
    rules = style_scorers(style.name, dataset, reasoning)
    if labels == "strict":
        return STRICT
    if len(rules) < 2:
        raise UsageError(f"the study has no rule for answers in the style {style.name!r}: let strict read them")
    return rules[1] if labels == "runtime" else rules[-1]


def id_of(sample: Sample) -> str:
    """The sample's id, its hop behind a low line as the study writes it."""
    hop = sample.metadata.get("hop")
    if hop not in HOPS or sample.id.endswith(f"_{hop}"):
        return sample.id
    return f"{sample.id.removesuffix(f'/{hop}')}_{hop}"


def letter_in(sample: Sample) -> str:
    """The letter that is true for the study: its own where it recorded one."""
    return str(sample.metadata.get("faithfulness_letter") or letter_of(sample))


def question_row(sample: Sample, audio: str) -> Row:
    """A row of a manifest; ``audio`` is the path below the data root."""
    return {
        "id": id_of(sample),
        "question": sample.question,
        "choices": lettered(sample.choices),
        "choices_list": list(sample.choices),
        "audio_path": f"{{DATA_ROOT}}/{audio}",
        **_truth("answer", sample),
    }


def answer_row(epochs: Sequence[RecordedRow], stage: str, rule: str, style: Style | None) -> Row:
    """The answers of one sample in all its epochs, which are the study's runs.

    ``style`` takes the reasoning out of them; None where none was asked for. An answer that could not be had is null,
    and its text says why.
    """
    sample = epochs[0].sample
    given = [epoch.responses.get(stage) for epoch in epochs]
    letters = [_letter(rule, sample, response) for response in given]
    return {
        "id": id_of(sample),
        **_truth("true_answer", sample),
        "predicted_letters": letters,
        "reasoning": [style.split(response.text).reasoning if style and response else "" for response in given],
        "raw_model_outputs": [
            response.text if response else f"{CRASH} {epoch.error}"
            for epoch, response in zip(epochs, given, strict=True)
        ],
        "accuracy": sum(letter == letter_in(sample) for letter in letters) / len(letters),
    }


def conditioned_row(row: RecordedRow, rules: tuple[str, str], style: Style) -> Row | None:
    """The forced choice after the sample's own reasoning was put back; ``rules`` read the first and the forced answer.

    None where there was no reasoning to put back, or no choice was made: the study left out both alike.
    """
    sample = row.sample
    first, forced = row.responses.get(ANSWER), row.responses.get(CONDITIONED)
    reasoning = style.split(first.text).reasoning[:MOST_REASONING] if first else ""
    if not reasoning or forced is None:
        return None
    before, after = _letter(rules[0], sample, first), _letter(rules[1], sample, forced)
    return {
        "id": id_of(sample),
        **_truth("true_answer", sample),
        "original_prediction": before,
        "conditioned_prediction": after,
        "raw_conditioned_output": forced.text,
        "provided_reasoning": reasoning,
        "is_correct": float(after == letter_in(sample)),
        "prediction_changed": after != before,
    }


def _truth(field: str, sample: Sample) -> Row:
    letter = letter_in(sample)
    return {field: f"({letter}) {sample.reference}", "true_letter": letter}


def _letter(rule: str, sample: Sample, response: Response | None) -> str | None:
    return RULES[rule].read(response.text, sample.choices, response.finish).value if response else None
