"""One clip, its phones wanted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.phones import PHONES, PhoneSet, folded, phone_tokens
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.free_text import choose, free_stage, read_text
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Reading

INSTRUCTION = "Provide the phonetic transcription for the speech."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

_END = "</s>"
_NO_ANSWER = Response()


def phonemes(
    *readings: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 512
) -> Protocol:
    """Ask for the phones of the sample's clips, in its own question's words or else in ``prompt``'s.

    A sample's reference is its phones as TIMIT or CMUdict write them, between spaces. The readings are ``per-39``
    (the default; ours), ``per-48`` and ``per-61`` by the set that phones are folded to, and ``phone-tokens`` and
    ``phone-tokens-eos`` (those of the reproduction of SALMONN). Raises UsageError for an unknown reading.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    asked = Protocol("phonemes", (stage,), (_READINGS["per-39"],), _READINGS, expects="words")
    return choose(asked, readings)


def _folding(phones: PhoneSet, about: About) -> Reading:
    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        said = phone_tokens(answer.value or "")
        errors = token_errors(folded(phone_tokens(sample.reference), phones), folded(said, phones))
        return {**errors, "other": float(sum(token not in PHONES for token in said)), "said": float(len(said))}

    signature = f"phones:per-{phones}|v:1|norm:nfkc+lower+nopunct+nostress|fold:{phones}|other:errors|empty:deletions"
    return Reading(f"per-{phones}", signature, _ended, score, ("per", "other_tokens"), about)


def _ended(sample: Sample, earlier: Earlier) -> Answer:
    """The answer without a written end token; one that ran into the limit of tokens is "truncated"."""
    text = earlier.get("answer", _NO_ANSWER).text.strip()
    whole = read_text(sample, earlier)
    if whole.status == "empty" or text == _END:
        return Answer("empty")
    if text.endswith(_END):
        return Answer("parsed", text.removesuffix(_END))
    return whole


def _as_they_stand(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return token_errors(sample.reference.lower().split(), (answer.value or "").lower().split())


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
    "A reproduction of SALMONN's table 2 (LibriSpeech test-clean, phones by G2P), as described in its slides: a word "
    "error rate over phone tokens. "
)


def _study(name: str, rest: str, reading: str) -> str:
    return f"phones:{name}|v:1|norm:lower|fold:none|{rest}|{reading}"


_READINGS: Mapping[str, Reading] = MappingProxyType(
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
        "phone-tokens": Reading(
            "phone-tokens",
            _study("phone-tokens", "unended:kept", "empty:deletions"),
            _ended,
            _as_they_stand,
            ("per",),
            About(
                "Reference and answer are cut at white space, in small letters, and compared as they stand: no "
                'folding, stress digits and punctuation kept, an end token "</s>" that was written out removed. Every '
                "answer is scored, also one that ran into the limit of tokens.",
                f"{_REPRODUCTION}17.3 % over all 2,620 answers",
                (Example("sh iy hh ae d ah zh er", _SPEECH), Example("SH IY1 HH AE1 D AH0 ZH ER1</s>", _SPEECH)),
                "A stress digit or a comma makes another token. per-39 takes both away.",
            ),
        ),
        "phone-tokens-eos": Reading(
            "phone-tokens-eos",
            _study("phone-tokens-eos", "unended:skipped", "empty:deletions"),
            _ended,
            _ended_only,
            ("per",),
            About(
                "As phone-tokens, but an answer without an end token is left out: one that ended because the limit of "
                'tokens was reached (finish "length"). Where how it ended is not known, it is scored.',
                f"{_REPRODUCTION}3.96 % over the 2,072 answers left when 548 were dropped (SALMONN's own figure is "
                "4.2)",
                (
                    Example("SH IY1 HH AE1 D AH0 ZH ER1</s>", _SPEECH),
                    Example("SH IY1 HH AE1 HH AE1 HH AE1 HH AE1", _SPEECH, finish="length"),
                ),
                "What is dropped are the runaway answers: with them the rate is 17.3 %. phone-tokens, shown beside "
                "it, and per-39 keep them.",
            ),
            beside=("phone-tokens",),
        ),
    }
)
