"""Owns the check of one value: its type, its range, and what is said of a wrong one; reads no file."""

from __future__ import annotations

from dataclasses import Field

from msgspec import Struct

from ..core.errors import ConfigError
from .settings import TYPE_NAMES, KeyRule, rule_of
from .source import ConfigSource

_MAX_STRINGS = 1_000
_MAX_STRING_CHARACTERS = 1_000
_MAX_QUOTED = 60


class Setting(Struct, frozen=True):
    """A known key that a file sets."""

    table: str
    name: str
    key: Field[object]
    value: object

    @property
    def rule(self) -> KeyRule:
        """What its value must satisfy."""
        return rule_of(self.key)

    @property
    def full_name(self) -> str:
        """The key as a person writes it: `table.name`."""
        return f"{self.table}.{self.name}"


def checked(setting: Setting, source: ConfigSource) -> object:
    """Return the value in its field's type; a list as a tuple, each string once. Raises `ConfigError`."""
    value, kind = setting.value, str(setting.key.type)
    if not _has_type(value, kind):
        raise wrong(source, setting.full_name, _expected(setting), type_of(value))
    if not _is_allowed(value, setting.rule):
        raise wrong(source, setting.full_name, _expected(setting), quoted(value))
    if isinstance(value, list):
        return tuple(dict.fromkeys(value))
    return float(value) if isinstance(value, int) and kind == "float" else value


def wrong(source: ConfigSource, full_name: str, expected: str, found: str) -> ConfigError:
    """Return the error for a value, with its place, what was expected and what it is."""
    return ConfigError(f"{source.place(full_name)}: {full_name} must be {expected}, but it is {found}.")


def type_of(value: object) -> str:
    """Return what a person calls the type of a value that TOML can hold, with its article."""
    if isinstance(value, list):
        others = sorted({type_of(item) for item in value if not isinstance(item, str)})
        return f"a list with {others[0]} in it" if others else "a list"
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", dict: "a table"}
    return names.get(type(value), "a date or a time")


def quoted(value: object) -> str:
    """Return a value as it may be shown: on one line, without control characters, cut to `_MAX_QUOTED`."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "a giant integer"  # Python refuses to print one of more than 4,300 digits
    text = repr(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[: _MAX_QUOTED - 3]}..."


def _has_type(value: object, kind: str) -> bool:
    """Check against the annotation of a field. To Python a boolean is an integer, to TOML it isn't."""
    if isinstance(value, list):
        return kind == "tuple[str, ...]" and all(isinstance(item, str) for item in value)
    if isinstance(value, bool):
        return kind == "bool"
    allowed = {"int": (int,), "float": (int, float), "str": (str,)}.get(kind, ())
    return isinstance(value, allowed)


def _is_allowed(value: object, rule: KeyRule) -> bool:
    if isinstance(value, list):
        return len(value) <= _MAX_STRINGS and all(_is_name(item, rule) for item in value)
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        # Also false for NaN, which compares with nothing.
        return rule.minimum is not None and rule.maximum is not None and rule.minimum <= value <= rule.maximum
    if isinstance(value, str) and not rule.choices:
        return len(value) <= _MAX_STRING_CHARACTERS and (not value or value.isprintable())
    return value in rule.choices


def _is_name(value: str, rule: KeyRule) -> bool:
    if rule.folder_names and ("/" in value or value in (".", "..")):
        return False
    return 0 < len(value) <= _MAX_STRING_CHARACTERS and value.isprintable()


def _expected(setting: Setting) -> str:
    rule = setting.rule
    name = TYPE_NAMES[str(setting.key.type)]
    text = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    if rule.choices:
        return f"{text}, one of {', '.join(rule.choices)}"
    if rule.minimum is not None:
        return f"{text} from {rule.minimum} to {rule.maximum}" + (f" ({rule.unit})" if rule.unit else "")
    if name == "string":
        return f"{text} of at most {_MAX_STRING_CHARACTERS} printable characters"
    if name == "boolean":
        return f"{text}, true or false"
    what = "folder names without a slash" if rule.folder_names else "patterns"
    return f"{text}, at most {_MAX_STRINGS} {what} of 1 to {_MAX_STRING_CHARACTERS} printable characters"
