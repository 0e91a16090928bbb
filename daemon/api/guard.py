"""Applies the policies of agents to methods: which agents may call them, and which parts of a reply they see.

Replies are filtered by the names of their fields, whichever method answers, so that the same rules hold for
new methods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct, convert
from msgspec.structs import replace

from ..context.scopes import Scope, ScopeTable
from ..core.errors import FovealError, InvalidRequest, NotFound, PermissionDenied
from ..privacy.permissions import Agent, Permissions
from ..privacy.policy import Policy
from ..privacy.secret_values import may_hold_secrets
from ..project.open_projects import OpenProjects
from ..rules.items import ItemKey
from ..sessions.service import NOBODY, Sessions, SessionState
from . import method as methods
from .method import (
    AgentRequest,
    MethodRequest,
    ProjectRequest,
    ScopeRequest,
    SessionOrProjectRequest,
    SessionRequest,
    WireMap,
)

PATH_FIELDS = ("path", "node_id", "file")
"""Fields that name the file of a map; the whole map is removed if that file is hidden."""

SENT_FIELDS = ("context", "system_prompt", "user_prompt", "messages", "tools")
"""The texts of a recorded request."""

RequestT = TypeVar("RequestT", bound=MethodRequest)
ReplyT = TypeVar("ReplyT", bound=Struct)

_GONE = object()


class PolicyGuard:
    """Enforces policies on methods. On the event loop only."""

    def __init__(
        self, permissions: Permissions, projects: OpenProjects, scopes: ScopeTable, sessions: Sessions
    ) -> None:
        self._permissions = permissions
        self._projects = projects
        self._scopes = scopes
        self._sessions = sessions

    async def call(self, function: Callable[[RequestT], Awaitable[ReplyT]], request: RequestT) -> ReplyT:
        """Call a method from within the daemon for an agent, which gets the same reply as any client."""
        declared = methods.declaration_of(function)
        reply = self.answer(declared.policy, request, lambda: function(request))
        shown = await reply if isinstance(reply, Awaitable) else reply
        return convert(methods.wire_map(shown), _reply_type(function))

    def answer(
        self, policy: methods.Policy, request: MethodRequest, ask: Callable[[], methods.Answer]
    ) -> methods.Answer:
        """Answer a request within its agent's policy; `ask` calls the method."""
        if policy in {"own", "open"}:
            return ask()
        assert isinstance(request, AgentRequest)
        if policy == "list":
            return self._listed(request.agent, ask)
        return self._guarded(request, ask)

    async def _guarded(self, request: AgentRequest, ask: Callable[[], methods.Answer]) -> WireMap:
        """Answer a request about one project. Raises `PermissionDenied` before the method runs if the
        agent may not ask."""
        root, scope, session = await self._about(request)
        if not root:  # a session without a record: each of its requests names its project
            return await self._listed(request.agent, ask, session)
        policy = await self._permissions.at_root(root, request.agent, scope, session)
        sight = Sight(policy, root)
        try:
            reply = await _map_of(ask())
        except FovealError as error:
            raise _without_hidden(error, sight) from None
        denied = await self._permissions.denied_items(root, policy)
        sight = replace(sight, denied_items=_as_fields(denied))
        shown = await asyncio.to_thread(_shown, sight, reply)  # texts may have megabytes
        if any(isinstance(value, dict) and name not in shown for name, value in reply.items()):
            raise PermissionDenied(
                f"what this is about is hidden from this agent by {' and '.join(policy.rules)}"
            )
        return shown

    async def _listed(
        self, agent: Agent, ask: Callable[[], methods.Answer], session: SessionState = NOBODY
    ) -> WireMap:
        """Answer a request for a list over projects, or for a subject that names its project."""
        reply = await _map_of(ask())
        lists = [value for value in reply.values() if isinstance(value, list)]
        roots = {_root_of(entry) for entry in (reply, *(entry for value in lists for entry in value))} - {
            None
        }
        policies = {root: await self._permissions.of_root(root, agent, session) for root in roots if root}
        shown = await asyncio.to_thread(_visible_list, reply, policies)  # of thousands of entries
        if shown is None:
            raise NotFound("there is nothing of that kind that this agent may see")
        return shown

    async def _about(self, request: AgentRequest) -> tuple[str, Scope | None, SessionState]:
        """Return the root of a request's project, with its scope and session if any."""
        match request:
            case ScopeRequest(scope_id=scope_id):
                scope = self._scopes.get(scope_id)
                session = await self._sessions.find(scope.session_id) if scope.session_id else NOBODY
                return scope.root, scope, session
            case (
                SessionRequest(session_id=str(session_id))
                | SessionOrProjectRequest(session_id=str(session_id))
            ):
                session = await self._sessions.find(session_id)
                return session.session.project_root if session.session else "", None, session
            case ProjectRequest(cwd=str(cwd)) | SessionOrProjectRequest(cwd=str(cwd)):
                return await self._projects.root_of(cwd), None, NOBODY
        raise InvalidRequest("cwd is missing; it must be a string", "cwd")


