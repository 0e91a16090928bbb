"""A project's metadata come from its manifests, its files and git, and say when they may have changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.project.metadata import (
    KnownMetadata,
    Manifest,
    metadata_key,
    read_manifests,
    read_metadata,
)
from foveal.daemon.project.tree import FileRecord, Tree

from tests.conftest import git


def tree_of(root: Path) -> Tree:
    paths = (path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path))
    return Tree(
        str(root),
        1,
        {
            str(path.relative_to(root)): FileRecord(str(path.relative_to(root)), stamp_of(path.stat()))
            for path in paths
        },
    )


def test_name_languages_commands_branch_and_commits(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    (tmp_path / "package.json").write_text('{"name": "kite", "scripts": {"test": "x", "dev": "y"}}')
    for name in ("a.ts", "b.ts", "c.ts", "d.py", "README.md"):
        (tmp_path / name).write_text("")
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "add", "-A")
    for subject in ("One", "Two\n\nbody", "Three", "Four"):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)
    found = read_metadata(tree_of(tmp_path), System())
    assert found.name == "kite"
    assert found.languages == (("typescript", 0.75), ("python", 0.25))
    assert [f"{one.purpose}: {one.line}" for one in found.commands] == [
        "test: make test",
        "test: npm run test",
        "check: make lint",
        "run: npm run dev",
    ]
    assert found.branch == "trunk"
    assert [commit.line.partition(" ")[2] for commit in found.commits] == ["Four", "Three", "Two"]


def test_known_metadata_hold_until_a_commit_and_not_before_they_are_read_again(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "One")
    tree, known = tree_of(tmp_path), KnownMetadata(System())
    assert not known.holds(tree, 1_000.0)
    known.set(metadata_key(tree, System()), read_metadata(tree, System()))
    assert known.holds(tree, 1_000.0)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Two")
    assert known.holds(tree, 1_000.4), "the disk is looked at twice a second"
    for now in (1_000.6, 1_000.7, 1_002.0):  # the same request asks more than once
        assert not known.holds(tree, now)
    known.set(metadata_key(tree, System()), read_metadata(tree, System()))
    assert known.holds(tree, 1_002.0)


def test_a_tree_that_was_not_listed_yet_has_the_manifests_on_the_disk(tmp_path: Path) -> None:
    empty = Tree(str(tmp_path))
    nothing = metadata_key(empty, System())
    (tmp_path / "package.json").write_text('{"name": "kite", "description": "Flies."}')
    found = read_metadata(empty, System())
    assert (found.name, found.description, found.languages) == ("kite", "Flies.", ())
    assert metadata_key(empty, System()) != nothing


def test_the_key_changes_with_a_manifest_a_commit_and_a_name(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module kite\n")
    git(tmp_path, "init", "-q", "-b", "trunk")
    tree = tree_of(tmp_path)
    keys = [metadata_key(tree, System())]
    assert metadata_key(tree, System()) == keys[0]
    (tmp_path / "go.mod").write_text("module another\n")
    keys.append(metadata_key(tree, System()))
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "One")
    keys.append(metadata_key(tree, System()))
    (tmp_path / "go.mod").unlink()
    keys.append(metadata_key(tree, System()))
    assert len(set(keys)) == 4


# Manifests of each kind tell name, description and commands; broken or hostile ones tell nothing.


def read(folder: Path, files: dict[str, str]) -> list[Manifest]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return read_manifests(str(folder), files, System())


CASES: list[tuple[dict[str, str], str, str, list[str]]] = [
    (
        {
            "pyproject.toml": '[project]\nname = "kite"\ndescription = "Flies."\n[tool.pytest.ini_options]\n[tool.ruff]\n',
            "uv.lock": "",
        },
        "kite",
        "Flies.",
        ["test: uv run pytest", "check: uv run ruff check"],
    ),
    (
        {"pyproject.toml": '[tool.poetry]\nname = "kite"\n[tool.poe.tasks]\nlint = "x"\nother = "y"\n'},
        "kite",
        "",
        ["check: poe lint"],
    ),
    ({"setup.cfg": "[metadata]\nname = kite\ndescription = Flies high\n"}, "kite", "Flies high", []),
    (
        {
            "package.json": '{"name": "kite", "description": "Flies", "scripts": {"test": "x", "build": "y", "ci": "z"}}',
            "pnpm-lock.yaml": "",
        },
        "kite",
        "Flies",
        ["test: pnpm test", "build: pnpm build"],
    ),
    ({"deno.json": '{"tasks": {"dev": "x"}}'}, "", "", ["run: deno task dev"]),
    (
        {"Cargo.toml": '[package]\nname = "kite"\n[workspace]\n'},
        "kite",
        "",
        ["build: cargo build --workspace", "test: cargo test --workspace", "check: cargo clippy"],
    ),
    (
        {"go.mod": "module example.org/kite\n\ngo 1.22\n"},
        "example.org/kite",
        "",
        ["build: go build ./...", "test: go test ./...", "check: go vet ./..."],
    ),
    (
        {
            "pom.xml": "<project><parent><artifactId>no</artifactId></parent><artifactId>kite</artifactId></project>",
            "mvnw": "",
        },
        "kite",
        "",
        ["build: ./mvnw package", "test: ./mvnw test"],
    ),
    (
        {"settings.gradle.kts": 'rootProject.name = "kite"\n', "gradlew": ""},
        "kite",
        "",
        ["build: ./gradlew build", "test: ./gradlew test"],
    ),
    ({"composer.json": '{"name": "a/kite", "scripts": {"test": []}}'}, "a/kite", "", ["test: composer test"]),
    (
        {"Makefile": "CC := gcc\nall: kite\n\ttrue\n.PHONY: test\ntest: all\nkite: main.c\n"},
        "",
        "",
        ["build: make all", "test: make test"],
    ),
    ({"justfile": "set shell := ['sh']\n@build target='x':\n  true\n"}, "", "", ["build: just build"]),
    (
        {"CMakeLists.txt": 'cmake_minimum_required(VERSION 3)\nproject(kite DESCRIPTION "Flies")\n'},
        "kite",
        "Flies",
        ["build: cmake -B build && cmake --build build", "test: ctest --test-dir build"],
    ),
    ({"mix.exs": "def project do\n [app: :kite]\nend"}, "kite", "", ["build: mix compile", "test: mix test"]),
    (
        {"mix.exs": '@description "Flies."\ndef project do\n [app: :kite, description: @description]\nend'},
        "kite",
        "Flies.",
        ["build: mix compile", "test: mix test"],
    ),
    ({"Gemfile": "", ".rspec": ""}, "", "", []),
    ({"Gemfile": "gem 'x'", ".rspec": ""}, "", "", ["test: bundle exec rspec"]),
    (
        {
            "README.md": "# Kite\n\n[![Build](https://x/y.svg)](https://x)\n\nThanks to all!\n\n"
            "**Kite** is a [small](https://x) thing that flies.\n"
        },
        "",
        "Kite is a small thing that flies.",
        [],
    ),
]


@pytest.mark.parametrize(("files", "name", "description", "commands"), CASES)
def test_a_manifest_is_read(
    tmp_path: Path, files: dict[str, str], name: str, description: str, commands: list[str]
) -> None:
    found = read(tmp_path, files)
    assert next((one.name for one in found if one.name), "") == name
    assert next((one.description for one in found if one.description), "") == description
    assert [f"{one.purpose}: {one.line}" for manifest in found for one in manifest.commands] == commands


HOSTILE = [
    {"pyproject.toml": "not = = toml"},
    {"pyproject.toml": "a" + ".a" * 100_000 + " = 1"},
    {"pyproject.toml": "[project]\nname = 3\nscripts = 'x'\n[tool]\npoe = 3\n"},
    {"package.json": "[" * 100_000},
    {"package.json": '{"name": ["x"], "scripts": ["test"]}'},
    {"Cargo.toml": "[dependencies]\n"},
    {"go.mod": "\0" * 1000},
    {"pom.xml": "<parent>" * 50_000},
    {"README.md": "![" * 100_000},
    {"CMakeLists.txt": "project (((" * 50_000},
    {"Makefile": "a" * 300_000},
]


@pytest.mark.parametrize("files", HOSTILE)
def test_unreadable_manifests_give_nothing(tmp_path: Path, files: dict[str, str]) -> None:
    assert all(not one.name and not one.description for one in read(tmp_path, files))


def test_package_json_follows_the_manifest_of_another_language(tmp_path: Path) -> None:
    elixir = 'def project do\n [app: :kite,\n  description: "Flies."]\nend'
    frontend = '{"name": "kite-client", "description": "Talks to kite."}'
    found = read(tmp_path, {"package.json": frontend, "mix.exs": elixir})
    assert [(manifest.name, manifest.description) for manifest in found] == [
        ("kite", "Flies."),
        ("kite-client", "Talks to kite."),
    ]
