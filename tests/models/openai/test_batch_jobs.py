"""Requests left with a provider's batch API, against a server of the published API."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.errors import FatalError, InfrastructureError, UsageError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.models.openai.model import OpenAIModel
from pytest_audiobench.models.remote.budget import Budget, spent_note

pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")
spec = importlib.util.spec_from_file_location("openai_batch_peer", Path(__file__).parent / "batch_peer.py")
BATCH_PEER = importlib.util.module_from_spec(spec)
spec.loader.exec_module(BATCH_PEER)

PRICES = {"price_in": "1", "price_audio": "1", "price_out": "10"}


@pytest.fixture
def provider():
    server = BATCH_PEER.BatchPeer()
    yield server
    server.stop()


@pytest.fixture
def model_with(provider, tmp_path):
    """Makes the model of one run, with the store that all runs of a test share; closed at the end."""
    made = []

    def make(budget=None, **options):
        given = {"base_url": provider.url, "price": "batch", "patience_s": "0.3"}
        model = OpenAIModel("tiny", {**given, **options})
        store = Store(tmp_path / "store.sqlite", f"run{len(made)}")
        model.part_store, model.budget = lambda: store, budget
        made.append((model, store))
        return model

    yield make
    for model, store in made:
        model.close()
        store.close()


def lengths(asks):
    return [str(len(ask.audio[0].samples)) for ask in asks]


def test_answers_come_in_the_order_of_the_requests(provider, model_with, asks):
    provider.polls = 2
    batch = asks(5)
    model = model_with(patience_s="30")
    responses = model.ask(batch)
    assert [response.text for response in responses] == lengths(batch)
    assert responses[0].usage["prompt_tokens"] == 100
    assert responses[0].latency_s is None
    assert model.hearing.status == "unproven"


def test_a_later_run_collects_what_an_earlier_one_left(provider, model_with, asks):
    first, batch = model_with(), asks(4)
    with pytest.raises(InfrastructureError, match=r"4 requests are with the server in 1 batch job \(batch_0: in_pro"):
        first.ask(batch)
    first.close()
    with pytest.raises(InfrastructureError, match="run the same command again"):
        model_with().ask(batch)
    provider.finish()
    # Cut otherwise, and with one that is new: only that is sent.
    later, more = model_with(patience_s="30"), asks(5)
    provider.polls = 0
    assert [r.text for r in later.ask(more[3:])] == lengths(more[3:])
    assert [r.text for r in later.ask(more[:3])] == lengths(more[:3])
    assert len(provider.jobs) == 2
    assert len(provider.requests) == 5


def keep(model, batch, responses):
    """Write the answers as a run does."""
    answers = {bytes.fromhex(ask.request.key): (it, {}) for ask, it in zip(batch, responses, strict=True)}
    model.part_store().put_batch(answers, {})


def test_what_was_collected_is_asked_anew_by_who_asks_again(provider, model_with, asks):
    provider.polls = 0
    first, batch = model_with(patience_s="30"), asks(2)
    keep(first, batch, first.ask(batch))
    first.close()
    model_with(patience_s="30").ask(batch)
    assert len(provider.requests) == 4


def test_what_came_and_was_not_written_is_collected_again(provider, model_with, asks):
    provider.polls = 0
    first, batch = model_with(patience_s="30"), asks(3)
    responses = first.ask(batch)
    keep(first, batch[:1], responses[:1])
    first.close()
    assert [r.text for r in model_with(patience_s="30").ask(batch[1:])] == lengths(batch[1:])
    assert len(provider.requests) == 3


def test_what_a_killed_run_had_written_is_asked_anew_by_who_asks_again(provider, model_with, asks):
    provider.polls = 0
    first, batch = model_with(patience_s="30"), asks(3)
    keep(first, batch[:2], first.ask(batch)[:2])
    # Without its end nothing is noted of what was collected: the third alone was not written.
    assert [r.text for r in model_with(patience_s="30").ask(batch)] == lengths(batch)
    assert len(provider.requests) == 5


def test_a_new_answer_that_was_not_written_is_collected_again_though_an_old_one_is_kept(provider, model_with, asks):
    provider.polls = 0
    old, batch = model_with(patience_s="30"), asks(2)
    keep(old, batch, old.ask(batch))
    old.close()
    anew = model_with(patience_s="30")
    anew.asked_anew = lambda: True
    anew.ask(batch)
    anew.close()
    later = model_with(patience_s="30")
    later.asked_anew = lambda: True
    assert [r.text for r in later.ask(batch)] == lengths(batch)
    assert len(provider.requests) == 4


def test_an_error_is_asked_anew_by_the_next_run_though_not_all_of_its_job_was_collected(provider, model_with, asks):
    first, batch = model_with(), asks(4)
    provider.refuse = (batch[1].request.key[:32],)
    with pytest.raises(InfrastructureError, match="4 requests are with the server"):
        first.ask(batch)
    first.close()
    provider.finish()
    provider.refuse, provider.polls = (), 0
    second = model_with(patience_s="30")
    responses = second.ask(batch[:2])
    assert [response.error is None for response in responses] == [True, False]
    keep(second, batch[:1], responses[:1])
    second.close()
    assert [r.text for r in model_with(patience_s="30").ask(batch[1:])] == lengths(batch[1:])
    assert len(provider.requests) == 5


def test_a_job_that_was_made_unheard_is_found_by_its_token_in_the_same_run(provider, model_with, asks):
    provider.closing, provider.polls = [("POST", "/batches")], 0
    batch = asks(3)
    assert [r.text for r in model_with(patience_s="30").ask(batch)] == lengths(batch)
    assert len(provider.jobs) == 1


def test_a_job_that_was_made_unheard_is_found_by_its_token_in_a_later_run(provider, model_with, asks):
    provider.closing = [("POST", "/batches"), ("GET", "/batches")]
    first, batch = model_with(), asks(3)
    with pytest.raises(InfrastructureError, match="cut off"):
        first.ask(batch)
    first.close()
    provider.closing = ()
    provider.finish()
    # Of another's many jobs since the list has several pages.
    own = provider.jobs["batch_0"]
    provider.jobs |= {name: {**own, "id": name, "metadata": None} for name in ("other_0", "other_1", "other_2")}
    provider.page = 2
    assert [r.text for r in model_with().ask(batch)] == lengths(batch)
    assert len(provider.jobs) == 4


def test_one_refused_request_is_that_samples_error(provider, model_with, asks):
    batch = asks(3)
    provider.refuse = (batch[1].request.key[:32],)
    provider.polls = 0
    responses = model_with(patience_s="30").ask(batch)
    assert [response.error for response in responses] == [
        None,
        "the server says 400: this one is not to my liking",
        None,
    ]


def test_what_expired_is_an_error_and_is_asked_anew_by_the_next_run(provider, model_with, asks):
    first, batch = model_with(patience_s="30"), asks(3)
    provider.lost = (batch[2].request.key[:32],)
    reply = first.begin(batch)
    provider.finish("expired")
    errors = [response.error for response in reply.result()]
    assert errors == [None, None, "the batch job batch_0 expired before this was answered"]
    first.close()
    provider.lost, provider.polls = (), 0
    assert [r.text for r in model_with(patience_s="30").ask(batch[2:])] == lengths(batch[2:])


@pytest.fixture
def left(provider, model_with, asks):
    """Requests that an earlier run left with the provider, which has answered them."""
    first, batch = model_with(), asks(2)
    with pytest.raises(InfrastructureError, match="2 requests are with the server"):
        first.ask(batch)
    first.close()
    provider.finish()
    return batch


def test_what_the_provider_no_longer_keeps_is_asked_anew(provider, model_with, left):
    provider.polls = 0
    del provider.files[provider.jobs["batch_0"]["output_file_id"]]
    assert [r.text for r in model_with(patience_s="30").ask(left)] == lengths(left)
    assert len(provider.jobs) == 2


def test_a_line_of_output_that_is_no_json_loses_that_request_alone(provider, model_with, left):
    provider.polls = 0
    output = provider.jobs["batch_0"]["output_file_id"]
    provider.files[output] = b"{broken\n" + provider.files[output].partition(b"\n")[2]
    assert [r.text for r in model_with(patience_s="30").ask(left)] == lengths(left)
    assert len(provider.requests) == 3


def test_a_job_that_the_server_does_not_know_is_named(provider, model_with, left):
    provider.jobs.clear()
    with pytest.raises(InfrastructureError, match="knows no batch job batch_0, which was submitted there: ask with"):
        model_with().ask(left)


def test_what_a_server_calls_a_jobs_state_is_bounded(provider, model_with, asks):
    first, batch = model_with(), asks(1)
    reply = first.begin(batch)
    provider.jobs["batch_0"]["status"] = "\x1b[2J" + "x" * 1_000_000
    with pytest.raises(InfrastructureError, match="1 requests are with the server") as told:
        reply.result()
    assert len(str(told.value)) < 1_000
    assert str(told.value).isprintable()


def test_a_job_that_fails_whole_stops_the_run(provider, model_with, asks):
    model, batch = model_with(patience_s="30"), asks(2)
    provider.lost = tuple(ask.request.key[:32] for ask in batch)
    reply = model.begin(batch)
    job = provider.jobs["batch_0"]
    job["errors"] = {"data": [{"message": "the queue is full"}]}
    provider.finish("failed")
    with pytest.raises(InfrastructureError, match=r"batch_0 failed \(the queue is full\): run again"):
        reply.result()


def test_half_the_price_is_reserved_and_counted(provider, model_with, asks, tmp_path):
    provider.polls = 0
    (tmp_path / "run").mkdir()
    model_with(Budget(tmp_path / "run", max_cost_usd=1.0), patience_s="30", **PRICES).ask(asks(4))
    # 100 tokens of input at 1 and 1 of output at 10 USD a million, halved, four times.
    assert spent_note(tmp_path / "run") == ["4 requests were sent to servers for 0.000220 USD"]


def test_what_a_request_is_told_to_cost_is_half_as_well():
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    whole, half = (OpenAIModel("tiny", {"price": price, **PRICES}).cost_usd(usage) for price in ("request", "batch"))
    assert half == pytest.approx(whole / 2)


def test_thoughts_that_only_the_total_tells_are_paid_for_as_output():
    usage = {"prompt_tokens": 100, "audio_tokens": 60, "completion_tokens": 10, "total_tokens": 150}
    assert OpenAIModel("tiny", PRICES).cost_usd(usage) == pytest.approx((100 + 50 * 10) / 1e6)


def test_what_would_cost_too_much_is_not_sent(provider, model_with, asks, tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(FatalError, match="--ab-max-cost=1e-05 leaves no room for a batch job of 4 requests, for "):
        model_with(Budget(tmp_path / "run", max_cost_usd=1e-5), **PRICES).ask(asks(4))
    with pytest.raises(FatalError, match="--ab-max-requests=3 leaves no room"):
        model_with(Budget(tmp_path / "run", max_requests=3, max_cost_usd=1.0), **PRICES).ask(asks(4))
    assert provider.jobs == {}
    # What was put aside for the job is free again.
    provider.polls = 0
    model_with(Budget(tmp_path / "run", max_requests=3, max_cost_usd=1.0), patience_s="30", **PRICES).ask(asks(3))
    assert spent_note(tmp_path / "run")[0].startswith("3 requests were sent to servers")


@pytest.mark.parametrize("max_cost_usd", [0.004, 1.0])
def test_what_was_not_sent_sets_nothing_aside(provider, model_with, asks, tmp_path, max_cost_usd):
    (tmp_path / "run").mkdir()
    budget = Budget(tmp_path / "run", max_cost_usd=max_cost_usd)
    # The first of them fit into the smaller sum; a server without the API takes none.
    with pytest.raises(FatalError, match=r"--ab-max-cost=0\.004 leaves no room|says 404"):
        model_with(budget, base_url=f"{provider.url}/other", **PRICES).ask(asks(4))
    assert spent_note(tmp_path / "run") == []
    assert budget.reserve(max_cost_usd)


def test_a_server_without_the_api_is_named(provider, model_with, asks):
    with pytest.raises(InfrastructureError, match="says 404: no such thing"):
        model_with(base_url=f"{provider.url}/other").ask(asks(1))


@pytest.mark.parametrize("options", [{"stream": "yes"}, {"api": "transcriptions"}, {"price": "half"}])
def test_what_the_api_does_not_take_is_refused_at_once(options):
    with pytest.raises(UsageError, match="price"):
        OpenAIModel("tiny", {"price": "batch", **options})


def test_openai_is_left_no_audio(monkeypatch, tmp_path, ask_about, heard):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    model = OpenAIModel("gpt-audio-1.5", {"price": "batch"})
    with Store(tmp_path / "store.sqlite", "run") as store:
        model.part_store = lambda: store
        with pytest.raises(FatalError, match="OpenAI documents its audio models as not supported by v1/batch"):
            model.ask([ask_about("How many?", heard(np.zeros(10)))])
        model.close()


EVALS = """
from pytest_audiobench import dataset, multiple_choice


