"""What a run says of a model's speed."""

import re

import pytest

from pytest_audiobench.evaluation import speed
from pytest_audiobench.evaluation.batches_in_flight import Time
from pytest_audiobench.evaluation.speed import figures, together
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.model import Limits


def _values(taken):
    return {figure.name: figure.value for figure in figures(taken)}


def test_figures_are_drawn_from_sums():
    taken = {"answers": 10.0, "seconds": 2.0, "audio_s": 50.0, "tokens": 40.0, "tokens_seconds": 2.0}
    assert _values(taken) == {"samples_per_s": 5.0, "rtfx": 25.0, "tokens_per_s": 20.0}


def test_what_is_not_known_is_left_out():
    assert figures({}) == []
    assert _values({"answers": 3.0, "seconds": 1.0}) == {"samples_per_s": 3.0}


def test_every_figure_is_a_metric_that_thresholds_may_name():
    everything = dict.fromkeys(
        (
            *("answers", "seconds", "audio_s", "tokens", "tokens_seconds", "first_token_s"),
            *("planned_s", "filled_s", "planned_batches", "full_batches", "model_s", "asking_s", "peak_memory_bytes"),
        ),
        1.0,
    )
    names = [figure.name for figure in figures(everything)]
    assert len(names) == 8
    for name in names:
        assert metric_kind(name).name == name


def test_evals_are_pooled_by_their_sums_and_not_by_their_rates():
    slow, quick = {"answers": 10.0, "seconds": 10.0}, {"answers": 90.0, "seconds": 1.0}
    assert _values(together([slow, quick]))["samples_per_s"] == pytest.approx(100 / 11)


def test_the_largest_peak_of_memory_stands_for_several_evals():
    assert together([{"peak_memory_bytes": 5e6}, {"peak_memory_bytes": 9e6}, {}])["peak_memory_bytes"] == 9e6


def test_padding_is_what_a_batch_adds_to_its_shorter_clips():
    time = Time()
    time.add_batch([1.0, 2.0, 3.0], Limits())
    assert (time.planned_s, time.filled_s) == (6.0, 9.0)


def test_a_front_end_of_fixed_length_fills_every_clip_up_to_it():
    time = Time()
    time.add_batch([3.0, 40.0], Limits(max_clip_s=30.0, pads_to_s=30.0))
    assert (time.planned_s, time.filled_s) == (33.0, 60.0)


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        ({"model_s": 95.0, "decode_wait_s": 3.0, "commit_s": 1.0}, "in the model 95 %, .* only the model would help"),
        ({"model_s": 60.0, "decode_wait_s": 35.0}, r"decoded 35 %, writing answers 0 %; more cores would help"),
        ({"model_s": 40.0, "commit_s": 30.0}, "writing answers 30 %; a faster disk"),
        ({"model_s": 60.0, "loading_s": 12.0}, "^100 s of asking, after 12 s of loading: .*writing answers 0 %$"),
    ],
)
def test_where_the_time_went_is_said_with_what_would_help(seconds, says):
    assert re.search(says, speed.time_text({"asking_s": 100.0, **seconds}))


def test_of_a_few_seconds_nothing_is_said():
    assert speed.time_text({"asking_s": 3.0, "model_s": 1.0}) == ""
    assert speed.time_text({}) == ""
