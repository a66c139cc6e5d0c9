"""What scoring recorded answers again costs: 100,000 multiple-choice answers, read, scored and reported.

The promise: under 10 seconds with the default protocol, in memory that does not grow with the texts.

    python benchmarks/rescoring.py [--answers N] [--protocols letters] [--report] [--recorded | --words 0]

Answers are made: "(B) hen", or with --words a text of about so many words that ends in its answer. With --recorded they
are those of real models (recorded_mix.py), and nothing is measured where they are not on this machine. --report also
writes all files of a run and its page.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
from pathlib import Path

import recorded_mix
from measure import Spent, process, ratios, table_row, yardstick

from pytest_audiobench.records.lines import AudioRow, OutputRow, PredictionRow
from pytest_audiobench.report.json_lines import encode_line

LIMIT_S = 10.0
_NAMES = ("cat", "dog", "cow", "hen", "crow", "sheep", "frog", "duck")
_WORDS = tuple(
    word
    for line in (
        "the recording holds a short call that repeats while something rustles softly in background noise near water",
        "its pitch rises quickly then falls again with harmonics between two and five kilohertz lasting half second",
        "such sounds are typical for birds living around farms although other species produce similar ones at night",
        "no speech can be heard apart from distant voices and an engine whose hum stays constant until it fades away",
    )
    for word in line.split()
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--scorers", default="letters")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows = recorded_mix.recorded() if args.recorded else []
    if args.recorded and not rows:
        print(f"skipped: {recorded_mix.RECORDED} is not on this machine")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"
        size = recorded_mix.write(file, rows, args.answers) if rows else _write(file, args.answers, args.words)
        print(f"{args.answers} answers, {size / 1e6:.1f} MB, protocols {args.scorers}, load {os.getloadavg()[0]:.1f}")
        found: list[Spent] = []
        yard: list[Spent] = []
        for number in range(args.rounds):
            out = [f"--out={folder}/out{number}"] if args.report else []
            command = [sys.executable, "-m", "pytest_audiobench.cli", "score", str(file), "--family=multiple_choice"]
            yard.append(yardstick())
            found.append(process([*command, f"--scorers={args.scorers}", *out], Path.cwd(), Path(folder) / "cache"))
    print(table_row("yardstick", yard, 1.0, "s"))
    print(table_row("score", found, 1.0, "s"))
    print(ratios("score", found, LIMIT_S * args.answers / 100_000))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


def _write(file: Path, answers: int, words: int) -> int:
    """``answers`` rows in the layout of a run's predictions; returns their size in bytes."""
    draw = random.Random(7)
    with file.open("wb") as lines:
        for number in range(answers):
            choices = draw.sample(_NAMES, 4)
            at = draw.randrange(4)
            said = f"({'ABCD'[at]}) {choices[at]}"
            if words:
                said = f"{' '.join(draw.choices(_WORDS, k=words)).capitalize()}. Therefore the answer is {said}."
            row = PredictionRow(
                eval="animals",
                model="made",
                dataset="made",
                sample_id=f"{number:06d}",
                epoch=0,
                stage="answer",
                key=None,
                prompt=None,
                question="Which animal is heard in the recording?",
                choices=choices,
                reference=draw.choice(choices),
                references=(),
                metadata={"recording": f"{number // 2}.wav"},
                outputs=[OutputRow(said, "stop")],
                usage={},
                error=None,
                audio=[AudioRow(f"made:{number}.wav", None, 1.0, 0.0)],
            )
            lines.write(encode_line(row))
    return file.stat().st_size


if __name__ == "__main__":
    main()
