"""Replaying a study's published answers, joined to samples by content."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.compat.faithfulness_study.replay import texts_of
from pytest_audiobench.datasets import catalogue
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UnsuitableModel, UsageError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request
from pytest_audiobench.models.replay.model import Replay

DATA = Path(__file__).parents[2].parent / "shared" / "data"
PLACES = Places(here=Path(), named={"sakura": DATA / "sakura-metadata", "mmau": DATA / "mmau", "mmar": DATA / "mmar"})

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the recorded answers are not at {DATA}")


def request_for(sample, dataset, epoch=0):
    lettered = "\n".join(f"({'ABCDEFGHIJ'[i]}) {choice}" for i, choice in enumerate(sample.choices))
    message = Message("user", (AudioSlot(0), f"{sample.question}\n{lettered}\nAnswer with a letter."))
    return Request("k", dataset, sample.id, "answer", "choice", (message,), sample.clips, sample.choices, epoch=epoch)


def responses(model, dataset, samples):
    return model.ask([Ask(request_for(sample, dataset.name), ()) for sample in samples])


def recorded_texts(file):
    with file.open(encoding="utf-8") as rows:
        return {row["id"]: row["raw_model_outputs"][0] for row in map(json.loads, rows)}


@needs_data
@pytest.mark.parametrize("track", ["animal", "emotion", "gender", "language"])
def test_every_sakura_sample_finds_its_recorded_answer(track):
    model = Replay(str(DATA / "recorded" / "af3"), {"answers": "with-reasoning"})
    texts = recorded_texts(DATA / "recorded" / "af3" / f"baseline_{track}_REAS.jsonl")
    with (DATA / "recorded" / "manifests" / f"{track}_manifest.jsonl").open(encoding="utf-8") as rows:
        ids = {(r["audio_path"].rpartition("/")[2], r["id"].rpartition("_")[2]): r["id"] for r in map(json.loads, rows)}
    joined = 0
    for hop in ("single", "multi"):
        dataset = catalogue.dataset("sakura", track, hop)
        samples = dataset.read(PLACES)
        for sample, response in zip(samples, responses(model, dataset, samples), strict=True):
            assert response.text == texts[ids[str(sample.metadata["recording"]), hop]]
            joined += 1
    assert joined == 1000


@needs_data
@pytest.mark.parametrize("answers", ["reas", "no_reas"])
def test_every_mmau_sample_finds_its_recorded_answer(answers):
    samples = catalogue.dataset("mmau").read(PLACES)
    given = responses(Replay(str(DATA / "recorded" / "af3"), {"answers": answers}), catalogue.dataset("mmau"), samples)
    file = {"reas": "baseline_mmau_REAS.jsonl", "no_reas": "baseline_mmau_test_No_REAS.jsonl"}[answers]
    texts = recorded_texts(DATA / "recorded" / "af3" / file)
    assert [response.text for response in given] == [texts[sample.id] for sample in samples]


@needs_data
def test_997_mmar_samples_find_their_recorded_answers():
    samples = catalogue.dataset("mmar").read(PLACES)
    given = responses(Replay(str(DATA / "recorded" / "af3"), {"answers": "reas"}), catalogue.dataset("mmar"), samples)
    missing = [response for response in given if response.error]
    assert len(missing) == 3
    assert all("no such audio, options and question" in str(response.error) for response in missing)
    texts = recorded_texts(DATA / "recorded" / "af3" / "baseline_mmar_REAS.jsonl")
    assert sorted(response.text for response in given if not response.error) == sorted(texts.values())


@needs_data
def test_the_conditioned_answers_of_977_samples():
    model = Replay(str(DATA / "recorded" / "af3"), {"answers": "conditioned"})
    datasets = [catalogue.dataset("sakura", "animal", hop) for hop in ("single", "multi")]
    given = [response for each in datasets for response in responses(model, each, each.read(PLACES))]
    assert sum(response.error is None for response in given) == 977
    assert sum("no recorded answer" in (response.error or "") for response in given) == 23


@needs_data
def test_masked_answers_are_variants_of_their_own():
    folder = str(DATA / "recorded" / "qwen2.5-omni")
    dataset = catalogue.dataset("sakura", "animal", "single")
    samples = dataset.read(PLACES)
    masked = responses(Replay(folder, {"answers": "mask_p20_reas"}), dataset, samples)
    plain = responses(Replay(folder, {"answers": "reas"}), dataset, samples)
    assert all(response.error is None for response in masked)
    assert [response.text for response in masked] != [response.text for response in plain]


@needs_data
def test_crashes_of_the_recorded_run_are_errors_unless_counted_as_unanswered():
    folder = str(DATA / "recorded" / "qwen2.5-omni")
    dataset = catalogue.dataset("sakura", "animal", "multi")
    samples = dataset.read(PLACES)
    given = responses(Replay(folder, {"answers": "no_reas"}), dataset, samples)
    assert sum("the recorded run crashed there" in (response.error or "") for response in given) == 2
    counted = responses(Replay(folder, {"answers": "no_reas", "crashes": "unanswered"}), dataset, samples)
    assert sum(response.error is None and response.text == "" for response in counted) == 2


QUESTIONS = [
    {"id": "cat_1", "question": "Which animal?", "choices": "(A) cat (B) dog", "audio_path": "{ROOT}/x/cat.wav"},
    {"id": "cat_2", "question": "Which animal?  Think", "choices": "(A) cat (B) dog", "audio_path": "{ROOT}/x/cat.wav"},
    {"id": "dog_1", "question": "Which animal?", "choices": "(A)  cat (B) dog ", "audio_path": "dog.wav"},
]


def study(tmp_path, **files):
    folder = tmp_path / "af3"
    (folder / "manifests").mkdir(parents=True, exist_ok=True)
    (folder / "manifests" / "zoo_manifest.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def answer(recorded_id, *texts):
    return {"id": recorded_id, "true_answer": "(a) cat", "raw_model_outputs": list(texts)}


def ask(
    model,
    audio="dog.wav",
    question="Which animal?",
    choices=("cat", "dog"),
    epoch=0,
    clips=1,
    said="",
    clip=None,
    stage="answer",
    dataset="zoo",
):
    clip = clip or Clip(FileSource(DataRoot("zoo", Path()), f"audio/{audio}"))
    message = Message("user", (AudioSlot(0), said or f"Listen. {question} Answer."))
    request = Request("k", dataset, "mine", stage, "choice", (message,), (clip,) * clips, choices, epoch=epoch)
    (response,) = model.ask([Ask(request, ())])
    return response


def test_rows_of_equal_audio_and_options_are_told_apart_by_the_question(tmp_path):
    model = Replay(str(study(tmp_path, baseline_zoo_REAS=[answer("cat_1", "one"), answer("cat_2", "two")])), {})
    assert ask(model, "cat.wav").text == "one"
    assert ask(model, "cat.wav", question="Which animal? Think").text == "two"
    assert ask(model, "cat.wav", question="What?").error is not None


@pytest.mark.parametrize("changes", [{"audio": "hen.wav"}, {"choices": ("dog", "cat")}, {"clips": 2}])
def test_other_content_does_not_join(tmp_path, changes):
    model = Replay(str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "(B) dog")])), {})
    assert ask(model).text == "(B) dog"
    assert "no such audio" in str(ask(model, **changes).error)


def test_an_epoch_takes_its_own_run(tmp_path):
    model = Replay(str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "first", "second")])), {})
    assert [ask(model, epoch=epoch).text for epoch in (0, 1)] == ["first", "second"]
    assert "in epoch 2: it holds 2" in str(ask(model, epoch=2).error)


@pytest.mark.parametrize("text", [None, "CRASH: out of memory"])
def test_a_crash_is_an_error_of_its_sample(tmp_path, text):
    folder = str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", text)]))
    assert "(baseline_zoo_REAS.jsonl, line 1): the recorded run crashed there" in str(ask(Replay(folder, {})).error)
    assert ask(Replay(folder, {"crashes": "unanswered"})).text == ""


def test_a_list_of_no_text_is_an_answer_that_was_not_had(tmp_path):
    assert texts_of(tmp_path / "x.jsonl", 1, {"raw_model_outputs": []}) == [None]


def test_a_chosen_variant_answers_whatever_is_asked(tmp_path):
    folder = str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")], zoo_test_No_REAS=[answer("dog_1", "c")]))
    assert ask(Replay(folder, {"answers": "without-reasoning"})).text == "c"
    assert ask(Replay(folder, {"answers": "REAS"})).text == "a"
    assert ask(Replay(folder, {"answers": "REAS"}), stage="conditioned").text == "a"
    with pytest.raises(
        UsageError,
        match=r"no answers 'early'; answers=… may be no_reas or without-reasoning \(1 answers\), reas",
    ):
        Replay(folder, {"answers": "early"}).fingerprint()


@pytest.fixture
def whole(tmp_path):
    """A study in folders, as its repository has it, in which every answer is its own file's path."""
    folder = study(tmp_path)
    paths = [
        "zoo/baseline_zoo_REAS.jsonl",
        "zoo/baseline_zoo_REAS_post_process.jsonl",
        "zoo/baseline_zoo_No_REAS.jsonl",
        "zoo/baseline_zoo_REAS_condition.jsonl",
        "zoo/mask/p20/baseline_zoo_REAS.jsonl",
        "mask_p100_zoo_REAS.jsonl",
        "zoo/noise/snr-10/baseline_zoo_REAS_post_proces.jsonl",
        "zoo/adv/wrong/baseline_zoo_REAS.jsonl",
    ]
    for path in paths:
        row = answer("dog_1", path.replace("_post_process", ""))
        if "condition" in path:
            row["raw_conditioned_output"] = row.pop("raw_model_outputs")[0]
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps(row) + "\n")
    judged = {"id": "dog_1", "judge_explanation": "alike", "similarity_score": 4}
    (folder / "zoo" / "mask_p20_consistency_analysis_zoo.jsonl").write_text(json.dumps(judged) + "\n")
    return Replay(str(folder), {})


