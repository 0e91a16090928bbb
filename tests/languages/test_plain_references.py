"""What C, C++, Go, Rust, Ruby, PHP, Lua and shell sources refer to is found, with its scope and what is evident of names."""

from __future__ import annotations

from textwrap import dedent

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES

from tests.parse_cases import marks_in
from tests.reference_cases import bindings, facts, parsed, references


def refers(source: str, language: str) -> None:
    """Check the references of a source, which stand behind each line."""
    expected = marks_in(dedent(source).strip("\n"))
    found = [reference.split(" ", 1) for reference in references(source, language)]
    assert found == [[str(line), mark] for line, marks in expected.items() for mark in marks]


def test_c() -> None:
    source = """
    #include "list.h"
    static struct ops table = { .open = my_open, .size = &my_size };
    #= type ops in table; use my_open in table
    int run(struct list *l, item_t it, char **names) {  #= type list in run; type item_t in run
        struct list *copy = list_copy(l);  #= type list in run; call list_copy in run
        it.next->free(copy, it, LIMIT, names);  #= call it.next.free in run; use LIMIT in run
        return 0;
    }
    """
    refers(source, "c")
    assert bindings(source, "c") == ["*: * from list.h"]
    assert facts(source, "c") == [
        "table is ops", "l is list in run", "it is item_t in run", "names = in run", "copy is list in run",
    ]  # fmt: skip


def test_cpp() -> None:
    source = """
    namespace shop {
    class Cart : public Base<Item>, private util::Lock {
    #= inherit Base in Cart; type Base in Cart; type Item in Cart; inherit util.Lock in Cart
      Item* first_;  #= type Item in Cart
      std::unique_ptr<Store> store_;  #= type unique_ptr in Cart; type Store in Cart
      void add(const Item& item, Log* log = nullptr) {  #= type Item in Cart.add; type Log in Cart.add
        auto kept = store_->keep(item);  #= call store_.keep in Cart.add
        auto* made = new util::Item(item);  #= call util.Item in Cart.add
        std::vector<Item> all;  #= type vector in Cart.add; type Item in Cart.add
        for (auto& each : all) each.use();  #= call each.use in Cart.add
        ::check(made);  #= call check in Cart.add
      }
    };
    }
    """
    refers(source, "cpp")
    assert facts(source, "cpp") == [
        "first_ is Item in Cart", "store_ is Store in Cart", "item is Item in Cart.add", "log is Log in Cart.add",
        "kept = store_.keep() in Cart.add", "made = util.Item() in Cart.add",
        "all is vector[].Item in Cart.add", "each = all[] in Cart.add",
    ]  # fmt: skip
    assert parsed(source, "cpp").references.package == "shop"


def test_go_and_rust_bindings() -> None:
    source = """
    package auth
    import (
        "fmt"
        web "example.com/x/web/v2"
        "example.com/go-yaml/v3"
        . "example.com/dot"
        _ "example.com/blank"
    )
    """
    assert bindings(source, "go") == [
        "fmt: * from fmt", "web: * from example.com/x/web/v2", "yaml: * from example.com/go-yaml/v3",
        "*: * from example.com/dot",
    ]  # fmt: skip
    assert parsed(source, "go").references.package == "auth"
    source = """
    use crate::auth::{self, Session as S};
    use std::fmt::Write as _;
    pub use self::inner::Thing;
    mod inner;
    #[path = "odd/place.rs"]
    pub mod moved;
    mod tests {
        use super::*;
        use super::inner::Thing;
    }
    """
    assert bindings(source, "rust") == [
        "auth: * from crate::auth", "S: Session from crate::auth", "Thing: Thing from self::inner",
        "inner: inner from self", "moved: * from ./odd/place.rs", "*: * from self in tests",
        "Thing: Thing from self::inner in tests",
    ]  # fmt: skip
    (export,) = parsed(source, "rust").references.exports
    assert (export.name, export.module, export.imported) == ("Thing", "self::inner", "Thing")


