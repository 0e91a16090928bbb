"""After a change of the model the former one answers until the other's vectors are there. Two real models."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.errors import FovealError
from foveal.daemon.embedding.messages import DEFAULT_MODEL, SearchVectors, VectorHits
from foveal.daemon.embedding.model import EmbeddingModel, model_key
from foveal.daemon.embedding.project_vectors import FOLDER
from foveal.daemon.embedding.upkeep import MODELS_FOLDER
from foveal.daemon.embedding.vector_file import file_name
from foveal.daemon.embedding.worker import VectorSearch

from tests.model_cases import SECOND_MODEL, add_second_model, remove_second_model
from tests.search_cases import chunk, put
from tests.upkeep_cases import GENEROUS_S, Bench, some

LOGIN = chunk("def login(user, password):\n    return open_session(user)", "login")
PARSE = chunk("def parse_date(text):\n    return datetime.strptime(text, '%Y-%m-%d')", "parse_date")
PRICE = chunk("def total_price(cart):\n    return sum(item.price for item in cart)", "total_price")
CHUNKS = (LOGIN, PARSE, PRICE)

DEFAULT_FILE = file_name(model_key(DEFAULT_MODEL))
SECOND_FILE = file_name(model_key(SECOND_MODEL))

Start = Callable[[str], "Daemon"]
"""Starts what the embedder does in a process with this model; what ran before has ended."""


class Daemon(Bench):
    """A bench that answers questions."""

    def __init__(self, base: Path, models: Path, model: str) -> None:
        super().__init__(base, models, model)
        self.search = VectorSearch(self.upkeep, self.clock, lambda work: work())

    def ask(self, text: str = "how does a user sign in", **more: float | tuple[int, ...]) -> VectorHits:
        return self.search.answer(
            SearchVectors("p", (text,), 10, wait_s=GENEROUS_S, **more)  # type: ignore[arg-type] # not the strings
        )

    def begin(self) -> None:
        """Load the model, and keep the vectors of the project of three chunks."""
        self.model.get(GENEROUS_S)
        self.keep("p", *CHUNKS)

    def chunk_ids(self) -> tuple[int, ...]:
        """Return the ids of the three chunks."""
        return tuple(one.id for one in self.index("p").chunks.of_file(1))

    def files(self) -> set[str]:
        """Return the vector files of the project."""
        return {path.name for path in Path(self.folder("p"), FOLDER).iterdir()}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """Give a folder with both models."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "all-MiniLM-L6-v2-int8").symlink_to(models / "all-MiniLM-L6-v2-int8")
    add_second_model(models, folder)
    return folder


