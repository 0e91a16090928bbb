"""A question is taken apart into what can ask by itself; any text, however hostile, has a bounded anatomy."""

from __future__ import annotations

import pytest
from foveal.daemon.search.blocks import MAX_CONTENT_WORDS, MAX_WINDOWS
from foveal.daemon.search.error_messages import MAX_ERRORS
from foveal.daemon.search.mentions import MAX_PATHS, MAX_SYMBOLS
from foveal.daemon.search.question import Question, take_apart
from foveal.daemon.search.stack_trace import MAX_FRAMES
from hypothesis import given
from hypothesis import strategies as st

ISSUE = """Checkout fails for orders in Swiss francs

### Describe the bug
Since the last release `Cart.total` fails when the currency is CHF. Compare shop/rates.py:12.

### Stack trace
```
Traceback (most recent call last):
  File "/srv/app/shop/views/cart.py", line 88, in checkout
    total = cart.total(currency)
  File "/usr/lib/python3.12/site-packages/money/table.py", line 7, in get
    return self.rates[currency]
KeyError: 'CHF'
```

### Reproduction
```python
cart = make_cart("CHF")
cart.total()
```

### Environment
- OS: Linux
- shop 4.2
"""


def test_an_issue_with_a_stack_trace() -> None:
    question = take_apart(ISSUE)
    assert question.text == ISSUE
    assert question.prose.split("\n") == [
        "Checkout fails for orders in Swiss francs",
        "Since the last release Cart.total fails when the currency is CHF. Compare shop/rates.py:12.",
    ]
    assert question.windows == (" ".join(question.prose.split("\n")),)
    assert [(mention.path, mention.line) for mention in question.paths] == [
        ("shop/rates.py", 12),
        ("/srv/app/shop/views/cart.py", 88),
    ]
    assert [frame.function for frame in question.frames] == ["checkout", "get"]
    assert [frame.library for frame in question.frames] == [False, True]
    assert [mention.name for mention in question.symbols][:1] == ["Cart.total"]
    assert "make_cart" in {mention.name for mention in question.symbols}
    assert [error.type for error in question.errors] == ["KeyError"]
    assert question.pasted == ("trace", "code")
    assert question.words[:3] == ("checkout", "fails", "orders")
    assert "linux" not in question.words


def test_a_trace_alone_asks_with_its_error() -> None:
    question = take_apart(
        "Caused by: java.sql.SQLException: Lock wait timeout exceeded\n\tat com.acme.Tx.commit(Tx.java:73)"
    )
    assert question.prose == ""
    assert question.windows == ("java.sql.SQLException: Lock wait timeout exceeded",)
    assert [mention.path for mention in question.paths] == ["com/acme/Tx.java"]


def test_what_a_program_printed_into_a_fence_is_an_error() -> None:
    question = take_apart("open fails:\n```\n$ tool open x.csv\nCouldn't fit table into 209 columns!\n```")
    assert [error.phrases for error in question.errors] == [("Couldn't fit table into",)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("which tests cover the parser?", "test"),
        ("is parse_config tested", "test"),
        ("fixtures of tests/unit/cart.py", "test"),
        ("where do the docs explain proxies?", "document"),
        ("what does README.md say", "document"),
        ("the release workflow in .github/workflows/ci.yml", "data"),
        ("where is the dockerfile", "data"),
        ("an example of a plugin", "example"),
        ("how is the latest contest attested", ""),
        ("for example the parser", ""),
        ("how does login work", ""),
        ("The tests pass. " + "But the parser is slow for all large inputs of this kind. " * 9, ""),
        (
            "Please add some tests. " + "But the parser is slow for all large inputs of this kind. " * 9,
            "test",
        ),
        ("哪些测试覆盖了 parse", "test"),
    ],
)
def test_what_kind_of_file_is_wanted(text: str, wanted: str) -> None:
    assert take_apart(text).wanted == set(wanted.split())


def check_bounds(question: Question) -> None:
    assert len(question.windows) <= MAX_WINDOWS
    assert len(question.words) <= MAX_CONTENT_WORDS
    assert len(question.paths) <= MAX_PATHS
    assert len(question.frames) <= MAX_FRAMES
    assert len(question.symbols) <= MAX_SYMBOLS
    assert len(question.errors) <= MAX_ERRORS


PIECES = [
    "a",
    "`",
    "a.b ",
    "Aa ",
    "(",
    "a(",
    "<a",
    "a/",
    "\\",
    "\\n at ",
    "'",
    '"',
    "*a ",
    "# a\n",
    "- [ ] a\n",
    "```\n",
    "<!-- ",
    "Error: ",
    "x = 1\n",
    "at a at ",
    " in a.php",
    "#0 a (b) ",
    "SELECT a ",
    "a@http://b",
    "::a",
    "foo_bar ",
    "src/a.py:1 ",
    '  File "a.py", line 1, in f\n',
    "2031-03-04 02:11:09 x y z\n",
    '{"a":',
    "[a](",
    "\x1b[",
    "é",
    "字",
    "\ud800",
    " ",
    "\n",
    "\x00",
]


@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_a_megabyte_of_anything_has_a_bounded_anatomy(piece: str) -> None:
    check_bounds(take_apart(piece * (1_000_000 // len(piece))))


@given(st.text())
def test_any_text(text: str) -> None:
    question = take_apart(text)
    check_bounds(question)
    again = take_apart(text)
    parts = [name for name in dir(question) if not name.startswith("_")]
    # In whatever order they are asked for: each is worked out by itself.
    assert {name: getattr(again, name) for name in reversed(parts)} == {
        name: getattr(question, name) for name in parts
    }


@pytest.mark.parametrize(
    ("code", "defined"),
    [
        ("```python\n@cached\nasync def load(a):\n    return a\nclass Box:\n```", ("load", "Box")),
        ("```go\nfunc (s *Server) Close() error {\n```", ("Close",)),
        ("```ts\nexport interface Clock {\n```", ("Clock",)),
        ("```js\nconst total = (cart) => 1;\n```", ("total",)),
        ("```c\nstatic int read_frame(struct frame *f) {\n  return next(f);\n}\n```", ("read_frame",)),
        ("who calls load?", ()),
    ],
)
def test_what_pasted_code_defines(code: str, defined: tuple[str, ...]) -> None:
    assert take_apart(code).defined == defined
