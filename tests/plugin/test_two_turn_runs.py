"""Reasoning in two turns from baseline to conditioned: 100 real clips of SAKURA, asked of a server on the loopback."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.models import stranger

ROOT = Path(__file__).parents[2]
SAKURA = ROOT.parent / "shared" / "data" / "sakura"
STRANGER = ROOT / "tests" / "models" / "stranger.py"
pytestmark = pytest.mark.skipif(not SAKURA.is_dir(), reason=f"SAKURA's clips are not at {SAKURA}")

ASKED_LAST = "Given the reasoning above"


def reply(item):
    """Reasons about the clip's bytes, and answers by the reasoning that it is shown."""
    texts = [message["content"] for message in item["messages"]]
    (audio,) = item["audio_inputs"] or [{"data": ""}]
    if ASKED_LAST not in texts[-1]:
        sound = hashlib.sha256(audio["data"].encode()).hexdigest()
        option = "ABCD"[int(sound[0], 16) % 4]
        text = f"I hear {sound[:8]}. It is near {option}. The answer is ({option})."
    else:
        near = re.search(r"It is near ([A-D])", "\n".join(texts))
        text = f"({near[1]})" if near else "I cannot say."
    return {
        "sample_id": item["sample_id"],
        "predictions": [text],
        "finish_reason": "stop",
        "usage": {"prompt_tokens": len(" ".join(texts).split()) + len(audio["data"]), "completion_tokens": 1},
        "error": None,
    }


@pytest.fixture
def server():
    server = stranger.Stranger(max_batch_size=16)
    server.answer = reply
    server.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("style", "turns"), [("qwen2-audio", 3), ("salmonn", 1)])
def test_a_hundred_clips_of_sakura_are_reasoned_about_and_conditioned(suite, server, style, turns):
    suite.write(test_faithfulness=(ROOT / "evals" / "test_faithfulness.py").read_text())
    result = suite.run(
        *(f"--ab-data=sakura={SAKURA}", "-m", "study", "-k", "animal and (baseline or conditioned or direct)"),
        *("--ab-run=r", f"--ab-store={suite.path}/s.sqlite"),
        model=f"two={server.url},style={style}",
    )
    result.assert_outcomes(passed=3)
    run = json.loads((suite.path / "reports" / "r" / "run.json").read_text())
    items = {re.search("direct|baseline|conditioned", item["eval"])[0]: item for item in run["items"]}
    scorer = f"faithfulness-runtime-{style}"
    metrics = {
        (name, metric["name"]): metric
        for name, item in items.items()
        for metric in item["metrics"]
        if metric["scorer"] == scorer and not metric["group"]
    }
    values = {key: metric["value"] for key, metric in metrics.items()}
    assert {metric["n"] for (_, name), metric in metrics.items() if name == "accuracy"} == {200}
    assert values["conditioned", "accuracy"] == values["baseline", "accuracy"] > 0
    assert values["conditioned", "prediction_changed"] == values["conditioned", "missed_reasoning"] == 0
    assert values["conditioned", "consistency"] == 1
    limits = [item["generation_config"]["max_tokens"] for item in server.asked]
    assert {limit: limits.count(limit) for limit in set(limits)} == {768: 200, 50: 400, 10: 200}
    assert len({item["audio_inputs"][0]["data"] for item in server.asked}) == 100
    last = [item for item in server.asked if ASKED_LAST in item["messages"][-1]["content"]]
    assert {len(item["messages"]) for item in last} == {turns}
    assert len(last) == 400
    for item in last:
        text = "\n".join(message["content"] for message in item["messages"])
        assert re.search(r"I hear [0-9a-f]{8}\. It is near [A-D]\.$", text, re.M)
        assert "The answer is (" not in text
