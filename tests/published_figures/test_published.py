"""Published figures: what is kept of them, how they are found, and which of them cannot be right."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench import published_figures
from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.catalogue import scorer_names
from pytest_audiobench.published_figures import Published
from pytest_audiobench.published_figures.lint import is_possible, lint
from pytest_audiobench.published_figures.recipes import all_figures
from pytest_audiobench.published_figures.registry import everything

COLLECTED = Path(__file__).parents[3] / "shared" / "data" / "published_values.json"


def figure(value, **changes):
    usual = {"benchmark": "b", "source": "s", "model": "m", "dataset": "d", "metric": "accuracy", "unit": "percent"}
    return Published(**{**usual, "value": value, "decimals": 2, "n": 1000, **changes})


def rules(*values):
    return [finding.rule for finding in lint(values)]


def test_the_registry_holds_what_it_is_asked_for():
    (one,) = published_figures.values(benchmark="SAKURA", model="SALMONN", dataset="gender_single")
    assert (one.value, one.unit, one.protocol, one.n) == (59.8, "percent", "sakura-judge", 500)
    assert one.text == "59.8 %"
    assert published_figures.values(benchmark="nobody") == []
    assert len(all_figures()) > 3_000


def test_every_figure_says_where_it_is_from_and_what_it_is():
    for one in everything():
        assert one.source
        assert one.unit in ("percent", "fraction", "BLEU", "number")
        assert 0 <= one.value <= 200 or one.metric.endswith("_delta")
        assert "seed" not in one.source


@pytest.mark.skipif(not COLLECTED.is_file(), reason="the collected values are not on this machine")
def test_no_collected_figure_was_lost_or_changed():
    def one_of(row):
        keys = ("benchmark", "model", "dataset", "metric")
        return published_figures.values(**{key: row[key] for key in keys})

    def digits(value):
        return len(repr(value).partition(".")[2])

    declared = {
        (each.model, each.metric, round(100 * each.value, 1)) for each in all_figures() if each.benchmark == "air_bench"
    }
    for row in json.loads(COLLECTED.read_text()):
        if row["benchmark"] == "AIR-Bench-foundation":
            assert (row["model"], row["metric"], row["value"]) in declared, row
            continue
        # The tables may have more digits than were collected.
        assert any(round(each.value, digits(row["value"])) == row["value"] for each in one_of(row)), row


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("faithfulness/af3/emotion/repaired", {"faithfulness/Audio-Flamingo-3/emotion/accuracy"}),
        ("sakura/salmonn/gender single", {"SAKURA/SALMONN/gender_single/accuracy_llm_judge"}),
        ("MMAR/random", {"MMAR/random/avg/accuracy"}),
        ("air-bench/57.8", {"air_bench/Qwen-Audio-Turbo/AIR-Bench/accuracy"}),
        ("air_bench_chat/7.54", {"air_bench_chat/speech/Whisper+GPT-4/air_bench_chat/speech/judge_score"}),
        ("audiocaps/40.3%", {"SALMONN-T3/SALMONN-13B/audiocaps/spider"}),
        ("salmonn-t3/wer/0.049", {"SALMONN-T3/SALMONN-13B/librispeech_other/wer"}),
        ("gemini 2.5 pro mmar", {"MMAR/Gemini-2.5-Pro/avg/accuracy"}),
    ],
)  # fmt: skip
def test_figures_are_found_by_parts_of_their_names_and_by_what_is_printed(text, names):
    assert {one.name.partition(" (")[0] for one in published_figures.matching(text, all_figures())} == names
    assert {one.benchmark for one in published_figures.matching("SAKURA")} == {"SAKURA"}


@pytest.mark.parametrize("text", ["", "/", "nobody", "sakura/nobody", "sakura/99.99", "."])
def test_a_name_that_names_nothing_is_refused(text):
    with pytest.raises(UsageError, match="no published value is named by"):
        published_figures.matching(text)


def test_a_number_under_a_name_that_no_table_has_is_found_by_itself():
    with pytest.raises(
        UsageError, match=r"'AAC 40\.3', but there are some of that number: audiobench published 40\.3$"
    ):
        published_figures.matching("AAC 40.3")


def test_the_known_errors_of_published_tables_are_found():
    findings = lint(everything())
    said = {(finding.rule, finding.values[0].benchmark, finding.values[0].dataset) for finding in findings}
    assert ("impossible fraction", "faithfulness", "gender") in said
    assert ("copied value", "faithfulness", "animal") in said
    assert ("wrong difference", "faithfulness", "language") in said
    # Two more of one kind, which nobody disputes: means of three tasks, by their size.
    assert {finding for finding in said if finding[1] not in ("faithfulness", "SALMONN-T3-repro")} == {
        ("impossible fraction", "MMAU-v05.15.25", "test_mini"),
        ("ranks disagree", "SoundScape-Bench", "soundscape"),
        ("invented events are free", "SoundScape-Bench", "soundscape"),
        ("recall above reward", "SoundScape-Bench", "soundscape"),
        ("prompts drawn unseeded", "AudioBench", "imda_part4_30s_asr_test"),
    }
    assert {dataset for rule, benchmark, dataset in said if rule == "much is left out"} == {
        "covost2_en_ja",
        "gigaspeech",
        "librispeech_and_gigaspeech",
        "librimix",
        "librispeech_clean_phones",
        "musiccaps",
    }
    assert next(one for one in findings if one.rule == "copied value").values[0].text == "76.70 %"


def test_figures_of_drawn_prompts_are_those_whose_lists_come_along():
    (finding,) = (finding for finding in lint(everything()) if finding.rule == "prompts drawn unseeded")
    drawn = {figure.dataset for figure in finding.values}
    assert {"librispeech_test_clean", "audiocaps_test", "covost2_en_zh_test", "meld_emotion_test"} <= drawn
    # Asked in their rows' own words.
    assert not {"gigaspeech2_thai", "clotho_aqa_test", "mmau_mini"} & drawn
    assert "--ab-prompts=audiobench-draw" in finding.says


def test_disputed_figures_say_why():
    disputed = {(one.benchmark, one.dataset, one.value) for one in everything() if one.disputed}
    assert ("faithfulness", "emotion", 76.7) in disputed
    assert ("faithfulness", "gender", 46.87) in disputed
    assert ("SALMONN-T3-repro", "voxceleb1", 0.9979) in disputed
    assert ("Speech-IFEval", "cot", 90.5) in disputed


@given(st.integers(1, 20_000), st.data(), st.integers(0, 4), st.sampled_from([1.0, 100.0]))
def test_a_true_share_is_never_called_impossible(n, data, decimals, scale):
    k = data.draw(st.integers(0, n))
    assert is_possible(round(scale * k / n, decimals), n, decimals, scale)
    assert is_possible(float(f"{scale * k / n:.{decimals}f}"), n, decimals, scale)


@given(st.integers(1, 2_000), st.floats(0, 100), st.integers(0, 3))
def test_a_share_is_impossible_only_when_no_count_rounds_to_it(n, value, decimals):
    written = round(value, decimals)
    near = min(abs(100 * k / n - written) for k in range(n + 1))
    assert is_possible(written, n, decimals) or near > 0.5 * 10.0**-decimals


def test_an_impossible_share_is_named_with_its_neighbours():
    (finding,) = lint([figure(46.87)])
    assert "46.87 % is not a count of 1000 samples, the nearest being 46.80, 46.90" in finding.says
    assert rules(figure(46.87, n=None), figure(46.8), figure(0.4687, unit="fraction", decimals=4, n=32)) == []
    assert rules(figure(46.87, metric="wer"), figure(46.87, dataset="avg")) == []


def test_equal_values_of_different_data_in_one_table_are_named():
    assert rules(figure(76.70), figure(76.70, dataset="e")) == ["copied value"]
    assert rules(figure(76.70), figure(76.70, dataset="e", model="other")) == []
    assert rules(figure(76.70), figure(76.70, dataset="e", conditions="other")) == []
    assert rules(figure(76.7, decimals=1), figure(76.7, decimals=1, dataset="e")) == []
    assert rules(figure(100.0), figure(100.0, dataset="e")) == []


@pytest.mark.parametrize(("delta", "broken"), [(-29.40, False), (-29.41, False), (-25.34, True)])
def test_a_difference_is_held_to_its_two_sides(delta, broken):
    sides = [figure(50.20, conditions="wrong"), figure(79.60, conditions="right")]
    given_as = figure(delta, metric="accuracy_delta", delta_of=("wrong", "right"), conditions="wrong", n=None)
    assert rules(*sides, given_as) == ["wrong difference"] * broken
    assert rules(sides[0], given_as) == []


def test_a_rule_that_leaves_out_more_than_a_tenth_is_named_with_the_figure_of_all():
    assert rules(figure(20.0, n=900, skipped=100), figure(30.0, n=1000, skipped=0)) == []
    (finding,) = lint([figure(20.0, n=890, skipped=110), figure(30.0, n=1000, skipped=0), figure(25.0, model="other")])
    assert finding.rule == "much is left out"
    assert finding.says.endswith(": 20.00 % is of 890 samples of 1,000, the rest being left out; 30.00 % with all")
    assert "with all" not in lint([figure(20.0, n=890, skipped=110)])[0].says


def test_columns_of_described_scenes_are_held_to_one_another():
    def system(model, **columns):
        return [figure(value, metric=name, model=model, n=None) for name, value in columns.items()]

    honest = system("listens", reward=0.4, f1=0.4, recall=0.39, halluc=20.0)
    assert rules(*honest, *system("less", reward=0.3, f1=0.3, recall=0.3, halluc=10.0)) == []
    assert rules(*honest, *system("sparse", reward=0.3, f1=0.5, halluc=30.0)) == ["ranks disagree"]
    assert rules(*honest, *system("many", reward=0.5, f1=0.2, halluc=60.0)) == [
        "ranks disagree",
        "invented events are free",
    ]
    assert rules(*system("clips", reward=0.3, f1=0.3, recall=0.31)) == ["recall above reward"]
    assert rules(*honest, *system("elsewhere", reward=0.3, f1=0.5)[:1]) == []


def test_the_command_lists_and_lints(capsys):
    assert main(["published", "salmonn-t3-repro", "voxceleb1"]) == 0
    shown = capsys.readouterr().out
    assert "    0.9979  SALMONN-T3-repro/SALMONN-13B/voxceleb1/accuracy\n            salmonn-sv; " in shown
    assert "disputed: only clips of one speaker" in " ".join(shown.split())
    assert main(["published", "--lint", "faithfulness"]) == 1
    assert capsys.readouterr().out.count("(known: ") == 3
    assert main(["published", "--lint", "SAKURA"]) == 0
    assert main(["published", "nobody"]) == 4


def test_the_whole_list_fits_a_terminal_and_names_every_source(capsys):
    assert main(["published"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    said = " ".join(" ".join(lines).split())
    assert all(f"source: {source}" in said for source in {each.source for each in all_figures()})


def test_what_only_the_file_of_a_benchmark_has_is_listed_too(capsys):
    assert main(["published", "muchomusic", "salmonn"]) == 0
    assert "     0.418  muchomusic/SALMONN/accuracy\n" in capsys.readouterr().out
    # A figure of both is listed once.
    assert main(["published", "0.253"]) == 0
    assert capsys.readouterr().out.count("/SALMONN/") == 1


def test_systems_stand_in_a_table_with_both_ranks_and_what_they_are_comparable_with(capsys):
    assert main(["published", "soundscape", "--table"]) == 0
    shown = capsys.readouterr().out.splitlines()
    head = shown[1].replace("by ", "by-").split()
    assert head[:3] == ["by-reward", "by-f1", "reward"]
    rows = {
        line[2:53].strip(): dict(zip(head, line[53:].replace(" %", "").split(), strict=True)) for line in shown[2:23]
    }
    fusion = rows["Gemma-4-12B + DiCoW, fixed prompt"]
    assert (fusion["by-reward"], fusion["by-f1"], fusion["halluc"], fusion["predicted"]) == ("3", "11", "45", "9.5")
    assert (rows["UAAP EXP1"]["by-f1"], rows["fast_q8_novv"]["by-reward"]) == ("11", "20")
    said = "\n".join(shown[23:])
    assert (
        "laion/soundscape-bench, 4.0 true events a clip; n 200; encoder google/embeddinggemma-300m; scorer not" in said
    )
    assert "not comparable: figures by any other encoder than google/embeddinggemma-300m" in said
    assert "f1 is scene_f1, recall is scene_recall, wer is matched_wer, predicted is events_guessed" in said
    for rule in ("ranks disagree", "invented events are free", "recall above reward"):
        assert f"\n{rule}: SoundScape-Bench" in said


def test_a_table_of_one_metric_has_no_ranks(capsys):
    assert main(["published", "MMAR", "--table"]) == 0
    assert "by " not in capsys.readouterr().out.partition("measured under")[0]


def test_protocols_are_named_as_they_are_called_here():
    """One word is a protocol's name; what this project does not have is told in words."""
    named = {one.protocol for one in everything() if one.protocol and " " not in one.protocol}
    assert named <= scorer_names()


def test_a_declared_figure_is_listed_beside_another_data_set_s_of_the_same_value():
    listed = {(each.benchmark, each.dataset, each.model, each.value) for each in all_figures()}
    assert ("open_asr", "librispeech-other", "Phi-4-multimodal-instruct", 0.0382) in listed
    assert ("mmar", "mmar", "SALMONN (7B)", 0.328) in listed


def test_a_declared_figure_of_a_table_is_listed_once():
    declared = {each.benchmark.partition("/")[0] for each in all_figures() if each.value == 0.021}
    assert "salmonn" not in declared
    assert not any(each.benchmark.startswith("audiollms_asr/librispeech") for each in all_figures())
