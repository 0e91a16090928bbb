"""Links open editors and the applets of the user's own setting, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from foveal.daemon.config.addresses import (
    EDITORS,
    applet_address,
    applet_at,
    applet_problem,
    editor_problem,
    editor_template,
)
from foveal.daemon.config.files import load_user_config
from foveal.daemon.core.errors import ConfigError
from foveal.daemon.core.system import System
from foveal.dashboard.formats import editor_href


def test_each_name_has_an_address_that_would_be_taken_as_a_setting_too() -> None:
    assert {name: editor_template(name) for name in EDITORS} == EDITORS
    assert [editor_problem(address) for address in EDITORS.values()] == [""] * len(EDITORS)
    assert [name for name in EDITORS if not editor_href(editor_template(name), "/r", "a.py")] == []


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", "must be one of vscode"),
        ("emacs", "must be one of vscode"),
        ("javascript:alert(1)//{path}", "must be one of"),
        ("javascript://%0aalert(1)//{path}", "must be one of"),
        ("javascript://%0a+alert//{path}", "javascript:"),
        ("JavaScript://{path}", "must be one of"),
        ("data://text/html,{path}", "data:"),
        ("http://evil.example/{path}", "http:"),
        ("https://evil.example/{path}", "https:"),
        ("file://{path}", "file:"),
        ("file:///{path}", "file:"),
        ("file:{path}", "must be one of"),
        ("file:/{path}", "must be one of"),
        ("FILE://{path}", "must be one of"),
        (" file://{path}", "must be one of"),
        ("file://{path}\n", "must be one of"),
        ("java\tscript://{path}", "must be one of"),
        ("javascript:{path}", "must be one of"),
        ("data:text/html,{path}", "must be one of"),
        ("data:text/html;base64,{path}", "must be one of"),
        ("//evil.example/{path}", "must be one of"),
        ("\\\\evil\\{path}", "must be one of"),
        ("view-source://{path}", "view-source:"),
        ("blob://{path}", "blob:"),
        ("vbscript://{path}", "vbscript:"),
        ("ms-msdt://{path}", "ms-msdt:"),
        ("search-ms://{path}", "search-ms:"),
        ('myed://"onclick=alert(1){path}', "must be one of"),
        ("myed://{path} {line}", "must be one of"),
        ("myed:{path}", "must be one of"),
        ("myed://open", "must have {path}"),
        ("myed://{path}{column}", "nothing else in braces"),
    ],
)
def test_unsafe_editor_address_is_refused(template: str, problem: str) -> None:
    assert problem in editor_problem(template)
    assert editor_template(template) == ""


def test_invalid_editor_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[dashboard]\n\neditor = 'https://evil/{path}'\n")
    with pytest.raises(ConfigError, match=r"line 3: dashboard\.editor can't be an address with https:"):
        load_user_config(str(path), System())
    path.write_text("[dashboard]\nport = 4000\neditor = 'zed'\n")
    assert load_user_config(str(path), System()).config.dashboard.editor == "zed"


APPLETS = "https://apps.example/{slug}?{params}"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("", ""),
        (APPLETS, ""),
        ("http://localhost:3000/#/{slug}", ""),
        ("http://[::1]:3000/a?applet={slug}&{params}", ""),
        ("myapp://open/{slug}?{params}", ""),
        ("javascript:alert(1)//{slug}", "must be an address"),
        ("javascript://%0aalert(1)//{slug}", "must be an address"),
        ("JavaScript://x/{slug}", "must be an address"),
        (" javascript://x/{slug}", "must be an address"),
        ("javascript://x/{slug}", "can't be an address with javascript:"),
        ("data://x/{slug}", "can't be an address with data:"),
        ("vbscript://x/{slug}", "vbscript:"),
        ("file:///{slug}", "can't be an address with file:"),
        ("blob://x/{slug}", "blob:"),
        ("ms-msdt://x/{slug}", "ms-msdt:"),
        ("https://{slug}", "must be an address"),
        ("https://{slug}.apps.example/", "must be an address"),
        ("https://user@apps.example/{slug}", "must be an address"),
        ("https:///{slug}", "must name a host"),
        ("https://apps.example/", "must have {slug}"),
        ("https://apps.example/{slug}/{slug}", "must have {slug} in it once"),
        ("https://apps.example/{slug}?{params}&x=1", "may end with ?{params}"),
        ("https://apps.example/{slug}{params}", "may end with ?{params}"),
        ("https://apps.example/{slug}?{query}", "nothing else in braces"),
        ('https://apps.example/{slug}"onclick=alert(1)', "must be an address"),
    ],
)
def test_unsafe_applet_address_is_refused(template: str, problem: str) -> None:
    found = applet_problem(template)
    assert problem in found
    assert bool(problem) == bool(found)


def test_invalid_applet_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[applet]\n\nurl = 'javascript:alert(1)//{slug}'\n")
    with pytest.raises(ConfigError, match=r"line 3: applet\.url must be an address such as"):
        load_user_config(str(path), System())


@pytest.mark.parametrize(
    ("slug", "parameters"),
    [
        ("git-diff", {}),
        ("git-diff", {"file": "src/a b.py", "q": "a&b=c#d?e", "": "x"}),
        ("../..//evil.example/?x#y", {"{slug}": "{params}"}),
        ("%2e%2e", {"'\"><script>": "javascript:alert(1)"}),
        ("страница", {"ключ": "значение\u202e"}),
    ],
)
def test_applet_address_is_encoded_and_read_again(slug: str, parameters: dict[str, str]) -> None:
    for template in (APPLETS, "myapp://open?name={slug}&{params}"):
        address = applet_address(template, slug, parameters)
        head = template.partition("{")[0]
        assert address.startswith(head)
        assert re.fullmatch(r"[\w.~%&=?/-]+", address.removeprefix(head), re.ASCII)
        assert "/" not in address.removeprefix(head)
        assert applet_at(template, address) == (slug, tuple(parameters.items()))
    assert applet_address("", slug, parameters) == ""


def test_applet_address_of_dots_and_of_another_place_is_none() -> None:
    assert [applet_address(APPLETS, slug, {}) for slug in (".", "..")] == ["", ""]
    assert applet_at(APPLETS, "https://apps.example/git-diff#part") == ("git-diff", ())
    for other in ("https://apps.example/a/b?c=1", "http://apps.example/a", "https://apps.example.evil/a?b=1"):
        assert applet_at(APPLETS, other) is None
    assert applet_at(APPLETS, "https://apps.example/a?x%3Dy=1&z=2") is None, "nothing could keep such a name"
