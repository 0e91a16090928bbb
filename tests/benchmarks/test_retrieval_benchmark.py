"""The retrieval benchmark asks the product: variants rank as they say, the report holds the figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.benchmarks.retrieval.judged import (
    Judged,
    Project,
    chosen,
    read_written,
)
from foveal.benchmarks.retrieval.measures import MAIN
from foveal.benchmarks.retrieval.running import Options, run
from foveal.benchmarks.retrieval.variants import (
    RECIPE,
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


def test_a_run_scores_the_product_and_the_baselines(shop: Project, tmp_path: Path) -> None:
    options = Options(tmp_path, vectors=False)
    results = run([shop], options)
    assert results.scores[RECIPE][QUESTIONS[1].id][MAIN] == 1
    assert "dense, no boosts" not in results.scores
    assert results.notes
    assert results.baselines == ("ripgrep", "bm25s, chunks", "bm25s, files")
    assert {question.split for question in results.questions.values()} == {"tune", "held_out"}
    (cost,) = results.costs
    assert (cost.files, cost.embedded, cost.vectors_mb) == (4, 0, 0)
    assert cost.index_s > 0
    assert cost.sqlite_mb > 0
    # Again, from what was kept.
    again = run([shop], options)
    assert again.scores == results.scores
    assert again.costs[0].index_s == cost.index_s


def test_written_questions_are_judged_in_their_corpus_split() -> None:
    questions = read_written()
    assert len({question.id for question in questions}) == len(questions) > 200
    assert {question.split for question in questions} == {"tune", "held_out"}
    tune = chosen(questions, ["tune"], [])
    assert 0 < len(tune) < len(questions)
    assert {question.project for question in chosen(questions, ["tune", "held_out"], ["puma"])} == {"puma"}
