"""A Python import means the module, package or stub that the interpreter would load from this project."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree

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


@pytest.mark.parametrize(
    ("importer", "module", "name", "expected"),
    [
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
    ],
)
def test_python(importer: str, module: str, name: str, expected: str | None) -> None:
    check(PACKAGE, importer, "python", module, expected, name)


def test_a_package_at_the_root_is_still_a_root() -> None:
    files = tree("__init__.py", "a.py", "sub/__init__.py", "sub/b.py")
    check(files, "sub/b.py", "python", "..", "__init__.py")
    check(files, "sub/b.py", "python", "a", "a.py")


def test_a_compiled_module_is_not_missing() -> None:
    files = tree("pkg/__init__.py", "pkg/_speed.c")
    assert not resolver(files).is_internal("pkg/a.py", "python", Import("._speed", "", 1))
