"""A project's metadata come from its manifests, its files and git, and say when they may have changed."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.project.metadata import KnownMetadata, metadata_key, read_metadata
from foveal.daemon.project.tree import FileRecord, Tree

from tests.conftest import git


def tree_of(root: Path) -> Tree:
    paths = (path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path))
    return Tree(
        str(root),
        1,
        {
            str(path.relative_to(root)): FileRecord(str(path.relative_to(root)), stamp_of(path.stat()))
            for path in paths
        },
    )


def test_name_languages_commands_branch_and_commits(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    (tmp_path / "package.json").write_text('{"name": "kite", "scripts": {"test": "x", "dev": "y"}}')
    for name in ("a.ts", "b.ts", "c.ts", "d.py", "README.md"):
        (tmp_path / name).write_text("")
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "add", "-A")
    for subject in ("One", "Two\n\nbody", "Three", "Four"):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)
    found = read_metadata(tree_of(tmp_path), System())
    assert found.name == "kite"
    assert found.languages == (("typescript", 0.75), ("python", 0.25))
    assert [f"{one.purpose}: {one.line}" for one in found.commands] == [
        "test: make test",
        "test: npm run test",
        "check: make lint",
        "run: npm run dev",
    ]
    assert found.branch == "trunk"
    assert [commit.line.partition(" ")[2] for commit in found.commits] == ["Four", "Three", "Two"]


def test_known_metadata_hold_until_a_commit_and_not_before_they_are_read_again(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "One")
    tree, known = tree_of(tmp_path), KnownMetadata(System())
    assert not known.holds(tree, 1_000.0)
    known.set(metadata_key(tree, System()), read_metadata(tree, System()))
    assert known.holds(tree, 1_000.0)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Two")
    assert known.holds(tree, 1_000.4), "the disk is looked at twice a second"
    for now in (1_000.6, 1_000.7, 1_002.0):  # the same request asks more than once
        assert not known.holds(tree, now)
    known.set(metadata_key(tree, System()), read_metadata(tree, System()))
    assert known.holds(tree, 1_002.0)


def test_a_tree_that_was_not_listed_yet_has_the_manifests_on_the_disk(tmp_path: Path) -> None:
    empty = Tree(str(tmp_path))
    nothing = metadata_key(empty, System())
    (tmp_path / "package.json").write_text('{"name": "kite", "description": "Flies."}')
    found = read_metadata(empty, System())
    assert (found.name, found.description, found.languages) == ("kite", "Flies.", ())
    assert metadata_key(empty, System()) != nothing


def test_the_key_changes_with_a_manifest_a_commit_and_a_name(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module kite\n")
    git(tmp_path, "init", "-q", "-b", "trunk")
    tree = tree_of(tmp_path)
    keys = [metadata_key(tree, System())]
    assert metadata_key(tree, System()) == keys[0]
    (tmp_path / "go.mod").write_text("module another\n")
    keys.append(metadata_key(tree, System()))
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "One")
    keys.append(metadata_key(tree, System()))
    (tmp_path / "go.mod").unlink()
    keys.append(metadata_key(tree, System()))
    assert len(set(keys)) == 4
