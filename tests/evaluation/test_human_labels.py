"""Files of human labels: what is read of them, and one sentence for each mistake."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.human_labels import read_human_labels

EVA = Path(__file__).parents[3] / "shared" / "data" / "outputs" / "eva"


def write(folder, text, name="labels.csv"):
    (folder / name).write_text(text)
    return name


def read(folder, text, options="", name="labels.csv"):
    return read_human_labels(write(folder, text, name) + options, folder)


def test_a_table_names_ids_labels_evals_and_annotators(tmp_path):
    labels = read(tmp_path, "id,label,eval,annotator\na,yes,tones,mia\na,no,tones,ben\nb,1,,\n", ",chosen=random")
    assert [(each.id, each.value, each.eval, each.annotator) for each in labels.labels] == [
        ("a", 1.0, "tones", "mia"),
        ("a", 0.0, "tones", "ben"),
        ("b", 1.0, "", ""),
    ]
    assert labels.chosen == "random"
    assert labels.of(["other"], "m", {"a", "b"}).by_id.keys() == {"b"}
    assert labels.of(["other"], "m", {"a"}) is None


def test_ratings_are_points_of_the_upper_end_of_their_scale(tmp_path):
    lines = "".join(json.dumps({"sample_id": n, "label": n}) + "\n" for n in range(6))
    labels = read(tmp_path, lines, ",scale=0-5", "labels.jsonl")
    assert [each.value for each in labels.labels] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(
    ("each", "options", "label", "several"),
    [
        (("yes", "yes", "no"), "", 1.0, (1.0, 1.0, 0.0)),
        (("yes", "no"), "", None, (1.0, 0.0)),
        (("4", "2"), ",scale=0-4", 0.75, (1.0, 0.5)),
    ],
)
def test_of_several_annotators_most_count_and_of_ratings_the_mean(tmp_path, each, options, label, several):
    text = "id,label,annotator\n" + "".join(f"a,{said},person {n}\n" for n, said in enumerate(each))
    labels = read(tmp_path, text, options).of((), "m")
    verdict = labels.label_of("a", "whatever")
    assert (verdict.label, tuple(verdict.each)) == (label, several)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("id,label\na,maybe\n", "", "line 2 has the label 'maybe', which is outside the scale: write a number from 0"),
        ("id,label\na,6\n", ",scale=0-5", "line 2 has the label '6', which is outside the scale"),
        ("id,label\na,nan\n", "", "'nan', which is outside the scale"),
        ("id,label\na,\n", "", "line 2 has no label"),
        ("id,label\n,1\n", "", "line 2 has no id of a sample"),
        ("id,label\na,1\na,0\n", "", "line 3 labels 'a' again: name who labelled it"),
        ("id,label,annotator\na,1,mia\na,0,mia\n", "", "line 3 labels 'a' by 'mia' again"),
        ("id,label\n", "", "holds no label"),
        ("name,said\na,1\n", "", "has the columns name, said: name two of them id and label"),
        ("id,label\na,1\n", ",scale=5-1", "is LOW-HIGH from 0 up"),
        ("id,label\na,1\n", ",by=me", "which 'by=me' is not part of"),
    ],
)
def test_a_mistake_is_one_clear_sentence(tmp_path, text, options, words):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text, options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_evas_ratings_of_turns_and_its_entities_are_read_as_they_are(tmp_path):
    turns = [{"position": 1, "role": "user", "content": "Hi"}]
    turns += [{"position": n, "role": "agent", "content": "So", "expected_rating": n - 1} for n in (2, 3, 4)]
    rated = read(tmp_path, json.dumps({"conversation_id": "c", "conv_turns": turns}), name="rated.jsonl")
    assert [(each.id, each.value) for each in rated.labels] == [("c/2", 1 / 3), ("c/3", 2 / 3), ("c/4", 1.0)]
    assert rated.scale == (1.0, 3.0)
    entities = [{"type": "date", "correct": True}, {"type": "name", "correct": False}]
    row = {"user_tts": [], "transcription": [], "labels": [{"turn_id": 4, "entities": entities}]}
    named = read(tmp_path, json.dumps(row), name="named.jsonl")
    assert [(each.id, each.value) for each in named.labels] == [("1/4/0", 1.0), ("1/4/1", 0.0)]


@pytest.mark.parametrize(("file", "count"), [("conciseness.jsonl", 479), ("key_entity_transcription.jsonl", 567)])
def test_the_published_files_of_eva_hold_a_label_for_each_of_what_people_rated(file, count):
    if not (EVA / file).is_file():
        pytest.skip(f"EVA's {file} is not on this machine")
    assert len(read_human_labels(str(EVA / file)).labels) == count
