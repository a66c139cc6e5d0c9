"""Recorded answers of others: told by their content, read into samples, refused in one sentence when unknown."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

SHARED = Path(__file__).parents[3] / "shared"
RECORDED = SHARED / "data" / "recorded"
GOLDEN = SHARED / "conformance" / "golden_audiobench.json"
RUNS = SHARED / "data" / "audiobench-runs"

needs_recorded = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the study's recorded outputs are not on this machine"
)
needs_golden = pytest.mark.skipif(not GOLDEN.is_file(), reason="the reference cases are not on this machine")
needs_runs = pytest.mark.skipif(not RUNS.is_dir(), reason="THENIROCK's runs are not on this machine")


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def study(tmp_path, *rows, **changes):
    """A study of two questions about one clip, and a file of answers to them."""
    asked = {
        "id": "sakura_animal_0_single",
        "question": "What is heard?",
        "choices": "(A) dog (B) hen (C) an (old) cow",
        "audio_path": "{ROOT}/a/1.wav",
        "answer": "(b) hen",
        "true_letter": "B",
    }
    more = {**asked, "id": "sakura_animal_0_multi", "question": "What does it lay?"}
    write(tmp_path / "manifests" / "animal_manifest.jsonl", {**asked, **changes}, {**more, **changes})
    return write(tmp_path / "af3" / "baseline_animal_REAS.jsonl", *rows)


def row(hop, *texts, **more):
    return {"id": f"sakura_animal_0_{hop}", "raw_model_outputs": list(texts), **more}


def values(found, metric="accuracy"):
    return {
        (item.eval, score.scorer): score.value
        for item in found.items
        for score in item.metrics
        if score.name == metric and not score.group
    }


def test_a_studys_answers_are_joined_to_its_questions(tmp_path):
    file = study(tmp_path, row("single", "It is (B) hen."), row("multi", "(A)"))
    (item,) = rescore(source_of(file), ScoringOptions()).items
    assert (item.eval, item.model, item.dataset) == ("animal[reas]", "af3", "faithfulness/animal")
    assert (item.protocol, item.cluster, item.groups) == ("multiple_choice", "recording", ("hop",))
    letters = [metric for metric in item.metrics if (metric.scorer, metric.name) == ("letters", "accuracy")]
    assert [(metric.group, metric.value) for metric in letters] == [
        ({}, 0.5),
        ({"hop": "multi"}, 0),
        ({"hop": "single"}, 1),
    ]
    assert letters[0].method == "no interval: 1 cluster, 2 needed"
    (first, _) = source_of(file).rows()
    assert first.sample.choices == ("dog", "hen", "an (old) cow")
    assert first.sample.reference == "hen"


def test_a_crash_of_the_study_is_a_failed_asking(tmp_path):
    file = study(tmp_path, row("single", "CRASH: out of memory"), row("multi", None))
    (item,) = rescore(source_of(file), ScoringOptions(("letters",))).items
    assert item.scorers[0].coverage.errors == 2
    assert "crashed there (CRASH: out of memory)" in item.errors[0].message
    (item,) = rescore(source_of(file, crashes="unanswered"), ScoringOptions(("letters",))).items
    assert item.scorers[0].coverage.empty == 2


def test_of_chains_of_several_lengths_those_are_scored_that_all_rows_have(tmp_path):
    file = study(tmp_path, row("single", "(B)", "(A)"), row("multi", "(B)"))
    (item,) = rescore(source_of(file), ScoringOptions(("letters",))).items
    assert (item.n, item.epochs) == (2, 1)
    assert item.warnings == ["some rows hold 2 answers; the first 1 of each are scored"]


def test_an_answer_to_an_unknown_question_is_named(tmp_path):
    file = study(tmp_path, {"id": "who", "raw_model_outputs": ["(A)"]})
    with pytest.raises(UsageError, match=r"REAS\.jsonl, line 1: no manifest asks 'who'"):
        rescore(source_of(file), ScoringOptions())


@pytest.mark.parametrize("changes", [{"choices": "dog or hen"}, {"answer": "a cow", "true_letter": "Z"}])
def test_a_manifest_that_cannot_be_read_is_named(tmp_path, changes):
    file = study(tmp_path, row("single", "(A)"), **changes)
    with pytest.raises(UsageError, match=r"animal_manifest\.jsonl, line 1 is not a row of the study's manifests"):
        rescore(source_of(file), ScoringOptions())


def test_answers_without_their_questions_are_refused(tmp_path):
    file = write(tmp_path / "x" / "baseline_animal_REAS.jsonl", row("single", "(A)"))
    with pytest.raises(UsageError, match="not the questions they belong to"):
        rescore(source_of(file), ScoringOptions())


def test_a_score_file_of_audiobench_is_transcripts_with_a_caution(tmp_path):
    rows = [
        {"reference": "a b c", "prediction": "a b", "wer": 1 / 3},
        {"reference": "d", "prediction": "d", "wer": 0.0},
    ]
    file = tmp_path / "SALMONN_7B" / "librispeech_test_clean_wer_score.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"wer": 0.25, "sample_wer": rows}))
    (item,) = rescore(source_of(file), ScoringOptions()).items
    assert (item.eval, item.model, item.n) == ("librispeech_test_clean", "SALMONN_7B", 2)
    assert item.metrics[0].value == 0.25
    assert "after its own normalisation" in item.warnings[0]


def test_a_folder_of_files_is_scored_as_one(tmp_path):
    study(tmp_path, row("single", "(B)"), row("multi", "(B)"))
    write(tmp_path / "af3" / "baseline_animal_No_REAS.jsonl", row("single", "(A)"), row("multi", "(B)"))
    found = rescore(source_of(tmp_path / "af3"), ScoringOptions(("letters",)))
    assert values(found) == {("animal[no_reas]", "letters"): 0.5, ("animal[reas]", "letters"): 1.0}
    assert found.suites == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"colour": "red"}\n', "is in no layout that is known: it has colour; looked for a run's predictions.jsonl"),
        ("[1, 2]\n", "is JSON but no object"),
        ("", "is empty: there is nothing to score"),
        ("hello\n", "is neither JSON lines nor one JSON object"),
        (
            '{"wer": 1, "sample_wer": [{"reference": 3, "prediction": "a"}]}',
            "row 0: it has no 'reference' that is a text",
        ),
        ('{"wer": 1, "sample_wer": [3]}', "row 0: it is not an object with a reference and prediction"),
        ('{"per_clip_hypotheses": [3]}', "is not a run of THENIROCK's audiobench"),
        (
            '{"per_clip_hypotheses": [{"clip_id": "c", "file": "f", "reference": null, "hypotheses": {"clean": "a"}}]}',
            "references and hypotheses must be texts",
        ),
        (
            '{"per_clip_hypotheses": [{"clip_id": "c", "file": "f", "reference": "a", "hypotheses": {"clean": 5}}]}',
            "references and hypotheses must be texts",
        ),
        ('{"sample_id": "a", "predictions": ["x"], "targets": ["x"], "task_type": []}', "name the family of protocols"),
        ('{"id": "x", "raw_model_outputs": 3}\n', "not the questions they belong to"),
    ],
)
def test_what_is_in_no_known_layout_is_refused_in_a_sentence(tmp_path, content, says):
    file = tmp_path / "answers.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=says):
        rescore(source_of(file), ScoringOptions())


def test_a_run_that_never_finished_and_a_folder_of_nothing_are_told_apart(tmp_path):
    with pytest.raises(UsageError, match="holds no answers to score"):
        source_of(tmp_path)
    (tmp_path / "parts").mkdir()
    with pytest.raises(UsageError, match="crashed or is still going"):
        source_of(tmp_path)
    with pytest.raises(UsageError, match="there is nothing at"):
        source_of(tmp_path / "none")


@pytest.mark.parametrize(
    ("family", "says"),
    [
        ("song", "no family of protocols is called 'song'"),
        ("multiple_choice,colour=red", "multiple_choice has no option 'colour'; it has prompt"),
        ("multiple_choice,prompt", "'prompt' is not a KEY=VALUE"),
    ],
)
def test_a_family_that_there_is_not_is_named(tmp_path, family, says):
    file = study(tmp_path, row("single", "(B)"), row("multi", "(B)"))
    with pytest.raises(UsageError, match=says):
        rescore(source_of(file), ScoringOptions((), family))


@needs_recorded
def test_the_studys_published_figures_come_out_of_its_recorded_answers():
    """AF3 with reasoning, before and after the study's label recovery."""
    found = values(rescore(source_of(RECORDED / "af3" / "baseline_emotion_REAS.jsonl"), ScoringOptions(("all",))))
    assert round(100 * found["emotion[reas]", "faithfulness-runtime-af3"], 2) == 38.70
    assert round(100 * found["emotion[reas]", "faithfulness-recovered"], 2) == 45.70
    found = values(rescore(source_of(RECORDED / "af3" / "baseline_mmau_REAS.jsonl"), ScoringOptions(("all",))))
    assert round(100 * found["mmau[reas]", "faithfulness-recovered-mmau"], 2) == 67.70
    found = values(rescore(source_of(RECORDED / "af3" / "baseline_mmar_REAS.jsonl"), ScoringOptions(("all",))))
    assert round(100 * found["mmar[reas]", "faithfulness-recovered-mm"], 2) == 52.86


