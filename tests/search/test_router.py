"""A question goes to those who can answer it, keeps to the place that it names, and says how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.chunk_table import pack_chunks
from foveal.daemon.index.chunks import chunk_source
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.store import FileContent, Store
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.search.candidates import GatheredCandidates
from foveal.daemon.search.filters import EVERYTHING, Filter
from foveal.daemon.search.query import Hit
from foveal.daemon.search.router import conclude, gather
from msgspec.structs import replace

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/auth.py": "from .sessions import Session\n\n\ndef login(user, password):\n    check(password)\n    return Session(user)\n",
    "shop/sessions.py": "class Session:\n    def expire(self):\n        self.over = True\n\n    def renew(self):\n        self.over = False\n",
    "shop/cart.py": "def checkout(cart, password):\n    return sum(cart)\n",
    "tests/test_auth.py": "def test_login_needs_a_password():\n    assert login('a', '')\n",
    "docs/guide.md": "# Guide\n\n## Passwords\n\nA password has ten letters.\n\n## Carts\n\nA cart has items.\n",
    "copy/cart.py": "def checkout(cart, password):\n    return sum(cart)\n",
    "empty.py": "",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def collect(project: Indexed, text: str, chosen: Filter = EVERYTHING, **options: Any) -> GatheredCandidates:
    route, limit = options.get("route"), options.get("limit", 10)
    with project.reader() as reader, reader.snapshot():
        handle, relation = options.get("handle", project.handle), options.get("relation")
        return gather(text, project.tree, reader, handle, chosen, route, limit, relation)


def finish(
    project: Indexed,
    gathered: GatheredCandidates,
    vectors: Sequence[tuple[bytes, float]] = (),
    limit: int = 10,
) -> Sequence[Hit]:
    if gathered.answer is not None:
        return gathered.answer
    with project.reader() as reader, reader.snapshot():
        return conclude(gathered, vectors, project.tree, reader, limit)


def paths(project: Indexed, text: str, chosen: Filter = EVERYTHING, **options: Any) -> list[str]:
    return [hit.path for hit in finish(project, collect(project, text, chosen, **options))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("find password in shop/cart.py", ["shop/cart.py"]),
        ('find the password in section "Passwords"', ["docs/guide.md"]),
        ("find password in the folder docs", ["docs/guide.md"]),
    ],
)
def test_a_place_that_is_named_is_kept_to(project: Indexed, text: str, expected: list[str]) -> None:
    gathered = collect(project, text)
    assert gathered.route == "positional"
    assert sorted(hit.path for hit in finish(project, gathered)) == expected


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("find password in nowhere/at_all.py", EVERYTHING),
        ("find password in shop/cart.py", Filter(path_prefix="docs/")),
        ("find password here", EVERYTHING),
    ],
)
def test_a_place_that_can_not_be_kept_to_is_said(project: Indexed, text: str, chosen: Filter) -> None:
    gathered = collect(project, text, chosen, route="positional")
    assert gathered.evidence
    found = {hit.path for hit in finish(project, gathered)}
    assert found
    assert all(path.startswith(chosen.path_prefix) for path in found)


def test_vectors_add_what_no_word_finds_wherever_it_stands(project: Indexed) -> None:
    with project.reader() as reader:
        (stored,) = reader.chunks.of_paths(["shop/cart.py"])
    vectors = [(stored.digest, 0.9), (b"unknown", 0.8)]
    gathered = collect(project, "zzz")
    hits = finish(project, gathered, vectors)
    assert [(hit.path, hit.sources) for hit in hits] == [
        ("copy/cart.py", {"vector": 1}),
        ("shop/cart.py", {"vector": 2}),
    ]
    narrowed = collect(project, "zzz", Filter(path_prefix="shop/"))
    assert [hit.path for hit in finish(project, narrowed, vectors)] == ["shop/cart.py"]
    assert finish(project, gathered, limit=1) == []


@pytest.mark.parametrize(
    ("text", "chosen", "expected"),
    [
        ("explain tests/test_auth.py please", EVERYTHING, "tests/test_auth.py"),
        ("explain tests/test_auth.py:900 please", EVERYTHING, "tests/test_auth.py"),
        ("explain guide.md", EVERYTHING, "docs/guide.md"),
        ("explain tests/test_auth.py", Filter(path_prefix="tests/"), "tests/test_auth.py"),
        ("explain tests/test_auth.py", Filter(path_prefix="docs/"), ""),
        ("explain tests/test_auth.py", Filter(kinds=frozenset({"section"})), ""),
        ("explain docs/guide.md", Filter(kinds=frozenset({"section"})), "docs/guide.md"),
        ("explain docs/guide.md", Filter(symbol="Guide/Carts"), "docs/guide.md"),
        ("explain empty.py", EVERYTHING, ""),
    ],
)
def test_a_file_that_is_named_is_found_without_words(
    project: Indexed, tmp_path: Path, text: str, chosen: Filter, expected: str
) -> None:
    gathered = collect(project, text, chosen, handle=LexicalHandle(str(tmp_path)))
    hits = finish(project, gathered)
    assert [(hit.path, hit.sources, hit.why[0]) for hit in hits] == (
        [(expected, {"tree": 1}, "named in the question")] if expected else []
    )


def test_words_choose_the_place_in_a_file_that_is_named(tmp_path: Path) -> None:
    body = "    value = value + 1\n" * 60
    project = indexed(tmp_path, {"a.py": f"def first(value):\n{body}\n\ndef pelican(value):\n{body}"})
    assert [hit.node_id for hit in finish(project, collect(project, "explain a.py"))] == ["a.py#first"]
    assert [hit.node_id for hit in finish(project, collect(project, "the pelican in a.py"))] == [
        "a.py#pelican"
    ]


def test_without_a_lexical_index_the_rest_answers_and_says_so(project: Indexed, tmp_path: Path) -> None:
    handle = LexicalHandle(str(tmp_path / "none"))
    gathered = collect(project, "password in `login`", handle=handle)
    assert gathered.lexical_damaged
    assert "not searched by words" in gathered.degraded[0]
    assert [hit.path for hit in finish(project, gathered)] == ["shop/auth.py"], "by its name"
    assert paths(project, "where is Session defined", handle=handle) == ["shop/sessions.py"]


def test_a_file_whose_words_are_not_committed_yet_is_found_as_it_is_now(tmp_path: Path) -> None:
    project = indexed(tmp_path, FILES)
    before = finish(project, collect(project, "password login"))
    store = Store(str(project.folder), System())
    try:
        text = "# saved again\n" + str(FILES["shop/auth.py"])
        parsed = parse_source(text.encode(), "python")
        chunks = chunk_source("shop/auth.py", text.encode(), parsed, "python")
        record = replace(project.tree.files["shop/auth.py"], digest=b"other")
        with store.transaction():
            store.put_contents([FileContent(record, parsed.symbols, (), pack_chunks(chunks))])
    finally:
        store.close()
    hits = finish(project, collect(project, "password login"))
    assert [hit.path for hit in hits] == [hit.path for hit in before]
    assert hits[0].path == "shop/auth.py"
    assert hits[0].sources == before[0].sources
    with project.reader() as reader:
        assert hits[0].chunk in reader.chunks.of_paths(["shop/auth.py"])
    assert [hit.path for hit in finish(project, collect(project, "login", Filter(path_prefix="docs/")))] == []


def test_a_file_that_went_meanwhile_is_left_out(tmp_path: Path) -> None:
    project = indexed(tmp_path, FILES)
    gathered = collect(project, "password")
    former = project.tree
    project.tree = former.with_changes(former.generation + 1, (), ["shop/auth.py"])
    assert "shop/auth.py" not in [hit.path for hit in finish(project, gathered)]
