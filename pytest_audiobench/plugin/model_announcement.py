"""What a run tells of its models and its judges: each process that used one writes it, and all write the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pytest_audiobench.evaluation.lazy_model import ModelHandle, stored_hearing, stored_noise
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.plugin.run_folder import RunFolder


def present_model(place: RunFolder, store: Store, handle: ModelHandle) -> None:
    """The model that is evaluated, with what is known by now of its hearing and its noise."""
    hearing = stored_hearing(store, handle)._asdict() if handle.listens else None
    _present(place, handle, "subject", hearing=hearing, noise=stored_noise(store, handle))


def present_judges(place: RunFolder, judges: Iterable[ModelHandle]) -> None:
    """The judges that were asked. They are played nothing, so that nothing is known of their hearing."""
    for judge in judges:
        _present(place, judge, "judge", hearing=None, noise=None)


def _present(place: RunFolder, handle: ModelHandle, role: Literal["subject", "judge"], **known: Any) -> None:
    place.open()
    place.present(
        handle.alias,
        {
            "alias": handle.alias,
            "spec": handle.spec,
            "role": role,
            "batching": "planned" if handle.planned else "opaque",
            "device": handle.device,
            **handle.identity,
            **known,
        },
    )
