#!/usr/bin/env python3
"""gen_tiny_models.py FOLDER: whole small llama-architecture GGUF models with shapes that break kernels (head
sizes, odd ratios of query to key heads, vocabularies that are no multiple of 64). ../tiny_expected.json holds the
logits of those in F32, from an independent fp32 forward pass."""
import os
import sys

from gguf_lib import tiny

MODELS = {
    "hd64_9q3kv_v262": dict(n_embd=576, n_head=9, n_kv=3, n_ff=64, seed=11),
    "hd80_4q2kv_v262": dict(n_embd=320, n_head=4, n_kv=2, n_ff=96, seed=12),
    "hd96_3q3kv_v263": dict(n_embd=288, n_head=3, n_kv=3, n_ff=80, seed=13, vocab_extra=1),
    "hd32_7q1kv_v265": dict(n_embd=224, n_head=7, n_kv=1, n_ff=72, seed=14, vocab_extra=3),
    "hd8_4q4kv_ff33_v321": dict(n_embd=32, n_head=4, n_kv=4, n_ff=33, n_layer=3, seed=15, vocab_extra=59),
    "hd128_key_length_2q1kv": dict(n_embd=64, n_head=2, n_kv=1, hd=128, n_ff=64, seed=16),
    "base_5e5": dict(n_embd=64, n_head=4, n_kv=2, n_ff=64, seed=17, base=500000.0),
    "bf16_hd64_6q2kv_v263": dict(n_embd=384, n_head=6, n_kv=2, n_ff=200, seed=19, vocab_extra=1, bf16=True),
    "eps_1e-1": dict(n_embd=64, n_head=4, n_kv=2, n_ff=64, seed=18, eps=0.1),
}

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, shape in MODELS.items():
        with open(os.path.join(sys.argv[1], name + ".gguf"), "wb") as file:
            file.write(tiny(**{"n_layer": 2, "scale": None, "untie": True, **shape}).bytes())
