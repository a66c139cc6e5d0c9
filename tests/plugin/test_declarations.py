"""Evals without code, as they are read: all that is wrong with a file is said at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.plugin.declarative import read_declaration


@pytest.fixture
def mistakes(tmp_path, pytestconfig):
    """What is said of a file, without its path."""

    def refused(text):
        path = tmp_path / "mine.audiobench.toml"
        path.write_text(text)
        with pytest.raises(UsageError) as raised:
            read_declaration(path, pytestconfig)
        assert all(sentence.startswith(str(path)) for sentence in str(raised.value).splitlines())
        return [sentence.removeprefix(str(path)) for sentence in str(raised.value).splitlines()]

    return refused


def test_all_mistakes_of_a_file_are_named_at_once(mistakes):
    assert mistakes(
        'manifest = "a.jsonl"\ndataset = "mmau"\ngroups = "hop"\ncolour = "red"\nclustre = "speaker"\n'
        'protocol = "translation"\ntarget = 3\nrequire = ["acuracy >= 1", "chrf >= 0.1", "bleu"]\n'
    ) == [
        ": groups must be a list of strings, not 'hop'",
        " has the unknown key 'colour'; allowed: manifest, dataset, protocol, scorers, judge, rubric, perturbations, "
        "cluster, groups, question, id, audio, answer, references, root, choices, require, source, fetch, data, "
        "sample, layout, submission, parameters, vocabulary, prompts, published, unproven, note, suites, averages, "
        "pooled, and for translation target, prompt, system, max_new_tokens",
        " has the unknown key 'clustre'; did you mean 'cluster'?",
        ": translation takes a string or none as its target, not 3",
        ": name either a manifest or a dataset, or declare one in [data] and [sample]",
        ": the threshold 'acuracy >= 1' names what is not measured: no metric is called 'acuracy'; "
        "did you mean 'accuracy'?",
        ": the threshold 'bleu' should have one of >=, >, <=, < at its end; write it as accuracy >= 0.55, wer <= 12%, "
        "accuracy[hop=multi] >= 0.3, accuracy.lower >= 0.5 or accuracy.drop <= 1pp",
    ]


def test_all_mistakes_of_declared_data_are_named_with_their_table_and_key(mistakes):
    assert mistakes(
        'cluster = "speaker"\ngroups = ["sped"]\n'
        '[source]\nlicense = "MIT"\n'
        '[data]\nrows = ["../rows.csv", "{split}.csv", "rows.xml"]\n'
        '[sample]\nid = "{id|stm}"\naudio = "{file"\nchoices = ["{a}", "{b?} or so"]\nmetadata = ["speed"]\n'
    ) == [
        ", [source] has the unknown key 'license'; did you mean 'licence'?",
        ", [sample], id, '{id|stm}': it names the transform 'stm'; did you mean 'stem'?",
        ", [sample], audio, '{file': it has a brace that is no {column}, {column?} or {column|transform}",
        ", [sample], choices, '{b?} or so': it has {b?} within a text; a column that may be absent stands alone",
        ", [data], rows, '../rows.csv': it cannot be used: the path '../rows.csv' leaves its folder; write it "
        "relative to the folder, without ..",
        ", [data], rows, 'rows.xml': it ends with none of .json, .jsonl, .ndjson, .csv, .tsv, .txt, .parquet, and with "
        "none of audio, such as .wav",
        ", [data], rows, '{split}.csv': it names {split}, which is not one of the [parameters], and no column that a "
        "sample is made of; write * for what does not matter",
        ", [sample] has neither 'answer' nor 'references'; add what is true",
        ": cluster names 'speaker', which [sample] has not in its metadata; did you mean 'speed'?",
        ": groups names 'sped', which [sample] has not in its metadata; did you mean 'speed'?",
    ]


def test_a_key_is_seen_to_be_misspelled_where_the_protocol_is_too(mistakes):
    _, sentence = mistakes('datset = "a"\nprotocol = "translatio"\ntarget = 3\n')
    assert sentence.endswith("has the unknown key 'datset'; did you mean 'dataset'?")


def test_keys_of_a_manifest_are_refused_beside_a_dataset(mistakes):
    first, second = mistakes('dataset = "bundled"\nchoices = 3\naudio = "filename"\nanswer = "label"\n')
    assert first.endswith("choices must be a string or a list of strings, not 3")
    assert second.endswith("audio, answer, choices say how a manifest is read; a dataset has its own")


DATA = '[data]\nrows = "rows.csv"\n[sample]\nid = "{id}"\naudio = "{file}"\nanswer = "{label}"\n'


OTHER = (
    '[parameters]\nsplit = ["dev"]\n[[layout]]\nparameters = { split = "dev" }\n[layout.data]\nrows = "rows.json"\n'
    '[layout.sample]\nid = "{id}"\naudio = "{sound}"\nanswer = "{label}"\n'
)
SUITES = '[parameters]\nsplit = ["spring", "autumn"]\n[data.where]\nsplit = "{split}"\n[suites]\nsome = ["spring"]\n'
AVERAGES = (
    '[parameters]\nsplit = ["spring", "autumn"]\n[data.where]\nsplit = "{split}"\n'
    '[averages]\nboth = ["autumn", "spring"]\n'
)
ROW = '[[published]]\nmodel = "m"\nmetric = "accuracy"\nvalue = 1\nconditions = "c"\nsource = "s"\n'
PRINTED = ROW.replace('model = "m"', 'models = ["m"]').replace("value = 1\n", "") + "[published.values]\n"
WITHHELD = '[submission]\nparameters = { split = "test" }\nprediction = "model_output"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DATA.replace('"rows.csv"', "3"), ", [data]: rows must be a text or a list, not 3"),
        (DATA.replace("rows =", "row ="), ", [data] has the unknown key 'row'; did you mean 'rows'?"),
        (DATA.replace('id = "{id}"\n', ""), ", [sample] has no 'id'; add it"),
        (DATA + "[parameters]\nspeed = []\n", ": parameters, 'speed' must be a list of length at least 1, not of 0"),
        (
            DATA + '[parameters]\n"a b" = "c"\n',
            ", [parameters]: 'a b' is not a name; write letters, digits and underscores",
        ),
        (
            DATA + '[parameters]\ntask = ["a"]\n[[task]]\nname = "b"\ndata.where = { text = "{task}" }\n',
            ", [parameters]: 'task' is what chooses a [[task]]; call the parameter something else",
        ),
        (
            DATA.replace("rows.csv", "{splt}.csv") + '[parameters]\nsplit = ["a"]\n',
            ", [parameters]: nothing is made of 'split'; write {split} where it belongs",
        ),
        (DATA.replace("rows.csv", "{a|stm}.csv"), "rows, '{a|stm}.csv': it names {a|stm}, which is not one"),
        (DATA.replace("rows.csv", "{label}.parquet"), "it has a name in it; of shards only * is a pattern"),
        (
            DATA.replace("rows.csv", "{a}.csv") + '[parameters]\na = { values = ["b"], others = "(" }\n',
            ", [parameters], a: others, '(', is not a pattern",
        ),
        (DATA + '[parameters]\na = { values = ["b"] }\n', ": parameters, 'a' has no 'others'"),
        (DATA + 'start = "{begin}"\n', ", [sample] has only one of 'start' and 'end'; a clip in a recording has both"),
        (DATA.replace("[sample]", 'list = "a"\n[sample]'), "[data], list: only a .json file has an array of that name"),
        (
            DATA.replace('rows.csv"', 'rows.csv"\nthroughout = { a = "1" }'),
            ", [data], throughout: it is of rows that 'merge' makes one; add that, or use 'where'",
        ),
        (DATA + 'join = 0.1\nspeech = { text = "{a}", voice = "b" }\n', "must have one of 'audio' and 'speech'"),
        (DATA + '[[published]]\nmodel = "m"\n', ": published 1 has no 'metric'"),
        (DATA + '[source]\ndomain = "skip"\n', ", [source]: 'skip' is a marker of pytest's own"),
        (
            DATA.replace("[sample]", "count = 0\n[sample]"),
            ", [data]: count must be a whole number of at least 1, not 0",
        ),
        (DATA.replace("[sample]", 'count = "{n}"\n[sample]'), ", [data], count, '{n}': it is '{n}', and no number"),
        (
            DATA.replace("[sample]", 'count = "{kind}"\n[sample]') + '[parameters]\nkind = ["5", "5.5"]\n',
            ", [data], count, '{kind}': it is 5.5, and rows are whole",
        ),
        (DATA + 'first_seconds = "0"\n', ", [sample], first_seconds, '0': it is 0, and not more than 0"),
        (DATA + 'first_seconds = "nan"\n', ", [sample], first_seconds, 'nan': it is nan, and not more than 0"),
        (
            DATA + SUITES.replace('some = ["spring', 'some = ["sprung'),
            ", [suites], some: no eval of the file is 'sprung'; did you mean",
        ),
        (DATA + SUITES.replace("some", "some-of"), ", [suites]: 'some-of' is not a name; write letters, digits and"),
        (DATA + SUITES.replace("some", "skip"), ", [suites]: 'skip' is a marker of pytest's own; write another word"),
        (DATA + SUITES.replace('["spring"]', "false"), ": suites, 'some' must be"),
        (
            DATA + AVERAGES.replace('"spring"]', '"sprung"]'),
            ", [averages], both: 'sprung' must be one eval of the file, or",
        ),
        (
            DATA + AVERAGES.replace('"spring"]', '"autumn"]'),
            ", [averages], both: 'autumn' is in two averages, or twice",
        ),
        (
            DATA + AVERAGES.replace('"spring"]', '"both"]'),
            ", [averages], both: 'both' must be one eval of the file, or",
        ),
        (DATA + AVERAGES.replace("both =", "spring ="), ", [averages], spring is an eval of the file too; call the"),
        (DATA + AVERAGES.replace(', "spring"]', "]"), ": averages, 'both' must be a list of length at least 2"),
        (
            DATA + AVERAGES + PRINTED + "winter = [0.5]\n",
            ", [[published]] number 1, values: 'winter' is neither an eval nor",
        ),
        (
            DATA + AVERAGES + PRINTED + "both = [0.5, 0.6]\n",
            ", [[published]] number 1, values: both has 2 for 1 models",
        ),
        (
            DATA + AVERAGES + PRINTED + "both = 0.5\n",
            ", [[published]] number 1: values, 'both' must be a list, not 0.5",
        ),
        (
            DATA + AVERAGES + PRINTED.replace("models = ", "model = "),
            ", [[published]] number 1 has no 'models'; add it",
        ),
        (
            DATA + AVERAGES.replace('["autumn", "spring"]', "3") + PRINTED + "x = [1.0]\n",
            ": averages, 'both' must be a list",
        ),
        (DATA + AVERAGES + ROW + 'average = "all"\n', ", [[published]] number 1: 'all' is not one of [averages]"),
        ('manifest = "a.jsonl"\n[suites]\na = true\n', " has 'suites', which goes with [data]; leave it out"),
        ('manifest = "a.jsonl"\n[sample]\nid = "{id}"\n', " has 'sample', which goes with [data]; leave it out"),
        ('[sample]\nid = "{id}"\n', ": name either a manifest or a dataset, or declare one in [data] and [sample]"),
        ('[data]\nrows = "rows.csv"\n', " has no table [sample]; add it"),
        (
            DATA + '[[task]]\nprompt = "x"\n',
            ", [[task]] number 1 has no name of letters, digits and underscores; name it",
        ),
        (
            DATA + '[[task]]\nname = "a"\ndata.wher = { x = "y" }\n',
            "[data] has the unknown key 'wher'; did you mean 'where'?",
        ),
        ('perturbations = ["snow"]\n' + DATA, ": no perturbation is named 'snow'"),
        (
            DATA.replace("[sample]", 'labels = "../l.txt"\n[sample]'),
            "labels, '../l.txt': it the path '../l.txt' leaves",
        ),
        ("task = []\n" + DATA, ": task must be tables, each under [[task]]"),
        ("judge = 3\n" + DATA, ": judge must be a string or a list of strings, not 3"),
        ("layout = 3\n" + DATA, ": layout must be tables, each under [[layout]]"),
        (DATA + "[[layout]]\nsample = 3\n", ", [[layout]] number 1, [sample] must be a table, not 3"),
        (DATA + OTHER.replace("[layout.data]", "[layout.date]"), ", [[layout]] number 1 has the unknown key 'date'"),
        (DATA + OTHER.replace("{id}", "{id|stm}"), ", [[layout]] number 1, [sample], id, '{id|stm}': it names"),
        (DATA + OTHER.replace("{ split", "{ splt"), " number 1, parameters: 'splt' is not one of the file's"),
        (
            DATA + OTHER.replace('= "dev"', '= "dve"'),
            ", [[layout]] number 1, parameters: split has no value 'dve'; did you",
        ),
        ('groups = ["x"]\n' + DATA + OTHER, ", [[layout]] number 1: groups names 'x', which [sample] has not"),
        (DATA + "[submission]\n", ", [submission] has no 'prediction'; add it"),
        (DATA + "[submission]\nparameters = {}\n", ", [submission]: parameters must be"),
        (DATA + WITHHELD.replace("split", "splt"), ", [submission], parameters: 'splt' is not one of [parameters]"),
        (
            DATA + WITHHELD.replace("test", "dev") + OTHER,
            ", [submission], parameters: split has 'dev' in [parameters], too",
        ),
        (DATA + WITHHELD + 'format = "xml"\n' + OTHER, ", [submission]: format must be"),
        (
            'require = ["coverage >= 0.9", "accuracy >= 0.5"]\n' + DATA.replace("{id}", "{split}") + WITHHELD + OTHER,
            ": accuracy >= 0.5 cannot be required of withheld answers (test); require it in audiobench.toml",
        ),
    ],
)
def test_what_is_wrong_with_declared_data_is_said_where_it_stands(mistakes, text, said):
    assert any(said in sentence for sentence in mistakes(text)), mistakes(text)


def test_a_key_that_is_misspelled_is_not_missing_too(mistakes):
    (sentence,) = mistakes('manifst = "a.jsonl"\n')
    assert sentence.endswith("has the unknown key 'manifst'; did you mean 'manifest'?")


def test_options_of_a_protocol_that_there_is_not_are_no_mistakes_of_their_own(mistakes):
    (sentence,) = mistakes('manifest = "a.jsonl"\nprotocol = "translatio"\ntarget = 3\n')
    assert sentence.endswith("unknown protocol 'translatio'; did you mean 'translation'?")


def test_a_name_of_very_many_parts_is_refused_before_it_is_read(mistakes):
    assert "line 2 has a name of more than 50 parts" in mistakes("\nx = { a" + ".a" * 1_000_000 + " = 1 }")[0]


def test_arrays_without_end_are_no_toml(mistakes):
    (sentence,) = mistakes("a = " + "[" * 5000)
    assert sentence.startswith(" is not valid TOML")


KEYS = [
    "manifest",
    "dataset",
    "protocol",
    "scorers",
    "cluster",
    "groups",
    "require",
    "prompt",
    "max_new_tokens",
    "mani",
    "data",
    "sample",
    "source",
    "parameters",
    "published",
    "note",
    "task",
    "judge",
    "perturbations",
]
VALUES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5) | st.sampled_from(
    ["wer <= 0.1", "judged", "audiocaps", "librispeech[test-other]"]
)


@given(
    st.dictionaries(
        st.sampled_from(KEYS) | st.from_regex(r"[a-z]{1,9}", fullmatch=True),
        VALUES | st.integers(-9, 9) | st.booleans() | st.lists(VALUES | st.integers(0, 9), max_size=3),
        max_size=14,
    )
)
def test_any_table_is_read_or_refused_in_at_most_ten_lines_that_name_the_file(tmp_path_factory, pytestconfig, table):
    path = tmp_path_factory.mktemp("any") / "mine.audiobench.toml"
    # JSON's texts, numbers, booleans and lists are TOML's.
    path.write_text("".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()))
    try:
        tasks = read_declaration(path, pytestconfig)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(sentence.startswith(str(path)) for sentence in sentences)
    else:
        assert tasks[""].table == table
