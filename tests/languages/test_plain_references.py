"""What C, C++, Ruby, PHP, Lua and shell sources refer to is found, with its scope and what is evident of names."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES

from tests.reference_cases import bindings, facts, parsed, references


def refers(source: str, language: str, expected: str) -> None:
    """Check the references of a source, one a line."""
    assert references(source, language) == [line.strip() for line in expected.strip().splitlines()]


def test_c() -> None:
    source = """
    #include "list.h"
    static struct ops table = { .open = my_open, .size = &my_size };
    int run(struct list *l, item_t it, char **names) {
        struct list *copy = list_copy(l);
        it.next->free(copy, it, LIMIT, names);
        return 0;
    }
    """
    refers(
        source,
        "c",
        """
        2 type ops in table
        2 use my_open in table
        3 type list in run
        3 type item_t in run
        4 type list in run
        4 call list_copy in run
        5 call it.next.free in run
        5 use LIMIT in run
        """,
    )
    assert bindings(source, "c") == ["*: * from list.h"]
    assert facts(source, "c") == [
        "table is ops", "l is list in run", "it is item_t in run", "names = in run", "copy is list in run",
    ]  # fmt: skip


def test_cpp() -> None:
    source = """
    namespace shop {
    class Cart : public Base<Item>, private util::Lock {
      Item* first_;
      std::unique_ptr<Store> store_;
      void add(const Item& item, Log* log = nullptr) {
        auto kept = store_->keep(item);
        auto* made = new util::Item(item);
        std::vector<Item> all;
        for (auto& each : all) each.use();
        ::check(made);
      }
    };
    }
    """
    refers(
        source,
        "cpp",
        """
        2 inherit Base in Cart
        2 type Base in Cart
        2 type Item in Cart
        2 inherit util.Lock in Cart
        3 type Item in Cart
        4 type unique_ptr in Cart
        4 type Store in Cart
        5 type Item in Cart.add
        5 type Log in Cart.add
        6 call store_.keep in Cart.add
        7 call util.Item in Cart.add
        8 type vector in Cart.add
        8 type Item in Cart.add
        9 call each.use in Cart.add
        10 call check in Cart.add
        """,
    )
    assert facts(source, "cpp") == [
        "first_ is Item in Cart", "store_ is Store in Cart", "item is Item in Cart.add", "log is Log in Cart.add",
        "kept = store_.keep() in Cart.add", "made = util.Item() in Cart.add",
        "all is vector[].Item in Cart.add", "each = all[] in Cart.add",
    ]  # fmt: skip
    assert parsed(source, "cpp").references.package == "shop"


def test_ruby() -> None:
    source = """
    class Shop::Cart < Base::Model
      include Enumerable, Util::Log
      attr_reader :items
      def add(item, count = default_count, *rest, by: nil, &block)
        store = Store.new(item)
        @log ||= Logger.build
        item&.price.round!
        store.empty? && refresh
        count
        items.each do |each| each.touch end
      rescue Shop::Error => error
        error
      end
    end
    """
    refers(
        source,
        "ruby",
        """
        1 inherit Base.Model in Shop.Cart
        2 inherit Enumerable in Shop.Cart
        2 inherit Util.Log in Shop.Cart
        5 use Store in Shop.Cart.add
        5 call Store.new in Shop.Cart.add
        6 use Logger in Shop.Cart.add
        6 call Logger.build in Shop.Cart.add
        7 call item.price in Shop.Cart.add
        7 call item.price.round! in Shop.Cart.add
        8 call store.empty? in Shop.Cart.add
        8 call refresh in Shop.Cart.add
        10 call items in Shop.Cart.add
        10 call items.each in Shop.Cart.add
        10 call each.touch in Shop.Cart.add
        11 use Shop.Error in Shop.Cart.add
        """,
    )
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
    #[Entity]
    class Cart extends \Base\Model implements D {
        use Logs;
        private ?Store $store = null;
        public function __construct(private readonly Repo $repo, $plain) {
            $this->log = new Log($plain);
            $item = B::make(1)->run($this->repo);
            $this->store?->keep($item);
            parent::boot();
            \A\check(E::NAME);
            if ($item instanceof B) { throw new H(); }
        }
        public function first(): Item { foreach ($this->all() as $each) { $each->touch(); } }
    }
    """
    refers(
        source,
        "php",
        """
        6 decorate Entity in Cart
        7 inherit Base.Model in Cart
        7 inherit D in Cart
        8 inherit Logs in Cart
        9 type Store in Cart
        10 type Repo in Cart.__construct
        11 call Log in Cart.__construct
        12 use B in Cart.__construct
        12 call B.make in Cart.__construct
        12 call B.make().run in Cart.__construct
        13 call $this.store.keep in Cart.__construct
        14 call parent.boot in Cart.__construct
        15 call A.check in Cart.__construct
        15 use E in Cart.__construct
        16 type B in Cart.__construct
        16 call H in Cart.__construct
        18 type Item in Cart.first
        18 call $this.all in Cart.first
        18 call $each.touch in Cart.first
        """,
    )
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
    local get = require("shop.http").get
    function M.load(self, path)
      local file = net.open(path)
      self:keep(file, M.done)
      for _, each in ipairs(file) do touch(each) end
    end
    """
    refers(
        source,
        "lua",
        """
        2 use require().get
        4 call net.open in M.load
        5 call self.keep in M.load
        5 use M.done in M.load
        6 call touch in M.load
        """,
    )
    assert bindings(source, "lua") == ["net: * from shop.net", "get: get from shop.http"]
    assert "file = net.open() in M.load" in facts(source, "lua")


def test_bash() -> None:
    source = """
    greet() {
      local name=$(full-name "$1")
      echo "$name" | log::write
    }
    greet you
    """
    refers(source, "bash", "2 call full-name in greet\n3 call log::write in greet\n5 call greet")


@pytest.mark.parametrize("language", ["c", "cpp", "ruby", "php", "lua", "bash"])
def test_queries_use_no_predicates_of_the_engine(language: str) -> None:
    row = LANGUAGES[language]
    for query in (row.definitions, row.calls, row.references, row.facts):
        assert not {"#eq?", "#match?", "#any-of?", "#not-any-of?"} & set(query.replace("(", " ").split())