DOG = Clip(FileSource(DataRoot("zoo", Path()), "audio/dog.wav"))
THINK = "Listen. Which animal? (A) cat (B) dog. Please think and reason about the audio first."


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({}, "zoo/baseline_zoo_No_REAS.jsonl"),
        ({"said": THINK}, "zoo/baseline_zoo_REAS.jsonl"),
        ({"said": THINK, "stage": "clean"}, "zoo/baseline_zoo_REAS.jsonl"),
        ({"stage": "conditioned"}, "zoo/baseline_zoo_REAS_condition.jsonl"),
        ({"said": THINK, "clip": DOG.edited(edits.silence())}, "mask_p100_zoo_REAS.jsonl"),
        (
            {"said": THINK, "clip": at_rate(DOG).edited(edits.white_noise(-10.0, 1))},
            "zoo/noise/snr-10/baseline_zoo_REAS_post_proces.jsonl",
        ),
        (
            {"said": THINK, "clip": Clip(FileSource(DataRoot("r", Path()), "zoo/mask/p20/dog.wav"))},
            "zoo/mask/p20/baseline_zoo_REAS.jsonl",
        ),
        (
            {"said": THINK, "clip": Clip(FileSource(DataRoot("r", Path()), "zoo/noise_snr/snr-10/audio/dog.wav"))},
            "zoo/noise/snr-10/baseline_zoo_REAS_post_proces.jsonl",
        ),
    ],
)
def test_a_request_says_itself_which_recorded_answer_it_wants(whole, changes, path):
    assert ask(whole, **changes).text == path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clip": at_rate(DOG).edited(edits.white_noise(-10.0, 1))}, "no answers to what is asked here of zoo"),
        (
            {"clip": at_rate(DOG).edited(edits.pink_noise(0.0, 1))},
            "recorded no answers to a clip that is pink_noise",
        ),
        (
            {"clip": DOG.edited(edits.gain(3.0), edits.silence())},
            "recorded no answers to a clip that is gain and silence",
        ),
        ({"stage": "changed"}, "no answers of a stage 'changed'"),
        ({"clips": 0}, "no answers to questions without audio"),
        ({"audio": "cat.wav", "question": "Which one?", "choices": ("hen", "dog")}, None),
        ({"audio": "hen.wav", "question": "Which animal? Think"}, None),
    ],
)
def test_what_the_study_never_asked_is_said_once_and_what_it_lacks_of_a_sample_by_sample(whole, changes, said):
    if said is None:
        assert ask(whole, **changes).error is not None
        return
    with pytest.raises(UnsuitableModel, match=said):
        ask(whole, **changes)


