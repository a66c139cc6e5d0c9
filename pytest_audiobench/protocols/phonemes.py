"""The phones of one clip."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.token_errors import PHONES, PhoneSet, folded, phone_tokens, token_errors
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.transcription.published_scorers import SALMONN_END, salmonn_text
from pytest_audiobench.protocols.transcription.texts import jiwer_words

INSTRUCTION = "Provide the phonetic transcription for the speech."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""


@with_recorded_options
def phonemes(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 512
) -> Protocol:
    """Ask for the phones of the sample's clips, in its own question's words or else in ``prompt``'s.

    A sample's reference is its phones as TIMIT or CMUdict write them, between spaces. The scorers are ``per-39``
    (the default; ours), ``per-48`` and ``per-61`` by the set that phones are folded to, and ``salmonn-keep`` and
    ``salmonn-skip`` (those of the reproduction of SALMONN). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    return family_protocol("phonemes", (stage,), _READINGS, scorers, "words")


def _folding(phones: PhoneSet) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        answer_tokens = phone_tokens(answer.value or "")
        errors = token_errors(folded(phone_tokens(sample.reference), phones), folded(answer_tokens, phones))
        return {
            **errors,
            "other": float(sum(token not in PHONES for token in answer_tokens)),
            "said": float(len(answer_tokens)),
        }

    signature = f"phones:per-{phones}|v:1|norm:nfkc+lower+nopunct+nostress|fold:{phones}|other:errors|empty:deletions"
    return Scorer(f"per-{phones}", signature, read_ended_text, score, ("per", "other_tokens"))


def _as_they_stand(sample: Sample, answer: Answer) -> Mapping[str, float]:
    text = f"{answer.value or ''}{'' if answer.status == 'truncated' else SALMONN_END}"
    return token_errors(jiwer_words(salmonn_text(sample.reference)), jiwer_words(salmonn_text(text)))


def _study(name: str, keep: bool) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if answer.status == "truncated" and not keep else _as_they_stand(sample, answer)

    rest = f"unended:{'kept' if keep else 'skipped'}|empty:deletions"
    signature = f"phones:{name}|v:2|norm:lower+nopunct+notags|fold:none|{rest}"
    return Scorer(name, signature, read_ended_text, score, ("per",), companions=() if keep else ("salmonn-keep",))


_READINGS = (_folding(39), _folding(48), _folding(61), _study("salmonn-keep", True), _study("salmonn-skip", False))
