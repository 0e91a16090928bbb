"""A record is a frozen value with slots: equal by class and fields, hashable as they are, cheap to import."""

from __future__ import annotations

import subprocess
import sys

import pytest
from foveal.ipc.paths import Found
from foveal.ipc.protocol import Notification, Request, UnusableRequest


def test_equality_is_by_class_and_fields() -> None:
    assert Found("/a", explicit=True) == Found("/a", explicit=True)
    assert Found("/a", explicit=True) != Found("/a", explicit=False)
    assert Notification("m", {}) != UnusableRequest(None, {})
    assert Found("/a", explicit=True) != "/a"


def test_hash_is_that_of_the_fields() -> None:
    assert {Found("/a", explicit=True), Found("/a", explicit=True)} == {Found("/a", explicit=True)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(Request(1, "m", {}))


def test_fields_are_frozen_and_no_others_can_be_added() -> None:
    found = Found("/a", explicit=True)
    with pytest.raises(AttributeError, match="frozen"):
        found.path = "/b"
    with pytest.raises(AttributeError, match="frozen"):
        found.other = 1
    with pytest.raises(AttributeError, match="frozen"):
        del found.path
    assert found.path == "/a"
    assert not hasattr(found, "__dict__")


def test_repr_names_class_and_fields() -> None:
    assert repr(Found("/a", explicit=True)) == "Found(path='/a', explicit=True)"


def test_the_client_imports_nothing_that_makes_a_hook_slow() -> None:
    heavy = "asyncio dataclasses inspect typing subprocess threading tempfile json re logging pathlib"
    code = f"import sys, foveal.ipc.client; print(*({set(heavy.split())!r} & sys.modules.keys()))"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", _WITH_SITE + code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


_WITH_SITE = f"import sys; sys.path[:0] = {[entry for entry in sys.path if entry]!r}; "
"""An interpreter without `site`: its .pth files import what they like, and that is not ours."""
