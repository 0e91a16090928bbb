"""Paths, declarators and types as languages write them are taken apart into names."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.qualified_names import (
    base_name,
    declared,
    split_path,
    type_name,
)


def test_long_names_take_no_long_time() -> None:
    for part in ("<", "a<", "::", "A<B>::", "(", "*", "operator", "[", "a "):
        long = part * (1_200 // len(part))
        split_path(long)
        declared(long)
        type_name(long)


@pytest.mark.parametrize(
    ("name", "kind", "base"),
    [
        ("f", "function", "f"),
        ("A.B.f", "method", "f"),
        ("A~2.f~13", "method", "f"),
        ("load~2.inner", "function", "inner"),
        ("Stack.~Stack", "method", "~Stack"),
        ("f~x", "function", "f~x"),
        ("Guide/v1.2~2", "section", "v1.2"),
        ("~/x", "section", "x"),
        ("A/", "section", "A/"),
        ("A.", "method", "A."),
    ],
)
def test_the_base_of_a_name_is_its_last_part(name: str, kind: str, base: str) -> None:
    assert base_name(name, kind) == base
