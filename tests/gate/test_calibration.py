"""Lines from repeated runs: what they promise, by simulation and by published runs."""

import csv
import datetime
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.comparison.calibration_file import BEGIN, Calibration, read, write
from pytest_audiobench.comparison.repeated_runs import figures_in_table
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.calibration import Figures, Terms, calibrated, moved_since
from pytest_audiobench.gate.config import read_rules
from pytest_audiobench.gate.thresholds import parse_threshold
from pytest_audiobench.stats.run_noise import noise_of_samples

MMSU = Path(__file__).with_name("mmsu_runs.csv")


def share_runs(rng, runs, n=200, unstable=0.1, shared=0.0):
    """Outcomes of ``runs`` runs and of one more, of samples of which a share answers by chance."""
    sure = (rng.random(n) < 0.7).astype(float)
    chance = np.where(rng.random(n) < unstable, 0.5, sure)
    drawn = np.clip(chance + rng.normal(0.0, shared, (runs + 1, 1)) * (chance == 0.5), 0.0, 1.0)
    outcomes = (rng.random((runs + 1, n)) < drawn).astype(float)
    return outcomes[:-1], outcomes[-1]


def line_of(outcomes):
    samples = [[{"correct": value} for value in run] for run in outcomes]
    figures = Figures("tones", "accuracy", len(outcomes[0]), outcomes.mean(axis=1), samples, list(map(str, range(200))))
    return calibrated([figures], Terms())[0]


@pytest.mark.parametrize("shared", [0.0, 0.3])
def test_one_more_run_of_the_unchanged_model_alarms_no_more_often_than_promised(shared):
    rng, alarms, repetitions = np.random.default_rng(7), 0, 400
    for _ in range(repetitions):
        outcomes, new = share_runs(rng, 5, shared=shared)
        alarms += new.mean() < parse_threshold(line_of(outcomes).require).limit
    assert alarms / repetitions <= 0.05 + 2 * (0.05 * 0.95 / repetitions) ** 0.5


def test_the_loss_that_is_printed_is_seen_four_times_in_five():
    rng, seen, repetitions = np.random.default_rng(3), 0, 300
    for _ in range(repetitions):
        outcomes, new = share_runs(rng, 5)
        line = line_of(outcomes)
        seen += new.mean() - line.sees < parse_threshold(line.require).limit
    assert 0.7 <= seen / repetitions <= 0.9


def test_runs_that_share_nothing_know_their_noise_by_their_samples():
    rng = np.random.default_rng(1)
    degrees = [noise_of_samples(x.mean(axis=1), x / 200, 1 / 200)[0].degrees for x, _ in [share_runs(rng, 3)] * 5]
    assert min(degrees) > 10


def test_of_runs_that_never_differed_a_few_samples_may_change():
    line = line_of(np.tile((np.arange(200) < 150).astype(float), (5, 1)))
    assert 0.75 - 5 / 200 <= parse_threshold(line.require).limit < 0.75


def test_published_runs_of_main_never_alarm_and_a_point_less_does():
    # github.com/sgl-project/sglang-omni/issues/1797: nine runs of main, 2,000 questions each; its gate was at 70.7 %.
    (line,) = calibrated(figures_in_table(MMSU, "*").figures, Terms())
    limit = parse_threshold(line.require).limit
    with MMSU.open() as file:
        values = [float(row["value"].rstrip("%")) / 100 for row in csv.DictReader(file)]
    assert len(values) == 9
    assert all(value >= limit for value in values)
    assert all(value - 0.01 < limit for value in values)
    assert line.sees < 0.01


def test_more_lines_share_the_false_alarms():
    outcomes, _ = share_runs(np.random.default_rng(5), 5)
    samples = [[{"correct": value} for value in run] for run in outcomes]
    one = Figures("a", "accuracy", 200, outcomes.mean(axis=1), samples, list(map(str, range(200))))
    alone, shared = calibrated([one], Terms()), calibrated([one, one._replace(eval="b")], Terms())
    assert parse_threshold(shared[0].require).limit < parse_threshold(alone[0].require).limit


def test_margins_are_what_runs_share_and_of_figures_alone_there_are_none():
    (line,) = calibrated(figures_in_table(MMSU, "*").figures, Terms(margins=True))
    assert line.require == ""
    assert "of these runs only figures are known" in line.note


def test_two_runs_are_too_few():
    with pytest.raises(UsageError, match="2 runs are too few"):
        calibrated([Figures("a", "accuracy", 10, [0.5, 0.6])], Terms())


def calibration(values):
    terms = Terms()
    lines = calibrated([Figures("mmsu", "accuracy", 2000, values)], terms)
    return Calibration(datetime.date(2026, 9, 1), "main", [str(i) for i in range(len(values))], terms, lines)


BEFORE = [0.705, 0.7055, 0.7065, 0.7065, 0.708]


def test_a_loss_since_the_earlier_calibration_is_told_from_noise():
    before = calibration(BEFORE)
    worse = moved_since(before.by_line, calibration([value - 0.01 for value in BEFORE]).lines, 0.05)
    assert [each.verdict for each in worse] == ["worse"]
    assert worse[0].loss == pytest.approx(0.01)
    better = moved_since(before.by_line, calibration([value + 0.01 for value in BEFORE]).lines, 0.05)
    assert [each.verdict for each in better] == ["better"]
    same = moved_since(before.by_line, calibration(BEFORE[1:]).lines, 0.05)
    assert [each.verdict for each in same] == [""]


def test_the_owners_part_of_a_file_is_kept_and_the_calibrated_one_replaced(tmp_path):
    file = tmp_path / "audiobench.toml"
    own = '# ours\n[[threshold]]\neval = "tones"\nrequire = ["accuracy >= 0.5"]\n'
    file.write_text(own)
    write(file, calibration(BEFORE))
    again = calibration([0.81, 0.82, 0.83])
    write(file, again)
    assert file.read_text().startswith(own)
    assert file.read_text().count(BEGIN) == 1
    assert read(file) == again
    rules = read_rules(file).rules
    assert [(rule.eval, len(rule.require)) for rule in rules] == [("tones", 1), ("mmsu", 1)]


def test_an_edited_calibration_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "audiobench.toml"
    write(file, calibration(BEFORE))
    file.write_text(file.read_text().replace("runs = 5", "runs = 5\nwhy = 1"))
    with pytest.raises(UsageError, match=r"its \[calibration\] was edited or cut"):
        read(file)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("eval,metric,run,value\n", "lacks the column n"),
        ("eval,metric,run,value,n\na,accuracy,1,good,9\n", "line 2: value 'good'"),
        ("eval,metric,run,value,n\na,accuracy,1,0.5,9\na,accuracy,1,0.5,9\n", "has a value of a accuracy already"),
        ("eval,metric,run,value,n\na,accuracy,1,0.5,9\na,accuracy,2,0.5,8\n", "they are of other samples"),
        ("eval,metric,run,value,n\na,acuracy,1,0.5,9\n", "did you mean 'accuracy'"),
    ],
)
def test_a_table_of_figures_that_cannot_be_read_is_refused_with_its_line(tmp_path, text, mistake):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=mistake):
        figures_in_table(file, "*")


def test_figures_of_an_eval_that_is_not_there_are_refused():
    assert figures_in_table(MMSU, "MMS").figures == figures_in_table(MMSU, "*").figures
    with pytest.raises(UsageError, match="matches 'mmsv'; did you mean 'mmsu'"):
        figures_in_table(MMSU, "mmsv")
