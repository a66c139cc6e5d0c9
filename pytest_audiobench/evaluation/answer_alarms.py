"""Alarms about an eval's answers: most could not be parsed, or nearly all are the same, whatever is played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_audiobench.datasets.sample import LETTERS, Sample, tidy_caseless
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import ScoredSample, are_unreadable
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.metrics.metric import Statistics, is_right
from pytest_audiobench.protocols.protocol import Protocol, gives_letters
from pytest_audiobench.records.run import ALARM, PerturbationRecord

_UNREADABLE = "could not be parsed ("
_FEWEST, _REPEATED, _MOST_RIGHT = 20, 0.8, 0.5
"""So many answers, of which such a share is the same and at most such a share of these right, raise an alarm."""
_MOST_DISTINCT = 10_000
_EXAMPLES, _LONGEST_EXAMPLE, _LOOKED_AT = 3, 40, 100
_MOST_LABELS, _LONGEST_LABEL, _LONGEST_ANSWER = 12, 30, 100
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
    """Whether a warning is the alarm of answers that could not be parsed."""
    return warning.startswith(ALARM) and _UNREADABLE in warning


class UnreadableAnswers:
    """Counts what the headline's scorer could not parse, and keeps the first few of it."""

    def __init__(self, protocol: Protocol, rows: Sequence[ScoredSample] = ()) -> None:
        self._protocol, self._scorer = protocol, protocol.scorers[0]
        self._stage = self._scorer.judge or self._scorer.stage or protocol.answering.name
        self._answers = 0
        self._statuses: Counter[str] = Counter()
        self._texts: dict[str, None] = {}
        self._expected = ""
        self._labels: set[str] = set()
        self._unparsed: Counter[str] = Counter()
        self.add(rows)

    def add(self, rows: Sequence[ScoredSample]) -> None:
        """Count ``rows``, those of the headline; a failed asking is not an answer."""
        for row in rows:
            self._answers += row.answer is not None
            sample = row.answers.selected.sample
            if len(self._labels) < _MOST_DISTINCT:
                self._labels.update(self._protocol.answering.choices(sample))
            if row.answer is None or is_readable(row.status, row.scores):
                continue
            self._statuses[row.status] += 1
            if len(self._unparsed) < _MOST_DISTINCT:
                self._unparsed[tidy_caseless(_said(row.answers, self._stage)[:_LONGEST_ANSWER])] += 1
            if len(self._texts) >= _EXAMPLES or self._statuses.total() > _LOOKED_AT:
                continue
            expected = _expected(self._protocol, sample)
            self._expected = self._expected or expected
            # Answers to questions with other options would be quoted with options that were not theirs.
            if expected == self._expected:
                said = _said(row.answers, self._stage)
                self._texts[f"“{_short(said, _LONGEST_EXAMPLE)}”" if said else "(empty)"] = None

    def alarm(self) -> list[str]:
        """The alarm, with some of the answers and what was expected of them; nothing where enough were readable."""
        count = self._statuses.total()
        if not are_unreadable(self._answers - count, self._answers):
            return []
        from pytest_audiobench.evaluation.wording_figures import votes

        reasons = ", ".join(f"{each} {name.replace('_', ' ')}" for name, each in sorted(self._statuses.items()))
        what = f"verdicts of {self._scorer.judge}" if self._scorer.judge else "answers"
        if wordings := votes(self._scorer.signature):
            what = f"votes of {wordings} wordings"
            reason = "a vote is level, or most of its answers have no value; each wording has its own number"
        else:
            reason = f"it said {', '.join(self._texts)}; expected was {self._expected}"
            if self._protocol.name == "classification" and not self._protocol.options.keys() & {"prompt"}:
                reason += '; a model trained on the bare question wants prompt = "{question}"'
        metric, of_others = self._scorer.metrics[0], self._labels_of_others
        why = f"{metric} may measure the form of the answers, not what the model knows"
        if 2 * of_others > count:
            many = "all" if of_others == count else str(of_others)
            why = f"{many} of them name a label that was not among the options of their question"
        return [f"{ALARM} {count} of {self._answers} {what} {_UNREADABLE}{reasons}); {why}: {reason}"]

    @property
    def _labels_of_others(self) -> int:
        """How many of what was not parsed is a label of another question of the eval: wrong, whatever the form."""
        labels = set(map(tidy_caseless, self._labels))
        return sum(count for text, count in self._unparsed.items() if text in labels)


class RepeatedAnswers:
    """Counts each answer of the headline's scorer, and how often it was right, as a text and as an option's place."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._has_letters = gives_letters(protocol.scorers[0].signature)
        self._is_judged = bool(protocol.scorers[0].judge)
        self._answers = 0
        self._given: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, rows: Sequence[ScoredSample]) -> None:
        """Count ``rows``, those of the headline; a verdict is not an answer of the model's."""
        for row in rows if not self._is_judged else ():
            self._answers += row.answer is not None
            if row.answer is None or row.answer.value is None:
                continue
            # What can be neither right nor wrong may well be always the same.
            right = row.scores is None or is_right(row.scores) is not False
            for said in self._forms(row.answer.value, row.answers.selected.sample):
                if said in self._given or len(self._given) < _MOST_DISTINCT:
                    self._given[said] += 1
                    self._right[said] += right

    def _forms(self, value: str, sample: Sample) -> list[str]:
        if not self._has_letters:
            return [f"“{_short(value, _LONGEST_EXAMPLE)}”"]
        options = dict(zip(LETTERS, self._protocol.answering.choices(sample), strict=False))
        return [f"“{_short(options[value], _LONGEST_EXAMPLE)}”", f"the option ({value})"] if value in options else []

    def alarm(self) -> list[str]:
        """The alarm, with the answer; nothing where answers differ, or where the same one is mostly right."""
        for said, count in self._given.most_common(1) if self._answers >= _FEWEST else ():
            right = self._right[said]
            if count >= _REPEATED * self._answers and right <= _MOST_RIGHT * count:
                return [
                    f"{ALARM} {count} of {self._answers} answers are the same, {said}, which is right for {right} of "
                    "them: they hardly depend on the audio"
                ]
        return []


def _said(answers: SampleAnswers, stage: str) -> str:
    response = answers.all_responses.get(stage)
    return " ".join(response.text[: 10 * _LONGEST_EXAMPLE].split()) if response else ""


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
        lettered = [f"({letter}) {label}" for letter, label in zip(LETTERS, labels, strict=False)]
        return f"one of the options {listed(lettered, _MOST_LABELS)}"
    return f"one of the labels {listed(labels, _MOST_LABELS)}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
