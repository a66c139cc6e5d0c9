"""Miniatures of the layouts that are read: a function for each, with every form that its publisher's rows take.

Each has at least twenty rows, over real audio files of a tenth of a second. Tests read them whole, and broken.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile

from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.places import Places

RATE_HZ = 16_000
COUNT = 20

Row = dict[str, Any]


class Layout(NamedTuple):
    """A data set on disk as its publisher lays it out, of rows that a test may change before they are written."""

    name: str
    rows: Sequence[Row]
    write: Callable[[Path, Sequence[Row]], None]
    """The file of rows below a folder."""
    file: str
    """That file, or where its rows lie in several files the first row's."""
    made: Callable[[Path], Dataset]
    audio: str = "audio"
    """The column of the audio's paths; of embedded audio, the column itself."""
    answer: str = "answer"
    id: str | None = "id"
    """The column of which an id is made; none where an object's keys or the audio's paths are ids."""
    eighth: str = ""
    """How its eighth row is called in errors, as a pattern; of a table with a header it is the ninth line."""
    prefix: str = ""
    """Before a row's audio path, for the path below the folder."""

    @property
    def root(self) -> str:
        """What ``--ab-data`` calls the folder."""
        return self.name.partition("-")[0]

    def put(self, folder: Path, rows: Sequence[Row] | None = None) -> None:
        """Write the miniature, with other ``rows`` where they are given; its audio is that of its own."""
        for number, row in enumerate(self.rows):
            for path in self.audio_files(row):
                sound(folder / path, number)
        self.write(folder, self.rows if rows is None else rows)

    def audio_files(self, row: Mapping[str, Any]) -> list[str]:
        """The files that a row plays, below the folder; none where its audio lies in it."""
        written = row.get(self.audio)
        paths = written if isinstance(written, list) else [written]
        return [f"{self.prefix}{path}" for path in paths if isinstance(path, str)]

    @property
    def is_text(self) -> bool:
        """Whether all cells are texts."""
        return Path(self.file).suffix in {".csv", ".tsv", ".txt", ""}

    def path_of(self, path: str) -> Any:
        """What a row says where its audio lies at ``path``."""
        return [path] if isinstance(self.rows[0][self.audio], list) else path

    def read(self, folder: Path) -> list[Any]:
        """All its samples."""
        return list(self.made(folder).read(places(folder)))


def places(folder: Path) -> Places:
    """Where any of the layouts is read from ``folder``."""
    names = ("sakura", "mmau", "mmar", "librispeech", "gigaspeech", "common_voice", "fleurs", "zoo")
    names += ("air_bench", "esc50", "nsynth", "speech_commands")
    return Places(here=folder, named=dict.fromkeys(names, folder))


