"""Each field that is missing, of a wrong type or out of range is an error that names it and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from foveal.daemon.core import parameters
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.core.parameters import LIST_MAX, Parameters
from hypothesis import given
from hypothesis import strategies as st

Read = Callable[[Parameters], Any]

READERS: dict[str, tuple[Read, str]] = {
    "text": (lambda one: one.text("f", "default"), "a string"),
    "required": (lambda one: one.text("f"), "a string"),
    "optional_text": (lambda one: one.optional_text("f"), "a string"),
    "integer": (lambda one: one.integer("f", 5, 0, 10), "an integer"),
    "flag": (lambda one: one.flag("f"), "true or false"),
    "choice": (lambda one: one.choice("f", "a", ["a", "b"]), "a string"),
    "texts": (lambda one: one.texts("f"), "a list of strings"),
    "map": (lambda one: one.map("f"), "a map"),
    "maps": (lambda one: one.maps("f"), "a list of maps"),
}

VALUES: dict[str, tuple[Any, str]] = {
    "text": ("x", "a string"),
    "integer": (7, "7"),
    "fraction": (1.5, "1.5"),
    "nan": (float("nan"), "nan"),
    "infinity": (float("inf"), "inf"),
    "flag": (True, "a boolean"),
    "list": (["x"], "a list"),
    "map": ({"a": 1}, "a map"),
    "bytes": (b"x", "binary data"),
}

RIGHT = {
    ("text", "text"), ("required", "text"), ("optional_text", "text"), ("integer", "integer"),
    ("flag", "flag"), ("texts", "list"), ("map", "map"), ("choice", "text"), ("maps", "list"),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("reader", READERS)
def test_a_value_of_a_wrong_type_is_named_with_what_is_wanted(reader: str, kind: str) -> None:
    read, wanted = READERS[reader]
    value, named = VALUES[kind]
    if (reader, kind) in RIGHT:
        return
    for prefix in ("", "history[3]."):
        with pytest.raises(InvalidRequest) as raised:
            read(Parameters({"f": value}, prefix))
        assert raised.value.field == f"{prefix}f"
        assert str(raised.value) == f"{prefix}f must be {wanted}, not {named}"


@pytest.mark.parametrize(
    ("reader", "absent"),
    [
        ("text", "default"),
        ("optional_text", None),
        ("integer", 5),
        ("flag", False),
        ("choice", "a"),
        ("texts", None),
        ("map", None),
        ("maps", ()),
    ],
)
def test_a_field_that_is_absent_or_null_has_its_default(reader: str, absent: object) -> None:
    read, _ = READERS[reader]
    assert read(Parameters({})) == read(Parameters({"f": None, "other": 5})) == absent


def test_a_required_field_that_is_missing_is_named() -> None:
    for values in ({}, {"f": None}):
        with pytest.raises(InvalidRequest, match="f is missing; it must be a string") as raised:
            Parameters(values).text("f")
        assert raised.value.field == "f"


@pytest.mark.parametrize("value", ["", " ", "\n\t"])
def test_a_text_that_may_not_be_empty(value: str) -> None:
    assert Parameters({"f": value}).text("f") == value
    with pytest.raises(InvalidRequest, match="f must not be empty") as raised:
        Parameters({"f": value}).text("f", empty=False)
    assert raised.value.field == "f"


@pytest.mark.parametrize(
    ("value", "shown"), [(-1, "-1"), (11, "11"), (2**63, str(2**63)), (-1.0, "-1"), (1e300, "1" + "0" * 20)]
)
def test_a_number_out_of_range_names_the_range(value: float, shown: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        Parameters({"f": value}).integer("f", None, 0, 10)
    assert raised.value.field == "f"
    assert str(raised.value).startswith("f must be from 0 to 10, not ")
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(("value", "read"), [(0, 0), (10, 10), (5.0, 5)])
def test_both_ends_of_a_range_and_whole_floats_are_taken(value: float, read: int) -> None:
    found = Parameters({"f": value}).integer("f", None, 0, 10)
    assert found == read
    assert isinstance(found, int)


def test_a_word_that_is_no_choice_names_the_choices() -> None:
    with pytest.raises(InvalidRequest, match="f must be one of a, b, not 'c'") as raised:
        Parameters({"f": "c"}).choice("f", "a", ["a", "b"])
    assert raised.value.field == "f"
    with pytest.raises(InvalidRequest) as raised:
        Parameters({"f": "c" * 1_000_000}).choice("f", "a", ["a", "b"])
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("reader", "value", "message"),
    [
        ("texts", ["a", 5, None], "f must be a list of strings; [1] is 5"),
        ("texts", ["a", None], "f must be a list of strings; [1] is null"),
        ("texts", [[]], "f must be a list of strings; [0] is a list"),
        ("maps", [{}, "x"], "f must be a list of maps; [1] is a string"),
    ],
)
def test_an_entry_of_a_wrong_type_is_named_by_its_place(reader: str, value: object, message: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        READERS[reader][0](Parameters({"f": value}))
    assert (str(raised.value), raised.value.field) == (message, "f")


def test_an_empty_table_of_a_language_without_two_kinds_is_both() -> None:
    assert Parameters({"f": {}}).texts("f") == ()
    assert Parameters({"f": {}}).maps("f") == ()
    assert Parameters({"f": []}).map("f") == {}


def test_a_list_that_is_too_long_is_refused_before_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIST_MAX >= 10_000
    monkeypatch.setattr(parameters, "LIST_MAX", 3)
    for reader in ("texts", "maps"):
        with pytest.raises(TooLarge, match="f has 4 entries; at most 3 are taken"):
            READERS[reader][0](Parameters({"f": [None] * 4}))


def test_maps_in_a_list_are_parameters_that_say_where_they_stand() -> None:
    first, second = Parameters({"history": [{"role": "user"}, {"role": 5}]}).maps("history")
    assert first.text("role") == "user"
    with pytest.raises(InvalidRequest) as raised:
        second.text("role")
    assert raised.value.field == "history[1].role"


WIRE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(WIRE, st.sampled_from(sorted(READERS)))
def test_whatever_comes_over_the_wire_is_read_or_refused(value: object, reader: str) -> None:
    refused: InvalidRequest | None = None
    try:
        READERS[reader][0](Parameters({"f": value}))
    except InvalidRequest as error:
        refused = error
    if refused is not None:
        assert refused.field == "f"
        assert str(refused).startswith("f ")
        assert len(str(refused)) < 300
