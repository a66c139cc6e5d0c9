"""The words for verdicts on regressions: which formula decided, with its numbers; which samples are in no pair."""

from __future__ import annotations

from collections.abc import Collection

from pytest_audiobench.gate.pairing import AUDIO, ERRORS, ONLY_HERE, ONLY_IN_BASELINE, PROMPT, SKIPPED, TRUTH, Pairs
from pytest_audiobench.gate.threshold_syntax import group_text
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.value import difference_text, digits_text, signed_text
from pytest_audiobench.records.run import NoiseRecord, RegressionRecord

RUNAWAYS = "; runaway answers dominate: look at them first, and also gate "
"""Stands in the sentence of an inconclusive line that more samples would not decide, before the metric that may be."""


def sentence(record: RegressionRecord) -> str:
    """The verdict and the formula it follows from, with this line's numbers."""
    margin = amount(record, record.margin)
    at = f"p {p_text(record.p)} for a drop of at most {margin}"
    level = level_text(record.alpha, record.lines)
    certain = f"one-sided {certainty_text(record)} bound"
    drop = open_drop(record)
    seen = f"; a drop of {amount(record, drop)} would be seen four times in five ({basis_text(record)})" if drop else ""
    if record.status == "regressed":
        return f"{amount(record, record.drop)} worse: {at}, significant below {level}"
    if record.status == "pass":
        if (record.bound or 0.0) <= 0.0:
            return f"not worse at all ({certain})"
        return f"at most {amount(record, record.bound)} worse ({certain}), below the margin of {margin}{seen}"
    if record.p is None:
        return f"{record.method}{seen}"
    if (record.lower or 0.0) > 0.0:
        return f"worse, but not shown to be more than {margin} worse: {at} is not below {level}{seen}"
    bound = f"up to {amount(record, record.bound)} worse is possible ({certain})"
    return f"{bound}, and {at} is not below {level}{seen}"


def verdict_text(record: RegressionRecord) -> str:
    """The sentence of the verdict; of an improvement its own test stands in place of the pass's."""
    if record.verdict != "improved":
        return record.detail
    adjusted, p, among = "", record.p_better, ""
    if record.lines > 1:
        adjusted, p, among = "Holm-adjusted ", record.q_better, f" ({record.lines:,} comparisons)"
    gain = amount(record, None if record.drop is None else -record.drop)
    better = "lower (better)" if record.direction == "lower" else "better"
    test = f"{gain} {better}: {adjusted}p {p_text(p)}{among}, significant below {record.alpha:g}"
    return "; ".join(filter(None, (test, record.detail.partition("; ")[2])))


def basis_text(record: RegressionRecord) -> str:
    """What the detectable drop of a comparison rests on."""
    among = f", {record.lines:,} comparisons" * (record.lines > 1)
    return f"by the {'times' if record.relative else 'flips'} measured between the two runs{among}"


def certainty_text(record: RegressionRecord) -> str:
    """How sure the drop's one-sided upper bound is: ``95 %``."""
    return f"{100.0 * (1.0 - record.alpha):g} %"


def open_drop(record: RegressionRecord) -> float | None:
    """The detectable drop of a line that neither improved nor regressed; None where no drop of a share is."""
    if record.verdict in ("improved", "regressed") or record.detectable is None:
        return None
    return None if record.unit in FRACTIONS and record.detectable >= 1.0 else record.detectable


def change_rule(what: str, units: Collection[str]) -> str:
    """What a change is: ``change: B − A in percentage points (pp), on the samples both answered``."""
    own = "in the metric's own unit"
    shares = "in percentage points (pp)" + f", else {own}" * (not FRACTIONS.issuperset(units))
    return f"change: {what} {own if units and FRACTIONS.isdisjoint(units) else shares}, on the samples both answered"


def change_of(record: RegressionRecord) -> tuple[float | None, float | None, float | None]:
    """This run's value minus the baseline's on the pairs, and the ends of its interval, the lower first."""
    if record.direction == "higher":
        value, lower, upper = (None if end is None else -end for end in (record.drop, record.upper, record.lower))
        return value, lower, upper
    return record.drop, record.lower, record.upper


