"""What a prompt adds: what is probable and not held, and neither the map nor rules that were sent."""

from __future__ import annotations

from foveal.daemon.context.assembly import BEST_ALONE, PROBABILITY_MIN, SHARE_OF_BEST, has_news, news_in
from foveal.daemon.context.selection import Form, Slice, SliceType
from foveal.daemon.context.sent_content import ConversationContent, held_of
from foveal.daemon.search.query import NEED_SURE
from foveal.daemon.search.records import Need
from msgspec.structs import replace


def slice_of(name: str, type_: SliceType, score: float | None = None, text: str = "some text\n") -> Slice:
    def grow(characters: int) -> Form:
        return Form(text[:characters], len(text) > characters)

    competes = type_ == "document"
    return Slice(
        name, type_, "focus", 0.9, (1,), grow(5), grow, len(text), score=score, competes=competes, path=name
    )


def test_the_map_and_what_is_improbable_are_no_news() -> None:
    def check(expected: list[str], *slices: Slice) -> None:
        assert [one.id for one in news_in(slices, None)] == expected

    check([], slice_of("meta", "project_meta"), slice_of("map", "skeleton"), slice_of("hot", "hot"))
    probable, improbable = slice_of("a", "document", PROBABILITY_MIN), slice_of("b", "document", 0.02)
    check(["a"], probable, improbable)
    sure = slice_of("c", "document", 0.9)
    beside = slice_of("d", "document", 0.9 * SHARE_OF_BEST)
    check(["c", "d"], sure, probable, improbable, beside)
    check(["e", "f"], slice_of("e", "rule"), slice_of("f", "agent_history", 0.001))


def test_who_surely_needs_something_gets_the_best_however_improbable() -> None:
    slices = [slice_of(f"{score}", "document", score) for score in (0.02, 0.02 * BEST_ALONE, 0.009)]
    for probability, expected in ((NEED_SURE, slices[:2]), (NEED_SURE - 0.01, [])):
        assert list(news_in(slices, None, Need(probability, "as it is"))) == expected
    probable = slice_of("probable", "document", 0.3)
    assert list(news_in([probable, *slices], None, Need(1.0, "as it is"))) == [probable]


def test_what_stands_comes_again_only_when_it_changed() -> None:
    rule = slice_of("rule", "rule")
    decision = slice_of("decision", "agent_history", text="- decided\n")
    held = ConversationContent(
        dict([held_of(rule, rule.smallest, 1), held_of(decision, Form("- decided\n"), 3)])
    )
    assert list(news_in((rule, decision), held)) == [], "in whatever form it was sent"
    changed = slice_of("rule", "rule", text="some other text\n")
    assert list(news_in((changed, decision), held)) == [changed]
    found = slice_of("found", "document", 0.5)
    held = ConversationContent(dict([held_of(found, Form("some text\n"), 1)]))
    assert list(news_in((found,), held)) == [found], "it is named"


def test_decisions_alone_are_no_news() -> None:
    found, decision = slice_of("a", "document", 0.5), slice_of("b", "agent_history")
    pairs = [(one, one.smallest) for one in (found, decision, replace(decision, id="c", type="dependency"))]
    assert has_news(pairs, ())
    assert not has_news(pairs, {"a"})
    assert not has_news(pairs[1:], ())
    assert not has_news([], ())
