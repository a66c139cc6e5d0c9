"""Run files of the audiobench tool compared: with one another by its directions, and with runs of ours."""

import copy
import json
from pathlib import Path

import pytest

from pytest_audiobench import transcription
from pytest_audiobench.compat.thenirock_audiobench.artifact import artifact, run_hash
from pytest_audiobench.datasets.sample import Sample

RUNS = Path(__file__).parents[3] / "shared" / "data" / "audiobench-runs"
needs_runs = pytest.mark.skipif(not RUNS.is_dir(), reason=f"needs the recorded runs in {RUNS}")

WORDS = ("turn it off", "a dog barks", "the red bus stops", "one two three four")
DOMAINS = ("silence", "music", "noise")


def sealed(file, content):
    content["run_hash"] = ""
    content["run_hash"] = run_hash(artifact(file, content))
    file.write_text(json.dumps(content))
    return file


def robust(file, wrong=0, conditions=("clean", "noise-pink-5db")):
    """A run file of four clips, of which the first ``wrong`` have one wrong word."""
    return sealed(
        file,
        {
            "suite": "ab/asr-robust",
            "revision": "0.1.0",
            "model": f"model{wrong}",
            "seed": 1337,
            "clip_count": len(WORDS),
            "conditions": list(conditions),
            "manifest_hash": "0" * 64,
            "per_condition_wer": dict.fromkeys(conditions, 0.0),
            "weighted_mean_wer": 0.0,
            "per_clip_hypotheses": [
                {
                    "clip_id": number,
                    "file": f"clip{number}.wav",
                    "reference": text.capitalize() + ".",
                    "hypotheses": dict.fromkeys(conditions, text.replace(text.split()[0], "x", number <= wrong)),
                }
                for number, text in enumerate(WORDS, 1)
            ],
        },
    )


def hallucination(file, phantom, **more):
    """A run file of three domains with four clips each; ``phantom`` of each say something."""
    results = [
        {
            "clip_id": f"{domain}-{number}",
            "metadata": {"domain": domain},
            "reference": "",
            "result": {"transcript": "thank you" if number < phantom else ""},
        }
        for domain in DOMAINS
        for number in range(4)
    ]
    content = {
        "suite": "ab/asr-hallucination",
        "revision": "0.1.0",
        "model": f"phantom{phantom}",
        "seed": 7,
        "clip_count": len(results),
        "conditions": list(DOMAINS),
        "manifest_hash": "1" * 64,
        "per_clip_results": results,
        "per_condition_metrics": {},
    }
    return sealed(file, content | more)


def table(code_out_err):
    code, out, err = code_out_err
    assert code == 0, err
    return " ".join(out.split())


def test_transcripts_are_compared_per_condition_and_on_their_mean_where_less_is_better(tmp_path, audiobench):
    good, poor = robust(tmp_path / "good.json"), robust(tmp_path / "poor.json", 2)
    told = table(audiobench("compare", good, poor))
    assert "THE AUDIO IS NOT KNOWN TO BE THE SAME: A" in told
    assert "asr_robust[clean] wer by lower-nopunct" in told
    assert "asr_robust[pink-5dB] wer by lower-nopunct" in told
    assert "clean WER 0.00 to 14.29 (+14.29, A better)" in told
    assert "mean WER over conditions 0.00 to 14.29 (+14.29, A better)" in told
    assert "EDITED" not in told
    _, out, _ = audiobench("compare", good, poor, "--format", "json")
    lines = json.loads(out)["lines"]
    assert [line["pairs"] for line in lines] == [4, 4, 8]
    assert lines[0]["drop"] == pytest.approx(2 / 14)


def test_a_run_file_that_was_edited_says_so(tmp_path, audiobench):
    good, poor = robust(tmp_path / "good.json"), robust(tmp_path / "poor.json", 2)
    content = json.loads(poor.read_text())
    content["per_clip_hypotheses"][0]["hypotheses"]["clean"] = "turn it off"
    poor.write_text(json.dumps(content))
    assert "EDITED: the run_hash of B" in table(audiobench("compare", good, poor))


def test_clips_that_only_one_has_must_be_allowed(tmp_path, audiobench):
    good, less = robust(tmp_path / "good.json"), robust(tmp_path / "less.json", 1)
    content = json.loads(less.read_text())
    del content["per_clip_hypotheses"][2:]
    sealed(less, content | {"clip_count": 2})
    code, _, err = audiobench("compare", good, less)
    assert code == 4
    assert "--allow-mismatch data" in err
    told = table(audiobench("compare", good, less, "--allow-mismatch", "data"))
    assert "NOT THE SAME DATA" in told


