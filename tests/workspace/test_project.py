"""An open project takes over what the indexer says, in order, and knows what is worked on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.config.files import LoadedConfig, load_project_config
from foveal.daemon.config.linked import parse_user_links
from foveal.daemon.config.settings import Environment, ProjectConfig, UserConfig
from foveal.daemon.core.errors import ConfigError, ProjectUnavailable
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.records import EDITS_MAX, FILE_NAME, FileActivity, ProjectProgress, TreeDelta
from foveal.daemon.index.store import FileContent, Store
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.memory.service import Pool
from foveal.daemon.project.records import FileRecord, ProjectState
from foveal.daemon.project.service import Tree, known_roots, project_folder, roots_linked, write_record
from foveal.daemon.workspace.hot_files import (
    ASKED_MAX,
    ASKED_OFTEN,
    BUFFERS_MAX,
    CHANGED_OFTEN,
    HOT_EACH,
    HOT_MAX,
    REMEMBERED_MAX,
)
from foveal.daemon.workspace.index_view import ReaderPool, read_tree
from foveal.daemon.workspace.project import LoadedProject, Project, load
from foveal.daemon.workspace.settings_reader import EVER_LINKED_MAX, LinkFinder, Links
from msgspec.structs import replace

from tests.conftest import write_files

STAMP = Stamp(1, 2, 3, 4)


def record(path: str, digest: bytes = b"d" * 16) -> FileRecord:
    return FileRecord(path, STAMP, digest, "python", symbols=1)


def content(path: str, name: str = "f") -> FileContent:
    return FileContent(record(path), [Symbol(name, "function", 1, 1, f"def {name}()", "", 0)], [])


def delta(
    generation: int, *upserted: str, removed: Sequence[str] = (), touched: Sequence[str] = ()
) -> TreeDelta:
    records = tuple(map(record, upserted))
    return TreeDelta("/p", generation, records, tuple(removed), tuple(touched))


def progress(state: ProjectState, *degraded: str) -> ProjectProgress:
    return ProjectProgress("/p", state, "native", degraded, 0, 0, ())


def write_index(folder: Path, *contents: FileContent, edits: Sequence[str] = ()) -> int:
    """Write an index; returns its generation."""
    store = Store(str(folder), System())
    with store.transaction() as generation:
        store.put_contents(contents)
        store.add_edits(edits, 5)
    store.close()
    return generation


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path.resolve() / "p", {"a.py": "def f(): ...\n"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "projects" / "p-0123456789ab"


@pytest.fixture
async def project(root: Path, folder: Path, home: Path) -> AsyncIterator[Project]:
    """Open a project of which nothing is known yet."""
    loaded = load(str(root), str(folder), UserConfig(), str(home), System())
    pool = Pool(str(folder / "experiences.jsonl"), System(), root=str(root))
    project = Project(str(root), str(folder), loaded, pool, System())
    yield project
    project.close()


# Folders


def test_each_root_has_a_folder_of_its_own() -> None:
    roots = [
        "/a/app",
        "/b/app",
        "/a/App",
        "/a/ap/p",
        "/a/a p",
        "/a/a-p",
        "/",
        "/" + "x" * 300,
        "/ü",
        "/\udcff",
    ]
    folders = [project_folder("/state", root) for root in roots]
    assert len(set(folders)) == len(roots)
    assert folders == [project_folder("/state", root) for root in roots]
    for path in folders:
        parent, name = os.path.split(path)
        assert parent == "/state/projects"
        assert len(os.fsencode(name)) < 255
        assert "/" not in name
    assert os.path.basename(folders[0]).startswith("app-")


def test_known_roots_are_those_with_a_record(tmp_path: Path) -> None:
    assert known_roots(str(tmp_path), System()) == []
    texts = {
        "b": '{"root": "/b"}',
        "a": '{"root": "/a"}',
        "c": "{",
        "d": "[]",
        "e": "{}",
        "f": "\0",
        "g": '"/g"',
    }
    write_files(tmp_path / "projects", {f"{name}/project.json": text for name, text in texts.items()})
    write_files(tmp_path / "projects", {"h/index.sqlite": "", "stray": ""})
    (tmp_path / "projects/i/project.json").mkdir(parents=True)
    assert known_roots(str(tmp_path), System()) == ["/a", "/b"]


def test_records_written_at_once_lose_nothing(tmp_path: Path) -> None:
    roots = [f"/linked/{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda root: write_record("/p", str(tmp_path), System(), linked=(root,)), roots))
    assert roots_linked(str(tmp_path), System()) == frozenset(roots)


# Links


class Neighbours:
    """A shop that names its neighbour payments as linked, and where both keep their records."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder, self.root = folder, str(folder / "shop")
        self.state = str(folder / "state")
        self.user = UserConfig()
        rules = '[agents.reader]\ndeny_paths = ["vault/**"]\n'
        named = f"linked = {json.dumps(names or ('../payments',))}\n"
        write_files(folder, {"shop/foveal.toml": named, "payments/foveal.toml": rules, "private/a.py": ""})
        for each in ("shop", "payments", "private"):
            (folder / each / ".git").mkdir()
        self.own = project_folder(self.state, self.root)
        os.makedirs(self.own)
        write_record(self.root, self.own, System())

    def links(self, *, trusted: bool) -> Links:
        finder = LinkFinder(Environment("/h", self.state, "/c", 0), self.user, System())
        config = load_project_config(self.root, self.user, System()).config
        return finder.find(self.root, config, (), trusted=trusted)


