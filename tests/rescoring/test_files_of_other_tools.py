"""The answers that other tools wrote, through every command that takes answers."""

import csv
import json
import os
import random
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main
from pytest_audiobench.records.reading import read_run
from pytest_audiobench.report.verdict import run_verdict

ROOT = Path(__file__).parents[2]
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "rain", "falls", "on", "towns"]
REFERENCES = {f"u{number:03}": " ".join(random.Random(number).choices(WORDS, k=8)) for number in range(150)}


def said(share, seed):
    """The references with a share of the words wrong."""
    draw = random.Random(seed)
    return {
        id_: " ".join("zz" if draw.random() < share else word for word in text.split())
        for id_, text in REFERENCES.items()
    }


GOOD, WORSE = said(0.05, 1), said(0.3, 3)


def table(path, answers, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["utt_id", "hypothesis", "reference", *more])
        for number, (id_, text) in enumerate(answers.items()):
            rows.writerow([id_, text, REFERENCES[id_], *(values[number % len(values)] for values in more.values())])
    return path


def trn(path, answers):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text} ({id_})\n" for id_, text in answers.items()), encoding="utf-8")
    return path


def unwrapped(text):
    return " ".join(text.split())


def score(capsys, *args):
    code = main(["score", *map(str, args)])
    return code, *capsys.readouterr()


