"""The probability of a definition: names and words raise it, what part its file plays lowers it."""

from __future__ import annotations

from foveal.daemon.index.records import ChunkPlace
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.search.candidates import Candidates
from foveal.daemon.search.definitions import find_definitions
from foveal.daemon.search.query import FoundDefinition
from foveal.daemon.search.question import take_apart
from foveal.daemon.search.ranking import rank

SYMBOLS = (
    Symbol("Session", "class", 1, 30, "class Session:", "", 0),
    Symbol("Session.refresh", "method", 4, 12, "def refresh(self):", "Move the end.", 1),
    Symbol("Session.close", "method", 14, 30, "def close(self):", "", 1),
    Symbol("Session.close.flush", "function", 16, 18, "def flush():", "", 2),
)


def find(text: str, *paths: str) -> list[FoundDefinition]:
    """Return what is found where each path has the same class, in one chunk."""
    chunks = {
        number: ChunkPlace(number, number, path, "python", 1, 30) for number, path in enumerate(paths, 1)
    }
    found = Candidates(chunks=chunks, lexical=[(number, 5.0) for number in chunks])
    question, languages = take_apart(text), dict.fromkeys(paths, "python")
    ranked = rank(question, found, languages, lambda term: 1.0)
    return find_definitions(question, ranked, lambda path: SYMBOLS, found, languages, lambda term: 1.0)


def test_the_definition_whose_name_is_asked_for_comes_first() -> None:
    best, *others = find("how does a session refresh its end?", "src/session.py")
    assert best.symbol == SYMBOLS[1]
    assert all(0 <= one.probability < best.probability <= 1 for one in others)
    assert best.reasons


def test_tests_are_probable_only_where_they_are_asked_for() -> None:
    def best(text: str) -> dict[str, float]:
        found = find(text, "src/session.py", "tests/test_session.py")
        return {one.path: one.probability for one in reversed(found)}

    about_source = best("make refresh of a session faster")
    assert about_source["src/session.py"] > 5 * about_source.get("tests/test_session.py", 0.0)
    about_tests = best("which tests refresh a session?")
    assert about_tests["tests/test_session.py"] > 0.5 * about_tests["src/session.py"]
