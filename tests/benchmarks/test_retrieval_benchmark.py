"""The retrieval benchmark asks the product: variants rank as they say, the report holds the figures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.retrieval.__main__ import main
from foveal.benchmarks.retrieval.asking import Asked, Clock
from foveal.benchmarks.retrieval.baselines import BaselineMissing, files_of_chunks
from foveal.benchmarks.retrieval.bm25 import ChunkBm25, FileBm25
from foveal.benchmarks.retrieval.history import put_history
from foveal.benchmarks.retrieval.indexing import index
from foveal.benchmarks.retrieval.judged import (
    Judged,
    Project,
    chosen,
    read_mined,
    read_written,
    tree_projects,
)
from foveal.benchmarks.retrieval.measures import MAIN
from foveal.benchmarks.retrieval.report import markdown, to_map
from foveal.benchmarks.retrieval.results import Results
from foveal.benchmarks.retrieval.ripgrep import Ripgrep, order, words
from foveal.benchmarks.retrieval.running import Options, run
from foveal.benchmarks.retrieval.semble import Semble
from foveal.benchmarks.retrieval.variants import (
    BARE_LEXICAL,
    RECIPE,
    variants,
    without_boosts,
)
from foveal.daemon.index.store import Reader
from foveal.daemon.search.ranking import DEFAULT, RankWeights
from msgspec.structs import fields

from tests.conftest import need_tool

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


@pytest.fixture(scope="module")
def folder(shop: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("index")
    figures = index(str(shop.root), str(made))
    assert (figures.files, figures.chunks >= 4, figures.peak_mb > 10) == (4, True, True)
    return made


def ranked(folder: Path, text: str) -> dict[str, list[str]]:
    asked = Asked(folder, None, None)
    try:
        evidence = asked.evidence(text, Clock())
        return {one.name: asked.rank(evidence, one) for one in variants() if not one.needs_vectors}
    finally:
        asked.close()


def test_every_number_among_the_weights_is_left_out_by_some_variant() -> None:
    different: dict[str, Any] = {name: 0.3 + place / 100 for place, name in enumerate(numbers())}
    made = variants(RankWeights(**different))
    assert len(different) > 5
    for name in numbers():
        if name != "vector":  # a share: all of it and none of it are variants of their own
            assert [one.name for one in made if one.name == f"without {name}"], name
    for role, penalty in DEFAULT.penalties.items():
        left_out = [one for one in made if one.name == f"without the penalty for {role}"]
        assert len(left_out) == (penalty != 1)
        assert all(one.weights.penalties[role] == 1 for one in left_out)


def numbers() -> list[str]:
    return [field.name for field in fields(RankWeights) if isinstance(getattr(DEFAULT, field.name), float)]


def test_a_variant_changes_one_thing_of_the_recipe() -> None:
    made = variants()
    assert made[0].name == RECIPE
    assert made[0].weights == DEFAULT
    assert len({one.name for one in made}) == len(made)
    for one in made:
        if one.name.startswith("without ") and one.routed and len(one.lists) == 3:
            changed = [
                field.name
                for field in fields(RankWeights)
                if getattr(one.weights, field.name) != getattr(DEFAULT, field.name)
            ]
            assert len(changed) == 1, one.name


def test_without_boosts_a_test_ranks_as_its_chunk_does(folder: Path) -> None:
    assert set(without_boosts(DEFAULT).penalties.values()) == {1}
    found = ranked(folder, "asserts of vat_of")
    assert found[BARE_LEXICAL][0] == "tests/test_tax.py"
    assert found[RECIPE][0] == "shop/tax.py"


def test_a_structural_question_is_answered_by_route_and_searched_for_without(folder: Path) -> None:
    found = ranked(folder, "What imports shop/tax.py?")
    assert set(found[RECIPE]) == {"shop/basket.py", "tests/test_tax.py"}
    assert "shop/tax.py" in found["without routes"]


def test_stages_are_timed_for_each_question(folder: Path) -> None:
    asked, clock = Asked(folder, None, None), Clock()
    asked.evidence("vat_of", clock)
    asked.evidence("courier", clock)
    asked.close()
    counts = {stage: len(times) for stage, times in clock.times.items()}
    assert counts["taking apart"] == counts["tree"] == counts["lexical"] == counts["whole"] == 2
    assert counts["gathering"] == 2
    assert counts["vectors"] == counts["embedding the question"] == 0


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


def test_a_run_with_vectors_ranks_by_meaning(shop: Project, tmp_path: Path) -> None:
    results = run([shop], Options(tmp_path, baselines=False))
    assert results.scores["dense, no boosts"][QUESTIONS[1].id]["top-1"] == 1
    assert results.costs[0].embedded == results.costs[0].contents > 0
    assert len(results.times["vectors"]) >= 1


def test_the_report_has_a_table_for_each_collection_and_split() -> None:
    results = Results(baselines=("ripgrep",))
    for question in QUESTIONS:
        best = max(question.relevant, key=lambda path: question.relevant[path])
        results.add(question, {RECIPE: ["x", best], "ripgrep": [best, best]})
    text = markdown(results)
    assert "### questions, tune: 2 questions about 1 projects" in text
    assert "### questions, held_out: 1 questions about 1 projects" in text
    assert "| ripgrep | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | +0.369 (+0.369 to +0.369) * |" in text
    assert "| method | questions, held_out (1) | questions, tune (2) |" in text
    assert "| ripgrep | 1.000 \\* | 0.913 \\* |" in text
    body = json.loads(json.dumps(to_map(results)))
    (group,) = [one for one in body["groups"] if (one["split"], one["by"]) == ("held_out", "")]
    assert group["methods"]["ripgrep"]["difference"]["mean"] == pytest.approx(1 - 0.63093, abs=1e-5)
    assert group["methods"][RECIPE]["difference"] is None


def test_ripgrep_ranks_by_different_words_then_by_count(shop: Project, folder: Path) -> None:
    need_tool("rg")
    assert words("Where is the vat_of in a Basket?") == {"vat_of", "basket"}
    reader = Reader(str(folder))
    found = Ripgrep().rank(shop, reader).rankings
    reader.close()
    assert found[0] == ["shop/basket.py", "tests/test_tax.py", "shop/tax.py"]
    assert found[1] == ["docs/shipping.md"]


def test_a_match_of_a_longer_word_counts_for_the_shorter_one() -> None:
    matches = {
        "a.c": {"builder": 1},
        "b.c": {"build": 3},
        "c.c": {"builder": 1, "order": 1},
        "d.c": {"log": 9},
    }
    assert order(matches, ["build", "order"]) == ["c.c", "b.c", "a.c"]
    assert order(matches, ["builder"]) == ["a.c", "c.c"]


def test_bm25_finds_the_words_of_a_question(shop: Project, folder: Path) -> None:
    reader = Reader(str(folder))
    for baseline in (ChunkBm25(), FileBm25()):
        found = baseline.rank(shop, reader)
        assert found.rankings[1] == ["docs/shipping.md"]
        assert len(found.query_ms) == len(QUESTIONS)
    reader.close()


@pytest.mark.parametrize("python", [sys.executable, "/nowhere/python"])
def test_without_semble_it_is_said_why(python: str, shop: Project, folder: Path, tmp_path: Path) -> None:
    reader = Reader(str(folder))
    embedder: Any = None  # isn't asked before it is known that semble runs
    with pytest.raises(BaselineMissing, match=r"semble 0\.7\.0 can't run with"):
        Semble(Path(python), tmp_path / "semble", embedder).rank(shop, reader)
    reader.close()


def test_files_go_by_their_best_chunk() -> None:
    assert files_of_chunks(["a", "b", "a", "c"], [1, 2, 3, 0]) == ["a", "b"]
    assert files_of_chunks(["b", "a"], [1, 1]) == ["a", "b"]


def test_history_is_counted_up_to_the_pin(tmp_path: Path, shop: Project) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(shop.root, clone)

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=Ann", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", "-C", str(clone), *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    for number in range(3):
        (clone / "shop" / "tax.py").write_text(f"RATE = {number}\n")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"change {number}")
        if number == 1:
            pinned = git("rev-parse", "HEAD")
    made = tmp_path / "index"
    index(str(shop.root), str(made))
    put_history(clone, pinned, made)
    reader = Reader(str(made))
    assert {one.path: one.commits for one in reader.activity(10)} == {
        "shop/tax.py": 2,
        "shop/basket.py": 1,
        "tests/test_tax.py": 1,
        "docs/shipping.md": 1,
    }
    reader.close()


def test_written_questions_are_judged_in_their_corpus_split() -> None:
    questions = read_written()
    assert len({question.id for question in questions}) == len(questions) > 200
    assert {question.split for question in questions} == {"tune", "held_out"}
    tune = chosen(questions, ["tune"], [])
    assert 0 < len(tune) < len(questions)
    assert {question.project for question in chosen(questions, ["tune", "held_out"], ["puma"])} == {"puma"}


def test_mined_questions_need_the_tree_of_their_pin(tmp_path: Path) -> None:
    row = {
        "query": "Fix the lock",
        "repo": "restic",
        "revision": "0" * 40,
        "answers": ["lock.go"],
        "language": "go",
        "split": "tune",
        "commit": "1" * 40,
        "issues": [7],
    }
    file = tmp_path / "commits.jsonl"
    file.write_text(json.dumps(row) + "\n")
    (question,) = read_mined(file)
    assert (question.collection, question.kind, question.relevant) == ("commits", "commits", {"lock.go": 1})
    with pytest.raises(FileNotFoundError, match=r"benchmarks\.retrieval\.checkout"):
        tree_projects(tmp_path, None, [question])


def test_without_a_folder_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--split", "tune"]) == 2
    assert "--corpora" in capsys.readouterr().err
