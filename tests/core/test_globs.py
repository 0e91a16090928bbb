"""Globs match as documented, agree with a plain recursive matcher, and stay quick on hostile patterns."""

from __future__ import annotations

import re
import string

import pytest
from foveal.daemon.core.globs import (
    MAX_ALTERNATIVES,
    MAX_NESTING,
    MAX_PATTERN,
    compile_glob,
    rebase_glob,
    split_globs,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.properties import examples


def check(pattern: str, matched: str, unmatched: str) -> None:
    glob = compile_glob(pattern)
    assert [path for path in matched.split() if not glob.matches(path)] == []
    assert [path for path in unmatched.split() if glob.matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "matched", "unmatched"),
    [
        ("*.py", "a.py src/a.py src/x/.py .hidden.py", "a.pyc a.py/b py"),
        ("Makefile", "Makefile src/Makefile", "makefile Makefile/x xMakefile"),
        ("/Makefile", "Makefile", "src/Makefile"),
        ("./Makefile", "Makefile", "src/Makefile"),
        ("src/*.py", "src/a.py", "a.py src/x/a.py x/src/a.py"),
        ("./src/*.py", "src/a.py", "x/src/a.py"),
        ("src//./*.py", "src/a.py", "src/x/a.py"),
        ("src/**", "src/a src/x/y", "src a"),
        ("src/", "src/a src/x/y", "src x/src/a"),
        ("src/**/", "src/a src/x/y", "src"),
        ("/", "a a/b", ""),
        ("**", "a a/b/c .x", ""),
        ("*", "a a/b/c .x", ""),
        ("**/*", "a a/b/c .x", ""),
        ("**/test/**", "test/a x/test/a x/y/test/z/a", "test x/test"),
        ("**/a/b", "a/b x/a/b x/y/a/b", "a/b/c xa/b"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "ab a/bb x/a/b a/x/b/c"),
        ("a/**/**/b", "a/b a/x/b", "ab"),
        ("a/**/b/*/**/c", "a/b/x/c a/b/b/x/c a/q/b/x/y/c a/b/b/c", "a/b/c a/x/c"),
        ("a**b", "ab axb x/axxb", "a/b"),
        ("src/?.py", "src/a.py", "src/ab.py src/.py"),
        ("a?c", "abc a.c", "a/c ac"),
        ("[ab].py", "a.py x/b.py", "c.py ab.py"),
        ("[!ab].py", "c.py", "a.py b.py .py"),
        ("[^ab].py", "c.py", "a.py"),
        ("[a-c0-3].py", "b.py 2.py", "d.py 4.py -.py"),
        ("[]a].py", "].py a.py", "b.py"),
        ("[!]].py", "a.py", "].py"),
        ("[a-].py", "a.py -.py", "b.py"),
        ("[z-a].py", "", "z.py a.py -.py"),
        ("x[+-9]y", "x0y x.y", "x/y"),
        ("x[!a]y", "xby", "x/y xay"),
        ("[[&&~~||--]x", "[x &x |x", "yx"),
        ("[x", "[x a/[x", "x"),
        ("[]", "[]", "a"),
        ("a[/]b", "a[/]b", "a/b"),
        ("app/[id]/page.tsx", "app/i/page.tsx", "app/[id]/page.tsx"),
        (r"app/\[id\]/page.tsx", "app/[id]/page.tsx", "app/i/page.tsx"),
        (r"\*.py", "*.py", "a.py"),
        (r"\!x", "!x", "x"),
        ("*.{ts,tsx}", "a.ts x/a.tsx", "a.t a.tsxx a.{ts,tsx}"),
        ("{src,lib}/**/*.{js,jsx}", "src/a.js lib/x/a.jsx", "a.js src/a.ts x/lib/a.js"),
        ("{*.py,src/*.js}", "a.py x/a.py src/a.js", "x/src/a.js"),
        ("a{b,c{d,e{f,g}}}h", "abh acdh acefh acegh", "ach aceh ah"),
        ("src/{,sub/}*.py", "src/a.py src/sub/a.py", "src/x/a.py"),
        ("*.{ts}", "a.ts", "a.{ts}"),
        ("{a,b", "{a,b", "a b"),
        ("a}b,c", "a}b,c", "ab"),
        (r"\{a,b\}", "{a,b}", "a b"),
        ("a*b*c*d", "abcd axbxcxd abbccdd", "abdc abc/d abcdx"),
        ("*a*a*", "aa xaxax", "a xa"),
        ("a.b+c$", "a.b+c$", "axb+c$"),
        ("größe/*.md", "größe/ß.md", "grosse/x.md"),
    ],
)
def test_glob_matches(pattern: str, matched: str, unmatched: str) -> None:
    check(pattern, matched, unmatched)


def test_an_empty_path_is_matched_by_nothing_that_names_something() -> None:
    assert not compile_glob("src/**").matches("")
    assert not compile_glob("?").matches("")


