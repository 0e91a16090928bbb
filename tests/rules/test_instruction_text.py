"""Imports are put in their places, once each, and what is refused stays as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from foveal.daemon.core.confined_folder import ConfinedFolder, ConfinedReader
from foveal.daemon.core.system import System
from foveal.daemon.rules.instruction_text import (
    MAX_FRONTMATTER,
    Frontmatter,
    Importer,
    prose_lines,
    split_frontmatter,
    trimmed,
)
from hypothesis import given
from hypothesis import strategies as st


def check(root: Path, files: dict[str, str], text: str, warned: list[str]) -> None:
    """Expand `CLAUDE.md`; each warning is a file's name and the start of its message."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    warnings: list[str] = []
    importer = Importer(
        ConfinedReader(System()),
        str(root / "home"),
        lambda name, message: warnings.append(f"{name}: {message}"),
    )
    zone = ConfinedFolder(str(root), str(root.resolve()), "", trusted=False)
    real = str(root.resolve() / "CLAUDE.md")
    lines, _ = importer.expand(zone, files["CLAUDE.md"], "CLAUDE.md", real)
    assert trimmed(lines)[1] == text
    assert [warning[: len(start)] for warning, start in zip(warnings, warned, strict=True)] == warned


@pytest.mark.parametrize(
    ("files", "text", "warned"),
    [
        ({"CLAUDE.md": "a\n@b.md\nc", "b.md": "\nB\n\n"}, "a\nB\nc", []),
        ({"CLAUDE.md": "@b.md", "b.md": "<!-- x -->\n"}, "", []),
        ({"CLAUDE.md": "- @b.md\n- c", "b.md": "# B"}, "- @b.md\n\n# B\n\n- c", []),
        ({"CLAUDE.md": "@b.md @c.md", "b.md": "B", "c.md": "C"}, "@b.md @c.md\n\nB\n\n\nC", []),
        ({"CLAUDE.md": "@x/b.md", "x/b.md": "@c.md", "x/c.md": "C"}, "C", []),
        ({"CLAUDE.md": "@~/b.md", "home/b.md": "B"}, "B", []),
        ({"CLAUDE.md": "@b.md#part", "b.md": "B"}, "B", []),
        ({"CLAUDE.md": "@b.md\n@./b.md", "b.md": "B"}, "B\n@./b.md", []),
        (
            {"CLAUDE.md": "@b.md", "b.md": "@CLAUDE.md"},
            "@CLAUDE.md",
            ["b.md: the import @CLAUDE.md is cyclic"],
        ),
        ({"CLAUDE.md": "@x @x.md"}, "@x @x.md", ["CLAUDE.md: the import @x.md doesn't exist"]),
        ({"CLAUDE.md": "@../x"}, "@../x", ["CLAUDE.md: the import @../x leads out of "]),
        ({"CLAUDE.md": "@b.md", "b.md": "a\0"}, "@b.md", ["CLAUDE.md: the import @b.md isn't text"]),
    ],
)
def test_imports(tmp_path: Path, files: dict[str, str], text: str, warned: list[str]) -> None:
    check(tmp_path, files, text, warned)


def check_prose(text: str, imports: list[str]) -> None:
    assert [target for line in prose_lines(text) for target in line.imports] == imports


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@a.md", ["a.md"]),
        ("See @a.md and @docs/b.md.", ["a.md", "docs/b.md"]),
        (r"@my\ docs/a\ b.md rest", ["my docs/a b.md"]),
        ("(@a.md) x@b.md mail@host.org", []),
        ("@a.md#part @#x @", ["a.md"]),
        ("`@a.md` ``@b.md ` @c.md`` @d.md", ["d.md"]),
        ("`@a.md\n@b.md` @c.md", ["c.md"]),
        ("`open @a.md\n\nclosed` @b.md", ["a.md", "b.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("```md\n@a.md\n~~~\n@b.md\n````\n@c.md", ["c.md"]),
        ("````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]),
        ("- item\n\n  ```sh\n  @a.md\n  ```\n- @b.md", ["b.md"]),
        ("``` `@a.md` not a fence\n@b.md", ["b.md"]),
        ("<!--\n@a.md\n-->\n@b.md", ["b.md"]),
    ],
)
def test_where_an_import_is_one(text: str, imports: list[str]) -> None:
    check_prose(text, imports)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n<!-- b -->\nc", "a\nc"),
        ("<!-- a\n\nb -->\nc", "c"),
        ("<!-- a --> b", " b"),
        ("<!-- a --><!-- b\n--><!-- c --> d", " d"),
        ("a <!-- inline --> b", "a <!-- inline --> b"),
        ("```\n<!-- a -->\n```", "```\n<!-- a -->\n```"),
        ("a\n<!-- never closed\nb", "a\n<!-- never closed\nb"),
        ("\n\n  a\n\nb \n \n", "  a\n\nb "),
    ],
)
def test_block_comments_and_blank_ends_go(text: str, rest: str) -> None:
    assert trimmed(prose_lines(text))[1] == rest


@pytest.mark.parametrize(("text", "number"), [("a", 1), ("\n\na", 3), ("<!--\n-->\n\n# a\n", 4), ("", 1)])
def test_the_first_line_keeps_its_number(text: str, number: int) -> None:
    assert trimmed(prose_lines(text))[0] == number


PROSE = st.lists(st.sampled_from(["`", "~~~", "<!--", "-->", "@a.", "\\", " ", "\n", "*", "a"]), max_size=40)


