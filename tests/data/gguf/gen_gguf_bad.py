#!/usr/bin/env python3
"""gen_gguf_bad.py FOLDER: malformed and odd-but-valid GGUF files with a manifest.
expect = error : loading must give a clear error (naming the file and the field), within a second, without big
                 allocations, reads past the end, or abort/terminate.
expect = ok    : the file is valid and must load (and generate where a reference says so).
expect = either: the format leaves it open; it must not crash."""
import struct
import sys

from gguf_lib import *

F = []
BIG = 2**64 - 1


def put(name, expect, why, f):
    F.append((name, expect, why, f if isinstance(f, bytes) else f.bytes()))


def changed(change, **shape):
    """the base model after change(file)"""
    f = tiny(**shape)
    change(f)
    return f


def put_key(name, why, entry):
    """the base model with one more entry after the first"""
    put(name, "error", why, changed(lambda f: f.kvs.insert(1, entry)))


def put_set(name, expect, why, key, *value):
    put(name, expect, why, setkv(tiny(), key, *value))


def put_tensor(name, why, tensor="blk.0.attn_q.weight", **override):
    put(name, "error", why, changed(lambda f: ten(f, tensor).ov.update(override)))


put("ok_base.gguf", "ok", "the base that all others change", tiny())
full = tiny().bytes()

# header
put("hdr_empty.gguf", "error", "zero bytes", b"")
put("hdr_3_bytes.gguf", "error", "ends inside the magic", b"GGU")
put("hdr_only_magic.gguf", "error", "ends before the version", b"GGUF")
put("hdr_23_bytes.gguf", "error", "ends one byte before the counts do", full[:23])
put("hdr_magic_ggml.gguf", "error", "other magic", changed(lambda f: setattr(f, "magic", b"GGML")))
for v in (0, 1, 4, 0x7FFFFFFF):
    put(f"hdr_version_{v}.gguf", "error", "no such version, or one with 32-bit counts",
        changed(lambda f: setattr(f, "version", v)))
put("hdr_big_endian.gguf", "error",
    "written by a big-endian writer: version reads as 0x03000000; the message should say byte order",
    b"GGUF" + struct.pack(">IQQ", 3, 10, 21) + full[24:])
COUNTS = (("max", BIG), ("2_63", 2**63), ("2_58_plus_1", 2**58 + 1))
for nm, n in (*COUNTS, ("one_too_many", 22)):
    put(f"cnt_kv_{nm}.gguf", "error", "key count: more than the file can hold; n * sizeof wraps for some",
        changed(lambda f: setattr(f, "n_kv", n)))
for nm, n in (*COUNTS, ("one_too_many", 12)):
    put(f"cnt_tensor_{nm}.gguf", "error", "tensor count likewise", changed(lambda f: setattr(f, "n_t", n)))

# keys and values
for nm, n in (("max", BIG), ("2_63", 2**63), ("1_gib", 2**30)):
    put_key(f"str_len_{nm}.gguf", "string length past the end of the file",
            kv("x", STR, Raw(struct.pack("<Q", n) + b"abc")))
    put_key(f"key_len_{nm}.gguf", "key length past the end of the file", kv("key", U32, 1, keylen=n))
for nm, n in (("max", BIG), ("2_62", 2**62), ("2_61_plus_1", 2**61 + 1)):
    put_key(f"arr_len_u64_{nm}.gguf", "array count * 8 wraps, or is past the end",
            kv("x", ARR, [1, 2], et=U64, n=n))
    put_key(f"arr_len_str_{nm}.gguf", "array of strings with such a count: must not reserve first",
            kv("x", ARR, ["a"], et=STR, n=n))
put_key("val_type_13.gguf", "value type just past the last", kv("x", U32, Raw(b"\0" * 4), tcode=13))
put_key("val_type_max.gguf", "value type -1 as signed", kv("x", U32, Raw(b"\0" * 4), tcode=0xFFFFFFFF))
put_key("arr_elem_type_99.gguf", "unknown element type", kv("x", ARR, [1], et=U32, etcode=99))
nested = b"".join(struct.pack("<IQ", ARR, 1) for _ in range(50000)) + struct.pack("<IQ", U8, 1) + b"\1"
put_key("arr_nested_50000.gguf", "arrays inside arrays 50000 deep: recursion must be bounded",
        kv("x", ARR, Raw(nested)))
