"""One label of the task's list, asked for and answered in words: emotion, gender, accent, scene, genre."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.metrics.labels import label_statistics
from pytest_audiobench.protocols.classification import agreement, asserted_label, published
from pytest_audiobench.protocols.classification.mentions import Labels, labels_of
from pytest_audiobench.protocols.classification.prompts import words_of
from pytest_audiobench.protocols.classification.truth import choices_of, statistics_of, true_label
from pytest_audiobench.protocols.free_text import answer_of, choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.spoken_questions.completeness import ended

DEFAULT = "{question}\nAnswer with one of these labels and nothing else: {labels}."
PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "default": DEFAULT,
        "question": "{question}",
        "salmonn-emotion": "Describe the emotion of the speaker in one word.",
    }
)

_GENDERS = (
    frozenset(("male", "man", "boy", "gentleman", "masculine")),
    frozenset(("female", "woman", "girl", "lady", "feminine")),
)
_METRICS = ("accuracy", "macro_f1", "weighted_f1", "balanced_accuracy")
_FEELINGS = ("angry", "happy", "neutral", "sad")


@remembered
def classification(
    *scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 64
) -> Protocol:
    """Ask for one label of the sample's choices, and read the answer by ``scorers``, the first as the headline.

    The scorers are ``label`` (the default; ours, strict), ``gender`` (ours, which takes a woman for female), and
    published ones: ``ultraeval-prefix``, ``qwen2-audio-exact``, ``cmi-bench-label``, ``salmonn-emotion`` (which leaves
    out answers without an end) and ``salmonn-emotion-keep``.

    ``prompt`` is a template, or the name of one in ``PROMPTS``: ``{question}`` and ``{labels}`` are filled in.
    Raises UsageError for an unknown scorer or placeholder.
    """
    stage = replace(free_stage(words_of(PROMPTS.get(prompt, prompt)), system, max_new_tokens), task="choice")
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    return choose(Protocol("classification", (stage,), (available["label"],), available, expects="option"), scorers)


def _listed(find: Callable[[tuple[str, ...]], Labels]) -> Callable[[Sample, Earlier], Answer]:
    """A parser of the label that the answer asserts among those that ``find`` makes of the choices."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response, choices = answer_of(earlier), choices_of(sample)
        if sorted(map(tidy_caseless, choices)) == ["no", "yes"]:
            said = agreement.read(response.text, response.finish, choices)
            return said._replace(value=find(choices).label(said.value) if said.value else None)
        return asserted_label.read(response.text, choices, find(choices), response.finish)

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


def _parse_emotion(sample: Sample, earlier: Earlier) -> Answer:
    answer = ended(sample, earlier)
    if answer.status == "parsed" and answer.value not in published.EMOTION_CLASSES:
        return Answer("unparsed")
    return answer


