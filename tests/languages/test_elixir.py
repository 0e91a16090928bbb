"""Elixir's modules, functions and documentation are found, its aliases lead to files, and calls are linked."""

from __future__ import annotations

import pytest
from foveal.benchmarks.source_world import SourceWorld
from foveal.daemon.languages.shared.imports import ImportResolver, keys_of_path
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Import

from tests.parse_cases import check, docs, heads, imports

CART = '''\
defmodule Shop.Cart do  #= 0 module Shop.Cart to 30
  @moduledoc """
  Carts of customers. And more.
  """
  use GenServer
  @limit 10  #= 1 constant Shop.Cart.limit
  @typedoc "What a cart is."
  @type t :: %__MODULE__{items: list}  #= 1 type Shop.Cart.t
  @callback price(Item.t()) :: integer  #= 1 prototype Shop.Cart.price

  @doc "Adds an item. Twice."
  @spec add(t, Item.t()) :: t
  def add(cart, item) when is_map(item) do  #= 1 function Shop.Cart.add to 15
    put(cart, item)
  end

  # Puts it in.
  defp put(cart, item), do: [item | cart]  #= 1 function Shop.Cart.put

  def put(cart), do: cart  #= 1 function Shop.Cart.put~2
  defmacro debug(x) do  #= 1 macro Shop.Cart.debug to 23
    x
  end
  def none, do: :ok  #= 1 function Shop.Cart.none
  defdelegate size(cart), to: Shop.Sizes  #= 1 function Shop.Cart.size

  defimpl String.Chars, for: Shop.Cart do  #= 1 module Shop.Cart.String.Chars to 29
    def to_string(_), do: "cart"  #= 2 function Shop.Cart.String.Chars.to_string
  end
end

defprotocol Shop.Named do  #= 0 protocol Shop.Named to 34
  def name(x)  #= 1 method Shop.Named.name
end
'''


def test_definitions() -> None:
    check(CART, "elixir")


def test_heads_and_documentation() -> None:
    assert heads(CART, "elixir")["Shop.Cart.add"] == "def add(cart, item) when is_map(item)"
    assert heads(CART, "elixir")["Shop.Cart.put"] == "defp put(cart, item)"
    found = docs(CART, "elixir")
    assert found["Shop.Cart"] == "Carts of customers."
    assert found["Shop.Cart.t"] == "What a cart is."
    assert found["Shop.Cart.add"] == "Adds an item."
    assert found["Shop.Cart.put"] == "Puts it in."
    assert found["Shop.Cart.put~2"] == found["Shop.Cart.price"] == ""


def test_tests_are_functions() -> None:
    check('test "adds an item" do  #= 0 function adds an item to 3\n  assert add()\nend\n', "elixir")


def test_imports() -> None:
    source = """\
defmodule A do
  alias Shop.Cart
  alias Shop.Catalog.{Item, Price}
  alias Shop.Repo, as: R
  import Ecto.Query, only: [from: 2]
  require Logger
  use Shop.Web, :controller
  alias __MODULE__.Inner
  other Shop.Nothing
end
"""
    assert [(module, line) for module, _, line, _ in imports(source, "elixir")] == [
        ("Shop.Cart", 2),
        ("Shop.Catalog.Item", 3),
        ("Shop.Catalog.Price", 3),
        ("Shop.Repo", 4),
        ("Ecto.Query", 5),
        ("Logger", 6),
        ("Shop.Web", 7),
    ]
    bound = {each.name: each.module for each in parse_source(source.encode(), "elixir").references.bindings}
    assert bound == {
        "Cart": "Shop.Cart",
        "Item": "Shop.Catalog.Item",
        "Price": "Shop.Catalog.Price",
        "R": "Shop.Repo",
        "*": "Ecto.Query",
    }


FILES = (
    "lib/shop/cart.ex",
    "lib/shop/http_client.ex",
    "lib/shop/catalog.ex",
    "lib/shop/socket.ex",
    "lib/shop/socket/message.ex",
    "lib/shop_web/controllers/cart_controller.ex",
    "lib/shop/logger.ex",
    "apps/other/lib/other/cart.ex",
    "test/support/data_case.ex",
    "test/shop/cart_test.exs",
)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("Shop.Cart", "lib/shop/cart.ex"),
        ("Shop.HTTPClient", "lib/shop/http_client.ex"),
        ("Shop.Catalog.Item", "lib/shop/catalog.ex"),
        ("Shop.Socket.Reply", None),
        ("ShopWeb.CartController", "lib/shop_web/controllers/cart_controller.ex"),
        ("Other.Cart", "apps/other/lib/other/cart.ex"),
        ("DataCase", "test/support/data_case.ex"),
        ("Shop.DataCase", "test/support/data_case.ex"),
        ("Logger", None),
        ("Ecto.Query", None),
    ],
)
def test_modules_lie_in_files_by_their_names(module: str, expected: str | None) -> None:
    resolver = ImportResolver(FILES, lambda _: None)
    imported = Import(module, "", 1)
    assert resolver.resolve("test/shop/cart_test.exs", "elixir", imported) == expected
    assert not resolver.is_internal("test/shop/cart_test.exs", "elixir", imported)
    keys = resolver.retry_keys("test/shop/cart_test.exs", "elixir", imported)
    assert expected is None or set(keys) & set(keys_of_path(expected))


def test_calls_are_linked() -> None:
    world = SourceWorld(
        {
            "lib/shop/cart.ex": """\
defmodule Shop.Cart do
  alias Shop.Repo, as: R
  alias Shop.Catalog
  import Shop.Helpers
  @behaviour Shop.Behaviour
  def total(cart) do
    cart |> put(1) |> R.save!()
    Catalog.Item.price(cart)
    Shop.Repo.get(1)
    __MODULE__.put(cart, 2)
    helped(cart)
    Enum.map(cart, &put/2)
    Shop.Missing.call()
    unknown(cart)
    if is_map(cart), do: Elsewhere.run()
  end
  def put(cart, x), do: [x | cart]
end
""",
            "lib/shop/repo.ex": "defmodule Shop.Repo do\n  def save!(x), do: x\n  def get(x), do: x\nend\n",
            "lib/shop/catalog.ex": """\
defmodule Shop.Catalog do
  defmodule Item do
    def price(x), do: x
  end
end
""",
            "lib/shop/helpers.ex": "defmodule Shop.Helpers do\n  def helped(x), do: x\nend\n",
            "lib/shop/behaviour.ex": "defmodule Shop.Behaviour do\n  @callback total(term) :: term\nend\n",
            "lib/shop.ex": "defmodule Shop do\nend\n",
        }
    )
    found = [
        (link.line, link.kind, link.target_name if link.state == "resolved" else f"{link.name} {link.state}")
        for link in world.link("lib/shop/cart.ex").links
    ]
    assert found == [
        (5, "inherit", "Shop.Behaviour"),
        (7, "call", "Shop.Cart.put"),
        (7, "call", "Shop.Repo.save!"),
        (8, "call", "Shop.Catalog.Item.price"),
        (9, "call", "Shop.Repo.get"),
        (10, "call", "Shop.Cart.put"),
        (11, "call", "Shop.Helpers.helped"),
        (12, "call", "map external"),
        (12, "use", "Shop.Cart.put"),
        (13, "call", "call name"),
        (14, "call", "unknown name"),
        (15, "call", "is_map external"),
        (15, "call", "run external"),
    ]