def wave(number: int) -> np.ndarray:
    """A tone of a tenth of a second; another for each number."""
    return (0.3 * np.sin(np.arange(RATE_HZ // 10) * 2 * np.pi * (200 + 20 * number) / RATE_HZ)).astype(np.float32)


def sound(path: Path, number: int) -> None:
    """An audio file of the format that its name ends with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    format_, subtype = {".mp3": ("MP3", None), ".opus": ("OGG", "OPUS")}.get(path.suffix.lower(), (None, None))
    soundfile.write(path, wave(number), RATE_HZ, format=format_, subtype=subtype)


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(rows[0])
        table.writerows(list(row.values()) for row in rows)


def write_tsv(path: Path, rows: Sequence[Row], header: bool = True) -> None:
    """Without quoting, as Common Voice and FLEURS are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [list(rows[0])] if header else []
    lines += [[str(cell) for cell in row.values()] for row in rows]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


# Questions with options


def _sakura_rows() -> list[Row]:
    """Of the track animal: its nine labels, four options each, one answer after a blank as some have it, and a question
    that names an option (a) before its own.
    """
    labels = ("dog", "cat", "frog", "cow", "sheep", "pig", "hen", "rooster", "crow")
    rows = []
    for number in range(COUNT):
        label = labels[number % len(labels)]
        others = [one for one in labels if one != label][:3]
        options = [*others[: number % 4], label, *others[number % 4 :]]
        lettered = " ".join(f"({letter}) {option}" for letter, option in zip("abcd", options, strict=True))
        question = "Which animal, if not (a) bird as such, is heard?" if number == 3 else "Which animal’s sound is it?"
        answer = f"({'abcd'[number % 4]}) {label}"
        rows.append(
            {
                "file": f"{label}{number}.wav",
                "attribute_label": label,
                "single_instruction": f"{question} {lettered}",
                "single_answer": f" {answer}" if number == 5 else answer,
                "multi_instruction": "Which covering does it have? (a) Feathers, mostly (b) Fur (c) Scales (d) Horns",
                "multi_answer": "(b) Fur",
            }
        )
    return rows


def _sakura(name: str, file: str, eighth: str, write: Callable[[Path, Sequence[Row]], None]) -> Layout:
    return Layout(
        name,
        _sakura_rows(),
        write,
        file,
        lambda _: dataset("sakura", "animal", "single"),
        audio="file",
        answer="single_answer",
        id="file",
        eighth=eighth,
        prefix="data/Animal/audio/",
    )


def sakura_json() -> Layout:
    """``data/Animal/metadata.json``, as github ckyang1124/SAKURA has it: an object of ``data/Animal/audio/<file>`` to
    ``{attribute_label, single_instruction, single_answer, multi_instruction, multi_answer}``; an instruction ends with
    its options, "(a) dog (b) hen", and an answer is an option with its letter.
    """

    def write(folder: Path, rows: Sequence[Row]) -> None:
        entries = [
            (f"data/Animal/audio/{row.get('file')}", {name: row[name] for name in row if name != "file"})
            for row in rows
        ]
        # An object with one name twice is not a dict.
        members = ", ".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries)
        path = folder / "data" / "Animal" / "metadata.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{{{members}}}", encoding="utf-8")

    return _sakura("sakura-json", "data/Animal/metadata.json", r"'data/Animal/audio/(rooster7\.wav|None)'", write)


def sakura_csv() -> Layout:
    """``data/Animal/metadata.csv`` of the same repository: the same columns behind ``file``, the file's bare name."""
    file = "data/Animal/metadata.csv"
    return _sakura("sakura-csv", file, "line 9", lambda folder, rows: write_csv(folder / file, rows))


def mmau_git() -> Layout:
    """``mmau-test-mini.json`` of github Sakshi113/MMAU: a list of ``{id, audio_id, question, choices, answer, dataset,
    task, split, category, sub-category, difficulty}``; two, four, five or eight choices, 27 times one text twice, in
    earlier versions an answer that no choice is, ``category`` a text or a list of one. Some .wav are MP3s.
    """
    rows = []
    for number in range(COUNT):
        count = {1: 2, 2: 5, 3: 8}.get(number, 4)
        choices = [f"a {word}" for word in ("dog", "hen", "cow", "cat", "frog", "pig", "crow", "bee")[:count]]
        rows.append(
            {
                "id": f"3fe64f3d-282c-4bc8-a753-{number:012d}",
                "audio_id": f"./test-mini-audios/3fe64f3d-{number}.wav",
                "question": "Which animal is heard? ",
                "choices": [*choices[:-1], choices[0]] if number == 4 else choices,
                "answer": "a cow that no option is" if number == 5 else choices[0],
                "dataset": ("AudioSet", "voxceleb", "musicbench")[number % 3],
                "task": ("sound", "speech", "music")[number % 3],
                "split": "test-mini",
                "category": ["Reasoning"] if number == 6 else ("Reasoning", "Information Extraction")[number % 2],
                "sub-category": "Acoustic Source Inference",
                "difficulty": ("easy", "medium", "hard")[number % 3],
            }
        )

    def write(folder: Path, rows: Sequence[Row]) -> None:
        write_json(folder / "mmau-test-mini.json", rows)
        path = folder / "test-mini-audios" / "3fe64f3d-7.wav"
        soundfile.write(path, wave(7), RATE_HZ, format="MP3")

    return Layout("mmau-git", rows, write, "mmau-test-mini.json", lambda _: dataset("mmau"), "audio_id", eighth="row 7")


def mmau_hub() -> Layout:
    """``test_mini.parquet`` of gamma-lab-umd/MMAU-test-mini: ``context`` (an audio file's bytes), ``instruction``,
    ``choices`` and ``answer`` with their letters ("(A) Man"), ``other_attributes``, a JSON text of ``{id, task,
    category, sub-category, difficulty, dataset}``.
    """
    rows = []
    for number, row in enumerate(mmau_git().rows):
        choices = [f"({letter}) {choice}" for letter, choice in zip("ABCDEFGH", row["choices"], strict=False)]
        about = {name: row[name] for name in ("id", "task", "category", "sub-category", "difficulty", "dataset")}
        rows.append(
            {
                "context": {"bytes": encoded(wave(number), number), "path": None},
                "instruction": row["question"],
                "choices": choices,
                "answer": next((choice for choice in choices if choice[4:] == row["answer"]), row["answer"]),
                "other_attributes": json.dumps(about),
            }
        )
    file = "test_mini.parquet"

    def write(folder: Path, rows: Sequence[Row]) -> None:
        import pyarrow
        import pyarrow.parquet

        folder.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), folder / file, row_group_size=4)

    return Layout(
        *("mmau-hub", rows, write, file, lambda _: dataset("mmau"), "context"),
        id="other_attributes",
        eighth="row group 1, row 3",
    )


