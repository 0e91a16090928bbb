"""Questions of the graph are answered over the borders of linked projects, as the linker resolves them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from math import inf

import pytest
from foveal.daemon.graph.service import CodeGraph, CrossingBudget, Side, across, meaning_of
from foveal.daemon.languages.shared.imports import ImportResolver
from foveal.daemon.project.service import Tree

from tests.search_cases import Indexed, indexed

BANK = {
    "pyproject.toml": '[project]\nname = "bank"\n',
    "src/bank/__init__.py": "from .cards import Card, charge\n",
    "src/bank/cards.py": (
        "class Card:\n    def pay(self, total):\n        return charge(self, total)\n\n\n"
        "def charge(card, total):\n    return total\n\n\ndef secret():\n    return 0\n"
    ),
    "src/bank/fees.py": "def charge(total):\n    return total\n",
    "conftest.py": "def helper():\n    return 1\n",
    "web/package.json": '{"name": "@bank/web", "main": "./src/index.ts"}',
    "web/src/index.ts": 'export { format } from "./money";\n',
    "web/src/money.ts": "export function format(total: number) {\n  return String(total);\n}\n",
}
SHOP = {
    "pyproject.toml": '[project]\nname = "shop"\n',
    "shop/cart.py": (
        "from bank import Card, charge as take\nfrom bank.cards import secret\nfrom other import charge\n"
        "from conftest import helper\nfrom bank.fees import charge as fee\n\n"
        "class GiftCard(Card):\n    pass\n\n\n"
        "def checkout(total):\n    gift = GiftCard()\n    gift.pay(total)\n    take(gift, total)\n"
        "    charge(total)\n    secret()\n    helper()\n    fee(total)\n\n"
        "def order(total):\n    return checkout(total)\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import order\n\n\ndef test_order():\n    assert order(1) is None\n"
    ),
    "app/total.ts": 'import { format } from "@bank/web";\nexport const shown = () => format(3);\n',
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Indexed]:
    made = {"bank": BANK, "shop": SHOP}
    return {name: indexed(tmp_path_factory.mktemp(name), files) for name, files in made.items()}


@pytest.fixture
def sides(projects: dict[str, Indexed]) -> Iterator[dict[str, Side]]:
    with ExitStack() as stack:
        yield {name: _side(name, each, stack) for name, each in projects.items()}


def _side(name: str, project: Indexed, stack: ExitStack, hidden: str = "") -> Side:
    reader = stack.enter_context(project.reader())
    files = {path: record for path, record in project.tree.files.items() if path != hidden}
    texts = {path: (project.root / path).read_bytes() for path in files}
    graph = CodeGraph(Tree(str(project.root), project.tree.generation, files), reader)
    return Side(graph, ImportResolver(files, texts.get), name)


def found(relation: str, subject: str, own: str, sides: Mapping[str, Side]) -> list[str]:
    asked = [(side, meaning_of(subject, side.graph)) for side in sides.values()]
    asked = [(side, meaning) for side, meaning in asked if meaning.definitions and not meaning.guess]
    others = [side for name, side in sides.items() if name != own]
    findings, _ = across(relation, asked, sides[own], others, 3, CrossingBudget(inf))
    return [f"{each.path}:{each.line} {each.certainty}" for each in findings.found]


@pytest.mark.parametrize(
    ("relation", "subject", "own", "expected"),
    [
        ("callers", "src/bank/cards.py#charge", "shop", ["shop/cart.py:14 resolved"]),
        ("callers", "charge", "shop", ["shop/cart.py:14 resolved", "shop/cart.py:18 resolved"]),
        ("callers", "Card.pay", "shop", ["shop/cart.py:13 resolved"]),
        ("callers", "charge", "bank", []),
        ("callers", "helper", "shop", []),
        ("callers", "format", "shop", ["app/total.ts:2 resolved"]),
        ("subclasses", "Card", "shop", ["shop/cart.py:7 resolved"]),
        ("callees", "checkout", "bank", ["src/bank/cards.py:2 resolved", "src/bank/cards.py:6 resolved", "src/bank/cards.py:10 resolved", "src/bank/fees.py:1 resolved"]),
        ("callees", "checkout", "shop", []),
        ("superclasses", "GiftCard", "bank", ["src/bank/cards.py:1 resolved"]),
        ("impact", "cards.py#charge", "shop", ["shop/cart.py:14 resolved", "shop/cart.py:21 resolved", "tests/test_cart.py:5 resolved"]),
        ("tests", "cards.py#charge", "shop", ["tests/test_cart.py:5 resolved"]),
    ],
)  # fmt: skip
def test_relations_cross_borders(
    relation: str, subject: str, own: str, expected: list[str], sides: dict[str, Side]
) -> None:
    assert found(relation, subject, own, sides) == expected


def test_what_means_something_else_is_decided(sides: dict[str, Side]) -> None:
    asked = [(sides["bank"], meaning_of("src/bank/cards.py#charge", sides["bank"].graph))]
    _, decided = across("callers", asked, sides["shop"], [sides["bank"]], 3, CrossingBudget(inf))
    assert decided == {("shop/cart.py", line, "") for line in (14, 15, 18)}
    asked = [(sides["shop"], meaning_of("checkout", sides["shop"].graph))]
    _, decided = across("callees", asked, sides["shop"], [sides["bank"]], 3, CrossingBudget(inf))
    assert decided == {
        ("shop/cart.py", 13, "pay"),
        ("shop/cart.py", 14, "take"),
        ("shop/cart.py", 16, "secret"),
        ("shop/cart.py", 18, "fee"),
    }


@pytest.mark.parametrize(
    ("hidden", "left", "called"),
    [
        ("src/bank/cards.py", ["shop/cart.py:18 resolved"], ["src/bank/fees.py:1 resolved"]),
        ("shop/cart.py", [], []),
    ],
)
def test_nothing_crosses_to_or_from_a_hidden_file(
    hidden: str, left: list[str], called: list[str], projects: dict[str, Indexed]
) -> None:
    with ExitStack() as stack:
        sides = {name: _side(name, each, stack, hidden) for name, each in projects.items()}
        assert found("callers", "charge", "shop", sides) == left
        assert found("callees", "checkout", "bank", sides) == called
        assert found("subclasses", "Card", "shop", sides) == []


def test_a_question_reads_no_more_files_than_its_budget_for_all_projects(sides: dict[str, Side]) -> None:
    asked = [(sides["bank"], meaning_of("charge", sides["bank"].graph))]
    for budget in (CrossingBudget(0.0), CrossingBudget(inf, files=0), CrossingBudget(inf, mentions=0)):
        findings, _ = across("callers", asked, sides["shop"], [sides["bank"]], 3, budget)
        assert (budget.was_cut, findings.more) == (True, True)
    budget = CrossingBudget(inf, files=3)
    assert [budget.share(parts).take("files") for parts in (2, 1, 1, 1)] == [True, True, True, False]
    budget = CrossingBudget(inf, files=2).share(2)
    assert [budget.take("files"), budget.take("files")] == [True, False], "one is left for the other project"
    assert budget.was_cut
