"""The commands of tutorials and of pages that go on from one: ``python -m tests.tutorials`` prints what they show anew.

A block of Python or TOML whose first line is a comment with a name is that file. In a block ``console`` each line that
begins with ``$`` is a command, and what follows is what it printed: all of it, or of the lines behind
``<!-- shown: PATTERN -->`` those in which the pattern is found, each behind "…" where others were printed before it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "tutorials"
TUTORIALS = ("checkpoint", "own-data", "gate", "study", "new-benchmark", "new-model")
THEN = {"new-model": ("../writing-evals",)}
"""Pages that go on in the folder of a tutorial."""
OF_THE_CLONE = ("evals", "fixtures", "conftest.py", "pyproject.toml")
"""What the tutorials that begin in a clone find there; own-data takes the audio alone."""

_BLOCK = re.compile(
    r"(?:^<!-- shown: (?P<shown>[^\n]+) -->\n)?^```(?P<kind>python|toml|console)\n(?P<text>.*?)^```$", re.M | re.S
)


def workplace(name: str, folder: Path) -> Path:
    """A folder as the reader of a tutorial has it."""
    wanted = {"own-data": ("fixtures",), "new-benchmark": (), "new-model": ()}.get(name, OF_THE_CLONE)
    for each in wanted:
        (folder / each).symlink_to(ROOT / each)
    if not wanted:
        (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def run(name: str, folder: Path, forks: Any, store: Path) -> str:
    """The tutorial with what its commands print in ``folder``; answers are kept in ``store``."""
    environment = {**os.environ, "COLUMNS": "100", "AUDIOBENCH_STORE": str(store)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    code = 0

    def printed(command: str) -> str:
        nonlocal code
        verb, *arguments = shlex.split(command) if not re.search("[|<>&;]", command) else [""]
        if verb == "pytest":
            done = forks.pytest([*arguments, "-p", "no:cacheprovider"], folder, environment)
        elif verb == "audiobench":
            done = forks.audiobench(arguments, folder, environment)
        else:
            line = ["bash", "-c", f"(exit {code}); {command}"]
            done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        code = done.returncode
        # The reader's folder is the clone, in which paths are shown from there.
        return str(done.stdout + done.stderr).replace(f"{ROOT}{os.sep}", "")

    def block(found: re.Match[str]) -> str:
        lines = found["text"].splitlines()
        if found["kind"] != "console":
            file = re.match(r"# ([\w./-]+\.\w+)", lines[0])
            if file:
                path = folder / file[1]
                assert not path.is_symlink(), path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(found["text"], encoding="utf-8")
            return found[0]
        shown = re.compile(found["shown"]) if found["shown"] else None
        out: list[str] = []
        for command in (line.removeprefix("$ ") for line in lines if line.startswith("$ ")):
            out.append(f"$ {command}")
            left_out = False
            for line in printed(command).rstrip("\n").splitlines():
                if shown is None or shown.search(line):
                    out += ["…", line.rstrip()] if left_out else [line.rstrip()]
                left_out = shown is not None and not shown.search(line)
        mark = f"<!-- shown: {found['shown']} -->\n" if shown else ""
        return f"{mark}```console\n" + "".join(f"{line}\n" for line in out) + "```"

    return _BLOCK.sub(block, (FOLDER / f"{name}.md").read_text(encoding="utf-8"))


def main() -> None:
    from tests.forks import Forks

    forks = Forks()
    with tempfile.TemporaryDirectory() as folder:
        for name in TUTORIALS:
            if not sys.argv[1:] or name in sys.argv[1:]:
                place = Path(folder) / name
                place.mkdir()
                workplace(name, place)
                for page in (name, *THEN.get(name, ())):
                    text = run(page, place, forks, Path(folder) / "store.sqlite")
                    (FOLDER / f"{page}.md").write_text(text, encoding="utf-8")
                    print(f"{FOLDER / page}.md written")
    forks.close()


if __name__ == "__main__":
    main()
