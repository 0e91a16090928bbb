"""A filter leaves the files and chunks that it names, and says at once when it leaves all."""

from __future__ import annotations

import re

import pytest
from foveal.daemon.core.system import Stamp
from foveal.daemon.index.chunk_table import StoredChunk
from foveal.daemon.index.chunks import chunk_source
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.tree import FileRecord, Tree
from foveal.daemon.search.filters import EVERYTHING, Filter, all_kinds, check_glob, kinds_in, kinds_of

FILES = {
    "src/a.py": "python",
    "src/deep/b.ts": "typescript",
    "src2/c.py": "python",
    "d.md": "markdown",
    "logo.png": "",
}
TREE = Tree(
    "/p",
    1,
    {
        path: FileRecord(path, Stamp(1, place * 1_000, 0, 0), b"x", language)
        for place, (path, language) in enumerate(FILES.items(), 1)
    },
)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Filter(path_prefix="src"), ["src/a.py", "src/deep/b.ts", "src2/c.py"]),
        (Filter(path_prefix="src/"), ["src/a.py", "src/deep/b.ts"]),
        (Filter(path_prefix="src/a.py"), ["src/a.py"]),
        (Filter(path_prefix="nowhere/"), []),
        (Filter(glob="**/*.py"), ["src/a.py", "src2/c.py"]),
        (Filter(glob="src/**"), ["src/a.py", "src/deep/b.ts"]),
        (Filter(glob="*.md"), ["d.md"]),
        (Filter(languages=frozenset({"typescript", "markdown"})), ["src/deep/b.ts", "d.md"]),
        (Filter(languages=frozenset({"rust"})), []),
        (Filter(changed_ns=3_000), ["src2/c.py", "d.md", "logo.png"]),
        (Filter(changed_ns=10**20), []),
        (
            Filter(path_prefix="src", glob="**/*.py", languages=frozenset({"python"}), changed_ns=2_000),
            ["src2/c.py"],
        ),
        (Filter(path_prefix="src/a.py", languages=frozenset({"go"})), []),
        (Filter(path_prefix="src/a"), ["src/a.py"]),
        (EVERYTHING, None),
        (Filter(kinds=frozenset({"class"}), symbol="A"), None),
    ],
)
def test_files(chosen: Filter, expected: list[str] | None) -> None:
    assert chosen.files(TREE) == expected
    assert chosen.chooses_files() == (expected is not None)


def stored(symbol: str, kind: str, *names: str) -> StoredChunk:
    return StoredChunk(
        1, 1, "a.py", "python", 1, 9, symbol, kind, names or ((symbol,) if symbol else ()), b"x"
    )


@pytest.mark.parametrize(
    ("chosen", "chunk", "expected"),
    [
        (EVERYTHING, stored("f", "function"), True),
        (Filter(kinds=frozenset({"class"})), stored("f", "function"), False),
        (Filter(kinds=frozenset({"class", "function"})), stored("f", "function"), True),
        (Filter(symbol="Session"), stored("Session", "class"), True),
        (Filter(symbol="Session"), stored("Session.end", "method", "Session", "Session.end"), True),
        (Filter(symbol="Session"), stored("", "code", "Session", "Other"), True),
        (Filter(symbol="Session"), stored("SessionPool", "class"), False),
        (Filter(symbol="Session.end"), stored("Session", "class", "Session"), False),
        (Filter(symbol="Session.end"), stored("Session", "class", "Session", "Session.end"), True),
        (Filter(symbol="Guide"), stored("Guide/Setup", "section"), True),
        (Filter(symbol="Session", kinds=frozenset({"class"})), stored("Session.end", "method"), False),
    ],
)
def test_chunks(chosen: Filter, chunk: StoredChunk, expected: bool) -> None:
    assert chosen.holds_chunk(chunk) == expected


SOURCES = {
    "python": "A = 1\nb = 2\ntype C = int\n\n\nclass D:\n    def e(self): ...\n\n\ndef f(): ...\n",
    "typescript": "export const a = 1;\nlet b = 2;\ninterface C { d(): void }\ntype E = C;\nenum F { G }\nclass H { i() {} }\n",
    "c": "extern int a;\nint b(void);\nstruct c;\n#define D 1\nunion e { int f; };\ntypedef int g;\nint h(void) { return 1; }\n",
    "cpp": "namespace a { class B { void c(); int d() { return 1; } }; }\n",
    "go": "package a\n\nconst B = 1\n\nvar c = 2\n\ntype D struct{}\n\nfunc (d D) E() {}\n",
    "rust": "trait A { fn b(&self); }\nimpl A for C { fn b(&self) {} }\nmacro_rules! d { () => {} }\nmod e { fn f() {} }\n",
    "java": "record A(int b) { void c() {} }\n@interface D {}\n",
    "csharp": "namespace A { class B { public int C { get; } public event D E; } }\n",
    "kotlin": "object A { val b = 1\n fun c() {} }\n",
    "ruby": "module A\n  B = 1\n  class C\n    def d; end\n  end\nend\n",
    "swift": "protocol A { func b() }\nextension C: A { func b() {} }\n",
    "lua": "local a = { b = function() end }\nfunction a.c() end\nfunction a:d() end\n",
    "bash": "A=1\nb() { :; }\n",
    "markdown": "# A\n\ntext\n\n## B\n\nmore\n",
    "restructuredtext": "A\n=\n\ntext\n\nB\n-\n\nmore\n",
    "json": '{"a": 1}\n',
    "": "A\n=\n\nwords and more words\n",
}


@pytest.mark.parametrize("language", SOURCES)
def test_kinds_are_those_that_places_have(language: str) -> None:
    data = SOURCES[language].encode()
    parsed = parse_source(data, language)
    found = {symbol.kind for symbol in parsed.symbols}
    found |= {chunk.kind for chunk in chunk_source("a", data, parsed, language)}
    assert found
    assert found <= kinds_of(language)


def test_kinds_of_a_project_are_those_of_its_languages() -> None:
    assert kinds_in(TREE) == sorted(kinds_of("python") | kinds_of("typescript") | kinds_of("markdown"))
    assert kinds_in(Tree("/p", 1, {})) == ["code", "data", "section", "text"]
    assert "trait" not in kinds_in(TREE)
    assert all_kinds() == frozenset().union(*map(kinds_of, LANGUAGES))
    assert kinds_of("go") == {
        "code", "constant", "data", "function", "interface", "method", "struct", "text", "type", "variable"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("*.py", ""),
        ("src/**/*.{ts,tsx}", ""),
        ("[a-z]*.py", ""),
        ("[]]", ""),
        ("[!]a]", ""),
        ("[[]", ""),
        ("[{]", ""),
        ("a]b}", ""),
        ("app/\\[slug", ""),
        ("\\{a", ""),
        ("[", "nothing closes the '[' in '['; for the character write \\["),
        ("src/[ab/c]", "nothing closes the '['"),
        ("[]", "nothing closes the '['"),
        ("[^]", "nothing closes the '['"),
        ("{[a,b]}", "nothing closes the '['"),
        ("{a,b", "nothing closes the '{' in '{a,b'; for the character write \\{"),
        ("x{a,{b,c}", "nothing closes the '{'"),
        ("!a", "the glob '!a' is negated"),
        ("", "the glob '' has an empty pattern"),
        ("[" * 4_000, "nothing closes the '['"),
    ],
)
def test_a_glob_that_was_cut_off_is_none(pattern: str, problem: str) -> None:
    if not problem:
        check_glob(pattern)
        return
    with pytest.raises(ValueError, match=re.escape(problem)):
        check_glob(pattern)
