"""Aliases of a tsconfig and a package's name, `exports` and `imports` lead to the sources that are meant."""

from __future__ import annotations

import json

from foveal.daemon.languages.shared.records import Import

from tests.import_cases import check, resolver, tree


def test_tsconfig_paths_extends_and_base_url() -> None:
    files = tree(
        "app/src/ui/button.tsx", "app/src/env.ts", "app/lib/x.ts", "shared/y.ts", "app/src/main.ts"
    ) | {
        "app/tsconfig.json": """{
            // the usual // comment, and "/* in a string"
            "extends": ["../base.json", "./missing.json"], /* more */
            "compilerOptions": {
                "paths": {
                    "@/*": ["./src/*"], "env": ["./src/env.ts",], "@/lib/*": ["lib/*"],
                    "*": ["./node_modules/*"],
                },
            },
        }""",
        "base.json": '\ufeff{"compilerOptions": {"paths": {"never/*": ["./shared/*"]}}}',
        "web/tsconfig.json": '{"extends": "../base", "compilerOptions": {"baseUrl": "../app"}}',
        "web/w.ts": "",
        "vite/tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}',
        "vite/tsconfig.app.json": '{"compilerOptions": {"paths": {"~/*": ["./*"]}}}',
        "vite/v.ts": "",
    }
    check(files, "app/src/main.ts", "typescript", "@/ui/button", "app/src/ui/button.tsx")
    check(files, "app/src/main.ts", "typescript", "env", "app/src/env.ts")
    check(files, "app/src/main.ts", "typescript", "@/lib/x", "app/lib/x.ts")
    check(files, "app/src/main.ts", "typescript", "never/y", None)
    check(files, "web/w.ts", "typescript", "src/env", "app/src/env.ts")
    check(files, "web/w.ts", "typescript", "never/y", None)
    check(files, "vite/v.ts", "typescript", "~/v", "vite/v.ts")
    check(files, "shared/y.ts", "typescript", "@/ui/button", None)
    project = resolver(files)
    for module, expected in (("@/gone", True), ("react", False), ("./gone", True), ("../../../../x", False)):
        assert project.is_internal("app/src/main.ts", "typescript", Import(module, "", 1)) is expected
    assert resolver(files).is_config("base.json")
    assert not resolver(files).is_config("data.json")


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
