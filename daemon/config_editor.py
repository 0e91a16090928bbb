"""Owns which editors the dashboard's links may open: names, and addresses of schemes that editors have."""

from __future__ import annotations

import re

EDITORS = (
    "vscode", "vscode-insiders", "vscodium", "cursor", "windsurf",
    "zed", "idea", "pycharm", "sublime", "neovim",
)  # fmt: skip
"""The editors whose addresses the dashboard knows."""

_TEMPLATE = re.compile(r"([a-z][a-z0-9+.-]{1,30})://[\w{}/?&=:;@%+.,~*!$-]*", re.ASCII)

_OTHERS = {
    "about", "blob", "chrome", "data", "devtools", "file", "filesystem", "ftp", "ftps", "http", "https",
    "intent", "jar", "javascript", "mailto", "res", "resource", "search-ms", "smb", "ssh", "telnet",
    "vbscript", "view-source", "ws", "wss",
}  # fmt: skip
"""Schemes that a browser or a system follows itself: a link would lead elsewhere, or run something."""


def editor_problem(editor: str) -> str:
    """Return why a setting names no editor, as the rest of a sentence; "" where it does."""
    if editor in EDITORS:
        return ""
    found = _TEMPLATE.fullmatch(editor)
    if found is None:
        return (
            f"must be one of {', '.join(EDITORS)}, or an address such as "
            "myeditor://open?file={path}&line={line}"
        )
    if found[1] in _OTHERS or found[1].startswith("ms-"):
        return f"can't be an address of {found[1]}:, which no editor has for its own"
    left = editor.replace("{path}", "").replace("{line}", "")
    if "{path}" not in editor or "{" in left or "}" in left:
        return "must have {path} in it, may have {line}, and nothing else in braces"
    return ""