put_key("key_twice.gguf", "the same key twice", ("general.architecture", STR, "llama"))
put_set("key_wrong_type.gguf", "error", "architecture is a number", "general.architecture", U32, 7)
put("key_no_architecture.gguf", "error", "no architecture", delkv(tiny(), "general.architecture"))

# tensor infos
for n in (0, 5, 9, 0xFFFFFFFF):
    put_tensor(f"dim_count_{n}.gguf", "number of dimensions: more than 4 must be refused before any is "
               "stored; 0 cannot be this weight", n_dims=n)
for nm, dims in (("2_32_x_2_32", [2**32, 2**32]), ("wrap_pad", [4, 2**30 - 1, 2**30 + 1, 1]),
                 ("neg", [2**63, 1]), ("max_x_2", [BIG, 2]), ("zero", [0, 32]),
                 ("2_42_plus_1", [32, 2**42 + 1])):
    put_tensor(f"dim_{nm}.gguf", "element or byte count wraps around, or shape is not that of the model",
               dims=dims)
for t in (4, 5, 99, 0xFFFFFFFF):
    put_tensor(f"ttype_{t}.gguf", "tensor type removed or unknown", typ=t)
put_tensor("row_not_whole_blocks.gguf", "rows of 33 in a type with blocks of 32", typ=T_Q8_0, dims=[33, 32])
for nm, o in (("misaligned_7", 7), ("past_end", 2**40), ("max", BIG - 31), ("neg_32", -32)):
    put_tensor(f"off_{nm}.gguf", "tensor offset not aligned, past the end, or wrapping when the size is added",
               offset=o)
down = "blk.0.ffn_down.weight"
put("tensor_twice.gguf", "error", "two tensors of one name",
    changed(lambda f: f.tensors.append(Tensor(down, [64, 32], T_F32, ten(f, down).data))))
put_tensor("tensor_name_5000.gguf", "long tensor name (and the real one is missing)", "output_norm.weight",
           rawname="n" * 5000)
put_tensor("tensor_name_len_2_62.gguf", "tensor name length past the end", "output_norm.weight",
           namelen=2**62)

