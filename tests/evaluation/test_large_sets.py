"""A data set of any length: what a sample of it takes of the memory until the first request."""

import json
import os
import subprocess
import sys
from dataclasses import replace as replaced
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, SeenIds, spooled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.evaluate import Evaluation, Keeper
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.report.item_lines import item_lines
from pytest_audiobench.report.run_writer import adding_lines
from tests.evaluation.tiny import Speaker, dataset, evaluated, sample

MOST_BYTES_A_SAMPLE = 500
"""The first cost more than those of a million do; as objects in lists each would take over 3,000."""
MOST_BYTES_AN_ANSWER = 700
"""With all that an eval makes of it; in lists each would take over 4,500."""

# A child's ru_maxrss starts at its parent's, which may have loaded torch; VmHWM is the child's own.
PLAN = """
import sys
from pathlib import Path
from pytest_audiobench.datasets import spool
spool.MOST_IN_MEMORY = 1000  # before anyone takes it from there: few rows show what each takes
from tests.evaluation.tiny import Speaker, evaluated
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import FatalError

class Silent(Speaker):
    def load(self):
        raise FatalError("everything is planned")

class Forgetful(Speaker):
    def ask(self, batch):
        answers = super().ask(batch)
        self.batches.clear()
        return answers

silent = sys.argv[3] == "silent"
model = (Silent if silent else Forgetful)(batching="planned", listens=False)
file, places = Path(sys.argv[1]), Places(Path(), named={"made": Path(sys.argv[1]).parent})
declaration = file.with_name("made.audiobench.toml")
dataset = declared_loader(declaration)() if sys.argv[2] == "declared" else manifest(file)
try:
    evaluated(file.parent, dataset, None, model, {"places": places})
except FatalError:
    assert silent
status = Path("/proc/self/status").read_text().split()
print(int(status[status.index("VmHWM:") + 1]) * 1024)
"""
DECLARATION = """
[data]
root = "made"
rows = "{file}"
[sample]
id = "{{id}}"
audio = "{{audio}}"
question = "{{question}}"
choices = ["cat", "dog"]
answer = "{{answer}}"
"""


