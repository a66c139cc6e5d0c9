"""A baseline's file: it gives back what was written, a review can read it, and nothing in it is believed."""

from __future__ import annotations

import json
import string
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.gate.baseline import decoding
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.decoding import decode_baseline, read_bounded
from pytest_audiobench.gate.baseline.encoding import encode_baseline
from pytest_audiobench.records.baseline import LONGEST_TEXT, MOST_BYTES, BaselineFigure, BaselineHead, BaselineModel
from pytest_audiobench.records.run import NoiseMeasurement, NoiseRecord, NoiseShare, PooledHashes

SIGNATURE = "mcq:letters|v:1"
HASHES = PooledHashes("a" * 64, "b" * 64, None)
ACCURACY = BaselineFigure("accuracy", 0.5, 0.1, 0.9, 2, "share", "higher")


def row(sample_id="a", epoch=0, correct=1.0, **more):
    given = {
        "audio": "0123456789abcdef",
        "prompt": "fedcba9876543210",
        "cluster": "speaker 1",
        "groups": {"hop": "multi"},
        "statuses": {"letters": "parsed"},
        "scores": {"letters": None if correct is None else {"correct": correct}},
        "truth": "7ru7h",
    }
    return ComparableSample(sample_id, epoch, **{**given, **more})


def side(rows, name="sakura[animal]", **more):
    given = {
        "source": "main.json",
        "eval": name,
        "suite": "sakura",
        "model": "main",
        "spec": "hf:one",
        "dataset": "sakura/animal",
        "protocol": "multiple_choice",
        "epochs": 1,
        "limited": False,
        "cluster": None,
        "scorers": {"letters": SIGNATURE},
        "metrics": {"letters": ["accuracy"]},
        "hashes": {"model": "c" * 64},
    }
    return ComparableEval(rows=rows, **{**given, **more})


def contents(*sides, figures=None, fingerprint=None, noise=None, **more):
    given = {
        "version": "0.1.0",
        "run": "20260101-000000-abcd",
        "finished": "2026-01-01T00:00:00Z",
        "hashes": HASHES,
        "model": BaselineModel("main", "hf:one", "c" * 64, fingerprint or {"weights": "d" * 64}, noise),
        "limit": None,
        "epochs": 1,
        "missing": [],
    }
    numbers = {one.eval: {"letters": [ACCURACY]} for one in sides} if figures is None else figures
    return Contents(BaselineHead(**{**given, **more}), {one.eval: one for one in sides}, numbers)


@pytest.fixture
def plain():
    return contents(side([row("a"), row("b", correct=0.0, groups={"hop": "single"})]))


def test_what_was_written_is_read_back(plain):
    assert decode_baseline(encode_baseline(plain), "main.json") == plain


def test_an_editors_byte_order_mark_and_line_ends_do_no_harm(plain):
    saved = b"\xef\xbb\xbf" + encode_baseline(plain).replace(b"\n", b"\r\n")
    assert decode_baseline(saved, "main.json") == plain


def test_the_noise_floor_is_kept_for_every_eval(plain):
    measurement = NoiseMeasurement(
        same_answers=0.9,
        score_shift=0.1,
        dataset="digits",
        n=50,
        metric="accuracy",
        conditions={"again": NoiseShare(0.9, 0.1)},
    )
    noise = NoiseRecord(0.9, 0.1, measured=[measurement])
    noisy = contents(*plain.sides.values(), noise=noise)
    decoded = decode_baseline(encode_baseline(noisy), "main.json")
    assert decoded.head.model.noise == decoded.sides["sakura[animal]"].noise == noise


def test_a_sample_is_a_line_and_a_changed_answer_changes_that_line_alone(plain):
    before = encode_baseline(plain).splitlines()
    changed = contents(side([row("a"), row("b", groups={"hop": "single"})]))
    after = encode_baseline(changed).splitlines()
    lines = [(was, now) for was, now in zip(before, after, strict=True) if was != now]
    assert [[line[:13] for line in pair] for pair in lines] == [[b'["b",0,[[0]],', b'["b",0,[[1]],']]
    assert lines[0][0][13:] == lines[0][1][13:]


