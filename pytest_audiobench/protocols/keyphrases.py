"""The phrases that say what a talk is about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.understanding import CUTS, keyphrase_statistics, lacks_stemmer
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.classification.mentions import searchable_text
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

INSTRUCTION = "Give the keyphrases of what is said, the most important first, with commas between them."
PROMPTS: Mapping[str, str] = {"default": INSTRUCTION, "salmonn": "Give me only three keywords of the text."}

_MOST = 8_000
_MARK = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_LEAD = re.compile(r"[^\n:,;]{0,120}:(?=\s)")


@with_recorded_options
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
    return family_protocol("keyphrases", (stage,), _READINGS, scorers)


def true_phrases(sample: Sample) -> list[str]:
    """The sample's true phrases."""
    return [phrase.strip() for truth in sample.truths for phrase in truth.split(";") if phrase.strip()]


def phrases_of(text: str) -> list[str]:
    """The items of an answer that lists phrases."""
    items = re.split(r"[,;\n，、；]", _LEAD.sub("", searchable_text(text[:_MOST]), count=1))
    tidy = (re.sub(r"\A\s*and\s+", "", _MARK.sub("", item, count=1), flags=re.I).strip(" .\t\"'“”*") for item in items)
    return [item for item in tidy if item]


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


def _score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    true = true_phrases(sample)
    return keyphrase_statistics(true, json.loads(answer.value or "[]")) if true else None


def _parse_salmonn(sample: Sample, earlier: Earlier) -> Answer:
    answer = read_ended_text(sample, earlier)
    return answer if answer.value is None else answer._replace(value=answer.value.lower())


def _score_salmonn(keep: bool) -> Callable[[Sample, Answer], Mapping[str, float] | None]:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if answer.status == "truncated" and not keep:
            return None
        true = [_salmonn(phrase) for phrase in "; ".join(sample.truths).lower().split("; ")]
        phrases = [_salmonn(phrase) for phrase in (answer.value or "").split(",")]
        hits = sum(sum(said in other for other in true) if len(said.split()) > 1 else said in true for said in phrases)
        return {"keyword_hits": float(min(hits, 3)), "keywords": float(min(len(true), 3))}

    return score


def _salmonn(phrase: str) -> str:
    return phrase.strip().removeprefix("and ").strip().removesuffix(".").strip().replace("-", " ")


_READINGS = (
    Scorer(
        "stemmed",
        "keyphrases:stemmed|v:2|unanswered:misses-all|no-truth:skipped|case:lower|stem:porter-nltk|dedupe:yes",
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
        missing_parts=lacks_stemmer,
    ),
    *(
        Scorer(
            name,
            f"keyphrases:{name}|v:1|unended:{'kept' if keep else 'skipped'}|cap:3|match:exact-or-within",
            _parse_salmonn,
            _score_salmonn(keep),
            ("keyword_hits",),
            companions=() if keep else ("salmonn-keywords-keep",),
        )
        for name, keep in (("salmonn-keywords", False), ("salmonn-keywords-keep", True))
    ),
)
