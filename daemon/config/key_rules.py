"""The rule for the value of each key of the settings, and that for addresses of editors."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


EDITORS: Mapping[str, str] = {
    "vscode": "vscode://file{path}:{line}",
    "vscode-insiders": "vscode-insiders://file{path}:{line}",
    "vscodium": "vscodium://file{path}:{line}",
    "cursor": "cursor://file{path}:{line}",
    "windsurf": "windsurf://file{path}:{line}",
    "zed": "zed://file{path}:{line}",
    "idea": "idea://open?file={path}&line={line}",
    "pycharm": "pycharm://open?file={path}&line={line}",
    "sublime": "subl://open?url=file://{path}&line={line}",
    "neovim": "nvim://file{path}:{line}",
}
"""The addresses by which editors open a file at a line, as they document them; `neovim` needs a handler that
its user registered."""

_TEMPLATE = re.compile(r"([a-z][a-z0-9+.-]{1,30})://[\w{}/?&=:;@%+.,~*!$-]*", re.ASCII)

_OTHERS = {
    "about", "blob", "chrome", "data", "devtools", "file", "filesystem", "ftp", "ftps", "http", "https",
    "intent", "jar", "javascript", "mailto", "res", "resource", "search-ms", "smb", "ssh", "telnet",
    "vbscript", "view-source", "ws", "wss",
}  # fmt: skip
"""Schemes that a browser or a system follows itself: a link would lead elsewhere, or run something."""


def editor_template(editor: str) -> str:
    """Return the address for a setting, with `{path}` for the absolute path and perhaps `{line}`; "" if
    `editor_problem` rejects the setting, so that pages show no link."""
    return "" if editor_problem(editor) else EDITORS.get(editor, editor)


def editor_problem(editor: str) -> str:
    """Return what is wrong with a setting, as the rest of a sentence; "" if it names an editor."""
    if editor in EDITORS:
        return ""
    found = _TEMPLATE.fullmatch(editor)
    if found is None:
        return (
            f"must be one of {', '.join(EDITORS)}, or an address such as "
            "myeditor://open?file={path}&line={line}"
        )
    if found[1] in _OTHERS or found[1].startswith("ms-"):
        return f"can't be an address with {found[1]}:, because that scheme doesn't belong to an editor"
    left = editor.replace("{path}", "").replace("{line}", "")
    if "{path}" not in editor or "{" in left or "}" in left:
        return "must have {path} in it, may have {line}, and nothing else in braces"
    return ""
