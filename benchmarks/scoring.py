"""What scoring costs: word errors against their peers, normalising with and without the memory, recorded answers.

Run ``python benchmarks/scoring.py [--utterances N] [--answers N] [--rounds N]``. Everything happens in this process,
on one thread.

- Pooled WER with S, D, I and N of every utterance, over short normalised utterances (5 to 12 words, one in eight of
  them wrong), texts in and the rate with its interval out. Peers: jiwer's process_words called for each utterance and
  for all at once, with its own taking apart, and rapidfuzz's plain distance, which keeps no counts. Aim: 40,000
  utterances a second.
- The scorers of transcripts, whole: both texts normalised for the first time, and known; and all of them in a sweep.
- Recorded multiple-choice answers, read by ``letters`` and estimated; the recorded outputs of the faithfulness study
  repeated, where they are in ``../shared/data/recorded``. Limit: 100,000 in 10 s.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import jiwer
from measure import Spent, here, ratios, yardstick
from rapidfuzz.distance import Levenshtein

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import score_answers
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Scorer
from pytest_audiobench.protocols.transcription.task import transcription

RECORDED = Path(__file__).parents[1].parent / "shared" / "data" / "recorded"
WORDS_PER_S = 40_000
ANSWERS, ANSWERS_S = 100_000, 10.0

Pairs = Sequence[tuple[str, str]]


def utterances(count: int) -> list[tuple[str, str]]:
    """References and answers to them, in normalised words."""
    drawn = random.Random(0)
    words = ["".join(drawn.choices("etaoinshrdlu", k=drawn.randint(2, 8))) for _ in range(5_000)]
    pairs = []
    for _ in range(count):
        reference = drawn.choices(words, k=drawn.randint(5, 12))
        said: list[str] = []
        for word in reference:
            change = drawn.random()
            said += [drawn.choice(words)] if change < 0.08 else [] if change < 0.10 else [word]
            said += [drawn.choice(words)] if change > 0.98 else []
        pairs.append((" ".join(reference), " ".join(said)))
    return pairs


def ours(pairs: Pairs) -> float:
    counts = [token_errors(reference.split(), said.split()) for reference, said in pairs]
    return metric_kind("wer").estimate(counts, None).value


def jiwer_each(pairs: Pairs) -> float:
    found = [jiwer.process_words(reference, said) for reference, said in pairs]
    wrong = sum(one.substitutions + one.deletions + one.insertions for one in found)
    return wrong / sum(one.substitutions + one.deletions + one.hits for one in found)


def jiwer_at_once(pairs: Pairs) -> float:
    return float(jiwer.process_words([pair[0] for pair in pairs], [pair[1] for pair in pairs]).wer)


def distance_only(pairs: Pairs) -> float:
    split = [(reference.split(), said.split()) for reference, said in pairs]
    wrong = sum(Levenshtein.distance(reference, said) for reference, said in split)
    return wrong / sum(len(reference) for reference, _ in split)


def word_errors(pairs: Pairs, rounds: int) -> None:
    peers = (ours, jiwer_each, jiwer_at_once, distance_only)
    assert len({round(peer(pairs), 12) for peer in peers}) == 1, "the peers disagree about the rate"
    found: dict[str, list[Spent]] = {peer.__name__: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            found[peer.__name__].append(here(lambda peer=peer: peer(pairs)))
    rates = {name: row(name, spent, len(pairs), "utterances/s") for name, spent in found.items()}
    print(ratios("pooled WER with S, D, I and N", found["ours"], len(pairs) / WORDS_PER_S))
    for name in ("jiwer_each", "jiwer_at_once", "distance_only"):
        print(f"of {name}: {rates['ours'] / rates[name]:.1f} times")


def transcripts(pairs: Pairs, rounds: int) -> None:
    """Each round has words of its own, so that no text is known at its first time; the second time all are."""
    for name in ("wer-basic", "whisper-en", "audiobench", "qwen2-audio", "nota"):
        scorer = transcription().available[name]
        first, again = [], []
        for number in range(rounds):
            texts = [(f"{name} {number} {reference}", f"{name} {number} {said}") for reference, said in pairs]
            first.append(here(lambda scorer=scorer, texts=texts: score_all(scorer, texts)))
            again.append(here(lambda scorer=scorer, texts=texts: score_all(scorer, texts)))
        row(f"{name}, first time", first, len(pairs), "utterances/s")
        row(f"{name}, known texts", again, len(pairs), "utterances/s")
    ready = [scorer for scorer in transcription().available.values() if not scorer.missing_parts()]
    spent = []
    for number in range(rounds):
        texts = [(f"sweep {number} {reference}", f"sweep {number} {said}") for reference, said in pairs]
        spent.append(here(lambda texts=texts: sweep(ready, texts)))
    row(f"all {len(ready)} scorers", spent, len(pairs), "utterances/s")


def sweep(scorers: Sequence[Scorer], pairs: Pairs) -> None:
    """All scorers of the same answers, 200 at a time as ``audiobench score`` reads them."""
    for start in range(0, len(pairs), 200):
        for scorer in scorers:
            score_all(scorer, pairs[start : start + 200])


def score_all(scorer: Scorer, pairs: Pairs) -> None:
    for reference, said in pairs:
        sample = Sample("a", (), "", reference=reference)
        scorer.score(sample, scorer.parse(sample, {"answer": Response.of(said)}))


def recorded_answers(count: int) -> list[SampleAnswers]:
    """The study's answers over and over, each time as further samples."""
    found = []
    for path in sorted(RECORDED.glob("*/*.jsonl")):
        task = re.search(r"(animal|emotion|gender|language|mmar|mmau)", path.stem)
        if path.parent.name != "manifests" and task:
            found += answers_to(path, RECORDED / "manifests" / f"{task[1]}_manifest.jsonl")
    repeated = itertools.islice(itertools.cycle(found), count)
    return [
        SampleAnswers(taken(number, *one), 0, {"answer": one[1]}, {}, {}, None) for number, one in enumerate(repeated)
    ]


