"""A real daemon grafts a transcript, answers others meanwhile, and leaves no process behind."""

from __future__ import annotations

import json
from pathlib import Path

import psutil

from tests.conftest import DaemonProcess
from tests.transcript_cases import Claude, append, write

DECISION = "I decided to use SQLite instead of a JSON file because concurrent writers must not interleave."


def conversation(root: str, path: Path, *, results: int = 0) -> tuple[str, Claude]:
    """Write a conversation with one decision, after so many results of 50 KB."""
    chat = Claude(cwd=root)
    edited = {"file_path": f"{root}/app.py", "old_string": "1", "new_string": "2"}
    write(path, [chat.user("Store the sessions")])
    with path.open("a") as file:
        for number in range(results):
            file.write(json.dumps(chat.result("x " * 25_000, f"r{number}")) + "\n")
    append(str(path), chat.call("Edit", edited), chat.result("ok"), chat.text(DECISION))
    return str(path), chat


def test_a_transcript_is_grafted_once(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    path, chat = conversation(str(root.resolve()), tmp_path / "t.jsonl")
    reply = shared_daemon.call("GraftExperience", cwd=str(root), transcript_path=path, agent_id="coder")
    assert (reply["grafted"], reply["duplicates"], reply["skipped"]) == (1, 0, [])
    (one,) = shared_daemon.call("ListExperiences", cwd=str(root))["experiences"]
    assert one["experience_id"] == reply["experience_ids"][0]
    assert (one["agent_id"], one["session_id"], one["files_touched"]) == ("coder", "s1", ["app.py"])
    assert one["provenance"]["reference"] == f"{path}:4"
    assert shared_daemon.call("GraftExperience", cwd=str(root), transcript_path=path)["grafted"] == 0
    append(path, chat.text("Done."))
    assert (
        shared_daemon.call("GraftExperience", cwd=str(root), transcript_path=path, agent_id="coder")[
            "grafted"
        ]
        == 0
    )


def test_a_long_transcript_leaves_no_process_behind(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    path, _ = conversation(str(root.resolve()), tmp_path / "t.jsonl", results=200)
    assert shared_daemon.call("GraftExperience", cwd=str(root), transcript_path=path)["grafted"] == 1
    commands = [
        " ".join(child.cmdline()) for child in psutil.Process(shared_daemon.pid).children(recursive=True)
    ]
    assert not [command for command in commands if "miner" in command]
