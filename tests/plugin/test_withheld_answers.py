"""Benchmarks whose publishers keep the answers: asked without a score, with a file of predictions to submit."""

import json
from pathlib import Path

import pytest

MMAU = Path(__file__).parents[2] / "evals" / "mmau.audiobench.toml"

# The rows of mmau-test.json, and of mmau-test-mini.json, whose answers are not "": the keys are those of
# https://github.com/Sakshi113/MMAU, of which evaluation.py reads "model_output" and README.md names "model_prediction".
PARQUET = """
[parameters]
split = ["dev"]
[data]
rows = "{split}.parquet"
json = ["about"]
[sample]
id = "{about.id}"
audio = "{audio}"
question = "{question}"
choices = "{choices|unlettered}"
answer = "{answer|unlettered}"
metadata = { half = "{about.half}" }
[submission]
parameters = { split = ["test"] }
prediction = "prediction"
format = "jsonl"
"""


def rows_of(tones, split, answered):
    return [
        {
            "id": tone["id"],
            "audio_id": f"./{split}-audios/{Path(tone['audio']).name}",
            "question": "Which tone is it? ",
            "choices": [*tone["choices"]],
            "answer": tone["answer"] if answered else "",
            "dataset": "Tones",
            "task": ("sound", "music", "speech")[number % 3],
            "split": split,
            "category": "Reasoning",
            "sub-category": "Acoustic Source Inference",
            "difficulty": ("easy", "hard")[number % 2],
        }
        for number, tone in enumerate(tones)
    ]


@pytest.fixture
def mmau(suite):
    """The published declaration over seventy tones: twenty with answers, and all without."""
    suite.tones(70)
    folder = suite.path / "data"
    tones = [json.loads(line) for line in (folder / "tones.jsonl").read_text().splitlines()]
    for split, part in (("test-mini", tones[:20]), ("test", tones)):
        rows = rows_of(part, split, answered=split == "test-mini")
        (folder / f"mmau-{split}.json").write_text(json.dumps(rows))
        (folder / f"{split}-audios").mkdir()
        for tone in part:
            name = Path(tone["audio"]).name
            (folder / f"{split}-audios" / name).write_bytes((folder / tone["audio"]).read_bytes())
    (suite.path / MMAU.name).write_text(MMAU.read_text())
    suite.tones_of = {tone["id"]: tone for tone in tones}
    return suite


HERE = "--ab-data=mmau=data"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_withheld_answers_are_asked_for_without_a_score_and_their_file_is_written(mmau, workers):
    result = mmau.run(HERE, workers)
    result.assert_outcomes(passed=2)
    run, folder = mmau.last()
    mini, test = run["items"]
    assert (mini["eval"], mini["dataset"], test["eval"], test["dataset"]) == (
        "mmau",
        "mmau/test-mini",
        "mmau[test]",
        "mmau/test",
    )
    assert {metric["name"] for metric in mini["metrics"]} >= {"accuracy", "coverage"}
    assert {metric["name"] for metric in test["metrics"]} == {"coverage"}
    assert (test["metrics"][0]["value"], test["n"]) == (1.0, 70)
    (path,) = (folder / "submissions").iterdir()
    result.stdout.fnmatch_lines(
        [f"*mmau?test?: answers withheld: coverage 100 %, submission file reports/*{path.name}*"]
    )
    written = json.loads(path.read_text())
    published = json.loads((mmau.path / "data" / "mmau-test.json").read_text())
    assert len(written) == len(published) == 70
    for row, before in zip(written, published, strict=True):
        right = mmau.tones_of[row["id"]]["answer"]
        assert row == {**before, "model_output": right, "model_prediction": right}
    (line,) = [line.split() for line in result.outlines if line.startswith("mmau[test]")]
    assert line[:4] == ["mmau[test]", "coverage", "100.0", "%"]


