"""Faithfulness: does the model use the audio, and does its answer follow from its reasoning?

Every eval but ``test_direct`` asks for reasoning first, in the words of the model's family (``,style=qwen``). Data sets
that are not on this machine are skipped; your own questions are asked with ``--ab-data=questions=FOLDER``, a folder
with a manifest.jsonl.

It is a study: 629 evals, run where they are asked for by name (``-m study``, ``-k faithfulness``, ``-k test_mask``).
"""

import pytest

from pytest_audiobench import dataset, manifest, perturb, perturbations, protocol

pytestmark = pytest.mark.study

TASKS = {
    "digits": dataset("bundled", "digits"),
    "sounds": dataset("bundled", "sounds"),
    "animal": dataset("sakura", "animal"),
    "emotion": dataset("sakura", "emotion"),
    "gender": dataset("sakura", "gender"),
    "language": dataset("sakura", "language"),
    "mmau": dataset("mmau", "test-mini"),
    "mmar": dataset("mmar"),
    "questions": manifest("manifest.jsonl", data="questions"),
}
FEW = {"digits": 20, "sounds": 20}
"""Of the bundled clips, which are there to try the way."""

(CLEAN,) = perturbations("named", "clean")
MASKS = [
    *(mask for mode in ("random", "start", "end", "scattered") for mask in perturbations("masks", mode=mode)),
    *perturbations("masks", fill="noise"),
]
CHANGES = [*perturbations("early_answering"), *perturbations("reasoning_changes")]


def tasks(*names):
    """Each task in its own suite, since one sample is asked under many perturbations."""
    named = [pytest.param(name, marks=pytest.mark.audiobench(suite=f"faithfulness_{name}")) for name in names]
    return pytest.mark.parametrize("task", named)


each_task = tasks(*TASKS)


def asked(evaluate, task, perturbation, **how):
    """The task under ``perturbation``, asked with reasoning and compared with the clean clips."""
    reasoned = protocol("reasoned_choice", style=evaluate.style, **how)
    evaluate(perturb(TASKS[task], perturbation), reasoned, samples=FEW.get(task), scorers="style")


@each_task
def test_direct(evaluate, task):
    """The answer alone, without reasoning."""
    direct = protocol("reasoned_choice", style=evaluate.style, reasoning=False)
    evaluate(TASKS[task], direct, samples=FEW.get(task), scorers="style")


@each_task
def test_baseline(evaluate, task):
    """Reasoning, then the answer; every perturbation is compared with these answers."""
    asked(evaluate, task, CLEAN)


@pytest.mark.parametrize("perturbation", MASKS, ids=str)
@each_task
def test_mask(evaluate, task, perturbation):
    """A share of the clip is silence, or noise of its level."""
    asked(evaluate, task, perturbation, against_clean=True)


@pytest.mark.parametrize("perturbation", perturbations("noises"), ids=str)
@each_task
def test_noise(evaluate, task, perturbation):
    """White noise over the whole clip."""
    asked(evaluate, task, perturbation, against_clean=True)


@pytest.mark.parametrize("perturbation", perturbations("renderings"), ids=str)
@tasks("animal", "emotion", "gender", "language")
def test_rendered(evaluate, task, perturbation):
    """Clips masked or in noise as the faithfulness study distributes them: --ab-data=faithfulness=FOLDER."""
    asked(evaluate, task, perturbation, against_clean=True)


@pytest.mark.parametrize("perturbation", perturbations("controls"), ids=str)
@each_task
def test_control(evaluate, task, perturbation):
    """Silence, another sample's clip, the text alone: fails where the audio is not shown to add anything over it.

    Refusals show nothing: where nearly all answers without the audio are refused, a note says so.
    """
    if not evaluate.model.listens:
        pytest.skip(f"{evaluate.model.spec} is played no audio, so there is none to take away")
    if perturbation.name == "text" and evaluate.model.limits.min_clips:
        pytest.skip(f"{evaluate.model.spec} cannot be asked without audio")
    asked(evaluate, task, perturbation, against_clean=True, control=True)
    evaluate.require_audio()


@pytest.mark.parametrize("perturbation", perturbations("injections"), ids=str)
@each_task
def test_injection(evaluate, task, perturbation):
    """Somebody says the correct option, or a wrong one, before the clip or over it.

    Files of --ab-data=injection=FOLDER, the bundled digits where all options are digits, else espeak-ng.
    """
    asked(evaluate, task, perturbation, against_clean=True, injected=True)


@each_task
def test_conditioned(evaluate, task):
    """The model's own reasoning is put back, and a choice forced: does the answer follow from it?"""
    conditioned = protocol("conditioned_choice", style=evaluate.style)
    evaluate(TASKS[task], conditioned, samples=FEW.get(task), scorers="style")


@pytest.mark.parametrize("perturbation", CHANGES, ids=str)
@each_task
def test_reasoning(evaluate, task, perturbation):
    """The reasoning is cut, changed or contradicted before it is put back: does the answer change with it?

    Paraphrases and mistakes are written by another model: ``--ab-judge``.
    """
    conditioned = protocol("conditioned_choice", style=evaluate.style, change=perturbation)
    evaluate(perturb(TASKS[task], perturbation), conditioned, samples=FEW.get(task), scorers="style")
