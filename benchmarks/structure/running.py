"""The comparison of one package: its sources, what the oracle and the product say, the scores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import foveal.daemon
from foveal.daemon.index.store import Reader

from ..retrieval.corpora import Corpus, provide
from ..retrieval.indexing import ensure_index
from . import tools
from .cache import kept, source_fingerprint
from .jedi_peer import ask_jedi
from .misses import Miss, misses_of
from .product import Answer, ask_product
from .pyright import ask_pyright
from .python_sites import read_python
from .sampling import sample
from .scoring import Score, score
from .sites import Site, Verdict
from .typescript import ask_typescript

LIST = Path(__file__).parent / "data" / "packages.toml"

PRODUCT_SOURCES = ("project", "structure", "index")
"""Folders of the daemon that decide what an index holds: with other sources it is made anew."""


class IndexIncomplete(Exception):
    """Files wait to be linked in an index that should be complete."""


@dataclass(frozen=True, slots=True)
class Options:
    """`state` is the folder for packages, tools, indexes and what tools said; `peers` asks jedi as well."""

    state: Path
    peers: bool = True


@dataclass(slots=True)
class Compared:
    """What came out for one package; `peer` is jedi's score on a sample, `same_sample` the product's."""

    corpus: Corpus
    score: Score
    misses: list[Miss] = field(default_factory=list)
    peer: Score | None = None
    same_sample: Score | None = None


def compare(corpora: Sequence[Corpus], options: Options) -> list[Compared]:
    """Compare package by package, saying on stderr where it is."""
    results = []
    for corpus in corpora:
        print(f"{corpus.name} {corpus.version} …", file=sys.stderr, flush=True)
        results.append(_compare(corpus, options))
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


def _compare(corpus: Corpus, options: Options) -> Compared:
    root = provide(corpus, options.state / "packages").resolve()
    name = f"{corpus.name}-{corpus.version}"
    if corpus.language == "python":
        verdicts = _pyright(root, name, options.state)
    else:
        verdicts = _typescript(root, name, options.state)
    answers = ask_product(index_of(root, options.state / "indexes" / name), verdicts)
    compared = Compared(corpus, score(verdicts, answers), misses_of(corpus.name, verdicts, answers))
    if options.peers and corpus.language == "python":
        python = tools.python_tools(options.state / "tools")
        peer = kept(
            options.state / "oracles", f"{name}-jedi-{tools.JEDI}", partial(ask_jedi, root, verdicts, python)
        )
        sampled = {site: verdicts[site] for site in peer}
        compared.peer = score(sampled, {site: _as_answer(one) for site, one in peer.items()})
        compared.same_sample = score(sampled, {site: answers[site] for site in peer})
    return compared


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


def _as_answer(verdict: Verdict) -> Answer:
    """Return a tool's verdict as if it were the product's answer: its first definition."""
    if verdict.outcome == "project":
        return Answer("resolved", verdict.targets[0])
    return Answer("external" if verdict.outcome == "external" else "name")
