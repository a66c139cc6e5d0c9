"""Scorers that hold an answer against an earlier one of the same sample, and count what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.answer_options import same_text
from pytest_audiobench.protocols.multiple_choice.task import RULES, STRICT, Rule
from pytest_audiobench.protocols.protocol import Answer, Compared, Earlier, Scorer, no_sample_problem

INJECTED = "injected"
"""The metadata field that holds the letter of the option that was injected."""

_NOTHING = Response()


class Kind(NamedTuple):
    """What an item asks, so that only what means something there is measured.

    ``after`` is the stage whose answer is scored, ``before`` the one that it is compared with, "" for none.
    ``reasoning`` finds the reasoning, None where none is asked for; ``most`` is how many characters of it are put back,
    None where it is not. ``is_control`` says that the audio was taken away, ``is_injected`` that an option was spoken
    or written in. ``sample_problem`` says what a sample lacks that it cannot be asked without.
    """

    after: str
    before: str = ""
    reasoning: Callable[[Earlier], str] | None = None
    most: int | None = None
    is_control: bool = False
    is_injected: bool = False
    sample_problem: Callable[[Sample], str] = no_sample_problem

    def metrics(self, of_study: bool) -> tuple[str, ...]:
        """The metrics that a scorer has of such an item."""
        compared = ["consistency", "flip_rate", "newly_unanswered", "accuracy_drop"]
        compared += ["audio_reliance"] * self.is_control + ["prediction_changed"] * of_study
        return (
            "accuracy",
            *(compared if self.before else ()),
            *(("follow_rate", *(["swayed"] if self.before else [])) if self.is_injected else ()),
            *(("missed_reasoning",) if self.reasoning else ()),
            *(("cut_reasoning",) if self.most else ()),
        )


def choice_scorers(kind: Kind, request: str) -> dict[str, Scorer]:
    """Our strict scorer, and the study's, of an item of that ``kind``; ``request`` signs how it was asked.

    What it is compared with does not are in their signatures, so that an accuracy under a perturbation is signed as
    one without.
    """
    names = [STRICT, *(name for name in RULES if name.startswith("faithfulness-"))]
    return {name: _scorer(name, RULES[name], kind, request) for name in names}


def leaving_out(scorer: Scorer, name: str) -> Scorer:
    """``scorer`` under another ``name``, without the samples whose reasoning is missing."""

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if isinstance(answer, Compared) and not answer.reasoned else scorer.score(sample, answer)

    return replace(
        scorer,
        name=name,
        signature=f"{scorer.signature.replace(scorer.name, name, 1)}|without reasoning:skipped",
        score=score,
        metrics=tuple(metric for metric in scorer.metrics if metric != "missed_reasoning"),
        companions=(scorer.name,),
    )


def _scorer(name: str, rule: Rule, kind: Kind, request: str) -> Scorer:
    of_study = name != STRICT

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        after = _answer_by(rule, sample, earlier.get(kind.after, _NOTHING))
        before = _answer_by(rule, sample, earlier.get(kind.before, _NOTHING)) if kind.before else None
        reasoning = kind.reasoning(earlier) if kind.reasoning else ""
        return Compared(after.status, after.value, before, len(reasoning) if reasoning.strip() else 0)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        statistics = {"correct": rule.points(sample, answer) or 0.0}
        if not isinstance(answer, Compared):
            return statistics
        if kind.reasoning:
            statistics["missed"] = float(not answer.reasoned)
        if kind.most:
            statistics["cut"] = float(answer.reasoned > kind.most)
        if (before := answer.before) is not None:
            both = before.value is not None and answer.value is not None
            same = both and _same(sample, before.value, answer.value, of_study)
            statistics |= {
                "same": float(same),
                "both": float(both),
                "flipped": float(both and not same),
                "lost": float(before.value is not None and answer.value is None),
                "changed": float(_as_the_study_kept(before) != _as_the_study_kept(answer)),
                "correct_before": rule.points(sample, before) or 0.0,
            }
            if kind.is_control:
                statistics["correct_heard"] = statistics["correct_before"] if answer.value is not None else 0.0
        if kind.is_injected:
            injected = letter_injected(sample)
            statistics["followed"] = float(_same(sample, injected, answer.value, of_study))
            if before is not None:
                other = before.value is not None and not _same(sample, injected, before.value, of_study)
                statistics |= {"elsewhere": float(other), "swayed": float(other) * statistics["followed"]}
        return statistics

    return Scorer(
        name,
        f"mcq:{name}|v:{rule.version}|unanswered:wrong|{request}{'|note:' * bool(rule.note)}{rule.note}",
        parse,
        score,
        kind.metrics(of_study),
        sample_problem=_lacks_injection if kind.is_injected else kind.sample_problem,
        stage=kind.after,
    )


def _answer_by(rule: Rule, sample: Sample, response: Response) -> Answer:
    return rule.read(response.text, sample.choices, response.finish)


def _as_the_study_kept(answer: Answer) -> str | None:
    """A letter, or null. Letters outside the options are not distinguished here."""
    return "beyond" if answer.status == "out_of_range" else answer.value


def _same(sample: Sample, letter: str | None, other: str | None, of_study: bool) -> bool:
    """Whether two letters are one option; the study compared letters, we also the texts behind them."""
    if letter is None or other is None:
        return False
    return letter == other or (not of_study and same_text(sample.choices, letter, other))


def letter_injected(sample: Sample) -> str:
    """The letter of the injected option, by the sample's metadata. Raises UsageError where they name no choice."""
    if lacking := _lacks_injection(sample):
        raise UsageError(lacking)
    return str(sample.metadata[INJECTED])


def _lacks_injection(sample: Sample) -> str:
    letter = sample.metadata.get(INJECTED)
    if isinstance(letter, str) and len(letter) == 1 and letter in LETTERS[: len(sample.choices)]:
        return ""
    return (
        f"sample {sample.id!r} does not say which option was injected: its metadata {INJECTED!r} must be the letter of "
        "one of its choices, as the perturbations that inject one write it"
    )
