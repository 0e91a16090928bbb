"""What is kept of the dashboard survives, holds no secret that opens anything, and is never fatal when damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from foveal.daemon.access.dashboard import DashboardFile
from foveal.daemon.core.system import System

WHOLE = {"version": 1, "port": 1, "secret": "ab" * 32, "sessions": []}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        json.dumps(WHOLE | {"port": 65536}),
        json.dumps(WHOLE | {"secret": ""}),
        json.dumps(WHOLE | {"sessions": [{"digest": "x", "expires": 1}]}),
        json.dumps(WHOLE | {"sessions": [{"digest": "ab" * 32, "expires": "soon"}]}),
        '{"version": 1, "port": 1, "secret": "' + "ab" * 40_000,
        "\udcff",
    ],
)
def test_a_damaged_file_is_set_aside_and_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "dashboard.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    file = DashboardFile(str(tmp_path), System())
    state, problem = file.read()
    assert (state.port, state.sessions) == (0, ())
    assert "can't be used" in problem
    assert problem.endswith("foveal dashboard")
    [aside] = os.listdir(tmp_path)
    assert aside.startswith("dashboard.json.damaged-")
    assert aside in problem
    assert file.read()[1] == ""


def test_what_is_no_file_of_ours_is_set_aside_too(tmp_path: Path) -> None:
    file = DashboardFile(str(tmp_path), System())
    for make in (Path.mkdir, lambda path: path.symlink_to("elsewhere"), os.mkfifo):
        make(tmp_path / "dashboard.json")
        assert "is kept as" in file.read()[1]
        assert file.read()[1] == ""
