"""Finds the tests that the output of a test runner reports as failed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .patterns import clean_path, compiled

MAX_TESTS = 12
"""Maximum number of failed tests kept; a broken build fails thousands."""

MAX_LINE = 1_000
"""Maximum characters of a line that are read."""


class FailedTest(Struct, frozen=True):
    """A test that failed: its name with its class or module (`TestCart.test_total`, `tests::total`), and its
    file as written, or empty."""

    name: str
    path: str = ""


def find_failed_tests(lines: Iterable[str]) -> tuple[FailedTest, ...]:
    """Return the failed tests that lines name, in order, each once, at most `MAX_TESTS`.

    Supports pytest, unittest, Go, Rust, JUnit as Gradle and Maven print it, PHPUnit, Minitest and .NET. The
    tests of Jest, Mocha and RSpec have titles in place of names; their frames say where they are.
    """
    found: dict[str, str] = {}
    for line in lines:
        for pattern in _PATTERNS:
            match = compiled(pattern).match(line[:MAX_LINE])
            if match is None:
                continue
            groups = match.groupdict()
            name = f"{groups['around']}.{groups['name']}" if groups.get("around") else groups["name"]
            name = compiled(_PARAMETERS).sub("", name.replace("::", ".").replace("\\", "."))
            known = next((each for each in found if f".{each}".endswith(f".{name}")), name)
            found[known] = found.get(known) or clean_path(groups.get("path") or "")
            break
        if len(found) >= MAX_TESTS:
            break
    return tuple(FailedTest(name, path) for name, path in found.items())


_PARAMETERS = r"[\[(].*$"
_NAME = r"[A-Za-z_][\w.:]{0,200}"

_PATTERNS = (
    # pytest:   FAILED tests/test_cart.py::TestCart::test_total[EUR] - AssertionError
    r"\s*+(?:FAILED|ERROR) (?P<path>[^\s:]{1,400}\.py)::(?P<name>[\w:]{1,200})",
    r"\s*+(?P<path>[^\s:]{1,400}\.py)::(?P<name>[\w:]{1,200})(?:\[[^\n]{0,200}\])? (?:FAILED|ERROR)\b",
    r"_{3,200} (?P<name>[A-Za-z_][\w.]{1,200})(?:\[[^\n]{0,200}\])? _{3,200}$",
    # unittest: FAIL: test_total (tests.test_cart.TestCart.test_total)
    r"(?:FAIL|ERROR): (?P<name>test\w{0,200}) \(",
    # Go:       --- FAIL: TestTotal/in_euros (0.00s)
    r"\s*+--- FAIL: (?P<name>[A-Z]\w{1,200})",
    # Rust:     ---- cart::tests::total stdout ----      test cart::tests::total ... FAILED
    rf"---- (?P<name>{_NAME}) stdout ----",
    rf"test (?P<name>{_NAME}) \.\.\. FAILED",
    # PHPUnit:  1) Shop\CartTest::testTotal with data set #0
    r"\d{1,4}\) (?P<around>(?:\w{1,80}\\){0,12}\w{1,80})::(?P<name>\w{1,200})",
    # Minitest: TestSite#test_reads [/srv/jekyll/test/test_site.rb:33]:
    r"(?P<around>\w{1,100})#(?P<name>test_\w{1,200}) \[(?P<path>[^\s:\]]{1,400}):\d{1,7}\]",
    # Gradle:   CartTest > total() FAILED                Maven:  [ERROR] CartTest.total:34 expected
    r"(?:[\w.]{1,200}\.)?(?P<around>\w{1,100}) > (?P<name>\w{1,200})(?:\([^\n)]{0,200}\))? FAILED",
    (
        r"(?:\[ERROR\])?\s{1,8}(?:[\w.]{1,200}\.)?(?P<around>[A-Z]\w{1,100})\.(?P<name>\w{1,200})"
        r":\d{1,7}(?:->| )"
    ),
    # .NET:     Failed Shop.Tests.CartTest.Total [12 ms]
    rf"\s*+Failed (?P<name>{_NAME})(?:\([^\n]{{0,200}}\))? \[",
)
