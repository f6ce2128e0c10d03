#!/usr/bin/env python3
"""make_block_vectors.py: writes block_vectors.json beside itself: rows of every weight format, special and random, and the
fp32 values that the PyPI package gguf decodes them to (needs gguf and numpy; the tests need only its result).
row and values are hex; values are fp32, lowest byte first."""
import json
import os
import random
import struct

import gguf
import numpy

random.seed(20240229)
SCALES = {"zero": 0x0000, "negative zero": 0x8000, "smallest subnormal": 0x0001, "negative subnormal": 0x83FF,
          "smallest normal": 0x0400, "one": 0x3C00, "minus a third": 0xB555, "largest": 0x7BFF, "most negative": 0xFBFF}


def half():
    """the bits of a finite half"""
    while True:
        bits = random.getrandbits(16)
        if bits & 0x7C00 != 0x7C00:
            return bits


def scales():
    """every special scale, then random ones"""
    yield from SCALES.items()
    for i in range(8):
        yield f"random {i}", half()


def rows(kind):
    if kind == "F32":
        special = [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF, 0xFF800000, 0x7F800000, 0x7FC00001]
        yield "special", struct.pack("<8I", *special)
        yield "random", random.randbytes(4 * 32)
    elif kind in ("F16", "BF16"):
        nan = 0x7E01 if kind == "F16" else 0x7FC1
        infinity = 0x7C00 if kind == "F16" else 0x7F80
        special = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, infinity, infinity | 0x8000, nan]
        yield "special", struct.pack(f"<{len(special)}H", *special)
        for i in range(4):
            yield f"random {i}", struct.pack("<32H", *(half() for _ in range(32)))
    elif kind == "Q8_0":
        for name, d in scales():
            yield name, struct.pack("<H", d) + random.randbytes(32)
        yield "all -128", struct.pack("<H", 0xBC00) + b"\x80" * 32
        yield "two blocks", b"".join(struct.pack("<H", half()) + random.randbytes(32) for _ in range(2))
    elif kind == "Q4_0":
        for name, d in scales():
            yield name, struct.pack("<H", d) + random.randbytes(16)
        yield "ramp", struct.pack("<H", 0x3C00) + bytes(range(0x00, 0x100, 0x11))
        yield "two blocks", b"".join(struct.pack("<H", half()) + random.randbytes(16) for _ in range(2))
    elif kind == "Q4_1":
        for name, d in scales():
            yield name, struct.pack("<HH", d, half()) + random.randbytes(16)
        for name, m in SCALES.items():
            yield "minimum " + name, struct.pack("<HH", half(), m) + random.randbytes(16)
        yield "two blocks", b"".join(struct.pack("<HH", half(), half()) + random.randbytes(16) for _ in range(2))


cases = []
for kind in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"):
    for name, row in rows(kind):
        data = numpy.frombuffer(row, numpy.uint8)
        values = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind]).astype("<f4")
        cases.append({"format": kind.lower(), "name": name, "row": row.hex(), "values": values.tobytes().hex()})

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "block_vectors.json")
with open(path, "w", encoding="ascii") as file:
    file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
print(len(cases), "rows")
