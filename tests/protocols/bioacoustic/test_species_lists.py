"""Lists of species: what of a text is a name, which true one it is, in which order, and how often it calls."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.bioacoustic.species_lists import species_items
from pytest_audiobench.protocols.bioacoustic.task import bioacoustic_counts, bioacoustic_list

TIT, RAVEN, WREN, ROBIN = "Parus major", "Corvus corax", "Troglodytes troglodytes", "Erithacus rubecula"

LISTS = [
    ("4: Parus major, Corvus corax", [TIT, RAVEN]),
    ("Two species: Parus major and Corvus corax", [TIT, RAVEN]),
    ("I can hear a robin and a song thrush.", ["robin", "song thrush"]),
    ("1. Parus major\n2. Corvus corax", [TIT, RAVEN]),
    ("- Parus major\n- Corvus corax", [TIT, RAVEN]),
    ('["Parus major", "Corvus corax"]', [TIT, RAVEN]),
    ("Parus major, then Corvus corax", [TIT, RAVEN]),
    ("Parus major: 2 calls, 2330-5150 Hz; Corvus corax: 1 call, 650-1320 Hz", [TIT, RAVEN]),
    ("The recording contains Parus major.", [TIT]),
    ("Black-and-white warbler and wren", ["Black-and-white warbler", "wren"]),
    ("Parus major, parus major", [TIT]),
    ("Parus major: 2; Unknown: 1", [TIT]),
    ("None", []),
    ("No species can be heard", []),
]


@pytest.mark.parametrize(("text", "names"), LISTS)
def test_the_names_of_a_list_are_what_stands_between_its_signs(text, names):
    assert [item.name for item in species_items(text)] == names


COUNTS = [
    ("Parus major: 2, Corvus corax: 1", [2.0, 1.0]),
    ("Parus major - 2 calls\nCorvus corax - one call", [2.0, 1.0]),
    ("2 calls of Parus major and one call from Corvus corax", [2.0, 1.0]),
    ('{"Parus major": 2, "Corvus corax": 1}', [2.0, 1.0]),
    ("Parus major x2; Corvus corax (1)", [2.0, 1.0]),
    ("Parus major; Corvus corax: 1", [None, 1.0]),
]


@pytest.mark.parametrize(("text", "calls"), COUNTS)
def test_a_species_has_the_number_behind_it(text, calls):
    items = species_items(text)
    assert [item.name for item in items] == [TIT, RAVEN]
    assert [item.calls for item in items] == calls


def scored(protocol, truth, text, finish="stop"):
    scorer, sample = protocol.scorers[0], Sample("a", (), "", (), truth)
    answer = scorer.parse(sample, {"answer": Response.of(text, finish)})
    return answer.status, scorer.score(sample, answer)


def test_a_list_is_scored_as_a_set_whatever_its_order():
    status, statistics = scored(bioacoustic_list(), f"{TIT}, {RAVEN}", f"{RAVEN} and {TIT}")
    assert (status, statistics) == ("parsed", {"correct": 1.0, "set_f1": 1.0})


def test_a_name_too_many_and_a_name_too_few_cost_their_share():
    _, statistics = scored(bioacoustic_list(), f"{TIT}, {RAVEN}", f"{TIT}, {WREN}, {ROBIN}")
    assert statistics == {"correct": 0.0, "set_f1": pytest.approx(2 / 5)}


@pytest.mark.parametrize(
    "text", ["Parus major (great tit)", "great tit (Parus major)", "the song of Parus major", "parus majors"]
)
def test_a_species_is_known_by_either_of_its_names_and_among_other_words(text):
    assert scored(bioacoustic_list(), TIT, text)[1]["correct"] == 1.0


@pytest.mark.parametrize("text", ["not Parus major", "Parus major or Corvus corax", "Parus", "Parus minor"])
def test_what_is_denied_or_undecided_or_another_name_is_no_hit(text):
    assert scored(bioacoustic_list(), f"{TIT}, {RAVEN}", text)[1]["set_f1"] == 0.0


def test_nothing_is_right_where_nothing_is_there_and_only_if_it_is_said():
    assert scored(bioacoustic_list(), "None", "None")[1] == {"correct": 1.0, "set_f1": 1.0}
    assert scored(bioacoustic_list(), "None", "[]")[1]["correct"] == 1.0
    assert scored(bioacoustic_list(), "None", TIT)[1]["set_f1"] == 0.0
    assert scored(bioacoustic_list(), "None", "") == ("empty", {"correct": 0.0, "set_f1": 0.0})
    assert scored(bioacoustic_list(), "None", "12:30")[0] == "unparsed"


def test_an_order_is_as_good_as_its_longest_part_that_is_right():
    truth = f"{TIT}; {RAVEN}; {WREN}"
    _, statistics = scored(bioacoustic_list(ordered=True), truth, f"{WREN}, {TIT}, {RAVEN}")
    assert statistics["set_f1"] == 1.0
    assert statistics["ordered_f1"] == pytest.approx(2 / 3)


def test_a_list_that_the_limit_of_tokens_cut_is_scored_without_its_last_name():
    status, statistics = scored(bioacoustic_list(), f"{TIT}, {RAVEN}", f"{TIT}, Corvus cor", "length")
    assert (status, statistics["set_f1"]) == ("truncated", pytest.approx(2 / 3))


def test_a_refusal_is_no_list():
    assert scored(bioacoustic_list(), TIT, "I cannot identify the species in this audio.")[0] == "refused"


@given(st.permutations([TIT, RAVEN, WREN, ROBIN]), st.sampled_from([", ", "; ", "\n", " and "]))
def test_the_order_and_the_signs_of_a_list_move_no_set(names, between):
    statistics = scored(bioacoustic_list(ordered=True), ", ".join([TIT, RAVEN, WREN, ROBIN]), between.join(names))[1]
    assert (statistics["correct"], statistics["set_f1"]) == (1.0, 1.0)
    assert 0.25 <= statistics["ordered_f1"] <= 1.0


@given(st.text(max_size=200))
def test_any_text_is_scored_between_0_and_1(text):
    for protocol in (bioacoustic_list(ordered=True), bioacoustic_counts()):
        status, statistics = scored(protocol, f"{TIT}: 2, {RAVEN}: 1", text)
        assert all(0.0 <= statistics[name] <= 1.0 for name in ("correct", "set_f1"))
        assert status in ("parsed", "unparsed", "refused", "empty")


TRUTH = f"{TIT}: 2, {RAVEN}: 1"


def test_a_count_is_right_with_its_species_and_its_number():
    _, statistics = scored(bioacoustic_counts(), TRUTH, f"{RAVEN}: 1; {TIT}: 2")
    assert statistics == {"correct": 1.0, "set_f1": 1.0, "count_f1": 1.0, "off": 0.0, "read": 2.0}


def test_a_wrong_number_a_missing_and_an_invented_species_are_so_far_off():
    _, statistics = scored(bioacoustic_counts(), TRUTH, f"{TIT}: 3, {WREN}: 4")
    assert statistics["count_f1"] == 0.0
    assert statistics["set_f1"] == 0.5
    assert (statistics["off"], statistics["read"]) == (1.0 + 1.0 + 4.0, 3.0)


def test_an_answer_without_counts_is_as_far_off_as_saying_nothing():
    for text in ("", "I cannot hear anything.", TIT):
        assert scored(bioacoustic_counts(), TRUTH, text)[1]["off"] == 3.0


def test_a_number_within_the_tolerance_is_right():
    assert scored(bioacoustic_counts(tolerance="1"), TRUTH, f"{TIT}: 3, {RAVEN}: 2")[1]["count_f1"] == 1.0


def test_a_truth_that_lacks_a_number_is_named():
    with pytest.raises(UsageError, match="has a species without a number"):
        scored(bioacoustic_counts(), f"{TIT}, {RAVEN}: 1", TRUTH)


def test_what_was_read_is_json_that_a_report_can_show():
    scorer, sample = bioacoustic_counts().scorers[0], Sample("a", (), "", (), TRUTH)
    answer = scorer.parse(sample, {"answer": Response.of("Parus major (great tit): 2")})
    assert json.loads(answer.value) == [[TIT, "great tit", 2.0]]
