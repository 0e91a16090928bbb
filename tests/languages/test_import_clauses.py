"""The text of an import says what it brings in: a package's names, a class, the members of one, an alias."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES, UseItem


def brought_in(language: str, clause: str) -> list[UseItem]:
    """Return what a language reads in an import clause."""
    read = LANGUAGES[language].clause
    assert read is not None
    return read(clause, ())


def check(language: str, clause: str, *expected: str) -> None:
    """Check `name: imported from module` of each name that a clause brings in."""
    found = [f"{use.name}: {use.imported} from {use.module}" for use in brought_in(language, clause)]
    assert found == list(expected), found


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("import a.b.C", ["C: C from a.b"]),
        ("import a.b._", ["*: * from a.b"]),
        ("import a.b.*", ["*: * from a.b"]),
        ("import a.b.{C, D => E, F as G, H => _, _}", ["C: C from a.b", "E: D from a.b", "G: F from a.b"]),
        ("import a.B, c.D", ["B: B from a", "D: D from c"]),
        ("import a.b.given", ["*: * from a.b"]),
        ("import a.b as c", ["c: b from a"]),
    ],
)
def test_scala(clause: str, expected: list[str]) -> None:
    wildcard = ["*: * from a.b"] if clause.endswith(", _}") else []
    check("scala", clause, *expected, *wildcard)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("import Auth", ["*: * from Auth"]),
        ("import Auth.Deep", ["*: * from Auth"]),
        ("@testable import Auth", ["*: * from Auth"]),
        ("@_spi(X) public import Auth", ["*: * from Auth"]),
        ("import struct Auth.Session", ["Session: Session from Auth"]),
    ],
)
def test_swift(clause: str, expected: list[str]) -> None:
    check("swift", clause, *expected)


@pytest.mark.parametrize("language", ["java", "kotlin", "scala", "csharp", "swift", "rust"])
@pytest.mark.parametrize(
    "clause", ["import " + "a." * 50_000, "import a.{" + "b," * 50_000, "using " + " " * 50_000, "{" * 50_000]
)
def test_hostile_clauses_end(language: str, clause: str) -> None:
    assert len(brought_in(language, clause)) <= len(clause)
