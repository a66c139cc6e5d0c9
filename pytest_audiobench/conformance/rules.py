"""The deliberate differences from the libraries that computed reference cases: when, and which value is ours.

A rule is of inputs and never of a case. Where its condition holds, ours must be its value, which is computed by other
means than the scorer's: by the library on other texts, by scikit-learn or SciPy, or by hand.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.metrics.caption_words import caption_words
from pytest_audiobench.metrics.tokenizers import bleu_scorer, tokenized
from pytest_audiobench.protocols.soundscape.meeting import lacks_meeteval
from pytest_audiobench.protocols.spoken_questions.matching import spoken_words

REFUSED = "refused"
"""In place of a value, that a scorer refuses the inputs in a sentence."""


class Rule(NamedTuple):
    """A condition over a case's inputs, and the value that is ours wherever it holds."""

    condition: str
    """In words; docs/conformance.md has it, the value in words, and the reason."""
    applies: Callable[[ReferenceCase], bool]
    value: Callable[[ReferenceCase], Json]


def _references(case: ReferenceCase) -> list[str]:
    """All references of the case."""
    given: list[Json] = [case.inputs.get(name, []) for name in ("reference", "references")]
    return [text for each in given for text in ([each] if isinstance(each, str) else each)]


def _nothing(case: ReferenceCase) -> Json:
    """No value in each place where the library has one."""

    def without_numbers(value: Json) -> Json:
        if isinstance(value, Mapping):
            return {name: without_numbers(part) for name, part in value.items()}
        return math.nan

    return without_numbers(case.expected)


# Transcripts


def _no_phones(case: ReferenceCase) -> bool:
    silent = {"q"} if not case.metric.startswith("per_61") else set()
    return all(set(reference.lower().split()) <= silent for reference in _references(case))


def _streams(case: ReferenceCase) -> tuple[list[list[str]], list[str]]:
    """The true talkers' utterances and the streams that were said."""
    given = case.inputs
    if "reference" in given:
        said: dict[str, list[str]] = {}
        for speaker, words, *_ in given["hypothesis"]:
            said.setdefault(speaker, []).append(words)
        return [[words] for _, words, *_ in given["reference"]], [" ".join(texts) for texts in said.values()]
    talkers = given.get("reference_streams_of_utterances")
    single = given.get("reference_streams") or given.get("reference_utterances") or []
    return [[text] for text in single] if talkers is None else talkers, given["hypothesis_streams"]


def _normalised(text: str) -> str:
    return " ".join(spoken_words(text))


def _has_other_words(case: ReferenceCase) -> bool:
    talkers, streams = _streams(case)
    texts = [*(text for talker in talkers for text in talker), *streams]
    return any(_normalised(text) != " ".join(text.split()) for text in texts)


def _errors_of_words(case: ReferenceCase) -> Json:
    """Meeteval's numbers of the texts in small letters, without punctuation and accents apart from their letters."""
    if lacks_meeteval():
        raise UsageError(f"what gives {case.metric} for it cannot be used here, meeteval: {install_command('meeting')}")
    from meeteval import wer

    # It warns of times that are missing, at every call.
    logging.getLogger("preprocess").setLevel(logging.ERROR)
    talkers, streams = _streams(case)
    true, said = [[_normalised(text) for text in talker] for talker in talkers], list(map(_normalised, streams))
    single = [text for talker in true for text in talker]
    if case.metric == "mimower":
        rate = wer.mimo_word_error_rate(true, said)
    else:
        rate = (wer.orc_word_error_rate if case.metric == "orcwer" else wer.cp_word_error_rate)(single, said)
    counts = ("insertions", "deletions", "substitutions") if case.metric == "cpwer" else ()
    return {
        **{"errors": rate.errors, "length": rate.length, "error_rate": rate.error_rate},
        **{name: getattr(rate, name) for name in counts},
    }


def _says_nothing(case: ReferenceCase) -> bool:
    said = case.inputs.get("hypothesis", case.inputs.get("hypothesis_streams"))
    return said == [] and bool(_streams(case)[0])


def _all_deleted(case: ReferenceCase) -> Json:
    words = sum(len(_normalised(text).split()) for talker in _streams(case)[0] for text in talker)
    return {"errors": words, "length": words, "error_rate": 1.0 if words else math.nan}


# Who speaks, and what sounds


def _nobody_speaks(case: ReferenceCase) -> bool:
    return not sum(end - start for _, start, end in case.inputs["reference"])


def _no_rate_of_nobody(case: ReferenceCase) -> Json:
    rates = {"der_collar0.0": {"total": 0.0, "diarization_error_rate": math.nan}, "jer": math.nan}
    return rates.get(case.metric, {"der": math.nan})


