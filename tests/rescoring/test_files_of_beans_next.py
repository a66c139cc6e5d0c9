"""BEANS-Next's files written of recorded answers: names, rows and numbers as there, judges and extractors included.

Side by side with BEANS-Next itself where ``BEANS_NEXT_PYTHON`` names an interpreter in which it is installed.
"""

import json
import os
import re
import subprocess
import threading
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.compat.beans_next_files import Rules
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.rescoring.judge_pass import task_kind
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

THEIRS = os.environ.get("BEANS_NEXT_PYTHON", "")
ANSWERS = {
    "s1": ("I hear a dog, maybe.", "dog", "YES"),
    "s2": ("a cat purring", "dog", "NO"),
    "s3": ("the sound of rain", "rain", "Yes, it does."),
    "s4": ("nothing to say", "cat", "I cannot tell."),
    "s5": ("dog<|end_of_text|> and more", "dog", "NO."),
}
EXTRACTED = {"s1": "dog", "s2": "cat", "s3": "rain", "s4": "", "s5": "dog"}
FILES = {
    "predictions.jsonl",
    "processed_predictions.jsonl",
    "scored_predictions.jsonl",
    "summary.json",
    "model_identity.json",
    "judge_outputs.jsonl",
    "judge_scored_predictions.jsonl",
    "judge_summary.json",
    "judge_extracted_scored_predictions.jsonl",
    "judge_extracted_summary.json",
}
INFO = {
    "name": "judge",
    "model": "a table",
    "model_revision": "1",
    "audio_payload_types": ["base64_wav"],
    "max_batch_size": 512,
    "supports_batching": True,
    "schema_versions": ["predictions_v1"],
    "load_status": "ready",
}
ANSWER = re.compile(r'<answer-\w+>\n(.*?)\n</answer|Model output: "(.*?)"\n|structure:\n(.*?)\n', re.S)


class JudgeServer:
    """A judge of predictions_v1 and judge_scores_v1 that knows each answer, in whatever prompt it finds it.

    ``asked`` is how many answers it was shown.
    """

    def __init__(self):
        judge, self.asked = self, 0

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                self.reply(INFO)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if "items" in body:
                    items = [judge.score(item) for item in body["items"]]
                    self.reply({"schema_version": "judge_scores_v1", "items": items})
                    return
                responses = [
                    {
                        "sample_id": request["sample_id"],
                        "predictions": [judge.answer("\n".join(turn["content"] for turn in request["messages"]))],
                        "finish_reason": "stop",
                        "usage": None,
                        "latency_sec": 0.0,
                        "error": None,
                    }
                    for request in body["requests"]
                ]
                self.reply({"schema_version": "predictions_v1", "responses": responses})

            def reply(self, content):
                body = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, prompt):
        self.asked += 1
        shown = next(filter(None, ANSWER.search(prompt).groups()))
        sample_id = next(id_ for id_, (text, _, _) in ANSWERS.items() if text == shown)
        return ANSWERS[sample_id][2] if "YES" in prompt else EXTRACTED[sample_id]

    def score(self, item):
        self.asked += 1
        sample_id = next(id_ for id_, (text, _, _) in ANSWERS.items() if text == item["candidate_text"])
        return {"sample_id": item["sample_id"], "score": len(sample_id) / 8, "rationale": "so", "error": None}

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def judge():
    with closing(JudgeServer()) as server:
        yield server


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(params=["text", "list"])
def predictions(request, tmp_path):
    """A folder as BEANS-Next leaves one: five answers, one of which its server could not give; targets or lists."""
    server = {"name": "launcher", "model": "some/model"}
    failed = {"sample_id": "s6", "predictions": [], "error": "out of memory", "finish_reason": None}
    answers = [
        {"sample_id": id_, "predictions": [text], "error": None, "finish_reason": "stop"}
        for id_, (text, _, _) in ANSWERS.items()
    ]
    rows = [
        {"schema_version": "predictions_v1", "usage": None, "latency_sec": 0.5, "server_info": server, **row}
        for row in (*answers, failed)
    ]
    more = {"task_id": "my_task", "scores": None, "postprocess_version": None, "processed_prediction": ""}
    more["schema_version"] = "beans_next.scored_prediction.v1"
    write(
        tmp_path / "run" / "processed_predictions.jsonl",
        [
            {
                **more,
                "sample_id": row["sample_id"],
                "predictions": row["predictions"],
                "targets": [target, "rain"] if request.param == "list" else target,
                "error": row["error"],
            }
            for row in rows
            for target in [ANSWERS.get(row["sample_id"], ("", "dog", ""))[1]]
        ],
    )
    return write(tmp_path / "run" / "predictions.jsonl", rows)


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def mean(file):
    return json.loads(file.read_text())["metrics"]["mean"]


