"""The process that opens damaged files as a daemon does: a native library that crashes ends only it.

It is told a kind and a folder a line, and answers with what it found wrong, as JSON: python -m …opening.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from foveal.daemon.config.files import load_or_last, load_user_config
from foveal.daemon.context.scopes import ScopeStore
from foveal.daemon.core.errors import FovealError, NotFound, StateError
from foveal.daemon.core.state_folder import bring_up, check_version
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.exact import as_ids
from foveal.daemon.embedding.vector_file import UnusableVectors, read_vector_file, write_vector_file
from foveal.daemon.embedding.vector_state import Graph, GraphBuilder
from foveal.daemon.index.lexical_files import LexicalDamaged
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.lexing import LexicalDocument, LexicalWriter
from foveal.daemon.index.store import Reader, Store
from foveal.daemon.memory.experience import Draft
from foveal.daemon.memory.pool import Pool
from foveal.daemon.privacy.trust import TrustStore
from foveal.daemon.rules.approvals import Approvals
from foveal.daemon.rules.item_store import ItemStore, draft_of
from foveal.daemon.sessions.request_log import Ledger
from foveal.daemon.sessions.request_log_file import LedgerFile
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.session_store import SessionStore

SYSTEM = System()
DIM = 32
MODEL = "model"
VECTORS = 300
SCOPES = 20
DRAFTS = 60
ROTATE_BYTES = 4_000
TERMS = {"session": 1.0, "login": 1.0, "password": 1.0}


class Wrong(Exception):
    """A store lost what was whole, gave out what was damaged, or can't be used any more."""


# What is opened


def make_pool(folder: Path) -> None:
    """Make a pool of several files."""
    pool = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    for number in range(DRAFTS):
        pool.graft([Draft(f"decision {number}", "a", "s", "why " * (number % 20))])


def open_pool(folder: Path) -> None:
    """Check that each line which is as it was is there, and one that isn't is told."""
    lines = {line for path in folder.glob("experiences*.jsonl") for line in path.read_bytes().split(b"\n")}
    whole = set()
    for line in lines:
        try:
            fields = json.loads(line)
            whole.add(str(fields["decision"]))
        except (ValueError, KeyError, TypeError):
            continue
    pool = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    found = {one.decision for one in pool.list()[0]}
    statistics = pool.statistics()
    told = statistics.bad_lines + statistics.unknown_lines + statistics.repaired_tails
    expected = {f"decision {number}" for number in range(DRAFTS)}
    lost = (expected & whole) - found
    if len(lost) > told:
        raise Wrong(f"whole lines are lost: {sorted(lost)[:3]}")
    pool.graft([Draft("a new one", "a", "s")])
    again = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    if not found | {"a new one"} <= {one.decision for one in again.list()[0]}:
        raise Wrong("what was found, or what was added, is gone at the next start")


def make_session(folder: Path) -> None:
    """Make two sessions."""
    store = SessionStore(str(folder), SYSTEM)
    for name in ("one", "other"):
        store.create("/srv/shop", (), session_id=name, name="a name")


def open_session(folder: Path) -> None:
    """Check that a session which can't be used is told, and the other one is there."""
    store = SessionStore(str(folder), SYSTEM)
    found = 0
    for name in ("one", "other"):
        try:
            store.get(name)
            found += 1
        except (NotFound, StateError):
            continue
    store.list()
    if not found:
        raise Wrong("both sessions are gone")


def make_items(folder: Path) -> None:
    """Put items."""
    store = ItemStore(str(folder / "items.json"), SYSTEM)
    for number in range(10):
        fields = {"type": "rule", "name": f"rule {number}", "text": "Be short.", "include": "always"}
        store.put(draft_of(fields))


def open_items(folder: Path) -> None:
    """Items are there, or an error says what is wrong with them."""
    _or_state_error(ItemStore(str(folder / "items.json"), SYSTEM).load)


def make_trust(folder: Path) -> None:
    """Write what is trusted and approved."""
    trusted = {"version": 1, "trusted": {"/srv/shop": {"foveal.toml": ["ab" * 32]}}}
    (folder / "trusted.json").write_text(json.dumps(trusted))
    record = {"path": "/srv/x", "section": "", "digest": "cd" * 32, "at": "2026-01-01T00:00:00Z"}
    (folder / "approvals.json").write_text(json.dumps({"version": 1, "approved": [record]}))


