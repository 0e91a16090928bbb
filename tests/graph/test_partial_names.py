"""Which names a part of one stands for: the beginning, beginnings of words, within, letters in order."""

from __future__ import annotations

from itertools import islice
from time import perf_counter

import pytest
from foveal.daemon.graph.subjects import fitting

from tests.search_cases import Indexed, indexed

NAMES = (
    "get",
    "GET",
    "get_or_create",
    "get_or_set",
    "getHTTPServer",
    "QuerySet",
    "RawQuerySet",
    "target",
    "budget",
    "gadget_tool",
    "Ünïcode",
    "İstanbul",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    source = "".join(f"def {name}():\n    pass\n\n\n" for name in NAMES)
    return indexed(tmp_path_factory.mktemp("p"), {"a.py": source, "README.md": "# getting started\n"})


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("get", ["0 get", "1 GET", "2 get_or_set", "2 getHTTPServer", "2 get_or_create", "4 budget", "4 target",
                 "4 gadget_tool"]),
        ("GET", ["0 GET", "1 get", "2 get_or_set"]),
        ("goc", ["3 get_or_create"]),
        ("getcr", ["3 get_or_create"]),
        ("gHS", ["3 getHTTPServer"]),
        ("ghttps", ["3 getHTTPServer"]),
        ("qs", ["3 QuerySet", "3 RawQuerySet"]),
        ("orcr", ["3 get_or_create"]),
        ("eryse", ["4 QuerySet", "4 RawQuerySet"]),
        ("gtcr", ["5 get_or_create"]),
        ("tc", []),
        ("ocg", []),
        ("ünï", ["2 Ünïcode"]),
        ("İst", ["2 İstanbul"]),
        ("started", []),
        (".*", []),
        ("[a", []),
        ("", []),
        ("g" * 201, []),
    ],
)  # fmt: skip
def test_what_a_part_stands_for(project: Indexed, part: str, expected: list[str]) -> None:
    with project.reader() as reader:
        found = [f"{fit} {name}" for fit, name in fitting(part, project.tree, reader)]
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)
    assert len(set(found)) == len(found)


def test_a_name_made_to_be_slow_is_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    long = "a_" * 100 + "a"
    slow = indexed(tmp_path_factory.mktemp("s"), {"a.py": f"def {long}():\n    pass\n"})
    with slow.reader() as reader:
        started = perf_counter()
        assert list(islice(fitting("a" * 100 + "b", slow.tree, reader), 1)) == []
        assert [fit for fit, _ in fitting("a" * 100, slow.tree, reader)] == [3]
        assert perf_counter() - started < 5  # ways to divide it are beyond count, and some 50 ms are taken
