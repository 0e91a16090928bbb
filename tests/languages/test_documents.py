"""Documents without a grammar have sections by their underlined or marked headings."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.documents import MAX_TITLE
from foveal.daemon.languages.shared.parse import parse_source


def check_sections(source: str, language: str, expected: list[str]) -> None:
    """Check the sections, written `name first-last`."""
    found = [
        f"{each.name} {each.start_line}-{each.end_line}"
        for each in parse_source(source.encode(), language).symbols
    ]
    assert found == expected


def test_labels_belong_to_the_heading_below_and_markup_is_no_part_of_a_title() -> None:
    title = "Use :setting:`KEY` and ``code``"
    source = f"One\n===\n\ntext\n\n.. _a:\n.. _b:\n\n{title}\n{'=' * len(title)}\n"
    check_sections(source, "restructuredtext", ["One 1-4", "Use KEY and code 6-10"])


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
    check_sections(source, "text", [])


def test_asciidoc() -> None:
    check_sections("= Book\n\ntext\n\n== Part\n\n=== Inner\n\n== Next", "asciidoc",
          ["Book 1-9", "Book/Part 5-7", "Book/Part/Inner 7-7", "Book/Next 9-9"])  # fmt: skip


def test_blocks_of_asciidoc_have_no_headings() -> None:
    verbatim = "".join(f"{mark * 4}\nls\n== no\n{mark * 4}\n\n" for mark in "-.+/")
    others = "".join(f"{mark * 5}\n== no\n----\n{mark * 5}\n----\nno\n{mark * 5}\n\n" for mark in "=*_")
    check_sections(f"== First\n\n{verbatim}== Second\n\n{others}```\n== no\n```\n== Last", "asciidoc",
          ["First 1-21", "Second 23-51", "Last 52-52"])  # fmt: skip


def test_underlined_titles_of_asciidoc() -> None:
    check_sections("git-add(1)\n==========\n\nNAME\n----\ntext\n\n[verse]\nOf a long\n----\ngit\n----\n\n"
                   "[[a]]\nUSE\n----\n", "asciidoc",
          ["git-add(1) 1-16", "git-add(1)/NAME 4-14", "git-add(1)/USE 15-16"])  # fmt: skip


@pytest.mark.parametrize(
    "block",
    [
        "````js\n```\n# no\n```\n````",
        "```\n~~~\n# no\n```",
        "~~~~ sh\n~~~\n```\n# no\n~~~~~  ",
        "```\n```js\n# no\n```",
        "  ```\n# no\n  ```",
        "```js``` is code",
    ],
)
def test_only_its_own_mark_ends_fenced_code_of_mdx(block: str) -> None:
    last = block.count("\n") + 4
    check_sections(f"# Top\n{block}\n\n# Last", "mdx", [f"Top 1-{last - 2}", f"Last {last}-{last}"])


def test_mdx() -> None:
    check_sections("import A from 'a'\n\n# Top\n\n```sh\n# no heading\n```\n\n## Sub\n#nor this", "mdx",
          ["Top 3-10", "Top/Sub 9-10"])  # fmt: skip


def test_sections_of_one_name_have_ids_of_their_own_and_are_headed_by_their_titles() -> None:
    source = "=====\nGuide\n=====\n\n.. _a:\n\nUse\n---\n\ntext\n\nDeep\n....\n\nUse\n---\n\nend\n"
    found = parse_source(source.encode(), "restructuredtext").symbols
    assert [(each.name, each.signature, each.depth) for each in found] == [
        ("Guide", "Guide", 0),
        ("Guide/Use", "Use", 1),
        ("Guide/Use/Deep", "Deep", 2),
        ("Guide/Use~2", "Use", 1),
    ]
