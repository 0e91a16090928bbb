"""Promise 8: no other user gets in, no path leads out of a project, no secret comes out of it."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import stat
import string
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foveal.ipc import paths
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError
from foveal.ipc.listener import bind

from .. import stranger
from ..home import PROJECT, Home, home
from ..promise import Ground, NotHere, Promise, Test, Trial

PROOF = "tests/faults/test_strangers.py"
USERS = "another user connects, reads and listens"
MODES = "modes of what is made, looked at while it is made"
ESCAPES = "paths that lead out of the project"
SECRETS = "secrets in files, prompts and decisions"

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
            kind = number % 3
            uid = UIDS[number // 3 % len(UIDS)]
            if kind == 2:
                yield _listen_for(user, uid, ground.folder / f"s{number}")
                continue
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


def _listen_for(user: Home, uid: int, folder: Path) -> Trial:
    """Put a socket of another user where a client looks: it says nothing to whoever listens there."""
    folder.mkdir(mode=0o700)
    path = str(folder / "foveal.sock")
    listener = bind(path)
    listener.listen()
    os.chown(path, uid, uid)
    heard: list[str] = []
    thread = threading.Thread(target=lambda: heard.extend(_hear(listener)))
    thread.start()
    try:
        Client.connect(path, 5).close()
        lost = "the client connected"
    except paths.PathError as error:
        lost = "" if f"user id {uid}" in str(error) else f"told as {error}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()
    return Trial(f"a socket of user {uid}", lost or "".join(heard))


def _hear(listener: socket.socket) -> Iterator[str]:
    try:
        connection, _ = listener.accept()
    except OSError:
        return
    connection.close()
    yield "the client connected before it looked whose socket it is"


def look_at_modes(ground: Ground) -> Iterator[Trial]:
    """Start daemons with umask 0 and look at all files while they are made: none is ever open to others."""
    looked = 0
    for number in itertools.count():
        with home(ground.folder / str(number)) as user:
            user.command = ["sh", "-c", f"umask 0; exec {sys.executable} -m foveal up --foreground"]
            found: dict[str, str] = {}
            ended = threading.Event()
            below = (str(user.state), str(user.folder / "run"))
            watcher = threading.Thread(target=_watch_modes, args=(below, found, ended))
            watcher.start()
            try:
                user.open_ready()
                root = str(user.project)
                user.call("GetContext", cwd=root, focus_paths=["shop/auth.py"], session_id="s")
                given = {"decision": "d", "agent_id": "a", "session_id": "s"}
                user.call("GraftExperience", cwd=root, experience=given)
                user.call("CreateSession", cwd=root)
                user.call("OpenDashboard")
                user.end()
            finally:
                ended.set()
                watcher.join()
        for path, open_to in found.items():
            looked += 1
            yield Trial(f"{path} of daemon {number}", open_to)
            if looked == ground.count:
                return


def _watch_modes(folders: Sequence[str], found: dict[str, str], ended: threading.Event) -> None:
    """Look at everything below, again and again; note each path once, with what was ever wrong with it."""
    while not ended.is_set():
        for folder in folders:
            for base, below, files in os.walk(folder):
                for path in (os.path.join(base, name) for name in (*below, *files)):
                    try:
                        status = os.lstat(path)
                    except OSError:
                        continue
                    wrong = status.st_mode & 0o077 and not stat.S_ISLNK(status.st_mode)
                    said = f"mode {stat.S_IMODE(status.st_mode):o}" if wrong else ""
                    found[path] = found.get(path, "") or said
        time.sleep(0.001)


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


def keep_secrets(ground: Ground) -> Iterator[Trial]:
    """Put keys where people put them, use everything, and look for them in all that came out and is kept."""
    chance = random.Random(ground.seed)
    for start in range(0, ground.count, len(_PLACES)):
        with home(ground.folder / str(start), files=PROJECT) as user:
            secrets = {place: _key(chance) for place in _PLACES}
            said = _use_all(user, secrets)
            user.end()
            kept = _kept(user)
            for place, secret in list(secrets.items())[: ground.count - start]:
                found = (name for name, text in {**said, **kept}.items() if secret in text)
                where = [name for name in found if not any(one in name for one in _GIVEN.get(place, ()))]
                yield Trial(f"a key in {place}", f"it is in {where}" if where else "")


_PLACES = (
    "an environment file",
    "a private key",
    "code",
    "a document",
    "a rule",
    "a decision",
    "a buffer",
    "a prompt",
    "a set",
)

_GIVEN = {"a prompt": ("GetContext", "ExportRequests", "GetBuiltContext"), "a set": ("meta.json",)}
"""What a person says to the model is sent and recorded as it was said, what a client puts into its session
is kept as it was put: in files of the user alone, and masked in all that is made of it."""


def _key(chance: random.Random) -> str:
    """Return what looks like a key of a service."""
    letters = string.ascii_letters + string.digits
    length, prefix = chance.choice(((36, "ghp_"), (48, "sk-"), (24, "sk_live_"), (20, "glpat-")))
    return prefix + "".join(chance.choice(letters) for _ in range(length))


def _use_all(user: Home, secrets: dict[str, str]) -> dict[str, str]:
    """Use what shows texts, and return all that was answered, by method."""
    lines = "MIIEpAIBAAKCAQEA" + "x" * 20
    texts = {
        ".env": f"API_KEY={secrets['an environment file']}\n",
        "id_rsa": f"-----BEGIN RSA PRIVATE KEY-----\n{lines}{secrets['a private key']}\n",
        "shop/keys.py": f'def connect():\n    return client("{secrets["code"]}")\n',
        "docs/setup.md": f"# Setup\n\nRun it with `export TOKEN={secrets['a document']}`.\n",
        "CLAUDE.md": f"# Rules\n\nUse the key {secrets['a rule']} for tests.\n",
    }
    for name, text in texts.items():
        (user.project / name).parent.mkdir(exist_ok=True)
        (user.project / name).write_text(text)
    user.open_ready()
    root = str(user.project)
    buffer = f'def pay():\n    return client("{secrets["a buffer"]}")\n'
    given = {
        "decision": f"Call the service with {secrets['a decision']}", "agent_id": "a", "session_id": "s",
        "files_touched": ["shop/keys.py"], "rationale": f"token: {secrets['a decision']}",
    }  # fmt: skip
    focus = ["shop/keys.py", "docs/setup.md", ".env", "id_rsa", "shop/auth.py"]
    prompt = f"connect with the key {secrets['a prompt']}"
    entries = [f"https://example.org/?access_token={secrets['a set']}"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("CreateSession", {"cwd": root, "session_id": "s"}),
        ("SetRelevantContext", {"session_id": "s", "set_name": "urls", "items": entries}),
        ("GraftExperience", {"cwd": root, "experience": given}),
        ("NotifyFile", {"cwd": root, "path": "shop/auth.py", "event": "changed", "text": buffer}),
        ("GetContext", {"cwd": root, "focus_paths": focus, "session_id": "s", "prompt": prompt}),
        (
            "GetContext",
            {"cwd": root, "focus_paths": focus, "session_id": "s", "prompt": prompt, "format": "messages"},
        ),
        ("Query", {"cwd": root, "query": "connect client key"}),
        ("Query", {"cwd": root, "query": "setup export token"}),
        ("FindSymbols", {"cwd": root, "query": "connect"}),
        ("GetNode", {"cwd": root, "node_id": "shop/keys.py#connect"}),
        ("ListExperiences", {"cwd": root}),
        ("ListItems", {"cwd": root}),
        ("ListRequests", {"session_id": "s"}),
        ("ListContexts", {"cwd": root}),
        ("ExportRequests", {"session_id": "s", "content": True}),
        ("Status", {"cwd": root}),
    ]
    said: dict[str, str] = {}
    with user.client() as client:
        for number, (method, params) in enumerate(calls):
            try:
                said[f"{number} {method}"] = repr(client.call(method, params, 20))
            except RpcError as error:
                said[f"{number} {method}"] = error.message
        for context in client.call("ListContexts", {"cwd": root}, 20)["contexts"]:
            context_id = context["context_id"]
            said[f"GetBuiltContext {context_id}"] = repr(
                client.call("GetBuiltContext", {"context_id": context_id}, 20)
            )
        said.update(_pages(client))
    return said


def _pages(client: Client) -> dict[str, str]:
    """Return pages of the dashboard as a browser gets them that signed in."""
    import http.client
    import urllib.parse

    opened = client.call("OpenDashboard", {}, 20)
    address = urllib.parse.urlsplit(opened["address"])
    said = {}
    for path in (
        "/",
        "/contexts",
        "/sessions",
        "/sessions/s",
        "/knowledge",
        "/knowledge?kind=decisions",
        "/explore?q=connect",
    ):
        connection = http.client.HTTPConnection(address.netloc, timeout=20)
        connection.request("GET", path, headers={"Authorization": f"Bearer {opened['token']}"})
        answer = connection.getresponse()
        said[f"page {path} ({answer.status})"] = answer.read().decode(errors="replace")
        connection.close()
    return said


def _kept(user: Home) -> dict[str, str]:
    """Return the log, the pool, sessions and records as they lie on the disk. The index is left out: it holds
    the project's text, masked where it is shown."""
    return {
        str(path.relative_to(user.state)): path.read_bytes().decode("latin-1")
        for path in user.state.rglob("*")
        if path.is_file() and not {"lexical", "vectors"} & set(path.parts) and "index.sqlite" not in path.name
    }


PROMISE = Promise(
    8,
    "Only this user gets in, and no secret comes out",
    (
        Test(USERS, meet_strangers, 90, PROOF, 9),
        Test(MODES, look_at_modes, 1_000, PROOF, 60),
        Test(ESCAPES, lead_out, 5_000, PROOF, 100),
        Test(SECRETS, keep_secrets, 350, PROOF, 7),
    ),
)
