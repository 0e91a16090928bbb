"""A project with something hidden in every field, and for each method the requests that could tell of it.

Four kinds of agents ask: `lead` may see all, paths are hidden from `reader`, items from `clerk`, and `stranger`
is not allowed. What is hidden is named by words that stand nowhere else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foveal.ipc.errors import NOT_FOUND, UNSUPPORTED, RpcError

from tests.conftest import DEADLINE_S, DaemonProcess, git, write_files
from tests.server_cases import RAW_SERVER

Params = dict[str, Any]

LIMITED = ("reader", "clerk", "stranger")
PATH_WORDS = ("quokka", "numbat")
"""Words in the names and the contents of files that are hidden from `reader`, and in what others said."""
ITEM_WORDS = ("quoll", "dingo", "tool0")
"""Words of the items that are hidden from `clerk`, also in what others said."""
HIDDEN_FROM: Mapping[str, tuple[str, ...]] = {
    "lead": (),
    "reader": PATH_WORDS,
    "clerk": ITEM_WORDS,
    "stranger": (*PATH_WORDS, *ITEM_WORDS, "ledger"),
}

FILES: Mapping[str, str] = {
    "foveal.toml": """
[agents.reader]
deny_paths = ["secret/**"]
[agents.clerk]
deny_items = ["rule:quoll", "tool"]
[agents.stranger]
allow = false
[[items]]
type = "rule"
name = "quoll"
include = "agent"
description = "dingo rules for the ledger"
text = "Follow the dingo in the ledger."
[[items]]
type = "rule"
name = "dingo"
[[items]]
type = "reference"
name = "style"
text = "Write short lines about ledgers."
""",
    "src/app.py": '"""Open the ledger."""\nfrom secret import thing\n\n\ndef helper():\n'
    '    """Help with the ledger."""\n    return 1\n\n\ndef run():\n    return thing() + helper()\n',
    "src/other.py": "from src.app import helper\n\n\ndef work():\n    return helper()\n",
    "secret/__init__.py": "from .quokka import Numbat as thing\n",
    "secret/quokka.py": '"""The numbat ledger of the treasure chamber."""\nfrom src.app import helper\n\n\n'
    'class Numbat:\n    """Count the treasure."""\n\n    def numbat_total(self):\n        return helper()\n',
    "secret/AGENTS.md": "Always feed the numbat before the ledger.\n",
    "AGENTS.md": "Keep the ledger tidy.\n",
    "README.md": "# Ledger\n\nSee the code.\n",
    "server.py": RAW_SERVER.replace("page{cursor}", "tool{cursor}"),
}

SAID = "the numbat and the dingo of the ledger"
"""What others said: a prompt, the name of a session and so on. It names no path."""

UNANSWERED = {
    "SetEmbedding": UNSUPPORTED,
    "PushEmbeddings": UNSUPPORTED,
    "AdoptExperiences": NOT_FOUND,
}
"""Methods that get as far as saying what is missing here: embedding, which this daemon has off, and a former
project of the repository."""


SEEN_ANYWAY = ("last_observed", "last_idle", "revision")
"""Fields of a session that change with its use."""


class LinkerView:
    """A daemon with the project, and what `lead` and the user did in it."""

    def __init__(self, daemon: DaemonProcess, folder: Path) -> None:
        self.daemon = daemon
        self.number = 0
        root = write_files(folder / "ledger", FILES)
        command = {"command": sys.executable, "args": [str(root / "server.py"), "pages"]}
        write_files(root, {".mcp.json": json.dumps({"mcpServers": {"raw": command}})})
        empty = ("commit", "-q", "--allow-empty", "-m", "Nothing")
        for arguments in (("init", "-q"), empty, ("add", "-Af", "."), ("commit", "-qm", "Begin")):
            git(root, *arguments)
        self.root, self.own = str(root), {"cwd": str(root)}
        daemon.open_ready(root)
        self._fill()

    def call(self, method: str, **fields: Any) -> Any:
        return self.daemon.call(method, **fields)

    def lead(self, method: str, **fields: Any) -> Any:
        return self.call(method, **fields, agent_name="lead")

    def _fill(self) -> None:
        self.session = self.new_session("of-lead")["session_id"]
        self.lead("AddSessionItem", session_id=self.session, type="rule", name="quoll")
        self.call("NotifyFile", **self.own, path="secret/quokka.py", event="opened")
        self.scope, self.users_scope = self.new_scope(), self.new_scope("")
        self.childrens_scopes = [self.child_scope(agent) for agent in LIMITED[:2]]
        context = self.lead(
            "GetContext",
            **self.own,
            session_id=self.session,
            prompt=SAID,
            focus_paths=["secret/quokka.py", "src/app.py"],
            include_items=[{"type": "rule", "name": "quoll"}],
        )
        self.request, self.context = context["request_id"], context["context_id"]
        self.report()
        self.event("UserPromptSubmit", self.session, prompt=SAID)
        self.hidden = self.graft("Feed the numbat daily", ["secret/quokka.py"])
        self.mixed = self.graft("Tidy the ledger", ["secret/quokka.py", "src/app.py"])
        self.named = self.graft("Make quokka.py shorter", ["secret/quokka.py", "src/app.py"])
        self.open = self.graft("Sort the ledger", ["src/app.py"])
        self.deleted = self.graft("Starve the numbat", ["secret/quokka.py"])
        self.lead("DeleteExperience", **self.own, experience_id=self.deleted)
        self.edited = self.graft("Count the ledger", ["secret/quokka.py", "src/app.py"])
        for decision in ("Shorten quokka.py", "Shorten the ledger"):
            self.lead("UpdateExperience", **self.own, experience_id=self.edited, decision=decision)
        [pool] = self.daemon.state.rglob("experiences.jsonl")
        with pool.open("a") as file:
            file.write('{"decision": "of the numbat and the dingo\n')
        self.call("NotifyFile", **self.own, path="secret/quokka.py", event="changed", text=HIDDEN_TEXT)
        file = self.call("ListToolServers", **self.own, refresh=False)["files"][0]
        self.approval = {name: file[name] for name in ("path", "section", "digest")}
        self.call("ApproveToolServers", **self.own, **self.approval)
        self.call("ListToolServers", **self.own)
        self.access = self.call("OpenDashboard", login=False)["token"]

    def report(self) -> None:
        """Report that the request of the lead was of use, with what is hidden."""
        self.lead(
            "ReportReply",
            session_id=self.session,
            request_id=self.request,
            reply="I changed secret/quokka.py and src/app.py as quoll says",
            used=[{"type": "rule", "name": "quoll"}],
        )

    def new_name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}-{self.number}"

    def new_session(self, session_id: str, agent: str = "lead") -> Any:
        """Begin a session of an agent, which says something in each field."""
        self.call("CreateSession", **self.own, session_id=session_id, name=SAID, agent_name=agent)
        return self.call(
            "UpdateSession",
            session_id=session_id,
            current_intent=SAID,
            env_hint=SAID,
            agent_name=agent,
            context={"files": [f"{self.root}/secret/quokka.py", f"{self.root}/src/app.py"], "notes": [SAID]},
        )

    def new_scope(self, agent: str = "lead") -> str:
        """Make a scope of an agent that no other request has."""
        scope: str = self.call(
            "GetContext",
            **self.own,
            focus_paths=["secret/quokka.py", "src/app.py"],
            constraints=["keep off secret/quokka.py", f"keep off {SAID}", self.new_name("constraint")],
            agent_name=agent,
        )["scope_id"]
        return scope

    def child_scope(self, agent: str) -> str:
        """Make a scope of a limited agent in the session of the lead."""
        asked = {"session_id": self.session, "prompt": "the ledger", "agent_id": "child", "agent_name": agent}
        scope: str = self.call("GetContext", **self.own, **asked)["scope_id"]
        return scope

    def graft(self, decision: str, files: list[str], agent: str = "lead") -> str:
        """Graft a decision of an agent and return its id."""
        decision = f"{decision}, {self.new_name('step')}"  # equal ones are grafted once
        experience = {"decision": decision, "agent_id": agent, "session_id": "s", "files_touched": files}
        found = self.call("GraftExperience", **self.own, experience=experience, agent_name=agent)
        [identifier] = found["experience_ids"]
        return str(identifier)

    def event(self, name: str, session: str, **fields: Any) -> Any:
        """Return the parameters of HookEvent for an event of Codex, after it was sent for nobody in
        particular."""
        return self.call("HookEvent", **self.hook(name, session, **fields))

    def hook(self, name: str, session: str, **fields: Any) -> Params:
        """Return the parameters of HookEvent for an event of Codex."""
        payload = {"hook_event_name": name, "session_id": session, "cwd": self.root, **fields}
        return {"host": "codex", "payload": payload}

    def state(self) -> dict[str, Any]:
        """Return what others have in the project and the daemon: no limited agent may change it."""
        sessions = [
            {name: value for name, value in one.items() if name not in SEEN_ANYWAY}
            for one in self.call("ListSessions", **self.own)["sessions"]
            if one["agent_name"] not in LIMITED
        ]
        scopes = self.call("ListScopes", **self.own)["scopes"]
        experiences = [
            one
            for deleted in (False, True)
            for one in self.call("ListExperiences", **self.own, deleted=deleted, limit=1000)["experiences"]
            if one["agent_id"] not in LIMITED
        ]
        timeline = self.call("GetTimeline", session_id=self.session)["entries"]
        ignored = Path(self.root, ".fovealignore")
        return {
            "sessions": sorted(sessions, key=lambda one: str(one["session_id"])),
            "scopes": sorted(
                (
                    one["scope_id"],
                    one["focus_paths"],
                    one["expanded"],
                    one["constraints"],
                    one.get("agent_name"),
                )
                for one in scopes
                if one.get("agent_name") not in LIMITED
            ),
            "experiences": [{**one, "marks": None} for one in experiences],
            "quarantine": self.call("ListQuarantine", **self.own),
            "items": self.call("ListItems", **self.own)["items"],
            "timeline": [one for one in timeline if one.get("agent_name") not in {"lead", ""}],
            "ignored": ignored.read_text() if ignored.exists() else "",
            "unsaved": self.call("GetNode", **self.own, node_id="secret/quokka.py")["definition"],
            "trust": self.call("GetTrust", **self.own)["files"],
            "servers": [
                {**one, "servers": None}
                for one in self.call("ListToolServers", **self.own, refresh=False)["files"]
            ],
            "projects": [one["root"] for one in self.call("ListProjects")["projects"]],
            "dashboard": self.call("CheckDashboard", token=self.access)["allowed"],
            "daemon": self.daemon.pid,
        }


HIDDEN_TEXT = '"""Unsaved words of the numbat ledger."""\n\n\nclass Numbat:\n    """Not saved."""\n'

Make = Callable[[LinkerView], list[Params]]


def _each(name: str, *values: str) -> Callable[[LinkerView], list[Params]]:
    return lambda world: [{**world.own, name: value} for value in values]


def _session(**fields: Any) -> Make:
    """Return a maker of a request about a new session of the lead's."""
    return lambda world: [{"session_id": world.new_session(world.new_name("s"))["session_id"], **fields}]


