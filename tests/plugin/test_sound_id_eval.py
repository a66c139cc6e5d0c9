"""The suite of sound identification as it ships: what the bundled listener hears of one sound, and among four."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.metrics.value import difference_text

EVALS = Path(__file__).parents[2] / "evals" / "test_sound_id.py"
CONDITIONS = ("solo", "pair", "triple", "quad")
BUNDLED = Path(__file__).parents[2] / "fixtures" / "bundled"
pytestmark = pytest.mark.skipif(not BUNDLED.is_dir(), reason=f"needs the bundled audio in {BUNDLED}")


def value(owner, name, **group):
    (found,) = [
        one["value"]
        for one in owner["metrics"]
        if (one["scorer"], one["name"], one["group"]) == (owner["scorers"][0]["name"], name, group)
    ]
    return found


def test_the_listener_loses_sounds_in_company_and_the_suite_says_how_many(suite):
    (suite.path / "conftest.py").write_text("")
    (suite.path / "test_sound_id.py").write_text(EVALS.read_text())
    run = suite.run(
        "-k", "solo or quad or core or mix", "--ab-mix=siren+rain@-6", "--ab-prompts=yesno:2", model="baseline:listener"
    )
    run.assert_outcomes(passed=3, skipped=1)
    run.stdout.fnmatch_lines(["*pack?core?: skipped: the pack core is not on this machine*"])
    record, _ = suite.last()
    items = {item["eval"]: item for item in record["items"] if item["metrics"]}
    assert set(items) == {"sound_id[solo]", "sound_id[quad]", "sound_id/mix"}
    solo, quad, mix = (items[name] for name in ("sound_id[solo]", "sound_id[quad]", "sound_id/mix"))
    assert (solo["n"], quad["n"], mix["n"]) == (60, 120, 4)
    assert value(solo, "recall") > 0.9
    assert value(solo, "d_prime") > value(quad, "d_prime") > 1.0
    assert value(solo, "solo_quad_cliff") is None
    (pooled,) = record["suites"]
    cliff = value(pooled, "solo_quad_cliff")
    assert cliff == pytest.approx(value(quad, "recall") - value(solo, "recall"))
    assert cliff < -0.1
    assert value(pooled, "components_understood") == sum(
        value(one, "components_understood") for one in (solo, quad, mix)
    )
    assert value(pooled, "wording_spread") == 0.0
    assert len({one["group"].get("label") for one in pooled["metrics"] if one["name"] == "recall"} - {None}) == 10
    # The cliff stands with the suite, where it has a value, and in no eval's own table.
    shown = [line for line in run.outlines if "solo_quad_cliff" in line]
    assert len(shown) == 1
    assert difference_text(cliff, "points") in shown[0]
    assert "–" not in shown[0]


def test_scenarios_and_the_short_profile_run_by_name_without_any_data(suite):
    (suite.path / "conftest.py").write_text("")
    (suite.path / "test_sound_id_packs.py").write_text(EVALS.with_name("test_sound_id_packs.py").read_text())
    suite.run("-k", "security or demo-fast", "--ab-prompts=yesno:1", model="baseline:listener").assert_outcomes(
        passed=2
    )
    items = {item["eval"]: item for item in suite.last()[0]["items"]}
    sizes = {name: item["n"] for name, item in items.items()}
    assert sizes == {
        **{
            f"sound_id_packs/scenario[security]:{name}": n for name, n in zip(CONDITIONS, (30, 40, 50, 50), strict=True)
        },
        **{
            f"sound_id_packs/profile[demo-fast]:{name}": n for name, n in zip(CONDITIONS[:3], (15, 20, 25), strict=True)
        },
    }
    # It knows the siren of five labels, and refuses the others.
    solo = items["sound_id_packs/scenario[security]:solo"]
    assert value(solo, "recall", label="siren") == 1.0
    assert value(solo, "refused") == pytest.approx(24 / 30)


def test_thresholds_may_name_every_number_of_a_probe(suite):
    (suite.path / "conftest.py").write_text("")
    (suite.path / "test_probes.py").write_text(
        "from pytest_audiobench import dataset, protocol\n\n\n"
        "def test_pair(evaluate):\n"
        "    result = evaluate(dataset('sound_id', 'demo', 'pair', mixtures=20), protocol('presence'))\n"
        "    evaluate.require('recall >= 50%', 'fpr <= 30%', 'd_prime.lower > 0', 'criterion <= 2', 'f1 >= 0.5',\n"
        "        'precision >= 0.5', 'balanced_accuracy > 0.5', 'recall[label=siren] >= 0.1', 'coverage >= 1')\n"
        "    assert result['components_understood'] > 10\n"
    )
    run = suite.run(model="baseline:listener")
    run.assert_outcomes(passed=1)
    item = json.loads(max(suite.runs()).read_text())["items"][0]
    assert {one["status"] for one in item["verdicts"]} == {"pass"}
    assert [one["name"] for one in item["scorers"]] == ["heard"]
