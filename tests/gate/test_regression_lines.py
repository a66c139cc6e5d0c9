"""Regression lines as they are declared."""

from __future__ import annotations

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.config import read_rules
from pytest_audiobench.gate.thresholds import Line, Threshold, parse_threshold


def test_a_drop_is_declared_beside_thresholds(tmp_path):
    file = tmp_path / "audiobench.toml"
    file.write_text(
        '[[threshold]]\neval = "a*"\nmax_drop = "2pp"\n'
        'require = ["accuracy >= 0.5", "wer[without=loop].drop <= 0.5pp", "bleu.drop<=0.4"]\n'
        '[[threshold]]\neval = "b"\nmax_drop = "none"\n'
    )
    first, second = read_rules(file).rules
    assert [str(one) for one in first.require] == ["accuracy >= 0.5"]
    assert first.drops == (Line("wer", (("without", "loop"),), "0.5pp"), Line("bleu", (), "0.4"))
    assert (first.max_drop, second.max_drop, second.require) == ("2pp", "none", ())
    assert read_rules(file).about_drops() == [
        "audiobench.toml, [[threshold]] number 1: wer[without=loop].drop <= 0.5pp, bleu.drop <= 0.4, max_drop = 2pp",
    ]


def test_a_declared_line_reads_back_as_itself():
    line = parse_threshold('accuracy[label="a, b"].drop <= 1pp')
    assert isinstance(line, Line)
    assert parse_threshold(line.text) == line
    assert isinstance(parse_threshold("accuracy >= 0.5"), Threshold)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accuracy.drop <= 1%", "1% could be a percentage of the score or a point of it"),
        ("accuracy.drop <= -1pp", "'-1pp' is not a margin"),
        ("accuracy.drop <= nan", "'nan' is not a margin"),
        ("accuracy.drop <=", "'' is not a margin"),
        ("accuracy.drop <= 1pp and more", "is not a margin"),
        ("accuracy.drop < 1pp", "should have <= after a drop, which is compared with a margin, at character 15"),
        ("accuracy.drop >= 1pp", "should have <= after a drop"),
        ("acuracy.drop <= 1pp", "did you mean 'accuracy'"),
        ("samples_per_s.drop <= 1pp", "has no points of a hundred: give its margin as a plain number"),
        ("accuracy.drop <= 1", "all that accuracy can drop by (1), so that nothing could miss it: write 1pp"),
        ("accuracy.drop <= 100pp", "all that accuracy can drop by (1), so that nothing could miss it"),
        ("wer.drop <= 5", "write 5pp for 5 points"),
        ("bleu.drop <= 100", "all that bleu can drop by (100), so"),
        ("errors.drop <= 1pp", "samples whose asking failed are in no pair: bound them by errors <= 0"),
    ],
)
def test_what_is_no_line_is_told(text, said):
    with pytest.raises(UsageError) as caught:
        parse_threshold(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", ["1", "1.5", '""', '"1%"', '"-2pp"', '["1pp"]', "true"])
def test_a_margin_of_a_rule_is_text_of_its_form(tmp_path, value):
    file = tmp_path / "audiobench.toml"
    file.write_text(f'[[threshold]]\neval = "a"\nmax_drop = {value}\n')
    with pytest.raises(UsageError, match=r"number 1: max_drop: .* write a margin as 1pp"):
        read_rules(file)