@pytest.fixture
def start(tmp_path: Path, both: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    # So that few vectors have a file, and several batches.
    monkeypatch.setattr("foveal.daemon.embedding.vectors.TAIL_VECTORS", 2)
    monkeypatch.setattr("foveal.daemon.embedding.upkeep.BATCH", 1)
    running: list[Daemon] = []

    def begin(model: str) -> Daemon:
        for former in running:
            former.close()
        running[:] = [Daemon(tmp_path, both, model)]
        return running[0]

    yield begin
    for one in running:
        one.close()


def embedded(daemon: Daemon, *chunks: object) -> VectorHits:
    """Have a project of the three chunks embedded to the end; returns what a question finds then."""
    daemon.keep("p", *CHUNKS)
    daemon.run()
    assert daemon.counts("p") == (3, 0, "")
    return daemon.ask()


@pytest.mark.parametrize(("former", "present"), [("", SECOND_MODEL), (SECOND_MODEL, "")])
def test_the_former_model_answers_until_the_other_has_embedded_all(
    start: Start, former: str, present: str
) -> None:
    before = embedded(start(former))
    assert (before.hits[0][0], before.note) == (LOGIN.digest, "")
    daemon = start(present)
    daemon.begin()
    names = (former or DEFAULT_MODEL).lower(), present or DEFAULT_MODEL
    for done in range(3):
        found = daemon.ask()
        assert found.hits == before.hits, "the same model and the same vectors"
        assert found.note == f"searched with the model {names[0]} until {names[1]} has embedded all"
        assert (daemon.progress["p"].pending, daemon.progress["p"].former) == (3 - done, names[0])
        daemon.run(1)
    found = daemon.ask()
    assert (found.note, found.pending, daemon.progress["p"].former) == ("", 0, "")
    assert [digest for digest, _ in found.hits] == [digest for digest, _ in before.hits]
    scores = [pytest.approx(score, abs=1e-3) for _, score in before.hits]
    assert [score for _, score in found.hits] == scores, "by its own vectors: others would have no likeness"


def test_it_answers_before_anything_is_known_of_the_other(start: Start) -> None:
    before = embedded(start(""))
    daemon = start(SECOND_MODEL)
    daemon.keep("p", *CHUNKS)
    assert daemon.kept("p").vectors is None, "not even the size of its vectors"
    assert (daemon.counts("p"), daemon.progress["p"].former) == ((3, 3, ""), "all-minilm-l6-v2")
    assert daemon.ask().hits == before.hits


def test_it_goes_on_after_a_restart_in_the_middle(start: Start) -> None:
    before = embedded(start(""))
    daemon = start(SECOND_MODEL)
    daemon.begin()
    daemon.run(2)
    for _ in range(2):
        daemon = start(SECOND_MODEL)
        daemon.begin()
        assert daemon.counts("p") == (3, 1, ""), "what was embedded is kept"
        assert daemon.ask().hits == before.hits
        assert "all-minilm" in daemon.ask().note
    daemon.run()
    assert daemon.ask().note == ""


def test_vectors_of_the_former_model_are_removed_at_last(start: Start) -> None:
    daemon = start("")
    embedded(daemon)
    assert daemon.files() == {DEFAULT_FILE}
    daemon = start(SECOND_MODEL)
    daemon.begin()
    daemon.ask()
    former = daemon.kept("p").former
    assert former is not None
    loaded: weakref.ref[EmbeddingModel] = weakref.ref(former.model.get(0.0))
    del former
    daemon.run(2)
    gc.collect()
    assert (DEFAULT_FILE in daemon.files(), loaded() is not None) == (True, True)
    daemon.run()
    gc.collect()
    assert (daemon.files(), loaded()) == ({SECOND_FILE}, None)
    assert embedded(start("")).note == "", (
        "the embeddings themselves are kept: nothing is embedded to go back"
    )


def test_projects_that_are_dropped_unload_the_former_model_too(start: Start) -> None:
    embedded(start(""))
    daemon = start(SECOND_MODEL)
    daemon.begin()
    daemon.ask()
    former = daemon.kept("p").former
    assert former is not None
    loaded = weakref.ref(former.model.get(0.0))
    del former
    daemon.upkeep.drop("p")
    gc.collect()
    assert loaded() is None


def test_new_chunks_are_found_by_the_new_model_only(start: Start) -> None:
    embedded(start(""))
    daemon = start(SECOND_MODEL)
    daemon.begin()
    new = chunk("def sign_in(user):\n    return login(user)", "sign_in")
    put(daemon.index("p"), "a.py", [LOGIN, PARSE, new])
    daemon.upkeep.note_change("p")
    assert daemon.counts("p") == (3, 3, "")
    found = daemon.ask()
    assert {digest for digest, _ in found.hits} == {LOGIN.digest, PARSE.digest}
    assert found.note
    daemon.run()
    assert new.digest in {digest for digest, _ in daemon.ask().hits}


def test_it_answers_where_the_configured_model_can_not_be_had(start: Start) -> None:
    before = embedded(start(""))
    daemon = start("no/such-model")
    daemon.keep("p", *CHUNKS)
    daemon.run()
    daemon.upkeep.note_model()
    contents, pending, problem = daemon.counts("p")
    assert (contents, pending, "no/such-model" in problem) == (3, 3, True)
    assert daemon.progress["p"].former == "all-minilm-l6-v2"
    found = daemon.ask()
    assert (found.hits, "until no/such-model has" in found.note) == (before.hits, True)


def test_without_the_former_models_files_the_new_model_answers(
    start: Start, both: Path, models: Path
) -> None:
    embedded(start(SECOND_MODEL))
    remove_second_model(both)
    try:
        daemon = start("")
        daemon.keep("p", *CHUNKS)
        found = daemon.ask(first=daemon.chunk_ids()[1:2], first_s=GENEROUS_S)
        assert [digest for digest, _ in found.hits] == [PARSE.digest], "what the question had embedded"
        assert "the former embedding model can't answer meanwhile" in found.note
        assert "baai/bge-small-en-v1.5 isn't in" in found.note
        assert str(Path("embeddings") / MODELS_FOLDER) in found.note
        daemon.run(1)
        assert daemon.progress["p"].former == ""
        daemon.run()
        assert (daemon.ask().note, len(daemon.ask().hits)) == ("", 3)
    finally:
        add_second_model(models, both)


def test_without_any_model_both_reasons_are_said(start: Start, both: Path, models: Path) -> None:
    embedded(start(SECOND_MODEL))
    remove_second_model(both)
    try:
        daemon = start("no/such-model")
        daemon.keep("p", *CHUNKS)
        with pytest.raises(FovealError, match=r"no/such-model; is it .*; the former .* isn't in"):
            daemon.ask()
    finally:
        add_second_model(models, both)


def test_a_former_model_that_knows_little_of_a_project_is_left_alone(start: Start) -> None:
    daemon = start("")
    daemon.keep("other", LOGIN)
    daemon.run()
    daemon = start(SECOND_MODEL)
    daemon.begin()
    assert daemon.kept("p").former is None
    found = daemon.ask(first=daemon.chunk_ids(), first_s=GENEROUS_S)
    assert (len(found.hits), found.note) == (3, "")


def test_the_former_model_with_the_most_vectors_answers(start: Start) -> None:
    daemon = start("")
    daemon.keep("p", *CHUNKS, *some("f", 3))
    daemon.run()
    daemon = start(SECOND_MODEL)
    daemon.keep("p", *CHUNKS, *some("f", 3))
    daemon.run(5)
    daemon = start("no/such-model")
    daemon.keep("p", *CHUNKS, *some("f", 3))
    assert "searched with the model all-minilm" in daemon.ask().note
    daemon = start(SECOND_MODEL)
    daemon.keep("p", *CHUNKS, *some("f", 3))
    daemon.run()
    daemon = start("no/such-model")
    daemon.keep("p", *CHUNKS, *some("f", 3))
    assert "searched with the model baai" in daemon.ask().note, "the later one of two that know all"


def test_embeddings_of_another_form_are_no_former_models(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("foveal.daemon.embedding.model.TEXT_VERSION", 0)
        embedded(start(""))
    daemon = start(SECOND_MODEL)
    daemon.begin()
    assert daemon.kept("p").former is None
