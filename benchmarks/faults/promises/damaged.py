"""Promise 2: a damaged file is never fatal and never silently dropped."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.paths import PathError

from ..damaging import CONTENT, KIND, SQL, Damage, a_file, files_below
from ..filled import DECISION, ITEM, SESSION, SESSION_FILES, fill, project_files, restore, snapshot
from ..home import PROJECT, Home, home
from ..promise import Ground, Promise, Test, Trial

STARTED = "a daemon started on each file damaged"
START_S = 20.0
SOCKETS = ("run/foveal/foveal.sock", "run/foveal/foveal-http.sock")


def start_on_damage(ground: Ground) -> Iterator[Trial]:
    """Damage one file of a used state folder, start a daemon on it and ask it; each file in each way, as far
    as the count allows."""
    chance = random.Random(ground.seed)
    kept = ground.folder / "kept"
    with home(ground.folder / "h", files={**PROJECT, **project_files()}) as user:
        fill(user)
        user.end()
        snapshot(user, kept)
        expected = _derived_answers(user)
        user.end()
        for number, (name, damage) in enumerate(_plan(kept, chance)):
            if number == ground.count:
                return
            restore(user, kept)
            path = user.folder / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            done = damage(path, chance)
            lost = ask_all(user, name)
            if not lost and any(part in name for part in DERIVED):
                found = _derived_answers(user)
                lost = [
                    f"{key} is {found.get(key)} and not {expected[key]}"[:600]
                    for key in expected
                    if found.get(key) != expected[key]
                ]
            user.kill_all()
            yield Trial(f"{name} {done}", "; ".join(lost))


DERIVED = ("index.sqlite", "/lexical/", "/at_work", "transcripts.db")
"""Files of which the project answers as before once it is indexed."""


def _derived_answers(user: Home) -> dict[str, Any]:
    """Return what the index answers once the project is ready; a daemon starts for it."""
    try:
        user.open_ready()
    except (DaemonUnavailable, OSError, PathError, RpcError, TimeoutError) as error:
        return {"error": str(error)}
    cwd = str(user.project)
    with user.client(START_S) as client:

        def ask(method: str, **params: Any) -> Any:
            try:
                return client.call(method, {"cwd": cwd, **params}, START_S)
            except (RpcError, ConnectionError) as error:
                return {"error": f"{method}: {error}"}

        hits = [ask("Query", query=text).get("results") for text in QUESTIONS]
        node = ask("GetNode", node_id="shop/auth.py#login")
        for of_the_moment in ("clock", "degraded", "elapsed_ms"):
            node.pop(of_the_moment, None)
        return {
            "files": sorted(str(hit["path"]) for found in hits for hit in found or []),
            **{f"node.{key}": value for key, value in sorted(node.items())},
        }


QUESTIONS = ("how does a session end", "login", "add up prices")


def _plan(kept: Path, chance: random.Random) -> list[tuple[str, Damage]]:
    """Return all files and folders with what is done to them, in a random order."""
    plan: list[tuple[str, Damage]] = [(name, damage) for name in SOCKETS for damage in KIND]
    for part in ("state", "config"):
        for path in files_below(kept / part):
            name = str(path.relative_to(kept))
            plan += [(name, damage) for damage in (*CONTENT, *KIND, *(SQL if _is_database(path) else ()))]
        folders = [path for path in (kept / part).rglob("*") if path.is_dir()]
        plan += [(str(path.relative_to(kept)), a_file) for path in folders]
    plan += [("project/foveal.toml", damage) for damage in (*CONTENT, *KIND)]
    chance.shuffle(plan)
    return plan


def _is_database(path: Path) -> bool:
    return path.read_bytes()[:16] == b"SQLite format 3\0"


def ask_all(user: Home, damaged: str) -> list[str]:
    """Start a daemon and ask it for everything; return what is wrong."""
    try:
        client = user.client(START_S)
    except (DaemonUnavailable, OSError, PathError) as error:
        return [f"the daemon doesn't start: {str(error)[:300]}"]
    with client:
        return _asked(user, client, damaged)


def _asked(user: Home, client: Client, damaged: str) -> list[str]:
    cwd = str(user.project)
    errors: dict[str, str] = {}

    def ask(method: str, **params: Any) -> Any:
        try:
            return client.call(method, params, START_S)
        except (RpcError, ConnectionError) as error:
            errors[method] = f"{method}: {error}"[:400]
            return {}

    context = ask("GetContext", cwd=cwd, session_id=SESSION, focus_paths=["shop/auth.py"],
                  prompt="How does login work?")  # fmt: skip
    wrong = [errors["GetContext"]] if "GetContext" in errors else []
    if context and "def login" not in context["context"]:
        wrong.append("the context lacks the file in focus")
    known = {
        "experiences.jsonl": DECISION in str(ask("ListExperiences", cwd=cwd)),
        "items.json": ITEM in str(ask("ListItems", cwd=cwd)),
        "trusted.json": "True" in str(ask("GetTrust", cwd=cwd)),
        "approvals.json": "'approved': True" in str(ask("ListToolServers", cwd=cwd, refresh=False)),
        "meta.json": list(SESSION_FILES)
        == ask("GetSession", session_id=SESSION).get("context", {}).get("files"),
    }
    status = ask("Status", cwd=cwd)
    said = " ".join((str(status), str(context.get("degraded")), user.log(), *errors.values()))
    pool = status["projects"][0]["pool"] if status.get("projects") else {}
    if pool.get("bad_lines") or pool.get("repaired_tails"):
        said += "experiences.jsonl"
    name = Path(damaged).name
    for owner, there in known.items():
        if there or (damaged == "project/foveal.toml" and owner == "trusted.json"):
            continue
        if not (name == owner or _holds(damaged, owner)):
            wrong.append(f"{owner} was whole and is lost ({errors})")
        elif name not in said and not _reads_as_edited(user.folder / damaged):
            wrong.append(f"{owner} was damaged and nobody says so")
    return wrong


def _reads_as_edited(path: Path) -> bool:
    """Whether a damaged file is one that a person could have written: docs/reliability.md says so."""
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except (OSError, ValueError):
        return False


def _holds(damaged: str, name: str) -> bool:
    """Whether a folder was replaced that a file of this name lies in."""
    above = {"experiences.jsonl": "projects", "items.json": "projects", "meta.json": "sessions"}
    return f"/{above.get(name, '?')}" in damaged and "." not in Path(damaged).name


PROMISE = Promise(
    2,
    "A damaged file is never fatal and never silently dropped",
    (Test(STARTED, start_on_damage, 300),),
)
