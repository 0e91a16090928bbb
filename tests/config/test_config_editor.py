"""Links of the dashboard open editors and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config.files import load_user_config
from foveal.daemon.config.source import EDITORS, editor_problem, editor_template
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
