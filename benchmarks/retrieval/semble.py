"""The baseline of semble, which runs in an environment of its own and gets a model made of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER
from foveal.daemon.index.store import Reader

from .baselines import DEPTH, BaselineMissing, Ranked
from .embedding import Embedder
from .judged import Project

WORKER = Path(__file__).parent / "semble_worker.py"

VERSION = "0.7.0"


class Semble:
    """semble's own index and search, as they are without settings; files by their best chunk.

    Its own model, trained for code, is fetched from a host that a package index doesn't have. In its place
    stands a table of the same kind (model2vec) made of the bundled model: each token of its vocabulary
    embedded once. That table is a poor one, so semble is also asked with its words and ranking alone.
    """

    def __init__(self, python: Path, folder: Path, embedder: Embedder, *, words_only: bool = False) -> None:
        self.name = f"semble {VERSION}, {'words only' if words_only else 'static MiniLM'}"
        self.version = "2"
        self._alpha = 0.0 if words_only else None
        self._python = python
        self._folder = folder
        self._embedder = embedder

    def rank(self, project: Project, reader: Reader) -> Ranked:
        """Answer the questions of a project in one process."""
        request = {
            "root": str(project.root.resolve()),
            "questions": [question.text for question in project.questions],
            "depth": DEPTH,
            "alpha": self._alpha,
        }
        answer = self._run("search", request, self._model())
        return Ranked(answer["rankings"], answer["ready_s"], answer["query_ms"])

    def chunks(self, root: Path, questions: Sequence[str], depth: int) -> list[list[tuple[str, int, int]]]:
        """Return the best chunks for each question: path, first and last line. Raises `BaselineMissing`."""
        request = {
            "root": str(root.resolve()),
            "questions": list(questions),
            "depth": depth,
            "alpha": self._alpha,
        }
        found = self._run("search", request, self._model())["chunks"]
        return [[(path, first, last) for path, first, last in ranked] for ranked in found]

    def _model(self) -> Path:
        """Return the folder of the static model, made if it isn't there."""
        target = self._folder / "model"
        if (target / "model.safetensors").is_file():
            return target
        self._folder.mkdir(parents=True, exist_ok=True)
        self._run("check", {}, target)
        tokenizer = Path(DEFAULT_MODEL_FOLDER, "tokenizer.json").read_text(encoding="utf-8")
        vocabulary: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
        tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
        print(f"  embedding {len(tokens):,} tokens for semble", file=sys.stderr)
        table = self._embedder.embed_texts([token.removeprefix("##") for token in tokens])
        np.save(self._folder / "tokens.npy", table)
        (self._folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
        self._run("make", {"folder": str(self._folder), "target": str(target)}, target)
        return target

    def _run(self, command: str, request: dict[str, object], model: Path) -> dict[str, Any]:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._folder),
            "SEMBLE_MODEL_NAME": str(model),
            "SEMBLE_CACHE_LOCATION": str(self._folder / "cache"),
            "HF_HUB_OFFLINE": "1",
        }
        # Isolated, so that nothing of this folder is imported in place of its packages.
        arguments = [str(self._python), "-I", str(WORKER), command, VERSION]
        try:
            done = subprocess.run(
                arguments,
                input=json.dumps(request),
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
        except OSError as error:
            raise BaselineMissing(f"semble {VERSION} can't run with {self._python}: {error}") from error
        if done.returncode:
            reason = " / ".join(done.stderr.strip().splitlines()[-3:])
            raise BaselineMissing(f"semble {VERSION} can't run with {self._python}: {reason}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
