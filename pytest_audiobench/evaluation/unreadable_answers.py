"""Answers that a scorer could not parse: if most of an eval's are such, its score says nothing about the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.confusion import gives_letters
from pytest_audiobench.evaluation.scoring import ScoredSample, are_unreadable
from pytest_audiobench.evaluation.wording_figures import votes
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import ALARM, PerturbationRecord

_UNREADABLE = "could not be read ("
_EXAMPLES, _LONGEST_EXAMPLE, _LOOKED_AT = 3, 40, 100
_MOST_LABELS, _LONGEST_LABEL = 12, 30
_FORMS = {
    "words": "a transcript",
    "all_words": "the transcripts",
    "option": "one of the options",
    "events": "a list of events",
}


def is_readable(status: str, scores: Statistics | None) -> bool:
    """Whether an answer was read; one that declines was, where the scorer counts declining."""
    return status == "parsed" or bool(scores and scores.get("declined"))


def wants_answers(perturbation: PerturbationRecord | None) -> bool:
    """Whether answers are to be had: a control that takes the audio away, or a dose of a curve, may leave none."""
    return perturbation is None or (perturbation.family != "control" and perturbation.dose is None)


def is_unreadable_alarm(warning: str) -> bool:
    """Whether a warning is the alarm of this module."""
    return warning.startswith(ALARM) and _UNREADABLE in warning


class UnreadableAnswers:
    """Counts what the headline's scorer could not read, and keeps the first few of it."""

    def __init__(self, protocol: Protocol, rows: Sequence[ScoredSample] = ()) -> None:
        self._protocol, self._scorer = protocol, protocol.scorers[0]
        self._stage = self._scorer.judge or self._scorer.stage or protocol.answering.name
        self._answers = 0
        self._statuses: Counter[str] = Counter()
        self._texts: dict[str, None] = {}
        self._expected = ""
        self.add(rows)

    def add(self, rows: Sequence[ScoredSample]) -> None:
        """Count ``rows``, those of the headline; a failed asking is not an answer."""
        for row in rows:
            self._answers += row.answer is not None
            if row.answer is None or is_readable(row.status, row.scores):
                continue
            self._statuses[row.status] += 1
            if len(self._texts) >= _EXAMPLES or self._statuses.total() > _LOOKED_AT:
                continue
            expected = _expected(self._protocol, row.answers.selected.sample)
            self._expected = self._expected or expected
            # Answers to questions with other options would be quoted with options that were not theirs.
            if expected == self._expected:
                self._texts[_text(row.answers, self._stage)] = None

    def alarm(self) -> list[str]:
        """The alarm, with some of the answers and what was expected of them; nothing where enough were readable."""
        count = self._statuses.total()
        if not are_unreadable(self._answers - count, self._answers):
            return []
        reasons = ", ".join(f"{each} {name.replace('_', ' ')}" for name, each in sorted(self._statuses.items()))
        what = f"verdicts of {self._scorer.judge}" if self._scorer.judge else "answers"
        if wordings := votes(self._scorer.signature):
            what = f"votes of {wordings} wordings"
            reason = "a vote is level, or most of its answers have no value; each wording has its own number"
        else:
            reason = f"it said {', '.join(self._texts)}; expected was {self._expected}"
        return [
            f"{ALARM} {count} of {self._answers} {what} {_UNREADABLE}{reasons}), so {self._scorer.metrics[0]} says "
            f"nothing about what the model knows: {reason}"
        ]


def _text(answers: SampleAnswers, stage: str) -> str:
    response = answers.all_responses.get(stage)
    text = " ".join(response.text[: 10 * _LONGEST_EXAMPLE].split()) if response else ""
    return f"“{_short(text, _LONGEST_EXAMPLE)}”" if text else "(empty)"


def _expected(protocol: Protocol, sample: Sample) -> str:
    scorer = protocol.scorers[0]
    if scorer.judge:
        fields = dict(field.partition(":")[::2] for field in scorer.signature.split("|"))
        form = f" of the form {fields['parse']}" if "parse" in fields else ""
        return f"a verdict{form}, as {scorer.name} reads it"
    labels = [_short(label, _LONGEST_LABEL) for label in protocol.answering.choices(sample)]
    if not labels:
        return _FORMS.get(protocol.expects, f"what {scorer.name} reads")
    if gives_letters(scorer.signature):
        listed = [f"({letter}) {label}" for letter, label in zip(LETTERS, labels, strict=False)]
        return f"the letter of an option: {_listed(listed)}"
    return f"one of the labels {_listed(labels)}"


def _listed(labels: Sequence[str]) -> str:
    left_out = f" and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else ""
    return f"{', '.join(labels[:_MOST_LABELS])}{left_out}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
