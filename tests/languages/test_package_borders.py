"""References lead over the borders of the packages of one repository, to what the other package defines."""

from __future__ import annotations

from foveal.daemon.languages.shared.records import Import

from tests.import_cases import appears, tree
from tests.import_cases import check as check_import
from tests.link_cases import check

SPACES = tree(
    "packages/core/pyproject.toml",
    "packages/core/src/shop/core/__init__.py",
    "packages/core/src/shop/core/schema/orders.py",
    "packages/server/pyproject.toml",
    "packages/server/src/shop/server/__init__.py",
    "packages/server/src/shop/server/app.py",
    "clouds/store/google/cloud/store/__init__.py",
    "clouds/store/google/cloud/store/bucket.py",
    "tests/shop/fakes/__init__.py",
)


def test_namespace_packages_are_spread_over_distributions() -> None:
    importer = "packages/server/src/shop/server/app.py"
    core = "packages/core/src/shop/core"
    for module, name, expected in (
        ("shop.core", "", f"{core}/__init__.py"),
        ("shop.core.schema.orders", "", f"{core}/schema/orders.py"),
        ("shop.core.schema", "orders", f"{core}/schema/orders.py"),
        ("shop.server", "", "packages/server/src/shop/server/__init__.py"),
        ("google.cloud.store.bucket", "", "clouds/store/google/cloud/store/bucket.py"),
        ("shop.fakes", "", None),  # of the tests
        ("other.core", "", None),
    ):
        check_import(SPACES, importer, "python", module, expected, name)


def test_a_distribution_that_appears_is_noticed() -> None:
    files = {"a/src/shop/app/__init__.py", "b/src/shop/core/orders.py"}
    importer = "a/src/shop/app/main.py"
    appears(files, importer, "python", Import("shop.core.orders", "", 1), "b/src/shop/core/__init__.py")


def test_a_crate_that_only_re_exports_another_is_followed() -> None:
    check(
        {
            "Cargo.toml": '[package]\nname = "shop"\nedition = "2021"\n',
            "src/lib.rs": "pub use shop_core::*;\n",
            "core/Cargo.toml": '[package]\nname = "shop-core"\nedition = "2021"\n',
            "core/src/lib.rs": "pub mod cart;\nmod macros;\n",
            "core/src/cart.rs": "pub struct Item {}\nimpl Item {\n    pub fn new() -> Item { Item {} }\n}\n",
            "core/src/macros.rs": "#[macro_export]\nmacro_rules! item {\n    () => {};\n}\n",
            "app/Cargo.toml": '[package]\nname = "app"\nedition = "2021"\n',
            "app/src/main.rs": (
                "use shop::cart::Item;\nuse shop_core::{cart, item, other};\n"
                "fn main() {\n"
                "    Item::new();  // => core/src/cart.rs#Item.new\n"
                "    let cart = cart::Item::new();  // => core/src/cart.rs#Item.new\n"
                "    item!();  // => core/src/macros.rs#item\n"
                "    other!();  // => ?\n"
                "}\n"
            ),
        }
    )


def test_a_variable_is_not_what_it_is_made_of() -> None:
    check(
        {
            "go.mod": "module example.com/shop\n",
            "user/user.go": "package user\ntype User struct{}\nfunc New() User { return User{} }\nfunc (u User) Save() {}\n",
            "main.go": (
                'package main\nimport "example.com/shop/user"\nfunc main() {\n'
                "    user := user.New()  // => user/user.go#New\n"
                "    user.Save()  // => user/user.go#User.Save\n"
                "}\n"
            ),
        }
    )


def test_a_namespace_begins_with_the_name_that_its_neighbours_begin_with() -> None:
    check(
        {
            "src/Web/Web.csproj": "<Project><RootNamespace>Shop.Web</RootNamespace></Project>",
            "src/Web/GlobalUsings.cs": "global using Shop.Orders.Model;\n",
            "src/Web/Api/Basket.cs": (
                "namespace Shop.Web.Api;\nclass Basket {\n"
                "  void Add() { new Order(); }  // => src/Orders/Model/Order.cs#Order\n}\n"
            ),
            "src/Orders/Orders.csproj": "<Project></Project>",
            "src/Orders/Model/Order.cs": "namespace Shop.Orders.Model;\npublic class Order {}\n",
            "src/Mail/Mail.csproj": "<Project></Project>",
            "src/Mail/Post.cs": (
                "using System.Orders.Model;\nnamespace Shop.Mail;\nclass Post {\n"
                "  void Send() { new Order(); }  // => ?\n}\n"
            ),
        }
    )
