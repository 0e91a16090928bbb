"""Owns the arguments of a tool: the schema that a model reads, and the check of what it then sends.

The check is ours, since the SDK's names neither the argument nor what to do. It is lenient where a model's
meaning is plain: null is an argument that was left out, 5.0 is 5, a text where a list of texts belongs is a
list of one, "true" is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import ToolError

TEXT_CHARACTERS = 20_000
"""Of one text: a prompt with a long stack trace in it. More would crowd out what the question is."""

LIST_ENTRIES = 200

Kind = Literal["text", "number", "truth", "texts", "items"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: of `kind`, between `least` and `most` (characters, value, or entries)."""

    kind: Kind
    description: str
    required: bool = False
    default: Any = None
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return its JSON schema."""
        schema: dict[str, Any] = {"description": self.description}
        if self.kind == "text":
            schema |= {"type": "string", "maxLength": self.most}
            schema |= {"minLength": self.least} if self.least else {}
            schema |= {"enum": list(self.choices)} if self.choices else {}
        elif self.kind == "number":
            schema |= {"type": "integer", "minimum": self.least, "maximum": self.most}
        elif self.kind == "truth":
            schema |= {"type": "boolean"}
        else:
            entry = {"type": "string"} if self.kind == "texts" else _ITEM
            schema |= {"type": "array", "items": entry, "maxItems": self.most}
            schema |= {"minItems": self.least} if self.least else {}
        return schema if self.default is None else {**schema, "default": self.default}

    def read(self, name: str, value: Any) -> Any:
        """Return a value that was given, checked. Raises `ToolError`."""
        if self.kind == "text":
            return self._text(name, value)
        if self.kind == "number":
            return self._number(name, value)
        if self.kind == "truth":
            return _truth(name, value)
        if self.kind == "texts" and isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            raise _wrong(name, f"must be a list, not {_kind_of(value)}")
        if not self.least <= len(value) <= self.most:
            raise _wrong(name, f"must have {self.least} to {self.most} entries, not {len(value)}")
        return [_entry(name, one) if self.kind == "texts" else _item(name, one) for one in value]

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong(name, f"must be a text, not {_kind_of(value)}")
        if self.choices and value not in self.choices:
            raise _wrong(name, f"must be one of {', '.join(self.choices)}, not {value!r:.80}")
        if len(value.strip()) < self.least:
            raise _wrong(name, "must not be empty")
        if len(value) > self.most:
            raise _wrong(name, f"may have {self.most} characters, not {len(value)}")
        return value

    def _number(self, name: str, value: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise _wrong(name, f"must be a whole number, not {_kind_of(value)}")
        if not self.least <= value <= self.most:
            raise _wrong(name, f"must lie between {self.least} and {self.most}, not be {value!s:.20}")
        return value


def text(description: str, *, required: bool = False, most: int = TEXT_CHARACTERS) -> Argument:
    """Return an argument that is a text; a required one must not be empty."""
    return Argument("text", description, required, least=int(required), most=most)


def choice(description: str, choices: tuple[str, ...], default: str | None = None) -> Argument:
    """Return an argument that is one of these words."""
    return Argument("text", description, default=default, most=max(map(len, choices)), choices=choices)


def number(description: str, least: int, most: int, default: int) -> Argument:
    """Return an argument that is a whole number."""
    return Argument("number", description, default=default, least=least, most=most)


def truth(description: str) -> Argument:
    """Return an argument that is true or false; false without it."""
    return Argument("truth", description, default=False)


def texts(description: str, *, required: bool = False, least: int = 0, most: int = LIST_ENTRIES) -> Argument:
    """Return an argument that is a list of texts."""
    return Argument("texts", description, required, least=least, most=most)


def items(description: str, most: int) -> Argument:
    """Return an argument that is a list of items as `{type, name, server_name?}`."""
    return Argument("items", description, most=most)


def max_tokens(least: int, most: int, default: int) -> Argument:
    """Return the argument by which a model asks for more than the usual answer."""
    return number("The answer's limit in tokens; it is never above. Raise it if something was cut.",
                  least, most, default)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one tool, by name."""

    by_name: Mapping[str, Argument] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of them all."""
        required = [name for name, one in self.by_name.items() if one.required]
        schema = {
            "type": "object",
            "properties": {name: one.schema() for name, one in self.by_name.items()},
            "additionalProperties": False,
        }
        return {**schema, "required": required} if required else schema

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every argument, checked; those that were left out as their default. Raises `ToolError`."""
        unknown = [name for name in given if name not in self.by_name]
        if unknown:
            known = ", ".join(self.by_name) or "none"
            raise ToolError(f"there is no argument {_listed(unknown)}", f"the arguments are: {known}")
        checked = {}
        for name, argument in self.by_name.items():
            value = given.get(name)
            if value is not None:
                checked[name] = argument.read(name, value)
            elif argument.required:
                raise _wrong(name, "is missing")
            else:
                checked[name] = argument.default
        return checked


_ITEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["rule", "reference", "tool"]},
        "name": {"type": "string"},
        "server_name": {"type": "string", "description": "for a tool: its server"},
    },
    "required": ["type", "name"],
}


def _truth(name: str, value: Any) -> bool:
    if value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise _wrong(name, f"must be true or false, not {_kind_of(value)}")
    return value


def _entry(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > TEXT_CHARACTERS:
        raise _wrong(name, f"must hold texts of 1 to {TEXT_CHARACTERS} characters")
    return value


def _item(name: str, value: Any) -> dict[str, str]:
    fields = value if isinstance(value, dict) else {}
    kept = {key: fields[key] for key in ("type", "name", "server_name") if fields.get(key) is not None}
    if not all(isinstance(one, str) for one in kept.values()) or not {"type", "name"} <= kept.keys():
        raise _wrong(name, 'must hold items such as {"type": "rule", "name": "CLAUDE.md"}')
    return kept


def _wrong(name: str, problem: str) -> ToolError:
    return ToolError(f"{name} {problem}", "correct it and call the tool again")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name)[:80] for name in names[:5])


def _kind_of(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), "an object")
