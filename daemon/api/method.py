"""Declarations of the wire's methods: name, policy, and the types of request and reply."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from ..access.records import Agent
from ..config.linked import LinkedProject
from ..core.errors import InvalidRequest
from ..core.parameters import LIST_MAX, NonEmpty
from ..project.service import relative_path
from ..rules.records import ItemKey
from ..rules.service import key_in
from .marks import KindOfItem, NameOfItem, RecordOf, Server, shape_of

Policy = Literal[
    "open",
    "own",
    "project",
    "scope",
    "session",
    "session or project",
    "list",
    "user's project",
    "user's folder",
    "daemon",
]
"""How the policy of a request is found. `open`: there is none, the reply is the same for everyone. `own`: the
method applies the caller's policy itself. `project`, `scope` and `session`: the subject of the request, whose
policy filters the reply. `list`: entries of several projects, each under the policy of its own. `user's
project`, `user's folder` (a project named by its path) and `daemon` (as a whole): as `project` and `list` for
a named agent; who names none is the user, for whom there is no policy."""

FOR_USERS: frozenset[Policy] = frozenset(("user's project", "user's folder", "daemon"))
"""Policies that hold for named agents only."""

Access = Literal["anyone", "read", "add", "own", "person"]
"""What an agent may do by a method if paths or items are hidden from it. `anyone`: all of it, also an agent
that isn't allowed. `read`: read what it may see. `add`: add what names nothing hidden. `own`: change what is
its own, or of an agent that sees no more. `person`: nothing; it is for the user and agents that see all."""

DEADLINE_MAX_MS = 600_000

Deadline = Annotated[int, Meta(ge=0, le=DEADLINE_MAX_MS)]
"""Milliseconds after which the answer is of no use."""


class MethodRequest(Struct, frozen=True, kw_only=True):
    """The parameters of a method."""


class AgentRequest(MethodRequest, frozen=True, kw_only=True):
    """A request that names the agent asking."""

    agent_name: str = ""
    agent_type: str = ""

    @property
    def agent(self) -> Agent:
        """Return the agent as named in the request."""
        return Agent.of(self.agent_name, self.agent_type)


class DaemonRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about the daemon as a whole, or what it does for the project around a folder."""

    cwd: str | None = None


class FolderRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about the project that a path names."""

    path: str | None = None

    @property
    def inside(self) -> str | None:
        """A folder whose project the request is about instead, if it names one."""
        return None


class ProjectRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about the project around a folder."""

    cwd: str


class ScopeRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a scope."""

    scope_id: str


class SessionRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a session."""

    session_id: NonEmpty


class SessionOrProjectRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a session if it names one, else about a project."""

    session_id: NonEmpty | None = None
    cwd: str | None = None


class ItemFields(Struct, frozen=True):
    """An item in a request."""

    type: str = ""
    name: str = ""
    server_name: str = ""

    def key(self, prefix: str) -> ItemKey:
        """Return the item's key. Raises `InvalidRequest` that names the field, prefixed with `prefix`."""
        return key_in({"type": self.type, "name": self.name, "server_name": self.server_name}, prefix)


class ItemName(Struct, frozen=True):
    """An item in a reply."""

    type: KindOfItem[str]
    name: NameOfItem[str]
    server_name: Server[str | UnsetType] = UNSET


def item_name(key: ItemKey) -> ItemName:
    """Return an item's key in the form of the wire."""
    return reply_of(ItemName, key)


Items = Annotated[tuple[ItemFields, ...], Meta(max_length=LIST_MAX)]

REQUESTS: Mapping[Policy, type[MethodRequest]] = {
    "open": MethodRequest,
    "own": AgentRequest,
    "daemon": DaemonRequest,
    "project": ProjectRequest,
    "user's project": ProjectRequest,
    "user's folder": FolderRequest,
    "scope": ScopeRequest,
    "session": SessionRequest,
    "session or project": SessionOrProjectRequest,
    "list": AgentRequest,
}
"""The request type from which a policy can determine its subject."""


class Declaration(Struct, frozen=True):
    """A declared method."""

    name: str
    policy: Policy
    access: Access
    request: type[MethodRequest]
    reply: type[Struct]
    function: Callable[..., Any]
    takes_connection: bool

    @property
    def shape(self) -> RecordOf:
        """What the reply shows."""
        return shape_of(self.reply)


