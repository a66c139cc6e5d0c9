"""audiobench init: from a folder of somebody's audio to an eval that runs."""

import gzip
import json
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main

RATE_HZ = 16_000
WORDS = ("open the blue box", "close the yellow door", "turn the red wheel", "lift the green chair")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sounds(*paths):
    """Tones of half a second at the paths."""
    for number, path in enumerate(paths):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.sin(np.arange(RATE_HZ // 2) * (0.05 + 0.01 * number)) / 3, RATE_HZ)


def init(capsys, *arguments, code=0):
    """What it prints, of which no line is longer than a terminal but for a long path at its end."""
    assert main(["init", *map(str, arguments)]) == code
    printed = capsys.readouterr()
    assert [line for line in printed.out.splitlines() if len(line) > 80 and len(line.split()[-1]) < 40] == []
    return printed.out if code != 4 else printed.err


def written(name):
    return tomllib.loads(Path(f"{name}.audiobench.toml").read_text(encoding="utf-8"))


def asked(forks, *files):
    """The items of a run of the files by the bundled baseline, in its own process."""
    options = ["-q", "-p", "no:cacheprovider", "--ab-run=own"]
    run = forks.pytest([*options, *files], environment={**os.environ, "COLUMNS": "80"})
    assert run.returncode == 0, run.stdout + run.stderr
    items = json.loads(Path("reports/own/run.json").read_text())["items"]
    return {item["eval"]: (item["n"], item["metrics"][0]["name"]) for item in items}


def test_a_table_of_labels_is_an_eval_of_labels_that_runs(here, capsys, forks):
    sounds(*(f"calls/clips/{number}.wav" for number in range(12)))
    rows = [f"{number}.wav,{('wren', 'robin')[number % 2]},s{number % 3}" for number in range(12)]
    Path("calls/birds.csv").write_text("\n".join(["filename,species,speaker", *rows]) + "\n")
    said = init(capsys, "calls", "--answer", "species")
    assert "calls: 12 clips, 6.0 s, 16,000 Hz, mono" in said
    assert "filename: its values are names of audio files, of files in clips" in said
    assert "species: as you said" in said
    assert "classification: 2 different answers of 12 clips, 1.0 words each" in said
    assert "written:\n  calls.audiobench.toml\n  gate.toml\nrun it by" in said
    command = "  pytest calls.audiobench.toml --ab-config=gate.toml"
    assert said.endswith(f"{command}\n{command} --ab-model=hf:FOLDER\n")
    assert written("calls") == {
        "manifest": "calls/birds.csv",
        "audio": "filename",
        "root": "calls/clips",
        "answer": "species",
        "protocol": "classification",
        "choices": "from answers",
        "question": "Which species is it?",
        "cluster": "speaker",
    }
    assert asked(forks, "calls.audiobench.toml", "--ab-config=gate.toml") == {"calls": (12, "accuracy")}
    (verdict,) = json.loads(Path("reports/own/run.json").read_text())["items"][0]["verdicts"]
    assert (verdict["threshold"], verdict["status"]) == ("errors <= 0", "pass")


def test_texts_beside_recordings_are_what_is_said_in_them(here, capsys, forks):
    sounds(*(f"notes/{number}.wav" for number in range(5)))
    for number, words in enumerate(WORDS):
        Path(f"notes/{number}.txt").write_text(f"{words}\n")
    said = init(capsys, "notes")
    assert "labels.csv, of 4 texts beside recordings; 1 recordings without one are left out" in " ".join(said.split())
    assert "transcription: 4 different answers of 4 clips, 4.0 words each" in said
    assert written("notes") == {"manifest": "notes/labels.csv", "protocol": "transcription"}
    assert asked(forks, "notes.audiobench.toml") == {"notes": (4, "wer")}


def test_folders_are_classes(here, capsys):
    sounds("pets/cat/1.wav", "pets/cat/2.wav", "pets/dog/1.wav")
    assert "the folder that a clip lies in" in init(capsys, "pets")
    assert written("pets") == {"manifest": "pets", "protocol": "classification", "question": "What is heard?"}


def test_recordings_that_nothing_is_known_of_are_listed_for_their_answers(here, capsys):
    sounds("loose/b.wav", "loose/a.wav")
    said = " ".join(init(capsys, "loose", code=1).split())
    assert "loose holds 2 recordings and no file with their answers" in said
    assert Path("loose/labels.csv").read_text().split() == ["audio,answer", "a.wav,", "b.wav,"]
    assert not Path("loose.audiobench.toml").exists()
    assert "has an empty answer in every row: fill them in" in init(capsys, "loose", code=4)
    Path("loose/labels.csv").write_text("audio,answer\na.wav,open the box\nb.wav,close the box\n")
    init(capsys, "loose")
    assert written("loose") == {"manifest": "loose/labels.csv", "protocol": "transcription"}


def test_other_tools_manifests_are_taken_as_they_are(here, capsys, forks):
    sounds("kaldi/a.wav", "kaldi/b.wav", "nemo/a.wav", "cuts/a.wav")
    Path("kaldi/wav.scp").write_text("u1 a.wav\nu2 b.wav\n")
    Path("kaldi/text").write_text("u1 der blaue kasten\nu2 die rote kiste\n")
    Path("kaldi/utt2lang").write_text("u1 de\nu2 de\n")
    Path("nemo/test.json").write_text(json.dumps({"audio_filepath": "a.wav", "duration": 0.5, "text": "a red box"}))
    source = {"type": "file", "channels": [0], "source": "a.wav"}
    recording = {"id": "a", "sources": [source], "sampling_rate": RATE_HZ, "num_samples": 8_000, "duration": 0.5}
    part = {"start": 0, "duration": 0.5, "channel": 0}
    supervision = {"id": "s", "recording_id": "a", **part, "text": "a blue box"}
    cut = {"id": "c", **part, "supervisions": [supervision], "recording": recording, "type": "MonoCut"}
    with gzip.open("cuts/x_cuts.jsonl.gz", "wt") as file:
        file.write(json.dumps(cut))
    for name in ("kaldi", "nemo", "cuts"):
        init(capsys, name)
    assert written("kaldi") == {"manifest": "kaldi", "answer": "text", "protocol": "transcription", "language": "de"}
    assert written("nemo")["manifest"] == "nemo/test.json"
    assert written("cuts") == {"manifest": "cuts", "answer": "text", "protocol": "transcription"}
    assert asked(forks, *(f"{name}.audiobench.toml" for name in ("kaldi", "nemo", "cuts"))).keys() == {
        "kaldi",
        "nemo",
        "cuts",
    }


def test_a_table_with_sound_in_it_is_read(here, capsys):
    pa = pytest.importorskip("pyarrow", reason="tables are read by pyarrow, which is not installed")
    import pyarrow.parquet as parquet

    sounds("a.wav")
    sound = {"bytes": Path("a.wav").read_bytes(), "path": None}
    audio = pa.array([sound] * 6, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    parquet.write_table(pa.table({"context": audio, "label": ["on", "off"] * 3}), "words.parquet")
    assert "context: it has clips" in init(capsys, "words.parquet")
    own = written("words")
    assert (own["audio"], own["answer"], own["protocol"]) == ("context", "label", "classification")


def test_rows_with_choices_of_their_own_are_multiple_choice(here, capsys):
    sounds("quiz/a.wav")
    row = {"audio": "a.wav", "question": "What?", "choices": ["cat", "dog"], "answer": "dog"}
    Path("quiz/quiz.jsonl").write_text(json.dumps(row))
    assert "rows have choices of their own" in init(capsys, "quiz")
    assert written("quiz") == {"manifest": "quiz/quiz.jsonl", "protocol": "multiple_choice"}


def test_columns_of_ones_own_are_taken_by_their_usual_names(here, capsys):
    sounds(*(f"moods/{number}.wav" for number in range(12)))
    rows = [f"{number}.wav,{('calm', 'angry')[number % 2]},a{number % 3},{number // 4}" for number in range(12)]
    Path("moods/labels.csv").write_text("\n".join(["file,Mood,Actor,take", *rows]) + "\n")
    assert "actor" in init(capsys, "moods").lower()
    own = written("moods")
    assert (own["answer"], own["cluster"], own["question"]) == ("Mood", "Actor", "Which Mood is it?")
    init(capsys, "moods", "--cluster", "take", "--output", "takes.audiobench.toml")
    assert written("takes")["cluster"] == "take"
    refused = init(capsys, "moods", "--cluster", "day", "--output", "days.audiobench.toml", code=4)
    assert "has no column 'day'; it has file, Mood, Actor, take" in refused


def test_the_only_column_that_is_neither_numbers_nor_a_speaker_is_the_answer(here, capsys):
    sounds(*(f"own/{number}.wav" for number in range(8)))
    rows = [f"{number}.wav,{('one', 'two')[number % 2]},s{number % 3},{number}" for number in range(8)]
    Path("own/list.csv").write_text("\n".join(["path,digit,speaker,take", *rows]) + "\n")
    said = init(capsys, "own")
    assert "digit: the only column of words that is no speaker or the like" in said
    assert (written("own")["answer"], written("own")["cluster"]) == ("digit", "speaker")
    assert "3 of them, whose clips are alike; no comparison is tested with fewer than 10" in " ".join(said.split())
    Path("own/list.csv").write_text("\n".join(["path,speaker,take,word,tone", "0.wav,s,1,one,low"]) + "\n")
    Path("own.audiobench.toml").unlink()
    assert "such as audiobench init own --answer word" in init(capsys, "own", code=4)


def test_what_it_took_can_be_corrected(here, capsys):
    sounds("a.wav", "b.wav")
    Path("own.tsv").write_text("wav\tother\tlabel\tnote\na.wav\tb.wav\tx\tA dog barks\nb.wav\ta.wav\ty\tRain\n")
    keys = ("own.tsv", "--audio", "other", "--answer", "note", "--protocol", "captioning")
    Path("deep").mkdir()
    said = init(capsys, *keys, "--output", "deep/mine.audiobench.toml")
    assert "captioning: as you said" in said
    own = tomllib.loads(Path("deep/mine.audiobench.toml").read_text())
    assert own == {"manifest": "../own.tsv", "audio": "other", "answer": "note", "protocol": "captioning"}


def test_nothing_is_overwritten(here, capsys):
    sounds("pets/cat/1.wav", "pets/dog/1.wav")
    Path("pets.audiobench.toml").write_text("mine")
    refused = init(capsys, "pets", code=4)
    assert "nothing is overwritten" in refused
    assert "run pytest pets.audiobench.toml; look again by audiobench init pets --dry-run;" in refused
    assert Path("pets.audiobench.toml").read_text() == "mine"


def test_rules_a_workflow_and_what_git_ignores_are_written_where_they_are_not(here, capsys):
    sounds("pets/cat/1.wav", "pets/dog/1.wav")
    Path(".git").mkdir()
    Path(".gitignore").write_text("build\nreports/")
    before = sorted(here.rglob("*"))
    said = init(capsys, "pets", "--ci", "--dry-run")
    files = "  pets.audiobench.toml\n  gate.toml\n  .github/workflows/audiobench.yml\n  .gitignore: .audiobench/\n"
    assert f"would be written:\n{files}" in said
    assert sorted(here.rglob("*")) == before
    assert f"written:\n{files}" in init(capsys, "pets", "--ci")
    assert Path(".gitignore").read_text() == "build\nreports/\n.audiobench/\n"
    rules = Path("gate.toml").read_text()
    assert tomllib.loads(rules) == {"threshold": [{"eval": "pets", "require": ["errors <= 0"]}]}
    # Without a baseline the margin would be a note on every run.
    assert tomllib.loads(rules.replace("# max_drop", "max_drop"))["threshold"][0]["max_drop"] == "2pp"
    own = Path(".github/workflows/audiobench.yml").read_text()
    source = (Path(__file__).parents[2] / "examples/ci/audiobench.yml").read_text()
    assert "args: pets.audiobench.toml --ab-config=gate.toml --ab-require=all\n" in own
    assert own.replace("pets.audiobench.toml --ab-config=gate.toml", "evals") == source
    Path("gate.toml").write_text("mine")
    said = init(capsys, "pets", "--ci", "--output", "again.audiobench.toml")
    assert "  gate.toml: there already, and left as it is\n" in said
    assert "  pytest again.audiobench.toml\n" in said
    assert Path("gate.toml").read_text() == "mine"
    assert Path(".gitignore").read_text().count(".audiobench/") == 1


def test_missing_files_unnamed_files_and_rare_spellings_are_listed_until_they_are_mended(here, capsys):
    sounds(*(f"own/{number}.wav" for number in range(9)))
    rows = "".join(f"{number}.wav,{('dog', 'cat', 'Dog', 'cat', 'dog')[number % 5]}\n" for number in range(8))
    Path("own/labels.csv").write_text(f"file,label\n{rows.replace('6.wav', '66.wav').replace('0.wav', '00.wav')}")
    said = " ".join(init(capsys, "own").split())
    assert "lines 2 and 8 name no file, such as 00.wav" in said
    assert "0.wav, 6.wav, 8.wav are in the folder and in no row" in said
    assert "3 different answers of 8 clips" in said
    assert "labels 'dog' and 'Dog' differ only in case or white space and are offered as two labels" in said
    assert "the rarer way: line 4 (Dog), 9 (Dog)" in said
    declared = Path("own.audiobench.toml").read_text()
    assert 'protocol = "classification"  # or "multiple_choice"' in declared
    assert '# cluster = "speaker"  # the column of what clips share' in declared
    assert "name no file" not in declared, "what will be mended would be wrong from then on"
    Path("own/labels.csv").write_text(f"file,label\n{rows.lower()}")
    said = " ".join(init(capsys, "own", "--dry-run").split())
    assert "name no file" not in said
    assert "8.wav is in the folder and in no row" in said
    assert "own.audiobench.toml: there already, and left as it is" in said


def test_a_list_beside_a_folder_that_has_none_is_taken_where_it_names_its_files(here, capsys):
    sounds(*(f"calls/clips/{number}.wav" for number in range(4)), "others/9.wav")
    rows = "".join(f"{number}.wav,{('yes', 'no')[number % 2]}\n" for number in range(4))
    Path("truth.csv").write_text(f"file,label\n{rows}")
    Path("others.csv").write_text("file,label\n9.wav,yes\n")
    Path("broken.jsonl").write_text("{")
    said = " ".join(init(capsys, "calls").split())
    assert "truth.csv beside the folder names the files in it" in said
    assert "of files in clips" in said
    own = written("calls")
    assert (own["manifest"], own["root"]) == ("truth.csv", "calls/clips")
    Path("more.csv").write_text(f"file,label\n{rows}")
    again = ("calls", "--output", "again.audiobench.toml")
    assert "several lists name files in it: 'more.csv', 'truth.csv'; name one" in init(capsys, *again, code=4)
    paths = "".join(f"calls/clips/{number}.wav,x{number}\n" for number in range(4))
    Path("calls.csv").write_text(f"file,label\n{paths}")
    init(capsys, *again)
    assert written("again") == {
        "manifest": "calls.csv",
        "audio": "file",
        "answer": "label",
        "protocol": "transcription",
    }


def test_a_list_of_which_no_clip_can_be_read_is_refused(here, capsys):
    sounds("own/1.wav")
    Path("own/labels.csv").write_text("file,label\nwrong/1.wav,dog\nwrong/2.wav,cat\n")
    assert "none of the 2 clips can be read, such as " in init(capsys, "own", code=4)
    assert not Path("own.audiobench.toml").exists()


def test_a_dry_run_writes_no_list_either(here, capsys):
    sounds("notes/1.wav")
    Path("notes/1.txt").write_text(WORDS[0])
    assert "labels.csv, a list of 1 recordings" in " ".join(init(capsys, "notes", "--dry-run").split())
    assert not Path("notes/labels.csv").exists()


@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({}, ["own"], "holds no audio and no list of any"),
        ({}, ["nowhere"], "there is no file or folder nowhere"),
        ({"a.csv": "", "b.csv": ""}, ["own"], "holds several lists: 'a.csv', 'b.csv'; name one: audiobench init"),
        ({"a.csv": "x.wav,dog\ny.wav,cat\n"}, ["own"], "begins with a row; write a header above it"),
        ({"a.csv": "name,label\nx,dog\n"}, ["own"], "has no column of audio files (it has name, label)"),
        (
            {"a.csv": "wav,n,m\nx.wav,1,2\n"},
            ["own"],
            "say what is true by --answer COLUMN, such as audiobench init own --answer n",
        ),
        ({"a.csv": "wav,n,m\nx.wav,1,2\n"}, ["own", "--answer", "o"], "has no column 'o'; it has wav, n, m"),
        ({"a.csv": "wav,text\nx.wav\n"}, ["own"], "line 2 has 1 cells under a header of 2"),
        ({"a.csv": "wav,text\nx.wav,hi\n"}, ["own", "--protocol", "transcribe"], "did you mean 'transcription'"),
        ({"a.csv": "wav,text\nx.wav,hi\n"}, ["own", "--output", "x.toml"], "let its name end with .audiobench.toml"),
    ],
)
def test_what_cannot_be_understood_is_said_in_a_sentence(here, capsys, files, arguments, said):
    Path("own").mkdir()
    for name, text in files.items():
        Path("own", name).write_text(text)
    if "--protocol" in arguments:
        sounds("own/x.wav")
    assert said in init(capsys, *arguments, code=4)
    assert list(here.glob("*.toml")) == []
