"""The benchmark of worth reads what contexts show of needed definitions, and keeps two arms of an agent apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from foveal.benchmarks.needed.projects import CodeBase, provide
from foveal.benchmarks.worth.__main__ import main
from foveal.benchmarks.worth.contexts import look, table
from foveal.benchmarks.worth.tasks import TaskSet, locate, read_task_sets

from tests.benchmarks.test_retrieval_mining import History

TAX = '''class Tax:
    def of(self, amount):
        """Return the value added tax of an amount."""
        return amount * self.rate


class Free:
    def of(self, amount):
        """Return no tax, whatever the amount is.

        Exports are free of it.
        """
        return 0
'''
BASKET = "from shop.tax import Tax\n\n\ndef total(items):\n    added = sum(items)\n    return added + Tax().of(added)\n"
SETTINGS = "[shop]\nvat_rate = 19\ncurrency = 1\n\n[mail]\nport = 25\n"
PROMPT = "Where is the value added tax of an amount computed?"
TASKS = """
repository = "ann/shop"
revision = "{revision}"

[[task]]
id = "shop-01"
kind = "where"
prompt = "{prompt}"
key = [{{ fact = "Tax.of multiplies by the rate", points = {points} }}, {{ fact = "Free.of is none", points = 4 }}]
needed = ["shop/tax.py#Tax.of", "shop/tax.py#of", "shop/basket.py#total", "settings.toml#vat_rate"]

[[task]]
id = "shop-02"
kind = "why"
prompt = "sounds good, go ahead"
key = [{{ fact = "nothing", points = 10 }}]
needed = ["shop/basket.py#total"]
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of tasks on a project whose clone is beside it."""
    history = History(tmp_path / "shop")
    for name, text in {"shop/tax.py": TAX, "shop/basket.py": BASKET, "settings.toml": SETTINGS}.items():
        (history.folder / name).parent.mkdir(exist_ok=True)
        (history.folder / name).write_text(text)
    folder = tmp_path / "data"
    folder.mkdir()
    tasks = TASKS.format(revision=history.commit("Begin"), prompt=PROMPT, points=6)
    (folder / "shop.toml").write_text(tasks)
    return folder


@pytest.fixture
def shop(data: Path, tmp_path: Path) -> tuple[CodeBase, TaskSet]:
    (tasks,) = read_task_sets(data)
    return provide(tasks.repository, tmp_path, tmp_path / "projects"), tasks


def test_tasks_are_refused_when_the_points_of_a_key_are_not_ten(data: Path) -> None:
    path = data / "shop.toml"
    path.write_text(path.read_text().replace("points = 6", "points = 5"))
    with pytest.raises(ValueError, match="shop-01"):
        read_task_sets(data)


def test_a_needed_definition_is_found_by_its_owner_else_the_longest_else_as_text(
    shop: tuple[CodeBase, TaskSet],
) -> None:
    code, _ = shop
    found = [
        locate(code, name) for name in ("shop/tax.py#Tax.of", "shop/tax.py#of", "settings.toml#vat_rate")
    ]
    assert [(one.first, one.last) for one in found] == [(2, 4), (8, 13), (2, 3)]
    with pytest.raises(ValueError, match="no shop"):
        locate(code, "shop/tax.py#Tax.none")


def test_a_context_shows_definitions_whole_in_part_as_a_line_or_not(shop: tuple[CodeBase, TaskSet]) -> None:
    code, tasks = shop
    body = "\n".join(TAX.split("\n")[1:4])
    rest = "\n".join(TAX.split("\n")[7:9])
    text = (
        f"## Focus Area\n\n### `shop/tax.py`\n\n```python\n⋮ line 2, in Tax\n{body}\n⋮ line 8, in Free\n{rest}\n```\n"
        "### `settings.toml`\n\n```\n⋮ line 6\nport = 25\n```\n\nLikely places:\n"
        "- `shop/basket.py:4-6` total: added = sum(items)\n- `shop/tax.py:1` Tax\n"
    )
    one = look(code, tasks.tasks[0], text)
    assert one.forms == ("whole", "part", "line", "nothing")
    assert (one.lines, one.beside, one.elsewhere) == (8, 2, 0)
    assert not one.is_wrong
    wrong = look(code, tasks.tasks[1], f"### `shop/tax.py`\n\n```\n⋮ line 2\n{body}\n```\n" + "#" * 1_300)
    assert wrong.is_wrong
    assert (wrong.beside, wrong.elsewhere) == (3, 3)
    assert table([one, wrong]).splitlines()[-1].startswith("| all | 2 | 5 | 1 | 1 | 1 | 2 |")


def test_contexts_are_asked_of_a_real_hook(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--clones", str(tmp_path), "--state", str(tmp_path / "s"), "--data", str(data)]
    assert main(["contexts", *places, "--json", str(tmp_path / "found.json"), "--again", "warm"]) == 0
    asked, small_talk = json.loads((tmp_path / "found.json").read_text())
    assert asked["forms"][0] == "whole"
    assert small_talk["tokens"] == 0
    assert "other bytes after a restart: 0 of 2" in capsys.readouterr().out
