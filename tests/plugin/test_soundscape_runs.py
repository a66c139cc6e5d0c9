"""Lists of events through a whole run: both readings, what is recorded of each clip, and scoring it again."""

import json

import pytest

PARROT = """
import json
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits
from tests import lexical_encoder

lexical_encoder.register()


class Parrot:
    listens = True
    device = "cpu"
    batching = "opaque"
    in_process = False

    def __init__(self, target, options):
        self.spec = f"parrot:{target}"
        self.limits = Limits(max_batch=4, max_clip_s=2.0)

    def fingerprint(self):
        return {"parrot": "1"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        says = json.load(open("says.json"))
        return [Response.of(says[request.sample_id]) for request, _ in batch]

def pytest_audiobench_register(registration):
    registration.model("parrot", Parrot)
"""
EVAL = """
from pytest_audiobench import manifest
from pytest_audiobench.protocols.soundscape.task import soundscape

def test_scenes(evaluate):
    result = evaluate(manifest("data/scenes.jsonl"), soundscape(encoder="lexical"))
    assert result["reward"] > 0.5
"""
PIANO = {"type": "music", "start_time": 0.0, "end_time": 4.0, "description": "a slow piano"}
DOG = {"type": "sound_event", "start_time": 1.0, "end_time": 2.0, "description": "a dog barks", "loudness": "loud"}
LINE = {
    **{"type": "speech", "start_time": 1.0, "end_time": 3.0, "transcription": "we leave at nine"},
    **{"speaker_id": "A", "language": "en", "emotion": "calm"},
}
KEYS = {"s0": [PIANO, LINE], "s1": [DOG], "s2": [PIANO, DOG], "s3": []}
SAYS = {
    "s0": json.dumps([PIANO, LINE]),
    "s1": f"I hear {json.dumps([DOG])}",
    "s2": json.dumps([{**PIANO, "end_time": "4 s"}]),
    "s3": "Nothing.",
}


@pytest.fixture
def scenes(suite):
    suite.tones(4)
    (suite.path / "conftest.py").write_text(PARROT)
    lines = [
        {"id": id_, "audio": f"tone{number}.wav", "answer": json.dumps(key), "metadata": {"duration": 4.0}}
        for number, (id_, key) in enumerate(KEYS.items())
    ]
    (suite.path / "data" / "scenes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (suite.path / "says.json").write_text(json.dumps(SAYS))
    suite.write(test_scenes=EVAL)
    return suite


def rows(folder, name):
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {(row["sample_id"], row["scorer"]): row for row in map(json.loads, lines)}


def test_events_are_scored_by_both_readings_and_every_clip_has_its_details(scenes):
    scenes.run(model="parrot:one").assert_outcomes(passed=1)
    run, folder = scenes.last()
    (item,) = run["items"]
    values = {(metric["scorer"], metric["name"]): metric for metric in item["metrics"] if not metric["group"]}
    assert values["lenient", "reward"]["value"] == pytest.approx(4 / 5)
    assert values["strict", "reward"]["value"] == pytest.approx(2 / 5)
    assert values["lenient", "scene_f1"]["value"] == pytest.approx((1 + 1 + 2 / 3 + 1) / 4)
    assert "encoder:lexical" in values["lenient", "reward"]["signature"]
    statuses = {key: row["status"] for key, row in rows(folder, "processed_predictions").items()}
    assert (statuses["s1", "lenient"], statuses["s1", "strict"]) == ("parsed", "unparsed")
    details = json.loads(rows(folder, "processed_predictions")["s2", "lenient"]["details"])
    assert [event["type"] for event in details["truths"]] == ["music", "sound_event"]
    assert [(pair["truth"], pair["guess"], pair["score"]) for pair in details["pairs"]] == [(0, 0, 1.0)]
    assert details["repairs"] == {"time text": 1}


def test_numbers_are_given_for_kinds_of_events(scenes):
    scenes.run(model="parrot:one").assert_outcomes(passed=1)
    metrics = scenes.last()[0]["items"][0]["metrics"]
    reward = {
        tuple(metric["group"].items()): (metric["value"], metric["n"])
        for metric in metrics
        if metric["scorer"] == "lenient" and metric["name"] == "reward" and metric["group"]
    }
    assert reward[("type", "music"),] == (pytest.approx(1.0), 2)
    assert reward[("type", "sound_event"),] == (pytest.approx(0.5), 2)
    assert reward[("language", "en"),] == (pytest.approx(1.0), 1)
    assert reward[("loudness", "loud"),] == (pytest.approx(0.5), 2)