def test_hallucination_rates_are_compared_with_the_status_of_the_top_findings(tmp_path, audiobench):
    finding = {"title": "noise hallucination uplift", "effect_size": 0.25, "adjusted_p_value": 0.04}
    few = hallucination(tmp_path / "few.json", 1, top_finding=finding | {"status": "candidate"})
    many = hallucination(tmp_path / "many.json", 3, findings=[finding | {"status": "validated"}])
    told = table(audiobench("compare", few, many, "--groups", "domain"))
    assert "hallucination_rate by non-speech-thenirock [domain=music]" in told
    assert "music hallucination rate 0.25 to 0.75 (+0.50, A better)" in told
    assert "weighted hallucination rate 0.25 to 0.75 (+0.50, A better)" in told
    assert "top finding of A, as its file says: noise hallucination uplift:" in told
    assert "status candidate" in told
    assert "status validated" in told


def test_runs_of_two_suites_are_refused(tmp_path, audiobench):
    code, _, err = audiobench("compare", robust(tmp_path / "a.json"), hallucination(tmp_path / "b.json", 1))
    assert code == 4
    assert "no eval in common" in err


def ours(lab, ids, protocol="lower-nopunct"):
    made = [Sample(name, (), "", reference=text) for name, text in zip(ids, WORDS, strict=True)]
    said = dict(zip(ids, WORDS, strict=True)) | {ids[3]: "one two three"}
    scorers = transcription("wer-basic", protocol)
    return lab.run("ours", {"asr_robust[clean]": made}, said.get, protocol=scorers)


def test_with_a_run_of_ours_clips_pair_by_id_and_condition(lab, tmp_path, audiobench):
    file = robust(tmp_path / "theirs.json", 1)
    content = json.loads(file.read_text())
    for one, text in zip(content["per_clip_hypotheses"], WORDS, strict=True):
        one["reference"] = text
    sealed(file, content)
    run = ours(lab, ["1", "2", "3", "4"])
    told = table(audiobench("compare", file, run))
    assert "NOT PAIRED" not in told
    assert "THE AUDIO IS NOT KNOWN TO BE THE SAME: A" in told
    assert "asr_robust[clean] wer by wer-basic" in told
    _, out, _ = audiobench("compare", run, file, "--format", "json", "--scorers", "lower-nopunct")
    [line] = json.loads(out)["lines"]
    assert (line["pairs"], line["worse"], line["better"], line["status"]) == (4, 1, 1, "inconclusive")


def test_where_nothing_pairs_no_difference_is_claimed(lab, tmp_path, audiobench):
    run = ours(lab, ["w1", "w2", "w3", "w4"])
    code, out, _ = audiobench("compare", robust(tmp_path / "theirs.json", 1), run, "--format", "json")
    assert code == 0
    [line] = json.loads(out)["lines"]
    assert line["status"] == "not_comparable"
    assert line["drop"] is None
    assert line["first_value"] == pytest.approx(1 / 14)
    assert line["value"] == pytest.approx(1 / 14)
    assert any(one.startswith("NOT PAIRED: A") for one in json.loads(out)["heading"])


@needs_runs
def test_two_runs_of_one_command_that_heard_other_sounds_are_not_called_the_same(audiobench):
    told = table(
        audiobench("compare", RUNS / "run-5c224f1c.json", RUNS / "run-997d65ef.json", "--metrics", "recall,fpr,f1")
    )
    assert "THE AUDIO IS NOT KNOWN TO BE THE SAME: A" in told
    assert "demo/quad recall 0.12 to 0.23 (+0.10, B better)" in told
    assert "pooled FPR 0.11 to 0.11 (+0.00, level)" in told
    assert "solo to quad cliff -0.88 to -0.78 (+0.10, B better)" in told
    assert "largest gains demo/speech +0.38, demo/dog_bark +0.12, demo/vacuum +0.10" in told
    assert "losses demo/water -0.12" in told
    assert "sound_id[quad] fpr by ab-yesno" in told


@needs_runs
@pytest.mark.parametrize(
    ("first", "other", "told"),
    [
        ("run-bundled", "run-ensemble", "prompt_ensemble is null in A and 3 in B"),
        ("demo-heuristic", "run-5c224f1c", 'prompt_version is null in A and "yesno-v1" in B'),
    ],
)
def test_other_wordings_are_refused_unless_allowed(audiobench, first, other, told):
    files = [RUNS / f"{name}.json" for name in (first, other)]
    code, _, err = audiobench("compare", *files)
    assert code == 4
    assert told in err
    allowed = [word for one in ("prompts", "protocols", "data") for word in ("--allow-mismatch", one)]
    assert "NOT THE SAME PROMPTS" in table(audiobench("compare", *files, *allowed))


@needs_runs
def test_mixtures_of_other_sounds_under_one_name_are_in_no_pair(tmp_path, audiobench):
    content = json.loads((RUNS / "demo-fast-weak.json").read_text())
    changed = copy.deepcopy(content)
    changed["per_mixture"][0]["sources"][0]["source"] = "demo://siren@5"
    files = [sealed(tmp_path / f"{name}.json", one) for name, one in (("a", content), ("b", changed))]
    told = table(audiobench("compare", *files))
    assert "unmatched with B in sound_id[solo] by ab-yesno: 3 audio" in told
