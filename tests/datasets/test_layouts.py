"""Every layout in miniature: whole, each of its rows is a sample; broken, one sentence says where and what to do."""

import re
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.errors import AudioError, UsageError
from pytest_audiobench.evaluation.selection import select
from tests.datasets.layouts import (
    COUNT,
    LAYOUTS,
    RATE_HZ,
    air_bench,
    audiofolder_csv,
    audiofolder_jsonl,
    encoded,
    esc50,
    manifest_csv,
    manifest_jsonl,
    manifest_tsv,
    mmar_hub,
    mmar_jsonl,
    mmau_git,
    places,
    sakura_csv,
    sakura_json,
    speech_commands,
    wave,
)

pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")


def play(samples):
    """All that their clips hold; the index refuses what leaves its folder."""
    clips = [clip for sample in samples for clip in sample.clips]
    with AudioIndex(None) as index:
        for facts in index.facts_of(clips):
            if isinstance(facts, Exception):
                raise facts
    return [decode(clip, RATE_HZ, None).samples for clip in clips]


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_a_miniature_has_every_row_and_plays_its_own_audio(make, tmp_path):
    layout = make()
    layout.put(tmp_path)
    samples = layout.read(tmp_path)
    assert len(samples) == len({sample.id for sample in samples}) == COUNT
    assert all(sample.reference for sample in samples)
    numbers = []
    for heard in play(samples):
        likeness = [np.abs(np.correlate(heard, wave(number), "full")).max() for number in range(COUNT)]
        numbers.append(int(np.argmax(likeness)))
    assert set(numbers) == set(range(COUNT))
    assert len(numbers) == sum(max(1, len(layout.audio_files(row))) for row in layout.rows)


TRUTHS = {
    "sakura": lambda row: row["attribute_label"],
    "mmau": lambda row: re.sub(r"^\([A-H]\) ", "", row["answer"]),
    "mmar": lambda row: row["answer"],
    "air_bench": lambda row: row["answer_gt"],
    "esc50": lambda row: row["category"],
    "speech_commands": lambda row: row["audio"].partition("/")[0],
    "nsynth": lambda row: row["instrument_family_str"],
    "librispeech": lambda row: row["words"],
    "gigaspeech": lambda row: f"AS THEY SAY NUMBER {row['aid'].removeprefix('POD')}",
    "common_voice": lambda row: row["sentence"],
    "fleurs": lambda row: row["transcription"],
    "audiofolder": lambda row: row["label"],
    "classes": lambda row: row["audio"].partition("/")[0],
    "manifest": lambda row: {"B": "hen", "(a)": "dog", "b)": "hen"}.get(row["answer"], row["answer"]),
    "parquet": lambda row: row["answer"],
}


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_every_form_of_an_answer_is_its_truth(make, tmp_path):
    layout = make()
    layout.put(tmp_path)
    truths = Counter(map(TRUTHS[layout.root], layout.rows))
    assert Counter(sample.reference for sample in layout.read(tmp_path)) == truths


@pytest.mark.parametrize(
    "makers",
    [
        (sakura_json, sakura_csv),
        (mmar_jsonl, mmar_hub),
        (audiofolder_csv, audiofolder_jsonl),
        (manifest_csv, manifest_tsv, manifest_jsonl),
    ],
    ids=lambda makers: makers[0]().root,
)
def test_a_publisher_s_rows_are_the_same_samples_in_each_of_its_formats(makers, tmp_path):
    read = []
    for make in makers:
        layout = make()
        layout.put(tmp_path / layout.name)
        samples = layout.read(tmp_path / layout.name)
        paths = [[clip.source.path for clip in sample.clips] for sample in samples]
        read.append([(replace(sample, clips=()), files) for sample, files in zip(samples, paths, strict=True)])
    assert all(samples == read[0] for samples in read)


