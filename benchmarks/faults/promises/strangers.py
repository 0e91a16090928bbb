"""Promise 8: no other user gets in, no path leads out of a project, no secret comes out of it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from .. import stranger
from ..home import Home, home
from ..promise import Ground, NotHere, Promise, Test, Trial

USERS = "another user connects and reads"
ESCAPES = "paths that lead out of the project"

UIDS = (65534, 1, 12345)
"""Of nobody, of a service, and of nobody who is there at all."""
CANARY = "canary-that-lies-outside"


def meet_strangers(ground: Ground) -> Iterator[Trial]:
    """Let another user try the sockets and the state folder, as they are and after somebody opened them."""
    if os.geteuid() != 0:
        raise NotHere("only root can become another user")
    with home(ground.folder / "h") as user:
        user.open_ready()
        sock = paths.find_socket(None, user.environ).path
        # The folders above are the test's own: what keeps others out is to be what the daemon made.
        for folder in (ground.folder, user.folder, user.folder / "run"):
            folder.chmod(0o711)
        for number in range(ground.count):
            kind = number % 2
            uid = UIDS[number // 2 % len(UIDS)]
            opened = [Path(sock).parent, user.state] if kind else []
            for folder in opened:
                folder.chmod(0o755)
            if kind:
                Path(sock).chmod(0o666)
                Path(paths.http_socket(sock)).chmod(0o666)
            try:
                yield Trial(f"user {uid}, {'opened' if kind else 'closed'}", _try_as(uid, user, sock))
            finally:
                for folder in opened:
                    folder.chmod(0o700)
                Path(sock).chmod(0o600)
                Path(paths.http_socket(sock)).chmod(0o600)


def _try_as(uid: int, user: Home, sock: str) -> str:
    command = [
        "/usr/bin/env", "-i", sys.executable, "-S", "-I", "-c", Path(stranger.__file__).read_text(),
        str(uid), sock, paths.http_socket(sock), str(user.state),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", timeout=60)
    if done.returncode:
        raise NotHere(f"no process of another user can be run: {done.stderr[-300:]}")
    got = json.loads(done.stdout)
    heard = {path: said for path, said in got["heard"].items() if said not in {"", "PermissionError"}}
    # A folder that was opened on purpose may be listed; nothing in it may be opened.
    files = [path for path in got["opened"] if os.path.isfile(path) and _may_read(path)]
    return f"it heard {heard}" if heard else f"it read {files[:3]}" if files else ""


def _may_read(path: str) -> bool:
    return bool(os.lstat(path).st_mode & 0o077)


def lead_out(ground: Ground) -> Iterator[Trial]:
    """Ask for files outside of the project in many spellings, by every method that takes a path."""
    chance = random.Random(ground.seed)
    outside = ground.folder / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"# {CANARY}\ndef outer(): pass\n")
    with home(ground.folder / "h") as user:
        (user.project / "link.py").symlink_to(outside / "secret.py")
        (user.project / "folder").symlink_to(outside)
        (user.project / "chain").symlink_to("folder")
        (user.project / "rel.py").symlink_to("../../outside/secret.py")
        (user.project / "CLAUDE.md").write_text("@../../outside/secret.py\n@folder/secret.py\n")
        user.open_ready()
        with user.client() as client:
            scope = client.call("GetContext", {"cwd": str(user.project)}, 20)["scope_id"]
            for _ in range(ground.count):
                path = _spelled(chance, outside, user.project)
                yield Trial(repr(path), _ask_for(client, path, str(user.project), scope, chance))


def _spelled(chance: random.Random, outside: Path, root: Path) -> str:
    """Return a path to the file outside, spelled so that a check may overlook it."""
    ways = [
        "../../outside/secret.py", str(outside / "secret.py"), "link.py", "folder/secret.py", "rel.py",
        "chain/secret.py", f"{root}/../../outside/secret.py", "shop/../../../outside/secret.py", "folder/*",
        "/proc/self/cwd/../outside/secret.py", f"file://{outside}/secret.py", "~/../../outside/secret.py",
        "/proc/self/root" + str(outside / "secret.py"), "**/secret.py", "folder",
    ]  # fmt: skip
    path = chance.choice(ways)
    for _ in range(chance.randrange(3)):
        match chance.randrange(9):
            case 0:
                path = path.replace(
                    "..",
                    chance.choice(
                        ("\uff0e\uff0e", "\u2025", "\u2024\u2024", "..\u200b", "%2e%2e", ".\u2060.")
                    ),
                )
            case 1:
                path = path.replace(
                    "/", chance.choice(("//", "/./", "\\", "\uff0f", "\u2215", "%2f", "/\u202e")), 1
                )
            case 2:
                path = "".join(one.upper() if chance.random() < 0.3 else one for one in path)
            case 3:
                path = unicodedata.normalize(chance.choice(("NFD", "NFKC")), path)
            case 4:
                path = chance.choice(("./", " ", "\t", "\ufeff", "shop/../", "shop/auth.py/../../")) + path
            case 5:
                path += chance.choice(("/", " ", "\0", "\n", "#outer", "#", ":1", "?", "/.", "\0.py"))
            case 6:
                path = path.replace("secret", "s\u0065\u0301cret" if chance.random() < 0.3 else "secre[t]")
            case 7:
                path = f"{{{path},shop/auth.py}}"
            case _:
                path = "/".join(["nowhere/.."] * chance.randrange(5)) + "/" + path
    return path


def _ask_for(client: Client, path: str, root: str, scope: str, chance: random.Random) -> str:
    fresh = chance.choice(("no", "shown", "tree"))
    calls: list[tuple[str, dict[str, Any]]] = [
        (
            "GetContext",
            {"cwd": root, "focus_paths": [path], "prompt": f"What does {path} do?", "fresh": fresh},
        ),
        ("GetNode", {"cwd": root, "node_id": path}),
        ("NotifyFile", {"cwd": root, "path": path, "event": "opened"}),
        ("ExpandFocus", {"scope_id": scope, "paths": [path]}),
        ("GetContext", {"scope_id": scope, "fresh": fresh}),
        ("Query", {"cwd": root, "query": path}),
        ("FindFiles", {"cwd": root, "query": path}),
        ("ContractFocus", {"scope_id": scope, "paths": [path]}),
        ("GetContext", {"cwd": path}),
        ("Trust", {"cwd": root, "paths": [path]}),
    ]
    for method, params in calls:
        try:
            reply = client.call(method, params, 20)
        except RpcError as error:
            reply = [error.code, error.message]
            if "failed in the daemon" in error.message:
                return f"{method} failed: {error.message}"
        if CANARY in repr(reply):
            return f"{method} shows what lies outside"
        if method == "GetContext" and "cwd" in params and params["cwd"] == path and isinstance(reply, dict):
            continue  # a folder that was opened by its name is a project of its own
    return ""


PROMISE = Promise(
    8,
    "Only this user gets in, and no secret comes out",
    (
        Test(USERS, meet_strangers, 90, 9),
        Test(ESCAPES, lead_out, 5_000, 100),
    ),
)
