"""``audiobench completion bash|zsh|fish``: a script that asks ``audiobench`` itself what may come next."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HELP = "print a script by which a shell completes verbs, options and names; source it, or put it where the shell looks"

_BASH = r"""# bash: source <(audiobench completion bash)
_audiobench() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" completion bash --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace; fi
}
complete -o default -F _audiobench audiobench
"""
_ZSH = r"""#compdef audiobench
# zsh: source <(audiobench completion zsh)
_audiobench() {
    local -a found names abouts
    found=("${(@f)$("$words[1]" completion zsh --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=(${found:#})
    if (( ! $#found )); then _files; return; fi
    names=("${(@)found%%$'\t'*}")
    abouts=("${(@)found/$'\t'/  -- }")
    compadd -l -d abouts -a names
}
if [[ $funcstack[1] == _audiobench ]]; then _audiobench "$@"; else compdef _audiobench audiobench; fi
"""
_FISH = r"""# fish: audiobench completion fish | source
function __audiobench
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    set -l found ($program completion fish --words $before (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c audiobench -f -a '(__audiobench)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_LONGEST_ABOUT = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(_SCRIPTS), help="whose script to print")
    asked = "what the script asks: the words of a command so far, of which the last is completed"
    parser.add_argument("--words", nargs=argparse.REMAINDER, metavar="WORD", help=asked)


def run(args: argparse.Namespace) -> int:
    """0."""
    if args.words is None:
        print(_SCRIPTS[args.shell], end="")
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
    names = _NAMES.get((verb, action.dest)) or _NAMES.get(("", action.dest))
    if names is not None:
        return names()
    return _runs() if action.metavar and "RUN" in str(action.metavar) else ()


def _benchmarks() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.datasets.catalogue import LOADERS

    return ((name, "benchmark") for name, file in LOADERS.items() if isinstance(file, Path))


def _models() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.models.registry import KINDS
    from pytest_audiobench.models.spec import presets

    yield from ((f"{kind}:", "kind of model") for kind in KINDS)
    yield from ((name, each["about"]) for name, each in presets().items())


def _scorers() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.protocols.catalogue import scorer_names

    return ((name, "scorer") for name in sorted(scorer_names()))


def _protocols() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.protocols.catalogue import FAMILIES

    return iter(FAMILIES.items())


def _metrics() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.metrics.registry import names

    return ((name, "metric") for name in names())


def _readers() -> Iterator[tuple[str, str]]:
    from pytest_audiobench.rescoring.layouts import known_readers

    return ((each.name, each.about) for each in known_readers())


def _described() -> Iterator[tuple[str, str]]:
    for names in (_benchmarks, _models, _protocols, _scorers, _metrics):
        yield from names()


def _commands() -> Iterator[tuple[str, str]]:
    from pytest_audiobench import cli

    yield "pytest", "a run of pytest"
    yield from ((name, module.HELP) for name, module in cli.verb_modules().items())


def _runs() -> list[tuple[str, str]]:
    """Those under reports/, as all verbs find a run by its name, the latest first."""
    found = sorted(Path("reports").glob("*/run.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    return [(file.parent.name, "run") for file in found]


_NAMES: Mapping[tuple[str, str], Callable[[], Iterable[tuple[str, str]]]] = {
    ("describe", "name"): _described,
    ("fetch", "names"): _benchmarks,
    ("doctor", "command"): _commands,
    ("init", "protocol"): _protocols,
    **{(verb, "model"): _models for verb in ("warmup", "tune", "serve", "watch", "reproduce")},
    ("", "scorers"): _scorers,
    ("", "metric"): _metrics,
    ("", "metrics"): _metrics,
    ("", "reader"): _readers,
}
"""What names the values of an argument, by verb and destination, or by the destination alone."""
