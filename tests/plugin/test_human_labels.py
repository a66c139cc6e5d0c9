"""Judges held to people in whole runs: agreement, corrected scores, and what labels that fit nothing come to."""

import json

import pytest

from pytest_audiobench.verifier.clip_checks import Folders
from pytest_audiobench.verifier.run_verification import verify_run
from tests.plugin.test_judges import EVAL, JUDGE, REFERENCES


@pytest.fixture
def evals(suite):
    suite.tones()
    with (suite.path / "conftest.py").open("a") as conftest:
        conftest.write(JUDGE)
    suite.write(test_tones=EVAL)
    return suite


def ids(suite):
    return [json.loads(line)["id"] for line in (suite.path / "data/tones.jsonl").read_text().splitlines()]


def write_labels(suite, labels):
    rows = [{"id": sample_id, "label": label} if not isinstance(label, dict) else label for sample_id, label in labels]
    (suite.path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def by_people(suite, scorer="yes-no-vs-people"):
    run, _ = suite.last()
    return {m["name"]: m for m in run["items"][0]["metrics"] if m["scorer"] == scorer and not m["group"]}


JUDGED = "--ab-judge=strict=judge:one,against=300 Hz"


def test_a_judge_is_held_to_people_and_its_score_corrected_by_them(evals):
    # The model is always right; people know that, and the judge does not where the reference is 300 Hz.
    write_labels(evals, [(sample_id, "yes") for sample_id in ids(evals)[:24]])
    result = evals.run(JUDGED, "--ab-human-labels=labels.jsonl,chosen=random")
    assert result.ret == 0
    figures = by_people(evals)
    wrong = sum(REFERENCES[n] == "300 Hz" for n in range(24))
    assert wrong
    assert figures["human_agreement"]["value"] == pytest.approx(1 - wrong / 24)
    assert figures["human_kappa"]["value"] == pytest.approx(0)
    assert figures["human_score"]["value"] == 1
    assert figures["corrected_score"]["value"] == pytest.approx(1)
    assert figures["corrected_score"]["method"].startswith("judge score, corrected by 24 human labels, lambda 0;")
    result.stdout.fnmatch_lines(
        ["*yes-no: judge score 0.850, corrected by 24 human labels: corrected_score 1.000 [[]*; human_kappa 0.000"]
    )
    assert "corrected by 24 human labels" in (evals.last()[1] / "report.html").read_text()


@pytest.mark.parametrize(("bound", "code"), [("0.5", 1), ("-1", 4), ("0", 0)])
def test_agreement_below_the_bound_fails_the_run(evals, bound, code):
    write_labels(evals, [(sample_id, 1) for sample_id in ids(evals)])
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl", f"--ab-human-kappa={bound}").ret == code


def test_a_threshold_names_the_agreement_without_the_scorer(evals):
    truth = [(name, REFERENCES[n] != "300 Hz") for n, name in enumerate(ids(evals))]
    write_labels(evals, [(name, int(right)) for name, right in truth])
    (evals.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones"\nrequire = ["human_kappa >= 0.99", "human_kappa.lower >= 0.95"]\n'
    )
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl").ret == 1
    record = evals.last()[0]["items"][0]
    assert [verdict["status"] for verdict in record["verdicts"]] == ["pass", "fail"]
    assert evals.run(JUDGED).ret == 1


def test_how_answers_were_chosen_must_be_said_where_only_some_are_labelled(evals):
    write_labels(evals, [(sample_id, 1) for sample_id in ids(evals)[:30]])
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl").ret == 0
    corrected = by_people(evals)["corrected_score"]
    assert corrected["value"] is None
    assert "say how the labelled answers were chosen" in corrected["method"]
    assert by_people(evals)["human_agreement"]["value"] is not None


def test_few_labels_are_unmeasured_and_no_figure(evals):
    write_labels(evals, [(sample_id, 1) for sample_id in ids(evals)[:19]])
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl,chosen=random").ret == 0
    figures = by_people(evals)
    for name in ("human_kappa", "human_agreement", "human_score", "corrected_score"):
        assert figures[name]["value"] is None, name
    assert by_people(evals)["human_kappa"]["method"] == "not measured: labelled answers: 19, 20 needed"
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl", "--ab-human-kappa=0").ret == 1


def test_labels_that_match_no_sample_are_not_green(evals):
    write_labels(evals, [(f"other-{n}", 1) for n in range(30)])
    result = evals.run(JUDGED, "--ab-human-labels=labels.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--ab-human-labels=labels.jsonl labelled nothing: no answer that a judge judged*"])


