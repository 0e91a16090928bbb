"""The Neovim plugin, in a real headless Neovim, tells the daemon of buffers and shows what it answers."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, DaemonProcess, need_tool

PLUGIN = Path(__file__).resolve().parents[2] / "hooks" / "editors" / "neovim"

PRELUDE = """
local said = {}
vim.notify = function(text, level) table.insert(said, { text = text, level = level }) end
local client = require("foveal.client")
local root = vim.env.FOVEAL_TEST_ROOT
local function answer(value) io.stdout:write(vim.json.encode(value)) end
local function until_true(condition)
  assert(vim.wait(tonumber(vim.env.FOVEAL_TEST_MS), condition, 5), "it never came")
end
local function ask(method, params)
  local problem, result, done
  client.request(method, params, function(failed, value) problem, result, done = failed, value, true end)
  assert(not done, "the callback comes later")
  until_true(function() return done end)
  return result, problem
end
local function context(path)
  return ask("GetContext", { cwd = root, focus_paths = { path } }).context
end
local function scratch()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].filetype == "markdown" and vim.bo[buffer].buftype == "nofile" then
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\\n")
    end
  end
end
local function follow(condition)
  until_true(function() return condition() or #said > 0 end)
end
"""


Run = Callable[..., Any]


@pytest.fixture
def neovim(shared_daemon: DaemonProcess, ready: Path) -> Run:
    """Give what runs Lua in a project that is indexed."""
    return partial(run_neovim, shared_daemon, ready)


def run_neovim(daemon: DaemonProcess, root: Path, lua: str, *, options: str = "{}") -> Any:
    """Run Lua in a Neovim with the plugin and nothing else; return what it passed to `answer`."""
    nvim = need_tool("nvim")
    script = root.parent / "script.lua"
    script.write_text(PRELUDE + lua)
    result = subprocess.run(
        [
            nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n",
            "--cmd", f"set runtimepath^={PLUGIN}",
            "--cmd", f"lua vim.g.foveal = {options}",
            "-c", "runtime plugin/foveal.lua",
            "-c", f"luafile {script}", "-c", "qall!",
        ],
        env={
            **daemon.environ,
            "FOVEAL_TEST_ROOT": str(root),
            "FOVEAL_TEST_MS": str(int(DEADLINE_S * 1000)),
        },
        cwd=root,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=True,
    )  # fmt: skip
    assert not result.stderr, result.stderr
    return json.loads(result.stdout)


def test_neovim_buffer_events_reach_the_daemon(neovim: Run, shared_daemon: DaemonProcess, shop: Path) -> None:
    reply = neovim(
        """
        vim.cmd("edit web/app.ts")
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { "// typed, and not saved" })
        vim.cmd("doautocmd TextChanged")
        local seen = {}
        until_true(function() seen.typed = context("web/app.ts") return seen.typed:find("not saved", 1, true) end)
        vim.cmd("silent undo")
        vim.cmd("doautocmd TextChanged")
        until_true(function() seen.undone = context("web/app.ts") return not seen.undone:find("not saved", 1, true) end)
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { "// typed again" })
        vim.cmd("doautocmd TextChanged")
        vim.cmd("silent write")
        seen.saved = context("web/app.ts")
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { "// a third time" })
        vim.cmd("doautocmd TextChanged")
        require("foveal.report").flush()
        seen.third = context("web/app.ts")
        vim.cmd("bwipeout!")
        seen.closed = context("web/app.ts")
        vim.cmd("edit web/app.ts")
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { "// left behind" })
        vim.cmd("doautocmd TextChanged")
        require("foveal.report").flush()
        seen.left = context("web/app.ts")
        answer(seen)
        """,
        options="{ unsaved_delay_ms = 1 }",
    )
    assert "```typescript\n// typed, and not saved\n```" in reply["typed"]
    assert "export function main" in reply["undone"]
    assert "```typescript\n// typed again\n```" in reply["saved"]
    assert "// a third time" in reply["third"]
    assert "```typescript\n// typed again\n```" in reply["closed"]
    assert "// left behind" in reply["left"]
    deadline = time.monotonic() + DEADLINE_S
    path = {"cwd": str(shop), "focus_paths": ["web/app.ts"]}
    while "left behind" in shared_daemon.call("GetContext", **path)["context"]:
        assert time.monotonic() < deadline, "leaving Neovim takes the text back"


def test_the_commands_show_a_context_and_fill_the_quickfix_list(neovim: Run, shop: Path) -> None:
    reply = neovim(
        """
        vim.cmd("edit src/shop/auth.py")
        vim.cmd("FovealContext how does a session end?")
        follow(scratch)
        local shown, modifiable = scratch(), vim.bo.modifiable
        vim.cmd("wincmd p")
        vim.cmd("FovealQuery where is expire defined")
        follow(function() return #vim.fn.getqflist() > 0 end)
        local window = vim.bo.buftype
        vim.cmd("cfirst")
        answer({
          shown = shown, modifiable = modifiable, said = said, window = window,
          list = vim.fn.getqflist(), file = vim.fn.expand("%:p"), line = vim.fn.line("."),
        })
        """,
    )
    assert reply["said"] == []
    assert "def login(user: str) -> Session:" in reply["shown"]
    assert reply["modifiable"] is False
    assert reply["window"] == "quickfix"
    assert [one["text"] for one in reply["list"]] == ["def expire(session: Session) -> None:"]
    assert (reply["file"], reply["line"]) == (str(shop / "src/shop/sessions.py"), 16)


def test_request_starts_the_daemon_and_survives_a_restart(
    daemon: DaemonProcess, shop: Path, program: Path
) -> None:
    reply = run_neovim(
        daemon,
        shop,
        """
        local first = ask("Ping", {})
        vim.loop.kill(first.pid, "sigkill")
        until_true(function() return not client.is_connected() end)
        local second, problem = ask("Ping", {})
        answer({ first = first.pid, second = second and second.pid, problem = problem })
        """,
        options=f"{{ command = [[{program}]] }}",
    )
    assert reply.get("problem") is None
    assert reply["first"] != reply["second"] == daemon.pid


def test_docs_name_options_and_commands(neovim: Run) -> None:
    names = neovim(
        """
        local names = vim.tbl_keys(require("foveal").defaults)
        vim.list_extend(names, vim.tbl_keys(vim.api.nvim_get_commands({})))
        answer(names)
        """,
    )
    assert {"FovealContext", "FovealQuery", "unsaved_delay_ms"} <= set(names)
    page = (PLUGIN.parents[2] / "docs" / "editors.md").read_text()
    assert all(name in page for name in names)
