"""Prose is read as Markdown means it: comments and code apart, imports where a reader would see one."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.instruction_text import prose_lines, trimmed
from hypothesis import given
from hypothesis import strategies as st


def check(text: str, imports: list[str]) -> None:
    assert [target for line in prose_lines(text) for target in line.imports] == imports


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@a.md", ["a.md"]),
        ("See @a.md and @docs/b.md.", ["a.md", "docs/b.md"]),
        ("- @./a.md\n  * @../b.md", ["./a.md", "../b.md"]),
        ("@~/a.md\n@/etc/passwd", ["~/a.md", "/etc/passwd"]),
        (r"@my\ docs/a\ b.md rest", ["my docs/a b.md"]),
        ("(@a.md) x@b.md mail@host.org", []),
        ("@a.md, @b.md; @c.md!", ["a.md", "b.md", "c.md"]),
        ("@a.md#part @#x @", ["a.md"]),
        ("`@a.md` ``@b.md ` @c.md`` @d.md", ["d.md"]),
        ("`@a.md\n@b.md` @c.md", ["c.md"]),
        ("`open @a.md\n\nclosed` @b.md", ["a.md", "b.md"]),
        ("``open` @a.md", ["a.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("```md\n@a.md\n~~~\n@b.md\n````\n@c.md", ["c.md"]),
        ("~~~\n@a.md\n```\n~~~\n@b.md", ["b.md"]),
        ("````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]),
        ("- item\n\n  ```sh\n  @a.md\n  ```\n- @b.md", ["b.md"]),
        ("1. ```\n   @a.md\n   ```\n@b.md", ["b.md"]),
        ("> ```\n> @a.md\n> ```\n> @b.md", ["b.md"]),
        ("``` `@a.md` not a fence\n@b.md", ["b.md"]),
        ("```\n@never.md", []),
        ("<!--\n@a.md\n-->\n@b.md", ["b.md"]),
    ],
)
def test_where_an_import_is_one(text: str, imports: list[str]) -> None:
    check(text, imports)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n<!-- b -->\nc", "a\nc"),
        ("<!-- a\n\nb -->\nc", "c"),
        ("   <!-- a -->\nc", "c"),
        ("<!-- a --> b", " b"),
        ("<!-- a --><!-- b\n--><!-- c --> d", " d"),
        ("a <!-- inline --> b", "a <!-- inline --> b"),
        ("    <!-- code -->", "    <!-- code -->"),
        ("```\n<!-- a -->\n```", "```\n<!-- a -->\n```"),
        ("<!-- a\n```\n-->\nb", "b"),
        ("a\n<!-- never closed\nb", "a\n<!-- never closed\nb"),
        ("<!-- a -->\n<!-- never closed\nb", "<!-- never closed\nb"),
        ("\n\n  a\n\nb \n \n", "  a\n\nb "),
        ("\n \n", ""),
        ("", ""),
    ],
)
def test_block_comments_and_blank_ends_go(text: str, rest: str) -> None:
    assert trimmed(prose_lines(text))[1] == rest


@pytest.mark.parametrize(("text", "number"), [("a", 1), ("\n\na", 3), ("<!--\n-->\n\n# a\n", 4), ("", 1)])
def test_the_first_line_keeps_its_number(text: str, number: int) -> None:
    assert trimmed(prose_lines(text))[0] == number


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("@a.md", True),
        ("  @a.md ", True),
        ("- @a.md", False),
        ("@a.md.", True),
        ("@a.md @b.md", False),
        ("x", False),
    ],
)
def test_alone(text: str, alone: bool) -> None:
    assert [line.alone for line in prose_lines(text)] == [alone]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- " * 200_000,
        "<!---->" * 200_000,
        "<!-- -->\n" * 100_000,
        "".join("`" * n + " " for n in range(1, 1500)),
        "` `` " * 100_000,
        "- " * 200_000,
        "@" * 200_000,
        "@a " * 100_000,
        "@" + "\\ " * 200_000,
        ">" * 200_000,
        "```" * 100_000,
        "1" * 200_000,
    ],
)
def test_a_hostile_text_is_read_by_work_that_ends(text: str) -> None:
    assert len(prose_lines(text)) <= text.count("\n") + 1


@given(st.text("`~<!->@a.\\ \n*", max_size=80))
def test_without_comments_every_line_stays(text: str) -> None:
    lines = prose_lines(text)
    if "<!--" not in text:
        assert "\n".join(line.text for line in lines) == text
    assert [line.number for line in lines] == sorted({line.number for line in lines})
