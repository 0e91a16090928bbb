"""What the index says of a file counts only while the file is the one that was indexed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

import pytest
from foveal.daemon.config.settings import ProjectConfig
from foveal.daemon.context.known_files import KnownFiles
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.lexical_files import LexicalHandle
from foveal.daemon.index.messages import OpenProject
from foveal.daemon.index.reader_pool import ReaderPool
from foveal.daemon.project.index_view import read_tree
from foveal.daemon.project.snapshot import ProjectSnapshot
from foveal.daemon.rules.instruction_files import RuleSet

from tests.conftest import write_files

FILES: Mapping[str, str | bytes] = {
    "a.py": "import b\n\ndef fa(): ...\n",
    "b.py": "def fb(): ...\n",
    "empty.py": "",
    "blank.css": " \n\n",
    "style.css": "a { color: red }\n",
    "data.json": "{}\n",
    "effect.js": "document.title = 'x';\n",
    "notes.md": "no heading\n",
    "logo.png": b"\0\1",
}

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Opener:
    """An indexed project; `known` opens what one build knows of it."""

    def __init__(self, base: Path) -> None:
        self.root = write_files(base / "p", FILES)
        folder = str(base / "index")
        command = OpenProject(str(self.root), folder, 1 << 20, (), (), 2_000, 60)
        indexer = ProjectIndexer(command, System(), lambda event: None, lambda: None)
        while not indexer.patience():
            indexer.step()
        indexer.close()
        self._tree = read_tree(str(self.root), folder)[0]
        self._readers = ReaderPool(folder)
        self._stack = ExitStack()

    def known(self, overlays: Mapping[str, str] = _NOTHING, *, indexed: bool = True) -> KnownFiles:
        assert self._tree is not None
        snapshot = ProjectSnapshot(
            tree=self._tree,
            rules=RuleSet((), (), (), frozenset()),
            config=ProjectConfig(),
            overlays=overlays,
            degraded=(),
            reader=self._readers.borrow,
            lexical=LexicalHandle("/nowhere"),
            relevant_experiences=lambda focus, neighbours, words, limit, meaning: (),
            system=System(),
        )
        reader = self._stack.enter_context(self._readers.borrow()) if indexed else None
        return KnownFiles(snapshot, reader)

    def close(self) -> None:
        self._stack.close()
        self._readers.close()


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(tmp_path.resolve())
    yield opener
    opener.close()


def test_definitions_and_imports_are_those_of_the_file_on_the_disk(opener: Opener) -> None:
    files = opener.known()
    assert [symbol.name for symbol in files.symbols("a.py")] == ["fa"]
    assert [one.target for one in files.imports("a.py")] == ["b.py"]
    assert not files.stale
    write_files(opener.root, {"a.py": "def other(): ...\n"})
    files = opener.known()
    assert (files.symbols("a.py"), files.imports("a.py"), list(files.stale)) == ((), (), ["a.py"])


def test_an_unsaved_file_keeps_the_imports_that_it_was_saved_with(opener: Opener) -> None:
    files = opener.known({"a.py": "def half"})
    assert files.unsaved("a.py")
    assert [one.target for one in files.imports("a.py")] == ["b.py"]
    assert not files.stale


def test_without_an_index_nothing_is_known_and_nothing_lasts(opener: Opener) -> None:
    files = opener.known(indexed=False)
    assert files.read("a.py").text
    assert (files.symbols("a.py"), files.imports("a.py"), files.lasting) == ((), (), False)


def test_only_what_was_noted_is_proved(opener: Opener) -> None:
    files = opener.known()
    files.read("a.py")
    files.note("b.py")
    files.note("logo.png")
    assert sorted(files.shown) == ["b.py", "logo.png"]
    assert files.lasting
    files.note("gone.py")
    assert sorted(files.shown) == ["b.py", "logo.png"]
    assert not files.lasting, "no stamp tells when it will be there"


def test_what_is_bare(opener: Opener) -> None:
    files = opener.known()
    for path, expected in {
        "empty.py": True,
        "blank.css": True,
        "effect.js": True,
        "style.css": False,
        "data.json": False,
        "notes.md": False,
        "logo.png": False,
        "gone.py": False,
    }.items():
        assert files.is_bare(path) is expected, path
    assert not opener.known({"effect.js": "function half("}).is_bare("effect.js"), "nobody parsed the buffer"
    assert not opener.known(indexed=False).is_bare("effect.js"), "nobody knows"
    assert opener.known(indexed=False).is_bare("empty.py")
