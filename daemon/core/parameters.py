"""Converts a request's parameters into its type, or says what is wrong with them. Independent of methods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, inspect

from .errors import InvalidRequest, TooLarge

LIST_MAX = 20_000
"""Maximum entries of a list; a frame has room for some millions."""

NonEmpty = Annotated[str, Meta(pattern=r"\S")]
"""A string that isn't empty or only white space."""

Texts = Annotated[tuple[str, ...], Meta(max_length=LIST_MAX)]
"""A list of strings."""

RequestT = TypeVar("RequestT", bound=Struct)


def read_request(kind: type[RequestT], fields: Mapping[str, Any], prefix: str = "") -> RequestT:
    """Return a map of parameters as a request; unknown fields are ignored, and null counts as absent.

    Raises `InvalidRequest` that names the field, its value and the allowed values, or `TooLarge`.
    """
    try:
        return convert(fields, kind)
    except ValidationError:
        pass
    given = {name: value for name, value in fields.items() if value is not None and isinstance(name, str)}
    try:
        return convert(given, kind)
    except ValidationError:
        pass
    wanted = inspect.type_info(kind)
    assert isinstance(wanted, inspect.StructType)
    read = _struct(given, wanted, prefix)
    try:
        return convert(read, kind)
    except ValidationError as error:
        raise InvalidRequest(f"the parameters can't be read: {error}") from error


def _read(value: Any, wanted: inspect.Type, name: str) -> Any:
    """Return a value in the form that msgspec converts.

    Raises `InvalidRequest` or `TooLarge`.
    """
    wanted, given = _member(value, wanted), value
    if value == [] and isinstance(wanted, inspect.DictType | inspect.StructType):
        value = {}  # an empty table of Lua may be packed as a list
    if value == {} and isinstance(wanted, inspect.VarTupleType):
        value = []  # or as a map
    if isinstance(wanted, inspect.IntType) and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON's and Lua's numbers
    if not _fits(value, wanted):
        raise InvalidRequest(f"{name} must be {_noun(wanted)}, not {_kind_of(value)}", name)
    match wanted:
        case inspect.StructType():
            return _struct(value, wanted, f"{name}.")
        case inspect.DictType():
            return _dict(value, wanted, name)
        case inspect.VarTupleType():
            return _list(value, wanted, name)
        case inspect.IntType(ge=least, le=most):
            if (least is not None and value < least) or (most is not None and value > most):
                raise InvalidRequest(
                    f"{name} must be from {least:,} to {most:,}, not {_kind_of(given)}", name
                )
        case inspect.LiteralType(values=words):
            if value not in words:
                raise InvalidRequest(
                    f"{name} must be one of {', '.join(map(str, words))}, not {value!r:.60}", name
                )
        case inspect.StrType(pattern=pattern):
            if pattern is not None and not re.search(pattern, value):
                raise InvalidRequest(f"{name} must not be empty", name)
    return value


def _struct(fields: Mapping[str, Any], wanted: inspect.StructType, prefix: str) -> dict[str, Any]:
    found = {}
    for field in wanted.fields:
        name = field.encode_name
        value = fields.get(name)
        if value is not None:
            found[name] = _read(value, field.type, prefix + name)
        elif field.required:
            raise InvalidRequest(f"{prefix}{name} is missing; it must be {_noun(field.type)}", prefix + name)
    return found


def _dict(values: Mapping[Any, Any], wanted: inspect.DictType, name: str) -> dict[str, Any]:
    if isinstance(wanted.value_type, inspect.AnyType):
        return {key: value for key, value in values.items() if isinstance(key, str)}
    if not all(isinstance(key, str) for key in values):
        raise InvalidRequest(f"{name} must be a map whose keys are strings", name)
    return {
        key: None if value is None else _read(value, wanted.value_type, f"{name}.{key}")
        for key, value in values.items()
    }


def _list(values: Sequence[Any], wanted: inspect.VarTupleType, name: str) -> list[Any]:
    if wanted.max_length is not None and len(values) > wanted.max_length:
        raise TooLarge(f"{name} has {len(values):,} entries; at most {wanted.max_length:,} are taken")
    entry = wanted.item_type
    wrong = next((index for index, value in enumerate(values) if not _fits(value, entry)), None)
    if wrong is not None:
        raise InvalidRequest(f"{name} must be {_noun(wanted)}; [{wrong}] is {_kind_of(values[wrong])}", name)
    if isinstance(entry, inspect.LiteralType):
        unknown = next((value for value in values if value not in entry.values), None)
        if unknown is not None:
            known = ", ".join(map(str, entry.values))
            raise InvalidRequest(f"{name} has the unknown value {unknown!r:.60}; known are {known}", name)
    if isinstance(entry, inspect.StructType):
        return [_entry(value, entry, f"{name}[{index}]") for index, value in enumerate(values)]
    return list(values)


def _entry(value: Any, wanted: inspect.StructType, name: str) -> Any:
    try:
        return convert(value, wanted.cls)
    except ValidationError:
        return _struct(value, wanted, f"{name}.")


def _member(value: Any, wanted: inspect.Type) -> inspect.Type:
    """Return a type without its description, or the member of a union that a value fits, else the last
    one."""
    if isinstance(wanted, inspect.Metadata):
        return _member(value, wanted.type)
    if not isinstance(wanted, inspect.UnionType):
        return wanted
    kinds = [kind for kind in wanted.types if not isinstance(kind, inspect.NoneType)]
    return next((kind for kind in kinds if _fits(value, kind)), kinds[-1])


def _fits(value: Any, wanted: inspect.Type) -> bool:
    """Whether a value has the Python type for `wanted`. Bounds are only checked for floats."""
    match wanted:
        case inspect.StrType() | inspect.LiteralType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType(ge=least, le=most):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and (least is None or value >= least) and (most is None or value <= most)
        case inspect.DictType() | inspect.StructType():
            return isinstance(value, dict)
        case inspect.VarTupleType():
            return isinstance(value, list | tuple)
        case _:
            return True


def _noun(wanted: inspect.Type) -> str:
    """Return the name of a type in messages."""
    match wanted:
        case inspect.Metadata(extra_json_schema={"description": str(described)}):
            return described
        case inspect.UnionType():
            kinds = [_noun(kind) for kind in wanted.types if not isinstance(kind, inspect.NoneType)]
            return " or ".join(kinds)
        case inspect.StrType() | inspect.LiteralType():
            return "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "an integer"
        case inspect.FloatType(ge=least, le=most):
            return f"a number from {least:g} to {most:g}"
        case inspect.VarTupleType(item_type=entry):
            is_map = isinstance(entry, inspect.StructType | inspect.DictType)
            return "a list of maps" if is_map else "a list of strings"
        case inspect.DictType() | inspect.StructType():
            return "a map"
        case _:
            return "a value"


def _kind_of(value: object) -> str:
    """Return the wire's name of a value's type. A number is shown itself, since 1.5 is not valid for an
    integer."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r:.40}"
    kinds = {dict: "a map", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "binary data")
