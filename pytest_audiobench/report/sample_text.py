"""One sample of a run, all probes of one mixture, or a list of samples: what was asked, answered, read and played."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.metrics.metric import is_right
from pytest_audiobench.protocols.answer_options import options_of
from pytest_audiobench.protocols.multiple_choice.letters import read_choice
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.lines import AudioRow, BaselineAnswer, PredictionRow, ProcessedRow
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import WIDTH, aligned, counted, eval_name, printable, wrapped
from pytest_audiobench.report.joined_samples import Joined, played, subject_rows
from pytest_audiobench.report.label_tables import answer_label
from pytest_audiobench.report.page.rows import score_text, value_words

_COLUMN = 11
_LONGEST = 120
"""Characters of an answer in a list on a screen."""
_CHANGES, _UNASKED, _NEITHER = ("worse", "better"), "not asked", "neither"
_UNITS = {"db": "dB", "s": "s", "hz": "Hz"}


def sample_lines(
    sample: Joined, item: ItemRecord, recipes: Sequence[Any], heard: str, file: Callable[[str], str]
) -> Iterator[str]:
    """Everything of one sample: what was asked, answered, read, and played.

    ``heard`` is the rate and the window that its model is played at; ``file`` says where what a record names lies here.
    """
    first = sample.predictions[0]
    yield printable(f"{first.sample_id} of {first.eval} by {first.model}, epoch {first.epoch}")
    yield from _labelled("question", first.question)
    letters = LETTERS if any(gives_letters(each.signature) for each in item.scorers) else ""
    options = [" ".join(filter(None, pair)) for pair in zip_longest(letters[: len(first.choices)], first.choices)]
    yield from _labelled("options", " | ".join(options))
    yield from _labelled("reference", _reference(item, first))
    for row in sample.predictions:
        yield f"  {printable(row.stage)}{'' if row.role == 'subject' else f', by the {row.role}'}"
        for role, parts in row.prompt or ():
            text = " ".join(f"<audio {part + 1}>" if isinstance(part, int) else part for part in parts)
            yield from _labelled("  asked" if role == "user" else f"  {role}", text)
        for output in row.outputs:
            end = "" if output.finish in ("stop", "unknown") else f" [{output.finish}]"
            yield from _labelled("  answer", f"{output.text or '(empty)'}{end}")
        yield from _labelled("  error", row.error or "")
    for scorer, verdict in verdicts(sample, item).items():
        yield from _labelled("read", f"{verdict} (by {scorer})")
    yield from _labelled("baseline", _verdict_before(sample, item, first))
    yield from played_lines(sample, item, recipes, heard)
    for number, clip in enumerate(played(sample).audio):
        for source in dict.fromkeys(_sources(recipes[number] if recipes else None, clip.source)):
            # Broken, a path could not be copied.
            yield f"  {'file'.ljust(_COLUMN)}{printable(file(source))}"


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


class Listing(NamedTuple):
    """Which samples are listed, and how it is called: the words of the command, and those that choose the samples."""

    command: Sequence[str]
    choice: Sequence[str]
    most: int
    evals: Sequence[str]
    models: Sequence[str]

    def row(self, item: ItemRecord, sample: Joined, kind: str) -> tuple[str, ...]:
        """Eval (empty where there is one alone), id, change, reference, the baseline's answer, the answer."""
        _, first, last = subject_rows(sample)
        several = len(self.models) > 1
        name = eval_name(item.eval, item.model, several) if several or len(self.evals) > 1 else ""
        given = f"not asked: {_error(sample)}" if kind == _UNASKED else _given(sample, item, last)
        texts = (_reference(item, first), _before(sample, item, first), given)
        change = kind if kind in _CHANGES else ""
        return (name, first.sample_id, change, *(" ".join(text.split()) for text in texts))

    def commands(self, rows: Sequence[tuple[str, ...]], count: int, item: ItemRecord) -> Iterator[str]:
        """How the others are seen, of ``count`` in all, and how the first, which is of ``item``."""
        if count > len(rows):
            yield f"see all: {shlex.join([*self.command, *self.choice, '--most', str(count)])}"
        own = (("--eval", item.eval, self.evals), ("--model", item.model, self.models))
        names = [(option, name) for option, name, every in own if len(every) > 1 or option in self.choice]
        yield f"see one: {shlex.join([*self.command, *chain(*names), '--clip', rows[0][1]])}"


