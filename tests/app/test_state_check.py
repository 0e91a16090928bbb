"""Every file of the state folder is read as its owner reads it; what is damaged is told, and set aside at last."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foveal.benchmarks.faults.filled import fill, project_files
from foveal.benchmarks.faults.home import PROJECT, home
from foveal.daemon.app.server import MIGRATIONS
from foveal.daemon.app.state_check import Finding, check_state_files, repair
from foveal.daemon.core.state_folder import STATE_VERSION, bring_up
from foveal.daemon.core.system import System
from foveal.daemon.index.store import Store

from tests.app.state_files import MAKERS

FOLDERS = {"session": "sessions", "items": "projects/p", "pool": "projects/p",
           "lexical": "projects/p", "embeddings": "embeddings", "vectors": "projects/p/vectors"}  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for kind, make in MAKERS.items():
        folder = tmp_path / FOLDERS.get(kind, "")
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
    (vectors,) = (tmp_path / "projects/p/vectors").glob("*.bin")
    vectors.rename(vectors.with_name("vectors-1.bin"))
    bring_up(str(tmp_path), System(), STATE_VERSION, MIGRATIONS)
    return tmp_path


def found(state: Path) -> dict[str, Finding]:
    return {one.path: one for one in check_state_files(str(state), System())}


DAMAGED = {
    "trusted.json": b"{",
    "approvals.json": b"[]",
    "sessions/one/meta.json": b"",
    "projects/p/items.json": b"\xff",
    "projects/p/vectors/vectors-1.bin": b"no vectors",
    "scopes.sqlite": b"no database" * 100,
    "embeddings/embeddings.sqlite": b"SQLite format 3\0" + b"x" * 5000,
}


def test_intact_files_are_reported_intact(state: Path) -> None:
    conditions = {path: one.condition for path, one in found(state).items()}
    assert set(conditions.values()) == {"whole"}
    assert set(DAMAGED) < set(conditions)
    assert "projects/p/lexical" in conditions
    assert any(path.startswith("projects/p/experiences.") for path in conditions)


def test_damaged_files_are_reported_and_quarantined(state: Path) -> None:
    for name, content in DAMAGED.items():
        (state / name).write_bytes(content)
    for log in state.rglob("*.sqlite-wal"):
        log.unlink()  # it holds pages that SQLite would put in the place of damaged ones
    (segment,) = list((state / "projects/p/lexical").glob("*.term"))[:1]
    segment.write_bytes(segment.read_bytes()[:-1])
    damaged = {path: one for path, one in found(state).items() if one.condition == "damaged"}
    assert set(damaged) == {*DAMAGED, "projects/p/lexical"}
    assert {path for path, one in damaged.items() if one.derived} == {
        "projects/p/lexical", "projects/p/vectors/vectors-1.bin", "embeddings/embeddings.sqlite",
    }  # fmt: skip
    for path, finding in damaged.items():
        assert finding.text
        kept = repair(str(state), finding, System())
        aside = (state / path).with_name(kept)
        assert not (state / path).exists()
        assert aside.is_dir() or aside.read_bytes() == DAMAGED[path]
    assert {one.condition for one in found(state).values()} == {"whole", "aside"}


def test_self_repairing_damage_needs_no_repair(state: Path) -> None:
    (state / "version.json").write_bytes(b"{")
    pool = state / "projects/p/experiences.jsonl"
    pool.write_bytes(b"no line\n" + pool.read_bytes())
    findings = found(state)
    for path in ("version.json", "projects/p/experiences.jsonl"):
        assert (findings[path].condition, findings[path].mends_itself) == ("damaged", True)


def test_wrong_kinds_and_unknown_files_are_reported(state: Path) -> None:
    (state / "trusted.json").unlink()
    os.mkfifo(state / "trusted.json")
    (state / "scopes.sqlite").unlink()
    (state / "scopes.sqlite").mkdir()
    (state / "note.txt").write_text("mine")
    (state / "foveal.log").write_text("a line")
    findings = found(state)
    assert findings["trusted.json"].condition == "damaged"
    assert findings["scopes.sqlite"].condition == "damaged"
    assert findings["note.txt"].condition == "unknown"
    assert "foveal.log" not in findings


def test_a_newer_session_is_no_damage(state: Path) -> None:
    path = state / "sessions/one/meta.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 99'))
    assert found(state)["sessions/one/meta.json"].condition == "unreadable"


def test_a_newer_database_is_no_damage(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "deliveries.sqlite")) as database:
        database.execute("PRAGMA user_version = 99")
    finding = found(tmp_path)["deliveries.sqlite"]
    assert finding.condition == "unreadable"
    assert "newer foveal (version 99" in finding.text


def test_index_with_a_bad_row_or_key_is_repaired(tmp_path: Path) -> None:
    for statement in (
        "INSERT INTO files VALUES (1, CAST(x'ff' AS TEXT), 1, 1, 1, 1, x'', '', '', 0, 0, 0)",
        "UPDATE meta SET value = 'many' WHERE key = 'generation'",
    ):
        folder = tmp_path / "projects/p"
        Store(str(folder), System()).close()
        with closing(sqlite3.connect(folder / "index.sqlite")) as database:
            database.execute(statement)
            database.commit()
        (damaged,) = [one for one in check_state_files(str(tmp_path), System()) if one.condition == "damaged"]
        assert (damaged.path, damaged.derived) == ("projects/p/index.sqlite", True)
        repair(str(tmp_path), damaged, System())
        store = Store(str(folder), System())
        assert (store.replaced, store.load_files()) == ("", {})
        store.close()
        assert "damaged" not in {one.condition for one in check_state_files(str(tmp_path), System())}


def test_wrong_kind_of_file_in_place_of_a_log_or_folder_is_found(state: Path) -> None:
    os.mkfifo(state / "scopes.sqlite-journal")
    (state / "tools").write_text("no folder")
    damaged = {one.path for one in check_state_files(str(state), System()) if one.condition == "damaged"}
    assert damaged == {"scopes.sqlite", "scopes.sqlite-journal", "tools"}


def test_every_file_that_a_daemon_leaves_is_known(tmp_path_factory: pytest.TempPathFactory) -> None:
    with home(tmp_path_factory.mktemp("h"), files={**PROJECT, **project_files()}) as user:
        fill(user)
        for end in (user.kill_all, user.end):
            end()
            findings = list(check_state_files(str(user.state), System()))
            assert {one.path for one in findings if one.condition != "whole"} == set()
            assert len(findings) > 10
            user.open_ready()
