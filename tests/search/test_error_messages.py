"""Errors are found with their types and with those parts of their messages that stand in source code."""

from __future__ import annotations

import pytest
from foveal.daemon.search.error_messages import MAX_ERRORS, find_errors, literal_parts


@pytest.mark.parametrize(
    ("line", "kind", "phrases"),
    [
        ("KeyError: 'CHF'", "KeyError", ()),
        (
            "requests.exceptions.Timeout: host did not answer",
            "requests.exceptions.Timeout",
            ("host did not answer",),
        ),
        (
            "Caused by: java.sql.SQLException: Lock wait timeout exceeded",
            "java.sql.SQLException",
            ("Lock wait timeout exceeded",),
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException: order 4711 is already closed',
            "java.lang.IllegalStateException",
            ("is already closed",),
        ),
        (
            "Uncaught TypeError: Cannot read properties of undefined (reading 'id')",
            "TypeError",
            ("Cannot read properties of undefined",),
        ),
        (
            "Unhandled exception. System.ArgumentNullException: Value cannot be null. (Parameter 'tenant')",
            "System.ArgumentNullException",
            ("Value cannot be null",),
        ),
        ("error[E0382]: borrow of moved value: `frame`", "E0382", ("borrow of moved value",)),
        (
            "a.tsx(41,17): error TS2345: Argument of type 'string | null' is not assignable to parameter",
            "TS2345",
            ("Argument of type", "is not assignable to parameter"),
        ),
        (
            "panic: runtime error: index out of range [3] with length 3",
            "",
            ("runtime error", "index out of range", "with length"),
        ),
        ("thread 'main' panicked at 'index out of bounds: 3', src/a.rs:1:2", "", ("index out of bounds",)),
        (
            "lib/cart.rb:12:in `total': undefined method `price' for nil (NoMethodError)",
            "NoMethodError",
            ("undefined method",),
        ),
        (
            "PHP Fatal error:  Uncaught Error: Call to a member function add() on null",
            "",
            ("Call to a member function add",),
        ),
        ("** (KeyError) key :x not found", "KeyError", ("key :x not found",)),
        ("lua: cart.lua:12: attempt to index a nil value (field 'x')", "", ("attempt to index a nil value",)),
        ("./wal.go:8:3: missing return value", "", ("missing return value",)),
        ("fatal: not a git repository: /home/kim", "", ("not a git repository",)),
        ("Couldn't fit table into 209 columns!", "", ("Couldn't fit table into",)),
        ("2031-03-04 02:11:09 ERROR peer.table drop failed peer=10.0.0.7", "", ("drop failed",)),
        (
            "[2031-01-02T10:11:12Z] WARN  shop.cart - Price 12.50 of 'abc' is out of range",
            "",
            ("is out of range",),
        ),
        ("E0304 02:11:09.123456   123 wal.go:12] cannot rotate segment 12", "", ("cannot rotate segment",)),
        ('level=error msg="fsync of journal failed" try=3', "", ("fsync of journal failed",)),
        ("npm ERR! missing script: build", "", ("missing script",)),
        ("9:41AM WRN Invalid ignore entry file=a/b.yml", "", ("Invalid ignore entry",)),
    ],
)
def test_pasted_lines(line: str, kind: str, phrases: tuple[str, ...]) -> None:
    found = find_errors([line])
    assert [(error.type, error.phrases) for error in found[:1]] == ([(kind, phrases)])


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ('It says "could not open the lock file" at start.', [("", ("could not open the lock file",))]),
        ("I get Error: cannot find module", [("", ("cannot find module",))]),
        ("It throws IllegalStateException when closed.", [("IllegalStateException", ())]),
        ("`KeyError: no such tenant` appears", [("KeyError", ("no such tenant",))]),
        ("The error handling is bad and 'x' is odd.", []),
        ('What do "ab" * -1 evaluate to in it, and "ab" * 0?', []),
    ],
)
def test_prose(prose: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(error.type, error.phrases) for error in find_errors([], prose)] == expected


def test_both_fields_of_a_json_log_are_errors() -> None:
    found = find_errors(['{"level":"error","ts":19.4,"msg":"fsync failed","err":"no space left on device"}'])
    assert [error.message for error in found] == ["fsync failed", "no space left on device"]


def test_lines_that_only_inform_come_last() -> None:
    found = find_errors(
        ["2031-03-04 02:11:09 INFO server was started", "2031-03-04 02:11:10 ERROR disk is full again"]
    )
    assert [error.phrases[0] for error in found] == ["disk is full again", "server was started"]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("no route to host 10.0.0.7:80 after 3 tries", ("no route to host",)),
        ('cannot open "/var/x.db": permission denied', ("cannot open", "permission denied")),
        ("user kim@example.org was not found in 8d819856-d488-668b", ("was not found in",)),
        ("timeout", ("timeout",)),
        ("on line 3", ()),
    ],
)
def test_literal_parts(message: str, parts: tuple[str, ...]) -> None:
    assert literal_parts(message) == parts


def test_the_same_error_over_and_over_is_one_and_different_ones_are_bounded() -> None:
    line = "2031-03-04 02:11:{:02} ERROR drop of peer failed"
    assert len(find_errors([line.format(second) for second in range(60)])) == 1
    words = ["alpha", "gamma", "delta", "kappa", "sigma", "omega"]
    many = [f"error: {one} {other} is broken" for one in words for other in words]
    assert len(find_errors(many)) == MAX_ERRORS
