"""What a context reads like: sections in order, blocks that no content can end, forms within their size."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from foveal.daemon.context.render import (
    RULE_CHARACTERS_MIN,
    SECTIONS,
    TITLE,
    block,
    code_block,
    frame_cost,
    inline,
    is_file,
    item_message,
    json_measure,
    list_item,
    render_json,
    render_markdown,
    rule_form,
    slice_summary,
    spans,
    whose,
)
from foveal.daemon.context.selection import Form, Slice, SliceType, fixed, plain_measure
from foveal.daemon.context.tokens import ESTIMATE
from foveal.daemon.rules.items import Item, Owner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

TYPES: list[SliceType] = [kind for _, kinds in SECTIONS for kind in kinds]


def pair(name: str, kind: SliceType, text: str, order: tuple[int | str, ...] = (0,)) -> tuple[Slice, Form]:
    form = Form(text)
    return Slice(name, kind, "focus", 0.5, order, *fixed(form), path=name), form


def test_the_sections_come_in_their_order_and_empty_ones_are_left_out() -> None:
    chosen = [
        pair("map", "skeleton", "a.py\n\n"),
        pair("focus", "focus", "### `a.py`\n\n"),
        pair("second", "constraint", "- two\n", (1, 1)),
        pair("first", "constraint", "- one\n", (1, 0)),
    ]
    assert render_markdown(chosen) == (
        "# PROJECT CONTEXT\n\n"
        "## Constraints\n\n- one\n- two\n\n"
        "## Focus Area\n\n### `a.py`\n\n"
        "## Project Structure\n\na.py\n"
    )
    assert render_markdown([]) == "# PROJECT CONTEXT\n"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(TYPES), st.sampled_from(["", "x", "- a\n", "### b\n\nc\n\n"]), st.integers(0, 3)
        ),
        max_size=12,
    )
)
def test_the_frame_is_what_rendering_adds_at_most(parts: list[tuple[SliceType, str, int]]) -> None:
    chosen = [pair(f"s{index}", kind, text, (order,)) for index, (kind, text, order) in enumerate(parts)]
    text = render_markdown(chosen)
    frame = frame_cost(ESTIMATE, "markdown", "p", {one.type for one, _ in chosen})
    costs = [frame, *(plain_measure(ESTIMATE)(*one) for one in chosen)]
    assert ESTIMATE.count(text) <= sum(cost.tokens for cost in costs)
    assert len(text.encode()) <= sum(cost.bytes for cost in costs)
    assert text.startswith(TITLE.rstrip())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.text(max_size=30), st.text(max_size=5)), max_size=6))
def test_a_json_document_costs_no_more_than_its_parts(parts: list[tuple[SliceType, str, str]]) -> None:
    chosen = [pair(f"{name}{index}", kind, text) for index, (kind, text, name) in enumerate(parts)]
    text = render_json('a"b', chosen)
    costs = [frame_cost(ESTIMATE, "json", 'a"b', set()), *(json_measure(ESTIMATE)(*one) for one in chosen)]
    assert ESTIMATE.count(text) <= sum(cost.tokens for cost in costs)
    assert len(text.encode("utf-8", "replace")) <= sum(cost.bytes for cost in costs)


def test_json_lists_the_slices_in_the_order_of_the_sections() -> None:
    chosen = [pair("größe.py", "focus", "x\n\n"), pair("r", "rule", "be kind\n\n")]
    text = render_json("p", chosen)
    assert "größe" in text
    assert json.loads(text) == {
        "project": "p",
        "slices": [
            {"id": "r", "type": "rule", "layer": "focus", "path": "r", "text": "be kind"},
            {"id": "größe.py", "type": "focus", "layer": "focus", "path": "größe.py", "text": "x"},
        ],
    }


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


def test_a_block_has_a_heading_a_body_and_a_note() -> None:
    assert block("`a`", "text\n") == "### `a`\n\ntext\n\n"
    assert code_block("`a`", "x", "go", "3 more lines") == "### `a`\n\n```go\nx\n```\n\n_3 more lines_\n\n"


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("a  b\n\tc", "a b c"),
        ("# not a heading\n\n## nor this", "# not a heading ## nor this"),
        ("```py", "` ` `py"),
        ("`code`", "`code`"),
        ("\x1b[31mred\x00\u202e\ud800", "[31mred"),
        (" \n ", ""),
        ("größe 漢", "größe 漢"),
    ],
)
def test_an_inline_text_stays_on_its_line(text: str, flat: str) -> None:
    assert inline(text) == flat


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

RULE = "# Rules\n\n" + "".join(f"- Rule number {index} of the house.\n" for index in range(200))


def test_a_rule_that_fits_is_whole() -> None:
    assert rule_form("AGENTS.md", "Be kind.\n", 1_000) == Form(
        "### `AGENTS.md` (the project's)\n\n```markdown\nBe kind.\n```\n\n"
    )


@given(
    st.one_of(st.just(RULE), st.text(alphabet="a\n`", max_size=400)),
    st.sampled_from(["AGENTS.md", "a" * 200]),
    st.integers(0, 2_000),
)
def test_a_rule_is_cut_to_its_characters_or_to_the_least_there_is(
    text: str, name: str, characters: int
) -> None:
    form = rule_form(name, text, characters)
    whole = rule_form(name, text, 10**9)
    assert not whole.compressed
    assert len(form.text) <= max(characters, len(rule_form(name, text, 0).text))
    assert len(form.text) <= len(whole.text)
    assert form.compressed == (form != whole)


def test_a_cut_rule_says_how_much_is_missing_and_where_it_is() -> None:
    form = rule_form("AGENTS.md", RULE, 500)
    assert form.compressed
    assert 400 < len(form.text) <= 500
    shown = form.text.count("- Rule number")
    assert form.text.endswith(f"```\n\n_[COMPRESSED] {200 - shown} lines left out: read AGENTS.md_\n\n")


def test_a_rule_is_never_cut_to_nothing() -> None:
    form = rule_form("AGENTS.md", RULE, 0)
    assert "Rule number 1 " in form.text
    assert len(form.text) < RULE_CHARACTERS_MIN + 120


def test_a_rule_that_is_hardly_longer_than_its_least_is_whole() -> None:
    text = "Be kind to each other and to strangers.\n" * 3 + "Always.\n"
    assert not rule_form("AGENTS.md", text, 0).compressed


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


@pytest.mark.parametrize(
    ("owner", "name", "source", "words"),
    [
        ("project", "src/AGENTS.md", "/p/src/AGENTS.md", "the project's"),
        ("project", "sql", "/p/foveal.toml", "the project's foveal.toml"),
        ("project", "~/.claude/CLAUDE.md", "/p/foveal.toml", "the project's foveal.toml"),
        ("user", "~/.claude/CLAUDE.md", "/home/u/.claude/CLAUDE.md", "the user's"),
        ("user", "sql", "/home/u/.config/foveal/config.toml", "the user's config.toml"),
        ("administrator", "/etc/c/CLAUDE.md", "/etc/c/CLAUDE.md", "the administrator's"),
        ("stored", "sql", "PutItem", "put with foveal"),
        ("stored", "sql", "/home/u/config.toml", "put with foveal"),
    ],
)
def test_a_rule_says_whose_it_is(owner: Owner, name: str, source: str, words: str) -> None:
    assert whose(item(name, "x", source, owner)) == words


def test_an_item_as_a_message_is_its_name_and_its_text() -> None:
    assert item_message(item("kind", "Be kind."), Form("x")) == "kind (put with foveal)\n\nBe kind."
    assert item_message(item("two\nlines", " "), Form("x")) == "two lines (put with foveal)"


@given(st.text(max_size=3_000), st.integers(0, 3_000))
def test_a_message_is_no_longer_than_its_form(text: str, characters: int) -> None:
    one = item("docs/kind.md", text, "/p/docs/kind.md")
    form = rule_form(one.name, one.text, characters)
    assert len(item_message(one, form)) <= len(form.text)


def test_a_cut_message_says_where_the_rest_is() -> None:
    form = rule_form("AGENTS.md", RULE, 500)
    message = item_message(item("AGENTS.md", RULE, "/p/AGENTS.md"), form)
    assert message.endswith("lines left out: read AGENTS.md")
    other = rule_form("kind", RULE, 500, is_file=False)
    assert "lines left out: of kind" in other.text
    assert item_message(item("kind", RULE), other).endswith("lines left out: of kind")


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("AGENTS.md", "/p/AGENTS.md", True),
        ("docs/a.md", "/p/docs/a.md", True),
        ("~/.claude/CLAUDE.md", "/home/u/.claude/CLAUDE.md", True),
        ("house style", "PutItem", False),
        ("a.md", "/p/not-a.md", False),
        ("kind", "/p/foveal.toml", False),
    ],
)
def test_whether_an_item_is_a_file(name: str, source: str, expected: bool) -> None:
    assert is_file(item(name, "text", source)) is expected
