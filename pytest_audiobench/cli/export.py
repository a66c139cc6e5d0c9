"""``audiobench export RUN --to KIND:PLACE``."""

from __future__ import annotations

import argparse

from pytest_audiobench.cli._options import add_reports
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import InfrastructureError

HELP = "write a run's numbers to Weights & Biases, MLflow, TensorBoard, a model card or a data set"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="a run's folder, its name under --reports, or last")
    parser.add_argument(
        "--to",
        metavar="KIND:PLACE[,KEY=VALUE…]",
        action="append",
        required=True,
        help="wandb:PROJECT, mlflow:URI, tensorboard:FOLDER, model-card:FILE or dataset:OWNER/NAME, as --ab-export; "
        "repeatable",
    )
    add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """0 where all was written, 1 where a place could not be."""
    from pytest_audiobench.report.run_reader import load_run
    from pytest_audiobench.sharing.exporters import destination

    destinations = [destination(text) for text in args.to]
    finished = load_run(args.run_folder, args.reports)
    failed = False
    for one in destinations:
        try:
            print(*one.export(finished.record, finished.folder), sep="\n")
        except InfrastructureError as error:
            failed = True
            say(f"audiobench: {error}")
    return int(failed)
