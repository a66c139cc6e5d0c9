"""Several batches at once: as many as the model takes, each written as it ends, and nothing else than one by one."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from pytest_audiobench.errors import FatalError, InfrastructureError, TransientError
from pytest_audiobench.evaluation import batch_executor
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks
from pytest_audiobench.evaluation.batches_in_flight import BatchesInFlight, Time, _Flight
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Response

from .meter import Meter, known_responses, measurement, question, texts


class Remote(Meter):
    """A meter that answers on threads. ``behave`` is called with the first sample of each batch before it answers."""

    in_flight = 3

    def __init__(self, batching="opaque", behave=lambda name: None, **options):
        super().__init__(batching, **options)
        self._behave, self._lock = behave, threading.Lock()
        self.open = self.most_open = 0
        self.replies = []

    def begin(self, batch):
        reply = Future()
        self.replies.append(reply)
        with self._lock:
            self.open += 1
            self.most_open = max(self.open, self.most_open)

        def work():
            try:
                self._behave(batch[0].request.sample_id)
                with self._lock:
                    responses = self.ask(batch)
            except Exception as error:
                responses = error
            with self._lock:
                self.open -= 1
            if reply.cancelled():
                return
            if isinstance(responses, Exception):
                reply.set_exception(responses)
            else:
                reply.set_result(responses)

        threading.Thread(target=work, daemon=True).start()
        return reply


NAMES = [f"s{number}" for number in range(18)]


def test_as_many_batches_are_asked_at_once_as_the_model_takes_and_no_more(executor_of):
    together = threading.Barrier(3, timeout=60)
    model = Remote(behave=lambda name: together.wait())
    assert texts(executor_of(model), *NAMES) == {name: f"{name} 100" for name in NAMES}
    assert model.most_open == 3


def test_the_next_batch_is_begun_as_soon_as_one_has_ended(executor_of):
    """The first ends when the last has begun: whoever waits for it before the next never gets there."""
    last_begun = threading.Event()

    def behave(name):
        if name == NAMES[-2]:
            last_begun.set()
        elif name == NAMES[0]:
            assert last_begun.wait(60)

    model = Remote(behave=behave)
    assert len(texts(executor_of(model), *NAMES)) == len(NAMES)
    assert model.calls[-1][0] in (NAMES[0], NAMES[-2])


@pytest.mark.parametrize("batching", ["planned", "opaque"])
def test_the_answers_are_those_of_one_batch_after_the_other(executor_of, tmp_path, batching):
    remote = Remote(batching)
    at_once = texts(executor_of(remote), *NAMES)
    again = Meter(batching)
    assert texts(executor_of(again), *NAMES) == at_once
    assert again.calls == []
    assert sorted(remote.calls) == sorted(_calls(batching, tmp_path))


def _calls(batching, folder):
    from pytest_audiobench.evaluation.answer_store import Store

    model = Meter(batching)
    with Store(folder / "other.sqlite", "run") as store, BatchLocks(folder / "other") as locks:
        texts(BatchExecutor(ModelHandle("m", model), store, locks, lambda done, total: None), *NAMES)
    return model.calls


def test_what_was_on_its_way_when_the_model_broke_is_kept(executor_of):
    """Three are asked; one breaks for good while the others are still answered."""
    together = threading.Barrier(3, timeout=60)

    def behave(name):
        if name in NAMES[:6]:
            together.wait()
        if name == NAMES[2]:
            raise InfrastructureError("its server died")

    model = Remote(behave=behave)
    with pytest.raises(InfrastructureError, match="its server died"):
        texts(executor_of(model), *NAMES)
    later = Meter()
    texts(executor_of(later), *NAMES)
    answered = {name for call in model.calls for name in call}
    assert answered >= {NAMES[0], NAMES[1], NAMES[4], NAMES[5]}
    assert answered.isdisjoint(name for call in later.calls for name in call)
    assert answered | {name for call in later.calls for name in call} == set(NAMES)


def test_an_interruption_calls_off_what_is_on_its_way_and_frees_its_locks(store, tmp_path):
    held, together = threading.Event(), threading.Barrier(3, timeout=60)

    def behave(name):
        together.wait()
        if name != NAMES[0]:
            assert held.wait(60)

    def progress(done, total):
        if done:
            raise KeyboardInterrupt

    model = Remote(behave=behave)
    with Ledger(tmp_path / "ledger") as ledger:
        executor = BatchExecutor(ModelHandle("m", model), store, ledger, progress)
        with pytest.raises(KeyboardInterrupt):
            texts(executor, *NAMES)
        assert not ledger.open
        assert [reply.cancelled() for reply in model.replies] == [False, True, True]
        held.set()
        # The same executor continues, as a run does with its next eval: late answers are nobody's.
        executor = BatchExecutor(ModelHandle("m", Meter()), store, ledger, lambda done, total: None)
        assert texts(executor, *NAMES) == {name: f"{name} 100" for name in NAMES}


class Ledger(BatchLocks):
    """Remembers which locks are held, and how many were when one was waited for."""

    def __init__(self, path):
        super().__init__(path)
        self.open, self.held_while_waiting = set(), []

    def acquire(self, key, wait=False):
        if wait:
            self.held_while_waiting.append(len(self.open))
        ours = super().acquire(key, wait)
        if ours:
            self.open.add(key)
        return ours

    def release(self, key):
        self.open.remove(key)
        super().release(key)


def test_who_waits_for_another_process_holds_nothing_that_it_could_wait_for(store, tmp_path):
    class Contested(Ledger):
        """The first batch is another's until it is waited for."""

        def acquire(self, key, wait=False):
            return (wait or key != first) and super().acquire(key, wait)

    first = question(NAMES[0]).planned.key
    with Contested(tmp_path / "ledger") as ledger:
        model = Remote(max_batch=1)
        executor = BatchExecutor(ModelHandle("m", model), store, ledger, lambda done, total: None)
        texts(executor, *NAMES)
        assert model.calls[-1] == [NAMES[0]]
        assert ledger.held_while_waiting == [0]
        assert not ledger.open


