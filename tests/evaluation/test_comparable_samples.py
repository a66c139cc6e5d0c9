from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.spool import MOST_IN_MEMORY
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, in_columns, statistics_of
from pytest_audiobench.gate.pairing import pair_samples

DIGESTS = st.sampled_from([None, "cat", "dog"])


def sample(number: int, **more: object) -> ComparableSample:
    given_ = {
        "audio": f"audio {number}",
        "prompt": None if number % 7 == 0 else f"prompt {number}",
        "cluster": None if number % 3 == 0 else f"speaker {number % 11}",
        "groups": {"kind": "odd" if number % 2 else "even"},
        "statuses": {"letters": "error" if number % 5 == 0 else "parsed"},
        "scores": {"letters": None if number % 5 == 0 else {"correct": number % 2, "length": number / 7}},
        "failures": ("loop",) * (number % 4 == 1),
        "text": f"answer\ud800 {number}",
        "truth": "b",
    }
    return ComparableSample(f"s{number}", number % 2, **{**given_, **more})


def side(rows: object, limited: bool = False) -> ComparableEval:
    return ComparableEval(
        source="x", eval="e", suite="s", model="m", spec="m", dataset="d", protocol="p", epochs=2, limited=limited,
        cluster=None, scorers={"letters": "v1"}, metrics={"letters": ["accuracy"]}, hashes={}, rows=rows,
    )  # fmt: skip


def test_rows_beyond_the_first_come_back_from_the_file_as_they_were() -> None:
    plain = [sample(number) for number in range(MOST_IN_MEMORY + 200)]
    rows = in_columns(plain)
    assert rows == plain
    assert rows[-1] == plain[-1]
    assert [type(value) for value in rows[1].scores["letters"].values()] == [int, float]
    assert rows.where(np.arange(len(plain)) % 3 == 1).at(np.array([0, -1])) == [
        plain[1],
        plain[-1 - (len(plain) - 2) % 3],
    ]
    assert rows.without("audio", "truth")[0] == plain[0]._replace(audio=None, truth=None)


def test_columns_say_what_the_rows_say() -> None:
    plain = [sample(number) for number in range(300)]
    rows = in_columns(plain)
    for metric in ("accuracy", "errors", "loop"):
        assert rows.statistics("letters", metric) == [statistics_of(row, "letters", metric) for row in plain]
    assert rows.of_group({"kind": "odd"}) == [row for row in plain if row.groups["kind"] == "odd"]
    assert rows.groups() == {"kind": {"even": None, "odd": None}}
    names = [row.cluster or row.sample_id for row in plain]
    numbers = rows.clusters()
    assert numbers is not None
    assert len(set(zip(names, numbers, strict=True))) == len(set(names)) == len(set(numbers))
    assert in_columns(plain[:2]).clusters() is None
    assert not rows.repeat
    assert in_columns([*plain, plain[4]]).repeat
    assert not in_columns([sample(4, scores={}), sample(4)._replace(epoch=1)]).repeat


def test_a_sample_is_its_own_cluster_whatever_the_clusters_of_others_are_called() -> None:
    before = in_columns([sample(number, cluster=None) for number in (3, 4)])
    after = in_columns([sample(3, cluster=None), sample(4, cluster="s3")])
    assert after.clusters() is not None  # within one run a name is a name
    assert after.clusters(before) is None


ROWS = st.dictionaries(
    st.tuples(st.integers(0, 12), st.integers(0, 1)),
    st.tuples(DIGESTS, DIGESTS, DIGESTS, st.sampled_from(["parsed", "error", "skipped"])),
)


def rows_of(drawn: dict[tuple[int, int], tuple[str | None, str | None, str | None, str]]) -> list[ComparableSample]:
    return [
        ComparableSample(
            f"s{number}", epoch, audio, prompt, None, {}, {"letters": "error" if how == "error" else "parsed"},
            {"letters": {"correct": 1.0} if how == "parsed" else None}, truth=truth,
        )
        for (number, epoch), (audio, prompt, truth, how) in drawn.items()
    ]  # fmt: skip


def reason_of(before: ComparableSample | None, after: ComparableSample, scored: bool) -> str | None:
    if before is None:
        return "only_here"
    for name in ("audio", "prompt", "truth"):
        digests = {getattr(before, name), getattr(after, name)}
        if None not in digests and len(digests) > 1:
            return name
    if "error" in (before.statuses["letters"], after.statuses["letters"]):
        return "errors"
    return "skipped" if scored and None in (before.scores["letters"], after.scores["letters"]) else None


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS, st.booleans(), st.booleans(), st.booleans())
def test_pairs_are_what_a_look_at_each_sample_finds(first, second, limited, baseline_limited, scored) -> None:
    before, after = rows_of(first), rows_of(second)
    known = {row.identity: row for row in before}
    expected, out = [], {}
    for row in after:
        other = known.pop(row.identity, None)
        reason = reason_of(other, row, scored)
        if reason is None:
            expected.append((other, row))
        elif reason != "only_here" or not baseline_limited:
            out.setdefault(reason, []).append(row.sample_id)
    if known and not limited:
        out["only_in_baseline"] = [sample_id for sample_id, _ in known]
    found = pair_samples(side(before, baseline_limited), side(after, limited), "letters", scored)
    assert list(found.rows) == expected
    assert list(found.left_out.items()) == [(reason, len(ids)) for reason, ids in out.items()]
    assert found.examples == {reason: ids[:5] for reason, ids in out.items()}
    assert found.not_run == (len(known) if limited else 0)
