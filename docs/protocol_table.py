"""Writes the table of methods in docs/methods.md from the types that declare them.

Run it as `python -m docs.protocol_table`; a test compares the page with what it would write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from foveal.daemon.api import handlers  # so that every method is declared
from foveal.daemon.api.memory import ExperienceReply
from foveal.daemon.api.method import AgentRequest, Declaration, declared_methods
from foveal.daemon.api.projects import ProjectReply
from foveal.daemon.api.requests import RequestReply
from foveal.daemon.api.rules import ItemReply, ServerReply
from foveal.daemon.api.scopes import ScopeReply
from foveal.daemon.api.sessions import SessionReply
from msgspec import NODEFAULT, UnsetType, inspect

PAGE = Path(__file__).parent / "methods.md"
ROWS = re.compile(r"(?<=\|---\|---\|---\|\n)(?:\| [A-Z]\w+ \|.*\n)+")
"""The rows of the table, which the page has once."""

NOUNS = (
    "contexts",
    "search",
    "scopes",
    "projects",
    "sessions",
    "requests",
    "rules",
    "memory",
    "deliveries",
    "hooks",
    "daemon",
)
"""The modules of methods in the order in which the page has them."""

CELL_CHARACTERS = 300
"""Maximum length of a list of fields in a cell; longer ones stand in a section of their own."""

ELSEWHERE: dict[type, str] = {
    ProjectReply: "the project, below",
    SessionReply: "the session, below",
    ScopeReply: "the scope",
    RequestReply: "the request, below",
    ExperienceReply: "the experience, below",
    ItemReply: "the item, below",
    ServerReply: "the server",
}
"""Types whose fields aren't listed wherever they are part of a reply."""

COMMON = frozenset(AgentRequest.__struct_fields__)
"""Fields of every request that tells something of a project; the page names them once."""


def table() -> str:
    """Return the rows of the table."""
    assert handlers
    rows: dict[type, str] = {}
    by_noun = sorted(declared_methods(), key=lambda one: NOUNS.index(one.function.__module__.split(".")[-1]))
    return "".join(_row(declared, rows) for declared in by_noun)


def page(text: str) -> str:
    """Return the page with the rows as they should be."""
    return ROWS.sub(lambda _: table(), text, count=1)


def _row(declared: Declaration, described: dict[type, str]) -> str:
    """Return the row of a method; `described` are the requests that stand in a section, by their methods."""
    parameters = fields_of(declared.request, without=COMMON)
    if len(parameters) > CELL_CHARACTERS:
        first = described.setdefault(declared.request, declared.name)
        parameters = "below" if first == declared.name else f"as {first}"
    reply = get_type_hints(declared.function, _namespace(declared))["return"]
    result, note = _result(reply), " ".join((declared.function.__doc__ or "").split())
    cells = (parameters, f"{result}. {note}" if 0 < len(result) <= CELL_CHARACTERS else note)
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {declared.name} | {' | '.join(escaped)} |\n"


def _namespace(declared: Declaration) -> dict[str, Any]:
    return {**declared.function.__globals__, "Connection": object}


def _result(reply: Any) -> str:
    """Return the fields of a reply type, or of the one that it may be an awaitable of; empty for a map."""
    kinds = [reply, *get_args(reply), *(inner for member in get_args(reply) for inner in get_args(member))]
    structs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    return "" if not structs else ELSEWHERE.get(structs[0]) or fields_of(structs[0])


def fields_of(kind: type[msgspec.Struct], without: frozenset[str] = frozenset()) -> str:
    """Return the fields of a request or reply as the page writes them, empty where it has none."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    shown = ", ".join(_field(field) for field in found.fields if field.encode_name not in without)
    return f"`{shown}`" if shown else ""


def _field(field: inspect.Field) -> str:
    written, default = _type(field.type), field.default
    name = field.encode_name if field.required else f"{field.encode_name}?"
    shown = f"{name}: {written}" if written else name
    if default in (NODEFAULT, None, "", ()) or isinstance(default, UnsetType | tuple):
        return shown
    return f"{shown} = {json.dumps(default)}"


def _type(kind: inspect.Type) -> str:
    """Return what is worth saying of a type: its words, or the fields of a map."""
    match kind:
        case inspect.Metadata(type=described):
            return _type(described)
        case inspect.UnionType(types=types):
            return next(filter(None, map(_type, types)), "")
        case inspect.LiteralType(values=values):
            return " | ".join(json.dumps(value) for value in values)
        case inspect.ListType(item_type=entry) | inspect.VarTupleType(item_type=entry):
            inner = _type(entry)
            return f"[{inner}]" if inner else ""
        case inspect.StructType(cls=cls) if cls not in ELSEWHERE:
            return "{" + ", ".join(_field(field) for field in kind.fields) + "}"
    return ""


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
