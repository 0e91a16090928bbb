"""A file has the keys under which imports that may mean it wait."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.imports import keys_of_path


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("src/auth.ts", ("auth",)),
        ("src/auth.service.d.ts", ("auth",)),
        ("src/auth/index.ts", ("index", "auth")),
        ("pkg/auth/__init__.py", ("auth", "__init__", "pkg/auth/")),
        ("pkg/auth/login.go", ("auth",)),
        ("main.go", (".",)),
        (".eslintrc.js", (".eslintrc",)),
    ],
)
def test_keys_of_path(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of_path(path) == keys
