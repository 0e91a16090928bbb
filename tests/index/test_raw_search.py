"""Unread files that a question needs are read and linked before all others, as they are in the end."""

from __future__ import annotations

import shutil
from pathlib import Path

import foveal
import pytest
from foveal.daemon.index import indexer as indexing
from foveal.daemon.index import raw_search
from foveal.daemon.index.indexer import Steps
from foveal.daemon.index.messages import Refreshed
from foveal.daemon.search import structural
from foveal.daemon.search.records import Relation

from tests.indexer_cases import Bench, check_true, lexical_files, put


def link_first(bench: Bench, names: tuple[str, ...], words: tuple[str, ...] = ()) -> bool:
    """Read and link what mentions names first, or fits words; return whether this is complete."""
    return run(bench.indexer.link_first_in_steps(names, words)).complete


def run(steps: Steps[Refreshed]) -> Refreshed:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the generator returns


def unread(bench: Bench) -> set[str]:
    return set(bench.indexer._files.unread)


def name_all(bench: Bench, count: int) -> None:
    """Work until the names of `count` files are known; nothing is read by then."""
    bench.until(lambda: len(unread(bench)) == count and bench.indexer._changes.is_named)


def open_unread(bench: Bench, files: dict[str, str | bytes]) -> None:
    """Write files and let their names be known, and nothing else."""
    put(bench.root, files)
    bench.open()
    name_all(bench, len(files))


def links(bench: Bench, path: str) -> list[tuple[str, str, str]]:
    """Return the references in the definitions of a file: name, state, and target as a node id."""
    with bench.reader() as reader:
        found = reader.links.out_of([each.id for each in reader.links.definitions_at(path)])
        known = reader.links.definitions({link.target for link in found})
        targets = {number: f"{each.path}#{each.symbol.name}" for number, each in known.items()}
        return [(link.name, link.state, targets.get(link.target, "")) for link in found]


SHOP: dict[str, str | bytes] = {
    "shop/__init__.py": "from shop.parts import Bill\n",
    "shop/parts/__init__.py": "from shop.parts.bill import Bill\n",
    "shop/parts/bill.py": "from shop.base import Base\n\n\nclass Bill(Base):\n    def settle(self): ...\n",
    "shop/base.py": "from shop.root import Root\n\n\nclass Base(Root):\n    pass\n",
    "shop/root.py": "class Root:\n    def settle(self): ...\n",
    "desk.py": "from shop import Bill\n\n\ndef close(bill: Bill):\n    bill.settle()\n",
    "apart.py": "from desk import close\n\n\ndef unsettled():\n    close(None)\n",
    "notes.md": "# Unsettled\n",
}
"""A method whose callers are known by files that don't mention it, and whose base is two files away."""

CALL = ("settle", "resolved", "shop/parts/bill.py#Bill.settle")


def test_unread_files_that_mention_a_name_are_read_and_linked_first(bench: Bench) -> None:
    open_unread(bench, SHOP)
    assert link_first(bench, ("settle",))
    assert unread(bench) == {"apart.py", "notes.md"}, "files on which the links depend are read too"
    early = {path: links(bench, path) for path in SHOP if path != "apart.py"}
    assert CALL in early["desk.py"]
    assert ("Root", "resolved", "shop/root.py#Root") in early["shop/base.py"]
    bench.settle()
    assert early == {path: links(bench, path) for path in early}
    check_true(bench)


def test_a_file_read_first_is_linked_again_when_what_it_refers_to_is_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "FIRST_FILES", 2)
    open_unread(bench, SHOP)
    assert not link_first(bench, ("settle",)), "more files are needed than may be read first"
    assert "shop/parts/__init__.py" in unread(bench)
    assert CALL not in links(bench, "desk.py")
    bench.settle()
    assert CALL in links(bench, "desk.py")
    check_true(bench)


def test_a_name_in_too_many_files_is_not_complete(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_search, "FILES_MAX", 2)
    open_unread(bench, {f"u{number}.py": "f()\n" for number in range(5)})
    assert not link_first(bench, ("f",))
    assert len(unread(bench)) == 3
    bench.settle()
    assert link_first(bench, ("f",))
    check_true(bench)


def test_files_that_fit_words_best_are_read_if_none_has_the_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_search, "BEST_MAX", 2)
    monkeypatch.setattr(raw_search, "KEPT_MAX", 3)
    files: dict[str, str | bytes] = {f"f{number}.py": "# the ledger\n" for number in range(9)}
    files |= {"best.py": "# Reconciles the ledger.\n", "reconciling.py": "a = 1\n", "no.py": ""}
    open_unread(bench, files)
    assert link_first(bench, ("unheard",), ("ledger", "reconcil"))
    assert set(files) - unread(bench) == {"best.py", "reconciling.py"}
    assert lexical_files(bench, "ledger") == {"best.py"}, "they are found by their words at once"
    bench.settle()
    check_true(bench)