def test_a_data_set_that_the_study_never_asked_is_said_once(whole):
    with pytest.raises(UnsuitableModel, match="af3 holds no answers to farm/hens"):
        ask(whole, "hen.wav", question="What does it lay?", dataset="farm/hens")


def test_a_question_about_another_samples_clip_was_never_asked(tmp_path):
    rows = [answer("dog_1", "a"), answer("cat_1", "b")]
    folder = study(tmp_path, baseline_zoo_REAS=rows, baseline_zoo_NO_REAS=rows)
    more = [{**QUESTIONS[2], "id": "hen_1", "question": "What does it lay?", "audio_path": "hen.wav"}]
    file = folder / "manifests" / "zoo_manifest.jsonl"
    file.write_text("\n".join(map(json.dumps, QUESTIONS[:1] + QUESTIONS[2:] + more)))
    model = Replay(str(folder), {})
    assert ask(model, "dog.wav").text == "a"
    with pytest.raises(UnsuitableModel, match="about another sample's clip"):
        ask(model, "dog.wav", question="What does it lay?")


def test_a_variant_that_other_data_sets_have_is_not_recorded_for_this_one(tmp_path):
    rows = [answer("dog_1", "a")]
    folder = study(
        tmp_path, baseline_zoo_REAS=rows, baseline_zoo_NO_REAS=rows, mask_p100_farm_REAS=[answer("hen_1", "b")]
    )
    hen = {**QUESTIONS[2], "id": "hen_1", "audio_path": "hen.wav"}
    (folder / "manifests" / "farm_manifest.jsonl").write_text(json.dumps(hen))
    model = Replay(str(folder), {})
    silent = Clip(FileSource(DataRoot("farm", Path()), "hen.wav")).edited(edits.silence())
    assert ask(model, clip=silent, said=THINK).text == "b"
    with pytest.raises(
        UnsuitableModel, match="no answers to what is asked here of zoo; it has mask_p100_reas, no_reas, reas"
    ):
        ask(model, clip=DOG.edited(edits.silence()), said=THINK)


