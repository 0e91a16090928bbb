"""A Cargo.toml says under which name a crate is known, where its roots lie, and what it calls others."""

from __future__ import annotations

from foveal.daemon.languages.rust_imports import Crates
from foveal.daemon.languages.shared.import_folders import ImportConfig, ImportFolders, SourceFolders

FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["a-b"]\n',
    "a-b/Cargo.toml": """
[package]
name = "a-b" # hi
edition.workspace = true
[dependencies]
kernel = { version = "1", package = "core-kit" }
[[bin]]
name = "tool"
path = "tools/tool.rs"
[[bin]]
path = "tools/other.rs"
""",
    "a-b/src/lib.rs": "",
    "c/Cargo.toml": '[package]\nname = "c"\n[lib]\nname = "see"\npath = "lib/root.rs"\n',
    "c/lib/root.rs": "",
    "far/c/Cargo.toml": '[package]\nname = "c"\nedition = "2018"\n',
}


def crates(files: dict[str, str]) -> Crates:
    """Return the crates of a project of these files."""

    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return Crates(files, ImportFolders(files, ("Cargo.toml",), (), SourceFolders()), ImportConfig(read))


def test_a_crate_says_where_its_roots_are() -> None:
    crate = crates(FILES).around("a-b/src/deep/file.rs")
    assert crate is not None
    assert (crate.folder, crate.library, crate.is_old) == ("a-b", "a-b/src/lib.rs", False)
    assert crate.roots == {"a-b/tools/tool.rs", "a-b/tools/other.rs"}
    assert crate.renamed == {"kernel": "core_kit"}
