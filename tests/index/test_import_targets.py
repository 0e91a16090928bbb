"""Imports lead where they would if the project were read anew, whatever came or went."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from foveal.daemon.index import indexed_files as import_targets

from tests.conftest import write_files
from tests.indexer_cases import Bench, check_true, imports


def test_imports_follow_files_that_come_and_go(bench: Bench) -> None:
    bench.start({"pkg/__init__.py": "", "pkg/a.py": "from .late import x\n"})
    assert imports(bench, "pkg/a.py") == [("", True)]

    def check(change: Callable[[], object], target: tuple[str, bool]) -> None:
        bench.events.clear()
        change()
        bench.until(lambda: imports(bench, "pkg/a.py") == [target])
        assert any(delta.links_changed for delta in bench.deltas)

    check(lambda: (bench.root / "pkg/late.py").write_text("x = 1\n"), ("pkg/late.py", False))
    check((bench.root / "pkg/late.py").unlink, ("", True))
    check(lambda: write_files(bench.root, {"pkg/late/__init__.py": ""}), ("pkg/late/__init__.py", False))
    check(lambda: (bench.root / "pkg/late").rename(bench.root / "away"), ("", True))
    bench.events.clear()
    write_files(bench.root, {"unrelated.py": ""})
    bench.until(lambda: "unrelated.py" in bench.tree.files)
    assert not any(delta.links_changed for delta in bench.deltas)
    bench.settle()
    check_true(bench)


def test_imports_follow_a_tsconfig(bench: Bench) -> None:
    bench.start(
        {"src/a.ts": 'import { b } from "@/b";\nimport { c } from "./c";\n', "src/b.ts": "", "src/c.ts": ""}
    )
    here = ("src/c.ts", False)
    assert imports(bench, "src/a.ts") == [("", False), here]

    def check(text: str | None, expected: list[tuple[str, bool]]) -> None:
        config = bench.root / "tsconfig.json"
        if text is None:
            config.unlink()
        else:
            config.write_text(text)
        bench.until(lambda: imports(bench, "src/a.ts") == expected)
        bench.settle()
        assert bench.state == "ready"

    paths = '{"compilerOptions": {"paths": {"@/*": ["./%s/*"]}}}'
    check(paths % "src", [("src/b.ts", False), here])
    check(paths % "lib", [("", True), here])
    # The file appears only now, at a place that nothing pointed to when the import was read.
    write_files(bench.root, {"lib/b.ts": ""})
    bench.until(lambda: imports(bench, "src/a.ts") == [("lib/b.ts", False), here])
    check('{"compilerOptions": {"paths": ', [("", False), here])
    check(paths % "src", [("src/b.ts", False), here])
    check(None, [("", False), here])
    check_true(bench)


def test_many_names_at_once_lead_imports_as_few_do(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_targets, "RETRY_MAX", 3)
    bench.start({f"a{n}.py": f"import lib.b{n}\n" for n in range(3)}, deaf=True)
    write_files(bench.root, {f"lib/b{n}.py": "" for n in range(5)})
    assert bench.sync().complete
    assert [imports(bench, f"a{n}.py") for n in range(3)] == [[(f"lib/b{n}.py", False)] for n in range(3)]
    check_true(bench)
    shutil.rmtree(bench.root / "lib")
    assert bench.sync().complete
    assert {target for n in range(3) for target, _ in imports(bench, f"a{n}.py")} == {""}
    check_true(bench)
