"""Another process gives the same bytes for the same state, whatever the order of its sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import SMALL_PROJECT, git, running_daemon, write_files

SEEDS = ("1", "2", "3")

ASKED: tuple[dict[str, Any], ...] = (
    {"focus_paths": ["src/shop/auth.py", "src/shop/sessions.py", "web/app.ts"]},
    {"focus_paths": ["src/shop"], "prompt": "how does a session end after a login?"},
    {"prompt": "where are prices added up, and who calls login?", "format": "json"},
    {"prompt": "what does checkout do?", "format": "messages", "session_id": "s"},
)


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop", SMALL_PROJECT)
    rules = {f".claude/rules/{name}.md": f"Rule of {name}.\n" for name in ("api", "db", "log", "ui", "web")}
    git(write_files(root, dict(rules)), "init", "-q")
    with running_daemon(tmp_path) as daemon:
        daemon.open_ready(root)
    answers = []
    for seed in SEEDS:
        with running_daemon(tmp_path, {"PYTHONHASHSEED": seed}) as daemon:
            daemon.open_ready(root)
            replies = [daemon.call("GetContext", cwd=str(root), **asked) for asked in ASKED]
        answers.append([(reply["context"], reply["slices"], reply.get("messages")) for reply in replies])
    assert all(context for context, _, _ in answers[0])
    assert answers == [answers[0]] * len(SEEDS)
