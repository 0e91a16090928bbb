"""What changed of what a file shows goes by the last names of it: those that references elsewhere mention."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.interface import FileInterface, LinkEvidence, change_between


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("load", "load"),
        ("Session.login", "login"),
        ("Session.login~2", "login"),
        ("load~2.inner", "inner"),
        ("Stack.~Stack", "~Stack"),
    ],
)
def test_a_change_is_known_by_last_names(name: str, last: str) -> None:
    empty = FileInterface("python")
    came = change_between(empty, FileInterface("python", names={name: "function"}))
    assert (set(came.names), came.shape) == ({last}, False)
    returns = FileInterface("python", types={f"{name}()": (LinkEvidence("Token", is_type=True),)})
    assert change_between(empty, returns).names == {last}
    gone = change_between(FileInterface("python", names={name: "function"}), None)
    assert (set(gone.names), gone.shape) == ({last}, True)


def test_what_shows_the_same_has_no_change() -> None:
    one = FileInterface("python", names={"load": "function"})
    assert not change_between(one, FileInterface("python", names={"load": "function"}))
    assert not change_between(None, None)