def list_lines(samples: Iterable[tuple[ItemRecord, Joined]], listing: Listing, changed: bool) -> Iterator[str]:
    """The first wrong answers, how many there are, and by which commands all and one are seen; nothing of no samples.

    With ``changed`` those that became worse or better than in the baseline, the worse ones first. Answers that are
    neither right nor wrong, such as loudness in dB, are counted apart.
    """
    listed: dict[str, list[tuple[ItemRecord, tuple[str, ...]]]] = {"wrong": [], "better": []}
    counts, neither = Counter[str](), dict[str, str]()
    for item, sample in samples:
        kind = (sample.compared.change if sample.compared else "") if changed else _outcome(sample)
        counts[kind] += bool(kind)
        if kind == _NEITHER:
            neither.setdefault(item.eval, item.metrics[0].name if item.metrics else "no metric")
        rows = listed["better" if kind == "better" else "wrong"]
        if kind in (*_CHANGES, "wrong", _UNASKED) and len(rows) < listing.most:
            rows.append((item, listing.row(item, sample, kind)))
    if not counts.total():
        return
    first = [*listed["wrong"], *listed["better"]][: listing.most]
    yield from _table([row for _, row in first])
    of = f"of {counts.total():,} answers" + f" of {listing.evals[0]}" * (len(listing.evals) == 1)
    if changed:
        count = counts["worse"] + counts["better"]
        text = f"{counts['worse']:,} became worse and {counts['better']:,} better than in the baseline, {of}"
    else:
        count = counts["wrong"] + counts[_UNASKED]
        unasked = f", of which {counts[_UNASKED]:,} could not be asked" if counts[_UNASKED] else ""
        text = f"{count:,} wrong {of}{unasked}"
    yield from wrapped(text + f"; the first {len(first):,} are shown" * (count > len(first)))
    if neither:
        names = [f"{name} ({metric})" for name, metric in islice(neither.items(), 3)]
        others = f" and {len(neither) - 3} more evals" if len(neither) > 3 else ""
        yield from wrapped(f"{counts[_NEITHER]:,} are neither right nor wrong: {', '.join(names)}{others}")
    if first:
        yield from listing.commands([row for _, row in first], count, first[0][0])


def _outcome(sample: Joined) -> str:
    if _error(sample) is not None:
        return _UNASKED
    correct = is_right(sample.scored[0].scores) if sample.scored and sample.scored[0].scores is not None else None
    return {True: "right", False: "wrong", None: _NEITHER}[correct]


def _error(sample: Joined) -> str | None:
    return next((row.error for row in sample.predictions if row.error is not None and row.role == "subject"), None)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """A line each where the screen has room for a table; else each below its eval and id. Then an empty line.

    A file or a pipe has no width, and what is cut cannot be searched for.
    """
    if not rows:
        return
    labels = ("reference", "baseline" * any(row[4] for row in rows), "answer")
    table = aligned([("eval" * bool(rows[0][0]), "id", "", *labels), *rows], left=range(6))
    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else sys.maxsize
    if max(map(len, table)) <= (width if width < sys.maxsize else WIDTH):
        yield from table
    else:
        yield from (line for row in rows for line in _block(row, labels, width))
    yield ""


def _block(row: Sequence[str], labels: Sequence[str], width: int) -> Iterator[str]:
    most = _LONGEST if width < sys.maxsize else sys.maxsize
    texts = [(label, _short_answer(text, most)) for label, text in zip(labels, row[3:], strict=True) if text]
    yield from _folded("  ".join(filter(None, row[:3])), "  ", width)
    line = " · ".join(f"{label} {text}" for label, text in texts)
    if len(line) + 4 <= width:
        texts = [("", line)]
    for label, text in texts:
        yield from _folded(text, f"    {label}".ljust((4 + _COLUMN) * bool(label)), width)


def _folded(text: str, begin: str, width: int, further: int = 0) -> list[str]:
    """``text`` behind ``begin`` in lines of ``width``, those after the first ``further`` in."""
    after = " " * (len(begin) + further)
    return textwrap.wrap(
        printable(text), width, initial_indent=begin, subsequent_indent=after, break_on_hyphens=False
    ) or [begin.rstrip()]


def _before(sample: Joined, item: ItemRecord, first: PredictionRow) -> str:
    """The baseline's answer as :func:`_given` writes this run's; empty without a baseline."""
    if sample.compared is None:
        return ""
    before, option = sample.compared.before, _option_before(sample.compared.before, item, first)
    if option or before.text is None:
        return option or before.status
    return before.text if before.status == "parsed" and not first.choices else _unread(before.text, before.status)


