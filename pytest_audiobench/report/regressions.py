"""What became of a run's regression lines, and of the run as a whole: texts for terminal, summary and comment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pytest_audiobench.metrics.units import FRACTIONS
from pytest_audiobench.report import view
from pytest_audiobench.report.figures import difference_text, interval_text, value_text
from pytest_audiobench.runs.record import RegressionStatus

Json = Mapping[str, Any]

REGRESSED: Literal["regressed"] = "regressed"
NOT_COMPARABLE: Literal["not_comparable"] = "not_comparable"
INCONCLUSIVE: Literal["inconclusive"] = "inconclusive"
PASS: Literal["pass"] = "pass"
_WORST_FIRST: tuple[RegressionStatus, ...] = (REGRESSED, NOT_COMPARABLE, INCONCLUSIVE, PASS)
_MARKS: Mapping[str, str] = {REGRESSED: "✗", NOT_COMPARABLE: "≠", INCONCLUSIVE: "?", PASS: "✓"}
_TONES: Mapping[str, view.Tone] = {REGRESSED: "bad", NOT_COMPARABLE: "warn", INCONCLUSIVE: "warn", PASS: "good"}

INSTRUMENT_FAILED = 6
"""The exit status of a run in which all that failed did so since something could not be asked or compared."""
_NO_VERDICT = (2, 3, 4, 5)


@dataclass(frozen=True)
class RegressionLine:
    """A regression line of one eval and its verdict, as texts; ``mark`` repeats in a sign what ``tone`` says in colour.

    ``metric`` is ``accuracy[hop=multi]``, ``name`` the whole line, ``accuracy[hop=multi].drop <= 1pp``. Numbers that do
    not exist are empty texts, and ``detail`` says why.
    """

    eval: str
    model: str
    status: RegressionStatus
    mark: str
    tone: view.Tone
    metric: str
    name: str
    before: str
    now: str
    drop: str
    interval: str
    pairs: int
    worse: int
    better: int
    detectable: str
    detail: str

    @property
    def verdict(self) -> str:
        return self.status.replace("_", " ")


class Overall(NamedTuple):
    """The verdict of a whole run: a word, its colour, how it came about, and what a reader should do."""

    word: str
    tone: view.Tone
    counts: str
    advice: str


def regression_lines(record: Json) -> list[RegressionLine]:
    """All lines of a run, the worst verdicts first, else in the run's order."""
    found = [_line(item, one) for item in record["items"] for one in item.get("regressions", ())]
    return sorted(found, key=lambda one: _WORST_FIRST.index(one.status))


def line_name(regression: Json, headline: str) -> str:
    """How the line is declared: ``accuracy[hop=multi].drop <= 1pp``."""
    margin = regression["margin"]
    if margin is None:
        return f"{metric_name(regression, headline)}.drop"
    written = f"{_decimal(100.0 * margin)}pp" if regression["unit"] in FRACTIONS else _decimal(margin)
    return f"{metric_name(regression, headline)}.drop <= {written}"


def metric_name(regression: Json, headline: str) -> str:
    """How the metric is asked for: ``accuracy[protocol=mmau-string,hop=multi]``."""
    inside = dict(regression["group"])
    if regression["reading"] != headline:
        inside = {"protocol": regression["reading"], **inside}
    return str(regression["metric"]) + (f"[{','.join(f'{k}={v}' for k, v in inside.items())}]" if inside else "")


def baseline_text(record: Json) -> str:
    """What the run was held against: ``baselines/main.json (good = hf:checkpoints/good)``; empty without a baseline."""
    baseline = record.get("baseline")
    if not baseline:
        return ""
    model = " = ".join(dict.fromkeys(str(baseline[name]) for name in ("model", "spec") if baseline.get(name)))
    return f"{baseline['source']} ({model})" if model else str(baseline["source"])


