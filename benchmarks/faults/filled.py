"""A state folder with a file of every kind in it, made by a real daemon in real use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from .home import DEADLINE_S, Home

SESSION = "kept-session"
SESSION_FILES = ("/srv/shop/kept.py", "/srv/shop/too.py")
DECISION = "Sessions end by their own clock"
ITEM = "house-style"


def fill(user: Home) -> None:
    """Use a daemon until its state has every kind of file: of a project, sessions, items, experiences,
    requests, trust and approvals."""
    cwd = str(user.project)
    user.open_ready()
    with user.client() as client:

        def call(method: str, **params: Any) -> Any:
            return client.call(method, params, DEADLINE_S)

        call("CreateSession", cwd=cwd, session_id=SESSION, name="kept")
        call("SetRelevantContext", session_id=SESSION, set_name="files", items=list(SESSION_FILES))
        call("PutItem", cwd=cwd, item={"type": "rule", "name": ITEM, "text": "Write short sentences.",
             "include": "always"})  # fmt: skip
        call("SetToolMode", cwd=cwd, server_name="search", include="manual")
        call("GraftExperience", cwd=cwd, experience={
            "decision": DECISION, "agent_id": "a", "session_id": SESSION, "rationale": "It was asked for.",
            "files_touched": ["shop/sessions.py"],
        })  # fmt: skip
        trust = [
            {"path": file["path"], "digest": file["digest"]} for file in call("GetTrust", cwd=cwd)["files"]
        ]
        call("Trust", cwd=cwd, files=trust)
        for file in call("ListToolServers", cwd=cwd, refresh=False)["files"]:
            if file["digest"]:
                call("ApproveToolServers", cwd=cwd, path=file["path"], digest=file["digest"],
                     section=file["section"])  # fmt: skip
        call("Query", cwd=cwd, query="how does a session end")
        for number in range(3):
            answer = call("GetContext", cwd=cwd, session_id=SESSION, prompt=f"How does login work? {number}",
                          focus_paths=["shop/auth.py"])  # fmt: skip
            call("ReportReply", session_id=SESSION, request_id=answer["request_id"], reply=f"I use {ITEM}")
        call("Query", cwd=cwd, query="what is a visit of a user")


def project_files() -> dict[str, str]:
    """Return files of a project beside its sources that need trust and approval."""
    servers = {"mcpServers": {"search": {"command": "/bin/false", "args": []}}}
    return {
        "foveal.toml": "[context]\nmax_tokens = 9000\n",
        ".mcp.json": json.dumps(servers),
    }


def snapshot(user: Home, target: Path) -> None:
    """Copy state, config and the project's own files as they lie on the disk, without sockets."""
    shutil.rmtree(target, ignore_errors=True)
    for name in ("state", "config", "project"):
        shutil.copytree(user.folder / name, target / name, symlinks=True, ignore=_no_sockets)


def restore(user: Home, source: Path) -> None:
    """Put a snapshot in the place of what is there."""
    for name in ("state", "config", "project"):
        shutil.rmtree(user.folder / name, ignore_errors=True)
        shutil.copytree(source / name, user.folder / name, symlinks=True)


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]
