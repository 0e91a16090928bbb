"""Paths are found in whatever notation, with their lines; slashes that mean "or" are no paths."""

from __future__ import annotations

import pytest
from foveal.daemon.search.mentions import MAX_PATHS, find_paths


def check(text: str, expected: str) -> None:
    found = [
        f"{mention.path}:{mention.line}" if mention.line else mention.path for mention in find_paths(text)
    ]
    assert found == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/a.py:12 and b.py:12:5.", "src/a.py:12 b.py:12"),
        ("a/b.go#L10-L20, `src/c.go#L7`", "a/b.go:10 src/c.go:7"),
        ("src/Login.tsx(41,17): error", "src/Login.tsx:41"),
        ('File "x.py", line 3, in f', "x.py:3"),
        ("in utils.py line 9 and `src/a.c` on line 4", "utils.py:9 src/a.c:4"),
        (r"src\shop\Cart.cs and C:\proj\app\main.js:3", "src/shop/Cart.cs /proj/app/main.js:3"),
        ("./src/m.ts ../x/y.ts", "src/m.ts x/y.ts"),
        ("https://example.org/o/r/blob/main/src/x.py#L10", "src/x.py:10"),
        ("https://example.org/g/r/-/blob/v1.2/lib/x.rb", "lib/x.rb"),
        ("webpack:///./src/x.ts:3:4 file:///home/kim/x.ts:1", "src/x.ts:3 /home/kim/x.ts:1"),
        ("http://localhost:3000/src/x.js:3:4", "src/x.js:3"),
        ("[the parser](src/parser.py) and (src/lexer.py)", "src/parser.py src/lexer.py"),
        ("a.py,b.py --config=src/c.toml", "a.py b.py src/c.toml"),
        ("src/utils/ packages/core web/router lib", "src/utils/ packages/core web/router"),
        ("handlers/*.go **/middleware/*.ts", "handlers/*.go **/middleware/*.ts"),
        ("the Makefile, README and .eslintrc", "Makefile README .eslintrc"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("在src/utils/a.py中查找, src/b.pyの中", "src/utils/a.py src/b.py"),
        ("**src/bold.py** ~/x/y.sh", "src/bold.py ~/x/y.sh"),
        ("docs/安装.md", "docs/安装.md"),
    ],
)
def test_notations(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    "text",
    [
        "and/or read/write client/server TCP/IP I/O yes/no w/o n/a 10/20 2024/01/02",
        "Node.js Next.js v1.2.3 1.2 e.g. i.e. example.org kim@example.org",
        "self.c os.path.join obj.method() a.b",
        "https://example.org/a/b.html",
        "",
    ],
)
def test_what_only_looks_like_a_path(text: str) -> None:
    check(text, "")


def test_at_most_so_many_paths() -> None:
    assert len(find_paths(" ".join(f"src/a{number}.py" for number in range(500)))) == MAX_PATHS
