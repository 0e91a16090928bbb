"""The table of facts in a project's index: the references and interface of each file, for the linker."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from msgspec.json import Decoder
from msgspec.json import encode as encode_json

from ..core.errors import FovealError
from ..core.storage import Database, select_in
from ..languages.shared.interface import FileInterface
from ..languages.shared.records import Binding, Reference, References, TypeFact

SCHEMA = """
CREATE TABLE facts (
    file_id INTEGER PRIMARY KEY, said BLOB NOT NULL, shown BLOB NOT NULL, interface BLOB NOT NULL,
    refs BLOB NOT NULL);
"""
"""`said` has the names that a file mentions anywhere, and `shown` the names that its interface mentions, both
as sorted numbers. These columns precede the large ones, so that a scan of them doesn't read those. Increment
the schema's version when the encoding of a column changes."""

COMPRESSION: Final = 1
"""zlib's compression level: the fastest one reduces references and interfaces to a quarter, and slower levels
gain another tenth."""


class StoredFacts(NamedTuple):
    """A file's facts in stored form, see `SCHEMA`."""

    said: bytes
    shown: bytes
    interface: bytes
    refs: bytes

    def shown_interface(self) -> FileInterface:
        """Return the file's interface: what other files can refer to."""
        return _interface(self.interface)[0]


def pack_facts(interface: FileInterface, references: References) -> StoredFacts:
    """Return a file's facts in stored form.

    The stored references have only the parts that the file's interface doesn't have.
    """
    shown = _names_shown(interface)
    return StoredFacts(
        _packed(shown | _names_said(references)),
        _packed(shown),
        zlib.compress(interface.encode(), COMPRESSION),
        _encoded(references),
    )


class FactsDamaged(FovealError):
    """The stored facts of a file are damaged, which SQLite can't detect; the file must be indexed again."""


class FactTable:
    """Writes facts, and reads them for the linker. Call writing methods inside a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, file_id: int, facts: StoredFacts) -> None:
        """Replace a file's facts."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)", (file_id, *facts))

    def clear(self, file_id: int) -> None:
        """Delete a file's facts."""
        self._db.execute("DELETE FROM facts WHERE file_id = ?", (file_id,))

    def interface(self, path: str) -> tuple[FileInterface | None, int]:
        """Return a file's interface (None if none is stored) and its stored size in bytes.

        Raises `FactsDamaged`.
        """
        row = self._db.execute(
            "SELECT interface FROM facts WHERE file_id = (SELECT id FROM files WHERE path = ?)", (path,)
        ).fetchone()
        return (None, 0) if row is None else _interface(row[0])

    def references(self, file_id: int) -> References | None:
        """Return the stored references of a file, None if none are stored; see `pack_facts`.

        Raises `FactsDamaged`.
        """
        row = self._db.execute("SELECT refs FROM facts WHERE file_id = ?", (file_id,)).fetchone()
        return None if row is None else _references(row[0])

    def file_ids(self) -> set[int]:
        """Return the ids of the files with facts."""
        return {file_id for (file_id,) in self._db.execute("SELECT file_id FROM facts")}

    def saying(self, file_ids: Iterable[int], names: Collection[str]) -> set[int]:
        """Return the given files that mention one of `names`, and a few false positives at worst."""
        return self._mentioning("said", file_ids, names)

    def showing(self, file_ids: Iterable[int], names: Collection[str]) -> set[int]:
        """Return the given files whose interface mentions one of `names`, and a few false positives at
        worst."""
        return self._mentioning("shown", file_ids, names)

    def _mentioning(self, column: str, file_ids: Iterable[int], names: Collection[str]) -> set[int]:
        wanted = _numbers(names)
        query = f"SELECT file_id, {column} FROM facts WHERE file_id IN ({{marks}})"  # noqa: S608 - a fixed name
        rows = select_in(self._db, query, sorted(file_ids))
        return {file_id for file_id, packed in rows if not wanted.isdisjoint(_unpacked(packed))}


def _names_said(references: References) -> set[int]:
    chains = {reference.chain for reference in references.references}
    chains.update(fact.chain for fact in references.types)
    for binding in references.bindings:
        chains.update((binding.name, binding.imported))
    return _numbers(chains)


def _names_shown(interface: FileInterface) -> set[int]:
    chains = {chain for bases in interface.bases.values() for chain in bases}
    chains.update(evidence.chain for known in interface.types.values() for evidence in known)
    for binding in interface.bindings:
        chains.update((binding.name, binding.imported))
    for export in interface.exports:
        chains.update((export.name, export.imported))
    return _numbers(chains)


def _numbers(chains: Iterable[str]) -> set[int]:
    """Return the hashes of all names in chains. If two names share a hash, a file is linked needlessly."""
    names = set(_NAME.findall("\n".join(chains)))
    return {zlib.crc32(name.encode("utf-8", "surrogatepass")) for name in names}


_NAME = re.compile(r"\w+")


def _packed(numbers: Collection[int]) -> bytes:
    return array("I", sorted(numbers)).tobytes()


def _unpacked(packed: bytes) -> array[int]:
    numbers: array[int] = array("I")
    numbers.frombytes(packed)
    return numbers


def _encoded(references: References) -> bytes:
    """Return the encoded references of a file, without the file-wide parts, which its interface has."""
    content = [
        references.references,
        [each for each in references.bindings if each.scope >= 0],
        [each for each in references.types if each.scope >= 0],
    ]
    return zlib.compress(encode_json(content), COMPRESSION)


_DECODER = Decoder(tuple[tuple[Reference, ...], tuple[Binding, ...], tuple[TypeFact, ...]])


def _references(packed: bytes) -> References:
    try:
        references, bindings, types = _DECODER.decode(zlib.decompress(packed))
        return References(references=references, bindings=bindings, types=types)
    except Exception as error:
        raise FactsDamaged(f"a file's references in the index are damaged ({error})") from error


def _interface(packed: bytes) -> tuple[FileInterface, int]:
    try:
        encoded = zlib.decompress(packed)
        return FileInterface.decode(encoded), len(encoded)
    except Exception as error:
        raise FactsDamaged(f"a file's interface in the index is damaged ({error})") from error
