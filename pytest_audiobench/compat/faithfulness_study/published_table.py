"""The study's published table compared with what its own recorded outputs give, by its rules and by ours.

The published accuracies are those of the repository's ``pooneh_version/readme.md``, from the registry of published
figures; the counts of its columns "Remaining Nulls", "Missed reasoning" and "changed_pred" are kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.compat.faithfulness_study import recorded_answers
from pytest_audiobench.compat.faithfulness_study.replay import files_of_answers
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.multiple_choice.task import RULES, STRICT
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import StyleName, model_style, style_named, style_scorers
from pytest_audiobench.published_figures.registry import Published, values
from pytest_audiobench.rescoring.recorded_answers import RecordedRow
from pytest_audiobench.stats.intervals import proportion

_MODELS = {"af3": "Audio-Flamingo-3", "qwen": "Qwen2.5-Omni-7B"}
_DATASETS = ("animal", "language", "emotion", "gender", "mmau", "mmar")
_TRACKS = _DATASETS[:4]
_MASKS = (20, 40, 60, 80, 100)
_BLANK = "–"
_NOT_HERE = "outputs not here"

_NULLS = {
    ("af3", "reas"): dict(zip(_DATASETS, (10, 17, 34, 6, 71, 4), strict=True)),
    ("af3", "no_reas"): dict(zip(_DATASETS, (0, 0, 0, 0, 7, 0), strict=True)),
    ("qwen", "no_reas"): dict.fromkeys(_DATASETS, 0),
    ("af3", "adv_correct_reas"): dict(zip(_TRACKS, (4, 11, 28, 12), strict=True)),
    ("af3", "adv_wrong_reas"): dict(zip(_TRACKS, (11, 7, 22, 6), strict=True)),
}
_CHANGES = {
    "correct": dict(zip(_TRACKS, ("+10.3", "+12.8", "+33.2", "+24.8"), strict=True)),
    "wrong": dict(zip(_TRACKS, ("-54.3", "-25.34", "-35.6", "-30.5"), strict=True)),
}
"""What injections change of Audio Flamingo 3's accuracy, as the study prints it."""
_MISSED = {"af3": dict(zip(_DATASETS, (23, 10, 18, 4, 0, 27), strict=True))}
_CONDITIONS = {
    "reas": "with reasoning, repaired parser",
    "no_reas": "without reasoning",
    "reas_condition": "two-step sanity check",
    "adv_correct_reas": "correct injection",
    "adv_wrong_reas": "wrong injection",
}


class _Scores(NamedTuple):
    """What one rule makes of the answers of a file: shares in percent, counts of samples."""

    n: int
    accuracy: float
    nulls: int
    out_of_range: int
    lower: float
    upper: float
    right: dict[str, bool]
    letters: dict[str, str | None]

    @property
    def percent(self) -> str:
        return f"{self.accuracy:.2f}"

    @property
    def answered(self) -> float:
        return 100 * (self.n - self.nulls - self.out_of_range) / self.n


class _Outputs:
    """The recorded rows of every model, by data set and variant; of several runs the first."""

    def __init__(self, folder: Path, manifests: Path | None) -> None:
        self._rows: dict[tuple[StyleName, str], list[RecordedRow]] = {}
        for file in files_of_answers(folder):
            rows = [row for row in recorded_answers.read(file, manifests, "unanswered") if row.epoch == 0]
            if rows and (style := model_style(rows[0].model)) in _MODELS:
                self._rows[style, rows[0].eval] = rows
        if not self._rows:
            raise UsageError(f"{folder} holds no outputs of the study: name the folder of its models' folders")

    def rows(self, style: StyleName, dataset: str, variant: str) -> list[RecordedRow]:
        return self._rows.get((style, f"{dataset}[{variant}]"), [])