# truncation
for nm, c in (("1_byte", len(full) - 1), ("half", len(full) // 2), ("30000_bytes", len(full) - 30000)):
    put(f"cut_{nm}.gguf", "error",
        "file ends before its last tensor does: must be seen at load, not as SIGBUS in the first matmul",
        full[:c])
for c in (50, 400, 1500, 3000):
    put(f"cut_at_{c}.gguf", "error", "ends inside the header", full[:c])

# alignment
for nm, a in (("0", 0), ("3", 3), ("2_31", 2**31), ("max", 2**32 - 1)):
    put_set(f"align_{nm}.gguf", "error", "alignment zero, not a power of two, or larger than the file",
            "general.alignment", U32, a)
put_set("align_is_string.gguf", "error", "alignment of another type", "general.alignment", STR, "32")

# vocabulary
TOKENS = "tokenizer.ggml."
put_set("voc_types_short.gguf", "error", "3 token types for 262 tokens",
        TOKENS + "token_type", ARR, [3, 3, 3], dict(et=I32))
put_set("voc_types_u8.gguf", "error", "token types of one byte each: reading 4 per element runs past the end",
        TOKENS + "token_type", ARR, [1] * 262, dict(et=U8))
put_set("voc_empty.gguf", "error", "no tokens", TOKENS + "tokens", ARR, [], dict(et=STR))
put_set("voc_merge_no_space.gguf", "either", "a merge that is no pair: refuse it, or drop it with a warning",
        TOKENS + "merges", ARR, ["Ġ t", "nospace"], dict(et=STR))
put_set("voc_eos_max.gguf", "either",
        "EOS id past the vocabulary: refuse it, or treat it as absent; never index with it",
        TOKENS + "eos_token_id", U32, 0xFFFFFFFF)
put_set("voc_bos_one_past.gguf", "either", "BOS id equal to the vocabulary size: likewise, off by one",
        TOKENS + "bos_token_id", U32, 262)
put_set("voc_model_unknown.gguf", "error", "tokenizer kind unknown", TOKENS + "model", STR, "no-such")

# hyper-parameters
for nm, key, t, v in (
        ("heads_0", "attention.head_count", U32, 0), ("kv_heads_0", "attention.head_count_kv", U32, 0),
        ("kv_heads_3", "attention.head_count_kv", U32, 3), ("kv_heads_8", "attention.head_count_kv", U32, 8),
        ("layers_2_31", "block_count", U32, 2**31), ("layers_2", "block_count", U32, 2),
        ("layers_0", "block_count", U32, 0), ("embd_0", "embedding_length", U32, 0),
        ("eps_nan", "attention.layer_norm_rms_epsilon", F32, float("nan")),
        ("eps_neg", "attention.layer_norm_rms_epsilon", F32, -1.0),
        ("rope_dim_7", "rope.dimension_count", U32, 7), ("rope_dim_64", "rope.dimension_count", U32, 64),
        ("base_0", "rope.freq_base", F32, 0.0),
        ("ff_128", "feed_forward_length", U32, 128)):
    put_set(f"hp_{nm}.gguf", "error", "hyper-parameter that divides by zero, asks for 2^31 layers, is not a "
            "number, or disagrees with the tensors", "llama." + key, t, v)
put("hp_no_eps.gguf", "error", "no RMSNorm epsilon: must not fall back to a default in silence",
    delkv(tiny(), "llama.attention.layer_norm_rms_epsilon"))
put("tensor_missing.gguf", "error", "a weight is missing: must not run with an empty buffer",
    changed(lambda f: f.tensors.remove(ten(f, "blk.0.attn_v.weight"))))

# odd but valid
put("ok_align_64.gguf", "ok", "alignment 64", tiny(align=64))
VALUES = ((U8, 1), (I8, -1), (U16, 1), (I16, -1), (U32, 1), (I32, -1), (F32, 1.5), (BOOL, 1), (STR, ""),
          (U64, BIG), (I64, -2**63), (F64, 1.5))
f = tiny()
f.kvs += [(f"x.k{i}", t, v) for i, (t, v) in enumerate(VALUES)]
f.kvs += [("x.empty_u8", ARR, [], dict(et=U8)), ("x.empty_str", ARR, [], dict(et=STR)),
          ("x.f64", ARR, [1.0, 2.0], dict(et=F64))]
put("ok_all_value_types.gguf", "ok", "keys of every type that nobody needs, empty string, empty arrays", f)
put("ok_unused_tensor.gguf", "either", "a tensor nobody needs",
    changed(lambda f: f.tensors.append(Tensor("unused.weight", [3], T_F32, struct.pack("<3f", 1, 2, 3)))))
put("ok_trailing_bytes.gguf", "ok", "bytes after the last tensor",
    changed(lambda f: setattr(f, "tail", b"trailing" * 5)))
put("ok_last_tensor_unpadded.gguf", "ok",
    "the file ends with the last tensor's last byte, without its padding (144 bytes, alignment 32)",
    tiny(n_embd=36, n_head=6, n_kv=3).bytes()[:-16])
put_set("hp_ctx_0.gguf", "either", "context length 0: refuse it, or take the caller's",
        "llama.context_length", U32, 0)
put("ok_no_alignment_key.gguf", "ok", "alignment left out: 32", delkv(tiny(), "general.alignment"))
put("ok_no_freq_base.gguf", "ok", "RoPE base left out: 10000", delkv(tiny(), "llama.rope.freq_base"))
put("ok_untied_output.gguf", "ok", "output matrix of its own", tiny(untie=True))

if __name__ == "__main__":
    emit(sys.argv[1], F)
