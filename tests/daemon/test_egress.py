"""Nothing leaves the machine: a whole session is traced, and reaches only loopback, its own sockets and folders."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from foveal.benchmarks.faults.recording import calls_in, strace_command

from tests.conftest import SMALL_PROJECT, DaemonProcess, git, need_tool, write_files

SESSION = '''
"""What a person and their agent do in a session. Ends with an error if something doesn't work."""
import http.client, json, subprocess, sys, time, urllib.parse

root = sys.argv[1]
REPORT_S = 10  # onnxruntime's first report comes 9 s after its import, so a session has to last longer
QUESTION = "how do sessions expire?"


def foveal(expected, *words, given="", status=0):
    done = subprocess.run(
        [sys.executable, "-m", "foveal", *words],
        cwd=root, input=given, capture_output=True, text=True, timeout=100,
    )
    assert done.returncode == status and expected in done.stdout, (words, done)
    return done.stdout


def hook(expected, event, **fields):
    given = {"hook_event_name": event, "session_id": "s1", "cwd": root, "transcript_path": f"{root}/none", **fields}
    foveal(expected, "hook", "claude-code", given=json.dumps(given))


def message(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def framed(*bodies):
    return "".join(f"Content-Length: {len(body)}\\r\\n\\r\\n{body}" for body in bodies)


def page(path, cookie=""):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=100)
    connection.request("GET", path, headers={"Cookie": cookie})
    reply = connection.getresponse()
    return reply, reply.read().decode()


try:
    foveal("CONTEXT", "context", QUESTION)  # starts a daemon, and opens the project without being told to
    foveal("", "up", root, "--wait")
    embedded = time.monotonic()
    foveal("sessions.py", "query", QUESTION)
    foveal("expire", "context", QUESTION, "--focus", "src/shop/auth.py")
    hook("foveal", "SessionStart", source="startup")
    hook("sessions.py", "UserPromptSubmit", prompt=QUESTION)
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
    search = {"name": "search_code", "arguments": {"query": QUESTION}}
    asked = message(1, "initialize", **client), message(2, "tools/list"), message(3, "tools/call", **search)
    foveal("sessions.py", "mcp", given="".join(f"{line}\\n" for line in asked))
    folders = [{"uri": f"file://{root}", "name": "shop"}]
    editor = {"processId": None, "capabilities": {}, "rootUri": None, "workspaceFolders": folders}
    asked = message(1, "initialize", **editor), message(2, "workspace/symbol", query="login")
    foveal("auth.py", "lsp", given=framed(*asked, message(3, "shutdown")))
    url = urllib.parse.urlsplit(foveal("http://127.0.0.1:", "dashboard", "--login-url").split()[-1])
    reply, _ = page(f"{url.path}?{url.query}")
    cookie = reply.getheader("Set-Cookie").partition(";")[0]
    for path in "/", "/sessions", "/explore", "/knowledge", "/diagnostics", "/usage":
        reply, body = page(path, cookie)
        assert reply.status == 200 and "foveal" in body, (path, body)
    foveal("", "decide", "Sessions end by themselves", "--why", "users forget", "--file", "src/shop/sessions.py")
    foveal("Sent", "last")
    foveal("", "doctor")
    while time.monotonic() < embedded + REPORT_S:
        foveal("sessions.py", "query", QUESTION)
    hook("", "Stop")
    hook("", "SessionEnd", reason="exit")
finally:
    foveal("", "down")
