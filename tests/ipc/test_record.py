"""A record is a value with slots: equal by class and fields, cheap to import."""

from __future__ import annotations

import subprocess
import sys

from foveal.ipc.paths import SocketChoice
from foveal.ipc.protocol import Notification, UnusableRequest


def test_equality_is_by_class_and_fields() -> None:
    assert SocketChoice("/a", explicit=True) == SocketChoice("/a", explicit=True)
    assert SocketChoice("/a", explicit=True) != SocketChoice("/a", explicit=False)
    assert Notification("m", {}) != UnusableRequest(None, {})
    assert SocketChoice("/a", explicit=True) != "/a"


def test_repr_names_class_and_fields() -> None:
    assert repr(SocketChoice("/a", explicit=True)) == "SocketChoice(explicit=True, path='/a')"


def test_the_client_imports_nothing_that_makes_a_hook_slow() -> None:
    heavy = "asyncio dataclasses inspect typing subprocess threading tempfile json re logging pathlib"
    code = f"import sys, foveal.ipc.client; print(*({set(heavy.split())!r} & sys.modules.keys()))"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", _WITH_SITE + code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


_WITH_SITE = f"import sys; sys.path[:0] = {[entry for entry in sys.path if entry]!r}; "
"""An interpreter without `site`: its .pth files import what they like, and that is not ours."""
