"""Which paths are source files of a project: neither test, example, nor document."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

LANGUAGES = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "c++",
    ".cjs": "javascript",
    ".clj": "clojure",
    ".cpp": "c++",
    ".cs": "c#",
    ".cts": "typescript",
    ".cxx": "c++",
    ".dart": "dart",
    ".erl": "erlang",
    ".ex": "elixir",
    ".go": "go",
    ".h": "c",
    ".hpp": "c++",
    ".hrl": "erlang",
    ".hs": "haskell",
    ".java": "java",
    ".jl": "julia",
    ".js": "javascript",
    ".jsx": "javascript",
    ".kt": "kotlin",
    ".lua": "lua",
    ".m": "objective-c",
    ".mjs": "javascript",
    ".mm": "objective-c",
    ".mts": "typescript",
    ".php": "php",
    ".pl": "perl",
    ".pm": "perl",
    ".py": "python",
    ".R": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".sh": "bash",
    ".swift": "swift",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".zig": "zig",
}
"""Language of a file by its suffix; a header counts as C, whichever language includes it."""

_NOT_SOURCE_FOLDERS = frozenset(
    [
        *("__mocks__", "__tests__", "benchmark", "benchmarks", "demo", "demos", "dist", "doc", "docs", "e2e"),
        *("example", "examples", "fixture", "fixtures", "node_modules", "spec", "specs", "testdata"),
        *("third_party", "thirdparty", "translations", "vendor", "website"),
    ]
)
_TEST_WORDS = frozenset(["test", "tests", "testing", "testutil", "testutils"])
_TEST_NAME = re.compile(
    r"(^test_|^conftest$|[._-](test|tests|spec|bench|fixture|cy)$"  # test_a.py, a_test.go, a.spec.ts
    r"|[a-z0-9](Test|Tests|TestCase|Spec|IT)$|^Test[A-Z])"  # ParserTest.java, TestGui.cpp
)
_GENERATED_NAME = re.compile(r"(\.d|\.min|[._]pb|_pb2|[._]gen|[._]generated|^package-info|^setup)$")


def language_of(path: str) -> str:
    """Return the language of a source file, or "" for every other file: tests, documents, data, generated."""
    pure = PurePosixPath(path)
    language = LANGUAGES.get(pure.suffix, "")
    if not language or any(_is_left_out(part) for part in pure.parts[:-1]):
        return ""
    stem = pure.name[: -len(pure.suffix)]
    return "" if _TEST_NAME.search(stem) or _GENERATED_NAME.search(stem) else language


def _is_left_out(folder: str) -> bool:
    """Know test folders by any word of their name: `integrationTest`, `core-testing`, `detekt-test-utils`."""
    words = re.split(r"[-_.]|(?<=[a-z])(?=[A-Z])", folder)
    return folder.lower() in _NOT_SOURCE_FOLDERS or any(word.lower() in _TEST_WORDS for word in words)
