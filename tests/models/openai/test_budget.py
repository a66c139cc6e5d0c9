"""What a run may spend: counted over all its processes, never passed, and said when it is used up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.openai.dialogue import Prices
from pytest_audiobench.models.openai.model import OpenAIModel
from pytest_audiobench.models.remote.budget import FILE, Budget, spent_note

FREE = {"price_in": "0", "price_audio": "0", "price_out": "0"}
DEAR = {"price_in": "1", "price_audio": "10", "price_out": "100"}


def test_requests_are_counted_exactly_and_no_further(tmp_path):
    budget = Budget(tmp_path, max_requests=2)
    assert budget.reserve(0)
    assert budget.reserve(0)
    with pytest.raises(FatalError, match=r"--ab-max-requests=2 is reached: 2 requests were sent.*are kept"):
        budget.reserve(0)


def test_a_request_whose_worst_would_pass_the_cap_is_not_sent(tmp_path):
    budget = Budget(tmp_path, max_cost_usd=1.0)
    assert budget.reserve(0.6)
    # Possible once the first has turned out cheaper; impossible at any rate.
    assert not budget.reserve(0.6)
    with pytest.raises(FatalError, match=r"--ab-max-cost=1 is reached"):
        budget.reserve(1.1)
    budget.settle(0.6, 0.1)
    assert budget.reserve(0.6)
    budget.settle(0.6, 0.6)
    with pytest.raises(FatalError, match=r"2 requests were sent to servers for 0\.700000 USD"):
        budget.reserve(0.6)
    assert spent_note(tmp_path) == ["2 requests were sent to servers for 0.700000 USD"]


def test_a_run_that_sent_nothing_has_nothing_to_note(tmp_path):
    Budget(tmp_path / "run", max_requests=2)
    assert spent_note(tmp_path / "run") == []
    assert not (tmp_path / "run").exists()


SPENDER = """
import sys
from pathlib import Path
from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.remote.budget import Budget

budget, sent = Budget(Path(sys.argv[1]), max_requests=400), 0
try:
    while True:
        assert budget.reserve(0.5)
        sent += 1
        budget.settle(0.5, 0.25)
except FatalError:
    print(sent)
