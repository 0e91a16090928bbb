"""The comparison of one package: its sources, what the oracle and the product say, the scores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import foveal.daemon
from foveal.daemon.index.service import Reader

from ..retrieval.corpora import Corpus, provide
from ..retrieval.indexing import ensure_index
from . import tools
from .cache import kept, source_fingerprint
from .misses import misses_of
from .product import ask_product
from .pyright import ask_pyright
from .python_sites import read_python
from .sampling import sample
from .scoring import Score, score
from .sites import Site, Verdict
from .typescript import ask_typescript

LIST = Path(__file__).parent / "data" / "packages.toml"

PRODUCT_SOURCES = ("project", "languages", "linking", "index")
"""Folders of the daemon that decide what an index holds: with other sources it is made anew."""


class IndexIncomplete(Exception):
    """Files wait to be linked in an index that should be complete."""


@dataclass(slots=True)
class Compared:
    """What came out for one package."""

    corpus: Corpus
    score: Score
    misses: list[str] = field(default_factory=list)


def compare(corpora: Sequence[Corpus], state: Path) -> list[Compared]:
    """Compare package by package; `state` is the folder for all that was fetched and said."""
    results = []
    for corpus in corpora:
        print(f"{corpus.name} {corpus.version} …", file=sys.stderr, flush=True)
        results.append(_compare(corpus, state))
    return results


def index_of(root: Path, folder: Path) -> Path:
    """Return the folder of an index of `root` that was made by the sources as they are now.

    Raises `IndexIncomplete`.
    """
    daemon = Path(foveal.daemon.__file__ or "").parent
    sources = [path for part in PRODUCT_SOURCES for path in (daemon / part).rglob("*.py")]
    wanted, note = source_fingerprint(sources), folder.with_name(f"{folder.name}.made_by")
    if not note.is_file() or note.read_text(encoding="ascii") != wanted:
        note.unlink(missing_ok=True)
        ensure_index(root, folder, fresh=True)
        reader = Reader(str(folder))
        try:
            waiting = reader.links.unlinked()
        finally:
            reader.close()
        if waiting:
            raise IndexIncomplete(f"{waiting} files of {root.name} are not linked")
        note.write_text(wanted, encoding="ascii")
    return folder


def _compare(corpus: Corpus, state: Path) -> Compared:
    root = provide(corpus, state / "packages").resolve()
    name = f"{corpus.name}-{corpus.version}"
    ask = _pyright if corpus.language == "python" else _typescript
    verdicts = ask(root, name, state)
    answers = ask_product(index_of(root, state / "indexes" / name), verdicts)
    misses = list(misses_of(corpus.name, verdicts, answers))
    return Compared(corpus, score(verdicts, answers), misses)


def _pyright(root: Path, name: str, state: Path) -> dict[Site, Verdict]:
    def ask() -> dict[Site, Verdict]:
        files = read_python(root)
        return ask_pyright(files, sample(files), tools.python_tools(state / "tools"))

    return kept(state / "oracles", f"{name}-basedpyright-{tools.PYRIGHT}", ask)


def _typescript(root: Path, name: str, state: Path) -> dict[Site, Verdict]:
    def ask() -> dict[Site, Verdict]:
        package = tools.typescript_tools(state / "tools")
        return ask_typescript(root, tools.node(state / "tools"), package)

    return kept(state / "oracles", f"{name}-typescript-{tools.TYPESCRIPT}", ask)