def test_ruby() -> None:
    source = """
    class Shop::Cart < Base::Model  #= inherit Base.Model in Shop.Cart
      include Enumerable, Util::Log  #= inherit Enumerable in Shop.Cart; inherit Util.Log in Shop.Cart
      attr_reader :items
      def add(item, count = default_count, *rest, by: nil, &block)
        store = Store.new(item)  #= use Store in Shop.Cart.add; call Store.new in Shop.Cart.add
        @log ||= Logger.build  #= use Logger in Shop.Cart.add; call Logger.build in Shop.Cart.add
        item&.price.round!  #= call item.price in Shop.Cart.add; call item.price.round! in Shop.Cart.add
        store.empty? && refresh  #= call store.empty? in Shop.Cart.add; call refresh in Shop.Cart.add
        count
        items.each do |each| each.touch end
    #= call items in Shop.Cart.add; call items.each in Shop.Cart.add; call each.touch in Shop.Cart.add
      rescue Shop::Error => error  #= use Shop.Error in Shop.Cart.add
        error
      end
    end
    """
    refers(source, "ruby")
    assert [each for each in facts(source, "ruby") if not each.endswith("= in Shop.Cart.add")] == [
        "store = Store.new() in Shop.Cart.add",
        "@log = Logger.build in Shop.Cart.add",
    ]


def test_php() -> None:
    source = r"""
    <?php
    namespace App\Models;
    use A\B;
    use A\C as D;
    use A\{E, F\G as H};
    #[Entity]  #= decorate Entity in Cart
    class Cart extends \Base\Model implements D {  #= inherit Base.Model in Cart; inherit D in Cart
        use Logs;  #= inherit Logs in Cart
        private ?Store $store = null;  #= type Store in Cart
        public function __construct(private readonly Repo $repo, $plain) {  #= type Repo in Cart.__construct
            $this->log = new Log($plain);  #= call Log in Cart.__construct
            $item = B::make(1)->run($this->repo);
    #= use B in Cart.__construct; call B.make in Cart.__construct; call B.make().run in Cart.__construct
            $this->store?->keep($item);  #= call $this.store.keep in Cart.__construct
            parent::boot();  #= call parent.boot in Cart.__construct
            \A\check(E::NAME);  #= call A.check in Cart.__construct; use E in Cart.__construct
            if ($item instanceof B) { throw new H(); }
    #= type B in Cart.__construct; call H in Cart.__construct
        }
        public function first(): Item { foreach ($this->all() as $each) { $each->touch(); } }
    #= type Item in Cart.first; call $this.all in Cart.first; call $each.touch in Cart.first
    }
    """
    refers(source, "php")
    assert bindings(source, "php") == [
        r"B: B from A\B", r"D: C from A\C", r"E: E from A\E", r"H: G from A\F\G",
    ]  # fmt: skip
    assert parsed(source, "php").references.package == "App.Models"
    found = facts(source, "php")
    for fact in (
        "store is Store in Cart",
        "$this.repo is Repo in Cart.__construct",
        "$repo is Repo in Cart.__construct",
        "$plain = in Cart.__construct",
        "$this.log = Log() in Cart.__construct",
        "$item = B.make().run() in Cart.__construct",
        "() is Item in Cart.first",
        "$each = $this.all()[] in Cart.first",
    ):
        assert fact in found, fact


def test_lua() -> None:
    source = """
    local net = require "shop.net"
    local get = require("shop.http").get  #= use require().get
    function M.load(self, path)
      local file = net.open(path)  #= call net.open in M.load
      self:keep(file, M.done)  #= call self.keep in M.load; use M.done in M.load
      for _, each in ipairs(file) do touch(each) end  #= call touch in M.load
    end
    """
    refers(source, "lua")
    assert bindings(source, "lua") == ["net: * from shop.net", "get: get from shop.http"]
    assert "file = net.open() in M.load" in facts(source, "lua")


def test_bash() -> None:
    source = """
    greet() {
      local name=$(full-name "$1")  #= call full-name in greet
      echo "$name" | log::write  #= call log::write in greet
    }
    greet you  #= call greet
    """
    refers(source, "bash")


@pytest.mark.parametrize("language", ["c", "cpp", "ruby", "php", "lua", "bash"])
def test_queries_use_no_predicates_of_the_engine(language: str) -> None:
    row = LANGUAGES[language]
    for query in (row.definitions, row.calls, row.references, row.facts):
        assert not {"#eq?", "#match?", "#any-of?", "#not-any-of?"} & set(query.replace("(", " ").split())
