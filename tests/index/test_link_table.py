"""Links are found from both of their ends and by their name, in the order of paths and lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from foveal.daemon.core.system import Stamp
from foveal.daemon.index.link_table import KINDS, STATES, Link, LinkRow
from foveal.daemon.index.store import FileContent, Reader, Store
from foveal.daemon.languages.shared.records import NOTHING, Symbol
from foveal.daemon.project.records import FileRecord

from tests.search_cases import facts_of

STAMP = Stamp(10, 1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 42)


def define(store: Store, path: str, *symbols: Symbol) -> dict[str, int]:
    """Write a file with definitions; returns their ids."""
    record = FileRecord(path, STAMP, b"d" * 16, "python", symbols=len(symbols))
    with store.transaction():
        store.put_contents([FileContent(record, symbols, (), facts=facts_of("python", symbols, NOTHING))])
    return store.links.definition_ids(file_id(store, path))


def file_id(store: Store, path: str) -> int:
    found = store.chunks.id_of(path)
    assert found is not None
    return found


def symbol(name: str, start: int = 1, end: int = 100, kind: str = "function") -> Symbol:
    return Symbol(name, kind, start, end, f"def {name}()", "", name.count("."))


def link(
    store: Store, path: str, *rows: tuple[int, str, str, int, int, str], consulted: Collection[str] = ()
) -> int:
    """Write a file's links: (line, kind, name, scope, target, state); returns how many files changed."""
    number = file_id(store, path)
    written = [
        LinkRow(line, KINDS.index(kind), name, scope, target, STATES.index(state))
        for line, kind, name, scope, target, state in rows
    ]
    with store.side_notes():
        changed = store.links.put({number: written})
        store.links.put_consulted({number: consulted})
        store.links.unqueue([number])
    return changed


def queued(store: Store) -> list[str]:
    return [path for _, path, _ in store.links.queued(100)]


def where(links: Sequence[Link]) -> list[tuple[str, int]]:
    return [(each.path, each.line) for each in links]


def test_links_come_by_path_and_line_and_as_many_as_are_wanted(store: Store, reader: Reader) -> None:
    target = define(store, "t.py", symbol("f"))["f"]
    for path in ("c.py", "a.py", "b.py"):  # which gives them ids in that order
        scope = define(store, path, symbol("g", 1, 9))["g"]
        rows = [(line, "call", "f", scope, target, "resolved") for line in (7, 2, 4)]
        link(store, path, *rows, (5, "call", "f", scope, 0, "name"))
    scopes = [store.links.definition_ids(file_id(store, path))["g"] for path in ("c.py", "a.py", "b.py")]
    expected = [(path, line) for path in ("a.py", "b.py", "c.py") for line in (2, 4, 7)]
    for limit in (0, 1, 3, 4, 9, 100):
        assert where(reader.links.into([target], limit=limit)) == expected[:limit]
    every = sorted([*expected, *((path, 5) for path in ("a.py", "b.py", "c.py"))])
    for limit in (0, 1, 4, 5, 12, 100):
        assert where(reader.links.out_of(scopes, limit=limit)) == every[:limit]
        assert where(reader.links.named("f", states=STATES, limit=limit)) == every[:limit]
    assert where(reader.links.named("f", limit=2)) == [("a.py", 5), ("b.py", 5)]


def test_links_inside_a_definition_are_found_by_lines_and_names(store: Store, reader: Reader) -> None:
    symbols = (
        symbol("S", 1, 10, "class"),
        symbol("S.f", 2, 5),
        symbol("S.f.inner", 3, 4),
        symbol("Sx", 11, 12),
        symbol("S.far", 20, 21),
        symbol("same", 1, 10),
    )
    ids = define(store, "a.py", *symbols)
    define(store, "b.py", symbol("S.g", 2, 3))

    def inside(*names: str) -> list[str]:
        numbers = {number: name for name, number in ids.items()}
        return [numbers[each] for each in reader.links.inside([ids[name] for name in names])]

    assert inside("S") == ["S.f", "S.f.inner", "S.far"]
    assert inside("S.f") == ["S.f.inner"]
    assert inside("S", "S.f") == ["S.f.inner", "S.far"]
    assert inside("Sx") == []


def test_the_queue_has_the_urgent_first_and_each_file_once(store: Store, reader: Reader) -> None:
    for path in ("a.py", "b.py", "c.py"):
        define(store, path)
    ids = {path: file_id(store, path) for path in ("a.py", "b.py", "c.py")}
    assert (queued(store), reader.links.unlinked()) == (["a.py", "b.py", "c.py"], 3)
    with store.side_notes():
        store.links.queue([ids["c.py"]], urgent=True)
        store.links.queue([ids["c.py"], ids["b.py"]])
    assert queued(store) == ["c.py", "a.py", "b.py"]
    assert store.links.queued(1) == [(ids["c.py"], "c.py", "python")]
    assert [path for _, path, _ in store.links.queued_among(["b.py", "c.py", "x.py"])] == ["b.py", "c.py"]
    with store.side_notes():
        store.links.unqueue([ids["c.py"], ids["a.py"]])
    assert (queued(store), store.links.waiting()) == (["b.py"], 1)
    with store.side_notes():
        store.links.queue_all()
    assert queued(store) == ["a.py", "b.py", "c.py"]


def test_a_word_that_is_no_kind_or_state_is_an_error(store: Store, reader: Reader) -> None:
    define(store, "a.py")
    link(store, "a.py", (1, "call", "f", 0, 0, "name"))
    with pytest.raises(ValueError, match="not in"):
        reader.links.into([1], ["calls"])
    with pytest.raises(ValueError, match="not in"):
        reader.links.named("f", states=["sure"])
