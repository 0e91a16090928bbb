"""Owns the reading of a request's parameters: types, ranges and messages; knows no method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidRequest, TooLarge

MISSING: Any = object()
"""The default of a field that must be given."""

LIST_MAX = 20_000
"""Entries of a list that are looked at; a frame has room for some millions."""


class Parameters:
    """One request's parameters. Each reader raises `InvalidRequest` that names the field and what it takes.

    None counts as absent, since many languages send an optional field that way; unknown fields are ignored.
    """

    def __init__(self, values: Mapping[str, Any], prefix: str = "") -> None:
        self._values = values
        self._prefix = prefix

    @property
    def fields(self) -> Mapping[str, Any]:
        """All fields as they came, for who checks them itself."""
        return self._values

    def has(self, name: str) -> bool:
        """Whether a field is given."""
        return self._values.get(name) is not None

    def text(self, name: str, default: str = MISSING, *, empty: bool = True) -> str:
        """Return a string; one that is required or may not be empty says so."""
        value = self._take(name, default, "a string")
        if not self.has(name):
            return default
        if not isinstance(value, str):
            raise self._wrong(name, "a string", value)
        if not empty and not value.strip():
            raise InvalidRequest(f"{self._prefix}{name} must not be empty", self._prefix + name)
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a string, or None where it isn't given."""
        return self.text(name) if self.has(name) else None

    def integer(self, name: str, default: int | None, minimum: int, maximum: int) -> int | None:
        """Return an integer within a range, both ends included."""
        value = self._take(name, default, "an integer")
        if not self.has(name):
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON's and Lua's numbers
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "an integer", value)
        if not minimum <= value <= maximum:
            raise InvalidRequest(
                f"{self._prefix}{name} must be from {minimum:,} to {maximum:,}, not {_kind_of(value)}",
                self._prefix + name,
            )
        return value

    def number(self, name: str, default: float, minimum: float, maximum: float) -> float:
        """Return a number within limits, both included."""
        value = self._values.get(name)
        if value is None:
            return default
        limits = f"a number from {minimum} to {maximum}"
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise self._wrong(name, limits, value)
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean."""
        value = self._take(name, default, "true or false")
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Return one of some words."""
        value = self.text(name, default)
        if value not in choices:
            raise InvalidRequest(
                f"{self._prefix}{name} must be one of {', '.join(choices)}, not {value!r:.60}",
                self._prefix + name,
            )
        return value

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings, or None where it isn't given."""
        if not self.has(name):
            return None
        return tuple(self._list(name, str, "strings"))

    def map(self, name: str) -> Mapping[str, Any] | None:
        """Return a map, or None where it isn't given."""
        if not self.has(name):
            return None
        value = self._values[name]
        if value == []:
            return {}  # an empty table of Lua may be packed as a list
        if not isinstance(value, dict):
            raise self._wrong(name, "a map", value)
        return value

    def text_or_map(self, name: str) -> str | Mapping[str, Any] | None:
        """Return a string or a map, or None where it isn't given."""
        return self._values[name] if isinstance(self._values.get(name), str) else self.map(name)

    def part(self, name: str) -> Parameters | None:
        """Return a map as parameters of its own, or None where it isn't given."""
        fields = self.map(name)
        return None if fields is None else Parameters(fields, f"{self._prefix}{name}.")

    def maps(self, name: str) -> tuple[Parameters, ...]:
        """Return a list of maps as parameters of their own; empty where it isn't given."""
        if not self.has(name):
            return ()
        values = self._list(name, dict, "maps")
        return tuple(Parameters(one, f"{self._prefix}{name}[{index}].") for index, one in enumerate(values))

    def _list(self, name: str, kind: type, noun: str) -> list[Any]:
        value = self._values[name]
        if value == {}:
            return []  # an empty table of Lua may be packed as a map
        if not isinstance(value, list):
            raise self._wrong(name, f"a list of {noun}", value)
        if len(value) > LIST_MAX:
            raise TooLarge(f"{self._prefix}{name} has {len(value):,} entries; at most {LIST_MAX:,} are taken")
        for index, one in enumerate(value):
            if not isinstance(one, kind):
                raise InvalidRequest(
                    f"{self._prefix}{name} must be a list of {noun}; [{index}] is {_kind_of(one)}",
                    self._prefix + name,
                )
        return value

    def _take(self, name: str, default: object, expected: str) -> object:
        value = self._values.get(name)
        if value is not None:
            return value
        if default is MISSING:
            raise InvalidRequest(
                f"{self._prefix}{name} is missing; it must be {expected}", self._prefix + name
            )
        return default

    def _wrong(self, name: str, expected: str, value: object) -> InvalidRequest:
        return InvalidRequest(
            f"{self._prefix}{name} must be {expected}, not {_kind_of(value)}", self._prefix + name
        )


def _kind_of(value: object) -> str:
    """Return what the wire calls a value's type; a number is named, since 1.5 is none where 1 is wanted."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r:.40}"
    kinds = {dict: "a map", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "binary data")
