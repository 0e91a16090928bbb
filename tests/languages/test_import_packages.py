"""An import of a package, module or namespace means the files that the build would take for it."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.imports import keys_of_path
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

Names = list[tuple[str, str, str, str | None]]
"""Importer, module, name in it, and the file that they mean."""

Packages = list[tuple[str, str, str | None, tuple[str, ...]]]
"""Module, name in it, the file that they mean, and all files that they may mean."""

PACKAGE = tree(
    "pkg/__init__.py",
    "pkg/auth.py",
    "pkg/both.py",
    "pkg/both/__init__.py",
    "pkg/sub/__init__.py",
    "pkg/sub/deep.py",
    "pkg/stub.pyi",
    "pkg/json.py",
    "pkg/space/inner.py",
    "setup.py",
    "tools/run.py",
    "tools/helper.py",
    "tests/test_auth.py",
)
PYTHON: Names = [
    ("tests/test_auth.py", "pkg", "", "pkg/__init__.py"),
    ("tests/test_auth.py", "pkg.auth", "", "pkg/auth.py"),
    ("tests/test_auth.py", "pkg", "auth", "pkg/auth.py"),
    ("tests/test_auth.py", "pkg", "VERSION", None),
    ("tests/test_auth.py", "pkg", "sub", "pkg/sub/__init__.py"),
    ("tests/test_auth.py", "pkg.auth", "sub", None),
    ("tests/test_auth.py", "pkg.both", "", "pkg/both/__init__.py"),
    ("tests/test_auth.py", "pkg.stub", "", "pkg/stub.pyi"),
    ("tests/test_auth.py", "pkg.space", "", None),
    ("tests/test_auth.py", "pkg.space", "inner", "pkg/space/inner.py"),
    ("tests/test_auth.py", "pkg.Auth", "", None),
    ("pkg/sub/deep.py", ".", "", "pkg/sub/__init__.py"),
    ("pkg/sub/deep.py", "..", "", "pkg/__init__.py"),
    ("pkg/sub/deep.py", "..", "auth", "pkg/auth.py"),
    ("pkg/sub/deep.py", "..auth", "", "pkg/auth.py"),
    ("pkg/sub/deep.py", "...setup", "", "setup.py"),
    ("pkg/sub/deep.py", "....setup", "", None),
    ("pkg/sub/deep.py", "." * 5000 + "setup", "", None),
    ("pkg/sub/__init__.py", ".deep", "", "pkg/sub/deep.py"),
    ("pkg/auth.py", "json", "", None),
    ("pkg/auth.py", "pkg.json", "", "pkg/json.py"),
    ("tools/run.py", "helper", "", "tools/helper.py"),
    ("tests/test_auth.py", "helper", "", None),
    ("tests/test_auth.py", "pkg..auth", "", None),
    ("tests/test_auth.py", "pkg.", "", None),
    ("tests/test_auth.py", "", "", None),
    ("tests/test_auth.py", "pkg", "../setup", None),
]
JAVA = tree(
    "src/main/java/com/shop/App.java",
    "src/main/java/com/shop/auth/Session.java",
    "src/main/java/com/shop/auth/Outer.java",
    "src/main/java/com/shop/util/Texts.java",
    "src/main/java/util/Odd.java",
    "src/main/java/java/util/Own.java",
    "src/test/java/com/shop/auth/SessionTest.java",
    "src/test/java/com/shop/auth/Fake.java",
    "lib/src/main/java/com/lib/auth/Session.java",
    "src/main/kotlin/com/shop/kt/Strings.kt",
    "src/main/scala/com/shop/sc/Rules.scala",
)
APP = "src/main/java/com/shop/App.java"
AUTH = "src/main/java/com/shop/auth"
CLASSES: Names = [
    (APP, "com.shop.auth", "Session", f"{AUTH}/Session.java"),
    (APP, "com.lib.auth", "Session", "lib/src/main/java/com/lib/auth/Session.java"),
    (APP, "com.shop.auth.Outer", "Inner", f"{AUTH}/Outer.java"),
    (APP, "com.shop.auth.Outer.Inner", "Deep", f"{AUTH}/Outer.java"),
    (APP, "com.shop.auth.Outer", "", f"{AUTH}/Outer.java"),
    (APP, "com.shop.auth.Outer", "MAX", f"{AUTH}/Outer.java"),
    (APP, "com.shop.auth", "", f"{AUTH}/Outer.java"),
    (APP, "com.shop.kt", "Strings", "src/main/kotlin/com/shop/kt/Strings.kt"),
    (APP, "com.shop.sc", "Rules", "src/main/scala/com/shop/sc/Rules.scala"),
    (APP, "com.shop.auth", "Gone", None),
    (APP, "com.gone", "", None),
    (APP, "util", "Odd", "src/main/java/util/Odd.java"),
    (APP, "java.util", "Odd", None),
    (APP, "java.util", "Own", "src/main/java/java/util/Own.java"),
    (APP, "auth", "Session", f"{AUTH}/Session.java"),
    (APP, "", "Session", None),
    (APP, "../../etc", "passwd", None),
]
RUST = tree(
    "app/src/lib.rs",
    "app/src/main.rs",
    "app/src/auth.rs",
    "app/src/auth/session.rs",
    "app/src/auth/tokens/mod.rs",
    "app/src/auth/tokens/jwt.rs",
    "app/src/bin/tool.rs",
    "app/tools/other.rs",
    "app/tests/flow.rs",
    "app/tests/common/mod.rs",
    "core/lib/root.rs",
    "core/lib/util.rs",
    "old/src/lib.rs",
    "old/src/deep.rs",
    "old/src/deep/inner.rs",
) | {
    "Cargo.toml": '[workspace]\nmembers = ["app", "core"]\n',
    "app/Cargo.toml": '[package]\nname = "my-app"\nedition = "2021"\n[dependencies]\nkernel = { package = "core-kit" }\n[[bin]]\npath = "tools/other.rs"\n',
    "core/Cargo.toml": '[package]\nname = "core-kit"\nedition.workspace = true\n[lib]\nname = "see"\npath = "lib/root.rs"\n',
    "old/Cargo.toml": '[package]\nname = "old"\n',
}
CRATES: Names = [
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
    ("app/tools/other.rs", "crate", "", "app/tools/other.rs"),
    ("app/tests/flow.rs", "my_app", "auth", "app/src/auth.rs"),
    ("app/tests/flow.rs", "self", "common", "app/tests/common/mod.rs"),
    ("app/src/lib.rs", "core_kit", "", "core/lib/root.rs"),
    ("app/src/lib.rs", "kernel::util", "", "core/lib/util.rs"),
    ("app/src/lib.rs", "see", "", "core/lib/root.rs"),
    ("core/lib/util.rs", "crate", "", "core/lib/root.rs"),
    ("core/lib/util.rs", "util", "", None),
    ("old/src/deep/inner.rs", "deep::inner", "", "old/src/deep/inner.rs"),
    ("app/src/auth.rs", "serde", "", None),
    ("app/src/auth.rs", "std::fmt", "", None),
    ("app/src/lib.rs", "./auth/session.rs", "", "app/src/auth/session.rs"),
    ("app/src/lib.rs", "./../../../etc/passwd", "", None),
    ("app/src/lib.rs", "", "", None),
    ("app/src/lib.rs", "a/../b", "", None),
]
CSHARP = tree(
    "src/Shop.Web/Api/Users.cs",
    "src/Shop.Web/Api/Api.cs",
    "src/Shop.Web/Program.cs",
    "src/Shop.Core/Auth/Session.cs",
    "src/Plain/Deep/Thing.cs",
    "tests/Shop.Web.Tests/Api/UsersTests.cs",
) | {
    "src/Shop.Web/Shop.Web.csproj": "<Project />",
    "src/Shop.Core/Shop.Core.csproj": "<Project><RootNamespace> Shop </RootNamespace></Project>",
}
PROGRAM = "src/Shop.Web/Program.cs"
NAMESPACES: Packages = [
    (
        "Shop.Web.Api",
        "",
        "src/Shop.Web/Api/Api.cs",
        ("src/Shop.Web/Api/Api.cs", "src/Shop.Web/Api/Users.cs"),
    ),
    ("Shop.Web", "", PROGRAM, (PROGRAM,)),
    ("Shop.Web.Api", "Users", "src/Shop.Web/Api/Users.cs", ("src/Shop.Web/Api/Users.cs",)),
    ("Shop.Web.Api.Users", "", "src/Shop.Web/Api/Users.cs", ("src/Shop.Web/Api/Users.cs",)),
    ("Shop.Auth", "", "src/Shop.Core/Auth/Session.cs", ("src/Shop.Core/Auth/Session.cs",)),
    ("Plain.Deep", "", "src/Plain/Deep/Thing.cs", ("src/Plain/Deep/Thing.cs",)),
    ("System.Linq", "", None, ()),
    ("Shop.Gone", "", None, ()),
    ("", "", None, ()),
]
GO = tree(
    "main.go",
    "auth/zed.go",
    "auth/auth.go",
    "auth/auth_test.go",
    "util/b.go",
    "util/a.go",
    "only/x_test.go",
    "tool/main.go",
    "tool/lib/lib.go",
) | {
    "go.mod": "// x\nmodule example.com/app/v2 // y\n\ngo 1.22\n",
    "tool/go.mod": 'module "example.com/tool"\n',
}
FOLDERS: Packages = [
    ("example.com/app/v2/auth", "", "auth/auth.go", ("auth/auth.go", "auth/zed.go")),
    ("example.com/app/v2/util", "", "util/a.go", ("util/a.go", "util/b.go")),
    ("example.com/app/v2", "", "main.go", ("main.go",)),
    ("example.com/tool/lib", "", "tool/lib/lib.go", ("tool/lib/lib.go",)),
    ("example.com/app/v2/only", "", None, ()),
    ("example.com/app/v2/../../etc", "", None, ()),
    ("example.com/application", "", None, ()),
    ("fmt", "", None, ()),
    ("", "", None, ()),
]
SWIFT = tree(
    "Sources/Auth/Auth.swift",
    "Sources/Auth/Deep/Session.swift",
    "Sources/App/main.swift",
    "Core/Files/A.swift",
    "Tests/AuthTests/AuthTests.swift",
) | {
    "Package.swift": """
