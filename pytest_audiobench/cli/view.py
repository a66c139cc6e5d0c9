"""``audiobench view [FOLDER]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_audiobench.cli._text import say

HELP = "show all runs of a folder in the browser: list, search, compare, track, and follow those that go on"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path("reports"),
        help="a folder of runs, or a run (default: reports)",
    )
    add("--port", type=int, default=8123, help="port of 127.0.0.1 (default 8123); 0 takes a free one")
    add("--open", action="store_true", help="open it in the browser")


def run(args: argparse.Namespace) -> int:
    """0, once it is interrupted. Raises UsageError where there is no such folder, or the port is taken."""
    import webbrowser

    from pytest_audiobench.errors import UsageError
    from pytest_audiobench.viewer.server import HOST, Viewer

    if not args.folder.is_dir():
        raise UsageError(f"there is no folder {args.folder}: name a folder of runs, such as reports")
    try:
        viewer = Viewer(args.folder, args.port)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {args.port} of {HOST} cannot be used ({error}): choose another with --port") from None
    with viewer:
        print(viewer.address, flush=True)
        say("Ctrl-C ends it")
        if args.open:
            webbrowser.open(viewer.address)
        try:
            viewer.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
