"""What a reader should see of a run's perturbations, drawn once from its record: for terminal, summary and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_audiobench.evaluation.curve_records import CLEAN
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS
from pytest_audiobench.report.formatting import difference_text, drawn, interval_text, unit_text, value_text

Json: TypeAlias = Mapping[str, Any]

FEWER = 0.02
"""Of all samples, so many fewer answered ones than under the clean perturbation are pointed out."""

_MANY_REFERENCES = 4
"""Perturbations that drops are from, beyond which a head does not name them."""


@dataclass(frozen=True)
class Row:
    """One perturbation as texts, and where it is drawn; ``label`` is its dose on a curve, else its name.

    ``drop`` says how much worse it is than ``against``; both are empty where it is held against nothing. ``fewer`` is a
    sentence where clearly fewer samples were answered than under the clean perturbation (or the family's easiest dose),
    else empty: a score may rise, or hold, on refusals alone.
    """

    label: str
    perturbation: str
    dose: float | None
    value: str
    interval: str
    n: int
    answered: str
    fewer: str
    drop: str
    drop_interval: str
    p: str
    against: str
    method: str
    drop_method: str
    at: float | None
    low: float | None
    high: float | None
    answered_at: float | None


@dataclass(frozen=True)
class Line:
    """A figure over perturbations: what it is, its value, its interval, and how it came about.

    ``p`` is that of the trend test, adjusted by Holm's method over the data set's curves; empty where none was made.
    """

    name: str
    value: str
    interval: str
    method: str
    p: str = ""


@dataclass(frozen=True)
class _Figures:
    """Whose figures these are, of which metric by which scorer, and whether it is the suite's leading one."""

    suite: str
    model: str
    dataset: str
    series: str
    metric: str
    scorer: str
    unit: str
    direction: str
    leading: bool
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Curve(_Figures):
    """A metric over the doses of a family; ``leading`` where it is the first metric of the headline scorer."""

    family: str
    dose_unit: str
    harder: str
    clean: Row | None


@dataclass(frozen=True)
class Summary(_Figures):
    """A metric over all perturbations of a data set: those on no curve, and the mean of all."""


def curves(record: Json) -> list[Curve]:
    """All curves of a run, each suite's leading metric first."""
    found = [_curve(suite, curve) for suite in record["suites"] for curve in suite.get("curves", ())]
    return sorted(found, key=lambda one: not one.leading)


def summaries(record: Json) -> list[Summary]:
    """What is said of all perturbations of each data set, each suite's leading metric first."""
    found = [_summary(suite, one) for suite in record["suites"] for one in suite.get("perturbations", ())]
    return sorted(found, key=lambda one: not one.leading)


def title(one: Curve | Summary, several: bool) -> str:
    """``asr_robust, digits: wer under white``; the model is named where there are ``several``."""
    owner = owned(one.suite, one.dataset, one.series)
    under = (
        f"under {one.family}" if isinstance(one, Curve) else "by perturbation" if one.rows else "over its perturbations"
    )
    return f"{owner}{f', {one.model}' if several else ''}: {one.metric} {under}"


def owned(suite: str, dataset: str, series: str) -> str:
    """``asr_robust, digits, test_digits[a]``: what a figure is of, each name once."""
    return ", ".join(dict.fromkeys(filter(None, (suite, dataset, series))))


def _curve(suite: Json, curve: Json) -> Curve:
    summary = _beside(suite, curve)
    row = Rows(suite, summary)
    return Curve(
        **_owner(suite, curve),
        family=curve["family"],
        dose_unit=curve["dose_unit"],
        harder=curve["harder"],
        rows=tuple(row.of(f"{one['dose']:g}", one) for one in curve["points"]),
        clean=None if curve["clean"] is None else row.of(curve["clean"]["perturbation"], curve["clean"]),
        lines=tuple(_curve_lines(curve)),
    )


def _summary(suite: Json, one: Json) -> Summary:
    own = [curve for curve in suite.get("curves", ()) if _about(curve) == _about(one)]
    on_curves = {
        point["perturbation"]
        for curve in own
        for point in (*curve["points"], *([curve["clean"]] if curve["clean"] else []))
    }
    row = Rows(suite, one)
    alone = [point for point in one["points"] if point["perturbation"] not in on_curves]
    count = len(one["weights"])
    is_plain = len(set(one["weights"].values())) == 1
    weights = f"each weighing 1/{count}" if is_plain else "by the weights in run.json"
    name = f"mean of the {count} perturbations measured{_which(suite, one)}, {weights}"
    return Summary(
        **_owner(suite, one),
        rows=tuple(row.of(point["perturbation"], point) for point in alone),
        lines=(_line(name, one["mean"], one["unit"]),),
    )


def _which(suite: Json, one: Json) -> str:
    """The families in brackets, where another protocol asked the same data set under perturbations of its own."""
    alike = ("dataset", "series", "metric", "scorer")
    others = [other for other in suite["perturbations"] if all(other[name] == one[name] for name in alike)]
    families = dict.fromkeys(point["family"] for point in one["points"])
    return f" ({', '.join(families)})" if len(others) > 1 else ""


def _owner(suite: Json, one: Json) -> dict[str, Any]:
    """What a curve and a summary take alike from their suite and their own record."""
    shared = {name: one[name] for name in ("dataset", "series", "metric", "scorer", "direction")}
    owner = {"suite": suite["name"], "model": suite["model"]}
    return {**owner, **shared, "unit": unit_text(one["unit"]), "leading": _leads(suite, one)}


def _leads(suite: Json, one: Json) -> bool:
    """Whether this is the first metric of the first scorer over its perturbations.

    A protocol that asks under perturbations of its own (with the reasoning changed) has a leading metric beside another's.
    """
    own = _perturbations_of(_beside(suite, one))
    first = next(
        other
        for other in suite["perturbations"]
        if (other["dataset"], other["series"]) == (one["dataset"], one["series"]) and own & _perturbations_of(other)
    )
    return _about(first) == _about(one)


def _perturbations_of(summary: Json) -> set[str]:
    return {point["perturbation"] for point in summary["points"]}


def _about(one: Json) -> tuple[str, ...]:
    return *_whose(one), one["metric"]


def _whose(one: Json) -> tuple[str, ...]:
    """Of which evals by which scorer."""
    return one["dataset"], one["series"], one["scorer"], one["signature"]


def _beside(suite: Json, curve: Json) -> Json:
    return next(one for one in suite["perturbations"] if _about(one) == _about(curve))


class Rows:
    """Makes the rows of one metric over the perturbations of a data set."""

    def __init__(self, suite: Json, summary: Json) -> None:
        self._unit = summary["unit"]
        self._held = {one["perturbation"]: one for one in summary["differences"]}
        # A metric that only a changed perturbation has, as a share of flips, has no point where nothing was changed.
        self._answered = {
            point["perturbation"]: point["answered"]
            for one in suite["perturbations"]
            if _whose(one) == _whose(summary)
            for point in one["points"]
        }

    def of(self, label: str, point: Json) -> Row:
        held, unit = self._held.get(point["perturbation"]), self._unit
        return Row(
            label=label,
            perturbation=point["perturbation"],
            dose=point["dose"],
            value=value_text(point["value"], unit),
            interval=interval_text({**point, "unit": unit}),
            n=point["n"],
            answered=_share_text(point["answered"]),
            fewer=self._fewer(point),
            drop="" if held is None else difference_text(held["drop"], unit),
            drop_interval="" if held is None else _between(held, unit),
            p="" if held is None else _p_text(held["p_holm"]),
            against="" if held is None else held["reference"],
            method=point["method"],
            drop_method="" if held is None else held["method"],
            at=drawn(point["value"], unit),
            low=drawn(point["lower"], unit),
            high=drawn(point["upper"], unit),
            answered_at=None if point["answered"] is None else 100 * point["answered"],
        )

    def _fewer(self, point: Json) -> str:
        held = self._held.get(point["perturbation"])
        reference = CLEAN if CLEAN in self._answered else "" if held is None else held["reference"]
        before, now = self._answered.get(reference), point["answered"]
        if before is None or now is None or round(before - now, 9) < FEWER:
            return ""
        return f"answers fewer: {_share_text(now)}, {reference} {_share_text(before)}"


def _share_text(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _curve_lines(curve: Json) -> Iterator[Line]:
    slope, unit = curve["slope"], curve["unit"]
    step = f"{slope['per']:g} {curve['dose_unit']}".rstrip()
    value = "–" if slope["value"] is None else f"{difference_text(slope['value'], unit)} per {step}"
    # A run of an earlier version has no test.
    p = slope.get("p_holm")
    yield Line("slope", value, _between(slope, unit), slope["method"], "" if p is None else _p_text(p))
    doses = [point["dose"] for point in curve["points"]]
    over = f"area (mean from {doses[0]:g} to {doses[-1]:g} {curve['dose_unit']}".rstrip() + ")"
    yield _line(over, curve["area"], unit)


def _line(name: str, figure: Json, unit: str) -> Line:
    return Line(name, value_text(figure["value"], unit), interval_text({**figure, "unit": unit}), figure["method"])


def _between(figure: Json, unit: str) -> str:
    return interval_text({**figure, "unit": POINTS if unit in FRACTIONS else unit})


def _p_text(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def fewer(rows: Sequence[Row]) -> str:
    """Which of the rows answer clearly fewer: ``answers fewer at 10, 0``; empty where none does."""
    found = [row.label for row in rows if row.fewer]
    return f"answers fewer at {', '.join(found)}" if found else ""


def against(rows: Sequence[Row]) -> str:
    """What the rows are held against: ``drop from clean``, or from the first dose of a family that has no clean one."""
    found = dict.fromkeys(row.against for row in rows if row.against)
    return f"drop from {' or '.join(found)}" if 0 < len(found) < _MANY_REFERENCES else "drop"
