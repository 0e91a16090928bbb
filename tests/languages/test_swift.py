"""A module of Swift means all files of the target that a Package.swift gives its name."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.imports import keys_of_path
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

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


@pytest.mark.parametrize(
    ("module", "name", "expected", "everything"),
    [
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
    ],
)
def test_swift(module: str, name: str, expected: str | None, everything: tuple[str, ...]) -> None:
    check(SWIFT, "Sources/App/main.swift", "swift", module, expected, name)
    assert resolver(SWIFT).resolve_all("x.swift", "swift", Import(module, name, 1)) == everything


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
