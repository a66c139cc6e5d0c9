"""One eval as another run of it can be held against it: before anything was asked, and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.edits import gain
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation, per_clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.comparable_eval import (
    ComparableEval,
    audio_digest,
    comparable_ahead,
    comparable_eval,
    comparable_rows,
    metrics_by_scorer,
    prompt_digest,
    truth_digest,
)
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, statistics_of
from pytest_audiobench.evaluation.selection import Selection, cluster_of
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.prompt_sets import PromptSet
from pytest_audiobench.protocols.prompt_variants import with_prompt_variants
from pytest_audiobench.protocols.protocol import Protocol

from .tiny import Speaker, clip, dataset, evaluated, handle, sample, samples

GONE = Clip(FileSource(DataRoot("calls", Path("/nowhere")), "gone.wav"))
TWO = PromptSet("two", ("Listen. {question}\n{options}", "Hear this. {question}\n{options}"))
QUIET = Perturbation("quiet", "gain", per_clip(lambda places: lambda clip, place: clip.edited(gain(-20.0))))


def both_sides(
    folder: Path,
    own: list[Sample] | Dataset,
    protocol: Protocol | None = None,
    model: Speaker | None = None,
    **changes: Any,
) -> tuple[ComparableEval, ComparableEval]:
    """The side ahead of the asking and the one after it."""
    speaker = model or Speaker()
    ahead: list[ComparableEval] = []

    def ready(selection: Selection, fitting: Protocol) -> None:
        assert not speaker.batches
        ahead.append(comparable_ahead("t", handle(speaker), selection, fitting, changes.get("epochs", 1)))

    done = evaluated(folder, own, protocol, speaker, item={"ready": ready}, **changes)
    return ahead[0], comparable_eval(
        done.result.record, list(comparable_rows(done.result.record, done.rows)), spec=speaker.spec
    )


def certain(row: ComparableSample) -> tuple[object, ...]:
    failed = {name for name, status in row.statuses.items() if status == "error"}
    return row.identity, row.audio, row.prompt, row.truth, failed


@pytest.mark.parametrize(
    ("own", "protocol", "changes"),
    [
        (samples(5), multiple_choice(), {}),
        (samples(5), multiple_choice("letters", "mmau-string"), {"epochs": 2}),
        (samples(5), with_prompt_variants(multiple_choice(), TWO), {"limit": 3}),
        (perturb(dataset(samples(3)), QUIET), multiple_choice(), {}),
        ([*samples(2), sample("gone", clips=(GONE,))], multiple_choice(), {}),
    ],
)
def test_what_is_certain_ahead_of_the_asking_is_the_same_after_it(
    own: list[Sample] | Dataset, protocol: Protocol, changes: dict[str, Any], tmp_path: Path
) -> None:
    ahead, after = both_sides(tmp_path, own, protocol, **changes)
    assert [certain(row) for row in ahead.rows] == [certain(row) for row in after.rows]
    for name in ("source", "eval", "model", "spec", "dataset", "protocol", "epochs", "limited", "cluster", "scorers"):
        assert getattr(ahead, name) == getattr(after, name), name
    assert ahead.headline == after.headline == "letters"
    assert ahead.hashes["settings"] == after.hashes["settings"]
    assert all(set(metrics) <= set(after.metrics[name]) for name, metrics in ahead.metrics.items())


def test_a_sample_that_cannot_be_asked_counts_as_failed_ahead_and_every_other_as_answered(tmp_path: Path) -> None:
    ahead, after = both_sides(tmp_path, [sample("here"), sample("gone", clips=(GONE,))])
    rows = {row.sample_id: row for row in ahead.rows}
    assert (rows["here"].statuses, rows["here"].scores) == ({"letters": "parsed"}, {"letters": {}})
    assert (rows["gone"].statuses, rows["gone"].scores) == ({"letters": "error"}, {"letters": None})
    assert (rows["gone"].audio, rows["gone"].prompt) == (None, None)
    (lost,) = (row for row in after.rows if row.sample_id == "gone")
    assert (lost.statuses, lost.scores, lost.text) == ({"letters": "error"}, {"letters": None}, None)


def test_a_row_holds_what_every_scorer_made_of_the_answer_with_its_text_groups_and_cluster(tmp_path: Path) -> None:
    own = [sample("a", metadata={"hop": 2, "speaker": "x", "seed": 4}), sample("b", metadata={"hop": 1}, clips=())]
    data = dataset(own, cluster="speaker", groups=("hop",))
    _, after = both_sides(tmp_path, data, multiple_choice("letters", "mmau-string"), Speaker("dog"))
    rows = {row.sample_id: row for row in after.rows}
    assert rows["a"].statuses == {"letters": "parsed", "mmau-string": "parsed"}
    assert rows["a"].scores == {"letters": {"correct": 1.0}, "mmau-string": {"correct": 1.0}}
    assert (rows["a"].text, rows["a"].groups, rows["a"].cluster) == ("dog", {"hop": "2"}, "x")
    # A sample without the field that names clusters has none that another eval could know.
    assert rows["b"].cluster is None
    assert rows["a"].is_in({"hop": "2"})
    assert rows["a"].is_in({})
    assert not rows["a"].is_in({"hop": "1"})
    assert not rows["a"].is_in({"seed": "4"})
    assert after.metrics == {"letters": ["accuracy", "coverage"], "mmau-string": ["accuracy", "coverage"]}


def test_a_recording_is_the_cluster_where_the_data_set_names_none_and_under_any_perturbation(tmp_path: Path) -> None:
    data = dataset(samples(2))
    (tmp_path / "clean").mkdir()
    _, clean = both_sides(tmp_path / "clean", data)
    _, quiet = both_sides(tmp_path, perturb(data, QUIET))
    assert [row.cluster for row in clean.rows] == [row.cluster for row in quiet.rows]
    assert len({row.cluster for row in clean.rows}) == 2
    assert not {row.audio for row in clean.rows} & {row.audio for row in quiet.rows}
    done = evaluated(tmp_path, data).answers[0].selected
    assert cluster_of(done, None) == done.recording
    assert cluster_of(done, "speaker") is None


def test_a_sample_that_failed_in_a_later_wording_has_no_prompt_to_be_held_to(tmp_path: Path) -> None:
    def says(request):
        return Response(error="timed out") if request.stage == "answer@2" and request.sample_id == "s0" else "A"

    _, after = both_sides(tmp_path, samples(2), with_prompt_variants(multiple_choice(), TWO), Speaker(says))
    assert {row.sample_id: row.prompt is None for row in after.rows} == {"s0": True, "s1": False}
    (tmp_path / "plain").mkdir()
    late = Speaker(lambda request: Response(error="timed out"))
    ahead, after = both_sides(tmp_path / "plain", samples(2), None, late)
    assert [row.prompt for row in after.rows] == [row.prompt for row in ahead.rows]


def test_the_digest_of_clips_is_of_all_of_them_in_order_and_of_none_that_is_not_known() -> None:
    keys = ("k1", "k2")
    assert len({audio_digest(own) for own in (keys, keys[::-1], keys[:1], ())}) == 4
    assert audio_digest(None) is None
    assert audio_digest(("k1", None)) is None
    assert len(audio_digest(keys) or "") == 16


def test_the_digest_of_prompts_is_of_what_is_asked_of_the_sample_alone_in_every_wording() -> None:
    first, second, changed = [["user", [0, "Listen."]]], [["user", [0, "Hear."]]], [["user", [0, "Attend."]]]
    plain = prompt_digest({"answer": first})
    assert plain is not None
    # What a later stage asks depends on what was answered.
    assert prompt_digest({"answer": first, "changed": second}) == plain
    worded = prompt_digest({"answer": first, "answer@2": second})
    assert len({plain, worded, prompt_digest({"answer": first, "answer@2": changed})}) == 3
    assert prompt_digest({"answer": first, "answer@2": None}) is None
    assert prompt_digest({}) is None


def test_the_digest_of_the_truth_is_of_choices_and_references_in_order() -> None:
    digests = {
        truth_digest(("dog", "cat"), "dog", ()),
        truth_digest(("cat", "dog"), "dog", ()),
        truth_digest(("dog",), "dog", ()),
        truth_digest(("dog", "cat"), "cat", ()),
        truth_digest(("dog", "cat"), "dog", ("dog",)),
        truth_digest(("dog", "cat"), "dog", ("dog", "hound")),
        truth_digest(("dog", "cat"), "dog", ("hound", "dog")),
    }
    assert len(digests) == 7


def row(status: str, scores: dict[str, float] | None, *failures: str) -> ComparableSample:
    return ComparableSample("s", 0, None, None, None, {}, {"letters": status}, {"letters": scores}, failures)


def test_a_share_is_drawn_from_how_a_sample_was_answered_and_a_score_from_its_statistics() -> None:
    right = row("parsed", {"correct": 1.0}, "loop")
    assert statistics_of(right, "letters", "accuracy") == {"correct": 1.0}
    assert statistics_of(right, "letters", "loop") == {"parsed": 1.0, "skipped": 0.0, "loop": 1.0}
    failed, skipped = row("error", None), row("unparsed", None, "refused")
    assert statistics_of(failed, "letters", "accuracy") is None
    assert statistics_of(failed, "letters", "errors") == {"errors": 1.0, "skipped": 0.0}
    # How the headline failed to read it is not how this scorer did.
    assert statistics_of(skipped, "letters", "skipped") == {"unparsed": 1.0, "skipped": 1.0}


def test_numbers_that_a_test_recorded_itself_are_no_scorers() -> None:
    pairs = [("b", "wer"), (None, "gain"), ("a", "accuracy"), ("b", "coverage"), ("b", "wer")]
    assert metrics_by_scorer(pairs) == {"b": ["wer", "coverage"], "a": ["accuracy"]}
    assert list(metrics_by_scorer(pairs)) == ["b", "a"]


def test_another_clip_is_other_audio_and_no_other_prompt(tmp_path: Path) -> None:
    _, plain = both_sides(tmp_path, [sample("s")])
    (tmp_path / "other").mkdir()
    _, other = both_sides(tmp_path / "other", [sample("s", clips=(clip("other"),))])
    assert plain.rows[0].audio != other.rows[0].audio
    assert plain.rows[0].prompt == other.rows[0].prompt


def test_an_eval_is_comparable_under_its_suite_and_its_cluster_and_rows_keep_how_answers_failed(tmp_path: Path) -> None:
    own = dataset(samples(3, metadata={"recording": "r"}), cluster="recording")
    ahead, after = both_sides(tmp_path, own, model=Speaker("cat " * 40))
    assert after.suite == "t"
    assert (ahead.cluster, after.cluster) == ("recording", "recording")
    assert all("loop" in row.failures for row in after.rows)