def _mmar_rows() -> list[Row]:
    modalities = ("sound", "music", "speech", "mix-sound-music", "mix-sound-speech", "mix-music-speech")
    layers = ("Signal Layer", "Perception Layer", "Semantic Layer", "Cultural Layer")
    return [
        {
            "id": f"BV1kx411m7UN_{number}-45_3-15",
            "audio_path": f"./audio/BV1kx411m7UN_00-{number:02d}-45_00-03-15.wav",
            "question": "Where might this music come from",
            "choices": ["Mountain Canyon", "Grassland", "Open Grassland", "City", "Sea", "Moon"][: 2 + number % 5],
            "answer": "Grassland" if number else "Mountain Canyon",
            "modality": ("mix-sound-music-speech", *modalities)[number % 7],
            "category": layers[number % 4],
            "sub-category": "Professional Knowledge and Reasoning",
            "language": (None, "en", "zh", "zh|en")[number % 4],
            "source": ("youtube", "bilibili")[number % 2],
            "url": "https://www.youtube.com/watch?v=1",
            "timestamp": "00:01:32,00:02:02",
        }
        for number in range(COUNT)
    ]


def _mmar(name: str, file: str, eighth: str, write: Callable[[Path, Sequence[Row]], None]) -> Layout:
    return Layout(
        name,
        _mmar_rows(),
        lambda folder, rows: write(folder / file, rows),
        file,
        lambda _: dataset("mmar"),
        audio="audio_path",
        eighth=eighth,
    )


def mmar_jsonl() -> Layout:
    """``MMAR-meta.jsonl`` of github ddlBoJack/MMAR: a line of ``{id, audio_path, question, choices, answer, modality,
    category, sub-category, language, source, url, timestamp}``; two to six choices, an option within another, a file's
    name that is not the id, no language.
    """
    return _mmar("mmar-jsonl", "MMAR-meta.jsonl", "line 8", write_lines)


def mmar_hub() -> Layout:
    """``MMAR-meta.json`` of BoJack/MMAR on the hub: the same objects as one list."""
    return _mmar("mmar-hub", "MMAR-meta.json", "row 7", write_json)


