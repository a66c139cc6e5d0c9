"""SPICE's Java program: its jars, which pycocoevalcap and ``audiobench setup-spice`` bring, and how it is run.

pycocoevalcap's own class would download Stanford's models unasked, and writes into its installation.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pytest_audiobench.datasets.places import user_cache
from pytest_audiobench.errors import FatalError

STANFORD_JARS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
"""Those that no wheel carries."""
_PROGRAM, _LIBRARY = "spice-1.0.jar", "lib"
_LONGEST_REASON = 300


def spice_folder() -> Path:
    """Where ``audiobench setup-spice`` puts the jars."""
    return user_cache() / "spice"


def lacks_spice_parts() -> str:
    """In a sentence, which of Stanford's jars and Java is not here; "" for nothing."""
    if missing := [name for name, place in _stanford_places().items() if place is None]:
        return f"SPICE needs Stanford CoreNLP 3.6.0, and {missing[0]} is not here: run audiobench setup-spice"
    return "" if shutil.which("java") else "SPICE is a Java program, and there is no java on the PATH: install one"


def spice_scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The F1 of each caption's tuples, NaN where there are none. Raises FatalError where the program fails."""
    rows = [
        {"image_id": number, "test": candidate, "refs": list(truths)}
        for number, (candidate, truths) in enumerate(zip(candidates, references, strict=True))
    ]
    with tempfile.TemporaryDirectory(prefix="audiobench-spice-") as name:
        folder = Path(name)
        (folder / _LIBRARY).mkdir()
        # The program looks for its libraries in the folder next to it.
        _place(_own_folder() / _PROGRAM, folder / _PROGRAM)
        for jar in (_own_folder() / _LIBRARY).glob("*.jar"):
            _place(jar, folder / _LIBRARY / jar.name)
        for jar_name, place in _stanford_places().items():
            if place is not None and not (folder / _LIBRARY / jar_name).exists():
                _place(place, folder / _LIBRARY / jar_name)
        (folder / "in.json").write_text(json.dumps(rows), encoding="utf-8")
        command = ["java", "-jar", "-Xmx8G", _PROGRAM, "in.json", "-out", "out.json", "-subset", "-silent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True, errors="replace")
        out = folder / "out.json"
        if done.returncode or not out.is_file():
            lines = done.stderr.strip().splitlines() or ["it says nothing"]
            raise FatalError(f"SPICE's Java program failed (code {done.returncode}): {lines[0][:_LONGEST_REASON]}")
        scored = {row["image_id"]: row["scores"]["All"]["f"] for row in json.loads(out.read_text(encoding="utf-8"))}
    return [float(scored[number]) for number in range(len(rows))]


def _own_folder() -> Path:
    """Pycocoevalcap's folder of SPICE."""
    spec = importlib.util.find_spec("pycocoevalcap.spice.spice")
    return Path(spec.origin).parent if spec is not None and spec.origin else Path()


def _stanford_places() -> dict[str, Path | None]:
    """Where each of Stanford's jars lies: as it was set up, or as pycocoevalcap's own class leaves it."""
    folders = (spice_folder(), _own_folder() / _LIBRARY)
    return {
        name: next((folder / name for folder in folders if (folder / name).is_file()), None) for name in STANFORD_JARS
    }


def _place(jar: Path, at: Path) -> None:
    try:
        at.symlink_to(jar)
    except OSError:
        shutil.copyfile(jar, at)
