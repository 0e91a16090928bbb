"""An approval of tool servers holds until a program or a script that they name changes, and says which did."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, running_daemon, write_files
from tests.server_cases import RAW_SERVER


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of programs that is on the daemon's PATH."""
    return tmp_path_factory.mktemp("bin")


@pytest.fixture(scope="module")
def user(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon with the folder of programs on its PATH."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with running_daemon(tmp_path_factory.mktemp("d"), {"PATH": path}) as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", {"a.py": "x = 1\n", "server.py": RAW_SERVER}).resolve()


def configure(shop: Path, *servers: dict[str, Any]) -> None:
    named = {f"s{number}": server for number, server in enumerate(servers)}
    write_files(shop, {".mcp.json": json.dumps({"mcpServers": named})})


def listed(user: DaemonProcess, shop: Path) -> dict[str, Any]:
    (file,) = user.call("ListToolServers", cwd=str(shop))["files"]
    assert isinstance(file, dict)
    return file


def approve(user: DaemonProcess, shop: Path) -> None:
    file = listed(user, shop)
    fields = {name: file[name] for name in ("path", "section", "digest")}
    assert user.call("ApproveToolServers", cwd=str(shop), **fields) == {"approved": 1}


def tools(user: DaemonProcess, shop: Path) -> list[str]:
    """Return the tools among the items of the project, as an agent gets them."""
    return [item["name"] for item in user.call("ListItems", cwd=str(shop))["items"] if item["type"] == "tool"]


def test_changed_script_is_neither_run_nor_offered_before_a_new_approval(
    user: DaemonProcess, shop: Path, tmp_path: Path
) -> None:
    script = shop / "server.py"
    ran = tmp_path / "ran"
    configure(shop, {"command": sys.executable, "args": ["server.py", "pages", f"--log={shop}/calls.log"]})
    (shop / "calls.log").write_text("1\n")
    approve(user, shop)
    file = listed(user, shop)
    assert [one["path"] for one in file["programs"]] == sorted([sys.executable, str(script)])
    known = tools(user, shop)
    assert known
    (shop / "calls.log").write_text("1\n2\n")
    assert listed(user, shop)["approved"], "a log that the server writes decides nothing"
    script.write_text(f"open({str(ran)!r}, 'w')\n{RAW_SERVER}")
    assert tools(user, shop) == []
    changed = user.call("ListToolServers", cwd=str(shop), again=True)["files"][0]
    assert not changed["approved"]
    assert changed["servers"][0]["left_out"] == (
        f"{script} changed since it was approved: look at it and approve it again"
    )
    assert not ran.exists()
    stale = {name: file[name] for name in ("path", "section", "digest")}
    assert "has changed since it was listed" in str(user.error("ApproveToolServers", cwd=str(shop), **stale))
    script.write_text(RAW_SERVER)
    assert listed(user, shop)["approved"], "it is as it was approved"
    assert tools(user, shop) == known
    script.write_text(f"open({str(ran)!r}, 'w')\n{RAW_SERVER}")
    approve(user, shop)
    user.call("ListToolServers", cwd=str(shop), again=True)
    assert ran.exists()


def test_program_found_on_the_path_counts(user: DaemonProcess, shop: Path, programs: Path) -> None:
    program = programs / "shop-tools"
    configure(shop, {"command": "shop-tools"})
    approve(user, shop)
    assert listed(user, shop)["servers"][0]["problem"], "there is no such program"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {shop}/server.py pages\n")
    program.chmod(0o755)
    found = listed(user, shop)
    assert not found["approved"]
    assert str(program) in found["servers"][0]["left_out"]
    approve(user, shop)
    user.call("ListToolServers", cwd=str(shop), again=True)
    assert tools(user, shop)
    program.write_text("#!/bin/sh\nexit 1\n")
    assert f"{program} changed" in listed(user, shop)["servers"][0]["left_out"]


def test_what_an_approval_cannot_cover_is_said(user: DaemonProcess, shop: Path) -> None:
    cases: tuple[tuple[str, list[str], str], ...] = (
        ("npx", ["-y", "@scope/server"], "registry"),
        ("sh", ["-c", "run it"], "its command line starts"),
        (sys.executable, ["server.py"], ""),
        (sys.executable, ["-X", "dev", "./server.py", "-m", "fast"], ""),
        (sys.executable, ["-m", "server", "server.py"], "the code that it loads"),
        (sys.executable, ["."], "the code that it loads"),
    )
    configure(shop, *({"command": command, "args": arguments} for command, arguments, _ in cases))
    (file,) = user.call("ListToolServers", cwd=str(shop), refresh=False)["files"]
    for server, (command, arguments, said) in zip(file["servers"], cases, strict=True):
        remark = server.get("remark", "")
        assert said in remark, (command, arguments)
        assert bool(said) == bool(remark), (command, arguments)