def air_bench() -> Layout:
    """``Foundation/Foundation_meta.json`` of qyang1021/AIR-Bench-Dataset on the hub, as github OFA-Sys/AIR-Bench's
    Inference_Foundation.py reads it: a list of ``{path, question, choice_a, choice_b, choice_c, choice_d, answer_gt,
    task_name, dataset_name, uniq_id}``; ``choice_c`` and ``choice_d`` may be absent or null, and a clip of
    Audio_Grounding is the .flac of its path. By its score_foundation.py an answer is one of the choices as it stands.
    """
    rows = []
    for number in range(COUNT):
        row = {
            "path": f"{number}.wav",
            "question": "How long is the barking heard?",
            "choice_a": f"[0.{number}, 1.2]",
            "choice_b": "[0.00, 10.00]",
            "choice_c": ("[4.1, 4.2]", None)[number % 5 == 4],
            "choice_d": "[7, 8]",
            "answer_gt": (f"[0.{number}, 1.2]", "[0.00, 10.00]")[number % 2],
            "task_name": "Audio_Grounding",
            "dataset_name": ("AudioGrounding", "other")[number // 10],
            "uniq_id": 900 + number,
        }
        fewer = {1: ("choice_d",), 2: ("choice_c", "choice_d")}.get(number % 4, ())
        rows.append({name: cell for name, cell in row.items() if name not in fewer})

    def write(folder: Path, rows: Sequence[Row]) -> None:
        others = [{**row, "task_name": "Sound_AQA", "path": "no.wav"} for row in rows[:3]]
        write_json(folder / "Foundation" / "Foundation_meta.json", [*rows, *others])

    return _AirBench(
        "air_bench",
        rows,
        write,
        "Foundation/Foundation_meta.json",
        lambda _: dataset("air_bench", "Audio_Grounding"),
        audio="path",
        answer="answer_gt",
        id="uniq_id",
        eighth="row 7",
    )


class _AirBench(Layout):
    def audio_files(self, row: Mapping[str, Any]) -> list[str]:
        return [f"Foundation/Audio_Grounding_{row['dataset_name']}/{row['path'].removesuffix('.wav')}.flac"]


# Labels


def esc50() -> Layout:
    """``meta/esc50.csv`` of github karolpiczak/ESC-50, whose README.md has its columns: filename, fold, target,
    category, esc10, src_file, take; ``audio/{FOLD}-{CLIP_ID}-{TAKE}-{TARGET}.wav``. Classes in two words have an
    underscore, and several clips may be of one file of Freesound.
    """
    classes = ((0, "dog"), (14, "chirping_birds"), (33, "door_wood_creaks"), (12, "crackling_fire"))
    rows = []
    for number in range(COUNT):
        (target, category), source, take = classes[number % 4], 100_000 + number // 8, "ABCDEFGH"[number % 8]
        rows.append(
            {
                "filename": f"{1 + number // 8}-{source}-{take}-{target}.wav",
                "fold": 1 + number // 8,
                "target": target,
                "category": category,
                "esc10": category in {"dog", "crackling_fire"},
                "src_file": source,
                "take": take,
            }
        )
    file = "meta/esc50.csv"
    return Layout(
        "esc50",
        rows,
        lambda folder, rows: write_csv(folder / file, rows),
        file,
        lambda _: dataset("esc50"),
        audio="filename",
        answer="category",
        id="filename",
        eighth="line 9",
        prefix="audio/",
    )


def speech_commands() -> Layout:
    """speech_commands_test_set_v0.02.tar.gz: a folder for each of twelve classes, as ESPnet's
    egs2/speechcommands/asr1/local/data_prep_12.py lists them: ten words, ``_silence_`` and ``_unknown_``; nothing but
    .wav files in them.
    """
    classes = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "_silence_", "_unknown_")
    rows = [{"audio": f"{classes[number % 12]}/{number:08x}_nohash_{number % 3}.wav"} for number in range(COUNT)]

    def write(folder: Path, rows: Sequence[Row]) -> None:
        (folder / "README.md").write_text("# Speech Commands Data Set Test Files v0.02\n")
        sound(folder / "bed" / "of the whole corpus.wav", 0)

    return Layout("speech_commands", rows, write, "", lambda _: dataset("speech_commands"), id=None)


