"""The dtype of a card, bfloat16, against the float32 of a CPU."""

import pytest

from pytest_audiobench.models.hf.model import HfModel

pytestmark = pytest.mark.gpu

FAMILIES = ("audioflamingo3", "qwen25_omni", "qwen3_omni", "voxtral", "whisper", "ctc")


def answers(folder, asks, **options):
    model = HfModel(str(folder), options)
    try:
        return model.ask(asks)
    finally:
        model.close()


def compared(folder, asks, device, record_property):
    """Answers in both dtypes; the share of equal ones goes into the JUnit report and to ``-s``."""
    full, half = (answers(folder, asks, device=device, dtype=dtype) for dtype in ("float32", "bfloat16"))
    share = sum(one.text == other.text for one, other in zip(full, half, strict=True)) / len(asks)
    record_property("equal_answers", share)
    print(f"{folder.name}: {share:.3f} of {len(asks)} answers are equal in float32 and bfloat16")
    return full, half


@pytest.mark.parametrize("name", ["poor", "middling", "good", "good-seed2"])
def test_a_trained_checkpoint_reads_the_same_prompts_in_either_dtype(
    checkpoints, recordings, ask_about, device, name, record_property
):
    question = (
        "Which digit is spoken?\n(A) one\n(B) two\n(C) three\n(D) four\nAnswer with the letter of the correct option."
    )
    asks = [ask_about(question, clip, max_new_tokens=8) for clip in recordings(window_s=3.0)]
    full, half = compared(checkpoints / name, asks, device, record_property)
    assert [response.error for response in (*full, *half)] == [None] * 2 * len(asks)
    prompts = [[response.usage["prompt_tokens"] for response in responses] for responses in (full, half)]
    assert prompts[0] == prompts[1]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_answers_in_either_dtype(built, recordings, ask_about, device, name, record_property):
    folder = built(name)
    window_s = HfModel(str(folder), {"device": device}).limits.max_clip_s
    asks = [
        ask_about("Transcribe the speech.", clip, task="transcription", max_new_tokens=8)
        for clip in recordings(window_s=window_s)
    ]
    full, half = compared(folder, asks, device, record_property)
    assert [response.error for response in (*full, *half)] == [None] * 2 * len(asks)


def test_answers_in_bfloat16_are_repeated_exactly(checkpoints, recordings, ask_about, device):
    asks = [ask_about("Which digit is spoken?", clip, max_new_tokens=8) for clip in recordings(window_s=3.0)]
    first, again = (answers(checkpoints / "good", asks, device=device, dtype="bfloat16") for _ in range(2))
    assert [response.text for response in first] == [response.text for response in again]
