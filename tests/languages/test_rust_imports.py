"""A path of Rust's modules means a file below a crate's root, or the file that what it names lies in."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

RUST = tree(
    "app/src/lib.rs",
    "app/src/main.rs",
    "app/src/auth.rs",
    "app/src/auth/session.rs",
    "app/src/auth/tokens/mod.rs",
    "app/src/auth/tokens/jwt.rs",
    "app/src/bin/tool.rs",
    "app/tests/flow.rs",
    "app/tests/common/mod.rs",
    "core/lib/root.rs",
    "core/lib/util.rs",
    "old/src/lib.rs",
    "old/src/deep.rs",
    "old/src/deep/inner.rs",
) | {
    "Cargo.toml": '[workspace]\nmembers = ["app", "core"]\n',
    "app/Cargo.toml": '[package]\nname = "my-app"\nedition = "2021"\n[dependencies]\nkernel = { package = "core-kit" }\n',
    "core/Cargo.toml": '[package]\nname = "core-kit"\nedition = "2021"\n[lib]\npath = "lib/root.rs"\n',
    "old/Cargo.toml": '[package]\nname = "old"\n',
}


@pytest.mark.parametrize(
    ("importer", "module", "name", "expected"),
    [
        ("app/src/main.rs", "crate::auth", "", "app/src/auth.rs"),
        ("app/src/auth.rs", "crate::auth::session", "", "app/src/auth/session.rs"),
        ("app/src/auth.rs", "crate::auth::tokens", "jwt", "app/src/auth/tokens/jwt.rs"),
        ("app/src/auth.rs", "crate::auth::session::Kind", "", "app/src/auth/session.rs"),
        ("app/src/auth.rs", "crate", "", "app/src/lib.rs"),
        ("app/src/auth.rs", "crate::inline", "", "app/src/lib.rs"),
        ("app/src/auth.rs", "crate", "function", None),
        ("app/src/auth.rs", "self", "session", "app/src/auth/session.rs"),
        ("app/src/auth.rs", "session", "", "app/src/auth/session.rs"),
        ("app/src/lib.rs", "self", "auth", "app/src/auth.rs"),
        ("app/src/auth/session.rs", "super", "", "app/src/auth.rs"),
        ("app/src/auth/session.rs", "super::tokens", "", "app/src/auth/tokens/mod.rs"),
        ("app/src/auth/tokens/mod.rs", "super", "session", "app/src/auth/session.rs"),
        ("app/src/auth/tokens/jwt.rs", "super::super", "", "app/src/auth.rs"),
        ("app/src/auth/tokens/jwt.rs", "super::super::super", "", "app/src/lib.rs"),
        ("app/src/lib.rs", "super", "", None),
        ("app/src/bin/tool.rs", "my_app::auth", "", "app/src/auth.rs"),
        ("app/src/bin/tool.rs", "crate", "", "app/src/bin/tool.rs"),
        ("app/tests/flow.rs", "my_app", "auth", "app/src/auth.rs"),
        ("app/tests/flow.rs", "self", "common", "app/tests/common/mod.rs"),
        ("app/src/lib.rs", "core_kit", "", "core/lib/root.rs"),
        ("app/src/lib.rs", "kernel::util", "", "core/lib/util.rs"),
        ("core/lib/util.rs", "crate", "", "core/lib/root.rs"),
        ("old/src/deep/inner.rs", "deep::inner", "", "old/src/deep/inner.rs"),
        ("app/src/auth.rs", "serde", "", None),
        ("app/src/auth.rs", "std::fmt", "", None),
        ("app/src/lib.rs", "./auth/session.rs", "", "app/src/auth/session.rs"),
        ("app/src/lib.rs", "./../../../etc/passwd", "", None),
        ("app/src/lib.rs", "", "", None),
        ("app/src/lib.rs", "a/../b", "", None),
    ],
)
def test_rust(importer: str, module: str, name: str, expected: str | None) -> None:
    check(RUST, importer, "rust", module, expected, name)


def test_without_a_manifest_the_nearest_root_counts() -> None:
    check(tree("x/lib.rs", "x/a.rs", "x/a/b.rs"), "x/a/b.rs", "rust", "crate::a", "x/a.rs")


def test_tests_that_are_compiled_into_one_are_its_modules() -> None:
    files = tree("tests/lib.rs", "tests/schema.rs", "tests/insert.rs", "src/lib.rs")
    files["Cargo.toml"] = '[package]\nname = "x"\nedition = "2021"\n'
    check(files, "tests/insert.rs", "rust", "super::schema", "tests/schema.rs")


def test_a_changed_manifest_is_read_again() -> None:
    files: Files = dict(RUST)
    project = resolver(files)
    renamed = Import("engine", "", 1)
    assert project.is_config("core/Cargo.toml")
    assert project.resolve("app/src/lib.rs", "rust", renamed) is None
    files["core/Cargo.toml"] = '[package]\nname = "engine"\n[lib]\npath = "lib/root.rs"\n'
    project.invalidate_config()
    assert project.resolve("app/src/lib.rs", "rust", renamed) == "core/lib/root.rs"


@pytest.mark.parametrize(
    "manifest",
    [
        "[" * 100_000,
        "[lib]\npath = '../../../etc/passwd'\n",
        "[lib]\npath = '/etc/passwd'\n",
        "a = { " * 50_000,
        "\0",
    ],
)
def test_hostile_manifests_end(manifest: str) -> None:
    files = tree("src/lib.rs", "src/a.rs") | {"Cargo.toml": manifest}
    project = resolver(files)
    assert project.resolve("src/a.rs", "rust", Import("crate", "", 1)) in {"src/lib.rs", None}
    assert project.resolve("src/a.rs", "rust", Import("::".join(["super"] * 1_000), "", 1)) is None
