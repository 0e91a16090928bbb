"""A file is trusted with the content that a person saw, durably, and no other content of it ever is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, NotFound, StateError
from foveal.daemon.core.system import System
from foveal.daemon.privacy.trust import FILE_BYTES, TrustStore, files_to_trust


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "kite"
    (folder / ".foveal/templates").mkdir(parents=True)
    (folder / "foveal.toml").write_text("[experience]\npath = 'decisions.jsonl'\n")
    (folder / ".foveal/templates/system.j2").write_text("{{ context }}")
    (folder / ".foveal/templates/notes.txt").write_text("no template")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(str(tmp_path / "trusted.json"), System())


def wanted(root: Path) -> dict[str, str]:
    return {file.path: file.digest for file in files_to_trust(str(root), System())}


def test_a_trusted_content_holds_over_a_restart_and_another_does_not(
    root: Path, store: TrustStore, tmp_path: Path
) -> None:
    assert store.trust(str(root), wanted(root)) == ("foveal.toml", ".foveal/templates/system.j2")
    assert store.trust(str(root), wanted(root)) == ()
    again = TrustStore(str(tmp_path / "trusted.json"), System()).of(str(root))
    assert again.covers(".foveal/templates/system.j2", b"{{ context }}")
    assert not again.covers(".foveal/templates/system.j2", b"{{ context }} ")
    assert not again.covers(".foveal/templates/user.j2", b"{{ context }}")
    assert not store.of(str(root.parent)).covers(".foveal/templates/system.j2", b"{{ context }}")


def test_what_changed_since_it_was_shown_is_not_trusted(root: Path, store: TrustStore) -> None:
    shown = wanted(root)
    (root / "foveal.toml").write_text("[experience]\npath = 'elsewhere.jsonl'\n")
    with pytest.raises(InvalidRequest, match="has changed since it was shown"):
        store.trust(str(root), shown)
    assert store.of(str(root)).digests == {}


@pytest.mark.parametrize("path", ["../foveal.toml", "/etc/passwd", "src/main.py", ""])
def test_only_what_could_be_trusted_can_be(root: Path, store: TrustStore, path: str) -> None:
    with pytest.raises(InvalidRequest, match="no file of"):
        store.trust(str(root), {path: "x"})


def test_links_that_lead_out_and_huge_files_cannot_be_trusted(root: Path, store: TrustStore) -> None:
    os.symlink("/etc/hostname", root / ".foveal/templates/user.j2")
    (root / "foveal.toml").write_bytes(b"#" * (FILE_BYTES + 1))
    problems = {file.path: file.problem for file in files_to_trust(str(root), System())}
    assert "leads out of the project" in problems[".foveal/templates/user.j2"]
    assert "larger than" in problems["foveal.toml"]
    with pytest.raises(InvalidRequest, match="can't be trusted"):
        store.trust(str(root), wanted(root))


def test_revoking_takes_all_of_a_project_back(root: Path, store: TrustStore) -> None:
    store.trust(str(root), wanted(root))
    assert store.revoke(str(root)) == 2
    assert store.of(str(root)).digests == {}
    with pytest.raises(NotFound):
        store.revoke(str(root))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"version": 0, "trusted": {}}',
        '{"version": 1, "trusted": {"a": 1}}',
        '{"version": 1, "trusted": {"a": {"b": [3]}}}',
    ],
)
def test_a_damaged_file_trusts_nothing_and_says_so(root: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "trusted.json"
    path.write_text(content)
    store = TrustStore(str(path), System())
    with pytest.raises(StateError, match="can't be used"):
        store.of(str(root))
    with pytest.raises(StateError):
        store.trust(str(root), wanted(root))
    assert path.read_text() == content


def test_the_file_is_for_people_too(root: Path, store: TrustStore, tmp_path: Path) -> None:
    store.trust(str(root), wanted(root))
    found = json.loads((tmp_path / "trusted.json").read_text())
    assert list(found["trusted"]) == [str(root)]
