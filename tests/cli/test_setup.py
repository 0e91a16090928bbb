"""Setting foveal up for the agents of a machine and taking it out again, and the completion of shells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from foveal.cli import terminal
from foveal.hooks.install import plan
from foveal.hooks.install.errors import InstallError
from foveal.hooks.install.plan import Change
from foveal.ipc.paths import cache_folder

from tests.command_cases import CommandLine
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, need_tool, running_daemon, write_files
from tests.hook_cases import HOSTS
from tests.hook_install_cases import CLAUDE_LIKE, FLAT, SERVERS, TOML, text_of, tree, with_comments

SETTINGS = {
    ".claude/settings.json": with_comments(CLAUDE_LIKE),
    ".claude.json": text_of(SERVERS),
    ".codex/config.toml": TOML,
    ".cursor/hooks.json": text_of(FLAT).replace("\n", "\r\n"),
    ".cursor/mcp.json": "\ufeff" + text_of(SERVERS),
    ".gemini/settings.json": json.dumps({**CLAUDE_LIKE, **SERVERS}),
    ".copilot/mcp-config.json": text_of(SERVERS),
    ".config/opencode/opencode.json": text_of({"mcp": {"others": {"type": "remote", "url": "https://x"}}}),
    ".cline/data/settings/cline_mcp_settings.json": text_of(SERVERS),
    ".factory/settings.json": text_of(CLAUDE_LIKE),
    ".gemini/config/mcp_config.json": text_of(SERVERS),
    ".kiro/settings/mcp.json": text_of(SERVERS),
    ".config/amp/settings.json": text_of({"amp.mcpServers": {"others": {"url": "https://x"}}}),
    ".qwen/settings.json": with_comments({**CLAUDE_LIKE, **SERVERS}),
}
"""Settings as people have them: with comments, tabs, CRLF, a byte order mark, on one line."""


@pytest.fixture
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon whose home has settings of every host; its state lies beside the home."""
    with running_daemon(tmp_path_factory.mktemp("d")) as process:
        yield process