def hidden(links: Links, *agents: str) -> list[bool]:
    """Return from which agents a file in the vault of payments is hidden."""
    tables = links.applied(LoadedConfig(ProjectConfig())).config.agents
    return [tables.policy_for(agent).hides("../payments/vault/keys.py") for agent in agents]


def test_the_rules_of_a_project_stay_in_force_after_its_link_is_gone(tmp_path: Path) -> None:
    near = Neighbours(tmp_path)
    assert not near.links(trusted=False).tables, "it was never linked"
    assert [each.prefix for each in near.links(trusted=True).projects] == ["../payments"]
    former = near.links(trusted=False)
    assert (former.projects, hidden(former, "reader", "lead")) == ((), [True, False])
    (tmp_path / "shop/foveal.toml").unlink()
    assert hidden(near.links(trusted=False), "reader", "lead") == [True, False]
    (tmp_path / "payments").rename(tmp_path / "moved")
    gone = near.links(trusted=True)
    assert hidden(gone, "reader", "lead") == [True, True], "nobody knows its rules"
    assert str(tmp_path / "payments") in dict(gone.stamps), "it may come back"
    shutil.rmtree(near.own)
    assert not near.links(trusted=True).tables, "it was forgotten"


def test_what_cant_be_kept_in_the_record_isnt_linked(tmp_path: Path) -> None:
    near = Neighbours(tmp_path)
    write_record(near.root, near.own, System(), linked=map(str, range(EVER_LINKED_MAX)))
    links = near.links(trusted=True)
    assert not links.projects
    assert "foveal forget" in links.problems[0]


def test_trust_doesnt_follow_a_symlink_to_another_project(tmp_path: Path) -> None:
    near = Neighbours(tmp_path, "deps/payments")
    (tmp_path / "shop/deps").mkdir()
    link = tmp_path / "shop/deps/payments"
    link.symlink_to("../../payments")
    refused = near.links(trusted=True)
    assert not refused.projects, "a pull may change where it leads without changing the trusted file"
    assert f"a symlink leads from there to {tmp_path}/payments: name that" in refused.problems[0]
    near.user = UserConfig(linked=parse_user_links({"allow": [f"{tmp_path}/pay*"]}))
    assert [each.prefix for each in near.links(trusted=False).projects] == ["../payments"]
    link.unlink()
    link.symlink_to("../../private")
    assert not near.links(trusted=True).projects