def test_a_sample_that_comes_in_between_moves_no_other_line(plain):
    more = [row("a"), row("aa", groups={"hop": "none"}), row("b", correct=0.0, groups={"hop": "single"})]
    before = {line.rstrip(b",") for line in encode_baseline(plain).splitlines()}
    after = {line.rstrip(b",") for line in encode_baseline(contents(side(more))).splitlines()}
    assert before <= after
    assert len(after - before) == 2  # the sample's line, and its group's


def test_the_order_of_rows_evals_and_keys_does_not_show(plain):
    rows = list(reversed(plain.sides["sakura[animal]"].rows))
    evals = [side(rows, "b"), side(rows, "a")]
    turned = contents(*evals, fingerprint={"b": "2", "a": "1"})
    assert encode_baseline(turned) == encode_baseline(contents(*reversed(evals), fingerprint={"a": "1", "b": "2"}))
    assert list(decode_baseline(encode_baseline(turned), "x").sides) == ["a", "b"]


def test_what_most_samples_do_not_have_costs_nothing_elsewhere():
    rows = [row("a"), row("b", correct=None, statuses={"letters": "error"}), row("c", failures=("loop",), text="no no")]
    lines = [line for line in encode_baseline(contents(side(rows))).splitlines() if line[:2] == b'["']
    assert lines[0].endswith(b'"7ru7h"],')
    assert b"[null]" in lines[1]
    assert lines[1].endswith(b'{"statuses":["error"]}],')
    assert lines[2].endswith(b'{"failures":["loop"],"text":"no no"}]')


def test_statistics_that_differ_from_sample_to_sample_keep_their_names():
    rows = [
        row("a", scores={"letters": {"correct": 1.0}}),
        row("b", scores={"letters": {"correct": 0.0, "extra": 2.5}}),
    ]
    text = encode_baseline(contents(side(rows)))
    assert b'"statistics":null' in text
    assert b'[{"correct":0,"extra":2.5}]' in text
    assert decode_baseline(text, "x").sides["sakura[animal]"].rows == rows


def test_half_of_a_surrogate_pair_survives():
    rows = [row("a\udc80", text="\ud800", groups={"\udc80": "\ud800"}), row("b")]
    broken = contents(side(rows, cluster="\udc80"), run="\ud800", fingerprint={"\ud800": "\udc80"})
    assert decode_baseline(encode_baseline(broken), "main.json") == broken


def test_clip_keys_as_clusters_and_long_answers_are_cut(plain):
    rows = [row("a", cluster="0a" * 32, text="word " * 1000), row("b", cluster="speaker " * 8, text="no")]
    given_ = contents(side(rows))
    kept = given_.reduced([], texts=True).sides["sakura[animal]"].rows
    assert [one.cluster for one in kept] == ["0a" * 8, "speaker " * 8]
    assert len(kept[0].text) == LONGEST_TEXT
    assert kept[0].text.endswith("…")
    bare = given_.reduced([], texts=False).sides["sakura[animal]"].rows
    assert [one.text for one in bare] == [None, None]


def two_scorers():
    both = {"letters": "parsed", "mmar": "unparsed"}
    scores = {"letters": {"correct": 1.0}, "mmar": {"correct": 0.0}}
    return contents(
        side(
            [row("a", statuses=both, scores=scores)],
            scorers={"letters": SIGNATURE, "mmar": "mmar|v:1"},
            metrics={"letters": ["accuracy"], "mmar": ["accuracy"]},
        ),
        figures={"sakura[animal]": {"letters": [ACCURACY], "mmar": [ACCURACY]}},
    )


