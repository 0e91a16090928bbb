"""What linking needs of a file comes back as it was, and which names files mention is known."""

from __future__ import annotations

import pytest
from foveal.daemon.core.system import Stamp
from foveal.daemon.index.fact_table import FactsDamaged
from foveal.daemon.index.store import FileContent, Store
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.tree import FileRecord

from tests.search_cases import facts_of

STAMP = Stamp(10, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 42)

SOURCE = b"""
from lib import helper as aid, Base
import os

class Session(Base):
    def login(self, user: User) -> Token:
        from inner import local
        found = local(user)
        return found.deep().token

def caf\xc3\xa9():
    return aid.\xf0\x9f\x98\x80()
"""


def put(store: Store, path: str, source: bytes, *, referring: bool = True) -> int:
    parsed = parse_source(source, "python")
    record = FileRecord(path, STAMP, b"d" * 16, "python")
    with store.transaction():
        references = parsed.references if referring else None
        store.put_contents(
            [
                FileContent(
                    record, parsed.symbols, (), facts=facts_of(record.language, parsed.symbols, references)
                )
            ]
        )
    found = store.chunks.id_of(path)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "said", "shown"),
    [
        ("helper", True, True),
        ("aid", True, True),
        ("Base", True, True),
        ("User", True, False),
        ("Token", True, True),
        ("local", True, False),  # what is declared decides what others see
        ("deep", True, False),
        ("inner", False, False),
        ("unheard", False, False),
        ("", False, False),
    ],
)
def test_files_that_mention_a_name_are_found(store: Store, name: str, said: bool, shown: bool) -> None:
    number = put(store, "a.py", SOURCE)
    other = put(store, "b.py", b"x = 1\n")
    assert store.facts.saying([number, other], [name]) == ({number} if said else set())
    assert store.facts.showing([number, other], [name]) >= ({number} if shown else set())
    assert store.facts.saying([other], [name]) == store.facts.saying([], [name]) == set()


@pytest.mark.parametrize("damage", [b"", b"\0", b"x\x9c\x03\0\0\0\0\x01", b"x\x9c\x8b\x05\0\0]\0]"])
def test_damaged_facts_are_an_error_of_their_own(store: Store, damage: bytes) -> None:
    number = put(store, "a.py", SOURCE)
    with store.side_notes():
        store._db.execute("UPDATE facts SET interface = ?, refs = ?", (damage, damage))
    with pytest.raises(FactsDamaged):
        store.facts.interface("a.py")
    with pytest.raises(FactsDamaged):
        store.facts.references(number)
    put(store, "a.py", SOURCE)
    assert store.facts.references(number) is not None
