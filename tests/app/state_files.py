"""Makes the files of a state folder, each with the store that owns it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from foveal.daemon.context.scopes import ScopeStore
from foveal.daemon.core.system import System
from foveal.daemon.embedding import vectors
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.vectors import VectorIndex
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.memory.records import Draft
from foveal.daemon.memory.service import Pool
from foveal.daemon.rules.service import ItemStore, draft_of
from foveal.daemon.sessions.records import Scope
from foveal.daemon.sessions.service import SessionStore

SYSTEM = System()
DIM = 32
MODEL = "model"
ROTATE_BYTES = 4_000


def _make_pool(folder: Path) -> None:
    pool = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    for number in range(60):
        pool.graft([Draft(f"decision {number}", "a", "s", "why " * (number % 20))])


def _make_session(folder: Path) -> None:
    store = SessionStore(str(folder), SYSTEM)
    for name in ("one", "other"):
        store.create("/srv/shop", (), session_id=name, name="a name")


def _make_items(folder: Path) -> None:
    store = ItemStore(str(folder / "items.json"), SYSTEM)
    for number in range(10):
        fields = {"type": "rule", "name": f"rule {number}", "text": "Be short.", "include": "always"}
        store.put(draft_of(fields))


def _make_trust(folder: Path) -> None:
    trusted = {"version": 1, "trusted": {"/srv/shop": {"foveal.toml": ["ab" * 32]}}}
    (folder / "trusted.json").write_text(json.dumps(trusted))
    record = {"path": "/srv/x", "section": "", "digest": "cd" * 32, "at": "2026-01-01T00:00:00Z"}
    (folder / "approvals.json").write_text(json.dumps({"version": 1, "approved": [record]}))


def _make_lexical(folder: Path) -> None:
    writer = LexicalWriter.create(str(folder / "lexical"))
    for number in range(40):
        body = ["session", f"word{number}", *(["login"] if number % 2 else ["password"])]
        writer.replace(number, [LexicalDocument(number, "function", body, ["src", f"f{number}"], ["Name"])])
        if number % 20 == 19:
            writer.commit()
    writer.close()


def _make_scopes(folder: Path) -> None:
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    for number in range(300):
        scope = Scope(f"s_{number}", "/srv/shop", f"i{number}", focus_paths=("a.py",), constraints=("short",))
        store.write({scope.id: scope})
    store.close()


def _make_embeddings(folder: Path) -> None:
    store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM)
    chance = np.random.default_rng(1)
    digests = [number.to_bytes(16, "big") for number in range(400)]
    store.put(MODEL, digests, chance.standard_normal((400, DIM), dtype=np.float32))
    store.close()


vectors.RECENT_VECTORS = 64  # so that few vectors make a file


def _make_vectors(folder: Path) -> None:
    index = VectorIndex(str(folder), DIM, MODEL, SYSTEM)
    chance = np.random.default_rng(2)
    index.add(range(1, 301), chance.standard_normal((300, DIM), dtype=np.float32))
    index.save()


MAKERS: Mapping[str, Callable[[Path], None]] = {
    "session": _make_session,
    "items": _make_items,
    "trust": _make_trust,
    "scopes": _make_scopes,
    "embeddings": _make_embeddings,
    "lexical": _make_lexical,
    "pool": _make_pool,
    "vectors": _make_vectors,
}
"""What makes files of a kind in a folder."""
