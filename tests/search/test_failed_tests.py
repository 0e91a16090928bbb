"""The tests that the output of a test runner reports as failed."""

from __future__ import annotations

import pytest
from foveal.daemon.search.failed_tests import MAX_TESTS, find_failed_tests


@pytest.mark.parametrize(
    ("line", "name", "path"),
    [
        ("FAILED tests/test_cart.py::TestCart::test_total[EUR] - assert 1", "TestCart.test_total", "tests/test_cart.py"),
        ("ERROR tests/test_cart.py::test_total - OSError", "test_total", "tests/test_cart.py"),
        ("tests/test_cart.py::test_total[1-2] FAILED     [ 50%]", "test_total", "tests/test_cart.py"),
        ("_________ TestCart.test_total _________", "TestCart.test_total", ""),
        ("FAIL: test_total (tests.test_cart.TestCart.test_total)", "test_total", ""),
        ("--- FAIL: TestTotal (0.00s)", "TestTotal", ""),
        ("    --- FAIL: TestTotal/in_euros (0.00s)", "TestTotal", ""),
        ("---- cart::tests::total stdout ----", "cart.tests.total", ""),
        ("test cart::tests::total ... FAILED", "cart.tests.total", ""),
        ("1) Shop\\Test\\CartTest::testTotal with data set #0", "Shop.Test.CartTest.testTotal", ""),
        ("TestCart#test_total [/srv/shop/test/test_cart.rb:33]:", "TestCart.test_total", "/srv/shop/test/test_cart.rb"),
        ("CartTest > total() FAILED", "CartTest.total", ""),
        ("[ERROR]   CartTest.total:34 expected:<1> but was:<2>", "CartTest.total", ""),
        ("  Failed Shop.Tests.CartTest.Total [12 ms]", "Shop.Tests.CartTest.Total", ""),
    ],
)  # fmt: skip
def test_failed_tests_of_each_runner(line: str, name: str, path: str) -> None:
    assert [(test.name, test.path) for test in find_failed_tests([line])] == [(name, path)]


def test_a_failed_test_is_named_once() -> None:
    output = ["____ TestCart.test_total ____", "FAILED tests/test_cart.py::test_total - assert 1"]
    (test,) = find_failed_tests(output)
    assert (test.name, test.path) == ("TestCart.test_total", "tests/test_cart.py")
    assert len(find_failed_tests(f"FAIL: test_{n} (tests)" for n in range(1_000))) == MAX_TESTS


@pytest.mark.parametrize(
    "line",
    [
        "the test of the cart FAILED",
        "tests/test_cart.py::test_total PASSED",
        "--- a/cart.py",
        "___",
        "",
        "1) buy milk",
    ],
)
def test_other_lines_name_no_failed_test(line: str) -> None:
    assert find_failed_tests([line]) == ()
