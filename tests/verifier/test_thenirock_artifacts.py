"""The audiobench tool's own run files: hashes, parsed answers and figures by its rules, and each damage named."""

import copy
import hashlib
import json
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.compat.thenirock_audiobench.artifact import artifact, stable_digest
from pytest_audiobench.compat.thenirock_audiobench.figures import figures

DATA = Path(__file__).parents[3] / "shared" / "data"
RUNS = sorted((DATA / "audiobench-runs").glob("*.json"))
needs_runs = pytest.mark.skipif(not RUNS, reason=f"needs the recorded runs in {DATA / 'audiobench-runs'}")


def robust():
    """A run file as the tool writes it, of two clips under two conditions."""
    clips = [("Turn it off.", "turn it off", "turn off"), ("A dog barks.", "a dog barks", "the dog barked")]
    content = {
        "suite": "ab/asr-robust",
        "revision": "0.1.0",
        "model": "tiny",
        "seed": 1337,
        "clip_count": 2,
        "conditions": ["clean", "noise-pink-5db"],
        "manifest_hash": "0" * 64,
        "per_condition_wer": {"clean": 0.0, "noise-pink-5db": 3 / 6 * 100.0},
        "weighted_mean_wer": 25.0,
        "per_clip_hypotheses": [
            {
                "clip_id": number,
                "file": f"clip{number}.wav",
                "reference": reference,
                "hypotheses": {"clean": clean, "noise-pink-5db": noisy},
            }
            for number, (reference, clean, noisy) in enumerate(clips, 1)
        ],
    }
    return sealed(content, ("model", "seed", "clip_count", "conditions"), "per_clip_hypotheses")


def hallucination():
    """A run file as the later tool writes it: four clips of two domains."""
    said = {"silence-a": "", "silence-b": "thank you", "noise-a": "[music]", "noise-b": "..."}
    results = [
        {
            "clip_id": name,
            "id": number,
            "generator": "white_noise",
            "metadata": {"domain": name.partition("-")[0], "duration_s": 2.0},
            "reference": "",
            "result": {"transcript": text, "latency_ms": 12.5},
        }
        for number, (name, text) in enumerate(said.items())
    ]
    content = {
        "suite": "ab/asr-hallucination",
        "revision": "0.1.0",
        "model": "tiny",
        "seed": 7,
        "clip_count": 4,
        "conditions": ["silence", "noise"],
        "condition_key": "domain",
        "manifest_hash": "1" * 64,
        "per_clip_results": results,
        "per_condition_metrics": {},
        "headline": {},
        "hallucination_rate": 0.5,
        "weighted_hallucination_rate": 0.5,
        "findings": [],
        "top_finding": None,
    }
    for place, value in figures(artifact(Path("made"), {**content, "run_hash": ""})).items():
        at = content
        for step in place[:-1]:
            at = at.setdefault(step, {})
        at[place[-1]] = value
    more = {"condition_key": "domain", "sample_rate": 16000}
    return sealed(content, ("model", "seed", "clip_count", "conditions"), "per_clip_results", more)


def sealed(content, names, answers, more=None):
    """``content`` with its run_hash, put together here by the tool's rule."""
    payload = {
        "suite": content["suite"],
        "revision": content["revision"],
        "manifest_hash": content["manifest_hash"],
        "config": {name: content[name] for name in names} | (more or {}),
        "hypotheses": content[answers],
    }
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return content | {"run_hash": hashlib.sha256(text.encode()).hexdigest()}


@pytest.fixture
def told(tmp_path, verify):
    """Verifies a run file of this content; returns the exit code and what is not ok by part."""

    def call(content, *arguments):
        file = tmp_path / "run.file.json"
        file.write_text(json.dumps(content))
        code, odd, _ = verify(file, *arguments)
        return code, *(
            {key[2]: detail for key, detail in odd[status].items()} for status in ("fails", "not_recomputed")
        )

    return call


@needs_runs
@pytest.mark.parametrize("file", RUNS, ids=lambda path: path.stem)
def test_every_recorded_run_recomputes(file, verify):
    code, odd, found = verify(file)
    assert code == 0
    assert odd == {"fails": {}, "not_recomputed": {}}
    parts = [one["part"] for one in found["checked"][0]["parts"]]
    assert parts[0] == "run_hash"
    assert parts[-1] == "figures"
    assert "no audio" in found["notes"][0]


@needs_runs
def test_the_manifests_hash_is_recomputed_from_the_manifest(verify):
    file = next(one for one in RUNS if one.stem == "run-c785e8c4")
    folder = DATA / "speech" / "audiobench"
    assert verify(file, f"--data=ab/asr-robust={folder}")[0] == 0


