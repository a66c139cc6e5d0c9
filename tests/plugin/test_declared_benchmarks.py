"""Benchmarks in files: which items they are, what selects them, and what becomes of them where their data is absent."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BENCHMARK = """
cluster = "tone"
groups = ["half"]
[source]
title = "Tones"
domain = ["sound", "music"]
language = "english"
[parameters]
half = ["low", "high"]
form = ["short", "long"]
[data]
rows = "{half}.jsonl"
where = { form = "{form}" }
labels = "{label}"
[sample]
id = "{form}-{id}"
audio = "{file}"
question = "Which tone is it?"
answer = "{label}"
metadata = { half = "{half}", tone = "{id}" }
"""
FREQUENCIES = ["300 Hz", "500 Hz", "800 Hz", "1200 Hz"]


@pytest.fixture
def pitch(suite):
    """A benchmark of four evals over forty tones."""
    suite.tones()
    (suite.path / "data").rename(suite.path / "pitch")
    tones = [json.loads(line) for line in (suite.path / "pitch" / "tones.jsonl").read_text().splitlines()]
    for half, rows in (("low", tones[:20]), ("high", tones[20:])):
        lines = [
            {"id": tone["id"], "file": tone["audio"], "label": tone["answer"], "form": ("short", "long")[number % 2]}
            for number, tone in enumerate(rows)
        ]
        (suite.path / "pitch" / f"{half}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (suite.path / "pitch.audiobench.toml").write_text(BENCHMARK)
    return suite


HERE = "--ab-data=pitch=pitch"
IDS = [f"pitch[{half}-{form}]" for half in ("low", "high") for form in ("short", "long")]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_each_value_of_the_grid_is_an_eval_of_the_file_s_suite(pitch, workers):
    result = pitch.run(HERE, workers)
    result.assert_outcomes(passed=4)
    run, _ = pitch.last()
    assert [(item["eval"], item["suite"], item["dataset"]) for item in run["items"]] == [
        (id_, "pitch", id_.replace("[", "/").replace("-", "/").removesuffix("]")) for id_ in IDS
    ]
    assert all(item["n"] == 10 for item in run["items"])


@pytest.mark.parametrize(
    ("args", "count"),
    [
        (["-k", "pitch"], 4),
        (["-k", "low"], 2),
        (["-k", "music"], 4),
        (["-m", "english"], 4),
        (["-m", "pitch and sound"], 4),
        (["--strict-markers", "-m", "music"], 4),
        (["-k", "audiobench"], 0),
        (["-k", "toml"], 0),
        (["-m", "speech"], 0),
        (["pitch.audiobench.toml"], 4),
        (["pitch.audiobench.toml::test_pitch[high-long]"], 1),
    ],
)
def test_words_of_a_benchmark_select_it(pitch, args, count):
    result = pitch.run("--collect-only", "-q", *args)
    assert sum("::" in line for line in result.outlines) == count


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_benchmark_whose_data_is_absent_is_one_skipped_item(pitch, workers):
    result = pitch.run(workers, "-rs")
    result.assert_outcomes(skipped=1, deselected=4 - 1 if workers == "-n0" else 0)
    result.stdout.fnmatch_lines(["SKIPPED * pitch is not on this machine*--ab-data=pitch=FOLDER*"])
    pitch.run(workers, "-k", "high").assert_outcomes(skipped=1, deselected=3 if workers == "-n0" else 0)
    pitch.run(workers, "pitch.audiobench.toml::test_pitch[high-long]").assert_outcomes(skipped=1)


@pytest.mark.parametrize("count", [12, 13])
def test_benchmarks_without_their_data_fill_no_screen_of_the_summary(tones, count):
    for number in range(count):
        (tones.path / f"absent{number:02}.audiobench.toml").write_text(BENCHMARK)
    result = tones.run()
    result.assert_outcomes(passed=1, skipped=count, deselected=3 * count)
    assert [line.partition(" (")[0] for line in result.outlines if "not here" in line] == [
        f"{count} data sets are not here"
    ]


def test_where_nothing_has_data_all_that_can_be_fetched_is_named(tones, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_DATA_ROOT", str(tones.path / "nowhere"))
    (tones.path / "evals").mkdir()
    for name in ("esc50", "mmau"):
        shutil.copy(ROOT / "evals" / f"{name}.audiobench.toml", tones.path / "evals")
    result = tones.run("evals")
    result.assert_outcomes(skipped=2, deselected=1)
    result.stdout.fnmatch_lines(["2 data sets are not here: audiobench fetch esc50 mmau (*)"])
    assert not any("absent" in line for line in result.outlines if not line.startswith("absent"))


def test_evals_of_which_something_is_required_are_not_left_out_where_their_data_is_absent(pitch):
    (pitch.path / "audiobench.toml").write_text('[[threshold]]\neval = "pitch[high*]"\nrequire = ["accuracy >= 0.9"]\n')
    result = pitch.run()
    result.assert_outcomes(skipped=2, deselected=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_part_of_the_data_is_enough_to_ask_about_it(pitch):
    (pitch.path / "pitch" / "high.jsonl").unlink()
    pitch.run(HERE).assert_outcomes(passed=2, skipped=2)


def test_a_part_of_the_data_that_is_found_by_a_pattern_is_enough_to_ask_about_it(pitch):
    (pitch.path / "pitch" / "high").mkdir()
    (pitch.path / "pitch" / "high.jsonl").rename(pitch.path / "pitch" / "high" / "part1.jsonl")
    text = BENCHMARK.replace("{half}.jsonl", "{half}/{part}.jsonl").replace(
        "metadata = {", 'metadata = { part = "{part}",'
    )
    (pitch.path / "pitch.audiobench.toml").write_text(text)
    pitch.run(HERE).assert_outcomes(passed=2, skipped=2)


def test_a_file_s_thresholds_hold_for_each_of_its_evals(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text('require = ["accuracy >= 0.9"]\n' + BENCHMARK)
    pitch.run(HERE).assert_outcomes(passed=4)
    pitch.run(HERE, deaf="yes").assert_outcomes(failed=4)


def test_a_perturbation_is_one_more_value_of_the_grid(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text('perturbations = ["clean", "reverb"]\n' + BENCHMARK)
    result = pitch.run("--collect-only", "-q", "-k", "low-short")
    assert [line.partition("[")[2] for line in result.outlines if "::" in line] == [
        "low-short-clean]",
        "low-short-reverb]",
    ]
    pitch.run(HERE, "-k", "low-short-reverb").assert_outcomes(passed=1, deselected=7)
    assert pitch.last()[0]["items"][0]["dataset"] == "pitch/low/short+reverb"


def test_tasks_of_a_file_are_its_test_functions(pitch):
    tasks = (
        '[[task]]\nname = "naming"\nscorers = ["mmau-string"]\nsource.task = "tone-naming"\n'
        '[[task]]\nname = "lows"\nrequire = ["accuracy >= 0.5"]\nparameters.half = "low"\n'
    )
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + tasks)
    pitch.run(HERE).assert_outcomes(passed=6)
    items = pitch.last()[0]["items"]
    assert [item["eval"] for item in items[:1] + items[-1:]] == ["pitch/naming[low-short]", "pitch/lows[long]"]
    assert items[-1]["dataset"] == "pitch/lows/low/long"
    result = pitch.run("--collect-only", "-q", "-m", "naming or music and not pitch")
    assert not [line for line in result.outlines if "::" in line]
    result = pitch.run("--collect-only", "-q", "-k", "tone-naming")
    assert sum("::" in line for line in result.outlines) == 4


SUITES = """
[suites]
all_tones = true
low_tones = ["low"]
one_tone = ["high-long"]
"""
TASKS = """
namings_and_lows = ["naming", "low-long"]
[[task]]
name = "naming"
parameters.form = ["short"]
[[task]]
name = "guessing"
"""
TELLING = """
import pytest
from pytest_audiobench.errors import UsageError
from pytest_audiobench.plugin.eval_items import named_evals

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    try:
        print("named:", *named_evals(items, {names}))
    except UsageError as error:
        print(error)