def _nobody_is_heard(case: ReferenceCase) -> bool:
    return case.inputs["hypothesis"] == [] and not _nobody_speaks(case)


def _has_moment(case: ReferenceCase) -> bool:
    events = [case.inputs["a"]] if case.metric == "interval_iou" else case.inputs["reference"]
    return any(event[-2] >= event[-1] for event in events)


def _labels_of_sides(case: ReferenceCase) -> tuple[set[str], set[str]]:
    return {event[0] for event in case.inputs["reference"]}, {event[0] for event in case.inputs["estimated"]}


def _labels_of_one_side(case: ReferenceCase) -> bool:
    true, said = _labels_of_sides(case)
    return true != said


def _with_missed_labels(case: ReferenceCase) -> Json:
    """The library's numbers, where a label of one side alone has an F1 of 0 in the mean."""
    true, said = _labels_of_sides(case)
    mean = 0.0 if case.expected["macro_f"] == "NaN" else case.expected["macro_f"]
    numbers = {name: value for name, value in case.expected.items() if name != "error_rate"}
    return {**numbers, "macro_f": mean * len(true & said) / len(true | said)}


# Labels


def _macro_f1(true: Sequence[str], said: Sequence[str]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(true, said, average="macro", zero_division=0))


def _label_columns(case: ReferenceCase) -> tuple[list[str], list[str]]:
    """True labels and those that were said."""
    given = case.inputs
    return given.get("y_true", given.get("targets")), given.get("y_pred", given.get("predictions"))


def _has_case_twins(case: ReferenceCase) -> bool:
    labels = {label for column in _label_columns(case) for label in column}
    return len({label.lower() for label in labels}) < len(labels)


def _caseless(case: ReferenceCase) -> float:
    """The number of the labels in small letters."""
    true, said = ([label.lower() for label in column] for column in _label_columns(case))
    if "f1" in case.metric:
        return _macro_f1(true, said)
    return sum(map(str.__eq__, true, said)) / len(true)


def _is_label_but_for_case(case: ReferenceCase) -> bool:
    said, given = case.inputs["processed"], case.inputs["labels"]
    true = given if isinstance(given, str) else ", ".join(given or ())
    return bool(said != true and said.lower() == true.lower())


def _has_empty_answer(case: ReferenceCase) -> bool:
    return "" in _label_columns(case)[1]


def _with_shortest_label(case: ReferenceCase) -> float:
    true, said = _label_columns(case)
    shortest = min({*true, *said} - {""}, key=lambda label: (len(label), label))
    return _macro_f1(true, [label or shortest for label in said])


def _without_empty_label(case: ReferenceCase) -> float:
    """The F1 in which the empty answer is not a label: it misses the true one, and invents none."""
    from sklearn.metrics import f1_score

    true, said = case.inputs["y_true"], case.inputs["y_pred"]
    labels = sorted({*true, *said} - {""})
    average = "micro" if case.metric == "f1_micro" else "macro"
    return float(f1_score(true, said, labels=labels, average=average, zero_division=0))


def _true_labels(case: ReferenceCase) -> set[str]:
    listed = set(case.params.get("classes", ()))
    return {label for labels in case.inputs["targets"] for label in labels if label in listed}


def _f1_of_true_labels(case: ReferenceCase) -> float:
    from sklearn.metrics import f1_score

    if not (labels := sorted(_true_labels(case))):
        return math.nan
    truth, said = (
        [[int(label in row) for label in labels] for row in case.inputs[name]] for name in ("targets", "predictions")
    )
    return float(f1_score(truth, said, average="macro", zero_division=0))


def _listed(case: ReferenceCase) -> list[tuple[set[str], set[str]]]:
    classes = set(case.params["classes"])
    pairs = zip(case.inputs["targets"], case.inputs["predictions"], strict=True)
    return [(classes.intersection(true), classes.intersection(said)) for true, said in pairs]


def _empty_sets(case: ReferenceCase) -> int:
    return sum(not true and not said for true, said in _listed(case))


def _no_labels(case: ReferenceCase) -> bool:
    return not any(labels for name in ("targets", "predictions") for labels in case.inputs[name])


# Phrases, translations, captions


def _without_truth(case: ReferenceCase) -> bool:
    return not any(case.inputs["references"])


def _is_short(case: ReferenceCase) -> bool:
    return len(tokenized(case.metric.removeprefix("bleu_sentence_"), case.inputs["hypothesis"]).split()) < 4


