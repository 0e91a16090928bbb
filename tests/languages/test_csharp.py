"""A namespace of C# means the folder that its project and its name lead to."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

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


@pytest.mark.parametrize(
    ("module", "name", "expected", "everything"),
    [
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
    ],
)
def test_csharp(module: str, name: str, expected: str | None, everything: tuple[str, ...]) -> None:
    check(CSHARP, PROGRAM, "csharp", module, expected, name)
    assert resolver(CSHARP).resolve_all(PROGRAM, "csharp", Import(module, name, 1)) == everything


def test_a_changed_manifest_is_read_again() -> None:
    files: Files = dict(CSHARP)
    project = resolver(files)
    imported = Import("Store.Auth", "", 1)
    assert project.is_config("src/Shop.Core/Shop.Core.csproj")
    assert project.resolve(PROGRAM, "csharp", imported) is None
    files["src/Shop.Core/Shop.Core.csproj"] = "<RootNamespace>Store</RootNamespace>"
    project.invalidate_config()
    assert project.resolve(PROGRAM, "csharp", imported) == "src/Shop.Core/Auth/Session.cs"
