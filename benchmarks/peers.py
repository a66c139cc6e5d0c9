"""What a sample costs in this package and elsewhere, with a model that answers at once.

Run ``python benchmarks/peers.py [--samples N] [--rounds N]``. In turn, each a process of its own over the same
multiple-choice questions:

- plain loop: reads and hashes each file, answers, writes a line;
- pytest: as many parametrised tests that do nothing;
- first, cached: this package, with an empty store and with every answer known;
- lmms-eval: its dummy model, which reads each file, and a scorer that looks for a letter;
- inspect_ai: its mock model, multiple-choice solver and scorer, text only, no audio; as many samples as ``--of-peers``.

From each is taken what the same process costs with one sample. Peers run in environments of their own, named by
``BENCHMARK_PEERS=inspect_ai=/path/to/python,lmms_eval=/path/to/python``; one that is not named is left out, and the
script says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import make, run
from measure import Spent, keep, keep_left_out, process, table_row, yardstick

LOOP = """
import hashlib, json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
with open("answers.jsonl", "w") as out:
    for row in rows:
        digest = hashlib.sha256(open(row["audio"], "rb").read()).hexdigest()
        out.write(json.dumps({"id": row["id"], "digest": digest, "answer": row["choices"][0]}) + "\\n")
"""
PYTEST = """
import json, pathlib, os, pytest
ROWS = pathlib.Path(os.environ["ROWS"]).read_text().splitlines()

@pytest.mark.parametrize("number", range(len(ROWS)))
def test_row(number): pass
"""
INSPECT = """
import json, sys
from inspect_ai import Task, eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

rows = [json.loads(line) for line in open(sys.argv[1])]
samples = [Sample(input=row["question"], choices=row["choices"], target="A", id=row["id"]) for row in rows]

def outputs():
    while True:
        output = ModelOutput.from_content("mockllm/model", "ANSWER: A")
        # Without a usage it counts tokens by a library that asks the network.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        yield output

task = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
(log,) = run(task, model=get_model("mockllm/model", custom_outputs=outputs()), display="none", log_dir="logs")
assert log.status == "success", log.error
"""


LMMS_CODE = """
def visual(doc, *_):
    return [doc["audio"]]

def text(doc, *_):
    return doc["question"]

def scores(doc, results):
    return {"right": float(results[0].strip() == "A")}
"""
LMMS_TASK = """
task: peer
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: generate_until
doc_to_visual: !function code.visual
doc_to_text: !function code.text
doc_to_target: "A"
generation_kwargs: {max_new_tokens: 8}
process_results: !function code.scores
metric_list:
  - {metric: right, aggregation: mean, higher_is_better: true}
"""


def peers() -> dict[str, str]:
    """The Python of each peer that ``BENCHMARK_PEERS`` names."""
    entries = filter(None, os.environ.get("BENCHMARK_PEERS", "").split(","))
    return dict(entry.split("=", 1) for entry in entries)


class Scene:
    """The questions, whole and one alone, and the scripts that ask them."""

    def __init__(self, folder: Path, samples: int, of_peers: int) -> None:
        self.folder, self.bytecode = folder, folder / "bytecode"
        make(folder, samples)
        rows = (folder / "all.jsonl").read_text().splitlines(keepends=True)
        (folder / "some.jsonl").write_text("".join(rows[:of_peers]))
        # In a folder of its own: the other's conftest.py is for this package's plugin.
        (folder / "bare").mkdir()
        (folder / "bare" / "pytest.ini").write_text("[pytest]\n")
        for name, text in (("loop.py", LOOP), ("bare/test_rows.py", PYTEST), ("inspect_run.py", INSPECT)):
            (folder / name).write_text(text)
        for rows in ("one", "all"):
            task = folder / f"lmms_{rows}"
            task.mkdir()
            (task / "code.py").write_text(LMMS_CODE)
            (task / "peer.yaml").write_text(LMMS_TASK.replace("FILE", str(folder / f"{rows}.jsonl")))

    def script(self, python: str, name: str, rows: str) -> Spent:
        return process([python, name, f"{rows}.jsonl"], self.folder, self.bytecode, HOME=str(self.folder))

    def lmms(self, python: str, rows: str) -> Spent:
        whole_files = f"read_bytes={2**30}"
        command = [python, "-m", "lmms_eval", "--model", "dummy", "--model_args", whole_files, "--tasks", "peer"]
        command += ["--include_path", str(self.folder / f"lmms_{rows}"), "--batch_size", "1", "--log_samples"]
        alone = {"HOME": str(self.folder), "HF_HOME": str(self.folder / "hub"), "HF_HUB_OFFLINE": "1"}
        return process([*command, "--output_path", "lmms_out"], self.folder, self.bytecode, **alone)

    def pytest(self, rows: str) -> Spent:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--confcutdir=.", "test_rows.py"]
        file, bare = str(self.folder / f"{rows}.jsonl"), self.folder / "bare"
        return process(command, bare, self.bytecode, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", ROWS=file)

    def ours(self, rows: str, *forgotten: str) -> Spent:
        return run(self.folder, rows, "deaf", *forgotten)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--of-peers", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    known = peers()
    with tempfile.TemporaryDirectory() as temporary:
        scene = Scene(Path(temporary), options.samples, options.of_peers)
        ways: dict[str, tuple[Callable[[str], Spent], str, int]] = {
            "plain loop": (lambda rows: scene.script(sys.executable, "loop.py", rows), "all", options.samples),
            "pytest, a test for each": (scene.pytest, "all", options.samples),
            "this package, first": (lambda rows: scene.ours(rows, "store"), "all", options.samples),
            "this package, cached": (scene.ours, "all", options.samples),
        }
        if lmms := known.get("lmms_eval"):
            ways["lmms-eval, dummy model"] = (lambda rows: scene.lmms(lmms, rows), "all", options.samples)
        else:
            keep_left_out("lmms-eval: name its Python, BENCHMARK_PEERS=lmms_eval=PYTHON")
        if python := known.get("inspect_ai"):
            ways["inspect_ai, text only"] = (
                lambda rows: scene.script(python, "inspect_run.py", rows),
                "some",
                min(options.of_peers, options.samples),
            )
        else:
            keep_left_out("inspect_ai: name its Python, BENCHMARK_PEERS=inspect_ai=PYTHON")
        starts: dict[str, list[Spent]] = {name: [] for name in ways}
        found: dict[str, list[Spent]] = {name: [] for name in ways}
        for way, _, _ in ways.values():
            way("one")
        for _ in range(options.rounds):
            for name, (way, rows, _) in ways.items():
                start = way("one")
                starts[name].append(start)
                found[name].append(way(rows).beyond(start))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, yardstick {yardstick().cpu_s:.3f} s")
    for name, (_, _, count) in ways.items():
        for what, times, scale, unit in (("a sample", found, 1000 / count, "ms"), ("start", starts, 1.0, "s")):
            print(table_row(f"{name}: {what}", times[name], scale, unit))
            keep(f"{name}: {what}", times[name], scale, unit)


if __name__ == "__main__":
    main()
