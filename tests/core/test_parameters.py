"""Each field that is missing, of a wrong type or out of range is an error that names it and what it takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.core.parameters import LIST_MAX, NonEmpty, Texts, read_request
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct


class Turn(Struct, frozen=True):
    role: str


class Everything(Struct, frozen=True):
    """A field of each kind that requests have."""

    text: str = "default"
    optional_text: str | None = None
    filled: NonEmpty = "x"
    integer: Annotated[int, Meta(ge=0, le=10)] | None = 5
    number: Annotated[float, Meta(ge=-1.0, le=2.0)] = 0.5
    flag: bool = False
    choice: Literal["a", "b"] = "a"
    texts: Texts | None = None
    choices: tuple[Literal["a", "b"], ...] = ()
    choice_by_name: dict[str, Literal["low", "high"]] | None = None
    map: dict[str, Any] | None = None
    map_of_texts: dict[str, Texts | None] | None = None
    turns: Annotated[tuple[Turn, ...], Meta(max_length=3)] = ()
    turn: Turn | None = None


WANTED = {
    "text": "a string",
    "optional_text": "a string",
    "filled": "a string",
    "integer": "an integer",
    "number": "a number from -1 to 2",
    "flag": "true or false",
    "choice": "a string",
    "texts": "a list of strings",
    "choices": "a list of strings",
    "map": "a map",
    "map_of_texts": "a map",
    "turns": "a list of maps",
    "turn": "a map",
}

VALUES: dict[str, tuple[Any, str]] = {
    "text": ("x", "a string"),
    "integer": (7, "7"),
    "fraction": (2.5, "2.5"),
    "nan": (float("nan"), "nan"),
    "infinity": (float("inf"), "inf"),
    "flag": (True, "a boolean"),
    "list": (["x"], "a list"),
    "map": ({"a": 1}, "a map"),
    "bytes": (b"x", "binary data"),
}

KINDS = {"text": "text", "optional_text": "text", "filled": "text", "choice": "text", "integer": "integer",
         "flag": "flag", "texts": "list", "choices": "list", "turns": "list", "map": "map",
         "map_of_texts": "map", "turn": "map"}  # fmt: skip
"""The values that have the right type for a field."""


def error(**fields: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as raised:
        read_request(Everything, fields)
    return raised.value


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", WANTED)
def test_wrong_type_names_field_and_what_it_takes(name: str, kind: str) -> None:
    value, named = VALUES[kind]
    if KINDS.get(name) == kind:
        return
    found = error(**{name: value})
    assert found.field == name
    assert str(found) == f"{name} must be {WANTED[name]}, not {named}"


def test_absent_null_and_unknown_fields() -> None:
    nothing: dict[Any, Any] = {**dict.fromkeys(Everything.__struct_fields__), "other": 5, 1: 2}
    assert read_request(Everything, {}) == read_request(Everything, nothing)
    assert read_request(Everything, {}) == Everything()


@pytest.mark.parametrize(("value", "read"), [(0, 0), (10, 10), (5.0, 5)])
def test_both_ends_of_a_range_and_whole_floats_are_taken(value: float, read: int) -> None:
    found = read_request(Everything, {"integer": value}).integer
    assert found == read
    assert isinstance(found, int)
    assert isinstance(read_request(Everything, {"number": 1}).number, float)


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        *(({"filled": value}, "filled", "must not be empty") for value in ("", " ", "\n\t")),
        *(
            ({"integer": value}, "integer", f"must be from 0 to 10, not {value}")
            for value in (-1, 11, 2**63, -1.0, 1e300)
        ),
        ({"choice": "c"}, "choice", "must be one of a, b, not 'c'"),
        ({"choices": ["a", "c"]}, "choices", "has the unknown value 'c'; known are a, b"),
        ({"choice_by_name": {"x": "none"}}, "choice_by_name.x", "must be one of high, low, not 'none'"),
        ({"texts": ["a", 5, None]}, "texts", "must be a list of strings; [1] is 5"),
        ({"texts": ["a", None]}, "texts", "must be a list of strings; [1] is null"),
        ({"texts": [[]]}, "texts", "must be a list of strings; [0] is a list"),
        ({"turns": [{"role": ""}, "x"]}, "turns", "must be a list of maps; [1] is a string"),
        ({"turns": [{"role": "user"}, {"role": 5}]}, "turns[1].role", "must be a string, not 5"),
        ({"turns": [{}]}, "turns[0].role", "is missing; it must be a string"),
        ({"turn": {"role": []}}, "turn.role", "must be a string, not a list"),
        ({"map_of_texts": {"a": [], "b": 5}}, "map_of_texts.b", "must be a list of strings, not 5"),
    ],
)
def test_value_that_is_not_taken_is_named_with_its_place(
    fields: dict[str, Any], field: str, message: str
) -> None:
    found = error(**fields)
    assert found.field == field
    assert str(found).startswith(f"{field} {message}")
    assert len(str(found)) < 200


def test_long_values_are_not_repeated_whole() -> None:
    assert len(str(error(choice="c" * 1_000_000))) < 200
    assert read_request(Everything, {"text": " "}).text == " "


def test_empty_table_of_a_language_without_two_kinds_is_both() -> None:
    found = read_request(Everything, {"texts": {}, "turns": {}, "map": [], "turn": {"role": "x"}})
    assert (found.texts, found.turns, found.map) == ((), (), {})


def test_list_that_is_too_long_is_refused() -> None:
    assert LIST_MAX >= 10_000
    for fields in ({"turns": [None] * 4}, {"turns": [None] * 4, "text": 5}):
        with pytest.raises((TooLarge, InvalidRequest)):
            read_request(Everything, fields)
    with pytest.raises(TooLarge, match="turns has 4 entries; at most 3 are taken"):
        read_request(Everything, {"turns": [None] * 4})
    with pytest.raises(TooLarge, match="texts has 20,001 entries; at most 20,000 are taken"):
        read_request(Everything, {"texts": [None] * (LIST_MAX + 1)})


WIRE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(WIRE, st.sampled_from(Everything.__struct_fields__))
def test_whatever_comes_over_the_wire_is_read_or_refused(value: object, name: str) -> None:
    refused: InvalidRequest | None = None
    try:
        read_request(Everything, {name: value})
    except InvalidRequest as raised:
        refused = raised
    if refused is not None:
        assert refused.field is not None
        assert refused.field.startswith(name)
        assert str(refused).startswith(name)
        assert len(str(refused)) < 300