def _option_before(before: BaselineAnswer, item: ItemRecord, first: PredictionRow) -> str:
    """What the baseline's answer was read as, by its statistics or by the text that it keeps; else empty."""
    if label := answer_label(before, first.choices, first.references or (first.reference,)):
        return _option(label, item, first)
    if before.text is None or before.status != "parsed" or not _reads_letters(item, ""):
        return ""
    return _lettered(read_choice(before.text, tuple(first.choices)).value or "", first.choices)


def _verdict_before(sample: Joined, item: ItemRecord, first: PredictionRow) -> str:
    """The baseline's answer, where its text was kept, and what it was read as and counted for."""
    if sample.compared is None:
        return ""
    before = sample.compared.before
    read = _verdict(before.scores, "", _option_before(before, item, first), before.status)
    return " ".join([f"“{before.text}”"] * (before.text is not None) + [f"({read})"] * bool(read))


def _reference(item: ItemRecord, first: PredictionRow) -> str:
    return " or ".join(_option(text, item, first) for text in first.references or (first.reference,))


def _option(text: str, item: ItemRecord, row: PredictionRow) -> str:
    """An option's text, with its letter before it where the headline scorer reads letters."""
    letter = options_of(tuple(row.choices)).letter_of(text) if _reads_letters(item, "") else None
    return _lettered(letter, row.choices) if letter else text


def _lettered(letter: str, choices: Sequence[str]) -> str:
    """``C seven``; empty where there is no such option."""
    place = LETTERS.find(letter) if letter else -1
    return f"{letter} {choices[place]}" if 0 <= place < len(choices) else ""


def _value(row: ProcessedRow, item: ItemRecord, choices: Sequence[str]) -> str:
    """What a scorer read, a letter with its option; empty for nothing."""
    value = value_words(row.value) or ""
    return (_lettered(value, choices) if _reads_letters(item, row.scorer) else "") or value


def _reads_letters(item: ItemRecord, scorer: str) -> bool:
    """Whether the scorer of that name does; the headline scorer for ""."""
    named = [each for each in item.scorers if each.name == scorer] if scorer else item.scorers[:1]
    return any(gives_letters(each.signature) for each in named)


def _unread(text: str, status: str) -> str:
    """In quotes, and marked where no value could be parsed: ``“well” (unparsed)``."""
    return f"“{text}”" if status == "parsed" else f"“{text}” ({status.replace('_', ' ')})"


def _given(sample: Joined, item: ItemRecord, last: PredictionRow) -> str:
    """What was read of the answer, an option's letter with its text; in quotes and marked what could not be read."""
    if sample.processed and (value := _value(sample.processed[0], item, last.choices)):
        return value
    text = next((output.text for output in last.outputs), "")
    return _unread(text, sample.processed[0].status if sample.processed else "parsed") if text.strip() else "(empty)"


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
    metrics = {str(metric.scorer): metric.name for metric in reversed(item.metrics)}
    choices = sample.predictions[0].choices
    return {
        row.scorer: _verdict(
            scores.get(row.scorer), metrics.get(row.scorer, ""), _value(row, item, choices), row.status
        )
        for row in sample.processed
    }


def _verdict(scores: Mapping[str, float] | None, metric: str, value: str, status: str) -> str:
    own = "" if scores is None else score_text(metric, tuple(scores.items()))
    word = {True: "right", False: "wrong", None: ""}[None if scores is None else is_right(scores)]
    return ", ".join(filter(None, (word, own, f"as {value!r}" if value else status.removeprefix("parsed"))))


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


def _sources(recipe: Any, source: str) -> Iterator[str]:
    """The files of which a clip is made, as records name them."""
    if recipe is None or isinstance(recipe, str):
        yield recipe or source
    elif "edits" in recipe:
        yield from _sources(recipe["source"], source)
    else:
        for part in recipe.get("clips", ()):
            yield from _sources(part, source)


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
        yield from _folded(text, f"  {label}".ljust(_COLUMN + 2) + " " * indent, WIDTH, further=2)


def _short_answer(text: str, width: int) -> str:
    """As :func:`_short`; what stands behind a quoted text stays."""
    quoted, end, mark = text.rpartition("” (")
    return f"{_short(quoted + '”', width - len(mark) - 2)} ({mark}" if end else _short(text, width)


def _short(text: str, width: int = 20) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
