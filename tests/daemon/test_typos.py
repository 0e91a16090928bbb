"""A slip in a word that tells what is asked is put right; right words and names stay."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import correct, is_known


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("wich", "which"),
        ("hwo", "how"),
        ("teh", "the"),
        ("imoprt", "import"),
        ("calsl", "calls"),
        ("defned", "defined"),
        ("fnid", "find"),
        ("callls", "calls"),
        ("inherts", "inherits"),
        ("functoin", "function"),
        ("implemants", "implements"),
    ],
)
def test_slips(written: str, meant: str) -> None:
    assert correct(written) == meant


RIGHT = "here were form cells users exporter nested report parse login cache größe 登录 a to x_y callback "
RIGHT += "ever required located described older implementation preference locale"


@pytest.mark.parametrize("word", [*RIGHT.split(), "", "f" * 40])
def test_right_words_stay(word: str) -> None:
    assert correct(word) == word


def test_known_words() -> None:
    assert is_known("callers")
    assert not is_known("login")
