"""A project's pool in its repository takes effect once a person trusted its file, and not after a change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.errors import RpcError


def decide(daemon: Any, root: Path, text: str) -> None:
    experience = {"decision": text, "agent_id": "a", "session_id": "s"}
    assert daemon.call("GraftExperience", cwd=str(root), experience=experience)["grafted"] == 1


def decisions(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [json.loads(line)["decision"] for line in path.read_text().splitlines()]


def trust(daemon: Any, root: Path) -> dict[str, Any]:
    files = daemon.call("GetTrust", cwd=str(root))["files"]
    wanted = [{"path": file["path"], "digest": file["digest"]} for file in files if not file["trusted"]]
    found: dict[str, Any] = daemon.call("Trust", cwd=str(root), files=wanted)
    return found


def test_a_shared_pool_needs_trust_and_a_change_needs_it_again(shared_daemon: Any, tmp_path: Path) -> None:
    root = tmp_path / "kite"
    (root / ".git").mkdir(parents=True)
    settings = root / "foveal.toml"
    settings.write_text("[experience]\npath = 'team.jsonl'\n")
    decide(shared_daemon, root, "Kept private")
    assert decisions(root / "team.jsonl") == []
    assert trust(shared_daemon, root)["trusted"] == ["foveal.toml"]
    decide(shared_daemon, root, "Shared with the team")
    assert decisions(root / "team.jsonl") == ["Shared with the team"]
    settings.write_text("# changed\n[experience]\npath = 'team.jsonl'\n")
    shared_daemon.call("GetContext", cwd=str(root))
    decide(shared_daemon, root, "Private again")
    assert decisions(root / "team.jsonl") == ["Shared with the team"]
    assert trust(shared_daemon, root)["trusted"] == ["foveal.toml"]
    decide(shared_daemon, root, "Shared again")
    assert shared_daemon.call("RevokeTrust", cwd=str(root))["revoked"] == 1
    decide(shared_daemon, root, "Private in the end")
    assert decisions(root / "team.jsonl") == ["Shared with the team", "Shared again"]


def test_what_nobody_saw_is_not_trusted(shared_daemon: Any, tmp_path: Path) -> None:
    root = tmp_path / "kite"
    (root / ".git").mkdir(parents=True)
    (root / "foveal.toml").write_text("[experience]\npath = 'team.jsonl'\n")
    with pytest.raises(RpcError, match="changed since it was shown"):
        shared_daemon.call("Trust", cwd=str(root), files=[{"path": "foveal.toml", "digest": "0" * 64}])
    with pytest.raises(RpcError, match="no file of"):
        shared_daemon.call("Trust", cwd=str(root), files=[{"path": "/etc/passwd", "digest": "0" * 64}])
    with pytest.raises(RpcError, match="nothing of"):
        shared_daemon.call("RevokeTrust", cwd=str(root))