def _trust(world: LinkerView) -> list[Params]:
    files = world.call("GetTrust", **world.own)["files"]
    return [{**world.own, "files": [{"path": one["path"], "digest": one["digest"]} for one in files]}]


def _contexts(world: LinkerView) -> list[Params]:
    focus = [["secret"], ["src/app.py"], ["**/*.py"], ["src/app.py#run"], ["secret/__init__.py#thing"]]
    own = {"max_tokens": 2900}
    return [
        *({**world.own, "focus_paths": paths, "prompt": "treasure", **own} for paths in focus),
        *(
            {"scope_id": world.scope, "format": form, **own}
            for form in ("markdown", "json", "messages", "prompts")
        ),
        *({"scope_id": scope, "prompt": "ledger"} for scope in (world.users_scope, world.scope)),
        {
            "scope_id": world.scope,
            "focus_paths": ["src/other.py"],
            "constraints": ["mine"],
            "task_type": "mine",
        },
        {**world.own, "session_id": world.session, "prompt": "the ledger", "focus_paths": ["src/other.py"]},
        {**world.own, "focus_paths": ["src/app.py"], "include_items": [{"type": "rule", "name": "quoll"}]},
    ]


def _ids(*names: str) -> Make:
    return lambda world: [{**world.own, "experience_id": getattr(world, name)} for name in names]


