"""What answers for reference cases that are not answers of a model: statistics as the gate uses them, and tokenizers.

Statistics of samples are not scorer's to give, tables of scores no model's to say, and what a tokenizer cuts shows in
no number alone. Each function is the one that scorers and gates call; a declaration names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.conformance.samples import list_of, number_of, text_of, texts_of
from pytest_audiobench.conformance.soundscapes import KINDS
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import tokenizers
from pytest_audiobench.metrics.caption_words import caption_words
from pytest_audiobench.metrics.definitions import ranking
from pytest_audiobench.metrics.definitions.captions import cosines
from pytest_audiobench.protocols.bioacoustic import data_set_scores, pipeline, scoring
from pytest_audiobench.stats.bootstrap import Sums, interval_of, resampling
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.intervals import Floats, exact, standard_error
from pytest_audiobench.stats.mcnemar import flips_drop
from pytest_audiobench.stats.multiple_testing import holm
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.power import t_detectable, t_power, two_shares_needed


def _number(case: ReferenceCase, name: str) -> float:
    return number_of(case.inputs[name] if name in case.inputs else case.params.get(name), name)


def _numbers(case: ReferenceCase, name: str) -> list[float]:
    return [number_of(value, name) for value in list_of(case.inputs.get(name), name)]


def _count(case: ReferenceCase, name: str) -> int:
    value = _number(case, name)
    if value != round(value) or abs(value) > 10**9:
        raise UsageError(f"the input {name} is not a count but {value}")
    return int(value)


def _matrix(case: ReferenceCase, name: str) -> Floats:
    rows = [[number_of(cell, name) for cell in list_of(row, name)] for row in list_of(case.inputs.get(name), name)]
    if len({len(row) for row in rows}) > 1:
        raise UsageError(f"the rows of {name} are not of one length")
    return np.array(rows, dtype=np.float64)


def _ranked(value: Callable[[Floats, Floats], float]) -> Callable[[ReferenceCase], float]:
    def ranked(case: ReferenceCase) -> float:
        truth, scores = _matrix(case, "y_true"), _matrix(case, "y_score")
        if truth.shape != scores.shape:
            raise UsageError("the inputs y_true and y_score are not of one shape")
        return value(truth, scores)

    return ranked


def _average_precision(case: ReferenceCase) -> float:
    macro = _ranked(ranking.average_precision_all_labels)
    return macro(case) if case.params.get("average") == "macro" else _ranked(ranking.micro_average_precision)(case)


def _beans_average_precision(case: ReferenceCase) -> float:
    given = case.inputs
    predictions, targets = (given["predictions"], given["targets"]) if "predictions" in given else (None, None)
    average = given.get("kwargs", {}).get("average", "macro") if predictions is not None else case.params["average"]
    if predictions is None:
        predictions, targets = given.get("y_score"), given.get("y_true")
    if average not in ("macro", "micro"):
        raise UsageError("average is macro or micro")
    return scoring.average_precision(list_of(predictions, "y_score"), list_of(targets, "y_true"), average)


def _steps(case: ReferenceCase) -> Json:
    """The steps by which BEANS-Next reads answers of a task; "targets" are those of a file of predictions."""
    task, given = case.inputs.get("task_type"), case.inputs
    if "targets" in given:
        steps = pipeline.steps_of_score_from_file(task, list_of(given["targets"], "targets"))
    else:
        labels = texts_of(given.get("labels_override") or [], "labels_override")
        steps = pipeline.steps_of_run(task, labels, given.get("example_labels") or ())
    return {
        kind: [[step.name, {name: _plain(value) for name, value in step.params.items()}] for step in named]
        for kind, named in (("parsers", steps.parsers), ("cleaners", steps.cleaners))
    }


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else value


def _processed(case: ReferenceCase) -> Json:
    parsers, cleaners = (
        tuple(pipeline.Step(text_of(step[0], kind), step[1]) for step in map(_pair, case.inputs.get(kind, ())))
        for kind in ("parsers", "cleaners")
    )
    segments = pipeline.process(text_of(case.inputs.get("raw"), "raw"), pipeline.Steps(parsers, cleaners))
    return {"segments": list(segments.segments), "text": segments.text, "n_warnings": len(segments.warnings)}


def _pair(step: Json) -> list[Json]:
    if isinstance(step, list) and len(step) == 2 and isinstance(step[1], dict):
        return step
    raise UsageError("a step is not one of a name and its parameters")


def _top1_accuracy(case: ReferenceCase) -> float:
    predictions, targets = (texts_of(case.inputs.get(name), name) for name in ("predictions", "targets"))
    return scoring.top1_accuracy(predictions, targets)


def _means(case: ReferenceCase) -> Json:
    rows = list_of(case.inputs.get("rows"), "rows")
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError("the rows are not objects")
    return data_set_scores.means([{name: number_of(row[name], name) for name in row} for row in rows])


def _cosine(case: ReferenceCase) -> float:
    first, second = _numbers(case, "a"), _numbers(case, "b")
    if len(first) != len(second):
        raise UsageError("the vectors a and b are not of one length")
    return float(cosines([first], [second])[0])


def _tokens(tokenizer: str) -> Callable[[ReferenceCase], str]:
    return lambda case: tokenizers.tokenized(tokenizer, text_of(case.inputs.get("text"), "text"))


def _signature(case: ReferenceCase) -> str:
    tokenizer = text_of(case.params.get("tokenize", "13a"), "tokenize")
    if tokenizer not in tokenizers.TOKENIZERS:
        raise UsageError(f"no scorer cuts texts by the tokenizer {tokenizer!r}")
    return tokenizers.bleu_signature(tokenizer, references="1")


def _mean_error(corrected: bool) -> Callable[[ReferenceCase], Json]:
    """The mean with its standard error by clusters; uncorrected is Miller's equation 4, of few clusters too small."""

    def value(case: ReferenceCase) -> Json:
        values, groups = _numbers(case, "y"), list_of(case.inputs.get("groups"), "groups")
        if len(values) != len(groups) or not values:
            raise UsageError("the inputs y and groups are not of one length, or empty")
        clusters = len(set(map(str, groups)))
        error = standard_error(values, list(map(str, groups)))
        shrunk = error if corrected else error * math.sqrt((clusters - 1) / clusters)
        return {"mean": math.fsum(values) / len(values), "se": shrunk}

    return value


