"""The verdict of a whole run in a word, what it did not meet, and the alarms that no reader may miss."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_audiobench.gate.regression_text import RUNAWAYS
from pytest_audiobench.gate.threshold_syntax import SPEED
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.records.run import ALARM, PASSED_OVER, ItemRecord, RunRecord
from pytest_audiobench.report.formatting import VERDICTS, Sign, Tone, combined_verdict, counted, eval_name, printable

if TYPE_CHECKING:
    from pytest_audiobench.report.changes import Change, Changes

PASS = VERDICTS["pass"].words
_NOTHING_SELECTED = 5
_NO_VERDICT = dict(
    enumerate(("interrupted", "stopped by an internal error", "stopped by a usage error", "nothing was selected"), 2)
)
_KEPT = "No verdict. Answers are kept: run it again, and only the rest is asked."
_REMEDY = {
    2: _KEPT,
    3: _KEPT,
    4: "No verdict: see the error above.",
    5: "No verdict: no test matches the paths, -k and -m.",
}
_FAILED, _PASSED = Sign("✗", "bad", "failed"), Sign("✓", "good", "passed")
INSTRUMENT_FAILED = 6
"""The exit code of a run in which everything that failed did so for its instruments' sake: retry just that."""
_MOST_NAMES = 5
_MOST_UNMEASURED = 3
_MOST_ALARMS = 20
NUMBER = re.compile(r"\d+")
LOW_PARSE_RATE = 0.8
"""Below this share of parsed answers a score says little."""
_ABSENT = " is not on this machine"
"""Stands in the message of a skipped eval behind the name of its data set."""


class RunVerdict(NamedTuple):
    """A word with its mark and its colour, how it came about, and what a reader should do."""

    mark: str
    tone: Tone
    word: str
    counts: str
    advice: str


class FailedCheck(NamedTuple):
    """One threshold, or the reason why a test failed for something else, as a sentence."""

    eval: str
    model: str
    mark: str
    tone: Tone
    text: str


def baseline_changes(record: RunRecord) -> Changes | None:
    """What the run's record says of its baseline; None where it was compared with none."""
    if record.baseline is None and not any(item.regressions for item in record.items):
        return None
    from pytest_audiobench.report.changes import changes

    return changes(record)


def regression_lines(items: Sequence[ItemRecord]) -> Sequence[Change]:
    """All regression lines of ``items``, the worst first; none where they were compared with no baseline."""
    if not any(item.regressions for item in items):
        return ()
    from pytest_audiobench.report.changes import changed_lines

    return changed_lines(items)


def run_verdict(record: RunRecord, counts_absent: bool = True) -> RunVerdict:
    """The run's verdict, worst first: it did not end, regressed, failed, not comparable, inconclusive, passed.

    Data sets that are not here are counted, but for those who tell of them elsewhere.
    """
    changes = baseline_changes(record)
    lines = [line for item in record.items for line in item.regressions]
    # What the baseline does not know is measured alone, unless that fails the run.
    known = [line for line in lines if record.exit_status or not line.is_unknown]
    statuses = {line.status for line in known}
    thresholds: Counter[str] = Counter(verdict.status for item in record.items for verdict in item.verdicts)
    failed = len(failed_otherwise(record))
    more = [f"{counted(thresholds['fail'], 'threshold')} failed"] if thresholds["fail"] else []
    if thresholds["pass"] and thresholds["pass"] == thresholds.total() and changes is not None:
        more.append(f"{counted(thresholds['pass'], 'threshold')} met")
    why = " for another reason" * bool(thresholds["fail"] or "regressed" in statuses)
    more += [f"{counted(failed, 'eval')} failed{why}"] if failed else []
    more += [f"{len(record.unmeasured)} required and not measured"] if record.unmeasured else []
    if counts_absent and (absent := absent_sets(record)):
        measured = counted(sum(bool(item.scorers) and not item.control for item in record.items), "eval")
        listed = f": {', '.join(absent)}" * (len(absent) <= _MOST_NAMES)
        more.insert(0, f"{measured} measured, {counted(len(absent), 'data set')} unavailable{listed}")
    more = [*filter(None, [stopped_text(record.items)]), *more]
    counts = "; ".join(filter(None, (changes.counts if changes else "", *more)))
    sign, advice = _verdict(record, statuses, thresholds, failed)
    if sign is _PASSED and changes is not None and changes.unchecked:
        sign = sign._replace(mark="!", tone="warn")
        advice = "Not every line was checked: see which evals were skipped."
    if not record.exit_status and any(PASSED_OVER in note for note in record.notes):
        sign = sign._replace(mark="!", tone="warn")
    if not record.exit_status and any(is_alarm(text) for item in record.items for text in item.warnings):
        sign = sign._replace(mark="!", tone="warn")
        advice = f"See the alarm before the numbers. {advice}"
    return RunVerdict(*sign, counts, advice)


