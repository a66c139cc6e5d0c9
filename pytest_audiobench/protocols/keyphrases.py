"""The phrases that say what a talk is about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.kinds.understanding import CUTS, keyphrase_statistics, lacks_stemmer
from pytest_audiobench.protocols.classification.mentions import shown
from pytest_audiobench.protocols.free_text import answer_of, choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.refusals import refuses
from pytest_audiobench.protocols.spoken_questions.completeness import ended

INSTRUCTION = "Give the keyphrases of what is said, the most important first, with commas between them."
PROMPTS: Mapping[str, str] = MappingProxyType(
    {"default": INSTRUCTION, "salmonn": "Give me only three keywords of the text."}
)

_MOST = 8_000
_MARK = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_LEAD = re.compile(r"[^\n:,;]{0,120}:(?=\s)")


@remembered
def keyphrases(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 128
) -> Protocol:
    """Ask for keyphrases, in the sample's own question's words or else in ``prompt``'s; its references are true ones.

    The scorers are ``stemmed`` (the default; ours, needs nltk), ``salmonn-keywords`` (which leaves out answers without
    an end) and ``salmonn-keywords-keep``. One reference may hold several phrases with semicolons between them.
    ``prompt`` may be the name of one in ``PROMPTS``. Raises UsageError for an unknown scorer.
    """
    instruction = PROMPTS.get(prompt, prompt)
    stage = free_stage(lambda sample: sample.question or instruction, system, max_new_tokens)
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    return choose(Protocol("keyphrases", (stage,), (available["stemmed"],), available), scorers)


def true_phrases(sample: Sample) -> list[str]:
    """The sample's true phrases."""
    return [phrase.strip() for truth in sample.truths for phrase in truth.split(";") if phrase.strip()]


def phrases_of(text: str) -> list[str]:
    """The items of an answer that lists phrases."""
    items = re.split(r"[,;\n，、；]", _LEAD.sub("", shown(text[:_MOST]), count=1))
    tidied = (
        re.sub(r"\A\s*and\s+", "", _MARK.sub("", item, count=1), flags=re.I).strip(" .\t\"'“”*") for item in items
    )
    return [item for item in tidied if item]


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    if not response.text.strip():
        return Answer("empty")
    if response.finish == "refusal" or refuses(response.text[:_MOST]):
        return Answer("refused")
    phrases = phrases_of(response.text)
    if response.finish == "length":
        # The last phrase may be cut.
        return Answer("truncated", json.dumps(phrases[:-1], ensure_ascii=False))
    return Answer("parsed", json.dumps(phrases, ensure_ascii=False)) if phrases else Answer("unparsed")


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return keyphrase_statistics(true_phrases(sample), json.loads(answer.value or "[]"))


def _parse_salmonn(sample: Sample, earlier: Earlier) -> Answer:
    answer = ended(sample, earlier)
    return answer if answer.value is None else answer._replace(value=answer.value.lower())


def _score_salmonn(keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if answer.status == "truncated" and not keep:
            return None
        true = [_salmonn(phrase) for phrase in "; ".join(sample.truths).lower().split("; ")]
        said = [_salmonn(phrase) for phrase in (answer.value or "").split(",")]
        hits = sum(
            sum(phrase in other for other in true) if len(phrase.split()) > 1 else phrase in true for phrase in said
        )
        return {"keyword_hits": float(min(hits, 3)), "keywords": float(min(len(true), 3))}

    return score


def _salmonn(phrase: str) -> str:
    return phrase.strip().removeprefix("and ").strip().removesuffix(".").strip().replace("-", " ")


_SALMONN = (
    "github jaeeewon/project-multimodal, dist_eval/eval_ke.py, a reproduction of SALMONN's keyword task on Inspec"
)
_SALMONN_RULE = (
    "The answer, in small letters and without a final `</s>`, is parted at commas. From each item and each true phrase "
    'a leading "and " and a final full stop are taken, and "-" becomes a space. An item of one word is a hit where it '
    "is a true phrase; one of several words is a hit for every true phrase that its letters stand in. Hits count up to "
    "three a sample, and are divided by the true phrases, up to three a sample."
)
_SALMONN_DEFECTS = (
    "One item of several words can be three hits, and a word said three times is three hits. Items beyond the third "
    "count as well, so that a long list scores best. Letters inside words count. With fewer than three true phrases a "
    "sample can have more hits than phrases. The denominator is the true phrases, not what was said. Ours counts each "
    "phrase once, by stems, among the first k."
)
_TALK = ("neural network; speech recognition",)

_READINGS = (
    Scorer(
        "stemmed",
        "keyphrases:stemmed|v:1|unanswered:misses-all|case:lower|stem:porter-nltk|dedupe:yes",
        _parse,
        _score,
        (
            "keyphrase_f1_at_5",
            *(
                f"keyphrase_{which}_at_{cut}"
                for cut in CUTS
                for which in ("precision", "recall", "f1")
                if (which, cut) != ("f1", "5")
            ),
            "keyphrase_micro_f1_at_m",
        ),
        About(
            "The answer is parted at commas, semicolons and line breaks; an introduction up to a colon, list marks, a "
            'leading "and" and outer full stops and quotation marks are taken off. Phrases are compared in small '
            "letters, each word cut to its Porter stem, equal ones once; the first k count. Precision is over those "
            "kept. A refusal and an empty answer miss every phrase; the phrase that a cut answer ends in is dropped.",
            "ours; the measure of keyphrase extraction (Meng et al. 2017; KPEval)",
            (
                Example("Neural networks, recognition of speech", references=_TALK),
                Example("Keywords: speech recognition, speech recognition, and networks.", references=_TALK),
                Example("I'm sorry, I cannot access the audio.", references=_TALK),
            ),
        ),
        lacking=lacks_stemmer,
    ),
    Scorer(
        "salmonn-keywords",
        "keyphrases:salmonn-keywords|v:1|unended:skipped|cap:3|match:exact-or-within",
        _parse_salmonn,
        _score_salmonn(keep=False),
        ("keyword_hits",),
        About(
            f"{_SALMONN_RULE} An answer that did not come to its end is left out.",
            f"{_SALMONN}: 466 / 1469 = 31.72 % (paper 32 %)",
            (
                Example("speech, neural network, and audio.</s>", references=_TALK),
                Example("network</s>", references=_TALK),
                Example("neural net, neural net, neural net</s>", references=_TALK),
            ),
            f"{_SALMONN_DEFECTS} Answers without an end leave the denominator.",
        ),
        beside=("salmonn-keywords-keep",),
    ),
    Scorer(
        "salmonn-keywords-keep",
        "keyphrases:salmonn-keywords-keep|v:1|unended:kept|cap:3|match:exact-or-within",
        _parse_salmonn,
        _score_salmonn(keep=True),
        ("keyword_hits",),
        About(
            f"{_SALMONN_RULE} An answer that did not come to its end is read as far as it goes.",
            f"{_SALMONN}: 470 / 1490 = 31.54 %",
            (Example("speech recognition", references=_TALK),),
            _SALMONN_DEFECTS,
        ),
    ),
)