def _corpus_bleu(case: ReferenceCase) -> float:
    """Sacrebleu's corpus BLEU of the one sentence, in which 4-grams that it cannot have count."""
    scorer = bleu_scorer(case.metric.removeprefix("bleu_sentence_"))
    return float(scorer.corpus_score([case.inputs["hypothesis"]], [[text] for text in case.inputs["references"]]).score)


def _caption_texts(case: ReferenceCase) -> tuple[list[str], list[list[str]]]:
    if "candidates" in case.inputs:
        return case.inputs["candidates"], case.inputs["references"]
    return [case.inputs["hypothesis"]], [[case.inputs["reference"]]]


def _words(text: str) -> str:
    return " ".join(caption_words(text))


def _has_other_caption_words(case: ReferenceCase) -> bool:
    candidates, references = _caption_texts(case)
    texts = [*candidates, *(text for each in references for text in each)]
    return any(_words(text) != text for text in texts)


def _scores_of_caption_words(case: ReferenceCase) -> Json:
    """The library's own numbers of COCO's words."""
    candidates, references = _caption_texts(case)
    if case.metric == "meteor_nltk_nosyn":
        from pytest_audiobench.metrics.meteor import meteor_nosyn

        return meteor_nosyn(caption_words(candidates[0]), [caption_words(references[0][0])])
    from pycocoevalcap.cider.cider_scorer import CiderScorer
    from pycocoevalcap.rouge.rouge import Rouge

    said, true = list(map(_words, candidates)), [list(map(_words, each)) for each in references]
    if case.metric == "rouge_l_coco":
        values = [float(Rouge().calc_score([text], refs)) for text, refs in zip(said, true, strict=True)]
    else:
        scorer = CiderScorer(n=4, sigma=6.0)
        for text, refs in zip(said, true, strict=True):
            scorer += (text, refs)
        values = list(map(float, scorer.compute_score()[1]))
    return {"corpus": sum(values) / len(values), "per_item": values}


# Vectors and statistics


def _length(values: Sequence[float]) -> float:
    return math.hypot(*values) if values else 0.0


def _scaled_cosine(case: ReferenceCase) -> float:
    first, second = case.inputs["a"], case.inputs["b"]
    lengths = max(map(abs, first)), max(map(abs, second))
    a, b = ([value / most for value in values] for values, most in zip((first, second), lengths, strict=True))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (_length(a) * _length(b))


_FEWEST = 20


def _samples(case: ReferenceCase) -> int:
    return len(case.inputs.get("a", case.inputs.get("errors", ())))


def _no_interval(case: ReferenceCase) -> Json:
    given = case.inputs
    rate = {"wer": sum(given["errors"]) / sum(given["ref_words"])} if "errors" in given else {}
    return {**rate, "low": math.nan, "high": math.nan}


def _clusters(case: ReferenceCase) -> int:
    return len(set(map(str, case.inputs["groups"])))


def _has_many_pairs(case: ReferenceCase) -> bool:
    (right, worse), (better, wrong) = case.inputs["table"]
    return bool(right + worse + better + wrong > 100 and worse + better >= 10)


def _mid_p(case: ReferenceCase) -> float:
    """The exact p minus the probability of the very outcome."""
    from scipy.stats import binom

    (_, worse), (better, _) = case.inputs["table"]
    law = binom(worse + better, 0.5)
    fewer = min(worse, better)
    return float(min(1.0, 2.0 * law.cdf(fewer) - law.pmf(fewer)))


def _differences(case: ReferenceCase) -> list[float]:
    return [x - y for x, y in zip(case.inputs["a"], case.inputs["b"], strict=True)]


def _is_spread(case: ReferenceCase) -> bool:
    """Whether 10 pairs or more differ, not all alike."""
    differences = _differences(case)
    return sum(each != 0 for each in differences) >= 10 and max(differences) - min(differences) > 1e-9


def _careful_t(case: ReferenceCase) -> float:
    """Twice the least level at which Johnson's bound, Student's moved out by the skewness, leaves 0 beyond it."""
    from scipy.optimize import brentq
    from scipy.stats import kurtosis, t

    differences = _differences(case)
    count, mean = len(differences), math.fsum(differences) / len(differences)
    about = [(each - mean) / math.sqrt(count * (count - 1)) for each in differences]
    squares = math.fsum(each**2 for each in about)
    skew = math.fsum(each**3 for each in about) / squares
    spread = kurtosis(about, fisher=False, bias=True)
    degrees = int(min(count - 1.0, 2.0 * count / (spread - 1.0) if spread > 1.0 else math.inf) + 1e-6)

    def p(side: float) -> float:
        tail, excess = max(0.0, -side * skew), side * mean
        if excess <= tail / 6.0:
            return 1.0

        def reach(x: float) -> float:
            return x * math.sqrt(squares) + tail * (1.0 + 2.0 * x * x) / 6.0 - excess

        return float(t.sf(brentq(reach, 0.0, 1e6), degrees))

    return min(1.0, 2.0 * min(p(1.0), p(-1.0)))


