"""What a prompt adds: what is not held, and neither the map nor rules that were sent."""

from __future__ import annotations

from foveal.daemon.context.assembly import has_news, news_in
from foveal.daemon.context.selection import Form, Slice, SliceType
from foveal.daemon.context.sent_content import ConversationContent, held_of
from msgspec.structs import replace


def slice_of(name: str, type_: SliceType, score: float | None = None, text: str = "some text\n") -> Slice:
    def grow(characters: int) -> Form:
        return Form(text[:characters], len(text) > characters)

    competes = type_ == "document"
    return Slice(
        name, type_, "focus", 0.9, (1,), grow(5), grow, len(text), score=score, competes=competes, path=name
    )


def test_the_map_is_no_news() -> None:
    def check(expected: list[str], *slices: Slice) -> None:
        assert [one.id for one in news_in(slices, None)] == expected

    check([], slice_of("meta", "project_meta"), slice_of("map", "skeleton"), slice_of("hot", "hot"))
    check(["a", "b"], slice_of("a", "document", 0.5), slice_of("b", "place", 0.02))
    check(["e", "f"], slice_of("e", "rule"), slice_of("f", "agent_history", 0.001))


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
