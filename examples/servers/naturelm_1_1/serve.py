"""Serves NatureLM-audio 1.1 by its authors' package naturelm, which is not public."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoint_files import digest_of, local_folder
from template_server import PLACEHOLDER, Model, main

WINDOW_S = 10  # where neither the question nor --max-audio-s says another


class NatureLM(Model):
    """Takes one clip a question, filled up with silence to the window."""

    name = "naturelm-audio-1.1"
    model = "EarthSpeciesProject/naturelm-audio-1.1"
    revision = "not loaded yet"
    rate_hz = 16_000
    checkpoint_variable = "NATURELM_GCS_CHECKPOINT_URI"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--device", default="cuda:0")
        parser.add_argument("--beams", type=int, default=1)

    def load(self):
        import torch
        from naturelm import GenerationConfig, NatureLM

        folder = local_folder(self.options.checkpoint)
        config = next(folder / name for name in ("config.json", "model.json") if (folder / name).is_file())
        parts = next(path for path in (folder / "checkpoint", folder / "model", folder) if path.is_dir())
        self.network = NatureLM.from_checkpoint_dir(checkpoint_dir=parts, config=config)
        self.network = self.network.to(torch.device(self.options.device)).eval()
        self.generation_config = GenerationConfig
        self.revision = digest_of(folder)

    def answer(self, questions):
        return [self.answer_one(question) for question in questions]

    def answer_one(self, question):
        import torch

        if len(question["audio"]) != 1:
            return ValueError(f"NatureLM-audio 1.1 answers about one clip, and there are {len(question['audio'])}")
        ((samples, _),) = question["audio"]
        config = question["generation_config"]
        window_s = config.get("max_length_seconds") or self.options.max_audio_s or WINDOW_S
        audio = torch.zeros(1, round(float(window_s) * self.rate_hz))
        samples = torch.as_tensor(samples[: audio.shape[1]], dtype=torch.float32)
        audio[0, : len(samples)] = samples
        audio = audio.to(self.options.device)
        messages = [dict(message) for message in question["messages"]]
        if not any(PLACEHOLDER in message["content"] for message in messages):
            messages[-1]["content"] = f"{PLACEHOLDER} {messages[-1]['content']}"
        temperature = float(config.get("temperature") or 0)
        settings = self.generation_config(
            max_new_tokens=int(config.get("max_tokens") or 128),
            num_beams=self.options.beams,
            do_sample=temperature > 0,
            temperature=temperature or 1.0,
            min_length=1,
            repetition_penalty=1.0,
            length_penalty=1.0,
        )
        try:
            with torch.inference_mode():
                (answer,) = self.network.generate(
                    audio=audio,
                    padding_mask=torch.zeros_like(audio, dtype=torch.bool),
                    messages=[messages],
                    generation_config=settings,
                )
        except Exception as error:
            return error
        return answer.strip(), None, None


if __name__ == "__main__":
    main(NatureLM)
