"""Phone error rates: tokens, folding, and the answers that a published rule leaves out."""

import re

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.phonemes import phonemes

SPEECH = Sample("she", (), "", reference="SH IY1 HH AE1 D AH0 ZH ER1")


def scored(text, name="per-39", finish="stop", sample=SPEECH):
    scorer = phonemes().available[name]
    return scorer.score(sample, scorer.parse(sample, {"answer": Response.of(text, finish)}))


def rate(name, *answers):
    return metric_kind("per").estimate([one for one in answers if one is not None], None).value


def test_stress_case_and_punctuation_are_no_errors_and_folding_joins_near_phones() -> None:
    assert scored("sh, iy, hh, ae, d, ax, sh, axr.") == {
        **{"S": 0, "D": 0, "I": 0, "N": 8},
        **{"other": 0.0, "said": 8.0},
    }
    assert scored("sh iy hh ae d ah sh er", "per-48")["S"] == 1
    assert scored("sh iy hh ae d ax zh er", "per-61")["S"] == 1


def test_words_in_place_of_phones_are_errors_and_are_counted_as_such() -> None:
    found = scored("she had a measure")
    assert found["S"] + found["D"] + found["I"] == 8
    assert (found["other"], found["said"]) == (4.0, 4.0)


def test_silence_is_all_deletions() -> None:
    for text in ("", "  ", "</s>"):
        assert scored(text)["D"] == 8


def test_an_answer_without_an_end_is_left_out_by_the_reproduction_and_kept_beside_it() -> None:
    good, runaway = "SH IY1 HH AE1 D AH0 ZH ER1</s>", "SH IY1 HH AE1 D AH0 ZH ER1 " * 4
    strict = [scored(good, "salmonn-skip"), scored(runaway, "salmonn-skip", "length")]
    kept = [scored(good, "salmonn-keep"), scored(runaway, "salmonn-keep", "length")]
    assert strict[1] is None
    assert rate("salmonn-skip", *strict) == 0.0
    assert rate("salmonn-keep", *kept) == 24 / 16
    assert [scorer.name for scorer in phonemes("salmonn-skip").scorers] == ["salmonn-skip", "salmonn-keep"]


def test_a_written_end_counts_as_an_end_and_an_unknown_one_is_kept() -> None:
    assert scored("SH IY1</s>", "salmonn-skip", "length")["D"] == 6
    assert scored("SH IY1", "salmonn-skip", "unknown")["D"] == 6
    assert scored("", "salmonn-skip", "length") is None
    assert scored("", "per-39", "length")["D"] == 8


PHONES = st.lists(st.sampled_from(["AH0", "ah", "sh", "ZH", "q", "dog", "</s>", "dcl"]), max_size=10)


@settings(deadline=None)
@given(PHONES.map(" ".join), PHONES.filter(bool).map(" ".join))
def test_the_reproduction_is_repeated_by_a_second_implementation(text, reference) -> None:
    """Small letters, no punctuation, no tags, by hand; jiwer counts."""

    def tokens(written):
        return [token.lower() for token in re.sub(r"</?s>", " ", written).split()]

    found = scored(text, "salmonn-keep", sample=Sample("one", (), "", reference=reference))
    wanted, said = tokens(reference), tokens(text)
    if wanted and said:
        words = jiwer.process_words(" ".join(wanted), " ".join(said))
        expected = words.substitutions + words.deletions + words.insertions
    else:
        expected = len(wanted) + len(said)
    assert found["S"] + found["D"] + found["I"] == expected
    assert found["N"] == len(wanted)


@pytest.mark.parametrize("name", sorted(phonemes().available))
def test_a_perfect_answer_has_no_errors(name) -> None:
    found = scored(SPEECH.reference, name)
    assert (found["S"], found["D"], found["I"], found["N"]) == (0, 0, 0, 8)


def test_the_prompt_is_salmonns() -> None:
    assert phonemes().stages[0].render(SPEECH, {})[0].parts == ("Provide the phonetic transcription for the speech.",)
