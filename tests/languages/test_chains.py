"""An expression becomes the names that can be followed in it, whatever a language writes between them."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.chains import chain_of, last_name
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
