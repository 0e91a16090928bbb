"""A definition is surer the fewer others were found, and the more of the prompt's words it has."""

from __future__ import annotations

from foveal.daemon.context.build_state import GatheredSources, begin
from foveal.daemon.context.certainty import RAISED_MAX, compared
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.search.records import FoundDefinition
from foveal.daemon.sessions.records import Scope

from tests.context.test_assembly import Desk, desk  # noqa: F401  # a fixture

FILES = {f"src/m{n:02}.py": f"def run{n}():\n    return {n}\n" for n in range(12)}


def rated(given: Desk, *probabilities: float, prompt: str = "give up") -> list[float]:
    given.write(FILES | {"src/m01.py": "def run1():\n    give_up()\n"})
    scope = Scope(id="s_1", root=str(given.root), identity="i")
    state = begin(GatheredSources(given.snapshot(), scope, ContextRequest(prompt=prompt)), None)
    definitions = [FoundDefinition(f"src/m{n:02}.py", None, 1, 2, p) for n, p in enumerate(probabilities)]
    return [match.probability for match in compared(state, definitions)]


def test_a_definition_is_surer_the_fewer_are_as_probable(desk: Desk) -> None:  # noqa: F811  # the fixture
    alone, among_two, among_ten = (rated(desk, *[0.3] * count, prompt="")[0] for count in (1, 2, 10))
    assert alone > 0.5 > among_two > among_ten
    assert rated(desk, 0.02, prompt="") == [round(RAISED_MAX * 0.02, 4)], "a weak one stays weak"


def test_a_definition_is_surer_with_more_of_the_words(desk: Desk) -> None:  # noqa: F811  # the fixture
    without, with_words = rated(desk, 0.3, 0.3)
    assert with_words > without


def test_improbable_others_change_nothing(desk: Desk) -> None:  # noqa: F811  # the fixture
    few = rated(desk, 0.3, 0.2)
    assert rated(desk, 0.3, 0.2, *[0.04] * 8)[:2] == few, "so it doesn't depend on the budget"
    assert rated(desk) == []


def test_what_a_pasted_failure_names_is_not_compared(desk: Desk) -> None:  # noqa: F811  # the fixture
    scope = Scope(id="s_1", root=str(desk.root), identity="i")
    desk.write(FILES)
    state = begin(GatheredSources(desk.snapshot(), scope, ContextRequest(prompt="give up")), None)
    frames = [
        FoundDefinition(f"src/m{n:02}.py", None, 1, 2, p, (reason,))
        for n, (p, reason) in enumerate(
            [(0.85, "in the stack trace"), (0.6, "failed test"), (0.6, "its words")]
        )
    ]
    one, other, guessed = compared(state, frames)
    assert (one, other) == (frames[0], frames[1])
    assert guessed.probability < 0.6
