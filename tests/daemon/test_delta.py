"""With `delta` a conversation is sent what is new, and what it holds is named; a fresh window is sent all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import DaemonProcess, write_files

BODY = "".join(
    f"def function_{number}(value: int) -> int:\n    return value + {number}\n\n" for number in range(60)
)


def project(daemon: DaemonProcess, tmp_path: Path) -> str:
    root = write_files(
        tmp_path / "kite",
        {"a.py": BODY, "b.py": BODY.replace("function", "method"), ".git/HEAD": "ref: refs/heads/main\n"},
    )
    daemon.open_ready(root)
    return str(root)


def ask(daemon: DaemonProcess, root: str, **more: Any) -> dict[str, Any]:
    asked = {
        "cwd": root,
        "session_id": Path(root).parent.name,
        "agent_id": "a",
        "focus_paths": ["a.py", "b.py"],
    } | more
    found: dict[str, Any] = daemon.call("GetContext", **asked)
    return found


def test_what_is_held_is_named_and_what_changed_is_sent(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = project(shared_daemon, tmp_path)
    first = ask(shared_daemon, root, delta=True)
    assert "return value + 59" in first["context"]
    assert first["saved_tokens"] == 0
    assert first["resident_tokens"] > 1_000
    second = ask(shared_daemon, root, delta=True)
    assert "return value" not in second["context"]
    assert "- `a.py`: unchanged, as sent before" in second["context"]
    assert second["saved_tokens"] > 1_000
    assert second["resident_tokens"] == first["resident_tokens"]
    assert second["tokens"] < first["tokens"] / 4
    (Path(root) / "b.py").write_text(BODY.replace("function", "changed"))
    third = ask(shared_daemon, root, delta=True)
    assert "def changed_59" in third["context"]
    assert "- `a.py`: unchanged, as sent before" in third["context"]
    assert ask(shared_daemon, root, delta=True)["saved_tokens"] > third["saved_tokens"]


def test_without_delta_and_for_others_all_is_sent(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = project(shared_daemon, tmp_path)
    whole = ask(shared_daemon, root)
    assert "saved_tokens" not in whole
    assert "return value + 59" in ask(shared_daemon, root)["context"]
    assert "return value + 59" in ask(shared_daemon, root, agent_id="b", delta=True)["context"]
    assert "return value + 59" not in ask(shared_daemon, root, delta=True)["context"]


def test_a_resumed_conversation_is_sent_all(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = project(shared_daemon, tmp_path)
    shared_daemon.call("CreateSession", cwd=root, session_id=Path(root).parent.name)
    ask(shared_daemon, root, delta=True)
    assert "return value + 59" not in ask(shared_daemon, root, delta=True)["context"]
    shared_daemon.call("ResumeSession", session_id=Path(root).parent.name)
    assert "return value + 59" in ask(shared_daemon, root, delta=True)["context"]


def test_what_is_shown_in_part_is_named_too(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = project(shared_daemon, tmp_path)
    asked = {
        "session_id": "parts",
        "focus_paths": ["a.py"],
        "max_tokens": 1200,
        "delta": True,
    }
    first = ask(shared_daemon, root, **asked)
    assert any(one["compressed"] for one in first["slices"])
    second = ask(shared_daemon, root, **asked)
    assert second["tokens"] < first["tokens"] / 2
    assert second["saved_tokens"] > first["tokens"] / 2
    assert ask(shared_daemon, root, **asked)["context"] == second["context"]