@pytest.mark.parametrize(
    ("names", "kept"), [([], ["letters"]), (["mmar"], ["letters", "mmar"]), (["all"], ["letters", "mmar"])]
)
def test_the_headlines_reading_is_kept_and_others_when_named(names, kept):
    found = decode_baseline(encode_baseline(two_scorers().reduced(names, texts=False)), "x").sides["sakura[animal]"]
    assert list(found.scorers) == kept
    assert list(found.rows[0].scores) == kept
    assert list(found.metrics) == kept


def test_a_protocol_that_nobody_used_cannot_be_kept():
    with pytest.raises(UsageError, match="has no scorer 'wer'; it has letters, mmar, or name all"):
        two_scorers().reduced(["wer"], texts=False)


# --- hostile files -------------------------------------------------------------------------------------------------


def edited(plain, change):
    value = json.loads(encode_baseline(plain))
    change(value)
    return json.dumps(value).encode()


def first(value):
    return value["evals"][0]


def with_entry(at, new):
    """The first sample's line with another entry at this place; behind its end for None."""

    def change(value):
        line = first(value)["samples"][0]
        line[slice(len(line), None) if at is None else slice(at, at + 1)] = [new]

    return change


EDITS = {
    "a missing key": (lambda v: v.pop("run"), "it has no 'run'"),
    "an unknown key": (lambda v: v.update(limits=3), "has the unknown 'limits' (is it 'limit'?)"),
    "a limit of nothing": (lambda v: v.update(limit=0), "limit must be a whole number of at least 1, not 0"),
    "epochs that are true": (lambda v: v.update(epochs=True), "epochs must be a whole number, not true"),
    "a model that is a list": (lambda v: v.update(model=[]), "model must be an object, not a list"),
    "a fingerprint of numbers": (lambda v: v["model"].update(fingerprint={"w": 1}), "fingerprint, 'w' must be"),
    "a noise floor of text": (
        lambda v: v["model"].update(noise={"same_answers": "all", "score_shift": 0, "measured": []}),
        "model, noise, same_answers must be a number, not 'all'",
    ),
    "a hash that is none": (
        lambda v: v["hashes"].update(run_hash="abc"),
        "hashes, run_hash must be 64 hexadecimal digits, not 'abc'",
    ),
    "evals that are an object": (lambda v: v.update(evals={}), "evals must be a list, not an object"),
    "an eval that is null": (lambda v: v.update(evals=[None]), "evals 1 must be an object, not null"),
    "an eval twice": (lambda v: v["evals"].append(first(v)), "eval 'sakura[animal]' is there twice"),
    "an eval without scorers": (
        lambda v: first(v).update(scorers=[]),
        "evals 'sakura[animal]', scorers must be a list of length at least 1, not of 0",
    ),
    "a scorer twice": (
        lambda v: first(v)["scorers"].append(first(v)["scorers"][0]),
        "eval 'sakura[animal]', scorer 'letters' is there twice",
    ),
    "a metric twice": (
        lambda v: (metrics := first(v)["scorers"][0]["metrics"]).append(metrics[0]),
        "scorer 'letters', metric 'accuracy' is there twice",
    ),
    "a statistic twice": (
        lambda v: first(v)["scorers"][0].update(statistics=["correct", "correct"]),
        "scorer 'letters', statistic 'correct' is there twice",
    ),
    "limited as a number": (lambda v: first(v).update(limited=0), "limited must be true or false, not 0"),
    "a sample twice": (
        lambda v: first(v)["samples"].append(first(v)["samples"][0]),
        "eval 'sakura[animal]', sample and epoch 'a' (epoch 0) is there twice",
    ),
    "a negative epoch": (
        lambda v: first(v)["samples"][0].__setitem__(1, -1),
        "samples 'a', epoch must be a whole number of at least 0, not -1",
    ),
    "an epoch too many": (
        lambda v: first(v)["samples"][0].__setitem__(1, 1),
        "must be below the eval's 1 epochs, not 1",
    ),
    "an id that is a number": (
        lambda v: first(v)["samples"][1].__setitem__(0, 7),
        "samples 2, id must be a text, not 7",
    ),
    "a line too short": (
        lambda v: first(v)["samples"][0].pop(),
        "samples 'a' must be a list of length at least 8, not of 7",
    ),
    "a line too long": (
        lambda v: first(v)["samples"][0].extend([{}, {}]),
        "samples 'a' must be a list of length at most 9, not of 10",
    ),
    "a score too many": (with_entry(2, [[1, 2]]), "sample 'a', scores by 'letters' must be 1 numbers (correct)"),
    "a score with its own name": (
        with_entry(2, [{"correct": 1}]),
        "scores by 'letters' must be a list, since the scorer names the statistics",
    ),
    "a reading's scores missing": (
        lambda v: first(v)["samples"][0].__setitem__(2, []),
        "sample 'a', scores must have an entry for each of the 1 scorers",
    ),
    "a score of text": (with_entry(2, [["1"]]), "must be a number, not '1'"),
    "a score beyond all floats": (
        lambda v: first(v)["samples"][0].__setitem__(2, [[10**400]]),
        "must be a finite number",
    ),
    "an unknown group": (
        lambda v: first(v)["samples"][0].__setitem__(6, "zz"),
        "must be null or a key of the eval's groups",
    ),
    "an unknown status": (
        with_entry(None, {"statuses": ["fine"]}),
        "must be one of 'parsed', 'unparsed', 'refused', 'empty', 'out_of_range', 'truncated', 'error', not 'fine'",
    ),
    "a status too many": (
        with_entry(None, {"statuses": ["parsed", "parsed"]}),
        "sample 'a', statuses must have an entry for each of the 1 scorers",
    ),
    "scores of what could not be asked": (
        with_entry(None, {"statuses": ["error"]}),
        "scores must be null where the status is error",
    ),
    "the eval's prompt, of which there is none": (
        lambda v: first(v).update(prompt=None),
        "sample 'a', prompt is the eval's, which has none",
    ),
    "a text without end": (
        with_entry(None, {"text": "x" * 5000}),
        "text must be a text of length at most 2000, not of 5000",
    ),
    "statistics that a metric lacks": (
        lambda v: first(v)["scorers"][0].update(statistics=["right"]),
        "sample 'a' has no 'correct', of which accuracy by 'letters' is made",
    ),
    "its own direction": (
        lambda v: first(v)["scorers"][0]["metrics"][0].update(direction="up"),
        "metrics 'accuracy', direction must be one of 'higher', 'lower', not 'up'",
    ),
    "half of a character in a word that is chosen": (
        lambda v: first(v)["scorers"][0]["metrics"][0].update(direction="\ud800"),
        "'\\ud800' has half of a surrogate pair",
    ),
    "half of a character in a key": (lambda v: v.update({"\ud800": 1}), "has half of a surrogate pair"),
}


