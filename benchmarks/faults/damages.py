"""Each kind of state file, damaged in each way, and read as a daemon reads it.

A file is damaged while nobody has it open, by a disk: its time stays. The reader is a process of its own, so
that one that hangs or crashes is seen; it runs as a user for whom the modes of files count. An answer is
right if it is that of the whole file, or lacks some of it and that is said: in what the owner of the file
says, or by a quarantined file, which Status names.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from foveal.daemon.context.scopes import ScopeStore
from foveal.daemon.core.errors import FovealError, NotFound, StateError
from foveal.daemon.core.quarantine import QuarantineLog
from foveal.daemon.core.record_file import RecordFile
from foveal.daemon.core.system import System
from foveal.daemon.embedding import vectors
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.vectors import VectorIndex
from foveal.daemon.index.lexical_files import LexicalDamaged
from foveal.daemon.index.lexical_indexer import LexicalDocument, LexicalWriter
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.store import Reader, Store
from foveal.daemon.memory.experience import Draft
from foveal.daemon.memory.pool import Pool
from foveal.daemon.privacy.trust import TrustStore
from foveal.daemon.project.roots import make_usable
from foveal.daemon.rules.approvals import Approvals
from foveal.daemon.rules.item_store import ItemStore, draft_of
from foveal.daemon.sessions import delivery_tables
from foveal.daemon.sessions.context_history import get_context, list_contexts
from foveal.daemon.sessions.delivered_context import ContextFilter
from foveal.daemon.sessions.request_log import ExportQuery, export_requests
from foveal.daemon.sessions.scope import Scope
from foveal.daemon.sessions.session_store import SessionStore
from foveal.daemon.workspace.index_view import read_tree
from msgspec import to_builtins

from . import damaging
from .damaging import Damage, files_below
from .filled import fill, project_files
from .home import PROJECT, home, modes_count_command
from .promise import Ground, Trial

HANG_S = 30.0
"""Seconds after which a reader counts as hanging; an open takes milliseconds."""

SYSTEM = System()
DIM = 32
MODEL = "model"
ROTATE_BYTES = 4_000
TERMS = {"session": 1.0, "login": 1.0, "password": 1.0}

WAYS: Mapping[str, Damage] = {
    "cut": damaging.truncated,
    "zeroed page": damaging.zeroed_page,
    "1 flip": damaging.flipped,
    "20 flips": damaging.flipped_20,
    "1,000 flips": damaging.flipped_1000,
    "garbage behind": damaging.garbage_behind,
    "other content": damaging.another_content,
    "schema edited": damaging.schema_edited,
    "older copy": lambda path, chance: "",
    "folder": damaging.a_folder,
    "pipe": damaging.a_pipe,
    "link": damaging.a_link,
    "no permission": damaging.unreadable,
}

SQL_ONLY = frozenset({"schema edited"})


@dataclass(frozen=True, slots=True)
class Answers:
    """What the owner of a kind of file answers, by name, and what it says is wrong."""

    found: dict[str, Any]
    said: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of state file: what makes one, what adds to it later, and what reads it as a daemon does.

    `edited` says that a person may edit it: what can be read of it is right. `derived` that it is made anew.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], Answers]
    add: Callable[[Path], None] | None = None
    edited: bool = False
    derived: bool = False
    of_project: bool = False
    """Whether it lies in a project's own folder, which is made usable before anything is read there."""


def _make_pool(folder: Path) -> None:
    pool = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    for number in range(60):
        pool.graft([Draft(f"decision {number}", "a", "s", "why " * (number % 20))])


def _make_session(folder: Path) -> None:
    store = SessionStore(str(folder), SYSTEM)
    for name in ("one", "other"):
        store.create("/srv/shop", (), session_id=name, name="a name")


def _make_items(folder: Path) -> None:
    store = ItemStore(str(folder / "items.json"), SYSTEM)
    for number in range(10):
        fields = {"type": "rule", "name": f"rule {number}", "text": "Be short.", "include": "always"}
        store.put(draft_of(fields))


