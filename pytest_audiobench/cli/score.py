"""``audiobench score RUN|FILE``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import Adding, add_output, add_terms_of_reading, local, names, put, terms_of_reading
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.human_labels import HumanLabels
    from pytest_audiobench.records.run import ItemRecord
    from pytest_audiobench.rescoring.judge_pass import Judge
    from pytest_audiobench.rescoring.layouts import Source

TASK_TYPES = ("classification", "detection", "captioning", "open_ended", "qa", "counting")
KAPPA = "human_kappa"
FILES_OF_OTHERS = ("beans-next", "pairs")
"""The formats of files that another tool writes, into ``--out``."""
HELP = "score recorded answers again, by any scorers, without a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "answers",
        metavar="RUN|FILE",
        help="a run's folder, a file of answers that any tool wrote (see audiobench list readers), or a folder of them",
    )
    add(
        "--scorers",
        metavar="all|NAME,…",
        action=Adding,
        default="",
        help="the scorers to read them by (default: those of the run, else all)",
    )
    add(
        "--family",
        metavar="NAME[,KEY=VALUE…]",
        default="",
        help="the protocol, where the file does not say, such as transcription",
    )
    add_terms_of_reading(parser)
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
        help="print the numbers next to published ones, such as faithfulness/af3/emotion (see audiobench published)",
    )
    add("--out", metavar="FOLDER", type=Path, help="write the files of a run into this new folder")
    add(
        "--audio",
        metavar="FOLDER",
        type=Path,
        help="where the audio lies that the answers are about: the page of --out plays some of it",
    )
    add("--judge-url", metavar="URL", default="", help="also score each answer by the judge served there")
    add(
        "--judge-extract-url",
        metavar="URL",
        default="",
        help="also let the server there extract what each answer says: a label, labels or a sentence",
    )
    add(
        "--human-labels",
        metavar="FILE[,chosen=random|separate][,scale=LOW-HIGH]",
        default="",
        help="human labels of some answers: the judge's agreement with them, and its score corrected by them",
    )
    add("--human-kappa", metavar="BOUND", type=float, help="fail where a judge's kappa with people is below this")
    add_output(parser, FILES_OF_OTHERS)


def run(args: argparse.Namespace) -> int:
    from pytest_audiobench import published_figures
    from pytest_audiobench.datasets.label_lists import label_files
    from pytest_audiobench.published_figures.compare import by_other_encoders, comparisons, fitting
    from pytest_audiobench.published_figures.recipes import all_figures
    from pytest_audiobench.rescoring import score_table
    from pytest_audiobench.rescoring.judge_pass import judges_of
    from pytest_audiobench.rescoring.layouts import source_of
    from pytest_audiobench.rescoring.output import write_rescored_run
    from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

    figures = published_figures.matching(args.published, all_figures()) if args.published else []
    source = source_of(
        Path(local(args.answers)),
        args.manifests,
        args.crashes,
        label_files(args.labels),
        args.task_type,
        terms_of_reading(args),
    )
    judges = judges_of(args.judge_url, args.judge_extract_url)
    if args.format in FILES_OF_OTHERS:
        return _write_files_of_others(args, source, judges)
    if args.audio is not None and args.out is None:
        raise UsageError("--audio is for the page, which --out FOLDER writes: name that too")
    labels = _human_labels(args, judges)
    wanted = ScoringOptions(names(args.scorers), args.family, judges, labels, args.audio)
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
        note = f"{args.published} names {len(figures)} figures, none of them of a metric scored here"
        rescored.notes.append(note)
    pooled = [suite for suite in rescored.suites if suite.evals > 1]
    text = score_table.text([*rescored.items, *pooled], rescored.notes, compared, rescored.majorities, args.format)
    put(text, rescored.notes if args.format in ("csv", "json") else (), None)
    if args.out is not None:
        say(f"written to {args.out}")
    disagrees = labels is not None and not _agrees(rescored.items, args.human_kappa)
    return _exit_code(judges) or int(disagrees or bool(rescored.left_out))


def _human_labels(args: argparse.Namespace, judges: Sequence[Judge]) -> HumanLabels | None:
    from pytest_audiobench.evaluation.human_labels import read_human_labels

    if not args.human_labels:
        if args.human_kappa is not None:
            raise UsageError("--human-kappa bounds the agreement with --human-labels: name their file")
        return None
    if not judges:
        raise UsageError("--human-labels are compared with a judge's verdicts: name its server with --judge-url URL")
    return read_human_labels(args.human_labels)


def _agrees(items: Sequence[ItemRecord], bound: float | None) -> bool:
    """Whether answers were labelled, and every judge of them agrees with people as far as is asked; says where not."""
    kappas = [
        (item, each) for item in items for each in item.metrics if each.name == KAPPA and each.n and not each.group
    ]
    if not kappas:
        say("audiobench: --human-labels labelled nothing: no answer that was judged has an id, eval and model of them")
        return False
    low = [(item, each) for item, each in kappas if bound is not None and (each.value is None or each.value < bound)]
    for item, each in low:
        said = "is unmeasured" if each.value is None else f"{each.value:.3f} is not >= {bound}"
        say(f"audiobench: {item.eval}: {KAPPA} of {each.scorer} {said} ({each.method})")
    return not low


def _exit_code(judges: Sequence[Judge]) -> int:
    """0 where all verdicts could be had; says what could not be had or read."""
    for judge in judges:
        for sentence in judge.shortfalls():
            say(f"audiobench: {sentence}")
    return int(any(judge.failures for judge in judges))


def _write_files_of_others(args: argparse.Namespace, source: Source, judges: Sequence[Judge]) -> int:
    from pytest_audiobench.compat.beans_next_files import Rules, write_files, write_pairs
    from pytest_audiobench.rescoring.judge_pass import with_verdicts

    if args.out is None:
        raise UsageError(f"--format={args.format} writes files: name their new folder with --out FOLDER")
    if args.format == "pairs":
        print(f"{write_pairs(args.out, source.rows())} pairs in {args.out / 'pairs.jsonl'}")
        return 0
    ran = "beans-run" in names(args.scorers) or (source.layout == "run" and not args.scorers)
    rules = Rules("run" if ran else "score-from-file", args.task_type)
    for place, mean in write_files(args.out, with_verdicts(source.rows(), judges), rules, judges).items():
        print(place, *(f"{name} {value:.6g}" for name, value in mean.items()))
    say(f"written to {args.out}")
    return _exit_code(judges)
