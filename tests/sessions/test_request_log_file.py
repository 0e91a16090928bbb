"""The file is private, a failed write is undone, a damaged file is set aside with a warning and work goes on."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.errors import NotFound, StateError
from foveal.daemon.core.storage import Database
from foveal.daemon.sessions.request_log_file import LedgerFile

from tests.ledger_cases import Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "requests.db"


@pytest.fixture
def file(path: Path) -> Iterator[LedgerFile]:
    file = LedgerFile(str(path), Clock())
    yield file
    file.close()


def add(database: Database, name: bytes) -> None:
    database.execute("INSERT INTO items VALUES (NULL, X'2f', 'rule', ?, X'')", (name,))


def names(file: LedgerFile) -> list[bytes]:
    with file.reading() as database:
        return [name for (name,) in database.execute("SELECT name FROM items ORDER BY name")]


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.find(b"001999")
    if place >= 0:  # no row that is read when the file is opened
        for found in (place, data.rindex(b"001999")):
            page = found // 4_096 * 4_096
            data[page : page + 4_096] = b"\xa5" * 4_096
    else:
        data[8192:] = b"\xa5" * len(data[8192:])
    path.write_bytes(data)


def test_folder_and_file_are_private(file: LedgerFile, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_failed_write_is_undone_and_raised(file: LedgerFile) -> None:
    with file.writing() as database:
        add(database, b"a")
    with pytest.raises(NotFound), file.writing() as database:  # noqa: PT012 - the block is what is tested
        add(database, b"b")
        raise NotFound("no")
    assert names(file) == [b"a"]


def test_a_statement_that_fails_leaves_the_file_in_use(file: LedgerFile) -> None:
    with file.writing() as database:
        add(database, b"a")
    with pytest.raises(StateError, match="was opened anew"), file.writing() as database:
        add(database, b"a")
    assert names(file) == [b"a"]
    assert file.take_warnings() == ()


def test_file_damaged_while_closed_goes_into_quarantine(file: LedgerFile, path: Path) -> None:
    file.close()
    for number in range(5):
        path.write_bytes(b"no database at all")
        clock = Clock()
        clock.time_ns = lambda number=number: 100 + number  # type: ignore[method-assign,misc]  # a moment for each
        opened = LedgerFile(str(path), clock)
        assert names(opened) == []
        (warning,) = opened.take_warnings()
        assert "is lost" in warning
        assert opened.take_warnings() == ()
        opened.close()
    kept = sorted(one.name for one in path.parent.glob("*damaged-???"))
    assert kept == [f"requests.db.damaged-{number}" for number in (102, 103, 104)]


def test_a_copy_that_is_whole_is_never_removed(file: LedgerFile, path: Path) -> None:
    """As an earlier version leaves it, which set the files of later ones aside."""
    with file.writing() as database:
        add(database, b"a")
    file.close()
    whole = path.with_name("requests.db.damaged-1")
    path.rename(whole)
    for number in range(5):
        path.write_bytes(b"no database at all")
        clock = Clock()
        clock.time_ns = lambda number=number: 100 + number  # type: ignore[method-assign,misc]  # a moment for each
        LedgerFile(str(path), clock).close()
    assert len(list(path.parent.glob("requests.db.damaged-1??"))) == 3
    path.unlink()
    whole.rename(path)
    back = LedgerFile(str(path), Clock())
    assert names(back) == [b"a"]
    back.close()


def test_a_file_found_damaged_at_work_is_set_aside(path: Path) -> None:
    file = LedgerFile(str(path), Clock())
    with file.writing() as database:
        for number in range(2_000):
            add(database, b"%06d" % number)
    file.close()
    damage(path)
    file = LedgerFile(str(path), Clock())  # looks at the head only
    with pytest.raises(StateError, match="opened anew"):
        names(file)
    assert names(file) == []
    assert "is lost" in file.take_warnings()[0]
    file.close()


def test_what_cannot_be_opened_is_said_and_may_be_mended(path: Path) -> None:
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_text("no folder")
    with pytest.raises(StateError, match=r"requests\.db can't be opened"):
        LedgerFile(str(path), Clock())
    path.parent.unlink()
    file = LedgerFile(str(path), Clock())
    file.close()


def test_what_lies_in_its_place_is_set_aside_and_said(path: Path) -> None:
    path.mkdir(parents=True)
    file = LedgerFile(str(path), Clock())
    (warning,) = file.take_warnings()
    assert "is a folder, not a file" in warning
    assert len(list(path.parent.glob(f"{path.name}.damaged-*"))) == 1
    file.close()


def test_a_closed_file_stays_closed(file: LedgerFile) -> None:
    file.close()
    file.close()
    with pytest.raises(StateError, match="is closed"):
        names(file)