def overall(record: Json) -> Overall:
    """The run's verdict, worst first: it did not end, regressed, failed, not comparable, inconclusive, passed."""
    lines = regression_lines(record)
    counts: Counter[str] = Counter(one.status for one in lines)
    verdicts = Counter(verdict["status"] for item in record["items"] for verdict in item["verdicts"])
    failed = [item for item in record["items"] if _failed_otherwise(item)]
    status = record["exit_status"]
    told = _told(counts, verdicts["fail"], len(failed))
    if status in _NO_VERDICT:
        return Overall(view.exit_text(record), "bad", told, "No verdict: run it again.")
    if counts[REGRESSED]:
        return Overall("regressed", "bad", told, "Hear the samples that flipped before anything is merged.")
    if verdicts["fail"] or (failed and status == 1):
        return Overall("failed", "bad", told, "See what failed and which answers were wrong.")
    if status == INSTRUMENT_FAILED or counts[NOT_COMPARABLE] or verdicts["not_comparable"]:
        advice = "Nothing was shown either way: mend what is named, or run again where only the asking failed."
        return Overall("not comparable", "warn", told, advice)
    if counts[INCONCLUSIVE]:
        advice = "Too few samples to tell: audiobench power says how many would do."
        return Overall("inconclusive", "bad" if status else "warn", told, advice)
    if status:
        return Overall("failed", "bad", told, "See what failed.")
    if not record["items"] or all(item["outcome"] == "skipped" for item in record["items"]):
        return Overall("nothing measured", "bad", told, "See why: pytest -rs gives the reasons.")
    if not lines and not verdicts:
        advice = "Nothing was required: declare thresholds, or hold it against a baseline."
        return Overall("passed", "plain", told, advice)
    return Overall("passed", "good", told, "Nothing to do.")


def _told(counts: Mapping[str, int], thresholds: int, failed: int) -> str:
    """``2 of 7 lines regressed, 1 inconclusive, 4 pass; 1 threshold failed``."""
    found = [f"{counts[one]} {one.replace('_', ' ')}" for one in _WORST_FIRST if counts[one]]
    if found:
        first, _, word = found[0].partition(" ")
        found[0] = f"{first} of {_count(sum(counts.values()), 'line')} {word}"
    more = [_count(thresholds, "threshold") + " failed"] if thresholds else []
    more += [_count(failed, "eval") + " failed otherwise"] if failed else []
    return "; ".join(filter(None, (", ".join(found), *more)))


def _failed_otherwise(item: Json) -> bool:
    """Whether an eval failed by neither a regression line nor a threshold: an assertion, an error, a lost worker."""
    told = [one["status"] for one in (*item.get("regressions", ()), *item["verdicts"])]
    return item["outcome"] in ("failed", "lost") and all(status == PASS for status in told)


def _line(item: Json, one: Json) -> RegressionLine:
    headline = item["readings"][0]["name"] if item["readings"] else one["reading"]
    unit = one["unit"]
    return RegressionLine(
        eval=item["eval"],
        model=item["model"],
        status=one["status"],
        mark=_MARKS[one["status"]],
        tone=_TONES[one["status"]],
        metric=metric_name(one, headline),
        name=line_name(one, headline),
        before=value_text(one["baseline"], unit),
        now=value_text(one["value"], unit),
        drop=difference_text(one["drop"], unit),
        interval=_interval(one),
        pairs=one["pairs"],
        worse=one["worse"],
        better=one["better"],
        detectable=difference_text(one["detectable"], unit).removeprefix("+"),
        detail=one["detail"],
    )


def _interval(one: Json) -> str:
    """``+1.2 to +8.9``: with signs, since a drop may be a gain."""
    if one["lower"] is None or one["upper"] is None:
        return ""
    if one["unit"] in FRACTIONS:
        return interval_text({**one, "unit": "points"})
    return f"{one['lower']:+.4g} to {one['upper']:+.4g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _decimal(number: float) -> str:
    return f"{number:.6g}"
