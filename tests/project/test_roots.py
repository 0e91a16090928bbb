"""A folder belongs to one project by fixed rules, and no caller's path leads out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.system import System
from foveal.daemon.project import roots
from foveal.daemon.project.roots import check_named_root, find_root, make_usable, relative_path
from hypothesis import given
from hypothesis import strategies as st

from tests.scan_cases import make


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    home.mkdir()
    return home


@pytest.mark.parametrize(
    ("paths", "cwd", "root"),
    [
        (["p/.git/", "p/a/b/"], "p/a/b", "p"),
        (["p/.git", "p/a/"], "p/a", "p"),
        (["p/.git/", "p/a/.git/", "p/a/b/"], "p/a/b", "p/a"),
        (["p/.foveal/", "p/a/.git/", "p/a/b/"], "p/a/b", "p"),
        (["p/.foveal/", "p/a/.foveal/", "p/a/b/"], "p/a/b", "p/a"),
        (["p/.foveal", "p/a/.git/"], "p/a", "p/a"),
        (["p/package.json", "p/pkg/x/package.json", "p/pkg/x/src/"], "p/pkg/x/src", "p"),
        (["p/App.sln", "p/a/"], "p/a", "p"),
        (["p/build.gradle.kts", "p/a/"], "p/a", "p"),
        (["p/package.json", "p/a/.git/", "p/a/go.mod"], "p/a", "p/a"),
        (["package.json", "p/a/"], "p/a", "p/a"),
        (["package.json", "p/setup.py", "p/a/"], "p/a", "p"),
        (["p/a/"], "p/a", "p/a"),
        (["p/a/file.py"], "p/a/file.py", "p/a"),
        (["p/.git/", "p/a/file.py"], "p/a/file.py", "p"),
    ],
)
def test_root(home: Path, paths: list[str], cwd: str, root: str) -> None:
    make(home, *paths)
    assert find_root(str(home / cwd), str(home)) == str(home / root)


def test_folders_without_a_mark_belong_to_a_known_root(home: Path) -> None:
    make(home, "p/a/b/", "q/")
    known = {str(home / "p"), str(home / "p/a"), str(home / "q")}
    assert find_root(str(home / "p/a/b"), str(home), known) == str(home / "p/a")


def test_manifests_count_only_below_home(tmp_path: Path, home: Path) -> None:
    make(tmp_path.resolve(), "srv/app/package.json", "srv/app/src/")
    assert find_root(str(tmp_path / "srv/app/src"), str(home)) == str(tmp_path.resolve() / "srv/app/src")


def test_symlinks_are_resolved(home: Path) -> None:
    make(home, "p/.git/", "p/a/")
    (home / "link").symlink_to(home / "p/a")
    assert find_root(str(home / "link"), str(home)) == str(home / "p")


def test_home_and_slash_are_refused_unless_opened(home: Path) -> None:
    make(home, ".git/", "notes/")
    for cwd in (str(home), str(home / "notes"), "/"):
        with pytest.raises(InvalidRequest, match="foveal open") as caught:
            find_root(cwd, str(home))
        assert caught.value.field == "cwd"
    assert find_root(str(home / "notes"), str(home), {str(home)}) == str(home)
    assert find_root("/", str(home), {"/"}) == "/"


def test_temporary_folders_and_parents_of_home_are_refused_unless_opened(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path.resolve() / "temporary"
    make(temporary, "p/", ".git/")
    monkeypatch.setenv("TMPDIR", str(temporary))
    for cwd in (temporary, temporary / "p", home.parent, Path("/tmp"), Path("/var/tmp")):
        with pytest.raises(InvalidRequest, match="foveal open") as caught:
            find_root(str(cwd), str(home))
        assert caught.value.field == "cwd"
    assert find_root(str(temporary / "p"), str(home), {str(temporary)}) == str(temporary)
    (temporary / ".git").rmdir()
    assert find_root(str(temporary / "p"), str(home)) == str(temporary / "p")
    assert check_named_root(str(temporary)) == str(temporary)
    make(home.parent, ".git/")  # a repository with a home for its tests is a project
    assert find_root(str(home.parent), str(home)) == str(home.parent)


def test_folders_of_the_system_are_refused_unless_opened(home: Path) -> None:
    folders = [
        "/etc",
        "/usr",
        "/var",
        "/proc",
        "/sys",
        "/dev",
        "/boot",
        "/bin",
        "/usr/share",
        "/etc/ssl",
        "/usr/lib",
    ]
    there = [folder for folder in folders if Path(folder).is_dir()]
    assert len(there) >= 6
    for folder in there:
        with pytest.raises(InvalidRequest, match=r"a folder of the system\. .*: foveal open /") as refused:
            find_root(folder, str(home))
        assert refused.value.field == "cwd"
        root = os.path.realpath(folder)
        assert find_root(folder, str(home), {root}) == root


def test_a_repository_in_a_folder_of_the_system_is_a_project(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path.resolve() / "tmp"
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(roots, "TEMPORARY_FOLDERS", ())
    system = tmp_path.resolve() / "usr"
    monkeypatch.setattr(roots, "SYSTEM_FOLDERS", (str(system),))
    monkeypatch.setattr(roots, "SOURCE_FOLDERS", (str(system / "src"),))
    make(system, ".git/", "www/shop/.git/", "lib/node/package.json", "src/app/", "own/.foveal/", "share/doc/")
    make(temporary, "p/")
    for folder in (system, system / "lib", system / "lib/node", system / "share/doc"):
        # All belong to the repository around them, which is the folder of the system itself.
        with pytest.raises(InvalidRequest, match="a folder of the system"):
            find_root(str(folder), str(home))
    (system / ".git").rmdir()
    for folder in (system / "lib/node", system / "share/doc"):
        with pytest.raises(InvalidRequest, match="a folder of the system"):
            find_root(str(folder), str(home))
    for folder in (system / "www/shop", system / "src/app", system / "own", temporary / "p"):
        assert find_root(str(folder), str(home)) == str(folder)


def test_hidden_folders_of_home_are_refused_unless_opened(home: Path) -> None:
    make(
        home,
        ".ssh/.git/",
        ".aws/package.json",
        ".cache/x/",
        ".dotfiles/.git/",
        ".gnupg/.foveal/",
        "p/.hidden/",
    )
    for folder, why in (
        (".ssh", "a folder of keys"),
        (".aws", "a folder of keys"),
        (".cache/x", "a hidden folder"),
    ):
        with pytest.raises(InvalidRequest, match=why):
            find_root(str(home / folder), str(home))
        assert find_root(str(home / folder), str(home), {str(home / folder)}) == str(home / folder)
    for folder in (".dotfiles", ".gnupg", "p/.hidden"):
        assert find_root(str(home / folder), str(home)) == str(home / folder)


def test_a_large_folder_without_a_mark_is_refused_unless_opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "UNMARKED_ENTRIES_MAX", 5)
    make(home, "p/a/1", "p/a/2", "p/b/1", "p/c/d/")
    root = str(home / "p")
    with pytest.raises(InvalidRequest, match=f"more than 5 files .*: foveal open {root}"):
        find_root(root, str(home))
    assert find_root(root, str(home), {root}) == root
    assert check_named_root(root) == root
    assert find_root(f"{root}/a", str(home)) == f"{root}/a"
    for mark in (".git", "package.json", ".foveal/"):
        make(home, f"p/{mark}")
        assert find_root(root, str(home)) == root
        (Path(root, mark).rmdir if mark.endswith("/") else Path(root, mark).unlink)()


@pytest.mark.parametrize(
    ("cwd", "message"),
    [
        ("", "empty"),
        ("src", "absolute"),
        ("./", "absolute"),
        ("/nowhere-at-all/x", "doesn't exist"),
        ("/a\0b", "NUL"),
        ("/" + "x" * 5000, "4096"),
        ("/" + "x" * 300, "can't be used"),
        ("/\ud800", "Unicode"),
    ],
)
def test_bad_cwd(home: Path, cwd: str, message: str) -> None:
    calls: list[Callable[[], str]] = [lambda: find_root(cwd, str(home)), lambda: check_named_root(cwd)]
    for call in calls:
        with pytest.raises(InvalidRequest, match=message):
            call()


def test_named_root(home: Path) -> None:
    make(home, "p/a/", "file")
    (home / "link").symlink_to(home / "p")
    assert check_named_root(str(home / "link/a/..")) == str(home / "p")
    assert check_named_root(str(home)) == str(home)
    with pytest.raises(InvalidRequest, match="not a folder"):
        check_named_root(str(home / "file"))


@pytest.fixture
def project(home: Path) -> Path:
    make(home, "p/src/auth.py", "p/ünï/日本.py", "outside/secret")
    (home / "p/out").symlink_to(home / "outside")
    (home / "p/in").symlink_to(home / "p/src")
    (home / "alias").symlink_to(home / "p")
    return home / "p"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/auth.py", "src/auth.py"),
        ("./src//auth.py", "src/auth.py"),
        ("src/../src/auth.py", "src/auth.py"),
        ("src/", "src"),
        (".", ""),
        ("src/..", ""),
        ("ünï/日本.py", "ünï/日本.py"),
        ("not/there.py", "not/there.py"),
        ("not/../there.py", "there.py"),
        ("in/auth.py", "src/auth.py"),
        ("..p", "..p"),
        ("a\\b", "a\\b"),
        ("{project}/src/auth.py", "src/auth.py"),
        ("{project}", ""),
        ("{project}/../alias/src", "src"),
    ],
)
def test_relative_path(project: Path, path: str, expected: str) -> None:
    assert relative_path(str(project), path.format(project=project)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "",
        "\0",
        "../outside/secret",
        "../../etc/passwd",
        "/etc/passwd",
        "out/secret",
        "out",
        "..",
        "x\0y",
        "\udcff",
        "../p2",
        "src/../../outside",
        "x/" * 3000,
    ],
)
def test_path_that_is_refused(project: Path, path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        relative_path(str(project), path, "focus_paths")
    assert caught.value.field == "focus_paths"


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", "out", "in"]), max_size=8).map("/".join))
def test_no_path_leads_out(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.getbasetemp() / "held"
    if not root.exists():
        make(root, "a/b/", "b/")
        (root / "out").symlink_to("/")
        (root / "in").symlink_to(root / "a")
    try:
        relative = relative_path(str(root), path)
    except InvalidRequest:
        return
    inside = str(root.resolve())
    assert os.path.commonpath([inside, os.path.realpath(os.path.join(inside, relative))]) == inside
    assert ".." not in relative.split("/")


# A project's folder can be used whatever was put in the place of its files, and its names are durable.


class Recorder(System):
    """Notes which folders are forced to the disk."""

    def __init__(self) -> None:
        self.forced: list[str] = []

    def fsync_folder(self, path: str) -> None:
        self.forced.append(path)


def test_the_names_that_lead_to_it_are_forced_to_the_disk_also_where_it_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "shop-1"
    for _ in range(2):
        disk = Recorder()
        assert make_usable(str(folder), str(tmp_path), disk) == ""
        assert disk.forced == [str(tmp_path / "projects"), str(tmp_path)]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_files_and_folders_of_the_wrong_kind_are_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "shop-1"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("precious")
    (folder / "experiences.jsonl").symlink_to(tmp_path / "elsewhere")
    (folder / "items.json").mkdir()
    os.mkfifo(folder / "index.sqlite-wal")
    (folder / "lexical").write_text("no folder")
    (folder / "vectors").mkdir()
    done = make_usable(str(folder), str(tmp_path), System())
    names = {name.partition(".damaged-")[0] for name in os.listdir(folder) if ".damaged-" in name}
    assert names == {"experiences.jsonl", "items.json", "index.sqlite-wal", "lexical"}
    assert all(name in done for name in names)
    assert (folder / "vectors").is_dir()
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert make_usable(str(folder), str(tmp_path), System()) == ""


def test_a_file_in_the_place_of_the_folder_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("no folder")
    assert "projects.damaged-" in make_usable(str(tmp_path / "projects/shop-1"), str(tmp_path), System())
    assert (tmp_path / "projects/shop-1").is_dir()