@needs_golden
def test_audiobenchs_own_rows_are_read_as_it_wrote_them(tmp_path):
    cases = [one for one in json.loads(GOLDEN.read_text()) if one["metric"] == "wer_golden"]
    for number, case in enumerate(cases[:3]):
        pairs = case["inputs"]["pairs"]
        rows = [{**one, "wer": one["recorded_wer"]} for one in pairs]
        file = tmp_path / f"set{number}_wer_score.json"
        file.write_text(json.dumps({"wer": case["expected"]["subset_corpus_wer"], "sample_wer": rows}))
        read = list(source_of(file).rows())
        assert [(one.sample.reference, one.responses["answer"].text) for one in read] == [
            (one["reference"], one["prediction"]) for one in pairs
        ]


@needs_runs
def test_thenirocks_transcripts_give_the_rates_that_its_file_states():
    file = RUNS / "run-10d037b0.json"
    stated = json.loads(file.read_text())["per_condition_wer"]
    found = values(rescore(source_of(file), ScoringOptions(("wer-basic",))), "wer")
    assert {name[0]: 100 * value for name, value in found.items()} == pytest.approx(
        {f"ab/asr-robust[{perturbation}]": value for perturbation, value in stated.items()}
    )


@needs_runs
@pytest.mark.parametrize("name", ["run-997d65ef", "run-ensemble", "inline"])
def test_thenirocks_probes_give_the_recall_and_the_false_alarms_that_its_file_states(name):
    file = RUNS / f"{name}.json"
    stated = json.loads(file.read_text())["pack_summaries"]["demo"]["per_condition"]
    found = rescore(source_of(file), ScoringOptions(("ab-yesno", "heard")))
    for metric, published in (("recall", "recall"), ("fpr", "fpr")):
        own = {key[0]: value for key, value in values(found, metric).items() if key[1] == "ab-yesno"}
        assert own == {f"ab/sound-id[{one}]": told[published] for one, told in stated.items()}
    assert {scorer.name for item in found.items for scorer in item.scorers} >= {"ab-yesno", "heard"}
    assert all(item.cluster == "mixture" for item in found.items)