def test_a_lock_is_held_until_the_answers_are_written(store, tmp_path):
    seen = []
    with Ledger(tmp_path / "ledger") as ledger:
        put = store.put_batch
        store.put_batch = lambda answers, *rest: seen.append(ledger.open >= set(answers)) or put(answers, *rest)
        texts(BatchExecutor(ModelHandle("m", Remote()), store, ledger, lambda done, total: None), *NAMES)
        assert seen == [True] * 9


def test_a_batch_that_fails_in_passing_is_asked_again_beside_the_others(executor_of, waits):
    model = Remote(faults=[None, TransientError("busy"), None, TransientError("busy")])
    executor = executor_of(model)
    assert texts(executor, *NAMES) == {name: f"{name} 100" for name in NAMES}
    assert (len(model.calls), len(waits), executor.counts.asked) == (11, 2, 18)


@pytest.mark.parametrize("error", [TransientError("gone"), RuntimeError("gone")])
def test_three_failed_batches_in_a_row_end_the_eval(executor_of, waits, error):
    model = Remote(faults=[error] * 100)
    with pytest.raises(FatalError, match=r"^test:meter failed 3 batches in a row \(.*gone.*\); what it had answered"):
        texts(executor_of(model), *NAMES)
    assert model.open == 0


def test_audio_is_decoded_for_a_few_batches_and_not_for_all(executor_of, monkeypatch):
    """While the model holds back all that it has, clips of those and of the two batches ahead are decoded."""
    clips, begun = [], []

    def decode(clip, *args):
        clips.append(clip)
        return real(clip, *args)

    real = batch_executor.decode
    monkeypatch.setattr(batch_executor, "decode", decode)
    texts(executor_of(Remote(behave=lambda name: begun.append(len(clips)))), *(f"q{number}" for number in range(60)))
    assert len(begun) == 30
    # Begun are at most this one and two more; two are decoded ahead, and the next of them is taken up.
    assert all(count <= 2 * (number + 6) for number, count in enumerate(begun))


def test_the_seconds_of_batches_at_once_are_those_of_the_clock(executor_of, store):
    """Each of three says that it took ten minutes: together they did not take longer than the asking."""
    from dataclasses import replace

    model = Remote(says=lambda ask: replace(measurement(ask), share_s=300.0))
    executor = executor_of(model)
    texts(executor, *NAMES)
    assert 0 < executor.time.model_s <= executor.time.asking_s
    keys = [question(name).planned.key for name in NAMES]
    shares_s = [response.share_s for response in known_responses(store, keys).values()]
    assert sum(shares_s) == pytest.approx(executor.time.model_s)


def test_batches_that_are_handed_in_in_another_order_than_they_ended_in_take_no_second_twice(executor_of):
    """A thread may be held up between reading the clock and handing in its batch."""
    spent = Time()
    flights = BatchesInFlight(SimpleNamespace(in_flight=3, spec="test:late"), spent)
    for ended_s in (1.0, 3.0, 2.0, 4.0):
        flight = _Flight([question("q")], print)
        flight.ended_s = ended_s
        flights._counted(flight, [Response.of("x")])
    assert spent.model_s == 4.0


def test_a_model_that_says_nothing_of_it_is_asked_in_the_thread_of_whoever_asks(executor_of):
    threads = set()
    model = Meter(says=lambda ask: threads.add(threading.current_thread()) or Response.of("x"))
    texts(executor_of(model), *NAMES)
    assert threads == {threading.main_thread()}