def change_texts(record: RegressionRecord) -> tuple[str, str]:
    """``−3.2 pp`` for an accuracy, ``+3.2 pp`` for a word error rate that became worse; and ``−5.0 to −1.4``."""
    unit = record.drop_unit
    value, lower, upper = change_of(record)
    interval = "" if lower is None or upper is None else f"{signed_text(lower, unit)} to {signed_text(upper, unit)}"
    return difference_text(value, unit), interval


def level_text(alpha: float, lines: int, which: str = "") -> str:
    """What p is compared with: ``0.05``, or ``0.0071 (0.05 shared by 7 comparisons)``, behind a colon ``which``."""
    return (
        f"{alpha:g}"
        if lines == 1
        else f"{alpha / lines:.2g} ({alpha:g} shared by {lines:,} comparisons{which and f': {which}'})"
    )


def limits_text(alpha: float, lines: int, which: str = "") -> str:
    """Which p each verdict rests on, and below what it has to be."""
    adjusted = "Holm-adjusted " * (lines > 1)
    return f"regressed: p below {level_text(alpha, lines, which)}; improved: {adjusted}p below {alpha:g}"


def p_text(p: float | None) -> str:
    """``= 0.034``, ``< 0.0001``, or ``unknown``."""
    if p is None:
        return "unknown"
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"


def amount(record: RegressionRecord, value: float | None) -> str:
    """A drop in words: pp (points of a hundred) for a fraction, a percentage of the baseline's value, or a number in
    the metric's unit.
    """
    if value is None:
        return "an unknown amount"
    if record.relative:
        return f"{100.0 * value:.1f} %"
    if record.unit in FRACTIONS:
        return f"{100.0 * value:.1f} pp"
    return f"{digits_text(value, 3)} {record.unit}".rstrip()


def pairs_text(pairs: Pairs) -> str:
    """Which samples are in no pair, by reason, with the first names of each; nothing where all are."""
    return "; ".join(
        f"{count} {REASONS[reason]} ({', '.join(pairs.examples[reason])}"
        f"{', …' if count > len(pairs.examples[reason]) else ''})"
        for reason, count in pairs.left_out.items()
    )


REASONS = {
    ONLY_HERE: "are not in the baseline",
    ONLY_IN_BASELINE: "are in the baseline only",
    AUDIO: "have other audio than in the baseline",
    PROMPT: "were asked with another prompt than in the baseline",
    TRUTH: "have other choices or references than in the baseline",
    ERRORS: "could not be asked on one side or both",
    SKIPPED: "are left out by the protocol on one side or both",
}
"""Why samples are in no pair."""


def noise_text(*noises: NoiseRecord | None) -> str:
    """How many answers the model is known to change when asked again, by the worst of ``noises``; nothing for none."""
    same = min((noise.same_answers for noise in noises if noise), default=1.0)
    return f"; the model itself changes {100.0 * (1.0 - same):.2g} % of its answers when asked again" * (same < 1.0)


def line_text(record: RegressionRecord, headline: str | None = None) -> str:
    """The line that a verdict is on, as it could be declared: ``accuracy[hop=multi].drop <= 1pp``."""
    return f"{subject_text(record, headline)}.drop <= {margin_text(record)}"


def subject_text(record: RegressionRecord, headline: str | None = None) -> str:
    """What a verdict is on: ``accuracy[hop=multi]``; a scorer that is not the ``headline`` is named."""
    scorer = {} if headline in (None, record.scorer) else {"scorer": record.scorer}
    return f"{record.metric}{group_text(tuple({**scorer, **record.group}.items()))}"


def margin_text(record: RegressionRecord) -> str:
    """The margin as it is written: ``1pp``, or a plain number in the metric's unit."""
    if record.margin is None:
        return "?"
    if record.relative:
        return f"{100.0 * record.margin:g}%"
    return f"{100.0 * record.margin:g}pp" if record.unit in FRACTIONS else f"{record.margin:g}"