@pytest.fixture
def foveal(
    daemon: DaemonProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Give the command line in a project in the home of a person who uses several agents."""
    root = write_files(daemon.home / "src" / "shop", SMALL_PROJECT)
    git(root, "init", "-q")
    write_files(tmp_path, {"bin/foveal": "#!/bin/sh\n"})
    (tmp_path / "bin" / "foveal").chmod(0o755)
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "QWEN_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    # Only git is in PATH, so that no agent of this machine is found.
    write_files(tmp_path, {"path/empty": ""})
    (tmp_path / "path" / "git").symlink_to(need_tool("git"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setitem(daemon.environ, "PATH", str(tmp_path / "path"))
    monkeypatch.setattr("sys.argv", [str(tmp_path / "bin" / "foveal")])
    return CommandLine(daemon, root, monkeypatch, capsys)


def settings_tree(daemon: DaemonProcess) -> dict[str, Any]:
    """Return all files of the home but those of the project."""
    return {name: what for name, what in tree(daemon.home).items() if not name.startswith("src/shop/.git")}


def answer(monkeypatch: pytest.MonkeyPatch, *given: str) -> list[str]:
    """Answer questions on a terminal; returns the list of what is asked."""
    asked: list[str] = []
    answers = iter(given)

    def read(text: str, *rest: Any, **more: Any) -> str:
        asked.append(text)
        return next(answers)

    monkeypatch.setattr(terminal, "is_terminal", lambda stream: stream is sys.stdin)
    monkeypatch.setattr(click.termui, "visible_prompt_func", read)
    return asked


def test_init_sets_all_up_and_uninstall_gives_every_byte_back(
    foveal: CommandLine, daemon: DaemonProcess
) -> None:
    write_files(daemon.home, {name: text.encode() for name, text in SETTINGS.items()})
    before = settings_tree(daemon)
    code, output, errors = foveal("init", "--yes", "--question", "how do sessions expire?")
    assert (code, errors) == (0, "")
    for title in ("Claude Code", "Codex", "Cursor", "Gemini", "Copilot", "OpenCode", "Qwen Code"):
        assert f"\n  {title}" in output
    assert "\nready: ~/src/shop (" in output
    shown = output[output.index("What an agent gets for: how do sessions expire?") :]
    assert "src/shop/sessions.py" in shown
    assert "def expire(session: Session)" in shown
    assert "foveal uninstall" in shown
    for name in SETTINGS:
        assert "foveal" in (daemon.home / name).read_text(encoding="utf-8-sig"), name

    after = settings_tree(daemon)
    again = foveal.json("init", "--yes")
    assert again["changed"] is False
    assert [host["state"] for host in again["hosts"]] == ["registered"] * (len(HOSTS) + 1)
    assert sorted(host["host"] for host in again["hosts"]) == sorted((*HOSTS, "amp"))
    assert settings_tree(daemon) == after
    # Nothing is to be asked any more, so it needs no terminal.
    assert foveal("init")[0] == 0

    assert foveal.says("uninstall", "--dry-run").endswith("nothing was changed: --dry-run only shows it\n")
    assert settings_tree(daemon) == after
    pid = daemon.pid
    code, output, errors = foveal("uninstall", "--yes")
    assert code == 0
    assert f"stopped the daemon (pid {pid})" in output
    assert "pip uninstall foveal" in errors
    assert settings_tree(daemon) == before
    assert daemon.state.is_dir()
    cache = Path(cache_folder(daemon.environ))
    write_files(cache, {"grammars/a-zig.so": "", "other": ""})
    assert foveal("uninstall", "--yes", "--state")[0] == 0
    assert not daemon.state.exists()
    assert [path.name for path in cache.iterdir()] == ["other"]
    assert "foveal is registered nowhere\n" in foveal("uninstall", "--yes")[1]


def test_init_asks_once_and_takes_names(
    foveal: CommandLine, daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(daemon.home, {name: text.encode() for name, text in SETTINGS.items()})
    before = settings_tree(daemon)
    asked = answer(monkeypatch, "n")
    code, _, errors = foveal("init")
    assert (code, len(asked)) == (1, 1)
    assert "Register foveal with Claude Code, " in asked[0]
    assert "and index ~/src/shop?" in asked[0]
    assert "note: nothing was changed\n" in errors
    assert settings_tree(daemon) == before
    asked = answer(monkeypatch, "d", "n")
    code, output, _ = foveal("init")
    assert (code, len(asked)) == (1, 2)
    assert "--- ~/.codex/config.toml\n" in output.partition("Project\n")[2]
    assert settings_tree(daemon) == before
    asked = answer(monkeypatch, "nobody", "codex claude", "how do sessions expire?")
    code, output, _ = foveal("init")
    assert code == 0
    assert len(asked) == 3  # the first answer named none
    assert asked[2].startswith("A question about shop")
    assert "What an agent gets for: how do sessions expire?" in output
    registered = {host["host"]: host["state"] for host in foveal.json("init", "--dry-run")["hosts"]}
    assert registered.pop("claude-code") == registered.pop("codex") == "registered"
    assert set(registered.values()) == {"to register"}


def test_init_leaves_out_what_it_can_not_read(foveal: CommandLine, daemon: DaemonProcess) -> None:
    write_files(daemon.home, {".claude/settings.json": "{ broken", ".gemini/settings.json": "{}"})
    output = foveal.says("init", "--yes")
    assert "✗ " in output
    assert ".claude/settings.json, line 1" in output
    assert (daemon.home / ".claude/settings.json").read_text() == "{ broken"
    assert "foveal" in (daemon.home / ".gemini/settings.json").read_text()
    code, _, errors = foveal("init", "--yes", "--host", "claude-code")
    assert code == 1
    assert errors.startswith("error: Claude Code: ")


def test_init_of_a_machine_without_agents_indexes_the_project(
    foveal: CommandLine, daemon: DaemonProcess
) -> None:
    for shared in ("Documents", ".config"):
        (daemon.home / shared).mkdir()
    output = foveal.says("init")
    assert "none found; foveal init --host NAME registers one all the same" in output
    assert "ready: ~/src/shop" in output
    assert foveal.json("init", "--yes", "--no-hosts")["hosts"] == []
    named = foveal.json("init", "--host", "codex", "--yes")
    assert [host["host"] for host in named["hosts"]] == ["codex"]
    assert (daemon.home / ".codex" / "hooks.json").exists()


def test_init_in_the_home_folder_indexes_nothing(foveal: CommandLine, daemon: DaemonProcess) -> None:
    write_files(daemon.home, {".claude/settings.json": "{}"})
    found = foveal.json("init", "--yes", "--cwd", str(daemon.home))
    assert (found["project"], found["context"]) == (None, None)
    assert [host["host"] for host in found["hosts"]] == ["claude-code"]
    assert "foveal init FOLDER" in foveal.fails("init", "nowhere", "--yes")
    git(daemon.home, "init", "-q")  # as people do who keep their settings in git
    plain = write_files(daemon.home / "src" / "plain", {"a.py": "A = 1\n"})
    assert foveal.json("init", "--yes", "--no-hosts", "--cwd", str(plain))["project"] is None
    (plain / ".foveal").mkdir()
    found = foveal.json("init", "--yes", "--no-hosts", "--cwd", str(plain))
    assert found["project"]["root"] == str(plain)


def test_uninstall_finds_the_settings_of_other_projects(foveal: CommandLine, daemon: DaemonProcess) -> None:
    other = write_files(daemon.home / "src" / "other", {"a.py": "A = 1\n"})
    git(other, "init", "-q")
    before = tree(other)
    for host in ("cursor", "git"):
        foveal("hooks", "install", host, "--project", "--yes", "--cwd", str(other))
    assert tree(other) != before
    daemon.open_ready(other)
    foveal.says("down")  # known from the disk as well
    assert {change["host"] for change in foveal.json("uninstall", "--dry-run")["changes"]} == {
        "cursor",
        "git",
    }
    foveal("uninstall", "--yes")
    assert tree(other) == before


def test_uninstall_asks_for_the_state_apart(
    foveal: CommandLine, daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    foveal.says("init", "--yes", "--host", "cursor")
    asked = answer(monkeypatch, "y", "n")
    assert foveal("uninstall")[0] == 0
    assert asked[0].startswith("Take foveal out of 2 files?")
    assert "Also delete the state folder " in asked[1]
    assert daemon.state.is_dir()
    answer(monkeypatch, "y")
    assert foveal("uninstall")[0] == 0
    assert not daemon.state.exists()


def test_a_folder_that_is_no_state_folder_stays(foveal: CommandLine, daemon: DaemonProcess) -> None:
    foveal.says("init", "--yes", "--host", "cursor")
    foveal.says("down")
    shutil.rmtree(daemon.state)
    write_files(daemon.state, {"precious": "mine"})
    before = settings_tree(daemon)
    assert "doesn't look like foveal's state folder" in foveal("uninstall", "--yes", "--state")[2]
    assert settings_tree(daemon) == before, "it is refused before anything is changed"
    assert (daemon.state / "precious").read_text() == "mine"


def test_uninstall_goes_on_after_a_file_that_can_not_be_written(
    foveal: CommandLine, daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    foveal.says("init", "--yes", "--host", "cursor", "--host", "gemini")
    apply = plan.apply

    def refuse(changes: Sequence[Change]) -> tuple[str, ...]:
        if any(".cursor" in change.target.path for change in changes):
            raise InstallError("the file was changed meanwhile", "foveal uninstall")
        return apply(changes)

    monkeypatch.setattr("foveal.cli.uninstall.apply", refuse)
    code, output, _ = foveal("uninstall", "--yes", "--state", "--json")
    done = json.loads(output)
    assert (code, done["problems"]) == (1, ["the file was changed meanwhile"])
    assert (done["changed"], done["state_deleted"]) == (True, True)
    assert not any("foveal" in name for name in tree(daemon.home / ".gemini"))


def test_purge_deletes_copies_of_an_earlier_uninstall(
    foveal: CommandLine, daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = daemon.home / ".cursor" / "hooks.json"
    write_files(daemon.home, {".cursor/hooks.json": '{"version": 1, "hooks": {}}'})
    foveal.says("init", "--yes", "--host", "cursor")
    settings.write_text(settings.read_text().replace('"version": 1', '"version": 2'))
    first = foveal.json("uninstall", "--yes")
    copies = first["copies_left"]
    assert copies
    planned = foveal.json("uninstall", "--dry-run", "--purge")
    assert (planned["changed"], planned["copies_left"]) == (False, copies)
    assert all(Path(copy).exists() for copy in copies)
    asked = answer(monkeypatch, "y", "n")
    assert foveal("uninstall", "--purge")[0] == 0
    assert asked[0].startswith(f"Delete kept copies of earlier settings ({len(copies)})?")
    assert not any(Path(copy).exists() for copy in copies)
    assert foveal.json("uninstall", "--yes", "--purge")["copies_deleted"] == []


COMPLETE_BASH = """
eval "$(foveal completion bash)"
COMP_WORDS=({words}); COMP_CWORD={place}
_foveal_completion foveal
for reply in "${{COMPREPLY[@]}}"; do echo "$reply"; done
"""


def completed(shell: str, script: str, folder: Path) -> list[str]:
    """Run a script in a shell that has foveal in PATH; returns its lines."""
    write_files(folder, {"bin/foveal": f'#!/bin/sh\nexec {sys.executable} -m foveal "$@"\n'})
    (folder / "bin" / "foveal").chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [need_tool(shell), *options, "-c", script],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("foveal se", ["sessions"]),
        ("foveal sessions cr", ["create"]),
        ("foveal usage --by pro", ["project"]),
        ("foveal hooks install cl", ["claude-code", "cline", "claude"]),
        ("foveal nonsense x", []),
        ("foveal hook x", []),
    ],
)
def test_bash_completes(tmp_path: Path, words: str, expected: list[str]) -> None:
    script = COMPLETE_BASH.format(words=words, place=len(words.split()) - 1)
    assert completed("bash", script, tmp_path) == expected
