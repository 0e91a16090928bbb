"""A method whose reply has a field without a mark is not declared, so that the daemon doesn't start."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from foveal.daemon.api import handlers
from foveal.daemon.api.marks import Count, Leaf, ListOf, Plain, RecordOf, Shows, Text, Unmarked, shape_of
from foveal.daemon.api.method import MethodRequest, declared_methods, method
from msgspec import UNSET, Struct, UnsetType


class Inner(Struct):
    marked: Text[str]
    bare: int


class InList(Struct):
    entries: list[Inner]


class Bare(Struct):
    name: str


class BareInUnion(Struct):
    name: Text[str] | int


class BareMap(Struct):
    values: dict[str, Plain[int]]


class Loose(Struct):
    values: list[dict[str, Any]]


class Marked(Struct):
    entries: Text[list[Bare]]
    state: Literal["a", "b"]
    flag: bool | UnsetType = UNSET
    count: Count[int | UnsetType | None] = UNSET
    values: Plain[dict[str, object]] = {}


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Inner, "Inner.bare"),
        (InList, "Inner.bare"),
        (Bare, "Bare.name"),
        (BareInUnion, "BareInUnion.name"),
        (BareMap, "BareMap.values"),
        (Loose, "Loose.values"),
    ],
)
def test_field_without_a_mark_is_named(kind: type[Struct], field: str) -> None:
    with pytest.raises(Unmarked, match=rf"{field} of a reply has no mark"):
        shape_of(kind)

    with pytest.raises(TypeError, match=f"{field} of a reply has no mark"):

        @method("New", policy="open", access="anyone", reply=kind)
        def new(self: object, request: MethodRequest) -> None: ...


def test_mark_holds_for_all_that_a_field_contains() -> None:
    shape = shape_of(Marked)
    assert shape.fields["entries"] == ListOf(RecordOf({"name": Leaf(Shows.TEXT)}))
    assert shape.fields["count"] == Leaf(Shows.COUNT)
    assert shape.fields["state"] == shape.fields["flag"] == Leaf(Shows.PLAIN)


def test_function_that_returns_no_type_is_not_declared() -> None:
    with pytest.raises(TypeError, match="doesn't say what it shows"):

        @method("New", policy="open", access="anyone")
        def new(self: object, request: MethodRequest) -> dict[str, Any]:
            return {}

    with pytest.raises(TypeError, match="has the policy 'all'; there are anyone, read"):

        @method("New", policy="open", access="all")  # type: ignore[arg-type] # which is what is tested
        def newer(self: object, request: MethodRequest) -> Marked:
            raise NotImplementedError


def test_all_replies_are_marked() -> None:
    assert handlers
    fields = sum(len(declared.shape.fields) for declared in declared_methods())
    assert len(declared_methods()) >= 71
    assert fields >= 300
