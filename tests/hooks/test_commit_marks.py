"""Git's own hooks over a real daemon: what was decided gets its commit, and is marked when that is undone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foveal.hooks.install.git_hooks import ScriptBlock
from foveal.ipc.client import Client

from tests.conftest import DEADLINE_S, DaemonProcess, write_files
from tests.hook_cases import payload
from tests.hooks.test_hook import hook
from tests.hooks.test_install_git import HOOKS


class Repository:
    """A repository with git's hooks installed as `foveal hooks install git` does, and its experiences."""

    def __init__(self, root: Path, daemon: DaemonProcess, program: Path) -> None:
        self.root = root
        self.daemon = daemon
        for name in HOOKS:
            path = root / ".git" / "hooks" / name
            path.write_text(ScriptBlock(name, str(program)).register(""))
            path.chmod(0o755)

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *identity, "-C", str(self.root), *arguments],
            env=self.daemon.environ, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == "" or "Switched" in done.stderr
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        write_files(self.root, {f"src/shop/{name}.py": text for name, text in files.items()})
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def decide(self, decision: str, *files: str) -> str:
        experience = {"decision": decision, "agent_id": "a", "session_id": "s", "files_touched": files}
        kept = self.daemon.call("GraftExperience", cwd=str(self.root), experience=experience)
        return str(kept["experience_ids"][0])

    def get(self, experience_id: str) -> Any:
        return self.daemon.call("GetExperience", cwd=str(self.root), experience_id=experience_id)[
            "experience"
        ]

    def outcome(self, experience_id: str) -> str | None:
        """Tell what became of it; None while nothing is known."""
        found = self.get(experience_id)
        return str(found["outcome"]["kind"]) if "outcome" in found else None

    def turn(self, number: int) -> None:
        """End a turn of an agent, as its host tells it."""
        told = payload("codex", "Stop", self.root, turn_id=str(number), transcript_path=None)
        assert hook("codex", told, self.daemon.environ) == ""


def becomes(events: Client, find: Callable[[], object], wanted: object) -> None:
    """Wait until something is what it is to be; it is looked at again with each event, since one turn may have two."""
    if find() == wanted:
        return
    for _ in events.events(DEADLINE_S):
        if find() == wanted:
            return
    raise AssertionError(f"it stayed {find()!r}")


def test_decision_gets_its_commit(daemon: DaemonProcess, shop: Path, program: Path) -> None:
    daemon.open_ready(shop)
    here = Repository(shop, daemon, program)
    base = here.git("rev-parse", "HEAD")
    first, other = here.decide("Use WAL", "src/shop/auth.py"), here.decide("Use Vue", "web/app.ts")
    assert here.get(first)["commit"] == base, "the one that was checked out"
    with daemon.subscribed("experience.changed") as events:
        made = here.commit("auth", auth="x = 1\n")
        becomes(events, lambda: here.get(first)["commit"], made)
        assert here.get(other)["commit"] == base, "no file of it was committed"

        here.git("commit", "-q", "--amend", "-m", "auth, better")
        amended = here.git("rev-parse", "HEAD")
        assert amended != made
        becomes(events, lambda: here.get(first)["commit"], amended)

        here.git("revert", "--no-edit", "HEAD")
        becomes(events, lambda: here.outcome(first), "reverted")
        found = here.get(first)
        assert found["commit"] == amended
        assert [mark["kind"] for mark in found["marks"]] == ["reverted"]
        text = daemon.call("GetContext", cwd=str(shop), focus_paths=["src/shop/auth.py"])["context"]
        assert "Use WAL" in text
        assert "reverted" in text

        here.git("revert", "--no-edit", "HEAD")
        becomes(events, lambda: here.outcome(first), None)
        assert "marks" not in here.get(first)
    daemon.stop()
    assert here.get(first)["commit"] == amended, "it is on the disk"
    assert "ERROR" not in daemon.log()
