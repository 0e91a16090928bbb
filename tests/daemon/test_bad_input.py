"""Bad input gets a clear error, or a poorer answer that says so, and harms nothing.

The next request is answered. Hostile input belongs to it: paths out of the project, frames that lie about
their length, a thousand peers.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped] # it ships no types
import pytest

from tests.conftest import DEADLINE_S, SMALL_PROJECT, DaemonProcess, git, write_files

SECRET = "top secret of somebody else"


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the small project, open and indexed, to all tests that leave it as they found it."""
    return open_shop(shared_daemon, tmp_path_factory.mktemp("p"))


def open_shop(daemon: DaemonProcess, folder: Path) -> str:
    root = write_files(folder / "shop", SMALL_PROJECT)
    git(root, "init", "-q")
    daemon.open_ready(root)
    return str(root)


def check_invalid(daemon: DaemonProcess, method: str, field: str, *words: str, **params: Any) -> None:
    """Expect `invalid_params` that names the field, in the data and in words."""
    error = daemon.error(method, **params)
    assert (error.code, error.data) == ("invalid_params", {"field": field}), error
    for word in words:
        assert word in error.message


# Where


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({}, "missing"),
        ({"cwd": None}, "missing"),
        ({"cwd": ""}, "cwd"),
        ({"cwd": "src"}, "absolute"),
        ({"cwd": "."}, "absolute"),
        ({"cwd": "~/project"}, "absolute"),
        ({"cwd": "/no/such/folder"}, "/no/such/folder"),
        ({"cwd": "/a\0b"}, "NUL"),
        ({"cwd": "/" + "x" * 5000}, "cwd"),
        ({"cwd": "/"}, ".foveal"),
    ],
)
def test_a_cwd_that_cannot_be_used(shared_daemon: DaemonProcess, params: dict[str, Any], word: str) -> None:
    check_invalid(shared_daemon, "GetContext", "cwd", word, **params)
    check_invalid(shared_daemon, "PrepareContext", "cwd", word, **params)


def test_the_home_folder_is_no_project(shared_daemon: DaemonProcess) -> None:
    check_invalid(
        shared_daemon, "GetContext", "cwd", "home", "foveal open", cwd=os.path.realpath(shared_daemon.home)
    )


@pytest.mark.parametrize("path", ["", "src", "/no/such/folder", "/etc/passwd", "/a\0b"])
def test_a_project_path_that_cannot_be_used(shared_daemon: DaemonProcess, path: str) -> None:
    check_invalid(shared_daemon, "OpenProject", "path", path=path)
    check_invalid(shared_daemon, "ReindexProject", "path", path=path)


# What isn't there


@pytest.mark.parametrize(
    "node_id", ["nope.py", "src", "src/shop/auth.py#nope", "README.md#Shop/Nope", "#x#y"]
)
def test_an_unknown_node(shared_daemon: DaemonProcess, root: str, node_id: str) -> None:
    error = shared_daemon.error("GetNode", cwd=root, node_id=node_id)
    assert error.code in {"not_found", "invalid_params"}
    assert node_id in error.message or "node_id" in error.message


@pytest.mark.parametrize("scope_id", ["s_0000", "", "x" * 100_000])
def test_an_unknown_scope(shared_daemon: DaemonProcess, root: str, scope_id: str) -> None:
    for method, params in (
        ("GetScope", {}),
        ("ReleaseScope", {}),
        ("ExpandFocus", {"paths": ["README.md"]}),
        ("ContractFocus", {"paths": ["README.md"]}),
    ):
        error = shared_daemon.error(method, scope_id=scope_id, **params)
        assert error.code == "not_found"
        assert "GetContext" in error.message, "it says what to do"
        assert len(error.message) < 1000
    if scope_id:
        assert shared_daemon.error("GetContext", scope_id=scope_id).code == "not_found"
        assert shared_daemon.error("GetContext", cwd=root, parent_scope_id=scope_id).code == "not_found"