'''

NETWORK = ("socket", "connect", "bind", "sendto", "sendmsg", "sendmmsg")

CHANGES = (
    "openat", "open", "creat", "ftruncate", "truncate", "rename", "renameat", "renameat2", "unlink", "unlinkat",
    "rmdir", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmodat",
    "utimensat", "setxattr",
)  # fmt: skip
"""Calls that change a file or folder by its path; `write` needs a file that was opened for it."""

NO_RING = ("-e", "inject=io_uring_setup:error=ENOSYS")
"""What is sent through a ring of the kernel no trace shows. uvloop does without one, for its polls."""

FAMILIES = {"AF_UNIX", "AF_INET", "AF_INET6"}
"""Kinds of sockets. Those of the internet are for the dashboard's port; where they lead to is checked at each
call. A netlink socket, by which libc prepares a look-up, is none of them."""

NAMES = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf")
"""Files that libc reads when a name of a host is looked up, be it `localhost`."""

NAME_CACHE = "/var/run/nscd/socket"
"""libc asks here for the user's name and home folder first. Look-ups of hosts that go this way have read
/etc/host.conf before."""


@dataclass
class User:
    """A person's folders, all empty but the project."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    @property
    def own_folders(self) -> tuple[str, ...]:
        """The folders that the README names: state, config, runtime."""
        places = "home/.local/state/foveal", "home/.config/foveal", "run/foveal"
        return tuple(str(self.folder / place) for place in places)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "TMPDIR": str(self.folder / "tmp"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "ORT_DISABLE_TELEMETRY": "0",  # whatever other programs are told, foveal sends nothing
        }


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("u"))
    for name in ("home", "run", "tmp"):
        (user.folder / name).mkdir(mode=0o700)
    write_files(user.project, SMALL_PROJECT)
    git(user.project, "init", "-q", "-b", "main")
    git(user.project, "add", "-A")
    git(user.project, "commit", "-q", "-m", "first")
    return user


def content_of(folder: Path) -> dict[str, str]:
    """Return the files below a folder with the hash of each."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def trace(user: User) -> Path:
    """Give what all processes of a session called."""
    need_tool("strace")
    output = user.folder / "trace"
    session = [sys.executable, "-c", SESSION, str(user.project)]
    strace, *rest = strace_command(session, output, [*NETWORK, *CHANGES, "io_uring_setup"])
    before = content_of(user.project)
    try:
        command = [strace, *NO_RING, *rest]
        done = subprocess.run(
            command, env=user.environ, capture_output=True, text=True, timeout=200, check=False
        )
    finally:
        DaemonProcess({"FOVEAL_STATE_DIR": user.own_folders[0]}, user.home).stop()
    assert done.returncode == 0, done.stderr
    assert content_of(user.project) == before, "the project was changed"
    return output


# Network


def hex_of(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(text))


def text_of(hexadecimal: str) -> str:
    return os.fsdecode(bytes.fromhex(hexadecimal.replace("\\x", "")))


def strays_in(trace: Path, own_sockets: str) -> list[str]:
    """Return what leads to another machine, or could: sockets, addresses, look-ups of names."""
    names = [(name, f'"{hex_of(name)}"') for name in NAMES]
    found: list[str] = []
    for line in trace.read_text().splitlines():
        call = re.match(r"\d+ +\S+ (\w+)\((.*)", line)
        if call is None:
            continue
        if call[1] == "socket":
            found += {call[2].partition(",")[0]} - FAMILIES
        elif call[1] in NETWORK:
            found += [address for address in addresses_in(call[2]) if not is_here(address, own_sockets)]
        else:
            found += [name for name, quoted in names if quoted in call[2]]
    return found


def addresses_in(arguments: str) -> list[str]:
    """Return the addresses that a call names: a path or an address with its port; else its text."""
    addresses = []
    for address in re.findall(r"\{sa_family=[^}]*\}", arguments):
        words = [text_of(word) for word in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', address)]
        port = re.search(r"_port=htons\((\d+)\)", address)
        addresses.append(":".join([*words, *([port[1]] if port else [])]) or address)
    return addresses


def is_here(address: str, own_sockets: str) -> bool:
    if address == NAME_CACHE or address.startswith(f"{own_sockets}/"):
        return True
    return bool(re.fullmatch(r"(127\.0\.0\.1|::1):\d+", address)) and not address.endswith(":53")


def test_a_session_reaches_only_loopback_and_its_own_sockets(user: User, trace: Path) -> None:
    assert strays_in(trace, user.own_folders[2]) == []
    called = re.findall(r"^\d+ +\S+ (\w+)\(", trace.read_text(), re.MULTILINE)
    assert called.count("connect") > 20
    assert called.count("bind") > 2


STRAY = """
import socket
inet, inet6, unix = (socket.socket(kind) for kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for reach in (
    lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    lambda: inet.bind(("0.0.0.0", 0)),
    lambda: datagrams.sendto(b"x", ("127.0.0.1", 53)),
    lambda: datagrams.sendmsg([b"x"], [], 0, ("127.255.0.9", 9)),
    lambda: inet6.bind(("::", 0)),
    lambda: unix.connect("/run/systemd/resolve/io.systemd.Resolve"),
    lambda: unix.connect("\\0bus"),
    lambda: socket.getaddrinfo("localhost", 80),
):
    try:
        reach()
    except OSError:
        pass
"""


def test_the_trace_shows_what_strays(tmp_path: Path) -> None:
    need_tool("strace")
    program = [sys.executable, "-I", "-S", "-c", STRAY]
    subprocess.run(strace_command(program, tmp_path / "trace", [*NETWORK, *CHANGES]), check=True)
    found = strays_in(tmp_path / "trace", "/run/foveal")
    expected = {
        "AF_NETLINK", "0.0.0.0:0", "127.0.0.1:53", "127.255.0.9:9", ":::0", "bus", "/etc/hosts",
        "/run/systemd/resolve/io.systemd.Resolve",
    }  # fmt: skip
    assert expected <= set(found)


@pytest.mark.parametrize("given", [{}, {"ORT_DISABLE_TELEMETRY": "0"}, {"ORT_DISABLE_TELEMETRY": ""}])
def test_the_package_silences_onnxruntime_whatever_the_user_set(
    given: dict[str, str], tmp_path: Path
) -> None:
    code = "import foveal, os, onnxruntime; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **given}
    assert subprocess.check_output([sys.executable, "-c", code], env=environ, text=True) == "1\n"
    assert os.listdir(tmp_path) == []


# Files


def changed_in(trace: Path) -> set[str]:
    """Return the paths that were created, changed, renamed or removed; relative ones where the call is."""
    opened = {"openat", "open"}
    return {
        path
        for call in calls_in(trace)
        if call.name in CHANGES
        if call.name not in opened or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", call.flags)
        for path in call.paths
        if not path.startswith("socket:")
    }


def is_own(path: str, user: User) -> bool:
    """Whether foveal may change a path: in its folders, with the folders above them."""
    if path == os.devnull or "/__pycache__" in path:  # Python keeps compiled modules beside the code
        return True
    return any(f"{path}/".startswith(f"{own}/") or own.startswith(f"{path}/") for own in user.own_folders)


def test_a_session_changes_only_its_own_folders(user: User, trace: Path) -> None:
    changed = changed_in(trace)
    assert sorted(path for path in changed if not is_own(path, user)) == []
    state = user.own_folders[0]
    assert f"{state}/daemon.json" in changed
    assert any(path.endswith("/embeddings.sqlite") for path in changed), (
        "nothing was embedded in this session"
    )
    assert {path.name for path in user.home.iterdir()} <= {".local", ".config"}
    assert os.listdir(user.folder / "tmp") == []


def test_the_trace_shows_changed_files(tmp_path: Path) -> None:
    need_tool("strace")
    code = (
        "import os, sys; root = sys.argv[1]; a, b, c, d, e = (f'{root}/{name}' for name in ('a', 'a/b', 'c', 'd', 'e'));"
        "os.mkdir(a); open(b, 'w').close(); os.rename(b, c); os.symlink(c, d); os.chmod(c, 0o600); open(c).read();"
        "os.chdir(root); open('e', 'a').close(); os.mkdir('f')"
    )
    program = [sys.executable, "-I", "-S", "-c", code, str(tmp_path)]
    trace = tmp_path / "trace"
    subprocess.run(strace_command(program, trace, CHANGES), check=True)
    expected = {str(tmp_path / name) for name in ("a", "a/b", "c", "d", "e")}
    assert changed_in(trace) == expected | {"f"}
