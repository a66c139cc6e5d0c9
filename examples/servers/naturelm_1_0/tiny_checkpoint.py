"""Writes a NatureLM-audio 1.0 of random weights, and the Llama beneath, to try the launcher without the real ones.

python tiny_checkpoint.py FOLDER && cd FOLDER && python …/serve.py --checkpoint checkpoint --device cpu
"""

import os
import sys
from pathlib import Path

import torch
from NatureLM.models import NatureLM
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import BertConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>")
BEATS = {
    **{"input_patch_size": 16, "embed_dim": 32, "encoder_layers": 2, "encoder_embed_dim": 32},
    **{"encoder_ffn_embed_dim": 64, "encoder_attention_heads": 2, "conv_pos": 16, "conv_pos_groups": 4},
    **{"deep_norm": True, "relative_position_embedding": True, "gru_rel_pos": True, "max_distance": 800},
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    torch.manual_seed(0)
    # The package asks the hub for this name; a folder of the name in the working directory comes first.
    BertConfig(
        hidden_size=32, num_attention_heads=2, intermediate_size=32, num_hidden_layers=1, vocab_size=50
    ).save_pretrained("bert-base-uncased")
    tokenizer().save_pretrained("llama")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    LlamaForCausalLM(
        LlamaConfig(**sizes, vocab_size=300, bos_token_id=0, eos_token_id=1, initializer_range=0.3)
    ).save_pretrained("llama")
    model = NatureLM(llama_path="llama", beats_cfg=BEATS, device="cpu", lora_rank=4)
    for name, weight in model.named_parameters():
        if weight.dim() > 1 and (not name.startswith("llama") or "lora_B" in name):
            torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained("checkpoint")


def tokenizer():
    pieces = Tokenizer(models.BPE(unk_token=None))
    pieces.pre_tokenizer, pieces.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=299, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    pieces.train_from_iterator(["What is the common name for the focal species in the audio? Answer:"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=pieces, bos_token=SPECIAL[0], eos_token=SPECIAL[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
