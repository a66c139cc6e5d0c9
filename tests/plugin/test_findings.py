"""Findings of real runs: a model that makes words up where it hears low sounds, from its answers to the record."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"

MODEL = '''
import numpy as np

from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class Phantom:
    """Thanks for watching where nearly all that it hears is below 300 Hz, writes a marker where it is soft."""

    spec, batching, listens, device = "phantom:one", "opaque", True, "cpu"
    limits = Limits()

    def __init__(self, target, options):
        pass

    def fingerprint(self):
        return {"phantom": "1"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [Response.of(self._said(audio[0])) for _, audio in batch]

    def _said(self, heard):
        power = np.abs(np.fft.rfft(heard.samples)) ** 2
        low = power[: 300 * len(heard.samples) // heard.rate_hz].sum() / power.sum()
        if low > 0.8:
            return "Thank you | for `watching` & <b>more</b>!"
        return "[noise]" if low > 0.3 else "No speech detected."


def pytest_audiobench_register(registration):
    registration.model("phantom", Phantom)
'''
EVAL = """
from pytest_audiobench import findings
from pytest_audiobench.datasets.non_speech import non_speech

def test_made_up(evaluate):
    findings(evaluate, non_speech("hum", "white", "pink", lengths_s=(0.5, 1), clips=7), PROTOCOL, seed=SEED)
