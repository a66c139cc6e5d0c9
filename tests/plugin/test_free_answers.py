"""Translations and captions through a whole run: what is asked, left out, scored together and recorded."""

import json

import pytest

from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

PARROT = """
import json
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

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
        open("loaded", "w").close()

    def close(self):
        pass

    def ask(self, batch):
        says = json.load(open("says.json"))
        return [Response.of(says[request.sample_id]) for request, _ in batch]

def pytest_audiobench_register(registration):
    registration.model("parrot", Parrot)
"""
EVALS = """
from pytest_audiobench import manifest
from pytest_audiobench.protocols.captioning.task import captioning
from pytest_audiobench.protocols.translation.task import translation

def test_into_japanese(evaluate):
    data = manifest("data/ja.jsonl", question="In Japanese, please.")
    result = evaluate(data, translation("bleu-char-skip", "chrf", target="ja"))
    assert result["bleu"] > 99
    assert result["skipped"] == 0.5

def test_captions(evaluate):
    result = evaluate(manifest("data/captions.jsonl", question="What is heard?"), captioning())
    assert result["cider_d"] > 1.0
    assert result["rouge_l"] > 0.5
"""
JAPANESE = {
    "j1": ("会議は九時に始まります", "会議は九時に始まります"),
    "j2": ("The meeting starts at nine", "会議は九時に始まります"),
    "j3": ("", "明日は雨です"),
    "j4": ("明日は雨です", "明日は雨です"),
}
CAPTIONS = {
    "c1": ("A dog's barking!", ["a dog is barking", "loud barking"]),
    "c2": ("rain on a roof", ["rain falls on a roof", "it rains"]),
    "c3": ("", ["a man speaks", "speech"]),
}


@pytest.fixture
def talk(suite):
    suite.tones(4)
    (suite.path / "conftest.py").write_text(PARROT)
    for name, rows in (("ja", JAPANESE), ("captions", CAPTIONS)):
        lines = [
            {"id": id_, "audio": f"tone{number}.wav", "answer": true}
            for number, (id_, (_, true)) in enumerate(rows.items())
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (suite.path / "data" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    says = {id_: said for id_, (said, _) in {**JAPANESE, **CAPTIONS}.items()}
    (suite.path / "says.json").write_text(json.dumps(says))
    suite.write(test_talk=EVALS)
    return suite


def metrics(run, eval_):
    (item,) = [item for item in run["items"] if eval_ in item["eval"]]
    return {(metric["scorer"], metric["name"]): metric for metric in item["metrics"] if not metric["group"]}


def test_a_skip_rule_is_shown_beside_the_scorer_that_keeps_all(talk):
    result = talk.run(model="parrot:one")
    result.assert_outcomes(passed=2)
    run, folder = talk.last()
    found = metrics(run, "into_japanese")
    assert found["bleu-char-skip", "bleu"]["value"] == pytest.approx(100.0)
    assert found["bleu-char-skip", "bleu"]["n"] == 2
    assert found["bleu-char", "bleu"]["value"] < 60.0
    assert found["bleu-char", "bleu"]["n"] == 4
    assert "skip:empty+null+nokana[ja]" in found["bleu-char-skip", "bleu"]["signature"]
    captions = metrics(run, "captions")
    assert "rarity over 3 captions" in captions["captions", "cider_d"]["method"]
    lines = [json.loads(line) for line in (folder / "scored_predictions.jsonl").read_text().splitlines()]
    scored = [line for line in lines if line["scorer"] == "captions"]
    assert all(line["scores"]["cider_set"] == 3 for line in scored)


def test_one_caption_has_a_cider_of_0_and_why_is_said_and_the_run_is_written_all_the_same(talk):
    talk.write(test_talk=EVALS.replace("assert result", "result"))
    result = talk.run("--ab-limit=1", "-k", "captions", model="parrot:one")
    result.assert_outcomes(passed=1)
    found = metrics(talk.last()[0], "captions")["captions", "cider_d"]
    assert found["value"] == 0.0
    assert "one caption" in found["method"]


def test_what_a_score_lacks_is_told_before_the_model_is_asked(talk, monkeypatch):
    monkeypatch.setenv("SACREBLEU", str(talk.path / "nothing"))
    monkeypatch.delenv("AUDIOBENCH_FLORES101", raising=False)
    result = talk.run("--ab-scorer=bleu-flores101", "-k", "japanese", model="parrot:one")
    assert result.ret != 0
    assert "the scorer bleu-flores101 cannot be used here" in result.stdout.str() + result.stderr.str()
    assert not (talk.path / "loaded").exists()


ANSWERS = """
from pytest_audiobench import manifest
from pytest_audiobench.protocols.spoken_questions.task import spoken_questions

def test_answers(evaluate):
    evaluate(manifest("data/ja.jsonl"), spoken_questions())
"""


def test_a_sweep_leaves_out_what_the_data_cannot_serve_and_a_name_is_refused(talk):
    talk.write(test_talk=ANSWERS)
    talk.run("--ab-scorer=all", model="parrot:one").assert_outcomes(passed=1)
    item = talk.last()[0]["items"][0]
    names = [scorer["name"] for scorer in item["scorers"]]
    assert names[:2] == ["answer-contained", "question-level"]
    left_out = [text.removeprefix("the scorer ").split()[0] for text in item["warnings"] if "left out" in text]
    assert "following" in left_out
    assert not set(left_out) & set(names)
    again = rescore(source_of(talk.last()[1]), ScoringOptions(("all",)))
    assert [scorer.name for scorer in again.items[0].scorers] == names
    (talk.path / "loaded").unlink()
    refused = talk.run("--ab-scorer=following", "--ab-refresh", model="parrot:one")
    refused.assert_outcomes(failed=1)
    refused.stdout.fnmatch_lines(["*the scorer following cannot be used here: sample 'j*' has no metadata*"])
    assert not (talk.path / "loaded").exists()


def test_every_scorer_of_a_translation_scores_one_set_of_answers(talk):
    result = talk.run("--ab-scorer=all", "-k", "japanese", model="parrot:one")
    assert "Traceback" not in result.stdout.str()
    scorers = {name for name, _ in metrics(talk.last()[0], "into_japanese")}
    assert {"bleu-char", "bleu-ja-mecab", "kimi", "salmonn-repro", "chrf", "ter", "lmms-eval"} <= scorers
