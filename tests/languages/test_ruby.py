"""A require means a file relative to its own, or one below a folder that is on the load path."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree

RUBY = tree(
    "lib/shop.rb",
    "lib/shop/cart.rb",
    "lib/shop/json.rb",
    "lib/tasks/build.rake",
    "spec/spec_helper.rb",
    "spec/shop/cart_spec.rb",
    "gems/pay/lib/pay.rb",
    "gems/pay/lib/pay/card.rb",
    "gems/pay/test/helper.rb",
    "app/models/user.rb",
    "config/environment.rb",
    "ext/fast/fast.c",
)


@pytest.mark.parametrize(
    ("importer", "module", "expected"),
    [
        ("lib/shop.rb", "shop/cart", "lib/shop/cart.rb"),
        ("lib/shop.rb", "./shop/cart", "lib/shop/cart.rb"),
        ("lib/shop/cart.rb", "../shop", "lib/shop.rb"),
        ("lib/shop.rb", "shop/cart.rb", "lib/shop/cart.rb"),
        ("lib/shop/cart.rb", "json", None),
        ("lib/shop/cart.rb", "./json", "lib/shop/json.rb"),
        ("spec/shop/cart_spec.rb", "spec_helper", "spec/spec_helper.rb"),
        ("spec/shop/cart_spec.rb", "shop", "lib/shop.rb"),
        ("lib/shop.rb", "pay/card", "gems/pay/lib/pay/card.rb"),
        ("gems/pay/test/helper.rb", "pay", "gems/pay/lib/pay.rb"),
        ("gems/pay/test/pay_test.rb", "helper", "gems/pay/test/helper.rb"),
        ("lib/shop.rb", "helper", None),
        ("lib/shop.rb", "models/user", "app/models/user.rb"),
        ("bin/run.rb", "./config/environment", "config/environment.rb"),
        ("lib/shop.rb", "./tasks/build.rake", "lib/tasks/build.rake"),
        ("lib/shop.rb", "/etc/passwd", None),
        ("lib/shop.rb", "../../etc/passwd", None),
        ("lib/shop.rb", "fast.so", None),
        ("lib/shop.rb", "", None),
        ("lib/shop.rb", "shop/", None),
    ],
)
def test_requires(importer: str, module: str, expected: str | None) -> None:
    check(RUBY, importer, "ruby", module, expected)


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("./gone", True),
        ("shop/gone", False),
        ("../ext/fast/fast", False),
        ("./gone.so", False),
        ("../../x", False),
    ],
)
def test_what_is_certainly_missing(module: str, missing: bool) -> None:
    assert resolver(RUBY).is_internal("lib/shop.rb", "ruby", Import(module, "", 1)) is missing