def test_mmau_s_questions_have_two_to_eight_options_and_one_text_twice(tmp_path):
    layout = mmau_git()
    layout.put(tmp_path)
    samples = layout.read(tmp_path)
    assert {len(sample.choices) for sample in samples} == {2, 4, 5, 8}
    assert [len(sample.choices) - len(set(sample.choices)) for sample in samples[3:6]] == [0, 1, 0]
    assert samples[5].reference not in samples[5].choices
    assert {sample.metadata["category"] for sample in samples} == {"Reasoning", "Information Extraction"}


def test_air_bench_s_absent_choices_are_none_and_its_grounding_plays_flac(tmp_path):
    layout = air_bench()
    layout.put(tmp_path)
    samples = layout.read(tmp_path)
    assert [len(sample.choices) for sample in samples[:5]] == [4, 3, 2, 4, 3]
    assert all(sample.reference in sample.choices for sample in samples)
    assert {sample.clips[0].source.path.rpartition(".")[2] for sample in samples} == {"flac"}


def test_the_clips_of_esc_50_that_are_of_one_recording_share_it(tmp_path):
    layout = esc50()
    layout.put(tmp_path)
    samples = layout.read(tmp_path)
    assert Counter(sample.metadata["recording"] for sample in samples) == {"100000": 8, "100001": 8, "100002": 4}
    assert {sample.reference for sample in samples if sample.metadata["esc10"] == "True"} == {"dog", "crackling_fire"}


def test_a_folder_of_no_class_is_left_out_of_speech_commands(tmp_path):
    layout = speech_commands()
    layout.put(tmp_path)
    (sample, *_) = layout.read(tmp_path)
    assert (tmp_path / "bed").is_dir()
    assert "bed" not in sample.choices
    assert len(sample.choices) == 12


# What breaks them: each takes a layout and a folder, and writes the miniature broken.


def changed(layout, folder, **cells):
    """With other cells in its eighth row."""
    layout.put(folder, [{**row, **cells} if number == 7 else row for number, row in enumerate(layout.rows)])


def a_missing_column(layout, folder):
    layout.put(folder, [{name: row[name] for name in row if name != layout.answer} for row in layout.rows])


def a_cell_of_another_type(layout, folder):
    wrong = "" if layout.is_text else {"no": "text"}
    if layout.file.endswith(".parquet"):
        layout.put(folder, [{**row, layout.answer: wrong} for row in layout.rows])
    else:
        changed(layout, folder, **{layout.answer: wrong})


def a_cut_file(layout, folder):
    layout.put(folder)
    content = (folder / layout.file).read_bytes()
    place = len(content) // 2
    if not layout.file.endswith(".parquet"):
        names = [str(row[layout.id or layout.audio]).encode() for row in layout.rows]
        place = max(content.rfind(name) + len(name) for name in names if name in content)
    (folder / layout.file).write_bytes(content[:place])


def an_audio_that_is_no_number(layout, folder):
    """Not a number within the second clip's sound."""
    sound = wave(1).copy()
    sound[50] = np.nan
    if layout.audio_files(layout.rows[1]):
        layout.put(folder)
        path = folder / layout.audio_files(layout.rows[1])[0]
        soundfile.write(path, sound, RATE_HZ, format="WAV", subtype="FLOAT")
    else:
        cell = (
            sound.tolist()
            if isinstance(layout.rows[1][layout.audio], list)
            else {"bytes": encoded(sound), "path": None}
        )
        layout.put(
            folder, [{**row, layout.audio: cell} if number == 1 else row for number, row in enumerate(layout.rows)]
        )


def a_path_above_its_folder(layout, folder):
    changed(layout, folder, **{layout.audio: layout.path_of("../../../../secret.wav")})


def an_absolute_path(layout, folder):
    changed(layout, folder, **{layout.audio: layout.path_of("/etc/secret.wav")})


def a_link_out_of_its_folder(layout, folder):
    layout.put(folder)
    path = folder / layout.audio_files(layout.rows[1])[0]
    path.rename(folder.parent / "secret.wav")
    path.symlink_to(folder.parent / "secret.wav")