def nsynth() -> Layout:
    """``examples.json`` of nsynth-test.jsonwav.tar.gz: an object of a note's name to ``{note, note_str, instrument,
    instrument_str, pitch, velocity, sample_rate, qualities, qualities_str, instrument_family, instrument_family_str,
    instrument_source, instrument_source_str}``, lists in two of them; ``audio/<note_str>.wav``.
    """
    families = ("bass", "brass", "flute", "guitar", "keyboard", "mallet", "organ", "reed", "string", "vocal")
    rows = []
    for number in range(COUNT):
        family, source = families[number % 10], ("acoustic", "electronic", "synthetic")[number % 3]
        instrument = f"{family}_{source}_{number // 10:03d}"
        rows.append(
            {
                "note": 244_000 + number,
                "note_str": f"{instrument}-060-{(25, 127)[number % 2]:03d}",
                "instrument": number,
                "instrument_str": instrument,
                "pitch": 60,
                "velocity": (25, 127)[number % 2],
                "sample_rate": 16_000,
                "qualities": [0, 1, 0, 0, 0, 0, 0, 0, 0, 0] if number % 4 else [0] * 10,
                "qualities_str": ["dark"] if number % 4 else [],
                "instrument_family": number % 10,
                "instrument_family_str": family,
                "instrument_source": number % 3,
                "instrument_source_str": source,
            }
        )

    def write(folder: Path, rows: Sequence[Row]) -> None:
        # An object with one name twice is not a dict.
        members = ", ".join(f'"{row.get("note_str")}": {json.dumps(row)}' for row in rows)
        path = folder / "nsynth-test" / "examples.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{{{members}}}", encoding="utf-8")

    return _NSynth(
        "nsynth",
        rows,
        write,
        "nsynth-test/examples.json",
        lambda _: dataset("nsynth"),
        audio="note_str",
        answer="instrument_family_str",
        id="note_str",
        eighth=r"'(reed_electronic_000-060-127|None|\.\./[./]*secret\.wav|/etc/secret\.wav)'",
    )


class _NSynth(Layout):
    def audio_files(self, row: Mapping[str, Any]) -> list[str]:
        return [f"nsynth-test/audio/{row['note_str']}.wav"]


# Transcribed speech


def librispeech() -> Layout:
    """openslr.org/12, README.TXT 2.1: ``<split>/<speaker>/<chapter>/<speaker>-<chapter>-<number>.flac``, and a line of
    an utterance's id and its words in capitals in ``<speaker>-<chapter>.trans.txt``.
    """
    rows = []
    for number in range(COUNT):
        chapter = f"{('1089', '61')[number % 2]}-{('134686', '70968')[number % 2]}"
        rows.append({"utterance": f"{chapter}-{number // 2:04d}", "words": f"HE'D HOPED FOR STEW NUMBER {number}"})

    def write(folder: Path, rows: Sequence[Row]) -> None:
        chapters: dict[str, list[str]] = {}
        for row in rows:
            line = " ".join(map(str, row.values()))
            chapter = row["utterance"].rpartition("-")[0] if "utterance" in row else "1089-134686"
            chapters.setdefault(chapter, []).append(line + "\n")
        for chapter, lines in chapters.items():
            place = folder / "test-clean" / chapter.replace("-", "/")
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{chapter}.trans.txt").write_text("".join(lines), encoding="utf-8")

    file = "test-clean/1089/134686/1089-134686.trans.txt"
    return _LibriSpeech(
        "librispeech",
        rows,
        write,
        file,
        lambda _: dataset("librispeech", "test-clean"),
        audio="utterance",
        answer="words",
        id="utterance",
        eighth="line [45]",
    )