def _reply_type(function: Callable[..., Awaitable[ReplyT]]) -> type[ReplyT]:
    """Return the reply type that a method declares."""
    bare = function.__func__  # type: ignore[attr-defined] # bound methods have it
    found: type[ReplyT] = bare.__globals__[bare.__annotations__["return"]]
    return found


async def _map_of(answer: methods.Answer) -> WireMap:
    return methods.wire_map(await answer if isinstance(answer, Awaitable) else answer)


def _visible_list(reply: WireMap, policies: Mapping[str, Policy | None]) -> WireMap | None:
    """Return a list without hidden entries, each under the policy of its project; None if all are hidden."""
    masks = may_hold_secrets(texts_in(reply))
    sights = {
        root: None if policy is None else Sight(policy, root, masks=masks)
        for root, policy in policies.items()
    }

    def left(entry: Any) -> Any:
        root = _root_of(entry)
        if root is None:
            return entry
        sight = sights[root]
        return None if sight is None or _is_hidden(sight, entry) else _shown(sight, entry)

    shown: WireMap | None = left(reply)
    if shown is None:
        return None
    for name, value in shown.items():
        if isinstance(value, list):
            shown[name] = [kept for entry in value if (kept := left(entry)) is not None]
    return shown


def _root_of(entry: Any) -> str | None:
    """Return the project that an entry names, or None."""
    root = entry.get("project") if isinstance(entry, dict) else None
    return root if isinstance(root, str) else None


def _shown(sight: Sight, reply: WireMap) -> WireMap:
    policy = sight.policy
    if any(name in reply for name in SENT_FIELDS) and "request_id" in reply:
        if policy.deny_paths or policy.deny_items:
            reply = without_texts(reply)
        sight = replace(sight, masks=False)  # sent texts were masked when they were sent
    elif isinstance(requests := reply.get("requests"), list):
        reply = {**reply, "requests": [_shown(sight, request) for request in requests]}
        sight = replace(sight, masks=False)
    return visible_reply(sight, reply)


def _as_fields(denied: frozenset[ItemKey]) -> frozenset[tuple[str, str, str]]:
    return frozenset((key.type, key.name, key.server_name) for key in denied)


def _without_hidden(error: FovealError, sight: Sight) -> FovealError:
    """Return an error of the same kind whose message names nothing hidden."""
    message = str(error)
    shown = sight.of_text(message)
    if shown == message:
        return error
    shown = shown or "this can't be answered for this agent: it would name what is hidden from it"
    if isinstance(error, InvalidRequest):
        return InvalidRequest(shown, error.field)
    return type(error)(shown)


# The visible part of a reply


