"""AIR-Bench as a whole: all nineteen tasks and the chat in their published layout, its averages, prompts and judges."""

import json
import re
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from tests.benchmarks.miniatures import CONFTEST, EVALS, tone

ROWS = 20
FOUNDATION, CHAT = EVALS / "air_bench.audiobench.toml", EVALS / "air_bench_chat.audiobench.toml"
OPTIONS = {
    "Synthesized_Voice_Detection": ["bonafide", "spoof"],
    "Speaker_Gender_Recognition": ["male", "female"],
    "Speech_Grounding": ["[0.1, 0.4]", "[1.0, 1.4]", "[2.0, 2.1]", "[0.0, 9.9]"],
    "Audio_Grounding": ["[0.1, 0.4]", "[1.0, 1.4]", "[2.0, 2.1]", "[0.0, 9.9]"],
}
KINDS = {
    "speech_QA": "speech",
    "speech_dialogue_QA": "speech",
    "sound_QA": "sound",
    "sound_generation_QA": "sound",
    "music_QA": "music",
    "music_generation_analysis_QA": "music",
    "speech_and_sound_QA": "speech_and_sound",
    "speech_and_music_QA": "speech_and_music",
}
JUDGES = (
    CONFTEST.replace("import json", "import json\nimport re")
    + '''

class Judge(Recorded):
    """Rates as its name says: one that prefers the first place, one of whose calls every second fails, an aligner."""

    def ask(self, batch):
        return [self._verdict(asked.request) for asked in batch]

    def __init__(self, target, options):
        self.spec, self._target = f"judge:{target}", target

    def fingerprint(self):
        return {"adapter": "judge", "target": self._target}

    def _verdict(self, request):
        text = "".join(part for message in request.messages for part in message.parts if isinstance(part, str))
        if self._target == "first":
            return Response.of("9 3")
        if self._target == "aligner":
            said = re.search(r'<answer-.*>\\n(.*)\\n</answer|one response is "(.*)"\\. Among', text)
            letter = (said[1] or said[2])[0]
            # Told to choose at random where nothing matches it says A.
            return Response.of(letter if letter in "ABCD" else "NO-MATCH" if said[1] else "A")
        if self._target == "talkative":
            return Response.of("Assistant 1 is better: 9 3")
        return Response(error="the server hung up") if int(request.key, 16) % 2 else Response.of("4 8")


def pytest_audiobench_register(registration):
    registration.model("recorded", Recorded)
    registration.model("judge", Judge)
'''
)


def tasks():
    return list(read_declarations(FOUNDATION)[""].grid["task"])


def foundation_rows():
    for task in tasks():
        options = OPTIONS.get(task, ["one", "two", "three", "four"])
        for number in range(ROWS):
            yield {
                "path": f"{number}.wav",
                "question": f"Which is it, {number}?",
                **dict(zip(("choice_a", "choice_b", "choice_c", "choice_d"), options, strict=False)),
                "answer_gt": options[number % len(options)],
                "task_name": task,
                "dataset_name": ("first", "second")[number % 2],
                "uniq_id": number,
            }


def put(folder):
    """All of AIR-Bench in its published layout; of the groundings of sounds the clips are FLAC, whatever their path."""
    rows = list(foundation_rows())
    for row in rows:
        suffix = ".flac" if row["task_name"] == "Audio_Grounding" else ".wav"
        file = Path("Foundation", f"{row['task_name']}_{row['dataset_name']}", row["path"]).with_suffix(suffix)
        tone(folder / file, 0.05, folder)
    (folder / "Foundation" / "Foundation_meta.json").write_text(json.dumps(rows))
    chat = [
        {
            "path": f"{number}.wav",
            "question": f"What happens in {name}, {number}?",
            "answer_gt": f"Something, {number} times.",
            "meta_info": f"a noise, {number} times",
            "task_name": name,
            "dataset_name": "drawn",
            "uniq_id": number,
        }
        for name in KINDS
        for number in range(ROWS)
    ]
    for row in chat:
        tone(folder / "Chat" / f"{row['task_name']}_drawn" / row["path"], 0.05, folder)
    (folder / "Chat" / "Chat_meta.json").write_text(json.dumps(chat))
    return rows, chat


