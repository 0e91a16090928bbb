"""What is embedded begins with a header and leaves out licenses and ornaments, but no documentation."""

from __future__ import annotations

import pytest
from foveal.daemon.index.chunks import (
    HEADER_NAMES,
    HEADER_PATH,
    embedded_text,
    header,
    is_worth_embedding,
)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), "a.py"),
        (("login",), "a.py :: login"),
        (("Session", "Session.login"), "a.py :: Session.login"),
        (("Session", "Session.login", "Session.logout"), "a.py :: Session.login, logout"),
        (("A.b", "C.d", "e"), "a.py :: A.b, C.d, e"),
        (("Sess", "Session"), "a.py :: Sess, Session"),
        (("Guide", "Guide/Install v1.2", "Guide/Use v1.2"), "a.py :: Guide/Install v1.2, Guide/Use v1.2"),
    ],
)
def test_header(names: tuple[str, ...], expected: str) -> None:
    assert header("a.py", names) == expected


def test_a_header_leaves_room_for_the_text() -> None:
    path = "/".join(["folder"] * 100) + "/name.py"
    found = header(path, tuple(f"name{number}" for number in range(99)))
    start, _, names = found.partition(" :: ")
    assert path.endswith(f"/{start}")
    assert len(start) <= HEADER_PATH
    assert len(names) <= HEADER_NAMES
    assert names.startswith("name0, name1")
    assert header("a", ("x" * 300 + "/Last title",)).endswith("/Last title")
    assert header("a" * 500, ()) == "a" * HEADER_PATH


CODE = "def login(user):\n    return user.token"


@pytest.mark.parametrize(
    "above",
    [
        "# Copyright (c) 2020 Someone\n# Licensed under MIT\n\n",
        "/*\n * Copyright 2020 Someone.\n * All rights * reserved.\n */\n",
        "// SPDX-License-Identifier: MIT\n",
        "<!-- Copyright © Someone -->\n",
        "-- Permission is hereby granted, free of charge\n",
    ],
)
def test_licenses_are_left_out(above: str) -> None:
    assert embedded_text("a.py", ("login",), above + CODE) == f"a.py :: login\n{CODE}"
    assert not is_worth_embedding(above.rstrip(), ())


def test_ornaments_are_left_out() -> None:
    assert embedded_text("a", (), "# ------\n# A === B\n#########\nx--") == "a\n# \n# A === B\n\nx--"


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("abc", (), False),
        ("import os", (), False),
        ("}\n" * 100, (), False),
        ("# " + "-" * 300, (), False),
        ("x = 1", ("x",), True),
        ("The daemon watches folders and reads what changed in them.", (), True),
        (CODE * 20, (), True),
    ],
)
def test_which_chunks_are_worth_embedding(text: str, names: tuple[str, ...], expected: bool) -> None:
    assert is_worth_embedding(text, names) == expected
