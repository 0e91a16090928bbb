"""The retrieval benchmark asks the product: variants rank as they say, the report holds the figures."""

from __future__ import annotations

import pytest
from foveal.benchmarks.retrieval.judged import (
    Judged,
    Project,
    chosen,
    read_written,
)

FILES = {
    "shop/tax.py": "def vat_of(amount):\n    return amount * 19 / 100\n",
    "shop/basket.py": "from shop.tax import vat_of\n\n\ndef total(basket):\n"
    "    return sum(item.price + vat_of(item.price) for item in basket)\n",
    "tests/test_tax.py": "from shop.tax import vat_of\n\n\ndef test_vat_of():\n    assert vat_of(100) == 19\n"
    "    assert vat_of(0) == 0\n",
    "docs/shipping.md": "# Shipping\n\nParcels are sent with a courier, who takes three days.\n",
}


def judged(text: str, relevant: dict[str, int], **changes: str) -> Judged:
    values = {"id": text, "collection": "questions", "project": "shop", "split": "tune", "language": "python"}
    return Judged(**{**values, "kind": "symbol", **changes}, text=text, relevant=relevant)


QUESTIONS = (
    judged("where is vat_of used in the basket total", {"shop/basket.py": 2, "shop/tax.py": 1}),
    judged("how many days does the courier take", {"docs/shipping.md": 1}, kind="semantic"),
    judged("where is vat_of defined?", {"shop/tax.py": 1}, split="held_out"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("shop")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return Project("trees", "shop", root, QUESTIONS)


def test_written_questions_are_judged_in_their_corpus_split() -> None:
    questions = read_written()
    assert len({question.id for question in questions}) == len(questions) > 200
    assert {question.split for question in questions} == {"tune", "held_out"}
    tune = chosen(questions, ["tune"], [])
    assert 0 < len(tune) < len(questions)
    assert {question.project for question in chosen(questions, ["tune", "held_out"], ["puma"])} == {"puma"}
