"""Links of the dashboard open editors and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.config_editor import EDITORS, editor_problem
from foveal.daemon.config_file import load_user_config
from foveal.daemon.errors import ConfigError
from foveal.daemon.system import System
from foveal.dashboard.formats import EDITORS as ADDRESSES
from foveal.dashboard.formats import editor_href


def test_the_pages_know_the_address_of_each_name() -> None:
    assert set(EDITORS) == set(ADDRESSES)
    assert [editor_problem(name) for name in EDITORS] == [""] * len(EDITORS)
    assert [name for name in EDITORS if not editor_href(name, "/r", "a.py")] == []


@pytest.mark.parametrize(
    "template",
    [
        "myeditor://open?file={path}&line={line}",
        "x-my+ed.it://{path}",
        "vscode://vscode-remote/ssh-remote+host{path}:{line}",
    ],
)
def test_an_address_of_an_editors_own_scheme(template: str) -> None:
    assert editor_problem(template) == ""
    assert editor_href(template, "/r", "a b.py", 3).endswith(("/r/a%20b.py", "line=3", ":3"))


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
def test_what_could_lead_elsewhere_is_refused(template: str, problem: str) -> None:
    assert problem in editor_problem(template)


def test_a_setting_that_is_none_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[dashboard]\n\neditor = 'https://evil/{path}'\n")
    with pytest.raises(ConfigError, match=r"line 3: dashboard\.editor can't be an address of https:"):
        load_user_config(str(path), System())
    path.write_text("[dashboard]\nport = 4000\neditor = 'zed'\n")
    assert load_user_config(str(path), System()).config.dashboard.editor == "zed"
