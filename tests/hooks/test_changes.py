"""The lines about what a diff breaks: compact, complete, and bounded with a count of the rest."""

from __future__ import annotations

from typing import Any

from foveal.hooks.changes import CALLERS_SHOWN, FILES_SHOWN, TESTS_SHOWN, groups, summary

CALLER = {
    "path": "shop/cart.py",
    "line": 5,
    "enclosing": "checkout",
    "text": "login(user)",
    "certainty": "resolved",
}
TEST = {**CALLER, "path": "tests/test_cart.py", "line": 9, "enclosing": "test_cart", "calls": 2}


def change(kind: str, callers: list[Any], tests: list[Any], **fields: Any) -> dict[str, Any]:
    return {
        "node_id": "shop/auth.py#login",
        "path": "shop/auth.py",
        "symbol": "login",
        "symbol_kind": "function",
        "kind": kind,
        "start_line": 3,
        "end_line": 8,
        "callers": callers,
        "callers_total": len(callers),
        "by_name": 0,
        "tests": tests,
        "tests_total": len(tests),
    } | fields


def lines(*changes: dict[str, Any], **fields: Any) -> list[str]:
    reply = {"changes": list(changes), "more": 0, "tests": []} | fields
    return [line for group in groups(reply) for line in group]


def test_a_changed_signature_has_its_callers_and_tests() -> None:
    shown = lines(
        change(
            "signature",
            [CALLER, {**CALLER, "line": 7, "enclosing": "", "certainty": "name"}],
            [{**TEST, "calls": 1}, TEST],
            before="def login(user)",
            after="def login(user, again)",
            parameters=["+again"],
        ),
        tests=[{"path": "tests/test_cart.py", "reached": 2}, {"path": "tests/test_b.py", "reached": 0}],
    )
    assert shown == [
        "shop/auth.py:3-8 login: signature changed (+again)",
        "  was  def login(user)",
        "  now  def login(user, again)",
        "  callers outside the diff (2):",
        "    shop/cart.py:5  checkout - login(user)",
        "    shop/cart.py:7 - login(user)  [by name]",
        "  tests (2):",
        "    tests/test_cart.py:9  test_cart (directly)",
        "    tests/test_cart.py:9  test_cart (over 2 calls)",
        "test files to run:",
        "  tests/test_cart.py (2 tests)",
        "  tests/test_b.py (changed)",
    ]


def test_names_that_are_gone() -> None:
    removed = change("removed", [CALLER], [], start_line=0, end_line=0)
    assert lines(removed) == [
        "shop/auth.py login: removed",
        "  still used (1):",
        "    shop/cart.py:5  checkout - login(user)",
    ]
    renamed = change("renamed", [], [], former="log_in", before="def log_in()", after="def login()")
    assert lines(renamed) == [
        "shop/auth.py:3-8 log_in -> login: renamed",
        "  was  def log_in()",
        "  now  def login()",
        "  no call or import of its former name is known",
    ]


def test_what_breaks_nothing_takes_a_line() -> None:
    assert lines(change("body", [], []), change("removed", [], [], start_line=0), change("body", [], [])) == [
        "changed, with no known caller outside the diff and no known test:",
        "  shop/auth.py:3 login",
        "  shop/auth.py:3 login",
        "removed, and no call or import of it is known any more:",
        "  shop/auth.py login",
    ]
    assert lines(change("body", [], [TEST]))[1:] == [
        "  no known caller outside the diff",
        "  tests (1):",
        "    tests/test_cart.py:9  test_cart (over 2 calls)",
    ]


def test_the_rest_is_counted() -> None:
    shown = lines(
        change("body", [CALLER] * 100, [TEST] * 100, callers_total=150, by_name=3),
        more=7,
        tests=[{"path": f"t{number}.py", "reached": 1} for number in range(FILES_SHOWN + 1)],
    )
    assert f"    and {150 - CALLERS_SHOWN} more callers" in shown
    assert f"    and {100 - TESTS_SHOWN} more tests" in shown
    assert "  3 more calls of something of its name" in shown
    assert "7 more changed definitions, which were not looked up" in shown
    assert shown[-1] == "and 1 more file"
    counted = {"before": "HEAD", "after": "work tree", "files": 2, "added": 1}
    kinds = [{"kind": kind} for kind in ("body", "removed", "body")]
    assert summary({**counted, "changes": kinds}) == (
        "HEAD -> work tree: 1 removed, 2 changed, 1 new; 2 source files"
    )
    assert "no definition changed" in summary({**counted, "changes": [], "added": 0})
