"""A daemon with folders of its own, which is started, killed and asked over its real socket."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc import paths
from foveal.ipc.client import Client, ensure_daemon

DEADLINE_S = 60.0
"""Waits end long before; this is what a broken daemon costs a trial."""

NO_EMBEDDING = "[embedding]\nenabled = false\n"

PROJECT: dict[str, str] = {
    "CLAUDE.md": "# House rules\n\nUse the repository's logger.\n",
    "README.md": "# Shop\n\nSells things.\n",
    "shop/__init__.py": "",
    "shop/auth.py": "from .sessions import Session\n\n\ndef login(user: str) -> Session:\n"
    '    """Open a session for a user."""\n    return Session(user)\n',
    "shop/sessions.py": 'class Session:\n    """One visit of a user."""\n\n'
    "    def __init__(self, user: str) -> None:\n        self.user = user\n",
    "web/money.ts": "/** Add up prices. */\nexport function total(prices: number[]): number { return 0; }\n",
}


@dataclass
class Home:
    """A user of their own: `state`, `config`, a `project` that is a repository, and at most one daemon."""

    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] | None = None
    """What starts the daemon, unless it is the usual command."""

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.folder / "state"

    @property
    def config(self) -> Path:
        """The config folder."""
        return self.folder / "config"

    @property
    def project(self) -> Path:
        """The root of the project."""
        return self.folder / "project"

    @property
    def environ(self) -> dict[str, str]:
        """What the daemon and its clients see."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FOVEAL_", "XDG_", "GIT_"))
        }
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "FOVEAL_STATE_DIR": str(self.state),
            "FOVEAL_CONFIG_DIR": str(self.config),
            "GIT_CONFIG_NOSYSTEM": "1",
            **self.extra,
        }

    @property
    def pid(self) -> int:
        """The pid of the daemon that daemon.json names, 0 if there is none."""
        info = paths.read_daemon_info(str(self.state))
        return 0 if info is None or not psutil.pid_exists(info.pid) else info.pid

    def client(self, deadline: float = DEADLINE_S) -> Client:
        """Connect, and start the daemon if none runs."""
        return ensure_daemon(None, self.environ, deadline, self.command)

    def answers(self) -> bool:
        """Whether a daemon answers; starts none."""
        try:
            Client.connect(paths.find_socket(None, self.environ).path).close()
        except (OSError, paths.PathError):
            return False
        return True

    def call(self, method: str, **params: Any) -> Any:
        """Ask once, on a connection of its own."""
        with self.client() as client:
            return client.call(method, params, DEADLINE_S)

    def open_ready(self) -> Any:
        """Open the project and wait until it is indexed; return what Status says of it."""
        with self.client() as client:
            client.call("Subscribe", {"topics": ["index.progress"]}, DEADLINE_S)
            project = client.call("OpenProject", {"path": str(self.project)}, DEADLINE_S)
            events = client.events(DEADLINE_S)
            while project["state"] != "ready":
                data = next(events)["data"]
                if data.get("project") == project["root"] and "state" in data:
                    project = {**project, "state": data["state"]}
            return client.call("Status", {"cwd": str(self.project)}, DEADLINE_S)["projects"][0]

    def log(self) -> str:
        """Return what the daemon logged."""
        path = Path(paths.log_file(str(self.state)))
        return path.read_text(errors="replace") if path.is_file() else ""

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send the daemon a signal and wait until it and its children are gone; nothing if none runs."""
        pid = self.pid
        if not pid:
            return
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
            process.send_signal(number)
        except psutil.NoSuchProcess:
            return
        for left in psutil.wait_procs(family, DEADLINE_S)[1]:
            left.kill()

    def kill(self) -> None:
        """End the daemon as kill -9 does, and wait for it alone: its children are to notice by themselves."""
        pid = self.pid
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if pid:
                process = psutil.Process(pid)
                os.kill(pid, signal.SIGKILL)
                process.wait(DEADLINE_S)

    def kill_all(self) -> None:
        """End the daemon as kill -9 does, and wait until its children are gone too."""
        self.end(signal.SIGKILL)


@contextmanager
def home(
    folder: Path, *, config: str = NO_EMBEDDING, files: Mapping[str, str] = PROJECT, **extra: str
) -> Iterator[Home]:
    """Make the folders of a user with a project, and end their daemon at last. `config` is config.toml,
    without embeddings unless it says otherwise: their process costs a second of each start."""
    made = Home(folder, extra)
    for path in (folder / "home", folder / "run", made.config, made.project):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    (made.config / "config.toml").write_text(config)
    for name, text in files.items():
        path = made.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", str(made.project)], check=True, env=made.environ)
    try:
        yield made
    finally:
        with suppress(ProcessLookupError):
            made.end()


def wait_until(condition: Any, seconds: float = DEADLINE_S, pause: float = 0.02) -> bool:
    """Ask a condition again and again until it holds; return whether it did in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