def _make_trust(folder: Path) -> None:
    trusted = {"version": 1, "trusted": {"/srv/shop": {"foveal.toml": ["ab" * 32]}}}
    (folder / "trusted.json").write_text(json.dumps(trusted))
    record = {"path": "/srv/x", "section": "", "digest": "cd" * 32, "at": "2026-01-01T00:00:00Z"}
    (folder / "approvals.json").write_text(json.dumps({"version": 1, "approved": [record]}))


def _make_lexical(folder: Path) -> None:
    writer = LexicalWriter.create(str(folder / "lexical"))
    for number in range(40):
        body = ["session", f"word{number}", *(["login"] if number % 2 else ["password"])]
        writer.replace(number, [LexicalDocument(number, "function", body, ["src", f"f{number}"], ["Name"])])
        if number % 20 == 19:
            writer.commit()
    writer.close()


def _read_pool(folder: Path) -> Answers:
    pool = Pool(str(folder / "experiences.jsonl"), SYSTEM, rotate_bytes=ROTATE_BYTES)
    found = {one.decision: one.rationale for one in pool.list()[0]}
    statistics = pool.statistics()
    said = statistics.bad_lines + statistics.unknown_lines + statistics.repaired_tails
    return Answers(found, f"{said} lines" if said else statistics.problem)


def _read_session(folder: Path) -> Answers:
    store, found, said = SessionStore(str(folder), SYSTEM), {}, []
    for name in ("one", "other"):
        try:
            found[name] = store.get(name).name
        except (NotFound, StateError) as error:
            said.append(str(error))
    return Answers(found, " ".join((*said, *store.list().warnings)))


def _or_said(read: Callable[[], dict[str, Any]]) -> Answers:
    try:
        return Answers(read())
    except StateError as error:
        return Answers({}, str(error))


def _read_items(folder: Path) -> Answers:
    store = ItemStore(str(folder / "items.json"), SYSTEM)
    return _or_said(lambda: {one.name: draft.text for one, draft in store.load().drafts.items()})


def _read_trust(folder: Path) -> Answers:
    store = TrustStore(str(folder / "trusted.json"), SYSTEM)
    trusted = _or_said(lambda: {path: sorted(each) for path, each in store.of("/srv/shop").digests.items()})
    approvals = Approvals(str(folder / "approvals.json"), SYSTEM)
    approved = _or_said(
        lambda: {
            str(place): [one.digest for one in each] for place, each in approvals.load().approvals.items()
        }
    )
    return Answers({**trusted.found, **approved.found}, trusted.said + approved.said)


def _make_scopes(folder: Path) -> None:
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    for number in range(300):
        scope = Scope(f"s_{number}", "/srv/shop", f"i{number}", focus_paths=("a.py",), constraints=("short",))
        store.write({scope.id: scope})
    store.close()


def _add_scope(folder: Path) -> None:
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    store.write({"s_last": Scope("s_last", "/srv/shop", "last")})
    store.close()


def _read_scopes(folder: Path) -> Answers:
    store = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    scopes = store.load()
    unreadable = f"{store.unreadable} can't be read" if store.unreadable else ""
    store.write({"s_new": Scope("s_new", "/srv/shop", "new")})
    store.close()
    again = ScopeStore(str(folder / "scopes.sqlite"), SYSTEM)
    if "s_new" not in {scope.id for scope in again.load()}:
        raise AssertionError("a scope that was written is gone")
    again.close()
    return Answers(
        {scope.id: json.dumps(to_builtins(scope)) for scope in scopes}, store.replaced + unreadable
    )


