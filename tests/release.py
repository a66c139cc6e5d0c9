"""The checks of a release: ``python -m tests.release`` does all of them, in environments of their own.

Built are the wheel and the source distribution, twice, from this checkout and from a copy of it in another folder. What
is built is kept with ``--out FOLDER``. ``--only CHECK`` does one of the checks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 12_000_000
"""Of a wheel."""
EPOCH = "1700000000"
"""SOURCE_DATE_EPOCH of both builds."""
PINNED = "torch==2.13.0"
"""Without it pip's resolver looks at the metadata of gigabytes of CUDA libraries."""


class Failure(Exception):
    """A check that a release does not pass."""


class Environment:
    """A virtual environment with what ``requirements`` name; nothing of this process's Python is in it."""

    def __init__(self, folder: Path, *requirements: str, python: str = "") -> None:
        if python:
            subprocess.run([python, "-m", "venv", str(folder)], check=True)
        else:
            venv.create(folder, with_pip=True, symlinks=True)
        self.bin = folder / ("Scripts" if sys.platform == "win32" else "bin")
        if requirements:
            self.run("pip", "install", "--quiet", *requirements)

    def run(self, command: str, *arguments: str, folder: Path | None = None, **variables: str) -> str:
        """What the command prints. Raises Failure, with that, where it does not end in 0."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV") and not name.startswith(("PYTEST_", "AUDIOBENCH_"))
        }
        path = f"{self.bin}{os.pathsep}{kept['PATH']}"
        done = subprocess.run(
            [str(self.bin / command), *arguments],
            cwd=folder,
            env={**kept, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Failure(f"{command} {' '.join(arguments)} ended in {done.returncode}:\n{done.stdout}")
        return done.stdout


def tracked_copy(folder: Path) -> Path:
    """The files of this checkout that git knows or would add, in another folder, with times of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


class Release:
    """What would be released, built once, and its checks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def tools(self) -> Environment:
        return Environment(self.folder / "tools", "build", "twine")

    @cached_property
    def built(self) -> dict[str, Path]:
        """The distributions by the ends of their names, built as a release would be."""
        return self.build(ROOT, self.folder / "dist")

    def build(self, source: Path, target: Path) -> dict[str, Path]:
        self.tools.run("python", "-m", "build", "--outdir", str(target), str(source), SOURCE_DATE_EPOCH=EPOCH)
        return {path.suffix: path for path in target.iterdir()}

    def size(self) -> str:
        """The wheel is small."""
        size = self.built[".whl"].stat().st_size
        if size > MOST_BYTES:
            raise Failure(f"the wheel has {size:,} bytes, and may have {MOST_BYTES:,}")
        return f"wheel {size:,} bytes of {MOST_BYTES:,}, source distribution {self.built['.gz'].stat().st_size:,}"

    def reproducible(self) -> str:
        """A copy in another folder gives the same bytes, and the source distribution the wheel of the checkout."""
        second = self.build(tracked_copy(self.folder / "elsewhere"), self.folder / "second")
        digests = {}
        for suffix, path in self.built.items():
            digests[suffix] = sha256(path.read_bytes()).hexdigest()
            if digests[suffix] != sha256(second[suffix].read_bytes()).hexdigest():
                raise Failure(f"{path.name} has other bytes where it is built in another folder")
        wheel = self.tools.run(
            *("python", "-m", "build", "--wheel", "--outdir", str(self.folder / "direct"), str(ROOT)),
            SOURCE_DATE_EPOCH=EPOCH,
        )
        (direct,) = (self.folder / "direct").iterdir()
        if sha256(direct.read_bytes()).hexdigest() != digests[".whl"]:
            raise Failure(f"the source distribution's wheel is not that of the checkout:\n{wheel}")
        return f"built twice, and from the source distribution: sha256 {digests['.whl']}"

    def metadata(self) -> str:
        """An index would show the description."""
        self.tools.run("twine", "check", "--strict", *map(str, self.built.values()))
        return "twine check --strict"

    def citation(self) -> str:
        """CITATION.cff is one."""
        Environment(self.folder / "citation", "cffconvert").run("cffconvert", "--validate", folder=ROOT)
        return "CITATION.cff is valid"

    def installed(self) -> str:
        """The wheel alone, in an empty folder: the bundled evals run, and an extra is added as messages say."""
        started = time.monotonic()
        fresh = Environment(self.folder / "installed", f"{self.built['.whl']}[baseline]")
        empty = self.folder / "empty"
        empty.mkdir()
        said = fresh.run("pytest", "--pyargs", "pytest_audiobench.evals", "-k", "bundled", folder=empty)
        fresh.run("audiobench", "--help", folder=empty)
        # It is in no index that pip may look at: what is installed must do.
        fresh.run("pip", "install", "--no-index", "--dry-run", "pytest-audiobench[baseline]", folder=empty)
        return f"{said.strip().splitlines()[-1].strip('= ')}; {time.monotonic() - started:.0f} s with the installation"

    def extras(self) -> str:
        """The package index has what every extra asks for."""
        constraint = self.folder / "constraints.txt"
        constraint.write_text(PINNED + "\n")
        resolving = Environment(self.folder / "extras")
        names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for name in names:
            wheel = f"{self.built['.whl']}[{name}]"
            resolving.run("pip", "install", "--dry-run", "--quiet", "--constraint", str(constraint), wheel)
        return f"{len(names)} extras resolve: {', '.join(names)}"

    checks: Sequence[Callable[[Release], str]] = (size, reproducible, metadata, citation, installed, extras)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all checks are passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__.partition("\n")[0])
    names = [check.__name__ for check in Release.checks]
    parser.add_argument("--only", choices=names, action="append", help="do this check; repeatable (default: all)")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="keep what was built here")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="audiobench-release-") as folder:
        release = Release(Path(folder))
        for check in Release.checks:
            if args.only is None or check.__name__ in args.only:
                try:
                    print(f"ok      {check.__name__}: {check(release)}", flush=True)
                except Failure as failure:
                    print(f"FAILED  {check.__name__}: {failure}")
                    return 1
        if args.out is not None:
            shutil.copytree(release.folder / "dist", args.out, dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
