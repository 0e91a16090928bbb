"""A qualified name means the file where composer.json's rules put it, or else one that lies like its namespace."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.languages.shared.records import Import

from tests.import_cases import Files, check, resolver, tree

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


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("App\\Models\\User", "src/Models/User.php"),
        ("\\App\\Models\\User", "src/Models/User.php"),
        ("App\\Models\\Extra", "more/Models/Extra.php"),
        ("App\\Tests\\Models\\UserTest", "tests/Models/UserTest.php"),
        ("Shop_Price_List", None),
        ("Legacy", "classes/sub/Legacy.php"),
        ("Any\\Legacy", "classes/sub/Legacy.php"),
        ("Pay\\Card", "packages/pay/src/Card.php"),
        ("Other\\Models\\User", None),
        ("App", None),
        ("App\\", None),
        ("", None),
        ("App\\..\\x", None),
        ("./functions.php", "src/functions.php"),
        ("../index.php", "index.php"),
        ("index.php", "index.php"),
        ("functions.php", "src/functions.php"),
        ("../../etc/passwd.php", None),
        ("/etc/passwd.php", None),
    ],
)
def test_composer(module: str, expected: str | None) -> None:
    check(COMPOSER, "src/Run.php", "php", module, expected)


def test_older_rules() -> None:
    files = tree("old/Shop/Price/List.php") | {
        "composer.json": json.dumps({"autoload": {"psr-0": {"Shop": "old/"}}})
    }
    check(files, "x.php", "php", "Shop\\Price\\List", "old/Shop/Price/List.php")
    files = tree("old/Shop/Price/List.php") | {
        "composer.json": json.dumps({"autoload": {"psr-0": {"": "old/Shop"}}})
    }
    check(files, "x.php", "php", "Price_List", "old/Shop/Price/List.php")


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("App\\Models\\Gone", True),
        ("App\\Gone", False),
        ("App\\Models", False),
        ("App\\Other\\Gone", False),
        ("App\\Models\\helper", False),
        ("Other\\Models\\Gone", False),
        ("./gone.php", True),
        ("../vendor/autoload.php", False),
        ("gone.php", False),
    ],
)
def test_what_is_certainly_missing(module: str, missing: bool) -> None:
    assert resolver(COMPOSER).is_internal("src/Run.php", "php", Import(module, "", 1)) is missing


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
