"""Owns what a scan leaves out by settings: folder names, patterns, a size."""

from __future__ import annotations

from dataclasses import dataclass

ALWAYS_SKIPPED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".bzr",
        "CVS",
        ".jj",
        "node_modules",
        "bower_components",
        "jspm_packages",
        "site-packages",
        "__pycache__",
        "__pypackages__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".gradle",
        ".terraform",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".parcel-cache",
        ".turbo",
        ".yarn",
        ".pnpm-store",
        ".dart_tool",
        ".bundle",
        ".cache",
    }
)
"""Folder names that only tools use, for what they fetch, cache or keep to themselves."""

UNTRACKED_SKIPPED_FOLDERS = frozenset(
    {
        "vendor",
        "third_party",
        "thirdparty",
        "Pods",
        "Carthage",
        "dist",
        "build",
        "target",
        "out",
        "_build",
        "coverage",
        "htmlcov",
        "DerivedData",
        "virtualenv",
    }
)
"""Folder names that people use too. They are skipped unless git tracks a file inside."""


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """What is left out of the tree.

    `max_file_bytes`: a larger file stays a node without content; 1 MiB is above nearly all written source.
    `exclude`: patterns in gitignore syntax, relative to the root, which nothing can re-include.
    `skip_folders` and `skip_untracked_folders`: names of vendored and generated folders, see the defaults.
    """

    max_file_bytes: int = 1 << 20
    exclude: tuple[str, ...] = ()
    skip_folders: frozenset[str] = ALWAYS_SKIPPED_FOLDERS
    skip_untracked_folders: frozenset[str] = UNTRACKED_SKIPPED_FOLDERS
