"""A package's name, `exports` and `imports` lead to the sources that it is built from."""

from __future__ import annotations

import json

from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree


def test_package_imports_workspaces_and_self_reference() -> None:
    files = tree(
        "packages/core/src/index.ts",
        "packages/core/src/util.ts",
        "packages/core/src/sub/index.ts",
        "packages/app/main.js",
        "packages/app/inner/x.js",
        "packages/app/inner/x.d.ts",
        "packages/app/dev.js",
        "packages/app/node_modules/react/index.js",
        "tests/fixtures/react/index.js",
    ) | {
        "packages/core/package.json": json.dumps(
            {
                "name": "@kit/core",
                "main": "./dist/index.js",
                "exports": {
                    ".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"},
                    "./sub": "./dist/sub/index.js",
                    "./*": ["./dist/*.js"],
                },
            }
        ),
        "packages/app/package.json": json.dumps(
            {
                "name": "app",
                "imports": {
                    "#x": {"types": "./inner/x.d.ts", "default": "./inner/x.js"},
                    "#in/*": "./inner/*.js",
                    "#dep": "react",
                    "#gone": "./gone.js",
                },
            }
        ),
        "packages/app/node_modules/react/package.json": '{"name": "react"}',
        "tests/fixtures/react/package.json": '{"name": "react"}',
    }
    importer = "packages/app/main.js"
    check(files, importer, "javascript", "@kit/core", "packages/core/src/index.ts")
    check(files, importer, "javascript", "@kit/core/util", "packages/core/src/util.ts")
    check(files, importer, "javascript", "@kit/core/sub", "packages/core/src/sub/index.ts")
    check(files, importer, "javascript", "app/dev", "packages/app/dev.js")
    check(files, importer, "javascript", "#x", "packages/app/inner/x.js")
    check(files, importer, "typescript", "#x", "packages/app/inner/x.d.ts")
    check(files, importer, "javascript", "#in/x", "packages/app/inner/x.js")
    check(files, importer, "javascript", "#dep", None)
    check(files, importer, "javascript", "react", None)
    check(files, "tests/fixtures/other.js", "javascript", "react", "tests/fixtures/react/index.js")
    project = resolver(files)
    assert project.is_internal(importer, "javascript", Import("#gone", "", 1))
    assert not project.is_internal(importer, "javascript", Import("#dep", "", 1))
