"""The structure benchmark counts what the product says of calls against an oracle, and names each miss."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.benchmarks.retrieval.corpora import Corpus
from foveal.benchmarks.structure import __main__ as command
from foveal.benchmarks.structure import running
from foveal.benchmarks.structure.product import Answer
from foveal.benchmarks.structure.python_sites import read_python
from foveal.benchmarks.structure.scoring import Score, score
from foveal.benchmarks.structure.sites import Site, Target, Verdict

FILES = {
    "shop/tax.py": "class Tax:\n    def of(self, amount):\n        return amount\n\n\ndef vat(amount):\n"
    "    return Tax().of(amount)\n",
    "shop/basket.py": "from shop.tax import vat\n\n\ndef total(ways):\n    ways.of(1)\n    return vat(vat(2)) + len([])\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def site(name: str, line: int = 1, form: str = "self.") -> Site:
    return Site("a.py", line, 0, name, "call", form, f"self.{name}")


def target(name: str, path: str = "b.py") -> Target:
    return Target(path, 1, name, "function")


def corpus(name: str, split: str = "held_out", language: str = "python") -> Corpus:
    return Corpus(name, "pypi", name, "1.0", "0" * 64, language, split)


VERDICTS = {
    site("run", 1): Verdict("project", (target("A.run"),)),
    site("run", 2): Verdict("project", (target("A.run"), target("B.run"))),
    site("run", 3): Verdict("project", (target("A.run"),)),
    site("run", 4): Verdict("project", (target("A.run"),)),
    site("run", 5): Verdict("external"),
    site("run", 6): Verdict("unknown"),
    site("run", 7): Verdict("variable", (), (target("A.run"),)),
    site("gone", 8): Verdict("project", (target("gone"),)),
}
ANSWERS = {
    site("run", 1): Answer("resolved", target("A.run")),
    site("run", 2): Answer("resolved", target("B.run")),
    site("run", 3): Answer("resolved", target("C.run")),
    site("run", 4): Answer("name"),
    site("run", 5): Answer("name"),
    site("run", 6): Answer("resolved", target("A.run")),
    site("run", 7): Answer("resolved", target("A.run")),
    site("gone", 8): Answer("missing"),
}


def test_scores_count_call_sites() -> None:
    found = score(VERDICTS, ANSWERS)
    assert (found.sites, found.judged, found.inside, found.unjudged) == (8, 7, 5, 1)
    assert (found.resolved, found.right, found.found, found.named) == (4, 3, 2, 1)
    assert (found.precision, found.recall, found.whole_recall) == (0.75, 0.4, 0.6)
    # A.run is called from lines 1 to 4; listed are 1 and 7, and by the name 4 and 5. B.run: 2; 2, 4 and 5.
    assert (found.definitions, found.callers, found.listed) == (3, 6, 7)
    assert (found.listed_right, found.callers_listed) == (4, 3)
    assert (found + found).sites == 16
    assert Score().precision == 0


def test_the_command_prints_tables_and_misses(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def oracle(root: Path, name: str, state: Path) -> dict[Site, Verdict]:
        sites = [site for file in read_python(root).values() for site in file.sites]
        return {
            site: Verdict("project", (Target("shop/tax.py", 6, "vat", "function"),))
            if site.name in {"vat", "of"}
            else Verdict("external")
            for site in sites
        }

    monkeypatch.setattr(running, "provide", lambda corpus, folder: shop)
    monkeypatch.setattr(running, "_pyright", oracle)
    given = ["--state", str(tmp_path), "--only", "attrs"]
    assert command.main([*given, "--misses"]) == 1
    printed = capsys.readouterr().out
    assert "| attrs 25.3.0 | held out | 6 | 4 | 0.500 |" in printed
    assert "wrong: call(). attrs/shop/tax.py:7 `Tax().of`" in printed
    assert command.main([*given, "--split", "tune"]) == 2