# Loading


def test_load_writes_a_record_and_reads_the_index(root: Path, folder: Path, home: Path) -> None:
    def loaded() -> LoadedProject:
        return load(str(root), str(folder), UserConfig(), str(home), System())

    cold = loaded()
    assert (dict(cold.tree.files), cold.tree.generation, cold.activity, cold.config_stamp) == (
        {},
        0,
        (),
        None,
    )
    assert json.loads((folder / "project.json").read_text()) == {"root": str(root), "version": 1}
    assert (folder.stat().st_mode & 0o777, (folder / "project.json").stat().st_mode & 0o777) == (0o700, 0o600)
    assert known_roots(str(folder.parent.parent), System()) == [str(root)]
    generation = write_index(folder, content("a.py"), edits=["a.py"])
    warm = loaded()
    assert (dict(warm.tree.files), warm.tree.generation) == ({"a.py": record("a.py")}, generation)
    assert warm.activity == (FileActivity("a.py", 0, 1, 5),)
    (folder / FILE_NAME).write_bytes(b"garbage" * 1000)
    damaged = loaded()
    assert (dict(damaged.tree.files), damaged.tree.generation) == ({}, 0)
    assert read_tree(str(root), str(folder)) == (None, ())


def test_load_fails_for_a_root_that_is_gone_and_settings_that_cant_be_read(
    root: Path, folder: Path, home: Path
) -> None:
    write_files(root, {"foveal.toml": "[context]\nmax_tokens = 'many'\n"})
    with pytest.raises(ConfigError, match=r"foveal\.toml"):
        load(str(root), str(folder), UserConfig(), str(home), System())
    for gone in (root / "a.py", root / "nowhere"):
        with pytest.raises(ProjectUnavailable, match="is no folder"):
            load(str(gone), str(folder), UserConfig(), str(home), System())


# Changes


async def test_changes_are_applied_in_order_and_once(project: Project) -> None:
    project.apply(delta(3, "a.py", "b.py"))
    assert set(project.tree.files) == {"a.py", "b.py"}
    clock = project.clock
    project.apply(delta(2, "late.py", removed=["a.py"]))
    project.apply(delta(3, "same.py"))
    assert set(project.tree.files) == {"a.py", "b.py"}
    assert project.clock == clock
    project.apply(delta(5, "c.py", removed=["a.py"]))
    assert set(project.tree.files) == {"b.py", "c.py"}
    assert project.clock != clock
    before = project.tree
    project.apply(delta(9))
    assert (project.tree.generation, project.tree.files) == (9, before.files)
    assert project.snapshot().tree is project.tree


async def test_validity_changes_with_what_contexts_show(project: Project) -> None:
    project.index_state.set_progress(progress("ready"))
    project.apply(delta(1, "a.py"))

    def check(change: Callable[[], object], *, changes: bool, prompted: bool | None = None) -> None:
        plain, with_prompt = project.validity(prompted=False), project.validity(prompted=True)
        change()
        assert (project.validity(prompted=False) != plain) == changes
        assert (project.validity(prompted=True) != with_prompt) == (changes if prompted is None else prompted)

    check(lambda: None, changes=False)
    check(lambda: project.apply(delta(2, "a.py")), changes=False, prompted=True)
    check(lambda: project.apply(delta(3, "b.py")), changes=True)
    check(lambda: project.apply(delta(4, removed=["b.py"])), changes=True)
    check(lambda: project.apply(TreeDelta("/p", 4, touched=("a.py",))), changes=False)
    check(lambda: project.apply(TreeDelta("/p", 4, links_changed=True)), changes=True)
    check(lambda: project.apply(TreeDelta("/p", 4, touched=("CLAUDE.md",))), changes=True)
    check(lambda: project.apply(TreeDelta("/p", 4, resync=True)), changes=True)
    check(lambda: project.unsaved.set("a.py", "unsaved"), changes=True)
    check(lambda: project.unsaved.set("a.py", "unsaved"), changes=False)
    check(lambda: project.unsaved.set("a.py", None), changes=True)
    check(lambda: project.unsaved.set("a.py", None), changes=False)
    check(lambda: project.instructions.set_rules(project.instructions.rules), changes=False)
    check(
        lambda: project.settings.set(LoadedConfig(project.config, project.settings.warnings)), changes=False
    )
    check(lambda: project.settings.set(LoadedConfig(project.config, ("careful",))), changes=True)
    check(lambda: project.index_state.set_progress(progress("ready", "polling")), changes=True)
    check(lambda: project.index_state.set_indexer_problem("dead"), changes=True)


