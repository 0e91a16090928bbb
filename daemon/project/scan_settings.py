"""What a scan leaves out by settings: folder names, patterns, a size."""

from __future__ import annotations

from msgspec import Struct

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
        "htmlcov",
        "DerivedData",
        "virtualenv",
    }
)
"""Folder names that people use too. They are skipped unless git tracks a file inside."""

OUTPUT_FOLDERS = frozenset({"dist", "build", "target", "out", "_build", "coverage"})
"""Folder names that build tools write to, and people use for source (`video/out/` in mpv, `build/` in many).
In a git repository they are skipped as the ones above. Outside of one nobody says what is tracked: there they
are skipped only beside a file of `BUILD_FILES`, where such tools put them."""

BUILD_FILES = frozenset(
    {
        "package.json",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "Cargo.toml",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "build.sbt",
        "build.xml",
        "CMakeLists.txt",
        "meson.build",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "dune-project",
        "mix.exs",
        "rebar.config",
        "composer.json",
        "pubspec.yaml",
        "tsconfig.json",
        "conf.py",
    }
)


class ScanSettings(Struct, frozen=True):
    """What is left out of the tree.

    `max_file_bytes`: a larger file stays a node without content; 1 MiB is above nearly all written source.
    `exclude`: patterns in gitignore syntax, relative to the root, which nothing can re-include.
    `skip_folders` and `skip_untracked_folders`: names of vendored and generated folders, see the defaults.
    """

    max_file_bytes: int = 1 << 20
    exclude: tuple[str, ...] = ()
    skip_folders: frozenset[str] = ALWAYS_SKIPPED_FOLDERS
    skip_untracked_folders: frozenset[str] = UNTRACKED_SKIPPED_FOLDERS
