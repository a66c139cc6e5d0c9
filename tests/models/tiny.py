"""Tiny checkpoints with random weights, one function for each family, in the format in which they are published."""

import base64
import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'audio' %}AUDIO{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "initializer_range": 0.3,
}
TOWER = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_mel_bins": 32, "initializer_range": 0.3}


def bpe(special):
    """A byte-level BPE trained on a sentence; the special tokens get the first ids."""
    pieces = Tokenizer(models.BPE(unk_token=None))
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(
        ["Which digit is spoken? one two three user assistant Transcribe the speech."] * 4, trainer
    )
    return pieces


def chat_tokenizer(special, **options):
    from transformers import PreTrainedTokenizerFast

    # Right padding, so that the tests show that the adapter pads on the left whatever a checkpoint says.
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe(special),
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        padding_side="right",
        **options,
    )


def _save(folder: Path, model, *parts, end=2, pad=0):
    if hasattr(model, "generation_config") and model.generation_config is not None:
        model.generation_config.eos_token_id, model.generation_config.pad_token_id = end, pad
    model.save_pretrained(folder)
    for part in parts:
        part.save_pretrained(folder)


def audioflamingo3(folder: Path) -> None:
    """Its processor cuts a clip into windows itself: of a second here, where published ones have thirty."""
    from transformers import (
        AudioFlamingo3Config,
        AudioFlamingo3ForConditionalGeneration,
        AudioFlamingo3Processor,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    tokenizer = chat_tokenizer((*QWEN[:3], "<sound>"))
    extractor = WhisperFeatureExtractor(feature_size=32, chunk_length=1)
    processor = AudioFlamingo3Processor(extractor, tokenizer, chat_template=CHATML.replace("AUDIO", "<sound>"))
    config = AudioFlamingo3Config(
        audio_config={
            **TOWER,
            "model_type": "audioflamingo3_encoder",
            "hidden_size": 32,
            "intermediate_size": 64,
            "max_source_positions": 50,
        },
        text_config={
            **TEXT,
            "model_type": "qwen2",
            "vocab_size": len(tokenizer),
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        audio_token_id=3,
    )
    _save(folder, AudioFlamingo3ForConditionalGeneration(config), processor)


def musicflamingo(folder: Path) -> None:
    """Audio Flamingo 3 with time in its positions and marks around a clip: how Audio Flamingo Next is published."""
    from transformers import (
        MusicFlamingoConfig,
        MusicFlamingoForConditionalGeneration,
        MusicFlamingoProcessor,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    tokenizer = chat_tokenizer((*QWEN[:3], "<sound>", "<|sound_bos|>", "<|sound_eos|>"))
    extractor = WhisperFeatureExtractor(feature_size=32, chunk_length=1)
    processor = MusicFlamingoProcessor(extractor, tokenizer, chat_template=CHATML.replace("AUDIO", "<sound>"))
    config = MusicFlamingoConfig(
        audio_config={
            **TOWER,
            "model_type": "audioflamingo3_encoder",
            "hidden_size": 32,
            "intermediate_size": 64,
            "max_source_positions": 50,
        },
        text_config={
            **TEXT,
            "model_type": "qwen2",
            "vocab_size": len(tokenizer),
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        audio_token_id=3,
        audio_bos_token_id=4,
        audio_eos_token_id=5,
    )
    _save(folder, MusicFlamingoForConditionalGeneration(config), processor)


def qwen25_omni_thinker(folder: Path) -> None:
    """The thinker by itself, with the tokenizer and the extractor from which the audio-only processor is made."""
    _omni_front(folder).save_pretrained(folder)


def qwen25_omni(folder: Path) -> None:
    """A whole omni checkpoint as published: the thinker is a part of its configuration and of its weights."""
    from safetensors.torch import save_file

    thinker = _omni_front(folder)
    weights = {f"thinker.{name}": value.contiguous().clone() for name, value in thinker.state_dict().items()}
    weights["talker.unused.weight"] = torch.zeros(2)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    own = thinker.config.to_dict()
    whole = {
        "model_type": "qwen2_5_omni",
        "architectures": ["Qwen2_5OmniForConditionalGeneration"],
        "thinker_config": own,
        "enable_audio_output": False,
    }
    (folder / "config.json").write_text(json.dumps(whole))
    thinker.generation_config.save_pretrained(folder)


def qwen25_omni_talker(folder: Path) -> None:
    """The whole of it with its talker and vocoder, and its two speakers in a pickle, as published."""
    from transformers import Qwen2_5OmniConfig, Qwen2_5OmniForConditionalGeneration

    thinker = _omni_front(folder)
    text = thinker.config.text_config
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 16}
    talker = {
        **{"embedding_size": text.hidden_size, "hidden_size": 32, "intermediate_size": 32, "num_key_value_heads": 1},
        **{
            "tts_text_start_token_id": 6,
            "tts_text_end_token_id": 2,
            "tts_text_pad_token_id": 0,
            "rope_parameters": rope,
        },
        **{
            name: getattr(thinker.config, name)
            for name in ("audio_token_index", "image_token_index", "video_token_index")
        },
        **layers,
    }
    # A talker that nobody trained says codes that a trained one never does, and each needs its vector.
    dit = {"hidden_size": 32, "ff_mult": 1, "emb_dim": 16, "num_embeds": 8448, "enc_emb_dim": 8, "enc_dim": 8, **layers}
    dit |= {
        "mel_dim": 8,
        "enc_channels": [8, 8, 8, 8, 24],
        "enc_attention_channels": 4,
        "enc_res2net_scale": 2,
        "enc_se_channels": 4,
    }
    vocoder = {"mel_dim": 8, "upsample_initial_channel": 64}
    config = Qwen2_5OmniConfig(
        thinker_config=thinker.config.to_dict(),
        talker_config=talker,
        token2wav_config={"dit_config": dit, "bigvgan_config": vocoder},
    )
    model = Qwen2_5OmniForConditionalGeneration(config)
    model.thinker.load_state_dict(thinker.state_dict())
    model.generation_config = thinker.generation_config
    model.token2wav.code2wav_bigvgan_model.conv_post.weight.data.mul_(1e7)  # else its sound is none in 16 bits
    model.save_pretrained(folder)
    voice = {"bos_token": 6, "cond": torch.randn(1, 8), "ref_mel": torch.randn(1, 20, 8)}
    torch.save({"Chelsie": voice, "Ethan": {**voice, "cond": torch.randn(1, 8)}}, folder / "spk_dict.pt")


def _omni_front(folder: Path):
    from transformers import (
        Qwen2_5OmniThinkerConfig,
        Qwen2_5OmniThinkerForConditionalGeneration,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    special = (*QWEN, "<|IMAGE|>", "<|VIDEO|>", "<|vision_bos|>", "<|vision_eos|>")
    named = {
        "image_token": "<|IMAGE|>",
        "audio_token": "<|AUDIO|>",
        "video_token": "<|VIDEO|>",
        "vision_bos_token": "<|vision_bos|>",
        "vision_eos_token": "<|vision_eos|>",
        "audio_bos_token": "<|audio_bos|>",
        "audio_eos_token": "<|audio_eos|>",
    }
    tokenizer = chat_tokenizer(special, extra_special_tokens=named)
    tokenizer.chat_template = CHATML.replace("AUDIO", "<|audio_bos|><|AUDIO|><|audio_eos|>")
    token = tokenizer.convert_tokens_to_ids
    config = Qwen2_5OmniThinkerConfig(
        audio_config={
            "d_model": 32,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 64,
            "num_mel_bins": 128,
            "output_dim": 32,
            "initializer_range": 0.3,
        },
        vision_config={
            "depth": 1,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [0],
        },
        text_config={
            **TEXT,
            "vocab_size": len(tokenizer),
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        initializer_range=0.3,
        audio_token_index=token("<|AUDIO|>"),
        image_token_index=token("<|IMAGE|>"),
        video_token_index=token("<|VIDEO|>"),
        audio_start_token_id=token("<|audio_bos|>"),
        audio_end_token_id=token("<|audio_eos|>"),
        user_token_id=5,
        vision_start_token_id=token("<|vision_bos|>"),
        vision_end_token_id=token("<|vision_eos|>"),
    )
    model = Qwen2_5OmniThinkerForConditionalGeneration(config)
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = 2, 0
    tokenizer.save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128, chunk_length=10).save_pretrained(folder)
    return model


def qwen3_omni(folder: Path) -> None:
    """As published: the thinker, a mixture of experts, is a part of the configuration and of the weights."""
    from safetensors.torch import load_file, save_file
    from transformers import (
        Qwen3OmniMoeThinkerConfig,
        Qwen3OmniMoeThinkerForConditionalGeneration,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    named = {
        "audio_token": "<|audio_pad|>",
        "audio_bos_token": "<|audio_start|>",
        "audio_eos_token": "<|audio_end|>",
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
    }
    tokenizer = chat_tokenizer((*QWEN[:3], *named.values()), extra_special_tokens=named)
    tokenizer.chat_template = CHATML.replace("AUDIO", "<|audio_start|><|audio_pad|><|audio_end|>")
    tokens = dict(zip(named, tokenizer.convert_tokens_to_ids(list(named.values())), strict=True))
    config = Qwen3OmniMoeThinkerConfig(
        audio_config={
            "d_model": 32,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 64,
            "num_mel_bins": 128,
            "output_dim": 32,
            "downsample_hidden_size": 16,
            "initializer_range": 0.3,
        },
        vision_config={
            "depth": 1,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 32,
            "deepstack_visual_indexes": [0],
        },
        text_config={
            **TEXT,
            "vocab_size": len(tokenizer),
            "head_dim": 16,
            "moe_intermediate_size": 32,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
            "bos_token_id": 0,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        audio_token_id=tokens["audio_token"],
        audio_start_token_id=tokens["audio_bos_token"],
        audio_end_token_id=tokens["audio_eos_token"],
        image_token_id=tokens["image_token"],
        video_token_id=tokens["video_token"],
        vision_start_token_id=tokens["vision_bos_token"],
        vision_end_token_id=tokens["vision_eos_token"],
        user_token_id=5,
        initializer_range=0.3,
    )
    model = Qwen3OmniMoeThinkerForConditionalGeneration(config)
    model.save_pretrained(folder)
    weights = {f"thinker.{name}": weight for name, weight in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    own = json.loads((folder / "config.json").read_text())
    whole = {"model_type": "qwen3_omni_moe", "thinker_config": own, "enable_audio_output": False}
    (folder / "config.json").write_text(json.dumps(whole))
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = 2, 0
    model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=128, chunk_length=10).save_pretrained(folder)


def voxtral(folder: Path) -> None:
    """Its tokenizer is mistral_common's: 256 bytes, some merges, and the special tokens where it expects them."""
    from transformers import VoxtralConfig, VoxtralForConditionalGeneration, VoxtralProcessor, WhisperFeatureExtractor
    from transformers.tokenization_mistral_common import MistralCommonBackend

    torch.manual_seed(0)
    # In a folder of its own: some releases of transformers do not save a tokenizer over the file that it was read from.
    made = folder / "tokenizer"
    made.mkdir()
    _tekken(made / "tekken.json")
    tokenizer = MistralCommonBackend.from_pretrained(str(made))
    config = VoxtralConfig(
        audio_config={
            **TOWER,
            "model_type": "voxtral_encoder",
            "hidden_size": 32,
            "intermediate_size": 128,
            "num_mel_bins": 128,
            "max_source_positions": 1500,
            "vocab_size": len(tokenizer),
        },
        text_config={
            **TEXT,
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "head_dim": 16,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 11,
        },
        audio_token_id=24,
    )
    processor = VoxtralProcessor(WhisperFeatureExtractor(feature_size=128), tokenizer)
    _save(folder, VoxtralForConditionalGeneration(config), processor, pad=11)


def _tekken(file: Path) -> None:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    known = Tekkenizer.DEPRECATED_SPECIAL_TOKENS
    names = {one["rank"]: one["token_str"] for one in known}
    names |= {24: "[AUDIO]", 25: "[BEGIN_AUDIO]", 34: "[TRANSCRIBE]"}
    special = [
        {"rank": rank, "token_str": names.get(rank, f"<SPECIAL_{rank}>"), "is_control": True} for rank in range(100)
    ]
    pairs = [bytes([97 + j % 26, 97 + j // 26]) for j in range(100)]
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(one).decode(), "token_str": None}
        for rank, one in enumerate([*(bytes([i]) for i in range(256)), *pairs])
    ]
    audio = {
        "sampling_rate": 16_000,
        "frame_rate": 12.5,
        "audio_encoding_config": {"num_mel_bins": 128, "hop_length": 160, "window_size": 400},
        "chunk_length_s": 30.0,
    }
    config = {
        "pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|\s+|.",
        "num_vocab_tokens": len(vocabulary),
        "default_vocab_size": len(vocabulary) + 100,
        "default_num_special_tokens": 100,
        "version": "v7",
    }
    written = {"config": config, "vocab": vocabulary, "special_tokens": special, "audio": audio}
    file.write_text(json.dumps(written))


def whisper(folder: Path) -> None:
    """A multilingual Whisper that hears two seconds."""
    from transformers import (
        GenerationConfig,
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
        WhisperProcessor,
        WhisperTokenizer,
    )

    torch.manual_seed(0)
    end, languages = "<|endoftext|>", ("en", "de", "ja")
    bpe(()).model.save(str(folder))
    tokenizer = WhisperTokenizer.from_pretrained(folder, unk_token=end, bos_token=end, eos_token=end, pad_token=end)
    special = ["<|startoftranscript|>", *(f"<|{one}|>" for one in languages), "<|translate|>", "<|transcribe|>"]
    special += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    tokenizer.add_tokens(special, special_tokens=True)
    tokenizer.add_tokens([f"<|{i * 0.02:.2f}|>" for i in range(101)])
    token = tokenizer.convert_tokens_to_ids
    ends = {"pad_token_id": token(end), "bos_token_id": token(end), "eos_token_id": token(end)}
    starts = {"decoder_start_token_id": token("<|startoftranscript|>")}
    config = WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=32,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=100,
        max_target_positions=64,
        suppress_tokens=[],
        begin_suppress_tokens=[token(end)],
        init_std=0.3,
        **ends,
        **starts,
    )
    model = WhisperForConditionalGeneration(config)
    # A fresh one: what is set on the configuration derived from the model's is lost when the checkpoint is read again.
    said = model.generation_config = GenerationConfig(**ends, **starts)
    said.is_multilingual = True
    said.lang_to_id = {f"<|{one}|>": token(f"<|{one}|>") for one in languages}
    said.task_to_id = {"transcribe": token("<|transcribe|>"), "translate": token("<|translate|>")}
    said.no_timestamps_token_id, said.prev_sot_token_id = token("<|notimestamps|>"), token("<|startofprev|>")
    said.suppress_tokens, said.begin_suppress_tokens = [], [token(end)]
    said.max_initial_timestamp_index, said.max_length = 50, 60
    model.save_pretrained(folder)
    WhisperProcessor(WhisperFeatureExtractor(feature_size=32, chunk_length=2), tokenizer).save_pretrained(folder)


def _speech_encoder(kind: str, **options):
    import transformers

    return getattr(transformers, f"{kind}Config")(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        conv_dim=(16,) * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        initializer_range=0.3,
        **options,
    )


def ctc(folder: Path, kind: str = "Wav2Vec2", masked: bool = True) -> None:
    """A transcriber by characters. ``masked``: as large checkpoints are, whose encoder is told where a clip ends."""
    import transformers
    from transformers import Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2Processor

    torch.manual_seed(0)
    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ'"]
    (folder / "vocab.json").write_text(json.dumps({letter: i for i, letter in enumerate(letters)}))
    tokenizer = Wav2Vec2CTCTokenizer(str(folder / "vocab.json"), word_delimiter_token="|")
    extractor = Wav2Vec2FeatureExtractor(return_attention_mask=masked, do_normalize=True)
    norm = {"feat_extract_norm": "layer", "do_stable_layer_norm": True} if masked else {}
    config = _speech_encoder(kind, vocab_size=len(letters), pad_token_id=0, **norm)
    getattr(transformers, f"{kind}ForCTC")(config).save_pretrained(folder)
    Wav2Vec2Processor(extractor, tokenizer).save_pretrained(folder)


def classifier(folder: Path, labels=("hap", "sad", "ang", "neu")) -> None:
    from transformers import Wav2Vec2FeatureExtractor, Wav2Vec2ForSequenceClassification

    torch.manual_seed(0)
    config = _speech_encoder(
        "Wav2Vec2",
        feat_extract_norm="layer",
        do_stable_layer_norm=True,
        classifier_proj_size=16,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    model = Wav2Vec2ForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=3.0)
    model.save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True, do_normalize=True).save_pretrained(folder)


def ast(folder: Path, labels=("hap", "sad", "ang", "neu")) -> None:
    """A classifier of spectrograms of a fixed number of frames: a second of them, where published ones have ten."""
    from transformers import ASTConfig, ASTFeatureExtractor, ASTForAudioClassification

    torch.manual_seed(0)
    config = ASTConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_length=100,
        num_mel_bins=32,
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    ASTForAudioClassification(config).save_pretrained(folder)
    ASTFeatureExtractor(num_mel_bins=32, max_length=100).save_pretrained(folder)


def whisper_classifier(folder: Path, labels=("hap", "sad", "ang", "neu")) -> None:
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForAudioClassification

    torch.manual_seed(0)
    config = WhisperConfig(
        num_mel_bins=32,
        d_model=32,
        encoder_layers=1,
        encoder_attention_heads=2,
        encoder_ffn_dim=64,
        max_source_positions=100,
        init_std=0.3,
        classifier_proj_size=16,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    WhisperForAudioClassification(config).save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=32, chunk_length=2).save_pretrained(folder)


def clap(folder: Path, fusion: bool = False) -> None:
    from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, ClapProcessor, RobertaTokenizerFast

    torch.manual_seed(0)
    bpe(("<s>", "<pad>", "</s>", "<unk>")).model.save(str(folder))
    tokenizer = RobertaTokenizerFast.from_pretrained(folder, model_max_length=77)
    extractor = ClapFeatureExtractor(truncation="fusion" if fusion else "rand_trunc", max_length_s=10)
    config = ClapConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 514,
            "pad_token_id": 1,
            "projection_dim": 16,
            "initializer_factor": 20.0,
        },
        audio_config={
            "spec_size": 256,
            "patch_embeds_hidden_size": 16,
            "hidden_size": 128,
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 4, 8],
            "num_hidden_layers": 4,
            "enable_fusion": fusion,
            "projection_dim": 16,
            "num_mel_bins": 64,
        },
        projection_dim=16,
    )
    ClapModel(config).save_pretrained(folder)
    ClapProcessor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)


def moonshine(folder: Path) -> None:
    """A transcriber of raw samples that the package has no row for."""
    from transformers import (
        MoonshineConfig,
        MoonshineForConditionalGeneration,
        PreTrainedTokenizerFast,
        Wav2Vec2FeatureExtractor,
        Wav2Vec2Processor,
    )

    torch.manual_seed(0)
    special = ("<unk>", "<s>", "</s>")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe(special), unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    config = MoonshineConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        encoder_num_hidden_layers=1,
        decoder_num_hidden_layers=1,
        encoder_num_attention_heads=2,
        decoder_num_attention_heads=2,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        decoder_start_token_id=1,
        initializer_range=0.3,
    )
    MoonshineForConditionalGeneration(config).save_pretrained(folder)
    Wav2Vec2Processor(
        Wav2Vec2FeatureExtractor(return_attention_mask=True, do_normalize=False), tokenizer
    ).save_pretrained(folder)


def lora(folder: Path, base: Path, scale: float = 3.0) -> None:
    """An adapter for the attention of a checkpoint's text part."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForMultimodalLM

    torch.manual_seed(0)
    model = AutoModelForMultimodalLM.from_pretrained(base)
    adapted = get_peft_model(
        model, LoraConfig(r=2, lora_alpha=8, target_modules=r".*layers\.\d+\.self_attn\.[qv]_proj")
    )
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=scale)
    adapted.save_pretrained(folder)
