"""A file of a newer version in a folder of this one is told, left as it is byte for byte, and used again later.

Each file that holds more than can be derived is marked newer by one, as a later version marks its own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.faults.filled import DECISION, ITEM, SESSION, fill, project_files
from foveal.benchmarks.faults.home import PROJECT, Home, home
from foveal.daemon.app.state_check import layout_of_state
from foveal.ipc.errors import RpcError

DATABASES = ("deliveries.sqlite", "scopes.sqlite", "metrics.sqlite")
JSON = ("trusted.json", "approvals.json", "dashboard.json", "sessions/*/meta.json", "projects/*/items.json")  # fmt: skip
POOL = "projects/*/experiences.jsonl"


@pytest.fixture
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home(tmp_path_factory.mktemp("h"), files={**PROJECT, **project_files()}) as made:
        fill(made)
        made.call("OpenDashboard")
        made.end()
        yield made


def files_of(user: Home) -> list[Path]:
    found = [path for pattern in (*DATABASES, *JSON) for path in user.state.glob(pattern)]
    assert len(found) == len(DATABASES) + len(JSON)
    return found


def mark(path: Path, by: int) -> None:
    """Add to the version in a file."""
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "version": content["version"] + by}))
        return
    with closing(sqlite3.connect(path)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {version + by}")


def said(user: Home, method: str, **params: Any) -> str:
    """Return what a request answers, or its error."""
    try:
        return json.dumps(user.call(method, **params))
    except RpcError as error:
        return str(error)


def use(user: Home) -> str:
    """Do what would write each of the files; return all that was said of them."""
    cwd = str(user.project)
    user.open_ready()
    answers = [
        said(user, "GetContext", cwd=cwd, session_id=SESSION, prompt="How does login work?", focus_paths=["shop/auth.py"]),
        said(user, "UpdateSession", session_id=SESSION, name="other"),
        said(user, "CreateSession", cwd=cwd, session_id=SESSION),
        said(user, "PutItem", cwd=cwd, item={"type": "rule", "name": "n", "text": "t", "include": "always"}),
        said(user, "ListItems", cwd=cwd),
        said(user, "GetTrust", cwd=cwd),
        said(user, "RevokeTrust", cwd=cwd),
        said(user, "ListToolServers", cwd=cwd, refresh=False),
        said(user, "RevokeToolServers", path=str(user.project / ".mcp.json")),
        said(user, "ListRequests", session_id=SESSION),
        said(user, "GetTimeline", session_id=SESSION),
        said(user, "ListSessions", cwd=cwd),
        said(user, "OpenDashboard"),
        said(user, "Status", cwd=cwd),
    ]  # fmt: skip
    user.end()
    return "\n".join([*answers, user.log()])


def test_newer_files_are_told_left_alone_and_taken_back(user: Home) -> None:
    files = files_of(user)
    (pool,) = user.state.glob(POOL)
    for path in files:
        mark(path, 1)
    before = {path: path.read_bytes() for path in files}
    newer = json.dumps({"version": 2, "decision": "in a later form"}).encode() + b"\n"
    pool.write_bytes(pool.read_bytes() + newer)
    lines = pool.read_bytes()

    text = use(user)
    for path in files:
        assert f"{path}" in text, path
        assert path.read_bytes() == before[path], path
    assert text.count("made by a newer foveal") >= len(files)
    assert pool.read_bytes() == lines
    assert list(user.state.rglob("*.damaged-*")) == []
    assert list(user.state.rglob("*.quarantine")) == []

    for path in files:
        mark(path, -1)
    cwd = str(user.project)
    user.open_ready()
    requests = user.call("ListRequests", session_id=SESSION)["requests"]
    assert len(requests) == 3
    assert len(user.call("GetTimeline", session_id=SESSION)["entries"]) >= 1
    (session,) = user.call("ListSessions", cwd=cwd)["sessions"]
    assert (session["session_id"], session["name"]) == (SESSION, "kept")
    assert [one["decision"] for one in user.call("ListExperiences", cwd=cwd)["experiences"]] == [DECISION]
    assert ITEM in said(user, "ListItems", cwd=cwd)
    assert [file["trusted"] for file in user.call("GetTrust", cwd=cwd)["files"]] == [True]
    assert [file["approved"] for file in user.call("ListToolServers", cwd=cwd, refresh=False)["files"]] == [
        True
    ]


def test_every_kind_of_file_is_marked_above_or_is_the_folders_own() -> None:
    """`version.json` is in `test_versions.py`; project.json says only whose folder it is; transcripts.db holds
    positions, and needs a transcript; feedback.json is not read any more."""
    others = {"version.json", "projects/*/project.json", "projects/*/transcripts.db",
              "projects/*/experiences.*.jsonl", "projects/*/feedback.json"}  # fmt: skip
    assert set(layout_of_state()) == {*DATABASES, *JSON, POOL, *others}
