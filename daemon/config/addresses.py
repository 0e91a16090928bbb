"""The addresses that pages link to outside of the dashboard: a file in the user's editor, and an applet.

The user's own settings give their templates; what is filled in comes from projects and agents, so it is
always URL-encoded and never decides the scheme or the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode

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


_APPLET = re.compile(r"([a-z][a-z0-9+.-]{1,30})://([\w.:\[\]-]*)[/?#][\w{}/?&=:;@%+.,~*!$#-]*", re.ASCII)

_PARAMS = re.compile(r"[?&#]\{params\}$")


def applet_problem(template: str) -> str:
    """Return what is wrong with the setting `applet.url`, as the rest of a sentence; "" if it can be used."""
    if not template:
        return ""
    found = _APPLET.fullmatch(template)
    if found is None:
        return "must be an address such as https://apps.example/{slug}?{params}, without braces in its host"
    scheme, host = found.groups()
    if scheme in ("http", "https"):
        if not host:
            return "must name a host"
    elif scheme in _OTHERS or scheme.startswith("ms-"):
        return f"can't be an address with {scheme}:, because that scheme doesn't belong to an applet"
    left = _PARAMS.sub("", template).replace("{slug}", "", 1)
    if "{slug}" not in template or "{" in left or "}" in left:
        return "must have {slug} in it once, may end with ?{params}, and has nothing else in braces"
    return ""


def applet_address(template: str, slug: str, parameters: Mapping[str, str]) -> str:
    """Return the address of an applet, "" without a template, and for a slug that is a path of dots."""
    if not template or not slug.strip("."):
        return ""
    query = urlencode(parameters, quote_via=quote, errors="replace")
    whole = template if query else _PARAMS.sub("", template)
    return whole.replace("{slug}", quote(slug, safe="", errors="replace")).replace("{params}", query)


def applet_at(template: str, address: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """Return the slug and the parameters of an address that a template gives, None for any other address."""
    if "#" not in template:
        address = address.partition("#")[0]
    for form in (template, _PARAMS.sub("", template)):
        pattern = re.escape(form).replace(r"\{slug\}", "([^/?#&]+)").replace(r"\{params\}", "(.*)")
        if template and (found := re.fullmatch(pattern, address)):
            slug, *query = found.groups()
            pairs = parse_qsl("".join(query), keep_blank_values=True)
            # A parameter is kept as "name=value", which can't hold such a name.
            return None if any("=" in name for name, _ in pairs) else (unquote(slug), tuple(pairs))
    return None
