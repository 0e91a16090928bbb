"""What a reference of Java, Go, Rust or C# means is found through packages, imports, fields and bases."""

from __future__ import annotations

from tests.link_cases import check


def test_classes_members_and_packages() -> None:
    check(
        {
            "src/main/java/shop/Base.java": (
                "package shop;\npublic abstract class Base {\n  protected void save() {}\n"
                "  public Base load() { return this; }\n}\n"
            ),
            "src/main/java/shop/mail/Mailer.java": (
                "package shop.mail;\npublic class Mailer {\n  public static Mailer create() {\n"
                "    return new Mailer();  // => Mailer\n  }\n  public void send() {}\n"
                "  public static class Options { void set() {} }\n}\n"
            ),
            "src/main/java/shop/User.java": (
                "package shop;\nimport java.util.List;\nimport shop.mail.Mailer;\n"
                "import static shop.mail.Mailer.create;\n"
                "public class User extends Base {\n"
                "  private final Mailer mailer = new Mailer();  // => src/main/java/shop/mail/Mailer.java#Mailer\n"
                "  private List<Mailer> all;\n"
                "  void run(Mailer given, Object any, String text) {\n"
                "    save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    this.save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    super.save();  // => src/main/java/shop/Base.java#Base.save\n"
                "    mailer.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    given.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    create().send();"
                "  // => src/main/java/shop/mail/Mailer.java#Mailer.create,"
                " src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    for (Mailer one : all) {\n"
                "      one.send();  // => src/main/java/shop/mail/Mailer.java#Mailer.send\n"
                "    }\n"
                "    any.send();  // => ?\n"
                "    text.trim();  // => external\n"
                "    helper();  // => User.helper\n"
                "    Other.go();  // => src/main/java/shop/Other.java#Other.go\n"
                "    System.out.println();  // => external\n"
                "  }\n"
                "  private void helper() {}\n"
                "}\n"
            ),
            "src/main/java/shop/Other.java": "package shop;\nclass Other { static void go() {} }\n",
            "src/test/java/shop/UserTest.java": (
                "package shop;\nclass UserTest {\n  void test() {\n"
                "    new User().load();"
                "  // => src/main/java/shop/User.java#User, src/main/java/shop/Base.java#Base.load\n"
                "  }\n}\n"
            ),
        }
    )


def test_bases() -> None:
    check(
        {
            "a/One.java": "package a;\npublic interface One {}\n",
            "a/Two.java": "package a;\nclass Two implements One {}  // => a/One.java#One\n",
            "b/Three.java": (
                "package b;\nimport a.*;\nclass Three extends Two {}  // => a/Two.java#Two\n"
                "class Four extends Exception {}  // => external\n"
            ),
        },
        "inherit",
    )


def test_no_variable_hides_a_method() -> None:
    check(
        {
            "A.java": "class A {\n  int size() { return 1; }\n  void go() {\n    int size = size();  // => A.size\n  }\n}\n"
        }
    )


MODULE = {"go.mod": "module example.com/shop\n"}


def test_packages_and_methods() -> None:
    check(
        MODULE
        | {
            "store/store.go": (
                "package store\n\ntype Store struct {\n\tlog *Log\n}\n\n"
                "func New() *Store { return &Store{} }  // => Store\n\n"
                "type Getter interface {\n\tGet(key string) *Item\n}\n"
            ),
            "store/item.go": (
                "package store\n\ntype Log struct{}\n\nfunc (l *Log) Print() {}\n\ntype Item struct{ Log }\n\n"
                "func (s *Store) Get(key string) *Item {\n"
                "\ts.log.Print()  // => Log.Print\n"
                "\treturn &Item{}  // => Item\n}\n\n"
                "func (i *Item) Price() int {\n\ti.Print()  // => Log.Print\n\treturn len(i.name)  // => external\n}\n"
            ),
            "store/item_test.go": "package store\n\nfunc helper() {}\n\nfunc TestIt() { helper() }  // => helper\n",
            "main.go": (
                'package main\n\nimport (\n\t"fmt"\n\tst "example.com/shop/store"\n)\n\n'
                "func main() {\n"
                "\ts := st.New()  // => store/store.go#New\n"
                '\ts.Get("a").Price()  // => store/item.go#Store.Get, store/item.go#Item.Price\n'
                "\tvar g st.Getter = s\n"
                '\tg.Get("b")  // => store/store.go#Getter.Get\n'
                "\tall := []*st.Item{}\n"
                "\tfor _, one := range all {\n"
                "\t\tone.Price()  // => store/item.go#Item.Price\n\t}\n"
                "\tfmt.Println(1)  // => external\n"
                "\thelper()  // => ?\n"
                "\tst.Missing()  // => ?\n"
                "}\n"
            ),
        }
    )


CRATE = {"Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n'}


def test_modules_and_methods() -> None:
    check(
        CRATE
        | {
            "src/lib.rs": (
                "pub mod store;\nmod mail;\npub use store::Store;\n"
                "pub fn open() -> Store {\n    Store::new()  // => src/store.rs#Store.new\n}\n"
            ),
            "src/store.rs": (
                "use std::collections::HashMap;\nuse crate::mail::{send, Mailer as M};\n"
                "pub struct Store {\n    mailer: M,\n    items: Vec<Item>,\n}\n"
                "pub struct Item;\nimpl Item {\n    fn price(&self) -> u32 { 1 }\n}\n"
                "impl Store {\n"
                "    pub fn new() -> Self {\n        Store { mailer: M::make(), items: vec![] }"
                "  // => Store, src/mail.rs#Mailer.make\n    }\n"
                "    pub fn run(&self, given: &mut Item) {\n"
                "        self.mailer.post();  // => src/mail.rs#Mailer.post\n"
                "        given.price();  // => Item.price\n"
                "        for one in &self.items {\n"
                "            one.price();  // => Item.price\n        }\n"
                "        send();  // => src/mail.rs#send\n"
                "        crate::mail::send();  // => src/mail.rs#send\n"
                "        super::open().stop();  // => src/lib.rs#open, Store.stop\n"
                "        Self::new();  // => Store.new\n"
                "        let map = HashMap::new();  // => external\n"
                "        nothing();  // => ?\n"
                "    }\n"
                "    fn stop(&self) {}\n"
                "}\n"
            ),
            "src/mail.rs": (
                "pub fn send() {}\npub struct Mailer;\nimpl Mailer {\n    pub fn make() -> Mailer { Mailer }\n"
                "    pub fn post(&self) {}\n}\n"
                "#[cfg(test)]\nmod tests {\n    use super::*;\n    fn check() {\n        send();  // => send\n    }\n}\n"
            ),
        }
    )


def test_traits_are_bases() -> None:
    check(
        CRATE
        | {
            "src/lib.rs": (
                "trait Show { fn show(&self) { self.text(); }  // => Show.text\n    fn text(&self); }\n"
                "struct A;\nimpl Show for A { fn text(&self) {} }\n"
                "fn f(a: A) { a.show(); }  // => Show.show\n"
            )
        }
    )


def test_circles_end() -> None:
    check({
        "Shop/A.cs": "using Shop;\nusing static Shop.B;\nnamespace Shop;\npublic partial class A : B {\n"
        "  void Go() {\n    Nowhere();  // => ?\n    this.Up();  // => Shop/B.cs#B.Up\n  }\n}\n",
        "Shop/B.cs": "using Shop;\nusing static Shop.A;\nnamespace Shop;\npublic class B : A { public void Up() {} }\n",
        "Shop/Shop.csproj": "<Project></Project>\n",
    })  # fmt: skip
