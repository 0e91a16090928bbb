"""A document's sections are its headings with all below them; those in quotations and lists are none."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source

from tests.parse_cases import check, heads


def test_markdown_sections() -> None:
    source = """\
---
title: x
# no: heading
---
# Guide `foo` #

Sub *title*
-----------

```py
# not a heading
```

> # Quoted

- # In a list

    # Indented code

#### [Deep](http://x)
## Sub title
text
# Guide foo
## Last
"""
    check(
        source,
        "markdown",
        """
        0 section Guide foo 5-22
        1 section Guide foo/Sub title 7-20
        3 section Guide foo/Sub title/Deep 20-20
        1 section Guide foo/Sub title~2 21-22
        0 section Guide foo~2 23-24
        1 section Guide foo~2/Last 24-24
        """,
    )
    assert heads(source, "markdown")["Guide foo"] == "# Guide `foo` #"
    assert parse_source(source.encode(), "markdown").imports == ()
