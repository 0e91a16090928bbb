"""Promise 2: a damaged file is never fatal and never silently dropped."""

from __future__ import annotations

import json
import random
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.paths import PathError

from .. import damages, opening
from ..damaging import CONTENT, KIND, SQL, Damage, a_file, emptied, files_below, is_kept
from ..filled import DECISION, ITEM, SESSION, SESSION_FILES, fill, project_files, restore, snapshot
from ..home import PROJECT, Home, home, modes_count_command, wait_until
from ..opening import MAKERS, OPENERS
from ..promise import Ground, Promise, Test, Trial

STARTED = "a daemon started on each file damaged"
UNREADABLE = "a daemon started on each file unreadable"
OPENED = "stores opened on damaged files"
TABLE = "every kind of file damaged in every way, answers compared"
PAIRS = 204
"""Kinds of files times ways to damage them; 200 rounds of all are benchmarks/faults/damages.py itself."""
START_S = 20.0
SOCKETS = ("run/foveal/foveal.sock", "run/foveal/foveal-http.sock")


def start_on_damage(ground: Ground) -> Iterator[Trial]:
    """Damage one file of a used state folder, start a daemon on it and ask it; each file in each way, as far
    as the count allows."""
    chance = random.Random(ground.seed)
    kept = ground.folder / "kept"
    with home(ground.folder / "h", files={**PROJECT, **project_files()}) as user:
        fill(user, embedded=False)
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


DERIVED = ("index.sqlite", "/lexical/", "/at_work", "/cookies", "transcripts.db")
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


def start_on_unreadable(ground: Ground) -> Iterator[Trial]:
    """Take away all permissions of one file or folder, and start a daemon for which they count."""
    chance = random.Random(ground.seed)
    kept = ground.folder / "kept"
    with home(ground.folder / "h", files={**PROJECT, **project_files()}) as user:
        user.command = modes_count_command()
        fill(user, embedded=False)
        user.kill_all()
        snapshot(user, kept)
        names = [
            str(path.relative_to(kept)) for path in sorted((kept / "state").rglob("*")) if path.is_file()
        ]
        names += [
            str(path.relative_to(kept)) for path in sorted((kept / "state").rglob("*")) if path.is_dir()
        ]
        chance.shuffle(names)
        for number in range(ground.count):
            name = names[number % len(names)]
            restore(user, kept)
            (user.folder / name).chmod(0)
            lost = ask_all(user, name)
            user.kill_all()
            _make_readable(user.folder / name)
            yield Trial(f"{name} made unreadable", "; ".join(lost))


def _make_readable(path: Path) -> None:
    """Let a folder be removed again, whatever it is called by now."""
    for one in (path, *path.parent.glob(f"{path.name}.damaged-*")):
        if one.exists() and not one.is_symlink():
            one.chmod(0o700)


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
    # A pool that was emptied can't be told from one that was pruned or edited: docs/reliability.md says so.
    plan = [one for one in plan if not (one[0].endswith("/experiences.jsonl") and one[1] is emptied)]
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


def open_damaged(ground: Ground) -> Iterator[Trial]:
    """Damage one file of a store at a random place, and open it as a daemon does, in a process that may die
    of it. What can't be made anew must be somewhere, byte for byte as the damage left it."""
    chance = random.Random(ground.seed)
    whole = ground.folder / "whole"
    _make_whole(ground.folder / "h", whole)
    plan = [(kind, path) for kind in sorted(OPENERS) for path in files_below(whole / kind)]
    plan = [(kind, path) for kind, path in plan if not path.name.endswith((".lock", ".last.toml"))]
    opener = Opener()
    try:
        for number in range(ground.count):
            kind, path = plan[number % len(plan)]
            folder = ground.folder / f"t{number}"
            shutil.copytree(whole / kind, folder)
            damaged = folder / path.relative_to(whole / kind)
            before = damaged.read_bytes()
            done = chance.choice(CONTENT)(damaged, chance)
            after = damaged.read_bytes()
            wrong = opener.open(kind, folder) if before != after else ""
            if not wrong and kind in TRUTH and not is_kept(after, folder):
                wrong = "what was damaged isn't kept anywhere"
            yield Trial(f"{kind}: {damaged.name} {done}", wrong)
            wait_until(lambda folder=folder: _remove(folder))
    finally:
        opener.close()


def _remove(folder: Path) -> bool:
    """Remove a folder; False where threads of a lexical index that was closed still write into it."""
    try:
        shutil.rmtree(folder)
    except OSError:
        return not folder.exists()
    return True


TRUTH = frozenset({"session", "items", "trust", "version", "config"})
"""Kinds whose damaged file must be found as it was; a pool quarantines lines, and SQLite takes in its log."""


class Opener:
    """The process of `opening.py`, started again when it died."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def open(self, kind: str, folder: Path) -> str:
        """Open a store; returns what was wrong, "" for nothing."""
        process = self.process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # then it has ended, which reading says
            process.stdin.write(json.dumps([kind, str(folder)]) + "\n")
            process.stdin.flush()
        if not select.select([process.stdout], [], [], START_S)[0]:
            self.close()
            return "opening it took too long"
        line = process.stdout.readline()
        if not line:
            process.wait()
            self.close()
            return f"the process that opened it ended with {process.returncode}"
        answer: str = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", opening.__name__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self.process


def _make_whole(used: Path, whole: Path) -> None:
    """Make a folder of each kind with files as a daemon leaves them that was killed."""
    for kind, make in MAKERS.items():
        (whole / kind).mkdir(parents=True)
        make(whole / kind)
    with home(used, files={**PROJECT, **project_files()}) as user:
        fill(user, embedded=False)
        user.kill_all()
        for kind, pattern in (("requests", "requests.sqlite*"), ("index", "projects/*/index.sqlite*")):
            (whole / kind).mkdir()
            for path in user.state.glob(pattern):
                shutil.copy(path, whole / kind)


PROMISE = Promise(
    2,
    "A damaged file is never fatal and never silently dropped",
    (
        Test(STARTED, start_on_damage, 300, "tests/faults/test_damaged.py"),
        Test(UNREADABLE, start_on_unreadable, 60, "tests/faults/test_damaged.py"),
        Test(OPENED, open_damaged, 10_000, "tests/faults/test_damaged.py", 100),
        Test(TABLE, damages.try_damages, 20 * PAIRS, "tests/faults/test_damaged.py", PAIRS),
    ),
)
