"""What a window holds unchanged is named in a line; what changed, was never sent or was forgotten is sent."""

from __future__ import annotations

from foveal.daemon.context.residency import (
    HELD_MAX,
    NOTHING_HELD,
    SLICES_MAX,
    WINDOWS_MAX,
    Held,
    Resident,
    Windows,
    held_of,
    named_if_held,
)
from foveal.daemon.context.slices import Form, Slice


def slice_of(name: str, text: str) -> Slice:
    """Return a slice that is its text, or the beginning of it where there is less room."""

    def grow(characters: int) -> Form:
        return Form(text[: max(characters, 10)], len(text) > max(characters, 10))

    return Slice(f"focus:{name}", "focus", "focus", 0.9, (3, 0), grow(0), grow, len(text), path=name)


LONG = "line of code\n" * 50


def held(name: str, text: str, tokens: int) -> tuple[str, Held]:
    """Return what a window holds of a slice that was sent with this text."""
    return held_of(slice_of(name, text), Form(text, compressed=True), tokens)


def chosen(*names_and_texts: tuple[str, str]) -> list[tuple[Slice, Form]]:
    return [(slice_of(name, text), Form(text, compressed=True)) for name, text in names_and_texts]


def test_what_is_held_as_it_is_is_named_in_a_line() -> None:
    resident = Resident(dict([held("a.py", LONG, 160)]))
    kept, named = named_if_held(chosen(("a.py", LONG), ("b.py", LONG)), resident)
    assert [form.text for _, form in kept] == ["- `a.py`: unchanged, as sent before\n", LONG]
    assert named == {"focus:a.py"}
    assert kept[0][0].order > kept[1][0].order


def test_what_is_shown_in_another_form_is_sent_again() -> None:
    resident = Resident(dict([held("a.py", LONG[:200], 50)]))
    assert named_if_held(chosen(("a.py", LONG[:200])), resident)[1] == {"focus:a.py"}
    for text in (LONG, LONG[:300], "changed " + LONG[:192]):
        assert named_if_held(chosen(("a.py", text)), resident)[1] == frozenset()


def test_what_is_shorter_than_its_line_is_sent_again() -> None:
    resident = Resident(dict([held("a.py", "short text", 3)]))
    assert named_if_held(chosen(("a.py", "short text")), resident)[1] == frozenset()


def test_windows_are_of_an_agent_in_a_session() -> None:
    windows = Windows()
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
    windows = Windows()
    first = windows.sent("s", "a", [held("x", LONG, 5)])
    same = windows.sent("s", "a", [held("x", LONG, 5)])
    later = windows.sent("s", "a", [held("x", LONG + "more", 6)])
    assert first.key == same.key != later.key
    assert later.tokens == 6


def test_windows_and_their_slices_are_bounded() -> None:
    windows = Windows()
    windows.sent("s", "a", [held(f"{number}", LONG, 1) for number in range(SLICES_MAX + 10)])
    assert len(windows.of("s", "a").slices) == SLICES_MAX
    assert "focus:0" not in windows.of("s", "a").slices
    for number in range(WINDOWS_MAX):
        windows.sent(f"{number}", "", [held("x", LONG, 1)])
    assert windows.of("s", "a") is NOTHING_HELD
    assert windows.of("0", "").tokens == 1


def test_all_windows_together_hold_a_bounded_number_of_slices() -> None:
    windows = Windows()
    slices = [held(f"{number}", LONG, 1) for number in range(SLICES_MAX)]
    count = HELD_MAX // SLICES_MAX
    for number in range(count + 1):
        windows.sent(f"{number}", "", slices)
    assert windows.of("0", "") is NOTHING_HELD
    assert all(len(windows.of(f"{number}", "").slices) == SLICES_MAX for number in range(1, count + 1))
    windows.forget("1")
    windows.sent("new", "", slices)
    assert len(windows.of("2", "").slices) == SLICES_MAX
