"""A tree is a value: a change gives the next one, whose counts and layout are those of a tree made anew."""

from __future__ import annotations

from foveal.daemon.core.system import Stamp
from foveal.daemon.project.tree import FileRecord, Layout, Tree
from hypothesis import given
from hypothesis import strategies as st

STAMP = Stamp(1, 2, 3, 4)
PATHS = st.lists(st.sampled_from(["a", "b", "x.py"]), min_size=1, max_size=5).map("/".join)
RECORDS = st.builds(
    FileRecord,
    path=PATHS,
    stamp=st.just(STAMP),
    digest=st.sampled_from([b"", b"d" * 16]),
    skipped=st.sampled_from(["", "binary", "too_large"]),
    symbols=st.integers(0, 9),
)


def tree_of(*records: FileRecord, generation: int = 0) -> Tree:
    return Tree("/root", generation, {record.path: record for record in records})


def counts(tree: Tree) -> tuple[int, int, dict[str, int]]:
    return tree.pending, tree.symbols, tree.skipped


@given(st.lists(RECORDS), st.lists(RECORDS), st.lists(PATHS))
def test_a_changed_tree_equals_one_made_anew_and_its_names_generation_moves_with_the_names(
    before: list[FileRecord], upserted: list[FileRecord], removed: list[str]
) -> None:
    old = tree_of(*before)
    kept, layout = dict(old.files), old.layout
    new = old.with_changes(7, upserted, removed)
    files = {path: record for path, record in old.files.items() if path not in removed}
    files |= {record.path: record for record in upserted}
    assert dict(new.files) == files
    assert counts(new) == counts(Tree("/root", 7, files))
    assert new.generation == 7
    assert dict(old.files) == kept
    assert dict(new.layout.folders) == dict(Layout(files).folders)
    if set(new.files) != set(old.files):
        assert new.names_generation > old.names_generation
    if not removed and {record.path for record in upserted} <= set(old.files):
        assert new.names_generation == old.names_generation
        assert new.layout is layout


def test_a_tree_read_anew_follows_the_former() -> None:
    former = tree_of(FileRecord("a", STAMP)).with_changes(3, [FileRecord("b", STAMP)], [])
    read = tree_of(FileRecord("a", STAMP, b"d", symbols=2), FileRecord("c", STAMP), generation=9)
    tree = read.after(former)
    assert tree.names_generation == former.names_generation + 1
    assert (tree.generation, dict(tree.files)) == (9, dict(read.files))
    assert counts(tree) == counts(read)


@given(st.sets(PATHS))
def test_the_layout_holds_every_file_once_and_counts_it_in_every_folder_above(paths: set[str]) -> None:
    folders = Layout(paths).folders
    listed = [f"{folder}/{name}" if folder else name for folder in folders for name in folders[folder].files]
    assert sorted(listed) == sorted(paths)
    for path, folder in folders.items():
        prefix = f"{path}/" if path else ""
        assert folder.total == sum(one.startswith(prefix) for one in paths)
        assert list(folder.files) == sorted(folder.files)
        assert list(folder.folders) == sorted(folder.folders)
        assert all(prefix + name in folders for name in folder.folders)