class _LibriSpeech(Layout):
    def path_of(self, path: str) -> str:
        return f"1089-134686-{path}"

    def audio_files(self, row: Mapping[str, Any]) -> list[str]:
        speaker, chapter, _ = row["utterance"].split("-")
        return [f"test-clean/{speaker}/{chapter}/{row['utterance']}.flac"]


def gigaspeech() -> Layout:
    """``GigaSpeech.json`` of github SpeechColab/GigaSpeech: ``{audios: [{aid, path, source, category, segments: [{sid,
    speaker, begin_time, end_time, text_tn, subsets}]}]}``, a recording in one .opus. Texts have the tags <COMMA>,
    <PERIOD>, <QUESTIONMARK> and <EXCLAMATIONPOINT>; a text that is <SIL>, <MUSIC>, <NOISE> or <OTHER> is not speech.
    """
    tags = ("<COMMA>", "<PERIOD>", "<QUESTIONMARK>", "<EXCLAMATIONPOINT>")
    garbage = ("<SIL>", "<MUSIC>", "<NOISE>", "<OTHER>")
    rows = [
        {
            "aid": f"POD{number}",
            "path": f"audio/podcast/P0/POD{number}.opus",
            "source": ("podcast", "youtube", "audiobook")[number % 3],
            "category": ("Comedy", "N/A")[number % 2],
            "sid": f"POD{number}_S0000001",
            "begin_time": 0.0,
            "end_time": 0.08,
            "text_tn": f"AS THEY SAY {tags[number % 4]} NUMBER {number} {tags[(number + 1) % 4]}",
            "subsets": ["{XL}", "{TEST}"],
        }
        for number in range(COUNT)
    ]

    def write(folder: Path, rows: Sequence[Row]) -> None:
        audios = []
        for number, row in enumerate(rows):
            fields = ("sid", "begin_time", "end_time", "text_tn", "subsets")
            segment = {"speaker": "N/A", **{name: row[name] for name in fields if name in row}}
            noise = {**segment, "sid": f"N{number}", "text_tn": garbage[number % 4]}
            others = {name: row[name] for name in row if name not in fields}
            audios.append({"title": 'one "audios": [ here', **others, "segments": [segment, noise]})
        write_json(folder / "GigaSpeech.json", {"dataset": "GigaSpeech", "version": "v1.0.0", "audios": audios})

    return Layout(
        "gigaspeech",
        rows,
        write,
        "GigaSpeech.json",
        lambda _: dataset("gigaspeech", "test"),
        audio="path",
        answer="text_tn",
        id="sid",
        eighth="audios 8",
    )


def common_voice() -> Layout:
    """``<language>/<split>.tsv`` of Mozilla's archives, with a header (client_id, path, sentence, up_votes, …), and
    ``clips/*.mp3``; written without quoting (github common-voice/common-voice, issue 5189), so that quotation marks
    need not balance. The first releases left ".mp3" out of the path.
    """
    said = ('"Was it?" he said, "or not', '"', "Ein Wort", "l'été", "它在哪里")
    rows = [
        {
            "client_id": f"a1b2{number // 2}",
            "path": f"common_voice_en_{number}" + (".mp3" if number % 3 else ""),
            "sentence": said[number % 5],
            "up_votes": 2,
            "down_votes": 0,
            "age": ("twenties", "")[number % 2],
            "gender": ("female_feminine", "male_masculine", "")[number % 3],
            "accents": "",
            "variant": "",
            "locale": "en",
            "segment": "",
        }
        for number in range(COUNT)
    ]
    return _CommonVoice(
        "common_voice",
        rows,
        lambda folder, rows: write_tsv(folder / "en" / "test.tsv", rows),
        "en/test.tsv",
        lambda _: dataset("common_voice", "en", "test"),
        audio="path",
        answer="sentence",
        id="path",
        eighth="line 9",
    )


