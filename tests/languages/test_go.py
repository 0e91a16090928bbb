"""A Go import path means the folder below its module's path, without the tests in it."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

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


@pytest.mark.parametrize(
    ("module", "expected", "everything"),
    [
        ("example.com/app/v2/auth", "auth/auth.go", ("auth/auth.go", "auth/zed.go")),
        ("example.com/app/v2/util", "util/a.go", ("util/a.go", "util/b.go")),
        ("example.com/app/v2", "main.go", ("main.go",)),
        ("example.com/tool/lib", "tool/lib/lib.go", ("tool/lib/lib.go",)),
        ("example.com/app/v2/only", None, ()),
        ("example.com/app/v2/../../etc", None, ()),
        ("example.com/application", None, ()),
        ("fmt", None, ()),
        ("", None, ()),
    ],
)
def test_go(module: str, expected: str | None, everything: tuple[str, ...]) -> None:
    check(GO, "main.go", "go", module, expected)
    assert resolver(GO).resolve_all("main.go", "go", Import(module, "", 1)) == everything


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
