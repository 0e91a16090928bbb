"""Sources that are made to be hard to parse: python -m tests.hostile_sources LANGUAGE... parses all of them.

It prints each language whose answers are as any answer is, and ends with an error at the first that is not.
"""

from __future__ import annotations

import sys

from foveal.daemon.languages.shared.parse import parse_source

MANY = 1_100
"""Deeper than Python may recurse, and twice as deep as trees are read."""
HOSTILE = {
    "open": b"(" * MANY,
    "nested": b"(" * MANY + b")" * MANY,
    "squares": b"[" * MANY + b"]" * MANY,
    "curly": b"{" * MANY + b"}" * MANY,
    "calls": b"f(" * MANY + b")" * MANY,
    "functions": b"function f(){" * MANY + b"}" * MANY,
    "templates": b"`${" * MANY,
    "tags": b"<a>" * MANY,
    "less": b"a<" * MANY,
    "quotes": b">" * MANY + b" x",
    "lists": b"- " * MANY,
    "line": b'x = "' + b"a" * (1 << 16) + b'"\n',
    "zeros": bytes(1 << 14),
    "binary": bytes(range(256)) * 50,
    "headings": b"# a\n" * 500,
    "generated": b"".join(b"def f%d(a, b):\n    return a + b\n\n" % number for number in range(200)),
    "decorators": b"@a/*" * 300,
    "tries": b"try:\n import a\nexcept ImportError:\n pass\n" * 80,
}


def main() -> None:
    """Parse all sources in each language that is named."""
    for language in sys.argv[1:]:
        for case, source in HOSTILE.items():
            parsed = parse_source(source, language)
            assert len({each.name for each in parsed.symbols}) == len(parsed.symbols), (language, case)
            assert parsed.lines == source.count(b"\n") + (not source.endswith(b"\n")), (language, case)
        print(language, flush=True)


if __name__ == "__main__":
    main()
