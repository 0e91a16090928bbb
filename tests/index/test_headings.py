"""Documents without a grammar have sections by their underlined or marked headings."""

from __future__ import annotations

import pytest
from foveal.daemon.index.chunks import MAX_TITLE, find_sections


def check(source: str, language: str, expected: list[str]) -> None:
    """Check the sections, written `name first-last`."""
    found = [
        f"{each.name} {each.start_line}-{each.end_line}"
        for each in find_sections(source.split("\n"), language)
    ]
    assert found == expected


def test_labels_belong_to_the_heading_below_and_markup_is_no_part_of_a_title() -> None:
    title = "Use :setting:`KEY` and ``code``"
    source = f"One\n===\n\ntext\n\n.. _a:\n.. _b:\n\n{title}\n{'=' * len(title)}\n"
    check(source, "restructuredtext", ["One 1-5", "Use KEY and code 6-11"])


@pytest.mark.parametrize(
    "source",
    [
        "a paragraph\nwhose last line\n===============\n",
        "title\n==\n",
        "=====\n=====\n",
        "  indented\n==========\n",
        "====  ====\na     b\n====  ====\n",
        f"{'a' * (MAX_TITLE + 1)}\n{'=' * (MAX_TITLE + 1)}\n",
        "",
    ],
    ids=["paragraph", "short", "ornament", "indented", "table", "long", "empty"],
)
def test_lines_that_are_no_headings(source: str) -> None:
    check(source, "text", [])


def test_asciidoc() -> None:
    check("= Book\n\ntext\n\n== Part\n\n=== Inner\n\n== Next", "text",
          ["Book 1-9", "Book/Part 5-8", "Book/Part/Inner 7-8", "Book/Next 9-9"])  # fmt: skip


def test_mdx() -> None:
    check("import A from 'a'\n\n# Top\n\n```sh\n# no heading\n```\n\n## Sub\n#nor this", "mdx",
          ["Top 3-10", "Top/Sub 9-10"])  # fmt: skip
