"""Past contexts outlast the daemon, and a project can be forgotten: on real projects, by a real daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from foveal.benchmarks.faults.recording import calls_in, strace_command
from foveal.daemon.project.service import project_folder
from foveal.ipc import errors as codes
from foveal.ipc.paths import read_daemon_info

from tests.conftest import SMALL_PROJECT, DaemonProcess, need_tool, running_daemon, write_files
from tests.search_cases import until

SECRET = "ghp_" + "Zk3vQ9xLw2RtYb7NmPc5HdJfSgUaEo8iT1Xq"


def listed(daemon: DaemonProcess, **fields: Any) -> list[str]:
    return [one["context_id"] for one in daemon.call("ListContexts", **fields)["contexts"]]


def test_contexts_outlast_a_killed_daemon(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    session = daemon.call("CreateSession", cwd=str(shop))["session_id"]
    ask: dict[str, Any] = {"cwd": str(shop), "focus_paths": ["src/shop/auth.py"]}
    fields = {"prompt": f"how does login end? {SECRET}", "format": "messages"}
    first = daemon.call("GetContext", **ask, **fields, session_id=session, agent_name="sam")
    second = daemon.call("GetContext", **ask, prompt="what is sold?")
    daemon.call("GetContext", **ask, prompt="what is sold?")
    before = [daemon.call("GetBuiltContext", context_id=one["context_id"]) for one in (first, second)]
    daemon.stop(signal.SIGKILL)
    assert listed(daemon, cwd=str(shop)) == [second["context_id"], first["context_id"]]
    after = [daemon.call("GetBuiltContext", context_id=one["context_id"]) for one in (first, second)]
    assert after == before
    assert (after[0]["context"], after[1]["times"]) == (first["context"], 2)
    assert after[0]["prompt"] == "how does login end? [masked]32+"
    assert SECRET not in str(after)
    why = daemon.call("ExplainPath", context_id=first["context_id"], path="src/shop/auth.py")
    assert why["reasons"][0].startswith("it is shown as focus: asked for")
    third = daemon.call("GetContext", **ask, prompt="what is sold?", max_tokens=9_000)
    [entry, *_] = daemon.call("ListContexts", scope_id=second["scope_id"])["contexts"]
    assert (entry["context_id"], entry["previous"]) == (third["context_id"], second["context_id"])
    assert listed(daemon, agent="sam") == [first["context_id"]]
    assert first["context_id"] in listed(daemon, path="src/shop/auth.py", cwd=str(shop))
    assert listed(daemon, path=str(shop / "src/shop/none.py"), cwd=str(shop)) == []
    assert listed(daemon, until=before[1]["at"], cwd=str(shop)) == [first["context_id"]]
    error = daemon.error("ListContexts", since="yesterday")
    assert (error.code, error.data) == (codes.INVALID_PARAMS, {"field": "since"})


def filled(daemon: DaemonProcess, root: Path) -> dict[str, Any]:
    """Give a project something of everything; return what the lists have of it."""
    write_files(root, {**SMALL_PROJECT, "foveal.toml": "[context]\nmax_tokens = 7000\n"})
    daemon.open_ready(root)
    cwd = str(root)
    session = daemon.call("CreateSession", cwd=cwd)["session_id"]
    daemon.call(
        "PutItem", cwd=cwd, item={"type": "rule", "name": "kind", "include": "manual", "text": "Be kind."}
    )
    decision = {
        "decision": f"Chose {root.name} as its name",
        "agent_id": "claude",
        "session_id": f"s-{root.name}",
    }
    daemon.call("GraftExperience", cwd=cwd, experience=decision)
    context = daemon.call("GetContext", cwd=cwd, session_id=session, prompt=f"how does {root.name} log in?")
    reply = {"session_id": session, "request_id": context["request_id"], "reply": "see src/shop/auth.py"}
    daemon.call("ReportReply", **reply)
    files = [
        {"path": one["path"], "digest": one["digest"]} for one in daemon.call("GetTrust", cwd=cwd)["files"]
    ]
    daemon.call("Trust", cwd=cwd, files=files)
    return known(daemon, root) | {"session": session, "context_id": context["context_id"]}


def known(daemon: DaemonProcess, root: Path) -> dict[str, Any]:
    cwd = str(root)
    return {
        "sessions": daemon.call("ListSessions", cwd=cwd)["sessions"],
        "contexts": listed(daemon, cwd=cwd),
        "requests": len(daemon.call("ExportRequests", cwd=cwd)["requests"]),
        "items": [one for one in daemon.call("ListItems", cwd=cwd)["items"] if one["name"] == "kind"],
        "decisions": daemon.call("ListExperiences", cwd=cwd)["total"],
        "trusted": [one["trusted"] for one in daemon.call("GetTrust", cwd=cwd)["files"]],
        "scopes": daemon.call("ListScopes", cwd=cwd)["scopes"],
    }


def test_a_project_is_forgotten_and_no_other(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    daemon = shared_daemon
    root, other = tmp_path.resolve() / "gone", tmp_path.resolve() / "stays"
    before, kept = filled(daemon, root), filled(daemon, other)
    counted = daemon.call("ForgetProject", path=str(root), dry_run=True)
    removed = counted["removed"]
    assert {name: removed[name] for name in ("contexts", "requests", "sessions", "scopes", "trusted")} == {
        "contexts": 1, "requests": 1, "sessions": 1, "scopes": 1, "trusted": 1,
    }  # fmt: skip
    assert (removed["items"], removed["decisions"], counted["root"]) == (1, 1, str(root))
    assert removed["index_bytes"] > 10_000
    assert known(daemon, root) == {name: before[name] for name in known(daemon, root)}, "only counted"
    found = daemon.call("ForgetProject", path=str(root))
    told = found["removed"]
    assert told | {"index_bytes": 0} == removed | {"index_bytes": 0, "embeddings": told["embeddings"]}
    assert found["problem"] == ""
    assert not Path(project_folder(str(daemon.state), str(root))).exists()
    assert str(root) not in str(daemon.call("ListProjects"))
    for path in daemon.state.rglob("*"):
        if path.is_file() and path.name != "foveal.log":
            data = path.read_bytes()
            assert b"Chose gone" not in data, path
            assert b"how does gone log in" not in data, path
    assert daemon.error("GetBuiltContext", context_id=before["context_id"]).code == codes.NOT_FOUND
    error = daemon.error("ForgetProject", path=str(root))
    assert error.code == codes.NOT_FOUND
    assert f"nothing is known of {root}" in str(error)
    assert known(daemon, other) == {name: kept[name] for name in known(daemon, other)}
    empty = known(daemon, root)
    assert not any(value for name, value in empty.items() if name != "trusted")
    assert empty["trusted"] == [False]
    shutil.rmtree(root)
    assert daemon.call("ForgetProject", path=str(root))["removed"]["sessions"] == 0, "its folder is gone too"


WORD = "zirkonium"


def traces(state: Path, *words: str) -> list[str]:
    """Return the files below a state folder that hold one of some words. The logs do until they are rotated,
    as the documents say."""
    contents: dict[str, list[bytes]] = {}
    for path in state.rglob("*"):
        with suppress(FileNotFoundError):  # a file that was about to get its name
            if path.is_file() and not path.name.endswith(".log"):
                contents.setdefault(path.name, []).append(path.read_bytes())
    assert len(contents) > 5
    return [
        name
        for name, several in contents.items()
        for data in several
        if any(word.encode() in data for word in words)
    ]


def hook(daemon: DaemonProcess, cwd: Path, event: str, transcript: Path, **fields: Any) -> None:
    payload = {
        "session_id": "talk",
        "transcript_path": str(transcript),
        "cwd": str(cwd),
        "hook_event_name": event,
    }
    daemon.call("HookEvent", host="claude-code", event=event, cwd=str(cwd), payload=payload | fields)


def decide(cwd: Path, transcript: Path) -> None:
    """Write a transcript of Claude Code in which an agent decides something."""
    said = (
        f"I decided to use {WORD} instead of iron for the melt in src/shop/auth.py because it resists heat."
    )
    shared = {"sessionId": "talk", "cwd": str(cwd), "timestamp": "2026-01-24T10:00:00Z"}
    lines = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "What melts?"}},
        {"type": "assistant", "uuid": "2",
         "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}},
    ]  # fmt: skip
    transcript.write_text("".join(json.dumps(line | shared) + "\n" for line in lines))


def test_no_file_holds_a_word_of_a_forgotten_project(daemon: DaemonProcess, tmp_path: Path) -> None:
    root, other = tmp_path.resolve() / "gone", tmp_path.resolve() / "stays"
    filled(daemon, other)
    servers = {"mcpServers": {"search": {"command": "/bin/false"}}}
    write_files(root, {f"src/{WORD}.py": f"def {WORD}():\n    pass\n", ".mcp.json": json.dumps(servers)})
    filled(daemon, root)
    [file] = daemon.call("ListToolServers", cwd=str(root), refresh=False)["files"]
    daemon.call("ApproveToolServers", cwd=str(root), path=file["path"], digest=file["digest"])
    # Enough for pages that are divided and rewritten; s1 is a session of the other project.
    for number in range(40):
        prompt = f"what does {WORD} {number} do? " + "and why? " * number
        daemon.call(
            "GetContext",
            cwd=str(root),
            session_id=f"s{number}",
            prompt=prompt,
            focus_paths=[f"src/{WORD}.py"],
        )
    hook(daemon, root, "UserPromptSubmit", tmp_path / "t.jsonl", prompt=f"Tell of {WORD}")
    daemon.call("GetTimeline", session_id="talk")
    assert {"approvals.json", "project.json", "deliveries.sqlite-wal"} <= set(
        traces(daemon.state, str(root), WORD)
    )
    assert daemon.call("ForgetProject", path=str(root))["problem"] == ""
    assert traces(daemon.state, str(root), WORD) == []
    daemon.stop()
    assert traces(daemon.state, str(root), WORD) == []
    assert len(listed(daemon, cwd=str(other))) == 1


def test_forgetting_writes_no_file_outside_the_state_folder(daemon: DaemonProcess, tmp_path: Path) -> None:
    need_tool("strace")
    root = tmp_path.resolve() / "gone"
    filled(daemon, root)
    daemon.stop()
    with closing(sqlite3.connect(daemon.state / "deliveries.sqlite")) as database, database:
        # More than SQLite rewrites in memory.
        database.execute("INSERT INTO contents VALUES (1000, 1, randomblob(20000000), x'')")
    output = tmp_path / "trace"
    program = [sys.executable, "-m", "foveal", "up", "--foreground"]
    with subprocess.Popen(strace_command(program, output, ["openat", "open"]), env=daemon.environ) as traced:
        until(lambda: read_daemon_info(str(daemon.state)) is not None, "it runs")
        assert daemon.call("ForgetProject", path=str(root))["problem"] == ""
        daemon.stop()
        traced.wait()
    files = [call.paths[-1] for call in calls_in(output) if "etilqs_" in call.paths[-1]]
    assert files, "SQLite needed a temporary file"
    assert {os.path.dirname(path) for path in files} == {str(daemon.state)}


def test_event_at_rest_brings_nothing_of_a_forgotten_project_back(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    root, other = tmp_path.resolve() / "gone", tmp_path.resolve() / "stays"
    spool = daemon.state / "hook-spool"
    for folder in (root, other):
        filled(daemon, folder)
        transcript = tmp_path / f"{folder.name}.jsonl"
        decide(folder, transcript)
        hook(daemon, folder, "Stop", transcript)
    assert len(list(spool.iterdir())) == 2
    daemon.call("ForgetProject", path=str(root))
    [left] = spool.iterdir()
    assert str(other).encode() in left.read_bytes()
    daemon.stop()

    def decisions(folder: Path) -> list[str]:
        found = daemon.call("ListExperiences", cwd=str(folder))["experiences"]
        return [one["decision"] for one in found if WORD in one["decision"]]

    until(lambda: len(decisions(other)) == 1, "the other project's conversation is grafted")
    assert decisions(root) == []


def test_what_can_be_removed_goes_although_one_file_cannot_be_opened(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = tmp_path.resolve() / "gone"
    filled(daemon, root)
    daemon.stop()
    with closing(sqlite3.connect(daemon.state / "deliveries.sqlite")) as database:
        database.execute("PRAGMA user_version = 99")
    counted = daemon.call("ForgetProject", path=str(root), dry_run=True)
    assert "timelines can't be counted" in counted["problem"]
    found = daemon.call("ForgetProject", path=str(root))
    assert "its contexts, requests and timelines could not be removed" in found["problem"]
    assert "newer foveal" in found["problem"]
    assert found["removed"]["sessions"] == 1
    assert {*traces(daemon.state, str(root), "Chose gone")} == {"deliveries.sqlite"}
    (daemon.state / "deliveries.sqlite.damaged-7").write_text(f"what was sent for {root}")
    assert "deliveries.sqlite.damaged-7" in daemon.call("ForgetProject", path=str(root))["problem"]


def test_forgetting_again_removes_what_a_full_disk_kept(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = tmp_path.resolve() / "gone"
    filled(daemon, root)
    daemon.call("ForgetProject", path=str(root))
    daemon.stop()
    # Rows are gone, but the file could not be rewritten.
    with closing(sqlite3.connect(daemon.state / "deliveries.sqlite")) as database:
        for statement in (
            "PRAGMA secure_delete = OFF",
            f"INSERT INTO access VALUES (7, '{WORD * 2_000}')",
            "DELETE FROM access",
        ):
            database.execute(statement)
            database.commit()
    assert traces(daemon.state, WORD) == ["deliveries.sqlite"]
    assert "nothing is known" in str(daemon.error("ForgetProject", path=str(root)))
    assert traces(daemon.state, WORD) == []


def test_embeddings_that_only_a_forgotten_project_used_go(tmp_path: Path) -> None:
    roots = [tmp_path.resolve() / name for name in ("gone", "stays")]
    for root in roots:
        own = f'def walk_{root.name}():\n    """Walk in {root.name}."""\n'
        write_files(root, {**SMALL_PROJECT, "own.py": own})
    with running_daemon(tmp_path / "d", embedding=True) as daemon:

        def is_embedded(root: Path) -> bool:
            daemon.call("OpenProject", path=str(root))
            [found] = daemon.call("Status", cwd=str(root))["projects"]
            return (found["state"], found["embedding"], found["pending"]) == ("ready", "done", 0)

        for root in roots:
            until(partial(is_embedded, root), f"{root} is embedded")
        found = daemon.call("ForgetProject", path=str(roots[0]))
        assert (found["removed"]["embeddings"], found["problem"]) == (1, "")
        assert is_embedded(roots[1])
        hits = daemon.call("Query", cwd=str(roots[1]), query="how do people go on foot?")["results"]
        assert any("vector" in hit["sources"] for hit in hits)


def test_a_path_that_no_project_can_have_is_refused(shared_daemon: DaemonProcess) -> None:
    for path in ("src", "", "/x\0y"):
        assert shared_daemon.error("ForgetProject", path=path).code == codes.INVALID_PARAMS
    assert shared_daemon.error("ForgetProject", path="/no/such/folder").code == codes.NOT_FOUND


def test_an_excluded_path_leaves_the_index_and_returns(shared_daemon: DaemonProcess, shop: Path) -> None:
    daemon = shared_daemon
    file = shop / ".fovealignore"
    file.write_bytes(b"# ours\r\n*.tmp")
    files = daemon.open_ready(shop)["files"]
    exclude: dict[str, Any] = {"cwd": str(shop)}
    found = daemon.call("ExcludePath", **exclude, path="src/shop", excluded=True)
    assert found == {
        "root": str(shop.resolve()), "path": "src/shop", "excluded": True, "line": "/src/shop/",
        "file": str(shop.resolve() / ".fovealignore"), "changed": True,
    }  # fmt: skip
    assert file.read_bytes() == b"# ours\r\n*.tmp\r\n/src/shop/\r\n"
    assert not daemon.call("ExcludePath", **exclude, path=f"{shop}/src/shop", excluded=True)["changed"]
    daemon.call("ReindexProject", path=str(shop))
    context = daemon.call("GetContext", cwd=str(shop), prompt="how does login end?", fresh="tree")
    assert "src/shop/auth.py" not in str(context["slices"])
    assert daemon.call("ExcludePath", **exclude, path="src/shop", excluded=False)["changed"]
    assert file.read_bytes() == b"# ours\r\n*.tmp\r\n"
    assert not daemon.call("ExcludePath", **exclude, path="src/shop", excluded=False)["changed"]
    context = daemon.call("GetContext", cwd=str(shop), prompt="how does login end?", fresh="tree")
    assert "src/shop/auth.py" in str(context["slices"])
    assert daemon.call("Status", cwd=str(shop))["projects"][0]["files"] == files
    for path in ("..", "/etc/passwd", str(shop), "a\nb"):
        assert daemon.error("ExcludePath", **exclude, path=path, excluded=True).code == codes.INVALID_PARAMS
