from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.config import Rules, chosen, find_rules, read_rules

GOOD = """
[[threshold]]
eval = "sakura*"
require = ["accuracy >= 0.55", "accuracy[hop=multi] >= 0.3"]

[[threshold]]
eval = "sakura[animal-single]"
model = "qwen?"
require = ["accuracy >= 60%"]
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="audiobench.toml"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return written


def required(rules, eval_id, model):
    return [str(threshold) for rule in rules.for_eval(eval_id, model) for threshold in rule.require]


def test_rules_are_chosen_by_eval_and_model_and_all_that_match_hold(write):
    rules = read_rules(write(GOOD))
    first = ["accuracy >= 0.55", "accuracy[hop=multi] >= 0.3"]
    assert required(rules, "sakura[animal-single]", "qwen2") == [*first, "accuracy >= 0.6"]
    assert required(rules, "sakura[animal-single]", "af3") == first
    assert required(rules, "sakura[animal-multi]", "qwen2") == first
    assert required(rules, "mmau", "qwen2") == []


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("*", {"calls/one", "calls/one[noisy]", "calls/two", "Songs"}),
        ("", {"calls/one", "calls/one[noisy]", "calls/two", "Songs"}),
        ("one", {"calls/one", "calls/one[noisy]"}),
        ("song", {"Songs"}),
        ("calls/one", {"calls/one"}),
        ("*one", {"calls/one"}),
        ("*/t?o", {"calls/two"}),
        (["[noisy]", "two"], {"calls/one[noisy]", "calls/two"}),
    ],
)
def test_a_part_of_a_name_chooses_and_a_whole_name_itself_alone(patterns, expected):
    assert chosen(patterns, ["calls/one", "calls/one[noisy]", "calls/two", "Songs"], "eval of r") == expected


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        ("tow", "no eval of r matches 'tow'; did you mean 'two'?"),
        (["one", "calls/tow"], "no eval of r matches 'calls/tow'; did you mean 'calls/two' or 'calls/one'?"),
        ("one*", "no eval of r matches 'one*'; did you mean 'one'?"),
        ("birds", "no eval of r matches 'birds'; there are one, two"),
    ],
)
def test_what_chooses_nothing_is_refused_with_the_names_that_there_are(patterns, said):
    with pytest.raises(UsageError) as refused:
        chosen(patterns, ["calls/one", "calls/two"], "eval of r")
    assert str(refused.value) == said


def test_a_rule_knows_its_place(write):
    rules = read_rules(write(GOOD))
    assert [rule.place for rule in rules.rules] == [
        "audiobench.toml, [[threshold]] number 1",
        "audiobench.toml, [[threshold]] number 2",
    ]


def test_pyproject_holds_rules_under_its_tool_table(write, tmp_path):
    write('[tool.audiobench]\n[[tool.audiobench.threshold]]\neval = "*"\nrequire = ["wer <= 0.1"]', "pyproject.toml")
    rules = find_rules(tmp_path)
    assert required(rules, "anything", "m") == ["wer <= 0.1"]
    assert rules.rules[0].place == "pyproject.toml, [tool.audiobench], [[threshold]] number 1"


def test_no_file_and_a_file_of_other_things_are_no_rules(write, tmp_path):
    assert find_rules(tmp_path) == Rules()
    write("[project]\nname = 'x'\n[tool.ruff]\nline-length = 100", "pyproject.toml")
    assert not find_rules(tmp_path)


def test_audiobench_toml_stands_beside_a_pyproject_without_thresholds(write, tmp_path):
    write("[tool.audiobench]", "pyproject.toml")
    write(GOOD)
    assert len(find_rules(tmp_path).rules) == 2


def test_thresholds_in_both_files_are_a_usage_error(write, tmp_path):
    write('[[tool.audiobench.threshold]]\neval = "*"\nrequire = ["wer <= 0.1"]', "pyproject.toml")
    write(GOOD)
    with pytest.raises(UsageError, match=r"declared twice, in audiobench\.toml and in pyproject\.toml"):
        find_rules(tmp_path)


def test_a_given_file_is_the_only_one_read(write, tmp_path):
    write(GOOD)
    other = write('[[threshold]]\neval = "*"\nrequire = ["wer <= 0.1"]', "other.toml")
    assert required(find_rules(tmp_path, other), "sakura[x]", "m") == ["wer <= 0.1"]
    with pytest.raises(UsageError, match=r"there is no threshold file .*missing\.toml"):
        find_rules(tmp_path, tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[threshold]", "audiobench.toml is not TOML in UTF-8: .*line 1"),
        (b"eval = '\xff'", "audiobench.toml is not TOML in UTF-8"),
        ("a = " + "[" * 5000, "audiobench.toml is not TOML in UTF-8"),
        ("[[thresholds]]\neval = '*'", "unknown key 'thresholds'; did you mean 'threshold'"),
        ("gate = 1", "unknown key 'gate'; allowed: threshold, calibration"),
        ("[threshold]\neval = '*'", "threshold must be an array of tables"),
        ("threshold = [1]", "number 1 must be a table, not 1"),
        ("[[threshold]]\nrequire = ['wer <= 0.1']", "number 1 has no eval"),
        ("[[threshold]]\neval = '*'", "number 1 has no require"),
        ("[[threshold]]\neval = '*'\nrequire = []", "require must be a list of texts .* not an empty list"),
        ("[[threshold]]\neval = '*'\nrequire = 'wer <= 0.1'", "require must be a list of texts"),
        ("[[threshold]]\neval = '*'\nrequire = [0.5]", r"require must be a list of texts .* not \[0.5\]"),
        ("[[threshold]]\neval = 3\nrequire = ['wer <= 0.1']", 'eval must be a pattern such as "sakura\\*", not 3'),
        ("[[threshold]]\neval = ''\nrequire = ['wer <= 0.1']", "eval must be a pattern .* not an empty text"),
        ("[[threshold]]\neval = '*'\nmodel = ['a']\nrequire = ['wer <= 0.1']", "model must be a pattern"),
        ("[[threshold]]\neval = '*'\nrequires = ['wer <= 0.1']", "unknown key 'requires'; did you mean 'require'"),
        (GOOD + "[[threshold]]\neval = '*'\nrequire = ['acc >= 1']", "number 3: the threshold 'acc >= 1' names what"),
        (GOOD + "[[threshold]]\neval = '*'\nrequire = ['wer = 1']", "number 3: the threshold 'wer = 1' should have"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(write, text, message):
    with pytest.raises(UsageError, match=message):
        read_rules(write(text))


def test_all_mistakes_of_a_file_are_named_at_once(write):
    file = write(
        "gate = 1\n[[threshold]]\neval = 3\nmodle = 'm'\nmax_drop = 2\n"
        "require = ['acc >= 1', 'wer <= 0.1', 'wer = 1']\n[[threshold]]\n"
    )
    with pytest.raises(UsageError) as raised:
        read_rules(file)
    assert [sentence.partition(": write")[0][:100] for sentence in str(raised.value).splitlines()] == [
        "audiobench.toml has the unknown key 'gate'; allowed: threshold, calibration",
        "audiobench.toml, [[threshold]] number 1 has the unknown key 'modle'; did you mean 'model'?",
        "audiobench.toml, [[threshold]] number 1: the threshold 'acc >= 1' names what is not measured: no met",
        "audiobench.toml, [[threshold]] number 1: the threshold 'wer = 1' should have one of >=, >, <=, < at ",
        'audiobench.toml, [[threshold]] number 1: eval must be a pattern such as "sakura*", not 3',
        "audiobench.toml, [[threshold]] number 1: max_drop: 2 is not text",
        "audiobench.toml, [[threshold]] number 2 has no eval",
        "audiobench.toml, [[threshold]] number 2 has no require",
    ]


def test_of_many_mistakes_ten_are_shown_and_the_others_counted(write):
    with pytest.raises(UsageError) as raised:
        read_rules(write("[[threshold]]\neval = '*'\n" * 33))
    sentences = str(raised.value).splitlines()
    assert ["number 1 " in sentences[0], "number 10 " in sentences[-1], len(sentences)] == [True, True, 10]
    assert sentences[-1].endswith(" (and 23 more)")


def test_a_key_that_is_misspelled_is_not_missing_too(write):
    with pytest.raises(UsageError) as raised:
        read_rules(write("[[threshold]]\nevl = '*'\nmaxdrop = '1pp'"))
    assert str(raised.value).splitlines() == [
        "audiobench.toml, [[threshold]] number 1 has the unknown key 'evl'; did you mean 'eval'?",
        "audiobench.toml, [[threshold]] number 1 has the unknown key 'maxdrop'; did you mean 'max_drop'?",
    ]


@pytest.mark.parametrize(("name", "header"), [("audiobench.toml", ""), ("pyproject.toml", "tool.audiobench.")])
def test_the_advice_is_a_rule_that_the_same_file_takes(write, name, header):
    with pytest.raises(UsageError) as raised:
        read_rules(write(f"[[{header}threshold]]\nmodel = 'm'", name))
    advice = str(raised.value).splitlines()[0].partition(": write ")[2]
    table, eval_, _, require = re.fullmatch(
        r'(\[\[.*\]\]) with (eval = "\w+"), (model = "\w+") .* (require = \["[^"]+"), …\] .*', advice
    ).groups()
    assert read_rules(write(f"{table}\n{eval_}\n{require}]", name)).rules


def test_a_tool_table_that_is_none_is_told(write):
    with pytest.raises(UsageError, match=r"\[tool.audiobench\] must be a table, not 3"):
        read_rules(write("tool.audiobench = 3", "pyproject.toml"))


def test_a_byte_order_mark_does_no_harm(write):
    assert read_rules(write(b"\xef\xbb\xbf" + GOOD.encode()))


TEXTS = st.sampled_from(["*", "wer <= 0.1", "acuracy >= 1", "wer.drop <= 1pp", "1pp", "none", ""])
ENTRIES = st.dictionaries(
    st.sampled_from(["eval", "model", "require", "max_drop", "requires", "x"]),
    TEXTS | st.integers(0, 3) | st.booleans() | st.lists(TEXTS | st.integers(0, 3), max_size=3),
)
TABLES = st.lists(ENTRIES, max_size=6).map(
    # JSON's texts, numbers, booleans and lists are TOML's.
    lambda entries: "\n".join(
        "\n".join(["[[threshold]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())])
        for entry in entries
    )
)


@given(st.text(alphabet="[]threshold=eval\"require*\n .,'12", max_size=80) | TABLES)
def test_any_file_is_rules_or_a_usage_error_of_at_most_ten_lines_that_name_it(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("any") / "audiobench.toml"
    file.write_text(text)
    try:
        rules = read_rules(file)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all("audiobench.toml" in sentence for sentence in sentences)
    else:
        assert len(rules.rules) == text.count("[[threshold]]")


def test_a_pattern_that_matches_no_eval_of_the_benchmark_is_named_with_the_nearest(write):
    rules = read_rules(write(GOOD + "[[threshold]]\neval = 'sakura[animal-singel]'\nrequire = ['accuracy >= 0.1']"))
    assert rules.unmatched(["sakura[animal-single]", "mmau"]) == [
        "audiobench.toml, [[threshold]] number 3: no eval matches 'sakura[animal-singel]'; "
        "did you mean 'sakura[animal-single]'?"
    ]
    assert len(rules.unmatched([])) == 3


def test_rules_that_a_selection_leaves_out_are_listed(write):
    rules = read_rules(write(GOOD))
    assert rules.left_out([("sakura[animal-single]", "qwen2")]) == []
    assert rules.left_out([("sakura[animal-single]", "af3")]) == [
        "audiobench.toml, [[threshold]] number 2: nothing selected matches "
        "eval = 'sakura[animal-single]', model = 'qwen?'"
    ]
