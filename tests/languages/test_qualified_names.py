"""Paths, declarators and types as languages write them are taken apart into names."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.qualified_names import (
    base_name,
    declared,
    split_path,
    type_name,
    without_number,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("name", ("", "name")),
        ("A::b", ("A", "b")),
        ("A<T<U>>::B::~B", ("A.B", "~B")),
        ("A::operator ==", ("A", "operator==")),
        ("A::operator()", ("A", "operator()")),
        ("A::operator bool() const", ("A", "operator bool")),
        ("A::operator<", ("A", "operator<")),
        ("operator_name", ("", "operator_name")),
        ("M.a:b", ("M.a", "b")),
        ("::Top", ("", "Top")),
        ("", ("", "")),
        ("::", ("", "")),
    ],
)
def test_a_path_is_what_it_lies_in_and_a_name(path: str, expected: tuple[str, str]) -> None:
    assert split_path(path) == expected


@pytest.mark.parametrize(
    ("declarator", "expected"),
    [
        ("x", ("x", False)),
        ("**names[3]", ("names", False)),
        ("f(int a)", ("f", True)),
        ("*f (void)", ("f", True)),
        ("(*hook)(int)", ("hook", False)),
        ("(*handler(int a))(int)", ("handler", True)),
        ("&A::top() const", ("A::top", True)),
        ("A<T>::b(C<D> c)", ("A<T>::b", True)),
        ("operator bool() const", ("operator bool", True)),
        ("A::operator()(int a)", ("A::operator()", True)),
        ("f(int operator_id)", ("f", True)),
        ("* const name", ("name", False)),
        ("3", ("3", False)),
        ("(((", ("", False)),
        ("", ("", False)),
    ],
)
def test_a_declarator_declares_a_name(declarator: str, expected: tuple[str, bool]) -> None:
    assert declared(declarator) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Vec<T>", "Vec"),
        ("&'a mut Vec<T>", "Vec"),
        ("dyn Shape", "Shape"),
        ("A.B", "A.B"),
        ("String?", "String"),
        ("[u8]", "[u8]"),
        ("(A,\n B)", "(A, B)"),
        ("", ""),
    ],
)
def test_a_type_is_known_by_its_name(written: str, expected: str) -> None:
    assert type_name(written) == expected


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("login~2", "login"),
        ("A~2.f~13", "A~2.f"),
        ("load~2.inner", "load~2.inner"),
        ("Stack.~Stack", "Stack.~Stack"),
        ("login", "login"),
    ],
)
def test_a_number_is_taken_only_from_the_end(name: str, expected: str) -> None:
    assert without_number(name) == expected