def _verdict(record: RunRecord, lines: Collection[str], thresholds: Mapping[str, int], failed: int) -> tuple[Sign, str]:
    status = record.exit_status
    if status in _NO_VERDICT and not (status == _NOTHING_SELECTED and record.items):
        return _FAILED._replace(words=_NO_VERDICT[status]), _REMEDY[status]
    if "regressed" in lines:
        worse = [
            item
            for item in record.items
            for line in item.regressions
            if line.status == "regressed" and line.metric.partition(".")[0] not in SPEED
        ]
        # What is slower, or costs more, has no sample whose answer is another; hearing tells nothing of a collapse.
        what = "Hear the samples that flipped" if worse else "See what is slower"
        what = "See the answers that changed" if any(is_alarm(w) for item in worse for w in item.warnings) else what
        where = f" (audiobench inspect {record.run} --changed)" if worse else ""
        return VERDICTS["regressed"], f"{what}{where} before anything is merged."
    if thresholds["fail"] or (failed and status == 1):
        return _FAILED, "See what failed and which answers were wrong."
    if status == INSTRUMENT_FAILED or "not_comparable" in lines or "incomplete" in thresholds:
        advice = "No verdict: fix the errors above, or run again if only requests failed."
        return VERDICTS["not_comparable" if "not_comparable" in lines else "incomplete"], advice
    if record.unmeasured:
        more = len(record.unmeasured) - _MOST_UNMEASURED
        advice = "; ".join([*record.unmeasured[:_MOST_UNMEASURED], *([f"and {more} more"] if more > 0 else [])])
        return _FAILED._replace(words="not measured"), f"{advice[:1].upper()}{advice[1:]}."
    if record.shard is not None and not status:
        return _PASSED._replace(mark="", tone="plain", words=f"{record.shard}: not judged"), "Merge the shards."
    if "inconclusive" in lines:
        undecided = [line for item in record.items for line in item.regressions if line.status == "inconclusive"]
        which = "that one" if len(undecided) == 1 else "those"
        advice = f"Too few samples to decide {which}: {_power_command(record)} says how many are needed."
        if hidden := next((line.metric for line in undecided if RUNAWAYS in line.detail), ""):
            advice = f"Runaway answers dominate {hidden}: look at them first, and also gate {hidden}_trimmed."
        if few := _too_few_clusters(record.items):
            advice = few
        if any(line.p is not None and line.p <= line.alpha / line.lines for line in undecided):
            advice = "Worse by no more than the model's own noise: see which answers differ before it is merged."
        if not any(line.pairs for line in undecided):
            # More samples are no remedy where the baseline holds nothing to pair them with.
            advice = "The baseline has none of what is inconclusive: write it again, or check its name."
        combined = combined_verdict(Counter(line.verdict for item in record.items for line in item.regressions))
        if combined == "improved" and not status:
            return VERDICTS["improved"], advice
        return VERDICTS["inconclusive"]._replace(tone="bad" if status else "warn"), advice
    if status and status != _NOTHING_SELECTED:
        return _FAILED, "See what failed."
    if all(item.outcome == "skipped" and not item.scorers for item in record.items):
        return _FAILED._replace(words="nothing measured"), "See why: pytest -rs gives the reasons."
    if not lines and not thresholds:
        advice = "Not gated: no threshold and no baseline applies; gate with --ab-baseline=FILE or audiobench.toml."
        if any(note.startswith("not checked: ") for note in record.notes):
            advice = "What is required was not checked: the notes say why."
        if any(PASSED_OVER in note for note in record.notes):
            advice = "Not all files could be read: the notes name them."
        return _PASSED._replace(mark="", tone="plain", words="measured"), advice
    evals = [item for item in record.items if item.scorers and not item.control]
    free = sum(not is_gated(item) for item in evals)
    how = f" (nothing is required of {'its' if free == 1 else 'their'} score: see docs/thresholds.md)"
    rest = f"; {free} of {counted(len(evals), 'eval')} {'is' if free == 1 else 'are'} not gated{how}" * bool(free)
    beside = " (nothing is required of perturbed evals)" * bool(ungated_beside(record.items))
    return _PASSED, f"All that is required was met{beside}{rest}."


