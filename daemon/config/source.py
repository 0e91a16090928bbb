"""A configuration file as text: reading it within limits, its TOML, the line of each key, and the rules by
which values are checked.

Every file may come from a repository that nobody has reviewed.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import Field, field
from functools import cached_property
from typing import Literal, TypeVar

from msgspec import Struct

from ..core.errors import ConfigError
from ..core.relative_paths import lies_below
from ..core.system import Stamp, System, stamp_of
from ..core.toml import MAX_DOTS_IN_LINE, crowded_line

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


MAX_CONFIG_BYTES = 1_048_576
"""A configuration file larger than 1 MiB is refused: hand-written ones have a few KB."""


class ConfigSource(Struct, frozen=True, dict=True):
    """A file that was read. Without slots, since the lines of its keys are looked up only when needed."""

    path: str
    text: str
    tables: Mapping[str, object]
    stamp: Stamp

    def place(self, full_name: str) -> str:
        """Return the path with the line that sets `table.key` or opens `table`, where that is known."""
        line = self._lines.get(full_name)
        return self.path if line is None else f"{self.path}, line {line}"

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        return _lines_of_keys(self.text)


def read_source(path: str, system: System, *, within: str = "") -> ConfigSource | None:
    """Read and parse a file, None if there is none; `within` is a folder that a symlink must not leave.

    Raises `ConfigError` for one that can't be read, is no regular file, too large, no UTF-8 or no TOML.
    """
    try:
        link = stat.S_ISLNK(system.lstat(path).st_mode)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}. Mend it or take it away.") from error
    if link and within and not lies_below(os.path.realpath(path), os.path.realpath(within)):
        raise ConfigError(f"{path} is a symlink that leaves the project. Replace it by a file.")
    try:
        # Looked at first, because a folder can be opened like a file.
        if stat.S_ISDIR(system.stat(path).st_mode):
            raise ConfigError(f"{path} is a folder, but must be a TOML file.")
        data, status = system.read(path, MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"{path} can't be read: {error.strerror or error}. Mend it or take it away."
        ) from error
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_CONFIG_BYTES} bytes, the limit for a configuration.")
    text = _decoded(path, data)
    return ConfigSource(path, text, _parsed(path, text), stamp_of(status))


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}, line {line}: not UTF-8 (byte 0x{data[error.start]:02x}). Save the file as UTF-8."
        ) from error


def _parsed(path: str, text: str) -> dict[str, object]:
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ConfigError(f"{path}, line {line}: a key has more than eight parts.")
    if number := crowded_line(text):
        raise ConfigError(f"{path}, line {number}: more than {MAX_DOTS_IN_LINE} dots. Break the line.")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{path} is not usable TOML: its values are nested too deeply.") from error
    except ValueError as error:  # TOMLDecodeError, whose text names line and column, or a giant number
        raise ConfigError(f"{path} is not valid TOML: {error}.") from error


_LONG_KEY = re.compile(
    r"""^[ \t]*+\[{0,2}+[ \t]*+(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){8}""",
    re.MULTILINE,
)
"""A key of nine parts or more at the start of a line; ours have two. It doesn't see keys of inline tables."""


def _lines_of_keys(text: str) -> dict[str, int]:
    """Map `table` and `table.key` to the line, from 1, where a file sets them.

    Found by a search of the lines, not by a parser: a key in an inline table isn't found, and text in a
    string of several lines may be taken for a key. Only messages use it.
    """
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.split("]")[0].strip("[ \t\"'")
            lines.setdefault(table, number)
        elif "=" in stripped and not stripped.startswith("#"):
            key = re.sub(r"[\s\"']", "", stripped.split("=")[0])
            lines.setdefault(f"{table}.{key}" if table else key, number)
    return lines


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
        """The rule that its value must satisfy."""
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
    """Return the name of a TOML type for a person, with its article."""
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