def ours(predictions, judge, *more, task="classification"):
    out = predictions.parent.parent / "ours"
    urls = ["--judge-url", f"{judge.url}/predict", "--judge-extract-url", f"{judge.url}/predict"]
    kind = ["--task-type", task] if task else []
    assert main(["score", str(predictions), *urls, *kind, "--format=beans-next", "--out", str(out), *more]) == 0
    return out


def test_all_three_at_once_write_files_that_never_overlap(predictions, judge):
    folder = ours(predictions, judge)
    assert {file.name for file in folder.iterdir()} == FILES
    assert [row["processed_prediction"] for row in lines(folder / "scored_predictions.jsonl")][:3] == [
        "dog",
        "cat",
        "rain",
    ]
    assert [row["processed_prediction"] for row in lines(folder / "judge_extracted_scored_predictions.jsonl")][
        1
    ] == "cat"
    assert [row["score"] for row in lines(folder / "judge_outputs.jsonl")] == [1.0, 0.0, 1.0, None, 0.0]
    assert mean(folder / "judge_summary.json") == {"judge_accuracy": 0.5}
    assert mean(folder / "judge_extracted_summary.json")["accuracy"] == 0.75
    assert judge.asked == 10


@pytest.mark.parametrize("task", ["classification", "detection", ""])
def test_files_are_those_of_score_from_file_byte_for_byte(task, predictions, judge):
    if not THEIRS:
        pytest.skip("BEANS_NEXT_PYTHON names no interpreter in which BEANS-Next is installed")
    folder, out = ours(predictions, judge, task=task), predictions.parent.parent / "theirs"
    url, kind = f"{judge.url}/predict", ["--task-type", task] if task else []
    command = [THEIRS, "-m", "beans_next.cli", "score-from-file", predictions, "-o", out, *kind]
    subprocess.run([*command, "--judge-url", url, "--judge-extract-url", url], check=True, capture_output=True)
    assert {file.name for file in out.iterdir()} == FILES - {"predictions.jsonl"}
    version = re.compile(r'"library_version":"[^"]*"')
    for file in out.iterdir():
        assert version.sub("", (folder / file.name).read_text()) == version.sub("", file.read_text()), file.name
    assert lines(folder / "predictions.jsonl") == lines(predictions)


def test_what_was_written_is_read_again_with_the_same_numbers(predictions, judge, tmp_path):
    first = ours(predictions, judge)
    again = tmp_path / "again"
    arguments = ["--task-type=classification", "--format=beans-next", "--out", str(again)]
    assert main(["score", str(first / "predictions.jsonl"), *arguments]) == 0
    for name in ("predictions.jsonl", "processed_predictions.jsonl", "scored_predictions.jsonl", "summary.json"):
        assert (again / name).read_text() == (first / name).read_text()


def test_an_extractor_needs_no_judge_beside_it(predictions, judge, tmp_path):
    arguments = ["--judge-extract-url", judge.url, "--task-type=classification", "--format=beans-next"]
    assert main(["score", str(predictions), *arguments, "--out", str(tmp_path / "out")]) == 0
    assert mean(tmp_path / "out" / "judge_extracted_summary.json")["accuracy"] == 0.75
    assert not (tmp_path / "out" / "judge_summary.json").exists()


def test_an_extractor_is_never_shown_the_truth_alone(predictions, judge, monkeypatch):
    prompts = []
    answer = judge.answer
    monkeypatch.setattr(judge, "answer", lambda prompt: (prompts.append(prompt), answer(prompt))[1])
    ours(predictions, judge)
    extracting = [prompt for prompt in prompts if "YES" not in prompt]
    assert len(extracting) == 5
    assert all("dog\nrain\ncat" in prompt or "dog\ncat\nrain" in prompt for prompt in extracting)