def test_an_empty_project(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert shared_daemon.open_ready(tmp_path / "empty")["files"] == 0
    reply = shared_daemon.call("GetContext", cwd=str(tmp_path / "empty"), prompt="What is here?")
    assert reply["context"] == "# PROJECT CONTEXT\n\n## Project\n\n- empty\n"
    assert (reply["gaps"], reply["partial"]) == ([], False)
    assert [one["type"] for one in reply["slices"]] == ["project_meta"]


# Out of the project


@pytest.fixture
def prison(shared_daemon: DaemonProcess, tmp_path: Path) -> str:
    """Give a project with symlinks to a file and a folder outside of it."""
    write_files(tmp_path / "outside", {"secret.py": f"# {SECRET}\n", "CLAUDE.md": SECRET})
    root = write_files(
        tmp_path / "prison",
        {
            "a.py": "from link import x\nfrom folder.secret import y\n",
            "CLAUDE.md": "@../outside/CLAUDE.md\n",
        },
    )
    (root / "link.py").symlink_to(tmp_path / "outside/secret.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "AGENTS.md").symlink_to(tmp_path / "outside/CLAUDE.md")
    shared_daemon.open_ready(root)
    return str(root)


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "../outside/secret.py",
        "src/../../outside/secret.py",
        "/etc/passwd",
        "/etc/passwd#root",
        "link.py",
        "link.py#x",
        "folder",
        "folder/secret.py",
        "folder/*.py",
        "../*",
        "/",
    ],
)
def test_a_path_outside_of_the_project(shared_daemon: DaemonProcess, prison: str, path: str) -> None:
    file = path.partition("#")[0]
    check_invalid(shared_daemon, "GetContext", "focus_paths", file, "outside", cwd=prison, focus_paths=[path])
    check_invalid(shared_daemon, "PrepareContext", "focus_paths", cwd=prison, focus_paths=["a.py", path])
    check_invalid(shared_daemon, "GetNode", "node_id", cwd=prison, node_id=path)
    check_invalid(shared_daemon, "NotifyFile", "path", cwd=prison, path=file, event="opened")
    scope_id = shared_daemon.call("GetContext", cwd=prison)["scope_id"]
    check_invalid(shared_daemon, "ExpandFocus", "paths", scope_id=scope_id, paths=[path])
    check_invalid(shared_daemon, "ContractFocus", "node_ids", scope_id=scope_id, node_ids=[path])
    check_invalid(shared_daemon, "GetContext", "focus_paths", scope_id=scope_id, focus_paths=[path])


def test_nothing_outside_is_ever_shown(shared_daemon: DaemonProcess, prison: str) -> None:
    reply = shared_daemon.call(
        "GetContext",
        cwd=prison,
        focus_paths=["a.py", "*", "**/*.py", "."],
        prompt="What does link.py do? And folder/secret.py? And ../outside/secret.py?",
        fresh="tree",
    )
    assert "from link import x" in reply["context"]
    assert SECRET not in reply["context"]
    # A file that was scanned and then became a link is caught when it is read.
    os.unlink(f"{prison}/a.py")
    os.symlink("../outside/secret.py", f"{prison}/a.py")
    for fresh in ("no", "shown", "tree"):
        later = shared_daemon.call("GetContext", scope_id=reply["scope_id"], fresh=fresh)
        assert SECRET not in later["context"]
    assert any("a.py" in gap for gap in later["gaps"])


# How much


def test_too_many_of_anything_is_too_large(shared_daemon: DaemonProcess, root: str) -> None:
    error = shared_daemon.error("GetContext", cwd=root, focus_paths=["a"] * 20_001)
    assert error.code == "too_large"
    assert "focus_paths" in error.message
    assert "20,000" in error.message
    text = "x" * (2 * 1024 * 1024 + 1)
    error = shared_daemon.error("NotifyFile", cwd=root, path="README.md", event="changed", text=text)
    assert error.code == "too_large"
    assert "text" in error.message


