#!/usr/bin/env python3
"""Writes the character tables of the tokenizer, as the reference tokenizer treats every character.

    /tmp/venv/bin/pip install tokenizers
    /tmp/venv/bin/python scripts/model/tables.py

Asking the reference library for each character keeps its (older) view of Unicode, which the model was trained
with; category tables of a newer Unicode would differ in some 500 rare characters.
"""

import pathlib
import textwrap

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TARGET = pathlib.Path(__file__).resolve().parents[2] / "crates/ibid-core/src/embed/tables.rs"
SURROGATES = range(0xD800, 0xE000)


def ranges(test):
    found, start = [], None
    for code in range(1, 0x110001):
        holds = code < 0x110000 and code not in SURROGATES and test(chr(code))
        if holds and start is None:
            start = code
        if not holds and start is not None:
            found.append((start, code - 1))
            start = None
    return found


def table(name, comment, entries):
    text = " ".join(f"({first:#x},{last:#x})," for first, last in entries)
    lines = "\n".join(textwrap.wrap(text, 106, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False))
    head = f"\n/// {comment}\n#[rustfmt::skip]\npub(super) static {name}: [(u32, u32); {len(entries)}] = [\n"
    return f"{head}{lines}\n];\n"


def main():
    cleaner = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    stripper = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    splitter = BertPreTokenizer()
    dropped = lambda normalizer: ranges(lambda c: normalizer.normalize_str(f"a{c}b") == "ab")
    alone = lambda c: [piece for piece, _ in splitter.pre_tokenize_str(f"a{c}b")] == ["a", c, "b"]
    punctuation = ranges(lambda c: not c.isascii() and alone(c))
    TARGET.write_text(
        "//! Character tables of the tokenizer; written by `scripts/model/tables.py`.\n\n"
        "#![allow(clippy::unreadable_literal)]\n"
        + table("CONTROL", "Control, format and private characters, which are no part of a text.", dropped(cleaner))
        + table("MARKS", "Accents and other marks that take no room of their own.", dropped(stripper))
        + table("PUNCTUATION", "Punctuation beyond ASCII: each character is a word of its own.", punctuation)
    )


if __name__ == "__main__":
    main()
