"""The bytes of a baseline: JSON with a line for each sample, so that a diff shows the samples that changed.

Nothing of a line depends on other samples: what repeats (groups) is named by a digest of itself, not by a number that
shifts when another sample comes in between. The same run gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec.structs import asdict

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, eval_facts
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.records.baseline import COMMON, MOST_BYTES, BaselineFigure
from pytest_audiobench.records.fields import plain

_FEWEST_DIGITS = 4

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_lines = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), indent=0).encode


def encode_baseline(contents: Contents) -> bytes:
    """The file of ``contents``, evals by name, samples by id and epoch. UsageError for more than ``MOST_BYTES``."""
    head = plain(contents.head)
    head["hashes"] = _sorted(head["hashes"])
    head["model"] |= {name: _sorted(head["model"][name]) for name in ("fingerprint", "noise")}
    evals = [_eval(contents.sides[name], contents.figures[name]) for name in sorted(contents.sides)]
    text = b"{" + b"".join(_member(name, value) for name, value in head.items()) + _list("evals", evals) + b"\n}\n"
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"the baseline would hold {len(text) / 1e6:.0f} MB, and {MOST_BYTES / 1e6:.0f} MB can be read: "
            "keep fewer protocols, leave --text out, or split the run"
        )
    return text


def _eval(side: ComparableEval, figures: Mapping[str, Sequence[BaselineFigure]]) -> bytes:
    head = {name: _sorted(value) for name, value in eval_facts(side).items()}
    rows = sorted(side.rows, key=lambda row: row.identity)
    names = {name: _shared_names(name, rows) for name in side.scorers}
    scorers = [_scorer(side, name, names[name], figures.get(name, ())) for name in side.scorers]
    keys = _keys({_group_text(row.groups) for row in rows if row.groups})
    most = Counter(row.prompt for row in rows if row.prompt is not None).most_common(1)
    common = most[0][0] if most and 2 * most[0][1] > len(rows) and len(rows) > 1 else None
    return (
        b"{"
        + b"".join(_member(name, value) for name, value in head.items())
        + _list("scorers", scorers)
        + b",\n"
        + b'"groups":{'
        + b",".join(b"\n" + _json(key) + b":" + _escaped(text) for text, key in sorted(keys.items(), key=itemgetter(1)))
        + b"\n},\n"
        + _member("prompt", common)
        + _list("samples", [_sample(row, names, keys, common) for row in rows])
        + b"}"
    )


def _scorer(side: ComparableEval, name: str, statistics: list[str] | None, figures: Sequence[BaselineFigure]) -> bytes:
    head = {"name": name, "signature": side.scorers[name], "statistics": statistics}
    text = _json(head)[:-1] + b","
    return text + _list("metrics", [_json(_plain(figure)) for figure in figures]) + b"}"


def _sample(
    row: ComparableSample, names: Mapping[str, list[str] | None], keys: Mapping[str, str], common: str | None
) -> bytes:
    line: list[Any] = [
        row.sample_id,
        row.epoch,
        [_scores(row.scores[name], statistics) for name, statistics in names.items()],
        row.audio,
        COMMON if common is not None and row.prompt == common else row.prompt,
        row.cluster,
        keys[_group_text(row.groups)] if row.groups else None,
        row.truth,
    ]
    uncommon: dict[str, Any] = {}
    if any(row.statuses[name] != "parsed" for name in names):
        uncommon["statuses"] = [row.statuses[name] for name in names]
    if row.failures:
        uncommon["failures"] = list(row.failures)
    if row.text is not None:
        uncommon["text"] = row.text
    return _json([*line, uncommon] if uncommon else line)


def _shared_names(scorer: str, rows: Sequence[ComparableSample]) -> list[str] | None:
    """The names of the statistics where all samples have the same ones."""
    variants = {tuple(sorted(scores)) for row in rows if (scores := row.scores[scorer]) is not None}
    return list(variants.pop()) if len(variants) == 1 else None


def _scores(scores: Statistics | None, names: list[str] | None) -> Any:
    if scores is None:
        return None
    if names is None:
        return {name: _number(scores[name]) for name in sorted(scores)}
    return [_number(scores[name]) for name in names]


def _number(value: float) -> float:
    whole = float(value)
    return int(whole) if whole.is_integer() and abs(whole) < 2**53 else whole


def _plain(figure: BaselineFigure) -> dict[str, Any]:
    return {name: _number(value) if isinstance(value, float) else value for name, value in asdict(figure).items()}


def _group_text(groups: Mapping[str, str]) -> str:
    return _encode(_sorted(groups))


def _keys(texts: Collection[str]) -> dict[str, str]:
    """A key for each text: the first digits of its digest, as many as tell them apart."""
    digests = {text: hashlib.sha256(_escaped(text)).hexdigest() for text in texts}
    width = _FEWEST_DIGITS
    while len({digest[:width] for digest in digests.values()}) < len(digests):
        width += 1
    return {text: digest[:width] for text, digest in digests.items()}


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, (list, tuple)) else value


def _member(name: str, value: Any) -> bytes:
    """A member with what it holds a line each, so that a diff shows the hash that changed."""
    return _json({name: value}, _encode_lines)[2:-2] + b",\n"


def _list(name: str, values: Sequence[bytes]) -> bytes:
    return _json(name) + b":[" + b",".join(b"\n" + value for value in values) + b"\n]"


def _json(value: Any, encode: Callable[[Any], str] = _encode) -> bytes:
    return _escaped(encode(value))


def _escaped(text: str) -> bytes:
    # Half of a surrogate pair is not a character of UTF-8; as JSON's escape it reads back unchanged.
    return text.encode("utf-8", "backslashreplace")