def _two_sided(there: Drop, back: Drop) -> float:
    """The gate asks in one direction; asked in both, the smaller p counts twice."""
    return math.nan if there.p is None or back.p is None else min(1.0, 2.0 * min(there.p, back.p))


def _mcnemar(case: ReferenceCase) -> float:
    table = _matrix(case, "table")
    if (
        table.shape != (2, 2)
        or table.max() > 1_000_000
        or (table < 0).any()
        or (table != table.round()).any()
        or not table.any()
    ):
        raise UsageError("the input table is not a table of two rows of two counts")
    (right, worse), (better, wrong) = ([int(count) for count in row] for row in table.tolist())
    pairs, question = right + worse + better + wrong, Question(0.0)
    return _two_sided(flips_drop(pairs, worse, better, question), flips_drop(pairs, better, worse, question))


def _paired(case: ReferenceCase) -> tuple[list[float], list[float]]:
    first, second = _numbers(case, "a"), _numbers(case, "b")
    if len(first) != len(second) or not first:
        raise UsageError("the inputs a and b are not of one length, or empty")
    return first, second


def _paired_t(case: ReferenceCase) -> float:
    before, after = (np.stack([values, np.ones(len(values))], axis=1) for values in _paired(case))
    question = Question(0.0)
    there, back = (ratio_drop(*sides, None, question, span=math.inf) for sides in ((before, after), (after, before)))
    return _two_sided(there, back)


def _resampled(*columns: Sequence[float]) -> Sums:
    """The first column's sum minus the second's, over the third's."""

    def value(sums: Floats) -> Floats:
        quotient: Floats = (sums[:, 0] - sums[:, 1]) / sums[:, 2]
        return quotient

    return Sums(np.array(columns, dtype=np.float64).T, value)


def _bootstrapped_difference(case: ReferenceCase) -> Json:
    first, second = _paired(case)
    sums = _resampled(first, second, [1.0] * len(first))
    lower, upper, _ = interval_of(resampling(sums.units), sums)
    return {"low": lower, "high": upper}


def _bootstrapped_rate(case: ReferenceCase) -> Json:
    errors, words = _numbers(case, "errors"), _numbers(case, "ref_words")
    if len(errors) != len(words) or not sum(words):
        raise UsageError("the inputs errors and ref_words are not of one length, or hold no words")
    sums = _resampled(errors, [0.0] * len(errors), words)
    lower, upper, _ = interval_of(resampling(sums.units), sums)
    return {"wer": sums.whole(), "low": lower, "high": upper}


def _adjusted(case: ReferenceCase, adjust: Callable[[Sequence[float]], Floats]) -> list[float]:
    values = _numbers(case, "pvalues")
    if not all(0.0 <= value <= 1.0 for value in values):
        raise UsageError("the input pvalues holds what is no probability")
    return [float(value) for value in adjust(values)] if values else []


def _discoveries(values: Sequence[float]) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(values), dtype=np.float64)


FUNCTIONS: Mapping[str, Callable[[ReferenceCase], Json]] = {
    "area under the ROC curve": _ranked(ranking.macro_roc_auc),
    "average precision": _average_precision,
    "average precision of BEANS-Next": _beans_average_precision,
    "bootstrap of a difference": _bootstrapped_difference,
    "bootstrap of a rate": _bootstrapped_rate,
    "cosine of vectors": _cosine,
    "exact interval": lambda case: list(
        exact(_count(case, "count"), _count(case, "nobs"), 1.0 - _number(case, "alpha"))[:2]
    ),
    "false discoveries": lambda case: _adjusted(case, _discoveries),
    "Holm's correction": lambda case: _adjusted(case, lambda values: np.asarray(holm(values))),
    "least effect of pairs": lambda case: t_detectable(
        _count(case, "n"), _number(case, "alpha"), _number(case, "power")
    ),
    "McNemar's exact test": _mcnemar,
    "means of BEANS-Next": _means,
    "post-processing of BEANS-Next": _processed,
    "power of pairs": lambda case: t_power(_number(case, "effect_size_dz"), _count(case, "n"), _number(case, "alpha")),
    "samples for two shares": lambda case: two_shares_needed(
        _number(case, "p1"), _number(case, "p2"), _number(case, "alpha"), _number(case, "power")
    ),
    "signature of BLEU": _signature,
    "standard error of clusters": _mean_error(corrected=True),
    "standard error of clusters, uncorrected": _mean_error(corrected=False),
    "steps of BEANS-Next": _steps,
    "t of pairs": _paired_t,
    "top-1 accuracy of BEANS-Next": _top1_accuracy,
    "tokens of ja-mecab": _tokens("ja-mecab"),
    "tokens of zh": _tokens("zh"),
    "words of captions": lambda case: " ".join(caption_words(text_of(case.inputs.get("text"), "text"))),
    **KINDS,
}
