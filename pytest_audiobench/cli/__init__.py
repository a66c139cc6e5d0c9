"""The command ``audiobench``. Each module here is a verb; add one by adding a file.

A verb's module has ``HELP`` (one line), ``arguments(parser)`` and ``run(args)``, which returns the exit code. It
imports what it needs inside ``run``, so that ``audiobench --help`` starts at once. With ``BEHIND``, the name of an
argument, it gets all words behind ``--`` as they are.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence

from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import AudiobenchError, UsageError

_USAGE, _FAILED, _INTERRUPTED = 4, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: its own, 2 for wrong arguments, 4 for a user's mistake, 1 for other errors."""
    parser = argparse.ArgumentParser(prog="audiobench", description="Benchmarks for audio-language models.")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    verb_modules = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")):
        verb = verb_modules[name.replace("_", "-")] = importlib.import_module(f"{__name__}.{name}")
        verb_parser = verbs.add_parser(name.replace("_", "-"), help=verb.HELP, description=verb.HELP)
        verb.arguments(verb_parser)
        verb_parser.set_defaults(run=verb.run)
    words = [*(sys.argv[1:] if argv is None else argv)]
    behind = getattr(verb_modules.get(words[0]), "BEHIND", "") if words else ""
    end = words.index("--") if behind and "--" in words else len(words)
    args = parser.parse_args(words[:end], argparse.Namespace(**({behind: words[end + 1 :]} if behind else {})))
    try:
        return int(args.run(args))
    except AudiobenchError as error:
        say(f"audiobench: {error}")
        return _USAGE if isinstance(error, UsageError) else _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever reads the output (head, a pager) has seen enough; nothing more may be flushed at exit.
        sys.stdout = None
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"audiobench: {where}{error.strerror or error}")
        return _FAILED