@pytest.fixture
def lab(tmp_path):
    """A suite of one eval, whose audio is there and whose model is nobody's."""
    rows = []
    (tmp_path / "data").mkdir()
    for number, (id_, text) in enumerate(REFERENCES.items()):
        with wave.open(str(tmp_path / "data" / f"{id_}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(number.to_bytes(2, "little") * 80)
        rows.append({"id": id_, "audio": f"{id_}.wav", "answer": text})
    (tmp_path / "data" / "clean.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_speech.py").write_text(
        "from pytest_audiobench import manifest, transcription\n"
        "def test_clean(evaluate):\n"
        "    evaluate(manifest('data/clean.jsonl'), transcription())\n"
    )
    return tmp_path


@pytest.fixture
def run(lab, forks):
    def run(name, *args):
        arguments = ["-q", "-p", "no:cacheprovider", f"--ab-run={name}", *args]
        done = forks.pytest(arguments, lab, {**os.environ, "PYTHONPATH": str(ROOT)})
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_table_is_scored_with_intervals_and_says_which_columns_were_guessed(tmp_path, capsys):
    code, out, _ = score(capsys, table(tmp_path / "whisper" / "clean.csv", GOOD), "--family=transcription")
    assert code == 0
    assert "clean · whisper: wer by" in out
    assert "were guessed by their names: --columns id=utt_id,answer=hypothesis" in out


def test_the_page_of_recorded_answers_is_written(tmp_path, capsys):
    file = table(tmp_path / "whisper" / "clean.csv", GOOD, accent=("us", "in"))
    out = tmp_path / "page"
    args = ("--family=transcription", "--columns=groups=accent", "--scorers=wer-basic", f"--out={out}")
    assert score(capsys, file, *args)[0] == 0
    page = (out / "report.html").read_text()
    assert "<html" in page
    assert "clean" in page
    (item,) = read_run(out / "run.json").items
    assert (item.n, item.groups, item.model) == (150, ["accent"], "whisper")
    assert any(metric.group == {"accent": "us"} for metric in item.metrics)


def test_two_tables_of_one_eval_are_compared_in_pairs(tmp_path, capsys):
    files = [table(tmp_path / f"{name}.csv", answers) for name, answers in (("old", GOOD), ("new", WORSE))]
    assert main(["compare", *map(str, files), "--family=transcription", "--gate"]) == 1
    out = unwrapped(capsys.readouterr().out)
    assert "pp worse" in out
    assert "were guessed by their names" in out
    same = [str(files[0]), str(table(tmp_path / "same.csv", GOOD))]
    assert main(["compare", *same, "--family=transcription", "--gate"]) == 0


def test_files_of_two_kinds_are_compared(tmp_path, capsys):
    trn(tmp_path / "ref.trn", REFERENCES)
    sides = [trn(tmp_path / "old.trn", GOOD), table(tmp_path / "new.csv", WORSE)]
    assert main(["compare", *map(str, sides), "--family=transcription", "--gate", "--scorers=wer-basic"]) == 1
    assert "pp worse" in unwrapped(capsys.readouterr().out)


def test_the_page_of_recorded_answers_plays_the_audio_that_the_user_has(tmp_path, capsys):
    audio = tmp_path / "audio" / "accents"
    audio.mkdir(parents=True)
    for id_ in [*REFERENCES][:40]:
        soundfile.write(audio / f"{id_}.wav", np.sin(np.arange(8_000) / 9), 16_000)
    soundfile.write(tmp_path / "secret.wav", np.sin(np.arange(8_000) / 9), 16_000)
    named = [f"/home/else/where/accents/{id_}.wav" for id_ in REFERENCES]
    answers = table(tmp_path / "named.csv", WORSE, recording=named)
    args = ("--family=transcription", "--scorers=wer-basic", f"--audio={tmp_path / 'audio'}")
    code, out, _ = score(capsys, answers, *args, "--columns=audio=recording", f"--out={tmp_path / 'named'}")
    assert code == 0, out
    page = (tmp_path / "named" / "report.html").read_text()
    # All answers are of 8 words, of which three in ten are wrong.
    assert page.count('class="sound"') == 1, "the same sound is on the page once"
    assert "Of 12 samples the sound is on this page, as it lies where --audio says" in page
    by_id = table(tmp_path / "by_id.csv", WORSE)
    assert score(capsys, by_id, *args[:2], f"--audio={audio}", f"--out={tmp_path / 'by_id'}")[0] == 0
    assert "Of 12 samples the sound" in (tmp_path / "by_id" / "report.html").read_text()
    outside = table(tmp_path / "outside.csv", WORSE, recording=["../secret.wav"])
    code, out, _ = score(capsys, outside, *args, "--columns=audio=recording", f"--out={tmp_path / 'outside'}")
    assert "holds no audio of its answers" in unwrapped(out)
    assert 'class="sound"' not in (tmp_path / "outside" / "report.html").read_text()
    assert score(capsys, by_id, *args)[0] == 4, "there is no page to play it"


def test_what_could_not_be_read_fails_the_gate_of_a_comparison(tmp_path, capsys):
    old, new = table(tmp_path / "old" / "a.csv", GOOD), table(tmp_path / "new" / "a.csv", GOOD)
    (new.parent / "b.jsonl").write_text('{"colour": "red"}\n')
    assert main(["compare", str(old.parent), str(new.parent), "--family=transcription", "--gate"]) == 6
    out = unwrapped(capsys.readouterr().out)
    assert f"{new.parent / 'b.jsonl'} was passed over" in out
    assert "it is in no layout that is known: it has colour" in out


def test_a_replayed_table_gives_the_figures_of_the_table_scored_alone(lab, run, capsys):
    table(lab / "outputs" / "whisper.csv", GOOD)
    code, out = run("first", "--ab-model=replay:outputs/whisper.csv")
    assert code == 0, out
    (item,) = read_run(lab / "reports" / "first" / "run.json").items
    args = ("--family=transcription", f"--scorers={item.scorers[0].name}", f"--out={lab / 'alone'}")
    assert score(capsys, lab / "outputs" / "whisper.csv", *args)[0] == 0
    (alone,) = read_run(lab / "alone" / "run.json").items
    assert [m.value for m in item.metrics[:3]] == [m.value for m in alone.metrics[:3]]
    assert item.scorers[0].signature == alone.scorers[0].signature


def test_a_run_is_gated_on_a_table(lab, run):
    for name, answers in (("old", GOOD), ("worse", WORSE)):
        table(lab / "outputs" / f"{name}.csv", answers)
    code, out = run("same", "--ab-model=replay:outputs/old.csv", "--ab-baseline=outputs/old.csv")
    assert code == 0, out
    code, out = run("worse", "--ab-model=replay:outputs/worse.csv", "--ab-baseline=outputs/old.csv")
    assert code == 1, out
    assert "regressed" in out
    (item,) = read_run(lab / "reports" / "worse" / "run.json").items
    (line,) = item.regressions
    assert (line.status, line.pairs) == ("regressed", 150)
    assert "report.html" in [path.name for path in (lab / "reports" / "worse").iterdir()]


def test_a_run_is_gated_on_transcripts_of_another_kind_than_those_that_it_replays(lab, run):
    trn(lab / "outputs" / "old.trn", GOOD)
    (lab / "outputs" / "text").write_text("".join(f"{id_} {text}\n" for id_, text in WORSE.items()))
    (lab / "outputs" / "text.ref").write_text("".join(f"{id_} {text}\n" for id_, text in REFERENCES.items()))
    code, out = run("kinds", "--ab-model=replay:outputs/text", "--ab-baseline=outputs/old.trn")
    assert code == 1, out
    assert "regressed" in out


def test_a_file_of_several_evals_is_the_baseline_of_those_that_are_called_like_them(lab, run):
    rows = [f"{id_},{text},speech/{kind}" for kind in ("clean", "other") for id_, text in GOOD.items()]
    (lab / "old.csv").write_text("id,hyp,task\n" + "\n".join(rows) + "\n")
    (lab / "answers.toml").write_text('["old.csv".columns]\neval = "task"\n')
    table(lab / "outputs" / "new.csv", GOOD)
    code, out = run("named", "--ab-model=replay:outputs/new.csv", "--ab-baseline=old.csv")
    assert code == 0, out
    (lab / "old.csv").write_text("id,hyp,task\n" + "\n".join(rows).replace("speech/", "noise/") + "\n")
    code, out = run("others", "--ab-model=replay:outputs/new.csv", "--ab-baseline=old.csv")
    assert code == 4
    assert "answers none of the 1 selected evals" in unwrapped(out)


def test_a_table_that_lost_its_ids_gates_nothing(lab, run):
    table(lab / "outputs" / "new.csv", GOOD)
    lost = {**dict(list(GOOD.items())[:60])}
    table(lab / "outputs" / "old.csv", lost)
    code, out = run("lost", "--ab-model=replay:outputs/new.csv", "--ab-baseline=outputs/old.csv")
    assert code != 0
    assert "60.0 % of the samples are in no pair" in out


def test_a_table_whose_columns_have_other_names_is_told_of_in_a_file_beside_it(lab, run, capsys):
    rows = [{"who": id_, "what": text, "true": REFERENCES[id_]} for id_, text in GOOD.items()]
    (lab / "outputs").mkdir()
    (lab / "outputs" / "ours.json").write_text(json.dumps(rows))
    code, out = run("unknown", "--ab-model=replay:outputs/ours.json")
    assert code == 1
    assert "name its columns in answers.toml" in unwrapped(out)
    (lab / "outputs" / "answers.toml").write_text(
        'family = "transcription"\n[columns]\nid = "who"\nanswer = "what"\nreference = "true"\n'
    )
    args = ("--ab-model=replay:outputs/ours.json", "--ab-baseline=outputs/ours.json")
    code, out = run("known", *args)
    assert code == 0, out
    assert score(capsys, lab / "outputs" / "ours.json")[0] == 0
    ours = str(lab / "outputs" / "ours.json")
    assert main(["compare", ours, ours, "--gate"]) == 0


def test_a_table_is_compared_with_a_run_by_the_runs_own_scorers(lab, run, capsys):
    table(lab / "outputs" / "old.csv", GOOD)
    table(lab / "outputs" / "new.csv", WORSE)
    assert run("ours", "--ab-model=replay:outputs/old.csv")[0] == 0
    folder, new = lab / "reports" / "ours", lab / "outputs" / "new.csv"
    assert main(["compare", str(folder), str(new), "--gate"]) == 1
    assert "pp worse" in unwrapped(capsys.readouterr().out)


def test_a_table_whose_ids_are_other_samples_is_compared_with_nothing(lab, run, capsys):
    table(lab / "outputs" / "new.csv", GOOD)
    assert run("ours", "--ab-model=replay:outputs/new.csv")[0] == 0
    folder, moved = lab / "reports" / "ours", lab / "moved.csv"
    ids = list(REFERENCES)
    texts = [f'"{GOOD[id_]}","{REFERENCES[id_]}"' for id_ in ids]
    rows = [f"{id_},{text}" for id_, text in zip(ids, [*texts[1:], texts[0]], strict=True)]
    moved.write_text("id,hyp,reference\n" + "\n".join(rows) + "\n")
    said = "150 of 150 ids of speech/clean have another sample's reference, such as "
    assert main(["compare", str(folder), str(moved), "--gate"]) == 4
    assert said in unwrapped(capsys.readouterr().err)
    code, out = run("permuted", "--ab-model=replay:outputs/new.csv", "--ab-baseline=moved.csv")
    assert code != 0
    assert said in unwrapped(out)
    # Two tables say by themselves what was asked.
    assert main(["compare", str(lab / "outputs" / "new.csv"), str(moved), "--family=transcription", "--gate"]) == 4
    assert "were not asked the same" in unwrapped(capsys.readouterr().err)


def test_recordings_tell_samples_apart_where_references_do_not(lab, run, capsys):
    table(lab / "outputs" / "new.csv", GOOD)
    assert run("ours", "--ab-model=replay:outputs/new.csv")[0] == 0
    clips = {row["id"]: Path(row["audio"]).name for row in map(json.loads, (lab / "data" / "clean.jsonl").open())}
    names = list(clips.values())
    moved = lab / "moved.jsonl"
    with moved.open("w") as file:
        for id_, clip in zip(clips, [*names[1:], names[0]], strict=True):
            row = {"id": id_, "prediction": GOOD[id_], "reference": REFERENCES[id_], "audio": f"/elsewhere/{clip}"}
            file.write(json.dumps(row) + "\n")
    assert main(["compare", str(lab / "reports" / "ours"), str(moved), "--gate"]) == 4
    assert "have another sample's recording" in unwrapped(capsys.readouterr().err)


@pytest.mark.parametrize("name", ["clean.csv", "clean.jsonl", "clean.trn"])
def test_a_text_that_is_not_in_utf8_is_refused_with_its_line_whoever_reads_it(tmp_path, capsys, name):
    file = tmp_path / name
    if name.endswith("csv"):
        text = "id,hypothesis,reference\nu1,a,a\nu2,café,café\n"
    elif name.endswith("jsonl"):
        rows = [{"id": f"u{number}", "prediction": said, "reference": "a"} for number, said in enumerate(["a", "café"])]
        text = "\n" + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        trn(tmp_path / "ref.trn", {"u1": "a", "u2": "b"})
        text = "\na (u1)\ncafé (u2)\n"
    file.write_bytes(text.encode("latin-1"))
    for verb in (["score", str(file)], ["compare", str(file), str(file)]):
        assert main([*verb, "--family=transcription"]) == 4
        said = unwrapped(capsys.readouterr().err)
        assert f"{name}, line 3 is not UTF-8 text (the byte 0xe9): write the file again in UTF-8, as by iconv" in said
    # A text of over a block is read to its end.
    file.write_bytes(("id,hypothesis,reference\n" + "a" * (1 << 20) + "é,b,c\nu2,café,").encode() + b"caf\xe9\n")
    if name.endswith("csv"):
        assert main(["score", str(file), "--family=transcription"]) == 4
        assert "line 3 is not UTF-8 text" in unwrapped(capsys.readouterr().err)


def test_a_file_without_an_answer_is_not_measured(lab, run, tmp_path, capsys):
    file = lab / "outputs" / "new.jsonl"
    file.parent.mkdir()
    nothing = [{"id": id_, "prediction": None, "reference": text} for id_, text in REFERENCES.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in nothing))
    code, out, _ = score(capsys, file, "--family=transcription", "--scorers=wer-basic", "--format=json")
    assert code == 1
    code, out, _ = score(capsys, file, "--family=transcription", "--scorers=wer-basic")
    assert code == 1
    assert "new by outputs was not measured: it holds no answer (no answer is recorded)" in out
    assert main(["compare", str(file), str(file), "--family=transcription", "--gate"]) == 6
    code, out = run("nothing", "--ab-model=replay:outputs/new.jsonl")
    assert code != 0
    assert "incomplete" in out


def test_a_folder_of_many_kinds_is_scored_as_far_as_it_can_be_and_the_rest_is_named(tmp_path, capsys):
    table(tmp_path / "clean.csv", GOOD)
    table(tmp_path / "cut.csv", GOOD).write_text("utt_id,said\nu1,a\n")
    trn(tmp_path / "ref.trn", REFERENCES)
    trn(tmp_path / "whisper.trn", GOOD)
    trn(tmp_path / "cut.trn", dict(list(GOOD.items())[:3]))
    (tmp_path / "asked.json").write_text(json.dumps([{"id": "1", "prediction": "b", "reference": "a"}]))
    (tmp_path / "README.md").write_text("what lies here")
    (tmp_path / "notes.txt").write_text("what was done")
    code, out, _ = score(capsys, tmp_path, "--scorers=wer-basic")
    assert code == 1
    assert f"{tmp_path.name} · whisper: wer by 1 scorer" in out
    assert "cut.csv was passed over" in out
    assert "it has 'utt_id', 'said': name it by --columns answer=…" in out
    assert "cut.trn was passed over" in out
    assert "has no hypothesis of 'u003'" in out
    assert str(tmp_path / "cut.trn") not in out.partition("cut.trn was passed over")[2]
    assert "asked was not scored" in out
    assert "--family" in out
    assert "2 files of no kind that holds answers (README.md, notes.txt)" in out
    assert "ref.trn was" not in out


def test_of_a_folder_of_broken_files_each_has_a_line_with_its_reason(tmp_path, capsys):
    whole = json.dumps([{"id": "1", "prediction": "b", "reference": "a"}], indent=1)
    (tmp_path / "cut.jsonl").write_text(whole[: whole.index("reference")])
    (tmp_path / "stray.json").write_text(whole.replace(",", ";", 1))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other.jsonl").write_text('{"colour": "red"}\n')
    (tmp_path / "list.json").write_text("[1, 2]")
    code, _, err = score(capsys, tmp_path)
    assert code == 4
    lines = dict(line.removeprefix("audiobench: ").split(" was passed over: ") for line in err.splitlines()[:-1])
    assert {Path(file).name: why for file, why in lines.items()} == {
        "cut.jsonl": "it breaks off at line 5: its JSON ends too early",
        "deep.json": "it is nested too deeply to be read",
        "empty.jsonl": "it is empty: there is nothing to score",
        "list.json": "it is JSON but no object",
        "other.jsonl": "it is in no layout that is known: it has colour",
        "stray.json": "it is broken at line 3, column 12: Expecting ',' delimiter",
    }
    assert err.splitlines()[-1].startswith("looked for a run's predictions.jsonl")
    assert err.count("looked for") == 1


def test_of_hundreds_of_broken_files_the_first_are_named_and_the_rest_are_counted(tmp_path, capsys):
    for number in range(300):
        (tmp_path / f"{number:03}.json").write_text(" " * number + "[}" if number < 100 else "[")
    code, _, err = score(capsys, tmp_path)
    assert code == 4
    assert "049.json was passed over" in err
    assert "050.json was passed over" not in err
    assert err.splitlines()[-1] == "250 more files were passed over"


def test_files_that_were_passed_over_for_one_reason_are_one_line(tmp_path, capsys):
    table(tmp_path / "clean.csv", GOOD)
    for number in range(30):
        (tmp_path / f"{number:03}.json").write_text("[")
    _, out, _ = score(capsys, tmp_path, "--family=transcription", "--scorers=wer-basic")
    (line,) = [line for line in out.splitlines() if "passed over" in line]
    assert "000.json was passed over: it breaks off at line 1" in line
    assert line.endswith("; so were 29 more: 001.json, 002.json, 003.json, 004.json, 005.json and 24 more")


def test_evals_that_were_not_scored_for_one_reason_are_one_line(tmp_path, capsys):
    table(tmp_path / "clean.csv", GOOD, task=["one", "two", "three"])
    args = ("--columns=eval=task", "--family=transcription")
    code, _, err = score(capsys, tmp_path / "clean.csv", *args, "--scorers=letters")
    assert code == 4
    (line,) = [line for line in err.splitlines() if "not scored" in line]
    assert line.startswith("audiobench: one was not scored: transcription has no scorer letters; it has wer-basic")
    assert line.endswith("; nor were 2 more: three, two")


def test_the_page_of_a_folder_says_first_that_some_of_its_files_were_not_read(tmp_path, capsys):
    table(tmp_path / "answers" / "clean.csv", GOOD)
    (tmp_path / "answers" / "cut.jsonl").write_text("[")
    args = ("--scorers=wer-basic", "--family=transcription", f"--out={tmp_path / 'out'}")
    assert score(capsys, tmp_path / "answers", *args)[0] == 1
    record = read_run(tmp_path / "out" / "run.json")
    verdict = run_verdict(record)
    assert (verdict.mark, verdict.advice) == ("!", "Not all files could be read: the notes name them.")


def test_files_of_many_kinds_in_folders_of_their_own_are_all_scored_or_named(tmp_path, capsys):
    table(tmp_path / "lab" / "clean.csv", GOOD)
    asked = {"wer": 1, "sample_wer": [{"reference": "a b", "prediction": "a c", "wer": 0.5}]}
    (tmp_path / "audiobench").mkdir()
    (tmp_path / "audiobench" / "clean_wer_score.json").write_text(json.dumps(asked))
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "answers.jsonl").write_text('[\n{"id": "1",')
    row = {"utt_id": "1", "hypothesis": "a", "reference": "a"}
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "tiny.jsonl").write_text(json.dumps(row) + "\n")
    code, out, _ = score(capsys, tmp_path, "--scorers=wer-basic", "--family=transcription")
    assert code == 1
    for name in ("clean · lab", "clean · audiobench", "tiny · lines"):
        assert f"{name}: wer by 1 scorer" in out
    assert "answers.jsonl was passed over: it breaks off at line 2" in out


