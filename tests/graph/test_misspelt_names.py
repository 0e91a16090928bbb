"""Names in other case styles, and the names that are nearest to one that doesn't exist."""

from __future__ import annotations

import pytest
from foveal.daemon.graph.subjects import nearest

from tests.search_cases import Indexed, indexed


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    names = ("authenticate", "authorize", "getUserName", "parse_url", "ab", "run", "Ünïcode")
    source = "".join(f"def {name}():\n    pass\n\n\n" for name in names)
    return indexed(tmp_path_factory.mktemp("p"), {"a.py": source})


@pytest.mark.parametrize(
    ("name", "best", "sure"),
    [
        ("autenticate", "authenticate", True),
        ("getusername", "getUserName", True),
        ("parseURL", "parse_url", True),
        ("parseULR", "parse_url", True),
        ("authorise", "authorize", True),
        ("authirise", "authorize", False),  # one letter in five
        ("qarse_url", "parse_url", False),  # the first letter is hardly ever the wrong one
        ("runn", "run", False),
        ("rxn", "run", False),
        ("Ünicode", "Ünïcode", True),
        ("ac", None, False),
        ("nothingLikeIt", None, False),
        ("x" * 4_096, None, False),
    ],
)
def test_nearest(project: Indexed, name: str, best: str | None, sure: bool) -> None:
    with project.reader() as reader:
        names, taken = nearest(name, project.tree, reader)
    assert (names[0] if names else None, taken) == (best, sure)
