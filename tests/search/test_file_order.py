"""The learned order of the best files: what it weighs, what stays first, and the reasons that it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foveal.daemon.index.chunk_table import ChunkPlace
from foveal.daemon.search.candidates import Candidates, RankedFile
from foveal.daemon.search.file_order import FEATURES, ORDERED_MAX, features
from foveal.daemon.search.file_order_weights import WEIGHTS
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.ranking import by_evidence, rank


def found_in(paths: Mapping[int, str], **lists: Any) -> Candidates:
    chunks = {number: ChunkPlace(number, number, path, "python", 1, 9) for number, path in paths.items()}
    return Candidates(chunks=chunks, **lists)


def ranked(text: str, found: Candidates) -> list[RankedFile]:
    languages = {chunk.path: chunk.language for chunk in found.chunks.values()}
    return rank(take_apart(text), found, languages, lambda term: 1.0)


def test_every_weight_is_of_a_feature_and_every_feature_has_a_value() -> None:
    found = found_in({1: "a.py", 2: "b.py"}, lexical=[(1, 2.0), (2, 1.0)], vector=[(2, 0.5)])
    question = take_apart("how are things done")
    known = by_evidence(question, found, {"a.py": "python", "b.py": "python"}, lambda term: 1.0)
    assert set(WEIGHTS) == set(FEATURES)
    assert [len(row) for row in features(question, found, known, lambda term: 1.0)] == [len(FEATURES)] * 2
    assert features(question, found, [], lambda term: 1.0) == []


def test_a_quoted_text_and_a_named_file_stay_first() -> None:
    paths = {1: "tests/one.py", 2: "lib/parse_header.py"}
    lexical = [(2, 9.0), (1, 1.0)]
    for known in ({"exact": {"tests/one.py": 1.0}}, {"named": {"tests/one.py": 1.0}}):
        assert ranked("parse header", found_in(paths, lexical=lexical, **known))[0].path == "tests/one.py"


def test_scores_never_rise_and_only_the_first_files_have_a_probability() -> None:
    paths = {number: f"lib/file{number}.py" for number in range(1, ORDERED_MAX + 9)}
    files = ranked("what it does", found_in(paths, lexical=[(n, 99.0 - n) for n in paths]))
    scores = [file.score for file in files]
    assert scores == sorted(scores, reverse=True)
    assert [bool(file.probability) for file in files] == [n <= ORDERED_MAX for n in paths]
    assert len({file.path for file in files}) == len(paths)
