"""A text is made shorter so that what a prompt asks about stays: never longer than asked, always the same, with
true line numbers and a count of what was left out, whatever the text."""

from __future__ import annotations

import json
import time

import pytest
from foveal.daemon.compression.compress import FORM_MIN, Compressed, compress
from foveal.daemon.compression.document import kind_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples

FILLER = "\n".join(f"    value_{n} = compute_{n}(left_{n}, right_{n})" for n in range(40))

PYTHON = f'''"""Sessions."""

import time


class Session:
    """A session of one user."""

    def load(self, path):
        """Load it from a file."""
{FILLER.replace("    value", "        value")}
        return value_1

    def refresh(self, token):
        """Give a new token for an old one."""
{FILLER.replace("    value", "        value")}
        for attempt in range(5):
            if token.expired_at < time.time():
                delay = min(self.backoff * 2**attempt, MAX_DELAY)
                time.sleep(delay)
            else:
                audit(token)
{FILLER.replace("    value", "        later")}
        return token


def render(session):
{FILLER}
    return value_2
'''


def shorten(text: str, path: str, words: list[str], characters: int) -> Compressed:
    """Compress a text, and check what holds for every answer."""
    made = compress(text, path, words, characters)
    assert len(made.text) <= characters
    assert made == compress(text, path, words, characters)
    check_numbers(text, made.text)
    return made


def check_numbers(text: str, shorter: str) -> None:
    """Each line under a number is that line of the text, and each count of lines is true."""
    lines = text.split("\n")
    last = 0
    hidden = 0
    for row in shorter.split("\n"):
        number, _, rest = row.strip().partition("  ")
        if number == "…" and rest.replace(",", "").removesuffix("s").removesuffix(" line").isdigit():
            hidden = int(rest.split()[0].replace(",", ""))
        elif number.isdigit():
            line = int(number)
            assert lines[line - 1].strip() == rest.strip()
            assert hidden == sum(bool(one.strip()) for one in lines[last : line - 1])
            last, hidden = line, 0


def test_the_lines_that_are_asked_about_stay_with_the_blocks_around_them() -> None:
    made = shorten(PYTHON, "session.py", ["backoff", "delay", "expired"], len(PYTHON) // 6)
    for line in (
        "class Session:",
        "    def refresh(self, token):",
        "        for attempt in range(5):",
        "            if token.expired_at < time.time():",
        "                delay = min(self.backoff * 2**attempt, MAX_DELAY)",
    ):
        assert f"  {line}\n" in made.text
    assert made.left_out_lines > 80


def test_wanted_lines_come_first() -> None:
    first = PYTHON.split("\n").index("def render(session):") + 1
    for text in (PYTHON, PYTHON + "later = 1\n" * 9_000):
        made = compress(text, "session.py", ["nothing"], 1_200, [(first, first + 41)]).text
        assert "    value_1 = compute_1(left_1, right_1)" in made
        assert "        value_1 = compute_1(left_1, right_1)" not in made


@pytest.mark.parametrize(
    ("path", "title", "below"), [("guide.md", "# {}", "## {}"), ("guide.rst", "{}\n=====", "{}\n-----")]
)
def test_prose_keeps_the_nearest_sentences_below_their_headings(path: str, title: str, below: str) -> None:
    other = "Nothing of interest happens here, and it goes on and on. " * 12
    text = "".join(f"{below.format('Part')}\n\n{other}\n\n" for _ in range(8))
    text += f"{below.format('Tokens')}\n\n{other}A refresh token expires after nine days. {other}\n\n"
    text = f"{title.format('Guide')}\n\n{text}{other}\n"
    made = compress(text, path, ["refresh", "token", "expires"], 700)
    shown = [line for line in made.text.split("\n") if line]
    wanted = [title.format("Guide"), below.format("Tokens"), "A refresh token expires after nine days."]
    places = [shown.index(place.partition("\n")[0]) for place in wanted]
    assert places == sorted(places)
    assert made.left_out_lines >= 10  # the paragraphs, which aren't whole


def test_json_keeps_a_record_with_its_keys() -> None:
    data = {f"service{n}": {"host": f"smtp{n}.example.org", "port": 25, "secure": False} for n in range(200)}
    data["Orange"] = {"host": "mail.orange.example", "port": 465, "secure": True}
    text = json.dumps(data, indent=2)
    made = shorten(text, "services.json", ["orange", "port"], 2_000)
    assert '"Orange": {' in made.text
    assert '"port": 465,' in made.text


def test_sections_of_a_configuration_stand_above_their_keys() -> None:
    text = "".join(f"[part{n}]\nsize = {n}\ncolor = 'red'\n\n" for n in range(150))
    text += "[network]\nproxy = 'none'\n" + "".join(f"[last{n}]\nsize = {n}\n" for n in range(150))
    made = shorten(text, "a.toml", ["proxy"], 800)
    assert "[network]" in made.text
    assert "proxy = 'none'" in made.text


def test_a_log_keeps_errors_first() -> None:
    lines = [f"2026-01-02 10:00:{n % 60:02} INFO request {n} served in {n % 7} ms" for n in range(3_000)]
    lines[1_400] = "2026-01-02 10:20:00 ERROR database is gone"
    lines[1_401:1_401] = ['  File "app.py", line 7, in query', '  File "db.py", line 9, in open']
    lines[2_000] = "2026-01-02 10:33:00 INFO cache of thumbnails was purged"
    made = shorten("\n".join(lines), "app.log", ["thumbnails"], 2_500)
    assert "ERROR database is gone" in made.text
    assert 'File "db.py", line 9' in made.text
    assert "thumbnails was purged" in made.text
    assert lines[0] in made.text
    assert lines[-1] in made.text


def test_a_text_that_fits_comes_back_as_it_is() -> None:
    assert compress("a = 1\n", "a.py", ["a"], 6) == Compressed("a = 1\n", 0)
    assert compress("", "a.py", [], 0) == Compressed("", 0)


def test_without_room_the_first_line_is_cut() -> None:
    text = "first line of it\n" * 50
    assert compress(text, "a.py", [], 0) == Compressed("", 50)
    assert compress(text, "a.py", [], -5).text == ""
    assert compress(text, "a.py", [], 8).text == "first l…"
    for characters in range(1, FORM_MIN):
        assert 0 < len(compress(text, "a.py", [], characters).text) <= characters


def test_pieces_of_a_line_that_is_too_long_are_taken_around_the_words() -> None:
    text = "x=1;" * 100_000 + "function retryPolicy(a){return a*2}" + "y=2;" * 100_000
    made = compress(text, "packed.min.js", ["retry", "policy"], 1_000)
    assert "function retryPolicy(a){return a*2}" in made.text
    assert made.text.startswith("x=1;")
    assert made.left_out_lines == 1


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.py", "", "code"),
        ("a.unknown", "if (a) {\n  b();\n}\n", "code"),
        ("notes", "Some words that were written.\nAnd more of them.\n", "prose"),
        ("README.md", "# Title", "prose"),
        ("uv.lock", "version = 1", "data"),
        ("go.sum", "", "data"),
        ("a.json", "{}", "data"),
        ("dump", '{"a": 1}', "data"),
        ("build.log", "", "log"),
        ("build.log.1", "", "log"),
        ("out.txt", "2026-01-02 10:00:00 a\n2026-01-02 10:00:01 b\n2026-01-02 10:00:02 c\n", "log"),
        ("catalog.txt", "A catalogue of things.\n", "prose"),
    ],
)
def test_the_kind_of_a_text(path: str, text: str, kind: str) -> None:
    assert kind_of(path, text) == kind


