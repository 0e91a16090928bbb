"""What waits is embedded, the smallest project first; what fails is put off, said, and made up for."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.errors import FovealError
from foveal.daemon.core.storage import DatabaseError, OperationalError
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.embedding.lazy_model import RETRY_S as MODEL_RETRY_S
from foveal.daemon.embedding.messages import (
    DEFAULT_MODEL,
    ForgetVectors,
    Forgotten,
    Pushed,
    SearchVectors,
    SharedStore,
    VectorHits,
)
from foveal.daemon.embedding.model import model_key
from foveal.daemon.embedding.redis_source import RedisSource
from foveal.daemon.embedding.shared_source import VectorCodec
from foveal.daemon.embedding.sharing import SharedEmbeddings, Vectors
from foveal.daemon.embedding.vector_search import VectorSearch
from foveal.daemon.embedding.vector_updater import (
    BATCH,
    MODELS_FOLDER,
    RETRY_S,
    STORE_FILE,
    OpenShared,
)
from foveal.daemon.index.records import FILE_NAME

from tests.model_cases import SECOND_MODEL, add_second_model
from tests.redis_cases import redis_server
from tests.search_cases import chunk, put
from tests.updater_cases import GENEROUS_S, Bench, some


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    one = Bench(tmp_path)
    yield one
    one.close()


def test_kept_projects_are_embedded_and_reported(bench: Bench) -> None:
    bench.keep("p", *some("f", BATCH + 3))
    assert bench.counts("p") == (BATCH + 3, BATCH + 3, "")
    assert bench.progress["p"].per_second == 0.0, "nothing is known of the speed yet"
    bench.run(1)
    assert bench.counts("p") == (BATCH + 3, 3, "")
    assert bench.progress["p"].per_second > 0
    bench.run()
    assert bench.counts("p") == (BATCH + 3, 0, "")
    assert bench.progress["p"].per_second == 0.0
    assert bench.texts == BATCH + 3
    assert bench.updater.patience() is None


def test_the_smallest_project_comes_first(bench: Bench) -> None:
    bench.keep("large", *some("f", 3 * BATCH))
    bench.keep("small", *some("g", 2))
    bench.run()
    assert bench.order == ["small", "large", "large", "large"]


def test_a_project_is_forgotten_without_what_others_use(bench: Bench) -> None:
    bench.keep("a", *some("f", 5), *some("h", 2))
    bench.keep("b", *some("f", 5), *some("g", 1))
    bench.run()
    folders = [bench.folder(name) for name in ("a", "b")]
    command = ForgetVectors("a", folders[0], (folders[1], bench.folder("none")))
    assert bench.updater.forget(command) == Forgotten(2)
    assert bench.updater.get("a") is None
    assert bench.updater.forget(command) == Forgotten(0)
    bench.updater.note_change("b")
    assert bench.counts("b") == (6, 0, "")
    assert bench.updater.forget(ForgetVectors("c", bench.folder("none"), ())) == Forgotten(0)


def test_a_pause_stops_embedding_and_nothing_else(bench: Bench) -> None:
    bench.updater.pause(paused=True)
    bench.keep("p", *some("f", 3))
    put(bench.index("p"), "b.py", some("g", 2))
    bench.updater.note_change("p")
    bench.run()
    assert (bench.counts("p"), bench.texts) == ((5, 5, ""), 0)
    bench.updater.pause(paused=False)
    bench.run()
    assert bench.counts("p") == (5, 0, "")


def test_a_project_that_is_dropped_is_let_go(bench: Bench) -> None:
    kept = bench.keep("p", *some("f", 3))
    vectors = kept.vectors
    assert vectors is not None
    batch = vectors.next_batch(3)
    bench.updater.drop("p")
    assert (bench.updater.get("p"), bench.updater.due()) == (None, None)
    bench.updater.keep_embedded(kept, vectors, batch, bench.model.get(GENEROUS_S).embed(["x"] * 3))
    bench.updater.drop("p")
    bench.keep("p", *some("f", 3))
    assert bench.counts("p") == (3, 3, ""), "what came too late for the one isn't the other's"


def test_an_index_that_is_not_there_yet_is_waited_for(bench: Bench) -> None:
    bench.updater.keep("p", bench.folder("p"))
    assert "can't be kept for now" in bench.counts("p")[2]
    assert bench.updater.due() is None
    patience = bench.updater.patience()
    assert patience is not None
    assert 0 < patience <= RETRY_S
    put(bench.index("p"), "a.py", some("f", 2))
    bench.clock.skipped_s += RETRY_S
    assert bench.updater.patience() is None
    bench.run()
    assert bench.counts("p") == (2, 0, "")


def test_a_full_disk_loses_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = bench.keep("p", *some("f", BATCH + 1))
    with monkeypatch.context() as patched:
        patched.setattr("foveal.daemon.embedding.embeddings.EmbeddingStore.put", _full)
        bench.run()
    assert bench.counts("p")[1] == BATCH + 1
    assert "database or disk is full" in bench.counts("p")[2]
    assert kept.vectors is not None, "it goes on answering"
    bench.run()
    assert bench.counts("p")[1] == BATCH + 1
    bench.clock.skipped_s += RETRY_S
    bench.run()
    assert bench.counts("p") == (BATCH + 1, 0, "")


@pytest.mark.parametrize("table", ["digests", "embeddings", "models", "meta"])
def test_embeddings_without_a_table_are_quarantined(bench: Bench, table: str) -> None:
    bench.keep("other", *some("g", 3))
    bench.run()
    path = bench.base / "embeddings" / STORE_FILE
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"DROP TABLE {table}")
    bench.keep("p", *some("f", 3))
    bench.run()
    assert f"no such table: {table}" in bench.counts("p")[2]
    bench.clock.skipped_s += RETRY_S
    bench.run()
    assert (bench.counts("p"), bench.counts("other")) == ((3, 0, ""), (3, 0, ""))
    assert list(path.parent.glob(f"{STORE_FILE}.damaged-*"))


def test_a_failure_that_was_dealt_with_is_passed_over(bench: Bench) -> None:
    kept = bench.keep("p", *some("f", 3))
    former = kept.vectors
    assert former is not None
    bench.keep("p", *some("f", 3))
    bench.updater.note_failure(kept, former, DatabaseError("old"))
    bench.run()
    assert bench.counts("p") == (3, 0, "")


def test_an_index_that_is_damaged_concerns_only_its_project(bench: Bench) -> None:
    bench.keep("p", *some("f", 3))
    bench.keep("other", *some("g", 3))
    bench.run()
    bench.stores.pop("p").close()
    for suffix in ("-wal", "-shm"):
        Path(f"{bench.folder('p')}/{FILE_NAME}{suffix}").unlink(missing_ok=True)
    Path(bench.folder("p"), FILE_NAME).write_bytes(b"garbage" * 1_000)
    bench.updater.note_change("p")
    bench.run()
    assert "can't be kept for now" in bench.counts("p")[2]
    assert bench.counts("other") == (3, 0, "")
    put(bench.index("p"), "a.py", some("f", 3))  # which sets it aside
    bench.updater.keep("p", bench.folder("p"))
    bench.run()
    assert (bench.counts("p"), bench.texts) == ((3, 0, ""), 6)


def test_without_a_model_all_waits_until_there_is_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "no/such-model")
    try:
        bench.keep("p", *some("f", 3))
        for _ in range(2):
            bench.run()
            bench.updater.report_all()
            assert "no/such-model" in bench.counts("p")[2]
            patience = bench.updater.patience()
            assert patience is not None
            assert 0 < patience <= MODEL_RETRY_S
            bench.clock.skipped_s += MODEL_RETRY_S
            assert bench.updater.patience() is None
    finally:
        bench.close()


def test_a_store_that_grows_too_large_forgets_unused_embeddings(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_bytes=100_000)
    try:
        bench.keep("gone", *some("f", 60))
        bench.run()
        bench.updater.drop("gone")
        bench.keep("p", *some("g", 60))
        bench.run()
        other = bench.keep("other", *some("h", 30))
        bench.run()
        store = EmbeddingStore(str(tmp_path / "embeddings" / STORE_FILE), bench.clock)
        key = model_key(DEFAULT_MODEL)
        known = [len(store.ids(key, [one.digest for one in some(name, 60)])) for name in "fgh"]
        assert (known[0] < 60, *known[1:]) == (True, 60, 30)
        bench.texts = 0
        assert other.vectors is not None
        bench.keep("p", *some("g", 60))
        bench.run()
        assert (bench.counts("p"), bench.texts) == ((60, 0, ""), 0)
        store.close()
    finally:
        bench.close()


def _full(*_: object) -> None:
    error = OperationalError("database or disk is full")
    error.sqlite_errorcode = 13  # as SQLite itself raises it
    raise error


def shared_at(url: str) -> OpenShared:
    def open_shared(key: str, load: Callable[[Sequence[bytes]], Vectors]) -> SharedEmbeddings:
        source, codec = RedisSource(SharedStore(url, "", "", 7), ""), VectorCodec(key, "team")
        sharing = SharedEmbeddings(source, codec, load, lambda progress: None, System())
        threading.Thread(target=sharing.run, daemon=True).start()
        return sharing

    return open_shared


def test_a_content_of_the_shared_store_is_not_embedded(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        for name, embedded in (("first", 5), ("second", 0)):
            (tmp_path / name).mkdir()
            bench = Bench(tmp_path / name, open_shared=shared_at(server.url))
            bench.keep("p", *some("f", 5))
            bench.run()
            assert (bench.counts("p"), bench.texts) == ((5, 0, ""), embedded)
            answers: queue.SimpleQueue[Pushed] = queue.SimpleQueue()
            bench.updater.push("p", answers.put)
            pushed = answers.get(timeout=GENEROUS_S)
            assert (pushed.contents, pushed.written + pushed.present, pushed.problem) == (5, 5, "")
            bench.close()


def test_a_shared_store_that_is_gone_holds_nothing_up(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        url = server.url
    bench = Bench(tmp_path, open_shared=shared_at(url))
    bench.keep("p", *some("f", 5))
    bench.run()
    assert (bench.counts("p"), bench.texts) == ((5, 0, ""), 5)
    with pytest.raises(FovealError, match="not loaded yet"):
        bench.updater.push("unknown", lambda pushed: None)
    bench.close()


# Questions find chunks by the model that is configured, after a change of the model by the new one alone.


LOGIN = chunk("def login(user, password):\n    return open_session(user)", "login")
PARSE = chunk("def parse_date(text):\n    return datetime.strptime(text, '%Y-%m-%d')", "parse_date")
PRICE = chunk("def total_price(cart):\n    return sum(item.price for item in cart)", "total_price")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    add_second_model(tmp_path / "embeddings" / MODELS_FOLDER)
    return tmp_path


def ask(bench: Bench, **more: float | tuple[int, ...]) -> VectorHits:
    search = VectorSearch(bench.updater, bench.clock, lambda work: work())
    command = SearchVectors("p", ("how does a user sign in",), 10, wait_s=GENEROUS_S, **more)  # type: ignore[arg-type] # not the strings
    return search.answer(command)


def test_a_changed_model_embeds_anew(base: Path) -> None:
    found: dict[str, tuple[tuple[bytes, float], ...]] = {}
    texts: list[int] = []
    for model in ("", SECOND_MODEL, ""):
        bench = Bench(base, model)
        bench.model.get(GENEROUS_S)
        bench.keep("p", LOGIN, PARSE, PRICE)
        assert len(ask(bench).hits) == (3 if model in found else 0)
        bench.run()
        assert bench.counts("p") == (3, 0, "")
        hits = ask(bench).hits
        assert hits[0][0] == LOGIN.digest
        assert hits == found.setdefault(model, hits)
        texts.append(bench.texts)
        bench.close()
    assert texts == [3, 3, 0], "embeddings are kept: nothing is embedded to go back"


def test_chunks_of_a_question_are_embedded_for_it(base: Path) -> None:
    bench = Bench(base, SECOND_MODEL)
    bench.updater.pause(paused=True)
    bench.keep("p", LOGIN, PARSE, PRICE)
    bench.model.get(GENEROUS_S)
    bench.updater.note_change("p")
    ids = tuple(each.id for each in bench.index("p").chunks.of_file(1))
    found = ask(bench, first=(ids[1], 999), first_s=GENEROUS_S)
    assert ([digest for digest, _ in found.hits], found.pending) == ([PARSE.digest], 2)
    assert bench.counts("p") == (3, 2, "")
    assert ask(bench).hits == found.hits, "the same, embedded for a question or read"
    assert len(ask(bench, first=ids, first_s=GENEROUS_S).hits) == 3
    bench.close()
