"""SALMONN's fifteen tasks: who printed what of each, by which rule; as lines of 80 columns and as docs/salmonn.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from pytest_audiobench.cli._text import labelled, wrapped
from pytest_audiobench.published_figures import registry
from pytest_audiobench.published_figures.claims import PAPER, REPRODUCTION, Claim, claims, figures, rows, tasks

_TRACKS = ("gender", "language", "emotion", "animal")


def text(only: Sequence[str] = ()) -> Iterator[str]:
    """The lines of the terminal: of all tasks and of who prints SALMONN, or of the tasks ``only``."""
    for task in tasks():
        if only and not set(only) & set(task.evals):
            continue
        yield wrapped(f"{', '.join(task.evals)}: {task.title}", 0, 2)
        printed = list(rows(task))
        width = max(len(row.value) for row in printed)
        for before, row in zip([None, *printed], printed, strict=False):
            who = "" if before and before.who == row.who else row.who
            head = f"  {who:<12}  {row.value:>{width}}  "
            if len(head) > 40:
                yield from (head.rstrip(), wrapped(row.says, 16))
            else:
                yield head + wrapped(row.says, len(head)).lstrip()
        if task.note:
            yield wrapped(f"note: {task.note}", 2, 4)
        yield ""
    if only:
        return
    yield "Who prints SALMONN, or is cited for it; audiobench published NAME says more"
    for claim in claims():
        yield wrapped(f"{claim.name}: {claim.prints}. Same data: {claim.same_data}", 2, 6)


def claim_text(claim: Claim) -> Iterator[str]:
    """What is known of how one paper's figures of SALMONN were measured."""
    yield wrapped(f"{claim.name}: {claim.title}", 0, 2)
    yield from labelled([*_facts(claim).items(), ("tables", ", ".join(claim.benchmarks))])


def page() -> str:
    """docs/salmonn.md."""
    head = (files("pytest_audiobench.published_figures") / "salmonn.md").read_text(encoding="utf-8")
    return "\n".join([head, *_overview(), *_tasks(), *_claims(), *_experiments()]).rstrip() + "\n"


def _facts(claim: Claim) -> dict[str, str]:
    return {
        name.replace("_", " "): getattr(claim, name)
        for name in claim.__struct_fields__
        if name not in ("name", "title", "benchmarks")
    }


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;') for cell in cells)} |"


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    return [_row(head), "|---" * len(head) + "|", *map(_row, body), ""]


def _overview() -> Iterator[str]:
    yield "## Skip and keep, side by side\n"
    yield "In brackets how many samples a rule leaves out; a dash where no such figure is printed.\n"
    head = ("task", "metric", "paper", "reproduction, skip", "reproduction, keep", "ours by default")
    body = []
    for task in tasks():
        names = ", ".join(f"`{name}`" for name in task.evals)
        for metric in task.metrics:
            again = figures(task, REPRODUCTION, metric)
            paper = ", ".join(figure.text for figure in figures(task, PAPER, metric))
            skip = next((f"{figure.text} ({figure.skipped:,})" for figure in again if figure.skipped), "–")
            keep = next((figure.text for figure in again if figure.skipped == 0), "–")
            body.append((names, metric, paper, skip, keep, f"`{task.scorer}`"))
    yield from _table(head, body)


def _tasks() -> Iterator[str]:
    yield "## Who printed what, by which rule\n"
    for task in tasks():
        yield f"### {', '.join(task.evals)}: {task.title}\n"
        yield from _table(("who", "value", "rule"), [(row.who, row.value, row.says) for row in rows(task)])
        if task.note:
            yield f"{task.note}\n"


def _claims() -> Iterator[str]:
    yield "## Who prints SALMONN\n"
    yield "What was not to be seen is called unseen; nothing is guessed. `audiobench published NAME` prints one row.\n"
    yield from _table(("name", *_facts(claims()[0])), [(claim.name, *_facts(claim).values()) for claim in claims()])


def _experiments() -> Iterator[str]:
    yield "## What else the reproduction measured\n"
    yield "SALMONN-7B on SAKURA, 500 questions a column, judged by gpt-oss-20b unless it says otherwise:\n"
    by_conditions: dict[str, dict[str, str]] = {}
    for figure in registry.values(benchmark="SAKURA-repro", model="SALMONN-7B"):
        if figure.dataset != "all":
            conditions = figure.conditions.removeprefix("judge gpt-oss-20b; ")
            by_conditions.setdefault(conditions, {})[figure.dataset] = f"{figure.value:.1f}"
    columns = [f"{track}_{hop}" for track in _TRACKS for hop in ("single", "multi")]
    head = ["conditions", *(column.replace("_", ", ") for column in columns)]
    yield from _table(
        head, [(conditions, *(cells[name] for name in columns)) for conditions, cells in by_conditions.items()]
    )
    yield "SALMONN-13B's WER by LoRA's scale, 4 where none is named, answers without an end left out:\n"
    by_scale: dict[str, dict[str, str]] = {}
    for figure in registry.values(benchmark=REPRODUCTION, metric="wer"):
        if figure.protocol == "salmonn-skip":
            text = f"{figure.text} ({figure.skipped or 0:,})"
            by_scale.setdefault(figure.model, {})[figure.dataset] = text
    sets = ["librispeech_clean", "librispeech_other", "gigaspeech"]
    yield from _table(["model", *sets], [(model, *(cells[name] for name in sets)) for model, cells in by_scale.items()])
