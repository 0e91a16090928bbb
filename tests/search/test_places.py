"""Files, folders, sections, classes, dotted names and filters are places; `the auth module` is none."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.places import find_places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find the loop in src/client.py", "file src/client.py"),
        ("find it in file tokenizer.rs", "file tokenizer.rs"),
        ("at the top of the Makefile", "file Makefile"),
        ("search for TODO in src/auth/", "folder src/auth/"),
        ("grep under packages/core", "folder packages/core"),
        ("error handling in handlers/*.go", "file handlers/*.go"),
        ("What's in the folder migrations?", "folder migrations"),
        ("under the migrations folder", "folder migrations"),
        ('the section "Upgrading" of it', "section Upgrading"),
        ("Find X in section Y", "section Y"),
        ("in chapter 3 of the handbook", "section 3"),
        ("the Installation section says", "section Installation"),
        ("In the class HttpClient, where", "class HttpClient"),
        ("within the Cart class", "class Cart"),
        ("within auth.session find it", "name auth.session"),
        ("path:server/auth hashing", "filter server/auth"),
        ("lines 10-40 of src/main.rs", "file src/main.rs"),
        ("the part of CHANGELOG.md about 2.0", "file CHANGELOG.md"),
        ("search tests/ for sleeps", "folder tests/"),
        ("open config/routes.rb and show the rest", "file config/routes.rb"),
        ("search only the tests directory for sleeps", "folder tests"),
        ("search chat.server.Connection for pings", "name chat.server.Connection"),
        ("find the login function in auth module", ""),
        ("in the network layer", ""),
        ("what does merge.py do", ""),
        ("describe src/a.py", ""),
        ("which section explains it", ""),
        ("in this section", ""),
        ("in Session", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_places(text: str, expected: str) -> None:
    found = [f"{place.kind} {place.name}" for clause in split_clauses(text) for place in find_places(clause)]
    assert found == (expected.split("|") if expected else [])
