"""Serves Qwen2.5-Omni by transformers: text out, audio in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from omni_model import OmniThinker
from template_server import main


class Qwen25Omni(OmniThinker):
    name = "qwen2.5-omni"
    model = "Qwen/Qwen2.5-Omni-7B"
    max_batch = 4
    checkpoint_variable = "QWEN2_5_OMNI_CHECKPOINT"
    processor_class = "Qwen2_5OmniProcessor"
    thinker_class = "Qwen2_5OmniThinkerForConditionalGeneration"


if __name__ == "__main__":
    main(Qwen25Omni)