def _read_requests(folder: Path) -> Answers:
    said = ""
    for _ in range(3):
        try:
            file = RecordFile(
                str(folder / delivery_tables.FILE), delivery_tables.SCHEMA, delivery_tables.VERSION, SYSTEM
            )
            with file.reading() as database:
                requests = export_requests(database, ExportQuery(limit=1_000, content=True)).requests
                found: dict[str, Any] = {
                    one.record.id: [one.record.tokens, one.record.bytes, one.problem] for one in requests
                }
                for row in list_contexts(database, ContextFilter(), (), 1_000, ""):
                    try:
                        stored = get_context(database, row.id)
                    except FovealError as error:
                        said += str(error)
                    else:
                        found[row.id] = [row.tokens, row.bytes, stored and json.dumps(stored.reply)]
            said += " ".join(file.take_warnings())
            file.close()
        except FovealError as error:
            said += str(error)
        else:
            return Answers(found, said)
    raise AssertionError(f"it stays unusable: {said}")


def _make_embeddings(folder: Path) -> None:
    store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM)
    chance = np.random.default_rng(1)
    digests = [number.to_bytes(16, "big") for number in range(400)]
    store.put(MODEL, digests, chance.standard_normal((400, DIM), dtype=np.float32))
    store.close()


def _add_embedding(folder: Path) -> None:
    store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM)
    store.put(MODEL, [b"l" * 16], np.ones((1, DIM), dtype=np.float32))
    store.close()


def _read_embeddings(folder: Path) -> Answers:
    from foveal.daemon.core.storage import DatabaseError, damage_raised, may_pass

    said, check = "", False
    for _ in range(2):
        store = EmbeddingStore(str(folder / "embeddings.sqlite"), SYSTEM, check=check)
        said += store.replaced
        try:
            with damage_raised():
                known = [number.to_bytes(16, "big") for number in range(400)]
                stored = store.vectors(MODEL, store.ids(MODEL, [*known, b"l" * 16]).values())
                found = {
                    digest.hex(): [round(float(one), 4) for one in row[:4]]
                    for digest, row in zip(stored.digests, stored.matrix, strict=True)
                }
                store.put(MODEL, [b"n" * 16], np.ones((1, store.dim(MODEL) or DIM), dtype=np.float32))
        except DatabaseError as error:
            if may_pass(error):
                raise
            said, check = f"{said} {error}", True
        else:
            return Answers(found, said)
        finally:
            with suppress(DatabaseError):
                store.close()
    raise AssertionError(f"it stays unusable: {said}")


def _dump(folder: Path) -> dict[str, Any]:
    reader = Reader(str(folder))
    try:
        with reader.snapshot():
            found: dict[str, Any] = {}
            for path, record in reader.load_files().items():
                symbols = [to_builtins(symbol) for symbol in reader.symbols(path)]
                imports = [str(one) for one in reader.imports(path)]
                texts = [
                    text.text
                    for text in reader.chunks.texts(c.id for c in reader.chunks.of_paths([path])).values()
                ]
                found[path] = json.dumps([str(record), symbols, imports, reader.importers(path), texts])
            return found
    finally:
        reader.close()


def _read_index(folder: Path) -> Answers:
    tree, _ = read_tree("/srv/shop", str(folder))  # as the daemon does, before the indexer checks the file
    store = Store(str(folder), SYSTEM)
    said = store.replaced
    store.set_meta("seen", "1")
    store.close()
    found = _dump(folder)
    if not said and tree is not None and tree.files.keys() - found.keys():
        raise AssertionError("the daemon read a tree that is in no file")
    return Answers(found, said)


def _add_to_index(folder: Path) -> None:
    store = Store(str(folder), SYSTEM)
    with store.transaction():
        store.remove_files([next(iter(store.load_files()))])
    store.close()


def _read_lexical(folder: Path) -> Answers:
    try:
        found = LexicalReader(str(folder / "lexical")).search(TERMS, 100)
    except (LexicalDamaged, OSError) as error:
        return Answers({}, str(error))
    return Answers({str(hit.chunk_id): hit.score for hit in found})


vectors.TAIL_VECTORS = 64  # so that few vectors make a file


