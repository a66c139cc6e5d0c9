"""``sound_event.json``: when sounds begin and end, by sed_eval and psds_eval, as the events of clips are scored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.protocols.soundscape.columns import active_segments, covered_events, events_on_time

from ..table import Case, Json, same

OUT = {
    "event_based_onset_only": "events are right here when they begin and end on time",
    "psds": "PSDS needs scores at many thresholds, and a list of events has one",
}


def cases_of(rows: Sequence[Mapping[str, Json]]) -> Iterator[Case]:
    for row in rows:
        if row["metric"] in OUT:
            yield Case(row["id"], row["metric"], "out", OUT[row["metric"]])
            continue
        scores = _psds_macro(row) if row["metric"] == "psds_macro_f" else _sed_eval(row)
        expected = row["expected"]
        if isinstance(expected, dict):
            # Error rates are none of the columns.
            expected = {name: value for name, value in expected.items() if name != "error_rate"}
        agrees = same(expected, scores, row["tolerance"])
        yield Case(row["id"], row["metric"], "agrees" if agrees else "differs", f"expected {expected}, got {scores}")


def _events(rows: Sequence[Json]) -> dict[str, list[AudioEvent]]:
    events: dict[str, list[AudioEvent]] = {}
    for label, onset, offset in rows:
        events.setdefault(label, []).append(AudioEvent("sound_event", onset, offset, description=label))
    return events


def _sed_eval(row: Mapping[str, Json]) -> dict[str, float]:
    true, said = (_events(row["inputs"][side]) for side in ("reference", "estimated"))
    count = _counter(row)
    counts = {label: count(true.get(label, []), said.get(label, [])) for label in row["params"]["labels"]}
    hits, truths, guesses = (sum(column) for column in zip(*counts.values(), strict=True))
    return {
        "f_measure": _ratio(2 * hits, truths + guesses),
        "precision": _ratio(hits, guesses),
        "recall": _ratio(hits, truths),
        "macro_f": _mean(
            _ratio(2 * hits, truths + guesses) for hits, truths, guesses in counts.values() if truths and guesses
        ),
    }


def _counter(row: Mapping[str, Json]) -> Callable[[list[AudioEvent], list[AudioEvent]], tuple[int, int, int]]:
    params = row["params"]
    if row["metric"] == "event_based":
        return lambda true, said: (events_on_time(true, said, params["t_collar"]), len(true), len(said))

    def count(true: list[AudioEvent], said: list[AudioEvent]) -> tuple[int, int, int]:
        segments, claimed = (active_segments(events, params["time_resolution"]) for events in (true, said))
        return len(segments & claimed), len(segments), len(claimed)

    return count


def _psds_macro(row: Mapping[str, Json]) -> float:
    true, said = (
        _events([((file, label), onset, offset) for file, label, onset, offset in row["inputs"][side]])
        for side in ("ground_truth", "detections")
    )
    least, values = row["params"]["dtc_threshold"], []
    for label in sorted({label for _, label in true}):
        keys = [key for key in {*true, *said} if key[1] == label]
        counts = [covered_events(true.get(key, []), said.get(key, []), least) for key in keys]
        covered, uncovered = (sum(column) for column in zip(*counts, strict=True))
        # Of a label that nobody claims there is no precision, and the mean leaves it out.
        if any(key in said for key in keys):
            values.append(_ratio(2 * covered, covered + uncovered + sum(len(true.get(key, [])) for key in keys)))
    return _mean(values)


def _ratio(top: int, bottom: int) -> float:
    return top / bottom if bottom else math.nan


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else math.nan
