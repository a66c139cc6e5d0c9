"""What it costs to collect a catalogue of some hundred declared benchmarks, beside pytest alone with as many tests.

Run ``python benchmarks/collecting.py [--files 100 200 300] [--rounds N]``. Declarations like those in ``evals`` (grids
of one to eight evals, every fifth file of two tasks, three protocols) lie in one folder. Beside them lie as many Python
files with the same tests, parameters and markers, which the same pytest collects without this plugin; and one such file
with all of them, which is the least that pytest can do. "Nothing known" is without pytest's cache, as in a fresh clone.
Every command is run in turn, and other packages' plugins are left out. Differences of CPU time are those
of the fastest of all rounds, for what else a machine does only adds to one. The limit is 0.3 s over pytest alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from measure import Spent, process, table_row, yardstick
from startup import OTHERS

LIMIT_S = 0.3
GRIDS: Sequence[Mapping[str, Sequence[str]]] = (
    {},
    {"split": ("test", "dev")},
    {"track": ("animal", "emotion", "gender", "language"), "hop": ("single", "multi")},
    {"language": ("de", "en", "fr", "ja")},
)
DOMAINS = ("speech", "sound", "music", "emotion")
PROTOCOLS = ("multiple_choice", "transcription", "classification")
TASKS = ("single", "paired")


def names(files: int) -> list[str]:
    return [f"bench{number:03}" for number in range(files)]


def tasks(number: int) -> Sequence[str]:
    return TASKS if number % 5 == 4 else ()


def declaration(number: int) -> str:
    grid = GRIDS[number % len(GRIDS)]
    parameters = "".join(f"{name} = [{', '.join(repr(value) for value in values)}]\n" for name, values in grid.items())
    folder = "/".join(f"{{{name}}}" for name in grid)
    lines = f"""\
# What is heard in a clip, and what follows from it. Each clip is asked about twice, so a clip is a statistical cluster.
protocol = "{PROTOCOLS[number % 3]}"
cluster = "recording"
groups = ["label"]

[source]
title = "BENCH{number}: A Benchmark of Large Audio-Language Models"
citation = "Authors et al., Interspeech 2025, arXiv 2505.{number:05}"
repository = "https://github.com/example/bench{number:03}"
domain = ["{DOMAINS[number % 4]}", "{DOMAINS[(number + 1) % 4]}"]
language = "english"

[parameters]
{parameters}
[data]
rows = ["data/{folder}/metadata.json", "data/{folder}/metadata.csv"]
key = "file"

[sample]
id = "{{key|basename}}"
audio = "data/audio/{{key|basename}}"
question = "{{instruction|before_options}}"
choices = "{{instruction|options}}"
answer = "{{answer|option_text}}"

[sample.metadata]
label = "{{attribute_label}}"
recording = "{{key|basename}}"
"""
    return lines + "".join(f'\n[[task]]\nname = "{task}"\nsource.task = "{task}-hop"\n' for task in tasks(number))


def test_functions(number: int, name: str) -> str:
    ids = ["-".join(case) for case in product(*GRIDS[number % len(GRIDS)].values())]
    words = [name, DOMAINS[number % 4], DOMAINS[(number + 1) % 4], "english"]
    lines = []
    for task in tasks(number) or [name]:
        lines += [f"@pytest.mark.{word}" for word in words]
        lines.append(f"@pytest.mark.parametrize('case', {ids!r})\ndef test_{task}(case): pass" if ids[0] else "")
        if not ids[0]:
            lines.append(f"def test_{task}(): pass")
    return "\n".join(line for line in lines if line)


def write(folder: Path, files: int) -> tuple[Path, Path, Path]:
    """Folders of declarations, of as many Python files, and of one Python file with all of their tests."""
    folders = (folder / f"declared{files}", folder / f"python{files}", folder / f"together{files}")
    for made in folders:
        made.mkdir()
        (made / "pytest.ini").write_text("[pytest]\n")
    modules = {name: test_functions(number, name) for number, name in enumerate(names(files))}
    for number, (name, module) in enumerate(modules.items()):
        (folders[0] / f"{name}.audiobench.toml").write_text(declaration(number))
        (folders[1] / f"test_{name}.py").write_text(f"import pytest\n{module}\n")
    together = "\n".join(
        module.replace("def test_", f"def test_{name}_" if tasks(number) else "def test_")
        for number, (name, module) in enumerate(modules.items())
    )
    (folders[2] / "test_all.py").write_text(f"import pytest\n{together}\n")
    return folders


def pytest(folder: Path, bytecode: Path, *args: str) -> Spent:
    command = [sys.executable, "-m", "pytest", "-q", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
    for name in OTHERS:
        command += ["-p", f"no:{name}"]
    return process([*command, *args], folder, bytecode, statuses=(0, 5))  # 5: the data of what was named is absent


def fastest(spent: Sequence[Spent]) -> float:
    return min(item.cpu_s for item in spent)


def actions_of(folder: Path, files: int) -> dict[str, Callable[[], Spent]]:
    """What is measured with so many files, by name."""
    declared, python, together = write(folder, files)
    keep, chosen = folder / "bytecode", names(files)[files // 2]
    alone, model = ("-p", "no:audiobench"), ("--ab-model", "baseline:chance")
    collect = ("--collect-only", *alone)
    actions: dict[str, Callable[[], Spent]] = {}
    for what, select in (("all", ()), ("-k emotion", ("-k", "emotion")), ("-k NAME", ("-k", chosen))):
        actions[what] = partial(pytest, declared, keep, "--collect-only", *select)
        actions[f"{what}, nothing known"] = partial(
            pytest, declared, keep, "--collect-only", "-p", "no:cacheprovider", *select
        )
        actions[f"{what}, pytest alone"] = partial(pytest, python, keep, *collect, *select)
        actions[f"{what}, pytest alone, one file"] = partial(pytest, together, keep, *collect, *select)
    actions["run -k NAME"] = partial(pytest, declared, keep, "-k", chosen, *model)
    actions["run -k NAME, pytest alone"] = partial(pytest, python, keep, *alone, "-k", chosen)
    actions["run all, no data"] = partial(pytest, declared, keep, *model)
    actions["run all, pytest alone"] = partial(pytest, python, keep, *alone)
    return actions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median (min to max)")
    print(f"{'':43} {'wall time':30} {'CPU time':30}")
    for files in given.files:
        with tempfile.TemporaryDirectory() as temporary:
            actions = actions_of(Path(temporary), files)
            time.sleep(2.5)  # a file that was just written is not remembered
            for action in actions.values():  # bytecode, and what pytest's cache holds
                action()
            spent: dict[str, list[Spent]] = {what: [] for what in actions}
            for _ in range(given.rounds):
                for what, action in actions.items():
                    spent[what].append(action())
        print(f"\n{files} files")
        print(table_row("yardstick", [yardstick() for _ in range(given.rounds)], 1000, "ms"))
        for what, times in spent.items():
            print(table_row(what, times, 1000, "ms"))
        for what in ("all", "-k emotion", "-k NAME"):
            alone, together = (fastest(spent[f"{what}, pytest alone{more}"]) for more in ("", ", one file"))
            for known in (what, f"{what}, nothing known"):
                over = fastest(spent[known]) - alone
                least = fastest(spent[known]) - together
                print(
                    f"{known}: {over:.3f} s over pytest, {over / LIMIT_S:.2f} of the limit ({least:.3f} over one file)"
                )


if __name__ == "__main__":
    main()