def test_an_unchanged_clip_alone_is_answered_where_there_is_one_variant(tmp_path):
    model = Replay(str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")])), {})
    assert ask(model).text == "a"
    with pytest.raises(UnsuitableModel, match="no answers to what is asked here"):
        ask(model, clip=DOG.edited(edits.silence()))
    with pytest.raises(UnsuitableModel, match="answers to a clip that is pink_noise"):
        ask(model, clip=at_rate(DOG).edited(edits.pink_noise(0.0, 1)))


def test_one_file_may_be_named(tmp_path):
    folder = study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")], baseline_zoo_NO_REAS=[answer("dog_1", "b")])
    assert ask(Replay(str(folder / "baseline_zoo_NO_REAS.jsonl"), {})).text == "b"


def test_manifests_may_lie_elsewhere_and_must_lie_somewhere(tmp_path):
    folder = study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")])
    (folder / "manifests").rename(tmp_path / "manifests")
    assert ask(Replay(str(folder), {})).text == "a"
    (tmp_path / "manifests").rename(tmp_path / "questions")
    with pytest.raises(UsageError, match="manifests=FOLDER"):
        Replay(str(folder), {}).fingerprint()
    assert ask(Replay(str(folder), {"manifests": str(tmp_path / "questions")})).text == "a"
    with pytest.raises(UsageError, match="holds no manifests"):
        Replay(str(folder), {"manifests": str(tmp_path / "nothing")}).fingerprint()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"raw_model_outputs": ["a"]}, "line 2 has no id"),
        ({"id": "x"}, "line 2 has neither"),
        ({"id": "x", "raw_model_outputs": [1]}, "line 2 holds something other than texts"),
        ({"id": "dog_1", "raw_model_outputs": ["b"]}, "'dog_1' is answered twice"),
    ],
)
def test_a_broken_row_is_refused(tmp_path, row, said):
    folder = study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a"), row])
    with pytest.raises(UsageError, match=said):
        Replay(str(folder), {}).fingerprint()


def test_run_options_do_not_apply(tmp_path):
    folder = study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")])
    with pytest.raises(UsageError, match="model=… does not apply"):
        Replay(str(folder), {"model": "af3"}).fingerprint()


def test_hostile_texts_pass_through(tmp_path):
    text = "\x00<b>\ud800" + "y" * 1_000_000
    assert ask(Replay(str(study(tmp_path, baseline_zoo_REAS=[answer("dog_1", text)])), {})).text == text


def test_the_answer_keys_beside_the_answers_change_nothing(tmp_path):
    folder = study(tmp_path, baseline_zoo_REAS=[{**answer("dog_1", "a"), "true_answer": "x", "true_letter": "Z"}])
    assert ask(Replay(str(folder), {})).text == "a"


def test_the_fingerprint_follows_the_variant_the_answers_and_the_manifests(tmp_path):
    folder = study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "a")], baseline_zoo_NO_REAS=[answer("dog_1", "b")])
    first = Replay(str(folder), {"answers": "reas"}).fingerprint()
    assert first == Replay(str(folder), {"answers": "with-reasoning"}).fingerprint()
    assert first != Replay(str(folder), {"answers": "no_reas"}).fingerprint()
    study(tmp_path, baseline_zoo_NO_REAS=[answer("dog_1", "changed")])
    assert first == Replay(str(folder), {"answers": "reas"}).fingerprint()
    study(tmp_path, baseline_zoo_REAS=[answer("dog_1", "changed")])
    assert first != Replay(str(folder), {"answers": "reas"}).fingerprint()
