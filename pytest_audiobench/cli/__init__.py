"""The command ``audiobench``. Each module here is a verb; add one by adding a file.

A verb's module has ``HELP`` (one line), ``arguments(parser)`` and ``run(args)``, which returns the exit code. It
imports what it needs inside ``run``, so that ``audiobench --help`` starts at once. With ``BEHIND``, the name of an
argument, it gets all words behind ``--`` as they are.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import NoReturn

from pytest_audiobench.cli._text import say, wrapped
from pytest_audiobench.errors import AudiobenchError, UsageError
from pytest_audiobench.io.mistakes import near
from pytest_audiobench.io.plain_signs import write_plainly

_USAGE, _FAILED, _INTERRUPTED = 4, 1, 130
_WRONG_ARGUMENTS = 2

GROUPS: Mapping[str, Sequence[str]] = {
    "start": ("init", "doctor", "list", "describe", "completion"),
    "measure": ("warmup", "tune", "watch", "merge", "serve", "check-server", "reproduce"),
    "look": ("view", "inspect", "compare", "table", "track", "published"),
    "gate": ("baseline", "calibrate", "power", "comment"),
    "score again": ("score", "conformance", "audit", "verify", "study", "setup-spice"),
    "share": ("push", "leaderboard", "export"),
    "data": ("fetch", "packs", "mix", "soundscape", "prompts", "schema"),
}
"""The verbs as the help shows them; one that is in no group stands at its end."""


_ELSEWHERE: Mapping[tuple[str, str], str] = {
    ("audiobench compare", "latex"): "audiobench table RUN … --change --format latex",
}
"""Which command has a choice that a verb has not."""


class Parser(argparse.ArgumentParser):
    """A parser whose refusals end with what may have been meant."""

    def error(self, message: str) -> NoReturn:
        """As argparse's, with a nearer word where a choice or an option is none."""
        known: Sequence[str] = ()
        if match := re.search(r"invalid choice: '(?P<word>.*?)' \(choose from (?P<choices>.*)\)$", message, re.DOTALL):
            known = re.findall(r"[\w.-]+", match["choices"])
        elif match := re.match(r"unrecognized arguments: (?P<word>--[\w-]+)", message):
            known = [*self._option_string_actions]
        if match and (instead := _ELSEWHERE.get((self.prog, match["word"]))):
            message = f"{message.partition(' (choose from')[0]}; {instead} has it"
        elif match and (likely := near(match["word"], known)):
            message = f"{message.partition(' (choose from')[0]}; did you mean {' or '.join(likely)}?"
        super().error(message)


class _Command(Parser):
    """The parser of all verbs, whose help shows them in groups."""

    verbs: Mapping[str, str]

    def format_help(self) -> str:
        """The usage, the verbs in their groups, and the options."""
        grouped = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, "more": [name for name in self.verbs if name not in grouped]}
        lines = [self.format_usage(), f"{self.description}", ""]
        column = max(map(len, self.verbs)) + 4
        for group, names in groups.items():
            if there := [name for name in names if name in self.verbs]:
                lines += [f"{group}:", *(_entry(name, self.verbs[name], column) for name in there), ""]
        lines += ["options:", _entry("-h, --help", "this text, or with a verb before it that of the verb", column)]
        lines += [_entry("--version", "the versions of the package and of Python, and the platform", column)]
        return "\n".join(lines) + "\n\nA model is measured by pytest: pytest evals -k NAME --ab-model=hf:FOLDER\n"


def _entry(word: str, text: str, column: int) -> str:
    return f"  {word}".ljust(column) + wrapped(re.split("(?<!hf)[:;] ", text)[0], column).lstrip()


class _Version(argparse.Action):
    """Prints the versions, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(version_line())
        parser.exit()


def version_line() -> str:
    """``pytest-audiobench 0.1.0, Python 3.11.7, Linux-6.1-x86_64``."""
    import platform
    from importlib import metadata

    try:
        version = metadata.version("pytest-audiobench")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    return f"pytest-audiobench {version}, Python {platform.python_version()}, {platform.platform(terse=True)}"


@cache
def verb_modules() -> Mapping[str, ModuleType]:
    """The modules of all verbs by their names."""
    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if not each.name.startswith("_"))
    return {name.replace("_", "-"): importlib.import_module(f"{__name__}.{name}") for name in names}


def parsers() -> tuple[Parser, Mapping[str, Parser]]:
    """The parser of ``audiobench``, and that of each verb."""
    parser = _Command(prog="audiobench", description="Benchmarks for audio-language models.")
    parser.add_argument("--version", action=_Version, nargs=0)
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    by_name = {}
    for name, verb in verb_modules().items():
        by_name[name] = verbs.add_parser(name, help=verb.HELP, description=verb.HELP)
        verb.arguments(by_name[name])
        by_name[name].set_defaults(run=verb.run)
    parser.verbs = {name: verb.HELP for name, verb in verb_modules().items()}
    return parser, by_name


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: its own, 2 for wrong arguments, 4 for a user's mistake, 1 for other errors."""
    for stream in (sys.stdout, sys.stderr):
        write_plainly(stream)
    parser, by_name = parsers()
    words = [*(sys.argv[1:] if argv is None else argv)]
    if not words:
        say(parser.format_help())
        raise SystemExit(_WRONG_ARGUMENTS)
    behind = getattr(verb_modules().get(words[0]), "BEHIND", "")
    end = words.index("--") if behind and "--" in words else len(words)
    namespace = argparse.Namespace(**({behind: words[end + 1 :]} if behind else {}))
    args, unknown = parser.parse_known_args(words[:end], namespace)
    if unknown:
        by_name.get(words[0], parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return int(args.run(args))
    except AudiobenchError as error:
        say(f"audiobench: {error}")
        return _USAGE if isinstance(error, UsageError) else _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output (head, a pager) has ended; nothing more may be flushed at exit.
        sys.stdout = None
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"audiobench: {where}{error.strerror or error}")
        return _FAILED
