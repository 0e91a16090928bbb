"""The figures of the house and the comparison of the oracle: lines, floors, circles, what differs."""

from __future__ import annotations

import ast

import pytest
from foveal.benchmarks.house import circles, code_lines, floors, mutual_rooms
from foveal.benchmarks.oracle.__main__ import compare, stripped

GRAPH = {
    "cli/app.py": frozenset({"daemon/a.py", "ipc/client.py"}),
    "daemon/a.py": frozenset({"daemon/b.py"}),
    "daemon/b.py": frozenset({"daemon/a.py", "daemon/c.py", "ipc/client.py"}),
    "daemon/c.py": frozenset({"daemon/d.py"}),
    "daemon/d.py": frozenset[str](),
    "ipc/client.py": frozenset[str](),
}


def test_lines_of_code_are_those_with_neither_comment_nor_docstring() -> None:
    text = '"""A module."""\n\n# why\nLIMIT = 3  # files\n"""A bound."""\n\ndef f(\n    x,\n):\n    """Do."""\n    return """\na"""\n'
    assert code_lines(text, ast.parse(text)) == 6


def test_files_that_import_each_other_are_a_circle_and_count_as_one_floor() -> None:
    assert circles(GRAPH) == [frozenset({"daemon/a.py", "daemon/b.py"})]
    assert floors(GRAPH, "cli/") == 4
    assert floors(GRAPH, "cli/", "ipc/") == 3


def test_rooms_that_import_each_other_are_told_from_files_that_do() -> None:
    graph = {
        "__init__.py": frozenset({"ipc/paths.py"}),
        "ipc/paths.py": frozenset[str](),
        "daemon/index/store.py": frozenset({"daemon/project/tree.py", "daemon/index/rows.py"}),
        "daemon/index/rows.py": frozenset({"daemon/index/store.py"}),
        "daemon/project/tree.py": frozenset({"ipc/paths.py"}),
        "daemon/project/project.py": frozenset({"daemon/index/rows.py", "__init__.py"}),
    }
    assert mutual_rooms(graph) == [("daemon/index", "daemon/project")]


def test_what_is_new_in_each_run_is_taken_out_of_an_answer() -> None:
    answer = {
        "clock": "7",
        "slices": [{"id": "experience:x_0123456789abcdef", "text": b"/tmp/fv-1/shop/a.py"}],
    }
    places = {"/tmp/fv-1/shop": "{root}", "/tmp/fv-1": "{home}"}
    assert stripped(answer, places) == {"slices": [{"id": "experience:{experience}", "text": "{root}/a.py"}]}


def test_an_answer_that_differs_is_counted_shown_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "shop/Query/1", "method": "Query", "params": {"query": "x"}, "answer": {"results": [1]}}
    assert compare([row], [dict(row)], 5) == 0
    assert compare([row], [row | {"answer": {"results": [2]}}], 5) == 1
    shown = capsys.readouterr().out
    assert "Query: 1 of 1 differ" in shown
    assert "+  2" in shown