def test_no_row_without_a_reference_counts_as_wrong_or_right(mmau):
    mmau.run(HERE, deaf="yes").assert_outcomes(passed=2)
    run, folder = mmau.last()
    rows = [json.loads(line) for line in (folder / "scored_predictions.jsonl").read_text().splitlines()]
    assert {tuple(row["scores"]) for row in rows if row["eval"] == "mmau[test]"} == {("parsed",)}
    pooled = [
        (metric["name"], metric["n"]) for suite in run["suites"] for metric in suite["metrics"] if not metric["group"]
    ]
    assert pooled == [("accuracy", 20), ("coverage", 20), ("coverage", 70)]
    (path,) = (folder / "submissions").iterdir()
    assert all(row["model_output"] == row["choices"][0] for row in json.loads(path.read_text()))


@pytest.mark.parametrize("requirement", ["accuracy >= 0.2", "accuracy[task=sound] >= 0.2", "accuracy.drop <= 1pp"])
def test_a_requirement_on_withheld_answers_is_a_mistake_before_anything_is_asked(mmau, requirement):
    (mmau.path / "audiobench.toml").write_text(f'[[threshold]]\neval = "mmau[test]"\nrequire = ["{requirement}"]\n')
    log = mmau.path / "asked.txt"
    result = mmau.run(HERE, "mmau.audiobench.toml::test_mmau[test]", log=log)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"*{requirement.replace('[', '?').replace(']', '?')} cannot be required of mmau?test?*"]
    )
    assert not log.exists()


def test_a_requirement_on_coverage_holds_for_withheld_answers(mmau):
    threshold = '[[threshold]]\neval = "mmau[test]"\nrequire = ["coverage >= 0.9"]\n'
    (mmau.path / "audiobench.toml").write_text(threshold)
    mmau.run(HERE).assert_outcomes(passed=2)
    (verdict,) = mmau.last()[0]["items"][1]["verdicts"]
    assert (verdict["status"], verdict["value"]) == ("pass", 1.0)


SILENT = """
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class Silent:
    listens, device, batching, in_process = True, "cpu", "planned", False
    limits = Limits(max_batch=4, max_clip_s=2.0)

    def __init__(self, target, options):
        self.spec = f"silent:{target}"

    def fingerprint(self):
        return {"silent": "1"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        texts = {"tone-0": "I would rather not say.", "tone-1": "", "tone-2": "(H)"}
        return [Response.of(texts.get(request.sample_id, "(B)")) for request, _ in batch]


def pytest_audiobench_register(registration):
    registration.model("silent", Silent)
"""


def test_what_was_not_read_is_an_empty_prediction(mmau):
    mmau.write(silent=SILENT)
    result = mmau.run(HERE, "-p", "silent", "mmau.audiobench.toml::test_mmau[test]", model="silent:one")
    result.assert_outcomes(passed=1)
    run, folder = mmau.last()
    (path,) = (folder / "submissions").iterdir()
    predictions = {row["id"]: row["model_output"] for row in json.loads(path.read_text())}
    assert {id_ for id_, said in predictions.items() if not said} == {"tone-0", "tone-1", "tone-2"}
    assert all(said in ("", mmau.tones_of[id_]["choices"][1]) for id_, said in predictions.items())
    assert run["items"][0]["metrics"][0]["value"] == pytest.approx(67 / 70)
    result.stdout.fnmatch_lines(["*answers withheld: coverage 95.71 %, submission file *"])


def test_a_sample_that_could_not_be_asked_keeps_its_file_from_being_written(mmau):
    (mmau.path / "data" / "test-audios" / "tone7.wav").unlink()
    result = mmau.run(HERE, "mmau.audiobench.toml::test_mmau[test]", "--ab-max-errors", "1")
    result.stdout.fnmatch_lines(["*no submission file: 1 samples could not be asked; run again*"])
    assert not (mmau.last()[1] / "submissions").exists()


