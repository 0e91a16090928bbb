"""A text that was shown is found again by what it says, as it was shown; what is kept has its limit."""

from __future__ import annotations

from foveal.daemon.search.results import CHUNK_CHARACTERS, ShownChunks

ONE, OTHER, THIRD = b"1" * 16, b"2" * 16, b"3" * 16


def test_a_text_is_kept_as_it_was_shown() -> None:
    shown = ShownChunks()
    shown.keep({ONE: "[masked]"}, masked=True)
    shown.keep({ONE: "hunter2", OTHER: ""}, masked=False)
    assert shown.get(ONE, masked=True) == "[masked]"
    assert shown.get(ONE, masked=False) == "hunter2"
    assert shown.get(OTHER, masked=False) == ""
    assert shown.get(OTHER, masked=True) is None
    assert shown.get(THIRD, masked=True) is None


def test_what_was_shown_longest_ago_goes() -> None:
    shown = ShownChunks(most=2 * (10 + CHUNK_CHARACTERS))
    shown.keep({ONE: "x" * 10, OTHER: "y" * 10}, masked=True)
    assert shown.get(ONE, masked=True) is not None
    shown.keep({THIRD: "z" * 10}, masked=True)
    assert [shown.get(one, masked=True) is None for one in (ONE, OTHER, THIRD)] == [False, True, False]
    assert shown.size == 2 * (10 + CHUNK_CHARACTERS)


def test_a_text_counts_once_and_none_exceeds_the_limit() -> None:
    shown = ShownChunks(most=1_000)
    for _ in range(3):
        shown.keep({ONE: "x"}, masked=True)
    assert shown.size == 1 + CHUNK_CHARACTERS
    shown.keep({OTHER: "y" * 5_000}, masked=True)
    assert (len(shown), shown.size) == (0, 0)


def test_any_number_of_texts_stays_within_the_limit() -> None:
    shown = ShownChunks(most=20_000)
    for number in range(1_000):
        shown.keep({number.to_bytes(16, "big"): "x" * (number % 700)}, masked=bool(number % 2))
        assert shown.size <= 20_000
    assert len(shown) > 10
