"""Declares the methods of the wire: each with its name, its policy and the types of its request and reply."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from msgspec import Meta, Struct, to_builtins

from ..core.errors import InvalidRequest
from ..core.parameters import LIST_MAX, NonEmpty
from ..privacy.permissions import Agent
from ..project.roots import relative_path
from ..rules.item_store import key_in
from ..rules.items import ItemKey

Policy = Literal["open", "own", "project", "scope", "session", "session or project", "list"]
"""How a method is held to the policy of the agent that calls it. `open`: states, counts and settings, the
same for everyone. `own`: the method asks for the policy and shows no more than it grants. `project`,
`scope` and `session`: the thing that the request names, whose policy the reply is cut down to. `list`:
entries of several projects, each under the policy of its own."""

DEADLINE_MAX_MS = 600_000

Deadline = Annotated[int, Meta(ge=0, le=DEADLINE_MAX_MS)]
"""Milliseconds after which the answer is of no use any more."""


class Request(Struct, frozen=True, kw_only=True):
    """The parameters of a method."""


class AgentRequest(Request, frozen=True, kw_only=True):
    """A request that says which agent asks."""

    agent_name: str = ""
    agent_type: str = ""

    @property
    def agent(self) -> Agent:
        """Return the agent, as far as the request names it."""
        return Agent.of(self.agent_name, self.agent_type)


class ProjectRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about the project of a folder."""

    cwd: str


class ScopeRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a scope."""

    scope_id: str


class SessionRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a session."""

    session_id: NonEmpty


class SessionOrProjectRequest(AgentRequest, frozen=True, kw_only=True):
    """A request about a session where it names one, else about a project."""

    session_id: NonEmpty | None = None
    cwd: str | None = None


class ItemFields(Struct, frozen=True):
    """An item as a request names it."""

    type: str = ""
    name: str = ""
    server_name: str = ""

    def key(self, prefix: str) -> ItemKey:
        """Return the item's key. Raises `InvalidRequest` that names the field, with `prefix` before it."""
        return key_in({"type": self.type, "name": self.name, "server_name": self.server_name}, prefix)


Items = Annotated[tuple[ItemFields, ...], Meta(max_length=LIST_MAX)]

REQUESTS: Mapping[Policy, type[Request]] = {
    "open": Request,
    "own": AgentRequest,
    "project": ProjectRequest,
    "scope": ScopeRequest,
    "session": SessionRequest,
    "session or project": SessionOrProjectRequest,
    "list": AgentRequest,
}
"""What a request must be so that its policy can be found."""


class Declaration(Struct, frozen=True):
    """A method as it was declared."""

    name: str
    policy: Policy
    request: type[Request]
    function: Callable[..., Any]
    takes_connection: bool


WireMap = dict[str, Any]
"""A reply, or a part of one, in the form in which it goes over the wire."""

Answer = Struct | WireMap | Awaitable[Struct | WireMap]
"""A reply: at once where nothing has to be waited for, else by an awaitable."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_declared: dict[Callable[..., Any], Declaration] = {}


def method(name: str, *, policy: Policy) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of a class as a method of the wire: its parameter `request` says what it takes.

    Raises `TypeError` for a policy that there is none of, or that the request says too little for.
    """

    def declare(function: FunctionT) -> FunctionT:
        if policy not in get_args(Policy):
            raise TypeError(f"{name} has the policy {policy!r}; there are {', '.join(get_args(Policy))}")
        written = function.__annotations__["request"]
        request = function.__globals__[written] if isinstance(written, str) else written
        if not issubclass(request, REQUESTS[policy]):
            raise TypeError(
                f"{name} has the policy {policy!r}, for which {request.__name__} must be a"
                f" {REQUESTS[policy].__name__}"
            )
        takes_connection = "connection" in function.__annotations__
        _declared[function] = Declaration(name, policy, request, function, takes_connection)
        return function

    return declare


def declarations(kind: type) -> Iterator[Declaration]:
    """Yield the methods that a class declares, in the order in which they are written."""
    for member in vars(kind).values():
        if inspect.isfunction(member) and member in _declared:
            yield _declared[member]


def declared_methods() -> tuple[Declaration, ...]:
    """Return all methods of the modules that were imported, in their order."""
    return tuple(_declared.values())


def declaration_of(bound: Callable[..., Any]) -> Declaration:
    """Return how a bound method was declared. Raises `KeyError` for one that wasn't."""
    return _declared[bound.__func__]  # type: ignore[attr-defined] # bound methods have it


def wire_map(reply: Struct | WireMap) -> WireMap:
    """Return a reply as the map that goes over the wire."""
    if isinstance(reply, dict):
        return reply
    found: WireMap = to_builtins(reply, builtin_types=(bytes,))
    return found


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since `started`, a time of `perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)


def node_id_in(root: str, given: str, field: str) -> str:
    """Return a focus path or node id with its path relative to the root; globs are left as they are.

    Raises `InvalidRequest` or `PermissionDenied`.
    """
    path, mark, symbol = given.partition("#")
    if path in {"", ".", "./"} and not mark:
        return "."
    return (relative_path(root, path, field) or ("" if mark else ".")) + mark + symbol


def required_cwd(cwd: str | None) -> str:
    """Return the folder of a request that names nothing else. Raises `InvalidRequest` where it doesn't."""
    if cwd is None:
        raise InvalidRequest("cwd is missing; it must be a string", "cwd")
    return cwd