def answers_to(path: Path, manifest: Path) -> list[tuple[Sample, Response]]:
    samples = {}
    for line in manifest.read_text(encoding="utf-8").splitlines():
        row_ = json.loads(line)
        choices = tuple(re.split(r"\s*\([A-J]\)\s*", row_["choices"].strip())[1:])
        reference = choices["ABCDEFGHIJ".index(row_["true_letter"])]
        samples[row_["id"]] = Sample(row_["id"], (), row_["question"], choices, reference)
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        (samples[one["id"]], Response.of(text))
        for one in rows
        if one["id"] in samples
        for text in one.get("raw_model_outputs", ())[:1]
        if isinstance(text, str)
    ]


def taken(number: int, sample: Sample, response: Response) -> SelectedSample:
    again = Sample(f"{sample.id}-{number}", (), sample.question, sample.choices, sample.reference)
    return SelectedSample(again, 0, None, (), None)


def choices(count: int, rounds: int) -> None:
    answered = recorded_answers(count)
    protocol = multiple_choice()
    for name, read in (
        ("letters", protocol.with_scorers("letters")),
        (f"all {len(protocol.available)} scorers", protocol.with_scorers("all")),
    ):
        spent = [here(lambda used=read: score_answers(used, answered, None, (), 1)) for _ in range(rounds)]
        row(f"multiple choice, {name}", spent, count, "answers/s")
        if name == "letters":
            print(ratios(f"{count:,} answers by letters", spent, ANSWERS_S * count / ANSWERS))


def row(name: str, spent: Sequence[Spent], count: int, unit: str) -> float:
    """Prints the median rate with its range in wall time, and the median in CPU time; returns the former."""
    rates = sorted(count / one.wall_s for one in spent)
    cpu = count / statistics.median(one.cpu_s for one in spent)
    middle = statistics.median(rates)
    print(f"{name:34} {middle:10,.0f} {unit} ({rates[0]:,.0f} to {rates[-1]:,.0f}); CPU time {cpu:,.0f}")
    return middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=20_000)
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians (min to max) of {options.rounds} rounds")
    print(f"yardstick: {yardstick().wall_s * 1e3:.0f} ms")
    pairs = utterances(options.utterances)
    parts: list[Callable[[], None]] = [
        lambda: word_errors(pairs, options.rounds),
        lambda: transcripts(pairs[: options.utterances // 10], options.rounds),
    ]
    if RECORDED.is_dir():
        parts.append(lambda: choices(options.answers, max(1, options.rounds // 2)))
    for part in parts:
        part()
    if not RECORDED.is_dir():
        print(f"multiple choice: the recorded answers are not at {RECORDED}")


if __name__ == "__main__":
    main()