def _too_few_clusters(items: Sequence[ItemRecord]) -> str:
    """What to do where all that is undecided has too few clusters for any test; more of their samples do not help."""
    undecided = [(item, line) for item in items for line in item.regressions if line.status == "inconclusive"]
    item, line = undecided[0]
    if item.cluster is None or any(one.p is not None or not one.clusters for _, one in undecided):
        return ""
    return (
        f"Too few clusters for a test ({line.clusters} of {item.cluster}): add clips of others, not more of these; or "
        f"leave out cluster, and the verdict is of these {line.clusters} alone."
    )


def _power_command(record: RunRecord) -> str:
    """The command that counts the flips between the run and what it was compared with."""
    baseline, command = record.baseline, ["audiobench", "power", record.run]
    if baseline is not None and baseline.run != record.run:
        place, _, _ = baseline.source.partition(" (")
        if place == f"the run {baseline.run}":
            place = baseline.run + f"#{baseline.model}" * baseline.source.endswith(f" ({baseline.model})")
        command += ["--against", place]
    return shlex.join(command)


def ungated_beside(items: Sequence[ItemRecord]) -> list[ItemRecord]:
    """What was asked under perturbations of the sound, without a rule, where evals have requirements."""
    beside = [item for item in items if item.control and item.perturbation is not None and item.scorers]
    if not beside:
        return []
    from pytest_audiobench.datasets.perturbations.catalogue import is_of_questions
    from pytest_audiobench.evaluation.perturbation_series import without_perturbation

    gated = {(item.eval, item.model) for item in items if not item.control and is_gated(item)}
    return [
        item
        for item in beside
        if item.perturbation is not None and not is_gated(item) and not is_of_questions([item.perturbation.name])
        if (plain := without_perturbation(item.eval, item.perturbation.name)) != item.eval
        if (plain, item.model) in gated
    ]


def is_gated(item: ItemRecord) -> bool:
    """Whether anything is required of what the eval measured, other than that it could be asked."""
    subjects = (verdict.threshold.partition("[")[0].split()[:1] for verdict in item.verdicts)
    return any(subject != ["errors"] for subject in subjects) or any(not line.is_unknown for line in item.regressions)


def stopped_text(items: Sequence[ItemRecord]) -> str:
    """What was stopped early, after how many samples, and what was shown; nothing where all was asked."""
    stopped = [item for item in items if item.stopped]
    if len(stopped) < 2:
        return stopped[0].stop_text if stopped else ""
    asked, size = sum(item.n for item in stopped), sum(item.size or 0 for item in stopped)
    shown = Counter(item.stopped for item in stopped)
    found = ", ".join(f"{count} {verdict}" for verdict, count in sorted(shown.items(), reverse=True))
    return f"{len(stopped)} evals stopped early after {asked:,} of {size:,} samples: {found}"


def failed_checks(record: RunRecord) -> list[FailedCheck]:
    """Thresholds that were not met, then evals that failed by an assertion, an error or a lost worker."""
    sign = VERDICTS["fail"]
    reasons = [
        # An assertion's own words come before what pytest and the eval's table add.
        FailedCheck(item.eval, item.model, sign.mark, sign.tone, first_line or item.outcome)
        for item in failed_otherwise(record)
        for first_line in [item.message.strip().partition("\n")[0]]
    ]
    return [*failed_thresholds(record), *reasons]


def failed_thresholds(record: RunRecord) -> list[FailedCheck]:
    """The thresholds that were not met, or could not be checked."""
    return [
        FailedCheck(item.eval, item.model, sign.mark, sign.tone, ": ".join(filter(None, sentence)))
        for item in record.items
        for verdict in item.verdicts
        if (sign := VERDICTS[verdict.status]).tone != "good"
        for sentence in [(verdict.threshold, sign.words * (verdict.status != "fail"), verdict.detail)]
    ]


