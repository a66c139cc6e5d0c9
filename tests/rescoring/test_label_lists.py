"""By what labels recorded answers of one file are read: a declaration's, a file's, or what the targets show."""

import json

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.label_lists import declared_task, label_file, label_files, task_id
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore


def pair(number, task, target, text, kind="classification", model="m"):
    return {
        "sample_id": f"{task}{number}",
        "model_tag": model,
        "task_id": None,
        "subset": task,
        "task_type": kind,
        "ground_truth": target,
        "raw_predictions": [text],
        "processed_prediction": "",
        "error": None,
    }


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def scored(file, labels=()):
    rescored = rescore(source_of(file, labels=label_files(labels)), ScoringOptions(("all",)))
    return {item.eval: item for item in rescored.items}


def accuracy(item, scorer="bioacoustic"):
    return next(metric.value for metric in item.metrics if (metric.name, metric.scorer) == ("accuracy", scorer))


def signature(item, scorer="bioacoustic"):
    return next((each.signature for each in item.scorers if each.name == scorer), None)


def test_one_file_of_many_subsets_is_read_by_the_declared_lists(tmp_path):
    rows = [
        pair(1, "esc50", "dog", "I hear a dog."),
        pair(2, "esc50", "sea_waves", "toilet_flush"),
        pair(1, "lifestage", "adult", "It is an adult."),
        pair(1, "enabirds", "None", "None", "detection"),
        pair(2, "enabirds", ["Eastern Towhee", "Ovenbird"], "Eastern Towhee, Ovenbird", "detection"),
    ]
    items = scored(write(tmp_path / "pairs.jsonl", rows))
    assert {task: accuracy(item) for task, item in items.items()} == {"esc50": 0.5, "lifestage": 1.0, "enabirds": 1.0}
    assert all("|labels:task|" in signature(item) for item in items.values())
    assert signature(items["esc50"], "beans-run").endswith("|labels:list")


@pytest.mark.parametrize(
    ("targets", "texts", "source"),
    [
        (["A", "B", "C"], ["The answer is A.", "B", "(A)"], "targets-letters"),
        (["Yes", "No", "No"], ["Yes, there is one.", "No.", "Yes"], "targets-yes-no"),
        (["400 Hz", "800 Hz", "1200 Hz"], ["about 410 Hz", "800 Hz", "400 Hz"], "targets-buckets"),
    ],
)
def test_letters_yes_and_no_and_buckets_are_read_by_their_shape(targets, texts, source, tmp_path):
    rows = [pair(n, "unheard-of", *row) for n, row in enumerate(zip(targets, texts, strict=True))]
    item = scored(write(tmp_path / "pairs.jsonl", rows))["unheard-of"]
    assert f"|labels:{source}|" in signature(item)
    assert signature(item, "beans-run").endswith(f"|labels:{source}")
    assert accuracy(item) == pytest.approx(2 / 3)


def test_a_shape_is_that_of_all_models_rows(tmp_path):
    rows = [pair(1, "t", "400 Hz", "790 Hz"), pair(1, "t", "400 Hz", "790 Hz", model="n")]
    rows += [pair(2, "t", "800 Hz", "800 Hz", model="n")]
    (first, second) = rescore(source_of(write(tmp_path / "pairs.jsonl", rows)), ScoringOptions()).items
    assert (first.model, accuracy(first)) == ("m", 0.0)
    assert accuracy(second) == 0.5


def test_a_missing_list_names_the_option_and_the_subset(tmp_path, capsys):
    rows = [pair(n, "frogs", target, "a tree frog") for n, target in enumerate(("tree frog", "bull frog"))]
    file = write(tmp_path / "pairs.jsonl", [*rows, pair(1, "esc50", "dog", "dog")])
    items = scored(file)
    assert signature(items["frogs"]) is None
    assert accuracy(items["frogs"], "beans-run") == 0.5
    assert any("--labels frogs=FILE" in warning for warning in items["frogs"].warnings)
    assert main(["score", str(file), "--scorers", "bioacoustic"]) == 1
    assert "frogs was not scored" in (said := capsys.readouterr().out)
    assert "--labels frogs=FILE" in said


