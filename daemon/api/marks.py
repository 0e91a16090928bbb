"""The marks of what a reply shows. The type of each field of a reply has one, so that the guard knows what to
keep from an agent without guessing by names; a method whose reply lacks one can't be declared.

A mark holds for all that its field contains. Booleans and `Literal`s need none: they are words of foveal and
have no room for content.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, UnsetType
from msgspec.structs import fields

T = TypeVar("T")


class Shows(enum.Enum):
    """What a field shows."""

    PLAIN = enum.auto()
    TEXT = enum.auto()
    FILE = enum.auto()
    SAID = enum.auto()
    COUNT = enum.auto()
    SENT = enum.auto()
    REMARK = enum.auto()
    PROJECT = enum.auto()
    OWNER = enum.auto()
    ITEM_TYPE = enum.auto()
    ITEM_NAME = enum.auto()
    SERVER = enum.auto()
    SLICE = enum.auto()
    CLAIM = enum.auto()
    TOUCHED = enum.auto()


Plain = Annotated[T, Shows.PLAIN]
"""Says nothing of any content: states, times, versions, digests, foveal's own ids, figures of the daemon."""

Text = Annotated[T, Shows.TEXT]
"""Texts that may be or name paths: empty, and left out of lists, if they name a hidden one."""

File = Annotated[T, Shows.FILE]
"""The file or node that an entry is about: the whole entry is hidden with it."""

Said = Annotated[T, Shows.SAID]
"""What a person or an agent said in its session or scope. Empty for agents that see less than its owner."""

Count = Annotated[T, Shows.COUNT]
"""Numbers of things of which some may be hidden: 0 for agents from which anything is hidden."""

Sent = Annotated[T, Shows.SENT]
"""Texts as they were sent to an agent, masked then: left out for agents from which anything is hidden."""

Remark = Annotated[T, Shows.REMARK]
"""Says why sent texts are missing."""

Root = Annotated[T, Shows.PROJECT]
"""The project that an entry is about: in a list, the policy there decides."""

Owner = Annotated[T, Shows.OWNER]
"""The agent whose session, scope or event an entry is, "" for none: it decides over what was said in it."""

KindOfItem = Annotated[T, Shows.ITEM_TYPE]
"""The type of the item that an entry is about."""

NameOfItem = Annotated[T, Shows.ITEM_NAME]
"""The name of the item that an entry is about: the whole entry is hidden with it. Without a type: a tool."""

Server = Annotated[T, Shows.SERVER]
"""The server of tools, also of the tools in the entry."""

SliceId = Annotated[T, Shows.SLICE]
"""The id of a slice, a node or the key of an item: the whole entry is hidden with it."""

Claim = Annotated[T, Shows.CLAIM]
"""A text of a decision: all of it is hidden if that names a hidden path, or a hidden file that it touched."""

Touched = Annotated[T, Shows.TOUCHED]
"""The files that a decision touched, without hidden ones: all of it is hidden if all of them are."""


class Leaf(Struct, frozen=True):
    """A value with one mark, whatever it contains."""

    shows: Shows


class ListOf(Struct, frozen=True):
    """A list of values of one kind."""

    entry: Shape


class MapOf(Struct, frozen=True):
    """A map with any keys."""

    key: Shape
    value: Shape


class RecordOf(Struct, frozen=True):
    """A map with known keys, by their names on the wire."""

    fields: Mapping[str, Shape]

    def __hash__(self) -> int:
        return hash(tuple(self.fields))

    def marked(self, *shows: Shows) -> tuple[str, ...]:
        """Return the names of the fields with one of these marks."""
        return _marked(self, shows)


@cache  # a list of a thousand entries asks for the same marks a thousand times
def _marked(record: RecordOf, shows: tuple[Shows, ...]) -> tuple[str, ...]:
    return tuple(name for name, shape in record.fields.items() if mark_of(shape) in shows)


Shape = Leaf | ListOf | MapOf | RecordOf


def mark_of(shape: Shape) -> Shows | None:
    """Return the mark of a value or of the entries of a list; None for another shape."""
    return mark_of(shape.entry) if isinstance(shape, ListOf) else getattr(shape, "shows", None)


UNMARKED = (bool, NoneType, UnsetType)
"""Types that need no mark, and `Literal`."""


class Unmarked(TypeError):
    """A reply has a field without a mark."""


@cache
def shape_of(reply: type[Struct]) -> RecordOf:
    """Return what a reply shows. Raises `Unmarked` that names the type and the field."""
    return _record(reply, None, ())


def _record(kind: type[Struct], outer: Shows | None, above: tuple[type, ...]) -> RecordOf:
    if kind in above:
        raise Unmarked(f"{kind.__name__} contains itself")
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in fields(kind):
        try:
            found[field.encode_name] = _shape(hints[field.name], outer, (*above, kind))
        except _NoMark as error:
            name = f"{kind.__name__}.{field.name}"
            raise Unmarked(
                f"{name} of a reply has no mark for {error}: say what it shows, see marks.py"
            ) from None
    return RecordOf(found)


class _NoMark(Exception):  # becomes an `Unmarked` that names the field
    """A type without a mark."""


def _shape(hint: Any, mark: Shows | None, above: tuple[type, ...]) -> Shape:
    """Return the shape of a type; `mark` is that of what contains it."""
    if get_origin(hint) is Annotated:
        marks = [extra for extra in get_args(hint)[1:] if isinstance(extra, Shows)]
        # The mark that is nearest to a value holds, and that is the first of nested ones.
        return _shape(get_args(hint)[0], marks[0] if marks else mark, above)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _record(hint, mark, above)
    if get_origin(hint) is Literal or hint in UNMARKED:
        return Leaf(mark or Shows.PLAIN)
    if get_origin(hint) in (Union, UnionType):
        shapes = [_shape(member, mark, above) for member in get_args(hint) if member not in UNMARKED]
        if len(set(map(repr, shapes))) > 1:
            raise _NoMark(f"{hint}, whose members show different things")
        return shapes[0] if shapes else Leaf(mark or Shows.PLAIN)
    return _container(hint, mark, above)


def _container(hint: Any, mark: Shows | None, above: tuple[type, ...]) -> Shape:
    origin, inner = get_origin(hint), [part for part in get_args(hint) if part is not Ellipsis]
    if origin in (list, tuple) and len(set(inner)) == 1:
        return ListOf(_shape(inner[0], mark, above))
    if origin in (dict, Mapping) and inner[1] not in (object, Any):
        return MapOf(_shape(inner[0], mark, above), _shape(inner[1], mark, above))
    if mark is None:
        raise _NoMark(str(getattr(hint, "__name__", hint)))
    return Leaf(mark)