"""


@pytest.fixture
def phantom(suite):
    (suite.path / "conftest.py").write_text(MODEL)
    suite.write(test_made_up=EVAL.replace("SEED", "0").replace("PROTOCOL", "None"))
    return suite


def asked(suite, *args):
    result = suite.run(*args, model="phantom:one")
    assert result.ret == 0, result.outlines
    record, folder = suite.last()
    return result, record["items"][0], folder


def test_a_domain_in_which_words_are_made_up_is_validated_and_on_record(phantom):
    result, item, _ = asked(phantom)
    found = item["findings"]
    assert found["top_finding"] == "hallucination-rate:hum"
    assert {one["slice"]["domain"]: one["status"] for one in found["findings"]} == {
        "hum": "validated",
        "pink": "rejected",
        "white": "rejected",
    }
    assert found["validation_summary"] == {"validated": 1, "candidate": 0, "rejected": 2, "untested": 0}
    top = found["findings"][0]
    assert top["effect_size"] == top["holdout"]["effect_size"] == 1.0
    assert 0.3 < top["ci_lower"] < top["ci_upper"] <= 1.0
    assert top["adjusted_p_value"] <= found["findings_methods"]["discovery_alpha"]
    assert found["phrases"] == [{"phrase": "thank you for watching more", "count": 14, "domains": {"hum": 14}}]
    values = {one["name"]: one["value"] for one in item["metrics"] if not one["group"]}
    assert values["hallucination_rate"] == pytest.approx(14 / 42)
    assert values["silent_rate"] + values["declined_rate"] == pytest.approx(28 / 42)
    result.stdout.fnmatch_lines(
        ["findings of made_up, hallucination_rate by domain: 1 validated, 2 rejected", "*hum*+100.0*● validated*"]
    )
    result.stdout.fnmatch_lines(["*most frequent phrases: “thank you for*” 14 times (hum 14)*"])


def test_a_reviewer_can_draw_the_split_and_the_rates_again_from_the_runs_files(phantom):
    _, item, folder = asked(phantom)
    split = item["findings"]["findings_methods"]["split"]
    rows = [json.loads(line) for line in (folder / "scored_predictions.jsonl").read_text().splitlines()]
    hits = {row["sample_id"]: row["scores"]["hallucinated"] for row in rows}

    def draw(name):
        payload = json.dumps([split["salt"], 1, split["seed"], name], separators=(",", ":")).encode()
        return int.from_bytes(hashlib.sha256(payload).digest()[:8], "big") >> 1

    aside = set()
    for domain in ("hum", "white", "pink"):
        drawn = sorted((name for name in hits if name.startswith(domain)), key=draw)
        aside |= set(drawn[: int(0.4 * len(drawn) + 0.5)])
    assert sorted(aside) == split["holdout"]
    assert (
        hashlib.sha256(json.dumps(sorted(aside), separators=(",", ":")).encode()).hexdigest() == split["holdout_digest"]
    )
    for one in item["findings"]["findings"]:
        own = [name for name in sorted(aside) if name.startswith(one["slice"]["domain"])]
        assert one["holdout"]["clips"] == own
        assert one["holdout"]["domain_rate"] == sum(hits[name] for name in own) / len(own)
        assert not set(one["discovery"]["clips"]) & aside


def test_findings_are_the_same_on_workers_and_another_seed_is_another_split(phantom):
    phantom.write(test_other=EVAL.replace("SEED", "1").replace("made_up", "other").replace("PROTOCOL", "None"))
    asked(phantom)
    alone = phantom.last()[0]["items"]
    asked(phantom, "-n2", "--ab-store=fresh")
    workers = phantom.last()[0]["items"]
    assert [one["findings"] for one in workers] == [one["findings"] for one in alone]
    assert [one["hashes"] for one in workers] == [one["hashes"] for one in alone]
    assert alone[0]["hashes"] == alone[1]["hashes"]
    splits = [one["findings"]["findings_methods"]["split"]["holdout"] for one in alone]
    assert splits[0] != splits[1]


def test_epochs_of_a_clip_are_one_cluster_and_each_counts_among_phrases(phantom):
    _, item, _ = asked(phantom, "--ab-epochs=2")
    side = item["findings"]["findings"][0]["discovery"]
    assert side["clip_count_domain"] == side["cluster_count_domain"] == 8
    assert item["findings"]["phrases"][0]["count"] == 28


def test_the_published_rule_finds_what_it_counts(phantom):
    _, item, _ = asked(phantom, "--ab-scorer=non-speech-thenirock")
    assert {one["discovery"]["domain_rate"] for one in item["findings"]["findings"]} == {1.0}
    assert item["findings"]["top_finding"] is None


def test_without_a_scorer_of_made_up_words_there_are_no_findings_and_a_reason(phantom):
    speech = "from pytest_audiobench import findings, transcription\n"
    speech += "from pytest_audiobench.datasets.non_speech import non_speech\n"
    eval_ = EVAL.replace("SEED", "0").replace("PROTOCOL", "transcription()")
    phantom.write(test_made_up=speech + eval_)
    result, item, _ = asked(phantom)
    assert item["findings"] is None
    result.stdout.fnmatch_lines(["*no findings: no scorer measured hallucination_rate*"])


def test_findings_stand_in_the_summary_of_a_ci_job_and_in_a_frame(phantom, monkeypatch):
    summary = phantom.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    _, item, folder = asked(phantom)
    text = summary.read_text()
    assert re.search(r"\| hum \| 100.0 % \| \d\d.\d to 100.0 \| \\\+100.0 \|", text)
    assert "● validated" in text
    assert "<b>" not in text
    from pytest_audiobench import load_run

    frame = load_run(folder).findings
    assert list(frame["domain"]) == [one["slice"]["domain"] for one in item["findings"]["findings"]]
    assert list(frame["top"]) == [True, False, False]
    assert frame["holdout.effect_size"][0] == 1.0
    assert load_run(folder).items["top_finding"][0] == "hallucination-rate:hum"


def test_a_model_that_makes_words_up_everywhere_is_told_by_its_rate_where_nothing_could_be_tested(phantom):
    (phantom.path / "conftest.py").write_text(MODEL.replace("low > 0.8", "low >= 0"))
    text = EVAL.replace("SEED", "0").replace("PROTOCOL", "None").replace("(0.5, 1), clips=7", "(0.5,), clips=5")
    phantom.write(test_made_up=text)
    result, item, folder = asked(phantom)
    assert item["findings"]["validation_summary"]["untested"] == 3
    rates = (
        r"hallucination_rate 100.0 % \(7\d.\d to 100.0\) of 15; hum 100.0 % \([\d.]+ to 100.0\) of 5; "
        r"pink 100.0 % \([\d.]+ to 100.0\) of 5; white 100.0 % \([\d.]+ to 100.0\) of 5"
    )
    alarm = r"words were made up on most clips in which nobody speaks \(hallucination_rate\): all 100.0 % \(.*\) of 15"
    assert re.search(rates, result.stdout.str())
    assert re.search(rf"Alarm: {alarm} \(made_up\)", result.stdout.str())
    comment = phantom.audiobench("comment", folder).stdout
    assert "### Findings" in comment
    for sentence in (rates, alarm):
        assert re.search(sentence, comment.replace("\\", ""))
    assert '"rate":["100.0 %","' in (folder / "report.html").read_text()


def test_the_top_findings_of_two_runs_are_compared_with_status_effect_interval_and_q(phantom):
    asked(phantom, "--ab-run=before")
    (phantom.path / "conftest.py").write_text(MODEL.replace("low > 0.8", "low < 0.1").replace('"1"', '"2"'))
    asked(phantom, "--ab-run=after")
    table = phantom.audiobench("compare", "before", "after")
    assert table.returncode == 0
    # A signature and a command are never broken: they are copied whole.
    lines = [line for line in table.stdout.splitlines() if not line.startswith("see the samples that changed")]
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    assert "made_up hallucination_rate of domain hum (top of A)" in table.stdout
    assert re.search(r"\n  A +\+100\.0 +\+[\d.]+ to \+100\.0 +<0\.0001 +validated\n", table.stdout)
    assert re.search(r"\n  B +−[\d.]+ .* rejected +gone\n", table.stdout)
    rows = json.loads(phantom.audiobench("compare", "before", "after", "--format=json").stdout)["findings"]
    changes = {row["part"]: (row["change"], row["status"]) for row in rows if row["contender"] == "B"}
    assert changes["hum"] == ("gone", "rejected")
    assert [row["change"] for row in rows if row["contender"] == "B" and row["top"]] == ["new"]
    recorded = json.loads((phantom.path / "reports" / "before" / "run.json").read_text())["items"][0]["findings"]
    top, shown = recorded["findings"][0], next(row for row in rows if row["top"])
    for name in ("status", "effect_size", "ci_lower", "ci_upper", "adjusted_p_value"):
        assert shown[name] == top[name]
    again = json.loads(phantom.audiobench("compare", "before", "before", "--format=json").stdout)["findings"]
    assert [(row["contender"], row["change"]) for row in again] == [("A", None), ("B", "persisting")]
    markdown = phantom.audiobench("compare", "before", "after", "--format=markdown").stdout
    assert "| made_up hallucination_rate of domain hum (top of A) | A |" in markdown.replace("\\", "")


def test_verifying_a_run_draws_its_findings_again(phantom):
    asked(phantom, "--ab-epochs=2")
    path = phantom.last()[1] / "run.json"
    done = phantom.audiobench("verify", path.parent, "-v")
    assert done.returncode == 0
    assert "findings" in done.stdout
    record = json.loads(path.read_text())
    record["items"][0]["findings"]["findings"][1]["status"] = "validated"
    path.write_text(json.dumps(record))
    done = phantom.audiobench("verify", path.parent)
    assert done.returncode == 1
    assert "\nFAILS: findings of made_up by one;" in done.stdout


def test_a_domain_whose_asking_failed_is_untested_and_not_left_out(phantom):
    model = MODEL.replace(
        "[Response.of(self._said(audio[0])) for _, audio in batch]", "[self._or_error(a) for _, a in batch]"
    )
    failing = "    def _or_error(self, audio):\n        said = self._said(audio[0])\n"
    failing += "        return Response(error='broken pipe') if 'Thank' in said else Response.of(said)\n\n"
    (phantom.path / "conftest.py").write_text(model.replace("    def _said", failing + "    def _said"))
    phantom.run(model="phantom:one")
    record, folder = phantom.last()
    found = record["items"][0]["findings"]
    assert {one["slice"]["domain"]: one["status"] for one in found["findings"]}["hum"] == "untested"
    assert len(found["findings"]) == 3
    assert found["findings_methods"]["split"]["clusters"] == 42
    assert "FAILS: findings" not in phantom.audiobench("verify", folder).stdout


WRONG = """
from dataclasses import replace
from pytest_audiobench import Dataset, findings
from pytest_audiobench.datasets.non_speech import non_speech

