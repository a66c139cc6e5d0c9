"""``audiobench score RUN|FILE``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import add_output, local, names, put
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.rescoring.judge_pass import Judge
    from pytest_audiobench.rescoring.layouts import Source

TASK_TYPES = ("classification", "detection", "captioning", "open_ended", "qa", "counting")
FILES_OF_OTHERS = ("beans-next", "pairs")
"""The formats of files that another tool writes, into ``--out``."""
HELP = "score recorded answers again, by any scorers, without a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "answers",
        metavar="RUN|FILE",
        help="a run's folder, or answers of ours, BEANS-Next, the faithfulness study, AudioBench or THENIROCK",
    )
    add(
        "--scorers",
        metavar="all|NAME,…",
        default="",
        help="the scorers to read them by (default: those of the run, else all)",
    )
    add(
        "--family",
        metavar="NAME[,KEY=VALUE…]",
        default="",
        help="the protocol, where the file does not say, such as transcription",
    )
    add(
        "--labels",
        metavar="[SUBSET=]FILE",
        action="append",
        default=[],
        help="a task's labels, one a line or a JSON list; or a JSON object of lists by subset; repeatable",
    )
    add("--task-type", choices=TASK_TYPES, default="", help="the kind of BEANS-Next's tasks whose file does not say it")
    add("--manifests", metavar="FOLDER", type=Path, help="the study's manifests (default: beside it)")
    add("--crashes", choices=("error", "unanswered"), default="error", help="what a crash of the study counts as")
    add(
        "--published",
        metavar="NAME",
        default="",
        help="print the numbers beside published ones, such as faithfulness/af3/emotion (see audiobench published)",
    )
    add("--out", metavar="FOLDER", type=Path, help="write the files of a run into this new folder")
    add("--judge-url", metavar="URL", default="", help="also weigh each answer by the judge that is served there")
    add(
        "--judge-extract-url",
        metavar="URL",
        default="",
        help="also let the server there extract what each answer says: a label, labels or a sentence",
    )
    add_output(parser, FILES_OF_OTHERS)


def run(args: argparse.Namespace) -> int:
    from pytest_audiobench import published_figures
    from pytest_audiobench.datasets.label_lists import label_files
    from pytest_audiobench.published_figures.compare import by_other_encoders, comparisons, fitting
    from pytest_audiobench.rescoring import score_table
    from pytest_audiobench.rescoring.judge_pass import judges_of
    from pytest_audiobench.rescoring.layouts import source_of
    from pytest_audiobench.rescoring.output import write_rescored_run
    from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

    figures = published_figures.matching(args.published) if args.published else []
    source = source_of(
        Path(local(args.answers)), args.manifests, args.crashes, label_files(args.labels), args.task_type
    )
    judges = judges_of(args.judge_url, args.judge_extract_url)
    if args.format in FILES_OF_OTHERS:
        return _write_files_of_others(args, source, judges)
    wanted = ScoringOptions(names(args.scorers), args.family, judges)
    if args.out is None:
        rescored = rescore(source, wanted)
    else:
        rescored = write_rescored_run(args.out, source, wanted, ["audiobench", *sys.argv[1:]])
    compared, other_encoders = {}, list[str]()
    for number, item in enumerate(rescored.items):
        relevant = fitting(item, figures)
        relevant = relevant if relevant or len(rescored.items) > 1 else figures
        compared[number] = comparisons(item, relevant)
        if note := by_other_encoders(item, relevant):
            other_encoders.append(f"{item.eval}: {note}")
    rescored.notes.extend(other_encoders)
    if figures and not any(compared.values()) and not other_encoders:
        note = f"{args.published} names {len(figures)} figures, and none of a metric that was scored here"
        rescored.notes.append(note)
    pooled = [suite for suite in rescored.suites if suite.evals > 1]
    text = score_table.text([*rescored.items, *pooled], rescored.notes, compared, rescored.majorities, args.format)
    put(text, rescored.notes if args.format in ("csv", "json") else (), None)
    if args.out is not None:
        print(f"written to {args.out}", file=sys.stderr)
    return _exit_code(judges)


def _exit_code(judges: Sequence[Judge]) -> int:
    """0 where all verdicts could be had; says what could not be had or read."""
    for judge in judges:
        for sentence in judge.shortfalls():
            print(f"audiobench: {sentence}", file=sys.stderr)
    return int(any(judge.failures for judge in judges))


def _write_files_of_others(args: argparse.Namespace, source: Source, judges: Sequence[Judge]) -> int:
    from pytest_audiobench.compat.beans_next_files import Rules, write_files, write_pairs
    from pytest_audiobench.rescoring.judge_pass import with_verdicts

    if args.out is None:
        raise UsageError(f"--format={args.format} writes files: name their new folder with --out")
    if args.format == "pairs":
        print(f"{write_pairs(args.out, source.rows())} pairs in {args.out / 'pairs.jsonl'}")
        return 0
    ran = "beans-run" in names(args.scorers) or (source.layout == "run" and not args.scorers)
    rules = Rules("run" if ran else "score-from-file", args.task_type)
    for place, mean in write_files(args.out, with_verdicts(source.rows(), judges), rules, judges).items():
        print(place, *(f"{name} {value:.6g}" for name, value in mean.items()))
    print(f"written to {args.out}", file=sys.stderr)
    return _exit_code(judges)