@pytest.mark.parametrize(
    ("pattern", "everything"),
    [
        ("**", True),
        ("*", True),
        ("**/*", True),
        ("/**", True),
        ("{*.py,**}", True),
        ("./", True),
        ("**/*/*", False),
        ("*.py", False),
        ("src/**", False),
        ("/*", False),
    ],
)
def test_everything(pattern: str, everything: bool) -> None:
    assert compile_glob(pattern).everything is everything


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        (".", "empty"),
        ("{,a}", "empty"),
        ("!*.py", "negated"),
        ("../x", "'..'"),
        ("src/../x", "'..'"),
        ("src\\", "backslash"),
        ("src\\/x", "backslash"),
        ("x" * (MAX_PATTERN + 1), "characters"),
        ("*" * 65_536, "characters"),
        ("{a,b}" * 9, "512 patterns"),
        ("{a,b}" * 800, "patterns"),
        ("{" + "a," * MAX_ALTERNATIVES + "a}", "257 patterns"),
        ("{" * 30 + "a,b" + "}" * 30, f"more than {MAX_NESTING}"),
        ("{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}" + "x" * 100, "characters"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        compile_glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*" * 4096, "a" * 4096),
        ("a*" * 2048, "a" * 4095 + "b"),
        ("*a" * 2000 + "b", "a" * 4096),
        ("**/" * 1365, "a/" * 2000 + "a"),
        ("**/a/" * 800 + "b", "a/" * 2000 + "a"),
        ("**/*a*a*a*a*b/" * 290 + "x", "aaaaaaa/" * 500 + "a"),
        ("{a,b}" * 8 + "*a" * 10, "ab" * 2000),
        ("[a-z]*" * 600 + "!", "a" * 4096),
        ("{" * 4096, "{" * 4096),
        ("[" * 4096, "[" * 4096),
    ],
)
def test_a_hostile_pattern_is_answered_by_work_that_ends(pattern: str, path: str) -> None:
    # A matcher that backtracks would not come back from these; no clock is needed to see that.
    assert compile_glob(pattern).matches(path) in (True, False)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("*.ts,src/**/*.{js,jsx}", ("*.ts", "src/**/*.{js,jsx}")),
        (" *.ts , , *.js ,", ("*.ts", "*.js")),
        ("{a,{b,c},d},e", ("{a,{b,c},d}", "e")),
        ("{a,b", ("{a", "b")),
        ("a},b", ("a}", "b")),
        (r"a\,b,c", (r"a\,b", "c")),
        (r"\{a,b}", (r"\{a", "b}")),
        ("", ()),
        (" , ", ()),
    ],
)
def test_a_list_is_split_outside_braces(text: str, parts: tuple[str, ...]) -> None:
    assert split_globs(text) == parts


@pytest.mark.parametrize(
    ("pattern", "folder", "matched", "unmatched"),
    [
        ("*.py", "app", "app/a.py app/x/a.py", "a.py x/app/a.py"),
        ("src/*.py", "app", "app/src/a.py", "src/a.py app/x/src/a.py"),
        ("/x", "app", "app/x", "x app/y/x"),
        ("docs/", "app", "app/docs/x/y", "docs/x app/x/docs/y"),
        ("{*.py,src/*.js}", "a/b", "a/b/x/a.py a/b/src/a.js", "a/b/x/src/a.js"),
        ("**", "a[1]{x,y}", "a[1]{x,y}/z", "a1x/z"),
        ("*.py", "", "a.py x/a.py", "a.js"),
    ],
)
def test_a_pattern_moved_into_a_folder(pattern: str, folder: str, matched: str, unmatched: str) -> None:
    globs = [compile_glob(moved) for moved in rebase_glob(pattern, folder)]
    assert all(any(glob.matches(path) for glob in globs) for path in matched.split())
    assert not any(glob.matches(path) for glob in globs for path in unmatched.split())


def test_a_pattern_that_cannot_be_used_is_not_moved_either() -> None:
    for pattern in ("../x", "a\\", "!x"):
        with pytest.raises(ValueError):
            rebase_glob(pattern, "app")


# The oracle: written for being plainly right, exponential in time.


def oracle(pattern: str, path: str) -> bool:
    if "/" not in pattern:
        pattern = "**/" + pattern
    return oracle_names(pattern.removeprefix("/").split("/"), path.split("/"))


def oracle_names(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        least = 1 if len(pattern) == 1 else 0
        return any(oracle_names(pattern[1:], path[taken:]) for taken in range(least, len(path) + 1)) or (
            len(pattern) == 1 and bool(path)
        )
    return bool(path) and oracle_name(pattern[0], path[0]) and oracle_names(pattern[1:], path[1:])


def oracle_name(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(oracle_name(pattern[1:], name[taken:]) for taken in range(len(name) + 1))
    if pattern.startswith("[!a]"):
        return bool(name) and name[0] != "a" and oracle_name(pattern[4:], name[1:])
    return bool(name) and pattern[0] in ("?", name[0]) and oracle_name(pattern[1:], name[1:])


pattern_names = st.one_of(
    st.just("**"),
    st.lists(st.sampled_from(["a", "b", "*", "?", "[!a]"]), min_size=1, max_size=6).map("".join),
)
patterns = st.builds(
    lambda slash, names: slash + "/".join(names),
    st.sampled_from(["", "/"]),
    st.lists(pattern_names, min_size=1, max_size=5),
)


@settings(max_examples=examples(500))
@given(patterns, st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=3).map("/".join))
def test_it_agrees_with_the_oracle(pattern: str, path: str) -> None:
    assert compile_glob(pattern).matches(path) == oracle(pattern, path)


@given(st.text(string.printable, min_size=1, max_size=40), st.text(string.printable, max_size=40))
@example("!a", "a")
def test_any_text_compiles_or_is_refused(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
    except ValueError:
        return
    assert glob.matches(path) in (True, False)