"""


def test_two_processes_share_one_budget(tmp_path):
    command = [sys.executable, "-c", SPENDER, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(process.communicate(timeout=300)[0]) for process in both) == 400
    ledger = json.loads((tmp_path / FILE).read_text())
    assert ledger == {"requests": 400, "spent_usd": 100.0, "held_usd": 0.0}


def test_a_damaged_budget_allows_nothing(tmp_path):
    (tmp_path / FILE).write_text("{}}")
    with pytest.raises(FatalError, match="begin another run"):
        Budget(tmp_path, max_requests=9).reserve(0)


def test_what_a_killed_process_had_on_its_way_stays_counted(tmp_path):
    code = SPENDER.replace("budget.settle(0.5, 0.25)", "import os; os._exit(9)")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    budget = Budget(tmp_path, max_cost_usd=0.6)
    assert not budget.reserve(0.2)


# With a server


def test_second_tries_and_the_probe_count(peer, model_at, asks, talk, tmp_path):
    peer.behave = lambda call: talk.Reply({}, 500) if call.number == 3 else None
    model = model_at(peer, probe="yes", concurrency="1")
    model.budget = Budget(tmp_path, max_requests=6)
    responses = model.ask(asks(5))
    assert [response.text for response in responses] == ["1000", "", "1002", "1003", ""]
    assert len(peer.calls) == 6
    assert "--ab-max-requests=6 is reached: 6 requests were sent" in responses[4].error
    with pytest.raises(FatalError, match="run continues from there"):
        model.ask(asks(1))


def test_costs_follow_the_usage_that_the_server_tells(peer, model_at, asks, talk, tmp_path):
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "prompt_tokens_details": {"audio_tokens": 60}}
    peer.behave = lambda call: talk.Reply({**talk.completion("A"), "usage": usage})
    model = model_at(peer, **DEAR)
    model.budget = Budget(tmp_path, max_cost_usd=1.0)
    model.ask(asks(10))
    assert json.loads((tmp_path / FILE).read_text())["spent_usd"] == pytest.approx(10 * (40 + 600 + 200) / 1e6)


def test_the_cap_on_costs_is_never_passed(peer, model_at, asks, talk, tmp_path):
    def behave(call):
        prompt = (300 if call.is_probe else 100) if call.heard else 20
        usage = {"prompt_tokens": prompt, "completion_tokens": 10}
        return talk.Reply({**talk.completion("A"), "usage": usage}, wait_s=0.01)

    peer.behave = behave
    model = model_at(peer, probe="yes", **DEAR)
    model.budget = Budget(tmp_path, max_cost_usd=0.03)
    responses = model.ask(asks(40, max_new_tokens=10))
    answered = [response for response in responses if response.error is None]
    ledger = json.loads((tmp_path / FILE).read_text())
    # 100 tokens at the dearer price and 10 of output, more than so short a clip was thought to take: the probe told.
    assert ledger["requests"] == len(peer.calls) == len(answered) + 2
    assert 0.02 < ledger["spent_usd"] <= 0.03
    assert all("--ab-max-cost=0.03 is reached" in r.error for r in responses if r.error is not None)


def test_an_answer_without_usage_and_a_cut_one_cost_the_worst(peer, model_at, asks, talk, tmp_path):
    silent = talk.Reply({"choices": [{"message": {"content": "A"}}]})
    peer.behave = lambda call: silent._replace(cut=5) if call.number == 0 else silent
    model = model_at(peer, concurrency="1", **DEAR)
    model.budget = Budget(tmp_path, max_cost_usd=1.0)
    ask = asks(1)
    model.ask(ask)
    worst_usd = Prices(1, 10, 100).worst_usd(ask[0])
    assert json.loads((tmp_path / FILE).read_text())["spent_usd"] == pytest.approx(2 * worst_usd)


def test_refusals_and_what_never_reached_the_server_cost_nothing(peer, model_at, asks, talk, tmp_path):
    peer.behave = lambda call: talk.Reply({}, (429, 500, 400)[call.number])
    model = model_at(peer, **DEAR)
    model.budget = Budget(tmp_path, max_cost_usd=1.0)
    assert "says 400" in model.ask(asks(1))[0].error
    assert json.loads((tmp_path / FILE).read_text()) == {"requests": 3, "spent_usd": 0.0, "held_usd": 0.0}


def test_a_server_that_is_not_there_was_sent_nothing(peer, model_at, asks, tmp_path):
    model = model_at(peer, patience_s="0.3")
    model.budget = Budget(tmp_path, max_requests=1)
    peer.stop()
    with pytest.raises(FatalError, match="cannot be reached"):
        model.ask(asks(1))
    assert spent_note(tmp_path) == []


def test_thoughts_that_only_the_total_tells_are_paid_for(asks):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115, "audio_tokens": 0}
    assert Prices(1, 1, 2).cost_usd(asks(1)[0], usage) == pytest.approx((10 + 2 * 105) / 1e6)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 50}, (50, 7)),
        ({"prompt_tokens": 50, "completion_tokens": 0, "total_tokens": 50}, (50, 7)),
        ({"prompt_tokens": 50, "completion_tokens": 2, "audio_tokens": 0}, (50, 2)),
        ({"prompt_tokens": 50, "total_tokens": 53}, (50, 3)),
    ],
)
def test_what_a_usage_leaves_open_or_zero_is_taken_at_its_worst(asks, usage, tokens):
    prompt, output = tokens
    cost_usd = Prices(1, 10, 100).cost_usd(asks(1, max_new_tokens=7)[0], usage)
    assert cost_usd == pytest.approx((10 * prompt + 100 * output) / 1e6)


def test_a_cap_on_costs_binds_where_a_server_writes_zeros_for_its_usage(peer, model_at, asks, talk, tmp_path):
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    peer.behave = lambda call: talk.Reply({**talk.completion("A"), "usage": usage})
    model = model_at(peer, **DEAR)
    worst_usd = Prices(1, 10, 100).worst_usd(asks(1)[0])
    model.budget = Budget(tmp_path, max_cost_usd=3.5 * worst_usd)
    responses = model.ask(asks(10))
    assert len([response for response in responses if response.error is None]) == len(peer.calls) == 3


def test_costs_of_unknown_prices_cannot_be_capped(tmp_path):
    with pytest.raises(UsageError, match=r"--ab-max-cost needs the prices of openai:m: add ,price_in=…,price_audio=…"):
        OpenAIModel("m").budget = Budget(tmp_path, max_cost_usd=1.0)
    OpenAIModel("m").budget = Budget(tmp_path, max_requests=1)
    OpenAIModel("m", FREE).budget = Budget(tmp_path, max_cost_usd=1.0)


def test_a_free_server_may_be_asked_without_end(peer, model_at, asks, tmp_path):
    model = model_at(peer, **FREE)
    model.budget = Budget(Path(tmp_path), max_cost_usd=0.0)
    assert len([r for r in model.ask(asks(20)) if r.error is None]) == 20