def _score_emotion(keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        true = published.EMOTIONS.get(sample.reference.strip().lower())
        if true is None or (answer.status == "truncated" and not keep):
            return None
        said = [answer.value] if answer.value in published.EMOTION_CLASSES else []
        return {"correct": float(said == [true]), **label_statistics(published.EMOTION_CLASSES, [true], said)}

    return score


_SALMONN = "github jaeeewon/project-multimodal, dist_eval/eval_er.py, a reproduction of SALMONN's IEMOCAP task"
_EMOTION_RULE = (
    "The truth is taken from IEMOCAP's code or word: neu, hap, exc, sad, ang become Neutral, Happy, Happy, Sad, Angry; "
    "a sample with any other truth is left out. The answer, without a final `</s>`, is right when it is exactly "
    "the class, capital letter included."
)
_EMOTION_DEFECTS = (
    'Only the exact word with its capital is right: "happy" and "Happy." are wrong. What the answers say on samples of '
    "other emotions (fru, sur, fea, xxx) never counts. Ours ignores case and punctuation and asks for the task's own "
    "list."
)

_READINGS = (
    Scorer(
        "label",
        "class:label|v:1|unanswered:wrong|labels:choices",
        _listed(labels_of),
        _score_label,
        _METRICS,
        About(
            asserted_label.RULE,
            "ours",
            (
                Example("The speaker sounds happy.", "happy", choices=_FEELINGS),
                Example("not happy", "happy", choices=_FEELINGS),
                Example("Not sad but happy", "happy", choices=_FEELINGS),
                Example("There are no signs of sad, angry or happy tones.", "happy", choices=_FEELINGS),
                Example("happy or sad", "happy", choices=_FEELINGS),
                Example("I'm sorry, I can't tell whether they are happy.", "happy", choices=_FEELINGS),
                Example("It could be joy or anger. The emotion is: Happy", "happy", choices=_FEELINGS),
            ),
        ),
    ),
    Scorer(
        "gender",
        "class:gender|v:1|unanswered:wrong|labels:choices+words",
        _listed(_gender_labels),
        _score_label,
        _METRICS,
        About(
            "As label, and the choice that is male is named by man, boy, gentleman and masculine too, the one that is "
            "female by woman, girl, lady and feminine. With other choices it is label.",
            "ours",
            (
                Example("A woman is speaking.", "female", choices=("male", "female")),
                Example("A man and a woman", "female", choices=("male", "female")),
            ),
        ),
    ),
    Scorer(
        "ultraeval-prefix",
        "class:ultraeval-prefix|v:1|unanswered:wrong|case:ignored",
        _as_said(lambda text: text.lower().strip()),
        _right_where(lambda sample, said: published.starts_with(said, sample.reference)),
        ("accuracy",),
        About(
            "Right when the answer begins with the true label, case and outer space ignored. Other labels are not "
            "looked at.",
            "github OpenBMB/UltraEval-Audio, audio_evals/evaluator/base.py, PrefixMatch",
            (
                Example("Happy, I think, or sad", "happy", choices=_FEELINGS),
                Example("Malevolent", "male", choices=("male", "female")),
                Example("The speaker is happy", "happy", choices=_FEELINGS),
            ),
            "A beginning is no word: any word that begins with the label's letters is right. An answer that goes on to "
            "another label is right, one that leads up to the label is wrong. Ours reads whole words and one label.",
        ),
    ),
    Scorer(
        "qwen2-audio-exact",
        "class:qwen2-audio-exact|v:1|unanswered:wrong|case:kept",
        _as_said(str.lstrip),
        _right_where(lambda sample, said: said == sample.reference),
        ("accuracy",),
        About(
            "Right when the answer without leading space equals the true label, case and trailing space included.",
            "github QwenLM/Qwen2-Audio, eval_audio/evaluate_emotion.py (and evaluate_vocal_sound.py)",
            (
                Example(" happy", "happy", choices=_FEELINGS),
                Example("Happy", "happy", choices=_FEELINGS),
                Example("happy.", "happy", choices=_FEELINGS),
            ),
            "A capital letter, a full stop or a line break at the end makes a right answer wrong. Ours ignores them.",
        ),
    ),
    Scorer(
        "cmi-bench-label",
        "class:cmi-bench-label|v:1|unanswered:wrong|case:ignored|space:removed",
        _as_said(str),
        _right_where(lambda sample, said: published.only_label_within(said, sample.reference, choices_of(sample))),
        ("accuracy",),
        About(
            "Space, _, -, ' and full stops are taken out of answer and labels, # becomes a sharp sign, all in small "
            "letters. Right when the true label stands anywhere within the answer and no other choice does. (The "
            "script's list of labels is the set of all true labels of the results; here it is the sample's choices.)",
            "github nicolaus625/CMI-bench, evaluate.py, get_multiclass_acc",
            (
                Example("It is classical music", "classical", choices=("classical", "rock")),
                Example("Neoclassical", "classical", choices=("classical", "rock")),
                Example("electric guitar", "electric guitar", choices=("guitar", "electric guitar")),
            ),
            "A label that another one contains can never be answered: the longer one is always wrong. Letters inside "
            "other words count. Ours reads whole words, and the longest label where several begin together.",
        ),
    ),
    Scorer(
        "salmonn-emotion",
        "class:salmonn-emotion|v:1|unended:skipped|other-truths:skipped|case:kept",
        _parse_emotion,
        _score_emotion(keep=False),
        ("accuracy", "macro_f1"),
        About(
            f"{_EMOTION_RULE} An answer that did not come to its end is left out.",
            f"{_SALMONN}: 849 / 1241 = 68.41 % (paper 69 %)",
            (
                Example("Happy</s>", "exc", choices=_FEELINGS),
                Example("happy", "hap", choices=_FEELINGS),
                Example("Frustrated", "fru", choices=_FEELINGS),
            ),
            f"{_EMOTION_DEFECTS} Answers without an end are left out of the denominator.",
        ),
        beside=("salmonn-emotion-keep",),
    ),
    Scorer(
        "salmonn-emotion-keep",
        "class:salmonn-emotion-keep|v:1|unended:kept|other-truths:skipped|case:kept",
        _parse_emotion,
        _score_emotion(keep=True),
        ("accuracy", "macro_f1"),
        About(
            f"{_EMOTION_RULE} An answer that did not come to its end is read as far as it goes.",
            _SALMONN,
            (Example("Sad", "sad", choices=_FEELINGS), Example("sad", "sad", choices=_FEELINGS)),
            _EMOTION_DEFECTS,
        ),
    ),
)
