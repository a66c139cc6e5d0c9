"""One clip, its phones wanted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.tokens import PHONES, PhoneSet, folded, phone_tokens, token_errors
from pytest_audiobench.protocols.free_text import choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.transcription.jiwer_chains import salmonn
from pytest_audiobench.protocols.transcription.punctuation import jiwer_words

INSTRUCTION = "Provide the phonetic transcription for the speech."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""


@remembered
def phonemes(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 512
) -> Protocol:
    """Ask for the phones of the sample's clips, in its own question's words or else in ``prompt``'s.

    A sample's reference is its phones as TIMIT or CMUdict write them, between spaces. The scorers are ``per-39``
    (the default; ours), ``per-48`` and ``per-61`` by the set that phones are folded to, and ``salmonn-keep`` and
    ``salmonn-skip`` (those of the reproduction of SALMONN). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    asked = Protocol("phonemes", (stage,), (_READINGS["per-39"],), _READINGS, expects="words")
    return choose(asked, scorers)


def _folding(phones: PhoneSet, about: About) -> Scorer:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        said = phone_tokens(answer.value or "")
        errors = token_errors(folded(phone_tokens(sample.reference), phones), folded(said, phones))
        return {**errors, "other": float(sum(token not in PHONES for token in said)), "said": float(len(said))}

    signature = f"phones:per-{phones}|v:1|norm:nfkc+lower+nopunct+nostress|fold:{phones}|other:errors|empty:deletions"
    return Scorer(f"per-{phones}", signature, ended, score, ("per", "other_tokens"), about)


def _as_they_stand(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return token_errors(jiwer_words(salmonn(sample.reference)), jiwer_words(salmonn(answer.value or "")))


def _ended_only(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    return None if answer.status == "truncated" else _as_they_stand(sample, answer)


_SPEECH = "SH IY1 HH AE1 D AH0 ZH ER1"
_RULE = (
    "Reference and answer are cut into tokens at white space, commas, semicolons, bars and slashes; small letters, no "
    "punctuation at a token's edges, no stress digit on CMUdict's vowels (AH0 is ah), no \"</s>\" at the end. {} A "
    "token that is no phone stays and is an error. The rate is sum(S + D + I) / sum(N) over all answers, an empty one "
    "all deletions; beside it the share of the answers' tokens that are no phones."
)
_EXAMPLES = (
    Example("sh iy hh ae d ah sh er", _SPEECH),
    Example("SH, IY, HH, AE, D.", _SPEECH),
    Example("she had a", _SPEECH),
)
_SOURCE = "ours; {}"
_FOLDING = (
    "the folding is Lee and Hon's (1989, IEEE Trans. ASSP 37(11)) as in speechbrain's recipes/TIMIT/timit_prepare.py"
)
_REPRODUCTION = (
    "github jaeeewon/project-multimodal, dist_eval/eval_per.py (a reproduction of SALMONN's tables, arXiv 2310.13289; "
    "LibriSpeech test-clean, phones by G2P): "
)


def _study(name: str, rest: str, scorer: str) -> str:
    return f"phones:{name}|v:1|norm:lower+nopunct+notags|fold:none|{rest}|{scorer}"


_READINGS: Mapping[str, Scorer] = MappingProxyType(
    {
        "per-39": _folding(
            39,
            About(
                _RULE.format(
                    "Both are folded from TIMIT's 61 phones to 39: closures, pauses and epi to sil, ax and ax-h to ah, "
                    "ao to aa, zh to sh, ix to ih, ux to uw, el to l, em to m, en to n, eng to ng, hv to hh, nx to n, "
                    "axr to er; q is deleted. Runs of sil stay as long as they are."
                ),
                _SOURCE.format(_FOLDING),
                _EXAMPLES,
                "Some recipes join runs of silence or keep ao; their rates differ.",
            ),
        ),
        "per-48": _folding(
            48,
            About(
                _RULE.format(
                    "Both are folded from TIMIT's 61 phones to 48: voiced closures to vcl, others to cl, pau and h# to "
                    "sil, ax-h to ax, axr to er, em to m, eng to ng, hv to hh, nx to n, ux to uw; q is deleted."
                ),
                _SOURCE.format(_FOLDING),
                _EXAMPLES,
                "Lee and Hon trained with 48 phones and reported with 39.",
            ),
        ),
        "per-61": _folding(
            61,
            About(_RULE.format("Nothing is folded, and q counts."), _SOURCE.format("TIMIT's own set"), _EXAMPLES),
        ),
        "salmonn-keep": Scorer(
            "salmonn-keep",
            _study("salmonn-keep", "unended:kept", "empty:deletions"),
            ended,
            _as_they_stand,
            ("per",),
            About(
                "jiwer's steps on reference and answer: small letters, punctuation (Unicode's categories P) deleted "
                "with nothing in its place, what stands in <…> or […] deleted, tokens at spaces. They are compared as "
                "they stand, without folding and with stress digits. Every answer is scored, also one that ran into "
                "the limit of tokens.",
                f"{_REPRODUCTION}17.3 % over all 2,620 answers",
                (Example("sh iy hh ae d ah zh er", _SPEECH), Example("SH IY1 HH AE1 D AH0 ZH ER1</s>", _SPEECH)),
                "A stress digit makes another token, a hyphen goes (ax-h is axh), tokens with nothing but a comma "
                "between them become one. per-39 takes stress away and cuts at commas.",
            ),
        ),
        "salmonn-skip": Scorer(
            "salmonn-skip",
            _study("salmonn-skip", "unended:skipped", "empty:deletions"),
            ended,
            _ended_only,
            ("per",),
            About(
                "As salmonn-keep, but an answer without an end token is left out: one that ended because the limit of "
                'tokens was reached (finish "length"). Where how it ended is not known, it is scored.',
                f"{_REPRODUCTION}3.96 % over the 2,072 answers left when 548 were dropped (SALMONN's own figure is "
                "4.2)",
                (
                    Example("SH IY1 HH AE1 D AH0 ZH ER1</s>", _SPEECH),
                    Example("SH IY1 HH AE1 HH AE1 HH AE1 HH AE1", _SPEECH, finish="length"),
                ),
                "What is dropped are the runaway answers: with them the rate is 17.3 %. salmonn-keep, shown beside "
                "it, and per-39 keep them.",
            ),
            beside=("salmonn-keep",),
        ),
    }
)