RULES: Mapping[str, Rule] = {
    "no-reference-words": Rule(
        "no reference holds a word", lambda case: not any(map(str.split, _references(case))), lambda case: math.nan
    ),
    "no-reference-phones": Rule(
        "no reference holds a phone that is kept (of 48 and 39, q is none)", _no_phones, lambda case: math.nan
    ),
    "nothing-left": Rule(
        "the normaliser leaves nothing of the text", lambda case: case.expected == "", lambda case: "empty"
    ),
    "nothing-said": Rule("a system said nothing at all, and somebody speaks", _says_nothing, _all_deleted),
    "words-of-talkers": Rule(
        "a text has capitals, punctuation, loose accents or Chinese characters", _has_other_words, _errors_of_words
    ),
    "nobody-speaks": Rule("nobody speaks in the reference", _nobody_speaks, _no_rate_of_nobody),
    "nobody-heard": Rule("somebody speaks, and nobody is said to", _nobody_is_heard, lambda case: {"der": 1.0}),
    "moments": Rule("a true event ends when it begins, or before", _has_moment, lambda case: REFUSED),
    "label-of-one-side": Rule(
        "a label is true and never said, or said and never true", _labels_of_one_side, _with_missed_labels
    ),
    "labels-but-for-case": Rule("two labels are equal but for case", _has_case_twins, _caseless),
    "empty-answer": Rule("an answer is empty", _has_empty_answer, _without_empty_label),
    "label-but-for-case": Rule(
        "the answer is the label but for case", _is_label_but_for_case, lambda case: dict.fromkeys(case.expected, 1.0)
    ),
    "nearest-to-nothing": Rule("an answer is empty", _has_empty_answer, _with_shortest_label),
    "negative-numbers": Rule(
        "a true number is below 0", lambda case: any(value < 0 for value in case.inputs["y_true"]), lambda case: REFUSED
    ),
    "untrue-labels": Rule(
        "a listed label is true of no sample",
        lambda case: _true_labels(case) != set(case.params["classes"]),
        _f1_of_true_labels,
    ),
    "no-labels-at-all": Rule(
        "no label is true and none was said",
        lambda case: not any(true or said for true, said in _listed(case)),
        lambda case: math.nan,
    ),
    "empty-sets": Rule(
        "of a sample no label is true and none was said",
        lambda case: _empty_sets(case) > 0,
        lambda case: float(case.expected) + _empty_sets(case) / len(case.inputs["targets"]),
    ),
    "no-samples": Rule(
        "there are no samples",
        lambda case: case.inputs["targets"] == [] == case.inputs["predictions"],
        lambda case: math.nan,
    ),
    "no-label-list": Rule("there is no label to choose among", _no_labels, lambda case: REFUSED),
    "no-true-phrase": Rule("no sample has a true phrase", _without_truth, _nothing),
    "short-sentence": Rule("a sentence has fewer than 4 tokens", _is_short, _corpus_bleu),
    "caption-words": Rule("a text is not written in COCO's words", _has_other_caption_words, _scores_of_caption_words),
    "vector-of-zeros": Rule(
        "a vector is all zeros", lambda case: not any(case.inputs["a"]) or not any(case.inputs["b"]), lambda case: 0.0
    ),
    "overflowing-vectors": Rule(
        "a component's square is not a finite number",
        lambda case: any(abs(value) > 1e150 for name in "ab" for value in case.inputs[name]),
        _scaled_cosine,
    ),
    "few-samples": Rule(f"there are fewer than {_FEWEST} samples", lambda case: _samples(case) < _FEWEST, _no_interval),
    "one-cluster": Rule(
        "all samples are of one cluster",
        lambda case: _clusters(case) == 1,
        lambda case: {"mean": math.fsum(case.inputs["y"]) / len(case.inputs["y"]), "se": math.nan},
    ),
    "mid-p": Rule("10 pairs or more of over 100 differ", _has_many_pairs, _mid_p),
    "careful-t": Rule("10 pairs or more differ, not all alike", _is_spread, _careful_t),
    "equal-pairs": Rule(
        "all pairs differ by the same", lambda case: len(Counter(_differences(case))) == 1, lambda case: math.nan
    ),
}