def test_labels_of_unknown_ids_and_of_other_answers_are_counted_in_a_sentence(evals):
    labels = [(sample_id, 1) for sample_id in ids(evals)]
    labels[0] = (0, {"id": ids(evals)[0], "label": 1, "answer": "something else"})
    write_labels(evals, [*labels, ("nobody", 0)])
    result = evals.run(JUDGED, "--ab-human-labels=labels.jsonl,chosen=random")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*labels of labels.jsonl of ids that this eval has not, or did not take (1): nobody",
            "*labels of labels.jsonl of other answers than were given, left out (1): *",
        ]
    )
    assert by_people(evals)["human_kappa"]["n"] == 39


def test_a_labelled_answer_without_a_verdict_is_left_out_and_no_zero(evals):
    write_labels(evals, [(sample_id, 1) for sample_id in ids(evals)])
    result = evals.run("--ab-judge=j=judge:one,mumbles=700 Hz", "--ab-human-labels=labels.jsonl")
    assert result.ret == 0
    mumbled = sum(reference == "700 Hz" for reference in REFERENCES.values())
    assert by_people(evals)["human_agreement"]["value"] == 1
    assert by_people(evals)["human_agreement"]["n"] == 40 - mumbled
    result.stdout.fnmatch_lines([f"*labelled answers without a readable verdict of yes-no@j, left out: {mumbled}"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ab-human-labels=labels.jsonl",), "name one with --ab-judge"),
        ((JUDGED, "--ab-human-labels=labels.jsonl", "--ab-epochs=2"), "leave out --ab-epochs"),
        ((JUDGED, "--ab-human-kappa=0.5"), "name their file"),
        ((JUDGED, "--ab-human-labels=nowhere.csv"), "there is no file"),
        ((JUDGED, "--ab-human-labels=labels.jsonl,chosen=mine"), "which 'chosen=mine' is not part of"),
    ],
)
def test_labels_that_cannot_be_used_are_a_usage_error(evals, options, words):
    write_labels(evals, [(sample_id, 1) for sample_id in ids(evals)])
    result = evals.run(*options)
    assert result.ret == 4
    assert words in result.stderr.str() + result.stdout.str()


def test_verify_finds_figures_by_people_again_and_those_that_were_changed(evals):
    write_labels(evals, [(sample_id, n % 3 > 0) for n, sample_id in enumerate(ids(evals)[:30])])
    assert evals.run(JUDGED, "--ab-human-labels=labels.jsonl,chosen=random").ret == 0
    _, folder = evals.last()

    def status():
        verified = verify_run(folder, folder.parent, Folders({}))
        return {check.part: check.status for item in verified.checked for check in item.checks}["human labels"]

    assert status() == "ok"
    record = json.loads((folder / "run.json").read_text())
    metric = next(m for m in record["items"][0]["metrics"] if m["name"] == "corrected_score")
    metric["value"] += 0.01
    (folder / "run.json").write_text(json.dumps(record))
    assert status() == "fails"


def test_answers_on_which_annotators_are_split_count_in_their_agreement_alone(evals):
    said = [(name, who, n % 4 > 0 or who == "mia") for n, name in enumerate(ids(evals)) for who in ("mia", "ben")]
    write_labels(evals, [(name, {"id": name, "label": int(yes), "annotator": who}) for name, who, yes in said])
    result = evals.run(JUDGED, "--ab-human-labels=labels.jsonl")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*answers labelled right by as many as wrong in labels.jsonl, left out (10):*"])
    figures = by_people(evals)
    assert figures["human_kappa"]["n"] == 30
    assert figures["annotator_alpha"]["n"] == 40
    assert figures["annotator_alpha"]["value"] < 0


def test_labels_of_the_ini_file_are_for_the_runs_that_judge(evals):
    write_labels(evals, [(f"other-{n}", 1) for n in range(30)])
    (evals.path / "pytest.ini").write_text("[pytest]\nab_human_labels = labels.jsonl\n")
    assert evals.run().ret == 0
    assert evals.run(JUDGED).ret == 1


def test_labels_of_two_judges_are_bounded_for_each(evals):
    truth = [(name, int(REFERENCES[n] != "300 Hz")) for n, name in enumerate(ids(evals))]
    write_labels(evals, truth)
    judges = ("--ab-judge=a=judge:one,against=300 Hz", "--ab-judge=b=judge:two")
    result = evals.run(*judges, "--ab-human-labels=labels.jsonl", "--ab-human-kappa=0.6", "-n2")
    assert result.ret == 1
    assert {metric["value"] for metric in by_people(evals, "yes-no@a-vs-people").values()} >= {1.0}
    verdicts = evals.last()[0]["items"][0]["verdicts"]
    assert [verdict["status"] for verdict in verdicts] == ["pass", "fail"]
    (evals.path / "audiobench.toml").write_text('[[threshold]]\neval = "tones"\nrequire = ["human_kappa >= 0.6"]\n')
    result = evals.run(*judges, "--ab-human-labels=labels.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*name another: human_kappa[[]scorer=*"])