class _CommonVoice(Layout):
    def audio_files(self, row: Mapping[str, Any]) -> list[str]:
        return [f"en/clips/{row['path'].removesuffix('.mp3')}.mp3"]


def fleurs() -> Layout:
    """``<config>/<split>.tsv`` of huggingface.co/datasets/google/fleurs, without a header; its fleurs.py reads number,
    file, raw transcript, normalised one, that in characters, number of samples, gender; ``audio/<split>/*.wav``.
    """
    rows = [
        {
            "sentence": 1600 + number // 2,
            "file": f"1{number}.wav",
            "raw": f'“Stew” "number {number}.',
            "transcription": f"stew number {number}",
            "characters": "s t e w | n u m b e r |",
            "samples": 1600,
            "gender": ("FEMALE", "MALE")[number % 2],
        }
        for number in range(COUNT)
    ]
    return Layout(
        "fleurs",
        rows,
        lambda folder, rows: write_tsv(folder / "en_us" / "test.tsv", rows, header=False),
        "en_us/test.tsv",
        lambda _: dataset("fleurs", "en_us", "test"),
        audio="file",
        answer="transcription",
        id="file",
        eighth="line 8",
        prefix="en_us/audio/test/",
    )


# One's own


def audiofolder_csv() -> Layout:
    """Hugging Face's ``audiofolder``: ``metadata.csv`` with ``file_name`` and any columns beside the audio."""
    return _audiofolder("audiofolder-csv", "metadata.csv", r"line 9|data/7\.flac", write_csv)


def audiofolder_jsonl() -> Layout:
    """The same with ``metadata.jsonl``."""
    return _audiofolder("audiofolder-jsonl", "metadata.jsonl", "line 8", write_lines)


def _audiofolder(name: str, file: str, eighth: str, write: Callable[[Path, Sequence[Row]], None]) -> Layout:
    rows = [
        {"file_name": f"data/{number}.{('wav', 'flac')[number % 2]}", "label": ("dog", "hen")[number % 2]}
        for number in range(COUNT)
    ]
    return Layout(
        name,
        rows,
        lambda folder, rows: write(folder / file, rows),
        file,
        lambda folder: manifest(folder, answer="label", choices="from answers"),
        audio="file_name",
        answer="label",
        id=None,
        eighth=eighth,
    )


def class_folders() -> Layout:
    """A folder of audio files for each class, whose name is the answer (ImageFolder's way, for sounds)."""
    rows = [
        {"audio": f"{('dog', 'hen', 'cow')[number % 3]}/{number}.{('wav', 'flac')[number % 2]}"}
        for number in range(COUNT)
    ]
    return Layout("classes", rows, lambda folder, rows: None, "", manifest, id=None)


def _manifest_rows() -> list[Row]:
    """Answers by text, by letter, and to an open question; several clips in a row."""
    return [
        {
            "id": f"s{number}",
            "audio": [f"{number}.wav", f"b{number}.flac"] if number == 1 else [f"{number}.wav"],
            "question": "Which animal?",
            "choices": [] if number == 2 else ["dog", "hen"],
            "answer": ("dog", "B", "(a)", "hen", "b)")[number % 5] if number != 2 else "Anything said, or not",
        }
        for number in range(COUNT)
    ]


def _table_cells(rows: Sequence[Row]) -> list[Row]:
    """With lists as one cell."""
    between = {"audio": ";", "choices": "|"}
    return [
        {name: between[name].join(cell) if isinstance(cell, list) else cell for name, cell in row.items()}
        for row in rows
    ]


def manifest_csv() -> Layout:
    """The table in ``datasets/manifest.py``: id, audio (``;`` between), question, choices (``|`` between), answer."""
    return Layout(
        "manifest-csv",
        _manifest_rows(),
        lambda folder, rows: write_csv(folder / "set.csv", _table_cells(rows)),
        "set.csv",
        lambda folder: manifest(folder / "set.csv"),
        eighth="line 9",
    )