def _victims(*decisions: tuple[str, list[str]]) -> Callable[[LinkerView], list[str]]:
    return lambda world: [world.graft(decision, files) for decision, files in decisions]


_new_decisions = _victims(
    ("Feed the numbat", ["secret/quokka.py"]),
    ("Mind the ledger", ["secret/quokka.py", "src/app.py"]),
    ("Close the ledger", ["src/app.py"]),
)


def _decisions(**fields: Any) -> Make:
    return lambda world: [{**world.own, "experience_id": one, **fields} for one in _new_decisions(world)]


def _deleted(world: LinkerView) -> list[Params]:
    found = _new_decisions(world)
    for one in found:
        world.lead("DeleteExperience", **world.own, experience_id=one)
    return [{**world.own, "experience_id": one} for one in found]


QUERIES = (
    "treasure chamber count",
    "who calls helper",
    "callees of run",
    "references to helper",
    "what does src/app.py import",
    "who imports src/app.py",
    "impact of changing helper",
    "unused functions",
    "import cycles",
    "the ledger",
)

REQUESTS: Mapping[str, Make] = {
    "Ping": lambda world: [{}],
    "GetContext": _contexts,
    "PrepareContext": lambda world: [{**world.own, "focus_paths": ["secret"]}],
    "ListContexts": lambda world: [world.own, {}, {"session_id": world.session}],
    "GetBuiltContext": lambda world: [{"context_id": world.context}],
    "ExplainPath": lambda world: [
        {"context_id": world.context, "path": path} for path in ("src/app.py", "secret/__init__.py")
    ],
    "Query": lambda world: [
        *({**world.own, "query": query, "limit": 50} for query in QUERIES),
        {**world.own, "query": "ledger", "path_prefix": "secret/"},
        {"scope_id": world.scope, "query": "ledger"},
    ],
    "FindSymbols": _each("query", "t", "thing", "run"),
    "FindFiles": _each("query", "e", ".py", "secret/q"),
    "GetChanges": _each("range", "", "HEAD..HEAD~1"),
    "GetNode": _each("node_id", "src/app.py", "src/app.py#run", "src/app.py#helper", "secret/__init__.py"),
    "ExpandFocus": lambda world: [
        {"scope_id": world.new_scope(), "paths": ["secret/AGENTS.md", "README.md"]}
    ],
    "ContractFocus": lambda world: [{"scope_id": world.new_scope(), "paths": ["secret/quokka.py"]}],
    "ReleaseScope": lambda world: [{"scope_id": world.new_scope()}],
    "GetScope": lambda world: [
        {"scope_id": world.scope},
        {"scope_id": world.scope, "layers": True, "turns": 3},
        *({"scope_id": scope} for scope in world.childrens_scopes),
    ],
    "ListScopes": lambda world: [{}, world.own],
    "OpenProject": lambda world: [{"path": world.root}, world.own],
    "CloseProject": lambda world: [{"path": world.root}],
    "ListProjects": lambda world: [{}],
    "ForgetProject": lambda world: [{"path": world.root, "dry_run": True}, {"path": world.root}],
    "ExcludePath": lambda world: [
        {**world.own, "path": "secret/notes", "excluded": True},
        {**world.own, "path": "docs", "excluded": True},
    ],
    "ReindexProject": lambda world: [{"path": world.root}],
    "NotifyFile": lambda world: [
        {**world.own, "path": "secret/quokka.py", "event": "changed", "text": "overwritten = 1\n"}
    ],
    "SetEmbedding": lambda world: [{"paused": True}],
    "PushEmbeddings": lambda world: [world.own],
    "GetTrust": lambda world: [world.own],
    "Trust": _trust,
    "RevokeTrust": lambda world: [world.own],
    "CreateSession": lambda world: [{**world.own, "session_id": world.new_name("new"), "name": "mine"}],
    "GetSession": lambda world: [{"session_id": world.session}],
    "ListSessions": lambda world: [{}, world.own],
    "UpdateSession": _session(name="t"),
    "ResumeSession": lambda world: [{"session_id": world.session}],
    "EndSession": _session(),
    "AddSessionItem": _session(type="rule", name="AGENTS.md"),
    "RemoveSessionItem": _session(type="rule", name="AGENTS.md"),
    "SetRelevantContext": _session(set_name="notes", items=["mine"], mode="merge"),
    "GetRelevantContext": lambda world: [
        {"session_id": world.session},
        {"session_id": world.session, "set_name": "notes"},
    ],
    "ListRequests": lambda world: [{"session_id": world.session}],
    "GetRequest": lambda world: [{"session_id": world.session, "request_id": world.request}],
    "ExportRequests": lambda world: [
        {"session_id": world.session, "content": True},
        {**world.own, "content": True},
    ],
    "ReportReply": lambda world: [
        {"session_id": world.session, "request_id": world.request, "reply": "see src/app.py and AGENTS.md"}
    ],
    "GetTimeline": lambda world: [{"session_id": world.session}],
    "GetUsage": lambda world: [
        {"by": by, **fields}
        for by in ("day", "project", "session", "host", "type")
        for fields in ({}, world.own)
    ],
    "ListItems": lambda world: [world.own],
    "PutItem": lambda world: [
        {
            **world.own,
            "item": {"type": "rule", "name": world.new_name("put"), "include": "always", "text": "x"},
        }
    ],
    "DeleteItem": lambda world: [{**world.own, "type": "rule", "name": _put(world)}],
    "SetToolMode": lambda world: [{**world.own, "server_name": "raw", "include": "manual"}],
    "SearchItems": lambda world: [
        {**world.own, "query": "rules of the ledger", "floor": -1, "include_score": -1}
    ],
    "GetItemUsage": lambda world: [world.own],
    "ListToolServers": lambda world: [world.own],
    "ApproveToolServers": lambda world: [{**world.own, **world.approval}],
    "RevokeToolServers": lambda world: [{**world.own, "path": world.approval["path"]}],
    "GraftExperience": lambda world: [
        {
            **world.own,
            "experience": {
                "decision": "Go on",
                "agent_id": "reader",
                "session_id": "s",
                "files_touched": files,
            },
        }
        for files in (["src/other.py"],)
    ],
    "ListExperiences": lambda world: (
        [{**world.own, **fields} for fields in ({}, {"limit": 1}, {"query": "ledger"}, {"deleted": True})]
        + [{**world.own, "all_worktrees": True}]
    ),
    "GetExperience": _ids("hidden", "mixed", "named", "open", "edited"),
    "UpdateExperience": _decisions(rationale="changed"),
    "DeleteExperience": _decisions(),
    "RestoreExperience": _deleted,
    "PruneExperiences": lambda world: [
        {**world.own, "max_count": 0, "dry_run": True},
        {**world.own, "irrelevant": True},
        {**world.own, "deleted": True},
    ],
    "AdoptExperiences": lambda world: [{**world.own, "path": "/old", "never": True}],
    "ListQuarantine": lambda world: [world.own],
    "GetFeedback": lambda world: [world.own],
    "ClearFeedback": lambda world: [world.own],
    "HookEvent": lambda world: [
        world.hook("SessionStart", world.session, source="resume"),
        world.hook("UserPromptSubmit", world.session, prompt="what of the ledger?"),
        world.hook("SessionEnd", world.session, reason="exit"),
    ],
    "ListHosts": lambda world: [{}],
    "Status": lambda world: [{}, world.own],
    "Subscribe": lambda world: [{"topics": ["project.changed"]}],
    "GetMetrics": lambda world: [{}, {"history": "hour"}],
    "OpenDashboard": lambda world: [{}, {"login": False}],
    "CheckDashboard": lambda world: [{"token": "no"}],
    "RevokeDashboard": lambda world: [{}],
    "Shutdown": lambda world: [{}],
}
"""For each method what it is asked, as cunningly as can be. A request may make what it asks about anew."""

LAST = (
    "RevokeTrust",
    "ClearFeedback",
    "RevokeToolServers",
    "PruneExperiences",
    "RevokeDashboard",
    "CloseProject",
    "ForgetProject",
    "Shutdown",
)
"""Methods after whose success not much is left."""


def _put(world: LinkerView) -> str:
    name = world.new_name("put")
    item = {"type": "rule", "name": name, "include": "manual", "text": "x"}
    world.call("PutItem", **world.own, item=item)
    return name


def ask(world: LinkerView, method: str, fields: Params) -> tuple[str, Any]:
    """Return a reply with an empty code, or an error's code with its message and data."""
    with world.daemon.client() as client:
        try:
            return "", client.call(method, fields, DEADLINE_S)
        except RpcError as error:
            return error.code, [str(error), error.data]


def words_in(reply: Any, request: Params, words: tuple[str, ...]) -> list[str]:
    """Return which of some words a reply has that the request hasn't."""
    text, asked = (json.dumps(one, ensure_ascii=False, default=repr).lower() for one in (reply, request))
    return [
        f"{word} in …{text[max(text.find(word) - 60, 0) : text.find(word) + 30]}…"
        for word in words
        if word in text and word not in asked
    ]
