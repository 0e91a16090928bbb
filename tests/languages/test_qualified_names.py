"""Paths, declarators and types as languages write them are taken apart into names."""

from __future__ import annotations

from foveal.daemon.languages.shared.qualified_names import (
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