async def test_rules_and_settings_are_read_again_when_they_may_have_changed(project: Project) -> None:
    def check(change: TreeDelta, rules: bool, config: bool) -> None:
        project.instructions.stale = project.settings.stale = False
        project.apply(change)
        assert (project.instructions.stale, project.settings.stale) == (rules, config)
        assert project.settings.hold() is not config

    check(delta(1, "a.py"), False, False)
    check(delta(2, "AGENTS.md"), True, False)
    check(delta(3, removed=["AGENTS.md"]), True, False)
    check(delta(3, touched=["sub/CLAUDE.local.md"]), True, False)
    check(delta(3, touched=["foveal.toml"]), False, True)
    check(delta(3, touched=["sub/foveal.toml"]), False, False)
    check(TreeDelta("/p", 3, resync=True), True, True)


async def test_settings_hold_by_the_file_itself(project: Project, root: Path) -> None:
    assert project.settings.hold()
    write_files(root, {"foveal.toml": ""})
    assert not project.settings.hold()
    project.settings.stamp = project.settings.stamp_now()
    assert project.settings.hold()
    (root / "foveal.toml").unlink()
    assert not project.settings.hold()


async def test_unread_parts_are_reported(project: Project) -> None:
    def unread() -> str:
        return project.index_state.unread(project.tree)

    assert not project.index_state.named
    assert "still being scanned: 0 files" in unread()
    project.apply(TreeDelta("/p", 1, (record("a.py", b""), record("b.py"))))
    assert "still being scanned: 2 files" in unread()
    project.index_state.set_progress(progress("indexing"))
    assert project.index_state.named
    assert unread() == "1 of 2 files are not indexed yet: their definitions and imports are not known"
    project.apply(delta(2, "a.py"))
    assert unread() == "the words of the files read last are not indexed yet: a prompt may find too little"
    assert not project.index_state.searchable
    project.index_state.set_progress(replace(progress("indexing"), words=True))
    assert project.index_state.searchable
    assert unread() == ""
    project.index_state.set_progress(progress("indexing"))
    assert project.index_state.searchable, "a file that changed is looked for as it was"
    project.index_state.forget()
    assert not project.index_state.named
    assert not project.index_state.searchable
    project.index_state.set_progress(progress("degraded"))
    assert project.index_state.searchable, "nothing more is to be had"


async def test_the_end_of_the_indexer_wakes_waiters(project: Project) -> None:
    waiting = asyncio.create_task(project.index_state.wait_changed())
    await asyncio.sleep(0)
    project.index_state.set_indexer_problem("it ended")
    await waiting
    assert project.index_state.indexer_problem == "it ended"
    project.index_state.set_indexer_problem("")
    assert not project.index_state.indexer_problem


# After the indexer was lost


async def test_changes_of_a_new_indexer_follow_its_first_tree(
    project: Project, folder: Path, root: Path
) -> None:
    project.apply(delta(5, "a.py", "ghost.py"))
    names = project.tree.names_generation
    begun = Tree(str(root), 8, {path: record(path) for path in ("a.py", "b.py", "new.py")})
    activity = (FileActivity("a.py", 9, 0, 0),)
    project.take_index(begun, activity)
    project.apply(delta(9, removed=["b.py"]))
    assert set(project.tree.files) == {"a.py", "new.py"}
    assert project.tree.generation == 9
    assert project.tree.names_generation > names
    assert [node.path for node in project.hot_nodes()] == ["a.py"]
    project.apply(delta(10, "later.py"))
    assert "later.py" in project.tree.files