@pytest.mark.parametrize("written", ['["tree frog", "bull frog", "toad"]', "tree frog\nbull frog\n\ntoad\n"])
def test_a_list_of_labels_is_a_line_each_or_a_json_list(written, tmp_path):
    (tmp_path / "frogs.txt").write_text(written)
    assert label_file(tmp_path / "frogs.txt") == ("tree frog", "bull frog", "toad")
    rows = [pair(n, "frogs", target, "a tree frog") for n, target in enumerate(("tree frog", "bull frog"))]
    item = scored(write(tmp_path / "pairs.jsonl", rows), [f"frogs={tmp_path / 'frogs.txt'}"])["frogs"]
    assert accuracy(item) == 0.5
    assert "|labels:task|" in signature(item)


def test_lists_of_many_subsets_are_one_json_object(tmp_path):
    (tmp_path / "labels.json").write_text(json.dumps({"unseen-frogs": ["a", "b"], "toads": ["c"]}))
    assert label_files([str(tmp_path / "labels.json")]) == {"unseen_frogs": ("a", "b"), "toads": ("c",)}


def test_a_given_list_takes_the_place_of_a_declared_one(tmp_path):
    (tmp_path / "two.json").write_text('["dog", "hound"]')
    file = write(tmp_path / "pairs.jsonl", [pair(1, "esc50", "dog", "a hound")])
    assert accuracy(scored(file)["esc50"]) == 0.0
    (item,) = scored(file, [f"esc50={tmp_path / 'two.json'}"]).values()
    assert item.options["labels"] == ["dog", "hound"]


def test_several_labels_of_a_classification_are_read_as_a_set(tmp_path):
    (tmp_path / "calls").write_text("song\ncall\nalarm call\n")
    rows = [pair(1, "calls", "song, call", "call and song"), pair(2, "calls", "song", "song, call")]
    item = scored(write(tmp_path / "pairs.jsonl", rows), [f"calls={tmp_path / 'calls'}"])["calls"]
    assert signature(item).startswith("bioacoustic:detection|v:2|labels:task|answer:set|")
    assert signature(item, "beans-run").startswith("beans-next:run|v:0.1.0|task:classification|")
    assert next(metric.value for metric in item.metrics if metric.name == "set_f1") == pytest.approx((1 + 2 / 3) / 2)


def test_a_task_is_known_by_its_subset_and_by_its_id_in_the_registry():
    assert task_id("beans_zero[call-type]") == "beans_zero_call_type"
    assert task_id("test_birdset[HSN-test_5s]") == "birdset_hsn_test_5s"
    assert declared_task("call-type").labels == declared_task("beans_zero_call_type").labels == ("call", "song")
    assert len(declared_task("unseen-species-cmn").labels) == 202
    assert declared_task("no-such-task", "esc50").labels[:2] == ("dog", "rooster")
    assert declared_task("no-such-task").labels == ()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "holds no labels"), ("[]", "holds no labels"), ("[1, 2]", "something else than labels")],
)
def test_a_file_without_labels_is_one_sentence(content, complaint, tmp_path):
    (tmp_path / "labels").write_text(content)
    with pytest.raises(UsageError, match=complaint):
        label_file(tmp_path / "labels")


@pytest.mark.parametrize("content", ['["a"]', '{"a": 1}', "a\nb"])
def test_a_file_without_a_subset_must_be_an_object_of_lists(content, tmp_path):
    (tmp_path / "labels").write_text(content)
    with pytest.raises(UsageError, match="else write SUBSET=FILE"):
        label_files([str(tmp_path / "labels")])


def test_the_majority_is_what_its_answer_scores_by_each_scorer(tmp_path, capsys):
    rows = [pair(n, "esc50", target, "cow") for n, target in enumerate(("dog", "dog", "cow", "sheep"))]
    assert main(["score", str(write(tmp_path / "pairs.jsonl", rows)), "--format=json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["majority"]["answer"] == "dog"
    values = {(row["metric"], row["scorer"]): row["value"] for row in item["majority"]["values"]}
    assert values["accuracy", "bioacoustic"] == values["accuracy", "beans-run"] == 0.5
    assert values["macro_f1", "bioacoustic"] == pytest.approx((2 / 3) / 3)
    assert any("25.0 % lies below always answering 'dog', 50.0 %" in warning for warning in item["warnings"])


def test_a_table_of_captions_has_no_majority(tmp_path, capsys):
    rows = [pair(n, "captions", "a bird sings", "a bird", "captioning") for n in range(3)]
    assert main(["score", str(write(tmp_path / "pairs.jsonl", rows))]) == 0
    assert "majority" not in capsys.readouterr().out
