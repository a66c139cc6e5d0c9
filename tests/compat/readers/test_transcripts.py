"""Transcripts in pairs of files, held to sclite's counts and to what was written into them."""

import itertools
import json
from pathlib import Path

import jiwer
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from pytest_audiobench.compat.answer_files import AnswerFile, ReadingTerms
from pytest_audiobench.compat.readers.transcripts import kaldi_texts, trn_texts
from pytest_audiobench.compat.transcript_alternatives import held_to, slots_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

CASES = json.loads(Path(__file__).with_name("sclite.json").read_text())["cases"]

LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="(){}/@;\\")
WORD = st.text(LETTERS, min_size=1, max_size=6)
TEXT = st.lists(WORD, max_size=6).map(" ".join)
ID = st.from_regex(r"[A-Za-z0-9_.\-]{1,8}(\([a-z0-9 ]{0,4}\)[a-z0-9]{0,3})?", fullmatch=True)
FORMS = st.tuples(st.booleans(), st.booleans())


def errors(reference, hypothesis):
    return Levenshtein.distance(reference.split(), hypothesis.split())


def written(lines, form):
    """The lines as files have them: with a byte order mark or without, with either line end."""
    mark, crlf = form
    text = "".join(f"{line}{chr(13) * crlf}\n" for line in lines)
    return b"\xef\xbb\xbf" * mark + text.encode()


def file_of(folder, name, lines, form=(False, False)):
    (folder / name).write_bytes(written(lines, form))
    return folder / name


@pytest.mark.parametrize(("reference", "hypothesis", "count"), CASES)
def test_alternatives_and_optional_words_make_as_many_errors_as_sclite_counts(reference, hypothesis, count):
    assert errors(*held_to(reference, hypothesis)) == count


SLOT = st.one_of(
    st.sampled_from("abc").map(lambda word: ((word,),)),
    st.lists(st.lists(st.sampled_from("abc"), max_size=2).map(tuple), min_size=2, max_size=3, unique=True).map(tuple),
)


def as_written(slot):
    if len(slot) == 1:
        return slot[0][0]
    return "{ " + " / ".join(" ".join(words) or "@" for words in slot) + " }"


@given(st.lists(SLOT, max_size=4), st.lists(st.sampled_from("abcd"), max_size=6))
@example([(("a",),), (("a",),), ((), ("a", "b")), (("a",),)], list("aaaab"))
def test_a_hypothesis_has_the_errors_of_the_wording_that_it_is_nearest_to(slots, said):
    reference, answer = held_to(" ".join(map(as_written, slots)), " ".join(said))
    fewest = min(
        Levenshtein.distance([word for words in choice for word in words], said) for choice in itertools.product(*slots)
    )
    assert reference.split() == [word for slot in slots for word in slot[0]]
    assert errors(reference, answer) == fewest


def test_a_word_that_stands_for_an_error_is_one_character_and_none_of_the_references():
    reference, answer = held_to("{ 他 / @ / 他 好 }", "好 我 好 我")
    assert Levenshtein.distance(reference, answer.replace(" ", "")) == Levenshtein.distance("他好", "好我好我") == 3


@given(TEXT, TEXT)
def test_texts_without_alternatives_stay_as_they_are(reference, hypothesis):
    assert held_to(reference, hypothesis) == (reference, hypothesis)


def test_braces_without_a_choice_are_words():
    assert slots_of("{ a b } c") == [(("{",),), (("a",),), (("b",),), (("}",),), (("c",),)]


@given(st.dictionaries(ID, TEXT, min_size=1, max_size=6), FORMS)
def test_a_trn_gives_back_what_was_written(tmp_path_factory, texts, form):
    lines = [";; a comment", "", *(f"{text} ({id_})".strip() for id_, text in texts.items())]
    assert trn_texts(AnswerFile(file_of(tmp_path_factory.mktemp("trn"), "hyp.trn", lines, form))) == texts


@given(st.dictionaries(ID.filter(lambda id_: " " not in id_), TEXT, min_size=1, max_size=6), FORMS, st.booleans())
def test_a_kaldi_text_gives_back_what_was_written(tmp_path_factory, texts, form, tabs):
    lines = [f"{id_}{chr(9) if tabs else ' '}{text}" for id_, text in texts.items()]
    assert kaldi_texts(AnswerFile(file_of(tmp_path_factory.mktemp("kaldi"), "text", lines, form))) == texts


def test_words_in_parentheses_are_not_taken_for_the_id(tmp_path):
    file = file_of(tmp_path, "hyp.trn", ["he said (s-1) and (uh) left (s-2)", "(s-3)"])
    assert trn_texts(AnswerFile(file)) == {"s-2": "he said (s-1) and (uh) left", "s-3": ""}


