"""Which experiences matter to a focus: those on its files, then near it, with its words, then the newest."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.relevance import Index, contains, keys_of, words_of
from msgspec.structs import replace


def made(decision: str, **more: object) -> Experience:
    """Return an experience without a time, which `choose` gives it."""
    return replace(Experience("", "", "a", "s", decision), **more)


def choose(
    experiences: Sequence[Experience],
    focus: Collection[str],
    neighbours: Collection[str],
    words: str,
    limit: int,
) -> list[str]:
    """Return the chosen decisions of experiences that were added one second after the other."""
    index = Index()
    for number, experience in enumerate(experiences):
        time = experience.timestamp or f"2025-01-01T00:{number // 60:02}:{number % 60:02}.000Z"
        dated = replace(experience, id=f"x_{number}", timestamp=time)
        index.add(dated, keys_of(dated))
    places = index.relevant(focus, neighbours, words_of(words), limit)
    return [index.experiences[place].decision for place in places]


def test_the_order_of_relevance() -> None:
    def check(drafts: list[Experience], expected: str, limit: int, *, words: str = "") -> None:
        """Expect the chosen decisions for a focus on src/auth.py that imports lib/tokens.py, newest first."""
        chosen = choose(drafts, ["src/auth.py"], ["lib/tokens.py"], words, limit)
        assert " ".join(chosen) == expected

    focus, near, neighbour = ("src/auth.py",), ("src/b.py",), ("lib/tokens.py",)
    far = ("other/c.py",)
    # The same file goes before the same folder and a neighbour, those before words, those before the rest.
    pool = [
        made("file", files_touched=focus), made("folder", files_touched=near),
        made("import", files_touched=neighbour), made("expiry", files_touched=far),
        made("rest", files_touched=far),
    ]  # fmt: skip
    check(pool, "file", 1, words="session expiry")
    check(pool, "import file", 2, words="session expiry")
    check(pool, "import folder file", 3, words="session expiry")
    check(pool, "expiry import folder file", 4, words="session expiry")
    check(pool, "rest expiry import folder file", 5, words="session expiry")
    check(pool, "rest expiry import folder file", 50, words="session expiry")
    # At equal relevance failures and reverts go first, else the newer one.
    check([made("old", files_touched=focus), made("new", files_touched=focus)], "new", 1)
    check([made("bad", files_touched=focus, outcome="failure"), made("new", files_touched=focus)], "bad", 1)
    check(
        [
            made("bad", files_touched=focus, outcome="reverted"),
            made("fine", files_touched=focus, outcome="success"),
        ],
        "bad",
        1,
    )
    check([made("same", files_touched=focus), made("bad", files_touched=near, outcome="failure")], "same", 1)
    # Words count within a rank, by parts of names, in singular and plural.
    check([made("SessionStore_expires", files_touched=focus), made("b", files_touched=focus)],
          "SessionStore_expires", 1, words="sessions")  # fmt: skip
    check([made("token"), made("the")], "token", 1, words="why the tokens")
    check([made("größe"), made("b")], "größe", 1, words="GRÖSSE Größe")
    # With nothing relevant, the most recent ones, whatever became of them.
    check([made("a", outcome="failure"), made("b"), made("c")], "c b", 2)
    check([], "", 5)
    check(pool, "", 0)
    # Newest is by time, not by the place in the file.
    check([made("late", timestamp="2024-06-01"), made("early", timestamp="2023-06-01")], "late early", 2)


def test_a_folder_in_focus_covers_what_is_below_it() -> None:
    both = [made("deep", files_touched=("src/a/b/c.py",)), made("other", files_touched=("srcs/a.py",))]
    for folder in ("src", "src/", "src/a", "src/a/b"):
        assert choose(both, [folder], [], "", 1) == ["deep"]
    for whole in ("", "."):
        assert choose(both, [whole], [], "", 1) == ["other"]


def test_of_very_many_the_last_thousand_are_weighed() -> None:
    """An old failure would go first, but so far back nobody looks."""
    failure = made("bad", files_touched=("a.py",), outcome="failure")
    fine = [made("fine", files_touched=("a.py",)) for _ in range(999)]
    assert choose([failure, *fine], ["a.py"], [], "", 1) == ["bad"]
    assert choose([failure, *fine, made("last", files_touched=("a.py",))], ["a.py"], [], "", 1) == ["last"]


def test_words() -> None:
    def check(text: str, expected: str) -> None:
        assert words_of(text) == frozenset(expected.split())

    check("", "")
    check("the and why to of", "")
    check("SessionStore_expires HTTPServer", "session store expire http server")
    check("classes pass bus buses", "classe pass bus buse")
    check("größe Größe", "grösse")
    check("日本 x", "日本")
    check("sha256 utf8", "sha256 utf8")
    check("x" * 50, "x" * 40)


def test_each_word_must_be_contained() -> None:
    one = made("Split the Parser", rationale="it was too LONG", files_touched=("net/Client.py",))

    def check(words: str, expected: bool) -> None:
        assert contains(one, words.split()) is expected

    check("", True)
    check("parser", True)
    check("pars long client.py", True)
    check("parser retry", False)


def test_what_is_removed_is_not_found_and_comes_back_where_it_was() -> None:
    index = Index()
    late, early = made("d tokens", id="x_1", timestamp="2025"), made("e", id="x_2", timestamp="2024")
    for one in (late, early):
        index.add(one, keys_of(one))

    def check(expected: list[Experience]) -> None:
        assert [index.experiences[place] for _, place in index.order] == expected
        assert [one for one in (early, late) if index.get(one.id) == one] == expected

    check([early, late])
    index.remove("x_1")
    index.remove("x_1")
    index.remove("x_3")
    check([early])
    assert index.relevant([], [], ["token"], 5) == [1]
    index.add(late, keys_of(late))
    check([early, late])
    assert index.relevant([], [], ["token"], 5) == [0, 1]
    assert index.get("x_3") is None


def test_the_last_that_touched_a_file() -> None:
    index = Index()
    for number in range(3):
        one = made("d", id=f"x_{number}", timestamp="2025", files_touched=("a.py", f"{number}.py"))
        index.add(one, keys_of(one))
    index.remove("x_1")
    assert [one.id for one in index.touching("a.py")] == ["x_0", "x_2"]
    assert [one.id for one in index.touching("0.py")] == ["x_0"]
    assert index.touching("1.py") == []


def test_keys() -> None:
    deep = keys_of(made("d", files_touched=("a/b/c.py", "d.py")))
    assert (deep.parents, deep.ancestors) == (frozenset({"a/b", ""}), frozenset({"a", "a/b"}))
