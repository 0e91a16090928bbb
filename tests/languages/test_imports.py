"""Whatever changes what an import means shares a key with it; no configuration leads out of the root."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.languages.shared.records import Import
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.import_cases import CONFIG, Files, appears, check, resolver, tree
from tests.properties import examples


def test_other_languages_resolve_nothing() -> None:
    project = resolver(tree("pkg/__init__.py"))
    for language in ("", "zig", "markdown"):
        assert project.resolve("x", language, Import("pkg", "", 1)) is None
        assert project.resolve_all("x", language, Import("pkg", "", 1)) == ()
        assert project.retry_keys("x", language, Import("pkg", "", 1)) == ()
        assert not project.is_internal("x", language, Import("pkg", "", 1))


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
GO_NAMES = st.sampled_from(["a.go", "b.go", "a_test.go"])
PYTHON_MODULES = st.sampled_from(
    ["a", "b", "a.b", "b.a", "a.b.a", "src.a", ".", "..", ".a", "..a", "..b.a", "...a", "...."]
)
GO_MODULES = st.sampled_from(["m", "m/a", "m/a/b", "m/src", "n", "n/a"])


def paths(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda folder, name: f"{folder}/{name}" if folder else name, FOLDERS, names)


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


@given(
    st.lists(st.tuples(st.booleans(), paths(PYTHON_NAMES | GO_NAMES)), max_size=30),
    PYTHON_MODULES,
    GO_MODULES,
)
@settings(max_examples=examples(300))
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
