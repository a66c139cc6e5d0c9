"""``audiobench watch CHECKPOINTS -- ARGUMENTS``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from pytest_audiobench.cli._options import add_reports, add_selection
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import UsageError

_INTERRUPTED = 2
"""pytest's exit code when Ctrl-C ended it."""

BEHIND = "pytest"
HELP = "ask a suite about each checkpoint that a training saves, and hold it to the best so far"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "What follows -- is pytest's: audiobench watch 'runs/checkpoint-*' -- evals -k emotion"
    add = parser.add_argument
    add("checkpoints", metavar="CHECKPOINTS", help="the folders, in quotes: 'runs/emotion/checkpoint-*'")
    add("--model", metavar="SPEC", default="hf:{checkpoint}", help="what is asked (default hf:{checkpoint})")
    add("--name", metavar="NAME", default="", help="what the runs are called, NAME-STEP (default: the folder above)")
    add("--once", action="store_true", help="evaluate the checkpoints found, and end (default: wait for more)")
    add("--until", metavar="STEP", type=float, help="end when the checkpoint of this step or a later one was asked")
    add("--every", metavar="SECONDS", type=float, default=10.0, help="how often to look for more (default 10)")
    add(
        "--settle",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="how long a checkpoint without trainer_state.json must be unchanged (default 30)",
    )
    add_selection(parser, "--max-drop", "--alpha")
    add("--out", metavar="FILE", type=Path, help="the page with the curves (default: REPORTS/NAME.html)")
    add_reports(parser, "where the runs are written")


def run(args: argparse.Namespace) -> int:
    """1 where the last checkpoint is significantly below the best, 6 where one was not measured, else 0."""
    from pytest_audiobench.training.checkpoints import TRAINER_STATE, Follower, checkpoints

    pattern = Path(args.checkpoints).expanduser().absolute()
    name = args.name or pattern.parent.name
    page = args.out or args.reports / f"{name}.html"
    follower = Follower(name, args.pytest, args.model, args.reports, page, args.max_drop, args.alpha)
    asked: dict[Path, float] = {}
    waiting = False
    while True:
        found, others = checkpoints(args.checkpoints, args.settle)
        for checkpoint in found:
            saved = checkpoint.saved()
            if checkpoint.folder in asked and saved in (0.0, asked[checkpoint.folder]):
                continue
            asked[checkpoint.folder] = saved
            if not saved:
                look = follower.pass_over(checkpoint, "its folder was removed before it was asked: keep more of them")
            else:
                look = follower.look(checkpoint) if follower.is_measured(checkpoint) else follower.ask(checkpoint)
            print("\n".join(look.lines()), flush=True)
            if look.exit_status == _INTERRUPTED:
                raise KeyboardInterrupt
        if args.once or (args.until is not None and any(each.step >= args.until for each in found)):
            break
        if not asked and not waiting:
            say(f"audiobench: no checkpoint is whole in {args.checkpoints} yet; looking every {args.every:g} s")
            waiting = True
        time.sleep(args.every)
    if not follower.looks:
        raise UsageError(f"no checkpoint in {args.checkpoints} is whole: name folders with safetensors weights")
    for checkpoint in others:
        if args.until is None or checkpoint.step <= args.until:
            why = f"it is not whole: no {TRAINER_STATE}, and weights are missing or changed within --settle"
            print("\n".join(follower.pass_over(checkpoint, why).lines()))
    if any(look.track is not None for look in follower.looks):
        print(f"curves: {page}")
    return follower.exit_status()
