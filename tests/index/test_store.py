"""The index keeps what was written, whole transactions only, and forgets what is gone or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.import_table import ImportRow, StoredImport
from foveal.daemon.index.store import SCHEMA_VERSION, Activity, FileContent, Reader, Store
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Import, Symbol
from foveal.daemon.project.tree import FileRecord, ResolvedImport
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import examples

STAMP = Stamp(10, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 42)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers(0, 2**31)


def symbol(name: str, line: int = 1, *, kind: str = "function", depth: int = 0) -> Symbol:
    return Symbol(name, kind, line, line + 1, f"def {name}()", f"About {name}.", depth)


def row(module: str, target: str = "", *keys: str, missing: bool = False, line: int = 1) -> ImportRow:
    return ImportRow(Import(module, "", line), target, missing, keys)


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


def test_written_records_survive_the_store(tmp_path: Path) -> None:
    store = Store(str(tmp_path), System())
    put(store, content("a.py", [symbol("f")], [row("b", "b.py")]))
    store.set_meta("parser", "7")
    store.close()
    store = Store(str(tmp_path), System())
    assert (list(store.load_files()), store.get_meta("parser"), store.generation) == (["a.py"], "7", 1)
    assert (store.get_meta("unknown"), store.replaced) == (None, "")
    store.close()
    reader = Reader(str(tmp_path))
    assert reader.symbols("a.py") == (symbol("f"),)
    assert reader.record("b.py") is None
    reader.close()


def test_writing_a_content_takes_the_place_of_the_former(store: Store, reader: Reader) -> None:
    put(store, content("a.py", [symbol("f"), symbol("g", 3)], [row("b", "b.py", "b"), row("c", "c.py", "c")]))
    put(store, content("a.py", [symbol("h")], [row("d", "d.py", "d")]))
    assert reader.symbols("a.py") == (symbol("h"),)
    assert reader.imports("a.py") == (ResolvedImport(Import("d", "", 1), "d.py", False),)
    assert (reader.definitions_named("f"), reader.importers("b.py")) == ((), ())
    assert store.imports.to_retry(["b", "c"], ["b.py"]) == []


def test_a_record_alone_leaves_its_content_unchanged(store: Store, reader: Reader) -> None:
    put(store, content("a.py", [symbol("f")], [row("b", "b.py")]))
    changed = FileRecord("a.py", Stamp(11, 1, 1, 42))
    with store.transaction():
        store.put_records([changed])
    assert reader.record("a.py") == changed
    assert reader.symbols("a.py") == (symbol("f"),)
    assert reader.importers("b.py") == (("a.py", 1),)


def test_a_file_that_is_skipped_now_has_no_definitions_and_imports_nothing(
    store: Store, reader: Reader
) -> None:
    put(store, content("a.py", [symbol("f")], [row("b", "b.py", "b")]))
    with store.transaction():
        store.put_records([FileRecord("a.py", STAMP, skipped="binary")])
    assert (reader.symbols("a.py"), reader.definitions_named("f")) == ((), ())
    assert (reader.imports("a.py"), reader.importers("b.py")) == ((), ())
    assert store.imports.to_retry(["b"], ["b.py"]) == store.imports.all() == []


def test_a_removed_file_takes_everything_with_it(store: Store, reader: Reader) -> None:
    put(store, content("a.py", [symbol("f")], [row("b", "b.py", "b")]), content("c.py", [symbol("g")]))
    with store.transaction():
        store.remove_files(["a.py", "unknown.py"])
    assert list(reader.load_files()) == ["c.py"]
    assert (reader.definitions_named("f"), reader.importers("b.py")) == ((), ())
    assert store.imports.all() == store.imports.to_retry(["b"], []) == []
    put(store, content("a.py"))
    assert reader.symbols("a.py") == ()


# Transactions


def test_each_transaction_is_a_generation(store: Store, reader: Reader) -> None:
    assert store.generation == 0
    for expected in (1, 2):
        with store.transaction() as generation:
            assert generation == expected
    with reader.snapshot() as seen:
        assert seen == store.generation == 2


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


def test_a_snapshot_ends_with_the_error_in_it(reader: Reader) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), reader.snapshot():
            raise ZeroDivisionError


# Imports


def test_imports_keep_their_order_and_fields(store: Store, reader: Reader) -> None:
    rows = [
        ImportRow(Import("z", "", 1), "z.py", False, ()),
        ImportRow(Import("a", "name", 2, required=False), "", False, ("a",)),
        ImportRow(Import(".gone", "", 3), "", True, ("gone",)),
    ]
    put(store, content("a.py", (), rows))
    assert reader.imports("a.py") == tuple(
        ResolvedImport(one.imported, one.target, one.missing) for one in rows
    )


def test_importers_are_named_once_with_their_first_line(store: Store, reader: Reader) -> None:
    put(store, content("b.py", (), [row("t", "t.py", line=5), row("t", "t.py", line=3)]))
    put(store, content("a.py", (), [row("t", "t.py", line=9)]), content("c.py", (), [row("t", "u.py")]))
    assert reader.importers("t.py") == (("a.py", 9), ("b.py", 3))


def test_imports_wait_under_their_keys_and_their_targets(store: Store) -> None:
    put(store, content("a.py", (), [row("new", "", "new", "pkg", missing=True), row("b", "b.py", "b")]))
    put(store, content("c.py", (), [row("new.x", "", "new", "new")]))

    def retried(keys: list[str], targets: list[str]) -> list[tuple[str, str]]:
        return [(one.importer, one.imported.module) for one in store.imports.to_retry(keys, targets)]

    assert retried(["new"], []) == [("a.py", "new"), ("c.py", "new.x")]
    assert retried(["pkg", "new", "new"], ["b.py"]) == [("a.py", "new"), ("a.py", "b"), ("c.py", "new.x")]
    assert retried([], ["b.py"]) == [("a.py", "b")]
    assert retried(["other"], ["other.py"]) == retried([], []) == []


def test_where_an_import_leads_can_be_written_anew(store: Store, reader: Reader) -> None:
    put(store, content("a.py", (), [row("b", "", "b", missing=True)]))
    (waiting,) = store.imports.to_retry(["b"], [])
    assert waiting == StoredImport(waiting.row, "a.py", "python", Import("b", "", 1), "", True)
    with store.transaction():
        store.imports.update([(waiting.row, "b.py", False)])
    assert reader.importers("b.py") == (("a.py", 1),)
    assert store.imports.to_retry(["b"], ["b.py"]) == store.imports.all()
    with store.transaction():
        store.imports.update([(waiting.row, "", True)])
    assert reader.importers("b.py") == ()


# Interfaces


def test_interface_changes_are_reported(store: Store) -> None:
    def showing(path: str, source: str, language: str = "python") -> list[tuple[str, set[str], bool, bool]]:
        parsed = parse_source(source.encode(), language)
        record = FileRecord(path, STAMP, b"d" * 16, language)
        references = parsed.references if language else None
        with store.transaction():
            changes = store.put_contents([FileContent(record, parsed.symbols, (), references=references)])
        return [(one.path, set(one.change.names), one.change.shape, one.other_file) for one in changes]

    assert showing("a.py", "def f(): ...\n") == [("a.py", {"f"}, True, True)]
    assert showing("a.py", "def f():\n    g()\n") == []
    assert showing("a.py", "def f(): ...\n\ndef h(): ...\n") == [("a.py", {"h"}, False, False)]
    assert showing("a.py", "", "") == [("a.py", {"f", "h"}, True, True)]
    assert showing("a.py", "", "") == []
    assert showing("b", "x", "") == []


# Definitions by name


DEFINED = {
    "a.py": ["login", "Session", "Session.login", "Session~2", "Session~2.login", "Session.login~2"],
    "b.py": ["Admin.Session.login", "Session.login.inner", "relogin", "XSession.login"],
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("relogin", ["relogin"]),
        ("login", ["login", "Session.login", "Session.login~2", "Session~2.login", "XSession.login",
                   "Admin.Session.login"]),
        ("Session.login", ["Session.login", "Session.login~2", "Admin.Session.login"]),
        ("Session", ["Session", "Session~2"]),
        ("Session.login~2", ["Session.login~2"]),
        ("Refresh", ["Tokens/Refresh"]),
        ("Tokens/Refresh", ["Tokens/Refresh"]),
        ("v1.2", ["Changes/v1.2"]),
        ("Changes/v1.2", ["Changes/v1.2"]),
        ("~/.config", ["~/.config"]),
        ("2", []),
        ("ogin", []),
        ("", []),
        ("%", []),
        (".login", []),
    ],
)  # fmt: skip
def test_definitions_are_found_by_their_whole_name_or_the_end_of_it(
    store: Store, reader: Reader, name: str, found: list[str]
) -> None:
    for path, names in DEFINED.items():
        put(store, content(path, [symbol(one, depth=one.count(".")) for one in names]))
    sections = ["Tokens", "Tokens/Refresh", "Changes/v1.2", "~/.config"]
    put(store, content("c.md", [symbol(one, kind="section") for one in sections]))
    assert sorted(one.name for _, one in reader.definitions_named(name)) == sorted(found)


def test_many_definitions_of_a_last_name_do_not_hide_the_full_name(store: Store, reader: Reader) -> None:
    for index in range(60):
        put(store, content(f"a{index:02}.py", [symbol("save")]))
    put(store, content("z.py", [symbol("Session.save", depth=1)]))
    assert [path for path, _ in reader.definitions_named("Session.save", limit=4)] == ["z.py"]
    assert [path for path, _ in reader.definitions_named("save", limit=2)] == ["a00.py", "a01.py"]


# Activity


def test_edits_and_commits_are_counted_apart(store: Store, reader: Reader) -> None:
    with store.transaction():
        store.put_commits({"a": (5, 1_700_000_000), "b": (9, 1)})
        store.add_edits(["a", "c"], 100)
        store.add_edits(["a"], 200)
    assert reader.activity(10) == (Activity("a", 5, 2, 200), Activity("b", 9, 0, 0), Activity("c", 0, 1, 100))
    with store.transaction():
        store.put_commits({"c": (1, 1)})
    assert reader.activity(10) == (Activity("a", 0, 2, 200), Activity("c", 1, 1, 100))


def test_the_most_active_by_each_measure_are_given(store: Store, reader: Reader) -> None:
    with store.transaction():
        store.put_commits({f"f{index}": (index + 1, 0) for index in range(9)})
        for when, path in enumerate(["x", "x", "y", "z"]):
            store.add_edits([path], when + 1)
    assert [one.path for one in reader.activity(1)] == ["f8", "x", "z"]
    assert reader.activity(0) == ()


# Damage


def test_a_damaged_index_is_set_aside_and_a_reader_of_it_fails(tmp_path: Path) -> None:
    store = Store(str(tmp_path), System())
    put(store, content("a.py"))
    store.close()
    Path(store.path).write_bytes(b"\0\1" * 5_000)
    with pytest.raises(DatabaseError):
        Reader(str(tmp_path))
    store = Store(str(tmp_path), System())
    assert "kept as index.sqlite.damaged-" in store.replaced
    assert store.load_files() == {}
    assert store.generation > 1_000_000, "generations of the former index are not used again"
    store.close()


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


def test_there_is_no_reader_before_there_is_an_index(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError):
        Reader(str(tmp_path))
