"""The baseline of the bare model: tokenizer and graph in a loop, without any of the product's code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER, GRAPH_FILE, TOKEN_WINDOW
from numpy.typing import NDArray
from tokenizers import Tokenizer

Vectors = NDArray[np.float32]


class BareModel:
    """The graph that the product runs, one text a call, on `threads` threads."""

    def __init__(self, threads: int) -> None:
        # Imported behind the package, which keeps it from reporting to its maker.
        import onnxruntime  # type: ignore[import-untyped]  # has no annotations

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = str(Path(DEFAULT_MODEL_FOLDER) / GRAPH_FILE)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(Path(DEFAULT_MODEL_FOLDER) / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKEN_WINDOW)
        self._threads = ThreadPoolExecutor(threads, "bare") if threads > 1 else None

    def embed(self, texts: list[str]) -> Vectors:
        """Return the embeddings of texts (n, dim), each of length 1."""
        run = map if self._threads is None else self._threads.map
        return np.stack(list(run(self._one, texts)))

    def _one(self, text: str) -> Vectors:
        tokens = np.array([self._tokenizer.encode(text).ids], np.int64)
        vector: Vectors = self._session.run(None, {"input_ids": tokens})[0][0]
        return vector / np.linalg.norm(vector)
