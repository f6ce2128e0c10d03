"""A raw GGUF v3 writer for test files: every count, length, type and offset can be overridden, so that files
which a proper writer refuses can be made too. Standard library only, so the bytes are the same everywhere."""
import json
import os
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FMT = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B", U64: "<Q",
       I64: "<q", F64: "<d"}
T_F32, T_F16, T_Q4_0, T_Q4_1, T_Q8_0, T_BF16 = 0, 1, 2, 3, 8, 30


class Raw:
    """bytes put in the file as they are"""

    def __init__(self, b):
        self.b = b


def s(b, n=None):
    """a string: 8-byte length, bytes; n overrides the length that is written"""
    b = b if isinstance(b, bytes) else b.encode()
    return struct.pack("<Q", len(b) if n is None else n) + b


def kv(key, t, v, et=None, n=None, tcode=None, etcode=None, keylen=None):
    """a key and its value of type t; et is an array's element type, n its count; tcode, etcode, keylen override"""
    o = s(key, keylen) + struct.pack("<I", t if tcode is None else tcode)
    if isinstance(v, Raw):
        return o + v.b
    if t == STR:
        return o + s(v)
    if t != ARR:
        return o + struct.pack(FMT[t], v)
    o += struct.pack("<IQ", et if etcode is None else etcode, len(v) if n is None else n)
    return o + b"".join(s(x) if et == STR else struct.pack(FMT[et], x) for x in v)