def peak_bytes(folder: Path, ending: str, kind: str, rows: int, model: str = "silent") -> int:
    folder.mkdir()
    file = folder / f"rows.{ending}"
    with file.open("w", encoding="utf-8") as lines:
        if ending == "csv":
            lines.write("id,audio,question,choices,answer\n")
        for number in range(rows):
            row = {"id": f"s{number}", "audio": "a.wav", "question": f"Which animal is in {number}?"}
            if ending == "csv":
                lines.write(",".join([*row.values(), "cat|dog", "cat"]) + "\n")
            else:
                lines.write(json.dumps({**row, "choices": ["cat", "dog"], "answer": "cat"}) + "\n")
    (folder / "made.audiobench.toml").write_text(DECLARATION.format(file=file.name), encoding="utf-8")
    command = [sys.executable, "-c", PLAN, str(file), kind, model]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    return int(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc says what a process took")
@pytest.mark.parametrize(
    ("ending", "kind"), [pytest.param("csv", "manifest", marks=pytest.mark.slow), ("jsonl", "declared")]
)
def test_a_sample_more_takes_little_memory_until_the_first_request(tmp_path, ending, kind):
    few, many = 10_000, 40_000
    growth = peak_bytes(tmp_path / "many", ending, kind, many) - peak_bytes(tmp_path / "few", ending, kind, few)
    assert growth / (many - few) < MOST_BYTES_A_SAMPLE


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc says what a process took")
def test_an_answer_more_takes_little_memory_to_the_end_of_the_eval(tmp_path):
    few, many = 3_000, 13_000
    peaks = [peak_bytes(tmp_path / str(rows), "jsonl", "manifest", rows, "speaking") for rows in (few, many)]
    assert (peaks[1] - peaks[0]) / (many - few) < MOST_BYTES_AN_ANSWER


def test_elements_beyond_those_in_memory_are_equal_and_in_order():
    own = [sample("tone", id=f"s{number}", metadata={"take": number}) for number in range(MOST_IN_MEMORY + 3)]
    samples = spooled(iter(own))
    assert len(samples) == len(own)
    assert samples[-3:] == own[-3:]
    assert [samples[position] for position in (MOST_IN_MEMORY, 0, -1)] == [own[MOST_IN_MEMORY], own[0], own[-1]]
    assert list(samples) == own
    with pytest.raises(IndexError):
        samples[len(own)]


SMALL = ("datasets.spool", "evaluation.selection", "evaluation.answer_collection", "evaluation.sample_answers")


def parts_of(folder: Path, own: Dataset, model: Speaker, epochs: int) -> tuple[Evaluation, bytes]:
    """An eval, and its lines as they are written while it continues."""
    folder.mkdir()
    with adding_lines(folder, "lines") as add:

        def keeper(selection: Selection, protocol: Protocol) -> Keeper:
            writer = item_lines("t", "model", selection, protocol)
            return lambda answers, rows: add(writer.lines(answers, rows))

        evaluation = evaluated(
            folder, own, multiple_choice("letters", "mmau-string"), model, {"keeper": keeper}, epochs=epochs
        )
    return evaluation, b"".join(path.read_bytes() for path in sorted(folder.glob("lines.*.jsonl")))


def told(answers: SampleAnswers) -> SampleAnswers:
    """The same without how long it took, which differs."""
    return answers._replace(responses={stage: replaced(own, share_s=None) for stage, own in answers.responses.items()})


@pytest.mark.parametrize("epochs", [1, 2])
def test_an_eval_in_portions_asks_scores_and_writes_what_it_does_in_one(tmp_path, monkeypatch, epochs):
    def says(request: Request) -> Response:
        if "17" in request.messages[0].parts[0]:
            return Response(error="it broke")
        return Response.of("ABC?"[int(request.key[0], 16) % 4])

    # Every question is asked of two samples, most of them in different portions, and half of a pair in one of them.
    own = [
        sample(f"s{number}", clips=(), question=f"Which of {number % 100}?", metadata={"hop": number % 3})
        for number in range(200)
    ]
    models = [Speaker(says, batching="planned") for _ in range(2)]
    whole, lines = parts_of(tmp_path / "whole", dataset(own, groups=("hop",)), models[0], epochs)
    for module in (*SMALL, "evaluation.evaluate"):
        monkeypatch.setattr(f"pytest_audiobench.{module}.MOST_IN_MEMORY", 7)
    data = Dataset("animals", lambda places: spooled(iter(own)), groups=("hop",))
    again, again_lines = parts_of(tmp_path / "again", data, models[1], epochs)
    assert [[request.key for request in batch] for batch in models[1].batches] == [
        [request.key for request in batch] for batch in models[0].batches
    ]
    assert again_lines == lines
    assert replace(again.result.record, taken={}, speed=[]) == replace(whole.result.record, taken={}, speed=[])
    assert list(map(told, again.answers)) == list(map(told, whole.answers))
    for name, rows in whole.rows.items():
        assert [row[1:] for row in again.rows[name]] == [row[1:] for row in rows]
        assert [told(row.answers) for row in again.rows[name]] == [told(row.answers) for row in rows]
    for key in ("accuracy", "accuracy[hop=1]", "accuracy[without=empty]", "coverage[scorer=mmau-string,hop=2]"):
        assert (again.result[key], again.result[key].n) == (whole.result[key], whole.result[key].n)


def test_a_long_eval_says_how_far_it_has_come_in_all_and_what_it_comes_to_so_far(tmp_path, monkeypatch):
    for module in (*SMALL, "evaluation.evaluate"):
        monkeypatch.setattr(f"pytest_audiobench.{module}.MOST_IN_MEMORY", 7)
    said = []
    own = [sample(f"s{number}", question=f"Which of {number}?") for number in range(200)]
    model = Speaker(lambda request: "AB"[int(request.sample_id[1:]) % 2], listens=False)
    evaluation = evaluated(tmp_path, own, None, model, {"progress": lambda *state: said.append(state)})
    assert evaluation.result["accuracy"] == 0.5
    assert said[0] == (0, 200, "")
    assert said[-1][:2] == (200, 200)
    assert [done for done, _, _ in said] == sorted(done for done, _, _ in said)
    figures = [figure for _, _, figure in said if figure]
    assert figures[0].startswith(", accuracy 0.")
    assert figures[0].endswith(" so far")


def test_ids_are_met_once_however_many_there_are(monkeypatch):
    monkeypatch.setattr("pytest_audiobench.datasets.spool.MOST_IN_MEMORY", 3)
    seen = SeenIds()
    assert all(seen.add(f"s{number}") for number in range(100))
    assert not any(seen.add(f"s{number}") for number in range(100))
    assert "s99" in seen
    assert "s100" not in seen
    assert len(seen) == 100


def test_ids_that_repeat_far_apart_are_named_with_both_lines_among_the_other_mistakes(tmp_path):
    lines = [f'{{"id": "s{number % 20_000}", "audio": "a.wav", "answer": "yes"}}\n' for number in range(20_002)]
    lines[10] = '{"id": "s10", "audio": "a.wav"}\n'
    (tmp_path / "set.jsonl").write_text("".join(lines), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        manifest(tmp_path / "set.jsonl").read(Places(tmp_path))
    first, second, third = str(error.value).split("\n")
    assert "line 11 (id 's10') has no answer" in first
    assert "has the id 's0' on line 1 and on line 20001" in second
    assert "has the id 's1' on line 2 and on line 20002" in third


def test_a_cell_that_spans_lines_is_read_behind_those_in_memory(tmp_path):
    rows = "".join(f's{number},a.wav,"Which\n{number}?",yes\n' for number in range(MOST_IN_MEMORY + 2))
    (tmp_path / "set.csv").write_text(f"id,audio,question,answer\n{rows}", encoding="utf-8")
    samples = manifest(tmp_path / "set.csv").read(Places(tmp_path))
    assert samples[-1].question == f"Which\n{MOST_IN_MEMORY + 1}?"


def test_without_room_for_a_large_set_one_sentence_says_what_to_set(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    with pytest.raises(UsageError, match="set TMPDIR to a folder with room"):
        spooled(range(MOST_IN_MEMORY + 1))
