"""No subject and no extractor is ever told what is true, by any prompt that is shipped."""

import importlib
import json
from types import SimpleNamespace

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.judging import with_judges
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.models.messages import Message, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.catalogue import FAMILIES, family, module_of
from pytest_audiobench.protocols.judged.task import judged, shipped
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.prompt_variants import with_prompt_variants
from pytest_audiobench.protocols.protocol import HEARING, Judging, Stage

SECRET = "XYZZY"
READINGS = [judging.scorers[0].name for judging in shipped()]
CHANGES = ("early", "filler", "truncated", "shuffled", "paraphrased", "mistaken", "inject")
VOUCHED = {"kept": "0.5", "injected": "B", "duration": 20.0}
"""What the fields that a stage vouches for hold; any other holds a language."""
OPTIONS = [
    ("bioacoustic", {"task": "classification", "labels": ["a dog", "a cat"], "prompt": "{question} {labels}"}),
    ("bioacoustic", {"task": "detection", "labels": ["a dog", "a cat"]}),
    ("bioacoustic", {"task": "captioning"}),
    ("bioacoustic_captioning", {"labels": ["a dog", "a cat"]}),
    *(("conditioned_choice", {"change": change, "style": "af3"}) for change in CHANGES),
    ("conditioned_choice", {"style": "qwen"}),
    *(("reasoned_choice", {"style": style, "against_clean": True, "injected": True}) for style in ("plain", "qwen")),
    ("reasoned_choice", {"reasoning": False, "control": True}),
    ("transcription", {"language": "ja"}),
    ("translation", {"target": "zh"}),
]


def named_prompts():
    """Each family with each prompt that it has a name for."""
    for name in FAMILIES:
        module = importlib.import_module(module_of(name))
        yield from ((name, {"prompt": prompt}) for prompt in getattr(module, "PROMPTS", ()))


PROTOCOLS = {
    **{name: family(name) for name in FAMILIES},
    **{f"{name} {options}": family(name, **options) for name, options in (*OPTIONS, *named_prompts())},
    **{f"{name} as a system": family(name, system="Be brief.") for name in FAMILIES if name != "judged"},
    **{f"{name} judged": judged(family(name), *READINGS) for name in FAMILIES if name != "judged"},
    "presence in three wordings": with_prompt_variants(family("presence"), "yesno", 3),
    "every judge": judged(multiple_choice(), *READINGS),
    "every judge of free answers": judged(None, *READINGS),
}


def handle(alias="j", **model):
    limits = Limits()
    made = {"spec": f"stub:{alias}", "limits": limits, "listens": True, "batching": "opaque", "device": "cpu", **model}
    return ModelHandle(alias, SimpleNamespace(fingerprint=lambda: {"stub": alias}, **made))


def secretive(stage):
    """A sample all of whose truths, and all metadata that the stage does not vouch for, hold the secret."""
    hidden = ("answer", "label", "reference", "transcript", "true_letter", "speaker", "faithfulness_letter", *VOUCHED)
    return Sample(
        f"{SECRET} id",
        (Clip(ArraySource.of([0.0] * 160, 16_000)),),
        "What is heard?",
        ("a dog", "a cat", "a horse"),
        f"{SECRET} reference",
        {
            **{name: f"{SECRET} {name}" for name in hidden},
            **{name: VOUCHED.get(name, "English") for name in stage.fields},
        },
        (f"{SECRET} reference", f"{SECRET} other"),
    )


def said_before(stage, stages):
    """What a stage may know of the others: what the subject said, and a rewriter."""
    told = [one for one in stages if one.role in ("subject", "rewriter") and one is not stage]
    return {one.name: Response.of("I hear barking. It is a dog.") for one in told}


def sent(stage, stages):
    """All of a request for that stage that could reach a model, as text."""
    sample = secretive(stage)
    earlier = said_before(stage, stages)
    request = Requester(handle(), stage, "data", 0).request(SelectedSample(sample, 0, ("key",), (1.0,), None), earlier)
    return json.dumps([request.messages, request.choices, request.stage, request.task])


def stages_of(protocol):
    stages = with_judges(protocol, {alias: handle(alias) for alias in ("one", "two", *HEARING)}).protocol.stages
    return [(stage, stages) for stage in stages]


STAGES = [(name, stage, stages) for name, protocol in PROTOCOLS.items() for stage, stages in stages_of(protocol)]


@pytest.mark.parametrize(("stage", "stages"), [one[1:] for one in STAGES], ids=[f"{n}-{s.name}" for n, s, _ in STAGES])
def test_only_a_judge_is_told_what_is_true(stage, stages):
    assert (SECRET in sent(stage, stages)) == (stage.role == "judge")


def test_every_judging_that_is_shipped_was_tried():
    tried = {stage.name.partition("@")[0]: stage.role for _, stage, _ in STAGES if stage.judge}
    hearing = [judging for judging in family("spoken_answer").judgings if not judging.name.startswith("quality-")]
    assert tried == {judging.name: judging.role for judging in (*shipped(), *hearing)}
    assert sorted(tried.values()) == [*["extractor"] * 7, *["judge"] * 15]


def test_a_judge_is_played_nothing_but_a_spoken_answer():
    for _, stage, stages in STAGES:
        taken = SelectedSample(secretive(stage), 0, ("key",), (1.0,), None)
        request = Requester(handle(), stage, "data", 0).request(taken, said_before(stage, stages))
        assert bool(request.clips) == (stage.role == "subject" or stage.hears == "answer")


@pytest.mark.parametrize("role", ["subject", "extractor"])
def test_a_prompt_that_would_tell_the_answer_cannot(role):
    def greedy(sample, earlier):
        return (Message("user", (f"Is it {sample.reference} {sample.truths} {sample.references}?",)),)

    stage = Stage("answer", greedy, role=role)
    assert SECRET not in sent(stage, [stage])


@pytest.mark.parametrize("way", [lambda metadata: metadata["label"], lambda metadata: metadata.get("label", "")])
def test_metadata_reaches_a_prompt_only_when_the_stage_names_the_field(way):
    def render(sample, earlier):
        return (Message("user", (f"It is {way(sample.metadata)}.",)),)

    stage = Stage("answer", render)
    with pytest.raises(UsageError, match=r"metadata 'label', which might contain the answer: .*fields=\('label',\)"):
        sent(stage, [stage])
    told = stage.__class__("answer", render, fields=("label",))
    assert "It is English." in sent(told, [told])


def test_a_judging_of_ones_own_is_told_what_its_role_may_know():
    def prompt(sample, answer):
        return (Message("user", (f"{sample.reference}: {answer}",)),)

    for role in ("judge", "extractor"):
        scorers = tuple(
            scorer.__class__(**{**vars(scorer), "name": "own", "judge": "own", "companions": ()})
            for scorer in shipped()[0].scorers[1:2]
        )
        protocol = judged(None, own=(Judging("own", prompt, scorers, shipped()[0].settings, role),))
        (stage,) = (stage for stage, _ in stages_of(protocol) if stage.judge == "one")
        assert (SECRET in sent(stage, protocol.stages)) == (role == "judge")


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "judged"])
def test_the_answers_to_every_familys_questions_can_be_judged(name):
    names = [scorer.name for scorer in judged(family(name)).scorers]
    assert names[-2:] == ["yes-no", "yes-no-kept"]
    assert names[0] == family(name).scorers[0].name
