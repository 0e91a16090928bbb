"""Links are what linking everything anew would give, whatever changed, and only what a change reaches is linked."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from foveal.daemon.index import indexer as indexing
from foveal.daemon.index import linking as linking_file
from foveal.daemon.index import project_index
from foveal.daemon.index import project_index as bulk_work
from foveal.daemon.index.link_table import KINDS
from foveal.daemon.index.linking import Linking
from foveal.daemon.index.store import Reader
from foveal.daemon.languages.shared.link_rules import LinkerView
from foveal.daemon.languages.shared.records import References, Symbol
from foveal.daemon.linking import questions
from foveal.daemon.linking.records import LinkedFile
from foveal.daemon.linking.service import link_file

from tests.indexer_cases import Bench, put


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that were linked."""
    paths: list[str] = []

    def link(
        path: str, language: str, symbols: Sequence[Symbol], references: References, world: LinkerView
    ) -> LinkedFile:
        paths.append(path)
        return link_file(path, language, symbols, references, world)

    monkeypatch.setattr(project_index, "Linking", partial(Linking, link=link))
    return paths


def links(bench: Bench, path: str = "") -> list[tuple[str, str]]:
    """Return what the calls, bases and decorators of a file, or of all, mean: ("a.py:3 f", "b.py#f")."""
    return sorted(_links(bench.folder, path))


def _links(folder: Path, path: str = "") -> Iterator[tuple[str, str]]:
    with closing(Reader(str(folder))) as reader:
        rows = reader._db.execute(
            "SELECT f.path, l.line, l.kind, n.name, l.target, l.state FROM links l"
            " JOIN files f ON f.id = l.file_id JOIN names n ON n.id = l.name"
        ).fetchall()
        definitions = reader.links.definitions([row[4] for row in rows if row[4]])
        assert {row[4] for row in rows if row[4]} == set(definitions), "no link dangles"
        for where, line, kind, name, target, state in rows:
            if path in {"", where} and KINDS[kind] in {"call", "inherit", "decorate"}:
                found = definitions.get(target)
                meaning = f"{found.path}#{found.symbol.name}" if found is not None else _STATES[state]
                yield f"{where}:{line} {name}", meaning


_STATES = {0: "?", 1: "module", 2: "external"}


def check_true(bench: Bench) -> None:
    """Check that the links are those of a first indexing, and that nothing waits."""
    fresh = Bench(bench.root, bench.folder.parent / f"fresh-{bench.indexer.generation}")
    tell = bench.tell
    fresh.open()
    fresh.settle()
    fresh.close()
    bench.tell = tell
    assert links(bench) == links(fresh)
    assert waiting(bench) == 0


def waiting(bench: Bench) -> int:
    with bench.reader() as reader:
        return reader.links.unlinked()


def change(bench: Bench, files: dict[str, str | bytes], removed: Sequence[str] = ()) -> None:
    """Change files as an editor does, and have the index follow."""
    for path in removed:
        (bench.root / path).unlink()
    put(bench.root, files)
    now = bench.disk.time_ns()
    for path in files:
        os.utime(bench.root / path, ns=(now, now))
    while not bench.sync().complete:
        bench.work()
    bench.settle()


SHOP: dict[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/base.py": "class Base:\n    def save(self):\n        return 1\n",
    "shop/cart.py": "from shop.base import Base\n\nclass Cart(Base):\n    def pay(self):\n        self.save()\n",
    "shop/other.py": "def other():\n    return 2\n",
    "main.py": "from shop.cart import Cart\nfrom shop.other import other\n\n"
    "def run():\n    Cart().pay()\n    other()\n",
    "apart.py": "import os\n\ndef apart():\n    os.getcwd()\n",
}


# The first time


def test_references_are_linked_when_the_index_is_ready(bench: Bench) -> None:
    bench.start(SHOP)
    assert links(bench) == [
        ("apart.py:4 getcwd", "external"),
        ("main.py:5 Cart", "shop/cart.py#Cart"),
        ("main.py:5 pay", "shop/cart.py#Cart.pay"),
        ("main.py:6 other", "shop/other.py#other"),
        ("shop/cart.py:3 Base", "shop/base.py#Base"),
        ("shop/cart.py:5 save", "shop/base.py#Base.save"),
    ]
    assert (bench.progress.unlinked, waiting(bench)) == (0, 0)
    assert bench.states == ["scanning", "indexing", "ready"]


