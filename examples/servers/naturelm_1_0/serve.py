"""Serves NatureLM-audio 1.0 by its authors' package NatureLM."""

import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoint_files import digest_of, local_folder
from template_server import PLACEHOLDER, Model, main

WINDOW_S = 10
TEMPLATE = "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"


class NatureLM(Model):
    """One question at a time: in a batch the package pads prompts on the right, so that neighbours change answers."""

    name = "naturelm-audio-1.0"
    model = "EarthSpeciesProject/NatureLM-audio"
    revision = "not loaded yet"
    rate_hz = 16_000
    checkpoint_variable = "NATURELM_CHECKPOINT"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--checkpoint-revision", help="branch, tag or commit of a checkpoint on the hub")
        parser.add_argument("--llama", help="folder of the Llama beneath, instead of the one the checkpoint names")
        parser.add_argument("--device", help='"cuda:1" or "cpu"')
        parser.add_argument("--beams", type=int, default=2, help="2 is what the authors' inference.yml says")
        parser.add_argument("--merging-alpha", type=float, default=1.0, help="share of the fine-tuned Llama")

    def load(self):
        import resampy  # noqa: F401  (what the package needs and finds out late)
        import torch
        from NatureLM.models import NatureLM

        where, options = str(local_folder(self.options.checkpoint)), self.options
        self.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        chosen = {"llama_path": options.llama} if options.llama else {}
        # The package's cache takes clips for the same that are equal in a thousand samples of all.
        chosen["audio_encoding_cache_size"] = 0
        network = NatureLM.from_pretrained(
            where, revision=options.checkpoint_revision, device=self.device.partition(":")[0], **chosen
        )
        self.network = network.to(self.device).eval()
        tokenizer = network.llama_tokenizer
        tokenizer.pad_token_id = network.llama_model.generation_config.pad_token_id = tokenizer.eos_token_id
        is_folder = Path(where).is_dir()
        self.revision = digest_of(Path(where)) if is_folder else options.checkpoint_revision or "default branch"

    def answer(self, questions):
        return [self.answer_one(question) for question in questions]

    def answer_one(self, question):
        import torch

        if not question["audio"]:
            return ValueError("NatureLM-audio answers about a clip, and there is none")
        text = "\n\n".join(message["content"] for message in question["messages"])
        if PLACEHOLDER not in text:
            text = f"{PLACEHOLDER} " * len(question["audio"]) + text
        clips = torch.zeros(len(question["audio"]), WINDOW_S * self.rate_hz)
        for row, (samples, _) in zip(clips, question["audio"], strict=True):
            samples = torch.as_tensor(samples[: clips.shape[1]], dtype=torch.float32).clamp(-1, 1)
            row[: len(samples)] = samples
        clips = clips.to(self.device)
        inputs = {"raw_wav": clips, "padding_mask": torch.zeros_like(clips).bool(), "audio_chunk_sizes": len(clips)}
        config = question["generation_config"]
        temperature = float(config.get("temperature") or 0)
        settings = SimpleNamespace(
            max_new_tokens=int(config.get("max_tokens") or 300),
            num_beams=1 if temperature > 0 else self.options.beams,
            do_sample=temperature > 0,
            temperature=temperature or 1.0,
            min_length=1,
            repetition_penalty=1.0,
            length_penalty=1.0,
            merging_alpha=self.options.merging_alpha,
        )
        try:
            (answer,) = self.network.generate(inputs, settings, [TEMPLATE.format(text.strip())])
        except Exception as error:
            return error
        return answer.strip(), None, None


if __name__ == "__main__":
    main(NatureLM)
