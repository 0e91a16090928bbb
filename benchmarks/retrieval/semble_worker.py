"""The process in semble's environment. It imports nothing of this package; requests and answers are JSON.

$ SEMBLE_MODEL_NAME=FOLDER PYTHON -I semble_worker.py search 0.7.0 < request
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

DIMENSIONS = 256
SIF = 1e-4
"""As in model2vec's own `distill`, whose code needs torch: principal components of the table, and a token
weighs SIF / (SIF + its share of all text), which is taken from its place in the vocabulary (Zipf). On 67
questions that gave .52 NDCG@10 where the table as it is gave .43."""


def main() -> int:
    """Carry out the command that is named; refuse another version of semble."""
    command, wanted = sys.argv[1:]
    found = version("semble")
    if found != wanted:
        raise SystemExit(f"semble {found} is installed, not {wanted}")
    print(json.dumps({"check": check, "make": make, "search": search}[command](json.load(sys.stdin))))
    return 0


def check(request: dict[str, Any]) -> dict[str, Any]:
    """Do nothing: what would keep the other commands from running has been seen by now."""
    return {}


def make(request: dict[str, Any]) -> dict[str, Any]:
    """Save a static model of the table `tokens.npy`, a row for each token of `tokenizer.json`."""
    import numpy as np
    from model2vec import StaticModel  # type: ignore[import-not-found]  # only in semble's environment
    from tokenizers import Tokenizer

    folder = Path(request["folder"])
    table = np.load(folder / "tokens.npy")
    centred = table - table.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    share = 1 / np.arange(2, len(table) + 2)
    weights = SIF / (SIF + share / share.sum())
    vectors = (centred @ components[:DIMENSIONS].T) * weights[:, None]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = StaticModel(vectors.astype(np.float32), tokenizer, normalize=True)
    model.save_pretrained(request["target"])
    return {}


def search(request: dict[str, Any]) -> dict[str, Any]:
    """Index a folder and answer questions: the chunks that are found and their files, in their order.

    `alpha` is the weight of the vectors, None for what semble chooses.
    """
    from semble import SembleIndex  # type: ignore[import-not-found]  # only in its own environment

    started = time.perf_counter()
    index = SembleIndex.from_path(request["root"])
    ready = time.perf_counter() - started
    rankings, chunks, times = [], [], []
    for question in request["questions"]:
        started = time.perf_counter()
        found = index.search(question, top_k=request["depth"], alpha=request["alpha"])
        times.append((time.perf_counter() - started) * 1000)
        chunks.append([(one.chunk.file_path, one.chunk.start_line, one.chunk.end_line) for one in found])
        rankings.append(list(dict.fromkeys(result.chunk.file_path for result in found)))
    return {"rankings": rankings, "chunks": chunks, "ready_s": ready, "query_ms": times}


if __name__ == "__main__":
    sys.exit(main())