class Sight(Struct, frozen=True):
    """An agent's view of a project: its policy, and the items hidden from it, as (type, name, server).

    With `masks` false texts stay as they were sent, masked or not.
    """

    policy: Policy
    root: str
    denied_items: frozenset[tuple[str, str, str]] = frozenset()
    masks: bool = True

    @property
    def changes_anything(self) -> bool:
        """Whether anything is hidden, or texts are to be masked."""
        return self.masks or bool(self.denied_items or self.policy.deny_paths or self.policy.deny_items)

    def of_text(self, text: str) -> str:
        """Return a text, empty if it names something hidden."""
        if self.hides_text(text):
            return ""
        return self.policy.mask(text) if self.masks else text

    def hides_text(self, text: str) -> bool:
        """Whether a text is, or contains, a hidden path or node id."""
        policy = self.policy
        if not policy.deny_paths:
            return False
        path = text.removeprefix(f"{self.root.rstrip('/')}/")
        return (
            policy.denies(path)
            or policy.denies(path.partition("#")[0])
            or policy.names_denied(text, self.root)
        )


def visible_reply(sight: Sight, reply: Mapping[str, Any]) -> WireMap:
    """Return the part of a reply that an agent may see. Fields keep their names and types: a text that names
    something hidden becomes empty, and list entries that do are removed, from `total` too."""
    if not sight.changes_anything:
        return dict(reply)
    found = _map(sight, reply)
    lists = [(name, value) for name, value in reply.items() if isinstance(value, list) and name in found]
    lost = sum(len(value) - len(found[name]) for name, value in lists)
    if lost and isinstance(total := reply.get("total"), int):
        found["total"] = max(total - lost, 0)
    return found


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value that would be masked, without field names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part)


def without_texts(reply: Mapping[str, Any]) -> WireMap:
    """Return a recorded request without its texts, which may show things that are hidden now."""
    found = {name: value for name, value in reply.items() if name not in SENT_FIELDS}
    if len(found) < len(reply):
        found["problem"] = "what was sent isn't given to an agent from whom something is hidden"
    return found


def _value(sight: Sight, value: Any) -> Any:
    """Return the visible part of a value, or `_GONE`."""
    if isinstance(value, str):
        return sight.of_text(value)
    if isinstance(value, Mapping):
        return _GONE if _is_hidden(sight, value) else _map(sight, value)
    if isinstance(value, list | tuple):
        kept = [part for part in value if not (isinstance(part, str) and sight.hides_text(part))]
        return [left for part in kept if (left := _value(sight, part)) is not _GONE]
    return value


def _map(sight: Sight, value: Mapping[str, Any]) -> WireMap:
    found: WireMap = {}
    for name, part in value.items():
        if isinstance(name, str) and sight.hides_text(name):
            continue
        shown = part
        if name == "tools" and isinstance(part, list) and isinstance(value.get("name"), str):
            shown = [tool for tool in part if not _is_denied_tool(sight, tool, value["name"])]
        left = _value(sight, shown)
        if left is not _GONE:
            found[name] = left
    return found


def _is_hidden(sight: Sight, value: Mapping[str, Any]) -> bool:
    """Whether the subject of a map (a file, an item, an experience) is hidden as a whole."""
    if any(isinstance(path := value.get(name), str) and sight.hides_text(path) for name in PATH_FIELDS):
        return True
    kind, name = value.get("type"), value.get("name")
    if isinstance(kind, str) and isinstance(name, str):
        server = value.get("server_name") or ""
        if (kind, name, server) in sight.denied_items or sight.policy.denies_item(kind, name, str(server)):
            return True
        if kind != "tool" and sight.hides_text(name):
            return True
    return _is_hidden_experience(sight, value)


def _is_hidden_experience(sight: Sight, value: Mapping[str, Any]) -> bool:
    decision, files = value.get("decision"), value.get("files_touched")
    if not isinstance(decision, str) or not isinstance(files, list | tuple):
        return False
    texts = [decision, value.get("rationale"), (value.get("outcome") or {}).get("error")]
    if any(isinstance(text, str) and sight.hides_text(text) for text in texts):
        return True
    return bool(files) and all(isinstance(path, str) and sight.hides_text(path) for path in files)


def _is_denied_tool(sight: Sight, tool: Any, server_name: str) -> bool:
    if not isinstance(tool, Mapping) or not isinstance(name := tool.get("name"), str):
        return False
    return sight.policy.denies_item("tool", name, server_name)
