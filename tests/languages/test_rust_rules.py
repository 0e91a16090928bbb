"""What a Rust reference means is found along module paths, `use`, and impl blocks."""

from __future__ import annotations

from tests.link_cases import check

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