class Rng:
    """splitmix64: floats that never depend on a library's version"""

    def __init__(self, seed):
        self.x = seed & (2**64 - 1)

    def u64(self):
        self.x = (self.x + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = self.x
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        return z ^ (z >> 31)

    def f(self, a=-1.0, b=1.0):
        return a + (b - a) * ((self.u64() >> 40) / float(1 << 24))


class Tensor:
    """ov overrides what is written: rawname, namelen, dims, n_dims, typ, offset"""

    def __init__(self, name, dims, typ=T_F32, data=None):
        self.name, self.dims, self.typ, self.data, self.ov = name, list(dims), typ, data, {}


class File:
    def __init__(self, kvs, tensors, align=32):
        self.kvs, self.tensors, self.align = list(kvs), list(tensors), align
        self.magic, self.version = b"GGUF", 3
        self.n_kv = self.n_t = None  # override the counts
        self.tail = b""              # after the data

    def bytes(self):
        n_t = len(self.tensors) if self.n_t is None else self.n_t
        n_kv = len(self.kvs) if self.n_kv is None else self.n_kv
        hdr = self.magic + struct.pack("<IQQ", self.version, n_t, n_kv)
        body = b"".join(k if isinstance(k, bytes) else kv(*k[:3], **(k[3] if len(k) > 3 else {}))
                        for k in self.kvs)
        off, infos, blobs = 0, b"", []
        for t in self.tensors:
            dims = t.ov.get("dims", t.dims)
            infos += s(t.ov.get("rawname", t.name), t.ov.get("namelen"))
            infos += struct.pack("<I", t.ov.get("n_dims", len(dims)))
            infos += b"".join(struct.pack("<Q", d & (2**64 - 1)) for d in dims)
            infos += struct.pack("<IQ", t.ov.get("typ", t.typ), t.ov.get("offset", off) & (2**64 - 1))
            blobs.append((off, t.data))
            off += (len(t.data) + self.align - 1) // self.align * self.align
        out = hdr + body + infos
        out += b"\0" * (-len(out) % self.align)
        data = bytearray(off)
        for p, d in blobs:
            data[p:p + len(d)] = d
        return out + bytes(data) + self.tail


def f32s(r, n, scale):
    return struct.pack(f"<{n}f", *[r.f() * scale for _ in range(n)])


def bytemap():
    """the printable character that stands for each byte in a byte-level vocabulary"""
    bs = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    cs = bs[:]
    n = 0
    for b in range(256):
        if b not in bs:
            bs.append(b)
            cs.append(256 + n)
            n += 1
    return {b: chr(c) for b, c in zip(bs, cs)}


def tiny(n_embd=32, n_head=4, n_kv=2, hd=None, n_ff=64, n_layer=1, vocab_extra=0, seed=1, base=10000.0, eps=1e-5,
         ctx=128, scale=0.3, align=32, untie=False, bf16=False):
    """A whole small llama-architecture model, matrices in F32 or BF16, with a byte-level vocabulary:
    0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|>, 3..258 the 256 bytes, 259 'Ġt', 260 'he', 261 'Ġthe', fillers."""
    r = Rng(seed)
    hd = hd or n_embd // n_head
    if scale is None:
        scale = 2.6 / n_embd ** 0.5  # attention and FFN outweigh the embedding
    m = bytemap()
    toks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + [m[b] for b in range(256)] + ["Ġt", "he", "Ġthe"]
    toks += [f"filler{i}" for i in range(vocab_extra)]
    types = [3, 3, 3] + [1] * (len(toks) - 3)
    merges = ["Ġ t", "h e", "Ġt he"]
    V = len(toks)
    A = "llama"
    kvs = [("general.architecture", STR, A), ("general.name", STR, "tiny test model"),
           ("general.alignment", U32, align), (A + ".block_count", U32, n_layer), (A + ".context_length", U32, ctx),
           (A + ".embedding_length", U32, n_embd), (A + ".feed_forward_length", U32, n_ff),
           (A + ".attention.head_count", U32, n_head), (A + ".attention.head_count_kv", U32, n_kv),
           (A + ".rope.freq_base", F32, base), (A + ".attention.layer_norm_rms_epsilon", F32, eps),
           (A + ".vocab_size", U32, V), (A + ".rope.dimension_count", U32, hd),
           ("tokenizer.ggml.model", STR, "gpt2"), ("tokenizer.ggml.pre", STR, "gpt-2"),
           ("tokenizer.ggml.tokens", ARR, toks, dict(et=STR)),
           ("tokenizer.ggml.token_type", ARR, types, dict(et=I32)),
           ("tokenizer.ggml.merges", ARR, merges, dict(et=STR)), ("tokenizer.ggml.bos_token_id", U32, 1),
           ("tokenizer.ggml.eos_token_id", U32, 2), ("tokenizer.ggml.add_bos_token", BOOL, 0)]
    if hd * n_head != n_embd:
        kvs += [(A + ".attention.key_length", U32, hd), (A + ".attention.value_length", U32, hd)]
    T = []

    def add(name, dims, sc=None):
        """random weights of that scale, or a norm's around 1"""
        c = 1
        for d in dims:
            c *= d
        data = struct.pack(f"<{c}f", *[1.0 + 0.1 * r.f() for _ in range(c)]) if sc is None else f32s(r, c, sc)
        add_data(name, dims, data)

    def add_data(name, dims, data):
        """F32 values, of which BF16 has the upper halves"""
        if bf16 and len(dims) == 2:
            upper = b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
            T.append(Tensor(name, dims, T_BF16, upper))
        else:
            T.append(Tensor(name, dims, T_F32, data))

    add("token_embd.weight", [n_embd, V], 1.0)
    for l in range(n_layer):
        p = f"blk.{l}."
        add(p + "attn_norm.weight", [n_embd])
        add(p + "attn_q.weight", [n_embd, n_head * hd], scale)
        add(p + "attn_k.weight", [n_embd, n_kv * hd], scale)
        add(p + "attn_v.weight", [n_embd, n_kv * hd], scale)
        add(p + "attn_output.weight", [n_head * hd, n_embd], scale)
        add(p + "ffn_norm.weight", [n_embd])
        add(p + "ffn_gate.weight", [n_embd, n_ff], scale)
        add(p + "ffn_up.weight", [n_embd, n_ff], scale)
        add(p + "ffn_down.weight", [n_ff, n_embd], scale)
    add("output_norm.weight", [n_embd])
    if untie:  # rows of the three control tokens are zero, so that greedy never ends early
        data = b"\0" * (12 * n_embd) + f32s(r, n_embd * (V - 3), 5.2 / n_embd ** 0.5)
        add_data("output.weight", [n_embd, V], data)
    return File(kvs, T, align)


def setkv(f, key, *new):
    """replaces the entry `key` by (key, *new), or adds it"""
    for i, k in enumerate(f.kvs):
        if not isinstance(k, bytes) and k[0] == key:
            f.kvs[i] = (key, *new)
            return f
    f.kvs.append((key, *new))
    return f


def delkv(f, key):
    f.kvs = [k for k in f.kvs if isinstance(k, bytes) or k[0] != key]
    return f


def ten(f, name):
    return next(t for t in f.tensors if t.name == name)


def emit(folder, files):
    """files: [(name, expect, why, bytes)] -> files and manifest.json"""
    os.makedirs(folder, exist_ok=True)
    manifest = []
    for name, expect, why, b in files:
        with open(os.path.join(folder, name), "wb") as o:
            o.write(b)
        manifest.append({"file": name, "bytes": len(b), "expect": expect, "why": why})
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as o:
        json.dump(manifest, o, indent=1, ensure_ascii=False)
