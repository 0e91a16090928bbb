"""The coverage benchmark reads what a text shows of which file, whoever wrote it, and knows what a commit needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.benchmarks.coverage.aider import Aider
from foveal.benchmarks.coverage.counting import estimate
from foveal.benchmarks.coverage.judge import File, Shown, judge, shows, shows_body
from foveal.benchmarks.coverage.measuring import OURS, Results
from foveal.benchmarks.coverage.product import running
from foveal.benchmarks.coverage.projects import CodeBase, provide
from foveal.benchmarks.coverage.prompts import (
    Prompt,
    changed_definitions,
    definitions,
    read_prompts,
    with_focus,
)
from foveal.benchmarks.coverage.report import is_ahead, markdown, to_map
from foveal.benchmarks.coverage.scoring import Score, Spent, score, spent
from foveal.benchmarks.coverage.whole_files import block, fill
from foveal.benchmarks.retrieval.baselines import BaselineMissing
from foveal.benchmarks.retrieval.mining import Question, write_questions
from foveal.benchmarks.retrieval.repositories import Repository

from tests.test_retrieval_mining import History

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


def test_a_commit_needs_the_innermost_definitions_that_it_changed(history: History) -> None:
    write(history, PATH, SOURCE, "begin")
    changed = write(history, PATH, SOURCE.replace("total = ", "sum = "), "rename")
    assert changed_definitions(history.folder, changed, PATH) == ["vat"]
    both = SOURCE.replace("self.rate", "rate").replace('"""Taxes."""\n', "")
    assert changed_definitions(history.folder, write(history, PATH, both, "more"), PATH) == ["Tax.of", "vat"]
    # Lines that were only added: inside of a class between its methods, and between definitions.
    grown = both.replace('    """A rate."""\n', '    """A rate."""\n    rate = 0.2\n')
    assert changed_definitions(history.folder, write(history, PATH, grown, "add"), PATH) == ["Tax"]
    longer = grown.replace("\n\n@cached", "\n\nRATE = 1\n\n\n@cached")
    assert changed_definitions(history.folder, write(history, PATH, longer, "apart"), PATH) == []


def code_base(history: History, tmp_path: Path, revision: str) -> tuple[CodeBase, Repository, Path]:
    repository = history.repository(revision)
    trees = tmp_path / "trees"
    (trees / "shop" / "shop").mkdir(parents=True)
    for path in ("shop/tax.py", "shop/basket.py", "README.md"):
        (trees / "shop" / path).write_text(history.git("show", f"{revision}:{path}") + "\n")
    (trees / ".shop.revision").write_text(revision)
    return provide(repository, trees, tmp_path, tmp_path / "projects"), repository, trees


@pytest.fixture
def shop(history: History, tmp_path: Path) -> tuple[CodeBase, list[Prompt]]:
    """Return a project and the prompts about the one commit that came after its pin."""
    write(history, "shop/basket.py", "def total(items):\n    return sum(items)\n", "begin")
    write(history, "README.md", "# Shop\n\nIt adds up taxes.\n", "describe")
    pin = write(history, PATH, SOURCE, "taxes")
    (history.folder / "shop/basket.py").write_text("def total(items):\n    return max(items)\n")
    changed = write(history, PATH, SOURCE.replace("floor", "ceil"), "Round the value added tax up")
    code, _, trees = code_base(history, tmp_path, pin)
    text = "Round the value added tax up"
    question = Question(text, "shop", pin, ("shop/basket.py", PATH), "python", "tune", changed)
    silent = Question("", "shop", pin, (PATH,), "python", "tune", changed)
    write_questions(tmp_path / "commits.jsonl", [silent, question, question])
    prompts = read_prompts(
        [tmp_path / "commits.jsonl"], trees, {"shop": history.folder, "other": tmp_path}, 1
    )
    return code, prompts


def test_prompts_are_what_was_mined_with_the_definitions(shop: tuple[CodeBase, list[Prompt]]) -> None:
    code, (prompt,) = shop
    assert prompt.symbols == (("shop/basket.py", "total"), (PATH, "vat"))
    assert (prompt.files, prompt.focus, prompt.split) == (("shop/basket.py", PATH), "", "tune")
    assert code.paths == {"shop/basket.py", PATH, "README.md"}
    assert code.file(PATH).lines[4] == "class Tax:"
    (focused,) = with_focus([prompt])
    assert (focused.files, focused.focus, focused.symbols) == ((PATH,), "shop/basket.py", prompt.symbols)
    assert with_focus([focused]) == []


def test_whole_files_fill_the_budget_and_the_last_is_cut(shop: tuple[CodeBase, list[Prompt]]) -> None:
    code, (prompt,) = shop
    everything = fill(code, [PATH, "shop/basket.py"], 1_000)
    assert score(code, prompt, "a", 1_000, everything, None).files == 1
    assert score(code, prompt, "a", 1_000, everything, None).symbols == 1
    for budget in range(1, estimate(everything) + 1):
        assert estimate(fill(code, [PATH, "shop/basket.py"], budget)) <= budget
    part = fill(code, [PATH, "shop/basket.py"], 60)
    assert "class Tax:" in part
    assert "basket" not in part
    focused = fill(code, [PATH, "shop/basket.py"], 60, PATH)
    assert len(focused) <= 240
    assert focused.index(PATH) < focused.index("basket")
    assert block("a.py", "x" * 100, 60) == "### `a.py`\n\n````\n" + "x" * 36 + "\n````\n\n"
    assert block("a.py", "x", 10) == ""


def test_a_score_says_what_is_missing(shop: tuple[CodeBase, list[Prompt]]) -> None:
    code, (prompt,) = shop
    text = f"### `{PATH}`\n\n```\n 5  class Tax:\n```\n\n### `shop/basket.py`\n\n2 lines.\n"
    found = score(code, prompt, OURS, 100, text, len)
    assert (found.files, found.symbols, found.exact) == (0.5, 0, len(text))
    assert (found.missing_files, found.named_only) == (("shop/basket.py",), ("shop/basket.py",))
    assert found.missing_symbols == ("shop/basket.py#total", f"{PATH}#vat")
    with pytest.raises(ValueError, match="the budget is 10"):
        score(code, prompt, OURS, 10, text, None)
    bare = Prompt("p", "commits", "shop", "tune", "text", (PATH,), ())
    assert score(code, bare, OURS, 100, text, None).symbols is None


def test_the_real_daemon_answers_each_prompt(shop: tuple[CodeBase, list[Prompt]], tmp_path: Path) -> None:
    code, prompts = shop
    root = code.root.resolve()
    with running(tmp_path / "daemon") as product:
        product.open(root)
        found = product.found(root, prompts[0])
        assert PATH in found
        for prompt in (*prompts, *with_focus(prompts)):
            context = product.context(root, prompt, 2_000)
            assert PATH not in score(code, prompt, OURS, 2_000, context.text, None).missing_files
            assert product.context(root, prompt, 2_000).text == context.text
            told = spent(prompt, 2_000, context.slices, found)
            assert sum(told.slices.values()) == len(context.slices)
            assert told.ranks[PATH] == found.index(PATH) + 1
        product.close(root)


def test_without_its_interpreter_aider_is_missing(
    shop: tuple[CodeBase, list[Prompt]], tmp_path: Path
) -> None:
    code, prompts = shop
    with pytest.raises(BaselineMissing, match="can't run"):
        Aider(tmp_path / "nowhere" / "python", tmp_path / "aider").texts(code, prompts, [2_000])
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho not installed >&2\nexit 1\n")
    failing.chmod(0o700)
    with pytest.raises(BaselineMissing, match="not installed"):
        Aider(failing, tmp_path / "aider").texts(code, prompts, [2_000])


def test_maps_are_made_once_and_follow_the_focus(shop: tuple[CodeBase, list[Prompt]], tmp_path: Path) -> None:
    code, prompts = shop
    both = [*prompts, *with_focus(prompts)]
    python = tmp_path / "python"
    # Writes the budget that it is given for the map, for each prompt.
    python.write_text(
        "#!/usr/bin/env python3\nimport json, sys\n"
        "for one in json.load(sys.stdin)['prompts']:\n"
        "    print(json.dumps({'maps': {str(b): f'map of {b}' for b in one['budgets']}}))\n"
    )
    python.chmod(0o700)
    aider = Aider(python, tmp_path / "aider")
    plain, focused = aider.texts(code, both, [50, 2_000])
    assert plain == {50: "map of 50", 2_000: "map of 2000"}
    assert focused[2_000].startswith("### `shop/basket.py`")
    left = 2_000 - estimate(focused[2_000].rpartition("map of")[0])
    assert focused[2_000].endswith(f"map of {left}")
    python.unlink()
    assert aider.texts(code, both, [50, 2_000]) == [plain, focused]


def results(ours: float, theirs: float) -> Results:
    prompt = Prompt("p", "commits", "shop", "tune", "secret words", (PATH,), ((PATH, "vat"),))

    def one(system: str, share: float, budget: int) -> Score:
        missing = () if share else (PATH,)
        return Score(
            system,
            budget,
            "p",
            share,
            share,
            share,
            900,
            800,
            missing,
            tuple(f"{m}#vat" for m in missing),
            (),
        )

    scores = [one(OURS, ours, budget) for budget in (1_000, 2_000)]
    scores += [one("other", theirs, budget) for budget in (1_000, 2_000)]
    told = [
        Spent(b, "p", {"document": 500}, {"document": 2}, {"document": 1}, {PATH: 8}) for b in (1_000, 2_000)
    ]
    return Results([prompt], scores, told, ["a note"])


def test_tables_say_who_is_ahead_and_what_is_missing() -> None:
    ahead = markdown(results(1, 0))
    assert "| files | foveal | 1.000 | 1.000 |\n| files | other | 0.000 | 0.000 |" in ahead
    assert "| budget used | 90% | 45% |" in ahead
    assert "| characters of one | 1,000 | 1,000 |" in ahead
    assert "| needed files: shown | 100.0% | 100.0% |" in ahead
    assert "- a note" in ahead
    behind = markdown(results(0, 1))
    assert "| symbols | other | **1.000** | **1.000** |" in behind
    assert "| needed files: missing, found 7-12 | 100.0% | 100.0% |" in behind
    assert "| needed symbols: file isn't shown | 100.0% | 100.0% |" in behind
    assert "| files | other | ~1.000 | ~1.000 |" in markdown(results(1, 1))
    assert is_ahead(results(1, 0), "tune")
    assert not is_ahead(results(1, 1), "tune")
    assert "secret" not in str(to_map(results(1, 0)))
