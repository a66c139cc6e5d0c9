"""``audiobench reproduce [RECIPE]``."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.published_figures.recipes import Recipe

HELP = "ask or score by the recipe of a published figure, and say whether it comes out"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", nargs="?", help="a recipe's name, or a part of it; all are listed without one")
    add("--from", dest="answers", metavar="RUN|FILE", type=Path, help="score these answers, without asking a model")
    add("--model", metavar="SPEC", help="ask this model, as pytest --ab-model takes it")
    add("--manifests", metavar="FOLDER", type=Path, help="the study's manifests (default: beside its answers)")
    add("--pytest", metavar="OPTIONS", default="", help="options for that run, as --pytest='--ab-limit=50 -n 2'")


def run(args: argparse.Namespace) -> int:
    """0 where the figure is reproduced, else 1; 0 for a list."""
    from pytest_audiobench.published_figures.recipes import recipe_named, recipes

    if args.answers is None and args.model is None:
        shown = [recipe for recipe in recipes().values() if args.recipe is None or args.recipe in recipe.name]
        for recipe in shown or [recipe_named(args.recipe)]:
            print(f"{recipe.figure.text:>10}  {recipe.name}  [{recipe.scorer or 'rule not known'}]")
        if args.recipe in recipes():
            _describe(recipes()[args.recipe])
        return 0
    if args.recipe is None:
        raise UsageError("name a recipe; audiobench reproduce lists all")
    recipe = recipe_named(args.recipe)
    answers = args.answers or _asked(recipe, args.model, shlex.split(args.pytest))
    return _scored(recipe, answers, args.manifests)


def _describe(recipe: Recipe) -> None:
    decoding = ", ".join(f"{name} {value}" for name, value in recipe.decoding.items())
    rows = (
        ("source", recipe.figure.source),
        ("model", recipe.figure.checkpoint or recipe.figure.model),
        ("prompt", recipe.prompt or "not known"),
        ("decoding", decoding or "not known"),
        ("eval", recipe.eval or _why_none(recipe)),
        ("answers", recipe.answers),
    )
    for name, value in rows:
        if value:
            print(f"  {name:<9} {value}")


def _why_none(recipe: Recipe) -> str:
    return f"none is of {recipe.dataset}, and of nothing else" if recipe.dataset else "none: its data are not public"


def _asked(recipe: Recipe, model: str, further: list[str]) -> Path:
    """The folder of a run that asks the model by the recipe."""
    if not recipe.eval:
        raise UsageError(f"no eval asks as {recipe.name} does ({_why_none(recipe)}): give its answers with --from FILE")
    name = f"reproduce-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    style = f",style={recipe.style}" if recipe.style else ""
    command = [sys.executable, "-m", "pytest", recipe.eval, f"--ab-model={model}{style}", f"--ab-run={name}"]
    reports = Path("reports").resolve()
    command += [f"--ab-reports={reports}"]
    command += [f"--ab-prompt={recipe.asks_prompt}"] if recipe.asks_prompt else []
    subprocess.run([*command, *further], check=False)
    folder = reports / name
    if not (folder / "run.json").is_file():
        raise UsageError(f"the run of {recipe.eval} left no record at {folder}; see above why")
    return folder


def _scored(recipe: Recipe, answers: Path, manifests: Path | None) -> int:
    from pytest_audiobench.published_figures.recipes import reproduction
    from pytest_audiobench.rescoring.layouts import Source, source_of
    from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

    source = source_of(answers, manifests)
    if source.run is not None and recipe.dataset:
        rows = source.rows
        source = Source(
            source.layout, source.files, lambda: (row for row in rows() if row.dataset == recipe.dataset), source.run
        )
    items = rescore(source, ScoringOptions(("all",))).items
    if not items:
        raise UsageError(f"{answers} has no answers to {recipe.dataset or recipe.figure.dataset}")
    words = []
    for item in items:
        word, says = reproduction(recipe, item, asked_anew=source.run is not None)
        words.append(word)
        print(f"{word}: {says}")
        if recipe.decoding:
            decoding = ", ".join(f"{name} {value}" for name, value in recipe.decoding.items())
            print(f"  its source says of decoding: {decoding}; that of these answers is their run's")
    return 0 if all(word == "reproduced" for word in words) else 1
