"""The benchmark of contexts reads what a text shows of which file, whoever wrote it, and what a commit needs."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from foveal.benchmarks.needed.__main__ import LIST, REPORTS
from foveal.benchmarks.needed.measuring import OURS
from foveal.benchmarks.needed.projects import CodeBase, provide
from foveal.benchmarks.needed.scoring import score
from foveal.benchmarks.needed.tasks import Place, Task, mine, read_tasks, told, write_tasks
from foveal.benchmarks.retrieval.repositories import read_repositories

from tests.benchmarks.test_retrieval_mining import History

SOURCE = '''"""Taxes."""
import math


class Tax:
    """A rate."""

    def of(
        self,
        amount,
    ):
        """Return the tax."""
        return amount * self.rate


@cached
def vat(amount):
    total = Tax().of(amount)
    return math.floor(total)
'''
PATH = "shop/tax.py"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "shop")


def write(history: History, path: str, text: str, message: str) -> str:
    history.commit(message, path)
    (history.folder / path).write_text(text)
    history.git("add", "--all")
    history.git("commit", "--quiet", "--amend", "--no-edit")
    return history.git("rev-parse", "HEAD")


BASKET = "import math\n\n\ndef total(items):\n    return sum(items)\n"
MESSAGE = "Round the value added tax up"


@pytest.fixture
def shop(history: History, tmp_path: Path) -> tuple[CodeBase, list[Task]]:
    """Return a project and the task of the one commit after its pin that asks something."""
    write(history, "shop/basket.py", BASKET, "begin")
    write(history, "README.md", "# Shop\n\nIt adds up taxes.\n", "describe")
    pin = write(history, PATH, SOURCE, "taxes")
    # Lines above the definition move it; it is still the one of the pinned tree.
    moved = SOURCE.replace("import math", "import math\nimport os")
    write(history, PATH, moved, "typo")
    (history.folder / "shop/basket.py").write_text(BASKET.replace("sum(items)", "Tax.of(items)"))
    write(history, PATH, moved.replace("floor", "ceil"), MESSAGE)
    repository = history.repository(pin)
    code = provide(repository, tmp_path, tmp_path / "projects")
    return code, mine(history.folder, repository, 10)


def test_a_task_has_the_definitions_that_its_commit_edits_and_reads(
    shop: tuple[CodeBase, list[Task]], tmp_path: Path
) -> None:
    code, (task,) = shop
    assert (task.text, task.project, task.split, task.language) == (MESSAGE, "shop", "tune", "python")
    assert task.edits == (Place("shop/basket.py", "total", 4, 5), Place(PATH, "vat", 16, 19))
    assert task.lines == {"shop/basket.py": (5,), PATH: (19,)}
    assert task.reads == (Place(PATH, "Tax", 5, 13),)
    assert code.paths == {"shop/basket.py", PATH, "README.md"}
    write_tasks(tmp_path / "tasks.jsonl", [task])
    assert read_tasks(tmp_path / "tasks.jsonl") == [task]


def test_a_report_stands_for_the_message_of_the_commit_that_fixed_it(
    shop: tuple[CodeBase, list[Task]], tmp_path: Path
) -> None:
    _, (task,) = shop
    other = replace(task, id="shop-0")
    file = tmp_path / "reports.toml"
    file.write_text(f'[[report]]\ntask = "{task.id}"\ntext = """\nMy bill is a cent too low.\n"""\n')
    assert told(file, [other, task]) == [replace(task, text="My bill is a cent too low.")]


def test_reports_are_about_repositories_that_weights_are_set_on() -> None:
    tasks = [entry["task"] for entry in tomllib.loads(REPORTS.read_text(encoding="utf-8"))["report"]]
    assert len(set(tasks)) == len(tasks) == 24
    tune = {one.name for one in read_repositories(LIST) if one.split == "tune"}
    assert {task.rpartition("-")[0] for task in tasks} <= tune


def test_a_score_counts_what_is_shown(shop: tuple[CodeBase, list[Task]]) -> None:
    code, (task,) = shop
    text = f"### `{PATH}`\n\n```\n 5  class Tax:\n19      return math.floor(total)\n```\n\n### `README.md`\n\n# Shop\n"
    found = score(code, task, OURS, 100, text)
    assert (found.edits, found.lines, found.reads, found.pure, found.shown) == (0, 0.5, 1, 1, 2)
    with pytest.raises(ValueError, match="the budget is 10"):
        score(code, task, OURS, 10, text)
    nothing = score(code, task, OURS, 100, "")
    assert (nothing.lines, nothing.pure) == (0, None)
