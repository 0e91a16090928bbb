"""Questions find chunks by the model that is configured, after a change of the model by the new one alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.embedding.messages import SearchVectors, VectorHits
from foveal.daemon.embedding.vector_search import VectorSearch
from foveal.daemon.embedding.vector_updater import MODELS_FOLDER

from tests.model_cases import SECOND_MODEL, add_second_model
from tests.search_cases import chunk
from tests.updater_cases import GENEROUS_S, Bench

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
