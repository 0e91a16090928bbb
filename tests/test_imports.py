"""An import means the file that its language would load, waits under keys, and never leaves the root."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.project.imports import ImportResolver, keys_of_path
from foveal.daemon.project.tree import Import
from hypothesis import given, settings
from hypothesis import strategies as st

Files = dict[str, str]


def resolver(files: Files) -> ImportResolver:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return ImportResolver(files.keys(), read)


def tree(*paths: str) -> Files:
    """Return empty files."""
    return dict.fromkeys(paths, "")


def check(
    files: Files, importer: str, language: str, module: str, expected: str | None, name: str = ""
) -> None:
    imported = Import(module, name, 1, required=not name)
    project = resolver(files)
    assert project.resolve(importer, language, imported) == expected
    if expected is not None:
        keys = project.retry_keys(importer, language, imported)
        assert set(keys) & set(keys_of_path(expected)), (keys, expected)


PACKAGE = tree(
    "pkg/__init__.py",
    "pkg/auth.py",
    "pkg/both.py",
    "pkg/both/__init__.py",
    "pkg/sub/__init__.py",
    "pkg/sub/deep.py",
    "pkg/stub.pyi",
    "pkg/json.py",
    "pkg/space/inner.py",
    "setup.py",
    "tools/run.py",
    "tools/helper.py",
    "tests/test_auth.py",
)


@pytest.mark.parametrize(
    ("importer", "module", "name", "expected"),
    [
        ("tests/test_auth.py", "pkg", "", "pkg/__init__.py"),
        ("tests/test_auth.py", "pkg.auth", "", "pkg/auth.py"),
        ("tests/test_auth.py", "pkg", "auth", "pkg/auth.py"),
        ("tests/test_auth.py", "pkg", "VERSION", None),
        ("tests/test_auth.py", "pkg", "sub", "pkg/sub/__init__.py"),
        ("tests/test_auth.py", "pkg.auth", "sub", None),
        ("tests/test_auth.py", "pkg.both", "", "pkg/both/__init__.py"),
        ("tests/test_auth.py", "pkg.stub", "", "pkg/stub.pyi"),
        ("tests/test_auth.py", "pkg.space", "", None),
        ("tests/test_auth.py", "pkg.space", "inner", "pkg/space/inner.py"),
        ("tests/test_auth.py", "pkg.Auth", "", None),
        ("pkg/sub/deep.py", ".", "", "pkg/sub/__init__.py"),
        ("pkg/sub/deep.py", "..", "", "pkg/__init__.py"),
        ("pkg/sub/deep.py", "..", "auth", "pkg/auth.py"),
        ("pkg/sub/deep.py", "..auth", "", "pkg/auth.py"),
        ("pkg/sub/deep.py", "...setup", "", "setup.py"),
        ("pkg/sub/deep.py", "....setup", "", None),
        ("pkg/sub/deep.py", "." * 5000 + "setup", "", None),
        ("pkg/sub/__init__.py", ".deep", "", "pkg/sub/deep.py"),
        ("pkg/auth.py", "json", "", None),
        ("pkg/auth.py", "pkg.json", "", "pkg/json.py"),
        ("tools/run.py", "helper", "", "tools/helper.py"),
        ("tests/test_auth.py", "helper", "", None),
        ("tests/test_auth.py", "pkg..auth", "", None),
        ("tests/test_auth.py", "pkg.", "", None),
        ("tests/test_auth.py", "", "", None),
        ("tests/test_auth.py", "pkg", "../setup", None),
    ],
)
def test_python(importer: str, module: str, name: str, expected: str | None) -> None:
    check(PACKAGE, importer, "python", module, expected, name)


def test_python_roots_are_src_and_lib_and_the_nearest_one_wins() -> None:
    files = tree("src/app/__init__.py", "src/app/a.py", "lib/app/a.py", "lib/app/b.py", "tests/t.py")
    check(files, "tests/t.py", "python", "app.a", "src/app/a.py")
    check(files, "tests/t.py", "python", "app.b", "lib/app/b.py")
    files = tree(
        *(
            f"{service}/{path}"
            for service in ("one", "two")
            for path in ("app/__init__.py", "app/a.py", "run.py")
        )
    )
    check(files, "one/run.py", "python", "app.a", "one/app/a.py")
    check(files, "two/app/a.py", "python", "app", "two/app/__init__.py")


def test_python_packages_elsewhere_are_found_but_not_those_of_tests() -> None:
    files = tree(
        "python/core/kit/__init__.py", "python/core/kit/a.py", "tests/sphinx/__init__.py", "docs/conf.py"
    )
    check(files, "docs/conf.py", "python", "kit.a", "python/core/kit/a.py")
    check(files, "docs/conf.py", "python", "core.kit.a", None)
    check(files, "docs/conf.py", "python", "sphinx", None)
    check(files, "tests/sphinx/x.py", "python", "sphinx", "tests/sphinx/__init__.py")
    files = tree("a/one/kit/__init__.py", "b/one/kit/__init__.py", "b/two/x.py", "a/two/x.py")
    check(files, "b/two/x.py", "python", "kit", "b/one/kit/__init__.py")
    check(files, "a/two/x.py", "python", "kit", "a/one/kit/__init__.py")


def test_a_package_at_the_root_is_still_a_root() -> None:
    files = tree("__init__.py", "a.py", "sub/__init__.py", "sub/b.py")
    check(files, "sub/b.py", "python", "..", "__init__.py")
    check(files, "sub/b.py", "python", "a", "a.py")


@pytest.mark.parametrize(
    ("importer", "module", "name", "expected"),
    [
        ("tests/test_auth.py", "pkg.gone", "", True),
        ("tests/test_auth.py", "pkg.space", "", False),
        ("tests/test_auth.py", "pkg", "gone", False),
        ("tests/test_auth.py", "numpy.linalg", "", False),
        ("tests/test_auth.py", "tools.gone", "", False),
        ("pkg/auth.py", ".gone", "", True),
        ("pkg/space/inner.py", ".", "", False),
        ("pkg/auth.py", "....gone", "", False),
    ],
)
def test_python_missing_files(importer: str, module: str, name: str, expected: bool) -> None:
    imported = Import(module, name, 1, required=not name)
    assert resolver(PACKAGE).is_internal(importer, "python", imported) is expected


def test_a_compiled_module_is_not_missing() -> None:
    files = tree("pkg/__init__.py", "pkg/_speed.c")
    assert not resolver(files).is_internal("pkg/a.py", "python", Import("._speed", "", 1))


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


GO = tree(
    "main.go",
    "auth/zed.go",
    "auth/auth.go",
    "auth/auth_test.go",
    "util/b.go",
    "util/a.go",
    "only/x_test.go",
    "tool/main.go",
    "tool/lib/lib.go",
) | {
    "go.mod": "// x\nmodule example.com/app/v2 // y\n\ngo 1.22\n",
    "tool/go.mod": 'module "example.com/tool"\n',
}


@pytest.mark.parametrize(
    ("module", "expected", "everything"),
    [
        ("example.com/app/v2/auth", "auth/auth.go", ("auth/auth.go", "auth/zed.go")),
        ("example.com/app/v2/util", "util/a.go", ("util/a.go", "util/b.go")),
        ("example.com/app/v2", "main.go", ("main.go",)),
        ("example.com/tool/lib", "tool/lib/lib.go", ("tool/lib/lib.go",)),
        ("example.com/app/v2/only", None, ()),
        ("example.com/app/v2/../../etc", None, ()),
        ("example.com/application", None, ()),
        ("fmt", None, ()),
        ("", None, ()),
    ],
)
def test_go(module: str, expected: str | None, everything: tuple[str, ...]) -> None:
    check(GO, "main.go", "go", module, expected)
    assert resolver(GO).resolve_all("main.go", "go", Import(module, "", 1)) == everything


def test_go_missing_packages() -> None:
    project = resolver(GO)
    assert project.is_internal("main.go", "go", Import("example.com/app/v2/gone", "", 1))
    assert not project.is_internal("main.go", "go", Import("example.com/other", "", 1))


def test_other_languages_resolve_nothing() -> None:
    project = resolver(PACKAGE)
    for language in ("", "rust", "markdown"):
        assert project.resolve("x", language, Import("pkg", "", 1)) is None
        assert project.resolve_all("x", language, Import("pkg", "", 1)) == ()
        assert project.retry_keys("x", language, Import("pkg", "", 1)) == ()
        assert not project.is_internal("x", language, Import("pkg", "", 1))


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("src/auth.ts", ("auth",)),
        ("src/auth.service.d.ts", ("auth",)),
        ("src/auth/index.ts", ("index", "auth")),
        ("pkg/auth/__init__.py", ("auth", "__init__", "pkg/auth/")),
        ("pkg/auth/login.go", ("auth",)),
        ("main.go", (".",)),
        (".eslintrc.js", (".eslintrc",)),
    ],
)
def test_keys_of_path(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of_path(path) == keys


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/tsconfig.json", True),
        ("go.mod", True),
        ("b/package.json", True),
        ("a.json", False),
        ("x.py", False),
    ],
)
def test_config_files(path: str, expected: bool) -> None:
    assert resolver({}).is_config(path) is expected


def test_changes_of_names_and_config_are_seen() -> None:
    files: Files = dict(GO)
    project = resolver(files)
    auth = Import("example.com/app/v2/auth", "", 1)
    assert project.resolve("main.go", "go", auth) == "auth/auth.go"
    del files["auth/auth.go"]
    project.removed("auth/auth.go")
    files["auth/aaa.go"] = ""
    project.added("auth/aaa.go")
    assert project.resolve_all("main.go", "go", auth) == ("auth/aaa.go", "auth/zed.go")
    files["auth/untold.go"] = ""
    assert project.resolve_all("main.go", "go", auth) == ("auth/aaa.go", "auth/untold.go", "auth/zed.go")
    files["go.mod"] = "module example.com/renamed\n"
    project.invalidate_config()
    assert project.resolve("main.go", "go", auth) is None
    assert project.resolve("main.go", "go", Import("example.com/renamed/auth", "", 1)) == "auth/aaa.go"


DEEP = "[" * 100_000
HOSTILE_CONFIGS = [
    "",
    "null",
    "[]",
    "{",
    '{"a": "' + '\\"' * 100_000,
    "/*" * 100_000,
    '{"extends": ' + DEEP,
    '{"extends": "./tsconfig.json", "compilerOptions": {"paths": {"@/*": "./x"}, "baseUrl": 3}}',
    '{"extends": ["./a.json", "./b.json", 3, null], "references": [{"path": "."}, {"path": 1}, 2]}',
    '{"extends": "../../../../etc/passwd", "compilerOptions": {"paths": {"*": ["../../../*", 5]}}}',
    '{"compilerOptions": [], "references": {}, "name": [], "imports": [], "exports": 5, "main": {}}',
    '{"name": "x", "exports": {".": {"a": {"b": [[["../../../x", null, 4]]]}}, "./*": "*"}}',
    '{"name": "x", "imports": {"#*": "./*", "#a": "./../../a", "#": [{"types": {}}]}}',
    '{"compilerOptions": {"baseUrl": "..", "paths": {"": [""], "*": ["*"], "**": ["**"]}}}',
    json.dumps({"compilerOptions": {"paths": {f"@{number}/*": ["./x/*"] * 50 for number in range(5000)}}}),
    json.dumps({"name": "x", "exports": {f"./{number}/*": "./*" for number in range(20_000)}}),
    "module " * 1000,
    "module (\n" * 1000,
    "1" * 10_000,
    "\ufeff{}",
]


@pytest.mark.parametrize("text", HOSTILE_CONFIGS, ids=range(len(HOSTILE_CONFIGS)))
def test_hostile_config_neither_raises_nor_leaves_the_root(text: str) -> None:
    files = dict.fromkeys(("a.json", "b.json", "tsconfig.json", "package.json", "go.mod"), text) | {
        "s/a.ts": ""
    }
    project = resolver(files)
    for language in ("typescript", "javascript", "go"):
        for module in (
            "@/a",
            "x",
            "x/1/a",
            "x/a",
            "#a",
            "s/a",
            "../a",
            "@1/a",
            "module/a",
            "*",
            "a" * 10_000,
        ):
            imported = Import(module, "", 1)
            found = project.resolve("s/b.ts", language, imported)
            assert found is None or found in files
            assert all(isinstance(key, str) for key in project.retry_keys("s/b.ts", language, imported))
            project.is_internal("s/b.ts", language, imported)
    assert project.is_config("package.json")


def test_a_very_deep_folder_is_no_recursion() -> None:
    folder = "a/" * 3000
    files = tree(f"{folder}x.ts", f"{folder}y.py", f"{folder}z.py") | {"tsconfig.json": "{}"}
    check(files, f"{folder}w.ts", "typescript", "./x", f"{folder}x.ts")
    check(files, f"{folder}w.ts", "typescript", "nothing", None)
    check(files, f"{folder}z.py", "python", "y", f"{folder}y.py")


# Few names, so that they often meet.
FOLDERS = st.lists(st.sampled_from(["a", "b", "src"]), max_size=3).map("/".join)
PYTHON_NAMES = st.sampled_from(["__init__.py", "a.py", "b.py", "a.pyi", "__init__.pyi"])
SCRIPT_NAMES = st.sampled_from(
    ["a.ts", "a.js", "b.d.ts", "index.ts", "index.js", "b.tsx", "a.x.ts", "b.json"]
)
GO_NAMES = st.sampled_from(["a.go", "b.go", "a_test.go"])
PYTHON_MODULES = st.sampled_from(
    ["a", "b", "a.b", "b.a", "a.b.a", "src.a", ".", "..", ".a", "..a", "..b.a", "...a", "...."]
)
SCRIPT_MODULES = st.sampled_from(
    [
        "./a",
        "./b",
        "./a.js",
        "./a.x",
        ".",
        "..",
        "../a",
        "../b/",
        "./src",
        "@/a",
        "@/b/a",
        "a",
        "a/b",
        "p",
        "p/a",
        "#a",
    ]
)
GO_MODULES = st.sampled_from(["m", "m/a", "m/a/b", "m/src", "n", "n/a"])
CONFIG = {
    "tsconfig.json": '{"compilerOptions": {"baseUrl": "src", "paths": {"@/*": ["*", "../b/*"]}}}',
    "package.json": json.dumps(
        {"name": "p", "imports": {"#a": "./a/b.js"}, "exports": {".": "./dist/a.js", "./*": "./b/*"}}
    ),
    "a/go.mod": "module m",
    "go.mod": "module n",
}


def paths(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda folder, name: f"{folder}/{name}" if folder else name, FOLDERS, names)


def appears(files: set[str], importer: str, language: str, imported: Import, new: str) -> None:
    """Check that a file which changes what an import means shares a key with it."""
    known: Files = dict.fromkeys(files - {new}, "") | CONFIG
    project = resolver(known)
    before = project.resolve_all(importer, language, imported)
    keys = project.retry_keys(importer, language, imported)
    known[new] = ""
    project.added(new)
    after = project.resolve_all(importer, language, imported)
    assert after == resolver(known).resolve_all(importer, language, imported)
    assert set(after) <= set(known)
    if after != before:
        assert set(keys) & set(keys_of_path(new))


@given(
    st.sets(paths(PYTHON_NAMES), max_size=12), paths(PYTHON_NAMES), PYTHON_MODULES,
    st.sampled_from(["", "a", "b"]), paths(PYTHON_NAMES),
)  # fmt: skip
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_python_imports_wait_under_the_right_keys(
    files: set[str], importer: str, module: str, name: str, new: str
) -> None:
    appears(files, importer, "python", Import(module, name, 1, required=not name), new)


@given(
    st.sets(paths(SCRIPT_NAMES), max_size=12), paths(SCRIPT_NAMES),
    st.sampled_from(["javascript", "typescript"]), SCRIPT_MODULES, paths(SCRIPT_NAMES),
)  # fmt: skip
@settings(max_examples=1500, deadline=None, derandomize=True)
def test_script_imports_wait_under_the_right_keys(
    files: set[str], importer: str, language: str, module: str, new: str
) -> None:
    appears(files, importer, language, Import(module, "", 1), new)


def test_a_folder_that_becomes_a_package_is_noticed() -> None:
    appears({"x/kit/a.py"}, "y/z.py", "python", Import("kit.a", "", 1), "x/kit/__init__.py")
    appears({"x/kit/a.py"}, "x/kit/b.py", "python", Import("a", "", 1), "x/kit/__init__.py")


def test_a_package_with_a_stub_stays_one_without_it() -> None:
    files = tree("x/kit/__init__.py", "x/kit/__init__.pyi")
    project = resolver(files)
    kit = Import("kit", "", 1)
    assert project.resolve("y/z.py", "python", kit) == "x/kit/__init__.py"
    del files["x/kit/__init__.pyi"]
    project.removed("x/kit/__init__.pyi")
    assert project.resolve("y/z.py", "python", kit) == "x/kit/__init__.py"


@given(st.sets(paths(GO_NAMES), max_size=12), paths(GO_NAMES), GO_MODULES, paths(GO_NAMES))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_go_imports_wait_under_the_right_keys(files: set[str], importer: str, module: str, new: str) -> None:
    appears(files, importer, "go", Import(module, "", 1), new)


@given(
    st.lists(st.tuples(st.booleans(), paths(PYTHON_NAMES | GO_NAMES)), max_size=30),
    PYTHON_MODULES,
    GO_MODULES,
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_told_changes_equal_a_new_start(changes: list[tuple[bool, str]], module: str, path: str) -> None:
    names: Files = dict(CONFIG)
    project = resolver(names)
    project.resolve_all("x.go", "go", Import(path, "", 1))
    for is_new, changed in changes:
        if is_new and changed not in names:
            names[changed] = ""
            project.added(changed)
        elif not is_new and changed in names:
            del names[changed]
            project.removed(changed)
    fresh = resolver(names)
    for language, imported in (("python", Import(module, "", 1)), ("go", Import(path, "", 1))):
        for importer in ("x.py", "a/b/x.py"):
            ours, theirs = ((each, importer, language, imported) for each in (project, fresh))
            assert ours[0].resolve_all(*ours[1:]) == theirs[0].resolve_all(*theirs[1:])
            assert ours[0].is_internal(*ours[1:]) == theirs[0].is_internal(*theirs[1:])
