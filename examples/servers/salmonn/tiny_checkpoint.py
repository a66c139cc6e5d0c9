"""Writes a SALMONN of random weights, and the three models beneath, to try the launcher without the real ones.

python tiny_checkpoint.py FOLDER && cd FOLDER
python …/serve.py --checkpoint salmonn.pth --llama llama --whisper whisper --beats beats.pt --accept-pth --device cpu
"""

import os
import sys
from pathlib import Path

import sentencepiece
import torch
from models.beats.BEATs import BEATs, BEATsConfig
from models.salmonn import SALMONN
from transformers import (
    BertConfig,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaTokenizer,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperModel,
)

BEATS = {
    **{"input_patch_size": 16, "embed_dim": 32, "encoder_layers": 2, "encoder_embed_dim": 32},
    **{"encoder_ffn_embed_dim": 64, "encoder_attention_heads": 2, "conv_pos": 16, "conv_pos_groups": 4},
    **{"deep_norm": True, "relative_position_embedding": True, "gru_rel_pos": True},
}
WHISPER = {
    **{"vocab_size": 100, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2},
    **{"decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 0},
    **{"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0},
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    torch.manual_seed(0)
    # The package asks the hub for this name; a folder of the name in the working directory comes first.
    BertConfig(
        hidden_size=32, num_attention_heads=2, intermediate_size=32, num_hidden_layers=1, vocab_size=50
    ).save_pretrained("bert-base-uncased")
    Path("llama").mkdir(exist_ok=True)
    text = ["What is heard in this recording? a bird, a frog, a whale", "USER ASSISTANT one two three four"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_prefix="llama/tokenizer",
        vocab_size=300,
        byte_fallback=True,
        hard_vocab_limit=False,
    )
    LlamaTokenizer("llama/tokenizer.model").save_pretrained("llama")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=320, initializer_range=0.3)).save_pretrained("llama")
    WhisperModel(WhisperConfig(**WHISPER)).save_pretrained("whisper")
    WhisperFeatureExtractor().save_pretrained("whisper")
    torch.save({"cfg": BEATS, "model": BEATs(BEATsConfig(BEATS)).state_dict()}, "beats.pt")
    model = SALMONN(llama_path="llama", whisper_path="whisper", beats_path="beats.pt")
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    for weight in weights.values():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    torch.save({"model": weights}, "salmonn.pth")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
