"""The benchmark of contexts reads what a text shows of which file, whoever wrote it, and what a commit needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.benchmarks.needed.aider import Aider
from foveal.benchmarks.needed.counting import estimate
from foveal.benchmarks.needed.definitions import probability_of
from foveal.benchmarks.needed.judge import File, Shown, judge, shows, shows_body
from foveal.benchmarks.needed.measuring import BM25, DEFINITIONS, HITS, OURS, Options, Results, measure
from foveal.benchmarks.needed.passages import DefinitionBm25, Passage, fill, leaves
from foveal.benchmarks.needed.projects import CodeBase, definitions, provide
from foveal.benchmarks.needed.report import is_ahead, markdown, to_map
from foveal.benchmarks.needed.scoring import Score, score
from foveal.benchmarks.needed.tasks import Place, Task, mine, read_tasks, write_tasks
from foveal.benchmarks.retrieval.baselines import BaselineMissing

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
PATHS = {PATH, "shop/basket.py", "README.md", "Makefile"}
FILE = File(SOURCE.split("\n"), definitions(PATH, SOURCE.encode()))


def look(text: str) -> Shown:
    return judge(text, {PATH: FILE}, PATHS).get(PATH, Shown())


def seen(text: str) -> list[str]:
    """Return the definitions that a text shows."""
    shown = look(text)
    return [one.name for one in FILE.symbols if shows(shown, FILE, one.name)]


def fenced(body: str, heading: str = f"`{PATH}` (19 lines)") -> str:
    return (
        f"# PROJECT CONTEXT\n\n## Focus Area\n\n### {heading}\n\n```python\n{body}\n```\n\n### `README.md`\n"
    )


def test_a_whole_file_shows_all_of_it() -> None:
    assert seen(fenced(SOURCE)) == ["Tax", "Tax.of", "vat"]
    assert seen(fenced(SOURCE.partition("@cached")[0])) == ["Tax", "Tax.of"]
    # The heading of another file ends it, a file in a fence may hold what looks like one.
    assert seen(f"### `README.md`\n\n````\n### `{PATH}`\n{SOURCE}\n````\n") == []


def test_numbered_rows_show_the_lines_of_their_numbers() -> None:
    assert seen(fenced(" 5  class Tax:\n17  def vat(amount)")) == ["Tax", "vat"]
    assert look(fenced(" 5  class Tax:\n17  def vat(amount)")).lines == {5, 17}
    # A signature on one line, one under the number of its decorator, one whose number is another's.
    assert seen(fenced(" 8      def of(self, amount)")) == ["Tax.of"]
    assert seen(fenced("16  def vat(amount)\n        # Return")) == ["vat"]
    assert seen(fenced(" 2  def vat(amount)")) == ["vat"]  # within the reach of decorators
    assert seen(fenced("19  def vat(amount)")) == []


def test_a_definition_counts_by_half_of_its_lines() -> None:
    assert seen(fenced("18      total = Tax().of(amount)\n19      return math.floor(total)")) == ["vat"]
    assert seen(fenced("19      return math.floor(total)")) == []
    assert shows_body(look(fenced(SOURCE)), FILE, "vat")
    assert not shows_body(look(fenced("17  def vat(amount)")), FILE, "vat")


def test_the_map_of_aider_shows_its_rows_in_the_order_of_the_file() -> None:
    text = (
        "\nMakefile\n\nshop/basket.py:\n⋮\n│def vat(amount):\n⋮\n\n"
        f'{PATH}:\n⋮\n│class Tax:\n│    """A rate."""\n⋮\n│@cached\n⋮\n'
    )
    assert look(text).lines == {5, 6, 16}
    assert seen(text) == ["Tax"]
    assert look(f"\n{PATH}\n\nMakefile\n") == Shown()  # no more than a name
    assert not look(f"\n{PATH}\n").counts
    # Rows that read the same are different lines, and never lines above the last one.
    twice = File(["def a():", "    return", "def b():", "    return"], definitions("x.py", b"def a(): pass"))
    assert judge("x.py:\n│def b():\n│    return\n", {"x.py": twice}, {"x.py"})["x.py"].lines == {3, 4}


def test_long_lines_may_be_cut() -> None:
    long = "def f(" + ", ".join(f"argument_{n}" for n in range(40)) + "):"
    file = File([long, "    pass"], definitions("x.py", f"{long}\n    pass\n".encode()))
    assert judge(f"x.py:\n│{long[:99]}\n", {"x.py": file}, {"x.py"})["x.py"].lines == {1}


def test_words_count_only_if_they_name_a_definition() -> None:
    assert look(f"### `{PATH}`\n\nDefines `Tax`, `vat`.\n").names == {"Tax", "vat"}
    assert look(f"### `{PATH}`\n\nDefines `Tax`, `vat`.\n").counts
    assert seen(f"### `{PATH}`\n\nDefines `Tax`, `vat`.\n") == []
    assert not look(f"### `{PATH}`\n\nFound for the prompt: lines 1-19.\n").counts
    # The map of the project names files, and no more.
    assert look("## Project Structure\n\n```\nshop/\n  tax.py  basket.py\n```\n") == Shown()


def test_definitions_have_headings_of_their_own() -> None:
    heading = f"`{PATH}#vat` (lines 16-19)"
    assert seen(fenced("16  @cached\n17  def vat(amount):", heading)) == ["vat"]


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


def test_a_commit_whose_definition_is_not_in_the_pinned_tree_is_no_task(history: History) -> None:
    pin = write(history, PATH, SOURCE, "taxes")
    former = SOURCE.replace("total = ", "sum = ")
    write(history, PATH, former, "typo")
    write(history, PATH, former.replace("floor", "ceil"), MESSAGE)
    assert mine(history.folder, history.repository(pin), 10) == []
    # Lines between definitions are no part of any.
    pin = history.git("rev-parse", "HEAD")
    write(history, PATH, former.replace("floor", "ceil") + "\n\nRATE = 1\n", "Name the rate of the tax")
    assert mine(history.folder, history.repository(pin), 10) == []


def test_added_lines_edit_the_definition_around_them(history: History) -> None:
    pin = write(history, PATH, SOURCE, "taxes")
    grown = SOURCE.replace('    """A rate."""\n', '    """A rate."""\n    rate = 0.2\n')
    write(history, PATH, grown, "Give taxes a rate of their own")
    (task,) = mine(history.folder, history.repository(pin), 10)
    assert task.edits == (Place(PATH, "Tax", 5, 13),)
    assert task.lines == {PATH: (6,)}


def test_passages_are_printed_whole_and_once_as_far_as_they_fit(shop: tuple[CodeBase, list[Task]]) -> None:
    code, (task,) = shop
    passages = [Passage(PATH, 16, 19), Passage(PATH, 5, 19), Passage("shop/basket.py", 1, 99)]
    everything = fill(code, passages, 1_000)
    assert everything.count("def vat") == 1
    found = score(code, task, BM25, 1_000, everything)
    assert (found.edits, found.lines, found.reads, found.pure) == (1, 1, 1, 1)
    for budget in range(1, estimate(everything) + 1):
        assert estimate(fill(code, passages, budget)) <= budget
    assert "def total" in fill(code, passages[1:], 40)  # the larger one before it is passed over


def test_leaves_are_definitions_without_others_inside() -> None:
    assert leaves(PATH, FILE.symbols) == [Passage(PATH, 5, 7), Passage(PATH, 8, 13), Passage(PATH, 16, 19)]


def test_bm25_reads_the_words_in_names(shop: tuple[CodeBase, list[Task]]) -> None:
    code, _ = shop
    best = DefinitionBm25(code).rank("how is a total of Items made?")
    assert best[0].path == "shop/basket.py"
    assert DefinitionBm25(code).rank("?") == []


def test_a_score_counts_what_is_shown(shop: tuple[CodeBase, list[Task]]) -> None:
    code, (task,) = shop
    text = f"### `{PATH}`\n\n```\n 5  class Tax:\n19      return math.floor(total)\n```\n\n### `README.md`\n\n# Shop\n"
    found = score(code, task, OURS, 100, text)
    assert (found.edits, found.lines, found.reads, found.pure, found.shown) == (0, 0.5, 1, 1, 2)
    with pytest.raises(ValueError, match="the budget is 10"):
        score(code, task, OURS, 10, text)
    nothing = score(code, task, OURS, 100, "")
    assert (nothing.lines, nothing.pure) == (0, None)


def test_the_real_daemon_is_measured_beside_baselines(
    shop: tuple[CodeBase, list[Task]], tmp_path: Path
) -> None:
    code, tasks = shop
    options = Options(tmp_path / "state", budgets=(1_000,))
    found = measure([code], tasks, options)
    assert [one.system for one in found.scores] == [OURS, HITS, DEFINITIONS, BM25]
    assert all(one.lines >= 0.5 for one in found.scores[2:])
    assert measure([code], tasks, options).scores == found.scores  # the baselines are kept


def test_probability_follows_the_weights() -> None:
    assert probability_of({}) < 0.001
    assert 0 < probability_of({"chunk": 0.1}) < probability_of({"chunk": 1.0}) < 1
    assert probability_of({"role test": 1.0}) < probability_of({"role source": 1.0})


def test_without_its_interpreter_aider_is_missing(shop: tuple[CodeBase, list[Task]], tmp_path: Path) -> None:
    code, _ = shop
    with pytest.raises(BaselineMissing, match="can't run"):
        Aider(tmp_path / "nowhere" / "python", tmp_path / "aider").texts(code, [MESSAGE], [2_000])
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho not installed >&2\nexit 1\n")
    failing.chmod(0o700)
    with pytest.raises(BaselineMissing, match="not installed"):
        Aider(failing, tmp_path / "aider").texts(code, [MESSAGE], [2_000])


def test_maps_are_made_once(shop: tuple[CodeBase, list[Task]], tmp_path: Path) -> None:
    code, _ = shop
    python = tmp_path / "python"
    python.write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "for one in json.load(sys.stdin)['prompts']:\n"
        "    print(json.dumps({'maps': {str(b): f'map of {b}' for b in one['budgets']}}))\n"
    )
    python.chmod(0o700)
    aider = Aider(python, tmp_path / "aider")
    made = aider.texts(code, [MESSAGE], [50, 2_000])
    assert made == [{50: "map of 50", 2_000: "map of 2000"}]
    python.unlink()
    assert aider.texts(code, [MESSAGE], [50, 2_000]) == made


def results(ours: float, theirs: float) -> Results:
    task = Task(
        "t", "shop", "tune", "python", "secret words", {PATH: (19,)}, (Place(PATH, "vat", 16, 19),), ()
    )

    def one(system: str, share: float, budget: int) -> Score:
        return Score(system, budget, "t", share, share, None, 0.5, 10, 500)

    budgets = (1_000, 2_000)
    scores = [one(OURS, ours, budget) for budget in budgets] + [
        one("other", theirs, budget) for budget in budgets
    ]
    return Results([task], scores, ["a note"])


def test_tables_say_who_is_ahead() -> None:
    table = markdown(results(1, 0), by_language=True)
    assert "| edited lines shown | foveal, context | 1.000 | 1.000 |" in table
    assert "| share of edited lines per 1,000 tokens | foveal, context | 2.000 | 2.000 |" in table
    assert "**tune, python**" in table
    assert "- a note" in table
    assert is_ahead(results(1, 0), "tune")
    assert not is_ahead(results(1, 0.9), "tune")  # ahead, but by less than the target
    assert "secret" not in str(to_map(results(1, 0)))
