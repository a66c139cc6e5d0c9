from collections import Counter

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec


@pytest.fixture(params=["chance", "majority"])
def blind(request):
    return make(parse_spec(f"baseline:{request.param}"))


def test_a_blind_baseline_says_that_it_does_not_listen(blind):
    assert not blind.listens
    assert blind.device == "cpu"


def test_a_blind_baseline_transcribes_nothing(blind, ask_about):
    assert blind.ask([ask_about("Transcribe the speech.", task="transcription")])[0].text == ""


def test_chance_takes_every_option_equally_often_and_the_same_one_again(ask_about):
    chance = make(parse_spec("baseline:chance"))
    asks = [ask_about("Which?", choices=("a", "b", "c", "d"), key=f"key-{i}") for i in range(2_000)]
    letters = [response.text for response in chance.ask(asks)]
    assert letters == [response.text for ask in asks for response in chance.ask([ask])]
    counts = Counter(letters)
    assert set(counts) == set("ABCD")
    # Four standard deviations of a binomial with n = 2000 and p = 1/4.
    assert all(abs(count - 500) < 78 for count in counts.values())


def test_majority_takes_the_commonest_answer_of_training_and_the_first_among_equals(ask_about):
    majority = make(parse_spec("baseline:majority"))
    asked = [
        ask_about("Which?", choices=("unheard of", "seven")),
        ask_about("Which?", choices=("this", "that")),
        ask_about("Which?", choices=("seven", "yes", "Calm")),
    ]
    assert [response.text for response in majority.ask(asked)] == ["B", "A", "B"]


def test_an_unknown_baseline_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"'parrot'; there are bed, chance, echo, listener, majority, reader, types"):
        make(parse_spec("baseline:parrot"))
    with pytest.raises(UsageError, match=r"'listner'; did you mean 'listener'\?"):
        make(parse_spec("baseline:listner"))
    with pytest.raises(UsageError, match="'baseline' has no option 'seed'; it has note, style"):
        make(parse_spec("baseline:chance,seed=3"))
