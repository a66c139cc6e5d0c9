"""One's own numbers by every protocol, held beside a published figure."""

import pytest

from pytest_audiobench.published_figures import Published
from pytest_audiobench.published_figures.compare import by_other_encoders, comparisons, fitting
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, MetricRecord, ScorerRecord


def item(*values, metric="accuracy", unit="share", half=0.05, encoder=""):
    """An item's record, as far as it is looked at: a scorer for each value."""
    names = [f"p{number}{encoder and f'|encoder:{encoder}'}" for number in range(len(values))]
    return ItemRecord(
        index=0,
        nodeid="",
        eval="emotion[reas]",
        suite="faithfulness",
        model="m",
        dataset="faithfulness/emotion",
        scorers=[ScorerRecord(name, name, CoverageRecord(100, 90, 10, *[0] * 6)) for name in names],
        metrics=[
            MetricRecord(metric, value, value - half, value + half, 100, unit, "higher", "", name, name)
            for name, value in zip(names, values, strict=True)
        ],
    )


def figure(value, **changes):
    usual = {"benchmark": "b", "source": "s", "model": "m", "dataset": "emotion", "metric": "accuracy"}
    return Published(**{**usual, "unit": "percent", "decimals": 2, "value": value, **changes})


def test_the_closest_protocol_is_named_and_whether_the_figure_lies_in_its_interval():
    (one,) = comparisons(item(0.387, 0.457, 0.148), [figure(45.70)])
    assert (one.protocol, one.is_inside, one.beyond) == ("p1", True, 0.0)
    assert one.says == "b/m/emotion/accuracy = 45.70 %: p1 comes closest (+0.00 pp), inside its interval"
    (one,) = comparisons(item(0.387, 0.457, half=0.001), [figure(44.0)])
    assert (one.protocol, one.is_inside, one.beyond) == ("p1", False, 0.0)


def test_a_figure_that_no_protocol_gives_is_beyond_them_all():
    (one,) = comparisons(item(0.387, 0.457), [figure(76.70, disputed="copied")])
    assert one.beyond == pytest.approx(31.0)
    assert "no scorer gives it; it lies 31.00 pp above them all" in one.says
    assert one.says.endswith("disputed: copied")
    (one,) = comparisons(item(0.387, 0.457), [figure(38.0)])
    assert one.beyond == pytest.approx(-0.7)
    assert "within that value's interval" in one.says


@pytest.mark.parametrize(
    ("value", "decimals", "beyond"), [(45.7, 1, 0.0), (46.0, 0, 0.0), (45.71, 2, 0.0), (45.8, 1, 0.1)]
)
def test_a_figure_that_rounding_explains_is_not_beyond(value, decimals, beyond):
    (one,) = comparisons(item(0.45706, 0.387), [figure(value, decimals=decimals)])
    assert one.beyond == pytest.approx(beyond, abs=0.01)


def test_fractions_and_percentages_and_other_units_are_told_apart():
    (one,) = comparisons(item(0.69, 0.63), [figure(0.69, unit="fraction")])
    assert (one.shown, one.protocol, one.beyond) == (69.0, "p0", 0.0)
    (one,) = comparisons(item(24.5, 6.7, metric="bleu", unit="BLEU"), [figure(22.7, unit="BLEU", metric="bleu4")])
    assert (one.shown, one.protocol) == (22.7, "p0")
    (one,) = comparisons(
        item(0.25, metric="wer", unit="errors per word"), [figure(0.25, unit="fraction", metric="wer")]
    )
    assert (one.shown, one.distance) == (25.0, 0.0)


def test_a_figure_in_percent_of_a_metric_that_is_read_as_a_number():
    (one,) = comparisons(item(0.233, metric="spider", unit="SPIDEr"), [figure(23.3, metric="spider", decimals=1)])
    assert (one.shown, one.beyond) == (pytest.approx(0.233), 0.0)
    (one,) = comparisons(
        item(82.6, metric="diversity", unit="words"), [figure(82.57, unit="number", metric="diversity")]
    )
    assert one.shown == 82.57
    (one,) = comparisons(item(0.2208, metric="osr_wer", unit="errors per word"), [figure(22.08, metric="wer")])
    assert (one.metric, round(one.shown, 9)) == ("osr_wer", 22.08)


def test_a_figure_of_another_metric_is_not_compared():
    assert comparisons(item(0.5), [figure(10.0, metric="wer")]) == []
    assert comparisons(item(), [figure(10.0)]) == []


def test_figures_belong_to_the_eval_whose_name_has_their_data_sets_words():
    assert fitting(item(0.5), [figure(1.0), figure(2.0, dataset="animal")]) == [figure(1.0)]


@pytest.mark.parametrize(
    ("there", "here"), [("f1", "scene_f1"), ("recall", "scene_recall"), ("wer", "matched_wer"), ("reward", "reward")]
)
def test_columns_of_described_scenes_are_compared_with_what_they_are_called_here(there, here):
    (comparison,) = comparisons(item(0.3, metric=here), [figure(0.25, unit="fraction", metric=there, decimals=3)])
    assert (comparison.metric, round(comparison.distance, 9)) == (here, 5.0)
    (comparison,) = comparisons(
        item(5.75, metric="events_guessed", unit="events"), [figure(5.2, unit="number", metric="predicted")]
    )
    assert (comparison.metric, comparison.shown, round(comparison.distance, 9)) == ("events_guessed", 5.2, 0.55)


def test_a_figure_by_another_encoder_is_not_compared_and_both_encoders_are_named():
    by_gemma = figure(0.25, unit="fraction", metric="reward", encoder="google/embeddinggemma-300m")
    static = item(0.25, metric="reward", encoder="wordllama-0.4(weights:1)")
    assert comparisons(static, [by_gemma]) == []
    assert by_other_encoders(static, [by_gemma]) == (
        "1 published figure by the encoder google/embeddinggemma-300m, here wordllama-0.4(weights:1): figures by "
        "different encoders are never compared"
    )
    same = item(0.25, metric="reward", encoder="embeddinggemma-300m(files:2,prompt:STS)")
    assert [comparison.distance for comparison in comparisons(same, [by_gemma])] == [0.0]
    assert by_other_encoders(same, [by_gemma]) == ""
    assert by_other_encoders(static, [figure(25.0, metric="accuracy")]) == ""
    assert by_other_encoders(item(0.25), [by_gemma]) == ""
