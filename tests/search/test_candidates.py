"""What a question names outright is found in the index: files, lines, definitions, and its words as terms."""

from __future__ import annotations

import pytest
from foveal.daemon.project.tree import files_named
from foveal.daemon.search.candidates import (
    COMPOUND_WEIGHT,
    DEFINITIONS_MAX,
    definitions_of,
    named_chunks,
    search_terms,
)
from foveal.daemon.search.question import take_apart

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/auth.py": "import os\n\n\ndef login(user):\n    return Session(user)\n\n\nclass Session:\n    def end(self):\n        pass\n",
    "shop/limits.py": "def rate_limit(calls):\n    return calls\n",
    "admin/auth.py": "def logout(user):\n    pass\n",
    "README.md": "# Login\n\nHow to login.\n",
    "names.py": "".join(
        f"class C{n}:\n    def same(self):\n        return {n}\n\n" for n in range(DEFINITIONS_MAX + 1)
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("shop/auth.py", ["shop/auth.py"]),
        ("auth.py", ["admin/auth.py", "shop/auth.py"]),
        ("/home/me/work/shop/auth.py", ["shop/auth.py"]),
        ("./admin/auth.py", ["admin/auth.py"]),
        ("other/auth.py", ["admin/auth.py", "shop/auth.py"]),
        ("AUTH.py", []),
        ("nothing.py", []),
        ("", []),
        ("/", []),
    ],
)
def test_files_by_the_end_of_their_path(project: Indexed, written: str, expected: list[str]) -> None:
    assert sorted(files_named(written, project.tree)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("login", ["shop/auth.py:login"]),
        ("Session.end", ["shop/auth.py:Session.end"]),
        ("shop.auth.Session#end()", ["shop/auth.py:Session.end"]),
        ("Session->end", ["shop/auth.py:Session.end"]),
        ("unknown::Session::end", ["shop/auth.py:Session.end"]),
        ("Login", []),
        ("", []),
        (".", []),
    ],
)
def test_definitions_as_written(project: Indexed, name: str, expected: list[str]) -> None:
    with project.reader() as reader:
        assert [f"{path}:{symbol.name}" for path, symbol in definitions_of(reader, name)] == expected


@pytest.mark.parametrize(
    ("text", "named", "why", "first"),
    [
        ("what does `login` do", [], ["shop/auth.py"], "shop/auth.py:1"),
        ("explain shop/auth.py", ["shop/auth.py"], [], ""),
        ("explain shop/auth.py:9", ["shop/auth.py"], [], "shop/auth.py:1"),
        (
            'Traceback (most recent call last):\n  File "/srv/shop/limits.py", line 2, in rate_limit\nTypeError: no',
            ["shop/limits.py"],
            [],
            "shop/limits.py:1",
        ),
        ("what is `same`", [], [], ""),
        ("nothing at all", [], [], ""),
        ("", [], [], ""),
    ],
)
def test_what_is_named(project: Indexed, text: str, named: list[str], why: list[str], first: str) -> None:
    with project.reader() as reader:
        chunks, by_name, reasons = named_chunks(take_apart(text), project.tree, reader)
    assert (sorted(by_name), set(reasons)) == (named, {*named, *why})
    assert [f"{chunk.path}:{chunk.start_line}" for chunk, _ in chunks[:1]] == ([first] if first else [])
    assert all(0 < score <= 1 for _, score in chunks)


def terms(project: Indexed, text: str) -> dict[str, float]:
    return search_terms(take_apart(text), project.handle.current())


def test_words_become_terms(project: Indexed) -> None:
    assert set(terms(project, "How do users login?")) == {"user", "login"}
    assert terms(project, "") == {}
    assert terms(project, "rate limit")["ratelimit"] == COMPOUND_WEIGHT, "neighbours as one name that exists"
    assert "userlogin" not in terms(project, "user login"), "and not as one that doesn't"
