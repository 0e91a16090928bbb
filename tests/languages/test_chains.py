"""Expressions, written types and paths become the names that can be followed in them."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.chains import chain_of, last_name, type_chains
from foveal.daemon.languages.shared.qualified_names import (
    declared,
    split_path,
    type_name,
)
from foveal.daemon.languages.shared.records import CHAIN_MAX, UNKNOWN
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("expression", "chain"),
    [
        ("self.client.get", "self.client.get"),
        ("Foo(a, b).bar", "Foo().bar"),
        ("new Foo<T>(x).bar[0]?.baz", "Foo().bar[].baz"),
        ('"".join', "''.join"),
        ("'a)b'.join", "''.join"),
        ("f(')').x", "f().x"),
        ("3 .real", "0.real"),
        ("[1, 2].map", "[].map"),
        ("{}.get", "{}.get"),
        ("(a or b).get", "?.get"),
        ("((foo)).bar", "foo.bar"),
        ("(await foo()).bar", "foo().bar"),
        ("await session.get(url)", "session.get()"),
        ("super().save", "super().save"),
        ("a::b::<T>::c", "a.b.c"),
        ("std::vector<int>::push_back", "std.vector.push_back"),
        ("this->head->next", "this.head.next"),
        ("$this->foo", "$this.foo"),
        ("this.#private.read", "this.#private.read"),
        ("obj:method", "obj.method"),
        ("a\n  .b()\n  .c", "a.b().c"),
        ("/** @type {X} */ (foo).bar", "foo.bar"),
        ("&mut self.state", "self.state"),
        ("conn.execute(q)?.rows", "conn.execute().rows"),
        ("client.send().await?.text", "client.send().text"),
        ("pair.0.name", "pair[].name"),
        ("println!", "println"),
        ("tag`x ${y}`.z", "tag().z"),
        ("f(1)(2)", "f()()"),
        ("naïve.größe", "naïve.größe"),
        ("a + b", UNKNOWN),
        ("not x", UNKNOWN),
        ("", UNKNOWN),
        ("lambda: 1", UNKNOWN),
        ("a < b", UNKNOWN),
    ],
)
def test_expressions(expression: str, chain: str) -> None:
    assert chain_of(expression) == chain


@pytest.mark.parametrize(("expression", "chain"), [("user.valid?", "user.valid?"), ("save!", "save!")])
def test_marks_belong_to_names_where_a_language_has_them(expression: str, chain: str) -> None:
    assert chain_of(expression, marks=True) == chain
    assert chain_of(expression) == chain[:-1]


@pytest.mark.parametrize(
    ("chain", "name"), [("a.b().get[]", "get"), ("foo", "foo"), ("?", ""), ("''", ""), ("?.x", "x")]
)
def test_last_names(chain: str, name: str) -> None:
    assert last_name(chain) == name


@given(st.text(max_size=200))
def test_any_text_gives_a_bounded_chain(text: str) -> None:
    chain = chain_of(text)
    assert chain
    assert len(chain) <= CHAIN_MAX
    assert len(chain_of(text, marks=True)) <= CHAIN_MAX


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


def test_long_names_take_no_long_time() -> None:
    for part in ("<", "a<", "::", "A<B>::", "(", "*", "operator", "[", "a "):
        long = part * (1_200 // len(part))
        split_path(long)
        declared(long)
        type_name(long)