def test_half_a_character_at_an_answers_end_is_no_crash(tmp_path):
    found = rescore(
        source_of(study(tmp_path, row("single", "(B) hen \ud83d"), row("multi", "(A)"))), ScoringOptions(("letters",))
    )
    assert values(found) == {("animal[reas]", "letters"): 0.5}
    assert found.notes == ["animal[reas]: 1 texts had invalid characters or were cut"]


def test_a_folder_that_is_called_like_a_file_is_none(tmp_path, capsys):
    (tmp_path / "predictions.jsonl").mkdir()
    assert main(["score", str(tmp_path)]) == 4
    assert "holds no answers to score" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named_in_a_sentence(tmp_path, capsys):
    file = study(tmp_path, row("single", "(B)"), row("multi", "(A)"))
    assert main(["score", str(file), "--scorers", "letters", "--out", str(file / "within")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("audiobench: ")
    assert "Not a directory" in told


def test_the_command_prints_tables_in_four_formats(tmp_path, capsys):
    file = study(tmp_path, row("single", "(B) hen"), row("multi", "I say (A)"))
    assert main(["score", str(file), "--published", "faithfulness/af3/animal/repaired"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("animal[reas] · af3: accuracy by ")
    assert (
        "published faithfulness/Audio-Flamingo-3/animal/accuracy (with reasoning, repaired parser) = 81.30 %: " in shown
    )
    assert main(["score", str(file), "--scorers", "letters", "--format", "csv"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("eval,model,dataset,metric,unit,scorer,value,lower,upper,n,skipped,unparsed")
    assert line.startswith("animal[reas],af3,faithfulness/animal,accuracy,share,letters,")
    assert main(["score", str(file), "--scorers", "letters", "--format", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["metrics"][0]["rows"][0]["scorer"] == "letters"
    assert main(["score", str(file), "--scorers", "letters", "--format", "markdown"]) == 0
    assert "| letters |" in capsys.readouterr().out
    assert main(["score", str(file), "--published", "nobody/nowhere"]) == 4
    assert "no published value is named by 'nobody/nowhere'" in capsys.readouterr().err


def test_names_from_outside_can_neither_break_a_table_nor_a_spreadsheet(tmp_path, capsys):
    folder = tmp_path / "=1+1|\x1b[31m"
    study(tmp_path, row("single", "(B)"), row("multi", "(B)"))
    folder.mkdir()
    (tmp_path / "af3" / "baseline_animal_REAS.jsonl").rename(folder / "baseline_animal_REAS.jsonl")
    for format_ in ("table", "markdown", "csv"):
        assert main(["score", str(folder), "--scorers", "letters", "--format", format_]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown
        assert ",=1+1" not in shown