def test_a_warm_start_links_nothing(bench: Bench, linked: list[str]) -> None:
    bench.start(SHOP)
    assert sorted(linked) == sorted(SHOP)
    linked.clear()
    bench.start()
    assert linked == []


def test_a_process_that_was_killed_goes_on_where_it_was(
    bench: Bench, linked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_work, "STEP_S", 0.0)
    files: dict[str, str | bytes] = {f"f{n}.py": f"from f{n + 1} import g\n\ng()\n" for n in range(30)}
    put(bench.root, files | {"f30.py": "def g(): ...\n"})
    bench.open()
    while not 5 <= len(linked) < 20:
        assert bench.work()
    left = waiting(bench)
    assert left == 31 - len(linked)
    assert bench.state == "indexing"
    linked.clear()
    bench.open()  # without a word to the former
    bench.settle()
    assert len(linked) == left
    assert (bench.state, len(bench.files_read())) == ("ready", 31)
    check_true(bench)


def test_another_linker_links_all_again_without_reading(
    bench: Bench, linked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start(SHOP)
    bench.files_read()
    linked.clear()
    monkeypatch.setattr(linking_file, "LINKER_VERSION", 999_999)
    bench.start()
    assert (sorted(linked), bench.files_read()) == (sorted(SHOP), [])
    linked.clear()
    bench.start()
    assert linked == []


# Edits


def test_an_edit_of_a_body_links_this_file_only_and_in_the_commit_that_has_it(
    bench: Bench, linked: list[str]
) -> None:
    bench.start(SHOP)
    linked.clear()
    edited = str(SHOP["shop/base.py"]).replace("return 1", "id(self)\n        return 1")
    put(bench.root, {"shop/base.py": f"\n{edited}"})
    before = bench.indexer.generation
    bench.indexer.refresh(["shop/base.py"])
    with bench.reader() as reader, reader.snapshot() as generation:
        assert generation == before + 2  # the file's stamp, then its content with its links
        (found,) = reader.links.definitions_at("shop/base.py", "Base.save")
        assert [(link.line, link.name, link.state) for link in reader.links.out_of([found.id])] == [
            (4, "id", "external")
        ]
    bench.settle()
    assert linked == ["shop/base.py"]
    check_true(bench)


def test_a_definition_that_goes_leaves_no_link_and_one_that_comes_is_found(
    bench: Bench, linked: list[str]
) -> None:
    bench.start(SHOP)
    linked.clear()
    change(bench, {"shop/other.py": "def another():\n    return 2\n"})
    assert ("main.py:6 other", "?") in links(bench)
    assert sorted(set(linked)) == ["main.py", "shop/other.py"]
    check_true(bench)
    linked.clear()
    change(bench, {"shop/other.py": SHOP["shop/other.py"]})
    assert ("main.py:6 other", "shop/other.py#other") in links(bench)
    assert sorted(set(linked)) == ["main.py", "shop/other.py"]
    check_true(bench)


def test_a_definition_keeps_its_id_while_its_file_is_edited(bench: Bench) -> None:
    bench.start(SHOP)

    def ids() -> dict[str, int]:
        with bench.reader() as reader:
            return {each.symbol.name: each.id for each in reader.links.definitions_at("shop/base.py")}

    before = ids()
    change(bench, {"shop/base.py": f"def first(): ...\n\n{SHOP['shop/base.py']!s}"})
    assert {name: before[name] for name in before} == {name: ids()[name] for name in before}
    assert ids()["first"] not in before.values()


def test_a_changed_base_links_those_that_ask_for_it_and_only_those(bench: Bench, linked: list[str]) -> None:
    bench.start(SHOP | {"shop/root.py": "class Root:\n    def save(self): ...\n"})
    linked.clear()
    change(
        bench, {"shop/base.py": "from shop.root import Root\n\nclass Base(Root):\n    def load(self): ...\n"}
    )
    assert ("shop/cart.py:5 save", "shop/root.py#Root.save") in links(bench)
    # main.py asked for Base on its way to `Cart().pay`, the others for nothing in it.
    assert set(linked) <= {"shop/base.py", "shop/cart.py", "main.py"}
    assert {"shop/base.py", "shop/cart.py"} <= set(linked)
    check_true(bench)


def test_a_name_that_comes_links_those_that_mention_it_and_only_those(
    bench: Bench, linked: list[str]
) -> None:
    users: dict[str, str | bytes] = {
        "uses.py": "from lib import *\nfrom lib import old\n\nold()\nfresh()\n",
        "other.py": "from lib import *\nfrom lib import old\n\nold()\n",
    }
    bench.start(users | {"lib.py": "def old(): ...\n"})
    assert ("uses.py:5 fresh", "?") in links(bench)
    linked.clear()
    change(bench, {"lib.py": "def old(): ...\ndef fresh(): ...\n"})
    assert ("uses.py:5 fresh", "lib.py#fresh") in links(bench)
    assert sorted(set(linked)) == ["lib.py", "uses.py"]
    check_true(bench)


def test_a_new_name_relinks_files_that_refer_to_it_through_others(bench: Bench) -> None:
    bench.start(
        {
            "made.py": "",
            "maker.py": "import made\n\ndef make():\n    return made.Thing()\n",
            "user.py": "from maker import make\n\nmake().run()\n",
        },
    )
    assert ("user.py:3 run", "?") in links(bench)
    change(bench, {"made.py": "class Thing:\n    def run(self): ...\n"})
    assert ("user.py:3 run", "made.py#Thing.run") in links(bench)
    check_true(bench)


# Files that come and go


def test_a_file_that_goes_takes_its_links_along_and_one_that_appears_is_meant(
    bench: Bench, linked: list[str]
) -> None:
    bench.start(SHOP)
    linked.clear()
    change(bench, {}, removed=["shop/cart.py"])
    assert [pair for pair in links(bench) if "cart" in str(pair)] == []
    assert ("main.py:5 Cart", "?") in links(bench)
    assert sorted(set(linked)) == ["main.py"]
    change(bench, {"shop/other.py": b"\0\1\2" * 100})
    assert ("main.py:6 other", "?") in links(bench), "it is no text any more"
    check_true(bench)
    linked.clear()
    change(bench, {path: SHOP[path] for path in ("shop/cart.py", "shop/other.py")})
    assert ("main.py:5 Cart", "shop/cart.py#Cart") in links(bench)
    assert ("main.py:6 other", "shop/other.py#other") in links(bench)
    assert sorted(set(linked)) == ["main.py", "shop/cart.py", "shop/other.py"]
    check_true(bench)


def test_where_an_import_leads_now_is_linked_by_config_too(bench: Bench) -> None:
    paths = '{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["%s/*"]}}}'
    bench.start(
        {
            "tsconfig.json": paths % "one",
            "one/f.ts": "export function f() {}\n",
            "two/f.ts": "export function f() {}\n",
            "main.ts": "import { f } from '@lib/f'\n\nf()\n",
        },
    )
    assert links(bench, "main.ts") == [("main.ts:3 f", "one/f.ts#f")]
    change(bench, {"tsconfig.json": paths % "two"})
    assert links(bench, "main.ts") == [("main.ts:3 f", "two/f.ts#f")]


# Hard cases


def test_a_file_that_cannot_be_linked_is_reported_and_stops_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(
        path: str, language: str, symbols: Sequence[Symbol], references: References, world: LinkerView
    ) -> LinkedFile:
        if path == "main.py":
            raise RecursionError("too deep")
        return link_file(path, language, symbols, references, world)

    with monkeypatch.context() as patched:
        patched.setattr(project_index, "Linking", partial(Linking, link=link))
        bench.start(SHOP)
        assert ("shop/cart.py:5 save", "shop/base.py#Base.save") in links(bench)
        assert links(bench, "main.py") == []
        assert bench.progress.degraded == ("what main.py refers to is not known: RecursionError: too deep",)


def test_a_file_with_too_many_linking_steps_is_reported(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: tuple[str, ...] = (
        "what main.py and 1 more refers to is known in part, the rest by name: following it takes too long",
    )
    with monkeypatch.context() as patched:
        patched.setattr(questions, "FILE_STEPS_MIN", 2 * questions.INTERFACE_STEPS)
        patched.setattr(questions, "REFERENCE_STEPS", 0)
        bench.start(SHOP)
        assert bench.progress.degraded == told
        assert ("main.py:6 other", "?") in links(bench)
        bench.close()
        bench.start()
        assert bench.progress.degraded == told
    change(bench, {path: f"{SHOP[path]!s}\n" for path in ("main.py", "shop/cart.py")})
    assert bench.progress.degraded == ()
    check_true(bench)


def test_damaged_facts_are_read_again_with_the_next_process(bench: Bench) -> None:
    bench.start(SHOP)
    store = bench.indexer._index.store
    with store.side_notes():
        store._db.execute("UPDATE facts SET interface = x'00', refs = x'00'")
        store.links.queue_all()
    bench.start()
    bench.files_read()
    bench.start()
    assert bench.files_read() == sorted(SHOP)
    check_true(bench)


def test_readers_see_whole_states_while_files_are_linked(bench: Bench) -> None:
    bench.start(SHOP)
    failures: list[BaseException] = []
    stop = threading.Event()
    begun = threading.Barrier(3)

    def read() -> None:
        try:
            with closing(Reader(str(bench.folder))) as reader:
                begun.wait()
                while not stop.is_set():
                    with reader.snapshot():
                        (found,) = reader.links.definitions_at("main.py", "run")
                        called = reader.links.out_of([found.id], ["call"])
                        assert {link.name for link in called} == {"Cart", "pay", "other"}
                        ids = {link.target for link in called if link.target}
                        assert set(reader.links.definitions(ids)) == ids
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)
            begun.abort()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait()
    for turn in range(10):
        other = "another" if turn % 2 else "other"
        change(bench, {"shop/other.py": f"def {other}():\n    return {turn}\n"})
        change(bench, {"main.py": "\n" * (turn % 3) + str(SHOP["main.py"])})
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


# How far


def test_a_sync_says_whether_all_is_linked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    users: dict[str, str | bytes] = {f"u{n}.py": "from lib import f\n\nf()\n" for n in range(20)}
    bench.start(users | {"lib.py": "def f(): ...\n"})
    monkeypatch.setattr(indexing, "SYNC_LINKING_S", 0.0)
    monkeypatch.setattr(bulk_work, "STEP_S", 0.0)
    put(bench.root, {"lib.py": "def other(): ...\n"})
    assert not bench.sync().complete
    assert bench.state == "indexing"
    assert 0 < bench.progress.unlinked < 20
    bench.settle()
    assert (bench.state, bench.progress.unlinked) == ("ready", 0)
    assert bench.sync().complete
    check_true(bench)


# Names that a question asks about


def link_first(bench: Bench, *names: str) -> bool:
    """Link the files that mention or define names first; return whether all of these are linked."""
    steps = bench.indexer.link_first_in_steps(names)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bool(end.value.complete)


def test_files_that_mention_or_define_a_name_are_linked_first(
    bench: Bench, linked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start(SHOP)
    known = links(bench)
    monkeypatch.setattr(linking_file, "LINKER_VERSION", 1_000)
    monkeypatch.setattr(linking_file, "BATCH_FILES", 2)
    monkeypatch.setattr(indexing, "STEP_S", 0.0)
    bench.open()
    linked.clear()
    assert waiting(bench) == len(SHOP)
    assert link_first(bench, "pay")
    assert sorted(set(linked)) == ["main.py", "shop/base.py", "shop/cart.py"], (
        "base.py has a base of a definer"
    )
    assert waiting(bench) == len(SHOP) - 3, "the others wait as before"
    assert link_first(bench, "pay", "nothing is named so")
    bench.settle()
    assert links(bench) == known
    check_true(bench)