NAMES = ("a.py", "a.md", "a.rst", "a.json", "a.csv", "a.toml", "a.log", "a.c", "a", "a.txt")

HOSTILE = {
    "one line": "x" * 250_000,
    "one line of words": "retry timeout " * 18_000,
    "no words": "\n" * 250_000,
    "brackets alone": "}\n" * 100_000,
    "deep": "".join(" " * n + "if retry:\n" for n in range(600)),
    "open brackets": "[" * 125_000,
    "abbreviations": "e.g. " * 50_000,
    "items": "* a\n" * 60_000,
    "headings": "a\n===\n\n" * 35_000,
    "fences": "```\n" * 60_000,
    "one word": "retry\n" * 42_000,
    "backticks and stops": "`.)" * 75_000,
    "nested json": '{"a":' * 38_000,
    "digits": "[" + "9" * 249_999,
}


@pytest.mark.parametrize("name", ["a.py", "a.md", "a.toml", "a.log"])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_take_bounded_time_and_room(name: str, hostile: str) -> None:
    began = time.process_time()
    made = compress(HOSTILE[hostile], name, ["retry", "timeout", "a"], 5_000)
    assert len(made.text) <= 5_000
    # Backtracking would take minutes. This is CPU time, a hundred times what it takes.
    assert time.process_time() - began < 5


TEXTS = st.one_of(
    st.text(max_size=2_000),
    st.lists(
        st.sampled_from(
            ["def retry():", "    return 1", "\tif a {", "}", "", "# Title", "=====", "- item", "```", "| a | b |",
             "Some words. And more! Then?", "key: value", "[part]", "{", '"a": [1, 2],', "ERROR it broke",
             "  at frame (x.js:1)", ".. note::", "a::", "x" * 300, "İstanbul ßtraße\u2028", "\r"]
        ),
        max_size=200,
    ).map("\n".join),
)  # fmt: skip


@settings(max_examples=examples(150))
@given(TEXTS, st.sampled_from(NAMES), st.lists(st.text(max_size=12), max_size=5), st.integers(-3, 3_000))
def test_any_text_is_never_longer_than_asked(text: str, path: str, words: list[str], characters: int) -> None:
    made = compress(text, path, words, characters)
    assert len(made.text) <= max(characters, 0) or made.text == text
    filled = sum(bool(line.strip()) for line in text.split("\n"))
    assert 0 <= made.left_out_lines <= filled
    assert made == compress(text, path, words, characters)
    if kind_of(path, text) in ("code", "data") and made.text != text and "…" not in text:
        check_numbers(text.replace("\r\n", "\n"), made.text)