@pytest.mark.parametrize(("change", "says"), EDITS.values(), ids=EDITS)
def test_an_edit_by_hand_is_named_with_its_place(plain, change, says):
    with pytest.raises(UsageError) as error:
        decode_baseline(edited(plain, change), "main.json")
    assert str(error.value).startswith("main.json: ")
    assert says in str(error.value)
    assert str(error.value).endswith("put it back from git, or write it again with audiobench baseline update RUN")
    assert "\n" not in str(error.value)


BYTES = {
    "empty": (lambda text: b" \n", "main.json is empty"),
    "cut": (lambda text: text[: len(text) // 2], "it ends too early: the file was cut"),
    "binary": (lambda text: b"\x89PNG\r\n\x1a\n\0\xff", "line 1 is not UTF-8"),
    "broken UTF-8 in a line": (lambda text: text.replace(b"speaker 1", b"sp\xe4aker"), "is not UTF-8"),
    "a merge conflict": (
        lambda text: text.replace(b'"evals"', b'\n<<<<<<< HEAD\n"evals"'),
        "both versions of a merge conflict",
    ),
    "NaN": (lambda text: text.replace(b'"value":0.5', b'"value":NaN'), "holds NaN, which is not a number"),
    "infinity": (
        lambda text: text.replace(b'"lower":0.1', b'"lower":-Infinity'),
        "holds -Infinity, which is not a number",
    ),
    "an overflowing number": (
        lambda text: text.replace(b'"lower":0.1', b'"lower":1e999'),
        "metrics 'accuracy', lower must be a finite number",
    ),
    "too many digits": (lambda text: text.replace(b'"n":2', b'"n":' + b"9" * 5000), "a number has too many digits"),
    "nested without end": (lambda text: b"[" * 200_000, "it is nested too deep"),
    "a key twice": (lambda text: text.replace(b'"limit":null', b'"limit":null,"limit":3'), "has 'limit' twice"),
    "a pointer of git-lfs": (
        lambda text: b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
        "git lfs pull",
    ),
    "no JSON": (lambda text: b"[[threshold]]\n", "main.json is not a baseline: write one with"),
    "a list": (lambda text: b"[]", "is not a baseline: it has no schema"),
    "another schema": (
        lambda text: b'{"schema": "bench/3"}',
        "it has the schema 'bench/3' where 'audiobench.baseline/2'",
    ),
    "another release": (
        lambda text: text.replace(b"baseline/2", b"baseline/1"),
        "has the schema 'audiobench.baseline/1', which another version of pytest-audiobench wrote, and this one reads "
        "'audiobench.baseline/2': write it again with audiobench baseline update RUN",
    ),
    "a run's record": (
        lambda text: b'{"schema": "audiobench.run/2"}',
        "give the run's whole folder, or write a baseline of it",
    ),
    "a submission": (
        lambda text: b'{"schema": "audiobench.submission/2"}',
        "write its payload.evidence into a file, and name that",
    ),
}


@pytest.mark.parametrize(("change", "says"), BYTES.values(), ids=BYTES)
def test_bytes_that_are_no_baseline_are_told_in_one_sentence(plain, change, says):
    with pytest.raises(UsageError) as error:
        decode_baseline(change(encode_baseline(plain)), "main.json")
    assert says in str(error.value)
    assert str(error.value).startswith("main.json")
    assert "\n" not in str(error.value)


def test_the_line_of_a_nan_is_named(plain):
    text = encode_baseline(plain).replace(b'["b",0,[[0]]', b'["b",0,[[NaN]]')
    line = text[: text.index(b"NaN")].count(b"\n") + 1
    with pytest.raises(UsageError, match=f"main.json, line {line} holds NaN"):
        decode_baseline(text, "main.json")


def test_a_file_of_a_gigabyte_is_not_read(tmp_path):
    file = tmp_path / "huge.json"
    with file.open("wb") as out:
        out.truncate(2**30)
    with pytest.raises(UsageError, match="more than 67 MB, which no baseline does"):
        read_bounded(file)


def test_a_baseline_that_could_not_be_read_is_not_written(monkeypatch, plain):
    monkeypatch.setattr("pytest_audiobench.gate.baseline.encoding.MOST_BYTES", 100)
    with pytest.raises(UsageError, match="keep fewer protocols, leave --text out"):
        encode_baseline(plain)
    assert decoding.MOST_BYTES == MOST_BYTES


@pytest.mark.parametrize("metric", ["wer", "wil", "bleu", "keyphrase_f1_at_5", "eer_interpolated", "entity_f1"])
def test_a_metric_of_any_form_misses_its_statistics(plain, metric):
    other = replace(plain, figures={"sakura[animal]": {"letters": [msgspec.structs.replace(ACCURACY, name=metric)]}})
    with pytest.raises(UsageError, match=f"sample 'a' has no .*, of which {metric} by 'letters' is made"):
        decode_baseline(encode_baseline(other), "x")


def test_a_metric_that_only_a_conftest_knows_is_taken_as_it_is(plain):
    own = replace(
        plain,
        figures={"sakura[animal]": {"letters": [msgspec.structs.replace(ACCURACY, name="my_own", unit="widgets")]}},
    )
    assert decode_baseline(encode_baseline(own), "x").figures == own.figures


# --- properties ----------------------------------------------------------------------------------------------------

NAMES = st.text(max_size=12) | st.sampled_from(["\ud800", "a\udc80"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
DIGESTS = st.none() | st.text("0123456789abcdef", min_size=16, max_size=16)
STATISTICS = st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=4), NUMBERS, max_size=4)
STATUSES = st.sampled_from(["parsed", "unparsed", "refused", "empty", "out_of_range", "truncated"])


@st.composite
def sides(draw, name):
    epochs = draw(st.integers(1, 3))
    scorers = draw(st.dictionaries(NAMES, NAMES, min_size=1, max_size=3))
    same = draw(st.none() | st.lists(st.text(string.ascii_letters, min_size=1, max_size=4), unique=True, max_size=4))
    scores = STATISTICS if same is None else st.fixed_dictionaries(dict.fromkeys(same, NUMBERS))
    found = []
    for sample_id, epoch in draw(st.lists(st.tuples(NAMES, st.integers(0, epochs - 1)), unique=True, max_size=6)):
        given = {one: draw(st.none() | scores) for one in scorers}
        failed = draw(st.booleans())
        found.append(
            ComparableSample(
                sample_id,
                epoch,
                draw(DIGESTS),
                draw(DIGESTS),
                draw(st.none() | NAMES),
                draw(st.dictionaries(NAMES, NAMES, max_size=2)),
                {one: "error" if failed and own is None else draw(STATUSES) for one, own in given.items()},
                given,
                tuple(draw(st.lists(NAMES, max_size=2))),
                draw(st.none() | st.text(max_size=50)),
                draw(DIGESTS),
            )
        )
    return side(
        sorted(found, key=lambda one: one.identity),
        name,
        epochs=epochs,
        scorers=scorers,
        metrics={},
        limited=draw(st.booleans()),
        cluster=draw(st.none() | NAMES),
        hashes=draw(st.dictionaries(NAMES, NAMES, max_size=2)),
    )


@st.composite
def whole(draw):
    names = draw(st.lists(NAMES, unique=True, max_size=2))
    own = [draw(sides(name)) for name in names]
    return contents(
        *own,
        figures={one.eval: {} for one in own},
        run=draw(NAMES),
        limit=draw(st.none() | st.integers(1, 100)),
        missing=draw(st.lists(NAMES, max_size=2)),
    )


@given(whole())
def test_any_side_is_read_back_as_it_was(given_):
    text = encode_baseline(given_)
    found = decode_baseline(text, "main.json")
    assert found == given_
    assert encode_baseline(found) == text


def is_refused_or_read(text):
    try:
        found = decode_baseline(text, "main.json")
    except UsageError as error:
        said = str(error)
    else:
        said = ""
        assert encode_baseline(decode_baseline(encode_baseline(found), "main.json")) == encode_baseline(found)
    assert "\n" not in said


SPLICES = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 40), st.binary(max_size=8)), min_size=1, max_size=4)


@given(SPLICES)
def test_edited_bytes_are_a_baseline_or_a_usage_error(splices):
    text = encode_baseline(contents(side([row("a", text="so"), row("b", failures=("loop",))])))
    for start, length, new in splices:
        at = start % (len(text) + 1)
        text = text[:at] + new + text[at + length :]
    is_refused_or_read(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


@given(st.data())
def test_any_value_in_any_place_is_a_baseline_or_a_usage_error(data):
    value = json.loads(encode_baseline(contents(side([row("a", text="so"), row("b", failures=("loop",))]))))
    path = data.draw(st.sampled_from([one for one in places(value) if one]))
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(VALUES)
    is_refused_or_read(json.dumps(value).encode())