def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())


def test_emotion(evaluate):
    evaluate(dataset("bundled", "emotion"), multiple_choice())
"""


def test_a_run_leaves_every_eval_with_the_provider_and_the_next_one_is_measured(provider, forks, tmp_path):
    (tmp_path / "test_both.py").write_text(EVALS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        "-q",
        "-p",
        "no:cacheprovider",
        f"--ab-model=m=openai:tiny,base_url={provider.url},price=batch,patience_s=0.2",
    ]
    first = forks.pytest([*command, "--ab-run=first"], tmp_path)
    assert first.returncode == 6, first.stdout
    assert "80 requests are with the server in 1 batch job" in re.sub(r"\s+", " ", first.stdout)
    assert len(provider.requests) == 152
    provider.finish()
    second = forks.pytest([*command, "--ab-run=second"], tmp_path)
    assert second.returncode == 0, second.stdout
    assert "152 asked now" in second.stdout
    assert len(provider.requests) == 152


JUDGED = """
from pytest_audiobench import dataset, judged, multiple_choice


def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), judged(multiple_choice()))
"""


def test_a_judge_is_asked_at_half_the_price(provider, forks, tmp_path):
    (tmp_path / "test_judged.py").write_text(JUDGED)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    judge = f"--ab-judge=openai:tiny,base_url={provider.url},price=batch,patience_s=0.2"
    command = ["-q", "-p", "no:cacheprovider", "--ab-model=baseline:listener", judge, "--ab-limit=20"]
    first = forks.pytest([*command, "--ab-run=first"], tmp_path)
    assert first.returncode == 6, first.stdout
    assert "20 requests are with the server" in re.sub(r"\s+", " ", first.stdout)
    provider.finish()
    second = forks.pytest([*command, "--ab-run=second"], tmp_path)
    assert "20 verdicts asked" in re.sub(r"\s+", " ", second.stdout), second.stdout
    assert len(provider.requests) == 20
