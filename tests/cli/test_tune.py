"""``audiobench tune``: batch sizes are tried until one does not fit, and what to write into the spec is printed."""

import re
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.cli import main, tune
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, PlayedAudio, Request, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.spec import parse_spec

CHECKPOINT = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"


class Card:
    """A model that has room for so many seconds, each clip filled up to the longest."""

    limits = Limits()
    peak_memory_bytes = 1_000_000

    def __init__(self, room_s):
        self.room_s, self.oom_splits, self.batches = room_s, 0, []

    def forget_peak_memory(self):
        self.batches.append([])

    def ask(self, batch):
        lengths = [ask.audio[0].duration_s for ask in batch]
        if self.batches:
            self.batches[-1].append(len(batch))
        self.oom_splits += len(batch) * max(lengths) > self.room_s
        return [Response.of("yes")] * len(batch)


def asks(*lengths_s):
    def one(number, length_s):
        request = Request(
            f"{number:064x}", "d", f"{number}", "answer", "open", (Message("user", (AudioSlot(0),)),), (1,)
        )
        samples = np.zeros(round(16_000 * length_s), dtype=np.float32)
        return Ask(request, (PlayedAudio(samples, 16_000, f"{number}", 16_000, len(samples), "test"),))

    return [one(number, length_s) for number, length_s in enumerate(lengths_s)]


def test_sizes_double_until_a_batch_does_not_fit(monkeypatch):
    monkeypatch.setattr(tune, "_WORSE", 0.0)  # the clock of a busy machine decides nothing here
    card = Card(room_s=12.5)
    trials = list(tune._trials(card, asks(*[3.0, 1.0] * 8), rounds=2))
    assert [trial.batch for trial in trials] == [1, 2, 4, 8]
    assert [trial.fits for trial in trials] == [True, True, True, False]
    assert [trial.seconds for trial in trials] == [4, 7, 13, 25]
    assert card.batches[2] == [4] * 8
    assert all(len(trial.rates) == 2 and trial.peak_bytes == 1_000_000 for trial in trials)


def test_no_size_is_larger_than_all_clips(monkeypatch):
    monkeypatch.setattr(tune, "_WORSE", 0.0)
    assert [trial.batch for trial in tune._trials(Card(room_s=1e9), asks(*[1.0] * 5), rounds=1)] == [1, 2, 4, 8]


def test_where_not_even_one_clip_fits_nothing_larger_is_tried():
    card = Card(room_s=1e9)
    card.ask = lambda batch: [Response(error="cuda runs out of memory on this request alone")] * len(batch)
    (trial,) = tune._trials(card, asks(1.0, 1.0), rounds=1)
    assert not trial.fits


def test_a_model_that_does_not_answer_is_no_quick_one():
    card = Card(room_s=1e9)
    card.ask = lambda batch: [Response(error="not this one")] * len(batch)
    with pytest.raises(tune.FatalError, match="1 of 1 questions had no answer: not this one"):
        list(tune._trials(card, asks(1.0, 1.0), rounds=1))


def test_clips_are_asked_over_and_over_and_none_is_remembered():
    repeated = tune._repeated(asks(1.0, 2.0), 5)
    assert [ask.audio[0].duration_s for ask in repeated] == [1.0, 2.0, 1.0, 2.0, 1.0]
    assert {ask.audio[0].pcm_digest for ask in repeated} == {""}


def test_compiled_steps_are_measured_behind_a_first_batch_at_the_size_that_was_found():
    card, done = Card(room_s=1e9), []
    card.load, card.close = lambda: done.append("load"), lambda: done.append("close")
    first_s, trial = tune._compiled(card, asks(*[1.0] * 8), 4, rounds=2)
    assert (first_s >= 0, trial.batch, card.batches, done) == (True, 4, [[4] * 4], ["load", "close"])


@pytest.mark.skipif(not CHECKPOINT.is_dir(), reason="needs the checkpoints in fixtures/checkpoints")
def test_where_steps_cannot_be_compiled_it_says_why_and_leaves_them_as_they_are(capsys, monkeypatch):
    transformers = pytest.importorskip("transformers")
    for name in ("Qwen2AudioForConditionalGeneration", "Qwen2Model"):
        monkeypatch.setattr(getattr(transformers, name), "_can_compile_fullgraph", False)
    assert main(["tune", f"hf:{CHECKPOINT},device=cpu", "--clips", "2", "--tokens", "1", "--compile"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "compiled not to be had: compile=yes does not apply" in said
    assert "compile=yes" not in said.rpartition("model hf:")[2]


def test_what_is_not_asked_in_this_process_is_not_tuned(capsys):
    assert main(["tune", "baseline:listener"]) == 4
    assert "only batches of an hf: model" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tune", "hf:somewhere", "--clips", "0"])


@pytest.mark.skipif(not CHECKPOINT.is_dir(), reason="needs the checkpoints in fixtures/checkpoints")
def test_a_checkpoint_is_tuned_and_its_spec_printed_with_its_other_options(forks_with_torch, tmp_path):
    spec = f"hf:{CHECKPOINT},device=cpu,batch=3,dtype=float32"
    done = forks_with_torch.audiobench(["tune", spec, "--clips", "6", "--tokens", "1"], tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    tried = [int(line.split()[0]) for line in lines if re.match(r" +\d", line)]
    assert tried == [1, 2, 4, 8][: len(tried)]
    assert len(tried) > 1
    written = parse_spec("".join(done.stdout.partition("\nmodel ")[2].split()))
    assert written.target == str(CHECKPOINT)
    assert {name: written.options[name] for name in ("device", "dtype")} == {"device": "cpu", "dtype": "float32"}
    assert int(written.options["batch"]) in tried
    assert int(written.options["batch_s"]) >= int(written.options["batch"])