def an_id_twice(layout, folder):
    name = layout.id or layout.audio
    changed(layout, folder, **{name: layout.rows[4][name]})


def an_empty_file(layout, folder):
    layout.put(folder)
    if layout.file:
        (folder / layout.file).write_bytes(b"")
    else:
        for path in folder.rglob("*.*"):
            path.unlink()


def a_row_of_another_layout(layout, folder):
    other = {"clip_path": "x.wav", "transcript": "hello there"}
    layout.put(folder, [*layout.rows[:7], other, *layout.rows[8:]])


BREAKAGES = (
    *(a_missing_column, a_cell_of_another_type, a_cut_file, an_audio_that_is_no_number, a_path_above_its_folder),
    *(an_absolute_path, a_link_out_of_its_folder, an_id_twice, an_empty_file, a_row_of_another_layout),
)


def breaks(layout, breakage):
    """Whether a layout can be broken so: some have no file of rows, and some no paths of audio."""
    if not layout.file:
        if layout.root == "speech_commands" and breakage is an_empty_file:
            return False  # of no files at all it is said that the data is not on the machine
        return breakage in {an_audio_that_is_no_number, a_link_out_of_its_folder, an_empty_file}
    if layout.root in {"common_voice", "fleurs"} and breakage is a_cell_of_another_type:
        return False  # all cells are texts, and an utterance without words has an empty one
    has_paths = bool(layout.audio_files(layout.rows[0]))
    return has_paths or breakage not in {a_path_above_its_folder, an_absolute_path, a_link_out_of_its_folder}


def refusal(layout, folder):
    """What reading, choosing and playing all of it says."""
    try:
        data = layout.made(folder)
        samples = list(data.read(places(folder)))
        if len({sample.id for sample in samples}) < len(samples):
            with AudioIndex(None) as index:
                select(data, places(folder), index, handle=None)
        play(samples)
    except (UsageError, AudioError) as error:
        return str(error)
    raise AssertionError(f"it was read: {samples[7]}")


CASES = [(make, breakage) for make, breakage in product(LAYOUTS, BREAKAGES) if breaks(make(), breakage)]
ADVICE = r"[;:,] (fetch|correct|write|unpack|put|add|repair|give|make|begin|name|it has)\b"


@pytest.mark.parametrize(
    ("make", "breakage"), [pytest.param(*case, id="-".join(each.__name__ for each in case)) for case in CASES]
)
def test_what_breaks_a_layout_is_named_with_its_place_and_what_to_do(make, breakage, tmp_path):
    layout, folder = make(), tmp_path / "data"
    breakage(layout, folder)
    sentences = refusal(layout, folder).splitlines()
    assert 1 <= len(sentences) <= 10
    for sentence in sentences:
        assert re.search(ADVICE, sentence)
        assert len(re.findall("fetch", sentence)) <= 1
    text = sentences[0]
    is_of_audio = breakage in {an_audio_that_is_no_number, a_link_out_of_its_folder}
    if breakage is an_id_twice:
        assert re.search(r"sample \d+ \(.*\) and sample \d+ \(|on line \d+ and on line \d+|twice", text)
    elif is_of_audio:
        (path, *_) = layout.audio_files(layout.rows[1]) or [layout.file]
        assert path.removeprefix("./") in text
    elif "no such file" in text:  # some publishers' rows name no folder: what stands before a file's name is cut off
        assert re.search(r"/secret\.|/x\.", text)
    else:
        assert text.startswith((str(folder), "zoo:", f"{layout.root}:"))
        assert layout.file.rpartition("/")[2] in text or "trans.txt" in text
        if breakage in {a_cell_of_another_type, a_path_above_its_folder, an_absolute_path, a_row_of_another_layout}:
            is_column = breakage is a_cell_of_another_type and layout.file.endswith(".parquet")
            assert re.search("row group 0, row 0" if is_column else layout.eighth, text)
