"""A written type says of which of the project's types something is, without what is only around it."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.chains import type_chains


@pytest.mark.parametrize(
    ("written", "chains"),
    [
        ("Foo", ["Foo"]),
        (": Foo", ["Foo"]),
        ("models.User", ["models.User"]),
        ('"Foo"', ["Foo"]),
        ("Optional[Foo]", ["Foo"]),
        ("Foo | None", ["Foo"]),
        ("Foo | Bar | null", ["Foo", "Bar"]),
        ("Union[Foo, Bar]", ["Foo", "Bar"]),
        ("A | B | C | D | E", []),
        ("list[Foo]", ["list[].Foo"]),
        ("Sequence[Foo | None]", ["Sequence[].Foo"]),
        ("dict[str, Foo]", ["dict[].Foo"]),
        ("Foo[]", ["list[].Foo"]),
        ("[]Foo", ["list[].Foo"]),
        ("Map<string, Foo>", ["Map[].Foo"]),
        ("Promise<Foo>", ["Foo"]),
        ("Coroutine[Any, Any, Foo]", ["Foo"]),
        ("Annotated[Foo, Depends(get)]", ["Foo"]),
        ("*Foo", ["Foo"]),
        ("&'a mut Foo", ["Foo"]),
        ("Arc<Mutex<Foo>>", ["Foo"]),
        ("&dyn Store", ["Store"]),
        ("Foo<T>", ["Foo"]),
        ("a::b::Foo", ["a.b.Foo"]),
        ("Callable[[int], Foo]", ["Callable"]),
        ("(x: Foo) => Bar", []),
        ("None", []),
        ("", []),
    ],
)
def test_written_types(written: str, chains: list[str]) -> None:
    assert list(type_chains(written)) == chains
