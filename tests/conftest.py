"""Fixtures: a daemon for a test, and small projects, with real processes and sockets."""

from __future__ import annotations

import ctypes
import gc
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER, GRAPH_FILE
from foveal.daemon.index.service import Reader
from foveal.daemon.index.store import Store
from foveal.ipc import paths
from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.errors import RpcError

from tests import all_ran, properties
from tests.command_cases import CommandLine

properties.register()

DEADLINE_S = 60.0
"""Maximum wait in seconds, reached only if the daemon is broken."""


def pytest_configure(config: pytest.Config) -> None:
    """Give a run in which not all tests ran its own exit status, and all runs the same tables of commands."""
    config.pluginmanager.register(all_ran)
    os.environ.pop("COLUMNS", None)  # a terminal's width, which workers of pytest-xdist are given
    if not os.path.exists(os.path.join(DEFAULT_MODEL_FOLDER, GRAPH_FILE)):
        # In a copy of the sources that was never installed.
        from foveal.hatch_build import build_model

        build_model(DEFAULT_MODEL_FOLDER)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Give freed memory back after each file of tests; else a worker keeps what the largest ones needed."""
    if _GLIBC is not None and (nextitem is None or nextitem.path != item.path):
        _GLIBC.malloc_trim(0)


def _limit_arenas() -> ctypes.CDLL | None:
    """Let threads share two heaps: in one of its own each thread of an index leaves some MB behind."""
    if sys.platform != "linux" or os.confstr("CS_GNU_LIBC_VERSION") is None:
        return None
    library = ctypes.CDLL(None)
    library.mallopt(_M_ARENA_MAX, 2)
    return library


_M_ARENA_MAX = -8
"""A parameter of mallopt, from malloc.h."""

_GLIBC = _limit_arenas()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the collected tests from garbage collection, which took half of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@dataclass
class DaemonProcess:
    """A daemon with its own folders; `environ` is its environment and that of its clients."""

    environ: dict[str, str]
    home: Path

    @property
    def state(self) -> Path:
        return Path(self.environ["FOVEAL_STATE_DIR"])

    @property
    def pid(self) -> int:
        info = paths.read_daemon_info(str(self.state))
        assert info is not None, "no daemon runs"
        return info.pid

    @property
    def socket(self) -> str:
        return paths.find_socket(None, self.environ).path

    def client(self) -> Client:
        """Connect, starting the daemon if none runs."""
        return ensure_daemon(None, self.environ, DEADLINE_S)

    def call(self, method: str, **params: Any) -> Any:
        with self.client() as client:
            return client.call(method, params, DEADLINE_S)

    def error(self, method: str, **params: Any) -> RpcError:
        """Call a method that must fail, and then one that must not: bad input harms nothing."""
        with self.client() as client:
            with pytest.raises(RpcError) as raised:
                client.call(method, params, DEADLINE_S)
            assert client.call("Ping", {}, DEADLINE_S)["pid"] == self.pid
        return raised.value

    @contextmanager
    def subscribed(self, *topics: str) -> Iterator[Client]:
        """Connect and subscribe; see `next_event`."""
        with self.client() as client:
            assert client.call("Subscribe", {"topics": list(topics)}, DEADLINE_S) == {"topics": list(topics)}
            yield client

    def open_ready(self, root: Path | str) -> Any:
        """Open a project and wait until it is indexed, by its events."""
        with self.client() as client:
            client.call("Subscribe", {"topics": ["index.progress"]}, DEADLINE_S)
            project = client.call("OpenProject", {"path": str(root)}, DEADLINE_S)
            events = client.events(DEADLINE_S)
            while project["state"] != "ready":
                event = next(events)
                data = event["data"]
                if data.get("project") == project["root"] and "state" in data:
                    project = {**project, "state": data["state"]}
        return self.call("Status", cwd=str(root))["projects"][0]

    def log(self) -> str:
        path = Path(paths.log_file(str(self.state)))
        return path.read_text() if path.exists() else ""

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the daemon if it runs and wait until it and its children are gone."""
        info = paths.read_daemon_info(str(self.state))
        if info is None:
            return
        try:
            process = psutil.Process(info.pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return  # a test killed it: nobody but init may have reaped it by now
        descriptors = {_open_end(one.pid): one for one in family}
        descriptors.pop(-1, None)
        process.send_signal(number)
        deadline = time.monotonic() + DEADLINE_S
        while descriptors and time.monotonic() < deadline:
            for ended in select.select(list(descriptors), [], [], deadline - time.monotonic())[0]:
                os.close(ended)
                del descriptors[ended]
        for descriptor, left in descriptors.items():
            os.close(descriptor)
            left.kill()
        assert not descriptors, f"{list(descriptors.values())} outlived the daemon's end"

    def processes(self) -> list[psutil.Process]:
        """Return all daemons with this state folder, those that wait for its lock too."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if (
                    process.environ().get("FOVEAL_STATE_DIR") == str(self.state)
                    and "--foreground" in process.cmdline()
                ):
                    found.append(process)
        return found


def _open_end(pid: int) -> int:
    """Return a descriptor that is readable when a process has ended, reaped or not; -1 if it has."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return -1


def next_event(client: Client, topic: str, **data: Any) -> Any:
    """Wait for the next event of a topic whose data hold these values; skips others."""
    for event in client.events(DEADLINE_S):
        if event["topic"] == topic and data.items() <= event["data"].items():
            return event
    raise AssertionError(f"the connection ended before an event {topic} with {data} came")


@contextmanager
def running_daemon(
    folder: Path, extra: Mapping[str, str] | None = None, *, embedding: bool = False
) -> Iterator[DaemonProcess]:
    """Give a daemon with folders of its own. Without `embedding` it starts no process for it, which costs
    a second of each daemon."""
    # Below a long folder the socket would have to be that of all daemons without a runtime folder.
    with TemporaryDirectory(prefix="foveal-run-", ignore_cleanup_errors=True) as run:
        yield from _running(folder, run, dict(extra or {}), embedding=embedding)


def _running(folder: Path, run: str, extra: dict[str, str], *, embedding: bool) -> Iterator[DaemonProcess]:
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FOVEAL_", "XDG_", "GIT_", "PYTHONDONTWRITEBYTECODE")) or name == "FOVEAL_CI"
    }
    environ |= {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": run,
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **extra,
    }
    if not embedding:
        config = folder / "config" / "config.toml"
        own = config.read_text() if config.exists() else ""
        write_files(folder, {"config/config.toml": f"{own}\n[embedding]\nenabled = false\n"})
    daemon = DaemonProcess(environ, home)
    try:
        yield daemon
    finally:
        daemon.stop()
        for process in daemon.processes():  # a client may have started another one while the first restarted
            process.terminate()
            process.wait(DEADLINE_S)


