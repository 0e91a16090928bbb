"""What Go, Rust and Java sources refer to is found with what is evident of the names, so that calls resolve."""

from __future__ import annotations

from tests.reference_cases import bindings, facts, parsed, references

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


def test_go_references() -> None:
    found = references(GO, "go")
    for expected in (
        "10 inherit Base in Session",
        "11 inherit web.Client in Session",
        "12 type User in Session",
        "17 inherit fmt.Stringer in Reader",
        "20 call New in global",
        "22 call User in Session.Login",
        "22 use Default in Session.Login",
        "26 use s.list in Session.Login",
        "27 call e.Do in Session.Login",
        "33 call s.user.Get().Close in Session.Login",
        "34 call Generic in Session.Login",
        "34 use handler in Session.Login",
        "34 use web.Handler in Session.Login",
    ):
        assert expected in found, (expected, found)
    assert not [each for each in found if " use a " in each or " use Name" in each]


def test_go_facts() -> None:
    found = facts(GO, "go")
    for expected in (
        "user is User in Session",
        "owner is User in Session",
        "users is map[].User in Session",
        "list is list[].User in Session",
        "global = New()",
        "s is Session in Session.Login",
        "ctx is web.Context in Session.Login",
        "names = in Session.Login",
        "() is User in Session.Login",
        "() is int in Reader.Read",
        "a = User() in Session.Login",
        "b = NewUser() in Session.Login",
        "err = in Session.Login",
        "c = User() in Session.Login",
        "d is User in Session.Login",
        "i = in Session.Login",
        "e = s.list[] in Session.Login",
        "f = User() in Session.Login",
        "g is User in Session.Login",
        "h is list[].User in Session.Login",
    ):
        assert expected in found, (expected, found)


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


def test_rust_references() -> None:
    found = references(RUST, "rust")
    for expected in (
        "8 decorate handler in Foo",
        "10 type S in Foo",
        "11 type Bar in Foo",
        "13 inherit Base in Reads",
        "16 inherit Reads in Foo",
        "18 call make in Foo.read",
        "19 call Foo.new in Foo.read",
        "20 call Foo in Foo.read",
        "20 use LIST in Foo.read",
        "23 call e.go in Foo.read",
        "26 call f.close in Foo.read",
        "30 use Kind.Err in Foo.read",
        "32 call b.len in Foo.read",
        "32 call size in Foo.read",
        "33 call local in Foo.read",
        "34 call i.name in Foo.read",
        "34 call items.map().collect in Foo.read",
        "35 call Foo.read in Foo.read",
        "36 use handler in Foo.read",
        "36 use Foo.LIMIT in Foo.read",
        "40 inherit fmt.Display",
    ):
        assert expected in found, (expected, found)
    assert not [each for each in found if "assert_eq" in each or "derive" in each or " use c " in each]


def test_rust_facts() -> None:
    found = facts(RUST, "rust")
    for expected in (
        "list is Vec[].S in Foo",
        "one is Bar in Foo",
        "() is Foo in Reads.read",
        "() is Foo in Foo.read",
        "a is Bar in Foo.read",
        "b = Foo.new() in Foo.read",
        "c = Foo() in Foo.read",
        "d = self.list.get() in Foo.read",
        "e = self.list.iter()[] in Foo.read",
        "f = b.open() in Foo.read",
        "g = b.find() in Foo.read",
        "h = in Foo.read",
        "i = in Foo.read",
    ):
        assert expected in found, (expected, found)
    assert "h = b.find() in Foo.read" not in found


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


JAVA = """
package com.shop;
import com.shop.auth.Session;
import com.shop.util.*;
import static com.shop.Texts.max;
@Service
public class Api<T extends Bar> extends Base<T> implements Runs, web.Api {
    static final Foo LIMIT = new Foo();
    private final Session session, other;
    List<Foo> list = new ArrayList<>();
    @Inject
    public Api(Session session) {
        super(session);
        this.session = session;
    }
    Foo get(final String name, Foo... rest) throws Bad {
        var a = new Foo(1);
        Foo b = session.open()
            .foo();
        for (Foo c : list) c.go();
        for (var d : list) d.go();
        try (Res e = open()) {
        } catch (Bad f) {
            f.print();
        }
        list.forEach(g -> g.run());
        list.map(Foo::bar).map(Foo::new);
        if (b instanceof Bar h) h.ok();
        ((Foo) rest).cast();
        new Outer.Inner().make();
        handle(LIMIT, Foo.MAX, b);
        return a;
    }
}
"""


def test_java_references() -> None:
    found = references(JAVA, "java")
    for expected in (
        "5 decorate Service in Api",
        "6 type Bar in Api",
        "6 inherit Base in Api",
        "6 inherit Runs in Api",
        "6 inherit web.Api in Api",
        "7 call Foo in Api.LIMIT",
        "9 call ArrayList in Api",
        "12 call super in Api.Api",
        "15 type Bad in Api.get",
        "17 call session.open in Api.get",
        "18 call session.open().foo in Api.get",
        "19 call c.go in Api.get",
        "25 call g.run in Api.get",
        "26 use Foo.bar in Api.get",
        "26 call Foo in Api.get",
        "27 call h.ok in Api.get",
        "28 call Foo().cast in Api.get",
        "29 call Outer.Inner in Api.get",
        "29 call Outer.Inner().make in Api.get",
        "30 use LIMIT in Api.get",
        "30 use Foo.MAX in Api.get",
    ):
        assert expected in found, (expected, found)
    assert not [each for each in found if each.endswith(("type var in Api.get", "use b in Api.get"))]


def test_java_facts() -> None:
    found = facts(JAVA, "java")
    for expected in (
        "session is Session in Api",
        "other is Session in Api",
        "LIMIT is Foo in Api",
        "list is List[].Foo in Api",
        "session is Session in Api.Api",
        "() is Foo in Api.get",
        "rest = in Api.get",
        "a = Foo() in Api.get",
        "b is Foo in Api.get",
        "c is Foo in Api.get",
        "d = list[] in Api.get",
        "e is Res in Api.get",
        "f is Bad in Api.get",
        "g = in Api.get",
        "h is Bar in Api.get",
    ):
        assert expected in found, (expected, found)
