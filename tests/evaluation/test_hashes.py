"""What each hash of an item covers, and what none does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.edits import gain
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.hashes import (
    ABSENT,
    ItemDigest,
    answer_payload,
    sample_payload,
    scored_hashes,
)
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import DEFAULT, multiple_choice
from pytest_audiobench.protocols.protocol import Protocol, Stage

from .tiny import RATE_HZ, Speaker, answered, clip, dataset, evaluated, handle, sample, samples

INPUTS = ("data", "audio", "prompts", "settings", "seeds", "model")
BUILT = {
    **{name: {"input_hash", "run_hash", "score_hash"} for name in INPUTS},
    "answers": {"run_hash", "score_hash"},
    "verdicts": {"score_hash"},
    "protocols": {"score_hash"},
    "input_hash": {"run_hash", "score_hash"},
}


def with_built(*names: str) -> set[str]:
    """The hashes ``names`` and all that are built upon them."""
    return set(names).union(*(BUILT[name] for name in names))


def differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if one[name] != other[name]}


def hashes(folder: Path, *args: Any, **kwargs: Any) -> dict[str, str]:
    """Those of an eval whose store is empty."""
    count = len(list(folder.iterdir()))
    (folder / str(count)).mkdir()
    return evaluated(folder / str(count), *args, **kwargs).result.record.hashes


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"question": "What is it?"}, {"data", "prompts"}),
        ({"choices": ("dog", "cat", "cow")}, {"data", "prompts"}),
        ({"choices": ("dog", "hen", "cat")}, {"data", "prompts"}),
        ({"reference": "cat"}, {"data"}),
        ({"references": ("dog",)}, {"data"}),
        ({"references": ("dog", "hound", "pup")}, {"data"}),
        ({"references": ("dog", "pup", "hound")}, {"data"}),
        ({"metadata": {"hop": "single", "speaker": "2"}}, {"data"}),
        ({"metadata": {"hops": "single", "speaker": "1"}}, {"data"}),
        ({"metadata": {"hop": "single"}}, {"data"}),
        ({"clips": (clip("other"),)}, {"audio"}),
        ({"clips": (clip("s0").edited(gain(-6.0)),)}, {"audio"}),
        ({"metadata": {"speaker": "1", "hop": "single"}}, set()),
        ({"metadata": {"speaker": 1, "hop": "single"}}, set()),
        ({"doubt": "its label is disputed"}, set()),
        ({"recordings": (clip("recording"),)}, set()),
    ],
)
def test_a_change_of_a_sample_changes_the_hashes_that_cover_it_and_no_other(
    change: dict[str, Any], changed: set[str], tmp_path: Path
) -> None:
    first = sample("s0", metadata={"hop": "single", "speaker": "1"}, references=("dog", "hound"))
    others = samples(4)[1:]
    before, after = hashes(tmp_path, [first, *others]), hashes(tmp_path, [replace(first, **change), *others])
    assert differing(before, after) == with_built(*changed)


def test_a_sample_by_another_name_is_another_one_in_all_that_names_samples(tmp_path: Path) -> None:
    before, after = (hashes(tmp_path, [sample("s0", id=name)]) for name in ("s0", "s1"))
    assert differing(before, after) == with_built("data", "prompts", "answers")


def test_more_samples_fewer_samples_and_another_clip_more_are_seen(tmp_path: Path) -> None:
    before = hashes(tmp_path, samples(3))
    assert differing(before, hashes(tmp_path, samples(4))) == with_built("data", "audio", "prompts", "answers")
    assert differing(before, hashes(tmp_path, samples(3), limit=2)) == with_built("data", "audio", "prompts", "answers")
    two = Speaker(limits=Limits(max_clips=2))
    once, twice = (hashes(tmp_path, [sample("s", clips=(clip("s"),) * count)], None, two) for count in (1, 2))
    assert differing(once, twice) == with_built("audio", "prompts")


def said(text: str, **about: Any) -> Speaker:
    return Speaker(lambda request: replace(Response.of(text), **about))


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"protocol": multiple_choice(prompt=f"Listen. {DEFAULT}")}, {"prompts"}),
        ({"protocol": multiple_choice(system="You listen.")}, {"prompts"}),
        ({"protocol": multiple_choice(max_new_tokens=255)}, {"settings"}),
        ({"protocol": multiple_choice("mmau-string")}, {"protocols"}),
        ({"protocol": multiple_choice("letters", "mmau-string")}, {"protocols"}),
        ({"epochs": 2}, {"seeds", "answers"}),
        ({"model": Speaker(name="other")}, {"model"}),
        ({"model": Speaker(limits=Limits(rate_hz=8_000))}, {"model"}),
        ({"model": Speaker(limits=Limits(max_clip_s=30.0))}, {"model"}),
        ({"model": Speaker("B")}, {"answers"}),
        ({"model": Speaker(lambda request: Response.of("A", "length"))}, {"answers"}),
        ({"model": Speaker(lambda request: Response(error="timed out"))}, {"answers"}),
        ({"own": dataset(samples(3), "birds")}, {"input_hash"}),
        ({"own": list(reversed(samples(3)))}, set()),
        ({"own": dataset(samples(3), cluster="speaker", groups=("hop",), note="beware")}, set()),
        ({"model": Speaker(limits=Limits(max_batch=1))}, set()),
        ({"model": handle(Speaker(), "another")}, set()),
        ({"model": said("A", latency_s=2.0, usage={"completion_tokens": 9})}, set()),
        ({"item": {"index": 7, "nodeid": "b.py::test", "eval": "b", "suite": "b", "part": 2}}, set()),
    ],
)
def test_a_change_of_the_asking_changes_the_hashes_that_cover_it_and_no_other(
    change: dict[str, Any], changed: set[str], tmp_path: Path
) -> None:
    before, after = hashes(tmp_path, samples(3)), hashes(tmp_path, **{"own": samples(3), **change})
    assert differing(before, after) == with_built(*changed)


def test_the_limits_of_batches_are_part_of_a_model_whose_answers_depend_on_them(tmp_path: Path) -> None:
    eight, nine = (Speaker(batching="planned", limits=Limits(max_batch=count)) for count in (8, 9))
    assert differing(hashes(tmp_path, samples(3), None, eight), hashes(tmp_path, samples(3), None, nine)) == with_built(
        "model"
    )


def test_why_asking_failed_is_in_no_hash_and_that_it_did_is_no_empty_answer(tmp_path: Path) -> None:
    late, refused, empty = (
        Speaker(lambda request, own=own: own)  # type: ignore[misc]
        for own in (Response(error="timed out"), Response(error="refused"), Response.of(""))
    )
    failed = hashes(tmp_path, samples(2), None, late)
    assert failed == hashes(tmp_path, samples(2), None, refused)
    assert differing(failed, hashes(tmp_path, samples(2), None, empty)) == with_built("answers")


def test_where_a_file_lies_and_what_it_is_called_is_in_no_hash(tmp_path: Path) -> None:
    found = []
    for number, (root, name) in enumerate((("calls", "a.wav"), ("calls", "b/c.wav"), ("shelf", "a.wav"))):
        folder = tmp_path / f"data{number}"
        (folder / name).parent.mkdir(parents=True)
        soundfile.write(folder / name, clip("calls").source.samples, RATE_HZ)  # type: ignore[union-attr]
        file = Clip(FileSource(DataRoot(root, folder), name))
        (tmp_path / f"run{number}").mkdir()
        found.append(hashes(tmp_path / f"run{number}", [sample("s", clips=(file,))]))
    assert found[0] == found[1] == found[2]


def test_an_answer_of_the_second_epoch_is_hashed_as_such(tmp_path: Path) -> None:
    first, second = (
        Speaker(lambda request, epoch=epoch: "B" if request.epoch == epoch else "A")  # type: ignore[misc]
        for epoch in (0, 1)
    )
    there, here = (hashes(tmp_path, samples(2), None, model, epochs=2) for model in (first, second))
    assert differing(there, here) == with_built("answers")


JUDGED = judged(multiple_choice())


@pytest.mark.parametrize(
    ("protocol", "judges", "changed"),
    [
        (JUDGED, {"j": Speaker("No")}, {"verdicts"}),
        (JUDGED, {"j": Speaker(lambda request: Response(error="timed out"))}, {"verdicts"}),
        (JUDGED, {"j": Speaker("Yes", name="other")}, {"verdicts", "protocols"}),
        (judged(multiple_choice(), max_new_tokens=77), {"j": Speaker("Yes")}, {"verdicts", "protocols"}),
        (JUDGED, {"other": Speaker("Yes")}, set()),
    ],
)
def test_what_a_judge_said_and_who_it_is_changes_the_score_and_neither_the_input_nor_the_run(
    protocol: Protocol, judges: dict[str, Speaker], changed: set[str], tmp_path: Path
) -> None:
    before = hashes(tmp_path, samples(3), JUDGED, judges={"j": Speaker("Yes")})
    assert differing(before, hashes(tmp_path, samples(3), protocol, judges=judges)) == with_built(*changed)
    unjudged = hashes(tmp_path, samples(3))
    assert {name for name in unjudged if unjudged[name] != before[name]} == {"protocols", "score_hash"}


def test_where_no_sample_has_its_audio_here_the_word_absent_stands_for_it(tmp_path: Path) -> None:
    gone = Clip(FileSource(DataRoot("calls", tmp_path / "nowhere"), "a.wav"))
    replay = Speaker(listens=False)
    (tmp_path / "runs").mkdir()
    here, there = sample("s0"), sample("s1", clips=(gone,))
    assert hashes(tmp_path / "runs", [replace(here, clips=(gone,)), there], None, replay)["audio"] == ABSENT
    partly = hashes(tmp_path / "runs", [here, there], None, replay)
    assert partly["audio"] not in (ABSENT, hashes(tmp_path / "runs", [here, replace(there, clips=here.clips)])["audio"])


def asked_of(own: Sample, keys: tuple[str, ...], before: tuple[str, ...] | None, unchanged: bool) -> str:
    stage = Stage("answer", lambda sample, earlier: (Message("user", (AudioSlot(0),)),), unchanged=unchanged)
    protocol = Protocol("asking", (stage,), (), {})
    as_before = None if before is None else SelectedSample(own, 0, before, (1.0,), None)
    selected = SelectedSample(own, 0, keys, (1.0,), None, unchanged=as_before)
    digest = ItemDigest(protocol)
    digest.add([answered(own)._replace(selected=selected)])
    return digest.hashes("animals", "model", 1)["audio"]


def test_where_a_stage_is_played_the_clips_before_the_perturbation_both_are_hashed() -> None:
    def audio(*args: Any) -> str:
        return asked_of(sample("s"), *args)

    assert audio(("noisy",), ("clean",), False) == audio(("noisy",), ("other",), False)
    assert audio(("noisy",), ("clean",), True) != audio(("noisy",), ("other",), True)
    assert audio(("noisy",), ("clean",), True) != audio(("noisier",), ("clean",), True)
    # What the perturbation did not change is its own clip before.
    assert audio(("clean",), None, True) == audio(("clean",), ("clean",), True)


def test_every_hash_can_be_computed_from_its_description(tmp_path: Path) -> None:
    """As docs/architecture.md describes them, by other code."""

    def hashed(payload: object) -> str:
        written = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()

    own = [sample("é", metadata={"hop": 2, "a": None}, references=("dog", "hound")), *samples(2)]
    own.sort(key=lambda one: hashlib.sha256(one.id.encode()).digest())
    protocol = judged(multiple_choice())
    judge, model = Speaker("Yes", name="judge"), Speaker(lambda request: "B" if request.epoch else "A")
    done = evaluated(tmp_path, own[::-1], protocol, model, judges={"j": judge}, epochs=2)

    def settings(tokens: int) -> dict[str, object]:
        return {"max_new_tokens": tokens, "temperature": "0", "top_p": "1"}

    def identity(name: str) -> str:
        return hashed({"fingerprint": {"name": name}, "heard": "16000 Hz, None s", "batches": ""})

    prompt = "Which animal is it?\n(A) dog\n(B) cat\n(C) hen"
    (text,) = {request.messages[0].parts[1] for request in model.requests}
    assert isinstance(text, str)
    assert prompt in text
    metadata = {"é": [["a", "None"], ["hop", "2"]]}
    expected = {
        "data": hashed(
            [
                [one.id, one.question, one.choices, one.reference, metadata.get(one.id, [])]
                + ([["dog", "hound"]] if one.references else [])
                for one in own
            ]
        ),
        "audio": hashed([[one.clips[0].source.digest] for one in own]),  # type: ignore[union-attr]
        "prompts": hashed([[one.id, [["user", [0, text]]]] for one in own]),
        "settings": hashed([["answer", "subject", "choice", settings(256)]]),
        "seeds": hashed({"epochs": 2}),
        "model": identity("speaker"),
    }
    expected["input_hash"] = hashed({"dataset": "animals", **expected})
    expected["answers"] = hashed(
        [[one.id, epoch, None, [["answer", [[[["text", "AB"[epoch]]], "stop"]]]]] for epoch in range(2) for one in own]
    )
    expected["run_hash"] = hashed({name: expected[name] for name in ("input_hash", "answers")})
    expected["protocols"] = hashed([[one.name, one.signature] for one in done.result.record.scorers])
    (judging,) = (one for one in protocol.judgings if one.name == "yes-no")
    verdicts = [[one.id, epoch, [[["text", "Yes"]], "stop"]] for epoch in range(2) for one in own]
    expected["verdicts"] = hashed(
        [["yes-no", "judge", settings(judging.settings.max_new_tokens), identity("judge"), verdicts]]
    )
    expected["score_hash"] = hashed({name: expected[name] for name in ("run_hash", "protocols", "verdicts")})
    assert done.result.record.hashes == expected


texts = st.sampled_from(["", "a", "b", "1", "None"])
fields = st.dictionaries(st.sampled_from(["x", "y"]), texts | st.sampled_from([1, None, True]), max_size=2)
several = st.lists(texts, max_size=2).map(tuple)
drawn = st.builds(Sample, texts, st.just(()), texts, several, texts, fields, references=several, doubt=texts)


@given(drawn, drawn)
def test_two_samples_have_the_same_data_only_where_all_that_is_asked_and_true_is_the_same(one, other):
    def covered(own):
        told = {name: str(value) for name, value in own.metadata.items()}
        return own.id, own.question, own.choices, own.reference, own.references, told

    assert (sample_payload(one) == sample_payload(other)) == (covered(one) == covered(other))


answers = st.tuples(texts, st.sampled_from(["stop", "length"]), st.integers(0, 1), st.none() | texts)


@given(answers, answers)
def test_two_answers_are_the_same_only_in_text_finish_epoch_and_what_a_rewriter_wrote(one, other):
    there, here = (
        answer_payload(
            answered(
                sample("s"),
                epoch=epoch,
                responses={"answer": Response.of(text, finish)},
                rewritten={} if rewritten is None else {"mistaken": Response.of(rewritten)},
            )
        )
        for text, finish, epoch, rewritten in (one, other)
    )
    assert (there == here) == (one == other)


def test_a_judges_scorer_is_hashed_without_the_judges_name() -> None:
    scorer = multiple_choice().scorers[0]
    named = [replace(scorer, name=f"{scorer.name}{judge}") for judge in ("", "@one", "@other@one")]
    built = [scored_hashes("animals", dict.fromkeys(INPUTS, "x"), "answers", [each])["protocols"] for each in named]
    assert built[0] == built[1] == built[2]
