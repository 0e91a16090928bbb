"""What a window holds unchanged is named in a line; what changed, was never sent or was forgotten is sent."""

from __future__ import annotations

from foveal.daemon.context.render import code_frame
from foveal.daemon.context.selection import Form, Slice
from foveal.daemon.context.sent_content import (
    HELD_MAX,
    NOTHING_HELD,
    SLICES_MAX,
    WINDOWS_MAX,
    ContextWindows,
    ConversationContent,
    SentSlice,
    held_of,
    named_if_held,
)
from msgspec.structs import replace


def slice_of(name: str, text: str) -> Slice:
    """Return a slice that is its text, or the beginning of it where there is less room."""

    def grow(characters: int) -> Form:
        return Form(text[: max(characters, 10)], len(text) > max(characters, 10))

    return Slice(f"focus:{name}", "focus", "focus", 0.9, (3, 0), grow(0), grow, len(text), path=name)


LONG = "line of code\n" * 50


def held(name: str, text: str, tokens: int) -> tuple[str, SentSlice]:
    """Return what a window holds of a slice that was sent with this text."""
    return held_of(slice_of(name, text), Form(text, compressed=True), tokens)


def chosen(*names_and_texts: tuple[str, str]) -> list[tuple[Slice, Form]]:
    return [(slice_of(name, text), Form(text, compressed=True)) for name, text in names_and_texts]


def test_what_is_shown_in_another_form_is_sent_again() -> None:
    resident = ConversationContent(dict([held("a.py", LONG[:200], 50)]))
    assert named_if_held(chosen(("a.py", LONG[:200])), resident).named == {"focus:a.py"}
    for text in (LONG, LONG[:300], "changed " + LONG[:192]):
        assert named_if_held(chosen(("a.py", text)), resident).named == frozenset()


def test_what_is_shorter_than_its_line_is_sent_again() -> None:
    resident = ConversationContent(dict([held("a.py", "short text", 3)]))
    unsent = named_if_held(chosen(("a.py", "short text")), resident)
    assert not unsent.named
    assert unsent.held == {"focus:a.py"}


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


def test_definitions_of_a_file_share_a_line() -> None:
    pairs = [part(1, 2), part(4, 5), part(5, 16), part(20, 20)]
    resident = ContextWindows().sent("s", "", [held_of(*pair, 1) for pair in pairs])
    unsent = named_if_held(pairs, resident)
    assert [form.text for _, form in unsent.chosen] == [
        "- `shop.py`, lines 1-2, 4-16, 20-20: unchanged, as sent before\n",
        "",
        "",
        "",
    ]
    assert unsent.chosen[0][0].frame is None


def part(first: int, last: int) -> tuple[Slice, Form]:
    """Return lines of a file as a definition that was found."""
    one = slice_of("shop.py", LONG)
    frame = code_frame("`shop.py`", "```", "python")
    return replace(one, id=f"document:{first}", lines=(first, last), frame=frame), Form(f"{first} {LONG}")