def failed_otherwise(record: RunRecord) -> list[ItemRecord]:
    """The items that failed by no threshold and no regression line; of a test with several the first one."""
    tests: dict[str, list[ItemRecord]] = {}
    for item in record.items:
        tests.setdefault(item.nodeid, []).append(item)
    return [items[0] for items in tests.values() if _failed(items[0]) and not any(map(fails_by_numbers, items))]


def fails_by_numbers(item: ItemRecord) -> bool:
    """Whether a threshold or a regression line of this item is what failed its test, alone or among others.

    A test that failed for something else has its own message. An inconclusive line fails only where that is asked for.
    """
    failures = list(_not_passed(item)) if _failed(item) else []
    if not item.message or item.draws is not None:  # the message of draws is about the mildest that fails
        return any(status != "inconclusive" for status, _ in failures)
    return any(sentence in item.message for _, sentence in failures)


def _failed(item: ItemRecord) -> bool:
    return item.outcome in ("failed", "lost")


def _not_passed(item: ItemRecord) -> Iterator[tuple[str, str]]:
    for verdict in item.verdicts:
        if verdict.status != "pass":
            yield verdict.status, f"{verdict.threshold}: {verdict.detail}"
    for line in item.regressions:
        if line.status != "pass":
            yield line.status, line.detail


def absent_set(item: ItemRecord) -> str:
    """The data set for whose absence the eval was skipped; empty where it was not."""
    name, found, _ = item.message.partition(_ABSENT)
    return name if found and item.outcome == "skipped" else ""


def absent_sets(record: RunRecord) -> list[str]:
    """All of them, once: terminal, page and verdict count the same."""
    return list(dict.fromkeys(filter(None, map(absent_set, record.items)))) or list(record.unavailable)


def is_control(item: ItemRecord) -> bool:
    """Whether the eval should come out badly, so that its answers are neither right nor wrong to a reader."""
    return item.control and (item.perturbation is None or item.perturbation.family == "control")


def is_alarm(warning: str) -> bool:
    """Whether an eval's warning is an alarm."""
    return warning.startswith(ALARM)


def alarms(items: Sequence[ItemRecord], is_brief: bool = False) -> list[str]:
    """Each alarm once, as a sentence that names its evals; ``is_brief``: of those that differ in numbers the first."""
    several = len({item.model for item in items}) > 1
    found: dict[str, list[tuple[str, str]]] = {}
    for item in items:
        for text in (warning.removeprefix(ALARM).strip() for warning in filter(is_alarm, item.warnings)):
            alike = found.setdefault(NUMBER.sub("#", text) if is_brief else text, [])
            alike.append((text, eval_name(item.eval, item.model, several)))
    sentences = []
    for (first, name), *others in found.values():
        evals = (
            [name, *(name for text, name in others if text == first)],
            [one for text, one in others if text != first],
        )
        where = "; with other numbers ".join(listed(names, _MOST_NAMES) for names in evals if names)
        sentences.append(printable(f"Alarm: {first} ({where})"))
    left_out = len(sentences) - _MOST_ALARMS
    return [*sentences[:_MOST_ALARMS], *([f"Alarm: {left_out} more; run.json has them."] if left_out > 0 else [])]


def parse_rate_hint(items: Sequence[ItemRecord]) -> list[str]:
    """What to look at where many answers could not be parsed, and not so many that an alarm says it; a sentence."""
    low, lettered = {}, ""
    for item in items:
        if item.control or not item.scorers or any(map(is_alarm, item.warnings)):
            continue
        coverage = item.scorers[0].coverage
        if coverage.n > coverage.errors and coverage.parsed < LOW_PARSE_RATE * coverage.n:
            asked = coverage.n - coverage.errors
            low[item.eval] = coverage.parsed / coverage.n, f"{item.eval}: {asked - coverage.parsed} of {asked}"
            if item.protocol == "classification":
                lettered = '; protocol = "multiple_choice" asks with lettered options'
    if not low:
        return []
    worst = [text for _, text in sorted(low.values(), key=lambda one: one[0])]
    return [
        printable(
            f"hint: many answers could not be parsed ({listed(worst, _MOST_NAMES)}): look at some (report.html, or "
            f"audiobench inspect last), then at the question, the options and the scorer{lettered}"
        )
    ]
