"""How good speech sounds, clean and under white noise, by a model that answers with a number from 1 to 5."""

import pytest

from pytest_audiobench import dataset, perturb, perturbations
from pytest_audiobench.ext import Answer, AudioSlot, Message, Protocol, Scorer, Settings, Stage

STEPS = [*perturbations("named", "clean"), *perturbations("ladder", "white", 20, 10, 0)]


def ask(sample, earlier):
    return (Message("user", (AudioSlot(0), "How good does this sound overall? Answer with a number from 1 to 5.")),)


def parse(sample, earlier):
    text = earlier["answer"].text.strip()
    try:
        number = float(text)
    except ValueError:
        return Answer("unparsed" if text else "empty")
    return Answer("parsed", text) if 1.0 <= number <= 5.0 else Answer("out_of_range")


def score(sample, answer):
    return {"mos": float(answer.value)} if answer.value is not None else {}


def opinion():
    scorer = Scorer("opinion", "opinion:number|v:1|unanswered:left-out", parse, score, ("mos",))
    stage = Stage("answer", ask, task="open", settings=Settings(max_new_tokens=16))
    return Protocol("opinion", (stage,), (scorer,), {"opinion": scorer})


@pytest.mark.parametrize("perturbation", STEPS, ids=str)
def test_quality(evaluate, perturbation):
    evaluate(perturb(dataset("librispeech", "test-clean"), perturbation), opinion())
