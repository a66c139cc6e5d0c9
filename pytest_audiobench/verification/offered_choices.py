"""What a question let a listener choose among, where its stage offers what no sample has: made by the protocol anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.families import protocol_of


def offered(item: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    """A function that tells a row's choices: the sample's own, or what the stage of ``item``'s protocol offers."""
    try:
        protocol = protocol_of(item["protocol"], item.get("options", {}))
    except UsageError:
        # A protocol of a test's own: its stages' offers are not known, the samples' choices are.
        return lambda row: row["choices"]
    offers = {stage.name: stage for stage in protocol.stages if stage.offers is not None}

    def choices(row: Mapping[str, Any]) -> Sequence[str]:
        stage = offers.get(row["stage"])
        if row["choices"] or stage is None:
            return list(row["choices"])
        return stage.choices(Sample(row["sample_id"], (), row["question"], metadata=row["metadata"]))

    return choices