@given(PROSE.map("".join))
def test_without_comments_every_line_stays(text: str) -> None:
    lines = prose_lines(text)
    if "<!--" not in text:
        assert "\n".join(line.text for line in lines) == text
    assert [line.number for line in lines] == sorted({line.number for line in lines})


def head(text: str) -> Frontmatter:
    return split_frontmatter(f"---\n{text}\n---\nbody\n")


@pytest.mark.parametrize(
    ("text", "fields", "body", "line", "present"),
    [
        ("---\na: b\n---\nbody\n", {"a": "b"}, "body\n", 4, True),
        ("---\n---\nbody", {}, "body", 3, True),
        ("---\n\n# nothing\n\n---\nbody", {}, "body", 6, True),
        ("---\nd: |\n  one\n  --- two\n---\nbody", {"d": "one\n--- two\n"}, "body", 6, True),
        ("# Title\n---\na: b\n---\n", {}, "# Title\n---\na: b\n---\n", 1, False),
        ("---\nno end", {}, "---\nno end", 1, False),
        ("---\nprose between two rules\n---\nx", {}, "---\nprose between two rules\n---\nx", 1, False),
    ],
)
def test_a_head_is_parted_from_its_body(
    text: str, fields: Mapping[str, object], body: str, line: int, present: bool
) -> None:
    parsed = split_frontmatter(text)
    assert (dict(parsed.fields), parsed.body, parsed.line, parsed.present) == (fields, body, line, present)
    assert parsed.problem == ""


@pytest.mark.parametrize(
    ("text", "key", "texts"),
    [
        ("globs: *.ts,**/*.tsx", "globs", ("*.ts", "**/*.tsx")),
        ("globs: *.ts, **/*.tsx  # all of them", "globs", ("*.ts", "**/*.tsx")),
        ("globs: '*.{ts,tsx},*.js'", "globs", ("*.{ts,tsx}", "*.js")),
        ("globs: {src,lib}/**/*.ts", "globs", ("{src,lib}/**/*.ts",)),
        ("globs: [*.ts, **/*.{a,b}]", "globs", ("*.ts", "**/*.{a,b}")),
        ("globs: !*.ts", "globs", ("!*.ts",)),
        (
            "globs:\n  - *.ts\n  - src/**\n  - {a,b}/*.c\n  - '*.js'",
            "globs",
            ("*.ts", "src/**", "{a,b}/*.c", "*.js"),
        ),
        ("paths:\n  - src/**\n  - a, b", "paths", ("src/**", "a", "b")),
        ("globs: {a: b, c: d}\nx: y", "globs", ("{a: b, c: d}",)),
        ("globs:\n  - a: b\n  - [c]", "globs", ()),
    ],
)
def test_globs_as_they_are_written_in_the_wild(text: str, key: str, texts: tuple[str, ...]) -> None:
    parsed = head(text)
    assert (parsed.texts(key), parsed.problem, parsed.body) == (texts, "", "body\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [b", "on line"),
        ("paths: [*.ts", "on line 2"),
        ('paths: *.ts\ndescription: "open', "on line 4"),
        ("a: b: c\nd: e\n\tf: g", "on line"),
        ("a: b\n  c: d\n :", "on line 3"),
        ("a: &x [b, b]\nc: [*x, *x]", "anchor"),
        ("a: *x", "alias"),
        ("- a\n- b", "is a list"),
        ("a: " + "[" * 50_000, "nested"),
        ("- " * 20_000, "nested"),
        ("a: " + "x" * MAX_FRONTMATTER, f"at most {MAX_FRONTMATTER}"),
        ("a: \x07", "control characters"),
        ("a: \ud800", "surrogates"),
        ("? [a]\n: b", "unhashable"),
    ],
)
def test_a_head_that_cannot_be_used_says_why_and_gives_nothing(text: str, problem: str) -> None:
    parsed = head(text)
    assert (dict(parsed.fields), parsed.present, parsed.body) == ({}, False, "body\n")
    assert problem in parsed.problem
    assert "\n" not in parsed.problem


def test_tags_build_nothing() -> None:
    parsed = head("a: !!python/object/apply:os.system [id]\nb: !!python/name:os.system ''")
    assert dict(parsed.fields) == {"a": ["id"], "b": ""}


@pytest.mark.parametrize(
    "text",
    [
        "globs: *" + " " * 60_000 + "x",
        "globs: *" + " \t" * 30_000 + "x",
        "a: " + " #" * 30_000,
        'a: "' + "\\" * 60_000,
        'globs: "' + "\\a" * 30_000 + "' x",
        "a: {" * 15_000,
        "a: [" + "x," * 30_000 + "]",
        "globs: " + "{" * 60_000,
        "globs: [" + "{," * 30_000 + "]",
        "-\t" * 30_000,
    ],
)
def test_a_hostile_head_is_parted_by_work_that_ends(text: str) -> None:
    parsed = head(text)
    assert parsed.body == "body\n"
    assert isinstance(parsed.texts("globs"), tuple)


@given(st.text("-:#*&!{}[]'\"\\|> \t\nagx,", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    parsed = split_frontmatter(text)
    assert text.endswith(parsed.body)
    assert parsed.line == text[: len(text) - len(parsed.body)].count("\n") + 1 or not parsed.body
    within = split_frontmatter(f"---\n{text}\n---\nbody")
    assert within.body.endswith("body")
