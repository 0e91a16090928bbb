"""Aliases hold below their tsconfig, with what it extends and refers to."""

from __future__ import annotations

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
