"""Projects of a few files, and a check of what an import in one of them means."""

from __future__ import annotations

import json

from foveal.daemon.languages.shared.imports import ImportResolver, keys_of_path
from foveal.daemon.languages.shared.records import Import

Files = dict[str, str]


def resolver(files: Files) -> ImportResolver:
    """Return a resolver whose project holds these files."""

    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return ImportResolver(files.keys(), read)


def tree(*paths: str) -> Files:
    """Return empty files."""
    return dict.fromkeys(paths, "")


def check(
    files: Files, importer: str, language: str, module: str, expected: str | None, name: str = ""
) -> None:
    """Check what an import means, and that it waits under a key of the file that it means."""
    imported = Import(module, name, 1, required=not name)
    project = resolver(files)
    found = project.resolve(importer, language, imported)
    assert found == expected, (importer, module, found)
    if expected is not None:
        keys = project.retry_keys(importer, language, imported)
        assert set(keys) & set(keys_of_path(expected)), (keys, expected)


CONFIG = {
    "tsconfig.json": '{"compilerOptions": {"baseUrl": "src", "paths": {"@/*": ["*", "../b/*"]}}}',
    "package.json": json.dumps(
        {"name": "p", "imports": {"#a": "./a/b.js"}, "exports": {".": "./dist/a.js", "./*": "./b/*"}}
    ),
    "a/go.mod": "module m",
    "go.mod": "module n",
}
"""Configuration files that are beside the files of `appears`."""


def appears(files: set[str], importer: str, language: str, imported: Import, new: str) -> None:
    """Check that a file which changes what an import means shares a key with it."""
    known: Files = dict.fromkeys(files - {new}, "") | CONFIG
    project = resolver(known)
    before = project.resolve_all(importer, language, imported)
    keys = project.retry_keys(importer, language, imported)
    known[new] = ""
    project.added(new)
    after = project.resolve_all(importer, language, imported)
    assert after == resolver(known).resolve_all(importer, language, imported)
    assert set(after) <= set(known)
    if after != before:
        assert set(keys) & set(keys_of_path(new))