def open_trust(folder: Path) -> None:
    """Nothing is trusted that wasn't, and what can't be used is told."""
    _or_state_error(lambda: TrustStore(str(folder / "trusted.json"), SYSTEM).of("/srv/shop"))
    _or_state_error(Approvals(str(folder / "approvals.json"), SYSTEM).load)


def make_version(folder: Path) -> None:
    """Mark a folder."""
    bring_up(str(folder), SYSTEM)


def open_version(folder: Path) -> None:
    """Check that a damaged mark counts as ours and is mended, and never as a newer one."""
    bring_up(str(folder), SYSTEM)
    mark = check_version(str(folder), SYSTEM)
    if mark is None or mark.problem:
        raise Wrong("the mark was not mended")


def make_config(folder: Path) -> None:
    """Write a configuration that was in force."""
    (folder / "config.toml").write_text('[daemon]\nlog_level = "debug"\n\n[context]\nmax_tokens = 5000\n')
    open_config(folder)


def open_config(folder: Path) -> None:
    """Check that a file which can't be used gives way to the last one that could."""
    path, last = str(folder / "config.toml"), str(folder / "config.last.toml")
    load_or_last(lambda place: load_user_config(place, SYSTEM), path, last, SYSTEM)


def make_scopes(folder: Path) -> None:
    """Write scopes, in the file and its log."""
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    for number in range(SCOPES):
        scope = Scope(f"s_{number}", "/srv/shop", f"i{number}", focus_paths=("a.py",), constraints=("short",))
        store.write({scope.id: scope})
    _as_killed(folder, store)


def open_scopes(folder: Path) -> None:
    """Scopes can be read and written, in a file that was set aside or not."""
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    scopes = store.load()
    if any(not isinstance(text, str) for scope in scopes for text in (scope.root, *scope.focus_paths)):
        raise Wrong("a scope has a field of another type")
    store.write({"s_new": Scope("s_new", "/srv/shop", "new")})
    store.close()
    again = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    if "s_new" not in {scope.id for scope in again.load()}:
        raise Wrong("a scope that was written is gone")
    again.close()


def open_requests(folder: Path) -> None:
    """Check that requests can be asked for, at the latest when the file was opened anew."""
    for attempt in range(3):
        try:
            file = LedgerFile(str(folder / "requests.sqlite"), SYSTEM)
            ledger = Ledger(file, SYSTEM)
            for session in ledger.counts():
                for summary in ledger.list(session):
                    ledger.get(session, summary.id)
            ledger.prune()
            return file.close()
        except (FovealError, ValueError, KeyError, TypeError) as error:
            if not isinstance(error, FovealError):
                raise Wrong(f"a record that can't be read raises {error!r}") from error
            if attempt == 2:
                raise Wrong(f"it stays unusable: {error}") from error
    return None


def make_embeddings(folder: Path) -> None:
    """Keep embeddings, in the file and its log."""
    store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM)
    chance = np.random.default_rng(1)
    digests = [number.to_bytes(16, "big") for number in range(VECTORS)]
    store.put(MODEL, digests[:200], chance.standard_normal((200, DIM), dtype=np.float32))
    store.close()
    store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM)
    store.put(MODEL, digests[200:], chance.standard_normal((100, DIM), dtype=np.float32))
    _as_killed(folder, store)


def open_embeddings(folder: Path) -> None:
    """Embeddings can be read and put, at the latest when the file was opened with a check."""
    for check in (False, True):
        try:
            store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM, check=check)
            for stored in store.rows(MODEL):
                if stored.matrix.shape != (len(stored.ids), DIM):
                    raise Wrong("vectors of another size")
            store.put(MODEL, [b"n" * 16], np.ones((1, store.dim(MODEL) or DIM), dtype=np.float32))
            store.statistics()
            return store.close()
        except (DatabaseError, ValueError) as error:
            if check:
                raise Wrong(f"it stays unusable: {error}") from error
    return None


