"""A JavaScript or TypeScript specifier means the file that a bundler or the compiler would take."""

from __future__ import annotations

import pytest

from tests.import_cases import check, tree

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


@pytest.mark.parametrize(
    ("importer", "language", "module", "expected"),
    [
        ("src/z.ts", "typescript", "./a", "src/a.ts"),
        ("src/z.ts", "typescript", "./a.js", "src/a.ts"),
        ("src/z.ts", "typescript", "./b.js", "src/b.tsx"),
        ("src/z.ts", "typescript", "./mod.mjs", "src/mod.mts"),
        ("src/z.ts", "typescript", "./types", "src/types.d.ts"),
        ("src/z.ts", "typescript", "./both.js", "src/both.ts"),
        ("src/z.js", "javascript", "./both.js", "src/both.js"),
        ("src/z.js", "javascript", "./both", "src/both.js"),
        ("src/z.tsx", "tsx", "./both", "src/both.ts"),
        ("src/z.ts", "typescript", "./old", "src/old.js"),
        ("src/z.ts", "typescript", "./data.json", "src/data.json"),
        ("src/z.ts", "typescript", "./logo.svg?url", "src/logo.svg"),
        ("src/z.ts", "typescript", "./App.vue", "src/App.vue"),
        ("src/z.ts", "typescript", "./x.service", "src/x.service.ts"),
        ("src/z.ts", "typescript", "./dir", "src/dir/index.ts"),
        ("src/z.ts", "typescript", "./dir/index.js", "src/dir/index.ts"),
        ("src/z.ts", "typescript", "./auth", "src/auth.ts"),
        ("src/z.ts", "typescript", "./auth/", "src/auth/index.ts"),
        ("src/auth/y.ts", "typescript", ".", "src/auth/index.ts"),
        ("src/auth/y.ts", "typescript", "..", None),
        ("src/auth/y.ts", "typescript", "../..", "index.js"),
        ("src/auth/y.ts", "typescript", "../a", "src/a.ts"),
        ("src/auth/y.ts", "typescript", "../../../a", None),
        ("src/auth/y.ts", "typescript", "../../../other/src/a", None),
        ("src/z.js", "javascript", "./kit", "src/kit/main.js"),
        ("src/z.ts", "typescript", "./A", None),
        ("src/z.ts", "typescript", "/src/a", None),
        ("src/z.ts", "typescript", "react", None),
        ("src/z.ts", "typescript", "", None),
    ],
)
def test_scripts(importer: str, language: str, module: str, expected: str | None) -> None:
    check(SCRIPTS, importer, language, module, expected)