def test_a_split_whose_rows_alone_are_here_is_asked_and_the_other_is_skipped(mmau):
    (mmau.path / "data" / "mmau-test-mini.json").unlink()
    result = mmau.run(HERE, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *data, which has no mmau-test-mini.json and no test_mini.parquet*"])
    (mmau.path / "data" / "mmau-test.json").unlink()
    mmau.run("--ab-data=.").assert_outcomes(skipped=1, deselected=1)
    assert mmau.run(HERE).ret == pytest.ExitCode.USAGE_ERROR


def test_where_only_the_extra_for_parquet_is_lacking_one_sentence_says_what_to_install(mmau):
    (mmau.path / "data" / "mmau-test-mini.json").unlink()
    (mmau.path / "data" / "test_mini.parquet").write_bytes(b"PAR1")
    mmau.write(without="import sys\nsys.modules['pyarrow'] = sys.modules['pyarrow.parquet'] = None\n")
    result = mmau.run(HERE, "-p", "without")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: Parquet files need pyarrow: pip install 'pytest-audiobench[[]parquet[]]'"])


def test_withheld_answers_are_compared_with_a_baseline_by_their_coverage(mmau):
    test = "mmau.audiobench.toml::test_mmau[test]"
    mmau.write(silent=SILENT)
    mmau.run(HERE, test, "--ab-run", "before").assert_outcomes(passed=1)
    silent = "--ab-model=one=silent:one"
    result = mmau.run(HERE, test, silent, "-p", "silent", "--ab-baseline", "reports/before", model=None)
    result.assert_outcomes(passed=1, warnings=1)
    (line,) = mmau.last()[0]["items"][0]["regressions"]
    assert (line["metric"], line["baseline"], line["worse"], line["pairs"]) == ("coverage", 1.0, 3, 70)


def test_withheld_answers_have_no_true_labels_to_be_confused_with(mmau):
    mmau.write(
        test_labels="""
import pytest
from pytest_audiobench import dataset, multiple_choice
from pytest_audiobench.ext import UsageError

def test_labels(evaluate):
    result = evaluate(dataset("mmau", "test"), multiple_choice())
    assert result.keys()[0] == "coverage" and result["coverage"] == 1.0
    with pytest.raises(UsageError, match="publisher withholds the answers"):
        result.confusion()
"""
    )
    mmau.run(HERE, "test_labels.py").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("rows[:-1]", "*has 70 rows of 69 samples, and 70 were asked*"),
        ("[*rows[:-1], (rows[-1][0], {**rows[-1][1], 'task': 'speech?'})]", "*row 69 is not that of tone-69 with its*"),
        ("[*rows, rows[0]]", "*row 70 is not that of tone-0 with its prediction*"),
    ],
)
def test_a_file_that_has_not_every_row_once_as_it_was_published_is_refused(mmau, second, said):
    mmau.write(
        test_changing=f"""
from dataclasses import replace
from pytest_audiobench import dataset, multiple_choice

def test_changing(evaluate):
    data, reads = dataset("mmau", "test"), []

    def changing(places):
        rows = list(data.submission.rows(places))
        reads.append(1)
        return iter({second} if len(reads) > 1 else rows)

    evaluate(replace(data, submission=replace(data.submission, rows=changing)), multiple_choice())
"""
    )
    result = mmau.run(HERE, "test_changing.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([said])
    assert not list(mmau.path.glob("reports/*/submissions/*"))


def test_a_row_that_was_never_asked_is_in_no_file(mmau):
    mmau.write(
        test_strange="""
from dataclasses import replace
from pytest_audiobench import dataset, multiple_choice

def test_strange(evaluate):
    data = dataset("mmau", "test")
    strange = lambda places: iter([*data.submission.rows(places), ("tone-900", {})])
    evaluate(replace(data, submission=replace(data.submission, rows=strange)), multiple_choice())
"""
    )
    result = mmau.run(HERE, "test_strange.py")
    result.stdout.fnmatch_lines(["*the row of tone-900 was not asked: the data set changed*"])
    assert not list(mmau.last()[1].glob("submissions/*"))


def test_each_model_has_a_file_of_its_own(mmau):
    result = mmau.run(HERE, "--ab-model=left=tone:one", "--ab-model=right=tone:one,deaf=yes", model=None)
    result.assert_outcomes(passed=4)
    run, folder = mmau.last()
    assert {item["eval"] for item in run["items"]} == {"mmau", "mmau[test]"}
    left, right = (json.loads(next(folder.glob(f"submissions/*-{name}-*")).read_text()) for name in ("left", "right"))
    assert [row["id"] for row in left] == [row["id"] for row in right]
    assert all(row["model_output"] == row["choices"][0] for row in right)
    assert any(row["model_output"] != row["choices"][0] for row in left)


def test_perturbed_clips_are_no_submission(mmau):
    mmau.write(
        test_noisy="""
from pytest_audiobench import dataset, multiple_choice, perturbations, perturb

def test_noisy(evaluate):
    (noise,) = perturbations("ladder", "white", 20)
    evaluate(perturb(dataset("mmau", "test"), noise), multiple_choice())
"""
    )
    result = mmau.run(HERE, "test_noisy.py")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*answers withheld: *, no submission file: these are not the rows as they were published"]
    )