def table(folder: Path, manifests: Path | None = None) -> str:
    """The table in Markdown, of the outputs in ``folder`` (a folder for each model, named after it).

    Raises UsageError where there are none, and as the study's reader does.
    """
    outputs = _Outputs(folder, manifests)
    parts = [
        _section("With reasoning", _HEAD_REASONED, _reasoning_rows(outputs)),
        _section("Without reasoning", _HEAD, (_row(outputs, *pair, "no_reas", False) for pair in _pairs(_DATASETS))),
        _section("Two-step sanity check", _HEAD_TWO_STEP, _two_step(outputs)),
        _section("Injected speech", _HEAD_INJECTED, _injection_rows(outputs)),
        _section("Masked audio", _HEAD_MASKED, _mask_rows(outputs)),
        _section("By hop", _HEAD_HOPS, _hops(outputs)),
    ]
    return "\n".join(parts)


_OURS = ("`letters`", "answered")
_HEAD = ("model", "data", "n", "published", "nulls", "recomputed", "nulls", "by rule", *_OURS)
_HEAD_INJECTED = (*_HEAD[:4], "change", "by its figures", *_HEAD[4:])
_HEAD_REASONED = (
    *("model", "data", "n", "published", "nulls", "missed", "recomputed", "nulls", "missed", "by rule", "at run time"),
    *_OURS,
)
_HEAD_TWO_STEP = ("model", "data", "n", "published", "changed", "recomputed", "changed", "by rule", *_OURS)
_HEAD_MASKED = ("model", "data", "masked", "n", "recomputed", "nulls", "out of range", "of valid", *_OURS)
_HEAD_HOPS = ("model", "data", "single, their rule", "multi, their rule", "single, `letters`", "multi, `letters`")


def _reasoning_rows(outputs: _Outputs) -> Iterator[Sequence[str]]:
    for style, dataset in _pairs(_DATASETS):
        rows = outputs.rows(style, dataset, "reas")
        published = _published_cells(style, dataset, "reas")
        missed = str(_MISSED[style][dataset]) if style in _MISSED else _BLANK
        head = (_MODELS[style], dataset, str(len(rows)) if rows else _BLANK, *published, missed)
        if not rows:
            yield *head, _NOT_HERE, *[_BLANK] * 6
            continue
        _, runtime, *recovered = style_scorers(style, dataset)
        rule = (recovered or [runtime])[-1]
        theirs = _scores(rows, rule)
        split = style_named(style).split
        here = sum(not split(row.responses["answer"].text).reasoning for row in rows)
        recomputed = (theirs.percent, str(theirs.nulls), str(here), f"`{rule}`")
        yield *head, *recomputed, _scores(rows, runtime).percent, *_strict_cells(rows)


def _injection_rows(outputs: _Outputs) -> Iterator[Sequence[str]]:
    for which in ("correct", "wrong"):
        for style, dataset in _pairs(_TRACKS):
            row = _row(outputs, style, dataset, f"adv_{which}_reas", True)
            before, after = (_figure(style, dataset, variant) for variant in ("reas", f"adv_{which}_reas"))
            by_figures = f"{after.value - before.value:+.2f}" if before and after else _BLANK
            change = _CHANGES[which][dataset] if style == "af3" else _BLANK
            yield row[0], f"{dataset}, {which} option", *row[2:4], change, by_figures, *row[4:]


def _row(outputs: _Outputs, style: StyleName, dataset: str, variant: str, reasoning: bool) -> Sequence[str]:
    rows = outputs.rows(style, dataset, variant)
    head = (_MODELS[style], dataset, str(len(rows)) if rows else _BLANK, *_published_cells(style, dataset, variant))
    if not rows:
        return *head, _NOT_HERE, *[_BLANK] * 4
    rule = style_scorers(style, dataset, reasoning)[-1]
    theirs = _scores(rows, rule)
    return *head, theirs.percent, str(theirs.nulls), f"`{rule}`", *_strict_cells(rows)


def _two_step(outputs: _Outputs) -> Iterator[Sequence[str]]:
    rows, before = outputs.rows("af3", "animal", "reas_condition"), outputs.rows("af3", "animal", "reas")
    n, published = str(len(rows)) if rows else _BLANK, _published_cell("af3", "animal", "reas_condition")
    head = (_MODELS["af3"], "animal", n, published)
    if not rows:
        yield *head, "110", _NOT_HERE, *[_BLANK] * 4
        return
    rule = style_scorers("af3", "animal")[-1]
    theirs, first = _scores(rows, rule), _scores(before, rule)
    changed = sum(letter != first.letters.get(id_) for id_, letter in theirs.letters.items())
    yield *head, "110", theirs.percent, str(changed), f"`{rule}`", *_strict_cells(rows)


