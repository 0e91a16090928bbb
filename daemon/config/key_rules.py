"""The rule for the value of each key of the settings."""

from __future__ import annotations

from dataclasses import Field, field
from typing import Literal, TypeVar

from msgspec import Struct

ProjectRule = Literal["no", "set", "smaller", "add"]
"""What a project's foveal.toml may do with a key: nothing, set it freely, only lower it, only add to it."""

T = TypeVar("T")


TYPE_NAMES = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "tuple[str, ...]": "list of strings",
}
"""Names of field types for a person, by annotation."""


class KeyRule(Struct, frozen=True):
    """The rule for a key's value; kept in the metadata of the dataclass field that is the key.

    `minimum` and `maximum` are inclusive; `choices` lists the allowed strings, empty for any;
    `folder_names` says that each string of a list is a single folder's name.
    """

    description: str
    project: ProjectRule
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    folder_names: bool = False


def setting(
    default: T,
    description: str,
    *,
    project: ProjectRule = "no",
    unit: str = "",
    between: tuple[float, float] | None = None,
    choices: tuple[str, ...] = (),
    folder_names: bool = False,
) -> T:
    """Return the field of a settings' table for a key with this default and rule."""
    low, high = between or (None, None)
    rule = KeyRule(description, project, unit, low, high, choices, folder_names)
    return field(default=default, metadata={"rule": rule})


def rule_of(key: Field[object]) -> KeyRule:
    """Return the rule for a key's value."""
    rule = key.metadata["rule"]
    assert isinstance(rule, KeyRule)
    return rule
