"""Owns what is written for a file that was looked at or read: its new record, or its content with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from msgspec.structs import replace

from ..core.system import Stamp
from ..privacy.secret_files import is_secret_file
from ..project.globs import compile_glob
from ..project.tree import FileRecord, Import, Symbol
from .import_targets import ImportTargets
from .lexing import Lexing
from .reading import FileToRead, Look, Read
from .store import FileContent
from .suspects import Suspects

log = logging.getLogger(__name__)


class ReadResults:
    """What looks and reads come to in one project, whichever process made them.

    `show_files` are the patterns of files of secrets that are indexed nevertheless. `lexing` is offered the
    search terms that came with what was read.
    """

    def __init__(
        self, show_files: Iterable[str], suspects: Suspects, targets: ImportTargets, lexing: Lexing
    ) -> None:
        self._shown = tuple(map(compile_glob, show_files))
        self._suspects = suspects
        self._targets = targets
        self._lexing = lexing

    def left_alone(self, record: FileRecord) -> FileRecord | None:
        """Return the record of a file that isn't even read, None for one that is."""
        if is_secret_file(record.path) and not any(glob.matches(record.path) for glob in self._shown):
            return replace(_without_content(record), skipped="secret")
        if self._suspects.is_quarantined(record):
            return replace(_without_content(record), skipped="quarantined")
        return None

    def looked_at(self, record: FileRecord, look: Look) -> FileRecord:
        """Return a file's record with the hash of what it holds now, or why that isn't indexed."""
        return replace(_looked_at(record, look), hashed=look.digest, digest=b"")

    def read(self, record: FileRecord, former: FileRecord | None, read: Read) -> FileContent | FileRecord:
        """Return a file's new record, with its definitions unless it holds what it held before.

        `former` is what was known of its content before, if anything.
        """
        look, contents = read.look, read.contents
        if read.problem:
            log.info("%s can't be read: %s", record.path, read.problem)
        if look.skipped == "gone":
            return record  # the watcher or the next sweep takes it out
        record = _looked_at(record, look)
        if contents is None:
            if look.skipped or former is None:
                return record
            return replace(record, lines=former.lines, symbols=former.symbols)
        record = replace(record, lines=contents.lines, symbols=len(contents.symbols))
        if contents.terms is not None:
            self._lexing.offer(record.path, contents.terms)
        imports = [self._targets.row(record, Import(*imported)) for imported in contents.imports]
        symbols = [Symbol(*symbol) for symbol in contents.symbols]
        return FileContent(record, symbols, imports, contents.text, contents.facts)


def asked_of(record: FileRecord, former: FileRecord | None, *, words: bool = False) -> FileToRead:
    """Return what is asked of a file's reader: nothing where it holds what `former` says."""
    known = (former.digest, former.language) if former is not None else (b"", "")
    return FileToRead(record.path, record.language, *known, words)


def _without_content(record: FileRecord) -> FileRecord:
    """Return a record that claims nothing of the content, so that no later read is compared with it."""
    return replace(record, digest=b"", hashed=b"", skipped="", lines=0, symbols=0)


def _looked_at(record: FileRecord, look: Look) -> FileRecord:
    """Return a file's record with what a look at its bytes says; one that is gone stays as it was."""
    if look.skipped == "gone":
        return record
    record = replace(_without_content(record), skipped=look.skipped)
    if look.stamp is None:
        return record
    record = replace(record, stamp=Stamp(*look.stamp), racy=look.racy)
    return record if look.skipped else replace(record, digest=look.digest, language=look.language)
