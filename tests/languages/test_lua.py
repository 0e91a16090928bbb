"""A Lua module means a file, or a folder's `init.lua`, below any folder that may be searched."""

from __future__ import annotations

import pytest

from tests.import_cases import check, tree

LUA = tree(
    "lua/shop/init.lua",
    "lua/shop/cart.lua",
    "lua/shop/cart/init.lua",
    "src/core/net.lua",
    "plugin/shop.lua",
    "vendor/compat/module.lua",
    "vendor/json.lua",
    "tests/helper.lua",
    "tests/unit/cart_spec.lua",
)


@pytest.mark.parametrize(
    ("importer", "module", "expected"),
    [
        ("plugin/shop.lua", "shop.cart", "lua/shop/cart.lua"),
        ("plugin/x.lua", "shop", "plugin/shop.lua"),
        ("lua/shop/cart.lua", "shop", "lua/shop/init.lua"),
        ("lua/shop/cart.lua", "core.net", "src/core/net.lua"),
        ("lua/shop/cart.lua", "shop/cart", "lua/shop/cart.lua"),
        ("lua/shop/cart.lua", "compat.module", "vendor/compat/module.lua"),
        ("lua/shop/cart.lua", "json", None),
        ("tests/unit/cart_spec.lua", "helper", "tests/helper.lua"),
        ("lua/shop/cart.lua", "unit.cart_spec", None),
        ("lua/shop/cart.lua", "..shop", None),
        ("lua/shop/cart.lua", "shop.", None),
        ("lua/shop/cart.lua", "", None),
        ("lua/shop/cart.lua", "/etc/passwd", None),
    ],
)
def test_requires(importer: str, module: str, expected: str | None) -> None:
    check(LUA, importer, "lua", module, expected)
