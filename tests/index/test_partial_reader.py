"""An index is read as if its hidden files weren't in it, also those that came a moment ago."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.lexical_handle import LexicalHandle
from foveal.daemon.index.messages import OpenProject
from foveal.daemon.index.store import Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search.filters import EVERYTHING
from foveal.daemon.search.router import conclude, gather
from foveal.daemon.workspace.index_view import PartialReader

from tests.conftest import write_files

FILES: dict[str, str | bytes] = {
    "app.py": "from hidden.vault import hoard\n\n\ndef run():\n    return hoard()\n\n\ndef helper(): ...\n",
    "hidden/vault.py": "from app import helper\n\n\ndef hoard():\n    return helper()\n",
    "hidden/__init__.py": "",
}


class Index:
    """A project whose index follows its files when it is told to."""

    def __init__(self, base: Path, files: dict[str, str | bytes]) -> None:
        self.root = write_files(base / "p", files)
        self.folder = str(base / "index")
        command = OpenProject(str(self.root), self.folder, 1 << 20, (), (), 2_000, 60)
        self.indexer = ProjectIndexer(command, System(), lambda event: None, lambda: None)
        self.settle()

    def settle(self) -> None:
        while not self.indexer.patience():
            self.indexer.step()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index(tmp_path, FILES)
    yield index
    index.indexer.close()


def is_hidden(path: str) -> bool:
    return path.startswith("hidden/")


def test_no_question_meets_a_hidden_file(index: Index) -> None:
    with closing(Reader(index.folder)) as whole, whole.snapshot():
        assert [link.path for link in whole.links.into([d.id for d in whole.links.definitions_at("app.py")])]
        hoard = [each.id for each in whole.links.definitions_at("hidden/vault.py")]
        chunks = [chunk.id for chunk in whole.chunks.of_paths(["hidden/vault.py"])]
        digests = whole.chunks.digests_of(whole.chunks.file_ids(["hidden/vault.py"]).values())
        assert hoard
        assert chunks
    with closing(PartialReader(index.folder, is_hidden, "k")) as part, part.snapshot():
        own = [each.id for each in part.links.definitions_at("app.py")]
        assert set(part.load_files()) == {"app.py"}
        assert part.record("hidden/vault.py") is None
        assert part.symbols("hidden/vault.py") == ()
        assert {one.target for one in part.imports("app.py")} <= {""}
        assert part.importers("app.py") == ()
        assert part.definitions_named("hoard") == ()
        assert part.links.definitions(hoard) == {}
        assert part.links.into(own) == []
        assert [link.name for link in part.links.out_of(own)] == []
        assert part.links.inside(hoard) == []
        assert part.graph.definitions_named("hoard", 5) == []
        assert part.graph.count_named("hoard") == 0
        assert part.graph.base_names(9) == ["helper", "run"]
        assert part.graph.import_edges() == []
        assert part.graph.edges_into(["app.py", "hidden/vault.py"]) == []
        assert part.graph.leads_on(own, 9) == part.graph.leads_back(own, 9) == []
        assert part.chunks.at([("hidden/vault.py", 1)]) == {}
        assert part.chunks.by_ids(chunks) == {}
        assert part.chunks.present(chunks) == []
        assert part.chunks.texts(chunks) == {}
        assert part.chunks.places_by_digests(digests, 9) == []
        assert part.chunks.by_digests(digests) == []
        assert part.chunks.of_paths(["hidden/vault.py"]) == []
        assert part.chunks.places_in(["hidden/vault.py"]) == []
        assert part.chunks.places(chunks) == {}
        assert {one.path for one in part.activity(9)} <= {"app.py"}


def test_new_files_are_hidden_in_the_next_snapshot(index: Index) -> None:
    with closing(PartialReader(index.folder, is_hidden, "k")) as part:
        for _ in range(2):
            (index.root / "hidden" / "late.py").write_text("def late(): ...\n")
            index.indexer.sync()
            with part.snapshot():
                assert part.definitions_named("late") == ()
                assert set(part.load_files()) == {"app.py"}
            (index.root / "hidden" / "late.py").unlink()
            index.indexer.sync()
        (index.root / "open.py").write_text("def late(): ...\n")
        index.indexer.sync()
        with part.snapshot():
            assert [path for path, _ in part.definitions_named("late")] == ["open.py"]


def test_hidden_files_take_no_places_from_others(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"hidden/m{n}.py": f"def treasure_{n}(): return 'treasure chamber'\n" for n in range(450)
    }
    files["app.py"] = "# treasure\n" + "\n".join(f"x{n} = {n}" for n in range(40))
    index = Index(tmp_path, files)
    handle = LexicalHandle(index.folder)
    with closing(Reader(index.folder)) as reader:
        whole = Tree(str(index.root), index.indexer.generation, reader.load_files())
    part = whole.without([path for path in whole.files if is_hidden(path)])
    with closing(PartialReader(index.folder, is_hidden, "k")) as reader, reader.snapshot():
        gathered = gather("treasure chamber", part, reader, handle, EVERYTHING, None, 10)
        assert [hit.path for hit in conclude(gathered, (), part, reader, 10)] == ["app.py"]
    index.indexer.close()