def manifest_tsv() -> Layout:
    """The same with tabs between cells, where quotes are characters as any other."""
    return Layout(
        "manifest-tsv",
        _manifest_rows(),
        lambda folder, rows: write_tsv(folder / "set.tsv", _table_cells(rows)),
        "set.tsv",
        lambda folder: manifest(folder / "set.tsv"),
        eighth="line 9",
    )


def manifest_jsonl() -> Layout:
    """An object a line, lists as lists."""
    rows = [{**row, "choices": row["choices"] or None} for row in _manifest_rows()]
    return Layout(
        "manifest-jsonl",
        rows,
        lambda folder, rows: write_lines(folder / "set.jsonl", rows),
        "set.jsonl",
        lambda folder: manifest(folder / "set.jsonl"),
        eighth="line 8",
    )


# Parquet


def encoded(samples: np.ndarray, number: int = 0) -> bytes:
    """An audio file of ``samples``: the even ones WAV, the odd ones FLAC."""
    file = io.BytesIO()
    format_, subtype = (("WAV", "FLOAT"), ("FLAC", "PCM_16"))[number % 2]
    soundfile.write(file, samples, RATE_HZ, format=format_, subtype=subtype)
    return file.getvalue()


def _parquet(name: str, audio: Callable[[int], object], rate: str = "", column: str = "audio") -> Layout:
    rows = [
        {"id": f"s{number}", column: audio(number), "answer": ("dog", "hen")[number % 2]} for number in range(COUNT)
    ]
    text = f'[data]\nrows = "data/test-*.parquet"\n{rate}'
    text += f'[sample]\nid = "{{id}}"\naudio = "{{{column}}}"\nanswer = "{{answer}}"\n'

    def write(folder: Path, rows: Sequence[Row]) -> None:
        import pyarrow
        import pyarrow.parquet

        (folder / "data").mkdir(parents=True, exist_ok=True)
        table = pyarrow.Table.from_pylist(list(rows))
        for number, part in enumerate((table.slice(0, COUNT // 2), table.slice(COUNT // 2))):
            path = folder / "data" / f"test-{number:05d}-of-00002.parquet"
            pyarrow.parquet.write_table(part, path, row_group_size=4)

    def made(folder: Path) -> Dataset:
        (folder / "zoo.audiobench.toml").write_text(text)
        return declared_loader(folder / "zoo.audiobench.toml")()

    return Layout(name, rows, write, "data/test-00000-of-00002.parquet", made, column, eighth="row group 1, row 3")


def parquet_bytes() -> Layout:
    """Shards as Hugging Face's datasets write the Audio feature: ``struct<bytes: binary, path: string>``, with the
    bytes of an audio file (AudioLLMs' sets, and the test-mini of gamma-lab-umd/MMAU-test-mini).
    """
    return _parquet("parquet-bytes", lambda number: {"bytes": encoded(wave(number), number), "path": f"{number}.wav"})


def parquet_paths() -> Layout:
    """A column of lists of paths below the folder, as gamma-lab-umd/MMAU-Pro's ``audio_path`` beside its archive."""
    return _parquet("parquet-paths", lambda number: [f"data/{number}.wav", f"data/b{number}.wav"], column="audio_path")


def parquet_floats() -> Layout:
    """Lists of float32 at 16 kHz, as EarthSpeciesProject/BEANS-Zero has them."""
    return _parquet("parquet-floats", lambda number: wave(number).tolist(), "rate = 16000\n")


LAYOUTS = (
    *(sakura_json, sakura_csv, mmau_git, mmau_hub, mmar_jsonl, mmar_hub, air_bench, esc50, speech_commands, nsynth),
    *(librispeech, gigaspeech, common_voice, fleurs),
    *(audiofolder_csv, audiofolder_jsonl, class_folders, manifest_csv, manifest_tsv, manifest_jsonl),
    *(parquet_bytes, parquet_paths, parquet_floats),
)
"""All, each a function that describes what it makes."""
