"""Serves Audio Flamingo 3 or Audio Flamingo Next."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from template_server import main
from transformers_model import TransformersModel


class AudioFlamingo(TransformersModel):
    """Its processor cuts a clip into windows, pads them itself, and takes one clip a question."""

    name = "audio-flamingo"
    model = "nvidia/audio-flamingo-3-hf or nvidia/audio-flamingo-next-hf"
    max_batch = 4
    checkpoint_variable = "AF3_CHECKPOINT"
    model_classes = ("AutoModelForSeq2SeqLM", "AutoModelForMultimodalLM")

    def inputs(self, texts, clips):
        if len(clips) not in (0, len(texts)):
            raise ValueError("Audio Flamingo's processor takes one clip a question")
        return self.processor(text=texts, **({"audio": clips, "sampling_rate": self.rate_hz} if clips else {}))


if __name__ == "__main__":
    main(AudioFlamingo)