def test_subclasses_of_subclasses_are_read_first(bench: Bench) -> None:
    files: dict[str, str | bytes] = {
        "base.py": "class Base: ...\n",
        "near.py": "from base import Base\n\n\nclass Near(Base): ...\n",
        "far.py": "from near import Near\n\n\nclass Far(Near): ...\n",
        "other.py": "class Other: ...\n",
    }
    open_unread(bench, files)
    steps = bench.indexer.link_first_in_steps(("Base",), heirs=True)
    assert run(steps).complete
    assert unread(bench) == {"other.py"}
    assert [hit[0] for hit in hits(bench, "subclasses", "Base")] == ["near.py#Near", "far.py#Far"]
    bench.settle()
    check_true(bench)


def test_a_secret_file_is_not_read_first(bench: Bench) -> None:
    open_unread(bench, {".env": "KEY=settle\n", "a.py": "settle()\n"})
    assert link_first(bench, ("settle",))
    assert bench.tree.files[".env"].skipped == "secret"
    bench.settle()
    check_true(bench)


def test_an_unknown_name_is_not_taken_as_another_while_many_files_are_unread(bench: Bench) -> None:
    files: dict[str, str | bytes] = {
        "bill.py": "def settle_bill(): ...\n",
        "bill.rb": "def valid_bill?\nend\n",
        "desk.py": "def setle_bill2(): ...\n",
    }
    open_unread(bench, files)
    assert link_first(bench, ("settle_bill",))
    assert hits(bench, "definition", "settle_bill")
    assert not hits(bench, "definition", "settle_bil")
    assert link_first(bench, ("valid_bill",))
    assert unread(bench) == {"desk.py"}
    assert hits(bench, "definition", "valid_bill"), "the question's mark isn't that of a name"
    bench.settle()
    assert hits(bench, "definition", "settle_bil")


ROOMS = ("core", "index", "project")
NAMES: tuple[tuple[Relation, str], ...] = (
    ("callers", "Store.transaction"),
    ("references", "SizedCache"),
    ("subclasses", "WorkAhead"),
)


def test_answers_from_partly_read_files_are_those_of_the_whole_index(bench: Bench) -> None:
    package = Path(foveal.__file__).parent / "daemon"
    for room in ROOMS:
        shutil.copytree(package / room, bench.root / "foveal/daemon" / room, ignore=lambda _, names: [
            name for name in names if name == "__pycache__"
        ])  # fmt: skip
    bench.start(max_file_bytes=100_000)
    whole = {asked: hits(bench, *asked) for asked in NAMES}
    assert all(whole.values())
    for place, asked in enumerate(NAMES):
        part = Bench(bench.root, bench.folder.parent / f"part-{place}")
        part.open(max_file_bytes=100_000)
        name_all(part, len(bench.tree.files))
        assert link_first(part, structural.last_words([asked[1]]))
        assert len(unread(part)) > 10
        assert hits(part, *asked) == whole[asked]
        part.close()


def hits(bench: Bench, relation: Relation, name: str) -> list[tuple[object, ...]]:
    with bench.reader() as reader:
        found = structural.answer(relation, [name], bench.tree, reader, 1_000, linked_first=True)
        return [
            (hit.node_id, hit.line, hit.certainty, hit.via, tuple(hit.why), tuple(hit.steps), hit.score)
            for hit in found.hits
        ]


def test_only_some_patient_requests_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PATIENT_MAX", 2)
    open_unread(bench, SHOP)
    answers: list[bool] = []
    for name in ("settle", "Bill", "close"):
        bench.indexer.ask(
            bench.indexer.link_first_in_steps((name,)),
            lambda reply, _error: answers.append(reply is not None and reply.complete),
            patient=True,
        )
    assert answers == [False]
    bench.settle()
    assert answers == [False, True, True]
    check_true(bench)


def test_nothing_is_read_first_while_the_names_of_files_are_listed(bench: Bench) -> None:
    put(bench.root, {f"folder{number}/a.py": "settle()\n" for number in range(3)})
    bench.open()
    listing = bench.indexer._changes.list_all()
    next(listing)
    known = unread(bench)
    assert known
    assert not link_first(bench, ("settle",))
    assert unread(bench) == known
    bench.settle()
    assert link_first(bench, ("settle",))
    check_true(bench)
