"""Tables of answers: their columns by name or by guess, and the oddities of the files that hold them."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.compat.answer_files import AnswerFile, ReadingTerms, all_readers, answers_of, terms_beside
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

CELL = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\r\x00"), max_size=8)


def answers(path, **columns):
    return answers_of(all_readers()["table"], AnswerFile(path, ReadingTerms(columns=columns)))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@given(
    st.dictionaries(st.text("abcdefü-(){}0123", min_size=1, max_size=6), st.tuples(CELL, CELL), min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_a_csv_gives_back_what_was_written(tmp_path_factory, cells, mark, crlf):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig" if mark else "utf-8") as file:
        rows = csv.writer(file, lineterminator="\r\n" if crlf else "\n")
        rows.writerow(["id", "prediction", "reference"])
        rows.writerows([id_, *pair] for id_, pair in cells.items())
    read = {row.id: (row.answer, row.reference) for row in answers(path)}
    assert read == cells


@given(st.dictionaries(st.text("abcü-()0123", min_size=1, max_size=6), st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_a_table_is_the_same_in_every_format(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("formats")
    rows = [{"id": id_, "prediction": answer, "reference": truth} for id_, (answer, truth) in cells.items()]
    written(folder / "a.json", json.dumps(rows))
    written(folder / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet")
    first, *others = (answers(folder / f"a.{kind}") for kind in ("json", "jsonl", "parquet"))
    assert [(row.id, row.answer, row.reference) for row in first] == [(id_, *pair) for id_, pair in cells.items()]
    assert [[(row.id, row.answer, row.reference) for row in rows] for rows in others] == [
        [(row.id, row.answer, row.reference) for row in first]
    ] * 2


def test_tabs_separate_cells_in_which_quotes_are_characters(tmp_path):
    file = written(tmp_path / "a.tsv", 'id\thyp\tref\n1\tsay "a\tsay, b\n')
    (row,) = answers(file)
    assert (row.id, row.answer, row.reference) == ("1", 'say "a', "say, b")


def test_columns_are_taken_by_the_names_that_the_user_gives_them(tmp_path):
    rows = [{"q": "Which?", "o": ["hen", "dog"], "said": "B", "true": "dog", "who": "7", "a": "us", "b": "f", "s": 0.5}]
    file = written(tmp_path / "m" / "a.json", json.dumps(rows)) if (tmp_path / "m").mkdir() is None else None
    columns = {"id": "who", "answer": "said", "reference": "true", "choices": "o", "question": "q"}
    (row,) = answers(file, **columns, groups="a+b", own="s")
    assert (row.id, row.answer, row.reference, row.options, row.question) == ("7", "B", "dog", ("hen", "dog"), "Which?")
    assert (row.groups, row.own, row.family) == ({"a": "us", "b": "f"}, {"s": 0.5}, "multiple_choice")
    assert (row.eval, row.model) == ("a", "m")


def test_a_column_that_there_is_not_is_refused_with_those_that_there_are(tmp_path):
    file = written(tmp_path / "a.csv", "utt,said\nu1,a\n")
    with pytest.raises(UsageError, match=r"has no column 'sad', which answer= names: it has 'utt', 'said'$"):
        answers(file, answer="sad")
    with pytest.raises(UsageError, match="a column is named for id, answer, reference"):
        answers(file, answr="said")


def test_columns_that_could_be_either_are_not_guessed(tmp_path):
    file = written(tmp_path / "a.csv", "id,prediction,response,reference\n1,a,b,c\n")
    with pytest.raises(UsageError, match="the answer could be in 'prediction' or 'response': say which by --columns"):
        answers(file)
    (row,) = answers(file, answer="response")
    assert (row.answer, row.reference) == ("b", "c")


def test_a_guess_is_told_in_the_words_that_would_say_it(tmp_path):
    file = written(tmp_path / "a.csv", "utt_id,hyp,ref\n1,a,c\n")
    (row,) = answers(file)
    assert row.note == "the columns of a.csv were guessed by their names: --columns id=utt_id,answer=hyp,reference=ref"
    (row,) = answers(file, id="utt_id", answer="hyp", reference="ref")
    assert row.note == ""


def test_a_nemo_manifest_with_predictions_is_a_table(tmp_path):
    line = {"audio_filepath": "a/1.wav", "duration": 1.5, "text": "one two", "pred_text": "one too"}
    (row,) = answers(written(tmp_path / "a.json", json.dumps(line) + "\n"))
    assert (row.id, row.answer, row.reference, row.audio) == ("a/1.wav", "one too", "one two", "a/1.wav")
    assert "samples are called by 'audio_filepath'" in row.note


@pytest.mark.parametrize(
    ("options", "reference", "option"),
    [
        (["hen", "dog"], "B", "dog"),
        (["(A) hen", "(B) dog"], "(B) dog", "dog"),
        ("hen|dog", "hen", "hen"),
        ("A. hen\nB. dog", "b", "dog"),
        ("['hen', 'dog']", "dog", "dog"),
        ({"A": "hen", "B": "dog"}, "A", "hen"),
    ],
)
def test_options_are_read_as_they_are_usually_written(tmp_path, options, reference, option):
    row = {"id": "1", "prediction": "x", "options": options, "reference": reference}
    (row,) = answers(written(tmp_path / "a.jsonl", json.dumps(row) + "\n"))
    assert (row.options, row.reference) == (("hen", "dog"), option)


def test_several_references_are_all_right(tmp_path):
    row = {"id": "1", "prediction": "x", "reference": ["a", "b"]}
    (row,) = answers(written(tmp_path / "a.jsonl", json.dumps(row) + "\n"))
    assert row.reference == ("a", "b")


def test_an_empty_cell_is_an_empty_answer_and_null_a_failed_asking(tmp_path):
    rows = [{"id": "1", "prediction": "", "reference": "a"}, {"id": "2", "prediction": None, "reference": "b"}]
    file = written(tmp_path / "a.json", json.dumps(rows))
    (item,) = rescore(source_of(file), ScoringOptions(("wer-basic",), "transcription")).items
    coverage = item.scorers[0].coverage
    assert (coverage.empty, coverage.errors) == (1, 1)


def test_an_id_that_comes_twice_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"holds '1' of a by .* twice"):
        answers(written(tmp_path / "a.csv", "id,hyp,ref\n1,a,b\n1,c,d\n"))


def test_rows_without_a_reference_are_named(tmp_path):
    file = written(tmp_path / "a.json", json.dumps([{"id": str(number), "prediction": "x"} for number in range(7)]))
    with pytest.raises(UsageError, match="reference of '0', '1', '2', '3', '4' and 2 more: give --references FILE"):
        list(source_of(file).rows())


def test_references_of_a_table_may_lie_in_another(tmp_path):
    written(tmp_path / "true.tsv", "utt\ttext\n1\tone\n2\ttwo\n")
    file = written(tmp_path / "a.csv", "utt,hyp\n2,too\n1,one\n")
    terms = ReadingTerms(references=tmp_path / "true.tsv")
    rows = {row.sample.id: row.sample.reference for row in source_of(file, terms=terms).rows()}
    assert rows == {"1": "one", "2": "two"}


def test_a_row_with_too_few_cells_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"line 3 has 2 cells under a header of 3"):
        answers(written(tmp_path / "a.csv", "id,hyp,ref\n1,a,b\n2,c\n"))


def test_rows_of_several_evals_and_models_may_be_mixed(tmp_path):
    lines = ["id,hyp,ref,task,system", "1,a,a,clean,x", "1,a,b,other,y", "2,a,a,clean,x", "1,c,c,clean,y"]
    file = written(tmp_path / "a.csv", "\n".join(lines) + "\n")
    terms = ReadingTerms(columns={"eval": "task", "model": "system"}, family="transcription")
    items = rescore(source_of(file, terms=terms), ScoringOptions(("wer-basic",))).items
    assert [(item.eval, item.model, item.n) for item in items] == [
        ("clean", "x", 2),
        ("clean", "y", 1),
        ("other", "y", 1),
    ]


def test_what_is_said_of_one_file_goes_before_what_is_said_of_all(tmp_path):
    written(
        tmp_path / "answers.toml",
        'family = "transcription"\n[columns]\nid = "utt"\nanswer = "said"\n["b.csv"]\nmodel = "ours"\n'
        '["b.csv".columns]\nanswer = "other"\n',
    )
    first, second = terms_beside(tmp_path / "a.csv"), terms_beside(tmp_path / "b.csv")
    assert (first.columns, first.model, first.family) == ({"id": "utt", "answer": "said"}, "", "transcription")
    assert (second.columns, second.model) == ({"id": "utt", "answer": "other"}, "ours")
    said = terms_beside(tmp_path / "b.csv", ReadingTerms(columns={"answer": "third"}, model="mine"))
    assert (said.columns, said.model) == ({"id": "utt", "answer": "third"}, "mine")


@pytest.mark.parametrize(
    ("text", "says"),
    [("colour = 'red'\n", "'colour' means nothing; there are columns, references"), ("a = = b\n", "write TOML")],
)
def test_terms_that_mean_nothing_are_refused(tmp_path, text, says):
    written(tmp_path / "answers.toml", text)
    with pytest.raises(UsageError, match=says):
        terms_beside(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [{"id": "1", "prediction": {"text": "a"}, "reference": "a"}],
            "1 answers in 'prediction' are JSON objects, and are scored as JSON",
        ),
        (
            [{"id": "1", "prediction": "a", "reference": "NaN"}],
            "1 references in 'reference' are the word NaN, as tables write a missing value",
        ),
        (
            [{"id": float("nan"), "prediction": "a", "reference": "a"}],
            "1 rows have no id in 'id', so these samples are called by their place",
        ),
    ],
)
def test_cells_whose_figure_would_mean_something_else_are_counted_in_a_note(tmp_path, rows, says):
    path = written(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert says in answers(path)[0].note


def test_a_number_that_is_none_is_a_missing_value_and_no_word(tmp_path):
    row = {"id": "1", "prediction": float("nan"), "reference": "a"}
    (answer,) = answers(written(tmp_path / "a.jsonl", json.dumps(row)))
    assert answer.answer is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"id;prediction;reference\n1;a;a\n", "are its cells put apart by ';'"),
        ("id,prediction,reference\n1,a,a\n".encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_a_table_that_is_written_otherwise_is_refused_with_what_it_is(tmp_path, content, says):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        answers(path)


def test_references_without_an_answer_are_counted_in_a_note(tmp_path):
    hypotheses = written(tmp_path / "a.csv", "id,prediction\n1,a\n")
    references = written(tmp_path / "true.csv", "id,reference\n1,a\n2,b\n3,c\n")
    (answer,) = answers_of(all_readers()["table"], AnswerFile(hypotheses, ReadingTerms(references=references)))
    assert answer.note.endswith("2 of 3 references in true.csv have no answer: the figures are of the others")