@pytest.fixture
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon that the first client starts."""
    with running_daemon(tmp_path_factory.mktemp("d")) as process:
        yield process


ROOMS_WITH_ONE_DAEMON = frozenset({"cli", "daemon", "hooks"})
"""Rooms whose files share one daemon; a start takes a second of a processor."""


class SharedDaemon:
    """The daemon of a file of tests, or of all files of a room that have one for all."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._owner: Path | None = None
        self._stack = ExitStack()

    def of(self, file: Path) -> DaemonProcess:
        """Return the daemon of a file; that of the file or room before ends."""
        owner = file.parent if file.parent.name in ROOMS_WITH_ONE_DAEMON else file
        if owner != self._owner:
            self.close()
            self._owner = owner
            self._daemon = self._stack.enter_context(running_daemon(self._factory.mktemp("d")))
        return self._daemon

    def close(self) -> None:
        """End the daemon."""
        self._stack.close()


@pytest.fixture(scope="session")
def shared_daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedDaemon]:
    """Give the daemons of `shared_daemon`."""
    daemons = SharedDaemon(tmp_path_factory)
    yield daemons
    daemons.close()


@pytest.fixture(scope="module")
def shared_daemon(shared_daemons: SharedDaemon, request: pytest.FixtureRequest) -> Iterator[DaemonProcess]:
    """Give one daemon to the tests of a file or room, which leave its state unchanged but for projects of
    their own.

    A file's projects are closed behind it, since each open one takes a watcher of the system.
    """
    daemon = shared_daemons.of(request.path)
    yield daemon
    for project in daemon.call("Status")["projects"]:
        daemon.call("CloseProject", path=project["root"])


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, by relative path."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
    return root


def git(root: Path, *arguments: str) -> str:
    """Run git in a folder with a neutral identity."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    result = subprocess.run(
        ["git", *identity, "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return result.stdout


def need_tool(name: str) -> str:
    """Return the path of a system tool; without it the test is skipped, or fails with FOVEAL_CI=1."""
    found = shutil.which(name)
    if found is None:
        message = f"{name} isn't installed: install it, or run make test where it can be installed"
        if os.environ.get("FOVEAL_CI") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return found


SMALL_PROJECT: dict[str, str | bytes] = {
    "CLAUDE.md": "# House rules\n\nUse the repository's logger.\n",
    "README.md": "# Shop\n\nSells things.\n\n## Setup\n\nRun it.\n",
    "src/shop/__init__.py": "",
    "src/shop/auth.py": (
        '"""Log in and out."""\n\nfrom .sessions import Session, expire\nfrom . import missing_module\n\n\n'
        'def login(user: str) -> Session:\n    """Open a session for a user."""\n'
        "    return Session(user)\n\n\n"
        "def logout(session: Session) -> None:\n    expire(session)\n"
    ),
    "src/shop/sessions.py": (
        '"""Sessions and how they end."""\n\nMAX_AGE = 3600\n\n\n'
        'class Session:\n    """One visit of a user."""\n\n'
        "    def __init__(self, user: str) -> None:\n        self.user = user\n\n"
        '    def touch(self) -> None:\n        """Move the end of the session."""\n\n\n'
        'def expire(session: Session) -> None:\n    """End a session now."""\n'
    ),
    "src/shop/cart.py": "from .auth import login\n\n\ndef checkout():\n    login('x')\n",
    "web/app.ts": (
        'import { total } from "./money";\n\nexport function main(): number {\n  return total([1]);\n}\n'
    ),
    "web/money.ts": (
        "/** Add up prices. */\nexport function total(prices: number[]): number {\n  return 0;\n}\n"
    ),
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Give a small project of two languages in a git repository, with rules."""
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def foveal(
    shared_daemon: DaemonProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Give the command line in a small project, over the daemon that the tests of a file share."""
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    git(root, "init", "-q")
    return CommandLine(shared_daemon, root, monkeypatch, capsys)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give the empty index of a project."""
    with closing(Store(str(tmp_path), System())) as opened:
        yield opened


@pytest.fixture
def reader(store: Store, tmp_path: Path) -> Iterator[Reader]:
    """Give the reading side of that index."""
    with closing(Reader(str(tmp_path))) as opened:
        yield opened


def start_python(code: str, environ: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """Start a Python process that runs some code."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=dict(environ), stdout=subprocess.PIPE, text=True
    )
