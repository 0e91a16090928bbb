"""The synthetic tree is the same in every run, realistic in its sizes, and code that can be parsed and linked."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path
from statistics import median

from foveal.benchmarks.synthetic import MEDIAN_BYTES, files, function_of, path_of, write_tree
from foveal.benchmarks.trees import read, walk


def test_the_same_seed_gives_the_same_files_and_another_one_others() -> None:
    assert list(files(50)) == list(files(50))
    assert list(files(50, seed=2)) != list(files(50))


def test_a_smaller_tree_is_the_beginning_of_a_larger_one() -> None:
    assert list(files(60))[:20] == list(files(20))


def test_sizes_and_kinds_are_those_of_source_trees() -> None:
    made = list(files(600))
    sizes = [len(text) for _, text in made]
    kinds = Counter(path.rsplit(".", 1)[1] for path, _ in made)
    assert 0.7 * MEDIAN_BYTES < median(sizes) < 1.6 * MEDIAN_BYTES
    assert max(sizes) > 20_000
    assert 0.7 < kinds["py"] / len(made) < 0.9
    assert set(kinds) == {"py", "ts", "md", "json"}


def test_python_parses_and_imports_what_exists() -> None:
    made = dict(files(120))
    imports = 0
    for path, text in made.items():
        if path.endswith(".json"):
            json.loads(text)
        if not path.endswith(".py"):
            continue
        number = int(re.findall(r"\d+", path)[-1])
        tree = ast.parse(text)
        assert path == path_of(number)
        assert function_of(number) in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        for one in tree.body:
            if isinstance(one, ast.ImportFrom) and one.module != "__future__":
                imports += 1
                assert f"def {one.names[0].name}(" in made[f"{one.module}.".replace(".", "/")[:-1] + ".py"]
    assert imports > 100


def test_a_tree_is_written_as_a_project(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", 30)
    assert (root / ".git").is_dir()
    assert walk(str(root)) == 30
    assert read(str(root)) == sum(len(text.encode()) for _, text in files(30))
