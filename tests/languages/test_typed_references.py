"""What Go, Rust and Java sources refer to is found with what is evident of the names, so that calls resolve."""

from __future__ import annotations

from tests.reference_cases import bindings, parsed

GO = """
package auth
import (
    "fmt"
    web "example.com/x/web/v2"
    "example.com/go-yaml/v3"
    . "example.com/dot"
    _ "example.com/blank"
)
type Session struct {
    *Base
    web.Client
    user, owner *User
    users map[string]*User
    list []User
}
type Reader interface {
    fmt.Stringer
    Read(p []byte) (int, error)
}
var global = New()
func (s *Session) Login(ctx web.Context, names ...string) (*User, error) {
    a := User{Name: Default}
    b, err := NewUser(1)
    c := &User{}
    var d User
    for i, e := range s.list {
        e.Do()
    }
    f := s.user.(*User)
    g := new(User)
    h := []User{a}
    s.user.Get("x").
        Close()
    Generic[User](a, handler, web.Handler)
    return &User{}, nil
}
"""


def test_go_bindings() -> None:
    assert bindings(GO, "go") == [
        "fmt: * from fmt",
        "web: * from example.com/x/web/v2",
        "yaml: * from example.com/go-yaml/v3",
        "*: * from example.com/dot",
    ]
    assert parsed(GO, "go").references.package == "auth"


RUST = """
use crate::auth::{self, Session as S};
use std::fmt::Write as _;
pub use self::inner::Thing;
mod inner;
#[path = "odd/place.rs"]
pub mod moved;
#[derive(Debug)]
#[handler]
pub struct Foo {
    list: Vec<S>,
    one: Option<Box<Bar>>,
}
trait Reads: Base + Send {
    fn read(&self) -> Foo;
}
impl Reads for Foo {
    fn read(&self) -> Foo {
        let a: Bar = make();
        let b = Foo::new()?;
        let c = Foo { list: LIST, ..Default::default() };
        let Some(d) = self.list.get(0) else { return c };
        for e in self.list.iter() {
            e.go();
        }
        if let Ok(f) = b.open().await {
            f.close();
        }
        match b.find() {
            Some(g) => g.run(),
            Kind::Err(h) => h.run(),
        }
        assert_eq!(b.len(), size(1));
        local!(b);
        items.map(|i| i.name()).collect::<Vec<Foo>>();
        <Foo as Reads>::read(&b);
        call(handler, &Foo::LIMIT, 'x');
        c
    }
}
impl fmt::Display for crate::other::Elsewhere {}
mod tests {
    use super::*;
    use super::inner::Thing;
}
"""


def test_rust_bindings() -> None:
    assert bindings(RUST, "rust") == [
        "auth: * from crate::auth",
        "S: Session from crate::auth",
        "Thing: Thing from self::inner",
        "inner: inner from self",
        "moved: * from ./odd/place.rs",
        "*: * from self in tests",
        "Thing: Thing from self::inner in tests",
    ]
    exports = parsed(RUST, "rust").references.exports
    assert [(each.name, each.module, each.imported) for each in exports] == [
        ("Thing", "self::inner", "Thing")
    ]
