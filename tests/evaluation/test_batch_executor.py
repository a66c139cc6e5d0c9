"""What is known is not asked; what is asked is kept, whatever fails."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.errors import FatalError, InfrastructureError, SampleError, TransientError
from pytest_audiobench.evaluation import batch_executor, batch_plan, batches_in_flight
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Output, Part, Response
from pytest_audiobench.models.model import Limits

from .meter import RATE_HZ, Meter, ask, in_order, known_responses, measurement, other_process, question, texts, tone

HOLDER = """
import sys
from pathlib import Path
from pytest_audiobench.models.messages import Response
from pytest_audiobench.evaluation.batch_executor import BatchLocks
from pytest_audiobench.evaluation.answer_store import Store

locks, key = BatchLocks(Path(sys.argv[1])), bytes.fromhex(sys.argv[2])
assert locks.acquire(key)
print("ready", flush=True)
if answer := sys.stdin.readline().strip():
    with Store(Path(sys.argv[3]), "run") as store:
        store.put_batch({key: (Response.of(answer), {})}, {})
"""


def unwell(*sample_ids):
    """What a model says that cannot answer these samples, as long as they are among them."""
    return lambda ask: Response(error="unwell") if ask.request.sample_id in sample_ids else measurement(ask)


def planned_key(*sample_ids):
    """The key of the first answer of a planned batch."""
    keys = [question(sample_id).planned.key for sample_id in in_order(*sample_ids)]
    return batch_plan.answer_key(keys[0], batch_plan.batch_key(keys))


def holder_of(key, folder):
    """Another process of the run in ``folder`` that holds the lock of the batch ``key``, and answers it when told."""
    return other_process(HOLDER, folder / "claims.lock", key.hex(), folder / "store.sqlite")


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_what_is_known_is_not_asked_and_loads_nothing(executor_of, batching):
    first = texts(executor_of(Meter(batching)), "a", "b", "c")
    assert first == {"a": "a 100", "b": "b 100", "c": "c 100"}
    again, steps = Meter(batching), []
    executor = executor_of(again, lambda done, total: steps.append((done, total)))
    assert texts(executor, "a", "b", "c") == first
    assert (again.loads, again.calls, steps) == (0, [], [(3, 3)])
    assert (executor.time.loading_s, executor.time.model_s, executor.time.asking_s) == (0, 0, 0)
    assert (executor.counts.asked, executor.counts.known) == (0, 3)


def test_a_model_is_loaded_once_for_all_that_is_asked(executor_of):
    model = Meter()
    executor = executor_of(model)
    texts(executor, "a", "b", "c")
    texts(executor, "d")
    assert (model.loads, len(model.calls)) == (1, 3)
    assert executor.counts.asked == 4
    assert executor.time.loading_s > 0


def test_of_an_opaque_model_only_what_is_missing_is_asked(executor_of):
    texts(executor_of(Meter()), "b", "d")
    model = Meter()
    executor = executor_of(model)
    assert list(texts(executor, "a", "b", "c", "d", "e")) == ["a", "b", "c", "d", "e"]
    assert model.calls == [["a", "c"], ["e"]]
    assert (executor.counts.asked, executor.counts.known) == (3, 2)


def test_a_planned_batch_that_lacks_one_answer_is_asked_whole(executor_of):
    first, second = in_order("a", "b")
    assert texts(executor_of(Meter("planned", says=unwell(second))), "a", "b")[second] == "!unwell"
    model = Meter("planned")
    executor = executor_of(model)
    assert texts(executor, "a", "b") == {"a": "a 100", "b": "b 100"}
    assert model.calls == [[first, second]]
    assert executor.counts.noise == 0


def test_the_answer_that_was_kept_first_stands_where_a_batch_is_asked_again(executor_of):
    first, second = in_order("a", "b")
    texts(executor_of(Meter("planned", says=unwell(second))), "a", "b")
    executor = executor_of(Meter("planned", says=lambda ask: Response.of("another")))
    assert texts(executor, "a", "b") == {first: f"{first} 100", second: "another"}
    assert executor.counts.noise == 1


def test_what_a_batch_that_is_asked_again_knew_is_counted_once(executor_of):
    texts(executor_of(Meter("planned", says=unwell(in_order("a", "b")[1]))), "a", "b")
    steps = []
    executor = executor_of(Meter("planned"), lambda done, total: steps.append((done, total)))
    texts(executor, "a", "b")
    assert steps == [(0, 2), (2, 2)]
    assert (executor.counts.asked, executor.counts.known) == (2, 0)


@pytest.mark.parametrize("faults", [[], [RuntimeError("broken")]])
def test_an_answer_that_is_there_stands_where_its_batch_fails_when_it_is_asked_again(executor_of, faults):
    first, second = in_order("a", "b")
    texts(executor_of(Meter("planned", says=unwell(second))), "a", "b")
    answers = texts(executor_of(Meter("planned", faults=faults, says=unwell("a", "b"))), "a", "b")
    assert answers[first] == f"{first} 100"
    assert answers[second].startswith("!")
    assert texts(executor_of(Meter("planned")), "a", "b")[first] == f"{first} 100"


def test_an_answer_of_a_planned_batch_is_no_answer_in_another_batch(executor_of):
    texts(executor_of(Meter("planned")), "a", "b")
    model = Meter("planned")
    texts(executor_of(model), "a", "b", "c")
    assert model.calls == [in_order("a", "b", "c")[:2], in_order("a", "b", "c")[2:]]


def test_batches_may_be_arranged_in_place_of_the_plan(executor_of):
    model = Meter("planned")
    questions = [question(name) for name in ("a", "b", "c")]
    assert ask(executor_of(model), questions, batches=[[2, 1, 0]])["c"] == "c 100"
    assert model.calls == [["c", "b", "a"]]
    assert texts(executor_of(model), "a", "b", "c")
    assert len(model.calls) == 3


def test_a_batch_is_never_longer_than_its_model_can_take(executor_of):
    model = Meter(max_batch=8, max_batch_s=0.25)
    texts(executor_of(model), "a", "b", "c", "d", "e")
    assert model.calls == [["a", "b"], ["c", "d"], ["e"]]


def test_a_passing_failure_is_asked_again_after_ever_longer_waits(executor_of, waits):
    model = Meter(faults=[TransientError("busy")] * 3)
    executor = executor_of(model)
    assert texts(executor, "a") == {"a": "a 100"}
    assert waits == [0.5, 1.0, 2.0]
    assert (len(model.calls), executor.counts.asked) == (4, 1)


def test_a_failure_that_does_not_pass_in_four_tries_fails_the_samples_of_this_run_alone(executor_of, waits):
    model = Meter(faults=[TransientError("busy")] * 4)
    executor = executor_of(model)
    assert texts(executor, "a", "b", "c") == {
        "a": "!busy (asked 4 times)",
        "b": "!busy (asked 4 times)",
        "c": "c 100",
    }
    assert len(waits) == 3
    assert executor.counts.asked == 1
    assert texts(executor_of(Meter()), "a", "b", "c") == {"a": "a 100", "b": "b 100", "c": "c 100"}


def test_an_unforeseen_failure_is_not_tried_again_and_names_its_kind(executor_of, waits):
    model = Meter(faults=[ValueError("no such token")])
    assert texts(executor_of(model), "a")["a"] == "!ValueError: no such token"
    assert (len(model.calls), waits) == (1, [])
    assert texts(executor_of(model), "a") == {"a": "a 100"}


@pytest.mark.parametrize("error", [TransientError("gone"), RuntimeError("gone")])
def test_three_failed_batches_in_a_row_end_the_eval_in_one_sentence(executor_of, waits, error):
    model = Meter(faults=[None] + [error] * 20, max_batch=1)
    with pytest.raises(FatalError, match=r"^test:meter failed 3 batches in a row \(.*gone.*\); what it had answered"):
        texts(executor_of(model), "a", "b", "c", "d", "e", "f")
    assert list(dict.fromkeys(name for call in model.calls for name in call)) == ["a", "b", "c", "d"]
    later = Meter(max_batch=1)
    texts(executor_of(later), "a", "b", "c", "d", "e", "f")
    assert later.calls == [["b"], ["c"], ["d"], ["e"], ["f"]]


def test_batches_that_fail_now_and_then_end_nothing(executor_of):
    broken = RuntimeError("a bad day")
    model = Meter(faults=[broken, broken, None, broken, broken, None], max_batch=1)
    answers = texts(executor_of(model), "a", "b", "c", "d", "e", "f")
    assert [name for name, text in answers.items() if not text.startswith("!")] == ["c", "f"]


def test_failed_batches_are_counted_over_all_that_one_asks(executor_of):
    executor = executor_of(Meter(faults=[RuntimeError("broken")] * 3))
    texts(executor, "a")
    texts(executor, "b")
    with pytest.raises(FatalError, match="3 batches in a row"):
        texts(executor, "c")


def test_samples_that_a_model_refuses_are_no_sign_that_it_is_broken(executor_of):
    model = Meter(faults=[SampleError("too long to be sent")] * 5, max_batch=1)
    answers = texts(executor_of(model), "a", "b", "c", "d", "e", "f")
    assert [answers[name] for name in "abcde"] == ["!too long to be sent"] * 5
    assert answers["f"] == "f 100"


def test_a_fatal_error_ends_the_eval_and_what_was_answered_is_kept(executor_of):
    gone = InfrastructureError("its server died")
    model = Meter(faults=[None, gone])
    with pytest.raises(InfrastructureError, match="its server died"):
        texts(executor_of(model), "a", "b", "c", "d", "e")
    assert model.calls == [["a", "b"], ["c", "d"]]
    later = Meter()
    texts(executor_of(later), "a", "b", "c")
    assert later.calls == [["c"]]


def test_a_model_that_gives_another_number_of_answers_is_not_believed(executor_of):
    class Short(Meter):
        def ask(self, batch):
            return super().ask(batch)[1:]

    with pytest.raises(FatalError, match="test:meter gave 1 answers to 2 requests"):
        texts(executor_of(Short()), "a", "b")
    assert len(texts(executor_of(Meter()), "a", "b")) == 2


@pytest.fixture
def on_disk(tmp_path):
    """Makes a clip of a file that may not be there, or no audio."""
    (tmp_path / "audio").mkdir()
    return lambda name: Clip(FileSource(DataRoot("disk", tmp_path / "audio"), name))


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_audio_that_cannot_be_read_fails_its_sample_for_good(executor_of, on_disk, batching):
    source = on_disk("bad.wav").source.location
    source.write_text("this is not audio " * 20)
    questions = [question("a"), question("bad", on_disk("bad.wav"))]
    model = Meter(batching)
    answers = ask(executor_of(model), questions)
    assert answers["a"] == "a 100"
    assert answers["bad"].startswith("!disk:bad.wav")
    assert model.calls == [["a"]]
    soundfile.write(source, np.zeros(300, np.float32), RATE_HZ)
    later = Meter(batching)
    assert ask(executor_of(later), questions) == answers
    assert later.calls == []


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_a_disk_that_was_away_fails_its_samples_in_that_run_alone(executor_of, on_disk, batching):
    clip = on_disk("late.wav")
    first = executor_of(Meter(batching))
    assert "no such file" in ask(first, [question("late", clip)])["late"]
    assert first.handle.ready().calls == []
    soundfile.write(clip.source.location, np.zeros(300, np.float32), RATE_HZ)
    assert ask(executor_of(Meter(batching)), [question("late", clip)]) == {"late": "late 300"}


def test_nothing_is_loaded_where_no_audio_can_be_played(executor_of, on_disk):
    model = Meter()
    ask(executor_of(model), [question("gone", on_disk("gone.wav"))])
    assert model.loads == 0


def test_a_model_that_does_not_listen_is_played_nothing(executor_of, on_disk):
    model = Meter(listens=False)
    assert ask(executor_of(model), [question("a", on_disk("gone.wav")), question("b")]) == {"a": "a", "b": "b"}


def test_a_clip_beyond_the_models_window_is_cut_and_the_rest_is_counted(executor_of, store):
    executor = executor_of(Meter(max_clip_s=0.2))
    long, short = question("long", tone(0.5)), question("short", tone(0.2))
    assert ask(executor, [long, short]) == {"long": "long 200", "short": "short 200"}
    responses = known_responses(store, [long.planned.key, short.planned.key])
    assert responses[long.planned.key].truncated_s == pytest.approx((0.3,))
    assert responses[short.planned.key].truncated_s == ()


def test_a_clip_is_played_whole_for_a_task_that_the_model_does_piece_by_piece(executor_of):
    model = Meter(max_clip_s=0.2, chunked_tasks=("transcription",))
    questions = [question("a", tone(0.5), task="transcription"), question("b", tone(0.5), task="open")]
    assert ask(executor_of(model), questions) == {"a": "a 500", "b": "b 200"}


def test_every_sample_of_a_large_batch_is_played_its_own_clip(executor_of):
    lengths = {f"s{n}": 100 + n for n in range(25)}
    questions = [question(name, tone(ms / 1000)) for name, ms in lengths.items()]
    executor = executor_of(Meter(max_batch=10))
    assert ask(executor, questions) == {name: f"{name} {ms}" for name, ms in lengths.items()}


def test_audio_is_decoded_a_few_batches_ahead_and_not_all_at_once(executor_of, monkeypatch):
    clips, counts = [], []

    def decode(clip, *args):
        clips.append(clip)
        return real(clip, *args)

    real = batch_executor.decode
    monkeypatch.setattr(batch_executor, "decode", decode)
    model = Meter(says=lambda ask: counts.append(len(clips)) or measurement(ask))
    texts(executor_of(model), *(f"s{n}" for n in range(60)))
    assert len(counts) == len(clips) == 60
    # Two batches of two are decoded while one is asked.
    assert all(count <= 2 * (number // 2) + 6 for number, count in enumerate(counts))


def test_what_was_played_is_written_beside_the_answer(executor_of, tmp_path):
    ask(executor_of(Meter()), [question("a")])
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        ((detail,),) = connection.execute("SELECT detail FROM answer").fetchall()
    connection.close()
    (played,) = json.loads(detail)["audio"]
    assert (played["frames"], played["rate_hz"], len(played["pcm"])) == (100, RATE_HZ, 64)


def test_progress_counts_what_is_known_and_goes_on_batch_by_batch(executor_of):
    texts(executor_of(Meter()), "a")
    steps = []
    texts(executor_of(Meter(), lambda done, total: steps.append((done, total))), "a", "b", "c", "d")
    assert steps == [(1, 4), (3, 4), (4, 4)]


def test_invalid_text_is_repaired_before_it_is_scored_and_counted(executor_of):
    executor = executor_of(Meter(says=lambda ask: Response.of("half a pair: \ud83d")))
    assert texts(executor, "a") == {"a": "half a pair: \ufffd"}
    assert executor.counts.repaired == 1


def test_an_error_of_a_model_becomes_one_line(executor_of):
    executor = executor_of(Meter(says=lambda ask: Response(error="first\n  second\ud800")))
    assert texts(executor, "a") == {"a": "!first second\ufffd"}


def test_batches_that_a_model_halved_for_want_of_memory_are_counted(executor_of):
    class Narrow(Meter):
        def ask(self, batch):
            self.oom_splits += len(batch) // 2
            return super().ask(batch)

    model = Narrow()
    model.oom_splits = 5
    executor = executor_of(model)
    texts(executor, "a", "b", "c", "d", "e")
    assert executor.counts.oom_splits == 2


def test_an_answers_share_of_its_batch_is_what_the_model_tells_of_it(executor_of, store):
    model = Meter(says=lambda ask: replace(measurement(ask), share_s=0.25))
    executor = executor_of(model)
    texts(executor, "a", "b", "c")
    assert executor.time.model_s == 0.75
    assert known_responses(store, [question("a").planned.key])[question("a").planned.key].share_s == 0.25


def test_else_its_share_is_an_equal_part_of_the_batch(executor_of, store):
    executor = executor_of(Meter())
    texts(executor, "a", "b")
    keys = [question("a").planned.key, question("b").planned.key]
    shares = [response.share_s for response in known_responses(store, keys).values()]
    assert shares[0] == shares[1] > 0
    assert sum(shares) == pytest.approx(executor.time.model_s)


def test_a_refreshed_run_asks_what_others_had_asked_but_nothing_twice(executor_of, tmp_path):
    texts(executor_of(Meter(says=lambda ask: Response.of("old"))), "a", "b", "c")
    lengths = {"a": "a 100", "b": "b 100", "c": "c 100"}
    with Store(tmp_path / "store.sqlite", "later", refresh=True) as refreshed:
        model = Meter()
        executor = executor_of(model, store=refreshed)
        assert texts(executor, "a", "b", "c") == lengths
        assert executor.counts.noise == 3
        assert texts(executor_of(model, store=refreshed), "a", "b", "c") == lengths
    assert model.calls == [["a", "b"], ["c"]]
    assert texts(executor_of(Meter()), "a", "b", "c") == lengths


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_a_batch_that_another_process_answers_meanwhile_is_not_asked(executor_of, tmp_path, batching):
    holder = holder_of(planned_key("a") if batching == "planned" else question("a").planned.key, tmp_path)
    model, steps = Meter(batching, max_batch=1), []

    def progress(done, total):
        steps.append(done)
        if len(steps) == 3:
            # Everything else was asked first; only now does the other process answer.
            holder.stdin.write("theirs\n")
            holder.stdin.close()

    executor = executor_of(model, progress)
    assert texts(executor, "a", "b") == {"a": "theirs", "b": "b 100"}
    assert model.calls == [["b"]]
    assert sorted(steps) == steps == [0, *steps[1:3], 2]
    assert (executor.counts.asked, executor.counts.known) == (1, 1)
    holder.wait()
    holder.stdout.close()


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_a_batch_whose_holder_dies_is_asked_here(executor_of, tmp_path, batching):
    holder = holder_of(planned_key("a") if batching == "planned" else question("a").planned.key, tmp_path)
    model, steps = Meter(batching, max_batch=1), []

    def progress(done, total):
        steps.append(done)
        if len(steps) == 3:
            holder.kill()

    assert texts(executor_of(model, progress), "a", "b") == {"a": "a 100", "b": "b 100"}
    assert model.calls == [["b"], ["a"]]
    holder.communicate()


def test_of_a_batch_of_an_opaque_model_that_another_began_only_the_rest_is_asked(executor_of, tmp_path):
    holder = holder_of(question("b").planned.key, tmp_path)
    model, steps = Meter(max_batch=3), []

    def progress(done, total):
        steps.append(done)
        if len(steps) == 2:
            holder.stdin.write("theirs\n")
            holder.stdin.close()

    executor = executor_of(model, progress)
    assert texts(executor, "a", "b", "c") == {"a": "a 100", "b": "theirs", "c": "c 100"}
    assert model.calls == [["a", "c"]]
    assert (executor.counts.asked, executor.counts.known) == (2, 1)
    holder.wait()
    holder.stdout.close()


class Ledger(BatchLocks):
    """BatchLocks that remember in which order they were acquired, and which are still."""

    def __init__(self, path):
        super().__init__(path)
        self.order, self.open = [], set()

    def acquire(self, key, wait=False):
        self.order.append(key)
        self.open.add(key)
        return super().acquire(key, wait)

    def release(self, key):
        self.open.remove(key)
        super().release(key)


def test_locks_are_acquired_in_one_order_by_all_so_that_nobody_waits_in_a_circle(tmp_path, store):
    with Ledger(tmp_path / "ledger") as ledger:
        texts(BatchExecutor(ModelHandle("m", Meter(max_batch=6)), store, ledger, lambda done, total: None), *"abcdef")
        assert ledger.order == sorted(ledger.order)
        assert len(ledger.order) == 6


def test_locks_are_released_whatever_becomes_of_a_batch(tmp_path, store):
    with Ledger(tmp_path / "ledger") as ledger:
        model = Meter(faults=[None, InfrastructureError("died")])
        executor = BatchExecutor(ModelHandle("m", model), store, ledger, lambda done, total: None)
        with pytest.raises(InfrastructureError):
            texts(executor, "a", "b", "c", "d")
        assert len(ledger.order) == 4
        assert not ledger.open


def test_a_planned_batch_has_one_lock(tmp_path, store):
    with Ledger(tmp_path / "ledger") as ledger:
        texts(BatchExecutor(ModelHandle("m", Meter("planned")), store, ledger, lambda done, total: None), "a", "b")
        assert ledger.order == [planned_key("a", "b")]


def test_all_outputs_of_an_answer_are_kept(executor_of, store):
    both = (Output((Part("text", "one"),), "length"), Output((Part("text", "two"), Part("audio", "abc")), score=0.5))
    texts(executor_of(Meter(says=lambda ask: Response(both))), "a")
    assert known_responses(store, [question("a").planned.key])[question("a").planned.key].outputs == both


def test_the_seconds_of_planned_batches_add_up_with_what_fills_them() -> None:
    time = batches_in_flight.Time()
    time.add_batch([1.0, 3.0], Limits())
    assert (time.planned_s, time.filled_s) == (4.0, 6.0)
    time.add_batch([1.0, 9.0], Limits(max_clip_s=5.0))
    assert (time.planned_s, time.filled_s) == (10.0, 16.0)
    time.add_batch([1.0], Limits(pads_to_s=30.0))
    assert (time.planned_s, time.filled_s) == (11.0, 46.0)
    time.add_batch([], Limits())
    assert (time.planned_s, time.filled_s) == (11.0, 46.0)


def test_what_a_model_says_that_asking_was_spent_on_adds_up_and_anything_else_of_that_name_does_not(executor_of):
    model = Meter()
    model.seconds = {"features_s": 1.0, "other": 5.0}
    executor = executor_of(model)

    def says(ask):
        model.seconds = {"features_s": model.seconds["features_s"] + 0.5, "generate_s": 2.0}
        return Response.of("yes")

    model.says = says
    texts(executor, "a", "b")
    assert (executor.time.features_s, executor.time.generate_s) == (1.0, 2.0)
    odd = Meter(name="odd")
    odd.seconds = 7
    assert ModelHandle("m", odd).seconds == {}


def test_a_model_is_told_of_clips_ahead_once_it_is_loaded_and_only_if_it_wants_to_know(executor_of):
    told = []
    model = Meter(max_batch=1)
    model.prepare_audio = told.extend
    texts(executor_of(model), *"abcdef")
    assert 3 <= len(told) <= 6  # those of the first batches were decoded before it was loaded
    assert {len(one.samples) for one in told} == {100}


def test_planned_batches_say_how_full_they_are(executor_of):
    executor = executor_of(Meter("planned", max_batch=2, max_batch_s=1.0))
    texts(executor, "a", "b", "c")
    assert executor.time.planned_batches == 2
    assert 0 < executor.time.full_batches < 2
