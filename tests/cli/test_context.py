"""`foveal context` prints the context and nothing else to the output, and says the rest beside it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.cli.context import remarks

from tests.conftest import DaemonProcess, running_daemon, write_files

TIMEOUT_S = 90


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give one daemon to all tests of this file, whatever colours the caller wants."""
    with running_daemon(tmp_path_factory.mktemp("d")) as process:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            process.environ.pop(name, None)
        yield process


def run(
    daemon: DaemonProcess, cwd: Path, *arguments: str, given: bytes | None = None
) -> tuple[int, str, str]:
    """Run `foveal context` as a user would; returns its exit code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "foveal", "context", *arguments],
        check=False,
        cwd=cwd,
        env=daemon.environ,
        input=given,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def focus_of(daemon: DaemonProcess, cwd: Path, *arguments: str) -> list[str]:
    """Return what ends up in focus, as node ids."""
    code, output, errors = run(daemon, cwd, *arguments, "--json")
    assert (code, errors) == (0, "")
    slices = json.loads(output)["slices"]
    return [one["id"].removeprefix("focus:") for one in slices if one["type"] == "focus"]


def test_it_starts_the_daemon_and_prints_the_context(daemon: DaemonProcess, shop: Path) -> None:
    code, output, errors = run(daemon, shop, "how do sessions expire?", "--focus", "src/shop/auth.py")
    assert code == 0
    assert output.startswith("# PROJECT CONTEXT\n")
    assert "Use the repository's logger." in output
    assert "def login(user: str) -> Session:" in output
    assert output.endswith("\n")
    assert all(line.startswith("note: ") for line in errors.splitlines())
    assert " ms" in errors.splitlines()[-1]


def test_the_same_project_gives_the_same_bytes(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    first = run(daemon, shop, "sessions", "-q")
    assert first == run(daemon, shop, "sessions", "-q")
    assert first[2] == ""


def test_an_edit_shows_in_the_next_call(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    focus = ("--focus", "src/shop/cart.py", "-q")
    run(daemon, shop, *focus)
    write_files(shop, {"src/shop/cart.py": "def refund():\n    pass\n"})
    assert "def refund():" in run(daemon, shop, *focus)[1]


def test_focus_is_seen_from_where_the_user_is(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    source = shop / "src" / "shop"

    def check(cwd: Path, given: str, expected: list[str]) -> None:
        assert focus_of(daemon, cwd, "--focus", given) == expected

    check(source, "auth.py", ["src/shop/auth.py"])
    check(source, "auth.py#login", ["src/shop/auth.py#login"])
    check(source, "../../web/app.ts", ["web/app.ts"])
    check(source, "web/app.ts", ["web/app.ts"])
    check(source, "c*.py", ["src/shop/cart.py"])
    check(shop, str(source / "cart.py"), ["src/shop/cart.py"])


def test_cwd_is_looked_at_before_the_users_folder(daemon: DaemonProcess, shop: Path, tmp_path: Path) -> None:
    daemon.open_ready(shop)
    (tmp_path / "README.md").write_text("another one")
    found = focus_of(daemon, tmp_path, "--cwd", "shop", "--focus", "README.md", "--focus", "shop/web/app.ts")
    assert found == ["README.md", "web/app.ts"]


def test_the_prompt_can_come_from_the_input(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    given = "what does web/money.ts do?"
    assert run(daemon, shop, "-", "-q", given=given.encode()) == run(daemon, shop, given, "-q")
    assert run(daemon, shop, "-", "-q", given=b"\xff\xfe not UTF-8")[0] == 0
    code, output, errors = run(daemon, shop, "-", given=b"x" * (17 << 20))
    assert (code, output) == (1, "")
    assert errors == "error: the prompt is larger than 16,777,216 bytes\nhint: send the part that matters\n"


def test_formats(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)

    def output(form: str) -> str:
        code, text, _ = run(daemon, shop, "why?", "--format", form, "-q")
        assert code == 0
        return text

    assert output("markdown").startswith("# PROJECT CONTEXT")
    assert "project" in json.loads(output("json"))
    assert set(json.loads(output("prompts"))) == {"system_prompt", "user_prompt"}
    assert {message["role"] for message in json.loads(output("messages"))} == {"system", "user"}


def test_limits_and_constraints_reach_the_daemon(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    code, output, _ = run(daemon, shop, "--constraint", "no new dependencies", "--max-bytes", "400", "-q")
    assert code == 0
    assert "no new dependencies" in output
    assert len(output.encode()) <= 400
    arguments = ("--max-tokens", "1000", "--session", "s-1", "--task-type", "bugfix", "--fresh", "tree")
    code, output, errors = run(daemon, shop, *arguments, "--deadline-ms", "20000", "--json")
    assert (code, errors) == (0, "")
    scope = daemon.call("GetScope", scope_id=json.loads(output)["scope_id"])
    assert (scope["session_id"], scope["task_type"]) == ("s-1", "bugfix")


def test_what_is_missing_is_said_beside_the_context(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    code, _, errors = run(daemon, shop, "--focus", "gone.py")
    assert code == 0
    assert "note: focus path 'gone.py' doesn't exist in the project\n" in errors


def test_errors(daemon: DaemonProcess, shop: Path) -> None:
    def check(arguments: list[str], code: int, error: str) -> None:
        found, output, errors = run(daemon, shop, *arguments)
        assert (found, output) == (code, "")
        assert errors.startswith(f"error: {error}")
        assert "Traceback" not in errors

    check(["--focus", "/etc/passwd"], 1, f"/etc/passwd lies outside of the project {shop}\n")
    check(
        ["--focus", "../../../../etc/passwd"], 1, f"{shop}/../../../../etc/passwd lies outside of the project"
    )
    check(["--max-tokens", "0"], 2, "invalid value for '--max-tokens'")
    check(["--max-tokens", "99999999999"], 1, "--max-tokens must be from 1 to ")
    check(["--cwd", "none"], 2, "invalid value for '--cwd': none is not a folder")
    check(["--format", "yaml"], 2, "invalid value for '--format'")
    check(
        ["how", "do", "sessions"],
        2,
        "got unexpected extra arguments (do sessions)\nhint: put the prompt into quotes",
    )


def test_a_terminal_is_not_steered_by_a_file(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    write_files(shop, {"evil.txt": "\x1b]0;pwned\x07 and \x1b[2J\n"})
    assert "\x1b]0;pwned\x07" in run(daemon, shop, "--focus", "evil.txt", "-q")[1]
    shown = in_terminal(daemon, shop, "--focus", "evil.txt")
    assert b"\\x1b]0;pwned\\x07 and \\x1b[2J" in shown
    assert b"\x1b]0;" not in shown
    assert b"\x1b[2mnote: " in shown


def test_no_color(daemon: DaemonProcess, shop: Path) -> None:
    daemon.open_ready(shop)
    plain = DaemonProcess(daemon.environ | {"NO_COLOR": "1"}, daemon.home)
    assert b"\x1b" not in in_terminal(plain, shop, "hello")
    assert b"\x1b" in in_terminal(daemon, shop, "hello")


def in_terminal(daemon: DaemonProcess, cwd: Path, *arguments: str) -> bytes:
    """Run `foveal context` in a terminal and return all that it shows."""
    ours, theirs = pty.openpty()
    environ = daemon.environ | {"TERM": "xterm"}
    command = [sys.executable, "-m", "foveal", "context", *arguments]
    with subprocess.Popen(command, cwd=cwd, env=environ, stdout=theirs, stderr=theirs):
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # how Linux ends a terminal whose other side is closed
            pass
    os.close(ours)
    return seen


def test_remarks() -> None:
    reply = {"gaps": [], "degraded": [], "partial": False, "cached": False, "truncated": False}

    def check(changes: dict[str, object], expected: list[str]) -> None:
        assert remarks({**reply, "tokens": 1234, "elapsed_ms": 0.24, **changes}) == expected

    check({}, ["1,234 tokens in 0.2 ms"])
    check({"cached": True, "truncated": True}, ["1,234 tokens in 0.2 ms, from the cache, shortened to fit"])
    check({"gaps": ["a"], "degraded": ["b"]}, ["a", "degraded: b", "1,234 tokens in 0.2 ms"])
    [partial, _] = remarks({**reply, "tokens": 1, "elapsed_ms": 1, "partial": True})
    assert partial.startswith("partial: ")


def test_a_person_can_try_all_that_the_socket_has(daemon: DaemonProcess, shop: Path, tmp_path: Path) -> None:
    history = '{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "Hello!"}\n'
    write_files(tmp_path, {"talk.jsonl": history, "talk.json": f"[{history.strip().replace(chr(10), ',')}]"})
    for name in ("talk.jsonl", "talk.json"):
        file = str(tmp_path / name)
        code, output, _ = run(daemon, shop, "go on", "--format", "messages", "--history", file)
        assert code == 0
        contents = [message["content"] for message in json.loads(output)]
        assert [said for said in contents if said in {"hello", "Hello!", "go on"}] == [
            "hello",
            "Hello!",
            "go on",
        ]
    options = ("--agent", "reviewer", "--model", "some-model", "--session", "s-7", "--reserve-tokens", "0")
    first = json.loads(run(daemon, shop, "expire", *options, "--json")[1])
    again = json.loads(run(daemon, shop, "expire", *options, "--delta", "--json")[1])
    assert again["saved_tokens"] > 0
    assert again["tokens"] < first["tokens"]
    child = json.loads(run(daemon, shop, "--parent-scope", first["scope_id"], "--agent", "b", "--json")[1])
    assert child["scope_id"] != first["scope_id"]
    code, _, errors = run(daemon, shop, "--parent-scope", "scope_none", "--agent", "c")
    assert code == 1
    assert "scope_none" in errors
    assert "Call " not in errors


def test_a_history_that_is_none(daemon: DaemonProcess, shop: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"talk": "user: hello\n"})
    code, output, errors = run(daemon, shop, "x", "--history", str(tmp_path / "talk"))
    assert (code, output) == (2, "")
    assert 'holds no messages: each is {"role": "user", "content": "…"}' in errors
    assert run(daemon, shop, "x", "--history", "gone.json")[0] == 1
