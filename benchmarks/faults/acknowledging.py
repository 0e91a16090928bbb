"""Writers that change everything durable over the socket, and what each acknowledged: so that it can be
asked for again after a crash.

A writer works on things of its own, so that of each it knows what its value must be: the one acknowledged
last, or, where a request was under way when the daemon died, that one or the one before.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from foveal.daemon.core.system import System
from foveal.daemon.memory.records import ExperienceListing
from foveal.daemon.memory.service import Pool
from foveal.daemon.rules.service import ItemStore
from foveal.daemon.sessions.service import SessionStore
from foveal.ipc.client import Client

from .home import DEADLINE_S, Home

GONE = ""
"""The value of what isn't there."""


class History:
    """The values that each thing was given, by its key, with the times at which requests were sent and
    answered, for a look back from any moment."""

    def __init__(self) -> None:
        self.values: dict[str, set[str]] = {}
        """The values that each thing may have now."""
        self._events: list[tuple[float, float, str, str]] = []

    @property
    def begun(self) -> float:
        """When the first request was answered, in seconds since the epoch."""
        return self._events[0][1]

    @property
    def ended(self) -> float:
        """When the last one was answered."""
        return self._events[-1][1]

    @contextmanager
    def change(self, key: str, value: str) -> Iterator[None]:
        """Run a request that gives a thing a value: it may have it from now on, and must afterwards."""
        sent = time.time()
        self.values.setdefault(key, {GONE}).add(value)
        yield
        self.values[key] = {value}
        self._events.append((sent, time.time(), key, value))

    def know(self, key: str, value: str) -> None:
        """Note that a thing must have a value from now on."""
        self.values[key] = {value}
        self._events.append((time.time(), time.time(), key, value))

    def wrong_at(self, moment: float, found: dict[str, str]) -> list[str]:
        """Return what was lost of what had been acknowledged at a moment."""
        allowed: dict[str, set[str]] = {}
        for sent, answered, key, value in self._events:
            if answered <= moment:
                allowed[key] = {value}
            elif sent <= moment:
                allowed.setdefault(key, {GONE}).add(value)
        return [
            f"{key} is {found.get(key, GONE) or 'gone'!r:.80}, acknowledged: {sorted(values)!r:.160}"
            for key, values in allowed.items()
            if found.get(key, GONE) not in values
        ]


class Writer:
    """Changes things of its own by requests on a connection, at random by a seed."""

    def __init__(self, user: Home, name: str, names: Sequence[str], expected: History, seed: int) -> None:
        self.name = name
        self._names = names
        self._user = user
        self._expected = expected
        self._chance = random.Random(seed)
        self._number = 0
        self._experiences: list[str] = []

    def work(self, client: Client) -> None:
        """Make one change."""
        self._number += 1
        kinds: list[tuple[Callable[[Client], None], int]] = [
            (self._graft, 4), (self._edit, 3), (self._session, 4), (self._intent, 2), (self._session_item, 2),
            (self._put_item, 3), (self._tool_mode, 2), (self._trust, 1), (self._approve, 1),
        ]  # fmt: skip
        weights = [weight for _, weight in kinds]
        self._chance.choices([kind for kind, _ in kinds], weights)[0](client)

    def _call(self, client: Client, method: str, **params: Any) -> Any:
        return client.call(method, params, DEADLINE_S)

    @property
    def _cwd(self) -> str:
        return str(self._user.project)

    def _graft(self, client: Client) -> None:
        decision = f"{self.name} {self._number}"
        rationale = "why " * self._chance.randrange(200)
        experience = {"decision": decision, "agent_id": self.name, "session_id": "s", "rationale": rationale}
        with self._expected.change(f"experience:{decision}", "kept"):
            reply = self._call(client, "GraftExperience", cwd=self._cwd, experience=experience)
        (experience_id,) = reply["experience_ids"]
        self._expected.know(f"edit:{experience_id}", rationale.strip())
        self._experiences.append(experience_id)

    def _edit(self, client: Client) -> None:
        if not self._experiences:
            return self._graft(client)
        one = self._chance.choice(self._experiences)
        if self._chance.random() < 0.7:
            rationale = f"edited {self._number}"
            with self._expected.change(f"edit:{one}", rationale):
                self._call(client, "UpdateExperience", cwd=self._cwd, experience_id=one, rationale=rationale)
        else:
            self._experiences.remove(one)
            with self._expected.change(f"deleted:{one}", "deleted"):
                self._call(client, "DeleteExperience", cwd=self._cwd, experience_id=one)
        return None

    @property
    def _has_session(self) -> bool:
        return self._expected.values.get(f"session:{self.name}") == {"made"}

    def _session(self, client: Client) -> None:
        if not self._has_session:
            with self._expected.change(f"session:{self.name}", "made"):
                self._call(client, "CreateSession", cwd=self._cwd, session_id=self.name)
        path = f"/srv/{self.name}/{self._number}.py"
        with self._expected.change(f"context:{self.name}", path):
            self._call(client, "SetRelevantContext", session_id=self.name, set_name="files", items=[path])

    def _intent(self, client: Client) -> None:
        if self._has_session:
            intent = f"intent {self._number}"
            with self._expected.change(f"intent:{self.name}", intent):
                self._call(client, "UpdateSession", session_id=self.name, current_intent=intent)

    def _session_item(self, client: Client) -> None:
        item = {"type": "rule", "name": f"item {self.name}"}
        if self._has_session and self._expected.values.get(f"item:{self.name}", {GONE}) != {GONE}:
            key = f"session_item:{self.name}"
            if self._expected.values.get(key) == {"in"}:
                with self._expected.change(key, GONE):
                    self._call(client, "RemoveSessionItem", session_id=self.name, **item)
            else:
                with self._expected.change(key, "in"):
                    self._call(client, "AddSessionItem", session_id=self.name, **item)

    def _put_item(self, client: Client) -> None:
        text = f"text {self._number} " * self._chance.randrange(1, 40)
        item = {"type": "rule", "name": f"item {self.name}", "text": text, "include": "manual"}
        with self._expected.change(f"item:{self.name}", text.strip()):
            self._call(client, "PutItem", cwd=self._cwd, item=item)

    def _tool_mode(self, client: Client) -> None:
        mode = self._chance.choice(("always", "manual", "agent"))
        with self._expected.change(f"mode:{self.name}", mode):
            self._call(client, "SetToolMode", cwd=self._cwd, server_name=self.name, include=mode)

    def _trust(self, client: Client) -> None:
        """Trust a template of its own, whose text is new each time."""
        path = f".foveal/templates/{self.name}.j2"
        full = self._user.project / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(f"{{# {self._number} #}}")
        files = self._call(client, "GetTrust", cwd=self._cwd)["files"]
        (digest,) = [file["digest"] for file in files if file["path"] == path]
        with self._expected.change(f"trust:{path}", digest):
            self._call(client, "Trust", cwd=self._cwd, files=[{"path": path, "digest": digest}])

    def _approve(self, client: Client) -> None:
        """Approve the servers of all writers, in a definition that is new each time; the first one does."""
        if not self.name.endswith("0"):
            return self._trust(client)
        write_servers(self._user.project, self._names, self._number)
        for file in self._call(client, "ListToolServers", cwd=self._cwd, refresh=False)["files"]:
            if file["path"] == str(self._user.project / SERVERS):
                with self._expected.change("approval:", file["digest"]):
                    self._call(
                        client, "ApproveToolServers", cwd=self._cwd, path=file["path"], digest=file["digest"]
                    )
        return None