def test_another_manifest_than_the_runs_fails(tmp_path, told):
    content = robust()
    assert "manifest_hash" in told(content)[2]
    (tmp_path / "manifest.json").write_text('{"clips": []}')
    assert set(told(content, f"--data=ab/asr-robust={tmp_path}")[1]) == {"manifest_hash"}
    sound = content | {"manifest_hash": stable_digest({"clips": []})}
    sealed_anew = sealed(sound, ("model", "seed", "clip_count", "conditions"), "per_clip_hypotheses")
    assert told(sealed_anew, f"--data=ab/asr-robust={tmp_path}")[:2] == (0, {})


def test_a_made_run_of_each_transcribing_suite_holds(told):
    assert told(robust())[:2] == (0, {})
    code, odd, unknown = told(hallucination())
    assert (code, odd) == (0, {})
    assert "bootstrap" in unknown["findings"]
    rates = hallucination()["per_condition_metrics"]
    assert rates["noise"]["non_speech_hallucination_rate"] == 0.5
    assert rates["silence"]["non_speech_mean_inserted_tokens"] == 1.0


DAMAGES = {
    "a transcript": (robust, lambda run: run["per_clip_hypotheses"][0]["hypotheses"].update(clean="tern it off"),
                     {"run_hash", "figures"}),
    "a clip's file": (robust, lambda run: run["per_clip_hypotheses"][0].update(file="other.wav"), {"run_hash"}),
    "a rate": (robust, lambda run: run["per_condition_wer"].update(clean=1.0), {"figures"}),
    "the mean": (robust, lambda run: run.update(weighted_mean_wer=24.0), {"figures"}),
    "the model": (robust, lambda run: run.update(model="base"), {"run_hash"}),
    "the hash": (robust, lambda run: run.update(run_hash="0" * 64), {"run_hash"}),
    "a condition": (robust, lambda run: run["conditions"].append("reverb-medium"), {"run_hash", "figures"}),
    "a latency": (hallucination, lambda run: run["per_clip_results"][0]["result"].update(latency_ms=1.0), {"run_hash"}),
    "a domain's rate": (hallucination, lambda run: run["per_condition_metrics"]["noise"].update(insertion_rate=0.9),
                        {"figures"}),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damage_is_named(told, what):
    make, damage, parts = DAMAGES[what]
    content = make()
    damage(content)
    code, odd, _ = told(content)
    assert code == 1
    assert set(odd) == parts


@needs_runs
@pytest.mark.parametrize(
    ("damage", "parts"),
    [
        (lambda run: run["per_mixture"][0]["probes"][0].update(raw_answer="no"), {"run_hash", "answered_yes"}),
        (lambda run: run["per_mixture"][0]["sources"][0].update(source="demo://siren@9"), {"run_hash"}),
        (lambda run: run["headline"].update(weighted_recall=0.99), {"figures"}),
        (lambda run: run["pack_summaries"]["demo"]["per_class"]["siren"].update(fpr=0.5), {"figures"}),
        (lambda run: run.update(seed=1), {"config"}),
        (lambda run: run["config"].update(seed=1), {"run_hash", "config"}),
        (lambda run: run["config"].update(packs=["demo", "mine"]) or run.update(packs=["demo", "mine"]), {"figures"}),
    ],
)
def test_a_damage_of_a_sound_run_is_named(told, damage, parts):
    content = json.loads(next(one for one in RUNS if one.stem == "demo-fast-weak").read_text())
    original = copy.deepcopy(content)
    damage(content)
    code, odd, unknown = told(content)
    assert code == 1
    assert parts <= set(odd)
    assert set(odd) <= parts | {"figures"}
    assert ("run_hash" in unknown) == (content["packs"] != original["packs"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: run.update(seed="1"),
        lambda run: run.update(per_clip_hypotheses=[1]),
        lambda run: run["per_clip_hypotheses"][0].update(hypotheses={"clean": 1}),
        lambda run: run.pop("manifest_hash"),
        lambda run: run.update(per_clip_hypotheses={}),
    ],
)
def test_a_file_that_is_no_run_is_a_usage_error(tmp_path, capsys, damage):
    content = robust()
    damage(content)
    file = tmp_path / "run.file.json"
    file.write_text(json.dumps(content))
    assert main(["verify", str(file)]) == 4
    assert "is not a run of ab/asr-robust" in capsys.readouterr().err


def test_hostile_texts_and_other_files_are_a_sentence(tmp_path, capsys):
    content = robust() | {"model": "\x1b[2J"}
    file = tmp_path / "run.file.json"
    file.write_text(json.dumps(content))
    assert main(["verify", str(file)]) == 1
    assert "\x1b" not in capsys.readouterr().out
    for other in (b"[" * 100_000, b"{}", b'{"suite": ["x"], "run_hash": ""}', b"\xff"):
        file.write_bytes(other)
        assert main(["verify", str(file)]) == 4
        assert "is neither a run's run.json nor" in capsys.readouterr().err
