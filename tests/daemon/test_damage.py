"""Damage that a daemon meets while it works is said, quarantined and mended, without a restart."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks.faults.home import Home, home, wait_until
from foveal.ipc.errors import RpcError


def project_folder(user: Home) -> Path:
    (folder,) = (user.state / "projects").iterdir()
    return folder


def edit_index(user: Home, statement: str) -> None:
    with closing(sqlite3.connect(project_folder(user) / "index.sqlite", timeout=60)) as database:
        database.execute(statement)
        database.commit()


def answers(user: Home) -> tuple[list[str], Any]:
    cwd = str(user.project)
    found = user.call("Query", cwd=cwd, query="who calls login")
    node = user.call("GetNode", cwd=cwd, node_id="shop/auth.py#login")
    return sorted(hit["path"] for hit in found["results"]), node.get("signature")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE definitions SET start_line = 'first', signature = x'ff'",
        "UPDATE definitions SET signature = CAST(x'ff' AS TEXT)",
        "ALTER TABLE definitions RENAME COLUMN signature TO signed",
    ],
)
def test_damage_that_a_question_meets_is_mended_and_said(
    tmp_path_factory: pytest.TempPathFactory, statement: str
) -> None:
    with home(tmp_path_factory.mktemp("h")) as user:
        user.open_ready()
        before = answers(user)
        edit_index(user, statement)

        def mended() -> bool:
            try:
                return answers(user) == before
            except Exception:  # noqa: BLE001 - it may say that it can't answer now
                return False

        def is_quarantined() -> bool:
            mended()
            return bool(list(project_folder(user).glob("index.sqlite.damaged-*")))

        assert wait_until(is_quarantined, 60.0, 0.1)
        assert wait_until(mended, 60.0, 0.1)
        assert "index.sqlite.damaged-" in str(user.call("Status"))


def test_an_index_that_is_cut_while_it_is_read_ends_nobody(tmp_path_factory: pytest.TempPathFactory) -> None:
    with home(tmp_path_factory.mktemp("h")) as user:
        user.open_ready()
        user.end()  # its log is folded in, so that all is read from the file that is cut
        user.open_ready()
        answers(user)
        pid = user.call("Ping")["pid"]
        os.truncate(project_folder(user) / "index.sqlite", 0)
        for number in range(20):  # not what is kept in memory
            with suppress(RpcError):  # it may say that it can't answer now
                user.call("Query", cwd=str(user.project), query=f"who calls login {number}")
        assert user.call("Ping")["pid"] == pid


def test_pipes_in_the_place_of_files_hold_nobody_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    with home(tmp_path_factory.mktemp("h")) as user:
        user.open_ready()
        before = answers(user)
        user.end()
        folder = project_folder(user)
        for path in (
            folder / "at_work",
            *list((folder / "lexical").iterdir())[:3],
            folder / "index.sqlite-wal",
        ):
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        user.open_ready()
        assert wait_until(lambda: answers(user) == before, 60.0, 0.1)
        assert "at_work.damaged-" in str(user.call("Status"))
        user.end()
        assert not user.pid, "it ends when it is asked to"