SERVERS = ".mcp.json"


def write_servers(project: Path, names: Sequence[str], number: int) -> None:
    """Configure a server for each writer; another number is another definition."""
    servers = {name: {"command": "/bin/false", "args": [str(number)]} for name in names}
    new = project / f"{SERVERS}.new"
    new.write_text(json.dumps({"mcpServers": servers}))
    new.replace(project / SERVERS)


def _read_experiences(user: Home) -> dict[str, str]:
    """Read the experiences of the project in this process, as a daemon does that opens it."""
    found: dict[str, str] = {}
    for path in user.state.glob("projects/*/experiences.jsonl"):
        pool = Pool(str(path), System(), root=str(user.project))
        for deleted in (False, True):
            for one in pool.list(ExperienceListing(deleted=deleted))[0]:
                found |= {f"experience:{one.decision}": "kept", f"edit:{one.id}": one.rationale}
                found |= {f"deleted:{one.id}": "deleted"} if deleted else {}
    return found


def read_values(user: Home, names: Sequence[str]) -> dict[str, str]:
    """Read the value of everything that writers of these names change, by its key, with the stores of the
    daemon, as the next one opens them."""
    found = _read_experiences(user) | _read_rest(user)
    for path in user.state.glob("projects/*/items.json"):
        for key, draft in ItemStore(str(path), System()).load().drafts.items():
            found[f"item:{key.name.removeprefix('item ')}"] = (draft.text or "").strip()
    store = SessionStore(str(user.state / "sessions"), System())
    for name in names:
        session = store.find(name)
        if session is not None:
            found[f"session:{name}"] = "made"
            found[f"context:{name}"] = "".join(session.context.get("files", ()))
            found[f"intent:{name}"] = session.current_intent
            own = any(item.key.name == f"item {name}" for item in session.items)
            found[f"session_item:{name}"] = "in" if own else GONE
    return found


def _read_rest(user: Home) -> dict[str, str]:
    """Read what no method tells as it was given: modes of servers that were never listed, and the last
    digests that were trusted and approved, whatever the files say by now."""
    found = {}
    for path in user.state.glob("projects/*/items.json"):
        for name, modes in json.loads(path.read_bytes()).get("tool_modes", {}).items():
            found[f"mode:{name}"] = modes.get("default", GONE)
    for path in user.state.glob("trusted.json"):
        for files in json.loads(path.read_bytes())["trusted"].values():
            found |= {f"trust:{name}": digests[-1] for name, digests in files.items()}
    for path in user.state.glob("approvals.json"):
        found["approval:"] = json.loads(path.read_bytes())["approved"][-1]["digest"]
    return found
