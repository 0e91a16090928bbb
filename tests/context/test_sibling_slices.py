"""Parallel definitions, and the other sites of a variant, come in a line each below the sure definition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.context.sibling_slices import LINES_MAX, SITES_MAX
from foveal.daemon.search.records import FoundDefinition
from msgspec.structs import replace

from tests.context.test_assembly import Desk, found, slices

BASE = "class Reply:\n    def text(self):\n        raise NotImplementedError\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Give a project of three replies of one base, and a scheme that two of its files tell apart."""
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path.resolve() / "shelf"
    root.mkdir()
    desk = Desk(root, tmp_path / "index")
    files = {
        f"src/{name}.py": f"from base import Reply\n\nclass {name.title()}(Reply):\n    def text(self):\n"
        f"        return '{name}'\n"
        for name in ("one", "two", "three")
    }
    resolve = "def resolve(value):\n    if value.startswith('vault://'):\n        return 'vault'\n"
    check = "\ndef check(value):\n    return 'vault://' in value\n"
    desk.write({"src/base.py": BASE, "src/solve.py": resolve, "src/check.py": check, **files})
    yield desk
    desk.readers.close()


def lines_below(desk: Desk, path: str, name: str, probability: float = 0.9, **options: Any) -> list[str]:
    """Return the lines for siblings of a found definition in the text of a context."""
    with desk.readers.borrow() as reader:
        symbol = next(each for each in reader.symbols(path) if each.name == name)
    match = FoundDefinition(path, symbol, symbol.start_line, symbol.end_line, probability)
    hit = replace(found(path, probability), definitions=(match,))
    built = desk.build(hits=[hit], **options)
    shown = {piece["path"] for key, piece in slices(built).items() if key.startswith("sibling:")}
    rows = [row for row in built.reply["context"].split("\n") if row.startswith(tuple(shown) or "\0")]
    assert len(rows) <= LINES_MAX
    return rows


def test_the_methods_of_other_classes_of_a_base_are_named(shelf: Desk) -> None:
    both = ["src/three.py:4-5 Three.text", "src/two.py:4-5 Two.text"]
    assert lines_below(shelf, "src/one.py", "One.text", prompt="what does a reply say?") == both
    sure = lines_below(shelf, "src/one.py", "One.text", 0.9, prompt="what does a reply say?", news=True)
    assert sure == both
    guess = lines_below(shelf, "src/one.py", "One.text", 0.05, prompt="what does a reply say?", news=True)
    assert guess == [], "what is parallel to a guess is one too"
    assert lines_below(shelf, "src/base.py", "Reply", prompt="what is a reply?") == []


def test_a_name_in_many_files_beside_is_parallel_and_in_one_is_not(shelf: Desk) -> None:
    code = "def load(path):\n    return path\n"
    shelf.write({"loaders/a.py": code, "loaders/b.py": code})
    assert lines_below(shelf, "loaders/a.py", "load", prompt="load a path") == []
    shelf.write({f"loaders/{name}.py": code for name in "cdefghijklm"} | {"far/z.py": code})
    rows = lines_below(shelf, "loaders/a.py", "load", prompt="load a path")
    assert rows == [f"loaders/{name}.py:1-2 load" for name in "bcdefghi"]


def test_for_something_new_siblings_come_before_more_of_what_was_found(shelf: Desk) -> None:
    more = "".join(f"def more{n}(reply):\n    return reply, 'more of it', {n}\n" for n in range(30))
    shelf.write({"lib/more.py": more})
    with shelf.readers.borrow() as reader:
        symbols = [("lib/more.py", each, 0.5) for each in reader.symbols("lib/more.py")]
        symbols += [("src/one.py", each, 0.9) for each in reader.symbols("src/one.py") if "." in each.name]
    matches = [FoundDefinition(path, each, each.start_line, each.end_line, p) for path, each, p in symbols]
    hits = [replace(found(match.path, match.probability), definitions=(match,)) for match in matches]

    def siblings(prompt: str) -> int:
        built = shelf.build(hits=hits, prompt=prompt, max_tokens=500, reserve_tokens=0)
        return sum(name.startswith("sibling:") for name in slices(built))

    assert siblings("add another reply") == 2
    assert siblings("what does a reply say?") == 0


def test_the_sites_of_a_variant_are_named_for_something_new(shelf: Desk) -> None:
    asked = "add a scheme for the keychain"
    rows = lines_below(shelf, "src/solve.py", "resolve", prompt=asked)
    assert rows == ["src/check.py:3 — return 'vault://' in value"]
    assert lines_below(shelf, "src/solve.py", "resolve", prompt="what resolves a value?") == []
    shelf.write({f"src/more{n}.py": "V = 'vault://'\n" for n in range(SITES_MAX)})
    assert lines_below(shelf, "src/solve.py", "resolve", prompt=asked) == [], (
        "that common a text tells nothing"
    )


def test_a_secret_in_a_site_is_masked_and_a_rule_file_is_none(shelf: Desk) -> None:
    secret = "hunter2-" + "q7Zk" * 8
    shelf.write({"src/check.py": f"KEY = 'vault://', '{secret}'\n", "AGENTS.md": "Use 'vault://' only.\n"})
    prompt = f"add a scheme beside vault, with password = {secret}"
    (row,) = lines_below(shelf, "src/solve.py", "resolve", prompt=prompt)
    assert row.startswith("src/check.py:1 — KEY = 'vault://'")
    assert "hunter2" not in row


def test_a_secret_that_tells_a_variant_is_masked_in_the_heading(shelf: Desk) -> None:
    secret = "hunter2-" + "q7Zk" * 8
    shelf.write(
        {
            "src/solve.py": f"def resolve(key):\n    if key == '{secret}':\n        return 1\n",
            "src/check.py": f"KEY = '{secret}'\n",
        }
    )
    with shelf.readers.borrow() as reader:
        (symbol,) = reader.symbols("src/solve.py")
    match = FoundDefinition("src/solve.py", symbol, symbol.start_line, symbol.end_line, 0.9)
    hit = replace(found(match.path, 0.9), definitions=(match,))
    context = shelf.build(hits=[hit], prompt=f"add a key, now password = {secret}").reply["context"]
    assert "### Where" in context
    assert "hunter2" not in context
