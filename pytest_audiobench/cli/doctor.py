"""``audiobench doctor [COMMAND…]``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.cli._options import add_data_root, add_places, places
from pytest_audiobench.cli._text import labelled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import listed

HELP = "look at what is installed, at devices, data, store and keys; or at what a command would lack on this machine"

_OK, _LACKS, _ABSENT = "✓", "✗", "–"
_STATES = {_OK: "ok", _LACKS: "lacks", _ABSENT: "absent"}
_PACKAGE = "pytest-audiobench"
_TOKENS = ("HF_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "AUDIOBENCH_SERVE_TOKEN")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_PROGRAMS = {"git": "audiobench fetch of git repositories", "java": "the scorer spice"}
_VERB_EXTRAS = {"serve": "serve", "fetch": "fetch", "push": "push", "leaderboard": "push"}
_NOTHING = "nothing lacks that can be known before it runs"
_TORCH_S = 60.0
_MOST_NAMES = 3
_TORCH = (
    "import json, torch; cuda = torch.cuda; "
    "names = [f'cuda:{n} {cuda.get_device_name(n)}, {cuda.mem_get_info(n)[1] / 2**30:.0f} GiB' "
    "for n in range(cuda.device_count())] if cuda.is_available() else []; "
    "print(json.dumps(names + ['mps'] * torch.backends.mps.is_available()))"
)


class Fact(NamedTuple):
    """Something that was looked at: of which part, whether it is there, and what to do where it is not."""

    part: str
    name: str
    state: str
    text: str

    @classmethod
    def of(cls, part: str, name: str, there: str, otherwise: str) -> Fact:
        """One that is there with the text ``there``, or is absent where that is empty."""
        return cls(part, name, _OK if there else _ABSENT, there or otherwise)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="pytest …, or a verb, as it would be called")
    add("--json", action="store_true", help="print it as JSON")
    add_places(parser)
    add_data_root(parser)


def run(args: argparse.Namespace) -> int:
    """0; 1 where what the package itself needs, or what the command asks for, is lacking; 4 for a command that is none.

    Nothing is asked, loaded or fetched.
    """
    facts = list(_command(args.command) if args.command else _machine(args))
    lacks = sum(fact.state == _LACKS for fact in facts)
    if args.json:
        rows = [{**fact._asdict(), "state": _STATES[fact.state]} for fact in facts]
        print(json.dumps({"lacks": lacks, "facts": rows}, indent=1))
    else:
        print("\n".join(_lines(facts)))
        print(f"\n{lacks} {'part is' if lacks == 1 else 'parts are'} lacking\n" * bool(lacks), end="")
    return 1 if lacks else 0


def _lines(facts: Sequence[Fact]) -> Iterator[str]:
    from pytest_audiobench.report.formatting import printable

    for number, part in enumerate(dict.fromkeys(fact.part for fact in facts)):
        yield "\n" * bool(number) + part
        rows = [(f"{fact.state} {fact.name}", printable(fact.text)) for fact in facts if fact.part == part]
        yield from labelled(rows)


# The machine


def _machine(args: argparse.Namespace) -> Iterator[Fact]:
    installed = list(_installed())
    yield from installed
    yield from _devices()
    # Without its libraries the package cannot look at data.
    yield from () if any(fact.state == _LACKS for fact in installed) else _data(args)
    yield from _store()
    for name in _TOKENS:
        yield Fact.of("keys", name, "set" * any(map(os.environ.get, (name, f"{name}_FILE"))), "not set")
    proxies = [name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
    yield Fact.of("network", "proxies", ", ".join(proxies), "none set")
    offline = [f"{name}={os.environ[name][:10]}" for name in _OFFLINE if os.environ.get(name)]
    yield Fact.of("network", "offline", ", ".join(offline), f"{_OFFLINE[0]} is not set")


def _installed() -> Iterator[Fact]:
    from pytest_audiobench import cli

    package, *versions = cli.version_line().split(", ")
    if not _has(_PACKAGE):
        yield Fact("installed", _PACKAGE, _LACKS, "not installed: pip install -e FOLDER, of its checkout")
        return
    if lacking := _lacking(_PACKAGE, "", set()):
        yield Fact("installed", "libraries", _LACKS, f"{', '.join(lacking)}: pip install '{' '.join(lacking)}'")
    yield Fact("installed", _PACKAGE, _OK, f"{package.split()[-1]}, {Path(cli.__file__).parents[1]}")
    yield Fact("installed", "on", _OK, ", ".join(versions))
    points = metadata.entry_points(group="pytest11")
    plugins = {f"{each.dist.name} {each.dist.version}" for each in points if each.dist and each.dist.name != _PACKAGE}
    others = ", ".join(sorted(plugins)) or "no other plugin"
    yield Fact("installed", "pytest", _OK, f"{metadata.version('pytest')}, with {others}")
    names = metadata.metadata(_PACKAGE).get_all("Provides-Extra") or []
    extras = {name: _lacking(_PACKAGE, name, set()) for name in names}
    yield Fact.of("extras", "complete", ", ".join(name for name in names if not extras[name]), "none")
    lacking_extras = {name: lacks for name, lacks in extras.items() if lacks}
    yield from (Fact("extras", name, _ABSENT, f"without {', '.join(lacks)}") for name, lacks in lacking_extras.items())
    if lacking_extras:
        yield Fact("extras", "to install", _ABSENT, f"pip install '{_PACKAGE}[NAME,NAME,…]'")


def _without(extra: str, lacking: Sequence[str]) -> str:
    return f"without {', '.join(lacking)}: pip install '{_PACKAGE}[{extra}]'"


def _lacking(package: str, extra: str, seen: set[tuple[str, str]]) -> list[str]:
    """The requirements of an installed package, with ``extra`` those of that alone, that are not met here."""
    from packaging.requirements import Requirement

    seen.add((package, extra))
    lacking: dict[str, None] = {}
    for line in metadata.requires(package) or []:
        needed = Requirement(line)
        is_meant = needed.marker is None or needed.marker.evaluate({"extra": extra})
        if not is_meant or (extra and (needed.marker is None or needed.marker.evaluate({"extra": ""}))):
            continue
        if not _has(needed.name) or not needed.specifier.contains(metadata.version(needed.name), prereleases=True):
            lacking[f"{needed.name}{needed.specifier}"] = None
            continue
        for further in needed.extras:
            if (needed.name, further) not in seen:
                lacking |= dict.fromkeys(_lacking(needed.name, further, seen))
    return list(lacking)


def _devices() -> Iterator[Fact]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    yield Fact("devices", "CPU", _OK, f"{cores} cores" + f", {pages / 2**30:.1f} GiB of memory" * bool(pages))
    found, why = _torch_devices() if _has("torch") else ([], f"not looked for, {_without('hf', ['torch'])}")
    yield Fact.of("devices", "GPU", ", ".join(found), why)
    for program, use in _PROGRAMS.items():
        yield Fact.of("programs", program, shutil.which(program) or "", f"not on the PATH; {use} needs it")


def _torch_devices() -> tuple[list[str], str]:
    """The devices that torch sees, by a process of its own, which is given up after a minute; why there are none."""
    command = [sys.executable, "-c", _TORCH]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_TORCH_S, check=False)
        return json.loads(asked.stdout), f"torch {metadata.version('torch')} sees none"
    except subprocess.TimeoutExpired:
        return [], f"torch did not say within {_TORCH_S:.0f} s"
    except ValueError:
        return [], f"torch cannot be imported: {(asked.stderr.strip().splitlines() or ['no reason given'])[-1][:200]}"


def _data(args: argparse.Namespace) -> Iterator[Fact]:
    from pytest_audiobench.cli._benchmark_page import benchmarks, is_here
    from pytest_audiobench.datasets.declaration import read_declarations
    from pytest_audiobench.datasets.places import data_root
    from pytest_audiobench.metrics.definitions.captions import lacks_spice
    from pytest_audiobench.protocols.text_encoders import encoder

    where = places(args)
    where = replace(where, shelves=[*dict.fromkeys([*where.shelves, data_root(args.data_root)])])
    for shelf in where.shelves:
        yield Fact.of("data", "folder", str(shelf) * shelf.is_dir(), f"{shelf} is not there")
    declared = {name: read_declarations(file).values() for name, file in benchmarks().items()}
    here = [name for name, tasks in declared.items() if any(is_here(data, where) for data in tasks)]
    of_all = f"{len(here)} of {len(declared)} have data here"
    fetching = f"{of_all}; audiobench fetch NAME brings one"
    yield Fact.of("data", "benchmarks", f"{of_all}: {', '.join(here)}" if here else "", fetching)
    for name, lacks in {"spice": lacks_spice(), "encoder static": encoder("static").missing}.items():
        yield Fact.of("data", name, "" if lacks else "its files are here", lacks)


def _store() -> Iterator[Fact]:
    from pytest_audiobench.fetching.progress import size_text
    from pytest_audiobench.io.network_disk import network_file_system

    named = os.environ.get("AUDIOBENCH_STORE", "").split(os.pathsep)[0]
    part, path = "store", Path(named or ".audiobench/store.sqlite").expanduser().absolute()
    folder = next(each for each in path.parents if each.is_dir())
    size = size_text(path.stat().st_size) if path.is_file() else "made by the first run"
    yield Fact(part, "file", _OK, f"{path}, {size}")
    target = path if path.is_file() else folder
    if not os.access(target, os.W_OK):
        yield Fact(part, "writable", _LACKS, f"{target} cannot be written; --ab-store=FILE names another place")
    if kind := network_file_system(folder):
        yield Fact(part, "disk", _LACKS, f"{folder} is a network disk ({kind}); --ab-store=FILE names a local one")
    yield Fact(part, "free", _OK, size_text(shutil.disk_usage(folder).free))


# A command


def _command(command: Sequence[str]) -> Iterator[Fact]:
    program, *words = command
    if program == "pytest" or program.endswith("/pytest"):
        return _pytest(words)
    if program == "audiobench" and words:
        program, *words = words
    return _verb(program, words)


def _pytest(words: Sequence[str]) -> Iterator[Fact]:
    with tempfile.TemporaryDirectory() as temporary:
        found = Path(temporary) / "found.json"
        command = [sys.executable, "-m", "pytest", "-p", "pytest_audiobench.plugin.lacking_parts", *words]
        # One process of these looks, and shows nothing of what the user's options ask to be shown.
        command += ["--collect-only", "-q", *(["-n0"] if _has("pytest-xdist") else [])]
        # What the libraries of the hub find in their cache they would ask the hub for all the same.
        environment = {**os.environ, "AUDIOBENCH_DOCTOR_WRITES": str(found), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        findings = json.loads(found.read_text(encoding="utf-8")) if found.is_file() else {}
    refused = " ".join(line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.strip())
    # 5: nothing is selected, which is said below.
    if done.returncode not in (0, 5) or not findings:
        refused = refused or " ".join(done.stdout.splitlines()[-5:])
        raise UsageError(f"pytest refuses the command: {refused[:2_000]}")
    count, lacks = findings["evals"], findings["lacks"]
    part = f"{count} eval{'s' * (count != 1)}, of {', '.join(findings['models'])}"
    for each in sorted(lacks, key=lambda each: each["kind"].startswith("data")):
        needed_by = _needed_by(each["evals"], each["kind"].startswith("data "))
        yield Fact(part, each["kind"], _LACKS, f"{each['text']}{needed_by}")
    if not count:
        yield Fact(part, "evals", _LACKS, "nothing is selected: see -k, -m and the paths")
    elif not lacks:
        yield Fact(part, "all", _OK, _NOTHING)
    yield from (Fact(part, "note", _ABSENT, note) for note in findings["notes"])


def _needed_by(evals: Sequence[str], named: bool) -> str:
    """Whose it is, as it is said behind what lacks: by number alone where its text has the ``named`` data of them."""
    if not evals:
        return ""
    names = "" if named else f": {listed(evals, _MOST_NAMES)}"
    return f" ({len(evals)} eval{'s' * (len(evals) > 1)}{names})"


def _has(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def _verb(verb: str, words: Sequence[str]) -> Iterator[Fact]:
    from pytest_audiobench import cli
    from pytest_audiobench.fetching.models import lacking_of_model
    from pytest_audiobench.io.mistakes import nearest
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec

    known: Mapping[str, cli.Parser] = cli.parsers()[1]
    if verb not in known:
        raise UsageError(f"{verb!r} is neither pytest nor a verb of audiobench; {nearest(verb, known)}")
    args, part = known[verb].parse_args([*words]), f"audiobench {verb}"
    lacks, extra = list[tuple[str, str]](), _VERB_EXTRAS.get(verb, "")
    if extra and (missing := _lacking(_PACKAGE, extra, set())):
        lacks.append((f"extra {extra}", _without(extra, missing)))
    if isinstance(model := getattr(args, "model", None), str) and ":" in model:
        lacks += [("model", text) for text in lacking_of_model(parse_spec(model), make)]
    if verb == "fetch":
        lacks += [("network", f"it fetches, and {name}=1 forbids it") for name in _OFFLINE[:1] if os.environ.get(name)]
    yield from (Fact(part, name, _LACKS, text) for name, text in lacks)
    if not lacks:
        yield Fact(part, "all", _OK, _NOTHING)