def test_a_part_of_the_rows_is_no_submission(mmau):
    result = mmau.run(HERE, "--ab-limit", "8")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*mmau?test?: answers withheld: * no submission file: 34 of 70 samples were asked*"])
    assert not (mmau.last()[1] / "submissions").exists()


def test_a_run_of_withheld_answers_is_verified_and_scored_again(mmau):
    mmau.run(HERE).assert_outcomes(passed=2)
    from pytest_audiobench.cli import main

    folder = str(mmau.last()[1])
    assert main(["verify", folder]) == 0
    assert main(["score", folder, "--out", str(mmau.path / "again")]) == 0
    (again,) = (mmau.path / "again").glob("**/run.json")
    assert {m["name"] for m in json.loads(again.read_text())["items"][1]["metrics"]} == {"coverage"}


def test_a_published_answer_that_is_lacking_stays_a_mistake(mmau):
    file = mmau.path / "data" / "mmau-test-mini.json"
    rows = json.loads(file.read_text())
    file.write_text(json.dumps([{**rows[0], "answer": ""}, *rows[1:]]))
    result = mmau.run(HERE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*mmau-test-mini.json, row 0 has no 'answer', which is not the published layout*"])


def test_rows_of_parquet_are_submitted_without_their_audio(suite):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    suite.tones()
    folder = suite.path / "data"
    tones = [json.loads(line) for line in (folder / "tones.jsonl").read_text().splitlines()]
    lettered = [[f"({'ABCDEFGH'[i]}) {choice}" for i, choice in enumerate(tone["choices"])] for tone in tones]
    for split in ("dev", "test"):
        answers = [f"({'ABCDEFGH'[t['choices'].index(t['answer'])]}) {t['answer']}" for t in tones]
        table = pyarrow.table(
            {
                "audio": [{"bytes": (folder / tone["audio"]).read_bytes()} for tone in tones],
                "question": ["Which tone is it?"] * len(tones),
                "choices": lettered,
                "answer": answers if split == "dev" else [""] * len(tones),
                "about": [json.dumps({"id": tone["id"], "half": number % 2}) for number, tone in enumerate(tones)],
            }
        )
        parquet.write_table(table, folder / f"{split}.parquet", row_group_size=7)
    (suite.path / "pitch.audiobench.toml").write_text(PARQUET)
    result = suite.run("--ab-data=pitch=data")
    result.assert_outcomes(passed=2)
    run, runs_folder = suite.last()
    assert [item["eval"] for item in run["items"]] == ["pitch[dev]", "pitch[test]"]
    assert run["items"][0]["metrics"][0]["value"] == 1.0
    (path,) = (runs_folder / "submissions").iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    expected = [
        {
            "question": "Which tone is it?",
            "choices": options,
            "answer": "",
            "about": json.dumps({"id": tone["id"], "half": number % 2}),
            "prediction": tone["answer"],
        }
        for number, (tone, options) in enumerate(zip(tones, lettered, strict=True))
    ]
    assert rows == expected
