"""Files are ranked by evidence - names, paths, the parts they play - and the best by a learned order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from foveal.daemon.index.records import ChunkPlace
from foveal.daemon.search.candidates import Candidates, RankedFile
from foveal.daemon.search.file_order import FEATURES, ORDERED_MAX, features
from foveal.daemon.search.file_order_weights import WEIGHTS
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.ranking import by_evidence, fuse_scores, rank


def stored(number: int, path: str) -> ChunkPlace:
    return ChunkPlace(number, number, path, "python", 1, 9)


def candidates(paths: Mapping[int, str], **lists: Any) -> Candidates:
    return Candidates(chunks={number: stored(number, path) for number, path in paths.items()}, **lists)


def ranked(text: str, found: Candidates) -> list[RankedFile]:
    languages = {
        chunk.path: "markdown" if chunk.path.endswith(".md") else "python" for chunk in found.chunks.values()
    }
    return rank(take_apart(text), found, languages, lambda term: 1.0)


def order(text: str, found: Candidates) -> list[str]:
    return [file.path for file in ranked(text, found)]


@pytest.mark.parametrize(
    ("text", "evidence", "first"),
    [
        ("invoice totals", {}, "billing/invoice_totals.py"),
        ("x", {"named": {"lib/z.py": 1.0}}, "lib/z.py"),
        ("x", {"commits": {"lib/z.py": 40}}, "lib/z.py"),
    ],
)
def test_evidence_beside_the_lists(text: str, evidence: dict[str, Any], first: str) -> None:
    paths = {1: "a.py", 2: "lib/z.py", 3: "billing/invoice_totals.py"}
    found = candidates(paths, lexical=[(1, 2.0), (2, 2.0), (3, 2.0)], **evidence)
    assert order(text, found)[0] == first


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cart totals", "tests/test_cart.py"),
        ("cart totals", "docs/cart.md"),
        ("cart totals", "examples/cart.py"),
        ("cart totals", "shop/compat/cart.py"),
    ],
)
def test_tests_and_the_like_come_later(text: str, path: str) -> None:
    found = candidates({1: path, 2: "shop/basket.py"}, lexical=[(1, 2.0), (2, 1.9), (3, 0.0)])
    assert order(text, found) == ["shop/basket.py", path]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("which tests cover the cart", "tests/test_cart.py"),
        ("documentation of the cart", "docs/cart.md"),
        ("example of a cart", "examples/cart.py"),
    ],
)
def test_unless_the_question_is_after_them(text: str, path: str) -> None:
    found = candidates({1: path, 2: "shop/basket.py"}, lexical=[(1, 2.0), (2, 1.9), (3, 0.0)])
    assert order(text, found) == [path, "shop/basket.py"]


Lists = Mapping[str, Sequence[tuple[str, float]]]
LIST_WEIGHTS = {"a": 0.75, "b": 0.25}


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"a": [], "b": []}, {}),
        ({"a": [("x", 9.0), ("y", 6.0), ("z", 3.0)], "b": []}, {"x": 1.0, "y": 0.5, "z": 0.0}),
        ({"a": [("x", 9.0), ("z", 3.0)], "b": [("z", 0.5), ("y", 0.1)]}, {"x": 0.75, "z": 0.25, "y": 0.0}),
        ({"a": [("x", 2.0), ("y", 2.0)], "b": []}, {"x": 1.0, "y": 1.0}),
        ({"a": [("x", 0.0)], "b": [("y", -0.5)]}, {"x": 0.75, "y": 0.25}),
        ({"a": [("x", 4.0), ("y", 3.0), ("y", 9.0), ("z", 2.0)], "b": []}, {"x": 2 / 7, "y": 1.0, "z": 0.0}),
    ],
)
def test_by_scores(lists: Lists, expected: dict[str, float]) -> None:
    assert fuse_scores(lists, LIST_WEIGHTS) == pytest.approx(expected)


def test_every_weight_is_of_a_feature_and_every_feature_has_a_value() -> None:
    found = candidates({1: "a.py", 2: "b.py"}, lexical=[(1, 2.0), (2, 1.0)], vector=[(2, 0.5)])
    question = take_apart("how are things done")
    known = by_evidence(question, found, {"a.py": "python", "b.py": "python"}, lambda term: 1.0)
    assert set(WEIGHTS) == set(FEATURES)
    assert [len(row) for row in features(question, found, known, lambda term: 1.0)] == [len(FEATURES)] * 2
    assert features(question, found, [], lambda term: 1.0) == []


def test_a_quoted_text_and_a_named_file_stay_first() -> None:
    paths = {1: "tests/one.py", 2: "lib/parse_header.py"}
    lexical = [(2, 9.0), (1, 1.0)]
    for known in ({"exact": {"tests/one.py": 1.0}}, {"named": {"tests/one.py": 1.0}}):
        assert ranked("parse header", candidates(paths, lexical=lexical, **known))[0].path == "tests/one.py"


def test_scores_never_rise_and_only_the_first_files_have_a_probability() -> None:
    paths = {number: f"lib/file{number}.py" for number in range(1, ORDERED_MAX + 9)}
    files = ranked("what it does", candidates(paths, lexical=[(n, 99.0 - n) for n in paths]))
    scores = [file.score for file in files]
    assert scores == sorted(scores, reverse=True)
    assert [bool(file.probability) for file in files] == [n <= ORDERED_MAX for n in paths]
    assert len({file.path for file in files}) == len(paths)
