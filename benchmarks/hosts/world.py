"""A user with one project and one host: their folders, foveal's daemon, and the runs of the host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from foveal.daemon.hooks.service import fields_in, formats_of
from foveal.hooks.hosts.events import Event
from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.errors import DaemonUnavailable, RpcError
from msgspec import Struct

from ..own_daemon import environment, is_ready, wait_until
from .model_server import ModelServer
from .programs import Installed
from .script import Request, Script

RUN_S = 120.0
"""Maximum seconds of one run of a host."""

SETTINGS = "[embedding]\nenabled = false\n"
MARKER = "RULES-READ-3141"
RULES = {
    "AGENTS.md": f"# Notes for agents\n\nRun the tests with `scripts/test`. {MARKER}\n",
    ".cursor/rules/names.mdc": "---\nalwaysApply: true\n---\nTests say what holds. CURSOR-RULE-2718\n",
}

WRAPPER = """#!/bin/sh
# Keeps the payload of each hook, and is foveal otherwise.
if [ "$1" = hook ]; then
  payload="{folder}/$(date +%s%N)-$$-$2-$3"
  cat > "$payload.part"; mv "$payload.part" "$payload"
  exec "{program}" "$@" < "$payload"
fi
exec "{python}" -c 'import sys; sys.argv[0] = "{own}"; from foveal.__main__ import main; main()' "$@"
"""


class Run(Struct, frozen=True):
    """A run of a host: the requests that it made to the model, its exit status, output and seconds."""

    requests: tuple[Request, ...]
    status: int
    output: str
    seconds: float


class HookPayload(Struct, frozen=True):
    """A recorded payload: when it came (seconds), the name of its event, its event for foveal, its fields."""

    at: float
    name: str
    event: Event | None
    fields: dict[str, Any]


class World:
    """The folders of a user, with a clone of a project, a host and foveal."""

    def __init__(
        self, folder: Path, clone: Path, installed: Installed, model: ModelServer, settings: str = SETTINGS
    ) -> None:
        self.host = installed.program
        self.model = model
        self.root = folder / "project"
        self.payloads_folder = folder / "payloads"
        self.environ = environment(folder, settings)
        self.home = Path(self.environ["HOME"])
        self._client: Client | None = None
        self._make_project(clone)
        programs = folder / "bin"
        for path in (self.payloads_folder, programs):
            path.mkdir()
        wrapper = programs / "foveal"
        program = Path(sys.executable).with_name("foveal")
        names = {"program": program, "python": sys.executable, "own": wrapper}
        wrapper.write_text(WRAPPER.format(folder=self.payloads_folder, **names))
        wrapper.chmod(0o755)
        paths = [str(programs), *installed.paths, os.environ["PATH"]]
        self.environ["PATH"] = os.pathsep.join(paths)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
            self.environ.pop(name, None)
        self.environ["PWD"] = str(self.root)
        self.environ["NO_PROXY"] = "127.0.0.1,localhost"
        self.environ |= self.host.prepare(self.home, self.root, model.base_url)
        model.dialect = self.host.call

    def _make_project(self, clone: Path) -> None:
        subprocess.run(["git", "clone", "-q", str(clone), str(self.root)], check=True)
        for name, text in RULES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        for command in (["add", "-A"], [*who, "commit", "-q", "-m", "Add notes for agents"]):
            subprocess.run(["git", "-C", str(self.root), *command], check=True)

    @contextmanager
    def daemon(self) -> Iterator[Client]:
        """Run the daemon, with the project indexed; it may have been ended meanwhile."""
        self.start_daemon()
        try:
            yield self.client
        finally:
            self.stop_daemon()

    @property
    def client(self) -> Client:
        """The connection to the daemon."""
        assert self._client is not None
        return self._client

    def start_daemon(self) -> None:
        """Start the daemon, or connect to the one that runs, and wait until it knows the project."""
        self._client = ensure_daemon(None, self.environ, 60.0)
        self._client.call("OpenProject", {"path": str(self.root)}, 60.0)
        wait_until(lambda: is_ready(self.client, self.root), "the project to be indexed", 120.0)

    def stop_daemon(self) -> None:
        """End the daemon, if one runs."""
        try:
            with ensure_daemon(None, self.environ, 5.0) as client:
                process = psutil.Process(client.call("Ping")["pid"])
                client.call("Shutdown")
                process.wait(30.0)
        except (RpcError, DaemonUnavailable, OSError, psutil.Error):
            pass
        if self._client is not None:
            self._client.close()
        self._client = None

    def end_processes(self) -> None:
        """End what still runs for this user: hooks and MCP clients of an ending host may start a daemon."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("HOME") == str(self.home):  # Codex passes on little more
                    process.kill()

    def foveal(self, *arguments: str) -> str:
        """Run the program foveal, and return what it prints."""
        command = ["foveal", *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=self.environ, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout + done.stderr

    def run(self, script: Script, prompt: str, more: str = "") -> Run:
        """Run the host for a prompt of a script."""
        return self.run_command(script, self.host.command(prompt, more))

    def run_command(self, script: Script, command: list[str]) -> Run:
        """Run a command of the host."""
        self.model.script = script
        first, started = len(self.model.requests), time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, status = process.communicate(timeout=RUN_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            output, status = process.communicate()[0], -1
        return Run(tuple(self.model.requests[first:]), status, output, time.monotonic() - started)

    def payloads(self) -> list[HookPayload]:
        """Return the payloads of hooks until now, in their order."""
        found = []
        for path in sorted(self.payloads_folder.iterdir()):
            nanoseconds = path.name.partition("-")[0]
            host, name = _words(path.name)
            fields = fields_in(path.read_text(errors="replace"))
            given = json.loads(path.read_text(errors="replace") or "{}")
            name = name or fields.text("hook_event_name", "hookEventName")
            event = formats_of(host, fields, name, {}).reads.read(fields, name, str(self.root))
            found.append(HookPayload(int(nanoseconds) / 1e9, name, event, given))
        return found

    def settle(self, holds: Callable[[], bool], limit_s: float = 20.0) -> bool:
        """Wait for something that the daemon does in the background; whether it came about."""
        try:
            wait_until(holds, "the daemon", limit_s, 0.2)
        except RuntimeError:
            return False
        return True

    def decisions(self) -> list[Mapping[str, Any]]:
        """Return the project's decisions."""
        reply = self.client.call("ListExperiences", {"cwd": str(self.root)}, 30.0)
        found: list[Mapping[str, Any]] = reply["experiences"]
        return found


def _words(name: str) -> tuple[str, str]:
    """Return host and event of the name of a payload; the host may have a dash in it."""
    host, _, event = name.split("-", 2)[2].rpartition("-")
    return host, event


def remove(folder: Path) -> None:
    """Remove a world's folder; hosts may still be writing to it."""
    shutil.rmtree(folder, ignore_errors=True)