"""


@pytest.mark.parametrize("cache", [[], ["-p", "no:cacheprovider"]])
@pytest.mark.parametrize(
    ("args", "evals"),
    [
        (["-k", "all_tones"], IDS),
        (["--strict-markers", "-m", "low_tones"], IDS[:2]),
        (["-k", "one_tone"], IDS[3:]),
        (["-k", "low_tones and not short"], IDS[1:2]),
    ],
)
def test_a_suite_is_selected_by_its_name(pitch, args, evals, cache):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + SUITES)
    for _ in range(2):
        result = pitch.run("--collect-only", "-q", *args, *cache)
        assert [line.partition("::test_")[2] for line in result.outlines if "::" in line] == evals


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_suite_is_asked_with_any_number_of_workers(pitch, workers):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + SUITES)
    pitch.run(HERE, workers, "-k", "low_tones").assert_outcomes(passed=2, deselected=2 if workers == "-n0" else 0)
    run, _ = pitch.last()
    assert [item["eval"] for item in run["items"]] == IDS[:2]
    assert [suite["name"] for suite in run["suites"]] == ["pitch"]


def test_a_suite_has_the_perturbed_evals_too(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text('perturbations = ["clean", "reverb"]\n' + BENCHMARK + SUITES)
    result = pitch.run("--collect-only", "-q", "-k", "one_tone")
    assert [line.partition("[")[2] for line in result.outlines if "::" in line] == [
        "high-long-clean]",
        "high-long-reverb]",
    ]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["one_tone"], "named: pitch/guessing[high-long]"),
        (["pitch_naming_low_short"], "named: pitch/naming[low-short]"),
        (["pitch/naming[low-short]", "one_tone"], "named: pitch/naming[low-short] pitch/guessing[high-long]"),
        (
            ["namings_and_lows"],
            "named: pitch/naming[low-short] pitch/naming[high-short] pitch/guessing[low-long]",
        ),
        (["pitch_namin_low_short"], "*no suite and no eval is called 'pitch_namin_low_short'; did you mean*"),
    ],
)
def test_a_name_stands_for_the_evals_of_a_suite_or_for_one_of_them(pitch, names, said):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + SUITES + TASKS)
    with (pitch.path / "conftest.py").open("a") as conftest:
        conftest.write(TELLING.replace("{names}", repr(names)))
    pitch.run("--collect-only", "-q").stdout.fnmatch_lines([said.replace("[", "[[]")])


PROMPTS = BENCHMARK + (
    '[prompts.paper]\nprompt = "Name the tone: {question} {options}"\nmax_new_tokens = 7\nsource = "a paper"\n'
)


def test_a_published_prompt_is_asked_by_its_name(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text(PROMPTS)
    pitch.run(HERE, "-k", "low-short", "--ab-prompt=paper").assert_outcomes(passed=1, deselected=3)
    run, folder = pitch.last()
    assert "Name the tone: " in (folder / "predictions.jsonl").read_text()
    ours = pitch.run(HERE, "-k", "low-short")
    ours.assert_outcomes(passed=1, deselected=3)
    asked_in_ours, _ = pitch.last()
    assert run["items"][0]["hashes"]["prompts"] != asked_in_ours["items"][0]["hashes"]["prompts"]


def test_a_published_prompt_may_play_the_last_clip_alone(pitch):
    place = "<Audio><AudioHere></Audio>"
    text = BENCHMARK.replace('audio = "{file}"', 'audio = ["{file}", "{file}"]') + (
        f"[prompts.all]\nprompt = '{place} or {place}? {{question}} {{options}}'\nsource = 'a paper'\n"
        f"[prompts.last]\nprompt = '{place} {{question}} {{options}}'\nclips = 'last'\nsource = 'a paper'\n"
    )
    (pitch.path / "pitch.audiobench.toml").write_text(text)
    for prompt, clips in (("all", 2), ("last", 1)):
        pitch.run(HERE, "-k", "low-short", f"--ab-prompt={prompt}", model="baseline:chance").assert_outcomes(
            passed=1, deselected=3
        )
        _, folder = pitch.last()
        lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
        assert {len(line["audio"]) for line in lines} == {clips}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_eval_without_the_published_prompt_is_refused_and_nothing_is_asked(pitch, workers):
    more = "".join(f'[prompts.a{number}]\nprompt = "{number}"\nsource = "x"\n' for number in range(10))
    (pitch.path / "pitch.audiobench.toml").write_text(PROMPTS + more)
    pitch.path.joinpath("test_tones.py").write_text("def test_nothing():\n    pass\n")
    result = pitch.run(HERE, workers, "--ab-prompt=papre")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = (
        "--ab-prompt=papre: pitch[low-short] and 3 more has no published prompt of that name; published prompts here: "
    )
    nearest_first = "paper, a0, a1, a2, a3, a4, a5, a6, a7, a8 and 1 more; select others"
    assert said + nearest_first in result.stderr.str() + result.stdout.str()


def test_where_no_eval_has_a_published_prompt_those_of_others_are_named(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK)
    result = pitch.run(HERE, "--ab-prompt=salmon")
    assert "published prompts of other evals: salmonn, " in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[prompts.paper]\nprompt = "{question} {options}"\n', "has no 'source'"),
        ('[prompts.paper]\nclips = "first"\nsource = "x"\n', "clips must be 'last', not 'first'"),
        ('[prompts.paper]\npromt = "{question} {options}"\nsource = "x"\n', "unknown key 'promt'"),
        (
            '[[published]]\nmodel="m"\nmetric="accuracy"\nvalue=1\nconditions = "c"\nsource = "s"\nprompt = "p"\n',
            "'p'",
        ),
        ('[[fetch]]\nhub = "a/b"\nurl = "https://x.org/y"\n', "one of 'hub', 'git' and 'url'"),
        ('[[fetch]]\nhub = "a/b/c"\n', "hub"),
        ('[[fetch]]\nhub = "a/b"\nrevision = "main"\n', "revision"),
        ('[[fetch]]\nhub = "a/b"\nfiles = ["../x"]\n', "'../x'"),
        ('[[fetch]]\nurl = "x.zip"\n', "not an address"),
        ('[[fetch]]\nhub = "a/b"\nparameters = { half = "mid" }\n', "no value 'mid'"),
    ],
)
def test_a_mistake_in_what_is_published_or_fetched_is_one_sentence(pitch, table, said):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + table)
    result = pitch.run(HERE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert said in result.stdout.str() + result.stderr.str()


def test_quick_asks_a_part_of_every_declared_benchmark_and_says_how_far_the_whole_may_be(pitch):
    rows = (pitch.path / "pitch" / "low.jsonl").read_text().splitlines()
    more = [json.dumps({**json.loads(row), "id": f"{n}-{k}"}) for n in range(20) for k, row in enumerate(rows)]
    (pitch.path / "pitch" / "low.jsonl").write_text("\n".join(more))
    result = pitch.run(HERE, "-m", "quick", "-k", "low-short", deaf="yes")
    result.assert_outcomes(passed=1, deselected=3)
    run, _ = pitch.last()
    (item,) = run["items"]
    assert (run["limit"], item["limited"], item["size"]) == (50, True, 200)
    assert 50 <= item["n"] < 200
    metric = item["metrics"][0]
    reach = max(metric["value"] - metric["lower"], metric["upper"] - metric["value"])
    points = 100 * reach * (1 - item["n"] / 200) ** 0.5
    said = f"within {points:.1f} pp of that here ({item['n']} of 200 samples of pitch[low-short])."
    assert said in result.stdout.str()
    assert pitch.run(HERE, "-m", "not quick").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    pitch.run(HERE, "-m", "quick", "--ab-limit=5", "-k", "high-long").assert_outcomes(passed=1, deselected=3)
    assert pitch.last()[0]["limit"] == 5


PUBLISHED = (
    '[[published]]\nmodel = "Tuner"\nmetric = "accuracy"\nvalue = 0.625\nscorer = "mmau-string"\nconditions = "whole"\n'
    'source = "a paper"\nparameters = { half = "low", form = "short" }\n'
    '[[published]]\nmodel = "Fork"\nmetric = "accuracy"\nvalue = 0.5\nconditions = "<b>"\nsource = "a page"\n'
    'parameters = { half = "high", form = "short" }\n'
    '[[published]]\nmodel = "Organ"\nmetric = "accuracy"\nvalue = 0.7\nconditions = "all halves"\nsource = "a page"\n'
)


def test_published_values_stand_beside_what_was_measured_of_the_same_samples(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + PUBLISHED)
    result = pitch.run(HERE)
    said = "\n".join(result.outlines)
    assert "published accuracy of pitch[low-short] (here 100.0 % by letters)\n  Tuner  62.5 %  mmau-string\n" in said
    assert "  by the same rule: --ab-scorer=mmau-string\n" in said
    assert "published accuracy of pitch[high-short] (here 100.0 % by letters)\n  Fork  50.0 %  unknown\n" in said
    run, folder = pitch.last()
    published = {item["eval"]: [row["model"] for row in item["published"]] for item in run["items"]}
    assert published == {id_: {0: ["Tuner"], 2: ["Fork"]}.get(place, []) for place, id_ in enumerate(IDS)}
    assert '"system":"Fork"' in (folder / "report.html").read_text()
    same = pitch.run(HERE, "-k", "low-short", "--ab-scorer=mmau-string")
    assert "(here 0.0 % by mmau-string)\n  Tuner  62.5 %  mmau-string  here 0.0 %" in "\n".join(same.outlines)


def test_two_published_values_of_one_model_are_told_apart_by_their_conditions(pitch):
    row = """
