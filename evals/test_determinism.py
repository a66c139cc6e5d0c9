"""Does the model repeat itself? The same clips in other batches: its noise floor, under which no difference is one."""

import pytest

from pytest_audiobench import dataset, determinism, multiple_choice


@pytest.mark.parametrize("task", ["digits"])
def test_bundled(evaluate, task):
    """Batches of one to ten, the same clip beside itself, reversed order; an in-process model also in bfloat16."""
    dtypes = ["float32", "bfloat16"] if evaluate.model.spec.startswith("hf:") else []
    determinism(evaluate, dataset("bundled", task), multiple_choice(), dtypes=dtypes)
