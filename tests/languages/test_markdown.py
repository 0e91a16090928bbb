"""A document's sections are its headings with all below them; those in quotations and lists are none."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source

from tests.parse_cases import check, heads, plain


def test_markdown_sections() -> None:
    source = """\
---
title: x
# no: heading
---
# Guide `foo` #  #= 0 section Guide foo to 22

Sub *title*  #= 1 section Guide foo/Sub title to 20
-----------

```py
# not a heading
```

> # Quoted

- # In a list

    # Indented code

#### [Deep](http://x)  #= 3 section Guide foo/Sub title/Deep
## Sub title  #= 1 section Guide foo/Sub title~2 to 22
text
# Guide foo  #= 0 section Guide foo~2 to 24
## Last  #= 1 section Guide foo~2/Last
"""
    check(source, "markdown")
    assert heads(source, "markdown")["Guide foo"] == "# Guide `foo` #"
    assert parse_source(plain(source), "markdown").imports == ()