def _make_vectors(folder: Path) -> None:
    index = VectorIndex(str(folder), DIM, MODEL, SYSTEM)
    chance = np.random.default_rng(2)
    index.add(range(1, 301), chance.standard_normal((300, DIM), dtype=np.float32))
    index.save()
    index.close()


def _read_vectors(folder: Path) -> Answers:
    before = set(os.listdir(folder))
    index = VectorIndex(str(folder), DIM, MODEL, SYSTEM)
    removed = before - set(os.listdir(folder))
    ids = sorted(index.ids().tolist())
    near = index.search(np.ones((1, DIM), dtype=np.float32), 5) if ids else None
    index.close()
    found = {str(one): "" for one in ids} | ({"near": str(near)} if near is not None else {})
    return Answers(found, " ".join(sorted(removed)))


KINDS: Mapping[str, Kind] = {
    "index": Kind(lambda _: None, _read_index, _add_to_index, derived=True, of_project=True),
    "scopes": Kind(_make_scopes, _read_scopes, _add_scope),
    "requests": Kind(lambda _: None, _read_requests),
    "embeddings": Kind(_make_embeddings, _read_embeddings, _add_embedding),
    "lexical": Kind(_make_lexical, _read_lexical, derived=True, of_project=True),
    "vectors": Kind(_make_vectors, _read_vectors, derived=True, of_project=True),
    "pool": Kind(_make_pool, _read_pool, edited=True, of_project=True),
    "session": Kind(_make_session, _read_session, edited=True),
    "items": Kind(_make_items, _read_items, edited=True, of_project=True),
    "trust": Kind(_make_trust, _read_trust, edited=True),
}

FROM_DAEMON = {"index": "projects/*/index.sqlite*", "requests": "deliveries.sqlite*"}
"""Kinds whose files come from a daemon in use, and which of its files these are."""


