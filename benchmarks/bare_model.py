"""The baseline of the bare model: tokenizer and graph in a loop, without any of the product's code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from foveal.daemon.core.system import System
from foveal.daemon.embedding.model_cache import GRAPH_FILE, TOKEN_WINDOW, open_model_folder
from numpy.typing import NDArray
from tokenizers import Tokenizer

Vectors = NDArray[np.float32]


class BareModel:
    """The graph that the product runs, one text a call, on `threads` threads."""

    def __init__(self, cache: Path, threads: int) -> None:
        # Imported behind the package, which keeps it from reporting to its maker.
        import onnxruntime  # type: ignore[import-untyped]  # has no annotations

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        with open_model_folder(str(cache), lambda *step: None, System()) as folder:
            graph = str(Path(folder.path) / GRAPH_FILE)
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(Path(folder.path) / "tokenizer.json"))
            self._pools = not folder.rebuilt
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKEN_WINDOW)
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._threads = ThreadPoolExecutor(threads, "bare") if threads > 1 else None

    def embed(self, texts: list[str]) -> Vectors:
        """Return the embeddings of texts (n, dim), each of length 1."""
        run = map if self._threads is None else self._threads.map
        return np.stack(list(run(self._one, texts)))

    def _one(self, text: str) -> Vectors:
        encoding = self._tokenizer.encode(text)
        given = {
            "input_ids": np.array([encoding.ids], np.int64),
            "attention_mask": np.array([encoding.attention_mask], np.int64),
            "token_type_ids": np.array([encoding.type_ids], np.int64),
        }
        (out, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        vector: Vectors = out[0].mean(axis=0) if self._pools else out[0]
        return vector / np.linalg.norm(vector)
