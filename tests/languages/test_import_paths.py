"""An import that is written as a path means the file that the language's own search would find in the project."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.languages.shared.import_folders import MAX_NAMESAKES
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

Paths = list[tuple[str, str, str | None]]
"""Importer, path as it is written, and the file that it means."""

C = tree(
    "src/main.c",
    "src/util.h",
    "src/net/conn.c",
    "src/net/conn.h",
    "include/shop/cart.h",
    "vendor/json/json.h",
    "other/shop/cart.h",
    "compat/string.h",
    "compat/sys/time.h",
    "tests/helper.h",
    "tests/unit/a.cc",
    "config.h",
)
INCLUDES: Paths = [
    ("src/main.c", "util.h", "src/util.h"),
    ("src/main.c", "net/conn.h", "src/net/conn.h"),
    ("src/net/conn.c", "conn.h", "src/net/conn.h"),
    ("src/net/conn.c", "../util.h", "src/util.h"),
    ("src/net/conn.c", "./conn.h", "src/net/conn.h"),
    ("src/net/conn.c", "util.h", "src/util.h"),
    ("src/main.c", "shop/cart.h", "include/shop/cart.h"),
    ("src/main.c", "<shop/cart.h>", "include/shop/cart.h"),
    ("other/x.c", "shop/cart.h", "other/shop/cart.h"),
    ("src/main.c", "shop\\cart.h", "include/shop/cart.h"),
    ("src/main.c", "../include/shop/cart.h", "include/shop/cart.h"),
    ("src/main.c", "../../json/json.h", "vendor/json/json.h"),
    ("src/main.c", "<json.h>", "vendor/json/json.h"),
    ("src/main.c", "config.h", "config.h"),
    ("src/main.c", "<string.h>", None),
    ("src/main.c", "<sys/time.h>", None),
    ("src/main.c", "string.h", "compat/string.h"),
    ("src/main.c", "<vector>", None),
    ("src/main.c", "helper.h", None),
    ("tests/unit/a.cc", "helper.h", "tests/helper.h"),
    ("src/main.c", "/etc/passwd", None),
    ("src/main.c", "../../../etc/passwd", None),
    ("src/main.c", "cart.h/", None),
    ("src/main.c", "..", None),
    ("src/main.c", "", None),
    ("src/main.c", "<>", None),
]
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
REQUIRES: Paths = [
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
]
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
MODULES: Paths = [
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
]
BASH = tree(
    "bin/run.sh",
    "bin/lib.sh",
    "lib/log.sh",
    "lib/common",
    "test/test_helper.bash",
    "test/unit/a.bats",
    "setup.sh",
)
SOURCED: Paths = [
    ("bin/run.sh", "./lib.sh", "bin/lib.sh"),
    ("bin/run.sh", "lib.sh", "bin/lib.sh"),
    ("bin/run.sh", "../lib/log.sh", "lib/log.sh"),
    ("bin/run.sh", "$DIR/log.sh", "lib/log.sh"),
    ("bin/run.sh", "${ROOT}/lib/log.sh", "lib/log.sh"),
    ("bin/run.sh", "$ROOT/lib/common", "lib/common"),
    ("bin/run.sh", "./setup.sh", "setup.sh"),
    ("bin/run.sh", "log.sh", None),
    ("test/unit/a.bats", "../test_helper", "test/test_helper.bash"),
    ("test/unit/a.bats", "test_helper", "test/test_helper.bash"),
    ("bin/run.sh", "/etc/profile", None),
    ("bin/run.sh", "~/.profile", None),
    ("bin/run.sh", "../../etc/profile.sh", None),
    ("bin/run.sh", "$DIR/../../../profile.sh", None),
    ("bin/run.sh", "$DIR/", None),
    ("bin/run.sh", "$A/$B/lib.sh", None),
    ("bin/run.sh", "", None),
]
SCRIPTS = tree(
    "src/a.ts",
    "src/b.tsx",
    "src/both.js",
    "src/both.ts",
    "src/types.d.ts",
    "src/old.js",
    "src/mod.mts",
    "src/data.json",
    "src/logo.svg",
    "src/App.vue",
    "src/x.service.ts",
    "src/dir/index.ts",
    "src/auth.ts",
    "src/auth/index.ts",
    "src/kit/package.json",
    "src/kit/main.js",
    "index.js",
) | {"src/kit/package.json": '{"main": "./main"}'}
TYPESCRIPT: Paths = [
    ("src/z.ts", "./a", "src/a.ts"),
    ("src/z.ts", "./a.js", "src/a.ts"),
    ("src/z.ts", "./b.js", "src/b.tsx"),
    ("src/z.ts", "./mod.mjs", "src/mod.mts"),
    ("src/z.ts", "./types", "src/types.d.ts"),
    ("src/z.ts", "./both.js", "src/both.ts"),
    ("src/z.ts", "./old", "src/old.js"),
    ("src/z.ts", "./data.json", "src/data.json"),
    ("src/z.ts", "./logo.svg?url", "src/logo.svg"),
    ("src/z.ts", "./App.vue", "src/App.vue"),
    ("src/z.ts", "./x.service", "src/x.service.ts"),
    ("src/z.ts", "./dir", "src/dir/index.ts"),
    ("src/z.ts", "./dir/index.js", "src/dir/index.ts"),
    ("src/z.ts", "./auth", "src/auth.ts"),
    ("src/z.ts", "./auth/", "src/auth/index.ts"),
    ("src/auth/y.ts", ".", "src/auth/index.ts"),
    ("src/auth/y.ts", "..", None),
    ("src/auth/y.ts", "../..", "index.js"),
    ("src/auth/y.ts", "../a", "src/a.ts"),
    ("src/auth/y.ts", "../../../a", None),
    ("src/auth/y.ts", "../../../other/src/a", None),
    ("src/z.ts", "./A", None),
    ("src/z.ts", "/src/a", None),
    ("src/z.ts", "react", None),
    ("src/z.ts", "", None),
]
JAVASCRIPT: Paths = [
    ("src/z.js", "./both.js", "src/both.js"),
    ("src/z.js", "./both", "src/both.js"),
    ("src/z.js", "./kit", "src/kit/main.js"),
]
COMPOSER: Files = tree(
    "src/Models/User.php",
    "src/Models/Cart.php",
    "src/functions.php",
    "more/Models/Extra.php",
    "tests/Models/UserTest.php",
    "old/Shop/Price/List.php",
    "classes/sub/Legacy.php",
    "packages/pay/src/Card.php",
    "index.php",
) | {
    "composer.json": json.dumps(
        {
            "autoload": {
                "psr-4": {"App\\": ["src/", "more"]},
                "psr-0": {"Shop_": "old/"},
                "classmap": ["classes/"],
            },
            "autoload-dev": {"psr-4": {"App\\Tests\\": "tests/"}},
        }
    ),
    "packages/pay/composer.json": json.dumps({"autoload": {"psr-4": {"Pay\\": "src"}}}),
}
NAMES: Paths = [
    ("src/Run.php", "App\\Models\\User", "src/Models/User.php"),
    ("src/Run.php", "\\App\\Models\\User", "src/Models/User.php"),
    ("src/Run.php", "App\\Models\\Extra", "more/Models/Extra.php"),
    ("src/Run.php", "App\\Tests\\Models\\UserTest", "tests/Models/UserTest.php"),
    ("src/Run.php", "Shop_Price_List", None),
    ("src/Run.php", "Legacy", "classes/sub/Legacy.php"),
    ("src/Run.php", "Any\\Legacy", "classes/sub/Legacy.php"),
    ("src/Run.php", "Pay\\Card", "packages/pay/src/Card.php"),
    ("src/Run.php", "Other\\Models\\User", None),
    ("src/Run.php", "App", None),
    ("src/Run.php", "App\\", None),
    ("src/Run.php", "", None),
    ("src/Run.php", "App\\..\\x", None),
    ("src/Run.php", "./functions.php", "src/functions.php"),
    ("src/Run.php", "../index.php", "index.php"),
    ("src/Run.php", "index.php", "index.php"),
    ("src/Run.php", "functions.php", "src/functions.php"),
    ("src/Run.php", "../../etc/passwd.php", None),
    ("src/Run.php", "/etc/passwd.php", None),
]


@pytest.mark.parametrize(
    ("language", "files", "paths"),
    [
        ("c", C, INCLUDES), ("cpp", C, INCLUDES), ("ruby", RUBY, REQUIRES), ("lua", LUA, MODULES), ("bash", BASH, SOURCED),
        ("typescript", SCRIPTS, TYPESCRIPT), ("javascript", SCRIPTS, JAVASCRIPT), ("php", COMPOSER, NAMES),
        ("tsx", SCRIPTS, [("src/z.tsx", "./both", "src/both.ts")]),
    ],
)  # fmt: skip
def test_a_path_means_a_file(language: str, files: Files, paths: Paths) -> None:
    for importer, module, expected in paths:
        check(files, importer, language, module, expected)


@pytest.mark.parametrize(
    ("language", "files", "importer", "missing"),
    [
        ("c", C, "src/main.c", {
            "./gone.h": True,
            "../src/gone.h": True,
            "../built/gone.h": False,
            "./table.inc": False,
            "gone.h": False,
            "<gone.h>": False,
            "../../gone.h": False,
        }),
        ("ruby", RUBY, "lib/shop.rb", {
            "./gone": True,
            "shop/gone": False,
            "../ext/fast/fast": False,
            "./gone.so": False,
            "../../x": False,
        }),
        ("bash", BASH, "bin/run.sh", {
            "./gone.sh": True,
            "./GONE": False,
            "gone.sh": False,
            "$DIR/gone.sh": False,
            "../../x.sh": False,
        }),
        ("php", COMPOSER, "src/Run.php", {
            "App\\Models\\Gone": True,
            "App\\Gone": False,
            "App\\Models": False,
            "App\\Other\\Gone": False,
            "App\\Models\\helper": False,
            "Other\\Models\\Gone": False,
            "./gone.php": True,
            "../vendor/autoload.php": False,
            "gone.php": False,
        }),
    ],
)  # fmt: skip
def test_what_is_certainly_missing(
    language: str, files: Files, importer: str, missing: dict[str, bool]
) -> None:
    project = resolver(files)
    for module, expected in missing.items():
        assert project.is_internal(importer, language, Import(module, "", 1)) is expected, module


def test_a_name_that_too_many_files_have_is_not_guessed() -> None:
    files = tree(*(f"m{number}/types.h" for number in range(MAX_NAMESAKES + 1)), "m1/main.c")
    check(files, "m1/main.c", "c", "types.h", "m1/types.h")
    check(files, "main.c", "c", "types.h", None)


def test_older_rules() -> None:
    for prefix, folder, module in (("Shop", "old/", "Shop\\Price\\List"), ("", "old/Shop", "Price_List")):
        files = tree("old/Shop/Price/List.php")
        files["composer.json"] = json.dumps({"autoload": {"psr-0": {prefix: folder}}})
        check(files, "x.php", "php", module, "old/Shop/Price/List.php")


HOSTILE = [
    "null",
    '{"autoload": []}',
    '{"autoload": {"psr-4": 5, "psr-0": [], "classmap": {"a": 1}}}',
    '{"autoload": {"psr-4": {"App\\\\": null, "B\\\\": [1, null, "../../.."]}}}',
    json.dumps({"autoload": {"psr-4": {"": ["../x"] * 5_000, "App\\": "/etc"}, "classmap": ["/", "../.."]}}),
    json.dumps({"autoload": {"psr-4": {f"A{number}\\": ["x"] * 50 for number in range(20_000)}}}),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_rules_neither_raise_nor_leave_the_root(text: str) -> None:
    files = tree("src/a.php", "x/B.php") | {"composer.json": text}
    project = resolver(files)
    for module in ("App\\B", "A1\\B", "B", "\\".join(["A"] * 5_000), "\\\\", "a.php", "x" * 10_000):
        imported = Import(module, "", 1)
        found = project.resolve("src/a.php", "php", imported)
        assert found is None or found in files
        project.is_internal("src/a.php", "php", imported)
        project.retry_keys("src/a.php", "php", imported)
