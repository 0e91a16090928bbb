"""Tests inside source files count as tests, and of tests alike only the first come before other code."""

from __future__ import annotations

import pytest
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.router import conclude, gather

from tests.search_cases import Indexed, indexed

RANGES = "".join(
    f'    #[test]\n    fn range_of_lines_{n}() {{\n        let range = parse_range("{n}");\n'
    f"        assert_eq!(range.lines, {n});\n        assert!(range.is_whole());\n    }}\n\n"
    for n in range(6)
)
FILES: dict[str, str | bytes] = {
    "src/links.rs": (
        "pub fn parse_range(text: &str) -> Range {\n    split(text)\n}\n\n"
        f"#[cfg(test)]\nmod checks {{\n    use super::*;\n\n{RANGES}}}\n"
    ),
    "src/slot.rs": (
        "pub fn open_slot() {}\n\nmod tests {\n    fn open_slot_helper() {\n        open_slot()\n    }\n}\n\n"
        "#[tokio::test]\nasync fn slot_opens() {\n    open_slot()\n}\n"
    ),
    "src/carts.py": (
        "def cart_total(cart):\n    return sum(cart)\n\n\n"
        "class CartTotals(unittest.TestCase):\n    def cart_total_of_none(self):\n        cart_total([])\n\n\n"
        'if __name__ == "__main__":\n    print(cart_total([1, 2, 3]))\n    print("cart total", cart_total)\n'
    ),
    "src/router.ts": (
        "export function matchRoute(path: string) {\n  return path\n}\n\n"
        "describe('match route', () => {\n  it('matches the path of a route', () => {\n"
        "    expect(matchRoute('/a')).toBe('/a')\n  })\n})\n"
    ),
    "src/Order.java": (
        "class Order {\n    int orderTotal() {\n        return 1;\n    }\n\n"
        "    @Test\n    void orderTotalIsOne() {\n        check(orderTotal());\n    }\n}\n"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


def found(project: Indexed, text: str) -> list[tuple[str, float]]:
    """Return the names (or first lines) of found definitions with their probabilities, the best first."""
    with project.reader() as reader, reader.snapshot():
        gathered = gather(text, project.tree, reader, project.handle, EVERYTHING, "hybrid", 10)
        hits = conclude(gathered, (), project.tree, reader, 10, definitions=True)
    ordered = sorted((one for hit in hits for one in hit.definitions), key=lambda one: -one.probability)
    return [(one.symbol.name if one.symbol else f"line {one.first}", one.probability) for one in ordered]


@pytest.mark.parametrize(
    ("text", "source", "tests"),
    [
        ("a range of lines is parsed wrong", "parse_range", [f"checks.range_of_lines_{n}" for n in range(6)]),
        ("the slot opens twice", "open_slot", ["tests.open_slot_helper", "slot_opens"]),
        ("the cart total of none is wrong", "cart_total", ["CartTotals.cart_total_of_none", "line 10"]),
        ("a route with a path has no match", "matchRoute", ["line 4"]),
        ("the order total is one", "Order.orderTotal", ["Order.orderTotalIsOne"]),
    ],
)
def test_the_tested_function_comes_before_its_tests(
    project: Indexed, text: str, source: str, tests: list[str]
) -> None:
    best, *others = found(project, text)
    assert best[0] == source
    probabilities = dict(others)
    assert all(probabilities.get(test, 0.0) < best[1] for test in tests)


def test_of_tests_alike_only_the_first_two_stay_probable(project: Indexed) -> None:
    tests = [
        each for name, each in found(project, "which tests check a range of lines") if "range_of" in name
    ]
    assert len(tests) == 6
    assert tests[1] > 5 * tests[2]
