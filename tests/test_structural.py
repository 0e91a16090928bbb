"""The structure answers where a name is defined, who imports a file, and what a file imports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from foveal.daemon.retrieval.structural import ANSWERED, answer

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/auth.py": "from .sessions import Session, expire\n\n\ndef login(user):\n    return Session(user)\n",
    "shop/sessions.py": "class Session:\n    def touch(self):\n        pass\n\n\ndef expire(session):\n    pass\n",
    "shop/cart.py": "import json\nfrom .auth import login\nfrom shop.sessions import Session\n\n\ndef touch():\n    pass\n",
    "web/session.ts": "export class Session {\n  touch() {}\n}\n",
    "web/app.ts": 'import { Session } from "./session";\n\nexport const session = new Session();\n',
    "guide.md": "# Session\n\nHow sessions end.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def ask(project: Indexed, relation: str, *subjects: str, limit: int = 100) -> list[tuple[str, int]]:
    with project.reader() as reader:
        hits = answer(relation, subjects, project.tree, reader, limit)
    assert [hit.sources for hit in hits] == [{"tree": place} for place in range(1, len(hits) + 1)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.certainty == "resolved" and 0 < hit.score <= 1 for hit in hits)
    return [(hit.path, hit.line) for hit in hits]


@pytest.mark.parametrize(
    ("relation", "subjects", "expected"),
    [
        ("definition", ["expire"], [("shop/sessions.py", 6)]),
        ("definition", ["Session"], [("shop/sessions.py", 1), ("web/session.ts", 1)]),
        ("definition", ["Session.touch"], [("shop/sessions.py", 2), ("web/session.ts", 2)]),
        ("definition", ["Session::touch"], [("shop/sessions.py", 2), ("web/session.ts", 2)]),
        ("definition", ["shop.auth.login"], [("shop/auth.py", 4)]),
        ("definition", ["login", "expire"], [("shop/auth.py", 4), ("shop/sessions.py", 6)]),
        ("definition", ["nothing"], []),
        ("definition", [], []),
        ("definition", ["", "..", "#", "::"], []),
        ("importers", ["shop/sessions.py"], [("shop/auth.py", 1), ("shop/cart.py", 3)]),
        ("importers", ["sessions.py"], [("shop/auth.py", 1), ("shop/cart.py", 3)]),
        ("importers", ["shop.sessions"], [("shop/auth.py", 1), ("shop/cart.py", 3)]),
        ("importers", ["sessions"], [("shop/auth.py", 1), ("shop/cart.py", 3)]),
        ("importers", ["expire"], [("shop/auth.py", 1), ("shop/cart.py", 3)]),
        ("importers", ["web/session"], [("web/app.ts", 1)]),
        ("importers", ["./session"], [("web/app.ts", 1)]),
        ("importers", ["nothing"], []),
        ("importers", ["", ".", "/", "./", "#"], []),
        ("imports", ["shop/cart.py"], [("shop/auth.py", 1), ("shop/sessions.py", 1)]),
        ("imports", ["app.ts"], [("web/session.ts", 1)]),
        ("imports", ["guide.md"], []),
    ],
)
def test_answers(
    project: Indexed, relation: str, subjects: Sequence[str], expected: list[tuple[str, int]]
) -> None:
    assert relation in ANSWERED
    assert ask(project, relation, *subjects) == expected


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_at_most_so_many(project: Indexed, limit: int) -> None:
    assert len(ask(project, "definition", "Session", limit=limit)) == min(limit, 2)


def test_what_is_left_out_leaves_room_for_others(project: Indexed) -> None:
    with project.reader() as reader:
        (hit,) = answer(
            "definition", ["Session"], project.tree, reader, 1, lambda chunk: chunk.language == "typescript"
        )
    assert hit.path == "web/session.ts"


def test_it_says_through_what(project: Indexed) -> None:
    with project.reader() as reader:
        importers = answer("importers", ["sessions.py"], project.tree, reader, 9)
        imports = answer("imports", ["cart.py"], project.tree, reader, 9)
    assert {hit.via for hit in importers} == {"shop/sessions.py"}
    assert [hit.via for hit in imports] == ["shop/cart.py:2", "shop/cart.py:3"]


def test_a_file_without_text_is_no_place(tmp_path: Path) -> None:
    project = indexed(tmp_path, {"a.py": "from b import *\nfrom c import *\n", "b.py": "", "c.py": "x = 1\n"})
    assert ask(project, "imports", "a.py") == [("c.py", 1)]
