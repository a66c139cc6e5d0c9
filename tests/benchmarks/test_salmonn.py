"""SALMONN's tasks as they are declared: the published prompts and figures, and a real recogniser asked one of them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.published_figures import registry
from tests.benchmarks.miniatures import CONFTEST, EVALS, Miniature, miniatures
from tests.read_speech import read_speech

FILE = EVALS / "salmonn.audiobench.toml"
WEIGHTS = Path(os.environ.get("AUDIOBENCH_WEIGHTS", "weights")).resolve() / "whisper-tiny.en"
PLACE = "<Speech><SpeechHere></Speech> "
PROMPTS = {
    **dict.fromkeys(("asr_clean", "asr_other", "asr_gigaspeech"), "asr"),
    **{"en2zh": "translation_ec", "en2de": "translation_en2de", "en2ja": "translation_en2ja"},
    **{"aac": "audiocaption", "aac_v2": "audiocaption_v2", "pr": "phone_recognition", "er": "emotion_recognition"},
    **{"mc": "music_description", "osr": "speech_separation", "ke": "keywords", "story": "audio_story_telling"},
    **{"sv": "speaker_verification", "sv_same": "speaker_verification", "sac": "speech_audio_query"},
    **{"sqqa": "speech_query", "sqqa_all": "speech_query"},
}
"""By task, what its prompt is called where it was published."""
SETS = {
    **{"asr_clean": "librispeech_clean", "asr_other": "librispeech_other", "asr_gigaspeech": "gigaspeech"},
    **{"en2zh": "covost2_en_zh", "en2de": "covost2_en_de", "en2ja": "covost2_en_ja", "pr": "librispeech_clean_phones"},
    **{"aac": "audiocaps", "aac_v2": "audiocaps", "er": "iemocap_session5", "mc": "musiccaps", "osr": "librimix"},
    **{"sv": "voxceleb1", "ke": "inspec", "sqqa": "wikiqa_sqqa", "sf": "slurp_sf", "story": "audiocaps_story"},
    **{"sac": "sac"},
}
"""By task, what the tables of published figures call its data."""
NAMES = {"bleu4": "bleu", "keyword_accuracy": "keyword_hits", "following_rate": "following"}
"""What they call metrics."""


@pytest.mark.parametrize("task", PROMPTS)
def test_a_task_is_asked_in_the_published_words(task, shared):
    published = json.loads((shared / "salmonn" / "prompts.json").read_text(encoding="utf-8"))
    table = read_declaration(FILE)[task].table
    assert PLACE + table["prompt"] == published[PROMPTS[task]]
    assert table["max_new_tokens"] == 200


def test_a_slot_is_asked_for_in_the_published_words(shared):
    published = json.loads((shared / "salmonn" / "prompts.json").read_text(encoding="utf-8"))
    assert PLACE + read_declarations(FILE)["sf"].sample.question.replace("{slot}", "{}") == published["slot_filling"]


@pytest.mark.parametrize("task", SETS)
def test_the_paper_s_figures_are_those_of_the_published_tables(task):
    figures = {
        (NAMES.get(figure.metric, figure.metric), round(figure.value / (100 if figure.unit == "percent" else 1), 6))
        for figure in registry.everything()
        if figure.benchmark == "SALMONN-T3" and figure.dataset == SETS[task]
    }
    rows = [row for row in read_declarations(FILE)[task].published if "arXiv" in row.source]
    assert rows
    for row in rows:
        assert (row.metric.replace("osr_wer", "wer"), row.value) in figures


def test_a_second_reading_of_samples_and_a_known_defect_stand_beside_the_suite_and_in_none_of_its_figures(
    tmp_path, forks
):
    answers = {}
    for task in ("sv", "sv_same"):
        miniature = Miniature(miniatures()[f"salmonn-{task}"])
        declared = read_declarations(FILE)[task]
        miniature.put(tmp_path / "data" / declared.root)
        answers |= {f"{declared.name} {id_}": text for id_, text in miniature.responses.items()}
    shutil.copy(FILE, tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    arguments = ["--ab-model=recorded:answers.json", "--ab-run=all", "-k", "test_sv", FILE.name]
    done = forks.pytest(["-p", "no:cacheprovider", "--rootdir=.", *arguments], tmp_path)
    run = json.loads((tmp_path / "reports" / "all" / "run.json").read_text())
    counts = {item["eval"]: (item["n"], item["pooled"]) for item in run["items"] if item["scorers"]}
    assert counts == {"salmonn/sv": (24, True), "salmonn/sv_same": (24, False)}, done.stdout
    (suite,) = run["suites"]
    assert (suite["evals"], suite["n"]) == (1, 24)
    assert {task for task, data in read_declarations(FILE).items() if not data.pooled} == {
        *("aac_v2", "sv_same", "sqqa_all")
    }


@pytest.mark.slow
def test_whisper_reads_what_is_said_by_our_rule_and_by_the_reproduction_s(tmp_path, forks_with_torch, shared):
    if not WEIGHTS.is_dir():
        pytest.skip(f"{WEIGHTS} is missing: python fixtures/fetch_weights.py {WEIGHTS.parent}")
    read_speech(tmp_path / "librispeech", shared)
    shutil.copy(FILE, tmp_path)
    arguments = [f"--ab-model=hf:{WEIGHTS}", "--ab-data=librispeech=librispeech", "--ab-run=all", "-k", "asr_clean"]
    run = forks_with_torch.pytest(["-p", "no:cacheprovider", "--rootdir=.", *arguments, FILE.name], tmp_path)
    items = json.loads((tmp_path / "reports" / "all" / "run.json").read_text())["items"]
    (item,) = (item for item in items if item["eval"] == "salmonn/asr_clean")
    rates = {row["scorer"]: row["value"] for row in item["metrics"] if row["name"] == "wer" and not row.get("group")}
    assert item["n"] == 20, run.stdout
    assert rates.keys() == {"wer-basic", "salmonn-skip", "salmonn-keep"}
    assert all(rate < 0.2 for rate in rates.values()), rates