[[published]]
model = "Tuner"
metric = "accuracy"
scorer = "mmau-string"
source = "a page"
parameters = { half = "low", form = "short" }
"""
    rows = (
        f'{row}value = 0.625\nconditions = "whole; one judge; printed as 62"\n'
        f'{row}value = 0.5\nconditions = "whole; the mean of three judges; printed as 50"\n'
    )
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + rows)
    said = pitch.run(HERE, "-k", "low-short").outlines
    assert "  Tuner  62.5 %  mmau-string  one judge" in said
    assert "  Tuner  50.0 %  mmau-string  the mean of three judges" in said


def test_a_vote_over_wordings_is_no_value_by_the_published_rule(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + PUBLISHED)
    options = ("-k", "low-short", "--ab-prompts=choice-5", "--ab-scorer=mmau-string", "--ab-scorer=letters")
    said = "\n".join(pitch.run(HERE, *options).outlines)
    assert "(here 0.0 % by mmau-string, the vote of 5 wordings)\n  Tuner  62.5 %  mmau-string\n" in said
    assert "headline scorer, the vote of 5 wordings" in said
    assert "10 of 10 votes of 5 wordings could not be parsed (10 unparsed)" in said
    assert "it said" not in said
    assert "by the same rule" not in said


def test_what_was_published_of_clean_clips_says_nothing_of_others(pitch):
    (pitch.path / "pitch.audiobench.toml").write_text('perturbations = ["reverb"]\n' + BENCHMARK + PUBLISHED)
    assert "published accuracy" not in pitch.run(HERE, "-k", "low-short").stdout.str()


def test_what_was_published_under_a_perturbation_stands_beside_that_eval_alone(pitch):
    under = PUBLISHED.replace("value = 0.625\n", 'value = 0.625\nperturbation = "reverb"\n')
    (pitch.path / "pitch.audiobench.toml").write_text('perturbations = ["clean", "reverb"]\n' + BENCHMARK + under)
    pitch.run(HERE)
    run, _ = pitch.last()
    assert {item["eval"]: row["model"] for item in run["items"] for row in item["published"]} == {
        "pitch[low-short-reverb]": "Tuner"
    }
    wrong = under.replace("reverb", "revreb")
    (pitch.path / "pitch.audiobench.toml").write_text(BENCHMARK + wrong)
    assert "no perturbation is named 'revreb'; did you mean 'reverb'?" in pitch.run(HERE).stdout.str()