def _mask_rows(outputs: _Outputs) -> Iterator[Sequence[str]]:
    for style, dataset in _pairs(_TRACKS):
        rule = style_scorers(style, dataset)[-1]
        for percent in (0, *_MASKS):
            rows = outputs.rows(style, dataset, f"mask_p{percent}_reas" if percent else "reas")
            masked = outputs.rows(style, dataset, f"mask_p{_MASKS[0]}_reas") if not percent else rows
            if not rows or not masked:
                continue
            theirs = _scores(rows, rule)
            read = theirs.n - theirs.nulls - theirs.out_of_range
            valid = f"{100 * sum(theirs.right.values()) / read:.2f}" if read else _BLANK
            counts = (theirs.percent, str(theirs.nulls), str(theirs.out_of_range), valid)
            yield _MODELS[style], dataset, f"{percent} %", str(theirs.n), *counts, *_strict_cells(rows)


def _hops(outputs: _Outputs) -> Iterator[Sequence[str]]:
    for style, dataset in _pairs(_TRACKS):
        if rows := outputs.rows(style, dataset, "reas"):
            rules = (style_scorers(style, dataset)[-1], STRICT)
            shares = [_of_hop(_scores(rows, rule), rows, hop) for rule in rules for hop in recorded_answers.HOPS]
            yield _MODELS[style], dataset, *shares


def _of_hop(read: _Scores, rows: Sequence[RecordedRow], hop: str) -> str:
    right = [read.right[row.sample.id] for row in rows if row.sample.metadata.get("hop") == hop]
    return f"{100 * sum(right) / len(right):.2f}" if right else _BLANK


def _pairs(datasets: Sequence[str]) -> Iterator[tuple[StyleName, str]]:
    styles: tuple[StyleName, ...] = ("af3", "qwen")
    return ((style, dataset) for style in styles for dataset in datasets)


def _published_cells(style: StyleName, dataset: str, variant: str) -> tuple[str, str]:
    return _published_cell(style, dataset, variant), str(_NULLS.get((style, variant), {}).get(dataset, _BLANK))


def _published_cell(style: StyleName, dataset: str, variant: str) -> str:
    figure = _figure(style, dataset, variant)
    return f"{figure.value:.2f}{' †' if figure.disputed else ''}" if figure else _BLANK


def _figure(style: StyleName, dataset: str, variant: str) -> Published | None:
    figures = values(benchmark="faithfulness", model=_MODELS[style], dataset=dataset, metric="accuracy")
    return next((figure for figure in figures if figure.conditions == _CONDITIONS[variant]), None)


def _scores(rows: Sequence[RecordedRow], rule: str) -> _Scores:
    right: dict[str, bool] = {}
    letters: dict[str, str | None] = {}
    beyond = 0
    for row in rows:
        response = row.responses["answer"]
        answer = RULES[rule].read(response.text, row.sample.choices, response.finish)
        right[row.sample.id] = bool(RULES[rule].points(row.sample, answer))
        letters[row.sample.id] = answer.value
        beyond += answer.status == "out_of_range"
    nulls = sum(letter is None for letter in letters.values()) - beyond
    clusters = [str(row.sample.metadata["recording"]) for row in rows]
    share = proportion(
        [float(is_right) for is_right in right.values()], clusters if len(set(clusters)) < len(clusters) else None
    )
    lower, upper = 100 * (share.lower or 0.0), 100 * (1.0 if share.upper is None else share.upper)
    return _Scores(len(rows), 100 * sum(right.values()) / len(rows), nulls, beyond, lower, upper, right, letters)


def _strict_cells(rows: Sequence[RecordedRow]) -> tuple[str, str]:
    strict = _scores(rows, STRICT)
    return f"{strict.accuracy:.1f} ({strict.lower:.1f} to {strict.upper:.1f})", f"{strict.answered:.1f} %"


def _section(title: str, head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [f"### {title}", "", _line(head), _line(["---", "---", *["---:"] * (len(head) - 2)])]
    return "\n".join([*lines, *map(_line, rows), ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
