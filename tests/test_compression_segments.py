"""What was worked out of a large text is kept for the next prompt about it, up to a bound."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from foveal.daemon.compression.document import POSTINGS_MAX, Document
from foveal.daemon.compression.prompt_terms import terms_of
from foveal.daemon.compression.segments import KEPT_FROM, Segments
from foveal.daemon.compression.thinning import LINES_MIN, thinned


def large(mark: str) -> str:
    return mark + "\n" + "x = 1\n" * (KEPT_FROM // 6)


def test_a_large_text_is_known_again_by_its_content() -> None:
    segments = Segments()
    text = large("a")
    first = segments.document(text)
    assert segments.document("".join(["a\n", text[2:]])) is first
    assert segments.document(large("b")) is not first
    statistics = segments.statistics()
    assert (statistics.hits, statistics.misses, statistics.documents) == (1, 2, 2)


def test_a_small_text_is_not_kept() -> None:
    segments = Segments()
    assert segments.document("a") is not segments.document("a")
    assert segments.statistics().documents == 0


def test_the_least_recently_used_is_forgotten() -> None:
    room = 3 * Document(large("a")).characters
    segments = Segments(room)
    first, second = segments.document(large("a")), segments.document(large("b"))
    segments.document(large("c"))
    assert segments.document(large("a")) is first
    segments.document(large("d"))
    assert segments.document(large("a")) is first
    assert segments.document(large("b")) is not second
    assert segments.statistics().characters <= room


def test_a_text_above_the_bound_is_kept_alone() -> None:
    segments = Segments(10)
    segments.document(large("a"))
    segments.document(large("b"))
    assert segments.statistics().documents == 1


def test_threads_share_them() -> None:
    segments = Segments(2 * Document(large("a")).characters)
    texts = [large(mark) for mark in "abcd"] * 20
    with ThreadPoolExecutor(4) as threads:
        documents = list(threads.map(segments.document, texts))
    assert [document.text for document in documents] == texts
    assert segments.statistics().hits + segments.statistics().misses == len(texts)


def test_places_are_remembered_and_bounded() -> None:
    document = Document("retry and retries\nnothing\nretry\n")
    (term,) = terms_of(["retry"])
    assert document.lines_with(term) == (0, 0, 2)
    assert document.places_of(term) is document.places_of(term)
    for other in range(3 * POSTINGS_MAX):
        document.places_of(terms_of([f"w{other}"])[0])
    assert document.lines_with(term) == (0, 0, 2)


def test_a_thinned_text_keeps_what_is_asked_about_and_its_numbers() -> None:
    lines = [f"    step_{n} = {n}" for n in range(6 * LINES_MIN)]
    lines[4_000] = "def outer():"
    lines[4_040] = "    reticulate = splines"
    part, _ = thinned(Document("\n".join(lines)), terms_of(["splines"]), (), 2_000)
    assert len(part.lines) <= 2 * LINES_MIN
    assert part.lines == [lines[number] for number in part.numbers]
    assert {4_000, 4_040} <= set(part.numbers)
    assert part.count == len(lines)
