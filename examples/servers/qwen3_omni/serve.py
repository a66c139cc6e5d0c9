"""Serves Qwen3-Omni by transformers: text out, audio in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from omni_model import OmniThinker
from template_server import main


class Qwen3Omni(OmniThinker):
    name = "qwen3-omni"
    model = "Qwen/Qwen3-Omni-30B-A3B-Instruct"
    max_batch = 4
    checkpoint_variable = "QWEN3_OMNI_CHECKPOINT"
    processor_class = "Qwen3OmniMoeProcessor"
    thinker_class = "Qwen3OmniMoeThinkerForConditionalGeneration"


if __name__ == "__main__":
    main(Qwen3Omni)