def test_answers_in_folders_below_others_are_named_as_not_read(tmp_path, capsys):
    table(tmp_path / "clean.csv", GOOD)
    table(tmp_path / "whisper" / "clean.csv", GOOD)
    code, out, _ = score(capsys, tmp_path, "--scorers=wer-basic", "--family=transcription")
    assert code == 0
    assert "not read, since they are in folders of their own: whisper/clean.csv" in out


def test_a_folder_in_which_all_is_scored_ends_well(tmp_path, capsys):
    trn(tmp_path / "ref.trn", REFERENCES)
    for name, answers in (("good", GOOD), ("worse", WORSE)):
        trn(tmp_path / f"{name}.trn", answers)
    code, out, _ = score(capsys, tmp_path, "--scorers=wer-basic")
    assert code == 0
    assert f"{tmp_path.name} · good: wer" in out
    assert f"{tmp_path.name} · worse: wer" in out


def test_references_and_a_reader_are_named_on_the_command_line(tmp_path, capsys):
    references = trn(tmp_path / "true" / "clean.trn", REFERENCES)
    hypotheses = trn(tmp_path / "whisper" / "output.hyp", GOOD)
    code, out, _ = score(capsys, hypotheses, f"--references={references}", "--reader=trn", "--scorers=wer-basic")
    assert code == 0
    assert "true · whisper: wer by 1 scorer" in out
    code, _, err = score(capsys, hypotheses, f"--references={tmp_path / 'gone.trn'}", "--scorers=wer-basic")
    assert code == 4
    assert "there is no file of references" in err
    code, _, err = score(capsys, hypotheses, "--reader=tern")
    assert code == 4
    assert "there is no reader 'tern'; there are" in err


@pytest.mark.parametrize("columns", ["answer", "=pred", "answer="])
def test_columns_that_are_no_pairs_are_refused(tmp_path, capsys, columns):
    code, _, err = score(capsys, table(tmp_path / "clean.csv", GOOD), f"--columns={columns}")
    assert code == 4
    assert "--columns" in err
