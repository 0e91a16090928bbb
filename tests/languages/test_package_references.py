"""What Kotlin, C#, Scala and Swift sources refer to is found with what is evident of the names in a file."""

from __future__ import annotations

import pytest

from tests.reference_cases import bindings, facts, parsed, references

KOTLIN = """
package com.shop
import com.shop.auth.Session
import com.shop.text.slug as slugify
@Service
class Api(private val session: Session, n: Int) : Base<T>(n), Runs {
    val foo: Foo = Foo()
    fun get(name: String, list: List<Foo>): Foo? {
        val a = Foo(1)
        var b: Foo = session.open()
            .foo()
        for (c in list) c.go()
        list.map { d -> d.name() }.map(Foo::bar)
        handle(LIMIT, Foo.MAX, a)
        return b
    }
}
object One : Base()
"""

CSHARP = """
using Shop.Auth;
using F = Shop.Models.Foo;
namespace Shop.Web;
[Service]
public class Api<T> : Base<T>, Runs, P.J where T : Bar {
    private readonly Session session;
    public async Task<Foo> Get(string name, List<Foo> list) {
        var a = new Foo(1) { B = 2 };
        Foo b = session.Open()
            .Foo();
        foreach (var c in list) c.Go();
        list.Select(d => d.Name());
        session?.Close();
        Generic<Foo>(LIMIT, Foo.MAX, a);
        if (b is Bar e) e.Ok();
        ((Foo) b).Cast();
        changed += Handler;
        return a;
    }
}
"""

SCALA = """
package com.shop
package web
import com.shop.auth.{Session, User => U}
import com.shop.util._
@service class Api[T](val session: Session) extends Base[T] with Runs {
  val foo = new Foo
  def get(name: String, list: List[Foo]): Foo = {
    val a: Foo = make(1)
    for (b <- list) b.go()
    list.map(c => c.name())
    list foreach handler
    handle(LIMIT, Foo.MAX)
    a match { case Foo(d) => d.run() }
    a
  }
}
"""

SWIFT = """
import Auth
@Service
class Api: Base, Runs {
    let session: Session
    var foo = Foo()
    func get(name: String, list: [Foo]) -> Foo? {
        let a = Foo(x: 1)
        let b: Foo = session.open()
            .foo()
        for c in list { c.go() }
        list.map { d in d.name() }
        if let e = b.find() { e.run() }
        handle(LIMIT, Foo.MAX)
        return a
    }
}
extension Api: More {}
"""


@pytest.mark.parametrize(
    ("source", "language", "package", "bound", "referred", "known"),
    [
        (
            KOTLIN, "kotlin", "com.shop", ["Session: Session from com.shop.auth", "slugify: slug from com.shop.text"],
            """4 decorate Service in Api|5 type Session in Api|5 inherit Base in Api|5 inherit Runs in Api
            6 call Foo in Api|9 call session.open in Api.get|10 call session.open().foo in Api.get
            11 call c.go in Api.get|12 call d.name in Api.get|12 use Foo.bar in Api.get
            13 use LIMIT in Api.get|13 use Foo.MAX in Api.get|17 inherit Base in One""",
            """session is Session in Api|foo is Foo in Api|list is List[].Foo in Api.get|() is Foo in Api.get
            a = Foo() in Api.get|b is Foo in Api.get|c = in Api.get|d = in Api.get""",
        ),
        (
            CSHARP, "csharp", "Shop.Web", ["*: * from Shop.Auth", "F: Foo from Shop.Models"],
            """4 decorate Service in Api|5 inherit Base in Api|5 inherit Runs in Api|5 inherit P.J in Api
            5 type Bar in Api|7 type Foo in Api.Get|8 call Foo in Api.Get|10 call session.Open().Foo in Api.Get
            11 call c.Go in Api.Get|12 call d.Name in Api.Get|13 call session.Close in Api.Get
            14 call Generic in Api.Get|14 use LIMIT in Api.Get|14 use Foo.MAX in Api.Get
            16 call Foo().Cast in Api.Get|17 use Handler in Api.Get""",
            """session is Session in Api|() is Foo in Api.Get|list is List[].Foo in Api.Get
            a = Foo() in Api.Get|b is Foo in Api.Get|c = list[] in Api.Get|d = in Api.Get|e is Bar in Api.Get""",
        ),
        (
            SCALA, "scala", "com.shop.web", ["Session: Session from com.shop.auth", "U: User from com.shop.auth", "*: * from com.shop.util"],
            """5 decorate service in Api|5 inherit Base in Api|5 inherit Runs in Api|6 call Foo in Api
            8 call make in Api.get|9 call b.go in Api.get|10 call c.name in Api.get|11 call foreach in Api.get
            11 use handler in Api.get|12 use LIMIT in Api.get|12 use Foo.MAX in Api.get
            13 call d.run in Api.get""",
            """session is Session in Api|foo = Foo() in Api|() is Foo in Api.get|list is List[].Foo in Api.get
            a is Foo in Api.get|b = in Api.get|c = in Api.get|d = in Api.get""",
        ),
        (
            SWIFT, "swift", "", ["*: * from Auth"],
            """2 decorate Service in Api|3 inherit Base in Api|3 inherit Runs in Api|5 call Foo in Api
            9 call session.open().foo in Api.get|10 call c.go in Api.get|11 call d.name in Api.get
            12 call e.run in Api.get|13 use LIMIT in Api.get|13 use Foo.MAX in Api.get
            17 inherit More in Api""",
            """session is Session in Api|foo = Foo() in Api|() is Foo in Api.get|list is list[].Foo in Api.get
            a = Foo() in Api.get|b is Foo in Api.get|c = in Api.get|d = in Api.get|e = in Api.get""",
        ),
    ],
)  # fmt: skip
def test_references_facts_and_bindings(
    source: str, language: str, package: str, bound: list[str], referred: str, known: str
) -> None:
    found = references(source, language)
    for expected, among in ((referred, found), (known, facts(source, language))):
        wanted = [each.strip() for line in expected.splitlines() for each in line.split("|")]
        assert [each for each in wanted if each not in among] == [], among
    assert not [each for each in found if each.split(" in ")[0].endswith((" use a", " use b", " use list"))]
    assert bindings(source, language) == bound
    assert parsed(source, language).references.package == package