let package = Package(name: "Shop", targets: [
    .target(name: "Auth", dependencies: []),
    .executableTarget(name: "App", dependencies: ["Auth"]),
    .target(
        name: "Core",
        path: "Core/Files"),
    .target(name: "Outside", path: "../../etc"),
    .testTarget(name: "AuthTests"),
])
"""
}
TARGETS: Packages = [
    (
        "Auth",
        "",
        "Sources/Auth/Auth.swift",
        ("Sources/Auth/Auth.swift", "Sources/Auth/Deep/Session.swift"),
    ),
    (
        "Auth",
        "Session",
        "Sources/Auth/Deep/Session.swift",
        ("Sources/Auth/Auth.swift", "Sources/Auth/Deep/Session.swift"),
    ),
    ("Core", "", "Core/Files/A.swift", ("Core/Files/A.swift",)),
    ("AuthTests", "", "Tests/AuthTests/AuthTests.swift", ("Tests/AuthTests/AuthTests.swift",)),
    ("Outside", "", None, ()),
    ("Foundation", "", None, ()),
    ("", "", None, ()),
]


@pytest.mark.parametrize(
    ("language", "files", "names"),
    [("python", PACKAGE, PYTHON), ("java", JAVA, CLASSES), ("rust", RUST, CRATES)],
)
def test_a_name_means_a_file(language: str, files: Files, names: Names) -> None:
    for importer, module, name, expected in names:
        check(files, importer, language, module, expected, name)


@pytest.mark.parametrize(
    ("language", "files", "importer", "packages"),
    [
        ("csharp", CSHARP, PROGRAM, NAMESPACES),
        ("go", GO, "main.go", FOLDERS),
        ("swift", SWIFT, "Sources/App/main.swift", TARGETS),
    ],
)
def test_a_package_means_all_its_files(
    language: str, files: Files, importer: str, packages: Packages
) -> None:
    for module, name, expected, everything in packages:
        check(files, importer, language, module, expected, name)
        assert resolver(files).resolve_all(importer, language, Import(module, name, 1)) == everything, module


def test_a_package_at_the_root_is_still_a_root() -> None:
    files = tree("__init__.py", "a.py", "sub/__init__.py", "sub/b.py")
    check(files, "sub/b.py", "python", "..", "__init__.py")
    check(files, "sub/b.py", "python", "a", "a.py")


def test_a_compiled_module_is_not_missing() -> None:
    files = tree("pkg/__init__.py", "pkg/_speed.c")
    assert not resolver(files).is_internal("pkg/a.py", "python", Import("._speed", "", 1))


def everything(language: str, importer: str, module: str, name: str = "") -> tuple[str, ...]:
    """Return all files that an import may mean."""
    return resolver(JAVA).resolve_all(importer, language, Import(module, name, 1))


def test_a_package_is_all_its_files_and_for_tests_also_theirs() -> None:
    own = (f"{AUTH}/Outer.java", f"{AUTH}/Session.java")
    tests = ("src/test/java/com/shop/auth/Fake.java", "src/test/java/com/shop/auth/SessionTest.java")
    assert everything("java", APP, "com.shop.auth") == own
    assert everything("java", "src/test/java/com/shop/A.java", "com.shop.auth") == own + tests


def test_kotlin_leaves_out_what_all_packages_begin_with() -> None:
    files = tree("src/main/kotlin/auth/Session.kt", "other/auth/Plain.kt")
    check(
        files,
        "src/main/kotlin/App.kt",
        "kotlin",
        "org.shop.auth",
        "src/main/kotlin/auth/Session.kt",
        "Session",
    )
    check(files, "src/main/kotlin/App.kt", "kotlin", "org.shop.auth", None, "Plain")
    check(files, "src/main/kotlin/App.kt", "kotlin", "kotlin.auth", None, "Session")
    check(files, "A.java", "java", "org.shop.auth", None, "Session")


def test_a_class_that_appears_is_found() -> None:
    files: Files = dict(JAVA)
    project = resolver(files)
    late = Import("com.shop.late", "Late", 1)
    assert project.resolve(APP, "java", late) is None
    path = "src/main/java/com/shop/late/Late.java"
    files[path] = ""
    project.added(path)
    assert project.resolve(APP, "java", late) == path
    del files[path]
    project.removed(path)
    assert project.resolve(APP, "java", late) is None


def test_without_a_manifest_the_nearest_root_counts() -> None:
    check(tree("x/lib.rs", "x/a.rs", "x/a/b.rs"), "x/a/b.rs", "rust", "crate::a", "x/a.rs")


def test_tests_that_are_compiled_into_one_are_its_modules() -> None:
    files = tree("tests/lib.rs", "tests/schema.rs", "tests/insert.rs", "src/lib.rs")
    files["Cargo.toml"] = '[package]\nname = "x"\nedition = "2021"\n'
    check(files, "tests/insert.rs", "rust", "super::schema", "tests/schema.rs")


@pytest.mark.parametrize(
    ("language", "known", "importer", "renamed", "manifest", "text", "expected"),
    [
        (
            "rust", RUST, "app/src/lib.rs", "engine", "core/Cargo.toml",
            '[package]\nname = "engine"\n[lib]\npath = "lib/root.rs"\n', "core/lib/root.rs",
        ),
        (
            "csharp", CSHARP, PROGRAM, "Store.Auth", "src/Shop.Core/Shop.Core.csproj",
            "<RootNamespace>Store</RootNamespace>", "src/Shop.Core/Auth/Session.cs",
        ),
    ],
)  # fmt: skip
def test_a_changed_manifest_is_read_again(
    language: str, known: Files, importer: str, renamed: str, manifest: str, text: str, expected: str
) -> None:
    files = dict(known)
    project = resolver(files)
    imported = Import(renamed, "", 1)
    assert project.is_config(manifest)
    assert project.resolve(importer, language, imported) is None
    files[manifest] = text
    project.invalidate_config()
    assert project.resolve(importer, language, imported) == expected


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


def test_changes_of_names_and_config_are_seen() -> None:
    files: Files = dict(GO)
    project = resolver(files)
    auth = Import("example.com/app/v2/auth", "", 1)
    assert project.resolve("main.go", "go", auth) == "auth/auth.go"
    del files["auth/auth.go"]
    project.removed("auth/auth.go")
    files["auth/aaa.go"] = ""
    project.added("auth/aaa.go")
    assert project.resolve_all("main.go", "go", auth) == ("auth/aaa.go", "auth/zed.go")
    files["auth/untold.go"] = ""
    assert project.resolve_all("main.go", "go", auth) == ("auth/aaa.go", "auth/untold.go", "auth/zed.go")
    files["go.mod"] = "module example.com/renamed\n"
    project.invalidate_config()
    assert project.resolve("main.go", "go", auth) is None
    assert project.resolve("main.go", "go", Import("example.com/renamed/auth", "", 1)) == "auth/aaa.go"


def test_without_a_manifest_a_module_is_a_folder() -> None:
    check(tree("Shop/Auth/A.swift"), "Shop/App.swift", "swift", "Auth", "Shop/Auth/A.swift")


def test_a_file_that_appears_below_a_module_is_noticed() -> None:
    files: Files = dict(SWIFT)
    project = resolver(files)
    imported = Import("Auth", "", 1)
    keys = project.retry_keys("x.swift", "swift", imported)
    files["Sources/Auth/New/Aaa.swift"] = ""
    project.added("Sources/Auth/New/Aaa.swift")
    assert set(keys) & set(keys_of_path("Sources/Auth/New/Aaa.swift"))
    assert "Sources/Auth/New/Aaa.swift" in project.resolve_all("x.swift", "swift", imported)
