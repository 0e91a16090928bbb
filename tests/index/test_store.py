"""The index keeps what was written, whole transactions only, and forgets what is gone or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.import_table import ImportRow
from foveal.daemon.index.store import SCHEMA_VERSION, FileContent, Reader, Store
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.project.records import FileRecord
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import examples
from tests.search_cases import facts_of

STAMP = Stamp(10, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 42)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(0, 2**31)


def symbol(name: str, line: int = 1, *, kind: str = "function", depth: int = 0) -> Symbol:
    return Symbol(name, kind, line, line + 1, f"def {name}()", f"About {name}.", depth)


def content(path: str, symbols: Sequence[Symbol] = (), imports: Sequence[ImportRow] = ()) -> FileContent:
    record = FileRecord(path, STAMP, b"d" * 16, "python", lines=9, symbols=len(symbols))
    return FileContent(record, symbols, imports)


def put(store: Store, *contents: FileContent) -> None:
    with store.transaction():
        store.put_contents(contents)


# Records


@given(
    st.lists(
        st.builds(
            FileRecord,
            path=TEXT,
            stamp=st.builds(
                Stamp, NUMBER, st.integers(-(2**40), 2**62), st.integers(0, 2**62), st.integers(0, 2**64 - 1)
            ),
            digest=st.binary(max_size=16),
            language=TEXT,
            skipped=st.sampled_from(["", "binary"]),
            lines=NUMBER,
            symbols=NUMBER,
            racy=st.booleans(),
        ),
        unique_by=lambda record: record.path,
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
def test_records_come_back_as_they_were(store: Store, reader: Reader, records: list[FileRecord]) -> None:
    with store.transaction():
        store.remove_files(list(store.load_files()))
        store.put_records(records)
    expected = {record.path: record for record in records}
    assert store.load_files() == reader.load_files() == expected
    assert all(reader.record(path) == record for path, record in expected.items())
    assert list(reader.load_files()) == sorted(expected, key=str.encode)


# Transactions


def test_a_transaction_that_fails_leaves_nothing(store: Store, reader: Reader) -> None:
    put(store, content("a.py", [symbol("f")]))
    with pytest.raises(ZeroDivisionError):
        _fail_after_writing(store)
    assert (store.generation, list(store.load_files())) == (1, ["a.py"])
    assert reader.symbols("a.py") == (symbol("f"),)
    put(store, content("b.py"))
    assert store.generation == 2


def _fail_after_writing(store: Store) -> None:
    with store.transaction():
        store.put_contents([content("a.py", [symbol("g")]), content("b.py")])
        raise ZeroDivisionError


def test_a_snapshot_sees_one_state_despite_writes(store: Store, reader: Reader) -> None:
    put(store, content("a.py", [symbol("f")]))
    with reader.snapshot() as generation:
        put(store, content("a.py", [symbol("g")]))
        assert generation == 1
        assert reader.symbols("a.py") == (symbol("f"),)
    with reader.snapshot() as generation:
        assert generation == 2
        assert reader.symbols("a.py") == (symbol("g"),)


# Imports


# Interfaces


def test_interface_changes_are_reported(store: Store) -> None:
    def showing(path: str, source: str, language: str = "python") -> list[tuple[str, set[str], bool, bool]]:
        parsed = parse_source(source.encode(), language)
        record = FileRecord(path, STAMP, b"d" * 16, language)
        references = parsed.references if language else None
        with store.transaction():
            changes = store.put_contents(
                [
                    FileContent(
                        record,
                        parsed.symbols,
                        (),
                        facts=facts_of(record.language, parsed.symbols, references),
                    )
                ]
            )
        return [(one.path, set(one.change.names), one.change.shape, one.other_file) for one in changes]

    assert showing("a.py", "def f(): ...\n") == [("a.py", {"f"}, True, True)]
    assert showing("a.py", "def f():\n    g()\n") == []
    assert showing("a.py", "def f(): ...\n\ndef h(): ...\n") == [("a.py", {"h"}, False, False)]
    assert showing("a.py", "", "") == [("a.py", {"f", "h"}, True, True)]
    assert showing("a.py", "", "") == []
    assert showing("b", "x", "") == []


# Definitions by name


def test_many_definitions_of_a_last_name_do_not_hide_the_full_name(store: Store, reader: Reader) -> None:
    for index in range(60):
        put(store, content(f"a{index:02}.py", [symbol("save")]))
    put(store, content("z.py", [symbol("Session.save", depth=1)]))
    assert [path for path, _ in reader.definitions_named("Session.save", limit=4)] == ["z.py"]
    assert [path for path, _ in reader.definitions_named("save", limit=2)] == ["a00.py", "a01.py"]


# Activity


# Damage


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_an_index_of_another_version_gives_way_to_a_new_one(tmp_path: Path, version: int) -> None:
    store = Store(str(tmp_path), System())
    store._db.execute(f"PRAGMA user_version = {version}")
    store.close()
    with pytest.raises(DatabaseError, match="schema version"):
        Reader(str(tmp_path))
    store = Store(str(tmp_path), System())
    assert store.replaced == ""
    assert store.generation > 1_000_000, "generations of the former index are not used again"
    store.close()
    assert not list(tmp_path.glob("*damaged*"))
