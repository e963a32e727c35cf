"""Synthetic lm-eval samples of any size, seeded, for the benchmarks of reading."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATE = "2026-01-02T03-04-05.678"
_PARTS = ("ka", "lo", "men", "tir", "sa", "vo", "ne", "dul", "phi", "or", "ex", "un", "qua", "2", "10", "x^2", '"no"')
_FOREIGN = ("é", "ß", "∑", "北")
_ENDS = (" ", " ", " ", " ", " ", ", ", ". ", ".\n", "? ")


def write_samples(folder: Path, lines: int, seed: int = 8, text: tuple[int, int] = (300, 800)) -> Path:
    """Write ``samples_*.jsonl`` of `lines` documents, each once, and ``results_*.json``; return the samples' path.

    A row takes some 2 kB with the `text` (fewest and most characters of a question) of the default.
    """
    path = folder / f"samples_synthetic_{DATE}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in _rows(lines, random.Random(seed), text):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")  # as lm-eval writes
    results = {"results": {}, "configs": {}, "model_name": "org/model"}
    (folder / f"results_{DATE}.json").write_text(json.dumps(results))
    return path


def _rows(lines: int, rng: random.Random, text: tuple[int, int]) -> Iterator[dict[str, Any]]:
    source = prose(rng)
    for number in range(lines):
        start = rng.randrange(len(source) - text[1])
        question = source[start : start + rng.randint(*text)]
        options = [source[start + k : start + k + 12] for k in (5, 25, 45, 65)]
        answer, given = rng.randrange(4), rng.randrange(4)
        doc = {"question": question, "choices": options, "answer": answer, "subject": "synthetic", "idx": number}
        said = f"The answer is ({'ABCD'[given]}) {options[given]}"
        asked = f"Question: {question}\nA. {options[0]}\nB. {options[1]}\nC. {options[2]}\nD. {options[3]}\nAnswer:"
        yield {
            "doc_id": number,
            "doc": doc,
            "target": "ABCD"[answer],
            "arguments": {"gen_args_0": {"arg_0": asked, "arg_1": {"until": ["\n\n"], "max_gen_toks": 256}}},
            "resps": [[said]],
            "filtered_resps": ["ABCD"[given]],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": _hash(f"{number}{question}"),
            "prompt_hash": _hash(asked),
            "target_hash": _hash("ABCD"[answer]),
            "acc": float(answer == given),
        }


def prose(rng: random.Random) -> str:
    """Return some 400,000 characters of words and sentences that mean nothing."""
    words = ["".join(rng.choices(_PARTS, k=rng.randint(1, 4))) + rng.choice(_ENDS) for _ in range(50_000)]
    for place in range(0, len(words), 500):  # every tenth line or so is not plain ASCII, as in logs
        words[place] = rng.choice(_FOREIGN)
    return "".join(words)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
