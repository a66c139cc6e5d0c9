"""A checkpoint of Qwen2-Audio-7B's shape with random weights, asked like the published one."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

SHAPE = "qwen2-audio-7b"
EVAL = """
from pytest_audiobench import multiple_choice
from pytest_audiobench.datasets.bundled import bundled

def test_digits(evaluate):
    evaluate(bundled("digits"), multiple_choice(max_new_tokens=8), samples=16)
"""


@pytest.fixture(scope="module")
def checkpoint(shapes, device):
    """Made again and removed at once: pytest keeps the temporary folders of three runs, and this is 17 GB."""
    import torch

    weights = shapes.size_bytes(SHAPE, "bfloat16")
    free, _ = torch.cuda.mem_get_info()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    disk = shutil.disk_usage(tempfile.gettempdir()).free
    for name, room in (("the card", free), ("this machine", memory), (tempfile.gettempdir(), disk)):
        if room < 1.3 * weights:
            pytest.skip(f"{room / 1e9:.0f} GB on {name}: {1.3 * weights / 1e9:.0f} are needed")
    with tempfile.TemporaryDirectory() as folder:
        shapes.build(Path(folder), *shapes.ARCHITECTURES[SHAPE], device, "bfloat16")
        yield Path(folder)


def test_a_checkpoint_of_seven_billion_weights_is_asked_and_remembered(suite, checkpoint, shapes, device):
    suite.write(test_digits=EVAL)
    suite.run(model=f"one=hf:{checkpoint}", device=device).assert_outcomes(passed=1)
    first, folder = suite.last()
    (model,), (item,) = first["models"], first["items"]
    assert (model["device"], model["fingerprint"]["dtype"]) == (device, "bfloat16")
    assert item["errors"] == []
    assert item["asking"]["asked"] == item["n"] >= 16
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert {row["usage"]["completion_tokens"] for row in rows} == {8}
    speed = {figure["name"]: figure["value"] for figure in model["speed"]}
    assert speed["peak_memory_mb"] * 1e6 > shapes.size_bytes(SHAPE, "bfloat16")

    suite.run(model=f"one=hf:{checkpoint}", device=device).assert_outcomes(passed=1)
    again, _ = suite.last()
    assert (again["items"][0]["asking"]["asked"], again["items"][0]["asking"]["known"]) == (0, item["n"])
    assert again["hashes"] == first["hashes"]