WireMap = dict[str, Any]
"""A reply, or a part of a reply, in the form of the wire."""

Answer = Struct | WireMap | Awaitable[Struct | WireMap]
"""A reply: immediate if nothing has to be awaited, else an awaitable."""

ReplyT = TypeVar("ReplyT", bound=Struct)
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_declared: dict[Callable[..., Any], Declaration] = {}


def method(
    name: str, *, policy: Policy, access: Access, reply: type[Struct] | None = None
) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of a class as a method of the wire. The type of its parameter `request` defines the
    parameters; `reply` is the type of the reply where the function returns a map.

    Raises `TypeError` for an unknown policy or access, if the request doesn't name the policy's subject, or
    if a field of the reply has no mark that says what it shows.
    """

    def declare(function: FunctionT) -> FunctionT:
        for value, known in ((policy, get_args(Policy)), (access, get_args(Access))):
            if value not in known:
                raise TypeError(f"{name} has the policy {value!r}; there are {', '.join(known)}")
        written = function.__annotations__["request"]
        request = function.__globals__[written] if isinstance(written, str) else written
        if not issubclass(request, REQUESTS[policy]):
            raise TypeError(
                f"{name} has the policy {policy!r}, for which {request.__name__} must be a"
                f" {REQUESTS[policy].__name__}"
            )
        takes_connection = "connection" in function.__annotations__
        shown = reply or _reply_type(function)
        shape_of(shown)
        _declared[function] = Declaration(name, policy, access, request, shown, function, takes_connection)
        return function

    return declare


def _reply_type(function: Callable[..., Any]) -> type[Struct]:
    """Return the type of a function's reply, also if that may be awaited. Raises `TypeError`."""
    hint = get_type_hints(function)["return"]
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Struct):
            return kind
    raise TypeError(f"{function.__qualname__} returns {hint}, which doesn't say what it shows: give its type")


def declarations(kind: type) -> Iterator[Declaration]:
    """Yield the methods that a class declares, in source order."""
    for member in vars(kind).values():
        if inspect.isfunction(member) and member in _declared:
            yield _declared[member]


def declared_methods() -> tuple[Declaration, ...]:
    """Return all methods of the imported modules, in order."""
    return tuple(_declared.values())


def wire_map(reply: Struct | WireMap) -> WireMap:
    """Return a reply as a map for the wire."""
    if isinstance(reply, dict):
        return reply
    found: WireMap = to_builtins(reply, builtin_types=(bytes,))
    return found


def reply_of(kind: type[ReplyT], source: object, **fields: Any) -> ReplyT:
    """Return a reply with these fields; the others are the attributes of `source` of the same names.

    An empty text is left out or becomes null if the type of its field allows that, else it stays.
    """
    for name, empty in _fields_of(kind):
        if name not in fields:
            value = getattr(source, name)
            fields[name] = empty if value == "" else value
    return kind(**fields)


@cache
def _fields_of(kind: type[Struct]) -> tuple[tuple[str, object], ...]:
    """Return the names of a reply's fields, each with the value that replaces an empty text."""
    hints = get_type_hints(kind)
    types = {name: get_args(hints[name]) for name in kind.__struct_fields__}
    return tuple(
        (name, UNSET if UnsetType in members else None if NoneType in members else "")
        for name, members in types.items()
    )


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since `started`, a time of `perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)


def node_id_in(root: str, given: str, field: str, links: Iterable[LinkedProject] = ()) -> str:
    """Return a focus path or node id relative to the root; globs are left unchanged. One in a linked project
    begins with its prefix.

    Raises `InvalidRequest` or `PermissionDenied`.
    """
    path, mark, symbol = given.partition("#")
    if path in {"", ".", "./"} and not mark:
        return "."
    for link in links:
        inside = os.path.realpath(os.path.join(root, path)).removeprefix(f"{link.root}/")
        if not os.path.isabs(inside):
            return f"{link.prefix}/{inside}{mark}{symbol}"
    return (relative_path(root, path, field) or ("" if mark else ".")) + mark + symbol


def required_cwd(cwd: str | None) -> str:
    """Return the folder of a request without another subject. Raises `InvalidRequest` if it is missing."""
    if cwd is None:
        raise InvalidRequest("cwd is missing; it must be a string", "cwd")
    return cwd
