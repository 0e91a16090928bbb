"""The daemon that pages are drawn from: its own folders, and a project with all that they can show."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client, ensure_daemon
from foveal.ipc.errors import RpcError

DEADLINE_S = 300.0

AGENTS = ("claude-code", "codex", "cursor", "reviewer")

PROMPTS = (
    "How does a request become a context?",
    "Where is the budget of a context decided, and what is cut first?",
    "Add a limit to the number of sessions that are kept",
    "Why does the watcher miss files in new folders?",
    "Which tests reach the linker?",
    f"What is wrong with {'one_word_that_never_ends_' * 12}, which a log had?",
    "How are secrets masked before a context is built?",
)

DECISIONS = (
    (
        "Keep SQLite as the truth and derive the lexical index from it",
        "success",
        "It can be rebuilt at any time.",
    ),
    ("Use one writer per session", "success", "Two writers lost changes in a trial."),
    ("Retry the embedder three times before giving up", "failure", "It hid a broken model file for an hour."),
    ("Drop the recursive watch", "success", "Links out of the tree were followed."),
    ("Cache rendered contexts by their focus alone", "reverted", "A prompt may name any file of the tree."),
    (
        "Count tokens by characters / 4 unless the exact counter is installed",
        "",
        "Within 8 % on source code.",
    ),
)


@contextmanager
def own_daemon(folder: Path) -> Iterator[Client]:
    """Start a daemon with its folders below `folder`; it ends with the block."""
    environ = environment(folder)
    with ensure_daemon(None, environ, DEADLINE_S) as client:
        try:
            yield client
        finally:
            client.call("Shutdown", {}, DEADLINE_S)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a daemon of its own; makes the folders."""
    run = folder / "run"
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
    return kept | {
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(run),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "FOVEAL_CONFIG_DIR": str(folder / "config"),
    }


def copied_project(source: Path, target: Path) -> Path:
    """Clone a git repository, or link to a folder that is none, so that nothing is written into it."""
    if (source / ".git").exists():
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{source}", str(target)], check=True)
    else:
        target.symlink_to(source)
    return target


def fill(client: Client, root: Path) -> Mapping[str, Any]:
    """Open a project and do in it what agents do; return the ids that pages are about.

    The result: `root`, `session_id`, `request_id`, `context_id`, `scope_id`, `path`, `experience_id`,
    and `closed`, the root of a project that isn't open any more.
    """
    root = wait_ready(client, root)
    for number, (decision, outcome, rationale) in enumerate(DECISIONS):
        _graft(client, root, number, decision, outcome, rationale)
    for number in range(4):
        _put_items(client, root, number)
    session = _session(client, root)
    reply: dict[str, Any] = {}
    for number, prompt in enumerate(PROMPTS):
        agent = AGENTS[number % len(AGENTS)]
        asked = {"cwd": str(root), "prompt": prompt, "agent_name": agent, "max_tokens": 6000 + 2000 * number}
        client.call("GetContext", asked, DEADLINE_S)
        reply = client.call(
            "GetContext",
            {**asked, "session_id": session, "format": "messages", "agent_name": AGENTS[0]},
            DEADLINE_S,
        )
    closed = root.parent / "not-open-now"
    closed.mkdir()
    client.call("OpenProject", {"path": str(closed)}, DEADLINE_S)
    client.call("CloseProject", {"path": str(closed)}, DEADLINE_S)
    paths = [
        one["path"] for one in reply["slices"] if one["type"] in ("focus", "document") and one.get("path")
    ]
    listed = client.call("ListExperiences", {"cwd": str(root)}, DEADLINE_S)["experiences"]
    return {
        "root": str(root),
        "session_id": session,
        "request_id": reply["request_id"],
        "context_id": reply["context_id"],
        "scope_id": reply["scope_id"],
        "path": paths[0] if paths else "",
        "experience_id": listed[0]["experience_id"],
        "closed": str(closed),
    }


def wait_ready(client: Client, root: Path) -> Path:
    """Open a project and wait until its files are read; return its root as the daemon knows it."""
    client.call("Subscribe", {"topics": ["index.progress"]}, DEADLINE_S)
    project = client.call("OpenProject", {"path": str(root)}, DEADLINE_S)
    state = project["state"]
    events = client.events(DEADLINE_S)
    while state not in ("ready", "degraded"):
        state = next(events)["data"].get("state", state)
    return Path(project["root"])


def _graft(client: Client, root: Path, number: int, decision: str, outcome: str, rationale: str) -> None:
    experience: dict[str, Any] = {
        "decision": decision,
        "rationale": rationale,
        "agent_id": AGENTS[number % len(AGENTS)],
        "session_id": f"planning-{number // 2}",
        "files_touched": ["daemon/engine/engine.py"],
    }
    if outcome:
        experience["outcome"] = {"kind": outcome}
    client.call("GraftExperience", {"cwd": str(root), "experience": experience}, DEADLINE_S)


def _put_items(client: Client, root: Path, number: int) -> None:
    modes = ("always", "manual", "agent", "agent")
    for kind, name, text in (
        ("rule", f"style-{number}", "Write short sentences. Name a file for the noun that it owns."),
        ("reference", f"ports-{number}", "The service listens on 8080, the queue on 5672."),
    ):
        item = {
            "type": kind,
            "name": name,
            "text": text,
            "description": text.split(".")[0] if number else " ".join([text] * 8),
            "include": modes[number],
            "priority_level": 200 + 100 * number,
        }
        client.call("PutItem", {"cwd": str(root), "item": item}, DEADLINE_S)


def _session(client: Client, root: Path) -> str:
    made = client.call(
        "CreateSession",
        {
            "cwd": str(root),
            "session_id": "limit-sessions",
            "name": "Limit the sessions",
            "agent_name": AGENTS[0],
        },
        DEADLINE_S,
    )
    session = str(made["session_id"])
    for name, items in {
        "files": [str(root / "README.md"), str(root / "pyproject.toml")],
        "endpoints": ["http://localhost:8080/health"],
        "ports": ["8080", "5672"],
    }.items():
        params = {"session_id": session, "set_name": name, "items": items}
        try:
            client.call("SetRelevantContext", params, DEADLINE_S)
        except RpcError as error:  # a project without these files
            print(f"set {name}: {error}")
    client.call("AddSessionItem", {"session_id": session, "type": "rule", "name": "style-1"}, DEADLINE_S)
    return session
