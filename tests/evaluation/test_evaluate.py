"""One eval from its samples to its record: what is checked first, what is asked, and what the record says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import asdict

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.edits import gain
from pytest_audiobench.datasets.dataset import perturb
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation, per_clip
from pytest_audiobench.errors import NotComparable, UnsuitableModel, UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.prompt_sets import PromptSet
from pytest_audiobench.protocols.prompt_variants import with_prompt_variants
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import ErrorRecord

from .tiny import Speaker, clip, dataset, evaluated, sample, samples

GONE = Clip(FileSource(DataRoot("calls", Path("/nowhere")), "gone.wav"))


def test_what_was_asked_once_is_never_asked_again(tmp_path: Path) -> None:
    first, second = Speaker(), Speaker()
    asked = evaluated(tmp_path, samples(5), None, first, limit=3).result.record
    assert (len(first.requests), asked.asking.asked, asked.asking.known) == (3, 3, 0)
    whole = evaluated(tmp_path, samples(5), None, second).result.record
    assert (len(second.requests), whole.asking.asked, whole.asking.known) == (2, 2, 3)
    assert not {request.key for request in first.requests} & {request.key for request in second.requests}
    idle = Speaker()
    again = evaluated(tmp_path, samples(5), multiple_choice("letters", "mmau-string"), idle).result.record
    assert idle.batches == []
    assert again.hashes["run_hash"] == whole.hashes["run_hash"]


def test_every_epoch_is_asked_anew_and_a_sample_counts_once(tmp_path: Path) -> None:
    model = Speaker()
    record = evaluated(tmp_path, samples(4), None, model, epochs=3).result.record
    assert (record.n, record.epochs, record.scorers[0].coverage.n, len(model.requests)) == (4, 3, 12, 12)
    assert sorted({request.epoch for request in model.requests}) == [0, 1, 2]
    assert record.agreement is not None


def test_two_samples_that_ask_the_same_are_asked_once(tmp_path: Path) -> None:
    model = Speaker()
    done = evaluated(tmp_path, [sample("a"), sample("b", clips=(clip("a"),))], None, model)
    assert len(model.requests) == 1
    assert [one.responses["answer"].text for one in done.answers] == ["A", "A"]


def test_what_is_held_against_a_baseline_is_known_before_anything_is_asked(tmp_path: Path) -> None:
    model = Speaker()

    def refuse(selection, protocol):
        assert [taken.sample.id for taken in selection.samples] == ["s0"]
        assert protocol.name == "multiple_choice"
        raise NotComparable("another task")

    with pytest.raises(NotComparable):
        evaluated(tmp_path, samples(1), None, model, item={"ready": refuse})
    assert model.batches == []


def test_what_a_model_cannot_do_and_a_protocol_lacks_is_found_before_anything_is_asked(tmp_path: Path) -> None:
    transcriber = Speaker(limits=Limits(tasks=("transcription", "open")))
    with pytest.raises(
        UnsuitableModel, match="can do transcription and open and nothing else, and animals asks it for choice"
    ):
        evaluated(tmp_path, samples(1), None, transcriber)
    plain = multiple_choice()
    incomplete = replace(plain, scorers=(replace(plain.scorers[0], missing_parts=lambda: "install the parts"),))
    model = Speaker()
    with pytest.raises(UsageError, match="the scorer letters cannot be used here: install the parts"):
        evaluated(tmp_path, samples(1), incomplete, model)
    assert [transcriber.batches, model.batches] == [[], []]


def test_a_judge_need_not_be_able_to_do_what_the_model_is_asked_for_nor_the_model_what_the_judge_is(
    tmp_path: Path,
) -> None:
    judge = Speaker("Yes", limits=Limits(tasks=("open",)), listens=False)
    chooser = Speaker("B", limits=Limits(tasks=("choice",)))
    done = evaluated(tmp_path, samples(2), judged(multiple_choice()), chooser, judges={"j": judge})
    assert float(done.result["accuracy[scorer=yes-no]"]) == 1.0
    assert {request.stage for request in judge.requests} == {"yes-no@j"}


def test_the_runs_protocols_read_the_evals_that_have_them_and_leave_others_alone(tmp_path: Path) -> None:
    def scorers(*names: str) -> list[str]:
        done = evaluated(tmp_path, samples(2), multiple_choice("kimi-vb"), scorers=names)
        return [scorer.name for scorer in done.result.record.scorers]

    assert scorers() == ["kimi-vb"]
    assert scorers("mmau-string", "letters") == ["mmau-string", "letters"]
    # Another family's scorer chooses nothing here.
    assert scorers("whisper-en") == ["kimi-vb"]
    assert len(scorers("all")) > 5


def test_the_runs_prompts_take_the_place_of_an_evals_own_words_however_it_asks(tmp_path: Path) -> None:
    one, two, three = (PromptSet(name, (f"{name} {{question}}\n{{options}}",)) for name in ("One.", "Two.", "Three."))
    model = Speaker()
    evaluated(tmp_path, samples(1), with_prompt_variants(multiple_choice(), one), model, prompts=[two])
    assert [str(request.messages[0].parts[1])[:4] for request in model.requests] == ["Two."]
    again = evaluated(tmp_path, samples(1), multiple_choice(prompt=three.paraphrases[0]), model, prompts=[two])
    # The same words are the same request, which was answered already.
    assert len(model.requests) == 1
    assert again.result.record.asking.known == 1


def test_a_failed_sample_is_named_and_the_others_are_scored(tmp_path: Path) -> None:
    def says(request):
        return Response(error="the server hung up") if request.sample_id == "s1" else "A"

    record = evaluated(tmp_path, [*samples(3), sample("gone", clips=(GONE,))], None, Speaker(says)).result.record
    messages = {error.sample_id: error.message for error in record.errors}
    assert set(messages) == {"s1", "gone"}
    assert messages["s1"] == "the server hung up"
    assert "gone.wav" in messages["gone"]
    assert (record.scorers[0].coverage.errors, record.metrics[0].n, record.metrics[0].value) == (2, 2, 1.0)


def test_a_failure_of_asking_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    down, up = Speaker(lambda request: Response(error="the server hung up")), Speaker()
    assert evaluated(tmp_path, samples(2), None, down).result.errors == 2
    assert evaluated(tmp_path, samples(2), None, up).result.errors == 0
    assert len(up.requests) == 2


def test_only_the_first_errors_are_named_and_those_of_answers_before_those_of_verdicts(tmp_path: Path) -> None:
    failing = Speaker(lambda request: Response(error="no"))
    assert len(evaluated(tmp_path, samples(25), None, failing).result.record.errors) == 20

    def says(request):
        return Response(error="no answer") if request.sample_id == "s1" else "A"

    judge = Speaker(lambda request: Response(error="no verdict"), listens=False)
    record = evaluated(
        tmp_path, samples(2), judged(multiple_choice()), Speaker(says, name="half"), judges={"j": judge}
    ).result.record
    assert record.errors == [
        ErrorRecord("s1", "no answer"),
        ErrorRecord("s0", "yes-no@j: no verdict"),
    ]


def test_a_verdict_that_could_not_be_had_is_an_error_of_the_judges_scorers_alone(tmp_path: Path) -> None:
    def says(request):
        return (
            Response(error="no verdict") if request.sample_id == "s0" else "Yes" if request.sample_id == "s1" else "hm"
        )

    done = evaluated(
        tmp_path, samples(4), judged(multiple_choice()), Speaker(), judges={"j": Speaker(says, listens=False)}
    )
    record = done.result.record
    coverage = {scorer.name: scorer.coverage for scorer in record.scorers}
    assert (coverage["letters"].errors, coverage["letters"].parsed) == (0, 4)
    assert (coverage["yes-no"].errors, coverage["yes-no"].parsed) == (1, 1)
    assert coverage["yes-no-vs-letters"].errors == 1
    assert done.result.errors == 0
    names = ("accuracy", "accuracy[scorer=yes-no]", "accuracy[scorer=yes-no-kept]")
    assert [done.result[name].n for name in names] == [4, 1, 3]
    assert record.judges["j"].errors == 1
    assert record.judges["j"].asked == 3
    assert "2 of 3 verdicts of yes-no@j could not be read" in record.warnings


def test_warnings_say_what_a_reader_of_the_numbers_must_know(tmp_path: Path) -> None:
    def warnings(own, model, **changes):
        return evaluated(tmp_path, own, None, model, **changes).result.record.warnings

    assert warnings(samples(3), Speaker()) == []
    assert warnings(dataset(samples(3), note="indoors"), Speaker(), limit=2) == [
        "indoors",
        "limited to 2 of 3 samples: its numbers are never comparable with a full run's",
    ]
    long = [sample(str(length), clips=(clip(str(length), length),)) for length in (1.5, 0.5, 1.25)]
    assert warnings(long, Speaker(limits=Limits(max_clip_s=1.0))) == [
        "2 of 3 samples were cut to the model's window (up to 0.5 s lost)"
    ]
    broken = warnings(samples(1), Speaker("\ud800A", name="broken"))
    assert broken[0] == "1 texts had invalid characters or were cut"
    assert broken[1].startswith("alarm: 1 of 1 answers could not be parsed (1 unparsed)")
    assert warnings(samples(1, clips=(GONE,)), Speaker(listens=False, name="replay")) == [
        "the audio is not on this machine: the answers are scored without a clip's identity"
    ]


def test_the_record_says_what_was_asked_how_and_of_whom_in_plain_json(tmp_path: Path) -> None:
    quiet = Perturbation(
        "quiet", "gain", per_clip(lambda places: lambda clip, place: clip.edited(gain(-20.0))), 20.0, "dB"
    )
    own = samples(4, metadata={"hop": "a"})[:2] + [replace(one, metadata={"hop": "b"}) for one in samples(4)[2:]]
    data = perturb(dataset(own, cluster="hop"), quiet)
    place = {"index": 3, "nodeid": "t.py::x", "eval": "t/x", "suite": "t", "part": 1, "control": True}
    judge = Speaker("Yes", listens=False)
    protocol = judged(multiple_choice(max_new_tokens=9))
    done = evaluated(tmp_path, data, protocol, item=place, judges={"j": judge})
    record = done.result.record
    assert (record.index, record.nodeid, record.eval, record.suite, record.part, record.control) == tuple(
        place.values()
    )
    assert (record.dataset, record.protocol, record.model) == ("animals+quiet", "multiple_choice", "model")
    assert (record.groups, record.cluster, record.limited) == (["hop"], "hop", False)
    assert record.perturbation is not None
    assert (record.perturbation.name, record.perturbation.dose, record.perturbation.unit) == ("quiet", 20.0, "dB")
    assert [(stage.name, stage.role, stage.judge) for stage in record.stages] == [
        ("answer", "subject", ""),
        ("yes-no@j", "judge", "j"),
    ]
    assert record.stages[0].settings == {"max_new_tokens": 9, "temperature": "0", "top_p": "1"}
    assert record.options["max_new_tokens"] == 9
    assert json.loads(json.dumps(plain(record), allow_nan=False))["eval"] == "t/x"


def test_only_a_model_that_listens_has_a_speed(tmp_path: Path) -> None:
    (tmp_path / "replay").mkdir()
    assert [one.name for one in evaluated(tmp_path, samples(2)).result.record.speed][:2] == ["samples_per_s", "rtfx"]
    replay = evaluated(tmp_path / "replay", samples(2), None, Speaker(listens=False)).result.record
    assert (replay.speed, replay.taken) == ([], {})


def test_answers_that_are_known_are_counted_over_all_epochs(tmp_path: Path) -> None:
    counts = [asdict(evaluated(tmp_path, samples(3), epochs=2).result.record.asking) for _ in range(2)]
    assert [(count["asked"], count["known"]) for count in counts] == [(6, 0), (0, 6)]
