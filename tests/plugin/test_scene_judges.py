"""A judge of described scenes in a whole run: it is played the clip, with the answer key or without."""

import json

import pytest

JUDGE = '''
import json as _json


class Ears:
    """Rates 4 where it hears a clip, and one less where it is not shown the answer key."""

    spec, listens, device, batching = "ears:one", True, "cpu", "opaque"
    limits = Limits(max_batch=4)

    def fingerprint(self):
        return {"ears": "1"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [self._ratings(request, audio) for request, audio in batch]

    def _ratings(self, request, audio):
        (clip,) = audio
        text = "".join(part for message in request.messages for part in message.parts if isinstance(part, str))
        rating = (4 if clip.samples.any() else 2) - ("a quiet tone" not in text)
        names = [line[2:].partition(":")[0] for line in text.splitlines() if line.startswith("- ")]
        return Response.of(_json.dumps(dict.fromkeys(names, rating)))


_register = pytest_audiobench_register


def pytest_audiobench_register(registration):
    _register(registration)
    registration.model("ears", lambda target, options: Ears())
'''
EVAL = """
from pytest_audiobench import manifest
from pytest_audiobench.protocols.soundscape.task import soundscape

def test_scenes(evaluate):
    evaluate(manifest("data/scenes.jsonl"), soundscape("lenient", "rated-with-key", "rated-by-ear"))
"""
KEY = [{"type": "sound_event", "start_time": 0.0, "end_time": 0.2, "description": "a quiet tone"}]


def test_a_judge_hears_the_clip_with_the_answer_key_and_without(suite):
    suite.tones()
    with (suite.path / "conftest.py").open("a") as conftest:
        conftest.write(JUDGE)
    rows = [json.loads(line) for line in (suite.path / "data" / "tones.jsonl").read_text().splitlines()][:3]
    lines = [{"audio": row["audio"], "answer": json.dumps(KEY), "metadata": {"duration": 0.2}} for row in rows]
    (suite.path / "data" / "scenes.jsonl").write_text("\n".join(map(json.dumps, lines)))
    suite.write(test_scenes=EVAL)
    result = suite.run("--ab-judge=judge=ears:one", model="baseline:chance")
    assert result.ret == 0, result.stdout.str()
    run, _ = suite.last()
    whole = [metric for metric in run["items"][0]["metrics"] if not metric["group"]]
    figures = {(metric["scorer"], metric["name"]): metric["value"] for metric in whole}
    assert figures["rated-with-key", "overall_quality"] == 4
    assert figures["rated-by-ear", "overall_quality"] == 3
    assert figures["rated-with-key", "judge_score"] == pytest.approx(0.8)
