"""The process of a hook prints what the daemon answers, and whatever goes wrong nothing, with status 0 and in time."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.hooks import grafts
from foveal.daemon.hooks.grafts import Spool
from foveal.hooks import spool as hook_spool
from foveal.hooks.hook import BUDGETS_S, KEPT, OTHER_S, event_name
from foveal.hooks.hook_log import MAX_BYTES, note
from foveal.hooks.install.host_files import INSTALLABLE
from foveal.hooks.spool import MAX_FILES, keep
from foveal.ipc.errors import RpcError
from foveal.ipc.protocol import Decoder, Request, encode_error, encode_response

from tests import hook_cases
from tests.conftest import DEADLINE_S, DaemonProcess, write_files
from tests.hook_cases import payload, recorded

START_WITHIN_S = 60.0
"""What a test gives a hook in all: without budgets of its own one would take for ever."""

EVENTS = list({hook_cases.event_name(name): (host, name) for host, name in recorded()}.values())
"""An event of each name: its host and its payload."""

HEAVY = (
    "asyncio",
    "aiohttp",
    "mcp",
    "click",
    "json",
    "re",
    "subprocess",
    "threading",
    "logging",
    "dataclasses",
    "inspect",
    "tempfile",
    "pathlib",
)
"""What no event may pay for; json is needed where daemon.json tells the socket, and here it doesn't."""

Reply = Callable[[Request], bytes]


@contextmanager
def daemon_that(folder: Path, reply: Reply | None) -> Iterator[dict[str, str]]:
    """Give the environment for a daemon that answers so, or takes requests and never answers."""
    path = folder / "foveal.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(128)
        thread = threading.Thread(target=_serve, args=(listener, reply))
        thread.start()
        try:
            yield environment(folder)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, reply: Reply | None) -> None:
    kept: list[socket.socket] = []
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            break
        kept.append(connection)
        if reply is not None:
            _answer(connection, reply)
    for connection in kept:
        connection.close()


def _answer(connection: socket.socket, reply: Reply) -> None:
    decoder = Decoder()
    while data := connection.recv(65_536):
        decoder.feed(data)
        message = decoder.next_message()
        if isinstance(message, Request):
            connection.sendall(reply(message))
            return


def environment(folder: Path) -> dict[str, str]:
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "CURSOR_"))
    }
    return {
        **environ,
        "FOVEAL_SOCKET": str(folder / "foveal.sock"),
        "FOVEAL_STATE_DIR": str(folder / "state"),
        "HOME": str(folder),
    }


def start(host: str, environ: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "foveal", "hook", host, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=dict(environ), stdin=pipe, stdout=pipe, stderr=pipe)


def hook(host: str, given: object, environ: Mapping[str, str], *words: str) -> str:
    """Run a hook and return what it prints; whatever happens it has status 0 and says nothing else."""
    process = start(host, environ, *words)
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    output, errors = process.communicate(data, START_WITHIN_S)
    assert (process.returncode, errors) == (0, b"")
    return output.decode()


def all_hooks(environ: Mapping[str, str]) -> list[str]:
    """Run the hook of an event of each name side by side, and return what each prints."""
    printed: list[str] = []
    for process in [
        told(start(host, environ, *hook_cases.words(host, name)), host, name) for host, name in EVENTS
    ]:
        output, errors = process.communicate(timeout=START_WITHIN_S)
        assert (process.returncode, errors) == (0, b"")
        printed.append(output.decode())
    return printed