async def test_an_index_that_was_built_anew_takes_the_place_of_the_former(
    project: Project, root: Path
) -> None:
    project.apply(delta(50, "a.py", "ghost.py"))
    project.take_index(Tree(str(root), 3, {"a.py": record("a.py")}), ())
    project.apply(delta(4, "b.py"))
    assert set(project.tree.files) == {"a.py", "b.py"}


async def test_readers_read_the_index_that_is_there_now(project: Project, folder: Path) -> None:
    def names() -> list[str]:
        with project.snapshot().reader() as reader:
            return [symbol.name for symbol in reader.symbols("a.py")]

    write_index(folder, content("a.py", "old"))
    assert names() == ["old"]
    shutil.move(folder, folder.parent / "aside")
    write_index(folder, content("a.py", "new"))
    project.take_index(None, ())
    assert names() == ["new"]


# What is worked on


async def test_hot_nodes_come_with_their_reasons(project: Project) -> None:
    paths = ["open.py", "edited.py", "counted.py", "asked.py", "changed.py", "quiet.py", "plenty.py"]
    project.apply(delta(1, *paths))
    assert project.hot_nodes() == ()
    project.set_activity(
        (
            FileActivity("counted.py", 0, 2, 7),
            FileActivity("changed.py", CHANGED_OFTEN, 0, 0),
            FileActivity("quiet.py", CHANGED_OFTEN - 1, 0, 0),
            FileActivity("gone.py", 99, 99, 99),
        )
    )
    project.hot_files.note_opened("open.py")
    project.hot_files.note_opened("closed.py")
    project.hot_files.note_closed("closed.py")
    project.apply(delta(1, touched=["edited.py", "ignored.log"]))
    for _ in range(ASKED_OFTEN):
        project.hot_files.note_asked(("asked.py#f", "gone.py", "open.py"))
    project.hot_files.note_asked(("quiet.py",))
    assert [(node.path, node.reason) for node in project.hot_nodes()] == [
        ("open.py", "open in an editor"),
        ("edited.py", "recently edited"),
        ("counted.py", "recently edited"),
        ("asked.py", "often asked for"),
        ("changed.py", "often changed"),
    ]


async def test_the_latest_is_first_and_no_reason_takes_all(project: Project) -> None:
    names = [f"f{n}.py" for n in range(40)]
    project.apply(delta(1, *names))
    project.apply(delta(1, touched=names[:10]))
    assert [node.path for node in project.hot_nodes()] == ["f9.py", "f8.py", "f7.py"][:HOT_EACH]
    project.apply(delta(1, touched=["f3.py"]))
    assert project.hot_nodes()[0].path == "f3.py"
    for name in names[20:]:
        project.hot_files.note_opened(name)
        for _ in range(ASKED_OFTEN):
            project.hot_files.note_asked((name,))
    project.set_activity(tuple(FileActivity(name, CHANGED_OFTEN, 0, 0) for name in names))
    hot = project.hot_nodes()
    assert len(hot) == HOT_MAX == len({node.path for node in hot})
    assert [node.path for node in hot[:HOT_EACH]] == ["f39.py", "f38.py", "f37.py"][:HOT_EACH]


async def test_the_history_is_read_from_the_index(project: Project, folder: Path) -> None:
    assert project.index.read_activity() == (), "there is no index"
    write_index(folder, content("a.py"), edits=["a.py"])
    assert project.index.read_activity() == (FileActivity("a.py", 0, 1, 5),)


def state_of(project: Project) -> str:
    return project.state


async def test_a_project_is_ready_when_its_history_is_known_too(project: Project) -> None:
    project.index_state.set_progress(progress("ready"))
    assert state_of(project) == "indexing"
    project.set_activity(project.index.read_activity())
    assert state_of(project) == "ready"