def open_index(folder: Path) -> None:
    """Check that the writing side sets a damaged file aside, and the reading side then reads."""
    store = Store(str(folder), SYSTEM)
    store.close()
    reader = Reader(str(folder))
    try:
        with reader.snapshot():
            reader.load_files()
    finally:
        reader.close()


def make_lexical(folder: Path) -> None:
    """Index chunks in several segments."""
    writer = LexicalWriter.create(str(folder / "lexical"))
    for number in range(40):
        body = ["session", f"word{number}", *(["login"] if number % 2 else ["password"])]
        writer.replace(number, [LexicalDocument(number, "function", body, ["src", f"f{number}"], ["Name"])])
        if number % 20 == 19:
            writer.commit()
    writer.close()


def open_lexical(folder: Path) -> None:
    """Check that a search finds what it did before, or the index is told to be damaged and made anew."""
    place = str(folder / "lexical")
    try:
        found = LexicalReader(place).search(TERMS, 100)
        if {hit.chunk_id for hit in found} != set(range(40)):
            raise Wrong(f"a damaged index was searched, and {len(found)} of 40 chunks found")
    except (LexicalDamaged, OSError):
        pass
    try:
        LexicalWriter(place).close()
    except (FovealError, OSError):
        make_lexical(folder)
        if len(LexicalReader(place).search(TERMS, 100)) != 40:
            raise Wrong("the index that was made anew lacks chunks") from None


def make_vectors(folder: Path) -> None:
    """Write a graph of vectors."""
    chance = np.random.default_rng(2)
    builder = GraphBuilder(DIM, None)
    builder.add(as_ids(range(1, VECTORS + 1)), chance.standard_normal((VECTORS, DIM), dtype=np.float32), 1)
    write_vector_file(str(folder / "vectors.bin"), DIM, MODEL, SYSTEM, builder.save, builder.ids_of_rows)


def open_vectors(folder: Path) -> None:
    """Check that a file which is damaged in any way is told to be, before usearch sees it."""
    query = np.ones((1, DIM), dtype=np.float32)
    try:
        graph = Graph(read_vector_file(str(folder / "vectors.bin"), DIM, MODEL))
    except (UnusableVectors, OSError):
        return
    if len(graph.nearest(query, 10)[0]) != 10:
        raise Wrong("a damaged graph was searched")
    raise Wrong("a damaged file was taken for a whole one")


MAKERS: Mapping[str, Callable[[Path], None]] = {
    "pool": make_pool, "session": make_session, "items": make_items, "trust": make_trust,
    "version": make_version, "config": make_config, "scopes": make_scopes,
    "embeddings": make_embeddings, "lexical": make_lexical, "vectors": make_vectors,
}  # fmt: skip
"""What makes the files of a kind. Those of `requests` and `index` come from a daemon in use."""

OPENERS: Mapping[str, Callable[[Path], None]] = {
    "pool": open_pool, "session": open_session, "items": open_items, "trust": open_trust,
    "version": open_version, "config": open_config, "scopes": open_scopes,
    "requests": open_requests, "embeddings": open_embeddings, "index": open_index, "lexical": open_lexical,
    "vectors": open_vectors,
}  # fmt: skip


def _as_killed(folder: Path, store: ScopeStore | EmbeddingStore) -> None:
    """Leave the files as they lie while a store is open: closing it would fold in the log."""
    kept = {path: path.read_bytes() for path in folder.glob("*.sqlite*")}
    store.close()
    for path, data in kept.items():
        path.write_bytes(data)


def _or_state_error(read: Callable[[], object]) -> None:
    try:
        read()
    except StateError as error:
        if "Mend the file" not in str(error):
            raise Wrong(f"the error doesn't say what to do: {error}") from error


def main() -> None:
    """Open what is named on standard input until that ends."""
    for line in sys.stdin:
        kind, folder = json.loads(line)
        wrong = ""
        try:
            OPENERS[kind](Path(folder))
        except Exception as error:  # noqa: BLE001 - what comes out of a store is what is asked for
            wrong = f"{type(error).__name__}: {error}"[:500]
        print(json.dumps(wrong), flush=True)


if __name__ == "__main__":
    main()
