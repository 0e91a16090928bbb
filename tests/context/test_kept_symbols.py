"""Kept definitions are those of the content and language that are asked for, and only so many are kept."""

from __future__ import annotations

from collections.abc import Callable

from foveal.daemon.context.kept_symbols import KeptSymbols
from foveal.daemon.core.system import Stamp
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.project.tree import FileRecord


def record(digest: bytes, count: int, language: str = "python") -> FileRecord:
    return FileRecord("a", Stamp(1, 1, 1, 1), digest, language, symbols=count)


def reading(count: int, name: str = "one") -> Callable[[str], tuple[Symbol, ...]]:
    return lambda path: tuple(
        Symbol(f"{name}{number}", "function", 1, 1, "def f()", "", 0) for number in range(count)
    )


def test_the_same_content_is_read_once() -> None:
    kept = KeptSymbols()
    first = kept.of(record(b"a", 2), reading(2))
    assert kept.of(record(b"a", 2), reading(2, "other")) is first
    assert kept.count == 2


def test_another_content_language_or_number_is_read() -> None:
    kept = KeptSymbols()
    kept.of(record(b"a", 2), reading(2))
    for other in (record(b"b", 2), record(b"a", 2, "lua"), record(b"a", 1)):
        assert kept.of(other, reading(other.symbols, "other"))[0].name == "other0"


def test_definitions_of_another_moment_than_the_record_are_not_kept() -> None:
    kept = KeptSymbols()
    assert len(kept.of(record(b"a", 2), reading(3))) == 3
    assert len(kept.of(record(b"", 2), reading(2))) == 2
    assert kept.count == 0


def test_the_least_recently_used_ones_are_forgotten() -> None:
    kept = KeptSymbols(most=4)
    first = kept.of(record(b"a", 2), reading(2))
    kept.of(record(b"b", 2), reading(2))
    assert kept.of(record(b"a", 2), reading(2)) is first
    kept.of(record(b"c", 2), reading(2))
    assert kept.of(record(b"a", 2), reading(2)) is first
    assert kept.of(record(b"b", 2), reading(2, "other"))[0].name == "other0"
    assert kept.count == 4


def test_more_than_all_room_is_not_kept() -> None:
    kept = KeptSymbols(most=4)
    first = kept.of(record(b"a", 2), reading(2))
    assert len(kept.of(record(b"b", 5), reading(5))) == 5
    assert kept.of(record(b"a", 2), reading(2, "other")) is first
    assert kept.count == 2


def test_a_content_that_no_file_has_any_more_is_forgotten() -> None:
    kept = KeptSymbols()
    kept.of(record(b"a", 2), reading(2))
    kept.of(record(b"b", 2), reading(2))
    kept.forget(record(b"a", 2))
    kept.forget(record(b"c", 2))
    assert kept.count == 2
    assert kept.of(record(b"a", 2), reading(2, "other"))[0].name == "other0"