@pytest.mark.parametrize("words", ["how do sessions end? ", "a.", "a_", "😀", "src/shop/auth.py "])
def test_a_prompt_of_five_megabytes(shared_daemon: DaemonProcess, root: str, words: str) -> None:
    prompt = words * (5_000_000 // len(words.encode()))
    reply = shared_daemon.call("GetContext", cwd=root, prompt=prompt, deadline_ms=1_000)
    assert reply["context"].startswith("# PROJECT CONTEXT")
    # A pattern that tries every way to read such a text takes seconds: this is far above what it should take.
    assert reply["elapsed_ms"] < 1_500


# Of which type


GOOD: dict[str, dict[str, Any]] = {
    "GetContext": {"cwd": "/"},
    "PrepareContext": {"cwd": "/"},
    "GetNode": {"cwd": "/", "node_id": "a.py"},
    "NotifyFile": {"cwd": "/", "path": "a.py", "event": "opened"},
    "GraftExperience": {"cwd": "/", "experience": {"decision": "d", "agent_id": "a", "session_id": "s"}},
    "ListExperiences": {"cwd": "/"},
    "OpenProject": {"path": "/"},
    "ReindexProject": {"path": "/"},
    "ExpandFocus": {"scope_id": "", "paths": ["a.py"]},
}


@pytest.mark.parametrize(
    ("method", "field", "value"),
    [
        ("Ping", "protocol", "1"),
        ("Ping", "protocol", True),
        ("Status", "cwd", 1),
        ("OpenProject", "path", 5),
        ("CloseProject", "path", ["/"]),
        ("ReindexProject", "full", "yes"),
        *[
            ("GetContext", field, value)
            for field, value in [
                ("cwd", 5),
                ("scope_id", {}),
                ("session_id", 1),
                ("prompt", ["x"]),
                ("history", "hello"),
                ("history", [{"role": "user", "content": 5}]),
                ("focus_paths", "src/a.py"),
                ("focus_paths", ["a\0b"]),
                ("constraints", "Be brief."),
                ("parent_scope_id", 7),
                ("max_tokens", "8000"),
                ("max_tokens", True),
                ("reserve_tokens", -1),
                ("max_bytes", 0),
                ("max_bytes", 10**9),
                ("format", "html"),
                ("deadline_ms", -5),
                ("fresh", "yes"),
            ]
        ],
        ("GetScope", "scope_id", None),
        ("ReleaseScope", "scope_id", None),
        ("ExpandFocus", "scope_id", 5),
        ("ExpandFocus", "node_ids", "a.py"),
        ("ListScopes", "cwd", 5),
        ("GetNode", "cwd", None),
        ("GetNode", "node_id", None),
        ("GetNode", "node_id", "  "),
        ("GetNode", "fresh", "maybe"),
        ("GetNode", "deadline_ms", 10**12),
        ("NotifyFile", "path", None),
        ("NotifyFile", "event", "saved"),
        ("NotifyFile", "text", b"bytes"),
        ("Subscribe", "topics", None),
        ("Subscribe", "topics", ["scope.created", "weather"]),
        ("GraftExperience", "experience", None),
        ("GraftExperience", "experience.decision", None),
        ("GraftExperience", "experience.agent_id", None),
        ("GraftExperience", "experience.files_touched", "a.py"),
        ("GraftExperience", "experience.outcome", "success"),
        ("ListExperiences", "limit", -1),
        ("ListExperiences", "outcome", "great"),
        ("ListExperiences", "since", "yesterday"),
    ],
)
def test_a_parameter_of_a_wrong_type(
    shared_daemon: DaemonProcess, root: str, method: str, field: str, value: Any
) -> None:
    params = dict(GOOD.get(method, {}))
    for name in ("cwd", "path"):
        if params.get(name) == "/":
            params[name] = root
    if "scope_id" in params:
        params["scope_id"] = shared_daemon.call("GetContext", cwd=root)["scope_id"]
    outer, _, inner = field.partition(".")
    params[outer] = {**params[outer], inner: value} if inner else value
    before = shared_daemon.call("ListScopes", cwd=root)
    error = shared_daemon.error(method, **params)
    assert error.code == "invalid_params"
    assert error.data is not None
    # In a list of maps the entry is named too: history[0].content.
    assert error.data["field"].startswith(field)
    assert error.data["field"] in error.message or outer in error.message
    assert shared_daemon.call("ListScopes", cwd=root) == before


def test_null_and_unknown_fields_are_ignored(shared_daemon: DaemonProcess, root: str) -> None:
    plain = shared_daemon.call("GetContext", cwd=root)
    odd = shared_daemon.call(
        "GetContext", cwd=root, prompt=None, focus_paths=None, max_tokens=None, colour="blue", layers={"x": 1}
    )
    assert (odd["scope_id"], odd["context"]) == (plain["scope_id"], plain["context"])
    # Lua packs an empty table as a map, and both Lua and JSON know no integers.
    from_lua = shared_daemon.call("GetContext", cwd=root, focus_paths={}, history={}, max_tokens=8000.0)
    assert from_lua["context"] == plain["context"]


# Bytes


@contextlib.contextmanager
def raw(daemon: DaemonProcess) -> Iterator[socket.socket]:
    """Connect without a client's manners."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(daemon.socket)
        yield connection


def read_to_end(connection: socket.socket) -> list[Any]:
    """Return the messages until the daemon closes the connection."""
    unpacker = msgpack.Unpacker()
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65536):
            unpacker.feed(data)
    return list(unpacker)


def send(connection: socket.socket, data: bytes) -> None:
    """Send as much as the daemon takes before it closes."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\xc1",
        b'{"method": "Ping"}',
        msgpack.packb({"method": "Ping"}),
        msgpack.packb([0, 1, "Ping"]),
        random.Random(1).randbytes(1000) + b"\xc1",
    ],
)
def test_garbage_closes_only_its_own_connection(shared_daemon: DaemonProcess, garbage: bytes) -> None:
    with shared_daemon.client() as other, raw(shared_daemon) as connection:
        send(connection, garbage)
        connection.shutdown(socket.SHUT_WR)
        assert all(message[0] == 1 and message[2] for message in read_to_end(connection))
        assert other.call("Ping", {}, DEADLINE_S)["pid"] == shared_daemon.pid


@pytest.mark.parametrize(
    "claim",
    [
        b"\x94\x00\x07\xa4Ping\xdd" + struct.pack(">I", 10**9),
        b"\x94\x00\x07\xa4Ping\x91\xdf" + struct.pack(">I", 10**9),
        b"\x94\x00\x07\xa4Ping\x91\x81\xa3cwd\xdb" + struct.pack(">I", 10**9),
        b"\x94\x00\x07\xa4Ping\x91\x81\xa3cwd\xc6" + struct.pack(">I", 10**9),
    ],
)
def test_a_claim_of_one_gigabyte(shared_daemon: DaemonProcess, claim: bytes) -> None:
    pid = shared_daemon.call("Ping")["pid"]
    before = peak_bytes(pid)
    with raw(shared_daemon) as connection:
        send(connection, claim)
        (reply,) = read_to_end(connection)
    assert (reply[0], reply[1]) == (1, 7)
    assert reply[2]["code"] == "too_large"
    assert "16777216" in reply[2]["message"]
    assert peak_bytes(pid) - before < 10**9 / 2


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process ever reserved.

    What is reserved for a claim isn't resident before something is written to it, and is soon given back.
    """
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmPeak" in line]
    return int(line.split()[1]) * 1024
