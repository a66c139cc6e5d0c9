"""The samples whose answer flips at the smallest dose: where it takes least to turn a model from its own answer.

Of each data set and family of perturbations with doses that is the easiest dose at which any answer is another option
than the one it is compared with (to the clean clip, or with the reasoning as it was), both parsed by the headline;
and of that dose the first such samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.evaluation.perturbation_series import series, unperturbed
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.json_lines import Row
from pytest_audiobench.report.page.rows import LONGEST_NAME
from pytest_audiobench.report.perturbation_view import subject_name

Json: TypeAlias = Mapping[str, Any]

MOST_SAMPLES = 12
"""Of one data set and family; the first few of them can be heard."""
LONGEST_TEXT = 600


class Flip(NamedTuple):
    """A sample's answer before and after, each an option with its letter where it is one of the choices."""

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
    ids: dict[str, None] = field(default_factory=dict)
    flips: list[Flip] = field(default_factory=list)


class FlippedSamples:
    """Gathers the samples that flip, while a run's samples are read for something else."""

    def __init__(self, items: Sequence[Json]) -> None:
        self._items = items
        self._by_item = {
            (item["eval"], item["model"]): _ItemFlips(item["scorers"][0]["name"])
            for item in items
            if item["scorers"] and item.get("perturbation") and item["perturbation"]["dose"] is not None
        }

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each looked at before it is passed on."""
        for sample in samples:
            first = sample.predictions[0]
            flips = self._by_item.get((first["eval"], first["model"]))
            if flips is not None:
                _add(flips, sample, first)
            yield sample

    def smallest(self) -> list[SmallestFlips]:
        """One for each data set, family and model that has any, in the items' order."""
        return [flips for name, places in self._ladders() for flips in self._easiest(name, places)]

    def _ladders(self) -> Iterator[tuple[str, list[int]]]:
        """By suite and model: what a series of evals is of, and the places of its items by family."""
        owners = dict.fromkeys((item["suite"], item["model"]) for item in self._items)
        for owner in owners:
            numbers = [number for number, item in enumerate(self._items) if (item["suite"], item["model"]) == owner]
            for name, places in series([self._items[number] for number in numbers]):
                families: dict[tuple[str, str], list[int]] = {}
                for place in places:
                    perturbation = self._items[numbers[place]]["perturbation"]
                    if perturbation["dose"] is not None:
                        families.setdefault((perturbation["family"], perturbation["unit"]), []).append(numbers[place])
                for ladder in families.values():
                    yield name, ladder

    def _easiest(self, name: str, places: Sequence[int]) -> Iterator[SmallestFlips]:
        for place in sorted(places, key=self._hardness):
            item = self._items[place]
            item_flips = self._by_item.get((item["eval"], item["model"]))
            if item_flips is None or not item_flips.ids:
                continue
            perturbation = item["perturbation"]
            yield SmallestFlips(
                of=subject_name(item["suite"], unperturbed(item["dataset"], perturbation), name),
                model=item["model"],
                family=perturbation["family"],
                perturbation=perturbation["name"],
                dose=f"{perturbation['dose']:g} {perturbation['unit']}".strip(),
                count=len(item_flips.ids),
                n=item["n"],
                flips=item_flips.flips,
            )
            return

    def _hardness(self, place: int) -> float:
        perturbation = self._items[place]["perturbation"]
        dose = float(perturbation["dose"])
        return -dose if perturbation["harder"] == "lower" else dose


def _add(flips: _ItemFlips, sample: Joined, first: Row) -> None:
    scored = next((row for row in sample.scored if row["scorer"] == flips.scorer), None)
    if scored is None or not (scored["scores"] or {}).get("flipped"):
        return
    id_ = first["sample_id"]
    if id_ in flips.ids:
        return
    flips.ids[id_] = None
    if len(flips.flips) < MOST_SAMPLES:
        parsed = next((row for row in sample.processed if row["scorer"] == flips.scorer), {})
        flips.flips.append(
            Flip(
                eval=first["eval"],
                model=first["model"],
                sample_id=id_[:LONGEST_NAME],
                epoch=first["epoch"],
                question=first["question"][:LONGEST_TEXT],
                before=_option((parsed.get("before") or {}).get("value"), first["choices"]),
                after=_option(parsed.get("value"), first["choices"]),
                reference=(first["reference"] or "")[:LONGEST_TEXT],
            )
        )


def _option(value: str | None, choices: Sequence[str]) -> str:
    """``(B) cat`` for a letter of the choices; else what was parsed, or a dash."""
    if value is None:
        return "–"
    place = LETTERS.find(value) if len(value) == 1 else -1
    text = f"({value}) {choices[place]}" if 0 <= place < len(choices) else value
    return text[:LONGEST_TEXT]
