"""What a context reads like: sections in order, blocks that no content can end, forms within their size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise

from foveal.daemon.context.render import (
    SECTIONS,
    RuleForms,
    frame_cost,
    inline,
    item_message,
    json_measure,
    list_item,
    reference_form,
    render_json,
    render_markdown,
    sections,
    slice_summary,
    spans,
)
from foveal.daemon.context.selection import Form, Slice, SliceType, fixed
from foveal.daemon.context.tokens import ESTIMATE
from foveal.daemon.rules.records import Item, Owner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

TYPES: list[SliceType] = [kind for _, kinds in SECTIONS for kind in kinds]


def pair(name: str, kind: SliceType, text: str, order: tuple[int | str, ...] = (0,)) -> tuple[Slice, Form]:
    form = Form(text)
    return Slice(name, kind, "focus", 0.5, order, *fixed(form), path=name), form


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.text(max_size=30), st.text(max_size=5)), max_size=6))
def test_a_json_document_costs_no_more_than_its_parts(parts: list[tuple[SliceType, str, str]]) -> None:
    chosen = [pair(f"{name}{index}", kind, text) for index, (kind, text, name) in enumerate(parts)]
    text = render_json('a"b', chosen)
    costs = [frame_cost(ESTIMATE, "json", 'a"b', set()), *(json_measure(ESTIMATE)(*one) for one in chosen)]
    assert ESTIMATE.count(text) <= sum(cost.tokens for cost in costs)
    assert len(text.encode("utf-8", "replace")) <= sum(cost.bytes for cost in costs)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(TYPES), st.sampled_from(["x", "- a\n", "### é\n\nc\n\n"]), st.integers(0, 3)
        ),
        max_size=8,
    )
)
def test_a_span_is_where_a_slice_stands(parts: list[tuple[SliceType, str, int]]) -> None:
    chosen = [pair(str(at), kind, text, (order, at)) for at, (kind, text, order) in enumerate(parts)]
    context = render_markdown(chosen)
    found = spans(chosen, context)
    assert found.keys() == {one.id for one, _ in chosen}
    for one, form in chosen:
        start, end = found[one.id]
        assert context[start:end].rstrip("\n") == form.text.rstrip("\n")
    ends = sorted(found.values())
    assert all(former[1] <= later[0] for former, later in pairwise(ends))


@given(st.text())
def test_no_text_can_leave_its_line(text: str) -> None:
    flat = inline(text)
    assert flat.isprintable()
    assert "```" not in flat
    assert inline(flat) == flat


@given(st.text(), st.integers(5, 60))
def test_a_list_item_is_one_line_of_at_most_its_characters(text: str, characters: int) -> None:
    form = list_item(text, characters)
    assert len(form.text) <= characters
    assert form.text.startswith("- ")
    assert form.text.count("\n") == 1
    assert form.compressed == (form.text != f"- {inline(text)}\n")


# Rules


def rule_form(
    name: str, text: str, characters: int, *, is_file: bool = True, words: Collection[str] = ()
) -> Form:
    return RuleForms(name, text, is_file=is_file, words=words).form(characters)


RULE = "# Rules\n\n" + "".join(f"- Rule number {index} of the house.\n" for index in range(200))


@given(
    st.one_of(st.just(RULE), st.text(alphabet="a\n`", max_size=400)),
    st.sampled_from(["AGENTS.md", "a" * 200]),
    st.integers(0, 2_000),
)
def test_a_reference_is_cut_to_its_characters_or_to_the_least_there_is(
    text: str, name: str, characters: int
) -> None:
    form = reference_form(name, text, characters)
    whole = reference_form(name, text, 10**9)
    assert not whole.compressed
    assert len(form.text) <= max(characters, len(reference_form(name, text, 0).text))
    assert len(form.text) <= len(whole.text)
    assert form.compressed == (form != whole)


PARTS = (
    "Say it plainly.\n\n# Code\n\n- four spaces\n\n## Tests\n\n- no sleeping\n```sh\n# not a heading\n```\n- that is all\n\n"
    "# Releases\n\n" + "- tag it\n" * 90
)


def test_a_rule_is_shown_in_whole_sections_those_of_the_prompt_first() -> None:
    form = rule_form("AGENTS.md", PARTS, 205, words={"sleeping"})
    assert form.text.startswith("### `AGENTS.md` (the project's)")
    assert "# Code\n## Tests\n\n- no sleeping\n```sh\n# not a heading\n```\n- that is all\n" in form.text
    assert "- tag it" not in form.text
    assert "lines left out: read AGENTS.md" in form.text
    assert "- four spaces" in rule_form("AGENTS.md", PARTS, 600).text
    assert rule_form("AGENTS.md", PARTS, 10_000) == Form(rule_form("AGENTS.md", PARTS, 20_000).text)


@given(st.sampled_from([RULE, PARTS]), st.integers(0, 3_000), st.sampled_from([(), ("sleeping",), ("tag",)]))
def test_no_section_of_a_rule_is_cut(text: str, characters: int, words: tuple[str, ...]) -> None:
    form = rule_form("AGENTS.md", text, characters, words=words)
    pointer = rule_form("AGENTS.md", text, 0).text
    assert len(form.text) <= max(characters, len(pointer))
    lines = text.rstrip("\n").split("\n")
    for part in sections(text):
        inner = "\n".join(lines[part.first + 1 : part.end]).strip()
        assert inner in form.text or inner.split("\n")[-1] not in form.text


def test_a_fence_ends_at_a_bare_fence_of_its_kind_and_length_only() -> None:
    inside = "````md\n# a\n```\n# b\n~~~~\n# c\n````python\n# d\n"
    text = f"# One\n\n{inside}````` \n# Two\n\ntext\n"
    assert [(part.first, part.end) for part in sections(text)] == [(0, 11), (11, 14)]


def test_the_work_for_the_forms_of_a_rule_grows_with_its_sections_only() -> None:
    def calls(run: Callable[[], Form]) -> int:
        """Return the number of calls, those of generators included."""
        count = 0

        def counting(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counting)
        try:
            run()
        finally:
            sys.setprofile(None)
        return count

    def many(parts: int) -> tuple[int, int]:
        text = "".join(f"## Part {part}\n\n- say it plainly\n\n" for part in range(parts))
        rule = RuleForms("AGENTS.md", text, words={"sleeping", "plainly"})
        first, second = (calls(partial(rule.form, len(text))) for _ in range(2))
        return first, second

    less, more = many(50), many(200)
    assert more[0] < 5 * less[0]
    assert more[1] < more[0] / 4, "the text is divided once"


def test_a_rule_without_room_is_one_line_that_points_to_it() -> None:
    form = rule_form("AGENTS.md", RULE, 500)
    assert form.text == "- `AGENTS.md` (the project's): 202 lines, read it before you begin\n\n"
    assert form.compressed


# The record


def test_a_slice_is_summed_up_for_the_record() -> None:
    form = Form("x" * 8, compressed=True)
    bare = Slice("focus:a", "focus", "focus", 0.95, (3, 0), form, lambda _: form, 40, source="asked for")
    summary = {
        "id": "focus:a",
        "type": "focus",
        "layer": "focus",
        "weight": 0.95,
        "tokens": 2,
        "tokens_before": 10,
        "compressed": True,
        "source": "asked for",
    }
    assert slice_summary(bare, form, 2) == summary
    full = replace(bare, path="a", score=0.5, lines=(3, 9), content_characters=400)
    more = {"path": "a", "score": 0.5, "start_line": 3, "end_line": 9, "tokens_before": 100}
    assert slice_summary(full, form, 2) == {**summary, **more}
    assert slice_summary(bare, Form("x" * 8), 2)["tokens_before"] == 2


def item(name: str, text: str, source: str = "PutItem", owner: Owner = "stored") -> Item:
    return Item("rule", name, "always", text, source, owner=owner)


def test_a_cut_message_says_where_the_rest_is() -> None:
    form = reference_form("AGENTS.md", RULE, 500)
    message = item_message(item("AGENTS.md", RULE, "/p/AGENTS.md"), form)
    assert message.endswith("lines left out: read AGENTS.md")
    other = reference_form("kind", RULE, 500, is_file=False)
    assert "lines left out: of kind" in other.text
    assert item_message(item("kind", RULE), other).endswith("lines left out: of kind")
    pointed = item_message(item("kind", RULE), rule_form("kind", RULE, 0, is_file=False))
    assert pointed == "kind (put with foveal)\n\n202 lines, left out for want of room"
