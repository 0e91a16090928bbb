"""Small indexes for the tests of what searches them: real files, read and parsed as the indexer does."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.chunk_table import pack_chunks
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.fact_table import StoredFacts, pack_facts
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.messages import Event, OpenProject
from foveal.daemon.index.store import FileContent, Reader, Store
from foveal.daemon.languages.shared.interface import interface_of
from foveal.daemon.languages.shared.records import References, Symbol
from foveal.daemon.project.tree import FileRecord, Tree

from tests.conftest import DEADLINE_S, write_files


class Clock(System):
    """The real one, which can be put forward."""

    def __init__(self) -> None:
        self.skipped_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_s


class Indexed:
    """A project that was indexed once: its tree, and its folder in the state folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        index_project(root, folder)
        with self.reader() as reader, reader.snapshot() as generation:
            self.tree = Tree(str(root), generation, reader.load_files())
        self.handle = LexicalHandle(str(folder))

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        reader = Reader(str(self.folder))
        try:
            yield reader
        finally:
            reader.close()


def indexed(base: Path, files: Mapping[str, str | bytes]) -> Indexed:
    """Index a project of these files."""
    return Indexed(write_files(base.resolve() / "project", files), base / "index")


def index_project(root: Path, folder: Path) -> None:
    """Bring a project's index up to date, as the indexer process does."""
    command = OpenProject(
        root=str(root),
        folder=str(folder),
        max_file_bytes=2_000_000,
        exclude=(),
        skip_folders_extra=(),
        poll_interval_ms=2_000,
        sweep_interval_s=60,
    )
    events: list[Event] = []
    indexer = ProjectIndexer(command, System(), events.append, lambda: None)
    try:
        while indexer.patience() == 0.0:
            indexer.step()
    finally:
        indexer.close()


def chunk(text: str, name: str = "", line: int = 1, *, kind: str = "function", embed: bool = True) -> Chunk:
    """Make a chunk of one line, whose digest is that of its name and text."""
    names = (name,) if name else ()
    digest = hashlib.blake2b(f"{name}\n{text}".encode(), digest_size=16).digest()
    return Chunk(line, line, name, kind, names, text, digest, embed)


def facts_of(language: str, symbols: Sequence[Symbol], references: References | None) -> StoredFacts | None:
    """Return a file's facts as they are stored."""
    if references is None:
        return None
    return pack_facts(interface_of(language, symbols, references), references)


def put(store: Store, path: str, chunks: Iterable[Chunk], language: str = "python") -> None:
    """Write a file with these chunks into an index."""
    record = FileRecord(path, Stamp(1, 2, 3, 4), b"digest", language)
    with store.transaction():
        store.put_contents([FileContent(record, (), (), pack_chunks(tuple(chunks)))])


def remove(store: Store, *paths: str) -> None:
    """Take files out of an index."""
    with store.transaction():
        store.remove_files(paths)


def until(known: Callable[[], bool], what: str, progress: Callable[[], object] = lambda: "") -> None:
    """Ask again and again until something is so."""
    deadline = time.monotonic() + DEADLINE_S
    while not known():
        assert time.monotonic() < deadline, f"waited in vain until {what}; {progress()}"
        time.sleep(ASK_EVERY_S)


ASK_EVERY_S = 0.02
"""Who asks without a pause takes the processor from those that it waits for: half of what waiting cost."""


def digests(chunks: Sequence[Chunk]) -> set[bytes]:
    """Return the contents of chunks."""
    return {one.digest for one in chunks}
