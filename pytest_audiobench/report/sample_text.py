"""One sample of a run, or all probes of one mixture, in lines of 80 columns: what was played, asked, answered, read."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_audiobench.records.lines import AudioRow, PredictionRow
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import (
    WIDTH,
    aligned,
    counted,
    cut_in_the_middle,
    eval_name,
    printable,
    wrapped,
)
from pytest_audiobench.report.joined_samples import Joined, played, subject_rows
from pytest_audiobench.report.label_tables import answer_label
from pytest_audiobench.report.page.rows import right, score_text, value_words

_COLUMN = 11
_MOST_WRONG = 20
_UNITS = {"db": "dB", "s": "s", "hz": "Hz"}


def sample_lines(sample: Joined, item: ItemRecord, recipes: Sequence[Any], heard: str) -> Iterator[str]:
    """Everything of one sample; ``heard`` is the rate and the window that its model is played at."""
    first = sample.predictions[0]
    yield printable(f"{first.sample_id} of {first.eval} by {first.model}, epoch {first.epoch}")
    yield from played_lines(sample, item, recipes, heard)
    yield from _labelled("truth", " or ".join(first.references or (first.reference,)))
    yield from _labelled("options", " | ".join(first.choices))
    for row in sample.predictions:
        yield f"  {printable(row.stage)}{'' if row.role == 'subject' else f', by the {row.role}'}"
        for role, parts in row.prompt or ():
            text = " ".join(f"<audio {part + 1}>" if isinstance(part, int) else part for part in parts)
            yield from _labelled("  asked" if role == "user" else f"  {role}", text)
        for output in row.outputs:
            end = "" if output.finish in ("stop", "unknown") else f" [{output.finish}]"
            yield from _labelled("  answer", f"{output.text or '(empty)'}{end}")
        yield from _labelled("  error", row.error or "")
    yield from _labelled("baseline", _before(sample, first))
    for scorer, verdict in verdicts(sample, item).items():
        yield from _labelled("read", f"{verdict} (by {scorer})")


def mixture_lines(samples: Sequence[Joined], item: ItemRecord, recipes: Sequence[Any], heard: str) -> Iterator[str]:
    """What was played once, and below it each probe of it: what is there, what was answered in each wording, read."""
    first = samples[0].predictions[0]
    yield printable(f"{first.metadata['mixture']} of {first.eval} by {first.model}: {counted(len(samples), 'probe')}")
    yield from played_lines(samples[0], item, recipes, heard)
    rows = [("asked for", "there", "answers", "read")]
    for sample in samples:
        row = sample.predictions[0]
        answers = [_short(output.text) for each in sample.predictions for output in each.outputs]
        label = str(row.metadata.get("label") or row.sample_id.rpartition("/")[2])
        verdict = next(iter(verdicts(sample, item).values()), "")
        rows.append((_short(label), _short(row.reference), _short(" · ".join(answers), 24), _short(verdict, 28)))
    yield from map(printable, aligned(rows, left=(0, 1, 2, 3)))


def wrong_lines(samples: Iterable[tuple[ItemRecord, Joined]], command: str, several: bool) -> Iterator[str]:
    """The first wrong answers as a table, how many there are, and by which command one is seen.

    ``several`` models are named. Answers that are neither right nor wrong, such as loudness in dB, are counted apart.
    """
    rows: list[tuple[str, ...]] = []
    shown = ""
    counts = dict.fromkeys(("answers", "wrong", "not asked", "neither"), 0)
    neither: dict[str, str] = {}
    for item, sample in samples:
        _, first, last = subject_rows(sample)
        counts["answers"] += 1
        error = next((row.error for row in sample.predictions if row.error is not None and row.role == "subject"), None)
        scores = sample.scored[0].scores if sample.scored else None
        is_right = None if scores is None else right(scores)
        if error is None and is_right is None:
            counts["neither"] += 1
            neither.setdefault(item.eval, item.metrics[0].name if item.metrics else "no metric")
        elif error is not None or not is_right:
            counts["wrong" if error is None else "not asked"] += 1
            if len(rows) < _MOST_WRONG:
                name = eval_name(item.eval, item.model, several)
                given = _given(sample, last) if error is None else f"not asked: {error}"
                truth = " or ".join(first.references or (first.reference,))
                before = _before(sample, first)
                rows.append((cut_in_the_middle(name, 24), _short(first.sample_id, 24), given, before, truth))
                shown = shown or f"{command} --clip {shlex.quote(first.sample_id)}"
    wrong = counts["wrong"] + counts["not asked"]
    if rows:
        head = ("eval", "id", "answer", "baseline", "reference")
        shown_columns = [at for at in range(5) if at != 3 or any(row[3] for row in rows)]
        texts = len(shown_columns) - 2
        left = _width() - 4 - 2 * texts - sum(max(len(row[number]) for row in rows) for number in (0, 1))
        short = [(*row[:2], *(_short_answer(text, left // texts) for text in row[2:])) for row in rows]
        cells = [[row[at] for at in shown_columns] for row in (head, *short)]
        yield from aligned(cells, left=range(len(shown_columns)))
        yield ""
    more = f"; the first {len(rows)} are shown, --eval PATTERN chooses" if wrong > len(rows) else ""
    unasked = f", of which {counts['not asked']:,} could not be asked" if counts["not asked"] else ""
    yield from wrapped(f"{wrong:,} wrong of {counts['answers']:,} answers{unasked}{more}")
    if neither:
        listed = [f"{name} ({metric})" for name, metric in islice(neither.items(), 3)]
        others = f" and {len(neither) - 3} more evals" if len(neither) > 3 else ""
        yield from wrapped(f"{counts['neither']:,} are neither right nor wrong: {', '.join(listed)}{others}")
    if shown:
        yield f"see one: {shown}"


def changed_lines(samples: Iterable[tuple[ItemRecord, Joined]], command: str, several: bool) -> Iterator[str]:
    """As :func:`wrong_lines`, the answers that became worse or better than the baseline's, the worse ones first."""
    changed: dict[str, list[tuple[str, ...]]] = {"worse": [], "better": []}
    counts = Counter[str]()
    for item, sample in samples:
        if sample.compared is None or sample.compared.change == "same":
            continue
        change = sample.compared.change
        counts[change] += 1
        if len(changed[change]) < _MOST_WRONG:
            _, first, last = subject_rows(sample)
            references = first.references or (first.reference,)
            name = cut_in_the_middle(eval_name(item.eval, item.model, several), 24)
            texts = _before(sample, first), _given(sample, last), " or ".join(references)
            changed[change].append((name, first.sample_id, change, *texts))
    rows = [*changed["worse"], *changed["better"]][:_MOST_WRONG]
    if rows:
        left = _width() - 18 - max(len(row[0]) for row in rows) - min(24, max(len(row[1]) for row in rows))
        short = [
            (row[0], _short(row[1], 24), row[2], *(_short_answer(text, left // 3) for text in row[3:])) for row in rows
        ]
        yield from aligned([("eval", "id", "", "before", "now", "reference"), *short], left=range(6))
        yield ""
    more = f"; the first {len(rows)} are shown, --eval PATTERN chooses" if counts.total() > len(rows) else ""
    yield from wrapped(f"{counts['worse']:,} became worse and {counts['better']:,} better than in the baseline{more}")
    if rows:
        yield f"see one: {command} --clip {shlex.quote(rows[0][1])}"


def _width() -> int:
    """The terminal's columns; the usual ones where the output goes elsewhere."""
    return max(60, shutil.get_terminal_size((WIDTH, 24)).columns)


def _before(sample: Joined, first: PredictionRow) -> str:
    """The baseline's answer, in quotes where its text was kept; empty without a baseline."""
    if sample.compared is None:
        return ""
    before = sample.compared.before
    if before.text is not None:
        return f"“{before.text}”{_unread(before.status)}"
    return answer_label(before, first.choices, first.references or (first.reference,)) or before.status


def _unread(status: str) -> str:
    """`` (unparsed)``, behind the text of an answer from which no value could be parsed."""
    return "" if status == "parsed" else f" ({status.replace('_', ' ')})"


def _given(sample: Joined, last: PredictionRow) -> str:
    """What was read of the answer, an option's letter with its text; in quotes and marked what could not be read."""
    value = value_words(sample.processed[0].value) if sample.processed else None
    if not value:
        text = next((output.text for output in last.outputs), "")
        return (
            f"“{text}”{_unread(sample.processed[0].status if sample.processed else 'parsed')}"
            if text.strip()
            else "(empty)"
        )
    options = {chr(ord("A") + number): text for number, text in enumerate(last.choices[:26])}
    is_letter = value in options and value not in last.choices
    return f"{value} {options[value]}" if is_letter else value


def played_lines(sample: Joined, item: ItemRecord, recipes: Sequence[Any], heard: str) -> Iterator[str]:
    """Each clip: length, rate, key, and of what it is made."""
    row = played(sample)
    for number, clip in enumerate(row.audio):
        several = f" {number + 1}" if len(row.audio) > 1 else ""
        yield from _labelled(f"played{several}", f"{_length(clip)} at {heard.partition(',')[0]}")
        yield from _labelled("key", clip.key or "none: its file was not available")
        for depth, text in _parts(recipes[number] if recipes else None, clip.source):
            yield from _labelled("" if depth else "made of", f"{'- ' * bool(depth)}{text}", 2 * depth)
    if item.perturbation is not None:
        yield from _labelled("changed by", item.perturbation.name)


def verdicts(sample: Joined, item: ItemRecord) -> dict[str, str]:
    """By scorer, what was read of the answer and what it counted for."""
    scores = {row.scorer: row.scores for row in sample.scored}
    metrics: dict[str, str] = {}
    for metric in item.metrics:
        metrics.setdefault(str(metric.scorer), metric.name)
    texts = {}
    for row in sample.processed:
        statistics = scores.get(row.scorer)
        correct = None if statistics is None else right(statistics)
        own = "" if statistics is None else score_text(metrics.get(row.scorer, ""), tuple(statistics.items()))
        word = {True: "right", False: "wrong", None: ""}[correct]
        value = f"as {row.value!r}" if row.value is not None else row.status
        texts[row.scorer] = ", ".join(filter(None, (word, own, value)))
    return texts


def recorded_recipes(rows: Sequence[PredictionRow]) -> Sequence[Any]:
    """How the played clips are made, as the first epoch's row says; none for plain files."""
    return next((row.recipes for row in rows if row.recipes is not None and not row.unchanged), ())


def _parts(recipe: Any, source: str, depth: int = 0) -> Iterator[tuple[int, str]]:
    """The recipe as an indented list, the outermost first."""
    if recipe is None or isinstance(recipe, str):
        yield depth, recipe or source
    elif "edits" in recipe:
        yield from _parts(recipe["source"], source, depth)
        for edit in recipe["edits"]:
            seed = "" if edit.get("seed") is None else f", seed {edit['seed']}"
            yield depth + 1, f"then {edit['name']}{_values(edit)}{seed}"
    elif "rule" in recipe:
        levels = dict(recipe["parameters"]).get("levels_db", "").split()
        yield depth, f"{recipe['rule']}{_values(recipe, 'levels_db')}, at {recipe['rate_hz']} Hz"
        for number, part in enumerate(recipe["clips"]):
            level = f"{float(levels[number]):+g} dB: " if number < len(levels) else ""
            for below, text in _parts(part, source, depth + 1):
                yield below, f"{level}{text}" if below == depth + 1 else text
    elif "recipe" in recipe:
        yield depth, f"computed: {recipe['recipe']}{_values(recipe)}"
    elif "file" in recipe:
        yield depth, f"{recipe['file']}, column {recipe['column']}, row {recipe['row']} of group {recipe['row_group']}"
    else:
        yield depth, f"samples that a test made, SHA-256 {recipe.get('array', 'unknown')}"


def _values(recipe: Mapping[str, Any], *left_out: str) -> str:
    """`` (SNR 5 dB, length longest)``; empty for none."""
    texts = []
    for name, value in recipe["parameters"]:
        if name not in left_out:
            about, _, unit = name.rpartition("_")
            known = unit in _UNITS and bool(about)
            text = f"{about} {value} {_UNITS[unit]}" if known else f"{name} {value}"
            texts.append(text.replace("snr ", "SNR ", 1) if about == "snr" else text)
    return f" ({', '.join(texts)})" if texts else ""


def _length(clip: AudioRow) -> str:
    if clip.duration_s is None:
        return "a length that is not on record"
    cut = f", of which the last {clip.truncated_s:.2f} s were cut off by the window" if clip.truncated_s else ""
    return f"{clip.duration_s:.2f} s{cut}"


def _labelled(label: str, text: str, indent: int = 0) -> Iterator[str]:
    if text:
        begin = f"  {label}".ljust(_COLUMN + 2) + " " * indent
        after = " " * (len(begin) + 2)
        yield from textwrap.wrap(
            printable(text), WIDTH, initial_indent=begin, subsequent_indent=after, break_on_hyphens=False
        )


def _short_answer(text: str, width: int) -> str:
    """As :func:`_short`; what stands behind a quoted text stays."""
    quoted, end, mark = text.rpartition("” (")
    return f"{_short(quoted + '”', width - len(mark) - 2)} ({mark}" if end else _short(text, width)


def _short(text: str, width: int = 20) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
