"""Serves SALMONN by its authors' code, the branch `salmonn` of their repository on PYTHONPATH."""

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoint_files import digest_of
from template_server import PLACEHOLDER, Model, main

LONGEST_S, SHORTEST_S = 30, 1
RANK = 8
ENCODERS = {"whisper": "ln_speech", "beats": "ln_audio"}
NAMES = {4096: "tsinghua-ee/SALMONN-7B", 5120: "tsinghua-ee/SALMONN"}
SOUND = "<Speech><SpeechHere></Speech> "
TEMPLATE = "USER: {}\nASSISTANT:"


def encoders_in(text):
    """The encoders named in ``whisper+beats``; none in an empty text or "none"."""
    names = {name for name in str(text).split("+") if name not in ("", "none")}
    if unknown := names - ENCODERS.keys():
        raise ValueError(f"SALMONN has no encoder {sorted(unknown)[0]!r} to switch off; there are whisper and beats")
    return names


class Salmonn(Model):
    """One question at a time, with one clip: in a batch the package pads prompts on the right.

    A question's generation_config may scale LoRA (``lora_scale``) and switch encoders off (``encoder_off``) for itself.
    """

    name = "salmonn"
    model = "tsinghua-ee/SALMONN"
    revision = "not loaded yet"
    rate_hz = 16_000
    checkpoint_variable = "SALMONN_CHECKPOINT"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--llama", help="folder of the Vicuna beneath")
        parser.add_argument("--whisper", help="folder of Whisper large v2")
        parser.add_argument("--beats", help="file of the fine-tuned BEATs")
        parser.add_argument("--accept-pth", action="store_true", help="read .pth and .pt files, without running code")
        parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
        parser.add_argument("--lora-alpha", type=int, default=32, help="what the checkpoint was trained with")
        parser.add_argument(
            "--lora-scale", type=float, help="what LoRA's part is multiplied by; else alpha / 8; 0: none"
        )
        parser.add_argument("--encoder-off", default="", help="whisper, beats or whisper+beats: zeros in its place")
        parser.add_argument("--beams", type=int, default=4, help="4 is what the authors' decode_config.yaml says")

    def load(self):
        import torch

        options = self.options
        trained_scale = options.lora_alpha / RANK
        self.default_scale = trained_scale if options.lora_scale is None else options.lora_scale
        self.default_off = encoders_in(options.encoder_off)
        if not (options.llama and options.whisper and options.beats):
            raise ValueError("SALMONN needs --llama, --whisper and --beats, too")
        if not options.accept_pth:
            raise ValueError(
                "SALMONN and BEATs are published as .pth and .pt (pickles); --accept-pth reads their tensors"
            )
        torch.load = functools.partial(torch.load, map_location="cpu", weights_only=True)  # also within the package
        if options.device == "cpu":  # the package calls cuda() itself, and loads its Llama in half precision
            torch.Tensor.cuda = lambda tensor, *_, **__: tensor
            torch.nn.Module.cuda = lambda module, *_, **__: module.float()
        from models.salmonn import SALMONN
        from transformers import WhisperFeatureExtractor

        self.network = SALMONN(
            llama_path=options.llama,
            whisper_path=options.whisper,
            beats_path=options.beats,
            lora_alpha=options.lora_alpha,
        )
        self.network.load_state_dict(torch.load(options.checkpoint)["model"], strict=False)
        self.network = self.network.cuda().eval()
        self.lora_layers = [part for part in self.network.llama_model.modules() if hasattr(part, "lora_A")]
        self.off = self.default_off
        for encoder, norm in ENCODERS.items():
            getattr(self.network, norm).register_forward_hook(functools.partial(self.silenced, encoder))
        self.spectrogram = WhisperFeatureExtractor.from_pretrained(options.whisper)
        self.model = NAMES.get(self.network.llama_model.config.hidden_size, self.model)
        self.revision = digest_of(Path(options.checkpoint))
        if self.default_scale != trained_scale:
            self.revision += f", LoRA scale {self.default_scale:g}"
        if self.default_off:
            self.revision += f", without {' and '.join(sorted(self.default_off))}"

    def silenced(self, encoder, norm, inputs, output):
        """Zeros behind the encoder's norm, as the package itself fills up the shorter of the two encoders' outputs."""
        return output.new_zeros(output.shape) if encoder in self.off else None

    def set_up(self, config):
        """The question's own scale and encoders, else those of the command line."""
        scale = config.get("lora_scale")
        if scale is not None and (isinstance(scale, bool) or not isinstance(scale, (int, float))):
            raise ValueError(f"lora_scale={scale!r} is not a number")
        self.off = encoders_in(config["encoder_off"]) if "encoder_off" in config else self.default_off
        for layer in self.lora_layers:
            layer.scaling = dict.fromkeys(layer.scaling, self.default_scale if scale is None else scale)

    def answer(self, questions):
        return [self.answer_one(question) for question in questions]

    def answer_one(self, question):
        import numpy
        import torch

        if len(question["audio"]) != 1:
            return ValueError(f"SALMONN answers about one clip, and there are {len(question['audio'])}")
        ((samples, _),) = question["audio"]
        samples = numpy.asarray(samples[: LONGEST_S * self.rate_hz], dtype="float32")
        samples = numpy.pad(samples, (0, max(0, SHORTEST_S * self.rate_hz - len(samples))))
        text = "\n".join(message["content"] for message in question["messages"]).replace(PLACEHOLDER, "")
        spectrogram = self.spectrogram(samples, sampling_rate=self.rate_hz, return_tensors="pt")["input_features"]
        inputs = {
            "spectrogram": spectrogram.cuda(),
            "raw_wav": torch.from_numpy(samples)[None].cuda(),
            "padding_mask": torch.zeros(1, len(samples), dtype=torch.bool).cuda(),
        }
        config = question["generation_config"]
        try:
            self.set_up(config)
        except ValueError as error:
            return error
        temperature = float(config.get("temperature") or 0)
        settings = {
            "max_new_tokens": int(config.get("max_tokens") or 200),
            "num_beams": 1 if temperature > 0 else self.options.beams,
            "do_sample": temperature > 0,
            "temperature": temperature or 1.0,
        }
        try:
            on_gpu = self.options.device == "cuda"
            with torch.autocast("cuda", dtype=torch.float16, enabled=on_gpu), torch.inference_mode():
                (answer,) = self.network.generate(inputs, settings, prompts=[TEMPLATE.format(SOUND + text.strip())])
        except Exception as error:
            return error
        return answer.replace("<s>", "").replace("</s>", "").strip(), None, None


if __name__ == "__main__":
    main(Salmonn)
