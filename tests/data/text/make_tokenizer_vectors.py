#!/usr/bin/env python3
"""Writes tokenizer_vectors.json: a small byte-level BPE vocabulary, and what the `tokenizers` package makes of awkward
texts with each of the four pre-tokenizers, with and without control tokens; and conversations as Jinja renders them.

    pip install tokenizers jinja2 && python3 make_tokenizer_vectors.py > tokenizer_vectors.json
"""
import json
import random

import jinja2
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE

CORPUS = """The quick brown fox jumps over the lazy dog, and it's said that they'll never catch him!! We've tried 12 times.
You are a helpful assistant. I'm sure she'd say: "Don't!" -- they're 100% right, aren't they?? system user assistant
for (int i = 0; i < 1000; ++i) {\n    total += values[i];\n}\n\n\treturn total;\r\nNaïve café déjà-vu, größer, 東京 и привет мир.
""" * 8
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>"]
USER_DEFINED = ["<tool", "<tool_call>", "    "]
NO_TOKEN = [0x13, 0xf5, 0xff]  # bytes left out of the alphabet
NO_MERGE = ["Ġxyzzy", "qqq", "...", "77"]  # tokens that no merge makes: only a whole piece can be one of them

LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def pre_tokenizer(name):
    if name == "gpt-2":
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    pattern = LLAMA if name == "llama-bpe" else QWEN
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated", invert=False),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_map():
    own = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [b for b in range(256) if b not in own]
    return {b: chr(b) for b in own} | {b: chr(256 + i) for i, b in enumerate(others)}


def train():
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizer("gpt-2")
    tokenizer.train_from_iterator([CORPUS], trainers.BpeTrainer(
        vocab_size=560, initial_alphabet=sorted(byte_map().values()), show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    gone = {byte_map()[b] for b in NO_TOKEN}
    learnt = [t for t in sorted(model["vocab"], key=model["vocab"].get) if t not in gone]
    merges = [tuple(m) if not isinstance(m, str) else tuple(m.split(" ")) for m in model["merges"]]
    tokens = CONTROL + learnt + NO_MERGE + USER_DEFINED
    types = [3] * len(CONTROL) + [1] * (len(learnt) + len(NO_MERGE)) + [4] * len(USER_DEFINED)
    return tokens, types, merges


def build(name, tokens, merges, special):
    vocab = {t: i for i, t in enumerate(tokens)}
    tokenizer = Tokenizer(BPE(vocab=vocab, merges=merges, ignore_merges=name == "llama-bpe"))
    tokenizer.pre_tokenizer = pre_tokenizer(name)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in USER_DEFINED])
    if special:
        tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in CONTROL])
    return tokenizer


TEXTS = [
    "", " ", "  ", "a", "The quick brown fox", "it's IT'S It'S i'm I'M they'll THEY'LL we've WE'VE 'd 'D 'tis 'ſ can'ſ",
    "don't''s '' 's's", "1", "12", "123", "1234", "1234567 12 1", " 12", "a12b345c", "٣٤٥ ½ Ⅻ ²³", "77", "777", " 77 7",
    "\n", "\n\n", " \n", "\n ", "  \n  \n  x", "a\r\nb\r\n\r\nc", "x \n", "x  \n\n\n  y", "\t\tif (x) {\n\t\t\ty();\n\t}", "   ",
    "    indented", "        twice", "a    b     c", "trailing   ", " \t \t ", "!!", "!\x13!", "\x13", "a\x13b", "... ...... .", "(...)\n\n",
    "hello!!!\n\n\nworld", "--\r\n--", "a\u00a0b", "\u00a0\u00a0x", "a\u3000\u3000b", "x\u0085y \u0085", "a\u180eb \u180e", "\u2028a\u2029b",
    "\u200bzero\u200dwidth", "\ufeffbom", "e\u0301 n\u0303 a\u0300", "\u0301alone", "Naïve café größer", "東京タワー へ", "привет, мир!",
    "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "😀😃 👨‍👩‍👧‍👦 🇩🇪", "$€£ x+y=z ∑∏", "_snake_case CamelCase kebab-case", "http://a.b/c?d=e&f=1#g",
    "xyzzy", " xyzzy", " xyzzyx", "qqq", "qqqq", " qqq", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_end|>b", "<|im_end", "<<|im_end|>>",
    "<|endoftext|><|endoftext|>", " <s> <s", "<tool_call>x<tool>y<tool_cal", "<tool_call", "<<tool_call>>", "<|im_start|><tool_call>    <|im_end|>",
    "ſtreet 'ſ K'K", "\x00\x01\x7f", "a\x00b",
]


def random_texts(count):
    rng = random.Random(7)
    alphabets = ["ab 's\n", " \t\r\n\u00a0\u3000x1", "aZ9é東😀'.- ", "'sStTmMlLdDrRvVeE ", "0123456789٣½ a,", "!?<>|_= \nxy"]
    return ["".join(rng.choice(rng.choice(alphabets)) if rng.random() < 0.2 else rng.choice(a) for _ in range(rng.randint(3, 40)))
            for a in alphabets for _ in range(count)]


SMOLLM2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI "
           "assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
           "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
QWEN2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou\\'re a helpful "
         "assistant.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
         "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
QWEN25 = ("{%- if messages[0]['role'] == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n"
          "{%- else %}\n    {{- '<|im_start|>system\\nYou are Q.<|im_end|>\\n' }}\n{%- endif %}\n{%- for message in messages %}\n    "
          "{%- if (message.role == \"user\") or (message.role == \"system\" and not loop.first) or message.role == \"assistant\" %}\n        "
          "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n{%- endfor %}\n"
          "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n")
BOS = ("{{bos_token}}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
       "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
CHATS = [
    [("user", "Hello")], [("system", "Be brief."), ("user", "Hello")], [("user", ""), ("assistant", "x"), ("user", "\n\n  12 ")],
    [("user", "a"), ("assistant", "b\n"), ("user", " c"), ("assistant", "d")], [("user", "one"), ("system", "late"), ("user", "two")],
]


def main():
    tokens, types, merges = train()
    texts = TEXTS + random_texts(8)
    result = {"note": "Written by make_tokenizer_vectors.py.", "tokenizers": tokenizers.__version__, "tokens": tokens, "types": types,
              "merges": [" ".join(m) for m in merges], "cases": [], "chats": []}
    for name in ["gpt-2", "smollm", "llama-bpe", "qwen2"]:
        plain, special = build(name, tokens, merges, False), build(name, tokens, merges, True)
        for text in texts:
            case = {"pre": name, "text": text, "ids": special.encode(text, add_special_tokens=False).ids}
            as_text = plain.encode(text, add_special_tokens=False).ids
            if as_text != case["ids"]:
                case["ids_as_text"] = as_text
            result["cases"].append(case)
    special = build("qwen2", tokens, merges, True)
    for template in [SMOLLM2, QWEN2, QWEN25, BOS]:
        jinja = jinja2.Environment().from_string(template)
        for chat in CHATS:
            for prompt in [False, True]:
                text = jinja.render(messages=[{"role": r, "content": c} for r, c in chat], add_generation_prompt=prompt, bos_token="<s>")
                result["chats"].append({"template": template, "messages": chat, "add_generation_prompt": prompt, "text": text,
                                        "ids": special.encode(text, add_special_tokens=False).ids})
    print(json.dumps(result, ensure_ascii=True, separators=(",", ":")))


main()
