"""A chat checkpoint of the transformers library behind the server template: what its launchers share."""

from itertools import groupby
from pathlib import Path

from checkpoint_files import digest_of, local_folder
from template_server import PLACEHOLDER, Model

MAX_TOKENS = 256  # where a question does not say how many


class TransformersModel(Model):
    """Loads a processor and weights, and answers questions in batches; subclasses say what is different."""

    name = "hf-transformers"
    model = "a chat checkpoint of transformers"
    revision = "not loaded yet"
    rate_hz = 16_000
    checkpoint_variable = "HF_TRANSFORMERS_CHECKPOINT"
    model_classes = ("AutoModelForMultimodalLM", "AutoModelForSeq2SeqLM")  # the first that knows the checkpoint

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--checkpoint-revision", help="branch, tag or commit of a checkpoint on the hub")
        parser.add_argument("--device", help='"cuda:1", "cpu", or "auto" to spread over all GPUs (needs accelerate)')
        parser.add_argument("--dtype", default="auto", help="bfloat16, float16, float32; auto is the checkpoint's own")
        parser.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the checkpoint")

    def load(self):
        import torch
        import transformers

        where, options = str(local_folder(self.options.checkpoint)), self.options
        source = {"revision": options.checkpoint_revision, "local_files_only": Path(where).is_dir()}
        source["trust_remote_code"] = options.trust_remote_code
        self.processor = self.load_processor(transformers, where, source)
        self.processor.tokenizer.padding_side = "left"
        self.rate_hz = self.processor.feature_extractor.sampling_rate
        device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        kind, config = self.model_kind(transformers, transformers.AutoConfig.from_pretrained(where, **source))
        source.update({"device_map": "auto"} if device == "auto" else {})
        dtype = options.dtype if options.dtype == "auto" else getattr(torch, options.dtype)
        self.network, loading = kind.from_pretrained(
            where, config=config, dtype=dtype, use_safetensors=True, output_loading_info=True, **source
        )
        if loading["missing_keys"]:
            raise ValueError(f"weights are missing and would be random, such as {sorted(loading['missing_keys'])[0]}")
        self.network = self.network.eval() if device == "auto" else self.network.eval().to(device)
        self.revision = getattr(config, "_commit_hash", None) or digest_of(Path(where))

    def load_processor(self, transformers, where, source):
        return transformers.AutoProcessor.from_pretrained(where, **source)

    def model_kind(self, transformers, config):
        """The class that loads the weights, and the configuration for it."""
        for name in self.model_classes:
            kind = getattr(transformers, name, None)
            if kind is not None and type(config) in kind._model_mapping:
                return kind, config
        raise ValueError(f"{' and '.join(self.model_classes)} know no {config.model_type!r} model")

    def inputs(self, texts, clips):
        """The tensors of a batch: prompts in which the clips, in their order, have their places."""
        played = {"audio": clips, "sampling_rate": self.rate_hz} if clips else {}
        return self.processor(text=texts, padding=True, return_tensors="pt", **played)

    def answer(self, questions):
        """Questions beside each other that want the same settings are one batch."""
        answers = []
        for _, batch in groupby(questions, key=lambda question: repr(settings_of(question))):
            answers += self.answer_batch(list(batch))
        return answers

    def answer_batch(self, questions):
        try:
            return self.generate(questions)
        except Exception as error:
            if len(questions) == 1:
                return [error]
        return [self.answer_batch([question])[0] for question in questions]  # so that only the culprit fails

    def generate(self, questions):
        import torch

        settings = settings_of(questions[0])
        prompts = [
            self.processor.apply_chat_template(turns_of(question), tokenize=False, add_generation_prompt=True)
            for question in questions
        ]
        clips = [samples for question in questions for samples, _ in question["audio"]]
        inputs = self.inputs(prompts, clips)
        for name, value in inputs.items():
            if torch.is_tensor(value):
                dtype = self.network.dtype if value.is_floating_point() else None
                inputs[name] = value.to(self.network.device, dtype)
        with torch.inference_mode():
            tokens = self.network.generate(**inputs, **settings)[:, inputs["input_ids"].shape[1] :]
        texts = self.processor.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        ends = self.network.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        answers = []
        for text, row, mask in zip(texts, tokens.tolist(), inputs["attention_mask"], strict=True):
            length = next((place for place, token in enumerate(row) if token in ends), None)
            usage = {"prompt_tokens": int(mask.sum()), "completion_tokens": len(row) if length is None else length}
            answers.append((text.strip(), "length" if length is None else "stop", usage))
        return answers


def settings_of(question):
    """What `generate` is told: greedy unless the temperature is above 0."""
    config = question["generation_config"]
    settings = {"max_new_tokens": int(config.get("max_tokens") or MAX_TOKENS), "do_sample": False}
    if float(config.get("temperature") or 0) > 0:
        settings.update(do_sample=True, temperature=float(config["temperature"]), top_p=float(config.get("top_p", 1)))
    return settings


def turns_of(question):
    """The conversation as chat templates take it; clips without a place come before the last user message's text."""
    messages = question["messages"]
    if question["audio"] and not any(PLACEHOLDER in message["content"] for message in messages):
        last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=len(messages) - 1)
        marks = PLACEHOLDER * len(question["audio"])
        messages = [{**m, "content": marks + m["content"]} if i == last else m for i, m in enumerate(messages)]
    return [{"role": message["role"], "content": parts_of(message["content"])} for message in messages]


def parts_of(content):
    parts = []
    for i, text in enumerate(content.split(PLACEHOLDER)):
        parts += [{"type": "audio"}] if i else []
        parts += [{"type": "text", "text": text.strip()}] if text.strip() else []
    return parts
