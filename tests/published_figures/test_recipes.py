"""Recipes of published figures: each comes out of its publisher's answers, or why not is said."""

import json
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.published_figures.recipes import recipes
from tests.benchmarks.miniatures import Miniature, miniatures

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the recorded answers are not at {DATA}")
AF3, QWEN = DATA / "recorded" / "af3", DATA / "recorded" / "qwen2.5-omni"
MERALION = DATA / "outputs" / "audiobench" / "MERaLiON-AudioLLM-Whisper-SEA-LION"
FILES = {
    **{f"af3-{track}-reasoning": AF3 / f"baseline_{track}_REAS.jsonl" for track in ("animal", "emotion", "gender")},
    "af3-language-reasoning": AF3 / "baseline_language_REAS.jsonl",
    "af3-mmau-reasoning": AF3 / "baseline_mmau_REAS.jsonl",
    "af3-mmar-reasoning": AF3 / "baseline_mmar_REAS.jsonl",
    **{f"af3-{track}-direct": AF3 / f"baseline_{track}_NO_REAS.jsonl" for track in ("animal", "gender", "language")},
    "af3-mmau-direct": AF3 / "baseline_mmau_test_No_REAS.jsonl",
    "af3-mmar-direct": AF3 / "baseline_mmar_test_NO_REAS.jsonl",
    **{f"meralion-{name}": MERALION / f"{name}_wer_score.json" for name in ("idpc_test", "idpc_short_test")},
}


@needs_data
@pytest.mark.parametrize("recipe", FILES)
def test_a_figure_comes_out_of_its_publisher_s_answers(recipe, capsys):
    assert main(["reproduce", recipe, "--from", str(FILES[recipe])]) == 0
    out = capsys.readouterr().out
    assert out.startswith("reproduced: ")
    assert recipes()[recipe].figure.text in out


@needs_data
def test_another_rule_that_gives_the_printed_number_is_named(tmp_path, capsys):
    rows = map(json.loads, (AF3 / "baseline_animal_NO_REAS.jsonl").read_text(encoding="utf-8").splitlines())
    # The rule at run time takes the first letter in parentheses, the recovery the last.
    texts = [row | {"raw_model_outputs": [f"Not (A). {text}" for text in row["raw_model_outputs"]]} for row in rows]
    file = tmp_path / "baseline_animal_NO_REAS.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in texts), encoding="utf-8")
    manifests = tmp_path / "manifests"
    shutil.copytree(AF3.parent / "manifests", manifests)
    assert main(["reproduce", "af3-animal-direct", "--from", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("differs by a rule: Audio-Flamingo-3, accuracy 76.70 % of animal: ")
    assert "faithfulness-runtime-af3-direct gives 2" in out
    assert "audiobench-mmau (76.70 %" in out


@needs_data
def test_a_figure_that_no_rule_gives_differs_and_a_known_dispute_is_said(capsys):
    file = AF3 / "baseline_emotion_NO_REAS.jsonl"
    assert main(["reproduce", "af3-emotion-direct", "--from", str(file)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("differs: ")
    assert "faithfulness-runtime-af3-direct gives 47.20 %" in out
    assert "disputed: the recorded answers (1,000) give 47.20" in out


@needs_data
def test_a_part_of_the_answers_is_held_to_its_interval_and_counted(tmp_path, capsys):
    lines = (AF3 / "baseline_animal_REAS.jsonl").read_text().splitlines(keepends=True)[:300]
    (tmp_path / "baseline_animal_REAS.jsonl").write_text("".join(lines))
    shutil.copytree(DATA / "recorded" / "manifests", tmp_path / "manifests")
    arguments = ["reproduce", "af3-animal-reasoning", "--from", str(tmp_path / "baseline_animal_REAS.jsonl")]
    main([*arguments, "--manifests", str(tmp_path / "manifests")])
    assert "; 300 samples here, 1000 there" in capsys.readouterr().out


def test_there_are_at_least_ten_and_each_names_its_rule(capsys):
    assert main(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(recipes()) >= 10
    for line, (name, recipe) in zip(lines, recipes().items(), strict=True):
        assert recipe.scorer
        assert line.endswith(f" {name}  [{recipe.scorer}]")


@pytest.mark.parametrize(
    ("figure", "rules"),
    [
        ("tedlium/test/whisper-large-v3/wer", {"open-asr-v1", "audiobench"}),
        ("salmonn/pr/salmonn-13b/per", {"salmonn-skip", "salmonn-keep"}),
        ("beans_zero/cbi/naturelm-audio/accuracy", {"beans-zero/0.77", "beans-zero/0.778"}),
    ],
)
def test_figures_of_one_model_by_several_rules_have_a_recipe_each(figure, rules):
    assert {name.removeprefix(f"{figure}/") for name in recipes() if name.startswith(figure)} == rules


def test_a_recipe_says_how_its_figure_was_made(capsys):
    assert main(["reproduce", "af3-emotion-reasoning"]) == 0
    out = capsys.readouterr().out
    assert "evals/test_faithfulness.py::test_baseline[emotion]" in out
    assert "prompt    the study's reasoning prompt" in out


def test_a_name_that_is_not_there_is_one_sentence(capsys):
    assert main(["reproduce", "af3-emotion-reason", "--from", "x"]) == 4
    assert "did you mean 'af3-emotion-reasoning'" in capsys.readouterr().err


def test_a_recipe_names_the_data_set_that_its_eval_asks_about():
    asked = {
        declared_dataset(declared, case).name
        for file in LOADERS.values()
        if isinstance(file, Path)
        for declared in read_declarations(file).values()
        for case in declared.ids()
    }
    assert not [name for name, recipe in recipes().items() if recipe.eval and recipe.dataset not in {"", *asked}]


def test_each_rule_of_one_model_s_answers_is_a_recipe():
    figures = {
        recipe.scorer: recipe.figure.value
        for name, recipe in recipes().items()
        if name == recipe.name and name.startswith("salmonn/en2ja/salmonn-13b/bleu")
    }
    assert figures["salmonn-repro-nopunct"] == 24.51
    assert figures["salmonn-repro-nopunct-keep"] == 11.86
    assert len(figures) == 6


def test_a_figure_of_several_evals_together_is_no_one_eval_s(capsys):
    assert main(["reproduce", "muchomusic/salmonn"]) == 0
    assert "eval      none is of muchomusic, and of nothing else" in capsys.readouterr().out
    assert main(["reproduce", "muchomusic/salmonn", "--model", "baseline:chance"]) == 4
    assert "(none is of muchomusic, and of nothing else): give its answers with --from" in capsys.readouterr().err


def test_a_model_is_asked_by_a_recipe_and_held_to_its_figure(tmp_path, monkeypatch, capfd):
    Miniature(miniatures()["mmsu"]).put(tmp_path / "mmsu")
    monkeypatch.chdir(tmp_path)
    options = f"--pytest=--ab-data={tmp_path} --ab-store={tmp_path}/store.sqlite -p no:cacheprovider"
    code = main(["reproduce", "mmsu/qwen2-audio-instruct", "--model", "baseline:chance", options])
    verdict = capfd.readouterr().out.splitlines()[-1]
    assert code == 1
    assert verdict.startswith("undecided: ")
    assert "Qwen2-Audio-Instruct, accuracy 0.5327 of mmsu: mmsu gives " in verdict
    assert verdict.endswith("; 4 samples here, 5000 there, too few to decide")
    (run,) = (tmp_path / "reports").glob("reproduce-*")
    assert [item["dataset"] for item in json.loads((run / "run.json").read_text())["items"]] == ["mmsu"]
