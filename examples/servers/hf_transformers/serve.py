"""Serves any chat checkpoint of transformers whose processor takes text and audio, such as Qwen2-Audio."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from template_server import main
from transformers_model import TransformersModel

if __name__ == "__main__":
    main(TransformersModel)
