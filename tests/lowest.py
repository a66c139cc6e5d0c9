"""Tests on the lowest versions that pyproject.toml allows: ``python -m tests.lowest [GROUP …]``.

Each group of extras has an environment of its own, where each library of pyproject.toml has its lower bound.
``--keep torch==2.13.0`` leaves a library at a version of yours: torch 2.4 brings gigabytes of CUDA to Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

from tests.release import Environment, Failure

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ("packaging", "jsonschema", "rfc8785")
"""What tests import beside the extras, in any version."""


class Group(NamedTuple):
    """Extras that are installed together, and the tests that reach their libraries."""

    extras: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "core": Group(
        ("hypothesis", "xdist"),
        (
            "tests/metrics/test_words.py",
            "tests/metrics/test_value.py",
            "tests/records",
            "tests/gate/test_regression.py",
            "tests/evaluation/test_scoring.py",
        ),
    ),
    "scorers": Group(
        ("asr", "baseline", "captions", "classification", "flores", "hypothesis", "ifeval", "ja", "xdist"),
        (
            "tests/metrics",
            "tests/protocols/test_captioning.py",
            "tests/protocols/spoken_questions",
            "tests/models/test_listener.py",
        ),
    ),
    "files": Group(
        ("fetch", "frames", "hypothesis", "parquet", "push", "remote", "tensorboard", "tts", "xdist"),
        (
            "tests/datasets/test_parquet_rows.py",
            "tests/datasets/test_voices.py",
            "tests/report/test_run_reader.py",
            "tests/sharing",
        ),
    ),
    "clients": Group(
        ("baseline", "hypothesis", "mlflow", "push", "tensorboard", "wandb", "xdist"),
        ("tests/sharing/test_exporters.py",),
    ),
    "servers": Group(
        ("baseline", "http", "hypothesis", "openai", "serve", "xdist"),
        ("tests/serving", "tests/models/openai", "tests/models/test_predictions_v1.py"),
    ),
    "hf": Group(
        ("hf", "hypothesis", "lora", "voxtral", "xdist"),
        ("tests/models/test_hf.py", "tests/models/test_families.py", "tests/models/test_hf_lora.py"),
    ),
}
NOT_HERE = {
    "all": "other extras together",
    "meeting": "it needs a C compiler",
    "ray": "300 MB, whose tests want a cluster",
    "vllm": "gigabytes, and a card or a build of its own",
}
"""The extras that no group has, and why."""


def lower_bounds(requirements: Iterable[str]) -> dict[str, str]:
    """``NAME==VERSION`` by name, the lowest that all requirements allow."""
    bounds: dict[str, Version] = {}
    for requirement in map(Requirement, requirements):
        for bound in requirement.specifier:
            if bound.operator == ">=":
                version = Version(bound.version)
                bounds[requirement.name] = max(version, bounds.get(requirement.name, version))
    return {name: f"{name}=={version}" for name, version in bounds.items()}


def run(name: str, kept: Sequence[str], arguments: Sequence[str], python: str) -> bool:
    """Install a group at its lower bounds, and run its tests; whether they pass."""
    group = GROUPS[name]
    extras = PROJECT["optional-dependencies"]
    bounds = lower_bounds([*PROJECT["dependencies"], *(line for extra in group.extras for line in extras[extra])])
    bounds |= {Requirement(text).name: text for text in kept}
    with tempfile.TemporaryDirectory(prefix="audiobench-lowest-") as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text("\n".join(bounds.values()) + "\n")
        wanted = f"{ROOT}[{','.join(group.extras)}]"
        try:
            environment = Environment(Path(folder, "environment"), python=python)
            install = ("install", "--quiet", "--constraint", str(constraints), "--editable", wanted, *TOOLS)
            environment.run("pip", *install)
        except Failure as failure:
            print(f"FAILED  {name}: {failure}", flush=True)
            return False
        print(f"{name}: {', '.join(sorted(bounds.values()))}", flush=True)
        command = [str(environment.bin / "python"), "-m", "pytest", "-q", "-n2", *group.tests, *arguments]
        return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where the tests of all groups pass."""
    parser = argparse.ArgumentParser(prog="python -m tests.lowest", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(GROUPS)} (default: all)")
    parser.add_argument("--keep", metavar="NAME==VERSION", action="append", default=[], help="not at its lower bound")
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: this one)")
    args, further = parser.parse_known_args(arguments)
    if unknown := [name for name in args.groups if name not in GROUPS]:
        parser.error(f"there is no group {unknown[0]}")
    failed = [name for name in args.groups or GROUPS if not run(name, args.keep, further, args.python)]
    print(f"lower bounds: {'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
