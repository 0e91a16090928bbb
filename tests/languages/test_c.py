"""An include means the file beside it, or else the nearest whose path ends alike, but never a system's header."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.import_folders import MAX_NAMESAKES
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree

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


@pytest.mark.parametrize(
    ("importer", "module", "expected"),
    [
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
    ],
)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_includes(importer: str, language: str, module: str, expected: str | None) -> None:
    check(C, importer, language, module, expected)


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("./gone.h", True),
        ("../src/gone.h", True),
        ("../built/gone.h", False),
        ("./table.inc", False),
        ("gone.h", False),
        ("<gone.h>", False),
        ("../../gone.h", False),
    ],
)
def test_what_is_certainly_missing(module: str, missing: bool) -> None:
    assert resolver(C).is_internal("src/main.c", "c", Import(module, "", 1)) is missing


def test_a_name_that_too_many_files_have_is_not_guessed() -> None:
    files = tree(*(f"m{number}/types.h" for number in range(MAX_NAMESAKES + 1)), "m1/main.c")
    check(files, "m1/main.c", "c", "types.h", "m1/types.h")
    check(files, "main.c", "c", "types.h", None)
