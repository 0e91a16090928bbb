"""A check that an import waits under the keys of whatever file would change what it means."""

from __future__ import annotations

from foveal.daemon.languages.shared.imports import keys_of_path
from foveal.daemon.languages.shared.records import Import
from hypothesis import strategies as st

from tests.import_cases import Files, resolver

FOLDERS = st.lists(st.sampled_from(["a", "b", "lib", "test"]), max_size=3).map("/".join)
"""Few names, so that they often meet."""


def paths(*names: str) -> st.SearchStrategy[str]:
    """Return paths of files of these names."""
    chosen = st.sampled_from(names)
    return st.builds(lambda folder, name: f"{folder}/{name}" if folder else name, FOLDERS, chosen)


def appears(
    files: set[str], importer: str, language: str, module: str, new: str, config: Files | None = None
) -> None:
    """Check that a file which changes what an import means shares a key with it."""
    known: Files = dict.fromkeys(files - {new}, "") | (config or {})
    imported = Import(module, "", 1)
    project = resolver(known)
    before = project.resolve(importer, language, imported)
    keys = project.retry_keys(importer, language, imported)
    known[new] = ""
    project.added(new)
    after = project.resolve(importer, language, imported)
    assert after == resolver(known).resolve(importer, language, imported)
    assert after is None or after in known
    if after != before:
        assert set(keys) & set(keys_of_path(new)), (keys, new)