def answer(row, place):
    """Right in so many of ten rows as the task's place among all has it, and in every fifth without a letter."""
    options = OPTIONS.get(row["task_name"], ["one", "two", "three", "four"])
    right = options.index(row["answer_gt"])
    if row["uniq_id"] % 5 == 4:
        return "I cannot tell"
    return "ABCD"[right if row["uniq_id"] % 10 < place % 10 else (right + 1) % len(options)] + "."


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with both declarations, the data, recorded answers, and judges."""
    folder = tmp_path_factory.mktemp("air_bench")
    rows, chat = put(folder / "data" / "air_bench")
    answers = {
        f"air_bench/{row['task_name']} {row['task_name']}_{row['dataset_name']}/{row['uniq_id']}": answer(
            row, tasks().index(row["task_name"])
        )
        for row in rows
    }
    for row in chat:
        answers[f"air_bench_chat/{KINDS[row['task_name']]} {row['task_name']}_drawn/{row['uniq_id']}"] = "A noise."
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "conftest.py").write_text(JUDGES)
    (folder / "evals").mkdir()
    for file in (FOUNDATION, CHAT):
        (folder / "evals" / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.fixture(scope="module")
def run(whole, forks):
    def run_once(name, *options):
        arguments = ["-p", "no:cacheprovider", "--rootdir=.", "--ab-model=recorded:answers.json", f"--ab-run={name}"]
        done = forks.pytest([*arguments, *options, "evals"], whole)
        record = json.loads((whole / "reports" / name / "run.json").read_text(encoding="utf-8"))
        return record, done.stdout

    return run_once


@pytest.fixture(scope="module")
def by_first(run):
    return run("first", "--ab-judge=judge:first", "-v")


def metric(owner, scorer, name="accuracy", **group):
    return next(
        (each for each in owner["metrics"] if (each["name"], each["scorer"], each["group"]) == (name, scorer, group)),
        None,
    )


def suite(record, name):
    return next(each for each in record["suites"] if each["name"] == name)


def value(owner, *which, **group):
    return metric(owner, *which, **group)["value"]


def published_accuracy(rows, answers):
    """As score_foundation.py counts: the answers with a letter, by task."""
    counted = [(row, text) for row, text in zip(rows, answers, strict=True) if text[0] in "ABCD"]
    options = [OPTIONS.get(row["task_name"], ["one", "two", "three", "four"]) for row, _ in counted]
    right = [text[0] == "ABCD"[own.index(row["answer_gt"])] for (row, text), own in zip(counted, options, strict=True)]
    return sum(right) / len(right)


def test_all_nineteen_tasks_are_asked_and_scored_by_ours_and_as_published(by_first):
    record, _ = by_first
    items = {item["dataset"]: item for item in record["items"] if item["suite"] == "air_bench"}
    assert list(items) == [f"air_bench/{task}" for task in tasks()]
    rows = list(foundation_rows())
    for place, task in enumerate(tasks()):
        own = [row for row in rows if row["task_name"] == task]
        item = items[f"air_bench/{task}"]
        assert item["n"] == ROWS
        expected = published_accuracy(own, [answer(row, place) for row in own])
        assert value(item, "air-bench") == pytest.approx(expected)
        assert value(item, "air-bench-keep") == pytest.approx(expected * 0.8)
        assert value(item, "letters") == pytest.approx(expected * 0.8)


def test_the_average_is_the_mean_of_the_categories_means_over_tasks_and_stands_beside_the_published(by_first):
    record, output = by_first
    items = {item["dataset"].rpartition("/")[2]: item for item in record["items"] if item["suite"] == "air_bench"}
    parts = {"speech": tasks()[:9], "sound": tasks()[9:13], "music": tasks()[13:]}
    of_suite = suite(record, "air_bench")
    for scorer in ("letters", "air-bench", "air-bench-keep"):
        means = []
        for name, own in parts.items():
            means.append(sum(value(items[task], scorer) for task in own) / len(own))
            assert value(of_suite, scorer, average=name) == pytest.approx(means[-1])
        whole = metric(of_suite, scorer, average="AIR-Bench")
        assert whole["value"] == pytest.approx(sum(means) / 3)
        assert whole["lower"] < whole["value"] < whole["upper"]
        assert 0 < whole["upper"] - whole["lower"] < 0.2
    assert "published accuracy of air_bench, AIR-Bench (here " in output
    line = next(line for line in output.splitlines() if line.split()[:2] == ["Qwen-Audio-Turbo", "57.8"])
    assert f"{100 * value(of_suite, 'air-bench', average='AIR-Bench'):.1f} %" in line


def test_an_average_of_which_a_part_was_not_measured_is_not_printed(run):
    record, output = run("part", "-k", "Speech_Grounding or Sound_AQA or Audio_Grounding")
    assert len(record["items"]) == 3
    assert not [each for each in suite(record, "air_bench")["metrics"] if "average" in each["group"]]
    assert "air_bench, AIR-Bench" not in output


def test_a_judge_that_prefers_a_place_gives_both_places_their_own_number_and_the_mean_of_both(by_first):
    record, output = by_first
    items = [item for item in record["items"] if item["suite"] == "air_bench_chat"]
    assert [(item["dataset"], item["n"]) for item in items] == [
        ("air_bench_chat/speech", 40),
        ("air_bench_chat/sound", 40),
        ("air_bench_chat/music", 40),
        ("air_bench_chat/speech_and_sound", 20),
        ("air_bench_chat/speech_and_music", 20),
    ]
    expected = {"": 0.6, "-published": 0.6, "-first": 0.9, "-second": 0.3}
    for item in items:
        for tail, points in expected.items():
            assert value(item, f"air-bench-chat{tail}", "judge_score") == pytest.approx(points)
        assert item["judges"]["first"]["asked"] == 2 * item["n"]
    for name in ("mixed", "AIR-Bench-chat"):
        assert value(suite(record, "air_bench_chat"), "air-bench-chat", "judge_score", average=name) == pytest.approx(
            0.6
        )
    assert "published judge_score of air_bench_chat, AIR-Bench-chat (here " in output


def test_verdicts_that_cannot_be_had_or_read_are_counted_and_never_zero(run):
    record, _ = run("failing", "-k", "test_sound", "--ab-judge=judge:failing", "--ab-max-errors=100")
    (item,) = record["items"]
    coverage = {each["name"]: each["coverage"] for each in item["scorers"]}
    assert coverage["air-bench-chat"]["errors"] > coverage["air-bench-chat-first"]["errors"] > 0
    assert item["judges"]["failing"]["errors"] > 0
    # Whatever could be had in both places is rated 8 behind the reference and 4 before it.
    assert value(item, "air-bench-chat", "judge_score") == pytest.approx(0.6)
    assert value(item, "air-bench-chat-second", "judge_score") == pytest.approx(0.8)
    record, output = run("talkative", "-k", "test_sound", "--ab-judge=judge:talkative")
    (item,) = record["items"]
    assert value(item, "air-bench-chat", "judge_score") is None
    assert "40 of 40 verdicts of air-bench-chat@talkative could not be parsed" in output


def test_beside_published_ratings_stands_no_value_where_no_verdict_could_be_read(run):
    record, output = run("unread", "-k", "air_bench_chat", "--ab-judge=judge:talkative")
    assert value(suite(record, "air_bench_chat"), "air-bench-chat-kept", "judge_score", average="AIR-Bench-chat") == 0
    said = " ".join(output.split())
    assert "of air_bench_chat, AIR-Bench-chat (here no value by air-bench-chat-published)" in said
    assert "(here 0.0 %" not in said
    assert "expected was a verdict of the form two-numbers-1-10, as air-bench-chat reads it" in said
    assert "without" not in said.partition("failures in")[2]


def test_chat_without_a_judge_is_skipped_and_not_zero(run):
    record, output = run("none", "-k", "test_music", "-rs")
    assert [item["outcome"] for item in record["items"]] == ["skipped"]
    assert "need a judge" in output


def test_an_answer_that_matches_no_option_is_no_match_for_ours_and_a_guess_for_the_published_aligner(run):
    record, output = run(
        *("aligned", "-k", "Music_AQA or Synthesized", "--ab-judge=judge:aligner"),
        *("--ab-scorer=air-bench-keep", "--ab-scorer=align", "--ab-scorer=air-bench-align"),
    )
    rows = list(foundation_rows())
    for item in record["items"]:
        own = [row for row in rows if f"air_bench/{row['task_name']}" == item["dataset"]]
        unmatched = [row for row in own if row["uniq_id"] % 5 == 4]
        guessed = [row for row in unmatched if row["answer_gt"] == row["choice_a"]]
        by_letter = value(item, "air-bench-keep")
        assert value(item, "align") == by_letter
        assert value(item, "align", "no_match") == len(unmatched) / len(own) == 0.2
        assert value(item, "air-bench-align") == pytest.approx(by_letter + len(guessed) / len(own))
    assert len(record["items"]) == 2
    # Both aligners were read every time, though the rule that they are compared with could not read every answer.
    assert "could not be read" not in output


CHECKPOINT = Path(__file__).parents[2].parent / "shared" / "data" / "checkpoints" / "fsdd-qwen2audio-epoch20"


@pytest.mark.skipif(not CHECKPOINT.is_dir(), reason=f"needs the trained checkpoint in {CHECKPOINT}")
@pytest.mark.slow
def test_a_real_checkpoint_that_cannot_judge_has_all_its_verdicts_counted_and_none_scored(whole, forks_with_torch):
    for name, scorers, evals in (("chat", [], "test_music"), ("align", ["--ab-scorer=align"], "Music_AQA")):
        options = [f"--ab-judge=small=hf:{CHECKPOINT},device=cpu", f"--ab-run=real-{name}", "--ab-limit=4", *scorers]
        arguments = ["-p", "no:cacheprovider", "--rootdir=.", "--ab-model=recorded:answers.json", *options]
        done = forks_with_torch.pytest([*arguments, "-k", evals, "evals"], whole)
        (item,) = json.loads((whole / "reports" / f"real-{name}" / "run.json").read_text(encoding="utf-8"))["items"]
        assert item["judges"]["small"]["asked"] == (8 if name == "chat" else 4), done.stdout
        assert item["scorers"][0]["coverage"]["unparsed"] == 4
        assert item["metrics"][0]["value"] is None
        assert "4 of 4 verdicts of " in done.stdout


PUBLISHED_PROMPTS = {
    4: "Choose the most suitable answer from options A, B, C, and D to respond the question in next line, you may only "
    "choose A or B or C or D.\nWhich is it, 0?\nA. one\nB. two\nC. three\nD. four",
    2: "Choose the most suitable answer from options A, B, C, and D to respond the question in next line, you may only "
    "choose A or B or C or D.\nWhich is it, 0?\nA. bonafide\nB. spoof\nC. None\nD. None",
}
"""What Inference_Foundation.py gave as its instruction of these rows."""


@pytest.mark.parametrize(("task", "options"), [("Music_AQA", 4), ("Synthesized_Voice_Detection", 2)])
def test_the_published_prompt_is_asked_byte_for_byte_absent_options_and_all(task, options, whole):
    data = whole / "data"
    sample, *_ = dataset("air_bench", task).read(Places(here=data, shelves=[data]))
    prompt = read_declarations(FOUNDATION)[""].prompts["air-bench-published"]["prompt"]
    (message,) = multiple_choice(prompt=prompt).answering.messages(sample, {})
    assert len(sample.choices) == options
    assert [part for part in message.parts if isinstance(part, str)] == [PUBLISHED_PROMPTS[options]]


MEANS = {"Qwen-Audio-Turbo": 57.8, "Qwen-Audio": 54.5, "PandaGPT": 40.2, "SALMONN": 36.0, "NExT-GPT": 31.5}
MEANS |= {"BLSP": 31.4, "SpeechGPT": 30.0}
"""The Average of the leaderboard of foundation."""


def test_the_average_of_foundation_is_the_mean_of_three_means_over_tasks():
    declared = read_declarations(FOUNDATION)[""]
    values = {(row.model, row.parameters.get("task")): row.value for row in declared.published if row.average is None}
    assert {name: len(declared.averages[name]) for name in declared.averages["AIR-Bench"]} == {
        **{"speech": 9, "sound": 4, "music": 6}
    }
    for model, printed in MEANS.items():
        means = [
            sum(values[model, task] for task in declared.averages[category]) / len(declared.averages[category])
            for category in declared.averages["AIR-Bench"]
        ]
        assert abs(100 * sum(means) / 3 - printed) < 0.051 + 1e-9, model


def test_each_published_figure_is_listed_once_and_an_average_says_what_it_is_the_mean_of(capsys):
    for benchmark, count in (("air_bench", 149), ("air_bench_chat", 51)):
        assert main(["published", benchmark]) == 0
        lines = capsys.readouterr().out.splitlines()
        starts = [number for number, line in enumerate(lines) if re.match(r" {2,9}0\.\d+  air_bench", line)]
        names = [" ".join(lines[start : start + 2]) for start in starts]
        assert len(names) == len(set(names)) == count
    assert main(["published", "air-bench/57.8"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "0.578 air_bench/Qwen-Audio-Turbo/AIR-Bench/accuracy" in out
    assert "the mean of speech (mean of 9), sound (mean of 4), music (mean of 6)" in out
    # As the leaderboard of the chat prints it, of ten.
    assert main(["published", "6.93"]) == 0
    assert "air_bench_chat/Qwen2-Audio/AIR-Bench-chat/judge_score" in capsys.readouterr().out
