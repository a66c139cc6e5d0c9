"""``audiobench completion bash|zsh|fish``: a script that asks ``audiobench`` itself what may come next."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HELP = "print a script by which a shell completes verbs, options and names; source it, or put it where the shell looks"

_SCRIPTS = Path(__file__).with_name("completion_scripts")
_SHELLS = ("bash", "zsh", "fish")
_LONGEST_ABOUT = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, help="whose script to print")
    asked = "what the script asks: the words of a command so far, of which the last is completed"
    parser.add_argument("--words", nargs=argparse.REMAINDER, metavar="WORD", help=asked)


def run(args: argparse.Namespace) -> int:
    """0."""
    if args.words is None:
        print((_SCRIPTS / f"audiobench.{args.shell}").read_text(encoding="utf-8"), end="")
    else:
        for name, about in candidates(args.words):
            print(f"{name}\t{about}" if about else name)
    return 0


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last of the words may become, with what it is; nothing where a file is meant."""
    from pytest_audiobench import cli

    # bash takes --format=csv apart.
    *before, typed = [word for word in words if word != "="] if words and words[-1] != "=" else [*words[:-1], ""]
    given, equals, value = typed.partition("=")
    prefix = ""
    if equals and given.startswith("--"):
        before, typed, prefix = [*before, given], value, f"{given}="
    place = _read(cli.parsers()[0], before)
    found: Iterable[tuple[str, str]] = ()
    if place.waiting is None and typed.startswith("-"):
        shown = [action for action in place.parser._actions if action.help != argparse.SUPPRESS]
        found = [(option, action.help or "") for action in shown for option in action.option_strings]
    elif action := place.waiting or next(iter(place.to_come), None):
        found = _values(action, place.parser.prog.split()[-1])
    head, comma, last = typed.rpartition(",")
    for name, about in found:
        if name.startswith(last if comma else typed):
            yield prefix + head + comma + name, " ".join(about.split()).replace("%%", "%")[:_LONGEST_ABOUT]


class _Place(NamedTuple):
    """Where in a command its words lead: to which parser, which option waits for its value, what is still to come."""

    parser: argparse.ArgumentParser
    waiting: argparse.Action | None
    to_come: Sequence[argparse.Action]


def _read(parser: argparse.ArgumentParser, words: Sequence[str]) -> _Place:
    from pytest_audiobench import cli

    to_come, waiting = [action for action in parser._actions if not action.option_strings], None
    for at, word in enumerate(words):
        if waiting is not None:
            waiting = None
        elif word.startswith("-"):
            option = parser._option_string_actions.get(word)
            waiting = option if option is not None and option.nargs != 0 else None
        elif to_come and isinstance(to_come[0], argparse._SubParsersAction):
            if word not in to_come[0].choices:
                return _Place(parser, None, [])
            return _read(to_come[0].choices[word], words[at + 1 :])
        elif to_come and to_come[0].nargs == argparse.REMAINDER:
            # Of a command within a command, the words are its own.
            return _read(cli.parsers()[0], words[at + (word == "audiobench") :])
        elif to_come and to_come[0].nargs not in ("+", "*"):
            del to_come[0]
    return _Place(parser, waiting, to_come)


def _values(action: argparse.Action, verb: str) -> Iterable[tuple[str, str]]:
    if isinstance(action, argparse._SubParsersAction):
        return [(choice.dest, choice.help or "") for choice in action._choices_actions]
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    if names := _NAMES.get((verb, action.dest)) or _NAMES.get(("", action.dest)):
        return [pair for place in names for pair in _known(place)]
    return _runs() if action.metavar and "RUN" in str(action.metavar) else ()


def _known(place: str) -> Iterator[tuple[str, str]]:
    """The names that a table or a function of the package holds, with what they are where it says so."""
    module, _, attribute = place.partition(":")
    names = getattr(importlib.import_module(f"pytest_audiobench.{module}"), attribute)
    names = names() if callable(names) else names
    for name in names:
        about = names[name] if isinstance(names, Mapping) else ""
        yield (f"{name}:" if place == _KINDS else name), about if isinstance(about, str) else ""


def _runs() -> list[tuple[str, str]]:
    """Those under reports/, as all verbs find a run by its name, the latest first."""
    found = sorted(Path("reports").glob("*/run.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    return [(file.parent.name, "run") for file in found]


_BENCHMARKS, _KINDS, _PRESETS = "cli._benchmark_page:benchmarks", "cli.describe:model_kinds", "models.spec:presets"
_FAMILIES, _SCORERS, _METRICS = (
    "protocols.catalogue:FAMILIES",
    "protocols.catalogue:scorer_names",
    "metrics.registry:names",
)
_NAMES: Mapping[tuple[str, str], Sequence[str]] = {
    ("describe", "name"): (_BENCHMARKS, _KINDS, _FAMILIES, _SCORERS, _METRICS),
    ("fetch", "names"): (_BENCHMARKS,),
    ("doctor", "command"): ("cli.completion:_COMMANDS", "cli:verb_modules"),
    ("init", "protocol"): (_FAMILIES,),
    **{(verb, "model"): (_KINDS, _PRESETS) for verb in ("warmup", "tune", "serve", "watch", "reproduce")},
    ("", "scorers"): (_SCORERS,),
    ("", "metric"): (_METRICS,),
    ("", "metrics"): (_METRICS,),
}
"""Where the names of an argument's values are, by verb and destination, or by the destination alone."""
_COMMANDS = {"pytest": "a run of pytest"}
