"""A question is answered once per circle; an answer that a circle or a bound cut short is not kept for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from foveal.daemon.linking.questions import DEPTH_MAX, FILE_STEPS_MIN, OPEN_MAX, STEPS_MAX, Questions


class Graph:
    """Questions that are answered with what they find first: their own answer, or that of others."""

    def __init__(self, edges: Mapping[str, Sequence[str]], found: Mapping[str, str] | None = None) -> None:
        self.questions = Questions(references=0)
        self.asked: Counter[str] = Counter()
        self._edges = edges
        self._found = found or {}

    def ask(self, name: str, depth: int = 0) -> str:
        return self.questions.once((name,), depth, lambda: self._find(name, depth), "")

    def _find(self, name: str, depth: int) -> str:
        self.asked[name] += 1
        if name in self._found:
            return self._found[name]
        return next(filter(None, (self.ask(each, depth + 1) for each in self._edges.get(name, ()))), "")


def test_each_member_of_a_circle_without_answer_is_asked_once() -> None:
    names = [f"n{number}" for number in range(20)]
    graph = Graph(dict.fromkeys(names, names))
    for name in names:
        assert graph.ask(name) == ""
    assert set(graph.asked.values()) == {1}
    assert graph.questions.cut == 0


def test_a_tentative_answer_of_a_circle_in_a_circle_is_not_kept_for_good() -> None:
    # d rests on b, and b on a: when b is done, d still waits for a.
    graph = Graph({"a": ["b", "x", "z"], "b": ["d", "a"], "d": ["b"], "x": ["e"], "e": ["d"]}, {"z": "here"})
    assert [graph.ask(name) for name in "aebdx"] == ["here"] * 5


def test_a_reference_ends_at_its_bound_and_the_next_one_is_followed_anew() -> None:
    graph = Graph({}, {"z": "here"})
    graph.questions.begin()
    assert not graph.questions.spend(STEPS_MAX + 1)
    assert graph.ask("z") == ""
    assert graph.questions.cut == 1
    graph.questions.begin()
    assert graph.ask("z") == "here"
    assert not graph.questions.exhausted


def test_what_lies_too_deep_is_found_on_a_shorter_way() -> None:
    graph = Graph({"a": ["b"], "b": ["z"]}, {"z": "here"})
    graph.questions.begin()
    assert graph.ask("a", DEPTH_MAX - 1) == ""
    graph.questions.begin()
    assert graph.ask("b", DEPTH_MAX - 1) == "here"
    chain = Graph({f"n{at}": [f"n{at + 1}"] for at in range(4 * OPEN_MAX)})
    assert chain.ask("n0") == ""
    assert len(chain.asked) <= min(OPEN_MAX, DEPTH_MAX + 1)


def test_a_file_has_a_bound_of_its_own() -> None:
    questions = Questions(references=10)
    for _ in range(100):
        questions.begin()
        while questions.spend(1_000):
            pass
        if questions.exhausted:
            break
    assert FILE_STEPS_MIN <= questions.steps < 2 * FILE_STEPS_MIN
    questions.begin()
    assert not questions.spend()


def test_an_error_leaves_nothing_open() -> None:
    questions = Questions(references=1)

    def fail() -> str:
        raise RecursionError

    for _ in range(2):
        questions.begin()
        try:
            questions.once(("a",), 0, fail, "")
        except RecursionError:
            continue
    questions.begin()
    assert questions.once(("a",), 0, lambda: "here", "") == "here"
