"""A question is split into prose and what was pasted into it, each told apart by its lines."""

from __future__ import annotations

import pytest
from foveal.daemon.search.blocks import readable, split_blocks
from hypothesis import given
from hypothesis import strategies as st

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g(x)\nKeyError: 1'


def check(text: str, expected: str) -> None:
    assert [block.kind for block in split_blocks(readable(text))] == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "prose"),
        ("How does it work?\nI wonder.", "prose"),
        ("x = 1", "prose"),
        ("x = 1\ny = f(x)\nreturn y;", "code"),
        ("items.forEach(item => {", "code"),
        (f"It fails.\n{TRACE}", "prose trace"),
        (f"It fails:\n```\n{TRACE}\n```\nWhy?", "prose trace prose"),
        ("Why?\n```python\ndef f(x):\n    return x\n```", "prose code"),
        ("~~~diff\n-a\n+b\n~~~", "diff"),
        ("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b", "diff"),
        ("2031-03-04 02:11:09 ERROR drop failed\n2031-03-04 02:11:10 INFO ok", "log"),
        ('{"level":"error","msg":"fsync failed"}', "log"),
        ("[12:30:11] WARN  shop - low", "log"),
        ("Nov 22 05:03:11 host sshd[12]: Failed password", "log"),
        ("E0304 02:11:09.123456   123 wal.go:12] cannot rotate", "log"),
        ("SELECT id FROM users WHERE id = 1", "command"),
        ("'; DROP TABLE users; --", "command"),
        ("curl -sS https://example.org", "command"),
        ("$ make install", "command"),
        ("kubectl get pods | grep Crash", "command"),
        ("find the login in src", "prose"),
        ("make the cache faster", "prose"),
        ("select the users from the admin page", "prose"),
        ("where do we run `SELECT * FROM users`?", "prose"),
        ("```\nopen\nnever closed", "code"),
        ("```x = 1```", "code"),
    ],
)
def test_kinds(text: str, expected: str) -> None:
    check(text, expected)


def test_readable_removes_what_only_machines_see() -> None:
    assert readable("\x1b[31mred\x1b[0m a\u200bb\r\nc\x00<!-- note\nmore -->d\u00a0e") == "red ab\ncd e"
    assert readable("a <!-- never closed") == "a <!-- never closed"
    assert readable("x\ud800y") == "x?y"


@given(st.text(alphabet="ab `~\n\t>$=(){};:/.1"))
def test_no_line_is_lost_but_fences(text: str) -> None:
    kept = sum(len(block.lines) for block in split_blocks(text))
    fences = sum(1 for line in text.split("\n") if "```" in line or "~~~" in line)
    assert text.count("\n") + 1 - fences <= kept <= text.count("\n") + 1