def test_two_domains(evaluate):
    made = non_speech("hum", "white", lengths_s=(0.5,), clips=2)
    findings(evaluate, replace(made, cluster="duration_s"))

def test_no_field(evaluate):
    findings(evaluate, non_speech("hum", lengths_s=(0.5,), clips=2), by="weather")
"""


def test_what_cannot_be_held_apart_is_one_sentence(phantom):
    phantom.write(test_wrong=WRONG)
    result = phantom.run("-k", "two_domains or no_field", model="phantom:one")
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        ["*the cluster '0.5' lies in two domains, *", "*has no 'weather' in its metadata*"]
    )


RECORDED = """
from pytest_audiobench import findings
from pytest_audiobench.datasets.non_speech import non_speech_recordings

def test_recorded(evaluate):
    findings(evaluate, non_speech_recordings(lengths_s=(0.3, 0.5)))
"""


def test_recordings_that_are_not_there_are_skipped_with_the_reason(phantom):
    phantom.write(test_recorded=RECORDED)
    result = phantom.run("-k", "recorded", "-rs", model="phantom:one")
    result.stdout.fnmatch_lines(["*non-speech is not on this machine*--ab-data=non-speech=FOLDER*"])


@pytest.mark.skipif(not (DATA / "esc50").is_dir(), reason="real noises lie in ../shared/data, which is not here")
def test_real_recordings_are_asked_about_by_domain_and_few_of_them_prove_nothing(phantom):
    pytest.importorskip("pocketsphinx")
    phantom.write(test_recorded=RECORDED)
    folder = phantom.path / "noises"
    shutil.copytree(DATA / "noise", folder / "noise")
    for row in (DATA / "esc50" / "esc50.csv").read_text().splitlines()[1:]:
        name, _, _, category, *_ = row.split(",")
        (folder / category).mkdir(exist_ok=True)
        shutil.copy(DATA / "esc50" / name, folder / category)
    result = phantom.run("-k", "recorded", f"--ab-data=non-speech={folder}", model="baseline:listener")
    assert result.ret == 0
    item = phantom.last()[0]["items"][0]
    assert item["n"] == 20
    assert item["cluster"] == "recording"
    found = item["findings"]
    assert found["findings_methods"]["split"]["clusters"] == 10
    assert found["validation_summary"]["untested"] == len(found["findings"]) == 4
    assert "5 needed" in found["findings"][0]["validation_notes"]
