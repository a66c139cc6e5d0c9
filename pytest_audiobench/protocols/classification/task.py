"""One label of the task's list, asked for and answered in words: emotion, gender, accent, scene, genre."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.protocols.classification import asserted_label, task_labels
from pytest_audiobench.protocols.classification.mentions import Labels, labels_of
from pytest_audiobench.protocols.classification.task_labels import choices_of, statistics_of, true_label, words_of
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

DEFAULT = "{question}\nAnswer with one of these labels and nothing else: {labels}."
PROMPTS: Mapping[str, str] = {
    "default": DEFAULT,
    "question": "{question}",
    "salmonn-emotion": "Describe the emotion of the speaker in one word.",
}

_GENDERS = (
    frozenset(("male", "man", "boy", "gentleman", "masculine")),
    frozenset(("female", "woman", "girl", "lady", "feminine")),
)
_METRICS = ("accuracy", "macro_f1", "weighted_f1", "balanced_accuracy")


@with_recorded_options
def classification(
    *scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 64
) -> Protocol:
    """Ask for one label of the sample's choices, and read the answer by ``scorers``, the first as the headline.

    The scorers are ``label`` (the default; ours, strict), ``gender`` (ours, which takes a woman for female), and
    published ones: ``ultraeval-prefix``, ``exact-label``, ``qwen2-audio-exact``, ``xares-llm``, ``dynamic-superb``,
    ``midashenglm-contains``, ``cmi-bench-label``, ``salmonn-emotion`` (which leaves out answers without an end) and
    ``salmonn-emotion-keep``.

    ``prompt`` is a template, or the name of one in ``PROMPTS``: ``{question}`` and ``{labels}`` are filled in.
    Raises UsageError for an unknown scorer or placeholder.
    """
    stage = free_stage(words_of(PROMPTS.get(prompt, prompt)), system, max_new_tokens, task="choice")
    return family_protocol("classification", (stage,), _READINGS, scorers, "option")


def _label_parser(find: Callable[[tuple[str, ...]], Labels]) -> Callable[[Sample, Earlier], Answer]:
    """A parser of the label that the answer asserts among those that ``find`` makes of the choices."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response, choices = answer_of(earlier), choices_of(sample)
        if sorted(map(tidy_caseless, choices)) == ["no", "yes"]:
            answer_text = asserted_label.read_agreement(response.text, response.finish, choices)
            return answer_text._replace(value=find(choices).label(answer_text.value) if answer_text.value else None)
        return asserted_label.read_label(response.text, choices, find(choices), response.finish)

    return parse


def _score_label(sample: Sample, answer: Answer) -> Mapping[str, float]:
    labels = labels_of(choices_of(sample))
    return statistics_of(labels, [true_label(sample, labels)], [answer.value] if answer.value is not None else [])


def _gender_labels(choices: tuple[str, ...]) -> Labels:
    also = tuple(
        (word, choice)
        for choice in choices
        for words in _GENDERS
        if tidy_caseless(choice) in words
        for word in sorted(words)
        if word != tidy_caseless(choice)
    )
    return labels_of(choices, also)


def _as_said(change: Callable[[str], str]) -> Callable[[Sample, Earlier], Answer]:
    """A parser that keeps the whole answer, changed as the published rule changes it before it compares."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        text = answer_of(earlier).text
        return Answer("parsed", change(text)) if text.strip() else Answer("empty")

    return parse


def _right_where(compare: Callable[[Sample, str], bool]) -> Callable[[Sample, Answer], Mapping[str, float]]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return {"correct": float(answer.value is not None and compare(sample, answer.value))}

    return score


def _score_exact_label(sample: Sample, answer: Answer) -> Mapping[str, float]:
    choices = choices_of(sample)
    predicted = [answer.value] if answer.value in choices else []
    return {
        "correct": float(answer.value == sample.reference),
        **label_statistics(choices, [sample.reference], predicted),
    }


def _parse_emotion(sample: Sample, earlier: Earlier) -> Answer:
    answer = read_ended_text(sample, earlier)
    if answer.status == "parsed" and answer.value not in task_labels.EMOTION_CLASSES:
        return Answer("unparsed")
    return answer


def _score_emotion(keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        true = task_labels.EMOTIONS.get(sample.reference.strip().lower())
        if true is None or (answer.status == "truncated" and not keep):
            return None
        answer_text = [answer.value] if answer.value in task_labels.EMOTION_CLASSES else []
        return {
            "correct": float(answer_text == [true]),
            **label_statistics(task_labels.EMOTION_CLASSES, [true], answer_text),
        }

    return score


_VERSIONS = {"ultraeval-prefix": 2}
"""Of the rules that were fixed after answers had been scored by them."""

_READINGS = tuple(
    Scorer(name, f"class:{name}|v:{_VERSIONS.get(name, 1)}|{rule}", parse, score, metrics, companions=companions)
    for name, rule, parse, score, metrics, companions in (
        ("label", "unanswered:wrong|labels:choices", _label_parser(labels_of), _score_label, _METRICS, ()),
        ("gender", "unanswered:wrong|labels:choices+words", _label_parser(_gender_labels), _score_label, _METRICS, ()),
        (
            "ultraeval-prefix",
            "unanswered:wrong|case:ignored|one-word:spaces-of-label-removed",
            _as_said(lambda text: text.lower().strip()),
            _right_where(lambda sample, text: task_labels.starts_with(text, sample.reference)),
            ("accuracy",),
            (),
        ),
        (
            "exact-label",
            "unanswered:wrong|case:kept|outer-space:removed",
            _as_said(str.strip),
            _score_exact_label,
            ("accuracy", "macro_f1", "balanced_accuracy"),
            (),
        ),
        (
            "qwen2-audio-exact",
            "unanswered:wrong|case:kept",
            _as_said(str.lstrip),
            _right_where(lambda sample, text: text == sample.reference),
            ("accuracy",),
            (),
        ),
        (
            "dynamic-superb",
            "unanswered:wrong|case:ignored|space:stripped",
            _as_said(lambda text: text.strip().lower()),
            _right_where(lambda sample, text: text == sample.reference.lower()),
            ("accuracy",),
            (),
        ),
        (
            "xares-llm",
            "unanswered:wrong|nfkc|case:ignored|hyphen:space|ascii-punctuation:removed",
            _as_said(task_labels.without_ascii_punctuation),
            _right_where(lambda sample, text: text == task_labels.without_ascii_punctuation(sample.reference)),
            ("accuracy",),
            (),
        ),
        (
            "midashenglm-contains",
            "unanswered:wrong|case:ignored|match:substring",
            _as_said(lambda text: text.lower().strip()),
            _right_where(lambda sample, text: sample.reference.lower().strip() in text),
            ("accuracy",),
            (),
        ),
        (
            "cmi-bench-label",
            "unanswered:wrong|case:ignored|space:removed",
            _as_said(str),
            _right_where(
                lambda sample, text: task_labels.only_label_within(text, sample.reference, choices_of(sample))
            ),
            ("accuracy",),
            (),
        ),
        *(
            (
                name,
                f"unended:{'kept' if keep else 'skipped'}|other-truths:skipped|case:kept",
                _parse_emotion,
                _score_emotion(keep),
                ("accuracy", "macro_f1"),
                () if keep else ("salmonn-emotion-keep",),
            )
            for name, keep in (("salmonn-emotion", False), ("salmonn-emotion-keep", True))
        ),
    )
)
