"""The samples whose answer flips at the smallest dose: where it takes least to turn a model from its own answer.

Of each data set and family of perturbations with doses that is the easiest dose at which any answer is another option
than the one it is compared with (to the clean clip, or with the reasoning as it was), both parsed by the headline;
and of that dose the first such samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.evaluation.perturbation_series import series, unperturbed
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.run import ItemRecord, PerturbationRecord
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.page.rows import LONGEST_NAME
from pytest_audiobench.report.perturbation_view import subject_name

MOST_SAMPLES = 12
"""Of one data set and family; the first few of them can be heard."""
LONGEST_TEXT = 600


class Flip(NamedTuple):
    """A sample's answer before and after, each an option with its letter where the scorer reads letters."""

    eval: str
    model: str
    sample_id: str
    epoch: int
    question: str
    before: str
    after: str
    reference: str


@dataclass(frozen=True)
class SmallestFlips:
    """The first of ``count`` samples, of ``n``, that flip under the easiest perturbation of a family where any do."""

    of: str
    model: str
    family: str
    perturbation: str
    dose: str
    count: int
    n: int
    flips: Sequence[Flip]


@dataclass
class _ItemFlips:
    scorer: str
    has_letters: bool
    ids: dict[str, None] = field(default_factory=dict)
    flips: list[Flip] = field(default_factory=list)


class _Rung(NamedTuple):
    item: ItemRecord
    perturbation: PerturbationRecord
    dose: float


class FlippedSamples:
    """Gathers the samples that flip, while a run's samples are read for something else."""

    def __init__(self, items: Sequence[ItemRecord]) -> None:
        self._items = items
        self._by_item = {
            (item.eval, item.model): _ItemFlips(item.scorers[0].name, gives_letters(item.scorers[0].signature))
            for item in items
            if item.scorers and item.perturbation is not None and item.perturbation.dose is not None
        }

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each looked at before it is passed on."""
        for sample in samples:
            first = sample.predictions[0]
            if (flips := self._by_item.get((first.eval, first.model))) is not None:
                _add(flips, sample)
            yield sample

    def smallest(self) -> list[SmallestFlips]:
        """One for each data set, family and model that has any, in the items' order."""
        return [flips for name, ladder in self._ladders() for flips in self._easiest(name, ladder)]

    def _ladders(self) -> Iterator[tuple[str, list[_Rung]]]:
        """By suite and model: what a series of evals is of, and its items by family."""
        owners = dict.fromkeys((item.suite, item.model) for item in self._items)
        for owner in owners:
            items = [item for item in self._items if (item.suite, item.model) == owner]
            for name, places in series(items):
                families: dict[tuple[str, str], list[_Rung]] = {}
                for item in (items[place] for place in places):
                    if item.perturbation is not None and item.perturbation.dose is not None:
                        rung = _Rung(item, item.perturbation, item.perturbation.dose)
                        families.setdefault((rung.perturbation.family, rung.perturbation.unit), []).append(rung)
                for ladder in families.values():
                    yield name, ladder

    def _easiest(self, name: str, ladder: Sequence[_Rung]) -> Iterator[SmallestFlips]:
        for item, perturbation, dose in sorted(
            ladder, key=lambda rung: -rung.dose if rung.perturbation.harder == "lower" else rung.dose
        ):
            item_flips = self._by_item.get((item.eval, item.model))
            if item_flips is None or not item_flips.ids:
                continue
            yield SmallestFlips(
                of=subject_name(item.suite, unperturbed(item.dataset, perturbation), name),
                model=item.model,
                family=perturbation.family,
                perturbation=perturbation.name,
                dose=f"{dose:g} {perturbation.unit}".strip(),
                count=len(item_flips.ids),
                n=item.n,
                flips=item_flips.flips,
            )
            return


def _add(flips: _ItemFlips, sample: Joined) -> None:
    first = sample.predictions[0]
    scored = next((row for row in sample.scored if row.scorer == flips.scorer), None)
    if scored is None or not (scored.scores or {}).get("flipped") or first.sample_id in flips.ids:
        return
    flips.ids[first.sample_id] = None
    if len(flips.flips) < MOST_SAMPLES:
        parsed = next((row for row in sample.processed if row.scorer == flips.scorer), None)
        before = parsed.before if parsed else None
        choices = first.choices if flips.has_letters else ()
        flips.flips.append(
            Flip(
                eval=first.eval,
                model=first.model,
                sample_id=first.sample_id[:LONGEST_NAME],
                epoch=first.epoch,
                question=first.question[:LONGEST_TEXT],
                before=_option(before.value if before else None, choices),
                after=_option(parsed.value if parsed else None, choices),
                reference=first.reference[:LONGEST_TEXT],
            )
        )


def _option(value: str | None, choices: Sequence[str]) -> str:
    if value is None:
        return "–"
    place = LETTERS.find(value) if len(value) == 1 else -1
    text = f"({value}) {choices[place]}" if 0 <= place < len(choices) else value
    return text[:LONGEST_TEXT]
