"""A project without its hidden files is worked out once for a set of names."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.system import Stamp
from foveal.daemon.privacy.policy import NO_POLICY, Policy
from foveal.daemon.project.records import FileRecord
from foveal.daemon.project.service import Tree
from foveal.daemon.workspace.index_view import VIEWS_MAX, IndexView

HIDDEN = Policy(deny_paths=("b/**",))


def record(path: str, symbols: int = 1, digest: bytes = b"d") -> FileRecord:
    return FileRecord(path, Stamp(1, 1, 1, 1), digest, symbols=symbols)


def tree(*paths: str) -> Tree:
    return Tree("/p", 1, {path: record(path) for path in paths})


@pytest.fixture
def views(tmp_path: Path) -> IndexView:
    return IndexView(str(tmp_path))


def test_a_tree_is_as_if_the_hidden_files_were_not_there(views: IndexView) -> None:
    whole = tree("a.py", "b/c.py", "b/d/e.py", "f/g.py")
    part = views.tree(whole, HIDDEN)
    assert list(part.files) == ["a.py", "f/g.py"]
    assert (part.symbols, part.hidden, part.root, part.generation) == (2, 2, "/p", 1)
    assert part.layout.folders[""].folders == ("f",)
    assert part.layout.folders[""].total == 2
    assert views.tree(whole, NO_POLICY) is whole
    assert len(whole.files) == 4


def test_the_layout_is_kept_while_no_name_changes(views: IndexView, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    denies = Policy.denies

    def counted(policy: Policy, path: str) -> bool:
        asked.append(path)
        return denies(policy, path)

    monkeypatch.setattr(Policy, "denies", counted)
    whole = tree("a.py", "b/c.py")
    first = views.tree(whole, HIDDEN)
    layout = first.layout
    assert views.tree(whole, HIDDEN) is first
    edited = whole.with_changes(2, [record("a.py", 5)], [])
    second = views.tree(edited, HIDDEN)
    assert (second.symbols, second.generation) == (5, 2)
    assert second.layout is layout
    assert sorted(asked) == ["a.py", "b/c.py"]
    third = views.tree(edited.with_changes(3, [record("b/new.py"), record("new.py")], []), HIDDEN)
    assert sorted(third.files) == ["a.py", "new.py"]
    assert third.layout is not first.layout
    assert sorted(asked) == ["a.py", "b/c.py", "b/new.py", "new.py"], "each name once"


def test_it_is_known_whether_a_view_is_ready(views: IndexView) -> None:
    whole = tree("a.py", "b/c.py")
    assert views.is_ready(whole, NO_POLICY)
    assert not views.is_ready(whole, HIDDEN)
    views.tree(whole, HIDDEN)
    assert views.is_ready(whole, HIDDEN)
    assert not views.is_ready(whole.with_changes(2, [record("b/x.py")], []), HIDDEN)


def test_the_number_of_views_is_bounded(views: IndexView) -> None:
    whole = tree("a.py")
    policies = [Policy(deny_paths=(f"{number}/**",)) for number in range(VIEWS_MAX + 1)]
    for policy in policies:
        views.tree(whole, policy)
    assert [views.is_ready(whole, policy) for policy in policies] == [False] + [True] * VIEWS_MAX
    views.close()
