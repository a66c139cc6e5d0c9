"""The rules of the Open ASR Leaderboard (github huggingface/open_asr_leaderboard, normalizer/).

``open-asr`` is that of 2026: Whisper's English normaliser with more fillers, one spelling of a name, letters joined to
acronyms, and words that only a space parts taken as equal. ``open-asr-v1`` is that of the tables before it. Languages
other than English go by a basic normaliser in both, and write numbers in words in the later one.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.words import SET
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer, no_missing_parts
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.texts import cached_text
from pytest_audiobench.protocols.transcription.transcript_scorer import needs

_METRICS = ("wer", "wer_mean", "wer_capped", "wer_over_one", "wer_macro")
_IGNORED = frozenset({"", "ignore time segment in scoring"})
"""References that are left out, once normalised."""

_SPELLINGS = {
    **{"archaeological": "archeological", "archaeology": "archeology", "pummelled": "pummeled", "mm": "hmm"},
    **{"pummelling": "pummeling", "snowploughs": "snowplows", "travelogue": "travelog", "travelogues": "travelogs"},
    **{"cancellation": "cancelation", "cancellations": "cancelations"},
}
_NO_SPELLINGS = frozenset({"cancelation", "cancelations", "travelog", "travelogs", "archeological"})
"""Where the leaderboard's table differs from the one that is installed."""

_NEW_SPELLINGS = {"etcetera": "etc", "kay": "okay", "ok": "okay", "flyer": "flier"}
_FILLERS = "hmm|mm|mhm|mmm|uh|um|ah|aha|ahh|ahm|eh|ehehe|em|hm|huh|hum|mhum|uhm|umm|uhuh"
_POSSESSIVE = r"'s\b"
_IS = r"\b(it|he|she|what|that|who|here|there|how|when|where|why|this)'s\b"
_COMPOUNDS = {
    **{"et cetera": "etc", "al right": "alright", "all right": "alright", "how ever": "however", "wi fi": "wifi"},
    **{"hi fi": "hifi", "lo fi": "lofi", "sci fi": "scifi", "e mail": "email", "e book": "ebook"},
    **{"e commerce": "ecommerce", "x ray": "xray", "t shirt": "tshirt", "a m": "am", "p m": "pm", "o k": "okay"},
}
_VARIANTS = (
    "aaron: aron; alfonso: alphonso; alison: allison alyson; allen: alan allan; anne: ann; anthony: antony; arthur: "
    "artur; brett: bret; brian: bryan; bridget: bridgette; caitlin: kaitlin kaitlyn katelyn; carl: karl; carol: "
    "carole carrol carroll; catherine: catharine katherine kathryn; cathy: kathy; charlie: charley charly; chris: "
    "kris; christina: kristina; christopher: cristopher kristopher; colin: collin; deborah: devorah; dennis: denis; "
    "dominic: dominick; douglas: douglass; dylan: dillon; eric: erick erik; fatima: fatimah; frederick: frederik "
    "fredrick; gail: gayle; gary: garry; greg: gregg; henry: henri; ivonne: yvonne; jackie: jacky; jamie: jaime; "
    "jason: jayson; jeff: geoff; jeffrey: geoffrey jeffery; joanne: joane joann; john: jon; jonathan: johnathan "
    "jonathon; joseph: josef; karen: caren caryn karin; kelly: kelley kelli kellye; kevin: kevan; kristin: kristen; "
    "laurie: lori; lawrence: laurence; lee: leigh; leslie: lesley; lily: lilly; linda: lynda; lindsay: lindsey "
    "linsey; louis: lewis; lucas: lukas; lynn: lynne; mark: marc; martin: martyn; matthew: mathew; mcarthur: "
    "macarthur; mccarthy: macarthy maccarthy; mccartney: macartney; mcdonald: macdonald; mcgowan: macgowan; "
    "mcintosh: macintosh; mcintyre: macintyre; mckay: mackay; mckenzie: mackenzie; mclean: maclean; mcleod: "
    "macleod; mcmillan: macmillan; mcnamara: macnamara; megan: meghan; michael: micheal; michelle: michele; miriam: "
    "myriam; mohammed: mahomet mohamad mohamed mohammad mouhamad mouhamed muhamad muhammad muhammed; molly: mollie; "
    "natalie: nathalie; neil: neal; nicholas: nicolas; nicole: nikole; patrick: patrik; peter: pieter; philip: "
    "phillip; rachel: rachael; rajiv: rajeev; rebecca: rebekah; rob: robb; robin: robyn; roger: rodger; ronda: "
    "rhonda; russell: russel; sally: sallie; sarah: sara; sean: shaun shawn; shane: shayne; sherry: cheri sheri "
    "sherrie; simon: symon; stacy: stacey stacie; steven: stephen; stuart: stewart; susanne: suzanne; teresa: "
    "theresa; terry: terri; thomas: tomas; toby: tobey; tony: toni; tracy: tracey tracie; veronica: veronika; "
    "victor: viktor; victoria: viktoria; walter: walther; yousef: yusef yusuf; zach: zak; zachary: zachery zackary"
)
_NAMES = {
    variant: name
    for name, variants in (group.split(": ") for group in _VARIANTS.split("; "))
    for variant in variants.split()
}
_NO_WORD = re.compile(r"[^\w\s]")
_THOUSANDS = re.compile(r"(\d)\s+(\d{3})\b")
_DIGITS = re.compile(r"\d+")


