"""What a window holds unchanged is named in a line; what changed, was never sent or was forgotten is sent."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from foveal.daemon.context.render import code_block, code_frame
from foveal.daemon.context.selection import Form, Slice
from foveal.daemon.context.sent_content import (
    ALL_LINES_MAX,
    HELD_MAX,
    LINES_MAX,
    NOTHING_HELD,
    SLICES_MAX,
    WINDOWS_MAX,
    ContextWindows,
    ConversationContent,
    Held,
    held_of,
    named_if_held,
    sent_lines,
)
from msgspec.structs import replace


def slice_of(name: str, text: str) -> Slice:
    """Return a slice that is its text, or the beginning of it where there is less room."""

    def grow(characters: int) -> Form:
        return Form(text[: max(characters, 10)], len(text) > max(characters, 10))

    return Slice(f"focus:{name}", "focus", "focus", 0.9, (3, 0), grow(0), grow, len(text), path=name)


LONG = "line of code\n" * 50


def held(name: str, text: str, tokens: int) -> tuple[str, Held]:
    """Return what a window holds of a slice that was sent with this text."""
    return held_of(slice_of(name, text), Form(text, compressed=True), tokens)


def no_lines(path: str) -> Sequence[str]:
    return ()


def chosen(*names_and_texts: tuple[str, str]) -> list[tuple[Slice, Form]]:
    return [(slice_of(name, text), Form(text, compressed=True)) for name, text in names_and_texts]


def test_what_is_shown_in_another_form_is_sent_again() -> None:
    resident = ConversationContent(dict([held("a.py", LONG[:200], 50)]))
    assert named_if_held(chosen(("a.py", LONG[:200])), resident, no_lines).named == {"focus:a.py"}
    for text in (LONG, LONG[:300], "changed " + LONG[:192]):
        assert named_if_held(chosen(("a.py", text)), resident, no_lines).named == frozenset()


def test_what_is_shorter_than_its_line_is_sent_again() -> None:
    resident = ConversationContent(dict([held("a.py", "short text", 3)]))
    assert named_if_held(chosen(("a.py", "short text")), resident, no_lines).named == frozenset()


def test_windows_are_of_an_agent_in_a_session() -> None:
    windows = ContextWindows()
    windows.sent("s", "a", [held("x", LONG, 5)])
    windows.sent("s", "b", [held("y", LONG, 7), held("z", LONG, 8)])
    assert windows.of("s", "a").tokens == 5
    assert windows.of("s", "b").tokens == 15
    assert windows.of("t", "a") is NOTHING_HELD
    windows.forget("s", "a")
    assert windows.of("s", "a").tokens == 0
    assert windows.of("s", "b").tokens == 15
    windows.forget("s")
    assert windows.of("s", "b").tokens == 0


def test_the_latest_text_of_a_slice_counts_and_gives_another_key() -> None:
    windows = ContextWindows()
    first = windows.sent("s", "a", [held("x", LONG, 5)])
    same = windows.sent("s", "a", [held("x", LONG, 5)])
    later = windows.sent("s", "a", [held("x", LONG + "more", 6)])
    assert first.key == same.key != later.key
    assert later.tokens == 6


def test_windows_and_their_slices_are_bounded() -> None:
    windows = ContextWindows()
    windows.sent("s", "a", [held(f"{number}", LONG, 1) for number in range(SLICES_MAX + 10)])
    assert len(windows.of("s", "a").slices) == SLICES_MAX
    assert "focus:0" not in windows.of("s", "a").slices
    for number in range(WINDOWS_MAX):
        windows.sent(f"{number}", "", [held("x", LONG, 1)])
    assert windows.of("s", "a") is NOTHING_HELD
    assert windows.of("0", "").tokens == 1


def test_all_windows_together_hold_a_bounded_number_of_slices() -> None:
    windows = ContextWindows()
    slices = [held(f"{number}", LONG, 1) for number in range(SLICES_MAX)]
    count = HELD_MAX // SLICES_MAX
    for number in range(count + 1):
        windows.sent(f"{number}", "", slices)
    assert windows.of("0", "") is NOTHING_HELD
    assert all(len(windows.of(f"{number}", "").slices) == SLICES_MAX for number in range(1, count + 1))
    windows.forget("1")
    windows.sent("new", "", slices)
    assert len(windows.of("2", "").slices) == SLICES_MAX


SOURCE = [
    *("class Shop:", '    """Sells things."""', "", "    def open(self):"),
    *(f"        self.step({number})" for number in range(1, 9)),
    *("", "    def close(self):", "        self.locked = True", "        self.log('closed')"),
]
FILE = "".join(f"{line}\n" for line in SOURCE)


def lines(path: str) -> Sequence[str]:
    return SOURCE if path == "shop.py" else ()


def part(first: int, last: int, *, in_frame: bool = True) -> tuple[Slice, Form]:
    """Return lines of the file as a definition that was found."""
    text = "\n".join(SOURCE[first - 1 : last])
    frame = code_frame("`shop.py`", text, "python") if in_frame else None
    whole = f"\u22ee line {first}\n{text}\n" if in_frame else code_block("`shop.py`", text, "python")
    form = Form(whole)
    one = Slice(
        f"document:{first}", "document", "focus", 0.5, (3, first), form, lambda _: form, len(whole), "shop.py"
    )
    return replace(one, lines=(first, last), frame=frame), form


def whole_file() -> tuple[Slice, Form]:
    form = Form(code_block("`shop.py` (16 lines)", FILE, "python"))
    one = Slice(
        "focus:shop.py", "focus", "focus", 0.9, (3, 0), form, lambda _: form, len(form.text), "shop.py"
    )
    return one, form


def after(*sent: tuple[Slice, Form]) -> ConversationContent:
    """Return what a window holds that was sent these forms."""
    return ContextWindows().sent("s", "", [held_of(*pair, 1) for pair in sent], sent_lines(sent, lines))


def test_a_definition_of_a_file_that_was_sent_is_named() -> None:
    for form in (part(4, 12), part(4, 12, in_frame=False)):
        unsent = named_if_held([form], after(whole_file()), lines)
        kept, named = unsent.chosen, unsent.named
        assert named == {"document:4"}
        assert kept[0][1].text == "- `shop.py`, lines 4-12: unchanged, as sent before\n"
        assert kept[0][0].frame is None


def test_definitions_of_a_file_share_a_line() -> None:
    pairs = [part(1, 2), part(4, 5), part(14, 16), whole_file()]
    unsent = named_if_held(pairs, after(whole_file()), lines)
    assert [form.text for _, form in unsent.chosen] == [
        "- `shop.py`, lines 1-2, 4-5, 14-16: unchanged, as sent before\n",
        "",
        "",
        "- `shop.py`: unchanged, as sent before\n",
    ]
    joined = named_if_held([part(1, 2), part(3, 5), part(4, 4), part(8, 12)], after(whole_file()), lines)
    assert joined.chosen[0][1].text == "- `shop.py`, lines 1-5, 8-12: unchanged, as sent before\n"
    tiny = part(4, 4)
    short = named_if_held([tiny], after(whole_file()), lines)
    assert short.chosen == (tiny,), "its line would be longer"
    assert short.held == {"document:4"}
    assert not short.named


def test_of_a_file_only_the_lines_are_sent_that_are_new() -> None:
    unsent = named_if_held([whole_file()], after(part(4, 12)), lines)
    kept, named = unsent.chosen, unsent.named
    assert named == frozenset()
    assert kept[0][1].text.split("\n")[2:] == [
        *("```python", *SOURCE[:3]),
        "\u22ee lines 4-12: shown before",
        *(*SOURCE[12:], "```", "", ""),
    ]
    assert kept[0][1].compressed
    both = after(part(4, 12), part(1, 2), part(14, 16))
    assert named_if_held([whole_file()], both, lines).named == {"focus:shop.py"}, "blank lines tell nothing"


def test_lines_behind_their_numbers_are_known_too() -> None:
    rows = "\n".join(f"{number:>2}  {SOURCE[number - 1]}" for number in (*range(4, 13), 14))
    excerpt = replace(whole_file()[0], id="expansion:shop.py")
    form = Form(code_block("`shop.py`", rows, "python"), compressed=True)
    assert named_if_held([part(5, 12)], after((excerpt, form)), lines).named == {"document:5"}
    unsent = named_if_held([(excerpt, form)], after(part(4, 12)), lines)
    kept, named = unsent.chosen, unsent.named
    assert not named
    assert "\u22ee lines 4-12: shown before\n14      def close(self):" in kept[0][1].text


def test_an_edited_line_is_sent_again() -> None:
    resident = after(whole_file())
    edited = [*SOURCE[:13], "        self.locked = False", *SOURCE[14:]]
    one, form = part(4, 16)
    form = Form(form.text.replace(SOURCE[14], "        self.locked = False"))
    edited[14] = "        self.locked = False"
    edited[13] = SOURCE[13]
    unsent = named_if_held([(one, form)], resident, lambda _: edited)
    kept, named = unsent.chosen, unsent.named
    assert not named
    assert kept[0][1].text == (
        "\u22ee line 4\n\u22ee lines 4-14: shown before\n        self.locked = False\n        self.log('closed')\n"
    )


def test_the_lines_of_windows_are_bounded() -> None:
    windows = ContextWindows()
    hashes = array("q", [1] * (LINES_MAX // 2))
    for number in range(4):
        windows.sent("s", "a", (), [(f"{number}.py", 0, hashes)])
    assert list(windows.of("s", "a").lines) == ["2.py", "3.py"]
    for number in range(2 * ALL_LINES_MAX // LINES_MAX):
        windows.sent(f"{number}", "", (), [("a.py", 0, hashes)])
    assert windows.of("s", "a") is NOTHING_HELD
    assert windows.of("1", "").lines["a.py"].hashes == hashes


def test_other_lines_give_another_key() -> None:
    windows = ContextWindows()
    first = windows.sent("s", "a", (), [("a.py", 3, array("q", [7, 8]))])
    assert windows.sent("s", "a", (), [("a.py", 4, array("q", [8]))]).key == first.key
    later = windows.sent("s", "a", (), [("a.py", 4, array("q", [9]))])
    assert later.key != first.key
    assert list(later.lines["a.py"].hashes) == [0, 0, 0, 7, 9]
