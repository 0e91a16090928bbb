"""The messages of past commits: which files they changed for words like those of a question."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.index.message_table import Messages
from foveal.daemon.index.store import Reader, Store

PATHS = ("src/auth.py", "src/cart.py", "src/mail.py")

COMMITS = (
    ("Let sessions expire after an hour\n\nThe cookie was kept for ever.", ("src/auth.py",)),
    ("Count each article of a cart once", ("src/cart.py", "gone.py")),
    ("Send the receipt of a cart by mail", ("src/cart.py", "src/mail.py")),
    *((f"Release {number}", ("src/mail.py",)) for number in range(9)),
)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    store = Store(str(tmp_path), System())
    put(store, *COMMITS)
    store.close()
    return Reader(str(tmp_path))


def put(store: Store, *commits: tuple[str, tuple[str, ...]]) -> None:
    messages = Messages(PATHS)
    for message, paths in commits:
        messages.add(message, paths)
    with store.side_notes():
        store.put_messages(messages)


def asked(reader: Reader, *terms: str) -> list[str]:
    found = reader.changed_for(dict.fromkeys(terms, 1.0), PATHS)
    return sorted(found, key=lambda path: -found[path].nearest)


def test_files_are_found_by_the_words_of_the_commits_that_changed_them(reader: Reader) -> None:
    assert asked(reader, "session", "expir") == ["src/auth.py"]
    assert asked(reader, "cooki") == ["src/auth.py"], "the body of a message counts"
    assert asked(reader, "cart", "receipt")[:1] == ["src/cart.py"]
    assert asked(reader, "zebra") == []
    assert asked(reader) == []
    reader.close()


def test_a_term_of_most_commits_says_nothing(reader: Reader) -> None:
    assert asked(reader, "releas") == []
    reader.close()


def test_only_asked_files_are_told(reader: Reader) -> None:
    assert set(reader.changed_for({"cart": 1.0}, ["src/mail.py"])) == {"src/mail.py"}
    reader.close()


@pytest.mark.parametrize(
    "damage", ["DELETE FROM commits WHERE number = 1", "UPDATE message_terms SET commits = x'00'"]
)
def test_rows_that_do_not_fit_are_damage(tmp_path: Path, damage: str) -> None:
    store = Store(str(tmp_path), System())
    put(store, *COMMITS)
    store._db.execute(damage)
    reader = Reader(str(tmp_path))
    with pytest.raises(DatabaseError):
        reader.changed_for({"articl": 1.0}, PATHS)
    reader.close()
    store.close()
