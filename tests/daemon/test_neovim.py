"""A real headless Neovim talks to the daemon as it stands: its own RPC client is all that it needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import DEADLINE_S, DaemonProcess, need_tool

PRELUDE = """
local channel = vim.fn.sockconnect("pipe", vim.env.FOVEAL_TEST_SOCKET, { rpc = true })
assert(channel > 0, "no connection")
local root = vim.env.FOVEAL_TEST_ROOT
local function request(method, params) return vim.rpcrequest(channel, method, params) end
local function answer(value) io.stdout:write(vim.json.encode(value)) end
"""


def run_neovim(daemon: DaemonProcess, root: Path, lua: str) -> Any:
    """Run Lua in a Neovim without configuration; return what it passed to `answer`."""
    nvim = need_tool("nvim")
    daemon.call("Ping")
    script = root.parent / "script.lua"
    script.write_text(PRELUDE + lua)
    result = subprocess.run(
        [nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}", "-c", "qall!"],
        env={**daemon.environ, "FOVEAL_TEST_SOCKET": daemon.socket, "FOVEAL_TEST_ROOT": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert not result.stderr, result.stderr
    return json.loads(result.stdout)


def test_neovim_gets_a_context(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    reply = run_neovim(
        shared_daemon,
        shop,
        """
        local first = vim.fn.rpcrequest(channel, "GetContext", {
          cwd = vim.fn.getcwd(), focus_paths = { "src/shop/auth.py" }, constraints = {}, max_tokens = 4000,
        })
        local second = request("GetContext", { scope_id = first.scope_id, focus_paths = nil })
        answer({ first = first, second = second, ping = vim.fn.rpcrequest(channel, "Ping") })
        """,
    )
    direct = shared_daemon.call(
        "GetContext", cwd=str(shop), focus_paths=["src/shop/auth.py"], constraints=[], max_tokens=4000
    )
    assert "def login(user: str) -> Session:" in reply["first"]["context"]
    assert reply["first"]["context"] == direct["context"]
    assert reply["first"]["scope_id"] == direct["scope_id"] == reply["second"]["scope_id"]
    assert direct["cached"], "Neovim and this client meet in one scope"
    assert reply["ping"]["pid"] == shared_daemon.pid
