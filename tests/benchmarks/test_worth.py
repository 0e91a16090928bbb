"""The benchmark of worth reads what contexts show of needed definitions, and keeps two arms of an agent apart."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.benchmarks.needed.projects import CodeBase, provide
from foveal.benchmarks.worth.__main__ import main
from foveal.benchmarks.worth.contexts import look, table
from foveal.benchmarks.worth.grading import code_of
from foveal.benchmarks.worth.seats import read_seats
from foveal.benchmarks.worth.shell import OUTPUT_LIMIT
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
        "- `shop/basket.py:4-6` total: added = sum(items)\n- `shop/tax.py:1-4` Tax\n"
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
    assert asked["forms"][0] in {"whole", "line"}
    assert small_talk["tokens"] == 0
    assert "other bytes after a restart: 0 of 2" in capsys.readouterr().out


AGENT = """#!{python}
import os, subprocess, sys
prompt = open(sys.argv[1]).read()
assert "Where is the value" in prompt or "sounds good" in prompt
run = lambda *words: subprocess.run(words, capture_output=True, text=True).stdout
found = run(os.environ["SHELL"], "-l", "-c", "command -v foveal >/dev/null && echo yes; cat shop/tax.py")
run("bash", "-c", "echo " + "x" * 40_000)
open("stray.txt", "w").close()
print("Tax.of does it,", "foveal said" if found.startswith("yes") else "cat said", "Tax.of" in prompt)
"""


def test_two_arms_differ_in_foveal_alone_and_every_character_is_logged(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "s"
    places = ["--state", str(state), "--data", str(data)]
    assert main(["prepare", *places, "--clones", str(tmp_path)]) == 0
    agent = tmp_path / "agent"
    agent.write_text(AGENT.format(python=sys.executable))
    agent.chmod(0o755)
    assert main(["run", *places, "--agent", f"{agent} {{prompt_file}}"]) == 0
    seats = {seat.arm: seat for seat in read_seats(state)}
    read = {
        arm: [
            row
            for line in seat.log.read_text().splitlines()
            if (row := json.loads(line))["task"] == "shop-01"
        ]
        for arm, seat in seats.items()
    }
    assert [row["kind"] for row in read["without"]] == ["start", "prompt", "context", "run", "run", "answer"]
    assert "<foveal-context>" in read["with"][0]["text"] + read["with"][2]["text"]
    assert not read["without"][0]["text"] + read["without"][2]["text"]
    assert read["with"][3]["text"] == "yes\n" + TAX
    assert read["without"][3]["text"] == TAX
    assert OUTPUT_LIMIT < len(read["without"][4]["text"]) < OUTPUT_LIMIT + 60
    shell = seats["without"].folder / "bin" / "worth-sh"
    given = subprocess.run([shell, "begin", "shop-02"], check=True, capture_output=True, text=True).stdout
    assert given.endswith("sounds good, go ahead\n")
    assert not (seats["without"].root / "stray.txt").exists()
    wrong = subprocess.run([shell, "run", "exit 3"], check=False)
    assert wrong.returncode == 3

    assert main(["sheet", *places]) == 0
    sheet = (state / "sheet.md").read_text()
    assert "(a tool) said" in sheet
    assert not {"foveal", "shop-a", "shop-b", "without"} & set(re.findall(r"[\w-]+", sheet))
    grades = json.loads((state / "grades.json").read_text())
    for arm, points in (("with", [6, 4]), ("without", [6, 0])):
        grades[code_of(seats[arm], "shop-01")] = points
    (tmp_path / "graded.json").write_text(json.dumps(grades))
    capsys.readouterr()
    assert main(["report", *places, "--grades", str(tmp_path / "graded.json")]) == 0
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("|")]
    assert cells[1:5] == ["all", "2", "4", "3"]
    assert cells[8:11] == ["10 of 10", "6 of 10", "4.00 [4.00, 4.00]"]