def test_judges_stand_in_the_table_beside_the_rules(predictions, judge, capsys, tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text('["dog", "cat", "rain"]')
    urls = ["--judge-url", judge.url, "--judge-extract-url", judge.url, "--labels", f"my_task={labels}"]
    assert main(["score", str(predictions), *urls, "--task-type=classification", "--format=json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    accuracy = next(table for table in item["metrics"] if table["metric"] == "accuracy")
    values = {row["scorer"]: row["value"] for row in accuracy["rows"]}
    assert (values["beans-yes-no@judge"], values["yes-no@judge"]) == (0.5, 0.5)
    assert values["extract@extractor"] == 0.75
    assert {"bioacoustic", "beans-run"} <= values.keys()


def test_verdicts_that_could_not_be_had_are_counted_and_end_the_command_red(predictions, judge, capsys, monkeypatch):
    out_of_memory = {"score": None, "rationale": None, "error": "out of memory"}
    monkeypatch.setattr(judge, "score", lambda item: {"sample_id": item["sample_id"], **out_of_memory})
    assert main(["score", str(predictions), "--judge-url", f"{judge.url}/judge", "--task-type=classification"]) == 1
    assert re.search("5 of 5 verdicts of judge could not be had: .*out of memory", capsys.readouterr().err)


def test_verdicts_that_are_none_are_counted_in_a_sentence(predictions, judge, capsys, monkeypatch):
    monkeypatch.setattr(judge, "answer", lambda prompt: "Who can say?")
    assert main(["score", str(predictions), "--judge-url", judge.url, "--task-type=classification"]) == 0
    assert "5 of 5 verdicts of judge could not be read" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["", "judge-scores:"])
def test_a_server_of_judge_scores_weighs_by_a_rubric(predictions, judge, tmp_path, kind):
    out = tmp_path / "out"
    arguments = ["--judge-url", f"{kind}{judge.url}/judge", "--task-type=classification", "--format=beans-next"]
    assert main(["score", str(predictions), *arguments, "--out", str(out)]) == 0
    assert [row["score"] for row in lines(out / "judge_outputs.jsonl")] == [0.25] * 5
    assert mean(out / "judge_summary.json") == {"judge_score": 0.25}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--format=beans-next"], "name their new folder with --out"),
        (["--format=pairs"], "name their new folder with --out"),
        (["--judge-extract-url=judge-scores:http://127.0.0.1:9/judge"], "extracts nothing"),
        (["--judge-url=ftp://somewhere"], "names an unknown kind"),
        (["--labels=no/such/file.json"], "there is no file"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, complaint, predictions, capsys):
    assert main(["score", str(predictions), *arguments]) == 4
    assert complaint in capsys.readouterr().err


def test_nothing_is_written_beside_what_is_there(predictions, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    assert main(["score", str(predictions), "--format=beans-next", "--out", str(tmp_path / "out")]) == 4
    assert "not empty" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mine"]


def test_pairs_are_rows_of_prompt_answer_and_truth(predictions, tmp_path, capsys):
    assert main(["score", str(predictions), "--format=pairs", "--out", str(tmp_path / "out")]) == 0
    rows = lines(tmp_path / "out" / "pairs.jsonl")
    assert len(rows) == 6
    assert {row["schema_version"] for row in rows} == {"beans_next.prompt_answer_pair.v1"}
    first = rows[0]
    assert (first["sample_id"], first["task_id"], first["model_tag"]) == ("s1", "my_task", "some/model")
    assert (first["raw_predictions"], first["error"]) == (["I hear a dog, maybe."], None)
    assert rows[-1]["error"] == "out of memory"
    assert main(["score", str(tmp_path / "out" / "pairs.jsonl"), "--task-type=classification"]) == 0


def test_a_run_of_ours_is_written_as_theirs_by_model_and_task(run_folder, tmp_path):
    assert main(["score", str(run_folder), "--format=beans-next", "--out", str(tmp_path / "out")]) == 0
    places = {str(file.parent.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("summary.json")}
    assert places == {
        f"{model}/all_{task}" for model in ("good", "deaf") for task in ("tones_even", "tones_odd", "words")
    }
    rows = lines(tmp_path / "out" / "good" / "all_tones_odd" / "scored_predictions.jsonl")
    assert len({row["sample_id"] for row in rows}) == len(rows) == 20
    assert sum(row["error"] is not None for row in rows) == 1


def test_the_folders_of_tasks_are_read_again_together_each_by_its_model(run_folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["score", str(run_folder), "--format=beans-next", "--out", str(out)]) == 0
    assert main(["score", str(out), "--task-type=classification", "--out", str(tmp_path / "again")]) == 0
    capsys.readouterr()
    items = json.loads((tmp_path / "again" / "run.json").read_text())["items"]
    assert {(item["eval"], item["model"]) for item in items} == {
        (f"all_{task}", model) for model in ("good", "deaf") for task in ("tones_even", "tones_odd", "words")
    }


@pytest.mark.parametrize(
    ("family", "options", "kind"),
    [
        ("bioacoustic", {}, "classification"),
        ("bioacoustic", {"task": "captioning"}, "captioning"),
        ("bioacoustic,task=detection", {}, "detection"),
        ("bioacoustic_detection", {}, "detection"),
        ("bioacoustic_number", {}, "classification"),
        ("bioacoustic_list", {}, "classification"),
        ("transcription", {}, ""),
    ],
)
def test_the_kind_of_a_task_is_what_beans_next_calls_it(family, options, kind):
    row = RecordedRow(Sample("s", (), ""), {}, "e", "d", "m", family=family, options=options)
    assert task_kind(row) == kind


def test_a_run_of_ours_is_processed_by_the_labels_that_it_was_asked_with():
    sample = Sample("s", (), "", ("song", "call"), "song")
    row = RecordedRow(sample, {}, "e", "d", "m", family="bioacoustic", options={"labels": ["song", "alarm call"]})
    (cleaner,) = [step for step in Rules("run").steps([row]).cleaners if step.name == "extract_label_from_text"]
    assert cleaner.params["labels"] == ("song", "alarm call")
    (cleaner,) = [step for step in Rules("run").steps([replace(row, options={})]).cleaners if step.params]
    assert cleaner.params["labels"] == ("song", "call")


def test_a_judge_weighs_the_answers_of_a_run(run_folder, judge, capsys, monkeypatch):
    monkeypatch.setattr(judge, "answer", lambda prompt: "YES")
    assert main(["score", str(run_folder), "--judge-url", judge.url, "--format=json"]) == 0
    items = json.loads(capsys.readouterr().out)
    tables = [table for item in items for table in item["metrics"] if table["metric"] == "accuracy"]
    said = {row["value"] for table in tables for row in table["rows"] if row["scorer"] == "yes-no"}
    assert said == {1.0}


def test_pairs_of_a_run_have_the_words_that_were_asked(run_folder, tmp_path):
    assert main(["score", str(run_folder), "--format=pairs", "--out", str(tmp_path / "out")]) == 0
    rows = lines(tmp_path / "out" / "pairs.jsonl")
    asked = [turn["content"] for turn in rows[0]["prompt_messages"]]
    assert any("<Audio><AudioHere></Audio>" in content for content in asked)
    assert rows[0]["raw_predictions"]
    assert rows[0]["ground_truth"]


def test_questions_and_counts_are_not_judged_without_a_judge(predictions, judge, capsys):
    assert main(["score", str(predictions), "--task-type=qa"]) == 4
    assert (said := capsys.readouterr().err).count("only a judge can score the family judged") == 1
    assert "name one with --judge-url" in said
    assert main(["score", str(predictions), "--task-type=qa", "--judge-url", judge.url, "--format=json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)
    accuracy = next(table for table in item["metrics"] if table["metric"] == "accuracy")
    assert {row["scorer"]: row["value"] for row in accuracy["rows"]}["beans-yes-no"] == 0.5


def test_human_labels_are_held_beside_the_judge_of_recorded_answers(predictions, judge, capsys, tmp_path):
    for name in ("predictions.jsonl", "processed_predictions.jsonl"):
        rows = lines(predictions.parent / name)
        write(tmp_path / "many" / name, [{**rows[n % 4], "sample_id": f"s{n}"} for n in range(40)])
    many = tmp_path / "many" / "predictions.jsonl"
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"s{n},{n % 2}\n" for n in range(32)))
    command = ["score", str(many), "--judge-url", judge.url, "--task-type=classification"]
    assert main([*command, f"--human-labels={labels},chosen=random", "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    figures = {
        metric["name"]: metric for metric in record["items"][0]["metrics"] if metric["n"] and not metric["group"]
    }
    assert figures["human_kappa"]["n"] == 24
    assert figures["corrected_score"]["n"] == 30
    assert figures["corrected_score"]["value"] is not None
    said = capsys.readouterr().out
    assert "labelled answers without a readable verdict of yes-no@judge, left out: 8" in said
    assert "corrected by 24 human labels" in said
    assert main([*command, f"--human-labels={labels}", "--human-kappa=1"]) == 1
    assert "human_kappa of" in capsys.readouterr().err
    labels.write_text("id,label\nnobody,1\n")
    assert main([*command, f"--human-labels={labels}"]) == 1
    assert "--human-labels labelled nothing" in capsys.readouterr().err
    assert main(["score", str(many), f"--human-labels={labels}"]) == 4
