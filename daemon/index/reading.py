"""Reads one file: turns its bytes into the values to store. Knows neither store nor project.

The results are plain values, because a side process may produce them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..core.system import System, is_racy, stamp_of
from ..languages.shared.interface import interface_of
from ..languages.shared.language import LANGUAGES, language_of
from ..languages.shared.notebook import (
    NOTEBOOK,
    in_file,
    is_notebook,
    read_limit,
    source_of,
    with_sections,
    without_gaps,
)
from ..languages.shared.parse import parse_source
from ..project.service import classify_content
from .chunk_table import StoredText, pack_chunks
from .chunks import chunk_source
from .fact_table import StoredFacts, pack_facts

DIGEST_BYTES: Final = 16


class FileOpening(NamedTuple):
    """The project that a side process reads: its root, and the maximum size of a file, `max_bytes`."""

    root: str
    max_bytes: int

    def begin(self) -> Callable[[object, FileToRead], Read]:
        """Return the function that reads a file."""
        reader = FileReader(self.root, self.max_bytes, System())
        return lambda _context, file: reader.read(file)


class FileToRead(NamedTuple):
    """A request to read a file: its path below the root, and its language according to its name. `digest` and
    `former_language` are those of its known content."""

    path: str
    language: str
    digest: bytes = b""
    former_language: str = ""


class Contents(NamedTuple):
    """The parsed contents of a file. Symbols have the fields of `Symbol`, and imports those of `Import`.

    `facts` is None if the language has no references.
    """

    lines: int
    symbols: tuple[tuple[str, str, int, int, str, str, int], ...]
    imports: tuple[tuple[str, str, int, bool], ...]
    text: StoredText
    facts: StoredFacts | None


class FileDigest(NamedTuple):
    """The properties of a file's bytes that are known before they are parsed.

    `stamp` is size, mtime, ctime and inode, None if the file is missing or can't be read. `skipped` is the
    reason why the content isn't indexed, `gone` for a file that no longer exists.
    """

    path: str
    skipped: str
    stamp: tuple[int, int, int, int] | None = None
    racy: bool = False
    digest: bytes = b""
    language: str = ""


class Read(NamedTuple):
    """The result of reading a file; `contents` is None if they haven't changed."""

    look: FileDigest
    contents: Contents | None
    problem: str = ""
    """A message that says why the file can't be read, else empty."""


class FileReader:
    """Reads files below one root, each of at most `max_bytes`."""

    def __init__(self, root: str, max_bytes: int, system: System) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._system = system

    def read(self, asked: FileToRead) -> Read:
        """Read and parse a file, unless its content is the known one."""
        look, data, problem = self._bytes(asked)
        if look.skipped or _is_known(look, asked):
            return Read(look, None, problem)
        return Read(look, contents_of(look.path, data, look.language))

    def confirm(self, asked: FileToRead) -> Read | None:
        """Read a file without parsing it; return None if its content isn't the known one."""
        look, _, _ = self._bytes(asked)
        return Read(look, None) if _is_known(look, asked) else None

    def _bytes(self, asked: FileToRead) -> tuple[FileDigest, bytes, str]:
        # Taken before the read, because a write during the read may leave the file's mtime unchanged.
        now = self._system.time_ns()
        try:
            limit = read_limit(asked.path, self._max_bytes)
            data, status = self._system.read(os.path.join(self._root, asked.path), limit + 1)
        except FileNotFoundError:
            return FileDigest(asked.path, "gone"), b"", ""
        except OSError as error:
            return FileDigest(asked.path, "unreadable"), b"", str(error)
        stamp = stamp_of(status)
        digest = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
        data = source_of(asked.path, data)
        look = FileDigest(
            asked.path,
            "too_large" if len(data) > self._max_bytes else classify_content(data),
            (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode),
            is_racy(stamp, now),
            language=asked.language,
        )
        if look.skipped:
            return look, b"", ""
        is_open = asked.language in ("", NOTEBOOK)  # only the content tells
        language = language_of(asked.path, data[:256]) if is_open else asked.language
        return look._replace(digest=digest, language=language), data, ""


def _is_known(look: FileDigest, asked: FileToRead) -> bool:
    same = look.digest == asked.digest and look.language == asked.former_language
    return same and bool(asked.digest)


def contents_of(path: str, data: bytes, language: str) -> Contents:
    """Parse a file's bytes and return its contents. Takes bounded time and raises nothing for any bytes."""
    lines: Sequence[int] = ()
    if is_notebook(path):
        source, lines = without_gaps(data.decode("utf-8", "replace"))
        data = source.encode()
    parsed = parse_source(data, language, path)
    if lines and language != NOTEBOOK:
        parsed = with_sections(parsed, source)
    chunks = chunk_source(path, data, parsed, language)
    if lines:
        parsed = in_file(parsed, lines)
        chunks = tuple(
            replace(each, start_line=lines[each.start_line - 1], end_line=lines[each.end_line - 1])
            for each in chunks
        )
    row = LANGUAGES.get(language)
    facts = None
    if row is not None and (row.references or row.facts):
        facts = pack_facts(interface_of(language, parsed.symbols, parsed.references), parsed.references)
    return Contents(
        parsed.lines,
        tuple(
            (s.name, s.kind, s.start_line, s.end_line, s.signature, s.doc, s.depth) for s in parsed.symbols
        ),
        tuple((i.module, i.name, i.line, i.required) for i in parsed.imports),
        pack_chunks(chunks),
        facts,
    )