def told(process: subprocess.Popen[bytes], host: str, name: str) -> subprocess.Popen[bytes]:
    """Give a hook its whole event at once, as hosts do: it waits for that no longer than for an answer."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload(host, name)).encode())
    process.stdin.close()
    process.stdin = None
    return process


def spooled(folder: Path) -> list[str]:
    found = Spool(str(folder / "state"), System()).waiting()
    return sorted(one.host for one in found)


def log_of(folder: Path) -> str:
    path = folder / "state" / "hooks.log"
    return path.read_text() if path.exists() else ""


def check_times(log: str) -> None:
    """Check that every hook gave up within the time of its event, whatever the machine had to do."""
    lines = log.splitlines()
    assert len(lines) == len(EVENTS)
    for line in lines:
        found = re.search(r" (\S+): RpcError: the daemon didn't answer HookEvent within ([\d.]+) s$", line)
        # On a machine with very much to do the time may be over before it is asked.
        assert found or "TimeoutError" in line or "in time" in line, line
        assert not found or float(found[2]) <= BUDGETS_S.get(found[1], OTHER_S), line


ENDS = {
    "subagentstop",
    "sessionend",
    "stop",
    "agentstop",
    "afteragent",
    "taskcomplete",
    "taskcancel",
    "sessionshutdown",
}
STOPS = sorted(host for host, name in EVENTS if hook_cases.event_name(name).lower() in ENDS)


def test_hook_prints_the_daemons_answer(folder: Path) -> None:
    asked: list[Request] = []

    def reply(request: Request) -> bytes:
        asked.append(request)
        return encode_response(request.msgid, {"output": '{"x":"ü\\n"}'})

    given = payload("codex", "SessionStart")
    with daemon_that(folder, reply) as environ:
        assert hook("codex", given, {**environ, "CURSOR_VERSION": "2"}) == '{"x":"ü\\n"}'
        assert hook("git", b"", environ, "post-commit", "1") == '{"x":"ü\\n"}'
    first, second = (request.params for request in asked)
    assert asked[0].method == "HookEvent"
    assert (first["host"], first["event"], json.loads(first["payload"])) == ("codex", "SessionStart", given)
    assert (first["cwd"], first["variables"]) == (os.getcwd(), {"CURSOR_VERSION": "2"})
    assert 0 < first["deadline_ms"] < BUDGETS_S["SessionStart"] * 1000
    assert (second["event"], second["payload"]) == ("post-commit", "")


def test_hook_without_daemon_prints_nothing_and_spools_ends(folder: Path) -> None:
    printed = all_hooks(environment(folder))
    assert not any(printed)
    assert spooled(folder) == STOPS
    assert log_of(folder) == "", "that no daemon runs is no failure"


def test_hook_gives_up_on_a_silent_daemon(folder: Path) -> None:
    with daemon_that(folder, None) as environ:
        assert not any(all_hooks(environ))
    assert spooled(folder) == STOPS
    check_times(log_of(folder))


def test_hook_prints_nothing_for_invalid_answers(folder: Path) -> None:
    def refused(request: Request) -> bytes:
        return encode_error(request.msgid, RpcError("internal", "broken"))

    replies: Sequence[Reply] = (
        refused,
        lambda request: encode_response(request.msgid, {"output": None}),
        lambda request: encode_response(request.msgid, {}),
        lambda request: encode_response(request.msgid, [1]),
        lambda request: b"\xc1garbage",
        lambda request: b"",
    )
    for number, reply in enumerate(replies):
        place = folder / str(number)
        place.mkdir(mode=0o700)
        with daemon_that(place, reply) as environ:
            assert hook("gemini", payload("gemini", "SessionEnd"), environ) == ""
            assert hook("cursor", payload("cursor", "subagentStop"), environ) == ""
    assert "RpcError: broken" in log_of(folder / "0")
    assert spooled(folder / "0") == ["cursor", "gemini"]


def test_hook_survives_wrong_host_input(folder: Path) -> None:
    environ = environment(folder)
    for given in (b"", b"\xff\xfe{", b"not json", b"{" * 100_000, b'{"hook_event_name": 7}'):
        assert hook("claude-code", given, environ) == ""
    assert hook("no-such-host", b"{}", environ) == ""
    assert hook("codex", b" " * (8 * 1024 * 1024 + 1), environ) == ""
    assert "8,388,609 bytes" in log_of(folder)
    bare = subprocess.run(
        [sys.executable, "-m", "foveal", "hook"], env=environ, capture_output=True, check=True, input=b""
    )
    assert bare.stdout + bare.stderr == b""


def test_hook_gives_up_on_endless_input(folder: Path) -> None:
    process = start("gemini", environment(folder))
    assert process.stdin is not None
    process.stdin.write(b'{"hook_event_name": "SessionEnd"')
    process.stdin.flush()
    assert process.wait(START_WITHIN_S) == 0
    output, errors = process.communicate(timeout=START_WITHIN_S)
    assert output + errors == b""
    assert "didn't end the standard input" in log_of(folder)


def test_hook_survives_an_unusable_state_folder(folder: Path) -> None:
    (folder / "state").write_text("a file")
    assert hook("codex", payload("codex", "SubagentStop"), environment(folder)) == ""


def test_hook_imports_little(folder: Path) -> None:
    code = (
        "import os, sys\n"
        "leave = os._exit\n"
        "def told(status):\n"
        "    os.write(2, ' '.join(sys.modules).encode())\n"
        "    leave(status)\n"
        "os._exit = told\n"
        "sys.argv = ['foveal', 'hook', 'codex']\n"
        "from foveal.__main__ import main\n"
        "main()\n"
    )
    given = json.dumps(payload("codex", "SessionStart")).encode()
    with daemon_that(folder, lambda request: encode_response(request.msgid, {"output": "y"})) as environ:
        command = [sys.executable, "-I", "-c", code]
        found = subprocess.run(command, env=environ, input=given, capture_output=True, check=True)
        bare = subprocess.run(
            [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True
        )
    assert found.stdout == b"y"
    modules = set(found.stderr.decode().split()) - set(bare.stdout.decode().split())
    assert "msgpack" in modules
    assert not modules & set(HEAVY)
    ours = {name for name in modules if name.startswith("foveal")}
    assert ours == {
        "foveal", "foveal.__main__", "foveal.hooks", "foveal.hooks.hook", "foveal.ipc", "foveal.ipc.client",
        "foveal.ipc.errors", "foveal.ipc.paths", "foveal.ipc.protocol", "foveal.ipc.record",
        "foveal.ipc.version",
    }  # fmt: skip


def test_hook_budgets_are_below_host_timeouts() -> None:
    ends = {"claude-code": 1.5, "codex": 1.0}
    for host in INSTALLABLE:
        if host.hooks is None:  # only its server is registered
            continue
        for event in host.hooks.events:
            budget = BUDGETS_S.get(event.name, OTHER_S)
            timeout = event.timeout_s or (ends.get(host.name, 600.0) if event.name == "SessionEnd" else 600.0)
            assert budget <= timeout / 1.4, (host.name, event)
    assert BUDGETS_S["SessionEnd"] == BUDGETS_S["sessionEnd"] < 0.5


def test_event_name_is_found_without_parsing() -> None:
    for host, name in recorded():
        data = json.dumps(payload(host, name)).encode()
        expected = hook_cases.event_name(name)
        if not hook_cases.words(host, name):
            assert event_name(data) == expected, (host, name)
        assert (expected in KEPT) == (expected.lower() in ENDS)

    def check(data: bytes, expected: str) -> None:
        assert event_name(data) == expected

    check(b'{"hook_event_name" :\n "Stop"}', "Stop")
    check(b'{"prompt": "say \\"hook_event_name\\": \\"Stop\\"", "x": 1}', "")
    check(b'{"hook_event_name": "Sto', "Sto")
    check(b'{"hook_event_name": 7}', "")
    check(b"", "")


def test_hook_and_daemon_agree_on_spool_format(tmp_path: Path) -> None:
    assert hook_spool.FOLDER == grafts.FOLDER
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    spool = Spool(str(state), System())
    assert spool.waiting() == ()
    keep(str(state), ("codex", "SubagentStop", "/w/ü"), b'{"a": "\xc3\xbc\0"}')
    spool.put(("cursor", "subagentStop", "/w\0"), '{"b": 1}')
    write_files(state, {"hook-spool/odd": b"x\0y", "hook-spool/half.tmp": b"a\0b\0c\0{}"})
    first, second = spool.waiting()
    assert (first.host, first.event, first.cwd, first.payload) == (
        "codex", "SubagentStop", "/w/ü", '{"a": "ü\0"}',
    )  # fmt: skip
    assert (second.host, second.cwd, second.payload) == ("cursor", "/w", '{"b": 1}')
    for one in (first, second, second):
        spool.remove(one.path)
    assert spool.waiting() == ()
    assert (state / "hook-spool").stat().st_mode & 0o777 == 0o700


def test_the_spool_is_bounded(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for number in range(MAX_FILES + 3):
        keep(str(state), ("codex", "SubagentStop", str(number)), b"{}")
    found = Spool(str(state), System()).waiting()
    assert [one.cwd for one in (found[0], found[-1])] == ["3", str(MAX_FILES + 2)], "the oldest went"
    assert Spool(str(state), System()).put(("codex", "SubagentStop", "/w"), "{}") == ""
    with pytest.raises(ValueError, match="can't be kept"):
        keep(str(state), ("codex", "", ""), b" " * (1024 * 1024 + 1))


def test_the_log_is_bounded(tmp_path: Path) -> None:
    state = tmp_path / "state"
    note(str(state), "two\nlines " + "x" * 10_000)
    [line] = (state / "hooks.log").read_text().splitlines()
    assert " two lines xxx" in line
    assert len(line) < 600
    write_files(state, {"hooks.log": b"y" * (MAX_BYTES + 1)})
    note(str(state), "new")
    assert (state / "hooks.log").read_text().endswith("Z new\n")
    assert (state / "hooks.log.1").stat().st_size == MAX_BYTES + 1


def test_prompt_hook_starts_a_daemon_in_background(daemon: DaemonProcess, tmp_path: Path) -> None:
    given = payload("claude-code", "UserPromptSubmit", root=tmp_path)
    assert hook("claude-code", given, daemon.environ) == "", "it isn't waited for"
    with daemon.client() as client:
        assert client.call("Ping", {}, DEADLINE_S)["pid"] == daemon.pid


PATIENT = (
    "import sys; from foveal.hooks import hook; "
    f"hook.BUDGETS_S = dict.fromkeys(hook.BUDGETS_S, {DEADLINE_S}); hook.run(sys.argv[1:])"
)
"""A hook that has a minute, so that a busy machine changes nothing."""


def test_session_start_hook_waits_for_its_daemon(daemon: DaemonProcess, shop: Path) -> None:
    given = json.dumps(payload("gemini", "SessionStart", root=shop)).encode()
    command = [sys.executable, "-c", PATIENT, "gemini"]
    done = subprocess.run(command, input=given, env=daemon.environ, capture_output=True, check=True)
    text = hook_cases.context_of("gemini", "SessionStart", done.stdout.decode())
    assert "set_relevant_context" in text
    assert "Use the repository's logger." in text, "a rule that the host doesn't read"
    assert "sessions.py" in text, "the names of its files"
    assert (daemon.call("Ping")["pid"], done.stderr) == (daemon.pid, b"")


def test_session_start_hook_gives_up_on_a_failing_daemon(folder: Path) -> None:
    environ = environment(folder) | {"XDG_RUNTIME_DIR": str(folder)}
    del environ["FOVEAL_SOCKET"]
    write_files(folder, {"state/version.json": '{"state_version": 99}'})
    (folder / "state").chmod(0o700)
    given = payload("claude-code", "SessionStart")
    assert hook("claude-code", given, environ) == ""
    # Of a machine with very much to do the time is over before it has ended.
    assert re.search("the daemon ended with status|doesn't answer yet", log_of(folder))
