"""A Lua module means a file, or a folder's `init.lua`, below any folder that may be searched."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.records import Import
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.import_cases import check, resolver, tree
from tests.path_import_cases import appears, paths
from tests.properties import examples

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


def test_nothing_is_certainly_missing() -> None:
    assert not resolver(LUA).is_internal("plugin/shop.lua", "lua", Import("shop.gone", "", 1))


@given(
    st.sets(paths("a.lua", "b.lua", "init.lua"), max_size=12),
    paths("a.lua"),
    st.sampled_from(["a", "a.b", "b.a.b", "lib.a", "a/b", "test.a"]),
    paths("a.lua", "b.lua", "init.lua"),
)
@settings(max_examples=examples(300))
def test_requires_wait_under_the_right_keys(files: set[str], importer: str, module: str, new: str) -> None:
    appears(files, importer, "lua", module, new)