async def test_a_checkout_does_not_count_as_editing(project: Project) -> None:
    names = [f"f{n}.py" for n in range(EDITS_MAX + 1)]
    project.apply(delta(1, *names, touched=names))
    assert project.hot_nodes() == ()
    project.apply(delta(1, touched=names[:EDITS_MAX]))
    assert len(project.hot_nodes()) == HOT_EACH


async def test_remembered_files_are_bounded(project: Project) -> None:
    project.apply(delta(1, "a.py"))
    for _ in range(ASKED_OFTEN):
        project.hot_files.note_asked(("a.py",))
    for number in range(3 * ASKED_MAX):
        project.hot_files.note_opened(f"o{number}")
        project.hot_files.note_asked((f"n{number}",))
        project.apply(delta(number + 2, f"e{number}", removed=[f"e{number - 1}"], touched=[f"e{number}"]))
    for kept in (project.hot_files._opened, project.hot_files._edited):
        assert len(kept) <= REMEMBERED_MAX
    assert len(project.hot_files._asked) <= ASKED_MAX
    assert ("a.py", "often asked for") in [(node.path, node.reason) for node in project.hot_nodes()]


async def test_overlays_are_bounded_and_the_latest_stay(project: Project) -> None:
    for number in range(BUFFERS_MAX + 5):
        project.unsaved.set(f"f{number}", "text")
    project.unsaved.set("f5", "again")
    assert len(project.unsaved.frozen()) == BUFFERS_MAX
    assert next(iter(project.unsaved.frozen())) == "f6"
    before = project.snapshot()
    project.unsaved.set("f5", None)
    assert before.overlays["f5"] == "again", "a snapshot never changes"
    assert "f5" not in project.unsaved.frozen()


# Readers


@pytest.fixture
def pool(folder: Path) -> Iterator[ReaderPool]:
    write_index(folder, *(content(f"f{n}.py", f"f{n}") for n in range(20)))
    pool = ReaderPool(str(folder))
    yield pool
    pool.close()


def read_symbols(pool: ReaderPool) -> list[str]:
    with pool.borrow() as reader:
        return [symbol.name for symbol in reader.symbols("f1.py")]


def test_a_reader_that_failed_is_not_lent_again(pool: ReaderPool) -> None:
    with pool.borrow() as first:
        pass
    with pool.borrow() as again:
        assert again is first
        again.close()
    with pytest.raises(DatabaseError):
        read_symbols(pool)
    assert read_symbols(pool) == ["f1"]


def test_a_reader_that_comes_back_late_is_closed(pool: ReaderPool) -> None:
    for end in (pool.renew, pool.close):
        with pool.borrow() as reader:
            end()
            assert reader.symbols("f1.py"), "whoever has it goes on"
        with pytest.raises(DatabaseError):
            reader.load_files()


def test_an_error_of_a_reader_of_a_whole_index_is_no_damage(pool: ReaderPool) -> None:
    heard: list[str] = []
    pool._on_damage = heard.append
    with pytest.raises(TypeError, match="mine"), pool.borrow():
        raise TypeError("mine")
    assert (heard, read_symbols(pool)) == ([], ["f1"])


def test_a_tree_is_not_read_from_a_damaged_index(folder: Path) -> None:
    for statement in (
        "UPDATE files SET path = CAST(x'ff' AS TEXT) WHERE path = 'f1.py'",
        "UPDATE files SET inode = 'none' WHERE path = 'f2.py'",
        "UPDATE meta SET value = NULL",
        "ALTER TABLE files RENAME COLUMN digest TO digested",
    ):
        write_index(folder, *(content(f"f{n}.py", f"f{n}") for n in range(3)))
        with closing(sqlite3.connect(folder / "index.sqlite")) as database:
            database.execute(statement)
            database.commit()
        assert read_tree("/srv/p", str(folder)) == (None, ())