class Reading:
    """The process that reads damaged files, started again when it died or hung."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._command = [*modes_count_command()[:-5], sys.executable, "-m", __name__]

    def read(self, kind: str, folder: Path) -> dict[str, Any]:
        """Return the answers and what was said; or `error`, or `hang`."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # then it has ended, which reading says
            process.stdin.write(json.dumps([kind, str(folder)]) + "\n")
            process.stdin.flush()
        if not select.select([process.stdout], [], [], HANG_S)[0]:
            self.close()
            return {"hang": True}
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.close()
            return {"error": f"the process that opened it ended with {code}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self._process


def try_damages(ground: Ground) -> Iterator[Trial]:
    """Damage every kind of file in every way, as often as the count allows, and read it; each pair in its
    turn."""
    whole = ground.folder / "whole"
    _make_whole(ground.folder, whole)
    chance = random.Random(ground.seed)
    reading = Reading()
    try:
        expected = {}
        for kind in KINDS:
            shutil.copytree(whole / kind, ground.folder / "e", symlinks=True)
            expected[kind] = reading.read(kind, ground.folder / "e")
            shutil.rmtree(ground.folder / "e")
            assert expected[kind].get("said") == "", (kind, expected[kind])
        pairs = [(kind, way) for kind in KINDS for way in WAYS if _applies(kind, way, whole)]
        for number in range(ground.count):
            kind, way = pairs[number % len(pairs)]
            folder = ground.folder / f"t{number}"
            shutil.copytree(whole / kind, folder, symlinks=True)
            name, left = _damage(folder, whole, kind, way, chance)
            if name:
                lost = _judge(
                    reading.read(kind, folder),
                    expected[kind],
                    by_hand=_is_by_hand(left, kind, way),
                    by_line=kind == "pool",
                )
                yield Trial(f"{kind} {name}", lost)
            else:
                yield Trial(f"{kind}: {way} changed nothing")
            _remove(folder)
    finally:
        reading.close()


def _applies(kind: str, way: str, whole: Path) -> bool:
    if way in SQL_ONLY:
        return bool(_databases(whole / kind))
    return way != "older copy" or (whole / f"{kind}.older").is_dir()


def _databases(folder: Path) -> list[Path]:
    return [path for path in files_below(folder) if path.suffix in {".sqlite", ".db"}]


def _damage(folder: Path, whole: Path, kind: str, way: str, chance: random.Random) -> tuple[str, bytes]:
    """Damage one file of a folder; returns in words what was done, "" where that changed nothing, and what
    the file holds now."""
    files = _databases(folder) if way in SQL_ONLY | {"older copy"} else list(files_below(folder))
    path = chance.choice(files or list(files_below(folder)))
    before, status = path.read_bytes(), path.stat()
    if way == "older copy":
        shutil.copy2(whole / f"{kind}.older" / path.relative_to(folder), path)
        done = "replaced by an older copy"
    else:
        done = WAYS[way](path, chance)
    if path.is_file() and not path.is_symlink():
        if way != "no permission" and path.read_bytes() == before:
            return "", b""
        if way != "older copy":
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # a disk changes no time
        return f"{path.name}: {done}", path.read_bytes()
    return f"{path.name}: {done}", b""


def _is_by_hand(left: bytes, kind: str, way: str) -> bool:
    """Whether nobody can tell a damaged file from a whole one: a person could have written it or put it back,
    or only the content of a database changed. docs/reliability.md says so."""
    if left.startswith(b"SQLite format 3\0") and way not in SQL_ONLY | {"cut", "older copy"}:
        return True
    if way == "older copy":
        # An older index has older stamps, by which its files are read again.
        return not KINDS[kind].derived or kind == "index"
    if not KINDS[kind].edited:
        return False
    try:
        lines = left.splitlines() if kind == "pool" else [left]
        return all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _judge(answer: dict[str, Any], expected: dict[str, Any], *, by_hand: bool, by_line: bool) -> str:
    """Return what was lost, "" for nothing; it begins with a column of the table.

    What is `by_hand` may answer anything; `by_line`, the lines that can be read may.
    """
    if "hang" in answer:
        return "hangs: it took too long"
    if "error" in answer:
        return f"not started: {answer['error']}"
    found, wanted, said = answer["found"], expected["found"], answer["said"]
    if found == wanted or by_hand:
        return ""
    if not said:
        return f"unsaid: {len(wanted)} answers became {len(found)}"
    others = {name: text for name, text in found.items() if wanted.get(name) != text}
    return f"wrong: {str(others)[:200]} ({said[:200]})" if others and not by_line else ""


def _make_whole(folder: Path, whole: Path) -> None:
    """Make the files of each kind, as they lie when nobody has them open, and those of a moment before."""
    for kind, row in KINDS.items():
        (whole / kind).mkdir(parents=True)
        row.make(whole / kind)
    with home(folder / "h", files={**PROJECT, **project_files()}) as user:
        fill(user)
        user.end()
        for kind, pattern in FROM_DAEMON.items():
            for path in user.state.glob(pattern):
                shutil.copy2(path, whole / kind)
    for kind, row in KINDS.items():
        if row.add is not None:
            shutil.copytree(whole / kind, whole / f"{kind}.older")
            row.add(whole / kind)


def _remove(folder: Path) -> None:
    for base, folders, _ in os.walk(folder):
        for path in (os.path.join(base, name) for name in folders):
            with suppress(OSError):
                if not os.path.islink(path):  # a planted link may lead to the file system's root
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Read what is named on standard input until that ends."""
    for line in sys.stdin:
        kind, name = json.loads(line)
        folder = Path(name)
        quarantine = QuarantineLog(str(folder), System())
        try:
            made = make_usable(name, str(folder.parent), SYSTEM) if KINDS[kind].of_project else ""
            answers = KINDS[kind].read(folder)
        except Exception as error:  # noqa: BLE001 - what comes out of an owner is what is asked for
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:500]}), flush=True)
            continue
        said = " ".join(filter(None, (made, answers.said, quarantine.problem())))
        print(json.dumps({"found": answers.found, "said": said}), flush=True)


if __name__ == "__main__":
    main()