@pytest.mark.parametrize(("name", "lines"), [("hyp.trn", ["a (x)", "b (x)"]), ("text", ["x1 a", "x1 b"])])
def test_an_id_that_comes_twice_is_refused(tmp_path, name, lines):
    texts_of = trn_texts if name == "hyp.trn" else kaldi_texts
    with pytest.raises(UsageError, match=r"line 2: the id 'x1?' comes twice"):
        texts_of(AnswerFile(file_of(tmp_path, name, lines)))


def test_a_line_without_an_id_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"hyp\.trn, line 2 does not end with an id"):
        trn_texts(AnswerFile(file_of(tmp_path, "hyp.trn", ["a (x)", "b"])))


def test_hypotheses_without_references_and_references_without_hypotheses_are_named(tmp_path):
    file_of(tmp_path, "ref.trn", ["a (u1)", "b (u2)", "c (u3)"])
    hypotheses = file_of(tmp_path, "hyp.trn", ["a (u1)"])
    with pytest.raises(UsageError, match=r"has no hypothesis of 'u2', 'u3' \(1 hypotheses, 3 references\)"):
        list(source_of(hypotheses).rows())
    more = file_of(tmp_path, "more.trn", ["a (u1)", "b (u2)", "c (u3)", "d (u4)"])
    with pytest.raises(UsageError, match="has no reference of 'u4'"):
        list(source_of(more).rows())


def test_ids_in_another_case_are_the_same_as_for_sclite(tmp_path):
    file_of(tmp_path, "ref.trn", ["a b (U1)"])
    (row,) = source_of(file_of(tmp_path, "hyp.trn", ["a c (u1)"])).rows()
    assert (row.sample.id, row.sample.reference) == ("u1", "a b")


def test_references_that_could_be_in_two_files_have_to_be_named(tmp_path):
    for name in ("ref.trn", "old_ref.trn"):
        file_of(tmp_path, name, ["a (u1)"])
    hypotheses = file_of(tmp_path, "hyp.trn", ["a (u1)"])
    with pytest.raises(UsageError, match=r"could be in any of old_ref\.trn, ref\.trn: say which by --references"):
        source_of(hypotheses)
    terms = ReadingTerms(references=tmp_path / "ref.trn")
    (row,) = source_of(hypotheses, terms=terms).rows()
    assert row.sample.reference == "a"


def test_hypotheses_without_a_file_of_references_are_refused_with_the_option_that_names_one(tmp_path):
    with pytest.raises(UsageError, match=r"no reference of 'u1'.*--references"):
        list(source_of(file_of(tmp_path, "hyp.trn", ["a (u1)"])).rows())


PAIRS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["one", "two", "drei", "четыре"]), min_size=1, max_size=8).map(" ".join),
        st.lists(st.sampled_from(["one", "two", "drei", "четыре"]), max_size=8).map(" ".join),
    ),
    min_size=1,
    max_size=5,
)


@given(PAIRS, st.sampled_from(["trn", "text"]))
def test_the_word_error_rate_of_a_pair_of_files_is_that_of_jiwer(tmp_path_factory, pairs, kind):
    folder = tmp_path_factory.mktemp("pair")
    for name, side in (("ref", 0), ("hyp", 1)):
        texts = {f"utt-{number}": pair[side] for number, pair in enumerate(pairs)}
        lines = [f"{text} ({id_})" if kind == "trn" else f"{id_} {text}" for id_, text in texts.items()]
        file_of(folder, {"trn": f"{name}.trn", "text": "ref.txt" if name == "ref" else "text"}[kind], lines)
    hypotheses = folder / ("hyp.trn" if kind == "trn" else "text")
    (item,) = rescore(source_of(hypotheses), ScoringOptions(("wer-basic",))).items
    references, answers = zip(*pairs, strict=True)
    assert item.metrics[0].value == pytest.approx(jiwer.wer(list(references), list(answers)))


@pytest.mark.parametrize(
    ("references", "hypotheses", "form"),
    [("ref.trn", "whisper.trn", "{text} ({id})\n"), ("ref.txt", "whisper.txt", "{id} {text}\n")],
)
def test_a_line_that_was_cut_or_written_twice_is_named_also_in_a_short_file(tmp_path, references, hypotheses, form):
    lines = [form.format(id=f"u{number}", text="a b") for number in range(9)]
    (tmp_path / references).write_text("".join(lines))
    (tmp_path / hypotheses).write_text("".join([*lines, lines[0], "a"]))
    with pytest.raises(UsageError, match="line 10: the id 'u0' comes twice"):
        rescore(source_of(tmp_path / hypotheses), ScoringOptions())