class _Rule(NamedTuple):
    """One of the two, for a language."""

    name: str
    language: str
    is_first: bool

    @property
    def normalise(self) -> Callable[[str], str]:
        if self.language != "en":
            return _basic("" if self.is_first else self.language)
        return _english(self.is_first)

    def compared(self, reference: str, answer: str) -> tuple[Sequence[str], Sequence[str]]:
        """The words of both that are aligned."""
        wanted, said = self.normalise(reference).split(), self.normalise(answer).split()
        return (wanted, said) if self.language == "en" else _joined_where_equal(wanted, said)

    def score(self, sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if self.normalise(sample.reference).strip() in _IGNORED:
            return None
        wanted, said = self.compared(sample.reference, answer.value or "")
        errors = token_errors(wanted, said) if self.is_first else _compound_errors(wanted, said)
        correct = float(errors["S"] + errors["D"] + errors["I"] == 0)
        return {**errors, "correct": correct, f"{SET}{sample.metadata.get('set', '')}": 1.0}

    def scorer(self) -> Scorer:
        english = f"whisper-english-{library_version('whisper-normalizer')}"
        normaliser = f"lang:{self.language}|norm:{english if self.language == 'en' else 'whisper-basic'}+open-asr"
        alignment = "levenshtein" if self.is_first else "levenshtein+compounds"
        return Scorer(
            self.name,
            f"asr:{self.name}|v:1|{normaliser}|skip:empty-reference|empty:deletions|align:{alignment}",
            read_text,
            self.score,
            _METRICS,
            missing_parts=self._missing_parts(),
            companions=("whisper-basic",),
            words=self.compared,
        )

    def _missing_parts(self) -> Callable[[], str]:
        if self.is_first:
            return no_missing_parts
        aligner = needs("kaldialign", "open-asr", "asr")
        spoken = no_missing_parts if self.language == "en" else needs("num2words", "numbers in words", "asr")
        return lambda: aligner() or spoken()


def open_asr_scorers(language: str) -> tuple[Scorer, ...]:
    """``open-asr`` and ``open-asr-v1`` as they treat ``language``."""
    return _Rule("open-asr", language, False).scorer(), _Rule("open-asr-v1", language, True).scorer()


@functools.cache
def _english(is_first: bool) -> Callable[[str], str]:
    """Whisper's normaliser as the leaderboard has it."""
    normaliser = whisper.earlier_rules()
    table = {**normaliser.standardize_spellings.mapping, **_SPELLINGS}
    normaliser.standardize_spellings.mapping = {old: new for old, new in table.items() if old not in _NO_SPELLINGS}
    if not is_first:
        _extend(normaliser)
    return whisper.safe(normaliser)


def _extend(normaliser: Any) -> None:
    """Make the later rule of the first one."""
    normaliser.ignore_patterns = rf"\b({_FILLERS})\b"
    normaliser.replacers = {
        _IS if pattern == _POSSESSIVE else pattern: r"\1 is" if pattern == _POSSESSIVE else put
        for pattern, put in normaliser.replacers.items()
    }
    normaliser.standardize_spellings.mapping.update(_NEW_SPELLINGS)
    numbers, spellings = normaliser.standardize_numbers, normaliser.standardize_spellings
    normaliser.standardize_numbers = lambda text: numbers(_with_compounds(text))
    normaliser.standardize_spellings = lambda text: _with_acronyms(
        _NAMES.get(word, word) for word in spellings(text).split()
    )


def _with_compounds(text: str) -> str:
    for parts, compound in _COMPOUNDS.items():
        text = re.sub(r"\b" + parts.replace(" ", r"\s+") + r"\b", compound, text)
    return text


def _with_acronyms(words: Iterable[str]) -> str:
    """``words`` with each run of single letters and digits as one word, of three where an a or i is among them."""
    parts: list[str] = []
    for is_letter, run in itertools.groupby(words, lambda word: len(word) == 1 and word.isalnum()):
        letters = list(run)
        fewest = 3 if {"a", "i"}.intersection(letters) else 2
        parts += ["".join(letters)] if is_letter and len(letters) >= fewest else letters
    return " ".join(parts)


@functools.cache
def _basic(language: str) -> Callable[[str], str]:
    """Small letters without brackets, symbols and punctuation; numbers in the words of ``language`` if there is one."""

    def normalise(text: str) -> str:
        words = " ".join(_NO_WORD.sub("", whisper.basic(text)).split())
        return _with_spoken_numbers(words, language) if language else words

    return cached_text(normalise)


def _with_spoken_numbers(text: str, language: str) -> str:
    from num2words import num2words

    def spoken(number: re.Match[str]) -> str:
        try:
            return str(num2words(int(number[0]), lang=language))
        except (ArithmeticError, LookupError, NotImplementedError, ValueError):
            return number[0]

    return _DIGITS.sub(spoken, _THOUSANDS.sub(r"\1\2", text))


def _joined_where_equal(wanted: Sequence[str], said: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both with one word for what differs in nothing but its spaces."""
    left: list[str] = []
    right: list[str] = []
    for tag, start, end, first, last in SequenceMatcher(None, wanted, said).get_opcodes():
        parts, others = wanted[start:end], said[first:last]
        is_same = tag != "equal" and "".join(parts) == "".join(others)
        left += ["".join(parts)] if is_same else parts
        right += ["".join(others)] if is_same else others
    return left, right


def _compound_errors(wanted: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """The counts of an alignment in which several words of a side may be the same one word of the other."""
    from kaldialign import edit_distance

    # It takes no half of a surrogate pair, which an answer may hold.
    texts = [[word.encode(errors="backslashreplace").decode() for word in words] for words in (wanted, said)]
    counts = edit_distance(*texts, merge_compounds=True)
    return {"S": int(counts["sub"]), "D": int(counts["del"]), "I": int(counts["ins"]), "N": len(wanted)}
