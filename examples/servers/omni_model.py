"""Qwen's omni models behind the server template, text out and audio in: no talker, no pictures, no torchvision."""

from transformers_model import TransformersModel


class OmniThinker(TransformersModel):
    """Loads a checkpoint's thinker, the part that reads and listens, and a processor without its video part."""

    processor_class = ""
    thinker_class = ""

    def load_processor(self, transformers, where, source):
        whole = getattr(transformers, self.processor_class)

        class AudioProcessor(whole):
            def __init__(self, feature_extractor=None, tokenizer=None, chat_template=None):
                super(whole, self).__init__(feature_extractor, tokenizer, chat_template=chat_template)
                self.audio_token, self.audio_token_id = tokenizer.audio_token, tokenizer.audio_token_id

        processor = AudioProcessor.from_pretrained(where, **source)
        processor.chat_template = processor.chat_template or processor.tokenizer.chat_template
        return processor

    def model_kind(self, transformers, config):
        return getattr(transformers, self.thinker_class), getattr(config, "thinker_config", config)
