"""The suite of soundscapes as it ships: what runs when nothing is asked for by name, and what its options do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EVALS = Path(__file__).parents[2] / "evals" / "test_soundscape.py"


@pytest.fixture
def soundscapes(suite):
    (suite.path / "conftest.py").write_text("")
    (suite.path / "test_soundscape.py").write_text(EVALS.read_text())
    return suite


def counts(suite) -> dict[str, int]:
    return {item["eval"]: item["n"] for item in suite.last()[0]["items"]}


@pytest.mark.slow
def test_further_scenes_are_asked_for_by_name_and_share_the_answers(soundscapes) -> None:
    run = soundscapes.run("-k", "soundscape and (brief or published)", "--ab-scenes=15", model="baseline:listener")
    run.assert_outcomes(passed=2, deselected=12)
    assert counts(soundscapes) == {"soundscape_brief/brief": 12, "soundscape/scenes[published]": 15}
    run.stdout.fnmatch_lines(["*answers: 15 asked now*"])


def test_clips_of_ones_own_are_asked_about_in_the_same_words(soundscapes, tmp_path: Path) -> None:
    from pytest_audiobench.cli import main

    main(["soundscape", "make", "--scenes", "2", "--shortest", "5", "--longest", "6", "--out", str(tmp_path / "made")])
    run = soundscapes.run("-k", "recordings", f"--ab-data=soundscape={tmp_path / 'made'}", model="baseline:listener")
    run.assert_outcomes(passed=1, deselected=13)
    keys = [json.loads((tmp_path / "made" / f"clip_{n:03d}.json").read_text(encoding="utf-8")) for n in range(2)]
    (item,) = soundscapes.last()[0]["items"]
    (truths,) = [
        m["value"] for m in item["metrics"] if (m["name"], m["scorer"], m["group"]) == ("events_true", "lenient", {})
    ]
    assert truths == sum(len(key["events"]) for key in keys) / 2


def test_a_mistaken_number_of_scenes_ends_the_run(soundscapes) -> None:
    run = soundscapes.run("--ab-scenes=none", model="baseline:listener")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*--ab-scenes takes a whole number from 1 up*"])


def test_the_twelve_scenes_of_a_plain_run_are_gated_verified_scored_and_submitted_like_any_suite(
    soundscapes, capsys
) -> None:
    from pytest_audiobench.cli import main

    soundscapes.run("--ab-run=good", model="baseline:listener").assert_outcomes(passed=1, deselected=13)
    assert counts(soundscapes) == {"soundscape_brief/brief": 12}
    assert main(["baseline", "update", "reports/good", "--out", "main.json"]) == 0
    gated = soundscapes.run("--ab-run=worse", "--ab-baseline=main.json", model="baseline:bed")
    assert gated.ret == pytest.ExitCode.TESTS_FAILED
    gated.stdout.fnmatch_lines(["reward.drop <= 1pp: * pp worse*"])
    again = soundscapes.run("--ab-run=again", "--ab-baseline=main.json", model="baseline:listener")
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*answers: 0 asked now, 12 from the store*"])
    capsys.readouterr()

    assert main(["verify", "reports/good"]) == 0
    assert "nothing fails" in capsys.readouterr().out
    assert main(["compare", "reports/good", "reports/worse"]) == 0
    assert "shown to be worse (✗)" in " ".join(capsys.readouterr().out.split())
    assert main(["score", "reports/good", "--out", "scored"]) == 0
    name = "scored_predictions.jsonl"
    assert Path("scored", name).read_bytes() == Path("reports/good", name).read_bytes()
    assert main(["score", "reports/worse", "--scorers", "strict"]) == 0
    assert "soundscape_brief/brief · bed: reward by 2 scorers" in capsys.readouterr().out
    assert main(["score", "reports/good", "--published", "soundscape"]) == 0
    shown = capsys.readouterr().out
    assert "231 published figures by the encoder google/embeddinggemma-300m, here wordllama" in shown
    assert "comes closest" not in shown
    assert main(["push", "reports/good", "--dry-run", "--output", "good.json"]) == 0
    assert json.loads(Path("good.json").read_text())["payload"]["suite"] == "soundscape_brief"


def test_scenes_are_scored_alike_by_any_number_of_workers(soundscapes) -> None:
    files = []
    for workers in ("-n0", "-n2"):
        beds = ("-k", "beds", "--ab-scenes=4", f"--ab-store={workers}.sqlite")
        soundscapes.run(workers, *beds, model="baseline:types").assert_outcomes(passed=3)
        _, folder = soundscapes.last()
        names = ("predictions", "processed_predictions", "scored_predictions")
        files.append([(folder / f"{name}.jsonl").read_bytes() for name in names])
    assert files[0] == files[1]
