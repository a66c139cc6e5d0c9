"""Does the model repeat itself? The same clips in other batches: its noise floor, under which no difference is one."""

import pytest

from pytest_audiobench import dataset, determinism, multiple_choice

CHOICES = {
    "dtypes": ["float32", "bfloat16", "float16"],
    "kernels": ["eager", "sdpa", "flash_attention_2"],
    "paddings": ["left", "right"],
}
ONE_AT_A_TIME = {"at_once": [1]}


@pytest.mark.parametrize("task", ["digits"])
def test_bundled(evaluate, task):
    """Batches of one to ten, the same clip beside itself, reversed order; a checkpoint also in other dtypes, by other
    attention kernels and padded on the wrong side; a server also asked one request at a time.
    """
    kind = evaluate.model.spec.partition(":")[0]
    choices = {"hf": CHOICES, "http": ONE_AT_A_TIME, "openai": ONE_AT_A_TIME}.get(kind, {})
    determinism(evaluate, dataset("bundled", task), multiple_choice(), **choices)


@pytest.mark.study
def test_one_clip(evaluate):
    """One clip in batches of one to ten of itself: what each answers, and the seconds it takes (shown by -s)."""
    determinism(evaluate, dataset("bundled", "digits"), multiple_choice(), clip="digits-0034")
