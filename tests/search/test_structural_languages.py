"""Questions in plain words about a project of several languages, read and linked as the indexer does."""

from __future__ import annotations

import pytest
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.question_route import route_question
from foveal.daemon.search.structural import answer, asked, is_name

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "py/store.py": (
        "class Store:\n"
        "    def put_row(self, row):\n"
        "        return check_row(row)\n"
        "\n"
        "\n"
        "class DiskStore(Store):\n"
        "    def put_row(self, row):\n"
        "        return super().put_row(row)\n"
        "\n"
        "\n"
        "def check_row(row):\n"
        "    return bool(row)\n"
    ),
    "py/app.py": (
        "from py.store import DiskStore\n"
        "\n"
        "\n"
        "def run_app(row):\n"
        "    store = DiskStore()\n"
        "    store.put_row(row)\n"
    ),
    "tests/dashboard/test_app.py": "from py.app import run_app\n\n\ndef test_run():\n    run_app(1)\n",
    "web/shape.ts": (
        "export interface Shape {\n"
        "  areaOf(): number;\n"
        "}\n"
        "\n"
        "export class Circle implements Shape {\n"
        "  areaOf(): number {\n"
        "    return squared(2);\n"
        "  }\n"
        "}\n"
        "\n"
        "export function squared(x: number): number {\n"
        "  return x * x;\n"
        "}\n"
    ),
    "web/draw.ts": (
        'import { Circle } from "./shape";\n'
        "\n"
        "export function drawAll(): number {\n"
        "  const circle = new Circle();\n"
        "  return circle.areaOf();\n"
        "}\n"
    ),
    "go/main.go": (
        "package main\n\nfunc parseFlags() int {\n\treturn 1\n}\n\nfunc main() {\n\tparseFlags()\n}\n"
    ),
    "go.mod": "module ex\n",
    "lib/first.go": "package lib\n\nfunc First() {}\n",
    "lib/second.go": "package lib\n\nfunc Second() {}\n",
    "cmd/run.go": 'package main\n\nimport "ex/lib"\n\nfunc run() {\n\tlib.Second()\n}\n',
    "rust/lib.rs": "pub fn hash_key(key: u32) -> u32 {\n    key\n}\n\npub fn find_slot() -> u32 {\n    hash_key(1)\n}\n",
    "java/Shop.java": (
        "class Shop {\n"
        "    int totalOf() {\n"
        "        return roundUp();\n"
        "    }\n"
        "\n"
        "    int roundUp() {\n"
        "        return 1;\n"
        "    }\n"
        "\n"
        "    int roundUp(int digits) {\n"
        "        return digits;\n"
        "    }\n"
        "}\n"
    ),
    "c/list.c": "int list_len(int n) {\n    return n;\n}\n\nint list_sum(void) {\n    return list_len(3);\n}\n",
    "guide.md": "# Guide\n\nAll of it.\n\n## Tokens\n\nHow tokens end.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is check_row defined", ["py/store.py#check_row:11"]),
        ("what calls check_row", ["py/store.py#Store.put_row:3"]),
        ("what does run_app call", ["py/store.py#DiskStore:6", "py/store.py#DiskStore.put_row:7"]),
        ("who imports py/store.py", ["py/app.py:1"]),
        ("what does py/app.py import", ["py/store.py:1"]),
        ("what inherits from Store", ["py/store.py#DiskStore:6"]),
        ("what implements the Shape interface", ["web/shape.ts#Circle:5"]),
        ("where is Store.put_row overridden", ["py/store.py#DiskStore.put_row:7"]),
        ("where is put_row overridden", ["py/store.py#DiskStore.put_row:7"]),
        ("who imports lib/second.go", ["cmd/run.go:3"]),
        ("what calls Second", ["cmd/run.go#run:6"]),
        ("which tests cover check_row", ["tests/dashboard/test_app.py#test_run:5"]),
        (
            "what breaks if DiskStore.put_row changes",
            ["py/app.py#run_app:6", "tests/dashboard/test_app.py#test_run:5"],
        ),
        (
            "call path from run_app to Store.put_row",
            ["py/app.py#run_app:6", "py/store.py#DiskStore.put_row:8", "py/store.py#Store.put_row:2"],
        ),
        ("outline of guide.md", ["guide.md#Guide:1", "guide.md#Guide/Tokens:5"]),
        ("what calls squared", ["web/shape.ts#Circle.areaOf:7"]),
        ("what calls Circle.areaOf", ["web/draw.ts#drawAll:5"]),
        ("who calls Circle", ["web/draw.ts#drawAll:4"]),
        ("what calls parseFlags", ["go/main.go#main:8"]),
        ("what calls parse_flags", ["go/main.go#main:8?"]),
        ("what calls hash_key", ["rust/lib.rs#find_slot:6"]),
        ("what calls Shop.roundUp", ["java/Shop.java#Shop.totalOf:3"]),
        ("what calls java/Shop.java#Shop.roundUp~2", ["java/Shop.java#Shop.totalOf:3?"]),
        ("what calls list_len", ["c/list.c#list_sum:6"]),
    ],
)
def test_questions_in_plain_words(project: Indexed, text: str, expected: list[str]) -> None:
    question = take_apart(text)
    with project.reader() as reader:
        decided = route_question(question, lambda word: is_name(word, project.tree, reader))
        relation, subjects, depth = asked(question, decided)
        found = answer(relation, subjects, project.tree, reader, 10, depth=depth)
    shown = [f"{hit.node_id}:{hit.line}{'' if hit.certainty == 'resolved' else '?'}" for hit in found.hits]
    assert shown == expected
    assert found.degraded == ()
